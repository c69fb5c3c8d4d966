//! The expectations of a scene: read after every step or at the end, told as passed or failed.

use dalembert::prelude::*;
use serde_json::{Value, json};

use crate::exit::Failure;
use crate::output::{self, number};

/// A number that can be read off a simulation.
#[derive(Debug)]
pub(crate) enum Reading {
    /// Change of the total energy since the start, as a fraction.
    Drift,
    /// Anything else.
    Quantity(Quantity),
}

impl Reading {
    pub(crate) fn parse(model: &Model, text: &str) -> Result<Self, dalembert::model::UnknownQuantity> {
        if text == "energy.drift" {
            return Ok(Self::Drift);
        }
        Quantity::parse(model, text).map(Self::Quantity)
    }

    pub(crate) fn value(&self, sim: &Simulation) -> f64 {
        match self {
            Self::Drift => sim.energy_drift(),
            Self::Quantity(quantity) => quantity.value(&sim.model, &sim.state),
        }
    }

    pub(crate) fn unit(&self) -> &'static str {
        match self {
            Self::Drift => "1",
            Self::Quantity(quantity) => quantity.unit(),
        }
    }
}

/// One expectation and what became of it.
#[derive(Debug)]
struct Check {
    expected: Expectation,
    reading: Reading,
    verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    /// Not looked at: the run ended at another time than the scene's own.
    Skipped,
    /// After every step so far the value lay between these.
    Held { least: f64, most: f64 },
    /// It was this at this time.
    Passed { value: f64 },
    /// It was this at this time.
    Failed { value: f64, time: f64 },
}

/// All expectations of a scene.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    list: Vec<Check>,
}

impl Checks {
    pub(crate) fn new(expect: Vec<Expectation>, model: &Model) -> Result<Self, Failure> {
        let check = |expected: Expectation| {
            // `build` has refused unknown quantities.
            let reading =
                Reading::parse(model, &expected.quantity).map_err(|e| Failure::Usage(e.to_string()))?;
            Ok::<_, Failure>(Check { expected, reading, verdict: Verdict::Skipped })
        };
        Ok(Self { list: expect.into_iter().map(check).collect::<Result<_, _>>()? })
    }

    /// To be called after every step.
    pub(crate) fn after_step(&mut self, sim: &Simulation) {
        for check in self.list.iter_mut().filter(|c| c.expected.always) {
            if matches!(check.verdict, Verdict::Failed { .. }) {
                continue;
            }
            let value = check.reading.value(sim);
            check.verdict = match check.verdict {
                _ if !check.expected.holds(value) => Verdict::Failed { value, time: sim.state.time },
                Verdict::Held { least, most } => {
                    Verdict::Held { least: least.min(value), most: most.max(value) }
                }
                _ => Verdict::Held { least: value, most: value },
            };
        }
    }

    /// To be called at the time that the scene's expectations are about.
    pub(crate) fn at_end(&mut self, sim: &Simulation) {
        for check in self.list.iter_mut().filter(|c| !c.expected.always) {
            let value = check.reading.value(sim);
            check.verdict = match check.expected.holds(value) {
                true => Verdict::Passed { value },
                false => Verdict::Failed { value, time: sim.state.time },
            };
        }
    }

    pub(crate) fn failed(&self) -> usize {
        self.list.iter().filter(|c| matches!(c.verdict, Verdict::Failed { .. })).count()
    }

    /// One line each; the scene's own end is at `end` [s].
    pub(crate) fn lines(&self, style: output::Style, end: f64, only_failed: bool) -> Vec<String> {
        let wanted = |c: &&Check| !only_failed || matches!(c.verdict, Verdict::Failed { .. });
        let width = self.list.iter().map(|c| c.expected.quantity.chars().count()).max().unwrap_or(0);
        let line = |c: &Check| {
            let name = format!("{:width$}", c.expected.quantity);
            let bound = bound(&c.expected);
            match c.verdict {
                Verdict::Skipped if c.expected.always => {
                    format!("{}  {name}  not checked: no step was taken", style.yellow("skip"))
                }
                Verdict::Skipped => {
                    let (word, end) = (style.yellow("skip"), number(end));
                    format!("{word}  {name}  not checked: it is about {end} s, where this run did not end")
                }
                Verdict::Passed { value } => {
                    format!("{}  {name} = {}  (expected {bound})", style.green("pass"), number(value))
                }
                Verdict::Held { least, most } => {
                    let range = format!("{} … {}", number(least), number(most));
                    format!("{}  {name} = {range}  (expected {bound} after every step)", style.green("pass"))
                }
                Verdict::Failed { value, time } => {
                    let always = if c.expected.always { " after every step" } else { "" };
                    let (value, time) = (number(value), number(time));
                    format!("{}  {name} = {value} at {time} s  (expected {bound}{always})", style.red("FAIL"))
                }
            }
        };
        self.list.iter().filter(wanted).map(line).collect()
    }

    pub(crate) fn json(&self) -> Value {
        let one = |c: &Check| {
            let mut object = json!({ "quantity": c.expected.quantity, "always": c.expected.always });
            let mut put = |key: &str, value: Value| object[key] = value;
            for (key, x) in [("below", c.expected.below), ("above", c.expected.above)] {
                if let Some(x) = x {
                    put(key, x.into());
                }
            }
            if let Some(x) = c.expected.value {
                put("expected", x.into());
                put("tolerance", c.expected.tolerance.into());
            }
            match c.verdict {
                Verdict::Skipped => put("verdict", "skipped".into()),
                Verdict::Passed { value } => {
                    put("verdict", "passed".into());
                    put("value", value.into());
                }
                Verdict::Held { least, most } => {
                    put("verdict", "passed".into());
                    put("least", least.into());
                    put("most", most.into());
                }
                Verdict::Failed { value, time } => {
                    put("verdict", "failed".into());
                    put("value", value.into());
                    put("time", time.into());
                }
            }
            object
        };
        self.list.iter().map(one).collect()
    }
}

/// `0.5 ± 0.01`, `≤ 3`, `1 … 3`.
fn bound(e: &Expectation) -> String {
    let mut parts = Vec::new();
    if let Some(value) = e.value {
        parts.push(format!("{} ± {}", number(value), number(e.tolerance)));
    }
    match (e.above, e.below) {
        (Some(a), Some(b)) => parts.push(format!("{} … {}", number(a), number(b))),
        (Some(a), None) => parts.push(format!("≥ {}", number(a))),
        (None, Some(b)) => parts.push(format!("≤ {}", number(b))),
        (None, None) => {}
    }
    parts.join(", ")
}
