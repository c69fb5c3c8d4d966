//! Forces: they own nothing and push on points.
//!
//! A batch holds all forces of one kind ([`nary::Springs`], [`unary::Drag`], …), so the price of a dynamic call
//! is paid once per kind and not once per spring. With $W$ the energy, a conservative batch obeys
//! $f = -\partial W/\partial x$ and $K = -\partial f/\partial x$ (positive for a spring); dissipative parts have
//! $B = -\partial f/\partial v$. The three families are
//!
//! * [`unary`]: gravity, drag, pushes, attractors. The force on a point depends on that point alone.
//! * [`nary`]: springs, angular springs. A fixed list of tuples of points.
//! * [`spatial`]: attraction and repulsion between whichever points are near each other now.
//!
//! Book: "Forces".

pub mod nary;
pub mod spatial;
pub mod unary;

pub use crate::math::Blocks;
use crate::math::{Mat3, Vec3, triple};
use crate::state::PointId;

/// What a force may look at: points `first`, `first + 1`, … with positions, velocities and masses.
#[derive(Debug, Clone, Copy)]
pub struct Points<'a> {
    /// Time t \[s\].
    pub time: f64,
    /// Number of the first point in the slices; 0 except for a window shown to a [local](Force::is_local) force.
    pub first: usize,
    /// Positions \[m\], three numbers per point.
    pub x: &'a [f64],
    /// Velocities \[m/s\], three numbers per point.
    pub v: &'a [f64],
    /// Masses \[kg\], one number per point; 0 for a point carried by something else.
    pub mass: &'a [f64],
}

impl Points<'_> {
    /// Number of points in view.
    pub fn len(&self) -> usize {
        self.mass.len()
    }

    /// True if no point is in view.
    pub fn is_empty(&self) -> bool {
        self.mass.is_empty()
    }

    /// Position of point `i`, counted from `first` \[m\].
    #[inline(always)]
    pub fn position(&self, i: usize) -> Vec3 {
        triple(self.x, i)
    }

    /// Velocity of point `i`, counted from `first` \[m/s\].
    #[inline(always)]
    pub fn velocity(&self, i: usize) -> Vec3 {
        triple(self.v, i)
    }
}

/// Takes the blocks of a symmetric tangent. What is handed over at (i, j) stands for (j, i) as well, transposed.
pub trait TangentSink {
    /// The block of points `i` and `j` \[N/m\].
    fn block(&mut self, i: usize, j: usize, K: &Mat3);

    /// The blocks k gᵢ gⱼᵀ of four points with i ≤ j, in the order (0, 0), (0, 1), …
    fn rank_one(&mut self, points: [PointId; 4], k: f64, g: &[Vec3; 4]) {
        for i in 0..4 {
            for j in i..4 {
                self.block(points[i].index(), points[j].index(), &(g[i] * (k * g[j]).transpose()));
            }
        }
    }

    /// The six blocks of three points with i ≤ j, in the order (0, 0), (0, 1), …: columns, each filled up with a zero.
    fn triangle(&mut self, points: [PointId; 3], upper: &[[[f64; 4]; 3]; 6]) {
        let pairs = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)];
        for ((i, j), columns) in pairs.into_iter().zip(upper) {
            let K = Mat3::from_fn(|a, b| columns[b][a]);
            self.block(points[i].index(), points[j].index(), &K);
        }
    }
}

impl<F: FnMut(usize, usize, &Mat3)> TangentSink for F {
    fn block(&mut self, i: usize, j: usize, K: &Mat3) {
        self(i, j, K);
    }
}

/// A batch of forces of one kind.
///
/// Only `kind` and `add_force` must be written; the others say "no such part" by default. `f`, `dx`, `df` are flat
/// slices parallel to `points.x`.
pub trait Force: Send + Sync {
    /// Name of the kind, as in scene files.
    fn kind(&self) -> &'static str;

    /// Stored energy W \[J\]; 0 for a force that stores none.
    fn energy(&self, _points: &Points) -> f64 {
        0.0
    }

