//! The kinetic term of articulations in the incremental potential.
//!
//! **Many freedoms.** $J^TMJ$ joins all links with each other, though J joins neighbours only. Beyond [`DENSE`] freedoms a part
//! D of the mass is taken out that is diagonal, so that $J^TDJ$ is as sparse as the joints are and still holds every freedom, and
//! the rest goes into long rows, $M - D = U^TU$, $J^TMJ = J^TDJ + B^TB$ with $B = UJ$, solved as [`bordered`](crate::solve::bordered) does.
//! For any positive definite A of m rows $A \preceq m\,\mathrm{diag}A$; with $A = M^{-1}$, $M \succeq \mathrm{diag}(1/(m(M^{-1})_{ii}))$.
//! Half of that is D, so that $M - D \succeq M/2$.

use super::{Articulation, DriveReport, Freedom};
use crate::joints::affine::{BlockVector, Measure};
use crate::math::rotation::{exp, log, matrix, unwrap_angle};
use crate::math::{Blocks, Mat3, Quat, Vec3, add_triple, triple};
use crate::solve::bordered::LongRows;
use crate::solve::dense::{cholesky, solve_cholesky};
use crate::state::Drive;
use std::time::{Duration, Instant};

/// Freedoms of an articulation up to which its mass is one dense block.
pub(super) const DENSE: usize = 64;

/// One freedom in this step: r = Σ factor · measure − target.
#[derive(Debug, Clone)]
struct Residual {
    parts: Vec<(f64, Measure)>,
    target: f64,
}

impl Residual {
    fn value(&self, z: &[f64]) -> f64 {
        let part = |(factor, m): &(f64, Measure)| {
            let value = m.value(z);
            // The increment of an angle, in (−π, π] about its target.
            factor * if m.turns() { unwrap_angle(self.target, value) } else { value }
        };
        self.parts.iter().map(part).sum::<f64>() - self.target
    }
}

/// One articulation in this step.
#[derive(Debug, Default)]
struct Part {
    /// The articulation that the residuals were made for.
    of: Option<Articulation>,
    residuals: Vec<Residual>,
    mass: Vec<f64>,
    delta: Vec<f64>,
    /// Rotation of balls and turns of free joints at the reference, by the number of the joint.
    before: Vec<Mat3>,
    r: Vec<f64>,
    g: Vec<f64>,
    /// Blocks that it touches, ascending, and the gradient of each freedom over them, and M times it.
    blocks: Vec<u32>,
    jacobian: Vec<Vec3>,
    product: Vec<Vec3>,
    /// Beyond `DENSE` freedoms: D, and U of M − D = UᵀU.
    diagonal: Vec<f64>,
    root: Vec<f64>,
}

/// Buffers of all articulations.
#[derive(Debug, Default)]
pub(crate) struct CouplingWork {
    parts: Vec<Part>,
    /// 1/h².
    scale: f64,
    list: Vec<(u32, Vec3)>,
    row: Vec<Vec3>,
    reference: Vec<f64>,
    /// Drives of this step.
    pub drives: Vec<Drive>,
    /// Memory for checks.
    pub room: Vec<f64>,
    /// Time spent here since the buffers were made, the drivers of robots included.
    pub spent: Duration,
    /// What came out of the last step.
    pub reports: Vec<DriveReport>,
}

/// Nearest rotation.
fn rotation(A: &Mat3) -> Mat3 {
    matrix(&Quat::from_rotation_matrix(&nalgebra::Rotation3::from_matrix(A)))
}

fn columns(axes: &[BlockVector; 3], z: &[f64]) -> Mat3 {
    Mat3::from_columns(&[axes[0].at(z), axes[1].at(z), axes[2].at(z)])
}

/// Axis k of the world.
fn world(k: usize) -> BlockVector {
    BlockVector::fixed(Vec3::ith(k, 1.0))
}

/// Three turns: r_k = ½(e*_b·e_a − e*_a·e_b); the axes e* are set in each step.
fn turns(child: &[BlockVector; 3]) -> impl Iterator<Item = Residual> + '_ {
    (0..3).map(|k| {
        let (a, b) = ((k + 1) % 3, (k + 2) % 3);
        let dot = |j: usize| Measure::Dot([BlockVector::default(), child[j].clone()]);
        Residual { parts: vec![(0.5, dot(a)), (-0.5, dot(b))], target: 0.0 }
    })
}

