//! Closed forms against the oracles, to twelve digits.

use crate::support::{given, number, oracles, quadratic, same, source, value};
use laggard::output::{NoRows, summary_numbers};
use laggard::study::{Prepared, predict, run};
use laggard::theory::{barrier, checkpoint, lag, queue, stability};

#[test]
fn stability_under_a_constant_lag() {
    for oracle in oracles("T2.delay.") {
        let tau = given(&oracle, "tau") as u64;
        same(&oracle, "edge", stability::constant_lag_edge(tau), value(&oracle, "alpha_max"));
        let (alpha, rate) = stability::constant_lag_fastest(tau);
        same(&oracle, "fastest", alpha, value(&oracle, "alpha_crit"));
        if tau > 0 {
            same(&oracle, "rate", rate, value(&oracle, "rate_at_crit"));
        }
        let edge = stability::constant_lag_edge(tau);
        for (name, alpha) in [("half_max", edge / 2.0), ("crit", alpha)] {
            if let Some(expected) = oracle.value[format!("var_over_eta2sigma2_at_{name}")].as_f64() {
                let variance = stability::constant_lag_variance(alpha, tau).unwrap();
                assert!((variance / expected - 1.0).abs() < 1e-11, "{}: {variance} {expected}", oracle.id);
            }
        }
        assert_eq!(stability::constant_lag_variance(edge * 1.0001, tau), None);
    }
    for oracle in oracles("T2.var.tau") {
        let variance = stability::constant_lag_variance(given(&oracle, "alpha"), given(&oracle, "tau") as u64).unwrap();
        assert!((variance / oracle.value.as_f64().unwrap() - 1.0).abs() < 1e-11, "{}", oracle.id);
    }
}

#[test]
fn stability_under_memoryless_lag() {
    for oracle in oracles("T6.ms.") {
        let n = given(&oracle, "n") as u64;
        same(&oracle, "mean square", stability::memoryless_edge(n), value(&oracle, "alpha_ms"));
        same(&oracle, "mean", stability::memoryless_mean_edge(n), value(&oracle, "alpha_mean"));
        same(&oracle, "constant", stability::constant_lag_edge(n - 1), value(&oracle, "alpha_constant_lag"));
    }
    for oracle in oracles("T6.var.") {
        let (n, alpha) = (given(&oracle, "n") as u64, given(&oracle, "alpha"));
        same(&oracle, "random", stability::memoryless_variance(alpha, n).unwrap(), value(&oracle, "random_lag"));
        match oracle.value["constant_lag"].as_f64() {
            Some(expected) => {
                let constant = stability::constant_lag_variance(alpha, n - 1).unwrap();
                assert!((constant / expected - 1.0).abs() < 1e-11, "{}", oracle.id);
            }
            None => assert_eq!(stability::constant_lag_variance(alpha, n - 1), None, "{}", oracle.id),
        }
    }
    for oracle in oracles("T6.mean.") {
        let expected: Vec<f64> = oracle.value.as_array().unwrap().iter().map(number).collect();
        let (n, alpha) = (given(&oracle, "n") as u64, given(&oracle, "alpha"));
        let actual = stability::memoryless_mean(alpha, n, 1, expected.len() - 1);
        for (actual, expected) in actual.iter().zip(&expected) {
            assert!((actual - expected).abs() < 1e-12, "{}: {actual} {expected}", oracle.id);
        }
    }
    assert_eq!(stability::implicit_momentum(8, 2), 0.75);
}

