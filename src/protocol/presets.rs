//! The published methods, each as five choices. This one file is all that makes Ringmaster Ringmaster.
//!
//! Adding a method: a variant of [`Protocol`], its row in [`CATALOGUE`], and its arm in [`Protocol::compose`].

use super::choices::{
    Admit, After, Composition, Late, Local, Mean, Next, Order, Otherwise, Pace, Send, StepRule, Work,
};
use crate::catalogue::{Entry, entry};
use crate::optimiser::Discount;
use crate::units::{Count, NonNegative, Positive};
use serde::{Deserialize, Serialize};

/// A protocol, as a scenario names it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "CATALOGUE, which `list` prints, and the arms of `compose` say what they are")]
pub enum Protocol {
    #[default]
    Async,
    Sync,
    KSync {
        k: Count,
        #[serde(default)]
        late: LateOfSync,
    },
    KBatchSync {
        k: Count,
    },
    KAsync {
        k: Count,
    },
    KBatchAsync {
        k: Count,
    },
    Softsync {
        n: Count,
    },
    Ssp {
        bound: u64,
    },
    SampledSsp {
        bound: u64,
        sample: Count,
    },
    FedAsync {
        local: Local,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        discount: Option<Discount>,
    },
    StalenessAware,
    DelayAdaptive {
        after: Count,
    },
    FedBuff {
        buffer: Count,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        concurrency: Option<Count>,
        #[serde(default = "square_root", skip_serializing_if = "Option::is_none")]
        discount: Option<Discount>,
        #[serde(default)]
        mean: Mean,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        local: Option<Local>,
    },
    Rennala {
        batch: Count,
        #[serde(default)]
        restart: bool,
    },
    Ringmaster {
        bound: Count,
        #[serde(default)]
        stops: bool,
    },
    Ringleader,
    SyncReplicas {
        gradients: Count,
    },
    RejectStale {
        tolerance: u64,
        #[serde(default)]
        otherwise: Otherwise,
    },
    LocalSgd {
        local: Local,
    },
    AsyncLocalSgd {
        local: Local,
        #[serde(default)]
        by_speed: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        discount: Option<Discount>,
    },
    Easgd {
        alpha: Positive,
        local: Local,
        #[serde(default)]
        together: bool,
    },
    GeneralisedAsync {
        tasks: Count,
        #[serde(default)]
        shares: Vec<NonNegative>,
    },
    Deadline {
        seconds: Positive,
        #[serde(default)]
        late: LateOfSync,
    },
    Admission {
        eta: NonNegative,
        batch: Count,
        #[serde(default)]
        parts: Count,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most_age: Option<u64>,
        #[serde(default)]
        stale: Stale,
        #[serde(default)]
        order: Order,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        capacity: Option<Count>,
    },
    Custom {
        #[serde(default)]
        pace: Pace,
        #[serde(default)]
        admit: Admit,
        #[serde(default)]
        step: StepRule,
        #[serde(default)]
        late: Late,
        #[serde(default)]
        work: Work,
    },
}

/// What becomes of stragglers in a synchronous method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LateOfSync {
    /// They are told to stop, and start again with the others.
    #[default]
    Cancel,
    /// They finish, are dropped, and start on the version of then.
    Drop,
}

/// What becomes of items of asynchronous reinforcement learning that are older than allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stale {
    /// They are generated to the end, and withheld from training.
    #[default]
    Withhold,
    /// The same, and their prompts are generated again.
    Requeue,
    /// Generation stops as soon as they are too old.
    Cancel,
}

fn square_root() -> Option<Discount> {
    NonNegative::new(0.5).ok().map(|exponent| Discount::Polynomial { exponent })
}

impl From<LateOfSync> for Late {
    fn from(late: LateOfSync) -> Late {
        match late {
            LateOfSync::Cancel => Late::Cancel,
            LateOfSync::Drop => Late::Drop,
        }
    }
}

impl Protocol {
    /// The name of the variant, as in RON.
    pub fn name(&self) -> String {
        let text = ron::to_string(self).unwrap_or_default();
        text.split('(').next().unwrap_or_default().to_owned()
    }

