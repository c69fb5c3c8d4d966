//! Where colliders are in a step, and which are near each other.

use super::law::RigidContactModel;
use crate::collide::rigid::Detector;
use crate::math::{Pose, Vec3};

/// Contacts are seen from this part of the smallest shape on, beside what bodies move in a step. More of it costs: in a
/// pile of boxes half of the points would be those of neighbours that do not touch.
pub(crate) const MARGIN: f64 = 0.003;

/// Poses of everything that owns colliders, and the manifolds between them.
#[derive(Debug, Default)]
pub(crate) struct Detection {
    pub(crate) detector: Detector,
    pub(crate) poses: Vec<Pose>,
    /// How far each may move in the step, with the margin \[m\].
    pub(crate) reach: Vec<f64>,
    /// Radius of each about its centre of mass \[m\].
    pub(crate) radius: Vec<f64>,
}

impl Detection {
    /// For the colliders of a model; `center` is the centre of mass of an owner in its own frame.
    pub(crate) fn new(model: &RigidContactModel, center: impl Fn(usize) -> Vec3) -> Self {
        let mut new = Self { radius: vec![0.0; model.owners.len()], ..Self::default() };
        for &(a, b) in &model.excluded {
            new.detector.exclude(a, b);
        }
        for collider in &model.colliders {
            let Some(radius) = new.radius.get_mut(collider.body as usize) else { continue };
            let (size, center) = (collider.shape.bounds(&collider.pose, 0.0), center(collider.body as usize));
            let far =
                Vec3::from_fn(|k, _| (size.high[k] - center[k]).abs().max((size.low[k] - center[k]).abs()));
            *radius = radius.max(far.norm());
        }
        new
    }

    /// Radius of the smallest owner that has colliders \[m\].
    pub(crate) fn smallest(&self) -> f64 {
        self.radius.iter().copied().filter(|r| *r > 0.0).fold(f64::INFINITY, f64::min)
    }
}
