//! Islands of joints under contact.
//!
//! Each is solved by its own solver under the contact impulses p: $v^+(p)$ is piecewise linear, and while the active set of its
//! limits, motors and dry friction stays its Jacobian is $Y = M_A^{-1}J^T$, the response of the masses with all rows that
//! hold. The contact solvers use Y, so joints hold in every iterate; then the island is solved again, and if its active set
//! has changed there is another round. Dry friction and limits of robots are solved with the contacts instead (see
//! `contact::response::bounded_row`).

use super::{ContactWork, StepInput};
use crate::contact::response::{Columns, NONE, Responder};
use crate::math::{Vec3, add_triple, set_triple};
use crate::model::Model;
use crate::solve::box_lcp::Active;
use crate::state::State;
use crate::step::StepReport;
use crate::step::impulse::{Impulse, ImpulseWork, RowSolver};
use crate::step::system::Keep;

impl ContactWork {
    /// v⁺ and responses of all islands of joints and robots that contacts touch, under the impulses as they are. True if an active
    /// set has changed since the round before.
    pub(super) fn respond(
        &mut self,
        given: &StepInput,
        state: &State,
        f: &mut [f64],
        round: u32,
        own: &mut ImpulseWork,
        report: &mut StepReport,
    ) -> bool {
        if round == 0 {
            self.problem.responses.numbers.clear();
            self.reserve_columns();
            self.problem.reserve_robot_columns();
        }
        let islands = self.problem.joint_islands();
        if self.problem.coupled[..islands].iter().any(|c| c.touched) {
            self.load_forces(given.model, f, given.h);
        }
        let mut again = false;
        for i in 0..islands {
            if !self.problem.coupled[i].touched {
                continue;
            }
            let mut one = StepReport::default();
            own.enter_island(i, given.settings, true);
            own.solve_island(given.settings, &given.start(state, f), true, &mut one);
            let first = self.problem.coupled[i].first as usize;
            let n = own.system.x.len();
            self.problem.x[first..first + n].copy_from_slice(&own.system.x);
            let changed = own.take_active_set(&mut self.active_sets[i]);
            again |= changed;
            if round == 0 || changed {
                self.fill_columns(i, own);
            }
            own.islands[i] = own.system.leave();
            report.weak_rows = report.weak_rows.max(one.weak_rows);
            report.unfinished |= one.unfinished;
        }
        again |= self.problem.respond_robots(round);
        again
    }

    /// Where the columns of each contact will lie.
    fn reserve_columns(&mut self) {
        let p = &mut self.problem;
        self.active_sets.resize(p.coupled.len(), Vec::new());
        for c in &mut p.contacts {
            let wide = if c.spin == NONE { 3 } else { 6 };
            for side in &mut c.sides {
                let Responder::Jointed(at, columns) = side else { continue };
                let coupled = p.coupled[p.coupled_of[*at as usize / 6] as usize];
                *columns = Columns {
                    first: coupled.first,
                    len: coupled.len,
                    at: p.responses.numbers.take_zeros(wide * coupled.len as usize) as u32,
                    stride: 3,
                    spin: 3 * coupled.len,
                    ..Columns::default()
                };
            }
        }
    }

    /// Forces with those of the contacts, for bodies among joints.
    pub(super) fn load_forces(&self, model: &Model, f: &mut [f64], h: f64) {
        f.copy_from_slice(&self.f_free);
        let points = model.layout.points_v();
        for c in &self.problem.contacts {
            let [impulse, angular] = self.problem.impulses_of(c);
            for (s, side) in c.sides.iter().enumerate() {
                let at = match *side {
                    Responder::Jointed(at, _) => self.place[at as usize / 6],
                    // Bodies by themselves have their velocities; particles take theirs from forces.
                    Responder::Body(at) if self.place[at as usize / 6] >= points => {
                        self.place[at as usize / 6]
                    }
                    _ => continue,
                };
                let sign = if s == 0 { 1.0 / h } else { -1.0 / h };
                add_triple(&mut f[at..], 0, &(sign * impulse));
                if at < points {
                    add_triple(&mut f[at..], 1, &(sign * (c.arms[s].cross(&impulse) + angular)));
                }
            }
        }
    }

    /// M⁻¹Jᵀ of every contact of island `i`, with the factors at hand.
    fn fill_columns(&mut self, i: usize, own: &mut ImpulseWork) {
        let p = &mut self.problem;
        let coupled = p.coupled[i];
        for c in &p.contacts[coupled.contacts()] {
            for (side, arm) in c.sides.iter().zip(&c.arms) {
                let Responder::Jointed(at, columns) = *side else { continue };
                if columns.first != coupled.first || columns.len != coupled.len {
                    continue;
                }
                let node = (at - coupled.first) as usize / 6;
                for column in 0..if c.spin == NONE { 3 } else { 6 } {
                    let e = Vec3::ith(column % 3, 1.0);
                    own.system.x.fill(0.0);
                    own.system.y.fill(0.0);
                    if column < 3 {
                        let linear = own.system.allowed(node, &e);
                        set_triple(&mut own.system.x, 2 * node, &linear);
                        set_triple(&mut own.system.x, 2 * node + 1, &arm.cross(&e));
                    } else {
                        set_triple(&mut own.system.x, 2 * node + 1, &e);
                    }
                    own.system.solve();
                    let at = columns.at as usize + 3 * (column / 3) * coupled.len as usize + column % 3;
                    for (d, x) in own.system.x.iter().enumerate() {
                        p.responses.numbers.list[at + 3 * d] = *x;
                    }
                }
            }
        }
    }
}

impl ImpulseWork {
    /// Turns to an island; `direct` if its rows must be factored whatever the settings say.
    pub(super) fn enter_island(&mut self, i: usize, settings: &Impulse, direct: bool) {
        let island = std::mem::take(&mut self.islands[i]);
        let once = (direct || settings.solver == RowSolver::Direct) && !island.has_axes;
        self.system.enter(island, if once { Keep::Unread } else { Keep::All });
    }

    /// Takes note of the active set of the island at hand; true if it has changed.
    fn take_active_set(&self, last: &mut Vec<Active>) -> bool {
        let same = self.active == *last;
        last.clone_from(&self.active);
        !same
    }
}
