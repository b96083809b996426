//! How long rounds and barriers take, and how stale what they use is, against order statistics and Markov chains.

use crate::support::{
    constant_workers, exponential_workers, fates, number, numbers, oracle, oracles, play, quadratic, watch,
};
use laggard::cluster::Fate;

/// The seconds a step takes in a long run of `steps` steps.
fn seconds_a_step(protocol: &str, workers: &str, steps: u64) -> f64 {
    let outcome = play(&quadratic(workers, &format!("protocol: {protocol}, stop: (updates: {steps})")));
    outcome.summary.time_s / steps as f64
}

fn law(case: &serde_json::Value, id: &str) -> String {
    let parameter = |name: &str| number(&case[name]);
    if id.contains("lognormal") {
        let sigma = parameter("sigma");
        format!("LogNormal(median: 1.0, sigma: {sigma:?})")
    } else if id.contains("pareto") {
        format!("Pareto(minimum: 1.0, shape: {:?})", parameter("shape"))
    } else if id.contains("shift") {
        let shift = if case["Delta"].is_null() { 0.5 } else { parameter("Delta") };
        let rate = if case["mu"].is_null() { 1.0 } else { parameter("mu") };
        format!("ShiftedExponential(shift: {shift:?}, mean: {:?})", 1.0 / rate)
    } else if id.contains("uniform") {
        "Uniform(low: 0.5, high: 1.5)".to_owned()
    } else {
        "Exponential(mean: 1.0)".to_owned()
    }
}

/// E[X₍K:P₎] (Dutta et al., 2018, lemma 1), by either way to be rid of stragglers that makes all start together.
#[test]
fn k_sync_takes_the_kth_order_statistic() {
    const STEPS: u64 = 60_000;
    for case in oracles("T5.ksync.") {
        let (p, k) = (number(&case.scenario["P"]), number(&case.scenario["K"]));
        let workers = format!("(count: {p}, compute: {})", law(&case.scenario, &case.id));
        let seconds = seconds_a_step(&format!("KSync(k: {k})"), &workers, STEPS);
        let expected = if case.value["mean"].is_null() { number(&case.value) } else { number(&case.value["mean"]) };
        case.check("seconds a step", seconds, expected, "", STEPS as f64);
    }
}

/// K-batch-sync: the number of renewals of P workers that all start afresh (Dutta et al., 2018, lemma 2).
#[test]
fn k_batch_sync_takes_as_long_as_k_renewals() {
    const STEPS: u64 = 60_000;
    for case in oracles("T5.kbatchsync.") {
        let (p, k) = (number(&case.scenario["P"]), number(&case.scenario["K"]));
        let workers = format!("(count: {p}, compute: {})", law(&case.scenario, &case.id));
        let seconds = seconds_a_step(&format!("KBatchSync(k: {k})"), &workers, STEPS);
        case.check("seconds a step", seconds, number(&case.value), "", STEPS as f64);
    }
}

/// K-batch-async takes K E[X] / P whatever the law; K-async has a bound only.
#[test]
fn asynchronous_variants_do_not_wait_for_the_slowest() {
    const STEPS: u64 = 80_000;
    for case in oracles("T5.kbatchasync.") {
        let (p, k) = (number(&case.scenario["P"]), number(&case.scenario["K"]));
        let workers = format!("(count: {p}, compute: {})", law_of(&case.scenario));
        let seconds = seconds_a_step(&format!("KBatchAsync(k: {k})"), &workers, STEPS);
        case.check("seconds a step", seconds, number(&case.value), "", STEPS as f64);
    }
    for case in oracles("T5.kasync.bound.") {
        let (p, k) = (number(&case.scenario["P"]), number(&case.scenario["K"]));
        let workers = format!("(count: {p}, compute: {})", law_of(&case.scenario));
        let seconds = seconds_a_step(&format!("KAsync(k: {k})"), &workers, STEPS);
        let off = 6.0 * number(&case.value["mc_se"]);
        case.check_within("seconds a step", seconds, number(&case.value["mc"]), off);
        assert!(seconds < number(&case.value["bound"]) + off, "{}: {seconds}", case.id);
    }
}

fn law_of(scenario: &serde_json::Value) -> String {
    let name = scenario["law"].as_str().unwrap_or_default();
    let shape = serde_json::json!({ "shape": name.strip_prefix("pareto").unwrap_or("0") });
    law(&shape, name)
}

