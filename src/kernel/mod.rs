//! A small discrete-event kernel: virtual time, a queue with a total order, and named random streams.
//!
//! It knows nothing of optimisation. A model gives every thing that can have one pending event (a worker, a server, a
//! clock tick) a *key*, schedules at most one event a key, and handles what [`Queue::pop`] returns. See `docs/kernel.md`.

mod fingerprint;
mod queue;
mod streams;
mod time;

pub use fingerprint::Fingerprint;
pub use queue::{Due, Queue, Rank};
pub use streams::{EntityStreams, Generator, Purpose, Stream, Streams};
pub use time::{Span, Time};