#[test]
fn laws_of_lag() {
    for oracle in oracles("T3.exp.n") {
        let Some(n) = oracle.scenario["n"].as_u64() else { continue };
        same(&oracle, "mean", lag::mean_of_busy(n, 1), value(&oracle, "mean"));
        same(&oracle, "variance", lag::memoryless_variance(n), value(&oracle, "var"));
        for (k, expected) in oracle.value["pmf"].as_array().unwrap().iter().enumerate() {
            same(&oracle, "probability", lag::memoryless_probability(n, 1, k as u64), number(expected));
        }
    }
    for oracle in oracles("T3.corr.exp") {
        for (n, expected) in oracle.value.as_object().unwrap() {
            same(&oracle, "correlation", lag::memoryless_correlation(n.parse().unwrap()), number(expected));
        }
    }
    for oracle in oracles("T3.kbatch.n") {
        let (n, k) = (given(&oracle, "n") as u64, given(&oracle, "K") as u64);
        same(&oracle, "mean", lag::mean_of_busy(n, k), value(&oracle, "mean"));
    }
    for oracle in oracles("T3.kasync.n") {
        let (n, k) = (given(&oracle, "n") as u64, given(&oracle, "K") as u64);
        same(&oracle, "mean", lag::mean_of_k_async(n, k), value(&oracle, "mean"));
        for (at, expected) in oracle.value["pmf"].as_array().unwrap().iter().enumerate() {
            same(&oracle, "probability", lag::memoryless_probability(n, k, at as u64), number(expected));
        }
    }
    for oracle in oracles("T3.inflight.det.n") {
        let n = given(&oracle, "n") as u64;
        same(&oracle, "in flight", lag::mean_in_flight_of_constant(n), oracle.value.as_f64().unwrap());
    }
    assert_eq!(lag::memoryless_mean_of(&[1.0, 2.0, 4.0], 1), 2.5);
}

#[test]
fn queues_at_the_server() {
    for oracle in oracles("T4.mm1N.") {
        let (n, away, service) =
            (given(&oracle, "N") as u64, 1.0 / given(&oracle, "compute_rate"), 1.0 / given(&oracle, "service_rate"));
        let system = queue::exponential_server(n, away, service);
        same(&oracle, "throughput", system.throughput_per_s, value(&oracle, "throughput"));
        same(&oracle, "utilisation", system.utilisation, value(&oracle, "utilisation"));
        same(&oracle, "waiting", system.waiting, value(&oracle, "L"));
        same(&oracle, "age", lag::mean_age_s(n, system.throughput_per_s), value(&oracle, "age_commit"));
        let arrival = queue::lag_at_arrival(n, away, service);
        assert!((arrival - value(&oracle, "lag_arrival_mean")).abs() < 1e-11, "{}: {arrival}", oracle.id);
    }
    for oracle in oracles("T4.dd1.") {
        let (n, away, service) = (given(&oracle, "N") as u64, given(&oracle, "T"), given(&oracle, "s"));
        let throughput = queue::most_throughput_per_s(n, away, service);
        same(&oracle, "throughput", throughput, value(&oracle, "throughput"));
        same(&oracle, "saturation", queue::saturation(away, service), value(&oracle, "N_star"));
    }
}

#[test]
fn steps_that_wait_for_the_fastest() {
    for oracle in oracles("T5.ksync.exp.") {
        let (p, k) = (given(&oracle, "P") as u64, given(&oracle, "K") as u64);
        same(&oracle, "mean", barrier::exponential(0.0, 1.0, p, k), value(&oracle, "mean"));
    }
    for oracle in oracles("T5.ksync.pareto") {
        let (p, k, shape) = (given(&oracle, "P") as u64, given(&oracle, "K") as u64, given(&oracle, "shape"));
        let mean = barrier::pareto(1.0, shape, p, k);
        assert!((mean / oracle.value.as_f64().unwrap() - 1.0).abs() < 1e-11, "{}: {mean}", oracle.id);
    }
    for oracle in oracles("T5.ksync.shifted") {
        let [p, k, shift, rate] = ["P", "K", "Delta", "mu"].map(|name| given(&oracle, name));
        same(
            &oracle,
            "mean",
            barrier::exponential(shift, 1.0 / rate, p as u64, k as u64),
            oracle.value.as_f64().unwrap(),
        );
    }
    for oracle in oracles("T5.exp.") {
        let (p, k) = (given(&oracle, "P") as u64, given(&oracle, "K") as u64);
        same(&oracle, "K-batch", barrier::any_k(1.0, p, k), value(&oracle, "k_batch_async"));
        same(&oracle, "sync", barrier::exponential(0.0, 1.0, p, p), value(&oracle, "sync"));
    }
    assert_eq!(barrier::pareto(1.0, 0.5, 4, 4), f64::INFINITY);
}

