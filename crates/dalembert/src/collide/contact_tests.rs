use super::contact::*;
use super::*;
use crate::collide::barrier::{FrictionLaw, LogBarrier};
use crate::math::{Random, Vec3, set_triple};

/// Affine boxes, a soft cube, a rod, points, a fixed triangle and a floor, all near each other: the surface, the flat
/// unknowns and the positions of prescribed vertices.
fn scene(seed: u64) -> (Surface, Vec<f64>, Vec<Vec3>) {
    let mut r = Random::new(seed);
    let (mut surface, mut z, mut x) = (Surface::default(), Vec::new(), Vec::new());
    let some = |r: &mut Random, size: f64| Vec3::from_fn(|_, _| r.between(-size, size));
    let tet = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]];
    for _ in 0..3 {
        let first = z.len() as u32 / 3;
        let maps: Vec<VertexMap> = (0..4).map(|_| VertexMap::affine(first, &some(&mut r, 0.5))).collect();
        surface.add(&BodyGeometry { maps: &maps, triangles: &tet, ..Default::default() }).unwrap();
        z.extend_from_slice(some(&mut r, 0.3).as_slice());
        for k in 0..9 {
            z.push(if k % 4 == 0 { 1.0 } else { 0.0 } + r.between(-0.1, 0.1));
        }
        x.extend([Vec3::zeros(); 4]);
    }
    for (triangles, segments, radius) in
        [(&tet[..], &[][..], 0.0), (&[], &[[0, 1], [1, 2], [2, 3]], 0.01), (&[], &[], 0.02)]
    {
        let first = z.len() as u32 / 3;
        let mut maps: Vec<VertexMap> = (0..4).map(|i| VertexMap::point(first + i)).collect();
        x.extend((0..4).map(|_| some(&mut r, 0.5)));
        for p in &x[x.len() - 4..] {
            z.extend_from_slice(p.as_slice());
        }
        if radius > 0.015 {
            maps[3] = VertexMap::PRESCRIBED;
        }
        surface
            .add(&BodyGeometry {
                maps: &maps,
                triangles,
                segments,
                radius,
                self_contact: true,
                group: 0,
                flat_edges: &[],
            })
            .unwrap();
    }
    let fixed = [VertexMap::PRESCRIBED; 3];
    surface.add(&BodyGeometry { maps: &fixed, triangles: &[[0, 1, 2]], ..Default::default() }).unwrap();
    x.extend((0..3).map(|_| some(&mut r, 0.5)));
    surface.half_planes.push(HalfPlane { normal: Vec3::new(0.0, 0.6, 0.8), offset: -0.3, group: 0 });
    (surface, z, x)
}

struct Found {
    set: ContactSet,
    x: Vec<Vec3>,
}

fn contacts(surface: &Surface, z: &[f64], fixed: &[Vec3], candidates: &Candidates, gap: f64) -> Found {
    let mut x = fixed.to_vec();
    surface.positions(z, &mut x);
    let mut set = ContactSet::default();
    set.update(surface, candidates, &x, gap);
    Found { set, x }
}

const GAP: f64 = 0.2;

fn candidates(surface: &Surface, z: &[f64], fixed: &[Vec3]) -> Candidates {
    let mut x = fixed.to_vec();
    surface.positions(z, &mut x);
    let mut list = Candidates::default();
    Broad::default().near(surface, &x, 2.0 * GAP, usize::MAX, &mut list).unwrap();
    list
}

/// The smooth energy Σ b(g) over contacts that do not touch.
fn energy(surface: &Surface, z: &[f64], fixed: &[Vec3], list: &Candidates) -> f64 {
    let law = LogBarrier { gap_max: GAP };
    let found = contacts(surface, z, fixed, list, GAP);
    found.set.contacts.iter().filter(|c| c.gap > 0.01).map(|c| law.at(c.gap)[0]).sum()
}

