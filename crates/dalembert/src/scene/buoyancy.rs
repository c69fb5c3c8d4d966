//! Buoyancy in still water: $W = \rho g \int_{V,\,d>0} d\,\mathrm{d}V$ with the depth $d = z_w - u\cdot x$ below a plane.
//!
//! With $\nabla\cdot(-\tfrac12 d^2 u) = d$ and $d = 0$ on the plane the integral over a closed surface needs no cut faces:
//! each outward triangle gives $W = -\tfrac12 \rho g\,A_u I$, its area seen along u times the mean of d² over the part below the
//! plane. Let $S = \tfrac16(a^2 + b^2 + c^2 + ab + bc + ca)$ of the depths and $C_a = \tfrac16 a^4/((a-b)(a-c))$ that of
//! the corner a cut off by the plane: $I$ is S for a triangle under water, $C_a$ for one with the corner a alone under water,
//! $S - C_a$ for one with a alone above it, and 0 above. I has three continuous derivatives, so f and K are exact.
//!
//! A ball with its centre at depth c shows the water the cap of height $s = r + c$ between 0 and 2r, of volume
//! $\tfrac{\pi}{3} s^2 (3r - s)$. Drag is a traction $-(c_1 + c_2|v|)\,v$ on what is under water. Book: "Forces".

use super::RigidBody;
use super::forces::{ForceBuilder, MakeForce};
use super::keys::*;
use super::names::name_of;
use super::pressure::open_edge;
use crate::bodies::Shape;
use crate::describe::short::*;
use crate::describe::{Field, table};
use crate::forces::nary::{Element, Elements, Hessian};
use crate::forces::{Blocks, Force, Points, Tangent};
use crate::math::{Mat3, Vec3, add_triple, outer, triple};
use crate::model::Surface;
use crate::state::PointId;
use std::f64::consts::PI;

/// What floats.
const THINGS: Field = Field::required(
    "on",
    SELECTION,
    "",
    "Bodies, soft bodies, cloth or carried surfaces, which must be closed; spheres and particles with a radius are balls.",
);

table! {
    /// Still water under a horizontal plane: lifts what it names by the weight of the water in its place, and brakes it.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Buoyancy: "buoyancy" {
        /// Name, for energies by term.
        name: String = &[FORCE_NAME];
        /// What floats.
        on: Vec<String> = &[THINGS];
        /// Density of the water.
        density: f64 = number(1000.0), POSITIVE, "kg/m³";
        /// Height of the plane against gravity, from the origin.
        level: f64 = number(0.0), NUMBER, "m";
        /// Radius of particles; that of their set if absent.
        radius: Option<f64> = OPTIONAL, POSITIVE, "m";
        /// Viscous drag per area under water.
        linear: f64 = number(0.0), NOT_NEGATIVE, "N·s/m³";
        /// Quadratic drag per area under water, such as half a drag coefficient times the density.
        quadratic: f64 = number(0.0), NOT_NEGATIVE, "kg/m³";
    }
}

/// The water that a force is about.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Water {
    /// ρ g \[N/m³\].
    weight: f64,
    /// Unit vector against gravity.
    up: Vec3,
    /// Height of the plane along it \[m\].
    level: f64,
}

impl Water {
    fn depth(&self, x: &Vec3) -> f64 {
        self.level - self.up.dot(x)
    }
}

/// Integral of d² over the part of a triangle under water, per area, with its first and second derivatives by the depths of
/// the corners.
#[derive(Debug, Clone, Copy, Default)]
struct MeanSquare {
    value: f64,
    first: [f64; 3],
    second: [[f64; 3]; 3],
}

impl MeanSquare {
    fn of(d: [f64; 3]) -> Self {
        let wet = d.map(|d| d > 0.0);
        let alone = |state: bool| (0..3).find(|&k| wet[k] == state).unwrap_or(0);
        match wet.iter().filter(|wet| **wet).count() {
            0 => Self::default(),
            1 => Self::corner(d, alone(true)),
            2 => {
                let (mut all, corner) = (Self::whole(d), Self::corner(d, alone(false)));
                all.value -= corner.value;
                for i in 0..3 {
                    all.first[i] -= corner.first[i];
                    for j in 0..3 {
                        all.second[i][j] -= corner.second[i][j];
                    }
                }
                all
            }
            _ => Self::whole(d),
        }
    }

