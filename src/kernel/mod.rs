#![doc = include_str!("../../docs/kernel.md")]

mod fingerprint;
mod queue;
mod streams;
mod time;

pub use fingerprint::Fingerprint;
pub use queue::{Due, Queue, Rank};
pub use streams::{EntityStreams, Generator, Purpose, Stream, Streams};
pub use time::{Span, Time};
