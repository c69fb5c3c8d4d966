//! Contact potentials of the method `ipc`: incremental potential contact (Li, Ferguson, Schneider et al. 2020).
//!
//! `NormalPotential` has a barrier for every pair that is near, `FrictionPotential` friction with normal forces of an earlier
//! iterate; `candidates` choose the pairs that are looked at, and say how far a path may go. `ContactPotential` is their sum
//! over the vertices of a [`ContactGeometry`], where they are (x) and where a path would take them (x1).

mod cached;
mod culling;
mod geometry;

mod candidate_cache;
mod path;

mod candidates;
mod friction;

mod barrier;

pub(crate) use barrier::NormalPotential;
pub(crate) use cached::Cached;
pub(crate) use friction::FrictionPotential;
pub use geometry::{ContactGeometry, SETTLING, StartGap};
pub(crate) use path::VertexPath;

use crate::collide::{Contact, ContactSet, HessianSink, Sym3, TooMany};
use crate::math::{Blocks, Mat3, Vec3};
use candidates::{ActiveCandidates, ccd_options, only_contacts_stop};

/// Where the contacts at hand were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum TakenAt {
    #[default]
    Nowhere,
    /// At x, and the number of the iterate.
    Iterate(u64),
    /// At x1, and the number of the placement.
    Placement(u64),
}

/// Which of the two ends of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// x, the iterate.
    Iterate,
    /// x1, the end of the path.
    Trial,
}

/// Barrier and friction of all that is near.
#[derive(Debug, Default)]
pub(crate) struct ContactPotential {
    pub path: VertexPath,
    candidates: ActiveCandidates,
    pub set: ContactSet,
    taken: TakenAt,
    /// What was active when contacts were taken or divided last.
    activation: Option<u64>,
    /// Contacts of inactive bodies, which stand still; if `complete` none is missing.
    inactive: Vec<Contact>,
    complete: bool,
    pub normal: NormalPotential,
    pub friction: FrictionPotential,
    /// Energy of barrier and friction by bodies, where it was taken last \[J\].
    pub energies: Vec<f64>,
    /// False if nothing can touch.
    can_touch: bool,
}

/// Shares what a contact has between its bodies: by halves, or all of it to the one that can move.
fn share_between(geometry: &ContactGeometry, bodies: [u32; 2], amount: f64, out: &mut [f64]) {
    let free = |b: u32| b != u32::MAX && !geometry.surface.bodies[b as usize].prescribed();
    match bodies.map(free) {
        [true, true] => bodies.iter().for_each(|&b| out[b as usize] += 0.5 * amount),
        [true, false] => out[bodies[0] as usize] += amount,
        [false, true] => out[bodies[1] as usize] += amount,
        [false, false] => {}
    }
}

fn sym3(N: &Mat3) -> Sym3 {
    [N[(0, 0)], N[(0, 1)], N[(0, 2)], N[(1, 1)], N[(1, 2)], N[(2, 2)]]
}

fn mat3([xx, xy, xz, yy, yz, zz]: &Sym3) -> Mat3 {
    Mat3::new(*xx, *xy, *xz, *xy, *yy, *yz, *xz, *yz, *zz)
}

/// Puts the blocks of contacts into a list.
pub(crate) struct BlockSink<'a>(pub &'a mut Blocks);

impl HessianSink for BlockSink<'_> {
    fn add(&mut self, row: u32, column: u32, N: &Sym3) {
        let N = mat3(N);
        self.0.add(row as usize, column as usize, N);
        if row != column {
            self.0.add(column as usize, row as usize, N);
        }
    }
}

