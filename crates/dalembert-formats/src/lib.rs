//! Files of the dalembert engine: scenes, recordings, exports.

pub mod recording;
