//! Recordings as files of other tools.

pub mod topology;
