//! The summary of one run: the two measures of lag side by side, why, and what it did to the loss.

use super::histogram::bars;
use super::number::{figure, maybe, number, percent};
use super::plain_table;
use crate::cluster::{CAUSES, Ended, FATES, Fate};
use crate::record::{ClassLags, Lags, Rejection, Spread, Summary, Trajectory};
use crate::study::Check;
use std::fmt::Write;

/// What stands at the head of a summary, besides its figures.
#[derive(Clone, Debug)]
pub struct Heading {
    /// The scenario's file.
    pub scenario: String,
    /// The protocol's name.
    pub protocol: String,
    /// The objective's name.
    pub objective: String,
    /// The classes of workers.
    pub classes: Vec<String>,
    /// Whether there is always the same number of gradients under way: one a worker.
    pub constant_load: bool,
    /// The least value of the objective, if it is known.
    pub minimum: Option<f64>,
}

/// The whole summary.
pub fn summary(heading: &Heading, summary: &Summary, lags: &Lags, trajectory: &Trajectory) -> String {
    let all = lags.overall();
    let mut text = String::new();
    let workers = if summary.workers == 1 { "worker" } else { "workers" };
    let _ = writeln!(
        text,
        "{}: {} {workers}, {}, {}, seed {}, replication {}",
        heading.scenario, summary.workers, heading.protocol, heading.objective, summary.seed, summary.replication
    );
    let _ = writeln!(
        text,
        "{} optimiser steps in {} virtual seconds ({} per second); ended by: {}\n",
        summary.steps,
        number(summary.time_s),
        maybe(summary.throughput_per_s),
        summary.ended.name()
    );
    if summary.warm_up > 0 {
        text.truncate(text.trim_end().len());
        let _ = writeln!(text, "; lags and rates are of what came after a warm-up of {} steps\n", summary.warm_up);
    }
    text += &measures(summary);
    text += "\n";
    text += &histograms(&all);
    text += "\n";
    text += &causes(&all);
    if heading.classes.len() > 1 {
        text += "\n";
        text += &by_class(summary, lags, &heading.classes);
    }
    text += "\n";
    text += &laws(summary, heading.constant_load);
    text += &utilisation(summary);
    let first = trajectory.points()[0].loss;
    let _ = write!(text, "loss              f(w): {} at the start, {} at the end", figure(first), maybe(summary.loss));
    let _ = writeln!(text, "; least possible: {}; ‖w − w*‖: {}", maybe(heading.minimum), maybe(summary.distance));
    let _ = writeln!(text, "fingerprint       {:016x}", summary.fingerprint);
    text
}

/// The measures of lag, one a row.
fn measures(summary: &Summary) -> String {
    let rows = [("versions", &summary.lag_versions), ("seconds", &summary.lag_s), ("clocks", &summary.lag_clocks)];
    let rows = rows.map(|(name, spread)| {
        let figures = spread.figures().into_iter().map(|(_, value)| maybe(value));
        std::iter::once(name.to_owned()).chain(figures).collect::<Vec<String>>()
    });
    let mut text = plain_table(&["lag when applied, in", "mean", "sd", "p50", "p90", "p99", "max"], rows);
    let varies = |spread: &Spread| spread.sd.is_some_and(|sd| sd > 0.0);
    let none = match varies(&summary.lag_versions) && varies(&summary.lag_s) {
        true => "none: some lags in versions are negative",
        false => "none: one of them never varies",
    };
    let correlation = summary.lag_correlation.map_or(none.to_owned(), figure);
    let _ = writeln!(text, " correlation of versions and seconds: {correlation}");
    text
}

/// Versions and seconds side by side.
fn histograms(all: &ClassLags) -> String {
    let left = bars(&all.versions, 1.0, "versions");
    let right = bars(&all.nanos, 1e9, "seconds");
    let blank = String::new();
    let line = |row: usize| {
        let (left, right) = (left.get(row).unwrap_or(&blank), right.get(row).unwrap_or(&blank));
        let padding = " ".repeat(58usize.saturating_sub(left.chars().count()));
        format!("{left}{padding}{right}").trim_end().to_owned() + "\n"
    };
    let bars: String = (0..left.len().max(right.len())).map(line).collect();
    let Some(furthest) = all.ahead.greatest() else { return bars };
    let share = percent(all.ahead.total() as f64 / all.nanos.total().max(1) as f64);
    bars + &format!(
        "{share} of the gradients had read versions that a restore has undone since, and had negative lags: down to -{furthest} versions\n"
    )
}

