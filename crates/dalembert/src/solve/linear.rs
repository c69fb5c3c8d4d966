//! temp
#![allow(missing_docs)]
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum LinearSolver {
    #[default]
    Automatic,
    Direct,
    Cg {
        tolerance: f64,
        most_iterations: usize,
    },
}
impl LinearSolver {
    pub fn plain_cg(tolerance: f64, most_iterations: usize) -> Self {
        Self::Cg { tolerance, most_iterations }
    }
}
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Stop {
    #[default]
    Converged,
    MostIterations,
    NegativeCurvature,
}
impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LinearReport {
    pub iterations: u32,
    pub residual: f64,
    pub stop: Stop,
}
#[derive(Debug, Default)]
pub struct Linear {}
