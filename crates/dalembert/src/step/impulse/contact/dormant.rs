//! Points near links of robots that do not come into play.
//!
//! Detection reports every point that may meet another within the step, and of a robot that lies on the floor most do not.
//! A point that bore nothing in the step before and stays apart if all goes on as it did, with part of a fall to spare,
//! is left out: no row of J, no answers. When the velocities are found those left out are looked at, and where a gap would
//! close by more than there is of it, $u_n^+ < -g/h$ (a soft one: $-\epsilon g/h$, where its damper begins), the point joins the others and the step is solved again. So the
//! answer is that of all points.

use super::sweep::{Contact, Side};
use super::{ContactWork, Info, NONE};
use crate::contact::{Compliance, Part, TouchModel};
use crate::joints::Softness;
use crate::math::Vec3;
use crate::model::Model;

/// A point is left out if the way that is left of its gap is longer than a fall in a step by this factor.
const SPARE: f64 = 0.2;
/// Times that points may join; the last time all do.
pub(super) const MOST_TIMES: u32 = 6;

impl ContactWork {
    /// Leaves out what stays apart.
    pub(super) fn set_aside(&mut self, touch: &TouchModel, model: &Model, h: f64) {
        self.dormant.clear();
        if self.robots.groups() == 0 {
            return;
        }
        let spare = SPARE * h * h * model.gravity.norm();
        let mut kept = 0;
        for k in 0..self.contacts.len() {
            let (c, info) = (&self.contacts[k], &self.info[k]);
            if self.is_idle(c, info) && self.left(touch, model, c, info, h) > spare {
                self.dormant.push((*c, *info));
            } else {
                if kept < k {
                    (self.contacts[kept], self.info[kept]) = (*c, *info);
                }
                kept += 1;
            }
        }
        self.contacts.truncate(kept);
        self.info.truncate(kept);
    }

    /// Links alone, apart, and without impulses from the step before.
    fn is_idle(&self, c: &Contact, info: &Info) -> bool {
        let turned = c.spin != NONE && self.spins[c.spin as usize].impulse != Vec3::zeros();
        let links = c.sides.iter().all(|s| matches!(s, Side::Link(..) | Side::World));
        links && info.gap > 0.0 && c.impulse == Vec3::zeros() && !turned
    }

    /// What the velocities that the trees have leave of a gap, or of the part of it within which a soft contact yields.
    fn left(&self, touch: &TouchModel, model: &Model, c: &Contact, info: &Info, h: f64) -> f64 {
        let share = match self.meetings[info.meeting as usize].law.compliance {
            Some(Compliance::Gains { kp, kd }) => Softness::from_gains(kp, kd, h).error_reduction,
            Some(Compliance::PerMass { k, b }) => Softness::from_gains(k, b, h).error_reduction,
            None => 1.0,
        };
        share * info.gap + h * self.closing(touch, model, c, info)
    }

    /// n·(v_a − v_b) of a point on links with the velocities that the trees have.
    fn closing(&self, touch: &TouchModel, model: &Model, c: &Contact, info: &Info) -> f64 {
        let velocity = |collider: u32| {
            let body = touch.colliders[collider as usize].body;
            match touch.parts.get(body as usize) {
                Some(&Part::Link { robot, link }) => {
                    let (robot, link) = (robot as usize, link as usize);
                    self.robots.point_velocity(model, robot, link, &info.point)
                }
                _ => Vec3::zeros(),
            }
        };
        c.normal.dot(&(velocity(info.a) - velocity(info.b)))
    }

    /// Takes those in that the velocities found would bring into each other by more than `speed` times h; all if there
    /// is one and it is the `last` time. True if there were any.
    pub(super) fn take_in(
        &mut self,
        touch: &TouchModel,
        model: &Model,
        h: f64,
        speed: f64,
        last: bool,
    ) -> bool {
        if self.dormant.is_empty() {
            return false;
        }
        self.robots.load_velocities(model, &self.field.x);
        let meets = |(c, info): &(Contact, Info)| self.left(touch, model, c, info, h) < -h * speed;
        let found: Vec<bool> = self.dormant.iter().map(meets).collect();
        if !found.contains(&true) {
            return false;
        }
        let mut all: Vec<(Contact, Info)> =
            self.contacts.iter().copied().zip(self.info.iter().copied()).collect();
        let mut at = 0;
        self.dormant.retain(|one| {
            at += 1;
            if found[at - 1] || last {
                all.push(*one);
            }
            !(found[at - 1] || last)
        });
        // In the order of detection.
        all.sort_by_key(|(_, info)| info.place);
        self.contacts.clear();
        self.info.clear();
        self.contacts.extend(all.iter().map(|(c, _)| Contact { softness: 0.0, ..*c }));
        self.info.extend(all.iter().map(|(_, info)| Info { impact: -1.0, ..*info }));
        let loose = 6 * self.slots();
        self.field.x[..loose].copy_from_slice(&self.free[..loose]);
        true
    }
}
