//! The part of a run that its statistics are about: after a warm-up, perhaps in batches.

use super::lag::Lags;
use crate::catalogue::{Entry, entry};
use crate::cluster::Totals;
use crate::kernel::Time;
use crate::units::Count;
use serde::{Deserialize, Serialize};

/// How much of the beginning of a run is left out of its lags, causes and rates. Parameters, trajectory, fates and participation
/// are those of the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum WarmUp {
    /// Nothing.
    #[default]
    Off,
    /// So many optimiser steps.
    Updates(Count),
    /// As many as MSER-5 finds in the lags in versions, or in those in seconds if these take longer; the run is made twice.
    Mser5,
}

impl WarmUp {
    /// Every choice, in the order of the enum.
    pub const CATALOGUE: &[Entry] = &[
        entry("Off", "statistics are of the whole run", "Off"),
        entry("Updates", "so many optimiser steps are left out", "Updates(1000)"),
        entry("Mser5", "as many as MSER-5 finds in the lags, in versions or seconds; the run is made twice", "Mser5"),
    ];

    /// The last step that is left out, if any is.
    pub fn last(self) -> Option<u64> {
        match self {
            WarmUp::Updates(updates) => Some(updates.get()),
            WarmUp::Off | WarmUp::Mser5 => None,
        }
    }
}

/// Where the warm-up ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// After so many steps.
    pub updates: u64,
    /// When.
    pub at: Time,
    /// The sums of the run until then.
    pub totals: Option<Totals>,
}

/// Sums of a run at the end of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Optimiser steps.
    pub updates: u64,
    /// When.
    pub at: Time,
    /// Gradients applied since the warm-up.
    pub gradients: u64,
    /// The sum of their lags in versions.
    pub versions: i128,
    /// And in nanoseconds.
    pub nanos: u128,
}

impl Mark {
    /// After so many steps.
    pub fn new(updates: u64, at: Time, lags: &Lags) -> Mark {
        let mut mark = Mark { updates, at, ..Mark::default() };
        for class in lags.classes() {
            mark.gradients += class.nanos.total();
            mark.versions += class.versions.histogram().sum() as i128 - class.ahead.histogram().sum() as i128;
            mark.nanos += class.nanos.histogram().sum();
        }
        mark
    }

    /// The means of the batch between two marks: lag in versions, lag in seconds, and steps a second.
    pub fn means(before: &Mark, after: &Mark) -> [f64; 3] {
        let gradients = (after.gradients - before.gradients) as f64;
        [
            (after.versions - before.versions) as f64 / gradients,
            (after.nanos - before.nanos) as f64 / 1e9 / gradients,
            (after.updates - before.updates) as f64 / after.at.since(before.at).seconds(),
        ]
    }
}
