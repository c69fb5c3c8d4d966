//! Bodies that touch each other, directly or through others: what happens in one island reaches no other in a step.

/// Islands with more contacts than this may be piles.
const MANY: u32 = 300;
/// So may those with more than this while most of their contacts are not known: where nobody can tell yet which of them stick,
/// slip and part, Newton's method takes a hundred factorisations instead of a few.
const SOME: u32 = 100;
/// The same for those that were just hit and do not bounce.
const HIT: u32 = 60;

/// What is known of an island before it is solved.
#[derive(Debug, Clone, Copy)]
struct Weight {
    contacts: u32,
    /// Those that pressed in the step before, calm and with bodies that would be thrown by it, if somebody asked.
    calm: u32,
    thrown: u32,
    bodies: u32,
    /// Manifolds between two bodies that move.
    links: u32,
    /// A pile could take all of its contacts.
    simple: bool,
    /// Some of its bodies are held by joints.
    jointed: bool,
    /// Some of its contacts have a restitution.
    bounces: bool,
}

impl Default for Weight {
    fn default() -> Self {
        Self {
            contacts: 0,
            calm: 0,
            thrown: 0,
            bodies: 0,
            links: 0,
            simple: true,
            jointed: false,
            bounces: false,
        }
    }
}

impl Weight {
    /// More links than a chain has, by a fifth of its bodies.
    fn has_loops(&self) -> bool {
        5 * self.links > 6 * self.bodies
    }
}

/// Contacts grouped by island, and the trees that find them.
#[derive(Debug, Default)]
pub(super) struct Islands {
    up: Vec<u32>,
    of_root: Vec<u32>,
    /// Island of each contact.
    pub(super) of: Vec<u32>,
    /// Of each body's island, at its root.
    weight: Vec<Weight>,
    /// Contacts of all islands with joints that a pile could take.
    jointed: u32,
    /// Contacts of island i: `first[i]..first[i + 1]`, once they are sorted.
    pub(super) first: Vec<u32>,
}

fn root(up: &mut [u32], mut n: u32) -> u32 {
    while up[n as usize] != n {
        up[n as usize] = up[up[n as usize] as usize];
        n = up[n as usize];
    }
    n
}

impl Islands {
    /// Every one of `n` bodies by itself.
    pub(super) fn begin(&mut self, n: usize) {
        self.up.clear();
        self.up.extend(0..n as u32);
        self.weight.clear();
        self.weight.resize(n, Weight::default());
    }

