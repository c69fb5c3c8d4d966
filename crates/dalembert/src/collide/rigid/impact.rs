//! When do two moving shapes meet?
//!
//! By conservative advancement (Mirtich 1996). At the time t the shapes are a gap g apart along the normal n from b to a. In
//! the time δ the plane between two convex ones loses at most
//!
//! $$ \delta\,\big(-n\cdot(v_a - v_b) + |\omega_a| r_a + |\omega_b| r_b\big) $$
//!
//! of that gap, with r the largest distance of a point of the shape from the centre about which it turns. So g over that rate
//! is a time in which nothing can happen; where the rate is not above zero nothing ever does. A mesh is not convex, and
//! nothing but $|v_a - v_b|$ bounds how fast it comes nearer.

use super::Geometry;
use super::query::distance;
use crate::math::rotation::exp;
use crate::math::{Pose, Vec3};

/// Most steps of one search.
const STEPS: u32 = 100;

/// A shape that moves straight on and turns evenly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moving {
    /// Where it stands at the start.
    pub pose: Pose,
    /// The point about which it turns \[m\].
    pub center: Vec3,
    /// Velocity of that point \[m/s\].
    pub velocity: Vec3,
    /// Angular velocity, world axes \[rad/s\].
    pub angular_velocity: Vec3,
}

impl Moving {
    /// Where it stands after t seconds.
    pub fn after(&self, t: f64) -> Pose {
        let turn = exp(&(self.angular_velocity * t));
        let center = self.center + self.velocity * t;
        Pose::new(center + turn * (self.pose.position - self.center), turn * self.pose.rotation)
    }

    /// Velocity of a point that it carries, now at `x` \[m/s\].
    pub fn velocity_at(&self, x: &Vec3) -> Vec3 {
        self.velocity + self.angular_velocity.cross(&(x - self.center))
    }

    /// How fast turning alone moves any point of the shape, at most \[m/s\].
    fn turning_speed(&self, shape: &Geometry) -> f64 {
        if self.angular_velocity == Vec3::zeros() {
            return 0.0;
        }
        let bounds = shape.bounds(&self.pose, 0.0);
        let far =
            |k: usize| (bounds.high[k] - self.center[k]).abs().max((bounds.low[k] - self.center[k]).abs());
        self.angular_velocity.norm() * Vec3::from_fn(|k, _| far(k)).norm()
    }
}

/// The first time within which two moving shapes come as near as `near` \[m\], not later than they do and before they touch;
/// `None` if they do not within `within` seconds, or if their distance is not known (see [`distance`]).
pub fn time_of_impact(
    a: (&Geometry, &Moving),
    b: (&Geometry, &Moving),
    within: f64,
    near: f64,
) -> Option<f64> {
    let surface = a.0.is_surface() || b.0.is_surface();
    let turning = a.1.turning_speed(a.0) + b.1.turning_speed(b.0);
    let relative = a.1.velocity - b.1.velocity;
    let mut t = 0.0;
    for _ in 0..STEPS {
        let now = distance((a.0, &a.1.after(t)), (b.0, &b.1.after(t)))?;
        if !(now.gap > near) {
            return Some(t);
        }
        let rate = turning + if surface { relative.norm() } else { -now.normal.dot(&relative) };
        if !(rate > 0.0) {
            return None;
        }
        // Half of `near` is left, so that the search ends and never arrives.
        t += (now.gap - 0.5 * near) / rate;
        if !(t <= within) {
            return None;
        }
    }
    Some(t)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Hull, Mesh};
    use super::*;
    use crate::math::Random;

    fn vector(random: &mut Random, size: f64) -> Vec3 {
        Vec3::from_fn(|_, _| random.between(-size, size))
    }

    #[test]
    fn a_ball_meets_a_ball_when_their_distance_is_the_sum_of_their_radii() {
        let ball = Geometry::Sphere { radius: 0.5 };
        let moving = |x: Vec3, v: Vec3| Moving {
            pose: Pose::at(x),
            center: x,
            velocity: v,
            angular_velocity: Vec3::new(1.0, 2.0, 3.0),
        };
        for height in [0.0, 0.6, 0.8_f64] {
            let one = moving(Vec3::new(-10.0, height, 0.0), Vec3::x() * 100.0);
            let two = moving(Vec3::zeros(), Vec3::zeros());
            let exact = (10.0 - (1.0 - height * height).sqrt()) / 100.0;
            let t = time_of_impact((&ball, &one), (&ball, &two), 1.0, 1e-7).unwrap();
            // The path of 1e-7 m along the normal.
            let most = 1e-7 / (100.0 * (1.0 - height * height).sqrt());
            assert!(t <= exact && t >= exact - 1.01 * most, "{height}: {t} {exact}");
        }
        let past = moving(Vec3::new(-10.0, 1.01, 0.0), Vec3::x() * 100.0);
        assert_eq!(
            time_of_impact((&ball, &past), (&ball, &moving(Vec3::zeros(), Vec3::zeros())), 1.0, 1e-7),
            None
        );
    }

    #[test]
    fn shapes_that_move_and_turn_never_meet_before_the_time_told() {
        let mut random = Random::new(11);
        let points: Vec<Vec3> = (0..12).map(|_| vector(&mut random, 0.4)).collect();
        let corners = vec![Vec3::zeros(), Vec3::x(), Vec3::y(), Vec3::new(0.2, 0.1, 0.7)];
        let mesh = Mesh::new(corners, &[[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]).unwrap();
        let shapes = [
            Geometry::Box { half: Vec3::new(0.3, 0.1, 0.2) },
            Geometry::Capsule { radius: 0.1, half_length: 0.4 },
            Geometry::Cylinder { radius: 0.2, half_length: 0.2 },
            Geometry::Hull(Arc::new(Hull::new(&points).unwrap())),
            Geometry::Mesh(Arc::new(mesh)),
        ];
        let (mut hits, mut misses) = (0, 0);
        for k in 0..200 {
            let (a, b) = (&shapes[k % 4], &shapes[k / 4 % 5]);
            let mut moving = |far: f64| {
                let x = vector(&mut random, far);
                let pose = Pose::new(x, exp(&vector(&mut random, 3.0)));
                let velocity = 5.0 * vector(&mut random, 0.6) - 4.0 * x;
                let angular_velocity = vector(&mut random, 4.0);
                Moving { pose, center: x + vector(&mut random, 0.1), velocity, angular_velocity }
            };
            let (one, two) = (moving(3.0), moving(0.7));
            let gap = |t: f64| distance((a, &one.after(t)), (b, &two.after(t))).unwrap().gap;
            if gap(0.0) <= 1e-3 {
                continue;
            }
            let found = time_of_impact((a, &one), (b, &two), 0.5, 1e-3);
            let end = found.unwrap_or(0.5);
            let name = || format!("{k}: {} and {}", a.kind(), b.kind());
            assert!((0..=200).all(|i| gap(end * f64::from(i) / 200.0) > 0.0), "{}", name());
            match found {
                Some(t) => assert!(gap(t) <= 1e-3, "{}: {}", name(), gap(t)),
                None => misses += 1,
            }
            hits += usize::from(found.is_some());
        }
        assert!(hits > 40 && misses > 20, "{hits} {misses}");
    }
}
