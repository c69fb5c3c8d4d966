//! From shapes to contacts, and the sweeps over them.

use std::ops::Range;

use super::passing::is_fast;
use super::pile::NewPatch;
use super::sweep::{Columns, Contact, FLOOR, Field, Inverse, Side, Spin, visit, visit_spin};
use super::together::Early;
use super::{ContactWork, Info, Meeting, NONE};
use crate::collide::rigid::{Manifold, Touch, WORLD};
use crate::contact::{Compliance, Part, TouchLaw, TouchModel};
use crate::joints::Softness;
use crate::math::{Mat3, Pose, Vec3, set_triple, triple};
use crate::model::Model;
use crate::state::{ContactPoint, State};
use crate::step::StepReport;
use crate::step::impulse::Impulse;

/// Contacts are seen from this part of the smallest shape on, beside what bodies move in a step. More of it costs: in a
/// heap of boxes half of the points would be those of neighbours that do not touch.
pub(super) const MARGIN: f64 = 0.003;
/// Sweeps that move velocities by this multiple of the least that was seen do not converge: they end, before the way back to
/// the best ones costs digits.
const ASTRAY: f64 = 1e4;
/// Points of two manifolds that are nearer than this part of the smallest shape may be the same under other names.
const NEAR: f64 = 0.02;
/// Sweeps before they are mixed.
const PLAIN: u32 = 6;
/// Islands of up to so many contacts of bodies by themselves are solved to this part of the tolerance.
const SMALL: usize = 100;
const FINE: f64 = 0.01;
/// Sweeps before Newton's method is tried.
const PATIENCE: u32 = 16;

impl ContactWork {
    /// Velocities at the start and without contacts, and inverse inertias, of bodies by themselves; poses and reach of all.
    pub(super) fn load(&mut self, touch: &TouchModel, model: &Model, state: &State, f: &[f64], h: f64) {
        let n = self.slots();
        self.start.clear();
        self.start.resize(self.field.x.len(), 0.0);
        let none = Inverse { mass: 0.0, inertia: Mat3::zeros() };
        self.field.inverse.resize(n, none);
        let x = &mut self.field.x;
        for (k, &slot) in self.slot_rigid.iter().enumerate() {
            let slot = slot as usize;
            self.start[6 * slot..6 * slot + 6].copy_from_slice(&state.v[6 * k..6 * k + 6]);
            if self.cluster_of[slot] == NONE {
                let inertia = model.rigid.world_inv_inertia(&state.q, k);
                let mass = model.rigid.inv_mass[k];
                self.field.inverse[slot] = Inverse { mass, inertia };
                let h = if self.sleepers.parts.get(k) == Some(&true) { 0.0 } else { h };
                let v = triple(&state.v, 2 * k) + h * mass * triple(f, 2 * k);
                let w = triple(&state.v, 2 * k + 1) + h * (inertia * triple(f, 2 * k + 1));
                set_triple(x, 2 * slot, &v);
                set_triple(x, 2 * slot + 1, &w);
            }
        }
        let points = model.layout.points_v();
        for (i, &slot) in self.slot_particle.iter().enumerate().filter(|(_, s)| **s != NONE) {
            let (slot, at) = (slot as usize, points + 3 * i);
            self.start[6 * slot..6 * slot + 3].copy_from_slice(&state.v[at..at + 3]);
            if self.cluster_of[slot] == NONE {
                let mass = 1.0 / model.particles.mass[i];
                self.field.inverse[slot] = Inverse { mass, inertia: Mat3::zeros() };
                let v = triple(&state.v[at..], 0) + h * mass * triple(&f[at..], 0);
                set_triple(x, 2 * slot, &v);
                set_triple(x, 2 * slot + 1, &Vec3::zeros());
            }
        }
        self.load_robots(model, state);
        let margin = MARGIN * touch.length;
        self.poses.clear();
        self.reach.clear();
        self.passing.fast = false;
        for (part, radius) in touch.parts.iter().zip(&self.radius) {
            // As far as it moves in a step, and a fall from rest.
            let fall = h * h * model.gravity.norm() + margin;
            let far = |v: &Vec3, w: f64| h * (v.norm() + w * radius) + fall;
            let (pose, far) = match *part {
                Part::Rigid(k) => {
                    let k = k as usize;
                    let (v, w) = (triple(&state.v, 2 * k), triple(&state.v, 2 * k + 1));
                    (model.rigid.pose(&state.q, k), far(&v, w.norm()))
                }
                Part::Particle(i) => {
                    let v = triple(&state.v[points..], i as usize);
                    (Pose::at(triple(&state.q[model.layout.points_q()..], i as usize)), far(&v, 0.0))
                }
                Part::Link { robot, link } => {
                    let (pose, v, w) = self.robots.link(model, robot as usize, link as usize);
                    (pose, far(&v, w.norm()))
                }
            };
            self.passing.fast |= is_fast(far - fall, self.passing.smallest);
            self.poses.push(pose);
            self.reach.push(far);
        }
    }

