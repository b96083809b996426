//! Closed forms: what theory says of a run before it is made. Each is a small function with its statement, assumptions and source;
//! "derived" means that the derivation is short, and stands there.

pub mod barrier;
pub mod checkpoint;
pub mod lag;
pub mod queue;
pub mod stability;