#[test]
fn five_protocols_side_by_side() {
    const STEPS: u64 = 60_000;
    for case in oracles("T5.exp.") {
        let (p, k) = (number(&case.scenario["P"]), number(&case.scenario["K"]));
        let workers = format!("(count: {p}, compute: Exponential(mean: 1.0))");
        let protocols = [
            ("k_sync", format!("KSync(k: {k})")),
            ("k_batch_sync", format!("KBatchSync(k: {k})")),
            ("k_async", format!("KAsync(k: {k})")),
            ("k_batch_async", format!("KBatchAsync(k: {k})")),
            ("async", "Async".to_owned()),
            ("sync", "Sync".to_owned()),
        ];
        for (name, protocol) in protocols {
            let seconds = seconds_a_step(&protocol, &workers, STEPS);
            let expected = number(&case.value[name]);
            // A round's deviation is at most that of the slowest of 16, 1.26; four of 60,000 rounds.
            let off = 4.0 * (expected.min(1.26)) / (STEPS as f64).sqrt();
            case.check_within(name, seconds, expected, off);
        }
    }
}

#[test]
fn deterministic_workers_of_different_speeds() {
    for case in oracles("T5.det.speed.") {
        let times = numbers(&case.scenario["T"]);
        let workers = constant_workers(&times, &vec![0.0; times.len()]);
        let rate = |protocol: &str| {
            let rest = format!("protocol: {protocol}, stop: (time_s: 42000.5)");
            let outcome = play(&quadratic(&workers, &rest));
            fates(&outcome, Fate::Applied).iter().sum::<f64>() / 42_000.0
        };
        // Whole rounds only: at most one gradient a worker is missing at the end.
        let off = times.len() as f64 / 42_000.0;
        case.check_within("sync", rate("Sync"), number(&case.value["sync_grad_rate"]), off);
        case.check_within("async", rate("Async"), number(&case.value["async_rate"]), off);
        let k = times.len() - 1;
        case.check_within("k-sync", rate(&format!("KSync(k: {k})")), number(&case.value["ksync_nminus1"]), off);
    }
}

#[test]
fn buffers_and_barriers_divide_the_lag() {
    const STEPS: u64 = 150_000;
    for (prefix, name) in [("T3.kbatch.", "KBatchAsync"), ("T3.kasync.", "KAsync")] {
        for case in oracles(prefix) {
            let (n, k) = (number(&case.scenario["n"]), number(&case.scenario["K"]));
            let steps = (STEPS as f64 / k).ceil();
            let rest = format!("protocol: {name}(k: {k}), stop: (updates: {steps})");
            let outcome = play(&quadratic(&format!("(count: {n}, compute: Exponential(mean: 1.0))"), &rest));
            let lags = outcome.recording.lags.overall().versions;
            let (total, mean) = (lags.total() as f64, number(&case.value["mean"]));
            // Up to the ends of the run, where n gradients have lags of a few times the mean, the mean is no matter of chance.
            case.check_within("mean", lags.mean().unwrap(), mean, 10.0 * n * (mean + 1.0) / total);
            for (lag, p) in numbers(&case.value["pmf"]).into_iter().enumerate().filter(|(_, p)| *p > 1e-4) {
                let bins = lags.histogram().bins().filter(|bin| bin.lower == lag as u64);
                let share = bins.map(|bin| bin.count).sum::<u64>() as f64 / total;
                // The gradients of one step are not independent: half as much again as a binomial deviation.
                case.check_within("share", share, p, 5.0 * 1.5 * (p / total).sqrt() + 20.0 / total);
            }
        }
    }
}

#[test]
fn ssp_blocks_as_its_markov_chain_says() {
    const STEPS: f64 = 400_000.0;
    for case in oracles("T5.ssp.n") {
        let s = number(&case.scenario["s"]);
        let n = number(&case.scenario["n"]);
        let rates =
            if case.scenario["rates"].is_null() { vec![1.0; n as usize] } else { numbers(&case.scenario["rates"]) };
        let rest = format!("protocol: Ssp(bound: {s}), stop: (updates: {STEPS})");
        let outcome = play(&quadratic(&exponential_workers(&rates), &rest));
        let time = outcome.summary.time_s;
        case.check("rate", STEPS / n / time, number(&case.value["rate_per_worker"]), "", STEPS);
        let waited: Vec<f64> = outcome.simulation.books().map(|books| books.waited.seconds() / time).collect();
        for (worker, name) in ["blocked_1", "blocked_2"].into_iter().enumerate() {
            if !case.value[name].is_null() {
                case.check_within(name, waited[worker], number(&case.value[name]), 0.01);
            }
        }
        let most = outcome.recording.lags.overall().versions.greatest().unwrap() as f64;
        assert!(most <= (n - 1.0) * (2.0 * s + 1.0), "{}: lag {most}", case.id);
        if n == 2.0 && s < 3.0 {
            assert_eq!(most, number(&case.value["max_lag"]), "{}", case.id);
        }
    }
}

