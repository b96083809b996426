//! How long steps take that wait for the fastest, and for nobody.

use super::Entry;
use super::case::{Case, WITHIN};
use super::play::{constant_workers, fates, memoryless, play, quadratic};
use crate::cluster::Fate;
use crate::error::Result;
use crate::theory::barrier;

pub const ENTRIES: &[Entry] = &[
    Entry::checked("T5.ksync.", "the K fastest of P (order statistics; Dutta et al., 2018, lemma 1)", k_sync),
    Entry::checked(
        "T5.kbatchsync.",
        "K gradients of workers that begin anew at each step (their lemma 2)",
        k_batch_sync,
    ),
    Entry::checked("T5.kbatchasync.", "K gradients of whoever is first: K E X / P for any law", k_batch_async),
    Entry::checked("T5.kasync.bound.", "the K fastest while others go on: no slower than K-sync", k_async),
    Entry::checked("T5.exp.", "six protocols side by side", side_by_side),
    Entry::checked("T5.det.speed.", "workers of different constant speed", speeds),
];

/// The seconds a step takes in a long run of `steps` steps.
fn seconds_a_step(protocol: &str, workers: &str, steps: u64) -> Result<f64> {
    let outcome = play(&quadratic(workers, &format!("protocol: {protocol}, stop: (updates: {steps})")))?;
    Ok(outcome.summary.time_s / steps as f64)
}

/// The compute times that the name of a case says, with what theory has for them: the mean of the K fastest of P.
struct Law {
    text: String,
    fastest: Box<dyn Fn(u64, u64) -> f64>,
    /// How exact the book's figure is.
    relative: f64,
}

fn law(case: &Case) -> Law {
    let id = case.id();
    let or = |name: &str, other: f64| if case.given(name).is_nan() { other } else { case.given(name) };
    let plain = |text: String, fastest: Box<dyn Fn(u64, u64) -> f64>| Law { text, fastest, relative: 1e-12 };
    if id.contains("lognormal") {
        let sigma = case.given("sigma");
        let text = format!("LogNormal(median: 1.0, sigma: {sigma:?})");
        let fastest = Box::new(move |p, k| barrier::log_normal(1.0, sigma, p, k));
        // For this σ the book cut an integral off.
        return Law { relative: if sigma < 1.0 { 3e-7 } else { 1e-12 }, ..plain(text, fastest) };
    }
    if id.contains("pareto") {
        let shape = or("shape", 2.5);
        let text = format!("Pareto(minimum: 1.0, shape: {shape:?})");
        // Differences of logarithms of gamma functions lose a digit.
        return Law { relative: 1e-11, ..plain(text, Box::new(move |p, k| barrier::pareto(1.0, shape, p, k))) };
    }
    if id.contains("shift") {
        let (shift, mean) = (or("Delta", 0.5), 1.0 / or("mu", 1.0));
        let text = format!("ShiftedExponential(shift: {shift:?}, mean: {mean:?})");
        return plain(text, Box::new(move |p, k| barrier::exponential(shift, mean, p, k)));
    }
    if id.contains("uniform") {
        return plain("Uniform(low: 0.5, high: 1.5)".to_owned(), Box::new(|p, k| barrier::uniform(0.5, 1.5, p, k)));
    }
    plain("Exponential(mean: 1.0)".to_owned(), Box::new(|p, k| barrier::exponential(0.0, 1.0, p, k)))
}

fn workers(case: &Case, law: &Law) -> String {
    format!("(count: {}, compute: {})", case.count("P"), law.text)
}

fn k_sync(case: &mut Case) -> Result<()> {
    let (p, k, law) = (case.count("P"), case.count("K"), law(case));
    let expected = if case.value("mean").is_nan() { case.value("") } else { case.value("mean") };
    case.formula_about("seconds a step", (law.fastest)(p, k), expected, law.relative);
    if !case.value("var").is_nan() {
        case.formula("variance", barrier::exponential_variance(1.0, p, k), case.value("var"));
    }
    let steps = case.samples(60_000);
    let found = seconds_a_step(&format!("KSync(k: {k})"), &workers(case, &law), steps)?;
    case.estimate("seconds a step", found, expected, "", steps);
    Ok(())
}

