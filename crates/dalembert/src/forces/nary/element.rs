//! Elements of a few points, each with an energy W(x): one loop for all of them.
//!
//! An [`Element`] knows its energy, its gradient and its Hessian, full or projected; [`Elements`] is the batch that
//! sums them: $f = -\partial W/\partial x$, $K = \partial^2 W/\partial x^2$.
//!
//! An internal element does not change when it is carried along, so rows and columns of its Hessian sum to zero and the
//! cached product works on differences $u_i - u_0$: $N(N-1)/2$ blocks instead of $N^2$.

use super::parts::Parts;
use crate::forces::{Blocks, Force, Points, Tangent, TangentSink};
use crate::math::{Mat3, Vec3, add_triple, triple};
use crate::state::PointId;

/// Blocks of ∂²W/∂x_i∂x_j \[N/m\].
pub type Hessian<const N: usize> = [[Mat3; N]; N];

/// One element on N points.
pub trait Element<const N: usize>: Send + Sync {
    /// Name of the kind, as in scene files.
    const KIND: &'static str;
    /// True if forces and torques of one element sum to zero.
    const INTERNAL: bool = true;
    /// True if the force has an energy. An element without one returns −f as its gradient and −∂f/∂x as its Hessian.
    const CONSERVATIVE: bool = true;
    /// True if `hessian` knows a projected form.
    const PROJECTED: bool = true;

    /// Its points.
    fn points(&self) -> [PointId; N];

    /// W \[J\].
    fn energy(&self, x: &[Vec3; N]) -> f64;

    /// ∂W/∂x \[N\].
    fn gradient(&self, x: &[Vec3; N]) -> [Vec3; N];

    /// W \[J\] and ∂W/∂x \[N\].
    fn energy_and_gradient(&self, x: &[Vec3; N]) -> (f64, [Vec3; N]) {
        (self.energy(x), self.gradient(x))
    }

    /// The same of four elements at once.
    fn energies_and_gradients(e: [&Self; 4], x: &[[Vec3; N]; 4]) -> ([f64; 4], [[Vec3; N]; 4]) {
        let all: [_; 4] = std::array::from_fn(|l| e[l].energy_and_gradient(&x[l]));
        (all.map(|a| a.0), all.map(|a| a.1))
    }

    /// ∂²W/∂x², as it is or made positive \[N/m\].
    fn hessian(&self, x: &[Vec3; N], tangent: Tangent) -> Hessian<N>;

    /// Hands over the blocks of the same with i ≤ j, in the order (0, 0), (0, 1), …
    fn hand_over(&self, x: &[Vec3; N], tangent: Tangent, sink: &mut dyn TangentSink) {
        hand_over_hessian(self.points(), &self.hessian(x, tangent), sink);
    }
}

/// Hands over the blocks of H with i ≤ j.
pub(crate) fn hand_over_hessian<const N: usize>(
    points: [PointId; N],
    H: &Hessian<N>,
    sink: &mut dyn TangentSink,
) {
    for i in 0..N {
        for j in i..N {
            sink.block(points[i].index(), points[j].index(), &H[i][j]);
        }
    }
}

/// A batch of elements of one kind.
#[derive(Debug, Clone)]
pub struct Elements<E, const N: usize> {
    elements: Vec<E>,
    parts: Parts,
}

impl<E: Element<N>, const N: usize> Elements<E, N> {
    /// Blocks that the cache holds per element.
    const BLOCKS: usize = if E::INTERNAL { N * (N - 1) / 2 } else { N * N };

    /// Takes elements in any order.
    pub fn new(mut elements: Vec<E>) -> Self {
        let parts = Parts::new(&mut elements, |e| e.points());
        Self { elements, parts }
    }

    /// The elements, in the order in which they are summed.
    pub fn as_slice(&self) -> &[E] {
        &self.elements
    }
}

/// The positions that an element looks at.
#[inline(always)]
fn gather<const N: usize>(points: [PointId; N], x: &[f64]) -> [Vec3; N] {
    points.map(|p| triple(x, p.index()))
}

/// out += H dx.
fn add_times<const N: usize>(
    H: &Hessian<N>,
    points: [PointId; N],
    dx: &[f64],
    first: usize,
    out: &mut [f64],
) {
    let u = gather(points, dx);
    for i in 0..N {
        let mut sum = Vec3::zeros();
        for j in 0..N {
            sum += H[i][j] * u[j];
        }
        add_triple(out, points[i].index() - first, &sum);
    }
}

/// Adds all N² blocks of H.
pub(crate) fn add_blocks<const N: usize>(H: &Hessian<N>, points: [PointId; N], out: &mut Blocks) {
    for i in 0..N {
        for j in 0..N {
            out.add(points[i].index(), points[j].index(), H[i][j]);
        }
    }
}

/// The Hessian of an element that depends on x_i − x_0 only, from its blocks with i, j ≥ 1.
pub(crate) fn from_offsets<const N: usize>(block: impl Fn(usize, usize) -> Mat3) -> Hessian<N> {
    let mut H = [[Mat3::zeros(); N]; N];
    for i in 1..N {
        for j in 1..N {
            let b = block(i, j);
            H[i][j] = b;
            H[i][0] -= b;
            H[0][j] -= b;
            H[0][0] += b;
        }
    }
    H
}

