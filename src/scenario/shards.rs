//! A server in shards: what a scenario says of it, whether that fits the rest, and what is made of it.

use super::Scenario;
use super::build::{Builder, Place};
use super::diagnose::Problem;
use crate::catalogue::{Entry, entry};
use crate::cluster::{DelayId, ShardSpec, Sharding, purpose};
use crate::delay::Law;
use crate::failure::{Every, Future, Meanwhile, Of, Recovery};
use crate::optimiser::Optimiser;
use crate::protocol::{Admit, Composition, Otherwise};
use crate::units::Count;
use serde::{Deserialize, Serialize};

/// The shards of a server: each has some of the parameters, and a version and a queue of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shards {
    /// All of them, in the order of their parameters.
    pub each: Vec<Shard>,
    /// When a worker goes on to its next gradient.
    #[serde(default)]
    pub go_on: GoOn,
    /// Which of them go back when one does.
    #[serde(default)]
    pub rollback: Rollback,
}

/// Shards that are alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// How many.
    #[serde(default = "single")]
    pub count: Count,
    /// How many parameters each of them has; an equal part of the rest if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Count>,
    /// Seconds to take in one part of a gradient; as the server says if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Law>,
    /// Seconds that it adds to the download of its part of a snapshot.
    #[serde(default)]
    pub download: Law,
    /// Seconds that it adds to the upload of its part of a gradient.
    #[serde(default)]
    pub upload: Law,
}

fn single() -> Count {
    Count::ONE
}

/// When a worker goes on to its next gradient.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum GoOn {
    /// When all shards have dealt with their parts of the last one.
    #[default]
    Applied,
    /// When all of these have arrived, to wait in the queues of their shards.
    Arrived,
}

/// Which shards go back to what was saved when one of them is there again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rollback {
    /// The one that failed, alone.
    #[default]
    Failed,
    /// All.
    All,
}

impl GoOn {
    /// Every choice, in the order of the enum.
    pub const CATALOGUE: &[Entry] = &[
        entry("Applied", "when all shards have dealt with their parts of the last gradient", "Applied"),
        entry("Arrived", "when all parts have arrived, to wait in the queues of their shards", "Arrived"),
    ];
}

impl Rollback {
    /// Every choice, in the order of the enum.
    pub const CATALOGUE: &[Entry] = &[
        entry("Failed", "the one that failed, alone (partial recovery)", "Failed"),
        entry("All", "all, each to what it saved last (full recovery)", "All"),
    ];
}

impl Shards {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.each.iter().fold(0, |sum: u64, shard| sum.saturating_add(shard.count.get()))
    }
}

/// So many can be told apart.
const MOST: u64 = 1024;

/// Whether the shards of a server fit the rest of its scenario.
pub fn check(scenario: &Scenario) -> Vec<Problem> {
    let mut problems = Vec::new();
    let Some(shards) = &scenario.server.shards else {
        for (number, failure) in scenario.failures.iter().enumerate() {
            if matches!(failure.of, Of::Shard(_) | Of::Shards) {
                let path = format!("failures.{number}.of");
                problems.push(Problem::at(&path, "the server has no shards").help("give it some: server: (shards: …)"));
            }
        }
        return problems;
    };
    let count = shards.count();
    if count == 0 || count > MOST {
        let message = format!("{count} shards");
        problems.push(Problem::at("server.shards", message).help(format!("between 1 and {MOST}")));
    }
    if count.saturating_mul(scenario.worker_count()) > crate::cluster::MAX_WORKERS {
        let most = crate::cluster::MAX_WORKERS;
        let help = format!("at most {most} workers times shards");
        problems.push(Problem::at("server.shards", "too many parts are under way at a time").help(help));
    }
    let mut without = |path: &str, what: &str, help: &str| {
        let message = format!("{what}, which a server in shards does not do");
        problems.push(Problem::at(path, message).help(help));
    };
    protocol(&scenario.composition(), &mut without);
    let (network, server) = (&scenario.network, &scenario.server);
    if network.link.is_some() {
        without(
            "network.link",
            "messages share one link",
            "leave it out; shards can have `upload` and `download` of their own",
        );
    }
    if network.duplicates.get() > 0.0 {
        without("network.duplicates", "gradients come twice", "leave it out");
    }
    if network.request != Law::default() {
        without("network.request", "snapshots are requested", "leave it out");
    }
    if server.step != Law::default() {
        without("server.step", "a step takes time", "give the shards a `service`");
    }
    if server.publish != Default::default() {
        without("server.publish", "versions are published", "leave it out");
    }
    if scenario.workers.iter().any(|class| class.give_up_s.is_some()) {
        without("workers", "workers give up", "leave out give_up_s");
    }
    recovery(scenario, &mut without);
    problems.extend(failures(scenario, count));
    problems
}

fn protocol(composition: &Composition, without: &mut impl FnMut(&str, &str, &str)) {
    let admit = composition.admit;
    let rest = Composition { admit: Admit::default(), ..composition.clone() };
    if !rest.is_plain() || admit.discount.is_some() {
        without("protocol", "it waits for others, or weighs gradients", "Async, or Custom with `admit` alone");
    }
    if admit.otherwise == Otherwise::Recompute {
        without("protocol", "a batch is computed again", "otherwise: Refetch, or Fail");
    }
}

