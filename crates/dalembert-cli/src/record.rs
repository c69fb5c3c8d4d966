//! Recordings as the program writes them, for others that write them too.

use std::collections::BTreeMap;

use dalembert::state::State;
use dalembert::step::Simulation;
use dalembert_formats::assets::Assets;
use dalembert_formats::recording::{Header, Recording};
use dalembert_formats::scene::Built;

use crate::{drive, setup};

/// The header of a recording: `scene` is the scene as JSON, `assets` the meshes that it names, `name` what people call
/// it.
pub fn header(sim: &Simulation, scene: &str, assets: &Assets, name: &str, seed: u64) -> Header {
    Header {
        scene: scene.to_owned(),
        assets: assets.clone(),
        scene_name: name.to_owned(),
        engine_version: env!("CARGO_PKG_VERSION").into(),
        method: sim.method.name().into(),
        dt: sim.dt,
        seed,
        options: BTreeMap::new(),
        state_len: State::packed_len(&sim.model.layout),
        layout: setup::layout(&sim.model),
        scalar_names: drive::scalar_names(&sim.model),
        older_format: None,
    }
}

/// The scalars of a state, in the order of [`Header::scalar_names`].
pub fn scalars(sim: &Simulation, out: &mut Vec<f64>) {
    drive::scalars(sim, out);
}

/// Builds the scene that a recording holds, as it was run. The error is what the program would print.
pub fn rebuild(recording: &Recording) -> Result<Built, String> {
    setup::rebuild(recording).map_err(|failure| failure.message())
}