/// Sets the axes e* of three turns to those that the rotation `aim` makes of the parent's.
fn aim_at(residuals: &mut [Residual], parent: &[BlockVector; 3], aim: &Mat3) {
    for (k, residual) in residuals.iter_mut().enumerate() {
        let wanted = [(k + 2) % 3, (k + 1) % 3];
        for ((_, measure), axis) in residual.parts.iter_mut().zip(wanted) {
            if let Measure::Dot([e, _]) = measure {
                let part = |l: usize| (aim[(l, axis)], &parent[l]);
                e.set_sum(&[part(0), part(1), part(2)]);
            }
        }
    }
}

impl Part {
    /// Makes the residuals of an articulation, unless they are there.
    fn prepare(&mut self, a: &Articulation) {
        if self.of.as_ref() == Some(a) {
            return;
        }
        self.residuals.clear();
        for (_, joint) in &a.joints {
            match joint {
                Freedom::Single(m) => {
                    self.residuals.push(Residual { parts: vec![(1.0, m.clone())], target: 0.0 });
                }
                Freedom::Ball { child, .. } => self.residuals.extend(turns(child)),
                Freedom::Free { point, child } => {
                    self.residuals.extend((0..3).map(|k| {
                        let parts = vec![(1.0, Measure::Dot([point.clone(), world(k)]))];
                        Residual { parts, target: 0.0 }
                    }));
                    self.residuals.extend(turns(child));
                }
            }
        }
        self.of = Some(a.clone());
    }

    /// Targets of a step from the flat blocks z; `reference` is memory for the blocks that increments count from.
    fn begin(&mut self, a: &Articulation, drive: &Drive, z: &[f64], reference: &mut Vec<f64>) {
        self.prepare(a);
        self.mass.clone_from(&drive.mass);
        self.delta.clone_from(&drive.delta);
        reference.clear();
        reference.extend_from_slice(z);
        if !drive.reference.is_empty() {
            for (link, dof) in a.links.iter().zip(drive.reference.chunks_exact(12)) {
                link.set_dof(dof, reference);
            }
        }
        let world = [world(0), world(1), world(2)];
        self.before.clear();
        let mut at = 0;
        for (_, joint) in &a.joints {
            let n = joint.count();
            let (delta, residuals) = (&drive.delta[at..at + n], &mut self.residuals[at..at + n]);
            at += n;
            let turned = |delta: &[f64]| matrix(&exp(&Vec3::new(delta[0], delta[1], delta[2])));
            self.before.push(match joint {
                Freedom::Single(m) => {
                    residuals[0].target = m.value(reference) + delta[0];
                    Mat3::identity()
                }
                Freedom::Ball { parent, child } => {
                    let before =
                        rotation(&(columns(parent, reference).transpose() * columns(child, reference)));
                    aim_at(residuals, parent, &(before * turned(delta)));
                    before
                }
                Freedom::Free { point, child } => {
                    let place = point.at(reference);
                    for k in 0..3 {
                        residuals[k].target = place[k] + delta[k];
                    }
                    let before = rotation(&columns(child, reference));
                    aim_at(&mut residuals[3..], &world, &(before * turned(&delta[3..])));
                    before
                }
            });
        }
        let m = self.residuals.len();
        self.r.resize(m, 0.0);
        self.g.resize(m, 0.0);
        self.blocks.clear();
        for (_, measure) in self.residuals.iter().flat_map(|r| &r.parts) {
            self.blocks.extend(measure.vectors().iter().flat_map(|v| v.terms.iter().map(|t| t.0)));
        }
        self.blocks.sort_unstable();
        self.blocks.dedup();
    }

    /// Splits the mass into D and U. Only if rounding leaves nothing of M − D is it one dense block all the same.
    fn split_mass(&mut self, column: &mut Vec<f64>) {
        let m = self.residuals.len();
        self.diagonal.clear();
        self.root.clone_from(&self.mass);
        if cholesky(&mut self.root, m).is_err() {
            return;
        }
        for i in 0..m {
            column.clear();
            column.resize(m, 0.0);
            column[i] = 1.0;
            solve_cholesky(&self.root, column);
            self.diagonal.push(0.5 / (m as f64 * column[i]));
        }
        self.root.clone_from(&self.mass);
        self.diagonal.iter().enumerate().for_each(|(i, d)| self.root[i * m + i] -= d);
        if cholesky(&mut self.root, m).is_err() {
            self.diagonal.clear();
        }
    }

    /// True if its mass is D and long rows.
    fn is_split(&self) -> bool {
        !self.diagonal.is_empty()
    }

