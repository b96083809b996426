//! The five choices that make a protocol: who may start, what is admitted, when the server steps, what becomes of work that
//! comes late, and what the work is.

use crate::catalogue::{Entry, entry};
use crate::optimiser::Discount;
use crate::units::{Count, NonNegative, Positive};
use serde::{Deserialize, Serialize};

/// What a protocol does, choice by choice. The default is plain asynchronous SGD.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Composition {
    /// When a worker may start, and from which version.
    pub pace: Pace,
    /// What the server does with a stale gradient.
    pub admit: Admit,
    /// When the server steps, and with what.
    pub step: StepRule,
    /// What becomes of unfinished work at a step.
    pub late: Late,
    /// What a worker computes.
    pub work: Work,
}

/// One choice changed, the others as they were.
impl Composition {
    pub(super) fn pace(self, pace: Pace) -> Composition {
        Composition { pace, ..self }
    }

    pub(super) fn step(self, step: StepRule) -> Composition {
        Composition { step, ..self }
    }

    pub(super) fn after(mut self, after: After) -> Composition {
        self.step.after = after;
        self
    }

    pub(super) fn mean(mut self, mean: Mean) -> Composition {
        self.step.mean = mean;
        self
    }

    /// Rejects a lag of more versions than that.
    pub(super) fn at_most(self, versions: u64) -> Composition {
        self.aged(Some(versions))
    }

    pub(super) fn aged(mut self, most_versions: Option<u64>) -> Composition {
        self.admit.most_versions = most_versions;
        self
    }

    pub(super) fn otherwise(mut self, otherwise: Otherwise) -> Composition {
        self.admit.otherwise = otherwise;
        self
    }

    pub(super) fn scaled(mut self, discount: Option<Discount>) -> Composition {
        self.admit.discount = discount;
        self
    }

    pub(super) fn late(self, late: Late) -> Composition {
        Composition { late, ..self }
    }

    pub(super) fn work(self, work: Work) -> Composition {
        Composition { work, ..self }
    }

    pub(super) fn local(self, local: Local, send: Send, by_speed: bool) -> Composition {
        self.work(Work::LocalSteps { local, send, by_speed })
    }
}

/// When a worker that is free may start on its next gradient.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Pace {
    /// As soon as its gradient was dealt with.
    #[default]
    AtOnce,
    /// At the step that uses its gradient; at once, if that was refused.
    Barrier,
    /// While it has completed at most `bound` gradients more than the slowest worker, or than the slowest of `sample` others,
    /// drawn anew for each gradient.
    ClockGap {
        /// 0 is bulk-synchronous.
        bound: u64,
        /// How many others it looks at; all of them if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sample: Option<Count>,
    },
    /// At most `concurrency` workers are active; when one is done, the next is chosen among those that rest.
    Slots {
        /// How many at a time.
        concurrency: Count,
        /// Which is next.
        #[serde(default)]
        next: Next,
    },
    /// A fixed number of tasks goes round: each completed one is sent, with the current version, to a worker drawn at random,
    /// where it waits its turn.
    Routed {
        /// How many.
        tasks: Count,
        /// The probability of each class of workers, up to a common factor; equal for all workers if empty.
        #[serde(default)]
        shares: Vec<NonNegative>,
        /// Whether gradients of workers that are chosen more often weigh less, by 1 / (n pᵢ), so that all count alike.
        #[serde(default)]
        unbiased: bool,
    },
    /// While no more than (`eta` + batches applied + 1) · `batch` gradients have been started, those refused not counted. Gradients
    /// go into a buffer beside the server, so that a step which takes time keeps no worker waiting.
    Budget {
        /// How many batches the workers may be ahead; 0 is synchronous. A fraction of a batch is one, too.
        eta: NonNegative,
        /// Gradients in a batch.
        batch: Count,
    },
    /// While there is a token: as many as the server steps with at the start, and at each step as many again (or one a worker, if
    /// that is more), each with the number of that version.
    Tokens,
}

/// The order in which workers that rest are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Next {
    /// Uniformly at random.
    #[default]
    Random,
    /// Whoever has rested longest.
    InTurn,
}

/// What the server does with a stale gradient.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Admit {
    /// The greatest lag in versions that is not rejected: looked at when a gradient arrives, and at every step while it waits for
    /// its own. Once a step has taken it, it is used, in whichever part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_versions: Option<u64>,
    /// The greatest lag in seconds that is not rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_s: Option<NonNegative>,
    /// What comes of a rejection.
    pub otherwise: Otherwise,
    /// The weight of a gradient, by its lag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discount: Option<Discount>,
}

/// What comes of a rejection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Otherwise {
    /// The worker goes on, with the current version and the next batch of data.
    #[default]
    Refetch,
    /// The same batch of data is computed again, at the version that the next worker to start reads.
    Recompute,
    /// The run ends.
    Fail,
}

/// When the server steps, and with what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StepRule {
    /// When there is enough.
    pub after: After,
    /// What is made of several gradients.
    pub mean: Mean,
    /// Which gradients are taken first, if there are more than one step takes.
    pub order: Order,
    /// How many gradients can wait, those of the next step included; the oldest is then dropped for a new one. Any number if left
    /// out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Count>,
    /// In how many optimiser steps they are used, one part after the other.
    pub parts: Count,
}

/// How much is enough for a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum After {
    /// So many gradients, whoever computed them.
    Gradients(Count),
    /// Gradients of so many different workers.
    Workers(Count),
    /// Gradients of all workers.
    All,
    /// So many seconds after the step before, with what has come, or as soon as all workers' gradients have. If nothing has
    /// come, a deadline passes without a step.
    Deadline(Positive),
    /// Rounds of one step a worker: the first when all workers' gradients have come, and one for each further gradient of a
    /// worker that did not yet have its own. Every step uses the mean over workers of the means of their gradients.
    Table,
}

