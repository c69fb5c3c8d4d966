//! Contact without a barrier: an augmented Lagrangian with certified places.
//!
//! **The problem.** A step minimises the incremental potential without barriers, $E(z)$, subject to $g_k(z)\ge\delta$ for
//! every pair of primitives: gaps stay above a standoff δ, half of the gap ĝ at which contact begins. There are two
//! points. The iterate x is what Newton's method moves; it may penetrate. The certified point y begins where the step
//! begins, goes towards x as far as continuous collision detection lets it, and is all that ever leaves a step. In the
//! end both are the same.
//!
//! **The linear constraint.** At y the pair k has the gap $g_k$, the normal n and weights w of its nearest points. Every vertex
//! is a linear map of the unknowns, so
//!
//! $$ c_k(x) = g_k(y) - \delta_k + n\cdot\sum_i w_i(x_i - y_i) \ge 0 $$
//!
//! is linear in them, with the slope $W_j n$ over blocks. Where x = y it is the true gap less δ, so that a fixed point of the
//! iteration satisfies the constraint itself and not a model of it.
//!
//! **The augmented Lagrangian** (Hestenes 1969, Powell 1969, Rockafellar 1974 for inequalities). With multipliers λ ≥ 0 \[N\] and
//! penalties ρ \[N/m\]
//!
//! $$ \psi_k = \frac1{2\rho_k}\big(\max(0, s_k)^2 - \lambda_k^2\big),\quad s_k = \lambda_k - \rho_k c_k;\qquad
//!    -\nabla\psi_k = \max(0, s_k)\,W_j n,\quad \nabla^2\psi_k = \rho_k [s_k > 0]\,W_jW_l\,nn^T. $$
//!
//! $E + \sum\psi_k$ is what the line search goes down; its terms are the rows of the linear system and no others, so model and
//! merit never disagree. The curvature is $ww^T\otimes\rho nn^T$: positive semidefinite. max(0, s) is the force of the pair.
//!
//! **Multipliers.** After a Newton step δz the linear model says that a pair that was pressed is now pressed by
//! $\lambda - \rho(c + n\cdot\sum w_i\delta x_i)$; where this is above zero it becomes its multiplier, else zero does. With a part α of
//! the step the multiplier goes that part of its way. So one Newton step is one step of sequential quadratic programming, and
//! the force that balances the linear system is the multiplier of the next. Pairs that were not pressed in the model keep λ:
//! what they are violated by was not in the model, and a force made of it would throw the body off.
//!
//! **Penalty.** $\rho = 300\,(W M^{-1} W^T)^{-1}/d^2$: a multiple of the inertia that the pair itself meets, its *effective mass*, over the
//! square of the step; for nodes the diagonal of inertia and elasticity stands for $M/d^2$. Each round divides the
//! error of a constraint by $1 + \rho/S$, S being the stiffness that the constraint meets. In a stack S is that of all that rests on the
//! pair: where an error does not fall by two thirds in a round, the penalty of the pair grows by four, and the
//! growth is remembered and halved from step to step.
//!
//! **Certified places.** Nothing but geometry is asked of y, so every affine body and every node goes its own part of the way
//! to x; pairs of which one side was shortened are looked at again until the whole motion is free (as in `search`). Every pair
//! that stops something on the whole way to x is a constraint from then on, however far apart it is now: all collisions of
//! a step are found together and not one after another. With joints all bodies go the same part, so that y keeps exact
//! joints.
//!
//! **Friction** is that of barriers, with λ as the normal force: of the step before at first, taken anew in further passes if the load
//! between two bodies has changed.
//!
//! **Standoff.** A pair that begins the step nearer than δ is not thrown apart: $\delta_k = g_0 + \tfrac14(\delta - g_0)$ for $g_0 < \delta$.
//! Two that began the scene too near have their own gap for a while ([`StartGap`](crate::model::StartGap)); while that is less than δ
//! it stands for δ.
//!
//! **The end.** An island is done when its Newton step is slower than the tolerance (as with barriers), y = x, and no constraint
//! is off by more than the tolerance times the step, or a tenth of δ. If that does not come about, the state is y, free of
//! intersections, and the report says `unfinished`; a body that moves as told and has not arrived in y is an error.
//!
//! Multipliers are a part of the [`State`], by names of pairs: a body at rest begins with the forces that carry
//! it. Pairs of nearly parallel edges of surfaces are no constraints, since their nearest points jump; vertices against
//! triangles hold them apart, and they stop y as all pairs do.