    /// Adds JᵀMJ.
    fn add_dense(&mut self, scale: f64, out: &mut Blocks) {
        let (m, n) = (self.r.len(), self.blocks.len());
        // (M J) row by row.
        let mut product = std::mem::take(&mut self.product);
        product.clear();
        product.resize(m * n, Vec3::zeros());
        for i in 0..m {
            for j in 0..m {
                let weight = scale * self.mass[i * m + j];
                if weight != 0.0 {
                    for k in 0..n {
                        product[i * n + k] += weight * self.jacobian[j * n + k];
                    }
                }
            }
        }
        for k in 0..n {
            for l in 0..n {
                let mut block = Mat3::zeros();
                for i in 0..m {
                    let g = self.jacobian[i * n + k];
                    if g != Vec3::zeros() {
                        block += g * product[i * n + l].transpose();
                    }
                }
                out.add(self.blocks[k] as usize, self.blocks[l] as usize, block);
            }
        }
        self.product = product;
    }

    /// Adds JᵀDJ.
    fn add_diagonal(&self, scale: f64, out: &mut Blocks) {
        let n = self.blocks.len();
        for (row, d) in self.jacobian.chunks_exact(n).zip(&self.diagonal) {
            let touched = || row.iter().zip(&self.blocks).filter(|(g, _)| **g != Vec3::zeros());
            for (g, i) in touched() {
                touched().for_each(|(h, j)| out.add(*i as usize, *j as usize, scale * d * g * h.transpose()));
            }
        }
    }

    /// Adds the rows of UJ.
    fn add_long_rows(&self, scale: f64, row: &mut Vec<Vec3>, out: &mut LongRows) {
        let (m, n) = (self.residuals.len(), self.blocks.len());
        for i in 0..m {
            row.clear();
            row.resize(n, Vec3::zeros());
            for k in i..m {
                let l = scale.sqrt() * self.root[i * m + k];
                let gradient = &self.jacobian[k * n..(k + 1) * n];
                row.iter_mut().zip(gradient).for_each(|(r, g)| *r += l * g);
            }
            out.push(self.blocks.iter().copied().zip(row.iter().copied()));
        }
    }

    /// r and g = M r.
    fn evaluate(&mut self, z: &[f64]) {
        let m = self.r.len();
        for (r, residual) in self.r.iter_mut().zip(&self.residuals) {
            *r = residual.value(z);
        }
        for i in 0..m {
            self.g[i] = (0..m).map(|j| self.mass[i * m + j] * self.r[j]).sum();
        }
    }

    fn differentiate(&mut self, z: &[f64], list: &mut Vec<(u32, Vec3)>) {
        let n = self.blocks.len();
        self.jacobian.clear();
        self.jacobian.resize(n * self.r.len(), Vec3::zeros());
        for (i, residual) in self.residuals.iter().enumerate() {
            list.clear();
            residual.parts.iter().for_each(|(factor, m)| m.add_gradient(z, *factor, list));
            for (block, g) in list.iter() {
                let k = self.blocks.partition_point(|b| b < block);
                self.jacobian[i * n + k] += g;
            }
        }
    }

    /// δθ at z \[rad or m\]: residual and prediction, turns by their logarithm.
    fn increments(&self, a: &Articulation, z: &[f64], out: &mut Vec<f64>) {
        out.clear();
        out.extend(self.residuals.iter().zip(&self.delta).map(|(r, d)| r.value(z) + d));
        let mut at = 0;
        for ((_, joint), before) in a.joints.iter().zip(&self.before) {
            let turned = match joint {
                Freedom::Single(_) => None,
                Freedom::Ball { parent, child } => {
                    Some((at, columns(parent, z).transpose() * columns(child, z)))
                }
                Freedom::Free { child, .. } => Some((at + 3, columns(child, z))),
            };
            if let Some((first, Q)) = turned {
                let relative = nalgebra::Rotation3::from_matrix_unchecked(before.transpose() * rotation(&Q));
                let turn = log(&Quat::from_rotation_matrix(&relative));
                out[first..first + 3].copy_from_slice(turn.as_slice());
            }
            at += joint.count();
        }
    }
}

impl CouplingWork {
    /// Begins a step of h seconds from the flat blocks z with the drives at hand, which are checked.
    pub(crate) fn begin(&mut self, articulations: &[Articulation], z: &[f64], h: f64) {
        let start = Instant::now();
        self.scale = 1.0 / (h * h);
        self.parts.resize_with(articulations.len(), Part::default);
        let Self { parts, drives, reference, room, .. } = self;
        for ((a, drive), part) in articulations.iter().zip(&*drives).zip(parts) {
            part.begin(a, drive, z, reference);
            part.diagonal.clear();
            if a.freedoms() > DENSE {
                part.split_mass(room);
            }
        }
        self.spent += start.elapsed();
    }

