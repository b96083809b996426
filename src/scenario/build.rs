//! From the document to the cluster that it describes.

use super::build_failures;
use super::check::{check, cycle, fit, patience};
use super::diagnose::Problem;
use super::estimate::Estimate;
use super::{Class, Scenario, Sharing, shards};
use crate::cluster::{DelayId, Legs, Member, Model, Publish, Serving, SharedLink, Stop, purpose};
use crate::data::Files;
use crate::delay::{Context, Law, Sampler};
use crate::error::Error;
use crate::kernel::{Purpose, Span, Streams, Time};
use crate::objective::{Noise, Objective};
use crate::optimiser::Optimiser;
use crate::protocol::{Pace, Work};
use crate::units::MAX_SECONDS;
use std::cell::Cell;

/// The delays of a model, as they are being built.
pub(super) struct Builder<'a> {
    pub(super) files: &'a Files,
    streams: Streams,
    delays: Vec<Sampler>,
    pub(super) problems: Vec<Problem>,
}

/// Where a delay stands in the cluster.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) purpose: Purpose,
    pub(super) entity: u64,
    pub(super) member: u64,
}

impl Builder<'_> {
    /// Builds a law, or notes why it cannot be.
    pub(super) fn add(&mut self, path: &str, law: &Law, place: Place) -> DelayId {
        let Place { purpose, entity, member } = place;
        let factors = Cell::new(0);
        let context = Context { files: self.files, streams: self.streams, purpose, entity, member, factors };
        match law.build(&context) {
            Ok(delay) if delay.support() == (0.0, 0.0) => DelayId::NONE,
            Ok(delay) if delay.support().0 > MAX_SECONDS => {
                let message = format!("takes {:e} s at least, which the virtual clock cannot show", delay.support().0);
                self.problems.push(Problem::at(path, message).help(format!("at most {MAX_SECONDS:e} s (73 years)")));
                DelayId::NONE
            }
            Ok(delay) => {
                self.delays.push(Sampler::new(delay));
                DelayId::new(self.delays.len() - 1)
            }
            Err(error) => {
                self.note(path, error);
                DelayId::NONE
            }
        }
    }

    /// Once: what the network says is the same problem for every class.
    pub(super) fn note(&mut self, path: &str, error: Error) {
        let problem = match error {
            Error::Io { .. } => {
                Problem::at(path, error.to_string()).help("paths are relative to the scenario's folder")
            }
            Error::Table { .. } => Problem::at(path, error.to_string())
                .help("the columns that are named must be there, with a finite number in every row"),
            other => Problem::at(path, other.to_string()),
        };
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    fn least(&self, id: DelayId) -> f64 {
        id.place().map_or(0.0, |place| self.delays[place].delay().support().0)
    }

    pub(super) fn mean(&self, id: DelayId) -> f64 {
        id.place().map_or(0.0, |place| self.delays[place].delay().mean())
    }
}

/// The cluster that `scenario` describes, and what running it will cost.
/// `quantities` are the names of the numbers in a summary.
///
/// # Errors
/// All problems of the scenario, by field.
pub fn build(scenario: &Scenario, files: &Files, quantities: &[&str]) -> Result<(Model, Estimate), Vec<Problem>> {
    let mut problems = check(scenario, quantities);
    if problems.iter().any(|problem| problem.path == ["workers"]) {
        return Err(problems);
    }
    let streams = Streams::new(scenario.seed, scenario.replication);
    let mut builder = Builder { files, streams, delays: Vec::new(), problems: Vec::new() };
    let composition = scenario.composition();
    let mut server = serving(scenario, &mut builder);
    let service_s = builder.mean(server.service);
    let busy_s = service_s + if composition.has_buffer() { 0.0 } else { builder.mean(server.step) };
    let (mut members, mut cycles) = members(scenario, &mut builder, busy_s);
    if let Some((steps, by_speed)) = local_steps(&composition.work) {
        share_steps(&mut members, &mut cycles, &builder, steps, by_speed);
    }
    builder.problems.extend(all_impatient(scenario, &members, &builder));
    let failures = build_failures::processes(scenario, &mut builder, &members);
    let comeback = build_failures::comeback(scenario, &mut builder);
    reweigh(scenario, &composition.pace, &mut members);
    let objective = objective(scenario, &mut builder);
    problems.append(&mut builder.problems);
    let Some(objective) = objective else { return Err(problems) };
    let noise = Noise::build(scenario.noise, objective.as_ref());
    let noise = noise.map_err(|error| problems.push(Problem::at("noise", error.to_string())));
    let dimension = objective.dimension();
    let (shards, sharding) = shards::build(scenario, dimension, &mut builder);
    problems.append(&mut builder.problems);
    let estimate = Estimate::new(scenario, &cycles, [service_s, builder.mean(server.step)], dimension);
    problems.extend(fit(scenario, dimension, &estimate));
    server.link = shared_link(scenario, dimension, &mut problems);
    let several = composition.steps_with_several() || scenario.server.recovery.is_stateless();
    let built = if several { Optimiser::for_several } else { Optimiser::new };
    let optimiser = built(&scenario.optimiser, dimension);
    let (Ok(noise), Ok(optimiser), true) = (noise, optimiser, problems.is_empty()) else { return Err(problems) };
    let model = Model {
        streams,
        composition,
        objective: objective.into(),
        noise,
        optimiser,
        start: start(scenario, dimension),
        start_version: scenario.start_version,
        delays: builder.delays,
        server,
        shards,
        sharding,
        workers: members.into_iter().collect(),
        failures,
        comeback,
        stop: stop(scenario),
    };
    Ok((model, estimate))
}

