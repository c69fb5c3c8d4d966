//! Limits and dry friction: rows with bounds on λ.

use super::loops::Measure;
use super::tendons::TendonPath;
use super::{Robot, RobotWork};
use crate::math::Vec3;
use crate::math::rotation::{log, quaternion, renormalise};

/// What has limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Limited {
    Measure(Measure),
    /// The angle of a ball.
    Ball {
        q: usize,
        v: usize,
    },
}

/// Lowest and highest value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Limit {
    pub(super) what: Limited,
    pub(super) range: [f64; 2],
}

impl Robot {
    /// Rows of limits that may be reached within h, given the velocity v without them. After kinematics.
    pub(super) fn add_limit_rows(&self, q: &[f64], v: &[f64], h: f64, work: &mut RobotWork) {
        let RobotWork { tree: w, rows, dense, .. } = work;
        // Not reached yet: may close the distance within the step. Beyond: come back by a fifth.
        let target = |gap: f64| if gap > 0.0 { -gap / h } else { -0.2 * gap / h };
        let near = |gap: f64, rate: f64| gap < 2.0 * h * rate.abs() + 1e-4;
        for limit in &self.limits {
            let [low, high] = limit.range;
            match limit.what {
                Limited::Measure(Measure::Joint { q: at, v: d }) => {
                    for (gap, sign) in [(q[at] - low, 1.0), (high - q[at], -1.0)] {
                        if near(gap, v[d]) {
                            rows.push_one(d, sign, [0.0, f64::INFINITY], target(gap));
                        }
                    }
                }
                Limited::Measure(Measure::Tendon(k))
                    if matches!(&self.tendons[k].path, TendonPath::Joints(_)) =>
                {
                    let TendonPath::Joints(terms) = &self.tendons[k].path else { continue };
                    let value: f64 = terms.iter().map(|(at, _, c)| c * q[*at]).sum();
                    let rate: f64 = terms.iter().map(|(_, d, c)| c * v[*d]).sum();
                    let sides = [(value - low, 1.0), (high - value, -1.0)];
                    if let Some((gap, sign)) = sides.into_iter().find(|(gap, _)| near(*gap, rate)) {
                        let entries = terms.iter().map(|(_, d, c)| (*d, sign * c));
                        rows.push_entries(entries, [0.0, f64::INFINITY], target(gap));
                    }
                }
                Limited::Measure(what) => {
                    let value = self.measure(what, q, w, dense);
                    let rate = crate::math::dot(dense, v);
                    let mut used = false;
                    for (gap, sign) in [(value - low, 1.0), (high - value, -1.0)] {
                        if near(gap, rate) && !used {
                            used = true;
                            dense.iter_mut().for_each(|x| *x *= sign);
                            rows.push_dense(dense, [0.0, f64::INFINITY], target(gap));
                            rows.end_group();
                        }
                    }
                    dense.fill(0.0);
                }
                Limited::Ball { q: at, v: d } => {
                    let turn = log(&renormalise(&quaternion(q, at)));
                    let (angle, gap) = (turn.norm(), high - turn.norm());
                    let spin = Vec3::new(v[d], v[d + 1], v[d + 2]);
                    if angle > 1e-9 && near(gap, spin.norm()) {
                        (0..3).for_each(|k| dense[d + k] = -turn[k] / angle);
                        rows.push_dense(dense, [0.0, f64::INFINITY], target(gap));
                        rows.end_group();
                    }
                }
            }
        }
    }

    /// Rows of dry friction of joints and tendons. After kinematics.
    pub(super) fn add_friction_rows(&self, q: &[f64], work: &mut RobotWork) {
        let RobotWork { tree: w, rows, dense, .. } = work;
        for &(d, f) in &self.dry {
            rows.push_one(d, 1.0, [-f, f], 0.0);
        }
        for tendon in self.tendons.iter().filter(|tendon| tendon.friction > 0.0) {
            self.measure_tendon(tendon, q, w, dense);
            rows.push_dense(dense, [-tendon.friction, tendon.friction], 0.0);
            rows.end_group();
        }
    }
}
