//! Machines with closed loops, most of them with more rows than they need.

use dalembert::prelude::*;
use serde_json::Value;

use super::{Outcome, Table, lagrange, numbers};

const FOUR_BAR_2: &str = include_str!("../../data/cases/mbs_a02_four_bar_n2.json");
const FOUR_BAR_40: &str = include_str!("../../data/cases/mbs_a02_four_bar_n40.json");
const ANDREWS: &str = include_str!("../../data/cases/mbs_a03_andrews_squeezer.json");
const GOVERNOR: &str = include_str!("../../data/cases/mbs_a05_flyball_governor.json");
const CAR_AXIS: &str = include_str!("../../data/cases/car_axis_index3.json");

fn hinge(name: String, a: &str, b: &str, at: [f64; 3], axis: [f64; 3]) -> JointItem {
    JointItem::new(name, JointKind::Hinge, a, b).anchor(at).axis(axis)
}

/// A thin rod of 1 kg and 1 m along an axis, centre at `at`. Its spin about itself never moves: any inertia does.
fn rod(name: String, along: usize, at: [f64; 3]) -> RigidBody {
    let mut I = Vec3::from_element(1.0 / 12.0);
    I[along] = 0.01;
    RigidBody::new(name, Shape::Point).inertia(1.0, Vec3::zeros(), Mat3::from_diagonal(&I)).at(at)
}

/// N four-bars in a row in the plane y = 0, cranks upright and moving to the right.
fn four_bars(n: usize, method: Method, dt: f64) -> Result<Simulation, dalembert::scene::BuildError> {
    let mut scene = Scene { method, dt, ..Scene::default() };
    let axis = [0.0, 1.0, 0.0];
    for i in 0..=n {
        let x = i as f64;
        let crank = format!("crank{i}");
        scene.add(hinge(format!("foot{i}"), "world", &crank, [x, 0.0, 0.0], axis));
        let crank = rod(crank, 2, [x, 0.0, 0.5]).velocity([0.5, 0.0, 0.0]);
        scene.add(crank.angular_velocity([0.0, 1.0, 0.0]));
    }
    for i in 0..n {
        let x = i as f64;
        let bar = format!("bar{i}");
        scene.add(rod(bar.clone(), 0, [x + 0.5, 0.0, 1.0]).velocity([1.0, 0.0, 0.0]));
        scene.add(hinge(format!("left{i}"), &format!("crank{i}"), &bar, [x, 0.0, 1.0], axis));
        scene.add(hinge(format!("right{i}"), &format!("crank{}", i + 1), &bar, [x + 1.0, 0.0, 1.0], axis));
    }
    scene.build()
}

fn four_bar(table: &mut Table, data: &str, n: usize, method: Method, dt: f64) -> Outcome {
    let case: Value = serde_json::from_str(data)?;
    let mut sim = four_bars(n, method, dt)?;
    let mut drift = 0.0f64;
    for t in ["1", "2", "4", "5", "10"] {
        let end: f64 = t.parse()?;
        while sim.state.time < end - 0.5 * dt {
            sim.step()?;
            drift = drift.max((sim.energy().total() - sim.start_energy.total()).abs());
        }
        // B0 is the far end of the first crank, whose centre lies half way.
        let q = &sim.state.q;
        let found = [2.0 * q[0], 2.0 * q[2]];
        let wanted = numbers(&case["reference"]["B0_x_y_vx_vy"][t])?;
        let off = (found[0] - wanted[0]).hypot(found[1] - wanted[1]);
        // 1e-5 at t = 10 is the case's.
        table.absolute("lagrange, rk4", format!("t = {t}: error of B0"), off, 0.0, 1e-5);
    }
    table.absolute("lagrange, rk4", "largest change of energy in 10 s", drift, 0.0, 1e-4);
    table.absolute("lagrange, rk4", "gap at the end", worst_gap(&sim.model, &sim.state), 0.0, 1e-10);
    Ok(())
}

pub(super) fn four_bar_2(table: &mut Table) -> Outcome {
    four_bar(table, FOUR_BAR_2, 2, Method::Lagrange(Lagrange::default()), 1e-3)
}

