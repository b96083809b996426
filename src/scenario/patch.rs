//! Changes to a scenario: some of its fields with new values, as axes of a sweep and `--set` give them.

use super::{Class, Expectation, Link, Problem, Publish, Scenario, Server, Shards};
use crate::delay::Law;
use crate::failure::{Failure, Future, Meanwhile, Recovery};
use crate::objective;
use crate::optimiser;
use crate::protocol::Protocol;
use crate::record::Record;
use crate::units::{Count, Finite, NonNegative, Positive, Probability, Seconds};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// A field that is written is given, even if what it says is `None`: that takes a value away.
fn given<'a, D: Deserializer<'a>, T: Deserialize<'a>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Defines a set of fields of which any may be given. A field of an optional type can be given as `None`, others cannot.
macro_rules! patch {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        #[allow(missing_docs, reason = "the fields are those of what is changed, but for those that say what they are")]
        pub struct $name {
            $(
                $(#[$field_doc])*
                #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
                pub $field: Option<$type>,
            )*
        }
    };
}

patch! {
    /// Some fields of a scenario. Those that are given take the place of the scenario's; of `network`, `server` and `stop`, and of
    /// classes of workers, single fields.
    Patch {
        seed: u64,
        replication: u64,
        objective: objective::Spec,
        noise: Option<objective::Noise>,
        start: Vec<Finite>,
        start_version: u64,
        optimiser: Vec<optimiser::Spec>,
        /// That of the one transform of the chain that has one.
        learning_rate: Positive,
        protocol: Protocol,
        workers: Vec<Class>,
        /// Fields of every class of workers.
        each_class: ClassPatch,
        /// Fields of single classes, by their names in results.
        classes: BTreeMap<String, ClassPatch>,
        network: NetworkPatch,
        server: ServerPatch,
        failures: Vec<Failure>,
        stop: StopPatch,
        record: Record,
        expect: Vec<Expectation>,
    }
}

patch! {
    /// Some fields of a class of workers.
    ClassPatch {
        count: Count,
        compute: Law,
        joins_at: Seconds,
        weight: Positive,
        download: Option<Law>,
        upload: Option<Law>,
        give_up_s: Option<Positive>,
        price_per_hour: NonNegative,
        paid_while_down: bool,
    }
}

patch! {
    /// Some links of the network.
    NetworkPatch {
        download: Law,
        upload: Law,
        request: Law,
        link: Option<Link>,
        duplicates: Probability,
    }
}

patch! {
    /// Some fields of the server.
    ServerPatch {
        service: Law,
        step: Law,
        publish: Publish,
        recovery: Recovery<Law>,
        meanwhile: Meanwhile,
        future: Future,
        shards: Option<Shards>,
        price_per_hour: NonNegative,
    }
}

patch! {
    /// Some of what ends a run.
    StopPatch {
        updates: Option<Count>,
        time_s: Option<Positive>,
        loss: Option<Finite>,
    }
}

/// Puts a new value in place, if there is one.
fn set<T: Clone>(field: &mut T, value: &Option<T>) {
    if let Some(value) = value {
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
        set(&mut scenario.noise, &self.noise);
        set(&mut scenario.start, &self.start);
        set(&mut scenario.start_version, &self.start_version);
        set(&mut scenario.optimiser, &self.optimiser);
        set(&mut scenario.protocol, &self.protocol);
        set(&mut scenario.workers, &self.workers);
        set(&mut scenario.failures, &self.failures);
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
        for (name, patch) in self.classes.iter().flatten() {
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
            set(&mut scenario.network.link, &network.link);
            set(&mut scenario.network.duplicates, &network.duplicates);
        }
        if let Some(server) = &self.server {
            server.apply(&mut scenario.server);
        }
        if let Some(stop) = &self.stop {
            set(&mut scenario.stop.updates, &stop.updates);
            set(&mut scenario.stop.time_s, &stop.time_s);
            set(&mut scenario.stop.loss, &stop.loss);
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
            "workers" => self.workers.is_some() || self.each_class.is_some() || self.classes.is_some(),
            "network" => self.network.is_some(),
            "server" => self.server.is_some(),
            "failures" => self.failures.is_some(),
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
        set(&mut class.download, &self.download);
        set(&mut class.upload, &self.upload);
        set(&mut class.give_up_s, &self.give_up_s);
        set(&mut class.price_per_hour, &self.price_per_hour);
        set(&mut class.paid_while_down, &self.paid_while_down);
    }
}

impl ServerPatch {
    fn apply(&self, server: &mut Server) {
        set(&mut server.service, &self.service);
        set(&mut server.step, &self.step);
        set(&mut server.publish, &self.publish);
        set(&mut server.recovery, &self.recovery);
        set(&mut server.meanwhile, &self.meanwhile);
        set(&mut server.future, &self.future);
        set(&mut server.shards, &self.shards);
        set(&mut server.price_per_hour, &self.price_per_hour);
    }
}
