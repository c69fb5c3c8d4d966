//! Islands of joints and robots under contact.
//!
//! Each is solved by its own solver under the contact impulses p: $v^+(p)$ is piecewise linear, and where limits, motors
//! and dry friction stand as they do its slope is $Y = M_A^{-1}J^T$, the answer of the masses with all rows that hold.
//! Sweeps over the contacts use that slope, so joints hold in every iterate; then the cluster is solved anew, and if some
//! row changed its stand there is another round. Dry friction and limits of robots are solved with the contacts instead
//! (see `rows`).

use super::ContactWork;
use super::sweep::{Columns, Side};
use crate::contact::TouchModel;
use crate::math::{Vec3, add_triple, set_triple};
use crate::model::Model;
use crate::state::State;
use crate::step::impulse::{Impulse, ImpulseWork, RowSolver, Start};
use crate::step::system::Keep;
use crate::step::{StepError, StepReport};

/// Rounds in which rows of clusters may change their stands.
pub(super) const MOST_ROUNDS: u32 = 5;

impl ContactWork {
    /// v⁺ and answers of all clusters that contacts touch, under the impulses as they are. True if some row stands
    /// otherwise than in the round before.
    pub(super) fn answer_clusters(
        &mut self,
        settings: &Impulse,
        touch: &TouchModel,
        model: &Model,
        state: &State,
        f: &mut [f64],
        h: f64,
        round: u32,
        own: &mut ImpulseWork,
        report: &mut StepReport,
    ) -> Result<bool, StepError> {
        if round == 0 {
            self.field.numbers.clear();
            self.reserve_columns();
            self.reserve_rows(touch, model);
        }
        let islands = self.joint_islands();
        if self.clusters[..islands].iter().any(|c| c.touched) {
            self.load_forces(model, f, h);
        }
        let mut again = false;
        for i in 0..islands {
            if !self.clusters[i].touched {
                continue;
            }
            let mut one = StepReport::default();
            own.enter_island(i, settings, true);
            own.solve_island(settings, model, state, f, h, true, &mut one);
            let first = self.clusters[i].first as usize;
            let n = own.system.x.len();
            self.field.x[first..first + n].copy_from_slice(&own.system.x);
            let changed = own.note_stands(&mut self.stands[i]);
            again |= changed;
            if round == 0 || changed {
                self.fill_columns(i, own);
            }
            own.islands[i] = own.system.leave();
            report.weak_rows = report.weak_rows.max(one.weak_rows);
            report.unfinished |= one.unfinished;
        }
        again |= self.answer_robots(touch, model, h, round);
        Ok(again)
    }

    /// Where the answers of each contact will lie.
    fn reserve_columns(&mut self) {
        self.stands.resize(self.clusters.len(), Vec::new());
        for k in 0..self.contacts.len() {
            for s in 0..2 {
                let Side::Jointed(at, _) = self.contacts[k].sides[s] else { continue };
                let cluster = self.clusters[self.cluster_of[at as usize / 6] as usize];
                let wide = if self.contacts[k].spin == super::NONE { 3 } else { 6 };
                let columns = Columns {
                    first: cluster.first,
                    len: cluster.len,
                    at: self.field.numbers.take_zeros(wide * cluster.len as usize) as u32,
                    stride: 3,
                    turn: 3 * cluster.len,
                    ..Columns::default()
                };
                self.contacts[k].sides[s] = Side::Jointed(at, columns);
            }
        }
    }

    /// Forces with those of the contacts, for bodies among joints.
    fn load_forces(&self, model: &Model, f: &mut [f64], h: f64) {
        f.copy_from_slice(&self.f_free);
        let points = model.layout.points_v();
        for c in &self.contacts {
            let spin =
                if c.spin == super::NONE { Vec3::zeros() } else { self.spins[c.spin as usize].impulse };
            for (s, side) in c.sides.iter().enumerate() {
                let at = match *side {
                    Side::Jointed(at, _) => self.place[at as usize / 6],
                    // Bodies by themselves have their velocities; particles take theirs from forces.
                    Side::Loose(at) if self.place[at as usize / 6] >= points => self.place[at as usize / 6],
                    _ => continue,
                };
                let sign = if s == 0 { 1.0 / h } else { -1.0 / h };
                add_triple(&mut f[at..], 0, &(sign * c.impulse));
                if at < points {
                    add_triple(&mut f[at..], 1, &(sign * (c.arms[s].cross(&c.impulse) + spin)));
                }
            }
        }
    }