    /// True if there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Hands out the number and the energy \[J\] of every articulation.
    pub(crate) fn energies(&mut self, z: &[f64], mut take: impl FnMut(usize, f64)) {
        if self.parts.is_empty() {
            return;
        }
        let start = Instant::now();
        for (k, part) in self.parts.iter_mut().enumerate() {
            part.evaluate(z);
            take(k, 0.5 * self.scale * part.r.iter().zip(&part.g).map(|(r, g)| r * g).sum::<f64>());
        }
        self.spent += start.elapsed();
    }

    /// b −= ∇.
    pub(crate) fn slope(&mut self, z: &[f64], b: &mut [f64]) {
        let start = Instant::now();
        for part in &mut self.parts {
            part.evaluate(z);
            part.differentiate(z, &mut self.list);
            let n = part.blocks.len();
            for (i, g) in part.g.iter().enumerate() {
                for (k, block) in part.blocks.iter().enumerate() {
                    add_triple(b, *block as usize, &(-self.scale * g * part.jacobian[i * n + k]));
                }
            }
        }
        self.spent += start.elapsed();
    }

    /// Adds the curvature where the slope was taken last: JᵀMJ, and the positive part of what the bending of θ adds.
    ///
    /// What is one dense block goes into the blocks; of many freedoms, D, and the rest into long rows.
    pub(crate) fn curvature(&mut self, z: &[f64], out: &mut Blocks, rows: &mut LongRows) {
        let start = Instant::now();
        self.add_curvature(z, true, out);
        let mut row = std::mem::take(&mut self.row);
        for part in self.parts.iter().filter(|p| p.is_split()) {
            part.add_long_rows(self.scale, &mut row, rows);
        }
        self.row = row;
        self.spent += start.elapsed();
    }

    fn add_curvature(&mut self, z: &[f64], positive: bool, out: &mut Blocks) {
        for part in &mut self.parts {
            if part.is_split() {
                part.add_diagonal(self.scale, out);
            } else {
                part.add_dense(self.scale, out);
            }
            for (residual, g) in part.residuals.iter().zip(&part.g) {
                for (factor, measure) in &residual.parts {
                    measure.add_curvature(z, self.scale * factor * g, positive, out);
                }
            }
        }
    }