    /// Contacts of this step with the impulses of the one before.
    pub(super) fn detect(&mut self, touch: &TouchModel, model: &Model, state: &State, h: f64) {
        self.contacts.clear();
        self.info.clear();
        self.spins.clear();
        let detector = std::mem::take(&mut self.detector);
        self.join_islands(touch, model, detector.manifolds(), &state.contacts, h);
        let meetings = std::mem::take(&mut self.meetings);
        self.pile.begin(self.slots(), self.slots() + self.robots.groups());
        self.trees.begin();
        let (mut old, mut place, near) = (0, 0, NEAR * touch.length);
        for (m, manifold) in detector.manifolds().iter().enumerate() {
            let key = [manifold.a, manifold.b, manifold.part];
            while old < state.contacts.len() && state.contacts[old].key() < key {
                old += 1;
            }
            let known = state.contacts[old..].iter().take_while(|c| c.key() == key).count();
            let known = &state.contacts[old..old + known];
            let Meeting { nodes, ref law } = meetings[m];
            if nodes == [NONE, NONE] {
                continue;
            }
            let bodies = [manifold.a, manifold.b].map(|i| touch.colliders[i as usize].body);
            // Surfaces that stick have v_a + belt_a = v_b + belt_b.
            let belt = touch.belt(manifold.b) - touch.belt(manifold.a);
            let time = self.passing.time(m);
            let one = self.top(if nodes[0] == NONE { nodes[1] } else { nodes[0] });
            if let Some((root, contacts)) = self.islands.pile(one) {
                let heap = self.pile.heap_of(root, contacts);
                let center = |b: u32| self.center(touch, state, b, time, &manifold.points()[0].point);
                let centers = [center(bodies[0]), center(bodies[1])];
                self.take_trees(heap, &nodes);
                let number = m as u32;
                let new = NewPatch { heap, nodes, centers, law, belt, manifold, number, known, place };
                self.pile.add(&new, h);
                place += manifold.points().len() as u32;
                continue;
            }
            let links = bodies.map(|b| match touch.parts.get(b as usize) {
                Some(&Part::Link { link, .. }) => link,
                _ => NONE,
            });
            let turning = law.torsional_friction > 0.0 || law.rolling_friction > 0.0;
            for p in manifold.points() {
                let last = remembered(known, manifold.points(), p, near);
                let sides = [self.side(nodes[0]), self.side(nodes[1])];
                let arm = |b: u32| p.point - self.center(touch, state, b, time, &p.point);
                let arms = [arm(bodies[0]), arm(bodies[1])];
                let mut spin = NONE;
                if turning {
                    spin = self.spins.len() as u32;
                    self.spins.push(Spin {
                        torsion: law.torsional_friction,
                        rolling: law.rolling_friction,
                        W: Mat3::zeros(),
                        impulse: last.map_or(Vec3::zeros(), |l| h * l.torque),
                    });
                }
                self.contacts.push(Contact {
                    sides,
                    arms,
                    normal: manifold.normal,
                    friction: law.friction,
                    softness: 0.0,
                    target: belt,
                    impulse: last.map_or(Vec3::zeros(), |l| h * l.force),
                    W: Mat3::zeros(),
                    inverse: Mat3::zeros(),
                    spin,
                });
                self.info.push(Info {
                    a: manifold.a,
                    b: manifold.b,
                    part: manifold.part,
                    feature: p.feature,
                    point: p.point,
                    gap: p.gap,
                    nodes,
                    links,
                    impact: -1.0,
                    speed: 0.0,
                    soft: law.compliance.is_some(),
                    place,
                    meeting: m as u32,
                });
                place += 1;
            }
        }
        (self.detector, self.meetings) = (detector, meetings);
    }

