//! Named numbers that can be read off a state: for expectations, tracks, plots and tables.
//!
//! | text | meaning |
//! |---|---|
//! | `time` | time \[s\] |
//! | `energy.kinetic`, `energy.potential`, `energy.total` | energies \[J\] |
//! | `energy.FORCE` | energy stored in one named batch of forces \[J\] |
//! | `momentum.x`, `.y`, `.z`, `momentum.norm` | linear momentum \[kg·m/s\] |
//! | `angular_momentum.x`, …, `.norm` | about the origin \[kg·m²/s\] |
//! | `NAME.x`, `.y`, `.z` | position of the mean point of a set \[m\] |
//! | `NAME.vx`, `.vy`, `.vz`, `NAME.speed` | its velocity \[m/s\] |
//! | `NAME[3].x`, `NAME[-1].vx`, … | the same of one point; −1 is the last |
//! | `NAME.lowest`, `NAME.highest` | least and greatest z over the set \[m\] |

use super::{Model, State};
use crate::math::{Vec3, triple};

/// A number that can be read off any state of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    /// The text it was parsed from.
    pub text: String,
    what: What,
}

#[derive(Debug, Clone, PartialEq)]
enum What {
    Time,
    Kinetic,
    Potential,
    Total,
    Term(usize),
    Momentum(Part),
    AngularMomentum(Part),
    Position(std::ops::Range<usize>, Part),
    Velocity(std::ops::Range<usize>, Part),
    Lowest(std::ops::Range<usize>),
    Highest(std::ops::Range<usize>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    Component(usize),
    Norm,
}

impl Part {
    fn of(self, a: &Vec3) -> f64 {
        match self {
            Part::Component(k) => a[k],
            Part::Norm => a.norm(),
        }
    }
}

/// The text names no quantity of the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no quantity `{text}`: {reason}")]
pub struct UnknownQuantity {
    /// The text.
    pub text: String,
    /// Why not.
    pub reason: String,
    /// The part of the text that was not understood.
    pub misspelt: String,
    /// What could stand in its place.
    pub candidates: Vec<String>,
}

impl Quantity {
    /// Reads a text such as `ball.z` or `energy.total`.
    pub fn parse(model: &Model, text: &str) -> Result<Self, UnknownQuantity> {
        let fail = |misspelt: &str, reason: &str, candidates: Vec<String>| UnknownQuantity {
            text: text.into(),
            reason: reason.into(),
            misspelt: misspelt.into(),
            candidates,
        };
        let words = |list: &[&str]| list.iter().map(|s| s.to_string()).collect::<Vec<_>>();
        if text == "time" {
            return Ok(Self { text: text.into(), what: What::Time });
        }
        let Some((name, part)) = text.rsplit_once('.') else {
            let reason = "a quantity reads `name.part`, such as `ball.z` or `energy.total`";
            return Err(fail(text, reason, words(&["time"])));
        };
        let axis = |p: &str| match p {
            "x" => Some(Part::Component(0)),
            "y" => Some(Part::Component(1)),
            "z" => Some(Part::Component(2)),
            "norm" => Some(Part::Norm),
            _ => None,
        };
        let axes = || fail(part, "the parts are x, y, z and norm", words(&["x", "y", "z", "norm"]));
        let what = match name {
            "energy" => match part {
                "kinetic" => What::Kinetic,
                "potential" => What::Potential,
                "total" => What::Total,
                _ => match model.forces.iter().position(|f| f.name == part) {
                    Some(k) => What::Term(k),
                    None => {
                        let mut known = words(&["kinetic", "potential", "total"]);
                        known.extend(model.forces.iter().map(|f| f.name.clone()));
                        return Err(fail(part, "no such energy", known));
                    }
                },
            },
            "momentum" => What::Momentum(axis(part).ok_or_else(axes)?),
            "angular_momentum" => What::AngularMomentum(axis(part).ok_or_else(axes)?),
            _ => {
                let base = name.split('[').next().unwrap_or_default();
                let points = model.select(name).map_err(|reason| {
                    fail(base, &reason, model.blocks.iter().map(|b| b.name.clone()).collect())
                })?;
                match part {
                    "x" | "y" | "z" => What::Position(points, axis(part).ok_or_else(axes)?),
                    "vx" => What::Velocity(points, Part::Component(0)),
                    "vy" => What::Velocity(points, Part::Component(1)),
                    "vz" => What::Velocity(points, Part::Component(2)),
                    "speed" => What::Velocity(points, Part::Norm),
                    "lowest" => What::Lowest(points),
                    "highest" => What::Highest(points),
                    _ => {
                        let known = words(&["x", "y", "z", "vx", "vy", "vz", "speed", "lowest", "highest"]);
                        return Err(fail(part, "a set of points has no such part", known));
                    }
                }
            }
        };
        Ok(Self { text: text.into(), what })
    }

