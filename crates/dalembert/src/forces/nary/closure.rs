//! A force written by the user over tuples of k points.
//!
//! The closure sees the positions and velocities of one tuple and fills in the k forces. Stiffness and damping come
//! from central differences (see [`PointClosure`](crate::forces::unary::PointClosure)).

use crate::forces::{Blocks, Force, Points};
use crate::math::{Mat3, Vec3, add_triple, triple};
use crate::state::PointId;

type TupleForce = dyn Fn(f64, &[Vec3], &[Vec3], &mut [Vec3]) + Send + Sync;
type TupleEnergy = dyn Fn(f64, &[Vec3]) -> f64 + Send + Sync;

/// Applies a user's closure to each of a list of tuples.
pub struct TupleClosure {
    /// Points of all tuples one after the other, k each.
    pub points: Vec<PointId>,
    /// Tuple size k, 1 … 16.
    pub k: usize,
    /// Fills the forces \[N\] from time \[s\], positions \[m\], velocities \[m/s\] of one tuple.
    pub force: Box<TupleForce>,
    /// Energy \[J\] of one tuple from time and positions, if the force has one.
    pub energy: Option<Box<TupleEnergy>>,
    /// The user promises that forces and torques of each tuple sum to zero.
    pub internal: bool,
}

/// Largest tuple, so that one tuple fits on the stack.
pub const MOST_TUPLE: usize = 16;

impl TupleClosure {
    fn tuples(&self) -> impl Iterator<Item = &[PointId]> {
        self.points.chunks_exact(self.k.clamp(1, MOST_TUPLE))
    }

    fn view(tuple: &[PointId], flat: &[f64]) -> [Vec3; MOST_TUPLE] {
        let mut out = [Vec3::zeros(); MOST_TUPLE];
        for (o, i) in out.iter_mut().zip(tuple) {
            *o = triple(flat, i.index());
        }
        out
    }

    /// The blocks −∂f_i/∂y_j of one tuple, handed out one by one; y is x or v.
    fn jacobians(
        &self,
        p: &Points,
        tuple: &[PointId],
        along_velocity: bool,
        mut out: impl FnMut(usize, usize, Mat3),
    ) {
        let k = tuple.len();
        let (x, v) = (Self::view(tuple, p.x), Self::view(tuple, p.v));
        for j in 0..k {
            let mut columns = [Mat3::zeros(); MOST_TUPLE];
            for d in 0..3 {
                let at = if along_velocity { v[j][d] } else { x[j][d] };
                let e = f64::EPSILON.cbrt() * (1.0 + at.abs());
                let eval = |value: f64| {
                    let (mut x, mut v, mut f) = (x, v, [Vec3::zeros(); MOST_TUPLE]);
                    if along_velocity {
                        v[j][d] = value;
                    } else {
                        x[j][d] = value;
                    }
                    (self.force)(p.time, &x[..k], &v[..k], &mut f[..k]);
                    f
                };
                let (high, low) = (eval(at + e), eval(at - e));
                for i in 0..k {
                    columns[i].set_column(d, &(-(high[i] - low[i]) / ((at + e) - (at - e))));
                }
            }
            for i in 0..k {
                out(tuple[i].index(), tuple[j].index(), columns[i]);
            }
        }
    }

    fn add_times(&self, p: &Points, y: &[f64], df: &mut [f64], along_velocity: bool) {
        for tuple in self.tuples() {
            self.jacobians(p, tuple, along_velocity, |i, j, block| {
                let f = block * triple(y, j);
                add_triple(df, i, &f);
            });
        }
    }
}

impl Force for TupleClosure {
    fn kind(&self) -> &'static str {
        "tuple_closure"
    }

    fn energy(&self, p: &Points) -> f64 {
        let Some(energy) = &self.energy else { return 0.0 };
        self.tuples().map(|t| energy(p.time, &Self::view(t, p.x)[..t.len()])).sum()
    }

    fn add_force(&self, p: &Points, f: &mut [f64]) {
        for tuple in self.tuples() {
            let k = tuple.len();
            let mut forces = [Vec3::zeros(); MOST_TUPLE];
            (self.force)(
                p.time,
                &Self::view(tuple, p.x)[..k],
                &Self::view(tuple, p.v)[..k],
                &mut forces[..k],
            );
            for (i, force) in tuple.iter().zip(&forces) {
                add_triple(f, i.index(), force);
            }
        }
    }

    fn add_stiffness_times(&self, p: &Points, dx: &[f64], df: &mut [f64]) {
        self.add_times(p, dx, df, false);
    }

    fn add_stiffness_blocks(&self, p: &Points, out: &mut Blocks) {
        for tuple in self.tuples() {
            self.jacobians(p, tuple, false, |i, j, block| out.add(i, j, block));
        }
    }

    fn add_damping_times(&self, p: &Points, dv: &[f64], df: &mut [f64]) {
        self.add_times(p, dv, df, true);
    }

    fn add_damping_blocks(&self, p: &Points, out: &mut Blocks) {
        for tuple in self.tuples() {
            self.jacobians(p, tuple, true, |i, j, block| out.add(i, j, block));
        }
    }

    fn is_internal(&self) -> bool {
        self.internal
    }

    fn is_conservative(&self) -> bool {
        self.energy.is_some()
    }
}