    /// Its five choices, for a cluster of `workers`.
    pub fn compose(&self, workers: u64) -> Composition {
        use Protocol::*;
        let all = Composition::default;
        match self.clone() {
            Async => all(),
            Sync => Composition { pace: Pace::Barrier, step: mean_of(After::All), ..all() },
            KSync { k, late } => Composition {
                pace: Pace::Barrier,
                step: mean_of(After::Workers(k)),
                late: late.into(),
                ..all()
            },
            KBatchSync { k } => Composition { step: mean_of(After::Gradients(k)), late: Late::Cancel, ..all() },
            KAsync { k } => Composition { pace: Pace::Barrier, step: mean_of(After::Workers(k)), ..all() },
            KBatchAsync { k } => Composition { step: mean_of(After::Gradients(k)), ..all() },
            // c = ⌊workers / n⌋ gradients a step, each divided by its lag.
            Softsync { n } => Composition {
                step: mean_of(After::Gradients(Count::new(workers / n.get()).unwrap_or_default())),
                admit: scaled(Some(Discount::Inverse)),
                ..all()
            },
            Ssp { bound } => Composition { pace: Pace::ClockGap { bound, sample: None }, ..all() },
            SampledSsp { bound, sample } => {
                Composition { pace: Pace::ClockGap { bound, sample: Some(sample) }, ..all() }
            }
            FedAsync { local, discount } => Composition {
                work: Work::LocalSteps { local, send: Send::Model, by_speed: false },
                admit: scaled(discount),
                ..all()
            },
            StalenessAware => Composition { admit: scaled(Some(Discount::Inverse)), ..all() },
            DelayAdaptive { after } => Composition { admit: scaled(Some(Discount::Capped { after })), ..all() },
            FedBuff { buffer, concurrency, discount, mean, local } => Composition {
                pace: concurrency.map_or(Pace::AtOnce, |concurrency| Pace::Slots { concurrency, next: Next::Random }),
                admit: scaled(discount),
                step: StepRule { after: After::Gradients(buffer), mean, ..StepRule::default() },
                work: deltas(local),
                ..all()
            },
            Rennala { batch, restart } => Composition {
                step: mean_of(After::Gradients(batch)),
                late: if restart { Late::Cancel } else { Late::Drop },
                ..all()
            },
            Ringmaster { bound, stops } => Composition {
                admit: Admit { most_versions: Some(bound.get() - 1), ..Admit::default() },
                late: if stops { Late::CancelStale } else { Late::Keep },
                ..all()
            },
            Ringleader => Composition { step: mean_of(After::Table), ..all() },
            SyncReplicas { gradients } => Composition {
                pace: Pace::Tokens,
                step: mean_of(After::Gradients(gradients)),
                late: Late::Drop,
                ..all()
            },
            RejectStale { tolerance, otherwise } => Composition {
                admit: Admit { most_versions: Some(tolerance), otherwise, ..Admit::default() },
                ..all()
            },
            LocalSgd { local } => {
                Composition { pace: Pace::Barrier, step: mean_of(After::All), work: deltas(Some(local)), ..all() }
            }
            AsyncLocalSgd { local, by_speed, discount } => Composition {
                admit: scaled(discount),
                work: Work::LocalSteps { local, send: Send::Delta, by_speed },
                ..all()
            },
            Easgd { alpha, local, together: false } => {
                Composition { work: Work::Elastic { local, alpha }, ..all() }
            }
            Easgd { alpha, local, together: true } => Composition {
                pace: Pace::Barrier,
                step: StepRule { after: After::All, mean: Mean::Sum, ..StepRule::default() },
                work: Work::Elastic { local, alpha },
                ..all()
            },
            GeneralisedAsync { tasks, shares } => Composition { pace: Pace::Routed { tasks, shares }, ..all() },
            Deadline { seconds, late } => Composition {
                pace: Pace::Barrier,
                step: mean_of(After::Deadline(seconds)),
                late: late.into(),
                ..all()
            },
            Admission { eta, batch, parts, most_age, stale, order, capacity } => Composition {
                pace: Pace::Budget { eta, batch },
                admit: Admit {
                    most_versions: most_age,
                    otherwise: if stale == Stale::Requeue { Otherwise::Recompute } else { Otherwise::Refetch },
                    ..Admit::default()
                },
                step: StepRule { after: After::Gradients(batch), order, capacity, parts, ..StepRule::default() },
                late: if stale == Stale::Cancel { Late::CancelStale } else { Late::Keep },
                ..all()
            },
            Custom { pace, admit, step, late, work } => Composition { pace, admit, step, late, work },
        }
    }
}

fn mean_of(after: After) -> StepRule {
    StepRule { after, ..StepRule::default() }
}

fn scaled(discount: Option<Discount>) -> Admit {
    Admit { discount, ..Admit::default() }
}

fn deltas(local: Option<Local>) -> Work {
    local.map_or(Work::Gradient, |local| Work::LocalSteps { local, send: Send::Delta, by_speed: false })
}

