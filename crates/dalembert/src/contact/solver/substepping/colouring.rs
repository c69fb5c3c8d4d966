//! Graph colouring: manifolds of one colour share no body that moves, so four of them fill the lanes of a batch, and batches of
//! one colour may be visited in any order.

use super::{ManifoldConstraint, WORLD};

/// Colours are bits of a word; manifolds beyond them are visited one by one.
const COLOURS: usize = 64;
/// Most points of a manifold.
const MOST_POINTS: usize = 4;

/// The manifolds of a problem by colour, and which of them go together.
#[derive(Debug, Default)]
pub(super) struct Colouring {
    /// Colours of the manifolds of each body.
    taken: Vec<u64>,
    colour: Vec<u8>,
    /// Manifolds by colour, those with the most points first: lanes of a batch should have equally many.
    order: Vec<u32>,
    start: Vec<u32>,
    /// Where each batch begins in that order and among the points of batches, and where the last one ends.
    pub(super) places: Vec<(u32, u32)>,
    /// Where the batches of each colour begin, and where the last ones end.
    pub(super) colours: Vec<u32>,
}

impl Colouring {
    /// Colours manifolds greedily, each with the first colour that is free for both bodies, and divides them into batches.
    pub(super) fn colour(&mut self, bodies: usize, manifolds: &[ManifoldConstraint]) {
        self.taken.clear();
        self.taken.resize(bodies, 0);
        self.colour.clear();
        self.start.clear();
        self.start.resize((MOST_POINTS + 1) * (COLOURS + 1) + 1, 0);
        for manifold in manifolds {
            let [a, b] = manifold.bodies.map(|i| i as usize);
            let free = !(self.taken[a] | self.taken[b]);
            let colour = free.trailing_zeros() as usize;
            if colour < COLOURS {
                for i in [a, b] {
                    if i != WORLD as usize {
                        self.taken[i] |= 1 << colour;
                    }
                }
            }
            self.colour.push(colour as u8);
            self.start[bin(colour as u8, manifold.count) + 1] += 1;
        }
        self.sort(manifolds);
        self.divide(manifolds);
    }

    /// By colour and number of points: a counting sort.
    fn sort(&mut self, manifolds: &[ManifoldConstraint]) {
        for k in 1..self.start.len() {
            self.start[k] += self.start[k - 1];
        }
        self.order.clear();
        self.order.resize(manifolds.len(), 0);
        for (k, manifold) in manifolds.iter().enumerate() {
            let place = &mut self.start[bin(self.colour[k], manifold.count)];
            self.order[*place as usize] = k as u32;
            *place += 1;
        }
    }

    fn divide(&mut self, manifolds: &[ManifoldConstraint]) {
        self.colours.clear();
        self.places.clear();
        let (mut at, mut points, mut last) = (0, 0, None);
        while at < self.order.len() {
            let colour = Some(self.colour[self.order[at] as usize]);
            // Beyond the colours each stands by itself.
            if colour != last || colour == Some(COLOURS as u8) {
                self.colours.push(self.places.len() as u32);
                last = colour;
            }
            self.places.push((at as u32, points));
            let lanes = &self.order[at..at + self.lanes_from(at)];
            points += lanes.iter().fold(0, |most, k| most.max(manifolds[*k as usize].count));
            at += lanes.len();
        }
        self.colours.push(self.places.len() as u32);
        self.places.push((at as u32, points));
    }

    /// How many manifolds go together from one place of the order on.
    fn lanes_from(&self, at: usize) -> usize {
        let colour = |k: &u32| self.colour[*k as usize];
        let first = colour(&self.order[at]);
        let most = if first as usize == COLOURS { 1 } else { 4 };
        self.order[at..].iter().take(most).take_while(|k| colour(k) == first).count()
    }

    /// Manifolds of batch k.
    pub(super) fn members(&self, k: usize) -> &[u32] {
        &self.order[self.places[k].0 as usize..self.places[k + 1].0 as usize]
    }

    /// Points of batch k among those of all batches; those of absent lanes are counted.
    pub(super) fn points(&self, k: usize) -> std::ops::Range<usize> {
        self.places[k].1 as usize..self.places[k + 1].1 as usize
    }

    /// Number of batches.
    pub(super) fn batches(&self) -> usize {
        self.places.len() - 1
    }

    /// Number of points of all batches.
    pub(super) fn point_count(&self) -> usize {
        self.places.last().map_or(0, |p| p.1 as usize)
    }

    /// Number of batches of the largest colour.
    pub(super) fn widest(&self) -> usize {
        self.colours.windows(2).map(|w| (w[1] - w[0]) as usize).max().unwrap_or(0)
    }
}

fn bin(colour: u8, points: u32) -> usize {
    (MOST_POINTS + 1) * colour as usize + MOST_POINTS - points as usize
}

#[cfg(test)]
mod tests {
    use super::super::SurfaceLaw;
    use super::*;
    use crate::math::{Random, Vec3};

    #[test]
    fn no_two_manifolds_of_a_batch_share_a_body_and_all_are_there() {
        let mut random = Random::new(3);
        let law = SurfaceLaw { friction: 0.0, restitution: 0.0, velocity: Vec3::zeros() };
        let mut colouring = Colouring::default();
        for (bodies, count) in [(2, 90), (20, 300), (300, 200)] {
            let mut below = |n: usize| random.between(0.0, n as f64) as usize % n;
            // The first that moves touches many: it runs out of colours.
            let manifolds: Vec<_> = (0..count)
                .map(|k| {
                    let a = if k < 90 { 1 } else { 1 + below(bodies) };
                    let b = (a + below(bodies)) % bodies;
                    let points = 0..1 + below(4);
                    let ends = [a as u32, if a == b { WORLD } else { b as u32 }];
                    ManifoldConstraint::new(ends, points, &Vec3::z(), &Vec3::zeros(), &law)
                })
                .collect();
            colouring.colour(bodies + 1, &manifolds);
            let mut all = Vec::new();
            for k in 0..colouring.batches() {
                let members = colouring.members(k);
                assert!((1..=4).contains(&members.len()));
                let ends = members.iter().flat_map(|m| manifolds[*m as usize].bodies);
                let mut moving: Vec<u32> = ends.filter(|b| *b != WORLD).collect();
                moving.sort_unstable();
                assert!(moving.windows(2).all(|w| w[0] != w[1]), "{moving:?}");
                let most = members.iter().map(|m| manifolds[*m as usize].points().len()).max();
                assert_eq!(Some(colouring.points(k).len()), most);
                all.extend_from_slice(members);
            }
            all.sort_unstable();
            assert!(all.iter().copied().eq(0..count as u32));
        }
    }
}
