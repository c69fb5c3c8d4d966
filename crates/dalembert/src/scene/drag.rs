//! Drag of a medium on points.

use super::forces::{ForceBuilder, MakeForce};
use super::keys::*;
use crate::describe::short::*;
use crate::describe::{Rule, table};
use crate::forces::unary::Drag;
use crate::math::Vec3;

table! {
    /// Resistance of a medium: f = −(linear + quadratic·|u|) u with u the velocity relative to the wind.
    #[derive(Debug, Clone, PartialEq)]
    pub struct DragSet: "drag" {
        /// Name, for energies by term.
        name: String = &[FORCE_NAME];
        /// Points that feel it; all particles if empty.
        on: Vec<String> = &[ON];
        /// Viscous coefficient.
        linear: f64 = number(0.0), NOT_NEGATIVE, "N·s/m";
        /// Quadratic coefficient.
        quadratic: f64 = number(0.0), NOT_NEGATIVE, "N·s²/m²";
        /// Velocity of the medium.
        wind: Vec3 = ORIGIN, VEC3, "m/s";
    }
    rules [Rule::AtLeastOne(&["linear", "quadratic"])]
}

impl MakeForce for DragSet {
    fn name(&self) -> &str {
        &self.name
    }

    fn acts_at(&self) -> Vec<&String> {
        self.on.iter().collect()
    }

    fn make(&self, at: &mut ForceBuilder<'_>) {
        at.notes.not_negative("linear", self.linear);
        at.notes.not_negative("quadratic", self.quadratic);
        at.notes.finite3("wind", &self.wind);
        let on = at.on(&self.on);
        let force = Drag { on, linear: self.linear, quadratic: self.quadratic, wind: self.wind };
        at.add("drag", &self.name, Box::new(force));
    }
}