/// What is minimised, unless it cannot be built.
fn objective(scenario: &Scenario, builder: &mut Builder) -> Option<Box<dyn Objective>> {
    let counts: Vec<u64> = scenario.workers.iter().map(|class| class.count.get()).collect();
    // Generated data belong to the problem, not to the run: they are the same in every replication.
    match scenario.objective.build(&counts, Streams::new(scenario.seed, 0), builder.files) {
        Ok(objective) => Some(objective),
        Err(error) => {
            builder.note("objective", error);
            None
        }
    }
}

/// The first parameters.
fn start(scenario: &Scenario, dimension: usize) -> Vec<f64> {
    match scenario.start.as_slice() {
        [all] => vec![all.get(); dimension],
        each => each.iter().map(|w| w.get()).collect(),
    }
}

/// When the run ends.
fn stop(scenario: &Scenario) -> Stop {
    Stop {
        updates: scenario.stop.updates.map_or(u64::MAX, |updates| updates.get()),
        time: scenario.stop.time_s.and_then(|time| Time::from_seconds(time.get())).unwrap_or(Time::MAX),
        loss: scenario.stop.loss.map(|loss| loss.get()),
    }
}

/// What the server does.
fn serving(scenario: &Scenario, builder: &mut Builder) -> Serving {
    let mut add = |path: &str, law: &Law, purpose| builder.add(path, law, Place { purpose, entity: 0, member: 0 });
    let server = &scenario.server;
    Serving {
        service: add("server.service", &server.service, purpose::SERVICE),
        step: add("server.step", &server.step, purpose::STEP),
        publish: Publish {
            every: server.publish.every.get(),
            delay: add("server.publish.delay", &server.publish.delay, purpose::PUBLISH),
        },
        link: None,
        duplicates: scenario.network.duplicates.get(),
        price_per_s: server.price_per_hour.get() / 3600.0,
    }
}

/// The link that messages of so many parameters share.
fn shared_link(scenario: &Scenario, dimension: usize, problems: &mut Vec<Problem>) -> Option<SharedLink> {
    let link = scenario.network.link?;
    let seconds = dimension as f64 * link.bytes_per_parameter.get() / link.bytes_per_s.get();
    let Some(message) = Span::from_seconds(seconds) else {
        let message = format!("a message takes {seconds:e} s, which the virtual clock cannot show");
        problems.push(Problem::at("network.link", message).help("give more bytes_per_s"));
        return None;
    };
    Some(SharedLink { message, fair: link.sharing == Sharing::Fair })
}

/// How many local steps a protocol asks for, and whether fewer of slower workers.
fn local_steps(work: &Work) -> Option<(u64, bool)> {
    match work {
        Work::Gradient => None,
        Work::LocalSteps { local, by_speed, .. } => Some((local.steps.get(), *by_speed)),
        Work::Elastic { local, .. } => Some((local.steps.get(), false)),
    }
}

/// Gives every worker its local steps, in proportion to its mean speed if `by_speed`, so that the fastest takes all of them
/// and everyone about as long.
fn share_steps(members: &mut [Member], cycles: &mut [f64], builder: &Builder, steps: u64, by_speed: bool) {
    let compute = |member: &Member| builder.mean(member.legs.compute);
    let fastest = members.iter().map(compute).fold(f64::INFINITY, f64::min);
    for member in members {
        let own = compute(member);
        let share = if by_speed && own > 0.0 { fastest / own } else { 1.0 };
        member.local_steps = (steps as f64 * share).round().max(1.0) as u32;
        if let Some(cycle) = cycles.get_mut(member.class as usize)
            && own.is_finite()
        {
            *cycle = cycle.max(own * f64::from(member.local_steps));
        }
    }
}