#[test]
fn deterministic_ssp_episodes_are_exact() {
    for case in oracles("T5.ssp.det.") {
        let times = numbers(&case.scenario["T"]);
        let starts: Vec<f64> = (0..times.len()).map(|worker| worker as f64 * 1e-9).collect();
        let rest = format!(
            "protocol: Ssp(bound: {}), stop: (time_s: 42.000001), record: (gradients: All)",
            number(&case.scenario["s"])
        );
        let outcome = play(&quadratic(&constant_workers(&times, &starts), &rest));
        assert_eq!(fates(&outcome, Fate::Applied), numbers(&case.value["clocks"]), "{}", case.id);
        let mut episodes: Vec<Vec<f64>> = Vec::new();
        for worker in 0..times.len() as u32 {
            let own =
                outcome.recording.sink.iter().map(|row| row.gradient).filter(|gradient| gradient.worker == worker);
            let own: Vec<_> = own.collect();
            for (clock, pair) in own.windows(2).enumerate() {
                let (from, to) = (pair[0].ended.seconds().round(), pair[1].read.seconds().round());
                if to > from {
                    episodes.push(vec![f64::from(worker), from, to, clock as f64 + 1.0]);
                }
            }
        }
        let blocked: Vec<f64> = outcome.simulation.books().map(|books| books.waited.seconds().round()).collect();
        assert_eq!(blocked, numbers(&case.value["blocked"]), "{}", case.id);
        // The oracle lists the first ones.
        episodes.sort_by(|a, b| (a[1], a[0]).partial_cmp(&(b[1], b[0])).unwrap());
        let expected: Vec<Vec<f64>> = case.value["episodes"].as_array().unwrap().iter().map(numbers).collect();
        assert_eq!(episodes[..expected.len()], expected, "{}", case.id);
    }
}

/// Looking at all others is SSP itself; at none of them, asynchronous.
#[test]
fn a_sample_of_all_others_is_ssp() {
    let workers = "(count: 5, compute: Gamma(mean: 1.0, cv: 0.8))";
    let run = |protocol: &str| {
        let outcome = play(&quadratic(workers, &format!("protocol: {protocol}, stop: (updates: 5000)")));
        (outcome.summary.fingerprint, outcome.summary.throughput_per_s.unwrap())
    };
    assert_eq!(run("Ssp(bound: 2)"), run("SampledSsp(bound: 2, sample: 4)"));
    let rates = ["Ssp(bound: 2)", "SampledSsp(bound: 2, sample: 2)", "Async"].map(|protocol| run(protocol).1);
    assert!(rates[0] < rates[1] && rates[1] < rates[2], "{rates:?}");
}

/// Averaging n fresh gradients divides their variance by n.
#[test]
fn synchronous_noise_averages_out() {
    const STEPS: f64 = 200_000.0;
    for case in oracles("T2.var.sync.") {
        let n: f64 = case.id.trim_start_matches("T2.var.sync.n").parse().unwrap();
        // The oracle's α: ¼ for 4 gradients, ½ for 8.
        let alpha = if n == 4.0 { 0.25 } else { 0.5 };
        let rest = format!("protocol: Sync, noise: Gaussian(sd: 1.0), stop: (updates: {STEPS})");
        let text = quadratic(&format!("(count: {n}, compute: Constant(1.0))"), &rest);
        let text = text.replace("0.001", &format!("{alpha:?}"));
        let mut squares = 0.0;
        watch(&text, |gradient, step| {
            if gradient.worker == 0 {
                squares += step.before[0] * step.before[0];
            }
        });
        let variance = squares / STEPS / (alpha * alpha);
        case.check_relative("variance", variance, number(&case.value), STEPS);
    }
}

#[test]
fn the_greatest_lag_of_ssp_is_attained_and_never_exceeded() {
    let case = oracle("T5.ssp.lagbound");
    assert_eq!(case.value.as_str(), Some("(n-1)(2s+1)"));
    for (n, s) in [(2, 1), (3, 1)] {
        let rest = format!("protocol: Ssp(bound: {s}), stop: (updates: 300000)");
        let outcome = play(&quadratic(&format!("(count: {n}, compute: Exponential(mean: 1.0))"), &rest));
        assert_eq!(outcome.recording.lags.overall().versions.greatest(), Some((n - 1) * (2 * s + 1)));
    }
}