/// Where the seconds went.
fn causes(all: &ClassLags) -> String {
    let gradients = all.nanos.total().max(1) as f64;
    let total = all.nanos.histogram().sum().max(1) as f64;
    let rows =
        CAUSES.iter().zip(&all.causes).filter(|(_, histogram)| histogram.total() > 0).map(|(cause, histogram)| {
            let sum = histogram.sum() as f64;
            vec![(*cause).to_owned(), figure(sum / gradients / 1e9), percent(sum / total)]
        });
    plain_table(&["where the seconds go", "mean s", "share"], rows)
}

/// One row a class: who takes part, and how stale. Fates that nobody met are left out.
fn by_class(summary: &Summary, lags: &Lags, classes: &[String]) -> String {
    let applied: u64 = lags.classes().iter().map(|class| class.versions.total()).sum();
    let met: Vec<usize> = (0..FATES.len()).filter(|&fate| summary.fates[fate] > 0).collect();
    let names = met.iter().map(|&fate| FATES[fate].1.replace('_', " "));
    let header: Vec<String> = std::iter::once("class of workers".to_owned())
        .chain(names)
        .chain(["of all applied", "of all weight", "mean lag versions", "mean lag s"].map(str::to_owned))
        .chain(std::iter::once("mean lag clocks".to_owned()))
        .collect();
    let weight: f64 = summary.class_weights.iter().sum();
    let parts = summary.class_fates.iter().zip(&summary.class_weights);
    let rows = lags.classes().iter().zip(classes).zip(parts).map(|((class, name), (fates, own))| {
        let counts = met.iter().map(|&fate| fates[fate].to_string());
        let means = [
            percent(class.versions.total() as f64 / applied.max(1) as f64),
            percent(if weight > 0.0 { own / weight } else { 0.0 }),
            maybe(class.versions.mean()),
            maybe(class.nanos.mean().map(|nanos| nanos / 1e9)),
            maybe(class.clocks.mean()),
        ];
        std::iter::once(name.clone()).chain(counts).chain(means).collect()
    });
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    plain_table(&header, rows)
}

/// The ledger, and Little's law as a check that a person can follow.
fn laws(summary: &Summary, constant_load: bool) -> String {
    let mut text = String::new();
    let fates: Vec<String> = FATES
        .iter()
        .zip(summary.fates)
        .filter(|(_, count)| *count > 0)
        .map(|((_, name), count)| format!("{count} {}", name.replace('_', " ")))
        .collect();
    let fates = if fates.is_empty() { "0".to_owned() } else { fates.join(" + ") };
    let _ = writeln!(text, "gradients         {} started = {fates}", summary.started);
    // In versions it counts what is under way at steps, in seconds at all times: the same where that never changes. It counts
    // what is applied; work in vain fills the same time.
    let in_vain = summary.started - summary.fates[Fate::Applied as usize] - summary.fates[Fate::InFlight as usize];
    if let (Some(versions), Some(seconds), Some(rate), 0, true) =
        (summary.lag_versions.mean, summary.lag_s.mean, summary.throughput_per_s, in_vain, constant_load)
    {
        let _ = writeln!(
            text,
            "Little's law      mean lag in versions + 1 = {}; throughput × mean lag in s = {}; they meet in a long run",
            figure(versions + 1.0),
            figure(rate * seconds)
        );
    }
    let _ = writeln!(
        text,
        "in flight         mean lag in versions of what is in flight just after a step: {}",
        maybe(summary.in_flight_lag_versions)
    );
    text
}

