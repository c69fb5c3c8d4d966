//! Seeing a simulation: pictures, plots and the browser viewer of dalembert.
//!
//! Everything starts from a [`drawing`]: a neutral description of shapes that any kind of body can be translated
//! into. [`render`] makes pictures and films from it on the CPU, [`server`] shows it in browsers, and [`plot`] draws
//! numbers over time. A [`player`] is what moves: a live simulation or a recording.
//!
//! | program | library |
//! |---|---|
//! | `dalembert view` | [`view()`] with a [`Live`] or [`Playback`] |
//! | `dalembert render` | [`render_film`] with a [`Film`] |
//! | `dalembert plot` | [`plot::plot_recording`], then [`Plot::write`](plot::Plot::write) |
//!
//! A picture of a simulation:
//!
//! ```
//! use dalembert::prelude::*;
//! use dalembert_viewer::drawing::Groups;
//! use dalembert_viewer::{Film, Live, RenderOptions, Renderer};
//!
//! let mut scene = Scene::new();
//! scene.add(ParticleSet::at("stone", [0.0, 0.0, 2.0]).velocity([1.0, 0.0, 3.0]));
//! let film = Film::take(&mut Live::new(scene.build()?), 0.5, 10.0, Groups::EVERY)?;
//! let options = RenderOptions { width: 64, height: 48, groups: Groups::EVERY, ..RenderOptions::default() };
//! let renderer = Renderer::new(&film.drawing, &film.frames, options);
//! assert!(renderer.image(&film.drawing, &film.frames[5]).to_png().len() > 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A simulation whose loop stays the user's, watched in a browser:
//!
//! ```
//! use dalembert::prelude::*;
//! use dalembert_viewer::drawing::Frame;
//! use dalembert_viewer::{Live, Player, Server, ServerOptions, Status};
//!
//! let mut scene = Scene::new();
//! scene.add(ParticleSet::at("stone", [0.0, 0.0, 2.0]));
//! let mut live = Live::new(scene.build()?);
//! let server = Server::start(&ServerOptions { port: 0, ..ServerOptions::default() }, live.drawing())?;
//! println!("{}", server.url());
//! let mut frame = Frame::default();
//! for _ in 0..100 {
//!     live.step()?;
//!     if server.is_due() {
//!         live.frame(server.wanted(), &mut frame);
//!         server.publish(&frame, &Status::default());
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod bench;
pub mod drawing;
mod error;
mod film;
pub mod player;
pub mod plot;
pub mod render;
pub mod sample;
pub mod server;
mod view;

pub use error::ViewerError;
pub use film::Film;
pub use player::{Live, Playback, Player, Pull, warnings_line};
pub use render::{RenderOptions, Renderer, Theme, View};
pub use server::{Command, Server, ServerOptions, Status};
pub use view::{ViewOptions, view};

use std::path::Path;

/// Writes a film to `path`: `.png` (its last moment), `.gif` or `.mp4`. `progress` is told the number of pictures done.
pub fn render_film(
    film: &Film,
    options: &RenderOptions,
    path: &Path,
    mut progress: impl FnMut(usize),
) -> Result<(), ViewerError> {
    render::check_ending(path)?;
    let renderer = Renderer::new(&film.drawing, &film.frames, options.clone());
    let last = film.frames.last().ok_or(ViewerError::NothingToShow)?;
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png")) {
        let image = renderer.image(&film.drawing, last);
        let bytes = if options.few_colours { image.to_small_png() } else { image.to_png() };
        progress(film.frames.len());
        let failed = |source| ViewerError::Io { action: "write", path: path.to_owned(), source };
        return std::fs::write(path, bytes).map_err(failed);
    }
    render::write_film(path, options.fps, film.frames.len(), |i| {
        let image = renderer.image(&film.drawing, &film.frames[i]);
        progress(i + 1);
        image
    })
}