    /// What came out at z, with the contact forces `f` on the blocks.
    pub(crate) fn finish(&mut self, articulations: &[Articulation], z: &[f64], f: &[f64]) {
        self.reports.resize_with(articulations.len(), DriveReport::default);
        for ((a, part), report) in articulations.iter().zip(&mut self.parts).zip(&mut self.reports) {
            part.evaluate(z);
            let wrench = |first: u32| {
                let at = first as usize;
                let turn = |k: usize| triple(z, at + k).cross(&triple(f, at + k));
                (triple(f, at), (1..4).map(turn).sum())
            };
            part.increments(a, z, &mut report.delta);
            report.force.clear();
            report.force.extend(part.g.iter().map(|g| self.scale * g));
            report.wrenches.clear();
            report.wrenches.extend(a.links.iter().map(|l| wrench(l.first)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Driver, Link};
    use super::*;
    use crate::math::Random;

    /// Bodies at blocks 0, 4, 8 and 12: free, hinge, slider, ball.
    fn sample(random: &mut Random) -> (Vec<f64>, Articulation, Drive) {
        let mut vector = |size: f64| Vec3::from_fn(|_, _| random.between(-size, size));
        let mut z = Vec::new();
        for _ in 0..4 {
            z.extend_from_slice(vector(1.0).as_slice());
            let stretch = Mat3::from_columns(&[0; 3].map(|_| vector(0.05)));
            z.extend_from_slice((matrix(&exp(&vector(2.0))) * (Mat3::identity() + stretch)).as_slice());
        }
        let mut frame = |first: u32| {
            let R = matrix(&exp(&vector(2.0)));
            [0, 1, 2].map(|k| BlockVector::direction(first, &R.column(k).into_owned()))
        };
        let [[_, n0, b0], [_, n1, b1], [t1, ..], [t2, ..]] = [frame(0), frame(4), frame(4), frame(8)];
        let (ball, arm) = (frame(8), frame(12));
        let child = frame(0);
        let d = BlockVector::point(8, &vector(0.3)).minus(&BlockVector::point(4, &vector(0.3)));
        let point = BlockVector::point(0, &vector(0.3));
        let joints = vec![
            ("base".into(), Freedom::Free { point, child: Box::new(child) }),
            ("hinge".into(), Freedom::Single(Measure::Angle([n0, b0, n1, b1]))),
            ("slider".into(), Freedom::Single(Measure::Dot([d, t1.combined(0.5, &t2, 0.5)]))),
            ("ball".into(), Freedom::Ball { parent: Box::new(ball), child: Box::new(arm) }),
        ];
        let links =
            (0..4).map(|k| Link { name: format!("link{k}"), first: 4 * k, center: Vec3::zeros() }).collect();
        let a =
            Articulation { name: "arm".into(), joints, links, between: Vec::new(), driver: Driver::External };
        let m = a.freedoms();
        let L: Vec<f64> = (0..m * m).map(|_| random.between(-1.0, 1.0)).collect();
        let product = |i: usize, j: usize| (0..m).map(|k| L[i * m + k] * L[j * m + k]).sum::<f64>();
        let mass = (0..m * m).map(|e| product(e / m, e % m)).collect();
        let delta = (0..m).map(|_| random.between(-0.5, 0.5)).collect();
        (z, a, Drive { mass, delta, reference: Vec::new() })
    }

    #[test]
    fn slope_and_curvature_of_the_term_are_derivatives() {
        let mut random = Random::new(21);
        for _ in 0..10 {
            let (start, a, drive) = sample(&mut random);
            let mut work = CouplingWork { drives: vec![drive], ..CouplingWork::default() };
            work.begin(std::slice::from_ref(&a), &start, 1.0);
            let z: Vec<f64> = start.iter().map(|z| z + random.between(-0.1, 0.1)).collect();
            let y: Vec<f64> = z.iter().map(|_| random.between(-1.0, 1.0)).collect();
            let e = 1e-3;
            let at = |k: f64| z.iter().zip(&y).map(|(z, y)| z + k * e * y).collect::<Vec<f64>>();
            let four = |f: [f64; 4]| (f[0] - 8.0 * f[1] + 8.0 * f[2] - f[3]) / (12.0 * e);
            let steps = [-2.0, -1.0, 1.0, 2.0];
            let mut slope = |z: &[f64]| {
                let mut b = vec![0.0; z.len()];
                work.slope(z, &mut b);
                b.iter().map(|b| -b).collect::<Vec<f64>>()
            };
            let slopes = steps.map(|k| slope(&at(k)));
            let along: f64 = slope(&z).iter().zip(&y).map(|(g, y)| g * y).sum();
            let mut energy = |z: &[f64]| {
                let mut sum = 0.0;
                work.energies(z, |_, energy| sum += energy);
                sum
            };
            let wanted = four(steps.map(|k| energy(&at(k))));
            assert!((along - wanted).abs() < 1e-9 * (1.0 + wanted.abs()), "{along} {wanted}");
            for apart in [false, true] {
                if apart {
                    let mut room = Vec::new();
                    work.parts.iter_mut().for_each(|p| p.split_mass(&mut room));
                    assert!(work.parts.iter().all(Part::is_split));
                }
                let mut slope = vec![0.0; z.len()];
                work.slope(&z, &mut slope);
                let (mut blocks, mut rows) = (Blocks::default(), LongRows::default());
                work.add_curvature(&z, false, &mut blocks);
                let mut row = Vec::new();
                work.parts
                    .iter()
                    .filter(|p| p.is_split())
                    .for_each(|p| p.add_long_rows(1.0, &mut row, &mut rows));
                assert_eq!(rows.is_empty(), !apart);
                let mut found = vec![0.0; z.len()];
                blocks.add_times(&y, &mut found);
                rows.add_times(1.0, &y, &mut found);
                let size = found.iter().fold(1.0f64, |m, x| m.max(x.abs()));
                for (i, found) in found.iter().enumerate() {
                    let wanted = four([0, 1, 2, 3].map(|k| slopes[k][i]));
                    assert!((found - wanted).abs() < 1e-9 * size, "{apart}: {found} {wanted}");
                }
                // The curvature that Newton takes is not negative.
                let (mut blocks, mut found) = (Blocks::default(), vec![0.0; z.len()]);
                rows.clear();
                work.curvature(&z, &mut blocks, &mut rows);
                blocks.add_times(&y, &mut found);
                rows.add_times(1.0, &y, &mut found);
                assert!(found.iter().zip(&y).map(|(a, b)| a * b).sum::<f64>() > 0.0);
            }
        }
    }
}