pub(super) fn four_bar_40(table: &mut Table) -> Outcome {
    four_bar(table, FOUR_BAR_40, 40, Method::Lagrange(Lagrange::default()), 1e-3)
}

/// Andrews' squeezing mechanism: seven bodies in a plane, ten hinges of five rows. 42 velocities, 50 rows, one motion:
/// nine rows too many.
pub(super) fn andrews(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(ANDREWS)?;
    let p = |key: &str| case["parameters"][key].as_f64().ok_or_else(|| format!("no number `{key}`"));
    let q0 = numbers(&case["parameters"]["q0"])?;
    let turn = |angle: f64, x: f64, y: f64| {
        let (s, c) = angle.sin_cos();
        Vec3::new(c * x - s * y, s * x + c * y, 0.0)
    };
    let [be, th, ga, ph, de, om, ep] = q0[..] else { return Err("q0 has not seven numbers".into()) };
    let (A, B) = (Vec3::new(p("xa")?, p("ya")?, 0.0), Vec3::new(p("xb")?, p("yb")?, 0.0));
    let F = turn(be, p("rr")?, 0.0);
    let E = F + turn(be + th, -p("d")?, 0.0);
    let H = A + turn(de, p("zt")?, 0.0);
    let G = A + turn(ep, 0.0, -p("u")?);
    let centers = [
        turn(be, p("ra")?, 0.0),
        F + turn(be + th, -p("da")?, 0.0),
        B + turn(ga, p("sb")?, -p("sa")?),
        H + turn(ph + de, 0.0, -(p("e")? - p("ea")?)),
        A + turn(de, p("ta")?, p("tb")?),
        G + turn(om + ep, p("zf")? - p("fa")?, 0.0),
        A + turn(ep, -p("ub")?, -p("ua")?),
    ];
    let turns = [be, be + th, ga, ph + de, de, om + ep, ep];
    let mut scene = Scene {
        method: lagrange(Integrator::DormandPrince, 1e-12),
        dt: 1e-3,
        gravity: Vec3::zeros(),
        ..Scene::default()
    };
    for k in 0..7 {
        let (m, I) = (p(&format!("m{}", k + 1))?, p(&format!("i{}", k + 1))?);
        // Only the turn about z happens: the other moments of inertia are free to choose.
        let body = RigidBody::new(format!("k{}", k + 1), Shape::Point);
        let body = body.inertia(m, Vec3::zeros(), Mat3::identity() * I);
        let R = Quat::from_axis_angle(&Vec3::z_axis(), turns[k]);
        scene.add(body.at(centers[k].into()).turned(R));
    }
    let joints = [
        ("world", "k1", Vec3::zeros()),
        ("k1", "k2", F),
        ("k2", "k3", E),
        ("k2", "k4", E),
        ("k2", "k6", E),
        ("world", "k3", B),
        ("world", "k5", A),
        ("k5", "k4", H),
        ("world", "k7", A),
        ("k7", "k6", G),
    ];
    for (k, (a, b, at)) in joints.into_iter().enumerate() {
        let mut joint = hinge(format!("pin{k}"), a, b, at.into(), [0.0, 0.0, 1.0]);
        if k == 0 {
            joint = joint.motor(Motor::Effort(p("mom")?));
        }
        scene.add(joint);
    }
    // D in the frame of K3, whose origin is its centre of mass.
    let D = Vec3::new(p("sd")? - p("sb")?, p("sa")? - p("sc")?, 0.0);
    scene.add(MappedPoints {
        name: "d".into(),
        of: vec!["k3".into()],
        at: vec![D],
        ..MappedPoints::default()
    });
    scene.add(ParticleSet::at("c", [p("xc")?, p("yc")?, 0.0]));
    scene.add(Fix::points("c"));
    scene.add(SpringSet::between("spring", "d", "c").stiffness(p("c0")?).rest_length(p("l0")?));
    let mut sim = scene.build()?;
    sim.run(p("t_end")?)?;

    let wanted = numbers(&case["reference"]["t003_recomputed"])?;
    let angle = |k: usize| 2.0 * sim.state.q[7 * k + 6].atan2(sim.state.q[7 * k + 3]);
    let rate = |k: usize| sim.state.v[6 * k + 5];
    let all = |f: &dyn Fn(usize) -> f64| [f(0), f(1) - f(0), f(2), f(3) - f(4), f(4), f(5) - f(6), f(6)];
    let (q, v) = (all(&angle), all(&rate));
    let names = ["beta", "theta", "gamma", "phi", "delta", "omega", "epsilon"];
    for k in 0..7 {
        // Whole turns are not in an orientation.
        let off = (q[k] - wanted[k] + std::f64::consts::PI).rem_euclid(std::f64::consts::TAU)
            - std::f64::consts::PI;
        table.absolute("lagrange, dormand_prince", format!("error of {}", names[k]), off, 0.0, 1e-8);
    }
    for k in 0..7 {
        table.relative(
            "lagrange, dormand_prince",
            format!("rate of {}", names[k]),
            v[k],
            wanted[7 + k],
            1e-6,
        );
    }
    Ok(())
}

