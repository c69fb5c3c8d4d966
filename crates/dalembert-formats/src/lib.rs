//! Files of the dalembert engine: scenes, recordings, exports.
//!
//! A scene file is untrusted input. It passes through four modules, each usable alone:
//! [`source`] reads the file and those it includes, [`tree`] parses TOML or JSON into one tree of
//! values that know their place, [`describe`] holds it against a table that says what a scene may
//! contain, and [`error`] prints what is wrong, where, and what was probably meant.
//!
//! Robots come from the files of other tools: [`robot`] reads URDF and MJCF; [`rigid_ipc`] reads scenes of rigid-ipc.
//!
//! What a simulation leaves behind is a [`recording`]; [`export`] turns one into files of other tools.

pub mod assets;
pub mod describe;
pub mod error;
pub mod export;
pub mod mesh;
mod python;
pub mod recording;
pub mod regular;
pub mod rigid_ipc;
pub mod robot;
pub mod scene;
pub mod source;
pub mod tree;
