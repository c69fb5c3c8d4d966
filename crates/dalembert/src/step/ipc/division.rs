//! Division of a step: where what has prescribed motion finds no room, shorter steps ask it and what it pushes for less.

use super::Ipc;
use crate::model::Model;
use crate::state::State;
use crate::step::{StepError, StepReport, Workspace};

/// How finely a step is divided.
struct Tuning {
    /// Most parts, a power of two: of a step of 10 ms parts of 10 µs.
    parts: u32,
    /// Parts of this size are kept where they have not converged; longer ones, which may have thrown what they squeezed, are
    /// divided.
    fine: u32,
}

const TUNING: Tuning = Tuning { parts: 1024, fine: 16 };

impl Ipc {
    /// Shorter steps that lead to the same time; `no_room` if those find none either.
    pub(super) fn divided_step(
        &self,
        model: &Model,
        state: &mut State,
        h: f64,
        work: &mut Workspace,
        no_room: StepError,
    ) -> Result<StepReport, StepError> {
        let parts = TUNING.parts;
        let before = state.clone();
        let mut report = StepReport { rejected: 1, smallest_gap: f64::INFINITY, ..StepReport::default() };
        let (mut done, mut size) = (0, parts / 2);
        while done < parts {
            let start = (size > TUNING.fine).then(|| state.clone());
            match self.whole_step(model, state, f64::from(size) / f64::from(parts) * h, work) {
                Ok(StepReport { unfinished: true, .. }) if let Some(start) = start => {
                    *state = start;
                    report.rejected += 1;
                    size /= 2;
                }
                Ok(part) => {
                    report.take_part(&part);
                    done += size;
                    // Longer again where a longer one would begin.
                    if done % (2 * size) == 0 && done < parts {
                        size *= 2;
                    }
                }
                Err(error) if error.has_no_room() && size > 1 => {
                    report.rejected += 1;
                    size /= 2;
                }
                Err(_) => {
                    *state = before;
                    return Err(no_room);
                }
            }
        }
        // The same time as after a whole step, to the last bit.
        (state.time, state.time_rest, state.steps) = (before.time, before.time_rest, before.steps);
        state.advance_time(h);
        report.time = state.time;
        Ok(report)
    }
}