/// Whoever is left out and comes back, contacts are those that a search finds, in its order.
#[test]
fn contacts_that_were_left_out_come_back_as_they_were() {
    let mut random = Random::new(31);
    let (mut moved, mut most) = (0, 0);
    for seed in 0..6 {
        let (surface, z, fixed) = scene(seed);
        let list = candidates(&surface, &z, &fixed);
        let mut found = contacts(&surface, &z, &fixed, &list, GAP).set;
        let all = found.contacts.clone();
        assert!(all.is_sorted_by_key(|c| (c.body_pair(), c.kind, c.pair)));
        let mut left_out = Vec::new();
        for round in 0..20 {
            let quiet: Vec<bool> =
                (surface.bodies.iter()).map(|_| round % 5 < 4 && random.between(0.0, 1.0) < 0.7).collect();
            let still = |b: u32| b == u32::MAX || quiet[b as usize];
            let count = |bodies: [u32; 2]| !bodies.into_iter().all(still);
            moved += usize::from(found.divide(&mut left_out, count));
            found.map(&surface);
            most = most.max(left_out.len());
            let (own, others): (Vec<Contact>, Vec<Contact>) = all.iter().partition(|c| count(c.bodies));
            assert_eq!((&found.contacts, &left_out), (&own, &others));
        }
    }
    assert!(moved > 60 && most > 5, "{moved} {most}");
}

#[test]
fn gradient_of_all_contacts_agrees_with_differences() {
    let law = LogBarrier { gap_max: GAP };
    let mut kinds = std::collections::BTreeSet::new();
    for seed in 0..6 {
        let (surface, z, fixed) = scene(seed);
        let list = candidates(&surface, &z, &fixed);
        let found = contacts(&surface, &z, &fixed, &list, GAP);
        kinds.extend(found.set.contacts.iter().map(|c| c.kind));
        let forces: Vec<Vec3> = found
            .set
            .contacts
            .iter()
            .map(|c| if c.gap > 0.01 { law.at(c.gap)[1] * c.normal } else { Vec3::zeros() })
            .collect();
        let mut g = vec![0.0; z.len()];
        found.set.add_gradient(&forces, &mut g);
        let (h, mut z) = (1e-7, z);
        for a in 0..z.len() {
            let at = z[a];
            let [up, down] = [h, -h].map(|h| {
                z[a] = at + h;
                energy(&surface, &z, &fixed, &list)
            });
            z[a] = at;
            let derivative = (up - down) / (2.0 * h);
            assert!(
                (derivative - g[a]).abs() < 1e-5 * (1.0 + g[a].abs()),
                "seed {seed} number {a}: {derivative} {}",
                g[a]
            );
        }
    }
    assert_eq!(kinds.len(), 5, "{kinds:?}");
}

/// The contact Hessian as a dense matrix.
fn dense(set: &ContactSet, N: &[Sym3], n: usize) -> nalgebra::DMatrix<f64> {
    let mut H = nalgebra::DMatrix::zeros(n, n);
    set.add_hessian(N, &mut |row: u32, column: u32, N: &Sym3| {
        assert!(row >= column);
        let full = [[N[0], N[1], N[2]], [N[1], N[3], N[4]], [N[2], N[4], N[5]]];
        for i in 0..3 {
            for j in 0..3 {
                H[(3 * row as usize + i, 3 * column as usize + j)] += full[i][j];
                if row != column {
                    H[(3 * column as usize + j, 3 * row as usize + i)] += full[i][j];
                }
            }
        }
    });
    H
}