    /// S.
    fn whole([a, b, c]: [f64; 3]) -> Self {
        let sum = a + b + c;
        Self {
            value: (a * a + b * b + c * c + a * b + b * c + c * a) / 6.0,
            first: [a, b, c].map(|d| (sum + d) / 6.0),
            second: std::array::from_fn(|i| {
                std::array::from_fn(|j| if i == j { 1.0 / 3.0 } else { 1.0 / 6.0 })
            }),
        }
    }

    /// C of corner k, which alone is on its side of the plane: with a its depth, r = a/(a − b) and s = a/(a − c).
    fn corner(d: [f64; 3], k: usize) -> Self {
        let (a, [i, j]) = (d[k], [(k + 1) % 3, (k + 2) % 3]);
        let (r, s) = (a / (a - d[i]), a / (a - d[j]));
        let mut out = Self { value: a * a * r * s / 6.0, ..Self::default() };
        out.first[k] = a * r * s * (4.0 - r - s) / 6.0;
        out.first[i] = a * r * r * s / 6.0;
        out.first[j] = a * r * s * s / 6.0;
        let mut set = |p: usize, q: usize, x: f64| {
            (out.second[p][q], out.second[q][p]) = (x / 6.0, x / 6.0);
        };
        set(k, k, r * s * (12.0 - 8.0 * (r + s) + 2.0 * (r * r + s * s + r * s)));
        set(i, i, 2.0 * r * r * r * s);
        set(j, j, 2.0 * r * s * s * s);
        set(i, j, r * r * s * s);
        set(k, i, r * r * s * (4.0 - 2.0 * r - s));
        set(k, j, r * s * s * (4.0 - r - 2.0 * s));
        out
    }
}

/// One outward triangle of a closed surface.
#[derive(Debug, Clone, Copy, PartialEq)]
struct WettedTriangle {
    points: [PointId; 3],
    water: Water,
}

impl WettedTriangle {
    /// Twice the area seen along u, and its derivatives (b − c) × u by the corners.
    fn area(&self, x: &[Vec3; 3]) -> (f64, [Vec3; 3]) {
        let u = self.water.up;
        let twice = u.dot(&(x[1] - x[0]).cross(&(x[2] - x[0])));
        (twice, [0, 1, 2].map(|k| (x[(k + 1) % 3] - x[(k + 2) % 3]).cross(&u)))
    }

    fn mean(&self, x: &[Vec3; 3]) -> MeanSquare {
        MeanSquare::of(x.map(|x| self.water.depth(&x)))
    }
}

impl Element<3> for WettedTriangle {
    const KIND: &'static str = "buoyancy";
    const INTERNAL: bool = false;

    fn points(&self) -> [PointId; 3] {
        self.points
    }

    fn energy(&self, x: &[Vec3; 3]) -> f64 {
        -0.25 * self.water.weight * self.area(x).0 * self.mean(x).value
    }

    fn gradient(&self, x: &[Vec3; 3]) -> [Vec3; 3] {
        let ((area, by), mean) = (self.area(x), self.mean(x));
        let c = -0.25 * self.water.weight;
        std::array::from_fn(|k| (by[k] * mean.value - self.water.up * (area * mean.first[k])) * c)
    }

    fn hessian(&self, x: &[Vec3; 3], tangent: Tangent) -> Hessian<3> {
        let mut H = [[Mat3::zeros(); 3]; 3];
        // K has both signs, as that of a pressure: its projection is zero.
        if tangent != Tangent::Exact {
            return H;
        }
        let ((area, by), mean) = (self.area(x), self.mean(x));
        let (c, u) = (-0.25 * self.water.weight, self.water.up);
        for i in 0..3 {
            for j in 0..3 {
                let turn = match (j + 3 - i) % 3 {
                    0 => Mat3::zeros(),
                    // ∂((b − c) × u)/∂b = −[u]×
                    1 => -crate::math::skew(&u),
                    _ => crate::math::skew(&u),
                };
                H[i][j] = (turn * mean.value
                    - outer(&by[i], &u) * mean.first[j]
                    - outer(&u, &by[j]) * mean.first[i]
                    + outer(&u, &u) * (area * mean.second[i][j]))
                    * c;
            }
        }
        H
    }
}

