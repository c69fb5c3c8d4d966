//! Joints, gears, beads and held bodies: from what was written to constraints.

use std::collections::BTreeMap;

use super::Scene;
use super::diagnostics::Diagnostics;
use super::joint::{Anchors, JointItem, Motor, Stiffness};
use super::layout::Points;
use super::names::{Names, check_name};
use super::prescribed::PrescribedBody;
use super::rigid::Bodies;
use crate::joints::rows::Ends;
use crate::joints::{
    Axis, AxisRow, Body, Constraint, Coupler, Coupling, End, Hold, Holder, Joint, JointKind, NamedConstraint,
    Prescribed, Role, UserConstraint,
};
use crate::math::{Mat3, Vec3};
use crate::step::Method;

/// Makes the constraints of a scene.
struct JointBuilder<'a> {
    /// Table and entry that the next constraint comes from.
    at: Place,
    places: Vec<Place>,
    bodies: &'a Bodies,
    names: &'a Names,
    x: &'a [Vec3],
    v: &'a [Vec3],
    particles: usize,
    out: Vec<NamedConstraint>,
    turns: usize,
    joints: usize,
    /// Coordinate of each joint that has one, and its ends.
    coordinates: BTreeMap<String, (Axis, [End; 2])>,
    taken: BTreeMap<String, ()>,
    method: &'static str,
    /// Joints run as spring-dampers.
    explicit: bool,
    lagrange: bool,
}