mod certify;

use nalgebra::{Matrix4, Vector4};

use super::Ipc;
use super::newton::IpcWork;
use super::touch::{Touch, own_gap};
use crate::collide::barrier::Mollifier;
use crate::collide::{Candidates, Contact, Kind, distance};
use crate::math::Vec3;
use crate::model::{ContactModel, Model};
use crate::state::{Multiplier, State};

/// What keeps things apart in the method `ipc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ContactPotential {
    /// A log barrier over the gap: every iterate is free of intersections.
    #[default]
    Barrier,
    /// Multipliers on the gap: iterates may penetrate, certified places never do.
    Augmented,
}

impl ContactPotential {
    /// All of them with their names in scene files.
    pub const ALL: &'static [(&'static str, ContactPotential)] =
        &[("barrier", ContactPotential::Barrier), ("augmented", ContactPotential::Augmented)];

    /// Name in scene files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Augmented => "augmented",
        }
    }

    /// The one with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|(_, p)| *p)
    }
}

/// Standoff δ as a part of the gap ĝ.
const STANDOFF: f64 = 0.5;
/// Part of what a pair lacks to the standoff that it regains in a step.
const REGAIN: f64 = 0.25;
/// ρ as a multiple of the effective mass over d².
const PENALTY: f64 = 300.0;
/// Rounds after which a slow constraint gets a larger penalty, what counts as slow, and the growth.
const PATIENCE: u32 = 3;
const SLOW: f64 = 0.33;
const GROWTH: f64 = 4.0;
const MOST_GROWTH: f64 = 1e8;
/// Largest error of a constraint in the end, as a part of δ.
const FEASIBLE: f64 = 0.1;
const NONE: u32 = u32::MAX;

/// What is known of a constraint beyond its contact.
#[derive(Debug, Clone, Copy)]
struct Held {
    of: Multiplier,
    /// δ_k \[m\]; not a number if not yet known.
    target: f64,
    /// Its error in the last round \[m\], and for how many rounds it has been pressed.
    error: f64,
    age: u32,
}

/// The constraints of the moment, in the order of [`Touch::set`].
#[derive(Debug, Default)]
pub(in crate::step::ipc) struct Rows {
    /// Constraints take the place of barriers.
    pub on: bool,
    /// λ \[N\] of each.
    pub lambda: Vec<f64>,
    /// ρ of each \[N/m\]; 0 for one that does not count.
    rho: Vec<f64>,
    held: Vec<Held>,
    /// c of each where the slope was taken last \[m\].
    value: Vec<f64>,
    /// What is remembered of pairs that are no constraints now, sorted.
    idle: Vec<Held>,
    /// Pairs that stopped something in this step.
    hits: Candidates,
    new_hits: bool,
    wide: Candidates,
    /// The certified blocks and vertices, the vertices at the start of the step, and those of the last linearisation.
    pub z: Vec<f64>,
    pub y: Vec<Vec3>,
    y0: Vec<Vec3>,
    at: Vec<Vec3>,
    /// δ \[m\], and the largest error in the end.
    standoff: f64,
    tolerance: f64,
    /// Something touched at y when constraints were made.
    touching: bool,
    /// Units that are not at their certified places or whose constraints are off.
    pub open: Vec<bool>,
    /// Rounds in which y could not go on.
    stalls: u32,
    /// ρ d² times the effective mass.
    factor: f64,
    /// Of each affine body the inverse of its mass over d²; of each block the body of which it is the first, and of a node
    /// the inverse of its diagonal.
    inverse: Vec<Matrix4<f64>>,
    first_of: Vec<u32>,
    node: Vec<f64>,
    /// What each block goes with.
    mover: Vec<u32>,
    times: Vec<f64>,
    part: Vec<f64>,
    moved: Vec<Vec3>,
}

