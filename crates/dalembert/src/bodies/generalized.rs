//! Generalized coordinates: points placed by any map $x = x(u)$ that a user writes.
//!
//! With $J = \partial x/\partial u$, $\dot x = J\dot u$ and $\ddot x = J\ddot u + \dot J\dot u$; multiplying
//! $M\ddot x = Q + \hat Q$ by $J^T$ removes the forces $\hat Q$ that hold the points to the map, because they do no
//! virtual work, $J^T\hat Q = 0$:
//!
//! $$ J^T M J\,\ddot u + J^T M\dot J\dot u - J^T Q = 0. $$
//!
//! The body owns u and $\dot u$; its points are carried ([`mapping`](crate::mapping)) and have masses, so gravity and
//! every other force finds them like any point. J and $\dot J\dot u$ come by automatic differentiation.
//! Book: "Generalized coordinates".

use crate::math::{Jet, Scalar, Vec3};

/// A map from coordinates u to points x(u), written for any [`Scalar`].
pub trait Coordinates: Send + Sync {
    /// Number of coordinates u.
    fn coordinates(&self) -> usize;

    /// Number of points.
    fn points(&self) -> usize;

    /// Fills x \[m\] from u.
    fn place<T: Scalar>(&self, u: &[T], x: &mut [[T; 3]]);
}

/// The same map behind a pointer: what the engine calls.
pub trait PointMap: Send + Sync {
    /// Number of coordinates u.
    fn coordinates(&self) -> usize;
    /// Number of points.
    fn points(&self) -> usize;
    /// x(u), three numbers per point \[m\].
    fn positions(&self, u: &[f64], x: &mut [f64]);
    /// J du and d²x(u + s du)/ds² at s = 0, three numbers per point.
    fn along(&self, u: &[f64], du: &[f64], first: &mut [f64], second: &mut [f64]);
}

impl<C: Coordinates> PointMap for C {
    fn coordinates(&self) -> usize {
        Coordinates::coordinates(self)
    }

    fn points(&self) -> usize {
        Coordinates::points(self)
    }

    fn positions(&self, u: &[f64], x: &mut [f64]) {
        let mut out = vec![[0.0; 3]; Coordinates::points(self)];
        self.place(u, &mut out);
        for (x, o) in x.chunks_exact_mut(3).zip(&out) {
            x.copy_from_slice(o);
        }
    }

    fn along(&self, u: &[f64], du: &[f64], first: &mut [f64], second: &mut [f64]) {
        let line: Vec<Jet> = u.iter().zip(du).map(|(u, du)| Jet::line(*u, *du)).collect();
        let mut out = vec![[Jet::default(); 3]; Coordinates::points(self)];
        self.place(&line, &mut out);
        for (i, o) in out.iter().flatten().enumerate() {
            first[i] = o.f1;
            second[i] = 2.0 * o.f2;
        }
    }
}

/// A chain of point masses on massless rods, swinging in a plane from a pivot; uᵢ is the angle of rod i from straight
/// down \[rad\].
#[derive(Debug, Clone, PartialEq)]
pub struct PendulumChain {
    /// Pivot \[m\].
    pub pivot: Vec3,
    /// Rod lengths \[m\].
    pub lengths: Vec<f64>,
    /// Unit vector "down".
    pub down: Vec3,
    /// Unit vector towards which positive angles swing.
    pub side: Vec3,
}

impl Coordinates for PendulumChain {
    fn coordinates(&self) -> usize {
        self.lengths.len()
    }

    fn points(&self) -> usize {
        self.lengths.len()
    }

    fn place<T: Scalar>(&self, u: &[T], x: &mut [[T; 3]]) {
        let mut at = [0, 1, 2].map(|k| T::from(self.pivot[k]));
        for ((u, length), x) in u.iter().zip(&self.lengths).zip(x) {
            let (s, c) = (u.sin() * *length, u.cos() * *length);
            for k in 0..3 {
                at[k] += s * self.side[k] + c * self.down[k];
            }
            *x = at;
        }
    }
}

/// One body with generalized coordinates, inside a model.
pub struct Generalized {
    /// The map x(u).
    pub map: Box<dyn PointMap>,
    /// Place of u in q.
    pub q: std::ops::Range<usize>,
    /// Place of u̇ in v.
    pub v: std::ops::Range<usize>,
    /// Its points, counted over all points.
    pub points: std::ops::Range<usize>,
}

impl Generalized {
    /// J, one column after the other, 3 × points numbers each.
    fn columns(&self, u: &[f64]) -> Vec<Vec<f64>> {
        let n = 3 * self.map.points();
        let mut unit = vec![0.0; u.len()];
        let mut ignored = vec![0.0; n];
        (0..u.len())
            .map(|k| {
                unit.fill(0.0);
                unit[k] = 1.0;
                let mut column = vec![0.0; n];
                self.map.along(u, &unit, &mut column, &mut ignored);
                column
            })
            .collect()
    }

    /// JᵀMJ for masses of the points.
    pub fn mass_matrix(&self, u: &[f64], mass: &[f64]) -> nalgebra::DMatrix<f64> {
        let J = self.columns(u);
        let weighted = |a: &[f64], b: &[f64]| (0..a.len()).map(|i| mass[i / 3] * a[i] * b[i]).sum::<f64>();
        nalgebra::DMatrix::from_fn(u.len(), u.len(), |i, j| weighted(&J[i], &J[j]))
    }

    /// ü into `a` over this body's velocities, from gathered forces Jᵀ Q in `f` over the same place.
    pub(crate) fn accelerations(&self, mass: &[f64], q: &[f64], v: &[f64], f: &[f64], a: &mut [f64]) {
        let (u, du) = (&q[self.q.clone()], &v[self.v.clone()]);
        let n = 3 * self.map.points();
        let (mut first, mut second) = (vec![0.0; n], vec![0.0; n]);
        self.map.along(u, du, &mut first, &mut second);
        let mass = &mass[self.points.clone()];
        let mut rhs = nalgebra::DVector::from_column_slice(&f[self.v.clone()]);
        for (k, column) in self.columns(u).iter().enumerate() {
            rhs[k] -= (0..n).map(|i| mass[i / 3] * column[i] * second[i]).sum::<f64>();
        }
        let M = self.mass_matrix(u, mass);
        // Overflown: the step that asked for it fails.
        if !M.iter().chain(rhs.iter()).all(|x| x.is_finite()) {
            return a[self.v.clone()].fill(f64::NAN);
        }
        // A singular map (two coordinates that do the same) has no unique ü: take the smallest.
        let solution = match nalgebra::Cholesky::new(M.clone()) {
            Some(factor) => factor.solve(&rhs),
            None => M.svd(true, true).solve(&rhs, 1e-12).unwrap_or_else(|_| rhs * 0.0),
        };
        a[self.v.clone()].copy_from_slice(solution.as_slice());
    }

    /// JᵀQ of the points' forces, added to `f` at this body's place.
    pub(crate) fn gather(&self, q: &[f64], forces: &[f64], out: &mut [f64]) {
        for (o, column) in out.iter_mut().zip(self.columns(&q[self.q.clone()])) {
            *o += crate::math::dot(&column, forces);
        }
    }
}
