//! The method `ipc` without contact: falls, equilibria, bodies with prescribed motion.

use dalembert::filters::Ride;
use dalembert::math::rotation::exp;
use dalembert::prelude::*;

use super::{Outcome, Table, solids};

fn tight(scheme: Scheme) -> Method {
    Method::Ipc(Ipc { scheme, tolerance: 1e-11, ..Ipc::default() })
}

/// A stone and a box thrown up: every step against the recurrence of the scheme.
pub(super) fn free_fall(table: &mut Table) -> Outcome {
    let (h, g, n) = (0.01, -9.81, 100);
    for (by, scheme) in [("ipc, euler", Scheme::Euler), ("ipc, bdf2", Scheme::Bdf2)] {
        for what in ["particle", "rigid body"] {
            let mut scene = Scene { dt: h, method: tight(scheme), ..Scene::default() };
            let (start, velocity) = ([0.0, 0.0, 10.0], [1.0, 0.0, 3.0]);
            if what == "particle" {
                scene.add(ParticleSet::at("stone", start).velocity(velocity));
            } else {
                let shape = Shape::Box { size: Vec3::new(0.1, 0.2, 0.3) };
                scene.add(RigidBody::new("stone", shape).at(start).velocity(velocity));
            }
            let mut sim = scene.build()?;
            let (mut z, mut v) = (10.0, 3.0);
            let (mut before, mut worst) = (None, 0.0f64);
            for _ in 0..n {
                sim.step()?;
                let now = (z, v);
                match before {
                    // v = (4v − v₋)/3 + 2h/3 g, z = (4z − z₋)/3 + 2h/3 v; the first step is Euler's.
                    Some((z0, v0)) if scheme == Scheme::Bdf2 => {
                        v = (4.0 * v - v0) / 3.0 + 2.0 / 3.0 * h * g;
                        z = (4.0 * z - z0) / 3.0 + 2.0 / 3.0 * h * v;
                    }
                    _ => {
                        v += h * g;
                        z += h * v;
                    }
                }
                before = Some(now);
                worst = worst.max((sim.state.q[2] - z).abs());
            }
            table.absolute(by, format!("{what}: worst height of {n} steps"), worst, 0.0, 1e-10);
            if scheme == Scheme::Euler {
                let t = f64::from(n) * h;
                let wanted = 10.0 + 3.0 * t + 0.5 * g * t * (t + h);
                table.absolute(by, format!("{what}: height after {t} s"), sim.state.q[2], wanted, 1e-10);
            }
        }
    }
    Ok(())
}

/// The equilibria of the method `implicit` again.
pub(super) fn equilibria(table: &mut Table) -> Outcome {
    solids::neo_hookean_by(table, "ipc, static", tight(Scheme::Static))?;
    solids::cantilever_by(table, "ipc, ", tight(Scheme::Static))
}

/// A box that is carried about, and one that stands on a turning table.
pub(super) fn prescribed(table: &mut Table) -> Outcome {
    let (velocity, w) = (Vec3::new(0.3, -0.2, 0.1), Vec3::new(0.5, 1.0, -2.0));
    let mut scene = Scene { dt: 0.01, method: tight(Scheme::Euler), ..Scene::default() };
    let turn = exp(&Vec3::new(0.3, 0.2, 0.1));
    let shape = Shape::Box { size: Vec3::new(0.1, 0.2, 0.3) };
    scene.add(RigidBody::new("box", shape).at([1.0, 2.0, 3.0]).turned(turn));
    let ride = Ride { velocity, angular_velocity: w, ..Ride::default() };
    scene.add(MotionSet::new("box", Motion::Ride(ride)));
    let mut sim = scene.build()?;
    sim.run(1.0)?;
    let q = &sim.state.q;
    let place = (Vec3::new(q[0], q[1], q[2]) - Vec3::new(1.0, 2.0, 3.0) - velocity).norm();
    table.absolute("ipc", "prescribed: place after 1 s", place, 0.0, 1e-13);
    let wanted = (exp(&w) * turn).to_rotation_matrix();
    let off = (Mat3::from_column_slice(&q[3..12]) - wanted.matrix()).norm();
    table.absolute("ipc", "prescribed: turn after 1 s", off, 0.0, 1e-13);

    // ω² r = 0.075 m/s² is below μ g: the box goes round with the table. What sticks creeps slower than 0.1 mm/s.
    let (rate, radius) = (0.5, 0.3);
    let settings = Ipc { friction: 0.5, friction_speed: 1e-4, ..Ipc::default() };
    let mut scene = Scene { dt: 0.01, method: Method::Ipc(settings), ..Scene::default() };
    let board = Shape::Box { size: Vec3::new(1.0, 1.0, 0.1) };
    scene.add(RigidBody::new("table", board));
    let ride = Ride { angular_velocity: rate * Vec3::z(), ..Ride::default() };
    scene.add(MotionSet::new("table", Motion::Ride(ride)));
    let cube = RigidBody::new("box", Shape::Box { size: Vec3::repeat(0.1) });
    scene.add(
        cube.at([radius, 0.0, 0.1005]).velocity([0.0, rate * radius, 0.0]).angular_velocity([0.0, 0.0, rate]),
    );
    let mut sim = scene.build()?;
    sim.run(2.0)?;
    let (x, y) = (sim.state.q[12], sim.state.q[13]);
    table.absolute("ipc", "turntable: angle of the box after 2 s", y.atan2(x), 2.0 * rate, 2e-3);
    table.absolute("ipc", "turntable: its radius", x.hypot(y), radius, 1e-3);
    Ok(())
}