/// A ball in the water.
#[derive(Debug, Clone, Copy, PartialEq)]
struct WettedBall {
    point: PointId,
    radius: f64,
    water: Water,
}

impl WettedBall {
    /// Height of the cap under water \[m\], 0 to 2r.
    fn cap(&self, x: &Vec3) -> f64 {
        (self.radius + self.water.depth(x)).clamp(0.0, 2.0 * self.radius)
    }
}

impl Element<1> for WettedBall {
    const KIND: &'static str = "buoyancy";
    const INTERNAL: bool = false;

    fn points(&self) -> [PointId; 1] {
        [self.point]
    }

    fn energy(&self, [x]: &[Vec3; 1]) -> f64 {
        let (r, s) = (self.radius, self.cap(x));
        let below = (self.water.depth(x) - r).max(0.0);
        let volume = 4.0 / 3.0 * PI * r.powi(3);
        self.water.weight * (PI / 3.0 * (r * s.powi(3) - 0.25 * s.powi(4)) + volume * below)
    }

    fn gradient(&self, [x]: &[Vec3; 1]) -> [Vec3; 1] {
        let (r, s) = (self.radius, self.cap(x));
        [self.water.up * (-self.water.weight * PI / 3.0 * s * s * (3.0 * r - s))]
    }

    fn hessian(&self, [x]: &[Vec3; 1], _: Tangent) -> Hessian<1> {
        let (r, s) = (self.radius, self.cap(x));
        // The area of the waterline: never negative.
        let waterline = PI * s * (2.0 * r - s);
        [[outer(&self.water.up, &self.water.up) * (self.water.weight * waterline)]]
    }
}

/// Drag on triangles and balls, by their area under water. Each corner of a triangle feels a third of it, with its own velocity.
#[derive(Debug, Clone, PartialEq)]
struct WaterDrag {
    triangles: Vec<[PointId; 3]>,
    balls: Vec<(PointId, f64)>,
    water: Water,
    linear: f64,
    quadratic: f64,
}

impl WaterDrag {
    /// Shows every point with the area that it stands for.
    fn each(&self, p: &Points, mut visit: impl FnMut(usize, f64)) {
        for t in &self.triangles {
            let x = t.map(|i| triple(p.x, i.index()));
            let area = 0.5 * (x[1] - x[0]).cross(&(x[2] - x[0])).norm();
            let wet = wet_share(x.map(|x| self.water.depth(&x)));
            t.iter().for_each(|i| visit(i.index(), area * wet / 3.0));
        }
        for &(point, radius) in &self.balls {
            let ball = WettedBall { point, radius, water: self.water };
            let cap = ball.cap(&triple(p.x, point.index()));
            visit(point.index(), 2.0 * PI * radius * cap);
        }
    }

    fn damping(&self, v: &Vec3, area: f64) -> Mat3 {
        let speed = v.norm();
        let along = if speed > 0.0 { outer(v, v) * (self.quadratic / speed) } else { Mat3::zeros() };
        (Mat3::identity() * (self.linear + self.quadratic * speed) + along) * area
    }
}

/// Share of a triangle's area that is under water.
fn wet_share(d: [f64; 3]) -> f64 {
    let share = |k: usize| d[k] * d[k] / ((d[k] - d[(k + 1) % 3]) * (d[k] - d[(k + 2) % 3]));
    let wet = d.map(|d| d > 0.0);
    let alone = |state: bool| (0..3).find(|&k| wet[k] == state).unwrap_or(0);
    match wet.iter().filter(|wet| **wet).count() {
        0 => 0.0,
        1 => share(alone(true)),
        2 => 1.0 - share(alone(false)),
        _ => 1.0,
    }
}

