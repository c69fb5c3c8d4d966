//! The explicit integrators by name: `explicit`, `lagrange` and robots know them.

/// The explicit integrators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integrator {
    /// Explicit Euler, order 1.
    Euler,
    /// Kick, then drift: order 1, symplectic.
    SymplecticEuler,
    /// Midpoint rule, order 2.
    Midpoint,
    /// Velocity Verlet (leapfrog), order 2, symplectic.
    Verlet,
    /// Classical Runge–Kutta, order 4.
    Rk4,
    /// Euler with step doubling, adaptive.
    EulerDoubling,
    /// Dormand–Prince 5(4), adaptive.
    DormandPrince,
}

impl Integrator {
    /// All integrators with their names in scene files.
    pub const ALL: &'static [(&'static str, Integrator)] = &[
        ("euler", Integrator::Euler),
        ("symplectic_euler", Integrator::SymplecticEuler),
        ("midpoint", Integrator::Midpoint),
        ("verlet", Integrator::Verlet),
        ("rk4", Integrator::Rk4),
        ("euler_doubling", Integrator::EulerDoubling),
        ("dormand_prince", Integrator::DormandPrince),
    ];

    /// Name in scene files.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, i)| *i == self).map_or("?", |(n, _)| n)
    }

    /// The integrator with the given name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|(_, i)| *i)
    }

    /// True if it chooses its own inner steps.
    pub fn is_adaptive(self) -> bool {
        matches!(self, Integrator::EulerDoubling | Integrator::DormandPrince)
    }
}