impl Rows {
    /// c_k at the vertices x \[m\].
    fn constraint(&self, k: usize, c: &Contact, x: &[Vec3]) -> f64 {
        c.gap - self.held[k].target + c.normal.dot(&c.slip(x, &self.at))
    }

    /// ψ_k at x \[J\].
    pub(in crate::step::ipc) fn energy(&self, k: usize, c: &Contact, x: &[Vec3]) -> f64 {
        let (lambda, rho) = (self.lambda[k], self.rho[k]);
        if rho == 0.0 {
            return 0.0;
        }
        let value = self.constraint(k, c, x);
        if lambda - rho * value > 0.0 {
            value * (0.5 * rho * value - lambda)
        } else {
            -0.5 * lambda * lambda / rho
        }
    }

    /// Takes the values of all constraints at x.
    pub(in crate::step::ipc) fn evaluate(&mut self, contacts: &[Contact], x: &[Vec3]) {
        let mut value = std::mem::take(&mut self.value);
        value.clear();
        if self.on {
            value.extend(contacts.iter().enumerate().map(|(k, c)| self.constraint(k, c, x)));
        }
        self.value = value;
    }

    /// ψ_k/ρ, and its first and second derivatives by c, where values were taken last.
    pub(in crate::step::ipc) fn at(&self, k: usize) -> [f64; 3] {
        let (rho, c) = (self.rho[k], self.value[k]);
        if rho == 0.0 {
            return [0.0; 3];
        }
        let push = self.lambda[k] / rho - c;
        if push > 0.0 { [0.5 * push * push, -push, 1.0] } else { [0.0; 3] }
    }

    /// True if the certified point has not gone on for many rounds.
    pub(in crate::step::ipc) fn stalled(&self) -> bool {
        self.on && self.stalls >= certify::MOST_STALLS
    }

    /// 1/(W H⁻¹ Wᵀ) of the blocks of a contact \[N/m\], H being inertia over d², for nodes with elasticity; 0 if nothing gives.
    fn effective(&self, blocks: &[u32], weights: &[f64]) -> f64 {
        let (mut compliance, mut k) = (0.0, 0);
        while k < blocks.len() {
            let body = self.first_of[blocks[k] as usize];
            if body != NONE && k + 4 <= blocks.len() {
                let w = Vector4::from_column_slice(&weights[k..k + 4]);
                compliance += w.dot(&(self.inverse[body as usize] * w));
                k += 4;
            } else {
                compliance += weights[k] * weights[k] * self.node[blocks[k] as usize];
                k += 1;
            }
        }
        if compliance > 0.0 { 1.0 / compliance } else { 0.0 }
    }
}

/// Gap of the pair of a contact at other places of its vertices \[m\].
fn gap_at(contact: &ContactModel, c: &Contact, x: &[Vec3]) -> f64 {
    let surface = &contact.surface;
    let [a, b, p, q] = c.vertices.map(|v| x[v as usize]);
    let radii = |k: usize| surface.radius(c.vertices[0]) + surface.radius(c.vertices[k]);
    match c.kind {
        Kind::VertexPlane => {
            surface.half_planes[c.pair[1] as usize].height(&a) - surface.radius(c.vertices[0])
        }
        Kind::VertexTriangle => distance::point_triangle(&[a, b, p, q]).d2.sqrt() - radii(1),
        Kind::EdgeEdge => distance::edge_edge(&[a, b, p, q]).d2.sqrt() - radii(2),
        Kind::VertexEdge => distance::point_edge(&[a, b, p]).d2.sqrt() - radii(1),
        Kind::VertexVertex => distance::point_point(&[a, b]).d2.sqrt() - radii(1),
    }
}

