//! What a description says about contact that the method `impulse` does otherwise, in words.

use crate::bodies::articulated::description::{ContactPair, ContactSoftness, RobotDescription, RobotGeom};

/// Options that steer the contacts of another engine, and what is done instead.
const OPTIONS: [(&str, &str); 6] = [
    ("o_friction", "`o_friction` is not used: friction is that of geoms and pairs"),
    ("noslip_iterations", "`noslip_iterations` is not used: what sticks does not slip"),
    ("noslip_tolerance", "`noslip_tolerance` is not used: what sticks does not slip"),
    ("ccd_iterations", "`ccd_iterations` is not used: distances are found to rounding"),
    ("ccd_tolerance", "`ccd_tolerance` is not used: distances are found to rounding"),
    ("mpr_tolerance", "`mpr_tolerance` is not used: distances are found to rounding"),
];

/// Geoms that may touch something.
fn touching(description: &RobotDescription) -> impl Iterator<Item = &RobotGeom> {
    description.geoms().map(|(_, geom)| geom).filter(|geom| !geom.is_visual())
}

/// A note for everything of that kind that the robot has.
pub(crate) fn contact_notes(description: &RobotDescription) -> Vec<String> {
    let mut notes = Vec::new();
    let touches = touching(description).next().is_some() || !description.contact_pairs.is_empty();
    if description.options.disables("contact") || !touches {
        return notes;
    }
    let options = &description.options;
    if options.impedance_ratio != 1.0 {
        notes.push(format!(
            "`impratio` is {}: not used, friction is exact at any ratio",
            options.impedance_ratio
        ));
    }
    if options.elliptic_cone == Some(false) {
        notes.push("the friction cone is round: `cone` = `pyramidal` is not used".into());
    }
    for (key, why) in OPTIONS {
        let counts = key != "o_friction" || options.enables("override");
        if counts && options.other.iter().any(|(name, _)| name == key) {
            notes.push(why.into());
        }
    }
    let pairs = &description.contact_pairs;
    let early = |margin: f64, gap: f64| margin - gap > 0.0;
    let pair_early = |p: &ContactPair| early(p.margin.unwrap_or(0.0), p.gap.unwrap_or(0.0));
    let over = options.contact_override.is_some_and(|(margin, _)| margin > 0.0);
    if over || touching(description).any(|g| early(g.margin, g.gap)) || pairs.iter().any(pair_early) {
        notes.push(
            "contacts push from a gap of 0 on: `margin` and `gap` only say how early they are seen".into(),
        );
    }
    let usual = ContactSoftness::default();
    let soft = touching(description).any(|g| g.softness != usual)
        || pairs.iter().any(|p| p.solref.is_some() || p.solimp.is_some());
    if soft {
        let why = "soft contact is a spring and damper: of `solimp` only the second number counts, the impedance at full width";
        notes.push(why.into());
    }
    for pair in pairs {
        let name = if pair.name.is_empty() { "a pair".to_owned() } else { format!("pair `{}`", pair.name) };
        if pair.solref_friction.is_some_and(|s| s != [0.0; 2]) {
            notes.push(format!("{name}: `solreffriction` is not used, friction is not soft"));
        }
        if pair.friction.is_some_and(|f| f[0] != f[1] || f[3] != f[4]) {
            notes.push(format!(
                "{name}: friction is the same in all directions, the first number of each two counts"
            ));
        }
    }
    notes
}
