//! Mappings: points carried by other things.
//!
//! A mapping gives child points as a function of a parent, $x_c = X(q_p)$. With $J = \partial X/\partial q_p$ the
//! child moves with $v_c = J v_p$, and d'Alembert's principle sends forces back: for the same power on both sides,
//! $f_c\cdot J v_p = (J^T f_c)\cdot v_p$, the parent must feel $f_p = J^T f_c$. Where J depends on q, its change
//! under a load gives a geometric stiffness.
//!
//! Mappings read and write the flat vectors of the whole system. Children lie after their parents there (see
//! [`Layout`](crate::state::Layout)), so the list of mappings runs forwards to carry and backwards to gather, and
//! mappings of mappings compose by themselves. Book: "Mappings".

mod generalized;
mod identity;
mod rigid;
mod skinning;
mod subset;
mod weighted;

pub use generalized::GeneralizedPoints;
pub use identity::Identity;
pub use rigid::RigidPoints;
pub use skinning::Skinning;
pub use subset::Subset;
pub use weighted::Weighted;

use crate::math::Blocks;

/// Carries child points by a parent.
pub trait Mapping: Send + Sync {
    /// Name of the kind, as in scene files.
    fn kind(&self) -> &'static str;

    /// x_child ← X(q_parent), inside q.
    fn carry(&self, q: &mut [f64]);

    /// v_child ← J v_parent, inside v; also for any other velocity-like vector.
    fn carry_velocity(&self, q: &[f64], v: &mut [f64]);

    /// f_parent += Jᵀ f_child, inside f.
    fn gather_force(&self, q: &[f64], f: &mut [f64]);

    /// df_parent += −(δJᵀ) f_child for the parent motion in dx: the geometric stiffness under the child forces in f,
    /// with the sign of K = −∂f/∂x. Nothing for a mapping whose J is constant.
    fn add_geometric_stiffness_times(&self, _q: &[f64], _f: &[f64], _dx: &[f64], _df: &mut [f64]) {}

    /// Adds the 3×3 blocks of J: row, a child's three velocities; column, three velocities of a parent; both counted in
    /// threes from the start of v. False, and nothing added, if J is not made of such blocks.
    fn add_jacobian_blocks(&self, _q: &[f64], _out: &mut Blocks) -> bool {
        false
    }

    /// Adds the blocks of the symmetric part of the geometric stiffness under the child forces in f, rows and columns
    /// as in [`add_jacobian_blocks`](Self::add_jacobian_blocks).
    fn add_geometric_blocks(&self, _q: &[f64], _f: &[f64], _out: &mut Blocks) {}
}

/// Carries positions, then velocities, through a list of mappings in order.
pub fn carry_all(mappings: &[Box<dyn Mapping>], q: &mut [f64], v: &mut [f64]) {
    for m in mappings {
        m.carry(q);
        m.carry_velocity(q, v);
    }
}

/// Gathers forces through a list of mappings, last child first.
pub fn gather_all(mappings: &[Box<dyn Mapping>], q: &[f64], f: &mut [f64]) {
    for m in mappings.iter().rev() {
        m.gather_force(q, f);
    }
}