/// Table and entry of the scene that a constraint comes from.
pub(super) type Place = (&'static str, usize);

/// All constraints, each with its place, and the number of unwrapped coordinates and of joints.
pub(super) struct Joined {
    pub constraints: Vec<NamedConstraint>,
    pub places: Vec<Place>,
    pub turns: usize,
    pub joints: usize,
}

pub(super) fn constraints(
    scene: &mut Scene,
    points: &Points,
    prescribed: &[PrescribedBody],
    notes: &mut Diagnostics,
) -> Joined {
    let mut builder = JointBuilder {
        at: ("joint", 0),
        places: Vec::new(),
        bodies: &points.bodies,
        names: &points.names,
        x: &points.x,
        v: &points.v,
        particles: points.layout.particles,
        out: Vec::new(),
        turns: 0,
        joints: 0,
        coordinates: BTreeMap::new(),
        taken: BTreeMap::new(),
        method: scene.method.name(),
        explicit: matches!(scene.method, Method::Explicit(_) | Method::Implicit(_)),
        lagrange: matches!(scene.method, Method::Lagrange(_)),
    };
    for (k, joint) in scene.joint.iter().enumerate() {
        notes.at("joint", k, &joint.name);
        builder.at = ("joint", k);
        builder.joint(joint, notes);
    }
    for (k, gear) in scene.gear.iter().enumerate() {
        notes.at("gear", k, &gear.name);
        builder.at = ("gear", k);
        builder.gear(gear, notes);
    }
    for (k, bead) in scene.bead.iter().enumerate() {
        notes.at("bead", k, &bead.name);
        builder.at = ("bead", k);
        builder.bead(bead, notes);
    }
    for (k, custom) in std::mem::take(&mut scene.constraint).into_iter().enumerate() {
        notes.at("constraint", k, &custom.name);
        builder.at = ("constraint", k);
        builder.custom(custom, notes);
    }
    prescribed.iter().for_each(|body| builder.prescribed(body));
    if !scene.assemble {
        builder.gaps(notes);
    }
    Joined { constraints: builder.out, places: builder.places, turns: builder.turns, joints: builder.joints }
}

/// Two anchors that lie further apart than this do not meet \[m\].
const MEET: f64 = 1e-6;

impl JointBuilder<'_> {
    fn name(&mut self, name: &str, notes: &mut Diagnostics) {
        if !check_name(name, notes) {
            return;
        }
        if self.bodies.names.contains_key(name) || self.names.has(name) {
            // Quantities such as `door.x` and `door.angle` name either by the same word.
            notes.error("name", format!("the name `{name}` is taken by a body or set of points"));
        } else if self.taken.insert(name.to_string(), ()).is_some() {
            notes.error("name", format!("the name `{name}` is taken by another joint"));
        }
    }

    fn holder(&self, text: &str, key: &'static str, notes: &mut Diagnostics) -> Option<Holder> {
        if text == "world" {
            return Some(Holder::World);
        }
        if let Some(k) = self.bodies.names.get(text) {
            return Some(Holder::Rigid(*k));
        }
        let bodies: Vec<String> = self.bodies.names.keys().cloned().chain(["world".to_string()]).collect();
        let point = self.names.one_or(notes, key, text, &bodies)?;
        if point.index() >= self.particles {
            notes.error(key, format!("`{text}` is carried by something else; name the body that carries it"));
            return None;
        }
        Some(Holder::Particle(point.0))
    }

    fn body(&self, holder: Holder) -> Body {
        match holder {
            Holder::World => Body::WORLD,
            Holder::Rigid(k) => self.bodies.start[k as usize],
            Holder::Particle(i) => Body { x: self.x[i as usize], v: self.v[i as usize], ..Body::WORLD },
        }
    }

    /// A place in the world, in a holder's own terms.
    fn local(&self, holder: Holder, p: &Vec3) -> Vec3 {
        let b = self.body(holder);
        b.R.transpose() * (p - b.x)
    }

    fn joint(&mut self, j: &JointItem, notes: &mut Diagnostics) {
        self.name(&j.name, notes);
        let a = self.holder(&j.between[0], "between", notes);
        let b = self.holder(&j.between[1], "between", notes);
        let (Some(a), Some(b)) = (a, b) else { return };
        if a == b {
            notes.error("between", format!("joins `{}` with itself", j.between[0]));
            return;
        }
        if !holds(j, notes) || !numbers(j, notes) {
            return;
        }
        let Some(axes) = axes(j, notes) else { return };
        let info = j.kind.info();
        for (h, text) in [a, b].iter().zip(&j.between) {
            // A particle may carry a line or plane, which then does not turn.
            if matches!(h, Holder::Particle(_)) && info.orients[1] {
                let message = format!("`{text}` is a particle, which has no axes for a `{}`", info.name);
                notes.error("kind", message);
                return;
            }
        }
        let anchors = match j.anchors {
            Anchors::World(p) => [self.local(a, &p), self.local(b, &p)],
            Anchors::Default => {
                let p = self.origin(b);
                [self.local(a, &p), self.local(b, &p)]
            }
            Anchors::Local(given) => [a, b].map(|h| {
                let p = if h == a { given[0] } else { given[1] };
                self.in_frame(h, &p)
            }),
        };
        // Under a distance the anchors are meant to be apart: b's is its own origin.
        let anchors = match (j.kind, j.anchors) {
            (JointKind::Distance { .. }, Anchors::Default) => [self.own(a), self.own(b)],
            (JointKind::Distance { .. }, Anchors::World(p)) => [self.local(a, &p), self.own(b)],
            _ => anchors,
        };
        let end = |k: usize, holder: Holder| End {
            holder,
            anchor: anchors[k],
            axes: self.body(holder).R.transpose() * axes[k],
        };
        let ends = [end(0, a), end(1, b)];
        let kind = match j.kind {
            JointKind::Distance { length } => {
                let now = Ends::new(&ends, &[self.body(a), self.body(b)]).d.norm();
                let length = length.unwrap_or(now);
                if !(length > 0.0) {
                    notes.error("length", format!("the distance must be greater than zero, but is {length}"));
                    return;
                }
                JointKind::Distance { length: Some(length) }
            }
            kind => kind,
        };
        let joint = self.joints;
        self.joints += 1;
        let hold = Hold::from(j.stiffness);
        self.refuse_hold(&j.name, hold, "kp", notes);
        self.push(j.name.clone(), Box::new(Joint::new(kind, ends)), hold, j.break_force, joint);
        match info.coordinates.first().copied() {
            Some(axis) => {
                self.coordinates.insert(j.name.clone(), (axis, ends));
                self.axis_rows(j, axis, ends, joint, notes);
            }
            None => {
                for (_, key, _) in roles(j).into_iter().filter(|(part, ..)| *part != "upper") {
                    let others = JointKind::with_coordinate();
                    let message = format!("a `{}` has no single coordinate; {others} have", info.name);
                    notes.error(key, message);
                }
            }
        }
    }

    /// Origin of a body's frame (particle: itself) at the start, in the world.
    fn origin(&self, h: Holder) -> Vec3 {
        let b = self.body(h);
        b.x + b.R * self.own(h)
    }

    /// Origin of a body's frame from its centre of mass, body axes.
    fn own(&self, h: Holder) -> Vec3 {
        match h {
            Holder::Rigid(k) => -self.bodies.rigid.center[k as usize],
            _ => Vec3::zeros(),
        }
    }

    /// A place given in a body's frame, from its centre of mass.
    fn in_frame(&self, h: Holder, p: &Vec3) -> Vec3 {
        p + self.own(h)
    }

    fn axis_rows(
        &mut self,
        j: &JointItem,
        axis: Axis,
        ends: [End; 2],
        joint: usize,
        notes: &mut Diagnostics,
    ) {
        for (part, key, hold) in roles(j) {
            let Hold::Axis { role, .. } = hold else { continue };
            self.refuse_hold(&j.name, hold, key, notes);
            let row = Box::new(AxisRow::new(axis, role, ends));
            self.push(format!("{}.{part}", j.name), row, hold, None, joint);
        }
    }

    /// Says which methods can run a row that this one cannot.
    fn refuse_hold(&self, name: &str, hold: Hold, key: &'static str, notes: &mut Diagnostics) {
        let problem = match hold {
            Hold::Hard if self.explicit => {
                "an exact joint; give it `kp` and `kd`, or use `lagrange` or `impulse`"
            }
            Hold::Given(_) if self.explicit || self.lagrange => "ε and r as they are; `impulse` does",
            Hold::Axis { role: Role::Friction(_), .. } if self.explicit || self.lagrange => {
                "dry friction in joints; `impulse` does"
            }
            Hold::Axis { role: Role::Armature(_), .. } if self.explicit => {
                "armature; `lagrange` and `impulse` do"
            }
            Hold::Axis { role: Role::Velocity { .. }, .. } if self.explicit || self.lagrange => {
                "velocity motors; `impulse` does"
            }
            Hold::Axis { role: Role::Lower(_) | Role::Upper(_), kp, .. }
                if kp.is_infinite() && (self.explicit || self.lagrange) =>
            {
                "hard limits; give them `limit_kp` and `limit_kd`, or use `impulse`"
            }
            _ => return,
        };
        notes.error(
            key,
            format!("the method `{}` cannot run joint `{name}`: it does not take {problem}", self.method),
        );
    }

    fn push(
        &mut self,
        name: String,
        constraint: Box<dyn Constraint>,
        hold: Hold,
        breaks_at: Option<f64>,
        joint: usize,
    ) {
        let holders = constraint.holders().to_vec();
        let bodies: Vec<Body> = holders.iter().map(|h| self.body(*h)).collect();
        let count = constraint.coordinates(&bodies, &[0.0, 0.0]).iter().flatten().count();
        let turns = self.turns..self.turns + count;
        self.turns += count;
        self.out.push(NamedConstraint { name, constraint, hold, breaks_at, turns, joint });
        self.places.push(self.at);
    }

    fn gear(&mut self, gear: &super::Gear, notes: &mut Diagnostics) {
        self.name(&gear.name, notes);
        if !notes.finite("ratio", gear.ratio) {
            return;
        }
        let mut found = Vec::new();
        for name in &gear.joints {
            match self.coordinates.get(name) {
                Some((axis, ends)) => found.push(Coupling { axis: *axis, ends: *ends }),
                None => {
                    let known = self.coordinates.keys().cloned().collect();
                    let message = format!("names `{name}`, which is no joint with a coordinate of its own");
                    notes.misspelt("joints", message, Some((name.clone(), known)));
                }
            }
        }
        let [one, two] = found[..] else { return };
        let bodies: Vec<Body> = [one.ends[0], one.ends[1], two.ends[0], two.ends[1]]
            .iter()
            .map(|e| self.body(e.holder))
            .collect();
        let now = Coupler::new([one, two], gear.ratio, 0.0).coordinates(&bodies, &[0.0, 0.0]);
        let offset = now[0].unwrap_or(0.0) + gear.ratio * now[1].unwrap_or(0.0);
        let hold = Hold::from(gear.stiffness);
        if let Stiffness::Gains { kp, kd } = gear.stiffness {
            notes.not_negative("kp", kp);
            notes.not_negative("kd", kd);
        }
        self.refuse_hold(&gear.name, hold, "kp", notes);
        let joint = self.joints;
        self.joints += 1;
        let coupler = Box::new(Coupler::new([one, two], gear.ratio, offset));
        self.push(gear.name.clone(), coupler, hold, None, joint);
    }

    fn bead(&mut self, bead: &super::Bead, notes: &mut Diagnostics) {
        self.name(&bead.name, notes);
        if self.explicit {
            self.refuse_hold(&bead.name, Hold::Hard, "", notes);
            return;
        }
        let points = self.names.list(notes, "on", &bead.on);
        let several = points.len() > 1;
        for (k, point) in points.into_iter().enumerate() {
            if point >= self.particles {
                notes.error("on", "a bead must be a particle of its own");
                return;
            }
            let holder = Holder::Particle(point as u32);
            let end = End { holder, anchor: Vec3::zeros(), axes: Mat3::identity() };
            let joint = self.joints;
            self.joints += 1;
            let constraint = Box::new(UserConstraint::new(bead.track, &[end]));
            let name = if several { format!("{}[{k}]", bead.name) } else { bead.name.clone() };
            self.push(name, constraint, Hold::Hard, None, joint);
        }
    }

    fn custom(&mut self, custom: super::CustomConstraint, notes: &mut Diagnostics) {
        self.name(&custom.name, notes);
        if self.explicit {
            self.refuse_hold(&custom.name, Hold::Hard, "", notes);
            return;
        }
        let mut ends = Vec::new();
        for (text, place) in &custom.points {
            if let Some(holder) = self.holder(text, "points", notes) {
                ends.push(End { holder, anchor: self.in_frame(holder, place), axes: Mat3::identity() });
            }
        }
        if ends.is_empty() || ends.len() != custom.points.len() || ends.len() > crate::joints::MOST_HOLDERS {
            notes.error("points", format!("needs one to four points, has {}", ends.len()));
            return;
        }
        let constraint = (custom.make)(&ends);
        if constraint.rows() == 0 || constraint.rows() > crate::joints::MOST_ROWS {
            notes.error("", format!("has {} equations; one to six are possible", constraint.rows()));
            return;
        }
        let joint = self.joints;
        self.joints += 1;
        self.push(custom.name, constraint, Hold::Hard, None, joint);
    }

    /// Six rows that hold a body where it is, or carry it.
    fn prescribed(&mut self, body: &PrescribedBody) {
        self.at = body.place;
        let holder = Holder::Rigid(body.body);
        let start = self.body(holder);
        let constraint: Box<dyn Constraint> = match &body.motion {
            Some(motion) => Box::new(Prescribed::new(motion.clone(), body.body, &start)),
            None => {
                let world = End { holder: Holder::World, anchor: start.x, axes: start.R };
                let own = End { holder, anchor: Vec3::zeros(), axes: Mat3::identity() };
                Box::new(Joint::new(JointKind::Fixed, [world, own]))
            }
        };
        let names = &self.bodies.names;
        let name = names.iter().find(|(_, k)| **k == body.body).map_or("", |(name, _)| name);
        let name = format!("{name}.{}", body.place.0);
        let joint = self.joints;
        self.joints += 1;
        self.push(name, constraint, Hold::Hard, None, joint);
    }

    /// Tells about exact joints that do not hold at the start.
    fn gaps(&self, notes: &mut Diagnostics) {
        let mut rows = crate::joints::Rows::default();
        for (c, (table, index)) in self.out.iter().zip(&self.places).filter(|(c, _)| c.is_exact()) {
            let bodies: Vec<Body> = c.constraint.holders().iter().map(|h| self.body(*h)).collect();
            rows.clear(bodies.len());
            c.constraint.evaluate(0.0, &bodies, &[0.0, 0.0], &mut rows);
            let gap = rows.violation[..c.constraint.rows()].iter().fold(0.0f64, |w, x| w.max(x.abs()));
            if !(gap < MEET) {
                notes.at(table, *index, &c.name);
                let message = format!(
                    "gapes by {gap:.3e} (m or rad) at the start; move the bodies, or set `assemble = true` in the scene to have them pulled together"
                );
                notes.error("", message);
            }
        }
    }
}

