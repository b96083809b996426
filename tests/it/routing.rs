//! Tasks that go round between workers with queues, and snapshots that are asked for, against queueing theory.

use crate::support::{exponential_workers, number, numbers, oracles, play, quadratic};
use laggard::cluster::Fate;

/// Generalised AsyncSGD is a closed Jackson network: throughput, lag of each worker and its sojourn in seconds.
#[test]
fn routed_tasks_are_a_closed_jackson_network() {
    for case in oracles("T4.jackson.").iter().filter(|case| !case.id.ends_with("asympt")) {
        let (rates, shares) = (numbers(&case.scenario["mu"]), numbers(&case.scenario["p"]));
        let tasks = number(&case.scenario["m"]);
        // Tasks are spread evenly at the start; where they are many, it takes long until the fast clients' queues have emptied.
        let steps = if tasks > 500.0 { 4e6 } else { 4e5 };
        let rest = format!("protocol: GeneralisedAsync(tasks: {tasks}, shares: {shares:?}), stop: (updates: {steps})");
        let outcome = play(&quadratic(&exponential_workers(&rates), &rest));
        let throughput = outcome.summary.throughput_per_s.unwrap();
        case.check_within("throughput", throughput / number(&case.value["throughput"]), 1.0, 0.01);
        let (lags, sojourns) = (numbers(&case.value["lag_mean"]), numbers(&case.value["sojourn"]));
        // Clients that are alike are taken together: one queue of many tasks moves slowly. Where tasks are many, so does the
        // balance between the fast and the slow.
        let off = if tasks > 50.0 { 0.05 } else { 0.015 };
        for (first, rate) in rates.iter().enumerate().filter(|&(place, rate)| !rates[..place].contains(rate)) {
            let books = outcome.simulation.books().zip(&rates).filter(|(_, other)| *other == rate);
            let books: Vec<_> = books.map(|(books, _)| books).collect();
            let n: f64 = books.iter().map(|books| books.count(Fate::Applied) as f64).sum();
            let alike = books.len() as f64;
            case.check_within("share", n / alike / steps, shares[first], 0.005);
            let lag = books.iter().map(|books| books.lag_versions as f64).sum::<f64>() / n;
            case.check_within("lag", lag, lags[first], off * lags[first] + 0.01);
            let seconds = books.iter().map(|books| books.lag_nanos as f64).sum::<f64>() / 1e9 / n;
            case.check_within("sojourn", seconds, sojourns[first], off * sojourns[first] + 0.01);
        }
        // Exactly, up to the tasks in flight at the end: Σ pᵢ lagᵢ = m − 1.
        let mean = outcome.summary.lag_versions.mean.unwrap();
        case.check_within("mean lag", mean, tasks - 1.0, tasks * tasks * 20.0 / steps + 1e-9);
    }
}

/// With a separate request the worker holds nothing for a while: the lag is less than n − 1 by that share of its cycle.
#[test]
fn a_separate_pull_is_less_stale() {
    const STEPS: u64 = 300_000;
    for case in oracles("T4.pull.") {
        let (n, part) = (number(&case.scenario["n"]), |name: &str| number(&case.scenario[name]));
        let law =
            |mean: f64| if mean > 0.0 { format!("Exponential(mean: {mean:?})") } else { "Constant(0.0)".to_owned() };
        let workers = format!("(count: {n}, compute: {})", law(part("compute")));
        let rest = format!(
            "network: (request: {}, download: {}, upload: {}), stop: (updates: {STEPS})",
            law(part("req")),
            law(part("down")),
            law(part("up"))
        );
        let summary = play(&quadratic(&workers, &rest)).summary;
        case.check("lag", summary.lag_versions.mean.unwrap(), number(&case.value["lag_mean"]), "", STEPS as f64);
        // Means of exponential sums: four deviations of 300,000 draws.
        let (age, throughput) = (number(&case.value["age"]), number(&case.value["throughput"]));
        case.check_within("age", summary.lag_s.mean.unwrap() / age, 1.0, 4.0 / (STEPS as f64).sqrt());
        case.check_within(
            "throughput",
            summary.throughput_per_s.unwrap() / throughput,
            1.0,
            4.0 / (STEPS as f64).sqrt(),
        );
    }
}
