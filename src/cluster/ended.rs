//! Why a run ended.

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The number of optimiser steps was reached.
    Updates,
    /// The virtual time was reached.
    Time,
    /// The loss was reached.
    Loss,
    /// A parameter was no number any more, or beyond 10¹⁰⁰.
    Diverged,
    /// Somebody asked for it.
    Interrupted,
    /// The server got a gradient that is too stale, where that is an error.
    Stale,
    /// Nothing can happen any more, or nothing that would lead to a step.
    Stalled,
}

impl Ended {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Ended::Updates => "updates",
            Ended::Time => "time",
            Ended::Loss => "loss",
            Ended::Diverged => "diverged",
            Ended::Interrupted => "interrupted",
            Ended::Stale => "stale",
            Ended::Stalled => "stalled",
        }
    }
}