impl From<Stiffness> for Hold {
    fn from(stiffness: Stiffness) -> Self {
        match stiffness {
            Stiffness::Hard => Hold::Hard,
            Stiffness::Gains { kp, kd } => Hold::Gains { kp, kd },
            Stiffness::Given(s) => Hold::Given(s),
        }
    }
}

/// What acts on the coordinate of a joint: part of its name, key that says so, and how it holds.
pub(super) fn roles(j: &JointItem) -> Vec<(&'static str, &'static str, Hold)> {
    let axis = |role: Role| Hold::Axis { role, kp: 0.0, kd: 0.0 };
    let limit = |role: Role| match j.limit_stiffness {
        Stiffness::Gains { kp, kd } => Hold::Axis { role, kp, kd },
        _ => Hold::Axis { role, kp: f64::INFINITY, kd: 0.0 },
    };
    let mut roles = Vec::new();
    if let Some([low, high]) = j.limits {
        roles.push(("lower", "limits", limit(Role::Lower(low))));
        roles.push(("upper", "limits", limit(Role::Upper(high))));
    }
    if let Some(motor) = j.motor {
        let role = match motor {
            Motor::Velocity { target, max } => Role::Velocity { target, max },
            Motor::Position { target, kp, kd, max } => Role::Servo { target, kp, kd, max },
            Motor::Effort(e) => Role::Effort(e),
        };
        roles.push(("motor", "motor", axis(role)));
    }
    if j.damping > 0.0 {
        let role = Role::Servo { target: 0.0, kp: 0.0, kd: j.damping, max: f64::INFINITY };
        roles.push(("damping", "damping", axis(role)));
    }
    if j.friction > 0.0 {
        roles.push(("friction", "friction", axis(Role::Friction(j.friction))));
    }
    if j.armature > 0.0 {
        roles.push(("armature", "armature", axis(Role::Armature(j.armature))));
    }
    roles
}