#[test]
fn checkpoints_and_failures() {
    for oracle in oracles("T8.daly.") {
        let (m, delta) = (given(&oracle, "M"), given(&oracle, "delta"));
        same(&oracle, "exact", checkpoint::best_interval_s(m, delta), value(&oracle, "exact"));
        same(&oracle, "Young", checkpoint::young_interval_s(m, delta), value(&oracle, "young"));
        same(&oracle, "Daly", checkpoint::daly_interval_s(m, delta), value(&oracle, "daly"));
    }
    for oracle in oracles("T8.makespan.") {
        let [m, delta, r, tau, segments] = ["M", "delta", "R", "tau", "segments"].map(|name| given(&oracle, name));
        let can_fail = oracle.id.ends_with("R_can_fail");
        let time = checkpoint::makespan_s(segments, tau + delta, m, r, can_fail);
        assert!((time / value(&oracle, "T") - 1.0).abs() < 1e-11, "{}: {time}", oracle.id);
    }
    for oracle in oracles("T8.mk.") {
        let [tau, delta, r, m, segments] = ["tau", "delta", "R", "M", "segments"].map(|name| given(&oracle, name));
        let can_fail = oracle.id.contains("R_can_fail");
        let whole = checkpoint::segment_s(tau + delta, m, r, can_fail);
        let last = checkpoint::segment_s(if oracle.id.ends_with("nockpt") { tau } else { tau + delta }, m, r, can_fail);
        same(&oracle, "makespan", (segments - 1.0) * whole + last, oracle.value.as_f64().unwrap());
    }
    for oracle in oracles("T8.lost.") {
        same(&oracle, "lost", checkpoint::lost_s(given(&oracle, "L"), given(&oracle, "M")), value(&oracle, "lost"));
    }
    for oracle in oracles("T8.crash.") {
        let [c, m, r] = ["compute_mean", "MTBF", "repair"].map(|name| given(&oracle, name));
        same(&oracle, "constant", checkpoint::crashing_worker_s(c, false, m, r), value(&oracle, "det"));
        same(&oracle, "exponential", checkpoint::crashing_worker_s(c, true, m, r), value(&oracle, "exp"));
    }
    for oracle in oracles("T8.avail.") {
        same(
            &oracle,
            "A",
            checkpoint::availability(given(&oracle, "MTBF"), given(&oracle, "MTTR")),
            value(&oracle, "A"),
        );
    }
    assert_eq!([1, 5, 10].map(checkpoint::versions_lost), [0.0, 2.0, 4.5]);
}

/// Of every scenario something is predicted, or it is said why not; and in runs that are long enough it comes true.
#[test]
fn predictions_come_true() {
    let mut compared = std::collections::BTreeMap::new();
    for file in crate::scenarios::files() {
        let source = laggard::scenario::Source::read(&file).unwrap();
        let prepared = Prepared::new(&source, None, None).unwrap();
        let said = predict(&prepared);
        assert!(!said.predictions.is_empty() || !said.silent.is_empty(), "{}", file.display());
        let (stable, workers) =
            (said.warnings.iter().all(|warning| !warning.contains("edge")), prepared.model.workers.len());
        let outcome = run(prepared, NoRows, |_| true).unwrap();
        if !stable || outcome.summary.steps < 5000.max(50 * workers as u64) {
            continue;
        }
        let seen = summary_numbers(&outcome.summary);
        for known in &said.predictions {
            let Some((_, Some(actual))) = seen.iter().find(|(name, _)| name == known.quantity) else { continue };
            // A few per cent are what the beginning and chance may cost in the shortest of these.
            let off = (actual - known.value).abs();
            assert!(
                off <= 0.04 * known.value.abs() + 0.01,
                "{}: {} is {actual}, not {}",
                file.display(),
                known.quantity,
                known.value
            );
            *compared.entry(known.quantity).or_insert(0) += 1;
        }
    }
    for quantity in ["lag_versions_mean", "throughput_per_s", "lag_s_mean", "lag_versions_sd", "lag_correlation"] {
        assert!(compared.get(quantity).is_some_and(|&count| count >= 3), "{compared:?}");
    }
}

