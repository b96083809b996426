//! What no single field can know: whether the fields of a scenario fit each other.

use super::check_protocol::protocol;
use super::diagnose::{Problem, suggest};
use super::estimate::Estimate;
use super::{Class, Scenario};
use crate::cluster::LARGEST;
use crate::kernel::Queue;
use crate::optimiser::Optimiser;
use crate::record::Gradients;
use std::collections::BTreeSet;

/// More memory than this is refused before it is asked for.
pub const MAX_MEMORY_BYTES: f64 = 16.0 * (1u64 << 30) as f64;
/// More rows are no timeline for a person to read.
const MAX_TIMELINE: u32 = 10_000;
/// Versions count on from the first, so it leaves them room.
const MAX_VERSION: u64 = 1 << 52;

/// Everything that is wrong with a scenario before anything is built. `quantities` are the numbers of a summary.
pub fn check(scenario: &Scenario, quantities: &[&str]) -> Vec<Problem> {
    let mut problems = Vec::new();
    problems.extend(workers(scenario));
    problems.extend(stop(scenario));
    problems.extend(record(scenario));
    problems.extend(expectations(scenario, quantities));
    problems.extend(protocol(scenario));
    problems.extend(super::build_failures::check(scenario));
    problems.extend(super::shards::check(scenario));
    if scenario.start_version > MAX_VERSION {
        let message = format!("version {} is too large to count on from", scenario.start_version);
        problems.push(Problem::at("start_version", message).help(format!("start at {MAX_VERSION} or below")));
    }
    if let Some(place) = scenario.start.iter().position(|w| w.get().abs() > LARGEST) {
        let message = format!("{:e} is too large to compute with", scenario.start[place].get());
        problems.push(Problem::at(&format!("start.{place}"), message).help(format!("at most {LARGEST:e}")));
    }
    let several = scenario.composition().steps_with_several() || scenario.server.recovery.is_stateless();
    let built = if several { Optimiser::for_several } else { Optimiser::new };
    if let Err(error) = built(&scenario.optimiser, 0) {
        problems.push(Problem::at("optimiser", error.to_string()));
    }
    problems
}

fn workers(scenario: &Scenario) -> Vec<Problem> {
    let mut problems = Vec::new();
    let most = crate::cluster::MAX_WORKERS;
    if scenario.workers.is_empty() {
        problems.push(Problem::at("workers", "there are no workers").help("add a class: (count: 4, compute: …)"));
    }
    if scenario.worker_count() > most {
        let message = format!("{} workers are more than one run can have", scenario.worker_count());
        problems.push(Problem::at("workers", message).help(format!("lower the counts to at most {most} in all")));
    }
    let mut seen = BTreeSet::new();
    for (number, name) in scenario.class_names().iter().enumerate() {
        if name.chars().any(char::is_control) {
            let path = format!("workers.{number}.name");
            problems.push(Problem::at(&path, "a control character in a name").help("use printable characters"));
        }
        if !seen.insert(name.clone()) {
            let path = format!("workers.{number}.name");
            problems.push(Problem::at(&path, format!("two classes are called `{name}`")).help("rename one of them"));
        }
    }
    problems
}

/// Whether the gradients of a class take any time, as far as the means of their delays tell.
pub fn cycle(number: usize, class: &Class, mean_s: f64) -> Option<Problem> {
    // Below half a nanosecond, every delay rounds to nothing, and the clock would stand still for ever.
    // A mean that is no number is that of no time at all, infinitely often.
    (mean_s.is_nan() || mean_s < 1e-9).then(|| {
        let name = class.name.clone().unwrap_or_else(|| number.to_string());
        Problem::at(&format!("workers.{number}.compute"), format!("gradients of class `{name}` take no time at all"))
            .help("give compute, network or service a mean of at least 1e-9 s, the clock's resolution")
    })
}

/// Whether a class gives up on its gradients before any of them, which take `least_s` at least, can be finished.
pub fn patience(number: usize, class: &Class, least_s: f64) -> Option<Problem> {
    let give_up_s = class.give_up_s?.get();
    (give_up_s < 1e-9 || give_up_s < least_s).then(|| {
        Problem::at(&format!("workers.{number}.give_up_s"), format!("no gradient is ever finished in {give_up_s} s"))
            .help(format!("they take {least_s} s at least, and the clock's resolution is 1e-9 s"))
    })
}

fn stop(scenario: &Scenario) -> Vec<Problem> {
    let stop = scenario.stop;
    let mut problems = Vec::new();
    if stop.updates.is_none() && stop.time_s.is_none() {
        let message = if stop.loss.is_some() { "the loss may never be reached" } else { "the run never ends" };
        problems.push(Problem::at("stop", message).help("add `updates: …` or `time_s: …`"));
    }
    if let Some(time) = stop.time_s
        && crate::kernel::Time::from_seconds(time.get()).is_none()
    {
        let message = format!("{} s do not fit the virtual clock", time.get());
        problems.push(Problem::at("stop.time_s", message).help("stop at 2305843009 s (73 years) or before"));
    }
    if stop.time_s.is_some_and(|time| time.get() < 1e-9) {
        problems
            .push(Problem::at("stop.time_s", "the run ends before the clock can move").help("stop at 1e-9 s or later"));
    }
    problems
}

