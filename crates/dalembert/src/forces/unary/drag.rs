//! Drag against a uniform wind u: $f = -(c_1 + c_2 |w|)\,w$ with $w = v - u$.
//!
//! $f\cdot w = -(c_1 + c_2|w|)\,|w|^2 \le 0$: drag only takes energy out of the motion relative to the wind.
//! $B = -\partial f/\partial v = (c_1 + c_2|w|) I + c_2 |w|\, n n^T$ with $n = w/|w|$.

use crate::forces::{Blocks, Force, Points};
use crate::math::{Mat3, Vec3, add_triple, outer, triple};
use crate::state::PointSet;

/// Viscous and quadratic drag on a set of points.
#[derive(Debug, Clone, PartialEq)]
pub struct Drag {
    /// Points that feel it.
    pub on: PointSet,
    /// Viscous coefficient c₁ \[N·s/m\], ≥ 0.
    pub linear: f64,
    /// Quadratic coefficient c₂ \[N·s²/m²\], ≥ 0; for a ball ½ ρ C_d A.
    pub quadratic: f64,
    /// Velocity u of the medium \[m/s\].
    pub wind: Vec3,
}

impl Drag {
    fn damping(&self, v: Vec3) -> Mat3 {
        let w = v - self.wind;
        let speed = w.norm();
        let along = if speed > 0.0 { outer(&w, &w) * (self.quadratic / speed) } else { Mat3::zeros() };
        Mat3::identity() * (self.linear + self.quadratic * speed) + along
    }
}

impl Force for Drag {
    fn kind(&self) -> &'static str {
        "drag"
    }

    fn add_force(&self, p: &Points, f: &mut [f64]) {
        let u = self.wind;
        for range in self.on.within(p.first, p.len()) {
            let span = 3 * range.start..3 * range.end;
            let (f, v) = (&mut f[span.clone()], &p.v[span]);
            if self.quadratic == 0.0 {
                // Number by number, four points at a time: the wind repeats with period 3.
                let (c, u) = (self.linear, std::array::from_fn::<f64, 12, _>(|i| u[i % 3]));
                let (f4, f_rest) = f.as_chunks_mut::<12>();
                let (v4, v_rest) = v.as_chunks::<12>();
                for (f, v) in f4.iter_mut().zip(v4) {
                    for i in 0..12 {
                        f[i] -= c * (v[i] - u[i]);
                    }
                }
                for (i, (f, v)) in f_rest.iter_mut().zip(v_rest).enumerate() {
                    *f -= c * (v - u[i]);
                }
            } else {
                for (f, v) in f.chunks_exact_mut(3).zip(v.chunks_exact(3)) {
                    let w = [v[0] - u.x, v[1] - u.y, v[2] - u.z];
                    let speed = (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]).sqrt();
                    let c = self.linear + self.quadratic * speed;
                    f[0] -= c * w[0];
                    f[1] -= c * w[1];
                    f[2] -= c * w[2];
                }
            }
        }
    }

    fn add_damping_times(&self, p: &Points, dv: &[f64], df: &mut [f64]) {
        for i in self.on.within(p.first, p.len()).flatten() {
            add_triple(df, i, &(self.damping(p.velocity(i)) * triple(dv, i)));
        }
    }

    fn add_damping_blocks(&self, p: &Points, out: &mut Blocks) {
        for i in self.on.within(p.first, p.len()).flatten() {
            out.add(p.first + i, p.first + i, self.damping(p.velocity(i)));
        }
    }

    fn is_local(&self) -> bool {
        true
    }

    fn is_conservative(&self) -> bool {
        false
    }
}