impl Force for WaterDrag {
    fn kind(&self) -> &'static str {
        "water_drag"
    }

    fn add_force(&self, p: &Points, f: &mut [f64]) {
        self.each(p, |i, area| {
            let v = p.velocity(i);
            add_triple(f, i, &(v * (-area * (self.linear + self.quadratic * v.norm()))));
        });
    }

    fn add_damping_times(&self, p: &Points, dv: &[f64], df: &mut [f64]) {
        self.each(p, |i, area| add_triple(df, i, &(self.damping(&p.velocity(i), area) * triple(dv, i))));
    }

    fn add_damping_blocks(&self, p: &Points, out: &mut Blocks) {
        self.each(p, |i, area| out.add(i, i, self.damping(&p.velocity(i), area)));
    }

    fn is_conservative(&self) -> bool {
        false
    }
}

/// What the vertices of a body's surface are called behind its name.
const HULL: &str = ".hull";

impl MakeForce for Buoyancy {
    fn name(&self) -> &str {
        &self.name
    }

    fn points_on(&self, body: &RigidBody, _: &Vec3) -> Option<(&'static str, Vec<Vec3>)> {
        if self.on.iter().all(|text| name_of(text) != body.name) {
            return None;
        }
        match &body.shape {
            Shape::Point => None,
            Shape::Sphere { .. } => Some((HULL, vec![Vec3::zeros()])),
            shape => Some((HULL, shape.triangles().vertices().to_vec())),
        }
    }

    fn make(&self, at: &mut ForceBuilder<'_>) {
        at.notes.positive("density", self.density);
        at.notes.finite("level", self.level);
        at.notes.not_negative("linear", self.linear);
        at.notes.not_negative("quadratic", self.quadratic);
        let g = at.gravity.norm();
        if !(g > 0.0) {
            return at.notes.error("", "water lifts nothing without gravity");
        }
        if self.on.is_empty() {
            return at.notes.error("on", "names nothing that floats");
        }
        let water = Water { weight: self.density * g, up: -at.gravity / g, level: self.level };
        let (mut triangles, mut balls) = (Vec::new(), Vec::new());
        for text in &self.on {
            if at.points.names.is_rigid(text) {
                rigid(text, at, &mut triangles, &mut balls);
            } else if let Some(skin) = skin(text, at.surfaces) {
                if is_closed(text, skin, at) {
                    triangles.extend(skin.iter().map(|t| t.map(PointId)));
                }
            } else {
                balls.extend(self.particles(text, at));
            }
        }
        let mut name = self.name.as_str();
        if !triangles.is_empty() {
            let elements = triangles.iter().map(|t| WettedTriangle { points: *t, water }).collect();
            at.add("buoyancy", name, Box::new(Elements::new(elements)));
            name = "";
        }
        if !balls.is_empty() {
            let ball = |&(point, radius): &(PointId, f64)| WettedBall { point, radius, water };
            at.add("buoyancy", name, Box::new(Elements::new(balls.iter().map(ball).collect())));
        }
        if self.linear > 0.0 || self.quadratic > 0.0 {
            let Self { linear, quadratic, .. } = *self;
            at.add("water_drag", "", Box::new(WaterDrag { triangles, balls, water, linear, quadratic }));
        }
    }
}

impl Buoyancy {
    /// Particles as balls.
    fn particles(&self, text: &str, at: &mut ForceBuilder<'_>) -> Vec<(PointId, f64)> {
        let own = at.sets.iter().find(|set| set.name == name_of(text)).and_then(|set| set.radius);
        let points = at.points.names.list(at.notes, "on", &[text.to_string()]);
        let Some(radius) = self.radius.or(own).filter(|r| *r > 0.0) else {
            if !points.is_empty() {
                let message =
                    format!("`{text}` has neither a surface nor a radius, so it displaces no water");
                at.notes.error("on", message);
            }
            return Vec::new();
        };
        points.into_iter().map(|i| (PointId(i as u32), radius)).collect()
    }
}

