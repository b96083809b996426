//! From what a scenario says of failures to the processes that make them.

use super::build::{Builder, Place};
use super::diagnose::Problem;
use super::{Scenario, Shards};
use crate::cluster::{Comeback, DelayId, Member, Occurs, Process, Target, purpose};
use crate::delay::Law;
use crate::failure::{Failure, Meanwhile, Of, Recovery, When};
use crate::kernel::{Span, Time};
use crate::units::Count;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What fails, each thing on its own.
struct Failing {
    target: Target,
    /// Its place among those that this failure strikes one by one; 0 for what fails together.
    member: u64,
}

/// All processes of a scenario.
pub fn processes(scenario: &Scenario, builder: &mut Builder, members: &[Member]) -> Vec<Arc<Process>> {
    let mut all = Vec::new();
    for (number, failure) in scenario.failures.iter().enumerate() {
        let before = builder.problems.len();
        let failing = match failing(scenario, failure, members) {
            Ok(failing) => failing,
            Err((message, help)) => {
                builder.problems.push(Problem::at(&format!("failures.{number}.of"), message).help(help));
                continue;
            }
        };
        let mut shared = None;
        for one in failing {
            // What is wrong with one of them is wrong with the next: one message is enough.
            if builder.problems.len() > before {
                break;
            }
            let times = match &shared {
                Some(times) if !is_individual(failure) => *times,
                _ => times(builder, number, failure, one.member),
            };
            shared = Some(times);
            if let Some(occurs) = occurs(builder, number, failure, &one, times, members) {
                let notice = failure.notice_s.and_then(|seconds| Span::from_seconds(seconds.get()));
                all.push(Arc::new(Process {
                    target: one.target,
                    occurs,
                    entity: entity(number, one.member),
                    repair: times.repair,
                    while_down: failure.while_down,
                    notice: notice.unwrap_or(Span::ZERO),
                    detection: times.detection,
                }));
            }
        }
    }
    all
}

/// Whose streams those are of a member of a failure: no two share them.
fn entity(number: usize, member: u64) -> u64 {
    member | (number as u64 + 1) << 32
}

/// The laws of a failure, built.
#[derive(Clone, Copy)]
struct Times {
    up: DelayId,
    repair: Option<DelayId>,
    detection: Option<DelayId>,
}

fn is_individual(failure: &Failure) -> bool {
    let up = if let When::Every(law) = &failure.at { Some(law) } else { None };
    [up, failure.repair.as_ref(), failure.detection.as_ref()].into_iter().flatten().any(Law::is_individual)
}

fn times(builder: &mut Builder, number: usize, failure: &Failure, member: u64) -> Times {
    let mut add = |field: &str, law: &Law, purpose| {
        let place = Place { purpose, entity: entity(number, member), member };
        builder.add(&format!("failures.{number}.{field}"), law, place)
    };
    let up = if let When::Every(law) = &failure.at { add("at", law, purpose::FAILURE) } else { DelayId::NONE };
    let repair = failure.repair.as_ref().map(|law| add("repair", law, purpose::REPAIR));
    let detection = failure.detection.as_ref().map(|law| add("detection", law, purpose::DETECTION));
    Times { up, repair, detection }
}

