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

pub mod bench;
pub mod drawing;
mod error;
pub mod player;
pub mod plot;
pub mod render;
pub mod sample;
pub mod server;
mod view;

pub use error::ViewerError;
pub use player::{Film, Live, Playback, Player, Pull};
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
    let renderer = Renderer::new(&film.drawing, &film.frames, options.clone());
    render::write_film(path, options.fps, film.frames.len(), |i| {
        let image = renderer.image(&film.drawing, &film.frames[i]);
        progress(i + 1);
        image
    })
}
