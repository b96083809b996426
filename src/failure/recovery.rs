//! What a server has when it is there again.

use crate::catalogue::{Entry, entry};
use crate::units::{Count, NonNegative, Positive};
use serde::{Deserialize, Serialize};

/// What a server has when it is there again after a failure. `L` is what says how long something takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Recovery<L> {
    /// Nothing: it begins again with the first parameters.
    #[default]
    Scratch,
    /// Everything: it was only held up. What it was doing is finished; nothing new is begun meanwhile.
    Kept,
    /// What it saved last.
    Checkpoint {
        /// How often.
        every: Every,
        /// Seconds to write it.
        #[serde(default)]
        write: L,
        /// Whether the server does nothing else while it writes.
        #[serde(default = "yes")]
        blocking: bool,
        /// Seconds from then on until it can be restored.
        #[serde(default)]
        commit: L,
        /// Seconds to restore it, after the repair.
        #[serde(default)]
        restore: L,
        /// Whether the optimiser's state is saved, too; else it begins anew.
        #[serde(default = "yes")]
        optimiser: bool,
        /// So many of the first restarts do not find what was saved, and begin again with the first parameters.
        #[serde(default)]
        missed: u64,
        /// Whether a run that reaches its last version ends only when that is saved.
        #[serde(default)]
        at_end: bool,
    },
    /// What it sent to the next in a chain of servers last, which takes its place as soon as it is missed.
    Chain {
        /// Servers that stand by at the beginning. Without any, it begins again with the first parameters when it is repaired.
        replicas: u32,
        /// Versions from one replication to the next.
        every: Count,
        /// Seconds until a replica has it.
        #[serde(default)]
        delay: L,
        /// Seconds until a replica takes over, in place of those of the repair.
        detection: L,
        /// Seconds until a new server stands by in place of the one that failed; never if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replacement: Option<L>,
    },
    /// Everything, which is in a store of its own: while there is no server, workers read the last parameters and push to the
    /// store, and none of them ever waits for a step.
    Stateless {
        /// What becomes of the gradients that came meanwhile.
        #[serde(default)]
        backlog: Backlog,
        /// A step with more gradients than this is multiplied by `factor`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        above: Option<Count>,
        /// See `above`.
        #[serde(default = "one")]
        factor: NonNegative,
    },
    /// The newest parameters that a worker has which is up and computes; without any, the first.
    WorkerCopy {
        /// Seconds to send them.
        #[serde(default)]
        restore: L,
    },
}

/// How often a server saves what it has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Every {
    /// At versions that are multiples of this.
    Versions(Count),
    /// So many seconds after it began, or saved last.
    Seconds(Positive),
}

/// What becomes of the gradients that came while a stateless server was away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Backlog {
    /// What the protocol makes of gradients.
    #[default]
    AsAlways,
    /// A step of each.
    OneByOne,
    /// One step with their sum.
    Sum,
    /// One step with their mean.
    Mean,
}

/// What workers do while there is no server. (With `Kept` and `Stateless` they go on in any case.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Meanwhile {
    /// They stop at once, and begin anew when it is there again.
    #[default]
    Idle,
    /// They finish their gradients, and push them as soon as it is there again.
    Retry,
    /// They finish their gradients, whose pushes are lost if it is not there.
    Lose,
}

/// What becomes of gradients of versions that a restore has undone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Future {
    /// They are used like others. Their lag can be negative.
    #[default]
    Accept,
    /// They are dropped when they come.
    Drop,
    /// They are taken for gradients of the version that they meet: old work with a fresh label.
    Relabel,
    /// Their workers are told to stop, and to read again, as soon as the server is back.
    Refetch,
}

fn yes() -> bool {
    true
}

fn one() -> NonNegative {
    NonNegative::new(1.0).unwrap_or_else(|reason| unreachable!("{reason}"))
}

