//! `compiler`: how the rest of a file is meant.

use dalembert::math::rotation::exp;
use dalembert::math::{Quat, Vec3};

use super::super::xml::Node;
use super::attributes::Attributes;
use crate::error::quote;

/// Where the mass of a body comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FromGeoms {
    /// From `inertial` alone.
    Never,
    /// From geoms, whatever `inertial` says.
    Always,
    /// From geoms where there is no `inertial`.
    Auto,
}

#[derive(Debug, Clone)]
pub(super) struct Compiler {
    pub(super) degrees: bool,
    pub(super) autolimits: bool,
    pub(super) euler_sequence: [u8; 3],
    pub(super) mesh_folder: String,
    pub(super) asset_folder: String,
    pub(super) strip_path: bool,
    pub(super) balance_inertia: bool,
    pub(super) least_mass: f64,
    pub(super) least_inertia: f64,
    pub(super) total_mass: Option<f64>,
    pub(super) from_geoms: FromGeoms,
    pub(super) group_range: [f64; 2],
    pub(super) fit_bounds: bool,
}

impl Compiler {
    pub(super) fn read(root: Node<'_>) -> Self {
        let mut c = Self {
            degrees: true,
            autolimits: true,
            euler_sequence: *b"xyz",
            mesh_folder: String::new(),
            asset_folder: String::new(),
            strip_path: false,
            balance_inertia: false,
            least_mass: 0.0,
            least_inertia: 0.0,
            total_mass: None,
            from_geoms: FromGeoms::Auto,
            group_range: [0.0, 5.0],
            fit_bounds: false,
        };
        for node in root.named("compiler") {
            c.apply(&Attributes::alone(node));
        }
        c
    }

    fn apply(&mut self, a: &Attributes<'_>) {
        if let Some(degrees) = a.keyword("angle", &[("degree", true), ("radian", false)]) {
            self.degrees = degrees;
        }
        self.autolimits = a.switch("autolimits").unwrap_or(self.autolimits);
        if let Some(sequence) = a.get("eulerseq") {
            let letters = sequence.value.as_bytes();
            match <[u8; 3]>::try_from(letters) {
                Ok(three) if three.iter().all(|b| b"xyzXYZ".contains(b)) => self.euler_sequence = three,
                _ => a.doc().error(
                    sequence.value_span,
                    format!("`eulerseq` wants three letters of x, y, z, found {}", quote(&sequence.value)),
                ),
            }
        }
        if let Some(folder) = a.text("assetdir") {
            folder.clone_into(&mut self.asset_folder);
        }
        if let Some(folder) = a.text("meshdir") {
            folder.clone_into(&mut self.mesh_folder);
        }
        self.strip_path = a.switch("strippath").unwrap_or(self.strip_path);
        self.balance_inertia = a.switch("balanceinertia").unwrap_or(self.balance_inertia);
        self.least_mass = a.size("boundmass").unwrap_or(self.least_mass);
        self.least_inertia = a.size("boundinertia").unwrap_or(self.least_inertia);
        if let Some(mass) = a.number("settotalmass") {
            self.total_mass = (mass > 0.0).then_some(mass);
        }
        let rules = [("false", FromGeoms::Never), ("true", FromGeoms::Always), ("auto", FromGeoms::Auto)];
        self.from_geoms = a.keyword("inertiafromgeom", &rules).unwrap_or(self.from_geoms);
        self.group_range = a.array("inertiagrouprange").unwrap_or(self.group_range);
        self.fit_bounds = a.switch("fitaabb").unwrap_or(self.fit_bounds);
        if let Some(coordinate) = a.get("coordinate")
            && coordinate.value != "local"
        {
            let message = format!("`coordinate` must be `local`, found {}", quote(&coordinate.value));
            let error = a.doc().files.error(coordinate.value_span, message);
            a.doc()
                .push(error.with_help("MuJoCo 2.3.3 and earlier can save such models in local coordinates"));
        }
        for (key, meaning) in [
            ("fusestatic", "bodies without joints stay apart, which moves the same"),
            ("discardvisual", "geoms without contact are kept"),
            ("alignfree", "frames of free bodies stay where they are"),
            ("exactmeshinertia", "use `inertia` of the mesh"),
        ] {
            if a.switch(key) == Some(true) {
                let warning =
                    a.doc().files.warning(a.span(), format!("{} is not done: {meaning}", quote(key)));
                a.doc().lost(warning);
            }
        }
        // How a program works, textures, and ranges of muscle lengths.
        a.ignore(&["texturedir", "usethread", "convexhull", "saveinertial", "conflict"]);
        for child in a.node.named("lengthrange") {
            let all = Attributes::alone(child);
            for attribute in &child.element.attributes {
                all.get(&attribute.name);
            }
        }
    }

    /// An angle of the file \[rad\].
    pub(super) fn radians(&self, angle: f64) -> f64 {
        if self.degrees { angle.to_radians() } else { angle }
    }

    /// Turns about axes that turn along (small letters) or stay (capital letters).
    pub(super) fn euler(&self, angles: [f64; 3]) -> Quat {
        let mut turn = Quat::identity();
        for (letter, angle) in self.euler_sequence.iter().zip(angles) {
            let axis = match letter.to_ascii_lowercase() {
                b'x' => Vec3::x(),
                b'y' => Vec3::y(),
                _ => Vec3::z(),
            };
            let one = exp(&(axis * self.radians(angle)));
            turn = if letter.is_ascii_lowercase() { turn * one } else { one * turn };
        }
        turn
    }
}
