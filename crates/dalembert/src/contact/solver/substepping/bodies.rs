//! Bodies of a problem, and four of them side by side.

use crate::math::simd::{Lanes, V3, add, add_scaled, three, transposed};
use crate::math::{Mat3, Vec3};

/// Three numbers in a row of four: four such rows become lanes by transposition.
pub(super) type Row = [f64; 4];

pub(super) fn row(x: &Vec3, last: f64) -> Row {
    [x.x, x.y, x.z, last]
}

pub(crate) fn vec3(row: &Row) -> Vec3 {
    Vec3::new(row[0], row[1], row[2])
}

/// A body: how it moves, and its inverse inertia. The default is the world, which does not move.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(crate) struct BodyState {
    /// Velocity of the centre of mass \[m/s\] and angular velocity \[rad/s\].
    pub v: Row,
    pub w: Row,
    /// Translation \[m\] and rotation vector \[rad\] since the step began.
    pub translation: Row,
    pub rotation: Row,
    /// I⁻¹ in world axes (xx, yy, zz, xy and xz, yz), then 1/m.
    inverse: [Row; 2],
}

impl BodyState {
    /// A body with this velocity and angular velocity, 1/m \[1/kg\] and I⁻¹ in world axes \[1/(kg m²)\].
    pub(crate) fn new(v: &Vec3, w: &Vec3, inv_mass: f64, inv_inertia: &Mat3) -> Self {
        let I = inv_inertia;
        Self {
            v: row(v, 0.0),
            w: row(w, 0.0),
            inverse: [[I[(0, 0)], I[(1, 1)], I[(2, 2)], I[(0, 1)]], [I[(0, 2)], I[(1, 2)], inv_mass, 0.0]],
            ..Self::default()
        }
    }

    /// 1/m \[1/kg\].
    pub(super) fn inv_mass(&self) -> f64 {
        self.inverse[1][2]
    }

    /// I⁻¹ \[1/(kg m²)\]: xx, yy, zz, xy, xz, yz.
    pub(super) fn inv_inertia(&self) -> [f64; 6] {
        let [[xx, yy, zz, xy], [xz, yz, ..]] = self.inverse;
        [xx, yy, zz, xy, xz, yz]
    }
}

#[inline(always)]
fn four<'a>(bodies: &'a [BodyState], &[p, q, r, s]: &[u32; 4]) -> [&'a BodyState; 4] {
    [&bodies[p as usize], &bodies[q as usize], &bodies[r as usize], &bodies[s as usize]]
}

/// Twists of four bodies: velocities, or displacements.
#[derive(Clone, Copy)]
pub(super) struct Twists {
    pub(super) linear: V3,
    pub(super) angular: V3,
}

impl Twists {
    #[inline(always)]
    pub(super) fn velocities(bodies: &[BodyState], which: &[u32; 4]) -> Self {
        let b = &four(bodies, which);
        Self { linear: three(transposed(b, |b| &b.v)), angular: three(transposed(b, |b| &b.w)) }
    }

    #[inline(always)]
    pub(super) fn displacements(bodies: &[BodyState], which: &[u32; 4]) -> Self {
        let b = &four(bodies, which);
        Self {
            linear: three(transposed(b, |b| &b.translation)),
            angular: three(transposed(b, |b| &b.rotation)),
        }
    }

    /// Of bodies whose v and ω stand in rows.
    #[inline(always)]
    pub(super) fn of_rows(rows: &[[Row; 2]], which: &[u32; 4]) -> Self {
        let b = &which.map(|k| &rows[k as usize]);
        Self { linear: three(transposed(b, |b| &b[0])), angular: three(transposed(b, |b| &b[1])) }
    }

    /// v and ω of each of the four.
    #[inline(always)]
    pub(super) fn rows(&self) -> [[Row; 4]; 2] {
        [self.linear, self.angular]
            .map(|[x, y, z]| Lanes::transpose([x, y, z, Lanes::ZERO]).map(Lanes::to_array))
    }

    /// v ← v + M⁻¹ (P, L), L being the moment about the centre.
    #[inline(always)]
    pub(super) fn apply(&mut self, masses: &InverseMasses, P: &V3, L: &V3) {
        self.linear = add_scaled(&self.linear, masses.inv_mass, P);
        self.angular = add(&self.angular, &masses.turn(L));
    }
}

/// Velocities of four bodies, as [`Twists::rows`] gives them.
#[inline(always)]
pub(super) fn store_velocities(bodies: &mut [BodyState], which: &[u32; 4], [v, w]: &[[Row; 4]; 2]) {
    for l in 0..4 {
        let body = &mut bodies[which[l] as usize];
        (body.v, body.w) = (v[l], w[l]);
    }
}

/// Inverse masses and inertias of four bodies: loaded where an impulse acts, not carried through a visit.
#[derive(Clone, Copy)]
pub(super) struct InverseMasses {
    pub(super) inv_mass: Lanes,
    inv_inertia: [Lanes; 6],
}

impl InverseMasses {
    #[inline(always)]
    pub(super) fn load(bodies: &[BodyState], which: &[u32; 4]) -> Self {
        let b = &four(bodies, which);
        let [xx, yy, zz, xy] = transposed(b, |b| &b.inverse[0]);
        let [xz, yz, inv_mass, _] = transposed(b, |b| &b.inverse[1]);
        Self { inv_mass, inv_inertia: [xx, yy, zz, xy, xz, yz] }
    }

    /// I⁻¹ x.
    #[inline(always)]
    pub(super) fn turn(&self, x: &V3) -> V3 {
        let s = &self.inv_inertia;
        [
            s[4].mul_add(x[2], s[3].mul_add(x[1], s[0] * x[0])),
            s[5].mul_add(x[2], s[1].mul_add(x[1], s[3] * x[0])),
            s[2].mul_add(x[2], s[5].mul_add(x[1], s[4] * x[0])),
        ]
    }
}
