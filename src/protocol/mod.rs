//! Who waits for whom.
//!
//! A protocol decides when a worker may start, what the server does with a stale gradient, and when it steps; it never
//! touches the clock. There is one so far.

use crate::catalogue::{Entry, entry};
use serde::{Deserialize, Serialize};

/// A protocol, as a scenario names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Protocol {
    /// Every gradient is a step of its own, applied when it arrives, however stale; its worker reads the new version,
    /// which includes its own update, and goes on at once.
    #[default]
    Async,
}

/// Every protocol, in the order of [`Protocol`].
pub const CATALOGUE: &[Entry] = &[entry(
    "Async",
    "one step per gradient, however stale; its worker reads the new version and goes on at once",
    "Async",
)];

impl Protocol {
    /// The name of the variant, as in RON.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Async => "Async",
        }
    }
}