/// Whether every class gives up before any of its gradients can be finished. One that never finishes can be what a scenario is
/// about; a cluster of nothing else cannot.
fn all_impatient(scenario: &Scenario, members: &[Member], builder: &Builder) -> Vec<Problem> {
    let hopeless = |(number, class): (usize, &Class)| {
        let member = members.iter().find(|member| member.class as usize == number)?;
        let [download, compute, upload] =
            [member.legs.download, member.legs.compute, member.legs.upload].map(|id| builder.least(id));
        patience(number, class, download + compute * f64::from(member.local_steps) + upload)
    };
    let problems: Vec<Problem> = scenario.workers.iter().enumerate().filter_map(hopeless).collect();
    if problems.len() == scenario.workers.len() { problems } else { Vec::new() }
}

/// Where tasks go round by shares, and all workers are to count alike, divides the gradients of each by how much more often
/// than others it is chosen: 1 / (n pᵢ) (Leconte, Jonckheere, Samsonov and Moulines, 2024, algorithm 1).
fn reweigh(scenario: &Scenario, pace: &Pace, members: &mut [Member]) {
    let Pace::Routed { shares, unbiased: true, .. } = pace else { return };
    // Divided by the greatest, so that their sum does not leave what a number can hold.
    let greatest = shares.iter().map(|share| share.get()).fold(0.0, f64::max);
    let shares: Vec<f64> = shares.iter().map(|share| share.get() / greatest).collect();
    let (total, n) = (shares.iter().sum::<f64>(), members.len() as f64);
    for member in members {
        let count = scenario.workers[member.class as usize].count.get() as f64;
        if let Some(share) = shares.get(member.class as usize).filter(|&&share| share > 0.0) {
            member.weight *= total * count / (n * share);
        }
    }
}

/// All workers, and the mean seconds that a gradient of each class takes without the server.
fn members(scenario: &Scenario, builder: &mut Builder, busy_s: f64) -> (Vec<Member>, Vec<f64>) {
    let mut members = Vec::with_capacity(scenario.worker_count() as usize);
    let mut cycles = Vec::with_capacity(scenario.workers.len());
    for (number, class) in scenario.workers.iter().enumerate() {
        let before = builder.problems.len();
        let first = members.len() as u64;
        let mut legs = legs(scenario, builder, number, class, first, 0);
        let place = Place { purpose: purpose::REQUEST, entity: first, member: 0 };
        let request = builder.add("network.request", &scenario.network.request, place);
        let cycle_s = [legs.download, legs.compute, legs.upload].map(|id| builder.mean(id)).iter().sum();
        cycles.push(cycle_s);
        if builder.problems.len() == before {
            builder.problems.extend(cycle(number, class, cycle_s + busy_s + builder.mean(request)));
        }
        let individual = class_laws(scenario, class).iter().any(|(_, _, law)| law.is_individual());
        for member in 0..class.count.get() {
            // What is wrong with one worker of a class is wrong with the next: one message is enough.
            if individual && member > 0 && builder.problems.len() == before {
                legs = self::legs(scenario, builder, number, class, first + member, member);
                if busy_s == 0.0
                    && request == DelayId::NONE
                    && [legs.download, legs.compute, legs.upload] == [DelayId::NONE; 3]
                {
                    let message = format!("gradients of worker {} of this class take no time at all", member + 1);
                    let problem = Problem::at(&format!("workers.{number}.compute"), message);
                    builder.problems.push(problem.help("its own factor or series must not be all 0"));
                }
            }
            members.push(Member {
                class: number as u32,
                joins_at: Time::from_seconds(class.joins_at.get()).unwrap_or(Time::MAX),
                weight: class.weight.get(),
                legs,
                request,
                gives_up: class.give_up_s.and_then(|seconds| Span::from_seconds(seconds.get())),
                local_steps: 1,
                price_per_s: class.price_per_hour.get() / 3600.0,
                paid_while_down: class.paid_while_down,
            });
        }
    }
    (members, cycles)
}

/// The laws of a class, each with its purpose and the path of the field that says it.
fn class_laws<'a>(scenario: &'a Scenario, class: &'a Class) -> [(Purpose, &'static str, &'a Law); 3] {
    let download =
        class.download.as_ref().map_or(("network.download", &scenario.network.download), |own| ("download", own));
    let upload = class.upload.as_ref().map_or(("network.upload", &scenario.network.upload), |own| ("upload", own));
    [
        (purpose::DOWNLOAD, download.0, download.1),
        (purpose::COMPUTE, "compute", &class.compute),
        (purpose::UPLOAD, upload.0, upload.1),
    ]
}

/// The delays of one worker.
fn legs(scenario: &Scenario, builder: &mut Builder, number: usize, class: &Class, entity: u64, member: u64) -> Legs {
    let [download, compute, upload] = class_laws(scenario, class).map(|(purpose, field, law)| {
        let path = if field.starts_with("network") { field.to_owned() } else { format!("workers.{number}.{field}") };
        builder.add(&path, law, Place { purpose, entity, member })
    });
    Legs { download, compute, upload }
}