/// Adds the surface of a rigid body, or the ball that it is.
fn rigid(
    text: &str,
    at: &mut ForceBuilder<'_>,
    triangles: &mut Vec<[PointId; 3]>,
    balls: &mut Vec<(PointId, f64)>,
) {
    let (names, bodies) = (&at.points.names, &at.points.bodies);
    let Some((_, range)) = names.sets.get(&format!("{text}{HULL}")) else {
        return at.notes.error("on", format!("`{text}` has no shape, so it displaces no water"));
    };
    let first = range.start as u32;
    match bodies.names.get(text).map(|&k| &bodies.shapes[k as usize]) {
        Some(Shape::Sphere { radius }) => balls.push((PointId(first), *radius)),
        Some(shape) => {
            let mesh = shape.triangles();
            if is_closed(text, mesh.triangles(), at) {
                triangles.extend(mesh.triangles().iter().map(|t| t.map(|i| PointId(first + i))));
            }
        }
        None => {}
    }
}

/// Triangles of the surface of that name; that of an affine body is carried under a name of its own.
fn skin<'a>(text: &str, surfaces: &'a [Surface]) -> Option<&'a [[u32; 3]]> {
    let carried = format!("{text} skin");
    let mut own = surfaces.iter().filter(|s| !s.triangles.is_empty());
    own.find(|s| s.name == text || s.name == carried).map(|s| &*s.triangles)
}