impl ContactPotential {
    /// Begins a step at the blocks `q` that ends at time t \[s\]: slip counts from the blocks `start`, and friction is smoothed below
    /// `slip` \[m\].
    pub(crate) fn begin(
        &mut self,
        geometry: &ContactGeometry,
        q: &[f64],
        start: &[f64],
        slip: f64,
        t: f64,
    ) -> Result<(), TooMany> {
        self.can_touch = geometry.can_touch();
        self.friction.begin(geometry, start, slip);
        // Where the last step ended its contacts serve.
        let same = self.normal.gap == geometry.gap;
        self.path.begin(geometry, q);
        self.candidates.begin(&self.path.x);
        self.normal.begin(geometry);
        self.energies.clear();
        self.energies.resize(geometry.surface.bodies.len(), 0.0);
        let same = self.normal.widen_starts(geometry, t) && same && self.is_at_iterate();
        if !same {
            (self.taken, self.complete) = (TakenAt::Nowhere, false);
        }
        self.cover(geometry).map(|_| ())
    }

    fn is_at_iterate(&self) -> bool {
        self.taken == TakenAt::Iterate(self.path.iterate)
    }

    fn cover(&mut self, geometry: &ContactGeometry) -> Result<f64, TooMany> {
        if self.can_touch { self.candidates.cover(geometry, &self.path) } else { Ok(1.0) }
    }

    /// x1 becomes x, where the contacts were taken.
    pub(crate) fn arrive(&mut self) {
        self.path.arrive();
        self.taken = TakenAt::Iterate(self.path.iterate);
    }

    /// Follows the pairs with a vertex that is `changed` from x to x1 and lowers `part` of their vertices to how far each pair
    /// may go, at most 1. With none named all are followed. Returns the part of the path that was looked at.
    pub(crate) fn bound_vertices(
        &mut self,
        geometry: &ContactGeometry,
        rest: f64,
        changed: Option<&[bool]>,
        part: &mut [f64],
    ) -> Result<f64, TooMany> {
        if !self.can_touch {
            return Ok(1.0);
        }
        if !self.path.is_finite() {
            return Ok(0.0);
        }
        // Where some vertices stop and others go on the paths of bodies are others, even if each of them is a part of its old one.
        let covered = self.cover(geometry)?;
        let follows = |v: &u32| changed.is_none_or(|c| c[*v as usize]);
        let options = ccd_options(geometry, rest);
        let longest = |vertices: [u32; 4]| f64::from(u8::from(vertices.iter().any(follows)));
        let mut take = |vertices: [u32; 4], t: f64| {
            for v in vertices {
                let part = &mut part[v as usize];
                *part = part.min(t);
            }
        };
        let Self { path, candidates, set, .. } = self;
        let surface = &geometry.surface;
        if self.taken == TakenAt::Iterate(path.iterate) && only_contacts_stop(geometry, path, rest) {
            let take = |c: &Contact, t: f64| take(c.vertices, t);
            let of = |c: &Contact| longest(c.vertices);
            set.each_time(surface, &path.x, &path.x1, &options, of, take);
            return Ok(covered);
        }
        let of = |v: [u32; 4], _: [u32; 2]| longest(v);
        let take = |v: [u32; 4], _: [u32; 2], t: f64| take(v, t);
        if changed.is_some()
            && let Some(pairs) = candidates.changed(geometry, path, follows)
        {
            pairs.each_vertex_time(surface, &path.x, &path.x1, &options, of, take);
            return Ok(covered);
        }
        candidates.choose(geometry, path);
        candidates.pairs().each_vertex_time(surface, &path.x, &path.x1, &options, of, take);
        Ok(covered)
    }

    /// Follows the pairs from x to x1: `longest` says how far a pair of bodies is followed, `take` gets how far it may
    /// go. Returns the part of the path that was looked at.
    pub(crate) fn bound_bodies(
        &mut self,
        geometry: &ContactGeometry,
        rest: f64,
        longest: impl Fn([u32; 2]) -> f64,
        mut take: impl FnMut([u32; 2], f64),
    ) -> Result<f64, TooMany> {
        if !self.can_touch {
            return Ok(1.0);
        }
        if !self.path.is_finite() {
            return Ok(0.0);
        }
        let covered = self.cover(geometry)?;
        let options = ccd_options(geometry, rest);
        let Self { path, candidates, set, .. } = self;
        let surface = &geometry.surface;
        if self.taken == TakenAt::Iterate(path.iterate) && only_contacts_stop(geometry, path, rest) {
            let of = |c: &Contact| longest(c.bodies);
            let take = |c: &Contact, t: f64| take(c.bodies, t);
            set.each_time(surface, &path.x, &path.x1, &options, of, take);
            return Ok(covered);
        }
        candidates.choose(geometry, path);
        candidates.pairs().each_time(surface, &path.x, &path.x1, &options, longest, take);
        Ok(covered)
    }

