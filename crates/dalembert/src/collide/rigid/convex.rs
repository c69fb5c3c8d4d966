//! Convex shapes as the narrow phase sees them: a core and a radius around it.
//!
//! A ball is a point with a radius, a capsule a segment with one. Directions are found for cores, since
//! s(n) of the whole is s(n) of the cores less both radii.

use super::Geometry;
use super::clip::{CORNERS, Patch};
use super::geometry::Frame;
use super::hull::Hull;
use crate::math::{Mat3, Vec3, outer};

/// What is inside of the radius.
#[derive(Debug, Clone, Copy)]
pub(super) enum Core<'a> {
    Point,
    /// Along z, half of its length \[m\].
    Segment(f64),
    Box(Vec3),
    /// Radius and half of the length \[m\].
    Cylinder(f64, f64),
    /// Radius of the base at −z and half of the height \[m\].
    Cone(f64, f64),
    Ellipsoid(Vec3),
    Hull(&'a Hull),
    /// Corners in the axes of the frame.
    Triangle([Vec3; 3]),
}

/// A convex shape at its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Convex<'a> {
    pub(super) core: Core<'a>,
    pub(super) frame: Frame,
    pub(super) radius: f64,
}

/// Directions in which a surface is flat near a support point.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Flats {
    /// Outward unit normal of a face that looks almost in the direction asked.
    pub(super) face: Option<Vec3>,
    edges: [Vec3; 4],
    count: usize,
}

impl Flats {
    /// Unit vectors along straight lines of the surface, almost across the direction asked.
    pub(super) fn edges(&self) -> &[Vec3] {
        &self.edges[..self.count]
    }

    fn edge(&mut self, e: Vec3) {
        if self.count < 4 {
            self.edges[self.count] = e;
            self.count += 1;
        }
    }
}

/// Surfaces that are flat within this angle of a direction are tried as the features that define the normal.
const NEAR: f64 = 0.02;

impl<'a> Convex<'a> {
    /// `None` for shapes that are not convex or have no end.
    pub(super) fn new(shape: &'a Geometry, frame: &Frame) -> Option<Self> {
        let (core, radius) = match shape {
            Geometry::Sphere { radius } => (Core::Point, *radius),
            Geometry::Capsule { radius, half_length } => (Core::Segment(*half_length), *radius),
            Geometry::Box { half } => (Core::Box(*half), 0.0),
            Geometry::Cylinder { radius, half_length } => (Core::Cylinder(*radius, *half_length), 0.0),
            Geometry::Cone { radius, half_length } => (Core::Cone(*radius, *half_length), 0.0),
            Geometry::Ellipsoid { semi_axes } => (Core::Ellipsoid(*semi_axes), 0.0),
            Geometry::Hull(hull) => (Core::Hull(hull), 0.0),
            Geometry::HalfSpace | Geometry::Mesh(_) | Geometry::HeightField(_) => return None,
        };
        Some(Self { core, frame: *frame, radius })
    }

    /// True if its surface is made of planes.
    pub(super) fn is_flat(&self) -> bool {
        !matches!(self.core, Core::Cylinder(..) | Core::Cone(..) | Core::Ellipsoid(_))
    }

    /// Greatest distance of a point of the core from its frame, about \[m\].
    pub(super) fn size(&self) -> f64 {
        match &self.core {
            Core::Point => 0.0,
            Core::Segment(h) => *h,
            Core::Box(half) => half.norm(),
            Core::Cylinder(r, h) | Core::Cone(r, h) => r.hypot(*h),
            Core::Ellipsoid(a) => a.amax(),
            Core::Hull(hull) => hull.size(),
            Core::Triangle(p) => p.iter().fold(0.0, |far: f64, p| far.max(p.norm())),
        }
    }

    /// A point inside.
    pub(super) fn center(&self) -> Vec3 {
        match &self.core {
            Core::Hull(hull) => self.frame.x + self.frame.R * hull.center(),
            Core::Triangle(p) => self.frame.x + self.frame.R * ((p[0] + p[1] + p[2]) / 3.0),
            _ => self.frame.x,
        }
    }