/// Flyball governor: shaft, slider, two rods with balls, two stiff spring-dampers between slider and rods.
pub(super) fn governor(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(GOVERNOR)?;
    let p = |key: &str| case["parameters"][key].as_f64().ok_or_else(|| format!("no number `{key}`"));
    let (density, ball, w) = (p("density")?, p("point_mass")?, p("omega0")?);
    let s0 = p("slider_height_0")?;
    let mut scene = Scene { method: lagrange(Integrator::DormandPrince, 1e-9), dt: 0.01, ..Scene::default() };
    let thin = Vec3::new(0.01, 0.01, 1.0);
    let spin = [0.0, 0.0, w];
    let boxed = |name: &str, size: Vec3| RigidBody {
        mass: BodyMass::Density(density),
        ..RigidBody::new(name, Shape::Box { size })
    };
    scene.add(boxed("shaft", thin).at([0.0, 0.0, 0.5]).angular_velocity(spin));
    scene.add(boxed("slider", Vec3::from_element(0.1)).at([0.0, 0.0, s0]).angular_velocity(spin));
    scene.add(hinge("spin".into(), "world", "shaft", [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]));
    scene.add(
        JointItem::new("slide", JointKind::Slider, "shaft", "slider")
            .anchor([0.0, 0.0, s0])
            .axis([0.0, 0.0, 1.0]),
    );
    // A rod of length 1 along x of its frame from the hinge, and a ball at its end.
    let m = density * thin.x * thin.y * thin.z;
    let (across, along) = (m * (1.0 + 1e-4) / 12.0, m * 2e-4 / 12.0);
    let mass = m + ball;
    let c = (0.5 * m + ball) / mass;
    let I = across + m * (c - 0.5_f64).powi(2) + ball * (1.0 - c).powi(2);
    let I = Mat3::from_diagonal(&Vec3::new(along, I, I));
    let down = p("rod_angle_from_horizontal_deg")?.to_radians();
    for (name, side) in [("right", 1.0), ("left", -1.0)] {
        // x of the frame points outwards and down.
        let out = Quat::from_axis_angle(&Vec3::z_axis(), if side > 0.0 { 0.0 } else { std::f64::consts::PI });
        let R = out * Quat::from_axis_angle(&Vec3::y_axis(), down);
        let foot = Vec3::new(0.05 * side, 0.0, 1.0);
        let center = foot + R * Vec3::new(c, 0.0, 0.0);
        let body = RigidBody::new(name, Shape::Point).inertia(mass, Vec3::new(c, 0.0, 0.0), I);
        let turn = Vec3::new(0.0, 0.0, w);
        let body = body.at(foot.into()).turned(R).velocity(turn.cross(&center).into());
        scene.add(body.angular_velocity(turn.into()));
        scene.add(hinge(format!("{name} hinge"), "shaft", name, foot.into(), [0.0, 1.0, 0.0]));
        let (lower, middle) = (format!("{name} lower"), format!("{name} middle"));
        let on = |name: &str, of: &str, at: [f64; 3]| MappedPoints {
            name: name.into(),
            of: vec![of.into()],
            at: vec![at.into()],
            ..MappedPoints::default()
        };
        scene.add(on(&lower, "slider", [0.05 * side, 0.0, 0.0]));
        scene.add(on(&middle, name, [0.5, 0.0, 0.0]));
        let spring = SpringSet::between(format!("{name} spring"), lower, middle);
        scene.add(spring.stiffness(p("k")?).damping(p("c")?).rest_length(p("rest_length")?));
    }
    let mut sim = scene.build()?;
    let L0 = sim.model.momentum(&sim.state).1.z;
    let mut lost = 0.0f64;
    let reference = &case["reference"];
    let (times, heights, spins) =
        (numbers(&reference["t"])?, numbers(&reference["s"])?, numbers(&reference["spin"])?);
    for k in 0..times.len() {
        while sim.state.time < times[k] - 0.005 {
            sim.step()?;
            lost = lost.max((sim.model.momentum(&sim.state).1.z / L0 - 1.0).abs());
        }
        let t = times[k];
        table.absolute(
            "lagrange, dormand_prince",
            format!("t = {t}: slider height"),
            sim.state.q[9],
            heights[k],
            1e-4,
        );
        // The spin follows the height by the angular momentum: dω ≈ 3 ds.
        table.absolute("lagrange, dormand_prince", format!("t = {t}: spin"), sim.state.v[5], spins[k], 1e-3);
    }
    table.absolute("lagrange, dormand_prince", "angular momentum lost in 10 s, relative", lost, 0.0, 1e-8);
    Ok(())
}

