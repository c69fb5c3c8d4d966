//! Maths without physics: ordinary differential equations, saddle-point and large sparse systems, complementarity.
//!
//! Nothing here knows what a body or a force is. A solver takes closures, works in buffers that the
//! caller keeps, and says in a report or an error how it ended. Book: "Solvers".

pub mod anderson;
pub mod block_cholesky;
pub mod block_matrix;
pub mod bordered;
pub mod box_lcp;
pub mod cg;
pub mod cone;
pub mod coulomb;
pub mod dense;
pub mod direct;
pub mod kkt;
pub mod lcp;
pub mod line_search;
pub mod linear;
pub mod ode;
pub mod order;
pub mod precondition;
mod sums;
pub mod union_find;
