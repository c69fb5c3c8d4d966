//! Maths without physics: ordinary differential equations, saddle-point and large sparse systems, complementarity.
//!
//! Nothing here knows what a body or a force is. A solver takes closures, works in buffers that the
//! caller keeps, and says in a report or an error how it ended. Book: "Solvers".

pub mod block_cholesky;
pub mod block_matrix;
pub mod bordered;
pub mod boxed;
pub mod cg;
pub mod coulomb;
pub mod direct;
pub mod kkt;
pub mod lcp;
pub mod linear;
pub mod ode;
pub mod order;
pub mod precondition;
mod sums;