/// True for nearly parallel edges of which one belongs to a triangle: vertices and triangles hold them apart.
fn fades(contact: &ContactModel, c: &Contact, x: &[Vec3]) -> bool {
    if c.kind != Kind::EdgeEdge {
        return false;
    }
    let lone = |body: u32| contact.surface.bodies[body as usize].has_lone_edges;
    if lone(c.bodies[0]) && lone(c.bodies[1]) {
        return false;
    }
    let [a, b, p, q] = c.vertices.map(|v| x[v as usize]);
    let [l, m] = c.pair.map(|e| contact.edge_length2[e as usize]);
    (b - a).cross(&(q - p)).norm_squared() < Mollifier::of_rest(l, m).threshold
}

impl Touch {
    /// The energy of constraints and friction \[J\]; constraints are made anew if pairs were chosen anew.
    pub(in crate::step::ipc) fn rows_energy(&mut self, contact: &ContactModel, ahead: bool) -> f64 {
        if !ahead && self.stale {
            self.take_rows(contact);
            if self.rows.touching {
                return f64::INFINITY;
            }
        }
        self.sum(contact, ahead)
    }

    /// Largest change of the load between two bodies, over the largest load of each. Where more points touch than are
    /// needed their loads are a matter of choice, and only sums tell.
    pub(in crate::step::ipc) fn compare_pairs(&mut self, loads: &[f64]) {
        fn sums<'a>(
            contacts: &'a [Contact],
            loads: &'a [f64],
        ) -> impl Iterator<Item = ([u32; 2], f64)> + use<'a> {
            let mut rest = loads;
            contacts.chunk_by(|a, b| a.body_pair() == b.body_pair()).map(move |run| {
                let (own, later) = rest.split_at(run.len());
                rest = later;
                (run[0].body_pair(), own.iter().sum::<f64>())
            })
        }
        let mut old = sums(&self.rub.contacts, &self.load).peekable();
        let mut new = sums(&self.set.contacts, loads).peekable();
        let mut largest = vec![0.0f64; self.change.len()];
        loop {
            let pair = match (old.peek(), new.peek()) {
                (Some(a), Some(b)) => a.0.min(b.0),
                (Some(a), None) => a.0,
                (None, Some(b)) => b.0,
                (None, None) => break,
            };
            let before = old.next_if(|s| s.0 == pair).map_or(0.0, |s| s.1);
            let now = new.next_if(|s| s.0 == pair).map_or(0.0, |s| s.1);
            for b in pair.into_iter().filter(|b| *b != NONE).map(|b| b as usize) {
                largest[b] = largest[b].max(before).max(now);
                self.change[b] = self.change[b].max((now - before).abs());
            }
        }
        for (change, largest) in self.change.iter_mut().zip(&largest) {
            *change = if *largest > 0.0 { *change / largest } else { 0.0 };
        }
    }

    /// Makes the constraints at the certified point.
    fn take_rows(&mut self, contact: &ContactModel) {
        self.choose(contact);
        let surface = &contact.surface;
        let Self { rows, set, live, kappa, faded, starts, .. } = self;
        rows.at.clone_from(&rows.y);
        rows.put_away();
        set.update(surface, live, &rows.y, contact.gap);
        if !rows.hits.is_empty() {
            rows.widen(&set.contacts);
            set.update(surface, &rows.wide, &rows.y, f64::INFINITY);
        }
        faded.clear();
        rows.new_hits = false;
        rows.touching = set.contacts.iter().any(|c| !(c.gap > 0.0));
        let idle = std::mem::take(&mut rows.idle);
        let mut left = Vec::with_capacity(idle.len());
        let mut known = idle.into_iter().peekable();
        for (k, c) in set.contacts.iter().enumerate() {
            let key = (c.body_pair(), c.kind, c.pair);
            while let Some(other) = known.next_if(|h| h.of.key() < key) {
                left.push(other);
            }
            let found = known.next_if(|h| h.of.key() == key);
            let mut held = found.unwrap_or(Held {
                of: Multiplier { bodies: key.0, kind: key.1, pair: key.2, lambda: 0.0, growth: 1.0 },
                target: f64::NAN,
                error: f64::INFINITY,
                age: 0,
            });
            if held.target.is_nan() {
                let g0 = gap_at(contact, c, &rows.y0);
                let own = own_gap(starts, contact, c).unwrap_or(contact.gap);
                let standoff = rows.standoff.min(own);
                held.target = standoff.min(g0 + REGAIN * (standoff - g0));
            }
            let (blocks, weights) = set.blocks(k);
            let mute = fades(contact, c, &rows.y);
            let rho = if mute { 0.0 } else { rows.factor * held.of.growth * rows.effective(blocks, weights) };
            rows.lambda.push(if rho > 0.0 { held.of.lambda } else { 0.0 });
            rows.rho.push(rho);
            rows.held.push(held);
        }
        left.extend(known);
        rows.idle = left;
        kappa.clone_from(&rows.rho);
    }
}