impl Default for After {
    fn default() -> After {
        After::Gradients(Count::ONE)
    }
}

/// What is made of several gradients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mean {
    /// Their weighted sum, divided by how many they are.
    #[default]
    Count,
    /// Their weighted sum, divided by the sum of their weights.
    Weights,
    /// Their weighted sum.
    Sum,
}

/// Which gradients a step takes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// The first to have come.
    #[default]
    Fifo,
    /// The last to have come.
    Lifo,
}

/// What becomes of unfinished work at a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Late {
    /// It goes on, and counts for a later step.
    #[default]
    Keep,
    /// It goes on, and is dropped when it arrives: only gradients at the current version count.
    Drop,
    /// It is told to stop, and its worker starts again from the new version.
    Cancel,
    /// As soon as its lag in versions exceeds what is admitted, it is told to stop, and its worker starts again.
    CancelStale,
}

/// What a worker computes from one read to the next push.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Work {
    /// One (mini-batch) gradient.
    #[default]
    Gradient,
    /// Several steps of SGD of its own.
    LocalSteps {
        /// How many, and how long.
        local: Local,
        /// What it sends.
        #[serde(default)]
        send: Send,
        /// Whether slower workers take fewer steps, in proportion to their mean speed, and the fastest all of them.
        #[serde(default)]
        by_speed: bool,
    },
    /// Steps of SGD on parameters of its own, which are then pulled towards the server's by `alpha` times their difference,
    /// and the server's towards them.
    Elastic {
        /// How many, and how long.
        local: Local,
        /// How strong the pull is.
        alpha: Positive,
    },
}

/// Local steps of SGD.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Local {
    /// How many.
    pub steps: Count,
    /// Their learning rate.
    pub learning_rate: Positive,
}

/// What a worker sends after its local steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Send {
    /// How far it came from what it read: w_read − w_local, the pseudo-gradient.
    #[default]
    Delta,
    /// Its parameters: the step is towards them, w_server − w_local.
    Model,
}

/// What can stand in the fields of `Custom`, choice by choice, in the order of the enums.
pub const CHOICES: [(&str, &[Entry]); 6] = [
    ("pace of Custom: when a worker may start", PACES),
    (
        "after, in step of Custom: when the server steps (mean: Count, Weights or Sum; order: Fifo or Lifo; capacity; parts)",
        AFTERS,
    ),
    ("late of Custom: what becomes of unfinished work at a step", LATES),
    ("work of Custom: what a worker computes", WORKS),
    ("otherwise, in admit of Custom: what comes of a rejection (most_versions, most_s, discount)", OTHERWISES),
    ("next, in pace Slots of Custom: who is next", NEXTS),
];

const PACES: &[Entry] = &[
    entry("AtOnce", "as soon as its gradient was dealt with", "AtOnce"),
    entry("Barrier", "at the step that uses its gradient; at once, if that was refused", "Barrier"),
    entry(
        "ClockGap",
        "while it is at most `bound` gradients ahead of the slowest, or of the slowest of `sample` others",
        "ClockGap(bound: 3)",
    ),
    entry(
        "Slots",
        "at most `concurrency` at a time, chosen among those that rest",
        "Slots(concurrency: 8, next: Random)",
    ),
    entry(
        "Routed",
        "tasks go round; each waits its turn at a worker drawn by the shares",
        "Routed(tasks: 8, shares: [])",
    ),
    entry(
        "Budget",
        "while started ≤ (eta + batches + 1) · batch; gradients go into a buffer beside the server",
        "Budget(eta: 1.0, batch: 8)",
    ),
    entry("Tokens", "while there is a token of a step, as in TensorFlow 1", "Tokens"),
];

const AFTERS: &[Entry] = &[
    entry("Gradients", "so many gradients, whoever computed them", "Gradients(8)"),
    entry("Workers", "gradients of so many different workers", "Workers(8)"),
    entry("All", "gradients of all workers", "All"),
    entry("Deadline", "so many seconds after the step before, with what has come, or when all has", "Deadline(2.0)"),
    entry("Table", "one step a worker and round, with the mean over workers of their gradients in that round", "Table"),
];

const LATES: &[Entry] = &[
    entry("Keep", "it goes on, and counts later", "Keep"),
    entry("Drop", "it goes on, and is dropped when it arrives", "Drop"),
    entry("Cancel", "it is told to stop, and its worker starts again", "Cancel"),
    entry("CancelStale", "the same, as soon as its lag exceeds most_versions", "CancelStale"),
];

const WORKS: &[Entry] = &[
    entry("Gradient", "one gradient", "Gradient"),
    entry(
        "LocalSteps",
        "steps of SGD of its own; it sends Delta, how far it came, or Model, where it is",
        "LocalSteps(local: (steps: 4, learning_rate: 0.1), send: Delta, by_speed: false)",
    ),
    entry(
        "Elastic",
        "the same on parameters that it keeps, which the server's pull, and which pull them",
        "Elastic(local: (steps: 1, learning_rate: 0.1), alpha: 0.1)",
    ),
];

const OTHERWISES: &[Entry] = &[
    entry("Refetch", "the worker reads again, and goes on with the next batch of data", "Refetch"),
    entry("Recompute", "the batch is computed again, by whoever starts next", "Recompute"),
    entry("Fail", "the run ends", "Fail"),
];

const NEXTS: &[Entry] = &[
    entry("Random", "any of them, with equal probability", "Random"),
    entry("InTurn", "whoever has rested longest", "InTurn"),
];
