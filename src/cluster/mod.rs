//! The model: workers, network and server on the virtual clock, and the life of every gradient.

mod account;
mod admit;
mod cost;
mod ended;
mod engine;
mod errors;
mod fault;
mod flow;
mod gradient;
mod incident;
mod ledger;
mod link;
mod members;
mod model;
mod process;
mod publish;
mod recovery;
mod server;
mod shard;
mod shards;
mod snapshots;
mod step;
mod store;
mod upcoming;
mod work;
mod worker;

pub use account::Totals;
pub use cost::Outages;
pub use ended::Ended;
pub use engine::Simulation;
pub use flow::MAX_WORKERS;
pub use gradient::{CAUSES, Causes, FATES, Fate, Gradient};
pub use incident::{Happening, Incident};
pub use ledger::{Books, Ledger};
pub use link::SharedLink;
pub use members::Members;
pub use model::{
    Comeback, DelayId, Legs, Member, Model, Occurs, Process, Publish, Serving, ShardSpec, Sharding, Stop, Target,
    purpose,
};
pub use shard::ShardFigures;
pub use shards::Apart;
pub use snapshots::LARGEST;
pub use upcoming::{Upcoming, What};

use crate::error::Result;
use crate::objective::Objective;
use crate::optimiser::Optimiser;

/// Somebody who watches a run. Observers are given things to read only: no observer can change a run.
pub trait Observer {
    /// A gradient was applied. Called at every step, so it must be quick.
    fn applied(&mut self, gradient: &Gradient);

    /// Gradients of about this lag in versions will be applied soon: what is kept of such lags may be fetched. What is returned means
    /// nothing. Asked only with so many workers that the processor has not all of them near.
    fn expects(&self, _lag_versions: u64) -> u64 {
        0
    }

    /// Whether to call [`Observer::inspect`] for the step that is the `updates`-th. Asked at every step.
    fn wants_inspection(&self, updates: u64) -> bool;

    /// Whether an inspection of that step needs the optimiser as it was before. Asked only if an inspection is wanted.
    fn wants_optimiser(&self, _updates: u64) -> bool {
        false
    }

    /// The vectors behind a step, for those steps that [`Observer::wants_inspection`] asked for.
    ///
    /// # Errors
    /// If what was seen cannot be written down; this ends the run.
    fn inspect(&mut self, gradient: &Gradient, step: &Step) -> Result<()>;

    /// A gradient that came to nothing: it met another fate than being applied, or was in flight when the run ended.
    ///
    /// # Errors
    /// As [`Observer::inspect`].
    fn not_applied(&mut self, gradient: &Gradient) -> Result<()>;

    /// Something failed, or is there again.
    ///
    /// # Errors
    /// As [`Observer::inspect`].
    fn incident(&mut self, _incident: &Incident) -> Result<()> {
        Ok(())
    }
}

/// The vectors behind one optimiser step.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// Its number, counted from 1 within the run.
    pub updates: u64,
    /// The parameters that the gradient was computed at.
    pub read: &'a [f64],
    /// What the optimiser was given: the gradient as it was pushed, with noise and weight; or what was made of several, each
    /// already seen by the transforms that know its lag.
    pub pushed: &'a [f64],
    /// The server's parameters just before the step.
    pub before: &'a [f64],
    /// And just after.
    pub after: &'a [f64],
    /// What is being minimised.
    pub objective: &'a dyn Objective,
    /// What the run has cost so far, if anything has a price.
    pub cost: Option<f64>,
    /// The sums of the run so far, where there are any.
    pub totals: Option<Totals>,
    /// The optimiser just before the step, if [`Observer::wants_optimiser`] asked for it.
    pub optimiser: Option<&'a Optimiser>,
}

/// Nobody watches.
impl Observer for () {
    fn applied(&mut self, _: &Gradient) {}
    fn wants_inspection(&self, _: u64) -> bool {
        false
    }
    fn inspect(&mut self, _: &Gradient, _: &Step) -> Result<()> {
        Ok(())
    }
    fn not_applied(&mut self, _: &Gradient) -> Result<()> {
        Ok(())
    }
}