    /// The point of the core farthest along `d`, which need not have length 1.
    #[inline]
    pub(super) fn support(&self, d: &Vec3) -> Vec3 {
        let d = self.frame.R.tr_mul(d);
        let sign = |x: f64, h: f64| if x < 0.0 { -h } else { h };
        let p = match &self.core {
            Core::Point => return self.frame.x,
            Core::Segment(h) => Vec3::new(0.0, 0.0, sign(d.z, *h)),
            Core::Box(half) => d.zip_map(half, sign),
            Core::Cylinder(r, h) => rim(&d, *r, sign(d.z, *h)),
            Core::Cone(r, h) => {
                // Tip at +h, or the base.
                let base = rim(&d, *r, -h);
                if d.z * *h >= d.dot(&base) { Vec3::new(0.0, 0.0, *h) } else { base }
            }
            Core::Ellipsoid(a) => {
                let Q = d.component_mul(a).component_mul(a);
                let h = d.component_mul(a).norm();
                if h > 0.0 { Q / h } else { Vec3::new(0.0, 0.0, a.z) }
            }
            Core::Hull(hull) => *hull.vertex(hull.support(&d)),
            Core::Triangle(p) => p[highest(p, &d)],
        };
        self.frame.x + self.frame.R * p
    }

    /// Second derivative of the support function h(d) = max d·p of the core at the unit vector `d` \[m\].
    pub(super) fn curvature(&self, d: &Vec3) -> Mat3 {
        let local = self.frame.R.tr_mul(d);
        let H = match &self.core {
            // h = (dᵀ Q d)^½: H = Q/h − Q d dᵀ Q / h³.
            Core::Ellipsoid(a) => {
                let Q = Mat3::from_diagonal(&a.component_mul(a));
                let Qd = Q * local;
                let h = local.dot(&Qd).sqrt();
                (Q - outer(&Qd, &Qd) / (h * h)) / h
            }
            // h = r |d_xy| + …: H = r t tᵀ / |d_xy| with t across d and z.
            Core::Cylinder(r, _) => rim_curvature(&local, *r),
            Core::Cone(r, h) => {
                let across = local.xy().norm();
                if local.z * *h >= r * across - local.z * *h {
                    return Mat3::zeros();
                }
                rim_curvature(&local, *r)
            }
            _ => return Mat3::zeros(),
        };
        self.frame.R * H * self.frame.R.transpose()
    }

    /// Normals of the side of a cone that are across the unit vector `e`; none for other shapes.
    ///
    /// They are (k cos φ, k sin φ, c) with k : c = height : radius, so cos(φ − ψ) = −c e_z / (k |e_xy|), ψ the direction
    /// of e_xy.
    pub(super) fn side_normals(&self, e: &Vec3) -> [Option<Vec3>; 2] {
        let Core::Cone(r, h) = self.core else { return [None; 2] };
        let e = self.frame.R.tr_mul(e);
        let (k, c) = (2.0 * h / r.hypot(2.0 * h), r / r.hypot(2.0 * h));
        let across = e.xy().norm();
        let cosine = -c * e.z / (k * across);
        if !(cosine.abs() <= 1.0) {
            return [None; 2];
        }
        let (psi, turn) = (e.y.atan2(e.x), cosine.acos());
        [psi + turn, psi - turn].map(|phi| Some(self.frame.R * Vec3::new(k * phi.cos(), k * phi.sin(), c)))
    }

    /// The normal of the side of a cone over which the support point of `other` stands; `None` for other shapes.
    pub(super) fn side_towards(&self, other: &Convex) -> Option<Vec3> {
        let Core::Cone(r, h) = self.core else { return None };
        let (k, c) = (2.0 * h / r.hypot(2.0 * h), r / r.hypot(2.0 * h));
        let mut p = other.center();
        let mut normal = Vec3::zeros();
        for _ in 0..8 {
            let local = self.frame.R.tr_mul(&(p - self.frame.x));
            let across = local.xy().norm();
            if !(across > 0.0) {
                return None;
            }
            normal = self.frame.R * Vec3::new(k * local.x / across, k * local.y / across, c);
            let next = other.support(&-normal);
            if next == p {
                break;
            }
            p = next;
        }
        Some(normal)
    }