    /// Two bodies belong together.
    pub(super) fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (root(&mut self.up, a), root(&mut self.up, b));
        // The smaller number stays on top, so that trees do not depend on the order of contacts.
        let (low, high) = (a.min(b), a.max(b));
        self.up[high as usize] = low;
    }

    /// Once all are joined: so many more contacts of the island of a body, between two bodies if it is a `link`; `simple` if
    /// a pile could take them, `jointed` if joints hold one of the bodies, `bounces` if they have a restitution.
    pub(super) fn weigh(
        &mut self,
        body: u32,
        contacts: u32,
        link: bool,
        simple: bool,
        jointed: bool,
        bounces: bool,
    ) {
        let weight = &mut self.weight[root(&mut self.up, body) as usize];
        weight.contacts += contacts;
        weight.links += u32::from(link);
        weight.simple &= simple;
        weight.jointed |= jointed;
        weight.bounces |= bounces;
    }

    /// Once all are joined: counts the bodies of every island.
    pub(super) fn count(&mut self) {
        for body in 0..self.up.len() as u32 {
            self.weight[root(&mut self.up, body) as usize].bodies += 1;
        }
        let jointed = self.weight.iter().filter(|w| w.jointed && w.simple);
        self.jointed = jointed.map(|w| w.contacts).sum();
    }

    /// True if it depends on what is known of them whether some islands are piles.
    pub(super) fn are_in_doubt(&self) -> bool {
        let sure = |w: &Weight| w.contacts > MANY && w.has_loops();
        self.weight.iter().any(|w| w.simple && !w.jointed && w.contacts > HIT && !sure(w))
    }

    /// So many more contacts of the island of a body pressed in the step before, and whether they are calm: its bodies would
    /// not be thrown if they went on.
    pub(super) fn know(&mut self, body: u32, contacts: u32, calm: bool) {
        let w = &mut self.weight[root(&mut self.up, body) as usize];
        if calm {
            w.calm += contacts;
        } else {
            w.thrown += contacts;
        }
    }

    /// The body that stands for the island of a body.
    pub(super) fn root(&mut self, body: u32) -> u32 {
        root(&mut self.up, body)
    }

    /// Root and number of contacts of the island of a body if it is too large to be solved at once: many contacts and so many
    /// links that they close many loops, or not so few and mostly unknown, since they are new there or just had an impact
    /// without bouncing: how impacts bounce without gaining energy is the business of those that are solved at once.
    /// Towers, chains and arches have few loops; the direct solver is fast on them at any length while they are calm. Where
    /// trees of joints are among them it is the number of contacts of all such islands that counts.
    pub(super) fn pile(&mut self, body: u32) -> Option<(u32, u32)> {
        let root = root(&mut self.up, body);
        let w = &self.weight[root as usize];
        let unknown = 2 * w.calm < w.contacts;
        let thrown = unknown && w.contacts > HIT && w.thrown > w.calm && !w.bounces;
        let loops = (w.contacts > MANY || unknown && w.contacts > SOME) && w.has_loops();
        let many = if w.jointed { self.jointed > MANY } else { loops || thrown };
        (w.simple && many).then_some((root, w.contacts))
    }

    /// Numbers the islands in the order of their first contacts, each given by one of its bodies.
    pub(super) fn number(&mut self, bodies: impl Iterator<Item = u32>) {
        self.of_root.clear();
        self.of_root.resize(self.up.len(), u32::MAX);
        self.of.clear();
        self.first.clear();
        self.first.push(0);
        for body in bodies {
            let place = &mut self.of_root[root(&mut self.up, body) as usize];
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
    pub(super) fn len(&self) -> usize {
        self.first.len().saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of bodies in which each meets the next so many times, with four contacts each time; calm and thrown ones of all.
    fn is_pile(bodies: u32, times: u32, [calm, thrown]: [u32; 2], bounces: bool) -> bool {
        let mut islands = Islands::default();
        islands.begin(bodies as usize);
        (1..bodies).for_each(|k| islands.join(k - 1, k));
        for k in 0..times * (bodies - 1) {
            islands.weigh(k % bodies, 4, true, true, false, bounces);
        }
        islands.count();
        if islands.are_in_doubt() {
            islands.know(0, calm, true);
            islands.know(1, thrown, false);
        }
        islands.pile(0).is_some()
    }

    #[test]
    fn what_is_calm_is_solved_at_once_and_what_was_hit_is_a_pile() {
        // A tower of 156 contacts: at its first step, at rest, just hit, and hit where things bounce; and short ones.
        assert!(!is_pile(40, 1, [0, 0], false));
        assert!(!is_pile(40, 1, [156, 0], false));
        assert!(is_pile(40, 1, [20, 100], false));
        assert!(!is_pile(40, 1, [20, 100], true));
        assert!(is_pile(20, 1, [0, 76], false));
        assert!(!is_pile(20, 1, [0, 76], true));
        assert!(!is_pile(15, 1, [0, 56], false));
        // A long tower at rest, and one of which a little was hit.
        assert!(!is_pile(100, 1, [396, 0], false));
        assert!(!is_pile(100, 1, [300, 96], false));
        // With loops: new, calm, and too large in any case.
        assert!(is_pile(20, 2, [0, 0], true));
        assert!(!is_pile(20, 2, [152, 0], true));
        assert!(is_pile(60, 2, [472, 0], true));
    }
}
