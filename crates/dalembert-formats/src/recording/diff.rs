//! Two recordings compared number by number.

use super::{Frame, Recording, RecordingError};

/// Where two recordings differ, and by how much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// |a − b|, or |a − b| / max(|a|, |b|); infinite where only one of the two is a number.
    pub amount: f64,
    /// The frame, counted from 0.
    pub frame: usize,
    /// Time of the frame in the first recording \[s\].
    pub time: f64,
    /// Index in the state vector.
    pub index: usize,
    /// The number in the first recording.
    pub a: f64,
    /// The number in the second recording.
    pub b: f64,
}

/// What [`diff`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct DiffReport {
    /// Number of frames in each; those that both have are compared.
    pub frame_counts: [usize; 2],
    /// Same number of frames, and every time, step number and state equal bit for bit. Headers and scalars
    /// are not compared.
    pub bit_equal: bool,
    /// First frame of which a number, the time or the step number differs by more than the tolerance allows.
    pub first_different_frame: Option<usize>,
    /// First frame with another time or step number, where numbers are compared that do not belong together.
    pub first_time_mismatch: Option<usize>,
    /// Worst |a − b|, if it is not zero everywhere.
    pub worst_absolute: Option<Difference>,
    /// Worst |a − b| / max(|a|, |b|), if it is not zero everywhere.
    pub worst_relative: Option<Difference>,
}

impl DiffReport {
    /// Whether both have the same number of frames and none differs by more than the tolerance.
    pub fn agrees(&self) -> bool {
        self.frame_counts[0] == self.frame_counts[1] && self.first_different_frame.is_none()
    }
}

/// Compares the states of two recordings frame by frame.
///
/// Two numbers agree if |a − b| ≤ `tol` · max(1, |a|, |b|): absolute for small numbers, relative for large
/// ones. With `tol = 0` they must be equal. A NaN agrees with a NaN and with nothing else.
pub fn diff(a: &Recording, b: &Recording, tol: f64) -> Result<DiffReport, RecordingError> {
    let lengths = [a.header().state_len, b.header().state_len];
    if lengths[0] != lengths[1] {
        return Err(RecordingError::Incomparable { a: a.path().to_owned(), b: b.path().to_owned(), lengths });
    }
    let frame_counts = [a.frame_count(), b.frame_count()];
    let mut report = DiffReport {
        frame_counts,
        bit_equal: frame_counts[0] == frame_counts[1],
        first_different_frame: None,
        first_time_mismatch: None,
        worst_absolute: None,
        worst_relative: None,
    };
    for (i, (a, b)) in a.frames().zip(b.frames()).enumerate() {
        report.add(i, &a?, &b?, tol);
    }
    Ok(report)
}

impl DiffReport {
    fn add(&mut self, frame: usize, a: &Frame, b: &Frame, tol: f64) {
        if a.time.to_bits() != b.time.to_bits() || a.step != b.step {
            self.bit_equal = false;
        }
        if a.step != b.step || !agree(a.time, b.time, tol) {
            self.first_time_mismatch.get_or_insert(frame);
            self.first_different_frame.get_or_insert(frame);
        }
        self.bit_equal &= a.state.len() == b.state.len();
        for (index, (&x, &y)) in a.state.iter().zip(&b.state).enumerate() {
            if x.to_bits() == y.to_bits() {
                continue;
            }
            self.bit_equal = false;
            if !agree(x, y, tol) {
                self.first_different_frame.get_or_insert(frame);
            }
            let place = |amount| Difference { amount, frame, time: a.time, index, a: x, b: y };
            let absolute = distance(x, y);
            let size = x.abs().max(y.abs());
            let relative = if absolute.is_finite() && size > 0.0 { absolute / size } else { absolute };
            keep_worse(&mut self.worst_absolute, place(absolute));
            keep_worse(&mut self.worst_relative, place(relative));
        }
    }
}

fn keep_worse(worst: &mut Option<Difference>, new: Difference) {
    if new.amount > worst.map_or(0.0, |old| old.amount) {
        *worst = Some(new);
    }
}

fn agree(x: f64, y: f64, tol: f64) -> bool {
    let distance = distance(x, y);
    // Infinite only where no tolerance helps: a number beside a NaN or an infinity.
    distance == 0.0 || distance.is_finite() && distance <= tol * x.abs().max(y.abs()).max(1.0)
}

fn distance(x: f64, y: f64) -> f64 {
    if x == y || x.is_nan() && y.is_nan() {
        0.0
    } else if x.is_finite() && y.is_finite() {
        (x - y).abs()
    } else {
        f64::INFINITY
    }
}