fn k_batch_sync(case: &mut Case) -> Result<()> {
    let (p, k, law) = (case.count("P"), case.count("K"), law(case));
    case.formula("seconds a step", barrier::batch_sync(case.given("Delta"), 1.0, p, k), case.value(""));
    let steps = case.samples(60_000);
    let found = seconds_a_step(&format!("KBatchSync(k: {k})"), &workers(case, &law), steps)?;
    case.estimate("seconds a step", found, case.value(""), "", steps);
    Ok(())
}

fn k_batch_async(case: &mut Case) -> Result<()> {
    let (p, k, law) = (case.count("P"), case.count("K"), law(case));
    case.formula("seconds a step", barrier::any_k((law.fastest)(1, 1), p, k), case.value(""));
    let steps = case.samples(80_000);
    let found = seconds_a_step(&format!("KBatchAsync(k: {k})"), &workers(case, &law), steps)?;
    case.estimate("seconds a step", found, case.value(""), "", steps);
    Ok(())
}

fn k_async(case: &mut Case) -> Result<()> {
    let (p, k, law) = (case.count("P"), case.count("K"), law(case));
    case.formula_about("bound", (law.fastest)(p, k), case.value("bound"), law.relative);
    let steps = case.samples(80_000);
    let found = seconds_a_step(&format!("KAsync(k: {k})"), &workers(case, &law), steps)?;
    // The book's own simulation has an error, too.
    let error = case.value("mc_se") * (80_000.0 / steps as f64).sqrt();
    case.estimate_within("seconds a step", found, case.value("mc"), WITHIN * 1.5 * error);
    case.at_most("seconds a step", found, case.value("bound"));
    Ok(())
}

fn side_by_side(case: &mut Case) -> Result<()> {
    let (p, k) = (case.count("P"), case.count("K"));
    let synchronous = barrier::exponential(0.0, 1.0, p, p);
    let protocols = [
        ("k_sync", format!("KSync(k: {k})"), barrier::exponential(0.0, 1.0, p, k)),
        ("k_batch_sync", format!("KBatchSync(k: {k})"), barrier::batch_sync(0.0, 1.0, p, k)),
        ("k_async", format!("KAsync(k: {k})"), barrier::exponential(0.0, 1.0, p, k)),
        ("k_batch_async", format!("KBatchAsync(k: {k})"), barrier::any_k(1.0, p, k)),
        ("async", "Async".to_owned(), barrier::any_k(1.0, p, 1)),
        ("sync", "Sync".to_owned(), synchronous),
    ];
    case.formula("sync over async", synchronous / barrier::any_k(1.0, p, 1), case.value("sync_over_async"));
    let steps = case.samples(60_000);
    for (name, protocol, known) in protocols {
        let expected = case.value(name);
        case.formula(name, known, expected);
        let found = seconds_a_step(&protocol, &memoryless(p), steps)?;
        // A step's deviation is at most that of the slowest of 16, 1.26.
        case.estimate_within(name, found, expected, WITHIN * expected.min(1.26) / (steps as f64).sqrt());
    }
    Ok(())
}

fn speeds(case: &mut Case) -> Result<()> {
    const END_S: f64 = 42_000.0;
    let times = case.given_list("T");
    let n = times.len();
    let all = constant_workers(&times, &vec![0.0; n]);
    let asynchronous = barrier::unhindered_per_s(&times);
    let synchronous = n as f64 / barrier::constant(&times, n);
    case.formula("speed-up", asynchronous / synchronous, case.value("speedup"));
    let without_last = (n as f64 - 1.0) / barrier::constant(&times, n - 1);
    let protocols = [
        ("sync_grad_rate", "Sync".to_owned(), synchronous),
        ("async_rate", "Async".to_owned(), asynchronous),
        ("ksync_nminus1", format!("KSync(k: {})", n - 1), without_last),
    ];
    for (name, protocol, known) in protocols {
        case.formula(name, known, case.value(name));
        let outcome = play(&quadratic(&all, &format!("protocol: {protocol}, stop: (time_s: {:?})", END_S + 0.5)))?;
        let found = fates(&outcome, Fate::Applied).iter().sum::<f64>() / END_S;
        // Whole rounds only: at most one gradient a worker is missing at the end.
        case.estimate_within(name, found, case.value(name), n as f64 / END_S);
    }
    Ok(())
}