/// Where gradients waited, and who was idle; nothing where nobody ever waits.
fn utilisation(summary: &Summary) -> String {
    let mut text = String::new();
    if let (Some(flight), Some(queue)) = (summary.lag_versions_in_flight, summary.lag_versions_in_queue)
        && summary.lag_s_in_queue.is_some_and(|seconds| seconds > 0.0)
    {
        let seconds = [summary.lag_s_in_flight, summary.lag_s_in_queue].map(maybe);
        let _ = writeln!(
            text,
            "mean lag          in flight {} versions, {} s; at the server {} versions, {} s",
            figure(flight),
            seconds[0],
            figure(queue),
            seconds[1]
        );
    }
    let workers = summary.worker_utilisation.filter(|&share| share < 1.0 || summary.server_utilisation.is_some());
    let shares = [("workers", workers), ("server", summary.server_utilisation)];
    let shares: Vec<String> =
        shares.iter().filter_map(|(who, share)| share.map(|share| format!("{who} {}", percent(share)))).collect();
    if !shares.is_empty() {
        let _ = writeln!(text, "at work           {}", shares.join(", "));
    }
    text += &outages(summary);
    if let Some(bias) = summary.stationary_bias {
        let _ = writeln!(
            text,
            "bias              with these shares of the classes, SGD settles {} from the minimiser of the average",
            number(bias)
        );
    }
    text
}

/// What failed, and what that cost.
fn outages(summary: &Summary) -> String {
    let mut parts: Vec<String> = Vec::new();
    if summary.server_failures > 0 {
        let (times, away, lost) = (summary.server_failures, number(summary.server_away_s), summary.versions_lost);
        parts.push(format!("server {times}, away for {away} s, {lost} versions undone"));
    }
    if summary.worker_failures > 0 {
        let up = summary.worker_availability.map_or(String::new(), |share| format!(", up {}", percent(share)));
        parts.push(format!("workers {}{up}", summary.worker_failures));
    }
    let mut text = if parts.is_empty() { String::new() } else { format!("failures          {}\n", parts.join("; ")) };
    if let Some(share) = summary.effective_share.filter(|_| !parts.is_empty()) {
        let _ = writeln!(text, "of use            {} of the workers' time, for gradients that stand", percent(share));
    }
    if let Some(cost) = summary.cost {
        let to_loss = summary.cost_to_loss.map_or(String::new(), |cost| format!("; {} to the loss", number(cost)));
        let _ = writeln!(text, "cost              {}{to_loss}", number(cost));
    }
    text
}

/// What ended a run that did not come to its end, if anything did.
pub fn trouble(summary: &Summary, rejections: &[Rejection]) -> Option<String> {
    let steps = summary.steps;
    match summary.ended {
        Ended::Diverged => Some(format!("diverged after {steps} optimiser steps\n")),
        Ended::Stalled => Some(format!(
            "stalled after {steps} optimiser steps: nothing can happen any more that would lead to another one\n"
        )),
        Ended::Stale => rejections.first().map(|rejection| format!("failed: {}\n", stale(rejection, summary))),
        _ => None,
    }
}

/// The first rejections, one by one.
pub fn rejections(summary: &Summary, rejections: &[Rejection]) -> String {
    let all = summary.fates[Fate::Rejected as usize];
    if all == 0 {
        return String::new();
    }
    let mut text = format!("rejections        {} of {all}:\n", rejections.len());
    for rejection in rejections {
        let _ = writeln!(text, "  {} s: {}", number(rejection.at.seconds()), stale(rejection, summary));
    }
    text
}

fn stale(rejection: &Rejection, summary: &Summary) -> String {
    let Rejection { worker, shard, expected, got, lag, .. } = rejection;
    let age = number(lag.seconds());
    let place = if summary.shard_skew_max.is_some() { format!(" at shard {shard}") } else { String::new() };
    format!("gradient of worker {worker}{place} is stale, expected version {expected} but got {got}, read {age} s ago")
}

/// What the scenario expected, and what came.
pub fn checks(checks: &[Check]) -> String {
    let mut text = String::new();
    for check in checks {
        let verdict = if check.holds() { "as expected" } else { "NOT as expected" };
        let actual = check.actual.map_or("nothing".to_owned(), |value| {
            if value.abs() < 1e15 { format!("{value}") } else { format!("{value:e}") }
        });
        let within = if check.within > 0.0 { format!(" ± {}", check.within) } else { String::new() };
        let _ = writeln!(text, "{verdict:<18}{} = {actual} (expected {}{within})", check.quantity, check.expected);
    }
    text
}
