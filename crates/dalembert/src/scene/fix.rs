//! Points and bodies that may not move.

use super::keys::*;
use crate::describe::short::*;
use crate::describe::table;
use crate::math::Vec3;
use crate::mesh::Region;

table! {
    /// Points and bodies that may not move, or points not in some directions. A rigid body is held altogether, under
    /// `impulse`, `lagrange` and `ipc`.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Fix: "fix" {
        /// The points or bodies, such as `cloth[0]` or `["a", "b"]`.
        on: Vec<String> = REQUIRED, SELECTION, "";
        /// Only those of the points that start in this region.
        inside: Region = &[INSIDE];
        /// Forbidden directions, of any length; all of them if absent.
        directions: Vec<Vec3> = OPTIONAL, PLACES, "";
    }
}

impl Fix {
    /// Fixes points altogether.
    pub fn points(on: impl Into<String>) -> Self {
        Self { on: vec![on.into()], ..Self::default() }
    }

    /// Fixes those of the points altogether that start in a region.
    pub fn inside(on: impl Into<String>, region: Region) -> Self {
        Self { on: vec![on.into()], inside: region, ..Self::default() }
    }

    /// Forbids one direction.
    pub fn direction(on: impl Into<String>, direction: [f64; 3]) -> Self {
        Self { on: vec![on.into()], directions: vec![direction.into()], ..Self::default() }
    }
}
