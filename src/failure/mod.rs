//! When things die, and what a server does when it comes back: what a scenario can say of it.

mod recovery;

pub use recovery::{Backlog, Every, Future, Meanwhile, Recovery};

use crate::catalogue::{Entry, entry};
use crate::delay::Law;
use crate::units::{Positive, Seconds};
use serde::{Deserialize, Serialize};

/// Something that fails, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// What fails.
    pub of: Of,
    /// When.
    pub at: When,
    /// Seconds until it is there again; never if left out. `Spells` say it themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair: Option<Law>,
    /// Whether it can fail again while it is being repaired, which then begins anew.
    #[serde(default)]
    pub while_down: bool,
    /// Seconds before each failure from which on its workers begin nothing new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice_s: Option<Positive>,
    /// Seconds until the server knows that a worker is gone, and no longer waits for it; never if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detection: Option<Law>,
}

/// What fails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Of {
    /// The server: all its shards, if it is in shards.
    Server,
    /// Every shard of the server on its own.
    Shards,
    /// One shard of the server, counted from 0.
    Shard(u32),
    /// Every worker on its own.
    Workers,
    /// Every worker of a class on its own, by the name of the class in results.
    Class(String),
    /// Single workers on their own, counted over the whole cluster from 0.
    Numbers(Vec<u32>),
    /// All workers of these classes at the same time: a rack, or a reservation that is called back.
    Together(Vec<String>),
    /// The links of all workers of these classes at the same time: they are cut off from the server.
    Links(Vec<String>),
}

/// When something fails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum When {
    /// At these instants, s.
    At(Vec<Seconds>),
    /// After being up for so long, s, again and again.
    Every(Law),
    /// As it was measured: columns of a file have the beginnings of spells of being down, and their ends or how long they were; with
    /// `by`, each worker has the rows of its own series.
    Spells {
        /// A CSV or Parquet file.
        file: String,
        /// The column of beginnings.
        from: String,
        /// The column of ends.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<String>,
        /// In its place, the column of how long they were.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lasting: Option<String>,
        /// The column that tells series apart.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Seconds per unit of the columns.
        #[serde(default = "one")]
        scale: Positive,
    },
}

fn one() -> Positive {
    Positive::new(1.0).unwrap_or_else(|reason| unreachable!("{reason}"))
}

impl Of {
    /// Every choice, in the order of the enum.
    pub const CATALOGUE: &[Entry] = &[
        entry("Server", "the server: all its shards, if it is in shards", "Server"),
        entry("Shards", "every shard of the server on its own", "Shards"),
        entry("Shard", "one shard of the server, counted from 0", "Shard(1)"),
        entry("Workers", "every worker on its own", "Workers"),
        entry("Class", "every worker of a class on its own", "Class(\"spot\")"),
        entry("Numbers", "single workers on their own, counted from 0", "Numbers([0, 3])"),
        entry("Together", "all workers of some classes at the same time", "Together([\"rack 1\", \"rack 2\"])"),
        entry("Links", "the links of some classes: they are cut off from the server", "Links([\"far\"])"),
    ];
}

impl When {
    /// Every choice, in the order of the enum.
    pub const CATALOGUE: &[Entry] = &[
        entry("At", "at these instants, s", "At([30.0, 80.0])"),
        entry("Every", "after being up for so long, s, again and again", "Every(Weibull(shape: 0.7, scale: 3600.0))"),
        entry(
            "Spells",
            "as it was measured: columns with when it was down `from`, and `until` when or `lasting` how long; `by` tells workers apart",
            "Spells(file: \"faults.csv\", from: \"start_d\", lasting: \"down_d\", by: \"node\", scale: 86400.0)",
        ),
    ];
}
