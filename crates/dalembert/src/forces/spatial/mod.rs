//! Forces between whichever points are near each other now.
//!
//! Each pair at distance r stores φ(r). On i the force is $-\varphi'(r)\,n$ with $n = (x_i - x_j)/r$, and the pair's
//! stiffness block is $\varphi'' n n^T + (\varphi'/r)(I - n n^T)$.
//!
//! Both batches sum over the neighbours j of each point i, seen from i: every pair is computed twice, but each
//! point's sum has one owner, so points run in parallel and the order of a sum never depends on the threads. Seen
//! from either side the numbers are exactly opposite, so momentum is kept to rounding.

mod all_pairs;
mod grid;
mod law;
mod near_pairs;

pub use all_pairs::AllPairs;
pub use law::PairLaw;
pub use near_pairs::NearPairs;