impl<L> Recovery<L> {
    /// Every choice, in the order of the enum.
    pub const CATALOGUE: &[Entry] = &[
        entry("Scratch", "nothing: it begins again with the first parameters", "Scratch"),
        entry("Kept", "everything: it was only held up", "Kept"),
        entry(
            "Checkpoint",
            "what it saved last; `every` so many versions or seconds, written in `write` s, there after `commit` s more",
            "Checkpoint(every: Versions(100), write: Constant(0.5), restore: Constant(2.0))",
        ),
        entry(
            "Chain",
            "what the next of a chain of servers has, which takes over after `detection` s",
            "Chain(replicas: 2, every: 100, detection: Constant(10.0), replacement: Constant(60.0))",
        ),
        entry(
            "Stateless",
            "everything, from a store outside, into which workers push meanwhile",
            "Stateless(backlog: Sum, above: 50, factor: 0.1)",
        ),
        entry(
            "WorkerCopy",
            "the newest parameters that a worker has which is up; not with workers that stop",
            "WorkerCopy(restore: Constant(1.0))",
        ),
    ];

    /// The same with another way of saying how long things take; `path` is the name of the field.
    pub fn map<M>(&self, mut convert: impl FnMut(&str, &L) -> M) -> Recovery<M> {
        match self {
            Recovery::Scratch => Recovery::Scratch,
            Recovery::Kept => Recovery::Kept,
            Recovery::Checkpoint { every, write, blocking, commit, restore, optimiser, missed, at_end } => {
                Recovery::Checkpoint {
                    every: *every,
                    write: convert("write", write),
                    blocking: *blocking,
                    commit: convert("commit", commit),
                    restore: convert("restore", restore),
                    optimiser: *optimiser,
                    missed: *missed,
                    at_end: *at_end,
                }
            }
            Recovery::Chain { replicas, every, delay, detection, replacement } => Recovery::Chain {
                replicas: *replicas,
                every: *every,
                delay: convert("delay", delay),
                detection: convert("detection", detection),
                replacement: replacement.as_ref().map(|law| convert("replacement", law)),
            },
            Recovery::Stateless { backlog, above, factor } => {
                Recovery::Stateless { backlog: *backlog, above: *above, factor: *factor }
            }
            Recovery::WorkerCopy { restore } => Recovery::WorkerCopy { restore: convert("restore", restore) },
        }
    }

    /// Whether anything is ever saved.
    pub fn saves(&self) -> bool {
        matches!(self, Recovery::Checkpoint { .. } | Recovery::Chain { .. })
    }

    /// Whether what workers push goes into a store of its own.
    pub fn is_stateless(&self) -> bool {
        matches!(self, Recovery::Stateless { .. })
    }

    /// Whether a failure undoes nothing.
    pub fn keeps_all(&self) -> bool {
        matches!(self, Recovery::Kept | Recovery::Stateless { .. })
    }
}

impl Every {
    /// Every choice, in the order of the enum.
    pub const CATALOGUE: &[Entry] = &[
        entry("Versions", "at versions that are multiples of this", "Versions(100)"),
        entry("Seconds", "so many seconds after it began, or saved last", "Seconds(60.0)"),
    ];
}

impl Backlog {
    /// Every choice, in the order of the enum.
    pub const CATALOGUE: &[Entry] = &[
        entry("AsAlways", "as the protocol does it", "AsAlways"),
        entry("OneByOne", "a step of each", "OneByOne"),
        entry("Sum", "one step with their sum", "Sum"),
        entry("Mean", "one step with their mean", "Mean"),
    ];
}

impl Meanwhile {
    /// Every choice, in the order of the enum.
    pub const CATALOGUE: &[Entry] = &[
        entry("Idle", "they stop at once, and begin anew when it is there again", "Idle"),
        entry("Retry", "they finish their gradients, and push them when it is there again", "Retry"),
        entry("Lose", "they finish their gradients, whose pushes are lost if it is not there", "Lose"),
    ];
}

impl Future {
    /// Every choice, in the order of the enum.
    pub const CATALOGUE: &[Entry] = &[
        entry("Accept", "used like others; their lag can be negative", "Accept"),
        entry("Drop", "dropped when they come", "Drop"),
        entry("Relabel", "taken for gradients of the version that they meet", "Relabel"),
        entry("Refetch", "their workers stop and read again as soon as the server is back", "Refetch"),
    ];
}
