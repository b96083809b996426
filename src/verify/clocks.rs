//! Workers that wait for the slowest: stale synchronous parallel.

use super::Entry;
use super::case::{Case, numbers};
use super::play::{constant_workers, exponential_workers, fates, memoryless, or_nan, play, prepare, quadratic, watch};
use crate::cluster::Fate;
use crate::error::Result;
use crate::output::NoRows;
use crate::record::GradientRow;
use crate::study::{Outcome, run};
use crate::theory::{barrier, ssp};

pub const ENTRIES: &[Entry] = &[
    Entry::checked("T5.ssp.n", "the Markov chain of how far workers are ahead of the slowest", chain),
    Entry::checked("T5.ssp.det.", "constant compute times: clocks and waits, exactly", episodes),
    Entry::checked("T5.ssp.lagbound", "no lag exceeds (n − 1)(2s + 1), and it is reached", bound),
    Entry::not(
        "T5.ssp.regret",
        "a bound on the regret of convex problems",
        "a bound on regret, of which a run has none",
    ),
];

fn chain(case: &mut Case) -> Result<()> {
    let (n, s) = (case.count("n"), case.count("s"));
    let rates = case.given_list("rates");
    let rates = if rates.is_empty() { vec![1.0; n as usize] } else { rates };
    let expected = case.value("rate_per_worker");
    for (worker, pace) in ssp::exponential(&rates, s).iter().enumerate() {
        case.formula(&format!("rate of worker {worker}"), pace.rate_per_s, expected);
        let blocked = case.value(&format!("blocked_{}", worker + 1));
        if !blocked.is_nan() {
            // A difference from 1, where a worker hardly ever waits.
            case.formula_within(&format!("share in which worker {worker} waits"), pace.blocked, blocked, 1e-13);
        }
    }
    if let [first, second] = rates[..] {
        let pair = ssp::exponential_pair([first, second], s)[0].rate_per_s;
        case.formula("rate of a pair", pair, expected);
    }
    let most = if n == 2 { case.value("max_lag") } else { case.value("max_lag_bound") };
    case.formula("greatest lag", ssp::greatest_lag(n, s) as f64, most);
    if s == 0 && rates.iter().all(|&rate| rate == 1.0) {
        case.formula("rate, as a synchronous step", 1.0 / barrier::exponential(0.0, 1.0, n, n), expected);
    }
    let updates = case.samples(400_000);
    let stop = |updates: u64| format!("protocol: Ssp(bound: {s}), stop: (updates: {updates})");
    let outcome = play(&quadratic(&exponential_workers(&rates), &stop(updates)))?;
    case.estimate("rate", updates as f64 / n as f64 / outcome.summary.time_s, expected, "", updates);
    case.at_most("lag", or_nan(outcome.summary.lag_versions.max), ((n - 1) * (2 * s + 1)) as f64);
    if n == 2 {
        if s < 3 {
            case.exact("greatest lag", or_nan(outcome.summary.lag_versions.max), most);
        }
        pair(case, &quadratic(&exponential_workers(&rates), &stop(updates / 20)))?;
    }
    Ok(())
}

/// The waits of two workers, and how far one gets ahead of the other.
fn pair(case: &mut Case, text: &str) -> Result<()> {
    const RUNS: u64 = 20;
    let mut waited = [Vec::new(), Vec::new()];
    let mut steps = 0;
    for replication in 0..RUNS {
        let Outcome { summary, simulation, .. } = run(prepare(text, Some(replication))?, NoRows, |_| true)?;
        steps = summary.steps;
        for (books, shares) in simulation.books().zip(&mut waited) {
            shares.push(books.waited.seconds() / summary.time_s);
        }
    }
    for (worker, shares) in waited.iter().enumerate() {
        let blocked = case.value(&format!("blocked_{}", worker + 1));
        // A run of which less than a wait is expected tells nothing.
        if blocked * steps as f64 > 10.0 {
            case.replicated(&format!("share in which worker {worker} waits"), shares, blocked);
        }
    }
    let (mut clocks, mut gap) = ([0u64; 2], 0);
    watch(text, |gradient, _| {
        clocks[gradient.worker as usize] += 1;
        gap = gap.max(clocks[0].abs_diff(clocks[1]));
    })?;
    case.formula("greatest gap between clocks", (case.count("s") + 1) as f64, case.value("max_clock_gap"));
    case.exact("greatest gap between clocks", gap as f64, case.value("max_clock_gap"));
    Ok(())
}

/// When each worker waited, and at which clock, from the rows of a run.
fn waits(rows: &[GradientRow], workers: usize) -> Vec<Vec<f64>> {
    let mut all: Vec<Vec<f64>> = Vec::new();
    for worker in 0..workers as u32 {
        let own: Vec<_> = rows.iter().map(|row| row.gradient).filter(|gradient| gradient.worker == worker).collect();
        for (clock, pair) in own.windows(2).enumerate() {
            let (from, until) = (pair[0].ended.seconds().round(), pair[1].read.seconds().round());
            if until > from {
                all.push(vec![f64::from(worker), from, until, clock as f64 + 1.0]);
            }
        }
    }
    all.sort_by(|a, b| a[1].total_cmp(&b[1]).then(a[0].total_cmp(&b[0])));
    all
}

fn episodes(case: &mut Case) -> Result<()> {
    const END_S: f64 = 42.0;
    let (times, s) = (case.given_list("T"), case.count("s"));
    let expected: Vec<f64> =
        case.whole()["episodes"].as_array().map_or(Vec::new(), |all| all.iter().flat_map(numbers).collect());
    let (clocks, known) = ssp::constant(&times, s, END_S);
    let clocks: Vec<f64> = clocks.iter().map(|&clock| clock as f64).collect();
    case.formula_list("clocks", &clocks, &case.list("clocks"));
    let flat: Vec<f64> = known
        .iter()
        .flat_map(|wait| [wait.worker as f64, wait.from_s, wait.until_s, wait.clock as f64])
        .take(expected.len())
        .collect();
    case.formula_list("the first waits", &flat, &expected);
    // Equal instants go by worker number, which starting one after the other makes here.
    let starts: Vec<f64> = (0..times.len()).map(|worker| worker as f64 * 1e-9).collect();
    let rest = format!("protocol: Ssp(bound: {s}), stop: (time_s: 42.000001), record: (gradients: All)");
    let outcome = play(&quadratic(&constant_workers(&times, &starts), &rest))?;
    case.exact_list("clocks", &fates(&outcome, Fate::Applied), &case.list("clocks"));
    let found: Vec<f64> = waits(&outcome.recording.sink, times.len()).concat();
    case.exact_list("the first waits", &found[..expected.len().min(found.len())], &expected);
    let blocked: Vec<f64> = outcome.simulation.books().map(|books| books.waited.seconds().round()).collect();
    case.exact_list("seconds of waiting", &blocked, &case.list("blocked"));
    Ok(())
}

fn bound(case: &mut Case) -> Result<()> {
    for (n, s) in [(2, 1), (3, 1)] {
        let rest = format!("protocol: Ssp(bound: {s}), stop: (updates: 300000)");
        let summary = play(&quadratic(&memoryless(n), &rest))?.summary;
        let most = ssp::greatest_lag(n, s) as f64;
        case.formula(&format!("of {n} workers"), most, ((n - 1) * (2 * s + 1)) as f64);
        case.exact(&format!("greatest lag of {n} workers"), or_nan(summary.lag_versions.max), most);
    }
    Ok(())
}
