//! Which pairs are looked at on a path, and how far it may go.
//!
//! Three lists, each a part of the one before: the cache of candidates, those that can come near on the path at hand, and
//! those of them with a body that is active. How far a path may go is found by additive continuous collision detection
//! (Li et al. 2021).

use super::cached::Cached;
use super::candidate_cache::{CandidateCache, Cover};
use super::geometry::ContactGeometry;
use super::path::VertexPath;
use crate::collide::ccd::CcdOptions;
use crate::collide::{Candidates, TooMany};
use crate::math::Vec3;

/// How pairs are chosen and stopped, in gaps.
struct Tuning {
    /// Pairs are chosen for this much more than the gap, so that the choice serves for short paths to come.
    slack: f64,
    /// Distance at which pairs from beyond the gap are stopped: below 1, so that what never comes within the gap stops nothing,
    /// whichever pairs are among the candidates.
    stop: f64,
    /// Part of what a pair may approach that a vertex may move if only contacts are to be followed: below one half.
    contacts_only: f64,
}

const TUNING: Tuning = Tuning { slack: 0.25, stop: 0.9, contacts_only: 0.499 };

/// The pairs that count on a path.
#[derive(Debug, Default)]
pub(super) struct ActiveCandidates {
    cache: CandidateCache,
    /// How often the cache was filled, and how often pairs were chosen from it.
    searches: u64,
    choices: u64,
    /// The candidates that may come near from x to x1; of a search.
    near: Cached<Candidates>,
    /// Where vertices were at the end of the path that they were chosen for.
    chosen_for: Vec<Vec3>,
    /// Those of them with an active body; of a choice and of what was active.
    active: Cached<Candidates, [u64; 2]>,
    /// Those of all candidates with a vertex whose path has changed since the others were followed.
    changed: Candidates,
}

impl ActiveCandidates {
    pub(crate) fn begin(&mut self, x: &[Vec3]) {
        self.cache.begin(x);
    }

    /// The pairs that count; see [`choose`](Self::choose).
    pub(crate) fn pairs(&self) -> &Candidates {
        &self.active.value
    }

    /// Makes sure that the cache holds every pair that comes within the gap on the path; returns the part of the path for
    /// which it does.
    pub(crate) fn cover(&mut self, geometry: &ContactGeometry, path: &VertexPath) -> Result<f64, TooMany> {
        let unmoved = |b| path.unmoved(b);
        match self.cache.cover(&geometry.surface, geometry.gap, [&path.x, &path.x1], unmoved)? {
            Cover::Held => {
                if !self.serves(geometry, path) {
                    self.near.forget();
                }
                Ok(1.0)
            }
            Cover::Sought(part) => {
                self.searches += 1;
                Ok(part)
            }
        }
    }

    /// True if the last choice of pairs holds all that come within the gap between x and x1: a pair that was left out was
    /// farther apart than gap and slack at the end of the path then, and no vertex is farther than half the slack from there.
    fn serves(&self, geometry: &ContactGeometry, path: &VertexPath) -> bool {
        let slack2 = (0.5 * TUNING.slack * geometry.gap).powi(2);
        self.chosen_for.len() == path.x.len() && path.far2_from(&self.chosen_for) <= slack2
    }

    /// Chooses the pairs that count and may come near, if the last choice does not serve.
    pub(crate) fn choose(&mut self, geometry: &ContactGeometry, path: &VertexPath) {
        let surface = &geometry.surface;
        if !self.near.is_of(self.searches) {
            let CandidateCache { candidates, culling, reference, .. } = &mut self.cache;
            culling.follow(surface, reference, &path.x, &path.x1);
            self.chosen_for.clone_from(&path.x1);
            let gap = geometry.gap * (1.0 + TUNING.slack);
            culling.choose(surface, candidates, gap, |_| true, &mut self.near.value);
            self.near.taken_at(self.searches);
            self.choices += 1;
        }
        let key = [self.choices, path.activation];
        if self.active.is_of(key) {
            return;
        }
        self.active.taken_at(key);
        let (all, active) = (&self.near.value, &mut self.active.value);
        if !path.has_inactive() {
            return active.copy_from(all);
        }
        let vertex = |v: u32| path.is_active(surface.vertex_body[v as usize]);
        let edge = |e: u32| path.is_active(surface.edge_body[e as usize]);
        let triangle = |t: u32| path.is_active(surface.triangle_body[t as usize]);
        let keep = |from: &[[u32; 2]], to: &mut Vec<[u32; 2]>, counts: &dyn Fn(u32, u32) -> bool| {
            to.clear();
            to.extend(from.iter().filter(|[i, j]| counts(*i, *j)));
        };
        keep(&all.vertex_triangle, &mut active.vertex_triangle, &|v, t| vertex(v) || triangle(t));
        keep(&all.edge_edge, &mut active.edge_edge, &|e, f| edge(e) || edge(f));
        keep(&all.vertex_edge, &mut active.vertex_edge, &|v, e| vertex(v) || edge(e));
        keep(&all.vertex_vertex, &mut active.vertex_vertex, &|v, w| vertex(v) || vertex(w));
        keep(&all.vertex_plane, &mut active.vertex_plane, &|v, _| vertex(v));
    }

    /// The candidates with a vertex that is `wanted`, where the last choice does not serve: where no corner of a pair has changed
    /// its path the pair was followed already, and the choice of all pairs can wait.
    pub(crate) fn changed(
        &mut self,
        geometry: &ContactGeometry,
        path: &VertexPath,
        wanted: impl Fn(&u32) -> bool,
    ) -> Option<&Candidates> {
        if self.near.is_of(self.searches) || path.has_inactive() {
            return None;
        }
        let CandidateCache { candidates, culling, reference, .. } = &mut self.cache;
        culling.follow(&geometry.surface, reference, &path.x, &path.x1);
        let any = |vertices: &[u32]| vertices.iter().any(&wanted);
        culling.choose(&geometry.surface, candidates, geometry.gap, any, &mut self.changed);
        Some(&self.changed)
    }
}

/// How pairs are followed: they keep the part `rest` of their distance.
pub(super) fn ccd_options(geometry: &ContactGeometry, rest: f64) -> CcdOptions {
    CcdOptions { rest, most: TUNING.stop * geometry.gap, ..CcdOptions::default() }
}

/// True if nothing but contacts at x can stop the path: pairs that are farther apart than the gap keep `rest` of it
/// however they move, since no vertex goes far.
pub(super) fn only_contacts_stop(geometry: &ContactGeometry, path: &VertexPath, rest: f64) -> bool {
    let most = TUNING.contacts_only * (1.0 - rest) * geometry.gap;
    path.length2() <= most * most
}
