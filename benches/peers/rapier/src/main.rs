//! Times rapier3d-f64 on the joint scenes of `dalembert bench`: one row per call, one JSON object on stdout.
//!
//!     rapier-peer <chain_ball|chain_hinge|ragdolls|tip_mass> <n> <impulse|multibody> [colliders]
//!     rapier-peer <sphere_bin|boxes|pyramid|heap|contact_ragdolls> <n> <impulse|multibody>
//!
//! n is the number of links, bodies or ragdolls, or the tip mass over the mass of a link. The scenes, dt, windows of steps
//! and the way to count are those of `dalembert bench`: best of several runs from the start, mean step of a run. Bodies
//! have mass and inertia but, unless asked for, no colliders, since nothing is meant to touch. The caller kills a row
//! that takes too long.

mod contact;

use std::time::Instant;

use rapier3d_f64::prelude::*;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Impulse,
    Multibody,
}

/// A joint whose anchors should coincide: body and local anchor of both ends.
type Pin = (RigidBodyHandle, Vector, RigidBodyHandle, Vector);

struct Scene {
    world: PhysicsWorld,
    pins: Vec<Pin>,
    kind: Kind,
    colliders: bool,
}

impl Scene {
    fn new(kind: Kind, colliders: bool) -> Self {
        let mut world = PhysicsWorld::new();
        world.gravity = Vector::new(0.0, -9.81, 0.0);
        world.integration_parameters.dt = 1.0 / 60.0;
        Self { world, pins: Vec::new(), kind, colliders }
    }

    /// A box of full sizes `size` and mass `mass`.
    fn link(&mut self, x: Vector, velocity: (Vector, Vector), size: Vector, mass: f64) -> RigidBodyHandle {
        let builder =
            RigidBodyBuilder::dynamic().translation(x).linvel(velocity.0).angvel(velocity.1).can_sleep(false);
        if self.colliders {
            let groups = InteractionGroups::none();
            let half = size * 0.5;
            let collider =
                ColliderBuilder::cuboid(half.x, half.y, half.z).mass(mass).collision_groups(groups);
            return self.world.insert(builder, collider).0;
        }
        let s = size * size;
        let inertia = Vector::new(s.y + s.z, s.x + s.z, s.x + s.y) * (mass / 12.0);
        let properties = MassProperties::new(Vector::new(0.0, 0.0, 0.0), mass, inertia);
        self.world.insert_body(builder.additional_mass_properties(properties))
    }

    fn pin(&mut self, a: RigidBodyHandle, pa: Vector, b: RigidBodyHandle, pb: Vector, hinge: Option<Vector>) {
        let joint: GenericJoint = match hinge {
            Some(axis) => RevoluteJointBuilder::new(axis)
                .local_anchor1(pa)
                .local_anchor2(pb)
                .contacts_enabled(false)
                .build()
                .into(),
            None => SphericalJointBuilder::new()
                .local_anchor1(pa)
                .local_anchor2(pb)
                .contacts_enabled(false)
                .build()
                .into(),
        };
        match self.kind {
            Kind::Impulse => {
                self.world.insert_impulse_joint(a, b, joint);
            }
            Kind::Multibody => {
                self.world.insert_multibody_joint(a, b, joint).expect("a tree of joints");
            }
        }
        self.pins.push((a, pa, b, pb));
    }

    /// Links of 0.2 m in a row along x, the first hung from the world, all at rest.
    fn chain(&mut self, links: usize, hinge: Option<Vector>, tip_mass: f64) {
        let length = 0.2;
        let mut last = self.world.insert_body(RigidBodyBuilder::fixed());
        let mut at = Vector::new(0.0, 0.0, 0.0);
        let rest = (Vector::new(0.0, 0.0, 0.0), Vector::new(0.0, 0.0, 0.0));
        for i in 0..links {
            let mass = if i + 1 == links { tip_mass } else { 1.0 };
            let x = Vector::new((i as f64 + 0.5) * length, 0.0, 0.0);
            let link = self.link(x, rest, Vector::new(length, 0.08, 0.08), mass);
            self.pin(last, at, link, Vector::new(-0.5 * length, 0.0, 0.0), hinge);
            last = link;
            at = Vector::new(0.5 * length, 0.0, 0.0);
        }
    }

