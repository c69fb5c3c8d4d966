//! Everything that changes, and everything needed to resume with the same bits.

use super::Layout;
use crate::solve::ode::Controller;

/// Time, coordinates, velocities, and the memory of adaptive step sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// Time t \[s\].
    pub time: f64,
    /// What rounding took from `time` so far \[s\]; keeps a million steps of 1 ms at 1000 s.
    pub time_rest: f64,
    /// Steps taken.
    pub steps: u64,
    /// Coordinates: free ones, then carried points.
    pub q: Vec<f64>,
    /// Velocities: free ones, then carried points.
    pub v: Vec<f64>,
    /// Step size and error that an adaptive integrator remembers.
    pub controller: Controller,
}

/// A packed state does not fit the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the saved state holds {found} numbers, this scene needs {needed}")]
pub struct StateMismatch {
    /// Numbers found.
    pub found: usize,
    /// Numbers needed.
    pub needed: usize,
}

/// Numbers before q in a packed state.
const HEAD: usize = 5;

impl State {
    /// At time 0, all coordinates and velocities zero.
    pub fn new(layout: &Layout) -> Self {
        Self {
            time: 0.0,
            time_rest: 0.0,
            steps: 0,
            q: vec![0.0; layout.len_q()],
            v: vec![0.0; layout.len_v()],
            controller: Controller::default(),
        }
    }

    /// Moves time on by `h` seconds (compensated sum) and counts the step.
    pub(crate) fn advance_time(&mut self, h: f64) {
        let add = h - self.time_rest;
        let sum = self.time + add;
        self.time_rest = (sum - self.time) - add;
        self.time = sum;
        self.steps += 1;
    }

    /// The time that [`advance_time`](Self::advance_time) will give.
    pub(crate) fn time_after(&self, h: f64) -> f64 {
        self.time + (h - self.time_rest)
    }

    /// Length of a packed state.
    pub fn packed_len(layout: &Layout) -> usize {
        HEAD + layout.nq + layout.nv
    }

    /// Writes all that must be saved to go on with the same bits: time, its rest, step count, controller, free q, free v.
    pub fn pack(&self, layout: &Layout, out: &mut Vec<f64>) {
        out.clear();
        out.extend_from_slice(&[
            self.time,
            self.time_rest,
            self.steps as f64,
            self.controller.h,
            self.controller.previous_error,
        ]);
        out.extend_from_slice(&self.q[..layout.nq]);
        out.extend_from_slice(&self.v[..layout.nv]);
    }

    /// Reads what [`pack`](Self::pack) wrote. Carried points are not in it:
    /// [`Model::settle`](super::Model::settle) brings them up to date.
    pub fn unpack(layout: &Layout, packed: &[f64]) -> Result<Self, StateMismatch> {
        let needed = Self::packed_len(layout);
        if packed.len() != needed {
            return Err(StateMismatch { found: packed.len(), needed });
        }
        let mut state = Self::new(layout);
        state.time = packed[0];
        state.time_rest = packed[1];
        state.steps = packed[2] as u64;
        state.controller = Controller { h: packed[3], previous_error: packed[4] };
        state.q[..layout.nq].copy_from_slice(&packed[HEAD..HEAD + layout.nq]);
        state.v[..layout.nv].copy_from_slice(&packed[HEAD + layout.nq..]);
        Ok(state)
    }

    /// Where the coordinates of a packed state begin.
    pub fn packed_q(_layout: &Layout) -> usize {
        HEAD
    }

    /// Where the velocities of a packed state begin.
    pub fn packed_v(layout: &Layout) -> usize {
        HEAD + layout.nq
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_milliseconds_are_a_thousand_seconds() {
        let mut state = State::new(&Layout::default());
        for _ in 0..1_000_000 {
            let ahead = state.time_after(1e-3);
            state.advance_time(1e-3);
            assert_eq!(ahead, state.time);
        }
        assert_eq!(state.time, 1000.0);
    }
}