/// True if each edge has two triangles; otherwise notes one that does not.
fn is_closed(text: &str, triangles: &[[u32; 3]], at: &mut ForceBuilder<'_>) -> bool {
    let open = open_edge(triangles);
    if let Some((a, b)) = open {
        let message =
            format!("the surface of `{text}` is open at the edge of points {a} and {b}: it would fill");
        at.notes.error("on", message);
    }
    open.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;
    use crate::math::Random;
    use crate::model::Quantity;
    use crate::prelude::{BodyMass, Impulse, Method, Scene};

    const WATER: Water = Water { weight: 9810.0, up: Vec3::new(0.0, 0.0, 1.0), level: 0.1 };

    fn triangles(shape: &Shape) -> (Vec<f64>, Elements<WettedTriangle, 3>) {
        let mesh = shape.triangles();
        let x = mesh.vertices().iter().flat_map(|p| [p.x, p.y, p.z]).collect();
        let element = |t: &[u32; 3]| WettedTriangle { points: t.map(PointId), water: WATER };
        (x, Elements::new(mesh.triangles().iter().map(element).collect()))
    }

    fn turned(x: &[f64], rotation: &crate::math::Quat, shift: Vec3) -> Vec<f64> {
        let place = |p: &[f64]| rotation * Vec3::new(p[0], p[1], p[2]) + shift;
        x.chunks_exact(3).flat_map(|p| place(p).data.0[0]).collect()
    }

    fn points<'a>(x: &'a [f64], v: &'a [f64], mass: &'a [f64]) -> Points<'a> {
        Points { time: 0.0, first: 0, x, v, mass }
    }

    #[test]
    fn buoyancy_is_minus_the_gradient_of_its_energy_and_its_stiffness_that_of_the_force() {
        let mut random = Random::new(3);
        let mut number = move || random.unit() - 0.5;
        let element = WettedTriangle { points: [0, 1, 2].map(PointId), water: WATER };
        for _ in 0..50 {
            // Of random triangles about the plane some have one corner under water, some two, some all or none.
            let x: Vec<f64> = (0..9).map(|k| number() + if k % 3 == 2 { 0.1 } else { 0.0 }).collect();
            let (v, mass) = (vec![0.0; 9], vec![1.0; 3]);
            let (p, force) = (points(&x, &v, &mass), Elements::new(vec![element]));
            assert!(check::force_against_energy(&force, &p) < 1e-6);
            assert!(check::stiffness_against_force(&force, &p) < 1e-6);
            let ball = Elements::new(vec![WettedBall { point: PointId(0), radius: 0.4, water: WATER }]);
            assert!(check::force_against_energy(&ball, &p) < 1e-6);
            assert!(check::stiffness_against_force(&ball, &p) < 1e-6);
        }
    }

    #[test]
    fn a_closed_surface_is_lifted_by_the_weight_of_the_water_in_its_place_and_pushed_nowhere_else() {
        let size = Vec3::new(0.6, 0.4, 0.5);
        let (x, force) = triangles(&Shape::Box { size });
        let turn = crate::math::rotation::exp(&Vec3::new(0.4, -0.3, 0.8));
        let net = |x: &[f64]| {
            let (v, mass) = (vec![0.0; x.len()], vec![1.0; x.len() / 3]);
            let mut f = vec![0.0; x.len()];
            force.add_force(&points(x, &v, &mass), &mut f);
            (0..x.len() / 3).map(|i| triple(&f, i)).sum::<Vec3>()
        };
        let full = WATER.weight * size.product();
        let deep = net(&turned(&x, &turn, Vec3::new(0.0, 0.0, -5.0)));
        assert!((deep - Vec3::new(0.0, 0.0, full)).norm() < 1e-9 * full, "{deep}");
        // Upright with 0.2 m under water.
        let upright = net(&turned(&x, &crate::math::Quat::identity(), Vec3::new(0.0, 0.0, 0.1 + 0.25 - 0.2)));
        assert!((upright - Vec3::new(0.0, 0.0, full * 0.4)).norm() < 1e-9 * full, "{upright}");
        let askew = net(&turned(&x, &turn, Vec3::new(0.3, 0.1, 0.12)));
        assert!(askew.x.hypot(askew.y) < 1e-9 * full && askew.z > 0.0 && askew.z < full, "{askew}");
    }

    #[test]
    fn a_ball_floats_at_the_depth_of_archimedes() {
        // s²(3r − s) = 4 r³ ρ/ρ_w, solved by bisection.
        let (r, ratio) = (0.2, 0.35);
        let (mut low, mut high) = (0.0, 2.0 * r);
        for _ in 0..100 {
            let s = 0.5 * (low + high);
            if s * s * (3.0 * r - s) < 4.0 * ratio * r * r * r { low = s } else { high = s }
        }
        let mass = ratio * 1000.0 * 4.0 / 3.0 * PI * r * r * r;
        let mut scene = Scene { dt: 1e-3, ..Scene::default() };
        let ball = crate::scene::ParticleSet::at("ball", [0.0, 0.0, r - low]).mass(mass).radius(r);
        scene.add(ball);
        scene.add(Buoyancy { on: vec!["ball".into()], ..Buoyancy::default() });
        let mut sim = scene.build().unwrap();
        sim.run(1.0).unwrap();
        let z = Quantity::parse(&sim.model, "ball.z").unwrap().value(&sim.model, &sim.state);
        assert!((z - (r - low)).abs() < 1e-9, "{z}");
    }

    #[test]
    fn a_box_rolls_with_the_period_of_its_metacentric_height() {
        let (size, ratio) = (Vec3::new(2.0, 1.0, 0.4), 0.5);
        let draft = ratio * size.z;
        let body = RigidBody::new("raft", Shape::Box { size }).mass(ratio * 1000.0 * size.product());
        // KB + BM − KG, with BM the second moment of the waterline over the volume under water.
        let height = 0.5 * draft + size.y * size.y / (12.0 * draft) - 0.5 * size.z;
        // I = m (b² + c²)/12 and the torque −m g GM φ.
        let radius2 = (size.y * size.y + size.z * size.z) / 12.0;
        let period = 2.0 * PI * (radius2 / (9.81 * height)).sqrt();
        let roll = crate::math::rotation::exp(&Vec3::new(1e-3, 0.0, 0.0));
        let method = Method::Impulse(Impulse::default());
        let mut scene = Scene { dt: 1e-3, method, ..Scene::default() };
        scene.add(body.at([0.0, 0.0, 0.5 * size.z - draft]).turned(roll));
        scene.add(Buoyancy { on: vec!["raft".into()], ..Buoyancy::default() });
        let mut sim = scene.build().unwrap();
        let rate = Quantity::parse(&sim.model, "raft.wx").unwrap();
        // The rate is zero again, from below, after a whole period.
        let (mut before, mut t, mut found) = (0.0, 0.0, 0.0);
        while t < 2.0 * period && found == 0.0 {
            sim.step().unwrap();
            t += sim.dt;
            let now = rate.value(&sim.model, &sim.state);
            if before > 0.0 && now <= 0.0 {
                found = t;
            }
            before = now;
        }
        assert!((found - period).abs() < 0.01 * period, "{found} {period}");
    }

    #[test]
    fn water_only_takes_energy_out() {
        let drag = WaterDrag {
            triangles: vec![[0, 1, 2].map(PointId)],
            balls: vec![(PointId(0), 0.3)],
            water: WATER,
            linear: 3.0,
            quadratic: 50.0,
        };
        let x = [0.0, 0.0, -0.5, 1.0, 0.0, 0.3, 0.0, 1.0, 0.05];
        let (v, mass) = ([1.0, -2.0, 0.5, 0.3, 0.1, -4.0, 2.0, 2.0, 2.0], [1.0; 3]);
        let p = points(&x, &v, &mass);
        assert!(check::dissipated_power(&drag, &p) < 0.0);
        assert!(check::damping_against_force(&drag, &p) < 1e-6);
    }

    fn raft(method: Method) -> Scene {
        let size = Vec3::new(2.0, 1.0, 0.4);
        let mut scene = Scene { dt: 1e-4, method, ..Scene::default() };
        // 0.2 m under water would float it; it has 0.24.
        scene.add(RigidBody::new("raft", Shape::Box { size }).mass(400.0).at([0.0, 0.0, -0.04]));
        scene.add(Buoyancy { name: "water".into(), on: vec!["raft".into()], ..Buoyancy::default() });
        scene
    }

    #[test]
    fn every_method_lifts_a_raft_by_what_it_displaces() {
        use crate::prelude::{Explicit, Implicit, Ipc, Lagrange};
        let methods = [
            Method::Explicit(Explicit::default()),
            Method::Implicit(Implicit::default()),
            Method::Lagrange(Lagrange::default()),
            Method::Impulse(Impulse::default()),
            Method::Ipc(Ipc::default()),
        ];
        for method in methods {
            let name = method.name();
            let mut sim = raft(method).build().unwrap();
            sim.step().unwrap();
            let v = Quantity::parse(&sim.model, "raft.vz").unwrap().value(&sim.model, &sim.state);
            // (ρ g V − m g)/m = g·0.04/0.2, for a step so short that nothing has moved.
            let expected = 1e-4 * 9.81 * 0.2;
            assert!((v - expected).abs() < 1e-3 * expected, "{name}: {v} {expected}");
        }
    }

    #[test]
    fn what_displaces_no_water_is_refused() {
        let refused = |change: &dyn Fn(&mut Scene)| {
            let mut scene = raft(Method::default());
            change(&mut scene);
            scene.build().err().map(|e| e.to_string()).unwrap_or_default()
        };
        let still = refused(&|s| s.gravity = Vec3::zeros());
        assert!(still.contains("without gravity"), "{still}");
        let mass = BodyMass::Given { mass: 1.0, center: Vec3::zeros(), inertia: Mat3::identity() };
        let point = refused(&|s| {
            s.rigid[0].shape = Shape::Point;
            s.rigid[0].mass = mass.clone();
        });
        assert!(point.contains("no shape"), "{point}");
        let bare = refused(&|s| {
            s.add(crate::scene::ParticleSet::at("dust", [0.0, 0.0, 1.0]));
            s.buoyancy[0].on = vec!["dust".into()];
        });
        assert!(bare.contains("neither a surface nor a radius"), "{bare}");
        let nobody = refused(&|s| s.buoyancy[0].on = vec!["rafd".into()]);
        assert!(nobody.contains("rafd"), "{nobody}");
    }
}