/// c₁ = x_l x_b + y_l y_b, c₂ = |p_l − p_r| − L, with the base point at (√(L² − y_b²), y_b), y_b = r sin ωt.
struct CarAxis {
    L: f64,
    r: f64,
    w: f64,
}

impl Equations for CarAxis {
    fn rows(&self) -> usize {
        2
    }

    fn violation<T: Scalar>(&self, t: T, x: &[[T; 3]], out: &mut [T]) {
        let yb = (t * self.w).sin() * self.r;
        let xb = (-(yb * yb) + self.L * self.L).sqrt();
        out[0] = x[0][0] * xb + x[0][2] * yb;
        let (dx, dz) = (x[1][0] - x[0][0], x[1][2] - x[0][2]);
        out[1] = (dx * dx + dz * dz).sqrt() - self.L;
    }
}

pub(super) fn car_axis(table: &mut Table) -> Outcome {
    let case: Value = serde_json::from_str(CAR_AXIS)?;
    let p = |key: &str| case["parameters"][key].as_f64().ok_or_else(|| format!("no number `{key}`"));
    let (y0, v0) = (numbers(&case["parameters"]["y0"])?, numbers(&case["parameters"]["v0"])?);
    let (L, r, w, L0, m) = (p("L")?, p("r")?, p("w")?, p("L0")?, p("M")? * p("eps")?.powi(2) / 2.0);
    let mut scene = Scene {
        method: lagrange(Integrator::DormandPrince, 1e-11),
        dt: 0.01,
        gravity: Vec3::new(0.0, 0.0, -p("g")?),
        ..Scene::default()
    };
    for (k, name) in ["left", "right"].into_iter().enumerate() {
        let at = [y0[2 * k], 0.0, y0[2 * k + 1]];
        scene.add(ParticleSet::at(name, at).velocity([v0[2 * k], 0.0, v0[2 * k + 1]]).mass(m));
        scene.add(CustomForce::on_each(format!("{name} spring"), &[name], move |t, x, _, _| {
            let yb = r * (w * t).sin();
            let base = if k == 0 { Vec3::zeros() } else { Vec3::new((L * L - yb * yb).sqrt(), 0.0, yb) };
            let d = x - base;
            d * (L0 / d.norm() - 1.0)
        }));
    }
    let points = [("left", [0.0; 3]), ("right", [0.0; 3])];
    scene.add(CustomConstraint::equations("axis", &points, CarAxis { L, r, w }));
    let mut sim = scene.build()?;
    let t12 = &case["reference"]["t1_t2_recomputed"];
    for (t, wanted) in [(1.0, &t12[0]), (2.0, &t12[1]), (3.0, &case["reference"]["t3"])] {
        sim.run(t - sim.state.time)?;
        let (q, v) = (&sim.state.q, &sim.state.v);
        let found = [q[0], q[2], q[3], q[5], v[0], v[2], v[3], v[5]];
        let worst = found.iter().zip(numbers(wanted)?).fold(0.0f64, |w, (a, b)| w.max((a - b).abs()));
        let quantity = format!("t = {t}: largest error of places and velocities");
        table.absolute("lagrange, dormand_prince", quantity, worst, 0.0, 1e-6);
    }
    Ok(())
}