    /// Ragdolls of 11 boxes and 10 joints, thrown spinning so that the joints have to work.
    fn ragdolls(&mut self, count: usize) {
        let v = |x: f64, y: f64| Vector::new(x, y, 0.0);
        let side = (count as f64).sqrt().ceil() as usize;
        for r in 0..count {
            let o = Vector::new((r % side) as f64 * 2.0, 1.2, (r / side) as f64 * 2.0);
            let w = Vector::new(2.0, 3.0, 5.0);
            let part = |s: &mut Scene, x: f64, y: f64, hx: f64, hy: f64| {
                let size = Vector::new(2.0 * hx, 2.0 * hy, 0.12);
                let velocity = w.cross(v(x, y));
                s.link(o + v(x, y), (velocity, w), size, 1000.0 * size.x * size.y * size.z)
            };
            let pelvis = part(self, 0.0, 0.0, 0.14, 0.09);
            let chest = part(self, 0.0, 0.32, 0.16, 0.2);
            let head = part(self, 0.0, 0.66, 0.09, 0.11);
            self.pin(pelvis, v(0.0, 0.105), chest, v(0.0, -0.215), None);
            self.pin(chest, v(0.0, 0.215), head, v(0.0, -0.125), None);
            for side in [-1.0, 1.0] {
                let thigh = part(self, side * 0.09, -0.32, 0.06, 0.2);
                let shin = part(self, side * 0.09, -0.75, 0.05, 0.2);
                self.pin(pelvis, v(side * 0.09, -0.105), thigh, v(0.0, 0.215), None);
                self.pin(thigh, v(0.0, -0.215), shin, v(0.0, 0.215), Some(Vector::X));
                let upper = part(self, side * 0.36, 0.44, 0.15, 0.05);
                let fore = part(self, side * 0.68, 0.44, 0.15, 0.045);
                self.pin(chest, v(side * 0.185, 0.12), upper, v(-side * 0.175, 0.0), None);
                self.pin(upper, v(side * 0.16, 0.0), fore, v(-side * 0.16, 0.0), Some(Vector::Y));
            }
        }
    }

    /// Largest distance between anchors that should coincide [m].
    fn gap(&self) -> f64 {
        let mut worst = 0.0f64;
        for (a, pa, b, pb) in &self.pins {
            let (a, b) = (&self.world.bodies[*a], &self.world.bodies[*b]);
            let apart = (a.position().transform_point(*pa) - b.position().transform_point(*pb)).length();
            // A gap that is no number is the worst of all.
            worst = if apart.is_finite() { worst.max(apart) } else { f64::INFINITY };
        }
        worst
    }
}

fn scene(name: &str, n: f64, kind: Kind, colliders: bool) -> Option<Scene> {
    let mut s = Scene::new(kind, colliders);
    match name {
        "chain_ball" => s.chain(n as usize, None, 1.0),
        "chain_hinge" => s.chain(n as usize, Some(Vector::Z), 1.0),
        "ragdolls" => s.ragdolls(n as usize),
        "tip_mass" => s.chain(20, None, n),
        _ => return None,
    }
    Some(s)
}

/// Steps of one run, and runs: as in `dalembert bench`.
fn window(name: &str, n: f64) -> (usize, u32) {
    match name {
        "tip_mass" => (600, 3),
        "ragdolls" => (60, 3),
        _ if n <= 1000.0 => (60, 5),
        _ => (10, 3),
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let (Some(&name), Some(Ok(n)), Some(kind)) = (
        words.first(),
        words.get(1).map(|n| n.parse::<f64>()),
        match words.get(2) {
            Some(&"impulse") => Some(Kind::Impulse),
            Some(&"multibody") => Some(Kind::Multibody),
            _ => None,
        },
    ) else {
        eprintln!(
            "rapier-peer <chain_ball|chain_hinge|ragdolls|tip_mass> <n> <impulse|multibody> [colliders]"
        );
        std::process::exit(2);
    };
    if let Some(printed) = contact::row(name, n as usize, kind) {
        println!("{printed}");
        return;
    }
    let (steps, runs) = window(name, n);
    let (mut best, mut worst) = (f64::INFINITY, 0.0f64);
    for _ in 0..runs {
        let Some(mut s) = scene(name, n, kind, words.contains(&"colliders")) else {
            eprintln!("no scene `{name}`");
            std::process::exit(2);
        };
        let mut seconds = 0.0;
        for _ in 0..steps {
            let start = Instant::now();
            s.world.step();
            seconds += start.elapsed().as_secs_f64();
            worst = worst.max(s.gap());
        }
        best = best.min(seconds / steps as f64);
    }
    // JSON has no infinity: a gap that is no number is null.
    let gap = if worst.is_finite() { format!("{worst:e}") } else { "null".into() };
    println!(
        "{{\"name\":\"{name}\",\"n\":{n},\"kind\":\"{}\",\"seconds_per_step\":{best:e},\"gap\":{gap}}}",
        words[2]
    );
}
