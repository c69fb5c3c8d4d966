//! Islands: bodies that touch each other, directly or through others. What happens in one island reaches no other in a step.
//!
//! Large islands with many loops are solved by substepping instead of by the solvers for one island at a time.

use crate::solve::union_find::UnionFind;

/// Which islands are large.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tuning {
    /// Islands with more contacts than this are large if they have loops.
    pub(crate) contacts: u32,
    /// So are those with more than this while most of their contacts are new: where it is not yet known which of them stick, slip
    /// and separate, Newton's method takes a hundred factorisations instead of a few.
    pub(crate) new_contacts: u32,
    /// So are those with more than this, loops or not, that were just hit and do not bounce.
    pub(crate) hit_contacts: u32,
    /// An island has loops if it has more pairs between moving bodies than bodies, by this factor.
    pub(crate) loops: [u32; 2],
}

impl Default for Tuning {
    fn default() -> Self {
        Self { contacts: 300, new_contacts: 100, hit_contacts: 60, loops: [6, 5] }
    }
}

/// Contacts of one pair, as an island counts them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PairCount {
    pub(crate) contacts: u32,
    /// Both sides move.
    pub(crate) between_bodies: bool,
    /// Substepping has what it needs: hard contacts without spin friction, of bodies or trees of joints.
    pub(crate) plain: bool,
    /// Joints hold one of the bodies.
    pub(crate) jointed: bool,
    pub(crate) bounces: bool,
}

/// What is known of an island before it is solved.
#[derive(Debug, Clone, Copy)]
struct Count {
    contacts: u32,
    /// Those that pressed in the step before, with bodies that stay if they go on, and with bodies that would be thrown.
    calm: u32,
    thrown: u32,
    bodies: u32,
    /// Pairs of two bodies that move.
    pairs: u32,
    plain: bool,
    jointed: bool,
    bounces: bool,
}

impl Default for Count {
    fn default() -> Self {
        let (plain, jointed, bounces) = (true, false, false);
        Self { contacts: 0, calm: 0, thrown: 0, bodies: 0, pairs: 0, plain, jointed, bounces }
    }
}

/// Contacts grouped by island, and the union-find that makes them.
#[derive(Debug, Default)]
pub(crate) struct Islands {
    sets: UnionFind,
    of_root: Vec<u32>,
    /// Island of each contact.
    pub(crate) of: Vec<u32>,
    /// Of each body's island, at its root.
    count: Vec<Count>,
    /// Contacts of all plain islands with joints.
    jointed: u32,
    /// Contacts of island i: `first[i]..first[i + 1]`, once they are sorted.
    pub(crate) first: Vec<u32>,
    tuning: Tuning,
}

impl Islands {
    /// Every one of `n` bodies by itself.
    pub(crate) fn begin(&mut self, n: usize) {
        self.sets.reset(n);
        self.count.clear();
        self.count.resize(n, Count::default());
    }

    /// Two bodies belong together.
    pub(crate) fn join(&mut self, a: u32, b: u32) {
        self.sets.join(a, b);
    }

    /// Once all are joined: counts a pair of the island of a body.
    pub(crate) fn add_pair(&mut self, body: u32, pair: &PairCount) {
        let count = &mut self.count[self.sets.find(body) as usize];
        count.contacts += pair.contacts;
        count.pairs += u32::from(pair.between_bodies);
        count.plain &= pair.plain;
        count.jointed |= pair.jointed;
        count.bounces |= pair.bounces;
    }

    /// Once all are joined: counts the bodies of every island.
    pub(crate) fn count_bodies(&mut self) {
        for body in 0..self.sets.len() as u32 {
            self.count[self.sets.find(body) as usize].bodies += 1;
        }
        let jointed = self.count.iter().filter(|c| c.jointed && c.plain);
        self.jointed = jointed.map(|c| c.contacts).sum();
    }

    fn has_loops(&self, c: &Count) -> bool {
        let [factor, over] = self.tuning.loops;
        over * c.pairs > factor * c.bodies
    }

    /// True if it depends on the step before whether some islands are large.
    pub(crate) fn are_in_doubt(&self) -> bool {
        let sure = |c: &Count| c.contacts > self.tuning.contacts && self.has_loops(c);
        self.count.iter().any(|c| c.plain && !c.jointed && c.contacts > self.tuning.hit_contacts && !sure(c))
    }