    /// The centre of a rigid body after t seconds without contacts; of all else the `point` that touches.
    #[inline(always)]
    fn center(&self, touch: &TouchModel, state: &State, body: u32, t: f64, point: &Vec3) -> Vec3 {
        match touch.parts.get(body as usize) {
            Some(Part::Rigid(k)) => self.center_after(t, *k, state),
            _ => *point,
        }
    }

    /// The node of a part: its slot, or behind the slots the number of its group of trees; `NONE` for what does not move.
    fn node(&self, touch: &TouchModel, body: u32) -> u32 {
        if body == WORLD || touch.held[body as usize] {
            return NONE;
        }
        match touch.parts[body as usize] {
            Part::Rigid(k) => self.slot_rigid[k as usize],
            Part::Particle(i) => self.slot_particle[i as usize],
            Part::Link { robot, link } => match self.robots.group_of(robot as usize, link as usize) {
                NONE => NONE,
                group => self.slots() as u32 + group,
            },
        }
    }

    /// The cluster of a node.
    pub(super) fn cluster_at(&self, node: u32) -> Option<usize> {
        let n = self.slots();
        if (node as usize) < n {
            let cluster = self.cluster_of[node as usize];
            return (cluster != NONE).then_some(cluster as usize);
        }
        // Robots come behind the islands of joints.
        Some(self.joint_islands() + node as usize - n)
    }

    fn side(&self, node: u32) -> Side {
        match node {
            NONE => Side::World,
            node if (node as usize) < self.slots() => match self.cluster_of[node as usize] {
                NONE => Side::Loose(6 * node),
                _ => Side::Jointed(6 * node, Columns::default()),
            },
            _ => Side::Link(0, Columns::default()),
        }
    }

    /// The node that stands for a node: all bodies of an island of joints go with its first.
    pub(super) fn top(&self, node: u32) -> u32 {
        let islands = self.joint_islands();
        match self.cluster_of.get(node as usize) {
            Some(&c) if c != NONE && (c as usize) < islands => self.clusters[c as usize].first / 6,
            _ => node,
        }
    }

    /// How two colliders touch.
    fn law(&self, touch: &TouchModel, a: u32, b: u32) -> TouchLaw {
        if self.laws.is_empty() || !touch.pairs.is_empty() {
            return touch.law(a, b);
        }
        let [a, b] = [a, b].map(|i| touch.colliders[i as usize].material as usize);
        self.laws[a * touch.materials.len() + b]
    }

    /// Who meets whom by which law, and which islands that makes; those that are too large to be solved at once are piles.
    fn join_islands(
        &mut self,
        touch: &TouchModel,
        model: &Model,
        manifolds: &[Manifold],
        before: &[ContactPoint],
        h: f64,
    ) {
        let mut islands = std::mem::take(&mut self.islands);
        let mut meetings = std::mem::take(&mut self.meetings);
        meetings.clear();
        islands.begin(self.slots() + self.robots.groups());
        for (m, manifold) in manifolds.iter().enumerate() {
            let law = self.law(touch, manifold.a, manifold.b);
            let nodes = if law.enabled && !self.passing.is_past(m) {
                [manifold.a, manifold.b].map(|i| self.node(touch, touch.colliders[i as usize].body))
            } else {
                [NONE, NONE]
            };
            if let [a, b] = nodes
                && a != NONE
                && b != NONE
            {
                islands.join(self.top(a), self.top(b));
            }
            meetings.push(Meeting { nodes, law });
        }
        let bodies = 6 * self.slot_rigid.len();
        let jointed = |node: u32| self.cluster_of.get(node as usize).is_some_and(|c| *c != NONE);
        let plain = |node: u32| {
            let slot = node as usize;
            let free = |slot: usize| self.cluster_of[slot] == NONE && self.place[slot] < bodies;
            node == NONE || slot < self.slots() && (free(slot) || self.trees.may_join(self.cluster_of[slot]))
        };
        for (manifold, Meeting { nodes, law }) in manifolds.iter().zip(&meetings) {
            if *nodes == [NONE, NONE] {
                continue;
            }
            let simple = law.compliance.is_none()
                && law.torsional_friction == 0.0
                && law.rolling_friction == 0.0
                && nodes.iter().all(|n| plain(*n));
            let one = if nodes[0] == NONE { nodes[1] } else { nodes[0] };
            let (contacts, link) = (manifold.points().len() as u32, !nodes.contains(&NONE));
            let jointed = nodes.iter().any(|n| jointed(*n));
            islands.weigh(self.top(one), contacts, link, simple, jointed, law.restitution > 0.0);
        }
        islands.count();
        (self.islands, self.meetings) = (islands, meetings);
        if self.islands.are_in_doubt() {
            self.count_known(manifolds, before, h, h * model.gravity.norm());
        }
    }

