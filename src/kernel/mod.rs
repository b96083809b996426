#![doc = include_str!("../../docs/kernel.md")]

mod calendar;
mod fingerprint;
mod queue;
mod streams;
mod time;
mod tournament;
mod ziggurat;

pub use fingerprint::Fingerprint;
pub use queue::{Due, Queue, Rank};
pub use streams::{EntityStreams, Generator, Purpose, Stream, Streams};
pub use time::{Span, Time};
pub use ziggurat::Quick;