    /// Takes the contacts at one end of the path, if they are not those at hand.
    pub(crate) fn take_contacts(&mut self, geometry: &ContactGeometry, end: End) {
        let (here, known) = (self.is_at_iterate(), self.activation == Some(self.path.activation));
        let trial = end == End::Trial;
        if !self.can_touch || here && known && !trial {
            return;
        }
        // Others are left out than when contacts were taken.
        let mut changed = true;
        if !known {
            self.complete &= here;
            changed = self.complete && self.divide();
        }
        self.activation = Some(self.path.activation);
        if !trial && here && self.complete {
            if changed {
                self.set.map(&geometry.surface);
                self.normal.take_barriers(geometry, &self.set.contacts);
            }
            return;
        }
        let Self { path, candidates, set, .. } = self;
        candidates.choose(geometry, path);
        let x = if trial { &path.x1 } else { &path.x };
        match self.taken {
            TakenAt::Placement(before) if trial && known => {
                let moved = |b: u32| path.moved_since(b, before);
                set.renew(&geometry.surface, candidates.pairs(), x, geometry.gap, moved);
            }
            _ => set.update(&geometry.surface, candidates.pairs(), x, geometry.gap),
        }
        self.taken = match end {
            End::Iterate => TakenAt::Iterate(path.iterate),
            End::Trial => TakenAt::Placement(path.placement),
        };
        if !path.has_inactive() {
            self.inactive.clear();
            self.complete = true;
        }
        self.normal.take_barriers(geometry, &set.contacts);
    }

    /// The contacts at x that count are the set, all others are inactive; true if the set has changed.
    fn divide(&mut self) -> bool {
        let Self { set, inactive, path, .. } = self;
        let all = !path.has_inactive();
        // As pairs are chosen.
        let counts = |b: u32| b != u32::MAX && path.is_active(b);
        set.divide(inactive, |bodies| all || bodies.into_iter().any(counts))
    }

    /// Takes the contacts at one end of the path; the energy of barrier and friction there \[J\], infinite where something
    /// touches.
    pub(crate) fn energy(&mut self, geometry: &ContactGeometry, end: End) -> f64 {
        if !self.can_touch {
            return 0.0;
        }
        self.take_normal_energy(geometry, end);
        self.sum(geometry, end)
    }

    /// Takes the contacts at one end of the path, and the energies of their barriers.
    pub(crate) fn take_normal_energy(&mut self, geometry: &ContactGeometry, end: End) {
        self.take_contacts(geometry, end);
        let x = if end == End::Trial { &self.path.x1 } else { &self.path.x };
        self.normal.take_energy(geometry, &self.set.contacts, x);
    }

    /// The energy of the contacts taken last, where they were taken \[J\].
    pub(crate) fn sum(&mut self, geometry: &ContactGeometry, end: End) -> f64 {
        if !self.can_touch {
            return 0.0;
        }
        let Self { path, normal, friction, energies, .. } = self;
        let x = if end == End::Trial { &path.x1 } else { &path.x };
        energies.clone_from(&normal.energies);
        friction.take_energy(geometry, path, x, energies);
        let sum = normal.energy + friction.energy;
        if sum.is_nan() { f64::INFINITY } else { sum }
    }

    /// b −= the gradient of barrier and friction at the contacts taken last, at x; Hessians are kept for
    /// [`add_hessian`](Self::add_hessian).
    pub(crate) fn gradient(&mut self, geometry: &ContactGeometry, b: &mut [f64]) {
        self.normal.rounding.fill(0.0);
        if self.can_touch {
            self.normal.gradient(geometry, &self.set, &self.path, b);
            self.friction.gradient(&self.path, b);
        }
    }

