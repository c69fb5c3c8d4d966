//! Bodies with generalized coordinates.

use std::sync::Arc;

use super::Scene;
use super::diagnostics::Diagnostics;
use super::keys::*;
use super::names::Names;
use crate::bodies::{Generalized, PendulumChain, PointMap};
use crate::describe::short::*;
use crate::describe::{Field, Findings, Key, Kind, Literal, Need, Table, View, table};
use crate::math::Vec3;
use crate::state::{Block, BlockKind, Layout};
use crate::step::Method;

/// Most rods of a pendulum: its equations are solved densely.
const MOST_RODS: usize = 500;

const PENDULUM: Table = Table::new(
    "pendulum",
    "A chain of point masses on massless rods, swinging in a plane; coordinate i is the angle of rod i from straight down.",
    &[
        Field::new("pivot", VEC3, ORIGIN, "m", "Where the first rod hangs."),
        Field::required("lengths", list(&POSITIVE, 1, MOST_RODS), "m", "Lengths of the rods."),
        Field::new(
            "down",
            VEC3,
            Need::Default(Literal::Numbers(&[0.0, 0.0, -1.0])),
            "",
            "Direction of angle zero.",
        ),
        Field::new(
            "side",
            VEC3,
            Need::Default(Literal::Numbers(&[1.0, 0.0, 0.0])),
            "",
            "Direction towards which positive angles swing, across `down`.",
        ),
    ],
);

/// The map of a body from its coordinates to its points.
pub type AnyPointMap = Box<dyn PointMap>;

impl Key for AnyPointMap {
    fn read(t: &View<'_>, key: &'static str, out: &mut Findings) -> Option<Self> {
        let mut map = pendulum();
        let p = t.table(key)?;
        (map.pivot, map.lengths) = (p.item("pivot")?, p.numbers("lengths"));
        match (unit(&p.item("down")?), unit(&p.item("side")?)) {
            (Some(down), Some(side)) if down.dot(&side).abs() < 1e-6 => (map.down, map.side) = (down, side),
            _ => {
                let key = if p.has("side") { "side" } else { "down" };
                out.error(p.span(key), "`down` and `side` must be two directions across each other");
            }
        }
        Some(Box::new(map))
    }

    fn preset(_: &'static Table, _: &str) -> Self {
        Box::new(pendulum())
    }
}

fn pendulum() -> PendulumChain {
    PendulumChain { pivot: Vec3::zeros(), lengths: vec![1.0], down: -Vec3::z(), side: Vec3::x() }
}

table! {
    /// A body with generalized coordinates u: its points lie at x(u). Other maps than the pendulum are written in
    /// Rust. Quantities: `NAME.u0`, `NAME.du0`, and those of its points.
    pub struct GeneralizedBody: "generalized" {
        /// Name, unique in the scene.
        name: String = &[NAME];
        /// The map x(u).
        map as "pendulum": AnyPointMap = REQUIRED, Kind::Table(const { &PENDULUM }), "";
        /// Masses of its points.
        masses: Vec<f64> = REQUIRED, list(&POSITIVE, 1, MOST_RODS), "kg";
        /// u at the start.
        coordinates: Vec<f64> = REQUIRED, list(&Kind::NUMBER, 1, MOST_RODS), "rad";
        /// u̇ at the start; zero if absent.
        rates: Vec<f64> = OPTIONAL, list(&Kind::NUMBER, 1, MOST_RODS), "rad/s";
    }
}

impl std::fmt::Debug for GeneralizedBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GeneralizedBody({}, u = {:?})", self.name, self.coordinates)
    }
}

/// Blocks of rigid and generalized bodies; the latter's points follow the particles.
pub(super) fn body_blocks(
    scene: &mut Scene,
    layout: &Layout,
    names: &mut Names,
) -> (Vec<Block>, Vec<Arc<Generalized>>) {
    let mut blocks = Vec::new();
    for (k, body) in scene.rigid.iter().enumerate() {
        let (q, v) = (7 * k..7 * k + 7, 6 * k..6 * k + 6);
        blocks.push(Block { name: body.name.clone(), kind: BlockKind::Rigid, q, v, points: 0..0 });
    }
    let mut general = Vec::new();
    let (mut q, mut v, mut point) = (7 * layout.rigid, 6 * layout.rigid, layout.particles);
    for body in std::mem::take(&mut scene.generalized) {
        let (n, m) = (body.map.coordinates(), body.map.points());
        let made = Generalized { map: body.map, q: q..q + n, v: v..v + n, points: point..point + m };
        names.add(&body.name, made.points.clone());
        blocks.push(Block {
            name: body.name,
            kind: BlockKind::Generalized,
            q: made.q.clone(),
            v: made.v.clone(),
            points: made.points.clone(),
        });
        (q, v, point) = (q + n, v + n, point + m);
        general.push(Arc::new(made));
    }
    (blocks, general)
}

/// Notes what is wrong with the numbers of generalized bodies.
pub(super) fn check(scene: &Scene, notes: &mut Diagnostics) {
    for (k, body) in scene.generalized.iter().enumerate() {
        notes.at("generalized", k, &body.name);
        let (n, m) = (body.map.coordinates(), body.map.points());
        if body.coordinates.len() != n || !(body.rates.is_empty() || body.rates.len() == n) {
            let (a, b) = (body.coordinates.len(), body.rates.len());
            notes.error("coordinates", format!("{a} coordinates and {b} rates stand against {n} of the map"));
        }
        if body.masses.len() != m {
            notes.error("masses", format!("{} masses stand against {m} points", body.masses.len()));
        }
        if let Some(bad) = body.masses.iter().find(|m| !(m.is_finite() && **m > 0.0)) {
            notes.error("masses", format!("must be greater than zero, but one is {bad}"));
        }
        if body.coordinates.iter().chain(&body.rates).any(|x| !x.is_finite()) {
            notes.error("coordinates", "must be finite");
        }
        if matches!(scene.method, Method::Impulse(_) | Method::Implicit(_)) {
            let method = scene.method.name();
            notes.error(
                "",
                format!(
                    "the method `{method}` does not take generalized coordinates; `explicit` and `lagrange` do"
                ),
            );
        }
    }
}