/// The gradient of an element that depends on x_i − x_0 only, from its parts with i ≥ 1.
pub(crate) fn gradient_from_offsets<const N: usize>(part: impl Fn(usize) -> Vec3) -> [Vec3; N] {
    let mut g = [Vec3::zeros(); N];
    for i in 1..N {
        g[i] = part(i);
        let gi = g[i];
        g[0] -= gi;
    }
    g
}

/// Writes the blocks with 1 ≤ i ≤ j of an internal element, or all of them.
pub(crate) fn pack<const N: usize>(H: &Hessian<N>, internal: bool, out: &mut [f64]) {
    let mut at = out.chunks_exact_mut(9);
    for i in usize::from(internal)..N {
        for j in if internal { i } else { 0 }..N {
            at.next().expect("the cache has room for every block").copy_from_slice(H[i][j].as_slice());
        }
    }
}

/// out += H dx for packed blocks.
pub(crate) fn add_packed_times<const N: usize>(
    blocks: &[f64],
    internal: bool,
    points: [PointId; N],
    dx: &[f64],
    first: usize,
    out: &mut [f64],
) {
    let mut at = blocks.chunks_exact(9).map(Mat3::from_column_slice);
    let mut next = || at.next().expect("the cache holds every block");
    let mut u = gather(points, dx);
    let mut f = [Vec3::zeros(); N];
    if internal {
        let o = u[0];
        u.iter_mut().for_each(|u| *u -= o);
        for i in 1..N {
            f[i] += next() * u[i];
            for j in i + 1..N {
                let block = next();
                f[i] += block * u[j];
                f[j] += block.tr_mul(&u[i]);
            }
        }
        for i in 1..N {
            let fi = f[i];
            f[0] -= fi;
        }
    } else {
        for i in 0..N {
            for j in 0..N {
                f[i] += next() * u[j];
            }
        }
    }
    for i in 0..N {
        add_triple(out, points[i].index() - first, &f[i]);
    }
}

impl<E: Element<N>, const N: usize> Force for Elements<E, N> {
    fn kind(&self) -> &'static str {
        E::KIND
    }

    fn energy(&self, p: &Points) -> f64 {
        let one = |e: &E| e.energy(&gather(e.points(), p.x));
        self.parts.sum(|range| self.elements[range].iter().map(one).sum())
    }

    fn add_force(&self, p: &Points, f: &mut [f64]) {
        self.parts.scatter(f, |range, first, f| {
            for e in &self.elements[range] {
                let points = e.points();
                let g = e.gradient(&gather(points, p.x));
                for i in 0..N {
                    add_triple(f, points[i].index() - first, &-g[i]);
                }
            }
        });
    }

    fn add_force_with_energy(&self, p: &Points, f: &mut [f64]) -> f64 {
        if self.parts.many() {
            self.add_force(p, f);
            return self.energy(p);
        }
        let mut sum = 0.0;
        let fours = self.elements.chunks_exact(4);
        let rest = fours.remainder();
        for e in fours {
            let e: [&E; 4] = std::array::from_fn(|l| &e[l]);
            let points = e.map(|e| e.points());
            let (energies, gradients) =
                E::energies_and_gradients(e, &points.map(|points| gather(points, p.x)));
            for (points, g) in points.iter().zip(&gradients) {
                for i in 0..N {
                    add_triple(f, points[i].index(), &-g[i]);
                }
            }
            sum += energies.iter().sum::<f64>();
        }
        for e in rest {
            let points = e.points();
            let (energy, g) = e.energy_and_gradient(&gather(points, p.x));
            for i in 0..N {
                add_triple(f, points[i].index(), &-g[i]);
            }
            sum += energy;
        }
        sum
    }

    fn add_stiffness_times(&self, p: &Points, dx: &[f64], df: &mut [f64]) {
        self.parts.scatter(df, |range, first, df| {
            for e in &self.elements[range] {
                let points = e.points();
                add_times(&e.hessian(&gather(points, p.x), Tangent::Exact), points, dx, first, df);
            }
        });
    }

    fn add_stiffness_blocks(&self, p: &Points, out: &mut Blocks) {
        self.add_tangent_blocks(p, Tangent::Exact, out);
    }

    fn linearize(&self, p: &Points, tangent: Tangent, cache: &mut Vec<f64>) {
        self.parts.fill(cache, self.elements.len(), 9 * Self::BLOCKS, |i, out| {
            let e = &self.elements[i];
            pack(&e.hessian(&gather(e.points(), p.x), tangent), E::INTERNAL, out);
        });
    }

    fn add_tangent_times(&self, _p: &Points, cache: &[f64], dx: &[f64], df: &mut [f64]) {
        let per = 9 * Self::BLOCKS;
        self.parts.scatter(df, |range, first, df| {
            for i in range {
                let blocks = &cache[per * i..per * (i + 1)];
                add_packed_times(blocks, E::INTERNAL, self.elements[i].points(), dx, first, df);
            }
        });
    }

    fn add_tangent_blocks(&self, p: &Points, tangent: Tangent, out: &mut Blocks) {
        for e in &self.elements {
            let points = e.points();
            add_blocks(&e.hessian(&gather(points, p.x), tangent), points, out);
        }
    }

    fn each_tangent_block(&self, p: &Points, tangent: Tangent, sink: &mut dyn TangentSink) {
        for e in &self.elements {
            e.hand_over(&gather(e.points(), p.x), tangent, sink);
        }
    }

    fn has_projection(&self) -> bool {
        E::PROJECTED
    }

    fn is_internal(&self) -> bool {
        E::INTERNAL
    }

    fn is_conservative(&self) -> bool {
        E::CONSERVATIVE
    }
}
