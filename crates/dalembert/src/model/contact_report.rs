//! Forces of contact, to be read after a step.

use crate::math::Vec3;

/// One point of contact and the force there.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ContactForce {
    /// First body: its number in the list of names that belongs to the method's contact model.
    pub a: u32,
    /// Second body.
    pub b: u32,
    /// Where they touch \[m\].
    pub point: Vec3,
    /// Unit normal from b towards a.
    pub normal: Vec3,
    /// Force on a, −force on b; friction included \[N\].
    pub force: Vec3,
    /// Distance of the surfaces \[m\]; negative where they overlap.
    pub gap: f64,
}