    /// Hands out the stored energy by points: calls `add` with a point of each part of the batch and its energy \[J\]; the
    /// calls sum to [`energy`](Self::energy). False, and no call, if the batch knows the sum only.
    fn share_energy(&self, _points: &Points, _add: &mut dyn FnMut(usize, f64)) -> bool {
        false
    }

    /// f += −∂W/∂x + dissipative part \[N\].
    fn add_force(&self, points: &Points, f: &mut [f64]);

    /// Adds the force and returns the energy \[J\] at the same points, in one pass where the batch knows how.
    fn add_force_with_energy(&self, points: &Points, f: &mut [f64]) -> f64 {
        self.add_force(points, f);
        self.energy(points)
    }

    /// df += K dx with K = −∂f/∂x \[N/m\].
    fn add_stiffness_times(&self, _points: &Points, _dx: &[f64], _df: &mut [f64]) {}

    /// Adds the 3×3 blocks of K = −∂f/∂x \[N/m\].
    fn add_stiffness_blocks(&self, _points: &Points, _out: &mut Blocks) {}

    /// df += B dv with B = −∂f/∂v \[N·s/m\].
    fn add_damping_times(&self, _points: &Points, _dv: &[f64], _df: &mut [f64]) {}

    /// Adds the 3×3 blocks of B = −∂f/∂v \[N·s/m\].
    fn add_damping_blocks(&self, _points: &Points, _out: &mut Blocks) {}

    /// Fills `cache` with what [`add_tangent_times`](Self::add_tangent_times) needs at these points. A batch without
    /// a cache of its own leaves it empty, and its tangent is K.
    fn linearize(&self, _points: &Points, _tangent: Tangent, cache: &mut Vec<f64>) {
        cache.clear();
    }

    /// df += H dx, where H is the tangent that `linearize` was asked for, at the same points.
    fn add_tangent_times(&self, points: &Points, _cache: &[f64], dx: &[f64], df: &mut [f64]) {
        self.add_stiffness_times(points, dx, df);
    }

    /// Adds the 3×3 blocks of the tangent: always as many, at the same places and in the same order, as long as the
    /// batch touches the same points.
    fn add_tangent_blocks(&self, points: &Points, _tangent: Tangent, out: &mut Blocks) {
        self.add_stiffness_blocks(points, out);
    }

    /// Hands over the same blocks, those of each two points once: (i, j) stands for (j, i) as well, transposed. Always at
    /// the same places and in the same order, as long as the batch touches the same points.
    fn each_tangent_block(&self, points: &Points, tangent: Tangent, sink: &mut dyn TangentSink) {
        let mut list = Blocks::default();
        self.add_tangent_blocks(points, tangent, &mut list);
        let half = list.entries.iter().filter(|(i, j, _)| i <= j);
        half.for_each(|(i, j, block)| sink.block(*i as usize, *j as usize, block));
    }

    /// True if the batch knows a projected tangent; otherwise it gives K whatever it is asked for.
    fn has_projection(&self) -> bool {
        false
    }

    /// True if the projected tangent is much cheaper than K and serves as well in a step that linearises once, as the
    /// stiffness of a turned element whose turn is held fixed does.
    fn has_cheap_projection(&self) -> bool {
        false
    }

    /// True if the force on a point depends on that point alone. A step may then show it any window of points, one
    /// window per thread, in any order.
    fn is_local(&self) -> bool {
        false
    }

    /// True if the forces of the batch are internal, so that they and their torques sum to zero.
    fn is_internal(&self) -> bool {
        false
    }

    /// The bodies, if this batch is what keeps affine bodies stiff: a step may then take them one by one.
    fn affine_bodies(&self) -> Option<&nary::AffineBodies> {
        None
    }

    /// True if `add_force` is −∂W/∂x and nothing else.
    fn is_conservative(&self) -> bool {
        true
    }
}

/// Which curvature a solver works with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tangent {
    /// K = −∂f/∂x as it is, but symmetric: what a damper adds by turning is left out.
    #[default]
    Exact,
    /// The symmetric part of K with negative eigenvalues of each element set to zero: never indefinite.
    Projected,
}