impl Rows {
    /// Puts all constraints among what is remembered.
    fn put_away(&mut self) {
        let Self { held, lambda, idle, rho, .. } = self;
        let before = idle.len();
        for (mut h, lambda) in held.drain(..).zip(lambda.drain(..)) {
            h.of.lambda = lambda;
            idle.push(h);
        }
        rho.clear();
        if before > 0 {
            idle.sort_unstable_by_key(|h| h.of.key());
        }
    }

    /// wide ← the pairs of these contacts and those that stopped something.
    fn widen(&mut self, near: &[Contact]) {
        self.wide.clone_from(&self.hits);
        let wide = &mut self.wide;
        for c in near {
            of_kind(wide, c.kind).push(c.pair);
        }
        for list in [
            &mut wide.vertex_triangle,
            &mut wide.edge_edge,
            &mut wide.vertex_edge,
            &mut wide.vertex_vertex,
            &mut wide.vertex_plane,
        ] {
            list.sort_unstable();
            list.dedup();
        }
    }
}

fn of_kind(list: &mut Candidates, kind: Kind) -> &mut Vec<[u32; 2]> {
    match kind {
        Kind::VertexTriangle => &mut list.vertex_triangle,
        Kind::EdgeEdge => &mut list.edge_edge,
        Kind::VertexEdge => &mut list.vertex_edge,
        Kind::VertexVertex => &mut list.vertex_vertex,
        Kind::VertexPlane => &mut list.vertex_plane,
    }
}

impl IpcWork {
    /// Begins a step with constraints, if they are asked for: y at the state, multipliers from it.
    pub(in crate::step::ipc) fn begin_rows(
        &mut self,
        settings: &Ipc,
        model: &Model,
        state: &State,
        mass_factor: f64,
        diagonal: &[f64],
    ) {
        let rows = &mut self.touch.rows;
        rows.on = settings.potential == ContactPotential::Augmented && self.touch.active;
        let Some(contact) = model.contact.as_ref().filter(|_| rows.on) else { return };
        for list in [&mut rows.lambda, &mut rows.rho, &mut rows.value] {
            list.clear();
        }
        rows.held.clear();
        rows.hits.clear();
        (rows.new_hits, rows.stalls) = (false, 0);
        rows.idle.clear();
        rows.idle.extend(state.multipliers.iter().map(|m| Held {
            of: Multiplier { growth: (0.5 * m.growth).max(1.0), ..*m },
            target: f64::NAN,
            error: f64::INFINITY,
            age: 0,
        }));
        rows.idle.sort_unstable_by_key(|h| h.of.key());
        rows.z.clear();
        rows.z.extend_from_slice(&state.q[..model.layout.nv]);
        rows.y.clone_from(&self.touch.x);
        rows.y0.clone_from(&self.touch.x);
        rows.standoff = STANDOFF * contact.gap;
        rows.tolerance = (settings.tolerance * self.potential.d).min(FEASIBLE * rows.standoff);
        rows.open.clear();
        rows.open.resize(self.islands.units, true);
        rows.factor = PENALTY * settings.contact_stiffness;
        rows.weigh(model, contact, mass_factor, diagonal);
        self.touch.stale = true;
    }