fn said(workers: &str, rest: &str) -> laggard::study::Forecast {
    predict(&Prepared::new(&source(&quadratic(workers, rest)), None, None).unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn predictions_know_what_they_do_not_know() {
    let eight = "(count: 8, compute: Exponential(mean: 1.0))";
    let stop = "stop: (updates: 10)";
    assert_eq!(said(eight, stop).get("lag_versions_mean"), Some(7.0));
    assert_eq!(said(eight, &format!("protocol: KBatchAsync(k: 4), {stop}")).get("lag_versions_mean"), Some(1.75));
    for rest in [
        "failures: [(of: Workers, at: At([1.0]))]",
        "network: (request: Constant(1.0))",
        "network: (duplicates: 0.1)",
        "server: (publish: (every: 2))",
        "protocol: Ringmaster(bound: 3)",
        "protocol: Ssp(bound: 3)",
    ] {
        let said = said(eight, &format!("{rest}, {stop}"));
        assert!(said.get("lag_versions_mean").is_none() && !said.silent.is_empty(), "{rest}: {said:?}");
    }
    // Where the forms for it apply, and what they give is what they gave in tests of their own.
    let three = "(count: 3, compute: Exponential(mean: 1.0))";
    let rate = |workers: &str, rest: &str| said(workers, &format!("{rest}, {stop}")).get("throughput_per_s").unwrap();
    assert!((rate(three, "protocol: Ssp(bound: 1)") - 2.1375).abs() < 1e-12);
    assert!((rate(three, "protocol: KAsync(k: 2)") - 1.2).abs() < 1e-12);
    assert!((rate(three, "protocol: GeneralisedAsync(tasks: 5)") - 15.0 / 7.0).abs() < 1e-12);
    let two = "(compute: Exponential(mean: 1.0)), (compute: Exponential(mean: 1.0))";
    assert!((rate(two, "protocol: RejectStale(tolerance: 2)") - 2.0 * 8.0 / 9.0).abs() < 1e-12);
    let crash = "failures: [(of: Workers, at: Every(Exponential(mean: 10.0)), repair: Constant(2.0))]";
    assert!((rate("(count: 3, compute: Constant(1.0))", crash) - 3.0 / 1.2620510169077714).abs() < 1e-12);
    assert!((rate(three, crash) - 2.5).abs() < 1e-12);
    // Saturated, beyond the edge, with an infinite variance: said beforehand.
    let warned = |workers: &str, rest: &str, about: &str| {
        let warnings = said(workers, rest).warnings;
        assert!(warnings.iter().any(|warning| warning.contains(about)), "{warnings:?}");
    };
    warned(eight, &format!("server: (service: Constant(0.5)), {stop}"), "the server is saturated");
    warned("(count: 4, compute: Pareto(minimum: 1.0, shape: 1.5))", stop, "infinite");
    let text =
        quadratic("(count: 30, compute: Constant(1.0))", stop).replace("learning_rate: 0.001", "learning_rate: 0.06");
    let warnings = predict(&Prepared::new(&source(&text), None, None).unwrap()).warnings;
    assert!(warnings[0].contains("beyond the edge of stability, 0.053241"), "{warnings:?}");
    warned(
        "(count: 4, compute: Uniform(low: 1.0, high: 1.9))",
        &format!("protocol: Ringmaster(bound: 7), {stop}"),
        "never binds",
    );
    warned(
        "(count: 4, compute: Constant(1.0))",
        &format!("protocol: RejectStale(tolerance: 3), {stop}"),
        "never binds",
    );
    for rest in ["protocol: RejectStale(tolerance: 2)", "protocol: Async"] {
        let said = said("(count: 4, compute: Constant(1.0))", &format!("{rest}, {stop}"));
        assert!(said.warnings.is_empty(), "{rest}: {said:?}");
    }
    let recovery = "server: (recovery: Checkpoint(every: Versions(50), write: Constant(300.0))),
        failures: [(of: Server, at: Every(Exponential(mean: 21600.0)), repair: Constant(600.0))]";
    let best = said(eight, &format!("{recovery}, {stop}")).get("checkpoint_interval_s").unwrap() / 60.0;
    assert!((best - 56.714001998766534).abs() < 1e-9, "{best}");
}
