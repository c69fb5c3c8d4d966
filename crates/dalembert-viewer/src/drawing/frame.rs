//! The numbers of one moment.

use dalembert::bodies::Rigid;
use dalembert::math::{Vec3, triple};
use dalembert::model::{Energy, Model};
use dalembert::state::State;
use dalembert_formats::export::topology::deformation_columns;

use super::{Drawing, Frame, Group, Groups, contacts, grounds, joints, list, obstacle_pose, robots};

/// Fills `out` with the numbers of a state. Arrows and violations are worked out only for the groups in `wanted`.
/// Returns the energies in full precision, since they had to be summed anyway.
pub fn frame(model: &Model, drawing: &Drawing, state: &State, wanted: Groups, out: &mut Frame) -> Energy {
    out.clear(drawing);
    out.time = state.time;
    out.step = state.steps;
    let points = model.points(state.time, &state.q, &state.v);
    let rigid = model.layout.rigid;
    out.vertices.extend(points.x.iter().map(|x| *x as f32));
    for (column, center) in deformation_columns(model) {
        out.vertices.copy_within(3 * center..3 * center + 3, 3 * column);
    }
    for k in 0..rigid {
        let pose = model.rigid.pose(&state.q, k);
        let q = pose.rotation;
        out.push_pose(pose.position.into(), [q.w, q.i, q.j, q.k]);
    }
    for (_, shape) in &model.obstacles {
        let (place, q) = obstacle_pose(shape);
        out.push_pose(place.into(), [q.w, q.i, q.j, q.k]);
    }
    grounds(model, |_, place, q| out.push_pose(place.into(), [q.w, q.i, q.j, q.k]));
    robots::frame(model, state, out);
    if wanted.has(Group::Velocity) {
        let arrows = &mut out.arrows[list::VELOCITIES as usize];
        push_arrows(arrows, points.x, points.v, model);
        for k in 0..rigid {
            push_arrow(arrows, &Rigid::position(&state.q, k), &Rigid::velocity(&state.v, k));
        }
    }
    if wanted.has(Group::Force) {
        out.scratch.resize(model.layout.len_v(), 0.0);
        model.forces_into(state.time, &state.q, &state.v, &state.applied, &mut out.scratch);
        let arrows = &mut out.arrows[list::FORCES as usize];
        let free = 3 * model.layout.particles;
        push_arrows(arrows, points.x, &out.scratch[model.layout.points_v()..][..free], model);
        for k in 0..rigid {
            push_arrow(arrows, &Rigid::position(&state.q, k), &triple(&out.scratch, 2 * k));
        }
    }
    joints::frame(model, drawing, state, wanted, out);
    if wanted.has(Group::Contact) {
        contacts::frame(model, drawing, state, out);
    }

    // Kinetic, potential and total energy lead; the terms that make up the potential follow.
    out.scalars.resize(3, 0.0);
    let kinetic = model.particles.kinetic(points.v)
        + model.rigid.kinetic(&state.q[..7 * rigid], &state.v[..6 * rigid])
        + model.robot_energy(state).0;
    let mut energy = Energy { kinetic, potential: 0.0 };
    for (_, term) in model.energy_terms(state) {
        energy.potential += term;
        out.scalars.push(term as f32);
    }
    for (out, e) in out.scalars.iter_mut().zip([energy.kinetic, energy.potential, energy.total()]) {
        *out = e as f32;
    }
    energy
}

/// One arrow per point with a vector that is not zero; columns of a deformation are no points.
fn push_arrows(out: &mut Vec<f32>, x: &[f64], vectors: &[f64], model: &Model) {
    let mut columns = deformation_columns(model).map(|(column, _)| column).peekable();
    for (i, (x, a)) in x.chunks_exact(3).zip(vectors.chunks_exact(3)).enumerate() {
        if columns.next_if_eq(&i).is_none() {
            push_arrow(out, &triple(x, 0), &triple(a, 0));
        }
    }
}

pub(super) fn push_arrow(out: &mut Vec<f32>, at: &Vec3, vector: &Vec3) {
    if vector.iter().any(|a| *a != 0.0) {
        out.extend(at.iter().chain(vector).map(|x| *x as f32));
    }
}
