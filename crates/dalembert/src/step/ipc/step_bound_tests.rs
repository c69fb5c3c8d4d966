//! Paths that are left are free.

use super::super::steps::Shape as PathShape;
use super::*;
use crate::bodies::Shape;
use crate::collide::ccd::CcdOptions;
use crate::collide::{Broad, Candidates};
use crate::math::{Random, Vec3};
use crate::scene::{Ground, RigidBody, Scene};
use crate::step::{Ipc, Method};

/// Boxes side by side that shall go anywhere and to turn by up to half a radian: whatever paths are left, all
/// bodies going theirs at the same time meet nothing.
#[test]
fn bounded_paths_are_free_together() {
    let settings = Ipc::default();
    let mut scene = Scene { method: Method::Ipc(settings), dt: 0.01, ..Scene::default() };
    scene.add(Ground::default());
    for k in 0..8 {
        let place = [0.12 * f64::from(k % 2), 0.12 * f64::from(k / 2 % 2), 0.07 + 0.12 * f64::from(k / 4)];
        let shape = Shape::Box { size: Vec3::repeat(0.1) };
        scene.add(RigidBody::new(format!("box{k}"), shape).mass(1.0).at(place));
    }
    let sim = scene.build().unwrap();
    let (model, state) = (&sim.model, &sim.state);
    let ipc = model.ipc.as_ref().unwrap();
    let geometry = &ipc.geometry;
    let mut random = Random::new(21);
    let (mut cut, mut turned) = (0, 0);
    for _ in 0..60 {
        let mut w = IpcWork::default();
        w.find_sleepers(&settings, model, state, 0.01);
        w.begin(&settings, model, state, 0.01).unwrap();
        w.islands.apart();
        w.steps.begin_iteration(w.islands.groups);
        w.delta = (0..model.layout.nv)
            .map(|k| random.between(-1.0, 1.0) * if k % 12 < 3 { 0.06 } else { 0.0 })
            .collect();
        for &first in &ipc.affine {
            let turn = Vec3::from_fn(|_, _| random.between(-0.3, 0.3));
            for c in 0..3 {
                let column: Vec3 = crate::math::triple(&w.q, first as usize + 1 + c);
                crate::math::set_triple(&mut w.delta, first as usize + 1 + c, &turn.cross(&column));
            }
        }
        w.bound_step(model, state, TUNING.rest).unwrap();
        w.place_trial(model);
        let (x, x1) = (&w.contact.path.x, &w.contact.path.x1);
        let mut all = Candidates::default();
        let swept =
            Broad::default().swept(&geometry.surface, x, x1, geometry.gap, 1_000_000, &mut all).unwrap();
        assert_eq!(swept.alpha, 1.0);
        let options = CcdOptions { rest: 1e-3, ..CcdOptions::default() };
        assert_eq!(all.free_step(&geometry.surface, x, x1, 1.0, &options), 1.0);
        cut += w.steps.part.iter().filter(|p| **p < 1.0).count();
        turned += w.steps.shape.iter().filter(|s| **s == PathShape::Chord).count();
        assert!(w.steps.part.iter().all(|p| *p > 0.0 && *p <= 1.0));
    }
    assert!(cut > 100 && turned > 50, "{cut} cut, {turned} turned");
}
