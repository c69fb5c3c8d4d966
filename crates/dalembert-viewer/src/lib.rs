//! Seeing a simulation: pictures, plots and the browser viewer of dalembert.
//!
//! Everything starts from a [`drawing`]: a neutral description of shapes that any kind of body can be translated
//! into. [`render`] makes pictures and films from it on the CPU.

pub mod drawing;
mod error;
pub mod render;

pub use error::ViewerError;
