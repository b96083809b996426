//! The scenario: one RON document that says all there is to know of a run.

mod build;
mod build_failures;
mod check;
mod check_protocol;
mod diagnose;
mod estimate;
mod load;
mod outline;
mod patch;
mod shards;

pub use build::build;
pub use diagnose::{Located, Problem, suggest};
pub use estimate::Estimate;
pub use load::{Draft, Source, print, print_document};
pub use patch::{ClassPatch, NetworkPatch, Patch, ServerPatch, StopPatch};
pub use shards::{GoOn, Rollback, Shard, Shards};

use crate::delay::Law;
use crate::failure::{Failure, Future, Meanwhile, Recovery};
use crate::objective;
use crate::optimiser;
use crate::protocol::{Composition, Protocol};
use crate::record::Record;
use crate::units::{Count, Finite, NonNegative, Positive, Probability, Seconds};
use serde::{Deserialize, Serialize};

/// Everything about a run. What has a sensible default may be left out; unknown fields are errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Where all randomness comes from.
    #[serde(default = "one")]
    pub seed: u64,
    /// Which of the independent repeats under that seed this is.
    #[serde(default)]
    pub replication: u64,
    /// What is minimised.
    pub objective: objective::Spec,
    /// What makes gradients stochastic; exact gradients if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<objective::Noise>,
    /// The first parameters; one number stands for all coordinates.
    #[serde(default = "origin")]
    pub start: Vec<Finite>,
    /// The version that they have.
    #[serde(default)]
    pub start_version: u64,
    /// How the server steps: a chain of gradient transforms.
    pub optimiser: Vec<optimiser::Spec>,
    /// Who waits for whom.
    #[serde(default)]
    pub protocol: Protocol,
    /// Classes of equal workers.
    pub workers: Vec<Class>,
    /// The links between workers and server.
    #[serde(default)]
    pub network: Network,
    /// The parameter server.
    #[serde(default)]
    pub server: Server,
    /// What fails, and when.
    #[serde(default)]
    pub failures: Vec<Failure>,
    /// When the run ends: as soon as one of these is reached.
    pub stop: Stop,
    /// What is recorded besides lags, causes and fates.
    #[serde(default)]
    pub record: Record,
    /// Figures that the run must come to; it ends with exit code 1 if it does not.
    #[serde(default)]
    pub expect: Vec<Expectation>,
}

/// A class of workers that are alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// What it is called in results; its number if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How many workers.
    #[serde(default = "single")]
    pub count: Count,
    /// Seconds to compute one gradient.
    pub compute: Law,
    /// Seconds until they first read.
    #[serde(default)]
    pub joins_at: Seconds,
    /// The factor on their gradients.
    #[serde(default = "unit")]
    pub weight: Positive,
    /// Seconds for a snapshot to reach them, if not as the network says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub download: Option<Law>,
    /// Seconds for their gradients to reach the server, if not as the network says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload: Option<Law>,
    /// Seconds after which they give up on a gradient that has not reached the server, and go on; never if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub give_up_s: Option<Positive>,
    /// What one of them costs an hour, from joining on.
    #[serde(default)]
    pub price_per_hour: NonNegative,
    /// Whether that is to be paid while it is down, too.
    #[serde(default)]
    pub paid_while_down: bool,
}

/// The links between workers and server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Network {
    /// Seconds for a snapshot to reach a worker.
    pub download: Law,
    /// Seconds for a gradient to reach the server.
    pub upload: Law,
    /// Seconds for a worker's request to reach the server, which then reads; without it, the answer to a push carries the next
    /// snapshot.
    pub request: Law,
    /// The server's link, which all messages share; as much as they want if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// How probable it is that a gradient reaches the server twice.
    pub duplicates: Probability,
}

/// A link that messages share: what comes in, and what goes out, each at its rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Bytes a second, each way.
    pub bytes_per_s: Positive,
    /// Bytes of one parameter in a message.
    #[serde(default = "single_precision")]
    pub bytes_per_parameter: Positive,
    /// How messages that go the same way at the same time share it.
    #[serde(default)]
    pub sharing: Sharing,
}

/// How messages share a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sharing {
    /// One after the other.
    #[default]
    Fifo,
    /// All at the same time, each at an equal part of the rate.
    Fair,
}

/// The parameter server: it takes in one gradient at a time, first come, first served, and steps when the protocol says so.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Server {
    /// Seconds to take in one gradient.
    pub service: Law,
    /// Seconds for one optimiser step.
    pub step: Law,
    /// When workers see new parameters.
    pub publish: Publish,
    /// What it has when it is there again after a failure.
    pub recovery: Recovery<Law>,
    /// What workers do while it is away.
    pub meanwhile: Meanwhile,
    /// What becomes of gradients of versions that a restore has undone.
    pub future: Future,
    /// Its shards; it is whole if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shards: Option<Shards>,
    /// What it costs an hour; each replica of a chain, and each shard, costs as much.
    pub price_per_hour: NonNegative,
}

/// When workers see new parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Publish {
    /// Only those of every so-many-th step.
    pub every: Count,
    /// Seconds until they can be read.
    pub delay: Law,
}

impl Default for Publish {
    fn default() -> Publish {
        Publish { every: Count::ONE, delay: Law::default() }
    }
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// After so many optimiser steps, those that a restore has undone not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updates: Option<Count>,
    /// After so many virtual seconds; what happens at that very instant still counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_s: Option<Positive>,
    /// When f(w) is at or below this, looked at after every step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Finite>,
}

/// A figure that a run must come to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The name of a number in the summary.
    pub quantity: String,
    /// What it must be.
    pub value: Finite,
    /// By how much it may be off.
    #[serde(default)]
    pub within: NonNegative,
}

fn one() -> u64 {
    1
}

fn single() -> Count {
    Count::ONE
}

fn unit() -> Positive {
    Positive::new(1.0).unwrap_or_else(|reason| unreachable!("{reason}"))
}

fn single_precision() -> Positive {
    Positive::new(4.0).unwrap_or_else(|reason| unreachable!("{reason}"))
}

fn origin() -> Vec<Finite> {
    vec![Finite::default()]
}

impl Scenario {
    /// What each class is called in results.
    pub fn class_names(&self) -> Vec<String> {
        let name = |(number, class): (usize, &Class)| class.name.clone().unwrap_or_else(|| number.to_string());
        self.workers.iter().enumerate().map(name).collect()
    }

    /// The five choices of its protocol.
    pub fn composition(&self) -> Composition {
        self.protocol.compose(self.worker_count())
    }

    /// Workers in all classes.
    pub fn worker_count(&self) -> u64 {
        self.workers.iter().fold(0, |sum, class| sum.saturating_add(class.count.get()))
    }
}