/// Every protocol, in the order of [`Protocol`], with its source.
pub const CATALOGUE: &[Entry] = &[
    entry("Async", "one step per gradient, however stale; its worker reads the new version and goes on at once", "Async"),
    entry("Sync", "one step per round, with the mean of all workers' gradients", "Sync"),
    entry(
        "KSync",
        "rounds end with the first k workers; the others are cancelled, or finish and are dropped (backup workers: Chen et al., 2016)",
        "KSync(k: 28, late: Drop)",
    ),
    entry(
        "KBatchSync",
        "a step with the first k gradients of a version, whoever computed them; the rest is cancelled (Dutta et al., 2018)",
        "KBatchSync(k: 8)",
    ),
    entry(
        "KAsync",
        "a step with gradients of k workers, which wait for it; the others go on (Dutta et al., 2018)",
        "KAsync(k: 4)",
    ),
    entry("KBatchAsync", "a step with every k gradients, nobody waits (Dutta et al., 2018)", "KBatchAsync(k: 4)"),
    entry(
        "Softsync",
        "n-softsync: a step with every workers / n gradients, each divided by its lag (Zhang et al., 2016)",
        "Softsync(n: 4)",
    ),
    entry(
        "Ssp",
        "stale synchronous parallel: nobody starts more than `bound` gradients ahead of the slowest (Ho et al., 2013)",
        "Ssp(bound: 3)",
    ),
    entry(
        "SampledSsp",
        "the same, looking at `sample` random others only: probabilistic barriers (Wang et al., 2017)",
        "SampledSsp(bound: 3, sample: 5)",
    ),
    entry(
        "FedAsync",
        "w ← w − u, u = learning_rate · s(lag) · (w − w_local), after local steps (Xie et al., 2019)",
        "FedAsync(local: (steps: 5, learning_rate: 0.1), discount: Hinge(slope: 10.0, after: 4))",
    ),
    entry("StalenessAware", "every gradient divided by max(1, lag) (Zhang et al., 2016)", "StalenessAware"),
    entry(
        "DelayAdaptive",
        "gradients with a lag τ beyond `after` are scaled by after / τ (Koloskova et al., 2022)",
        "DelayAdaptive(after: 8)",
    ),
    entry(
        "FedBuff",
        "a step with every `buffer` updates, scaled by 1/√(1 + lag), of at most `concurrency` workers at a time (Nguyen et al., 2022)",
        "FedBuff(buffer: 10, concurrency: 100, mean: Count)",
    ),
    entry(
        "Rennala",
        "a step with `batch` gradients of the current version; stale ones are dropped, or all work restarts (Tyurin and Richtárik, 2023)",
        "Rennala(batch: 8, restart: false)",
    ),
    entry(
        "Ringmaster",
        "as Async, but a lag of `bound` versions or more is rejected, or stopped when it is reached (Maranjyan et al., 2025)",
        "Ringmaster(bound: 8, stops: false)",
    ),
    entry(
        "Ringleader",
        "a table of gradients, one step a worker and round, with the mean over workers (Maranjyan and Richtárik, 2025)",
        "Ringleader",
    ),
    entry(
        "SyncReplicas",
        "TensorFlow 1: a step with so many fresh gradients, whoever computed them; stale ones are dropped; tokens pace the workers",
        "SyncReplicas(gradients: 8)",
    ),
    entry(
        "RejectStale",
        "\"is stale, expected version 5 but got 4\": beyond a tolerance, Refetch, Recompute the same batch, or Fail",
        "RejectStale(tolerance: 0, otherwise: Refetch)",
    ),
    entry(
        "LocalSgd",
        "rounds of local steps; the server moves by the mean of how far the workers came (FedAvg: McMahan et al., 2017)",
        "LocalSgd(local: (steps: 8, learning_rate: 0.1))",
    ),
    entry(
        "AsyncLocalSgd",
        "the same without rounds: pseudo-gradients for an outer optimiser; steps by speed (Liu et al., 2024; DiLoCo)",
        "AsyncLocalSgd(local: (steps: 8, learning_rate: 0.1), by_speed: true)",
    ),
    entry(
        "Easgd",
        "elastic averaging: workers keep their parameters, and are pulled to the server's (Zhang et al., 2015)",
        "Easgd(alpha: 0.1, local: (steps: 1, learning_rate: 0.1), together: false)",
    ),
    entry(
        "GeneralisedAsync",
        "`tasks` go round, each sent to a worker drawn by the shares of the classes, where it queues (Leconte et al., 2024)",
        "GeneralisedAsync(tasks: 10, shares: [0.5, 0.5])",
    ),
    entry(
        "Deadline",
        "rounds end after so many seconds, with what has come; the rest is cancelled, or dropped",
        "Deadline(seconds: 2.0, late: Cancel)",
    ),
    entry(
        "Admission",
        "asynchronous RL: generators start while started ≤ (eta + batches + 1) · batch; the server trains (Fu et al., 2025: AReaL)",
        "Admission(eta: 4, batch: 32, parts: 1, most_age: 8, stale: Withhold, order: Fifo)",
    ),
    entry(
        "Custom",
        "any combination of the five choices: pace, admit, step, late, work",
        "Custom(pace: Barrier, step: (after: Workers(4), mean: Sum), late: Drop)",
    ),
];
