//! Step, gravity and solver settings that a model asks for.

use super::ContactSoftness;
use crate::math::Vec3;

/// What a model asks of the simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct RobotOptions {
    /// Step \[s\].
    pub timestep: f64,
    /// Gravity \[m/s²\].
    pub gravity: Vec3,
    /// Time stepping method.
    pub integrator: RobotIntegrator,
    /// Velocity of the air \[m/s\].
    pub wind: Vec3,
    /// Magnetic field, for magnetometers.
    pub magnetic: Vec3,
    /// Density of the medium \[kg/m³\].
    pub density: f64,
    /// Viscosity of the medium \[Pa·s\].
    pub viscosity: f64,
    /// Whether the friction cone is round instead of a pyramid; `None` if the file does not say.
    pub elliptic_cone: Option<bool>,
    /// Impedance of friction over that of the normal direction.
    pub impedance_ratio: f64,
    /// Constraint solver.
    pub solver: RobotSolver,
    /// Most iterations of the solver.
    pub iterations: usize,
    /// Tolerance of the solver.
    pub tolerance: f64,
    /// If given: margin and softness of all contacts, instead of those of the geoms.
    pub contact_override: Option<(f64, ContactSoftness)>,
    /// Switches that the model sets, by their MJCF names ("contact", "gravity"), each on or off.
    pub flags: Vec<(String, bool)>,
    /// Other settings, by their MJCF names, which only another engine can use ("noslip_iterations").
    pub other: Vec<(String, String)>,
}

impl Default for RobotOptions {
    fn default() -> Self {
        Self {
            timestep: 0.002,
            gravity: Vec3::new(0.0, 0.0, -9.81),
            integrator: RobotIntegrator::default(),
            wind: Vec3::zeros(),
            magnetic: Vec3::new(0.0, -0.5, 0.0),
            density: 0.0,
            viscosity: 0.0,
            elliptic_cone: None,
            impedance_ratio: 1.0,
            solver: RobotSolver::default(),
            iterations: 100,
            tolerance: 1e-8,
            contact_override: None,
            flags: Vec::new(),
            other: Vec::new(),
        }
    }
}

impl RobotOptions {
    /// Whether the model switches `flag` off.
    pub fn disables(&self, flag: &str) -> bool {
        self.flags.iter().rev().find(|(name, _)| name == flag).is_some_and(|(_, on)| !on)
    }

    /// Whether the model switches `flag` on.
    pub fn enables(&self, flag: &str) -> bool {
        self.flags.iter().rev().find(|(name, _)| name == flag).is_some_and(|(_, on)| *on)
    }
}

/// Time stepping methods that models name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RobotIntegrator {
    /// Semi-implicit Euler, joint damping implicit.
    #[default]
    Euler,
    /// Runge-Kutta of order 4.
    Rk4,
    /// Implicit in velocity.
    Implicit,
    /// Implicit in velocity without the derivatives of Coriolis forces.
    ImplicitFast,
    /// Implicit in springs, dampers and servos: the discrete-time scheme of MuJoCo 4.
    Discrete,
}

impl RobotIntegrator {
    /// The ways in which a step at the velocity level takes forces at its end, by name.
    pub const STEPPED: [(&'static str, Self); 4] = [
        ("discrete", Self::Discrete),
        ("implicitfast", Self::ImplicitFast),
        ("implicit", Self::Implicit),
        ("euler", Self::Euler),
    ];
}

/// Constraint solvers that models name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RobotSolver {
    /// Projected Gauss-Seidel.
    Pgs,
    /// Conjugate gradients.
    Cg,
    /// Newton.
    #[default]
    Newton,
}