    /// Tells the islands how many of their contacts pressed in the step before, and whether they are calm: with the impulses of
    /// then neither body would be thrown faster than it falls in a step. Where it would, as after an impact, nobody knows
    /// yet which contacts go on pressing.
    fn count_known(&mut self, manifolds: &[Manifold], before: &[ContactPoint], h: f64, fall: f64) {
        let mut islands = std::mem::take(&mut self.islands);
        let slots = self.slots();
        let x = &self.field.x;
        let mut kicks: Vec<Vec3> =
            (0..slots).map(|k| triple(x, 2 * k) - triple(&self.start, 2 * k)).collect();
        let pressed = |manifold: &Manifold, old: &mut usize| {
            let key = [manifold.a, manifold.b, manifold.part];
            *old += before[*old..].iter().take_while(|c| c.key() < key).count();
            let same = before[*old..].iter().take_while(move |c| c.key() == key);
            same.filter(|c| c.last != Vec3::zeros())
        };
        let mut old = 0;
        for (manifold, Meeting { nodes, .. }) in manifolds.iter().zip(&self.meetings) {
            let impulse = h * pressed(manifold, &mut old).map(|c| c.force).sum::<Vec3>();
            for (node, sign) in nodes.iter().zip([1.0, -1.0]).filter(|(n, _)| (**n as usize) < slots) {
                kicks[*node as usize] += sign * self.field.inverse[*node as usize].mass * impulse;
            }
        }
        let calm = |node: u32| kicks.get(node as usize).is_none_or(|kick| kick.norm() <= fall);
        old = 0;
        for (manifold, Meeting { nodes, .. }) in manifolds.iter().zip(&self.meetings) {
            let count = pressed(manifold, &mut old).count() as u32;
            if *nodes != [NONE, NONE] {
                let one = if nodes[0] == NONE { nodes[1] } else { nodes[0] };
                islands.know(self.top(one), count, nodes.iter().all(|n| calm(*n)));
            }
        }
        self.islands = islands;
    }

    /// Contacts of one island side by side.
    pub(super) fn sort_by_island(&mut self) {
        let mut islands = std::mem::take(&mut self.islands);
        let one = |i: &Info| self.top(if i.nodes[0] == NONE { i.nodes[1] } else { i.nodes[0] });
        islands.number(self.info.iter().map(one));
        self.islands = islands;
        // Contacts of an island keep the order of detection.
        if self.islands.len() > 1 {
            self.cursor.clear();
            self.cursor.extend_from_slice(&self.islands.first);
            self.order.clear();
            self.order.resize(self.islands.of.len(), 0);
            for (k, &island) in self.islands.of.iter().enumerate() {
                let place = &mut self.cursor[island as usize];
                self.order[*place as usize] = k as u32;
                *place += 1;
            }
            // They are large, so each is copied once.
            self.sorted.clear();
            self.sorted.extend(self.order.iter().map(|k| self.contacts[*k as usize]));
            self.sorted_info.clear();
            self.sorted_info.extend(self.order.iter().map(|k| self.info[*k as usize]));
            std::mem::swap(&mut self.contacts, &mut self.sorted);
            std::mem::swap(&mut self.info, &mut self.sorted_info);
        }
        self.note_ranges();
    }

    /// Where the contacts of each cluster lie.
    fn note_ranges(&mut self) {
        for cluster in &mut self.clusters {
            (cluster.from, cluster.to) = (u32::MAX, 0);
        }
        for (k, info) in self.info.iter().enumerate() {
            for node in info.nodes.into_iter().filter(|n| *n != NONE) {
                if let Some(i) = self.cluster_at(node) {
                    let cluster = &mut self.clusters[i];
                    cluster.from = cluster.from.min(k as u32);
                    cluster.to = k as u32 + 1;
                }
            }
        }
        self.clusters.iter_mut().for_each(|c| c.touched = c.from < c.to);
    }