    /// M⁻¹Jᵀ of every contact of island `i`, with the factors at hand.
    fn fill_columns(&mut self, i: usize, own: &mut ImpulseWork) {
        let cluster = self.clusters[i];
        for k in cluster.from as usize..cluster.to as usize {
            for s in 0..2 {
                let c = self.contacts[k];
                let Side::Jointed(at, columns) = c.sides[s] else { continue };
                if columns.first != cluster.first || columns.len != cluster.len {
                    continue;
                }
                let node = (at - cluster.first) as usize / 6;
                let wide = if c.spin == super::NONE { 1 } else { 2 };
                for column in 0..3 * wide {
                    let e = Vec3::ith(column % 3, 1.0);
                    own.system.x.fill(0.0);
                    own.system.y.fill(0.0);
                    if column < 3 {
                        let linear = own.system.allowed(node, &e);
                        set_triple(&mut own.system.x, 2 * node, &linear);
                        set_triple(&mut own.system.x, 2 * node + 1, &c.arms[s].cross(&e));
                    } else {
                        set_triple(&mut own.system.x, 2 * node + 1, &e);
                    }
                    own.system.solve();
                    let at = columns.at as usize + 3 * (column / 3) * cluster.len as usize + column % 3;
                    for (d, x) in own.system.x.iter().enumerate() {
                        self.field.numbers.list[at + 3 * d] = *x;
                    }
                }
            }
        }
    }

    /// Everything moves: islands of joints, robots, bodies by themselves, and what touches nothing.
    pub(super) fn conclude(
        &mut self,
        settings: &Impulse,
        touch: &TouchModel,
        model: &Model,
        state: &mut State,
        f: &mut [f64],
        h: f64,
        own: &mut ImpulseWork,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        let islands = self.joint_islands();
        self.load_forces(model, f, h);
        for i in (0..islands).filter(|i| !self.trees.has(*i)) {
            let cluster = self.clusters[i];
            let mut one = StepReport::default();
            own.enter_island(i, settings, cluster.touched);
            own.solve_island(settings, model, state, f, h, cluster.touched, &mut one);
            own.store_forces(state, h);
            own.drift(model, state, h);
            if cluster.touched {
                for (n, node) in own.system.island.nodes.iter().enumerate() {
                    let at = cluster.first as usize + 6 * n;
                    let delta: [f64; 6] = std::array::from_fn(|k| h * self.push[at + k]);
                    if delta != [0.0; 6] {
                        model.nudge(node.holder, &delta, &mut state.q);
                    }
                }
            }
            if settings.projection {
                own.project(model, state, h, &mut one);
            }
            own.islands[i] = own.system.leave();
            report.weak_rows += one.weak_rows;
            report.add_worst(&one);
        }
        self.conclude_robots(model, state, h, report)?;
        self.drift_loose(model, state, h);
        if !self.trees.is_empty() {
            self.trees.store_forces(own, state, h);
            self.trees.close(model, state, own, h, touch.length, report);
        }
        self.step_others(model, state, f, h, own);
        Ok(())
    }
}

impl ImpulseWork {
    /// Turns to an island; `direct` if its rows must be factored whatever the settings say.
    fn enter_island(&mut self, i: usize, settings: &Impulse, direct: bool) {
        let island = std::mem::take(&mut self.islands[i]);
        let once = (direct || settings.solver == RowSolver::Direct) && !island.has_axes;
        self.system.enter(island, if once { Keep::Unread } else { Keep::All });
    }

    /// v⁺ and λ of the island at hand.
    pub(in crate::step::impulse) fn solve_island(
        &mut self,
        settings: &Impulse,
        model: &Model,
        state: &State,
        f: &[f64],
        h: f64,
        direct: bool,
        report: &mut StepReport,
    ) {
        self.bounded.clear();
        self.kept.clear();
        self.pull = 0.0;
        if self.system.keep == Keep::All {
            self.target.resize(self.system.violation.len(), [0.0; 6]);
            self.momentum.resize(self.system.x.len(), 0.0);
        }
        let start = Start { model, state, f, h, projection: settings.projection };
        match settings.solver {
            RowSolver::Pgs { sweeps } if !direct => {
                self.load(&start, 0..self.system.bodies.len(), 0..self.system.violation.len());
                self.free_bounded(h);
                self.solve_sweeps(h, sweeps, report);
            }
            _ => self.solve_stiffened(&start, report),
        }
    }

    /// Writes down how the bounded rows stand; true if that is news.
    fn note_stands(&self, last: &mut Vec<super::super::Stand>) -> bool {
        let same =
            last.len() == self.bounded.len() && last.iter().zip(&self.bounded).all(|(a, b)| *a == b.stand);
        last.clear();
        last.extend(self.bounded.iter().map(|b| b.stand));
        !same
    }
}