/// Bennett's linkage: four hinges in space that are neither parallel nor meet, opposite bars alike,
/// a/sin α = b/sin β. It moves although 3 bodies · 6 − 4 hinges · 5 = −2.
fn bennett() -> Result<Simulation, dalembert::scene::BuildError> {
    let (alpha, beta) = (std::f64::consts::FRAC_PI_6, std::f64::consts::FRAC_PI_4);
    let (a, b) = (1.0, beta.sin() / alpha.sin());
    // Hinge angles close if tan(θ₁/2) tan(θ₂/2) = sin((β + α)/2)/sin((β − α)/2), θ₃ = −θ₁, θ₄ = −θ₂.
    let t1: f64 = 1.9;
    let t2 = 2.0 * ((0.5 * (beta + alpha)).sin() / (0.5 * (beta - alpha)).sin() / (0.5 * t1).tan()).atan();
    let mut at = Pose::identity();
    let mut frames = vec![at];
    for (turn, length, twist) in [(t1, a, alpha), (t2, b, beta), (-t1, a, alpha), (-t2, b, beta)] {
        let R = at.rotation * Quat::from_axis_angle(&Vec3::z_axis(), turn);
        let x = at.position + R * Vec3::new(length, 0.0, 0.0);
        at = Pose::new(x, R * Quat::from_axis_angle(&Vec3::x_axis(), twist));
        frames.push(at);
    }
    // frames[k] has hinge k as its z axis; bar k runs from hinge k to hinge k + 1; the last bar is the world.
    let mut scene = Scene { method: Method::Lagrange(Lagrange::default()), dt: 2e-3, ..Scene::default() };
    for k in 0..3 {
        let (p, n) = (frames[k].position, frames[k + 1].position);
        let along = (n - p).normalize();
        let R = Quat::rotation_between(&Vec3::z(), &along).unwrap_or_else(Quat::identity);
        let shape = Shape::Box { size: Vec3::new(0.05, 0.08, (n - p).norm()) };
        scene.add(RigidBody::new(format!("bar{k}"), shape).mass(1.0).at(((p + n) * 0.5).into()).turned(R));
    }
    let names = ["world", "bar0", "bar1", "bar2", "world"];
    for k in 0..4 {
        let axis = frames[k].rotation * Vec3::z();
        scene.add(hinge(format!("hinge{k}"), names[k], names[k + 1], frames[k].position.into(), axis.into()));
    }
    scene.build()
}

pub(super) fn overconstrained(table: &mut Table) -> Outcome {
    let mut sim = bennett()?;
    let (mut drift, mut gap, mut fastest) = (0.0f64, 0.0f64, 0.0f64);
    for _ in 0..5000 {
        gap = gap.max(sim.step()?.gap);
        let energy = sim.energy();
        drift = drift.max((energy.total() - sim.start_energy.total()).abs());
        fastest = fastest.max(energy.kinetic);
    }
    // Relative to what was exchanged in the whole run: in its first steps that is next to nothing.
    drift /= sim.energy().exchanged(&sim.start_energy, sim.largest_kinetic);
    let method = "lagrange, rk4";
    table.absolute(method, "Bennett linkage: energy drift in 10 s, relative", drift, 0.0, 1e-6);
    table.absolute(method, "Bennett linkage: largest gap", gap, 0.0, 1e-10);
    // It must have moved: it swings through a good part of its weight's energy.
    table.absolute(
        method,
        "Bennett linkage: moved (kinetic energy over 1 J)",
        f64::from(u8::from(fastest > 1.0)),
        1.0,
        0.0,
    );
    Ok(())
}
