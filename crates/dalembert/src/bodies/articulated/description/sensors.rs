//! What is measured on a robot.

use super::{ActuatorId, RobotBodyId, RobotGeomId, RobotJointId, RobotSiteId, TendonId};

/// Something that is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Sensor {
    /// Name, unique among sensors, or empty.
    pub name: String,
    /// What is measured, by its MJCF name: `jointpos`, `gyro`, `framequat`, …
    pub kind: String,
    /// On what.
    pub object: SensorObject,
    /// In whose frame, where a kind has one.
    pub reference: Option<SensorObject>,
    /// Readings beyond ± this are cut off; 0: they are not.
    pub cutoff: f64,
    /// Standard deviation of noise.
    pub noise: f64,
    /// Attributes of this kind alone, as the file gives them.
    pub other: Vec<(String, String)>,
}

/// What a sensor sits on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SensorObject {
    /// Nothing in particular (clock, energy).
    Model,
    /// The frame of a body.
    Body(RobotBodyId),
    /// The centre of mass and principal axes of a body.
    BodyInertial(RobotBodyId),
    /// A joint.
    Joint(RobotJointId),
    /// A geom.
    Geom(RobotGeomId),
    /// A site.
    Site(RobotSiteId),
    /// A tendon.
    Tendon(TendonId),
    /// An actuator.
    Actuator(ActuatorId),
    /// A camera, by its place among the cameras of the file.
    Camera(usize),
}