fn record(scenario: &Scenario) -> Vec<Problem> {
    let record = &scenario.record;
    let mut problems = Vec::new();
    if record.timeline > MAX_TIMELINE {
        let message = format!("a timeline of {} steps is too long to print", record.timeline);
        let help = format!("print at most {MAX_TIMELINE}, and write the rest with gradients: All and --out");
        problems.push(Problem::at("record.timeline", message).help(help));
    }
    if let Gradients::Window { first, last } = record.gradients
        && first.get() > last.get()
    {
        let message = format!("the window ends ({}) before it begins ({})", last.get(), first.get());
        problems.push(Problem::at("record.gradients", message).help("swap first and last"));
    }
    if let (Gradients::Window { first, .. }, Some(updates)) = (record.gradients, scenario.stop.updates)
        && first.get() > updates.get()
    {
        let message = format!("the window begins at step {}, after the last", first.get());
        problems.push(Problem::at("record.gradients", message).help(format!("the run ends at step {}", updates.get())));
    }
    let last = record.warm_up.last().unwrap_or(0);
    if let Some(updates) = scenario.stop.updates.filter(|updates| last >= updates.get()) {
        let message = format!("the warm-up of {last} steps leaves nothing of a run of {}", updates.get());
        problems.push(Problem::at("record.warm_up", message).help("make it shorter, or the run longer"));
    }
    if let (Some(batch), Some(updates)) = (record.batch, scenario.stop.updates)
        && batch.get() > updates.get().saturating_sub(last) / 2
    {
        let message = format!("a batch of {} steps leaves fewer than two in the run", batch.get());
        problems.push(Problem::at("record.batch", message).help("make batches shorter: ten to thirty are usual"));
    }
    for (number, question) in record.what_if.iter().enumerate() {
        let path = format!("record.what_if.{number}");
        if question.version < scenario.start_version {
            let message = format!("there is no step at version {}", question.version);
            let help = format!("the run starts at version {}", scenario.start_version);
            problems.push(Problem::at(&path, message).help(help));
        }
        if let Some(chain) = &question.optimiser
            && let Err(error) = Optimiser::new(chain, 0)
        {
            problems.push(Problem::at(&format!("{path}.optimiser"), error.to_string()));
        }
    }
    problems
}

fn expectations(scenario: &Scenario, quantities: &[&str]) -> Vec<Problem> {
    let unknown =
        |(number, expectation): (usize, &super::Expectation)| {
            (!quantities.contains(&expectation.quantity.as_str())).then(|| {
                let path = format!("expect.{number}.quantity");
                Problem::at(&path, format!("no number in the summary is called `{}`", expectation.quantity))
                    .help(suggest(&expectation.quantity, quantities, "the numbers are"))
            })
        };
    scenario.expect.iter().enumerate().filter_map(unknown).collect()
}

/// Whether the parts that were built fit each other and the machine.
pub fn fit(scenario: &Scenario, dimension: usize, estimate: &Estimate) -> Vec<Problem> {
    let mut problems = Vec::new();
    if scenario.start.len() != 1 && scenario.start.len() != dimension {
        let message = format!("start has length {}, but the objective has dimension {dimension}", scenario.start.len());
        problems.push(
            Problem::at("start", message)
                .help(format!("give a list of length {dimension}, or of length 1 for all coordinates")),
        );
    }
    if estimate.memory_bytes > MAX_MEMORY_BYTES {
        problems.push(too_large(scenario, dimension, estimate));
    }
    // Without an end they are infinite, which is told already.
    if estimate.events.is_finite() && estimate.events > (Queue::MAX_EVENTS / 2) as f64 {
        let message = format!("about {:.1e} events are more than one run can have", estimate.events);
        let help = format!("stop it earlier: a run has at most {:.1e} events", (Queue::MAX_EVENTS / 2) as f64);
        problems.push(Problem::at("stop", message).help(help));
    }
    problems
}

/// Whichever it is that takes too much memory.
fn too_large(scenario: &Scenario, dimension: usize, estimate: &Estimate) -> Problem {
    let gib = estimate.memory_bytes / (1u64 << 30) as f64;
    if estimate.waiting_bytes > MAX_MEMORY_BYTES / 4.0 {
        return Problem::at(
            "protocol",
            format!("gradients that wait for their step need about {gib:.0} GiB of memory"),
        )
        .help("let fewer wait: a smaller batch, budget, capacity or number of tasks; the limit is 16 GiB");
    }
    let snapshots = scenario.worker_count() as f64 * (dimension as f64 * 8.0 + 300.0);
    if snapshots > MAX_MEMORY_BYTES / 4.0 {
        let workers = scenario.worker_count();
        let message = format!(
            "{workers} workers that each hold a snapshot of {dimension} parameters need about {gib:.0} GiB of memory"
        );
        Problem::at("workers", message).help("use fewer workers or parameters: the limit is 16 GiB")
    } else {
        Problem::at("record", format!("recording so much needs about {gib:.0} GiB of memory"))
            .help("ask for fewer points of the trajectory, or fewer steps of the timeline: the limit is 16 GiB")
    }
}