    /// So many contacts of the island of a body pressed in the step before; `calm` if its bodies would not be thrown if they
    /// went on.
    pub(crate) fn add_known(&mut self, body: u32, contacts: u32, calm: bool) {
        let c = &mut self.count[self.sets.find(body) as usize];
        *if calm { &mut c.calm } else { &mut c.thrown } += contacts;
    }

    /// The body that stands for the island of a body.
    pub(crate) fn root(&mut self, body: u32) -> u32 {
        self.sets.find(body)
    }

    /// Root and number of contacts of the island of a body if it is large: many contacts and many loops, or not so few and
    /// mostly unknown, since they are new or just had an impact without bouncing (that simultaneous impacts bounce without gaining
    /// energy is left to the other solvers). Towers, chains and arches have few loops; the primal Newton method is fast on them
    /// at any length while they are calm. Where trees of joints are among them the contacts of all such islands count.
    pub(crate) fn large(&mut self, body: u32) -> Option<(u32, u32)> {
        let root = self.sets.find(body);
        let (c, t) = (&self.count[root as usize], &self.tuning);
        let unknown = 2 * c.calm < c.contacts;
        let thrown = unknown && c.contacts > t.hit_contacts && c.thrown > c.calm && !c.bounces;
        let loops = (c.contacts > t.contacts || unknown && c.contacts > t.new_contacts) && self.has_loops(c);
        let many = if c.jointed { self.jointed > t.contacts } else { loops || thrown };
        (c.plain && many).then_some((root, c.contacts))
    }

    /// Numbers the islands in the order of their first contacts, each given by one of its bodies.
    pub(crate) fn number(&mut self, bodies: impl Iterator<Item = u32>) {
        self.of_root.clear();
        self.of_root.resize(self.sets.len(), u32::MAX);
        self.of.clear();
        self.first.clear();
        self.first.push(0);
        for body in bodies {
            let place = &mut self.of_root[self.sets.find(body) as usize];
            if *place == u32::MAX {
                *place = self.first.len() as u32 - 1;
                self.first.push(0);
            }
            self.of.push(*place);
            self.first[*place as usize + 1] += 1;
        }
        for i in 1..self.first.len() {
            self.first[i] += self.first[i - 1];
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.first.len().saturating_sub(1)
    }

    /// Contacts of an island.
    pub(crate) fn range(&self, island: usize) -> std::ops::Range<usize> {
        self.first[island] as usize..self.first[island + 1] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of bodies in which each meets the next so many times, with four contacts each time; calm and thrown ones of all.
    fn is_large(bodies: u32, times: u32, [calm, thrown]: [u32; 2], bounces: bool) -> bool {
        let mut islands = Islands::default();
        islands.begin(bodies as usize);
        (1..bodies).for_each(|k| islands.join(k - 1, k));
        let pair = PairCount { contacts: 4, between_bodies: true, plain: true, jointed: false, bounces };
        (0..times * (bodies - 1)).for_each(|k| islands.add_pair(k % bodies, &pair));
        islands.count_bodies();
        if islands.are_in_doubt() {
            islands.add_known(0, calm, true);
            islands.add_known(1, thrown, false);
        }
        islands.large(0).is_some()
    }

    #[test]
    fn what_is_calm_is_solved_at_once_and_what_was_hit_is_large() {
        // A tower of 156 contacts: at its first step, at rest, just hit, and hit where things bounce; and short ones.
        assert!(!is_large(40, 1, [0, 0], false));
        assert!(!is_large(40, 1, [156, 0], false));
        assert!(is_large(40, 1, [20, 100], false));
        assert!(!is_large(40, 1, [20, 100], true));
        assert!(is_large(20, 1, [0, 76], false));
        assert!(!is_large(20, 1, [0, 76], true));
        assert!(!is_large(15, 1, [0, 56], false));
        // A long tower at rest, and one of which a little was hit.
        assert!(!is_large(100, 1, [396, 0], false));
        assert!(!is_large(100, 1, [300, 96], false));
        // With loops: new, calm, and too large in any case.
        assert!(is_large(20, 2, [0, 0], true));
        assert!(!is_large(20, 2, [152, 0], true));
        assert!(is_large(60, 2, [472, 0], true));
    }
}