    /// Adds the blocks of the Hessian where the gradient was taken last.
    pub(crate) fn add_hessian(&self, out: &mut impl HessianSink) {
        self.add_hessian_of(|_| true, out);
    }

    /// The same for contacts of `wanted` bodies (a half-plane is `u32::MAX`).
    pub(crate) fn add_hessian_of(&self, wanted: impl Fn([u32; 2]) -> bool, out: &mut impl HessianSink) {
        if self.can_touch {
            let wanted = |bodies| !self.path.is_idle(bodies) && wanted(bodies);
            self.set.add_hessian_of(self.normal.hessians(), wanted, out);
            self.friction.set.add_hessian_of(self.friction.hessians(), wanted, out);
        }
    }

    /// b −= the change of gradient that the motion of prescribed vertices from x to the blocks `z` makes, to first order.
    pub(crate) fn follow_prescribed(&mut self, geometry: &ContactGeometry, z: &[f64], b: &mut [f64]) {
        self.path.place(geometry, z, |_| true);
        if !self.can_touch {
            return;
        }
        let maps = &geometry.surface.maps;
        let (x, x1) = (&self.path.x, &self.path.x1);
        let moved = |c: &Contact| -> Vec3 {
            let prescribed = c.vertices.iter().zip(&c.weights).filter(|(v, _)| maps[**v as usize].n == 0);
            prescribed.map(|(&v, w)| *w * (x1[v as usize] - x[v as usize])).sum()
        };
        let of = |set: &ContactSet, N: &[Sym3]| -> Vec<Vec3> {
            set.contacts.iter().zip(N).map(|(c, N)| -(mat3(N) * moved(c))).collect()
        };
        self.set.add_gradient(&of(&self.set, self.normal.hessians()), b);
        self.friction.set.add_gradient(&of(&self.friction.set, self.friction.hessians()), b);
    }

    /// Takes friction from the contacts taken last, at x.
    pub(crate) fn take_friction(&mut self, geometry: &ContactGeometry) {
        if !self.can_touch {
            self.friction.change.clear();
            self.friction.change.resize(geometry.surface.bodies.len(), 0.0);
            return;
        }
        self.friction.take(geometry, &self.set, self.normal.normal_forces(), &self.path);
        self.normal.take_reference();
    }

    /// Takes by how much the Hessian of each body's contacts has changed since friction was taken.
    pub(crate) fn take_hessian_change(&mut self) -> &[f64] {
        let Self { path, set, normal, friction, .. } = self;
        let (start, slip_max) = friction.slip_reference();
        normal.take_hessian_change(&friction.set, set, path, start, slip_max);
        &normal.hessian_change
    }

    /// Calls `visit` with every contact taken last at x, the point where they touch \[m\] and the force on its first body \[N\], with
    /// slip counted from the blocks `start`.
    pub(crate) fn forces(
        &mut self,
        geometry: &ContactGeometry,
        start: &[f64],
        mut visit: impl FnMut(&Contact, Vec3, Vec3),
    ) {
        if !self.can_touch {
            return;
        }
        self.friction.count_slip_from(geometry, start);
        let x = &self.path.x;
        for (c, normal) in self.set.contacts.iter().zip(self.normal.normal_forces()) {
            let corners = c.vertices.iter().zip(&c.weights).filter(|(_, w)| **w > 0.0);
            let point = corners.map(|(&v, w)| *w * x[v as usize]).sum();
            visit(c, point, normal * c.normal - self.friction.force_at(geometry, c, normal, x));
        }
    }

    /// Contacts of barrier and friction: all that join bodies, each two of them by one contact at least.
    pub(crate) fn connections(&self) -> impl Iterator<Item = &Contact> {
        self.set.firsts().chain(self.friction.set.firsts())
    }

    /// Smallest gap of the contacts taken last \[m\]; infinite without contacts.
    pub(crate) fn smallest_gap(&self) -> f64 {
        self.set.contacts.iter().map(|c| c.gap).fold(f64::INFINITY, f64::min)
    }
}