    /// Flat features of the core around its support point along the unit vector `d`.
    pub(super) fn flats(&self, d: &Vec3) -> Flats {
        let local = self.frame.R.tr_mul(d);
        let mut out = Flats::default();
        let z = || Vec3::z();
        match &self.core {
            Core::Point | Core::Ellipsoid(_) => {}
            Core::Segment(_) if local.z.abs() < NEAR => out.edge(z()),
            Core::Segment(_) => {}
            Core::Box(_) => {
                for i in 0..3 {
                    if local[i].abs() < NEAR {
                        out.edge(Vec3::ith(i, 1.0));
                    }
                }
                let i = local.iamax();
                if out.count == 2 {
                    out.face = Some(Vec3::ith(i, local[i].signum()));
                }
            }
            Core::Cylinder(..) => {
                if local.z.abs() < NEAR {
                    out.edge(z());
                } else if local.xy().norm() < NEAR {
                    out.face = Some(z() * local.z.signum());
                }
            }
            Core::Cone(r, h) => {
                let across = local.xy().norm();
                if across < NEAR && local.z < 0.0 {
                    out.face = Some(-z());
                } else if across > 0.0 {
                    // From the rim to the tip.
                    let e = Vec3::new(-r * local.x / across, -r * local.y / across, 2.0 * h).normalize();
                    if e.dot(&local).abs() < NEAR {
                        out.edge(e);
                    }
                }
            }
            Core::Hull(hull) => {
                let v = hull.support(&local);
                if let Some(face) = hull.best_face(v, &local)
                    && hull.normal(face).dot(&local) > 1.0 - 0.5 * NEAR * NEAR
                {
                    out.face = Some(*hull.normal(face));
                }
                for w in hull.neighbours(v) {
                    let e = hull.vertex(*w) - hull.vertex(v);
                    if e.dot(&local).abs() < NEAR * e.norm() {
                        out.edge(e.normalize());
                    }
                }
            }
            Core::Triangle(p) => {
                let N = (p[1] - p[0]).cross(&(p[2] - p[0])).try_normalize(1e-300);
                if let Some(N) = N
                    && N.dot(&local).abs() > 1.0 - 0.5 * NEAR * NEAR
                {
                    out.face = Some(N * N.dot(&local).signum());
                }
                let v = highest(p, &local);
                for w in [(v + 1) % 3, (v + 2) % 3] {
                    if let Some(e) = (p[w] - p[v]).try_normalize(1e-300)
                        && e.dot(&local).abs() < NEAR
                    {
                        out.edge(e);
                    }
                }
            }
        }
        out.face = out.face.map(|n| self.frame.R * n);
        out.edges[..out.count].iter_mut().for_each(|e| *e = self.frame.R * *e);
        out
    }