#[test]
fn hessian_is_the_sum_of_its_contacts_and_positive() {
    let mut random = Random::new(3);
    for seed in 0..6 {
        let (surface, z, fixed) = scene(seed);
        let list = candidates(&surface, &z, &fixed);
        let Found { set, x } = contacts(&surface, &z, &fixed, &list, GAP);
        // Any positive N: a normal part and a friction part.
        let law = FrictionLaw { slip_max: 0.1 };
        let N: Vec<Sym3> = set
            .contacts
            .iter()
            .map(|c| {
                let (_, _, T) = law.of_slip(0.7, &c.relative(&x), &c.normal);
                let k = random.between(0.1, 2.0);
                std::array::from_fn(|i| dyad(k, &c.normal)[i] + T[i])
            })
            .collect();
        let H = dense(&set, &N, z.len());
        // yᵀ H y = Σ (Σ w ẋ)ᵀ N (Σ w ẋ) with ẋ the motion of the vertices for ż = y.
        for _ in 0..5 {
            let mut y = vec![0.0; z.len()];
            for b in 0..z.len() / 3 {
                set_triple(&mut y, b, &Vec3::from_fn(|_, _| random.between(-1.0, 1.0)));
            }
            let mut v = vec![Vec3::zeros(); x.len()];
            surface.positions(&y, &mut v);
            for (v, m) in v.iter_mut().zip(&surface.maps) {
                if m.n == 0 {
                    *v = Vec3::zeros();
                }
            }
            let expected: f64 = set
                .contacts
                .iter()
                .zip(&N)
                .map(|(c, N)| {
                    let u = c.relative(&v);
                    nalgebra::Matrix3::new(N[0], N[1], N[2], N[1], N[3], N[4], N[2], N[4], N[5]).quadform(&u)
                })
                .sum();
            let y = nalgebra::DVector::from_vec(y);
            let got = (&H * &y).dot(&y);
            assert!((got - expected).abs() < 1e-12 * expected, "{got} {expected}");
        }
        assert!(H.symmetric_eigenvalues().min() > -1e-12 * H.norm());
    }
}

trait Quadform {
    fn quadform(&self, u: &Vec3) -> f64;
}

impl Quadform for nalgebra::Matrix3<f64> {
    fn quadform(&self, u: &Vec3) -> f64 {
        u.dot(&(self * u))
    }
}

