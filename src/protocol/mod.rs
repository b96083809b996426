//! Who waits for whom, and what the server does with a stale gradient.
//!
//! A protocol is asked and decides; it never touches the clock, the parameters or the books.

use crate::catalogue::{Entry, entry};
use crate::units::Count;
use serde::{Deserialize, Serialize};

/// A protocol, as a scenario names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Protocol {
    /// Every gradient is a step of its own, applied when it arrives, however stale; its worker reads the new version,
    /// which includes its own update, and goes on at once.
    #[default]
    Async,
    /// As `Async`, but a gradient whose lag is not below `bound` versions is rejected: it changes neither parameters nor
    /// version, and its worker reads the current version and goes on (Maranjyan, Tyurin and Richtárik, 2025, "Ringmaster
    /// ASGD", algorithm 4, without stops). A bound of 1 is serial SGD on whichever worker is first.
    Ringmaster {
        /// The least lag in versions that is rejected.
        bound: Count,
    },
}

/// Every protocol, in the order of [`Protocol`].
pub const CATALOGUE: &[Entry] = &[
    entry(
        "Async",
        "one step per gradient, however stale; its worker reads the new version and goes on at once",
        "Async",
    ),
    entry(
        "Ringmaster",
        "as Async, but gradients with a lag of `bound` versions or more are rejected",
        "Ringmaster(bound: 8)",
    ),
];

/// What the server does with a gradient whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// A step with it.
    Apply,
    /// Nothing.
    Reject,
}

impl Protocol {
    /// The name of the variant, as in RON.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Async => "Async",
            Protocol::Ringmaster { .. } => "Ringmaster",
        }
    }

    /// What to do with a gradient of a lag of so many versions.
    #[inline]
    pub fn admit(self, lag_versions: i64) -> Admission {
        match self {
            Protocol::Async => Admission::Apply,
            Protocol::Ringmaster { bound } if lag_versions < bound.get() as i64 => Admission::Apply,
            Protocol::Ringmaster { .. } => Admission::Reject,
        }
    }
}