fn recovery(scenario: &Scenario, without: &mut impl FnMut(&str, &str, &str)) {
    let server = &scenario.server;
    match &server.recovery {
        Recovery::Scratch | Recovery::Kept => {}
        Recovery::Checkpoint { every, blocking, commit, optimiser, missed, at_end, .. } => {
            if matches!(every, Every::Seconds(_)) {
                without("server.recovery", "it saves by the clock", "every: Versions(…), of each shard");
            }
            if !blocking || *commit != Law::default() || !optimiser || *missed > 0 || *at_end {
                let help = "leave out blocking, commit, optimiser, missed and at_end";
                without("server.recovery", "it saves in the background, in part, or not at all", help);
            }
        }
        _ => without("server.recovery", "it comes back from elsewhere", "Kept, Scratch or Checkpoint"),
    }
    if matches!(server.future, Future::Relabel | Future::Refetch) {
        without("server.future", "gradients are relabelled or fetched again", "future: Accept, or Drop");
    }
}

fn failures(scenario: &Scenario, count: u64) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (number, failure) in scenario.failures.iter().enumerate() {
        let path = format!("failures.{number}.of");
        match failure.of {
            Of::Shard(shard) if u64::from(shard) >= count => {
                let message = format!("there is no shard {shard}");
                let help = format!("they are numbered from 0 to {}", count.saturating_sub(1));
                problems.push(Problem::at(&path, message).help(help));
            }
            Of::Shard(_) | Of::Shards | Of::Server => {}
            _ => {
                let message = "workers and links do not fail beside a server in shards";
                problems
                    .push(Problem::at(&path, message).help("of: Shard(0), Shards (each on its own) or Server (all)"));
            }
        }
    }
    if !scenario.failures.is_empty() && scenario.server.meanwhile != Meanwhile::Retry {
        let message = "workers send again to a shard that is away until it is there";
        problems.push(Problem::at("server.meanwhile", message).help("write so: meanwhile: Retry"));
    }
    problems
}

/// The shards of a server for `dimension` parameters, and how they work together.
pub fn build(scenario: &Scenario, dimension: usize, builder: &mut Builder) -> (Vec<ShardSpec>, Sharding) {
    let Some(shards) = &scenario.server.shards else { return Default::default() };
    let (mut all, mut first) = (Vec::new(), 0);
    for ((place, shard), size) in shares(shards, dimension, builder) {
        let mut add = |field: &str, law: &Law, purpose| {
            let place_of = Place { purpose, entity: all.len() as u64, member: 0 };
            builder.add(&format!("server.shards.each.{place}.{field}"), law, place_of)
        };
        let service = match &shard.service {
            Some(own) => add("service", own, purpose::SERVICE),
            None => add("service", &scenario.server.service, purpose::SERVICE),
        };
        let (download, upload): (DelayId, DelayId) = (
            add("download", &shard.download, purpose::SHARD_DOWNLOAD),
            add("upload", &shard.upload, purpose::SHARD_UPLOAD),
        );
        // What is wrong with the optimiser is said elsewhere.
        let Ok(optimiser) = Optimiser::new(&scenario.optimiser, size) else { break };
        all.push(ShardSpec { parameters: first..first + size, optimiser, service, download, upload });
        first += size;
    }
    let sharding = Sharding { waits: shards.go_on == GoOn::Applied, all_roll_back: shards.rollback == Rollback::All };
    (all, sharding)
}

/// Every shard with its place in the scenario and the number of its parameters.
fn shares<'a>(shards: &'a Shards, dimension: usize, builder: &mut Builder) -> Vec<((usize, &'a Shard), usize)> {
    let each = || {
        let all = shards.each.iter().enumerate();
        all.flat_map(|(place, shard)| std::iter::repeat_n((place, shard), shard.count.get().min(MOST) as usize))
    };
    let own = |shard: &Shard| shard.parameters.map_or(0, Count::get);
    let given = each().fold(0, |sum: u64, (_, shard)| sum.saturating_add(own(shard)));
    let open = each().filter(|(_, shard)| shard.parameters.is_none()).count() as u64;
    let rest = (dimension as u64).checked_sub(given);
    let Some(rest) = rest.filter(|&rest| if open == 0 { rest == 0 } else { rest >= open }) else {
        let message = format!("{} shards with {given} parameters given do not share out {dimension}", each().count());
        builder
            .problems
            .push(Problem::at("server.shards", message).help("each needs one at least, and all have an owner"));
        return Vec::new();
    };
    let mut next = 0;
    let mut size = |shard: &Shard| match shard.parameters {
        Some(own) => own.get(),
        None => {
            let upto = |number: u64| rest * number / open;
            next += 1;
            upto(next) - upto(next - 1)
        }
    };
    each().map(|(place, shard)| ((place, shard), size(shard) as usize)).collect()
}