    /// What each contact asks for, now that all velocities and answers are known; then the warm start.
    pub(super) fn finish_contacts(&mut self, settings: &Impulse, model: &Model, h: f64) {
        self.free.clear();
        self.free.extend_from_slice(&self.field.x);
        self.free_robots(model);
        let resting = 2.0 * h * model.gravity.norm();
        let bounces = |i: &Info| self.meetings[i.meeting as usize].law.restitution > 0.0;
        let lively = self.info.iter().any(bounces);
        let free: Vec<Vec3> = if lively { self.rates(model) } else { Vec::new() };
        let start = std::mem::take(&mut self.start);
        self.robots.load_velocities(model, &start);
        self.start = start;
        for k in 0..self.contacts.len() {
            let old = self.rate_of(model, &self.start, k);
            let (c, info) = (&mut self.contacts[k], &mut self.info[k]);
            let law = &self.meetings[info.meeting as usize].law;
            respond(&self.field, &mut self.spins, c);
            let n = c.normal;
            let before = n.dot(&old);
            let mut normal = if info.gap > 0.0 { -info.gap / h } else { 0.0 };
            if let Some(compliance) = law.compliance {
                let (kp, kd) = match compliance {
                    Compliance::Gains { kp, kd } => (kp, kd),
                    Compliance::PerMass { k, b } => {
                        let mass = 1.0 / n.dot(&(c.W * n)).max(1e-300);
                        (mass * k, mass * b)
                    }
                };
                let s = Softness::from_gains(kp, kd, h);
                normal = -s.error_reduction / h * info.gap;
                c.softness = s.regularization / h;
                respond(&self.field, &mut self.spins, c);
            } else if law.restitution > 0.0 && before < -settings.bounce_speed.max(resting) {
                let rate = n.dot(&free[k]);
                let a = (rate - before) / h;
                if let Some(tau) = impact_time(info.gap, before, a, h) {
                    normal = rate - (1.0 + law.restitution) * (before + a * tau);
                    info.impact = tau;
                }
            }
            // The belts' own motion is in the target so far.
            c.target += (normal - n.dot(&c.target)) * n;
            info.speed = (old - c.target).norm();
        }
        let mut x = std::mem::take(&mut self.field.x);
        for c in &self.contacts {
            self.field.push_loose(&mut x, c, &c.impulse);
            if c.spin != NONE {
                self.field.push_turn_loose(&mut x, c, &self.spins[c.spin as usize].impulse);
            }
        }
        self.field.x = x;
    }

    /// W of the contacts anew, after clusters answer in another way.
    pub(super) fn refresh_contacts(&mut self) {
        for c in &mut self.contacts {
            if c.sides.iter().any(|s| matches!(s, Side::Jointed(..) | Side::Link(..))) {
                respond(&self.field, &mut self.spins, c);
            }
        }
    }

    /// Sweeps over each island until its velocities stay.
    pub(super) fn solve(&mut self, settings: &Impulse, model: &Model, h: f64, report: &mut StepReport) {
        self.unsolved.clear();
        self.unsolved.resize(self.islands.len(), false);
        self.solve_together(settings, model, h, report);
        for i in 0..self.islands.len() {
            match self.together.get(i) {
                Early::Solved => {}
                Early::Links(moved) => self.solve_one(i, Some(moved), settings, model, h, report),
                Early::Nothing => self.solve_one(i, None, settings, model, h, report),
            }
        }
        report.contacts = self.contacts.iter().filter(|c| c.impulse != Vec3::zeros()).count() as u32;
    }

    /// The fastest change that an island asks for, and how near to the law its velocities shall be \[m/s\].
    pub(super) fn goal(&self, range: Range<usize>, settings: &Impulse, model: &Model, h: f64) -> (f64, f64) {
        let scale = self.info[range.clone()].iter().map(|i| i.speed);
        let scale = scale.fold(h * model.gravity.norm(), f64::max).max(1e-12);
        let tolerance = settings.tolerance * scale;
        // Sweeps that move little may still be far from the end; where Newton's method is cheap it has the last word.
        let loose = |c: &Contact| c.sides.iter().all(|s| matches!(s, Side::Loose(_) | Side::World));
        let small = range.len() <= SMALL && self.contacts[range].iter().all(loose);
        (scale, if small { FINE * tolerance } else { tolerance })
    }