/// When it fails. Spells of workers are those of their own series, where there are such.
fn occurs(
    builder: &mut Builder,
    number: usize,
    failure: &Failure,
    one: &Failing,
    times: Times,
    members: &[Member],
) -> Option<Occurs> {
    let path = format!("failures.{number}.at");
    match &failure.at {
        When::At(instants) => {
            let mut instants: Vec<Time> =
                instants.iter().map(|at| Time::from_seconds(at.get()).unwrap_or(Time::MAX)).collect();
            instants.sort_unstable();
            instants.dedup();
            Some(Occurs::At(instants))
        }
        When::Every(_) => {
            if builder.mean(times.up) < 1e-9 {
                let problem = Problem::at(&path, "it would fail all the time");
                builder.problems.push(problem.help("give the time of being up a mean of at least 1e-9 s"));
                return None;
            }
            let from = match &one.target {
                Target::Workers(numbers) => numbers.iter().map(|&number| members[number as usize].joins_at).min(),
                Target::Server | Target::Shards(_) | Target::Links(_) => None,
            };
            Some(Occurs::Every(times.up, from.unwrap_or(Time::ZERO)))
        }
        When::Spells { file, from, until, lasting, by, scale } => {
            let other = until.as_ref().or(lasting.as_ref()).unwrap_or(from);
            let [starts, others] = [from, other].map(|column| match by {
                None => builder.files.columns(file, &[column]).map(|columns| columns[0].to_vec()),
                Some(by) => builder.files.series(file, column, by).map(|series| {
                    // Those without a series of their own never fail.
                    series.get(one.member as usize).map_or(Vec::new(), |own| own.to_vec())
                }),
            });
            let (starts, others) = match (starts, others) {
                (Ok(starts), Ok(others)) => (starts, others),
                (Err(error), _) | (_, Err(error)) => {
                    builder.note(&path, error);
                    return None;
                }
            };
            let from_start = if until.is_some() { 0.0 } else { 1.0 };
            let ends: Vec<f64> = starts.iter().zip(&others).map(|(start, other)| from_start * start + other).collect();
            match spells(&starts, &ends, scale.get()) {
                Ok(spells) => Some(Occurs::Spells(spells)),
                Err(message) => {
                    let problem = Problem::at(&path, format!("{file}: {message}"));
                    builder.problems.push(problem.help("spells begin at 0 or later, and do not end before they begin"));
                    None
                }
            }
        }
    }
}

/// Spells of being down in their order. Those that overlap are one.
fn spells(starts: &[f64], ends: &[f64], scale: f64) -> Result<Vec<(Time, Time)>, String> {
    let mut all = Vec::with_capacity(starts.len());
    for (row, (&start, &end)) in starts.iter().zip(ends).enumerate() {
        let instant = |value: f64| Time::from_seconds(value * scale);
        match (instant(start), instant(end)) {
            (Some(start), Some(end)) if start <= end => all.push((start, end)),
            _ => return Err(format!("row {} of a series: from {start:e} until {end:e} is no spell of time", row + 1)),
        }
    }
    all.sort_unstable();
    let mut apart: Vec<(Time, Time)> = Vec::with_capacity(all.len());
    for (start, end) in all {
        match apart.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => apart.push((start, end)),
        }
    }
    Ok(apart)
}

/// What fails, or a message and a remedy.
fn failing(scenario: &Scenario, failure: &Failure, members: &[Member]) -> Result<Vec<Failing>, (String, String)> {
    let names = scenario.class_names();
    let numbered = || members.iter().enumerate().map(|(number, member)| (number as u32, member.class as usize));
    let class = |name: &String| {
        let unknown = || (format!("no class of workers is called `{name}`"), format!("they are: {}", names.join(", ")));
        names.iter().position(|own| own == name).ok_or_else(unknown)
    };
    let of = |classes: &[String]| -> Result<Vec<u32>, (String, String)> {
        let classes = classes.iter().map(class).collect::<Result<Vec<usize>, _>>()?;
        Ok(numbered().filter(|(_, class)| classes.contains(class)).map(|(number, _)| number).collect())
    };
    let each = |numbers: Vec<u32>| {
        let one =
            |(place, number): (usize, u32)| Failing { target: Target::Workers(vec![number]), member: place as u64 };
        Ok(numbers.into_iter().enumerate().map(one).collect())
    };
    let together = |target: Target| Ok(vec![Failing { target, member: 0 }]);
    match &failure.of {
        Of::Server => together(match &scenario.server.shards {
            Some(shards) => Target::Shards((0..shards.count() as u32).collect()),
            None => Target::Server,
        }),
        Of::Shard(shard) => together(Target::Shards(vec![*shard])),
        Of::Shards => {
            let count = scenario.server.shards.as_ref().map_or(0, Shards::count) as u32;
            let one = |shard: u32| Failing { target: Target::Shards(vec![shard]), member: u64::from(shard) };
            Ok((0..count).map(one).collect())
        }
        Of::Workers => each(numbered().map(|(number, _)| number).collect()),
        Of::Class(name) => each(of(std::slice::from_ref(name))?),
        Of::Numbers(numbers) => match numbers.iter().find(|&&number| number as usize >= members.len()) {
            Some(number) => Err((
                format!("there is no worker {number}"),
                format!("they are numbered from 0 to {}", members.len().saturating_sub(1)),
            )),
            None => each(numbers.clone()),
        },
        Of::Together(classes) => together(Target::Workers(of(classes)?)),
        Of::Links(classes) => together(Target::Links(of(classes)?)),
    }
}

