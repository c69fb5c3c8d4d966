//! Forces and constraints that a user writes in Rust.

use crate::forces::{Force, nary, unary};
use crate::joints::{Constraint, Equations};
use crate::math::Vec3;
use crate::state::PointSet;

/// A force that the user wrote: made once the points are known.
pub struct CustomForce {
    /// Name, for energies by term.
    pub name: String,
    /// Points that it is about, in this order; all particles if empty.
    pub on: Vec<String>,
    /// Most points that it takes.
    pub most: usize,
    /// Makes the batch from the points.
    pub make: Box<dyn FnOnce(Vec<usize>) -> Box<dyn Force> + Send>,
}

impl std::fmt::Debug for CustomForce {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CustomForce({}, on {:?})", self.name, self.on)
    }
}

impl CustomForce {
    /// A force on each point by itself: f(t, x, v, m) \[N\].
    pub fn on_each(
        name: impl Into<String>,
        on: &[&str],
        force: impl Fn(f64, &Vec3, &Vec3, f64) -> Vec3 + Send + Sync + 'static,
    ) -> Self {
        let make = |points: Vec<usize>| -> Box<dyn Force> {
            let on = PointSet::new(points);
            Box::new(unary::PointClosure { on, force: Box::new(force), energy: None })
        };
        let on = on.iter().map(|s| s.to_string()).collect();
        Self { name: name.into(), on, most: usize::MAX, make: Box::new(make) }
    }

    /// A force on the tuple of all named points together: fills f from (t, x, v).
    pub fn on_tuple(
        name: impl Into<String>,
        on: &[&str],
        force: impl Fn(f64, &[Vec3], &[Vec3], &mut [Vec3]) + Send + Sync + 'static,
    ) -> Self {
        let make = |points: Vec<usize>| -> Box<dyn Force> {
            Box::new(nary::TupleClosure {
                k: points.len(),
                points: points.iter().map(|&i| crate::state::PointId(i as u32)).collect(),
                force: Box::new(force),
                energy: None,
                internal: false,
            })
        };
        let on = on.iter().map(|s| s.to_string()).collect();
        Self { name: name.into(), on, most: nary::MOST_TUPLE, make: Box::new(make) }
    }
}

/// Makes a constraint from its ends.
pub type MakeConstraint = Box<dyn FnOnce(&[crate::joints::End]) -> Box<dyn Constraint> + Send>;

/// A constraint that the user wrote in Rust: made once the bodies are known.
pub struct CustomConstraint {
    /// Name, unique among joints.
    pub name: String,
    /// The points that it is about: a body or particle, and a place in its frame \[m\].
    pub points: Vec<(String, Vec3)>,
    /// Makes the constraint from the ends.
    pub make: MakeConstraint,
}

impl std::fmt::Debug for CustomConstraint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CustomConstraint({}, {:?})", self.name, self.points)
    }
}

impl CustomConstraint {
    /// Equations C(x, t) = 0 on one to four points; only the function is needed.
    pub fn equations(
        name: impl Into<String>,
        points: &[(&str, [f64; 3])],
        equations: impl Equations + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            points: points.iter().map(|(n, p)| (n.to_string(), (*p).into())).collect(),
            make: Box::new(|ends| Box::new(crate::joints::UserConstraint::new(equations, ends))),
        }
    }
}