#[test]
fn exact_hessian_of_a_contact_agrees_with_differences() {
    let law = LogBarrier { gap_max: GAP };
    let mut checked = 0;
    for seed in 0..4 {
        let (surface, z, fixed) = scene(seed);
        let list = candidates(&surface, &z, &fixed);
        let Found { set, x } = contacts(&surface, &z, &fixed, &list, GAP);
        for c in set.contacts.iter().filter(|c| c.gap > 0.05) {
            let [_, b1, b2] = law.at(c.gap);
            let H = c.exact_hessian(&x, b1, b2);
            let own: Candidates = match c.kind {
                Kind::VertexTriangle => Candidates { vertex_triangle: vec![c.pair], ..Default::default() },
                Kind::EdgeEdge => Candidates { edge_edge: vec![c.pair], ..Default::default() },
                Kind::VertexEdge => Candidates { vertex_edge: vec![c.pair], ..Default::default() },
                Kind::VertexVertex => Candidates { vertex_vertex: vec![c.pair], ..Default::default() },
                Kind::VertexPlane => Candidates { vertex_plane: vec![c.pair], ..Default::default() },
            };
            let mut one = ContactSet::default();
            let h = 1e-6;
            for a in 0..12 {
                if c.vertices[..a / 3].contains(&c.vertices[a / 3]) {
                    continue;
                }
                let ends: Vec<Option<Contact>> = [h, -h]
                    .map(|h| {
                        let mut y = x.clone();
                        y[c.vertices[a / 3] as usize][a % 3] += h;
                        one.update(&surface, &own, &y, GAP);
                        one.contacts.first().copied()
                    })
                    .to_vec();
                let (Some(up), Some(down)) = (ends[0], ends[1]) else { continue };
                if up.region != c.region || down.region != c.region {
                    continue;
                }
                for b in 0..12 {
                    let derivative = |c: &Contact| law.at(c.gap)[1] * c.weights[b / 3] * c.normal[b % 3];
                    let second = (derivative(&up) - derivative(&down)) / (2.0 * h);
                    assert!(
                        (second - H[a][b]).abs() < 1e-4 * (1.0 + b2.abs()),
                        "{:?}: {second} {}",
                        c.kind,
                        H[a][b]
                    );
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 3000, "{checked}");
}

#[test]
fn contacts_are_sorted_by_bodies_and_do_not_depend_on_history() {
    let (surface, z, fixed) = scene(1);
    let list = candidates(&surface, &z, &fixed);
    let Found { mut set, x } = contacts(&surface, &z, &fixed, &list, GAP);
    assert!(set.contacts.is_sorted_by_key(|c| (c.body_pair(), c.kind, c.pair)));
    let before = set.contacts.clone();
    set.update(&surface, &list, &vec![Vec3::zeros(); x.len()], GAP);
    assert!(set.contacts.iter().all(|c| c.normal.norm() > 0.99), "coinciding points have a normal");
    set.update(&surface, &list, &x, GAP);
    assert_eq!(before, set.contacts);
}

#[test]
fn merging_changes_neither_energy_nor_gradient() {
    let law = LogBarrier { gap_max: GAP };
    let (mut all, mut fewer) = (0, 0);
    for seed in 0..20 {
        let (surface, z, fixed) = scene(seed);
        let list = candidates(&surface, &z, &fixed);
        let Found { set, x } = contacts(&surface, &z, &fixed, &list, GAP);
        let mut merged = ContactSet::default();
        merged.update_merged(&surface, &list, &x, GAP);
        all += set.len();
        fewer += merged.len();
        let names: Vec<_> = merged.contacts.iter().map(|c| (c.body_pair(), c.kind, c.pair)).collect();
        assert!(names.is_sorted_by(|a, b| a < b), "unique names");
        let of = |set: &ContactSet| {
            let counts = |c: &Contact| if c.gap > 0.01 { c.multiplicity } else { 0.0 };
            let apart = set.contacts.iter().filter(|c| c.gap > 0.01);
            let energy: f64 = apart.map(|c| c.multiplicity * law.at(c.gap)[0]).sum();
            let forces: Vec<Vec3> = set
                .contacts
                .iter()
                .map(|c| if c.gap > 0.01 { counts(c) * law.at(c.gap)[1] * c.normal } else { Vec3::zeros() })
                .collect();
            let N: Vec<Sym3> = set.contacts.iter().map(|c| dyad(counts(c), &c.normal)).collect();
            let mut g = vec![0.0; z.len()];
            set.add_gradient(&forces, &mut g);
            (energy, g, dense(set, &N, z.len()))
        };
        let ((e, g, H), (e1, g1, H1)) = (of(&set), of(&merged));
        assert!((e - e1).abs() < 1e-12 * e, "{e} {e1}");
        assert!(g.iter().zip(&g1).all(|(a, b)| (a - b).abs() < 1e-9), "{g:?} {g1:?}");
        assert!((&H - &H1).norm() < 1e-9 * H.norm());
        for c in &merged.contacts {
            assert!(c.kind == Kind::VertexPlane || (c.relative(&x).normalize() - c.normal).norm() < 1e-9);
        }
    }
    assert!(5 * fewer < 4 * all, "{fewer} of {all}");
}

#[test]
fn contacts_of_bodies_that_moved_are_renewed_and_those_of_others_stay() {
    let (mut stayed, mut changed) = (0, 0);
    for seed in 0..40 {
        let (surface, z, fixed) = scene(seed);
        let list = candidates(&surface, &z, &fixed);
        let Found { mut set, mut x } = contacts(&surface, &z, &fixed, &list, GAP);
        let mut random = Random::new(1000 + seed);
        for _ in 0..5 {
            let before = set.contacts.clone();
            let moved: Vec<bool> = surface.bodies.iter().map(|_| random.between(0.0, 1.0) < 0.3).collect();
            for (body, _) in surface.bodies.iter().zip(&moved).filter(|(_, moved)| **moved) {
                let shift = Vec3::from_fn(|_, _| random.between(-0.05, 0.05));
                body.vertices.clone().for_each(|v| x[v as usize] += shift);
            }
            set.renew(&surface, &list, &x, GAP, |b| moved[b as usize]);
            let mut whole = ContactSet::default();
            whole.update(&surface, &list, &x, GAP);
            assert_eq!(set.contacts, whole.contacts, "seed {seed}");
            let known = |c: &&Contact| before.contains(c);
            stayed += set.contacts.iter().filter(known).count();
            changed += set.contacts.iter().filter(|c| !known(c)).count();
        }
    }
    assert!(stayed > 1000 && changed > 1000, "{stayed} {changed}");
}