    /// One island; `early` is how far its velocities are from the law if robots alone touch and all was done for them.
    pub(super) fn solve_one(
        &mut self,
        i: usize,
        early: Option<f64>,
        settings: &Impulse,
        model: &Model,
        h: f64,
        report: &mut StepReport,
    ) {
        let range = self.islands.first[i] as usize..self.islands.first[i + 1] as usize;
        let (scale, fine) = self.goal(range.clone(), settings, model, h);
        let (tolerance, most) = (settings.tolerance * scale, settings.most_sweeps);
        self.rows_of(range.clone());
        let (mut sweeps, mut moved) = (0, f64::INFINITY);
        // Robots alone have all their answers at hand.
        let link = |c: &Contact| c.sides.iter().all(|s| matches!(s, Side::Link(..) | Side::World));
        let links = self.contacts[range.clone()].iter().all(link);
        if let Some(early) = early {
            moved = early;
        } else if most > 0 && links {
            moved = self.unrest_now(range.clone(), model);
            if moved > fine {
                moved = self.solve_dense(range.clone(), Some(moved), fine, model).unwrap_or(moved);
            }
        }
        if moved > fine || !links {
            self.know_answers(range.clone(), model);
        }
        if moved > fine {
            (sweeps, moved) = self.sweep_some(range.clone(), fine, most.min(PATIENCE));
        }
        if moved > fine && most > sweeps {
            let left = self.solve_direct(range.clone(), moved, fine);
            let left = left.or_else(|| self.solve_dense_anew(range.clone(), fine, model));
            moved = left.unwrap_or(moved);
        }
        if moved > tolerance && most > sweeps {
            let (more, left) = self.sweep_some(range, tolerance, most - sweeps);
            (sweeps, moved) = (sweeps + more, left);
        }
        report.iterations = report.iterations.max(sweeps);
        report.residual = report.residual.max(moved / scale);
        self.unsolved[i] = moved > settings.tolerance * scale;
        report.unfinished |= self.unsolved[i];
    }

    /// Sweeps over an island, and over rows of robots if it has any.
    pub(super) fn sweep_some(&mut self, range: Range<usize>, tolerance: f64, most: u32) -> (u32, f64) {
        if self.rows_at_hand.is_empty() {
            self.solve_island(range, tolerance, most)
        } else {
            self.sweep_with_rows(range, tolerance, most)
        }
    }

    /// Sweeps and the last change of a relative velocity \[m/s\].
    fn solve_island(&mut self, range: Range<usize>, tolerance: f64, most: u32) -> (u32, f64) {
        let mut x = std::mem::take(&mut self.field.x);
        let Self { field, contacts, spins, mixer, change, best, .. } = self;
        let contacts = &mut contacts[range];
        let sweep = |contacts: &mut [Contact], spins: &mut [Spin], x: &mut [f64], back: bool| {
            let (n, mut moved) = (contacts.len(), 0.0f64);
            for k in 0..n {
                let c = &mut contacts[if back { n - 1 - k } else { k }];
                moved = moved.max(visit(field, x, c));
                if c.spin != NONE {
                    let spin = &mut spins[c.spin as usize];
                    moved = moved.max(visit_spin(field, x, c, spin) * c.arms[0].norm());
                }
            }
            moved
        };
        let mut sweeps = 0;
        let mut moved = f64::INFINITY;
        // A few plain ones: most islands know their impulses from the step before.
        let mut least = moved;
        while moved > tolerance && sweeps < most.min(PLAIN) {
            moved = sweep(contacts, spins, &mut x, sweeps % 2 == 1);
            sweeps += 1;
            if !(moved <= ASTRAY * least) {
                // They grow without end: back to nothing, from where others may try.
                for c in contacts.iter_mut() {
                    field.push(&mut x, c, &-c.impulse);
                    c.impulse = Vec3::zeros();
                    if c.spin != NONE {
                        let spin = &mut spins[c.spin as usize];
                        field.push_turn(&mut x, c, &-spin.impulse);
                        spin.impulse = Vec3::zeros();
                    }
                }
                break;
            }
            least = least.min(moved);
        }
        let turn = |c: &Contact, spins: &[Spin]| match c.spin {
            NONE => Vec3::zeros(),
            k => spins[k as usize].impulse,
        };
        least = moved;
        if moved > tolerance {
            mixer.begin(contacts.len());
            best.clear();
            best.extend(contacts.iter().map(|c| [c.impulse, turn(c, spins)]));
        }
        // There and back is one map, and it is that map which is mixed.
        while moved > tolerance && sweeps < most {
            mixer.start(contacts);
            moved = sweep(contacts, spins, &mut x, false);
            moved = moved.max(sweep(contacts, spins, &mut x, true));
            sweeps += 2;
            if moved < least {
                least = moved;
                best.clear();
                best.extend(contacts.iter().map(|c| [c.impulse, turn(c, spins)]));
            }
            if !(moved <= ASTRAY * least) {
                break;
            }
            if moved > tolerance && sweeps + 2 < most && mixer.mix(contacts, change) {
                for (c, d) in contacts.iter_mut().zip(change.iter()) {
                    c.impulse += d;
                    field.push(&mut x, c, d);
                }
            }
        }
        if least < moved {
            // Mixing may lose its way: the best that was seen counts.
            for (c, [p, s]) in contacts.iter_mut().zip(best.iter()) {
                field.push(&mut x, c, &(p - c.impulse));
                c.impulse = *p;
                if c.spin != NONE {
                    let spin = &mut spins[c.spin as usize];
                    field.push_turn(&mut x, c, &(s - spin.impulse));
                    spin.impulse = *s;
                }
            }
            moved = least;
        }
        self.field.x = x;
        (sweeps, moved)
    }

