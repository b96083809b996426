//! Time complexities under fixed compute times, and exact replays of the methods that are optimal under them.

use super::Entry;
use super::case::{Case, number};
use super::play::{applied, constant_workers, fates, play, quadratic};
use crate::cluster::Fate;
use crate::error::Result;
use crate::theory::complexity;

pub const ENTRIES: &[Entry] = &[
    Entry::checked(
        "T7.optimal.",
        "the least time that any method needs (Tyurin and Richtárik, 2023), and two methods",
        optimal,
    ),
    Entry::checked("T7.ringmaster.R", "the bound of Ringmaster ASGD (Maranjyan et al., 2025)", ringmaster),
    Entry::checked("T7.replay.", "Ringmaster ASGD, replayed exactly", replay),
    Entry::checked("T7.replay.stop.", "the same with stops", replay_with_stops),
    Entry::checked("T7.rennala.", "Rennala SGD, replayed exactly", rennala),
    Entry::checked("T7.lemma41.", "how long R updates of Ringmaster ASGD take (their lemma 4.1)", window),
    Entry::not(
        "T7.mishchenko",
        "step sizes by delay (Mishchenko et al., 2022)",
        "quoted in words: there is no figure to check",
    ),
    Entry::not(
        "T7.arjevani",
        "SGD under delay (Arjevani et al., 2020)",
        "quoted in words: there is no figure to check",
    ),
];

/// The compute time of worker i, from 1 on, in seconds.
fn family(name: &str, i: usize) -> f64 {
    match name {
        "linear" => i as f64,
        "sqrt" => (i as f64).sqrt(),
        "square" => (i * i) as f64,
        "onefast" if i > 1 => 1000.0,
        _ => 1.0,
    }
}

fn optimal(case: &mut Case) -> Result<()> {
    let name = case.scenario()["family"].as_str().unwrap_or_default();
    let times: Vec<f64> = (1..=case.count("n") as usize).map(|i| family(name, i)).collect();
    let noise = case.given("sigma2_over_eps");
    let (least, workers) = complexity::optimal(&times, noise);
    let asynchronous = complexity::asynchronous(&times, noise);
    case.formula("least time", least, case.value("T_opt"));
    case.formula("workers that it takes", workers as f64, case.value("m_star"));
    case.formula("asynchronous", asynchronous, case.value("T_async"));
    case.formula("synchronous", complexity::synchronous(&times, noise), case.value("T_sync"));
    case.formula("asynchronous over least", asynchronous / least, case.value("async_over_opt"));
    Ok(())
}

fn ringmaster(case: &mut Case) -> Result<()> {
    for (name, noise) in [("r0.5", 0.5), ("r1", 1.0), ("r10", 10.0), ("r99.2", 99.2)] {
        case.formula(name, complexity::ringmaster_bound(noise) as f64, case.value(name));
    }
    Ok(())
}

/// Equal instants go by worker number, which starting worker i at i nanoseconds makes here.
fn in_turn(times: &[f64]) -> String {
    let starts: Vec<f64> = (0..times.len()).map(|worker| worker as f64 * 1e-9).collect();
    constant_workers(times, &starts)
}

fn replay(case: &mut Case) -> Result<()> {
    let protocol = match case.scenario()["R"].as_u64() {
        Some(bound) => format!("Ringmaster(bound: {bound})"),
        None => "Async".to_owned(),
    };
    let rest = format!("protocol: {protocol}, stop: (time_s: {:?})", case.given("t_end") + 1e-6);
    let outcome = play(&quadratic(&in_turn(&case.given_list("taus")), &rest))?;
    case.exact_list("applied", &fates(&outcome, Fate::Applied), &case.list("applied"));
    case.exact_list("rejected", &fates(&outcome, Fate::Rejected), &case.list("discarded"));
    case.exact("versions", outcome.summary.steps as f64, case.value("versions"));
    Ok(())
}

fn replay_with_stops(case: &mut Case) -> Result<()> {
    let (bound, times) = (case.count("R"), case.given_list("taus"));
    // Work that is stopped starts again at the instant of another worker, so that a late start would not keep the order of their
    // numbers. Here whole times are a little longer the higher the number, by more than the sum for all lower ones.
    let whole = times.iter().all(|time| time.fract() == 0.0);
    let longer = [0.0, 1e-9, 1e-6, 1e-3, 2e-3, 3e-3, 4e-3, 5e-3, 6e-3, 7e-3];
    let times: Vec<f64> = times.iter().zip(longer).map(|(time, by)| if whole { time + by } else { *time }).collect();
    let end_s = case.given("t_end") + if whole { 0.5 } else { 0.0 };
    let rest = format!("protocol: Ringmaster(bound: {bound}, stops: true), stop: (time_s: {end_s:?})");
    let outcome = play(&quadratic(&in_turn(&times), &rest))?;
    case.exact_list("applied", &fates(&outcome, Fate::Applied), &case.list("applied"));
    case.exact("versions", outcome.summary.steps as f64, case.value("versions"));
    case.exact_list("stopped", &fates(&outcome, Fate::Cancelled), &case.list("stopped"));
    case.exact_list("rejected", &fates(&outcome, Fate::Rejected), &case.list("discarded"));
    Ok(())
}

fn rennala(case: &mut Case) -> Result<()> {
    let restart = case.id().contains("restart");
    let rest = format!(
        "protocol: Rennala(batch: {}, restart: {restart}), stop: (updates: 10), record: (gradients: All)",
        case.count("B")
    );
    let outcome = play(&quadratic(&in_turn(&case.given_list("taus")), &rest))?;
    let mut ends: Vec<f64> = applied(&outcome).iter().map(|gradient| gradient.ended.seconds().round()).collect();
    ends.dedup();
    case.exact_list("instants of steps", &ends, &if restart { case.list("") } else { case.list("T") });
    if !restart {
        case.exact("dropped", fates(&outcome, Fate::Dropped).iter().sum(), case.value("ignored"));
    }
    Ok(())
}

fn window(case: &mut Case) -> Result<()> {
    let (name, bound) = (case.scenario()["taus"].as_str().unwrap_or_default(), case.count("R"));
    let times: Vec<f64> = match name {
        "fast-slow" => vec![1.0, 1.0, 1.0, 20.0],
        _ => (1..=10).map(|i| family(name.trim_end_matches("10"), i)).collect(),
    };
    let window_s = complexity::ringmaster_window_s(&times, bound);
    case.formula("bound", window_s, case.value("bound"));
    case.formula("slack", window_s / case.value("replay_max"), case.value("slack"));
    let rest = format!("protocol: Ringmaster(bound: {bound}), stop: (updates: 600), record: (gradients: All)");
    let ends: Vec<f64> =
        applied(&play(&quadratic(&in_turn(&times), &rest))?).iter().map(|gradient| gradient.ended.seconds()).collect();
    let longest = ends.windows(bound as usize + 1).map(|block| block[bound as usize] - block[0]).fold(0.0, f64::max);
    // Starts one after the other cost some nanoseconds.
    case.estimate_within("longest block", longest, number(&case.whole()["replay_max"]), 1e-6);
    case.at_most("longest block", longest, window_s);
    Ok(())
}
