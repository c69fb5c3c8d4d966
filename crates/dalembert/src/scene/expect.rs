//! What must be true of a quantity when a scene has run.

use super::diagnostics::Diagnostics;
use crate::describe::short::*;
use crate::describe::{Findings, Kind, Rule, View, table};
use crate::model::{Model, Quantity};

table! {
    /// What must be true of a quantity when the scene has run.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Expectation: "expect" {
        /// A number such as `ball.z`, `rope[-1].speed`, `cloth.lowest`, `energy.total`, `energy.NAME`,
        /// `energy.drift`, `momentum.x`, `door.wz`, `hinge.angle`, `hinge.force`, `joints.gap`, `box.contact.z`,
        /// `contacts.gap` or `time`.
        quantity: String = REQUIRED, Kind::Text, "";
        /// The value, up to `tolerance`.
        value: Option<f64> = OPTIONAL, NUMBER, "SI";
        /// Difference allowed.
        tolerance: f64 = number(0.0), NOT_NEGATIVE, "SI";
        /// Upper bound.
        below: Option<f64> = OPTIONAL, NUMBER, "SI";
        /// Lower bound.
        above: Option<f64> = OPTIONAL, NUMBER, "SI";
        /// After every step, not only at the end.
        always: bool = FALSE, BOOL, "";
    }
    rules [Rule::AtLeastOne(&["value", "below", "above"])]
    check together
}

fn together(t: &View<'_>, out: &mut Findings) {
    if let (Some(below), Some(above)) = (t.maybe_number("below"), t.maybe_number("above"))
        && below < above
    {
        out.error(t.span("above"), format!("nothing is both below {below} and above {above}"));
    }
    if t.has("tolerance") && !t.has("value") {
        out.warn(t.key_span("tolerance"), "`tolerance` has no effect without `value`");
    }
}

impl Expectation {
    /// True if `x` is as expected.
    pub fn holds(&self, x: f64) -> bool {
        x.is_finite()
            && self.value.is_none_or(|v| (x - v).abs() <= self.tolerance)
            && self.below.is_none_or(|b| x <= b)
            && self.above.is_none_or(|a| x >= a)
    }
}

/// Checks all expectations of a scene.
pub(super) fn check(expect: &[Expectation], model: &Model, notes: &mut Diagnostics) {
    for (k, e) in expect.iter().enumerate() {
        notes.at("expect", k, "");
        if e.quantity != "energy.drift"
            && let Err(unknown) = Quantity::parse(model, &e.quantity)
        {
            notes.misspelt("quantity", unknown.to_string(), Some((unknown.misspelt, unknown.candidates)));
        }
        notes.not_negative("tolerance", e.tolerance);
        if e.value.is_none() && e.below.is_none() && e.above.is_none() {
            notes.error("", "needs `value`, `below` or `above`");
        }
        for (key, x) in [("value", e.value), ("below", e.below), ("above", e.above)] {
            if let Some(x) = x {
                notes.finite(key, x);
            }
        }
    }
}