/// What comes after a failure of the server.
pub fn comeback(scenario: &Scenario, builder: &mut Builder) -> Comeback {
    let server = &scenario.server;
    let mut kinds = purpose::RECOVERY.into_iter();
    let recovery = server.recovery.map(|field, law| {
        let place = Place { purpose: kinds.next().unwrap_or(purpose::RECOVERY[0]), entity: 0, member: 0 };
        builder.add(&format!("server.recovery.{field}"), law, place)
    });
    Comeback { recovery, meanwhile: server.meanwhile, future: server.future }
}

/// Whether what a scenario says of failures fits the rest of it.
pub fn check(scenario: &Scenario) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (number, failure) in scenario.failures.iter().enumerate() {
        let mut wrong = |field: &str, message: &str, help: &str| {
            problems.push(Problem::at(&format!("failures.{number}.{field}"), message).help(help));
        };
        let of_workers = !matches!(failure.of, Of::Server | Of::Shards | Of::Shard(_) | Of::Links(_));
        if failure.notice_s.is_some() && !of_workers {
            wrong("notice_s", "only workers can be told beforehand", "leave it out");
        }
        if failure.detection.is_some() && !of_workers {
            let help = "leave it out; how long a chain of servers takes to notice is said in `server.recovery`";
            wrong("detection", "only workers are given up", help);
        }
        if matches!(failure.at, When::Spells { .. }) && (failure.repair.is_some() || failure.while_down) {
            let field = if failure.repair.is_some() { "repair" } else { "while_down" };
            wrong(field, "the file says how long it is down", "leave it out");
        }
        if matches!(&failure.at, When::Spells { by: Some(_), .. })
            && !matches!(failure.of, Of::Workers | Of::Class(_) | Of::Numbers(_))
        {
            wrong("at", "`by` tells workers apart that fail on their own", "leave out `by`");
        }
        if names_none_or_twice(&failure.of) {
            wrong("of", "nothing is named, or something twice", "name each once");
        }
        if failure.of == Of::Server && scenario.composition().step.parts > Count::ONE {
            let help = "leave out `parts`, or the failure";
            wrong("of", "a batch that is used in several steps cannot be interrupted by a failure of the server", help);
        }
        if matches!(&failure.at, When::Spells { until, lasting, .. } if until.is_some() == lasting.is_some()) {
            wrong("at", "spells end at some time, or last for some", "give one of `until` and `lasting`");
        }
        if matches!(&failure.at, When::At(instants) if instants.is_empty()) {
            wrong("at", "it never fails", "give at least one instant");
        }
    }
    let server = &scenario.server;
    if matches!(server.recovery, Recovery::WorkerCopy { .. }) && server.meanwhile == Meanwhile::Idle {
        let problem = Problem::at("server.recovery", "workers that stop have no copy any more");
        problems.push(problem.help("let them go on: meanwhile: Retry, or Lose"));
    }
    if matches!(server.recovery, Recovery::Stateless { above: None, factor, .. } if factor.get() != 1.0) {
        let problem = Problem::at("server.recovery", "`factor` is for steps with more gradients than `above`");
        problems.push(problem.help("give `above`, too"));
    }
    problems
}

/// Whether it names nothing, or something twice.
fn names_none_or_twice(of: &Of) -> bool {
    match of {
        Of::Server | Of::Shards | Of::Shard(_) | Of::Workers | Of::Class(_) => false,
        Of::Numbers(numbers) => numbers.is_empty() || numbers.len() > numbers.iter().collect::<BTreeSet<_>>().len(),
        Of::Together(names) | Of::Links(names) => {
            names.is_empty() || names.len() > names.iter().collect::<BTreeSet<_>>().len()
        }
    }
}
