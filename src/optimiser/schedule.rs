//! Learning rates that change with the number of optimiser steps.

use super::{Context, Transform};
use crate::catalogue::{Entry, entry};
use crate::units::{Count, Positive, Probability};
use serde::{Deserialize, Serialize};

/// A factor on the update, as a function of the number t = 0, 1, 2 … of steps taken before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Schedule {
    /// (t + 1) / updates, then 1.
    Warmup {
        /// Steps until the full rate.
        updates: Count,
    },
    /// factor^⌊t / every⌋.
    Staircase {
        /// Steps on each stair.
        every: Count,
        /// The height of a stair relative to the one before.
        factor: Positive,
    },
    /// From 1 down to floor along half a cosine, then floor.
    Cosine {
        /// Steps until the floor.
        updates: Count,
        /// The least factor.
        #[serde(default)]
        floor: Probability,
    },
    /// 1 / (1 + t / updates).
    InverseTime {
        /// Steps until one half.
        updates: Count,
    },
    /// 1 / √(1 + t / updates).
    InverseSqrt {
        /// Steps until 1/√2.
        updates: Count,
    },
}

/// Every schedule, in the order of [`Schedule`].
pub const CATALOGUE: &[Entry] = &[
    entry("Warmup", "(t + 1) / updates, then 1, for t steps before", "Warmup(updates: 100)"),
    entry("Staircase", "factor^⌊t / every⌋", "Staircase(every: 1000, factor: 0.5)"),
    entry("Cosine", "from 1 to floor along half a cosine", "Cosine(updates: 10000, floor: 0.1)"),
    entry("InverseTime", "1 / (1 + t / updates)", "InverseTime(updates: 1000)"),
    entry("InverseSqrt", "1 / √(1 + t / updates)", "InverseSqrt(updates: 1000)"),
];

impl Schedule {}

impl Schedule {
    /// The factor on the update that follows `updates_before` others.
    pub fn factor(&self, updates_before: u64) -> f64 {
        let t = updates_before as f64;
        let share = |updates: Count| t / updates.get() as f64;
        match *self {
            Schedule::Warmup { updates } => ((t + 1.0) / updates.get() as f64).min(1.0),
            Schedule::Staircase { every, factor } => factor.get().powf(share(every).floor()),
            Schedule::Cosine { updates, floor } => {
                let angle = std::f64::consts::PI * share(updates).min(1.0);
                floor.get() + (1.0 - floor.get()) * (1.0 + angle.cos()) / 2.0
            }
            Schedule::InverseTime { updates } => 1.0 / (1.0 + share(updates)),
            Schedule::InverseSqrt { updates } => 1.0 / (1.0 + share(updates)).sqrt(),
        }
    }
}

impl Transform for Schedule {
    fn apply(&mut self, update: &mut [f64], context: &Context) {
        let factor = self.factor(context.updates);
        update.iter_mut().for_each(|u| *u *= factor);
    }

    fn duplicate(&self) -> Box<dyn Transform> {
        Box::new(*self)
    }
}
