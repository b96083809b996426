//! Closed forms: what theory says of a run before it is made. Each is a small function with its statement, assumptions and source;
//! "derived" means that the derivation is short, and stands there; "derived here" that it stands in `docs/theory.md`.

pub mod averaging;
pub mod barrier;
pub mod checkpoint;
pub mod complexity;
pub mod failure;
pub mod lag;
mod linear;
pub mod moments;
pub mod momentum;
pub mod network;
pub mod participation;
pub mod policy;
mod quadrature;
pub mod queue;
pub mod renewal;
pub mod ssp;
pub mod stability;