/// False, with an error, for a kind that holds nothing.
pub(super) fn holds(j: &JointItem, notes: &mut Diagnostics) -> bool {
    let holds = j.kind.info().rows > 0;
    if !holds {
        notes.error("kind", format!("a `{}` joint holds nothing; leave it out", j.kind.name()));
    }
    holds
}

pub(super) fn numbers(j: &JointItem, notes: &mut Diagnostics) -> bool {
    let before = notes.found;
    for (key, x) in [("damping", j.damping), ("friction", j.friction), ("armature", j.armature)] {
        notes.not_negative(key, x);
    }
    for (s, [p, d]) in [(j.stiffness, ["kp", "kd"]), (j.limit_stiffness, ["limit_kp", "limit_kd"])] {
        if let Stiffness::Gains { kp, kd } = s {
            notes.not_negative(p, kp);
            notes.not_negative(d, kd);
            if kp == 0.0 && kd == 0.0 {
                notes.error(p, format!("{p} and {d} are both zero: they would hold nothing"));
            }
        }
        if let Stiffness::Given(s) = s
            && !((0.0..=1.0).contains(&s.error_reduction) && s.regularization >= 0.0)
        {
            let (e, r) = (s.error_reduction, s.regularization);
            notes.error(
                "error_reduction",
                format!("ε = {e} must lie in 0 … 1 and r = {r} must not be negative"),
            );
        }
    }
    if let Some([low, high]) = j.limits
        && !(low <= high)
    {
        notes.error("limits", format!("the lower limit {low} lies above the upper limit {high}"));
    }
    match j.motor {
        Some(Motor::Velocity { target, max }) => {
            notes.finite("motor", target);
            if !(max >= 0.0) {
                notes.error("motor", format!("the largest effort must not be negative, but is {max}"));
            }
        }
        Some(Motor::Position { target, kp, kd, max }) => {
            notes.finite("motor", target);
            notes.not_negative("motor", kp);
            notes.not_negative("motor", kd);
            if kp == 0.0 && kd == 0.0 || !(max >= 0.0) {
                notes.error("motor", format!("kp = {kp}, kd = {kd}, max = {max} hold nothing"));
            }
        }
        Some(Motor::Effort(e)) => {
            notes.finite("motor", e);
        }
        None => {}
    }
    if let Some(f) = j.break_force
        && !(f > 0.0)
    {
        notes.error("break_force", format!("must be greater than zero, but is {f}"));
    }
    if let JointKind::Screw { pitch } = j.kind {
        notes.finite("pitch", pitch);
    }
    let places: Vec<Vec3> = match j.anchors {
        Anchors::World(p) => vec![p],
        Anchors::Local(p) => p.to_vec(),
        Anchors::Default => Vec::new(),
    };
    for p in places {
        notes.finite3("anchor", &p);
    }
    notes.found == before
}

/// Axes t, n, b of both ends in the world.
pub(super) fn axes(j: &JointItem, notes: &mut Diagnostics) -> Option<[Mat3; 2]> {
    j.kind.frames(&j.axis, j.axis2).map_err(|(key, wrong)| notes.error(key, wrong)).ok()
}