    /// Forces into the state, in the order of detection, in place of those of the step before, which are kept until they are
    /// [given back](Self::give_back). Returns the smallest gap of the heaps \[m\].
    pub(super) fn remember(&mut self, state: &mut State, h: f64) -> f64 {
        std::mem::swap(&mut self.lent, &mut state.contacts);
        let count = self.contacts.len() + self.dormant.len() + self.pile.len();
        state.contacts.resize(count, ContactPoint::default());
        let least = self.pile.remember(self.detector.manifolds(), h, &mut state.contacts);
        let dormant = self.dormant.iter().map(|(c, i)| (c, i));
        for (c, i) in self.contacts.iter().zip(&self.info).chain(dormant) {
            let torque = if c.spin == NONE { Vec3::zeros() } else { self.spins[c.spin as usize].impulse / h };
            state.contacts[i.place as usize] = ContactPoint {
                a: i.a,
                b: i.b,
                part: i.part,
                feature: i.feature,
                point: i.point,
                normal: c.normal,
                gap: i.gap,
                force: c.impulse / h,
                torque,
                last: c.impulse / h,
            };
        }
        least
    }

    /// The contacts that the last step began with, where that has been done.
    pub(in crate::step::impulse) fn give_back(&mut self, contacts: &mut Vec<ContactPoint>) {
        std::mem::swap(&mut self.lent, contacts);
    }
}

/// W of a contact, its inverse where it is sure to be asked for, and W of its spin.
fn respond(field: &Field, spins: &mut [Spin], c: &mut Contact) {
    c.W = field.own_response(c);
    if c.softness != 0.0 {
        c.W += c.softness * c.normal * c.normal.transpose();
    }
    let floor = FLOOR * c.W.trace() + 1e-300;
    (0..3).for_each(|k| c.W[(k, k)] += floor);
    if c.beside_links() {
        c.invert();
    }
    if c.spin != NONE {
        spins[c.spin as usize].W = field.own_turn_response(c);
    }
}

/// The point of the step before that a point was: of the same features, or else, where corners of two shapes lie on each
/// other and their features change names by rounding, the nearest that is not another one.
fn remembered<'a>(
    known: &'a [ContactPoint],
    points: &[Touch],
    p: &Touch,
    near: f64,
) -> Option<&'a ContactPoint> {
    let same = known.iter().find(|c| c.feature == p.feature);
    if same.is_some() || known.is_empty() {
        return same;
    }
    let free = known.iter().filter(|c| points.iter().all(|o| o.feature != c.feature));
    let way = |c: &ContactPoint| (c.point - p.point).norm();
    free.min_by(|a, b| way(a).total_cmp(&way(b))).filter(|c| way(c) < near)
}

/// When a gap closes that changes at a rate u < 0 with acceleration a; none if not within h.
fn impact_time(gap: f64, u: f64, a: f64, h: f64) -> Option<f64> {
    if gap <= 0.0 {
        return Some(0.0);
    }
    // g + uτ + ½aτ² = 0, the smaller root, without cancellation.
    let under = u * u - 2.0 * a * gap;
    if under < 0.0 {
        return None;
    }
    let tau = 2.0 * gap / (-u + under.sqrt());
    (tau >= 0.0 && tau <= h).then_some(tau)
}
