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
        use After::{All, Gradients, Table, Workers};
        use Protocol::*;
        let each = Composition::default();
        let budget = |eta, batch| Pace::Budget { eta, batch };
        match self.clone() {
            Async => each,
            Sync => each.pace(Pace::Barrier).after(All),
            KSync { k, late } => each.pace(Pace::Barrier).after(Workers(k)).late(late.into()),
            KBatchSync { k } => each.after(Gradients(k)).late(Late::Cancel),
            KAsync { k } => each.pace(Pace::Barrier).after(Workers(k)),
            KBatchAsync { k } => each.after(Gradients(k)),
            Softsync { n } => {
                let c = Count::new(workers / n.get()).unwrap_or_default();
                each.after(Gradients(c)).scaled(Some(Discount::Inverse))
            }
            Ssp { bound } => each.pace(Pace::ClockGap { bound, sample: None }),
            SampledSsp { bound, sample } => each.pace(Pace::ClockGap { bound, sample: Some(sample) }),
            FedAsync { local, discount } => each.scaled(discount).local(local, Send::Model, false),
            StalenessAware => each.scaled(Some(Discount::Inverse)),
            DelayAdaptive { after } => each.scaled(Some(Discount::Capped { after })),
            FedBuff { buffer, concurrency, discount, mean, local } => {
                let slots = |concurrency| Pace::Slots { concurrency, next: Next::Random };
                let buffered = each.pace(concurrency.map_or(Pace::AtOnce, slots)).after(Gradients(buffer)).mean(mean);
                let scaled = buffered.scaled(discount);
                match local {
                    Some(local) => scaled.local(local, Send::Delta, false),
                    None => scaled,
                }
            }
            Rennala { batch, restart: false } => each.after(Gradients(batch)).late(Late::Drop),
            Rennala { batch, restart: true } => each.after(Gradients(batch)).late(Late::Cancel),
            Ringmaster { bound, stops: false } => each.at_most(bound.get() - 1),
            Ringmaster { bound, stops: true } => each.at_most(bound.get() - 1).late(Late::CancelStale),
            Ringleader => each.after(Table),
            SyncReplicas { gradients } => each.pace(Pace::Tokens).after(Gradients(gradients)).late(Late::Drop),
            RejectStale { tolerance, otherwise } => each.at_most(tolerance).otherwise(otherwise),
            LocalSgd { local } => each.pace(Pace::Barrier).after(All).local(local, Send::Delta, false),
            AsyncLocalSgd { local, by_speed, discount } => each.scaled(discount).local(local, Send::Delta, by_speed),
            Easgd { alpha, local, together: false } => each.work(Work::Elastic { local, alpha }),
            Easgd { alpha, local, together: true } => {
                each.pace(Pace::Barrier).after(All).mean(Mean::Sum).work(Work::Elastic { local, alpha })
            }
            GeneralisedAsync { tasks, shares } => each.pace(Pace::Routed { tasks, shares, unbiased: true }),
            Deadline { seconds, late } => each.pace(Pace::Barrier).after(After::Deadline(seconds)).late(late.into()),
            Admission { eta, batch, parts, most_age, stale, order, capacity } => {
                let rule = StepRule { after: Gradients(batch), order, capacity, parts, ..StepRule::default() };
                let bounded = each.pace(budget(eta, batch)).step(rule).aged(most_age);
                match stale {
                    Stale::Withhold => bounded,
                    Stale::Requeue => bounded.otherwise(Otherwise::Recompute),
                    Stale::Cancel => bounded.late(Late::CancelStale),
                }
            }
            Custom { pace, admit, step, late, work } => Composition { pace, admit, step, late, work },
        }
    }
}

/// The scenario that shows the protocol called `name`: `KBatchSync` is in `scenarios/protocols/k-batch-sync.ron`.
pub fn scenario_of(name: &str) -> String {
    let mut kebab = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.extend(letter.to_lowercase());
    }
    format!("scenarios/protocols/{kebab}.ron")
}

/// Every protocol, in the order of [`Protocol`], with its source.
pub const CATALOGUE: &[Entry] = &[
    entry(
        "Async",
        "one step per gradient, however stale; its worker reads the new version and goes on at once",
        "Async",
    ),
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
        "`tasks` go round, each sent to a worker drawn by the shares of the classes, where it queues; weights 1/(n pᵢ) (Leconte et al., 2024)",
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
