//! Changes to a scenario: some of its fields with new values, as axes of a sweep and `--set` give them.

use super::{Class, Expectation, Problem, Publish, Scenario, Stop};
use crate::delay::Law;
use crate::objective;
use crate::optimiser;
use crate::protocol::Protocol;
use crate::record::Record;
use crate::units::{Count, Finite, Positive, Seconds};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Some fields of a scenario. Those that are given take the place of the scenario's; of `network`, `server` and `stop`, and of
/// classes of workers, single fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs, reason = "the fields are those of a scenario, but for the three that say what they are")]
pub struct Patch {
    pub seed: Option<u64>,
    pub replication: Option<u64>,
    pub objective: Option<objective::Spec>,
    pub noise: Option<objective::Noise>,
    pub start: Option<Vec<Finite>>,
    pub start_version: Option<u64>,
    pub optimiser: Option<Vec<optimiser::Spec>>,
    /// That of the one transform of the chain that has one.
    pub learning_rate: Option<Positive>,
    pub protocol: Option<Protocol>,
    pub workers: Option<Vec<Class>>,
    /// Fields of every class of workers.
    pub each_class: Option<ClassPatch>,
    /// Fields of single classes, by their names in results.
    pub classes: BTreeMap<String, ClassPatch>,
    pub network: Option<NetworkPatch>,
    pub server: Option<ServerPatch>,
    pub stop: Option<Stop>,
    pub record: Option<Record>,
    pub expect: Option<Vec<Expectation>>,
}

/// Some fields of a class of workers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs, reason = "the fields are those of a class")]
pub struct ClassPatch {
    pub count: Option<Count>,
    pub compute: Option<Law>,
    pub joins_at: Option<Seconds>,
    pub weight: Option<Positive>,
    pub download: Option<Law>,
    pub upload: Option<Law>,
    pub give_up_s: Option<Positive>,
}

/// Some links of the network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs, reason = "the fields are those of a network")]
pub struct NetworkPatch {
    pub download: Option<Law>,
    pub upload: Option<Law>,
    pub request: Option<Law>,
}

/// Some fields of the server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs, reason = "the fields are those of a server")]
pub struct ServerPatch {
    pub service: Option<Law>,
    pub step: Option<Law>,
    pub publish: Option<Publish>,
}

/// Puts a new value in place, if there is one.
fn set<T: Clone>(field: &mut T, value: &Option<T>) {
    if let Some(value) = value {
        field.clone_from(value);
    }
}

/// The same for a field that may be left out.
fn set_some<T: Clone>(field: &mut Option<T>, value: &Option<T>) {
    if value.is_some() {
        field.clone_from(value);
    }
}

impl Patch {
    /// Changes `scenario`.
    ///
    /// # Errors
    /// If it names a class that there is none of, or sets the learning rate of a chain without one.
    pub fn apply(&self, scenario: &mut Scenario) -> Result<(), Problem> {
        set(&mut scenario.seed, &self.seed);
        set(&mut scenario.replication, &self.replication);
        set(&mut scenario.objective, &self.objective);
        set_some(&mut scenario.noise, &self.noise);
        set(&mut scenario.start, &self.start);
        set(&mut scenario.start_version, &self.start_version);
        set(&mut scenario.optimiser, &self.optimiser);
        set(&mut scenario.protocol, &self.protocol);
        set(&mut scenario.workers, &self.workers);
        set(&mut scenario.record, &self.record);
        set(&mut scenario.expect, &self.expect);
        if let Some(rate) = self.learning_rate {
            let link = scenario.optimiser.iter_mut().find_map(optimiser::Spec::learning_rate_mut);
            *link.ok_or_else(|| Problem::at("learning_rate", "the optimiser has no learning rate to set"))? = rate;
        }
        if let Some(patch) = &self.each_class {
            scenario.workers.iter_mut().for_each(|class| patch.apply(class));
        }
        let names = scenario.class_names();
        for (name, patch) in &self.classes {
            let place = names.iter().position(|own| own == name).ok_or_else(|| {
                Problem::at("classes", format!("no class of workers is called `{name}`"))
                    .help(format!("the classes are: {}", names.join(", ")))
            })?;
            patch.apply(&mut scenario.workers[place]);
        }
        if let Some(network) = &self.network {
            set(&mut scenario.network.download, &network.download);
            set(&mut scenario.network.upload, &network.upload);
            set(&mut scenario.network.request, &network.request);
        }
        if let Some(server) = &self.server {
            set(&mut scenario.server.service, &server.service);
            set(&mut scenario.server.step, &server.step);
            set(&mut scenario.server.publish, &server.publish);
        }
        if let Some(stop) = &self.stop {
            set_some(&mut scenario.stop.updates, &stop.updates);
            set_some(&mut scenario.stop.time_s, &stop.time_s);
            set_some(&mut scenario.stop.loss, &stop.loss);
        }
        Ok(())
    }

    /// Whether it changes the top-level field `field` of a scenario.
    pub fn touches(&self, field: &str) -> bool {
        match field {
            "seed" => self.seed.is_some(),
            "replication" => self.replication.is_some(),
            "objective" => self.objective.is_some(),
            "noise" => self.noise.is_some(),
            "start" => self.start.is_some(),
            "start_version" => self.start_version.is_some(),
            "optimiser" => self.optimiser.is_some() || self.learning_rate.is_some(),
            "protocol" => self.protocol.is_some(),
            "workers" => self.workers.is_some() || self.each_class.is_some() || !self.classes.is_empty(),
            "network" => self.network.is_some(),
            "server" => self.server.is_some(),
            "stop" => self.stop.is_some(),
            "record" => self.record.is_some(),
            "expect" => self.expect.is_some(),
            _ => false,
        }
    }
}

impl ClassPatch {
    fn apply(&self, class: &mut Class) {
        set(&mut class.count, &self.count);
        set(&mut class.compute, &self.compute);
        set(&mut class.joins_at, &self.joins_at);
        set(&mut class.weight, &self.weight);
        set_some(&mut class.download, &self.download);
        set_some(&mut class.upload, &self.upload);
        set_some(&mut class.give_up_s, &self.give_up_s);
    }
}
