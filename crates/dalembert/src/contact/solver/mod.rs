//! Solvers of one island of contacts, and the cascade that says which is tried when.
//!
//! Each works on an [`IslandProblem`](super::problem::IslandProblem) and the velocities x, keeps the best impulses that it found,
//! and says what is left. Large islands go to [`substepping`], whose [`Problem`](substepping::Problem) is laid out for it.

pub(crate) mod contact_batch;
pub(crate) mod gauss_seidel;
pub(crate) mod penalty;
pub(crate) mod primal_newton;

pub(crate) mod delassus;
pub(crate) mod dual_newton;
pub(crate) mod semismooth_newton;

pub(crate) mod cascade;
pub(crate) mod parallel;

pub(crate) mod substepping;

#[cfg(test)]
mod tests;

/// How a solver ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Residual {
    /// Sweeps or outer rounds.
    pub(crate) iterations: u32,
    /// How far the velocity of a contact is from what the law allows \[m/s\].
    pub(crate) left: f64,
}

/// When a solver ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Within {
    /// Residual that is small enough \[m/s\].
    pub(crate) tolerance: f64,
    /// Most sweeps.
    pub(crate) most: u32,
}