    /// Saves multipliers for the next step.
    pub(in crate::step::ipc) fn save_rows(&self, model: &Model, next: &mut State) {
        next.multipliers.clear();
        let rows = &self.touch.rows;
        if !rows.on {
            return;
        }
        let now = rows.held.iter().zip(&rows.lambda);
        let now = now.map(|(h, &lambda)| Multiplier { lambda, ..h.of });
        let bodies = model.contact.as_ref().map_or(&[][..], |c| &c.surface.bodies);
        let sleeps = |b: u32| {
            let unit = self.islands.unit_of_body.get(b as usize).copied().unwrap_or(super::islands::NONE);
            let still = bodies.get(b as usize).is_none_or(|b| b.prescribed());
            still || self.asleep.get(unit as usize).copied().unwrap_or(false)
        };
        // What sleeps was no constraint in this step.
        let slept = rows.idle.iter().filter(|h| h.of.bodies.iter().all(|b| sleeps(*b))).map(|h| h.of);
        next.multipliers.extend(now.chain(slept).filter(|m| m.lambda > 0.0 || m.growth > 1.0));
        next.multipliers.sort_unstable_by_key(Multiplier::key);
    }
}

impl Rows {
    /// Takes inertia, and what goes with what.
    fn weigh(&mut self, model: &Model, contact: &ContactModel, mass_factor: f64, diagonal: &[f64]) {
        let n = model.layout.particles;
        self.first_of.clear();
        self.first_of.resize(n, NONE);
        self.mover.clear();
        self.mover.extend(0..n as u32);
        self.inverse.clear();
        let mut slot = vec![NONE; n];
        let mut mass = Vec::with_capacity(contact.affine.len());
        for (body, &first) in contact.affine.iter().enumerate() {
            self.first_of[first as usize] = body as u32;
            for i in first as usize..first as usize + 4 {
                slot[i] = body as u32;
                self.mover[i] = first;
            }
            mass.push(Matrix4::from_fn(
                |i, j| {
                    if i == j { model.particles.mass[first as usize + i] } else { 0.0 }
                },
            ));
        }
        for &(i, j, shared) in &model.particles.shared {
            let body = slot[i as usize];
            if body == NONE || slot[j as usize] != body {
                continue;
            }
            let first = contact.affine[body as usize];
            let (r, c) = ((i - first) as usize, (j - first) as usize);
            let M: &mut Matrix4<f64> = &mut mass[body as usize];
            M[(r, c)] += shared;
            if r != c {
                M[(c, r)] += shared;
            }
        }
        // A body without mass gives way to nothing of its own: it counts as held.
        let inverse = |M: Matrix4<f64>| M.try_inverse().unwrap_or_else(Matrix4::zeros) / mass_factor;
        self.inverse.extend(mass.into_iter().map(inverse));
        self.node.clear();
        self.node.resize(n, 0.0);
        for (out, d) in self.node.iter_mut().zip(diagonal).filter(|(_, d)| **d > 0.0) {
            *out = 1.0 / d;
        }
        if contact.has_joints() {
            self.mover.fill(0);
        }
    }
}

#[cfg(test)]
mod tests;