    /// Adds the part of the surface that looks along the unit vector `d`, radius included, to an empty patch.
    pub(super) fn patch(&self, d: &Vec3, out: &mut Patch) {
        let local = self.frame.R.tr_mul(d);
        let shift = d * self.radius;
        let place = |p: Vec3| self.frame.x + self.frame.R * p + shift;
        match &self.core {
            Core::Point => out.push(self.frame.x + shift, 0),
            Core::Ellipsoid(_) => out.push(self.support(d), 0),
            Core::Segment(h) => {
                if local.z.abs() < 0.2 {
                    out.push(place(Vec3::new(0.0, 0.0, *h)), 0);
                    out.push(place(Vec3::new(0.0, 0.0, -h)), 1);
                } else {
                    out.push(self.support(d) + shift, u16::from(local.z < 0.0));
                }
            }
            Core::Box(half) => {
                let i = local.iamax();
                let (u, v) = ((i + 1) % 3, (i + 2) % 3);
                for (su, sv) in [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)] {
                    let mut p = Vec3::zeros();
                    p[i] = half[i] * local[i].signum();
                    p[u] = half[u] * su;
                    p[v] = half[v] * sv;
                    let id = (0..3).map(|k| u16::from(p[k] > 0.0) << k).sum();
                    out.push(place(p), id);
                }
            }
            Core::Cylinder(r, h) => {
                if local.z.abs() < 0.5 {
                    let p = rim(&local, *r, *h);
                    out.push(place(p), 0);
                    out.push(place(Vec3::new(p.x, p.y, -h)), 1);
                } else {
                    disc(&local, *r, h * local.z.signum(), |p, id| out.push(place(p), id));
                }
            }
            Core::Cone(r, h) => {
                let base = rim(&local, *r, -h);
                let tip = Vec3::new(0.0, 0.0, *h);
                if local.z < -0.5 {
                    disc(&local, *r, -h, |p, id| out.push(place(p), id));
                } else if (tip - base).normalize().dot(&local).abs() < 0.2 {
                    out.push(place(tip), 8);
                    out.push(place(base), 9);
                } else if tip.dot(&local) >= base.dot(&local) {
                    out.push(place(tip), 8);
                } else {
                    out.push(place(base), 9);
                }
            }
            Core::Hull(hull) => hull.patch(&local, |p, id| out.push(place(p), id)),
            Core::Triangle(p) => {
                let N = (p[1] - p[0]).cross(&(p[2] - p[0])).try_normalize(1e-300).unwrap_or_else(Vec3::zeros);
                // Seen edge-on, it is its highest side.
                let skip = if N.dot(&local).abs() > 0.05 { 3 } else { highest(p, &-local) };
                for k in (0..3).filter(|&k| k != skip) {
                    out.push(place(p[k]), k as u16);
                }
            }
        }
    }
}

fn highest(p: &[Vec3; 3], d: &Vec3) -> usize {
    let h = p.map(|p| p.dot(d));
    if h[0] >= h[1] && h[0] >= h[2] {
        0
    } else if h[1] >= h[2] {
        1
    } else {
        2
    }
}

/// The point of a circle of radius r at height z that is farthest along d.
fn rim(d: &Vec3, r: f64, z: f64) -> Vec3 {
    let across = d.xy().norm();
    if across > 0.0 { Vec3::new(r * d.x / across, r * d.y / across, z) } else { Vec3::new(r, 0.0, z) }
}

fn rim_curvature(d: &Vec3, r: f64) -> Mat3 {
    let across = d.xy().norm();
    if !(across > 1e-12) {
        return Mat3::zeros();
    }
    let t = Vec3::new(-d.y, d.x, 0.0) / across;
    outer(&t, &t) * (r / across)
}

/// Eight points of a circle at height z, the first of them farthest along d: then it is among them whatever the tilt.
fn disc(d: &Vec3, r: f64, z: f64, mut push: impl FnMut(Vec3, u16)) {
    const HALF: f64 = std::f64::consts::FRAC_1_SQRT_2;
    let tilt = d.xy().norm();
    // Almost level: the points stay where they are in the body, and the support point changes nothing.
    let c = if tilt > 1e-9 { d.xy() / tilt } else { nalgebra::Vector2::new(1.0, 0.0) };
    let unit = [
        (1.0, 0.0),
        (HALF, HALF),
        (0.0, 1.0),
        (-HALF, HALF),
        (-1.0, 0.0),
        (-HALF, -HALF),
        (0.0, -1.0),
        (HALF, -HALF),
    ];
    for (id, (x, y)) in unit.into_iter().enumerate() {
        push(Vec3::new(r * (c.x * x - c.y * y), r * (c.y * x + c.x * y), z), id as u16);
    }
    const { assert!(CORNERS >= 8) };
}
