//! Files of the dalembert engine: scenes, recordings, exports.
