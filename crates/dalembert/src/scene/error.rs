//! Mistakes in a scene, with the place they were made at.

use std::fmt;

use crate::contact::potential::ContactGeometry;
use crate::math::Vec3;
pub use crate::model::{Place, Warning};

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct SceneError {
    /// Where.
    pub place: Place,
    /// What is wrong, with the name and the number.
    pub message: String,
    /// A misspelt name and the names that exist, for a suggestion.
    pub misspelt: Option<(String, Vec<String>)>,
}

/// All mistakes found in a scene.
#[derive(Debug, Clone, PartialEq)]
pub struct BuildError {
    /// At least one.
    pub errors: Vec<SceneError>,
    /// What intersects or touches at the start, if that is what is wrong.
    pub culprits: Culprits,
}

/// Primitives of collision surfaces, to look at.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Culprits {
    /// Vertices \[m\].
    pub points: Vec<Vec3>,
    /// Corners of triangles.
    pub triangles: Vec<[u32; 3]>,
    /// Ends of edges.
    pub segments: Vec<[u32; 2]>,
}

impl Culprits {
    /// What intersects at the places `x` of all vertices \[m\], by an exact test.
    pub fn of(geometry: &ContactGeometry, x: &[Vec3]) -> Self {
        super::sanity::culprits(geometry, x)
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, e) in self.errors.iter().enumerate() {
            if k > 0 {
                writeln!(f)?;
            }
            write!(f, "{e}")?;
        }
        Ok(())
    }
}

impl std::error::Error for BuildError {}