    /// The number in a state, in SI units.
    pub fn value(&self, model: &Model, state: &State) -> f64 {
        let x = &state.q[model.layout.points_q()..];
        let v = &state.v[model.layout.points_v()..];
        let mean = |a: &[f64], r: &std::ops::Range<usize>| {
            r.clone().map(|i| triple(a, i)).sum::<Vec3>() / r.len().max(1) as f64
        };
        match &self.what {
            What::Time => state.time,
            What::Kinetic => model.energy(state).kinetic,
            What::Potential => model.energy(state).potential,
            What::Total => model.energy(state).total(),
            What::Term(k) => model.forces[*k].force.energy(&model.points(state.time, &state.q, &state.v)),
            What::Momentum(part) => part.of(&model.momentum(state).0),
            What::AngularMomentum(part) => part.of(&model.momentum(state).1),
            What::Position(r, part) => part.of(&mean(x, r)),
            What::Velocity(r, part) => part.of(&mean(v, r)),
            What::Lowest(r) => r.clone().map(|i| x[3 * i + 2]).fold(f64::INFINITY, f64::min),
            What::Highest(r) => r.clone().map(|i| x[3 * i + 2]).fold(f64::NEG_INFINITY, f64::max),
        }
    }

    /// SI unit, for table heads.
    pub fn unit(&self) -> &'static str {
        match self.what {
            What::Time => "s",
            What::Kinetic | What::Potential | What::Total | What::Term(_) => "J",
            What::Momentum(_) => "kg·m/s",
            What::AngularMomentum(_) => "kg·m²/s",
            What::Position(..) | What::Lowest(_) | What::Highest(_) => "m",
            What::Velocity(..) => "m/s",
        }
    }
}

impl Model {
    /// Points named by `NAME`, `NAME[i]` or `NAME[i:j]` (i included, j not; negative numbers count from the end).
    pub fn select(&self, text: &str) -> Result<std::ops::Range<usize>, String> {
        let (name, index) = split_index(text)?;
        let block =
            self.block(name).ok_or_else(|| format!("the scene has no set of points called `{name}`"))?;
        let first = block.points.start;
        index.within(block.points.len(), name).map(|r| first + r.start..first + r.end)
    }
}

/// The bracket behind a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Index {
    All,
    One(i64),
    Slice(i64, i64),
}

impl Index {
    /// The range it means in a set of `n` points.
    pub(crate) fn within(self, n: usize, name: &str) -> Result<std::ops::Range<usize>, String> {
        let place = |i: i64| if i < 0 { n as i64 + i } else { i };
        let range = match self {
            Index::All => return Ok(0..n),
            Index::One(i) => (place(i), place(i) + 1),
            Index::Slice(i, j) => (place(i), place(j)),
        };
        if range.0 < 0 || range.1 > n as i64 || range.0 >= range.1 {
            let text = match self {
                Index::One(i) => format!("{i}"),
                Index::Slice(i, j) => format!("{i}:{j}"),
                Index::All => String::new(),
            };
            return Err(format!("`{name}[{text}]` is out of range: `{name}` has {n} points"));
        }
        Ok(range.0 as usize..range.1 as usize)
    }
}

/// Splits `name[i]` or `name[i:j]`.
pub(crate) fn split_index(text: &str) -> Result<(&str, Index), String> {
    let Some((name, rest)) = text.split_once('[') else {
        return Ok((text, Index::All));
    };
    let bad = || format!("`{text}` should read `{name}`, `{name}[3]` or `{name}[0:3]`");
    let inside = rest.strip_suffix(']').ok_or_else(bad)?;
    let number = |s: &str| s.trim().parse::<i32>().map(i64::from).map_err(|_| bad());
    match inside.split_once(':') {
        None => Ok((name, Index::One(number(inside)?))),
        Some((a, b)) => {
            // An empty end means "to the last point": one past −1 cannot be written as a negative number.
            let a = if a.trim().is_empty() { 0 } else { number(a)? };
            if b.trim().is_empty() {
                return Err(format!("`{text}` needs an end: `{name}[{a}:N]`"));
            }
            Ok((name, Index::Slice(a, number(b)?)))
        }
    }
}
