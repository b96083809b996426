//! Laws of lag against the oracles.

use crate::support::{given, near, number, numbers, oracle, oracles, same, value};
use laggard::theory::lag::{self, Constants};
use laggard::theory::renewal::{self, Renewal};

#[test]
fn unequal_memoryless_workers() {
    for oracle in oracles("T3.exp.het.") {
        let rates = numbers(&oracle.scenario["rates"]);
        for worker in 0..rates.len() {
            let mean = lag::memoryless_mean_of(&rates, worker);
            same(&oracle, "mean", mean, number(&oracle.value["mean_lag"][worker]));
            let variance = lag::memoryless_variance_of(&rates, worker);
            same(&oracle, "variance", variance, number(&oracle.value["var_lag"][worker]));
        }
        same(&oracle, "mean", lag::mean_of_busy(rates.len() as u64, 1), value(&oracle, "overall_mean"));
        same(&oracle, "variance", lag::memoryless_variance_of_all(&rates), value(&oracle, "overall_var"));
        let throughput: f64 = rates.iter().sum();
        let age = lag::mean_age_s(rates.len() as u64, throughput);
        same(&oracle, "age", age, value(&oracle, "mean_age_over_commits"));
    }
    for oracle in oracles("T3.exp.n") {
        let Some(n) = oracle.scenario["n"].as_u64() else { continue };
        let below: f64 = (0..n).map(|k| lag::memoryless_probability(n, 1, k)).sum();
        same(&oracle, "n or more", 1.0 - below, value(&oracle, "P_ge_n"));
    }
}

fn renewal_of(law: &str) -> Renewal {
    match law {
        "erlang2" => renewal::erlang(2),
        "erlang4" => renewal::erlang(4),
        "uniform02" => renewal::uniform(0.0, 2.0),
        "uniform.5-1.5" => renewal::uniform(0.5, 1.5),
        "shiftexp.5" => renewal::shifted_exponential(0.5, 0.5),
        "hyperexp" => renewal::hyperexponential(&[0.9, 0.1], &[1.0 / 1.8, 5.0]),
        "pareto3" => renewal::pareto(3.0),
        "lognormal.5" => renewal::log_normal(0.5),
        "lognormal1" => renewal::log_normal(1.0),
        _ => panic!("{law}"),
    }
}

#[test]
fn any_law_of_compute_times() {
    for oracle in oracles("T3.renewal.") {
        let law = oracle.id.trim_start_matches("T3.renewal.");
        if law == "universal" {
            continue;
        }
        let renewal = renewal_of(law);
        // A renewal equation was solved on a grid there, which for this law left nine digits: EV is 0.28798312218466(6).
        let within = if law == "pareto3" { 1e-9 } else { 1e-12 };
        near(&oracle, "c²", renewal.squared_cv, value(&oracle, "c2"), within);
        near(&oracle, "EV", renewal.count_variance, value(&oracle, "EV"), within);
        near(&oracle, "P0", renewal.fresh_of_two, value(&oracle, "P0_n2"), within);
        for n in [2, 4, 8] {
            near(&oracle, "variance", renewal.lag_variance(n), value(&oracle, &format!("var_n{n}")), within);
        }
    }
    for n in [2, 5, 40] {
        assert_eq!(renewal::exponential().lag_variance(n), lag::memoryless_variance(n));
        assert!((renewal::exponential().lag_correlation(n) - lag::memoryless_correlation(n)).abs() < 1e-15);
        assert_eq!(renewal::constant().lag_variance(n), 0.0);
    }
}

/// What works for any law agrees with what was found for each.
#[test]
fn laws_by_their_density() {
    let same = |actual: Renewal, expected: Renewal| {
        for (actual, expected) in [
            (actual.squared_cv, expected.squared_cv),
            (actual.count_variance, expected.count_variance),
            (actual.fresh_of_two, expected.fresh_of_two),
        ] {
            assert!((actual / expected - 1.0).abs() < 1e-11, "{actual} {expected}");
        }
    };
    same(renewal::of_density(|x| (-x).exp(), |x| (-x).exp(), 1.0, 1.0), renewal::exponential());
    same(renewal::erlang(1), renewal::exponential());
    same(renewal::shifted_exponential(0.0, 3.0), renewal::exponential());
    same(renewal::hyperexponential(&[0.3, 0.7], &[2.0, 2.0]), renewal::exponential());
    let erlang = renewal::of_density(|x| x * (-x).exp(), |x| (1.0 + x) * (-x).exp(), 2.0, 2f64.sqrt());
    same(erlang, renewal::erlang(2));
    let (slow, fast) = (0.2, 1.8);
    let mixed = renewal::of_density(
        |x| 0.9 * fast * (-fast * x).exp() + 0.1 * slow * (-slow * x).exp(),
        |x| 0.9 * (-fast * x).exp() + 0.1 * (-slow * x).exp(),
        1.0,
        (41f64 / 9.0).sqrt(),
    );
    same(mixed, renewal::hyperexponential(&[0.9, 0.1], &[1.0 / fast, 1.0 / slow]));
    let pareto = renewal::pareto(3.0).count_variance;
    assert!((pareto - 0.287983122184666).abs() < 1e-14, "{pareto}");
    assert!([2.0, 1.5].iter().all(|&shape| renewal::pareto(shape).lag_variance(2).is_infinite()));
    // The more phases, the nearer to constant times.
    assert!(renewal::erlang(400).lag_variance(3) < 0.15);
}

#[test]
fn distributions_of_lag() {
    for (id, n) in [("T3.pmf.erlang2.n2", 2), ("T3.pmf.erlang2.n4", 4)] {
        let oracle = oracle(id);
        let expected = numbers(&oracle.value);
        let actual = lag::erlang_probabilities(n, 2, expected.len() as u64 - 1);
        // Gauss–Laguerre quadrature there.
        actual
            .iter()
            .zip(&expected)
            .for_each(|(actual, expected)| near(&oracle, "probability", *actual, *expected, 1e-12));
    }
    let chances = lag::erlang_probabilities(3, 3, 60);
    let mean: f64 = chances.iter().enumerate().map(|(k, chance)| k as f64 * chance).sum();
    let square: f64 = chances.iter().enumerate().map(|(k, chance)| (k * k) as f64 * chance).sum();
    assert!((mean - 2.0).abs() < 1e-12 && (square - mean * mean - renewal::erlang(3).lag_variance(3)).abs() < 1e-12);
    for (lag, chance) in lag::erlang_probabilities(5, 1, 20).iter().enumerate() {
        assert!((chance / lag::memoryless_probability(5, 1, lag as u64) - 1.0).abs() < 1e-12);
    }
    for oracle in oracles("T3.kbatch.n") {
        let (n, k) = (given(&oracle, "n") as u64, given(&oracle, "K") as u64);
        for (at, expected) in oracle.value["pmf"].as_array().unwrap().iter().enumerate() {
            same(&oracle, "probability", lag::memoryless_batch_probability(n, k, at as u64), number(expected));
        }
    }
    assert_eq!(lag::memoryless_batch_probability(1, 3, 0), 1.0);
}

#[test]
fn constant_compute_times() {
    for oracle in oracles("T3.det.equal.") {
        let expected = numbers(&oracle.value);
        let n = given(&oracle, "n");
        let starts_s = (0..n as u64).map(|i| if oracle.id.ends_with("stagger") { i as f64 / n } else { 0.0 }).collect();
        let reads_after_all = oracle.id.ends_with("tieB");
        let workers = Constants { compute_s: vec![1.0; n as usize], starts_s, reads_after_all };
        let pushes = workers.pushes(expected.len() as u64);
        let lags: Vec<f64> = pushes.iter().map(|&(worker, push)| workers.lag(worker, push) as f64).collect();
        assert_eq!(lags, expected, "{}", oracle.id);
    }
    for id in ["T3.det.235", "T3.det.1-10", "T3.det.1-2-4-8"] {
        let oracle = oracle(id);
        let (compute_s, starts_s) = (numbers(&oracle.scenario["T"]), numbers(&oracle.scenario["starts"]));
        let n = compute_s.len() as u64;
        let workers = Constants { compute_s: compute_s.clone(), starts_s, reads_after_all: false };
        let pushes = workers.pushes(2000);
        for (at, &(worker, push)) in pushes.iter().take(24).enumerate() {
            assert_eq!(worker as f64, number(&oracle.value["worker"][at]), "{id} {at}");
            assert_eq!(workers.lag(worker, push) as f64, number(&oracle.value["lag"][at]), "{id} {at}");
        }
        for worker in 0..compute_s.len() {
            let mean = lag::constant_mean_of(&compute_s, worker);
            same(&oracle, "mean", mean, number(&oracle.value["mean_lag"][worker]));
        }
        // What is in flight after 2000 pushes has read the version after its worker's last.
        let lags: u64 = pushes.iter().map(|&(worker, push)| workers.lag(worker, push)).sum();
        let held = |worker: usize| pushes.iter().rposition(|&(who, _)| who == worker).map_or(0, |at| at as u64 + 1);
        let open: u64 = (0..compute_s.len()).map(|worker| 2000 - held(worker)).sum();
        let identity = &oracle.value["identity_N2000"];
        assert_eq!(
            [lags, open, lags + open].map(|n| n as f64),
            ["sum_lag", "sum_partial", "total"].map(|name| number(&identity[name]))
        );
        assert_eq!(lags + open, lag::total_of_busy(n, 2000), "{id}");
        assert_eq!(lag::mean_of_busy(n, 1), number(&oracle.value["overall_mean"]));
    }
    let oracle = oracle("T3.disagree.reversal");
    let (compute_s, starts_s) = (numbers(&oracle.scenario["T"]), numbers(&oracle.scenario["starts"]));
    let workers = Constants { compute_s, starts_s, reads_after_all: false };
    for (worker, name) in [(0, "worker0"), (7, "worker7")] {
        let expected = numbers(&oracle.value[name]);
        assert_eq!([workers.lag(worker, 1) as f64, workers.compute_s[worker]].as_slice(), expected, "{name}");
    }
}

#[test]
fn lags_and_seconds() {
    for oracle in oracles("T3.inflight.exp.n") {
        let n = given(&oracle, "n") as u64;
        same(&oracle, "in flight", lag::mean_in_flight_of_memoryless(n), oracle.value.as_f64().unwrap());
    }
    assert_eq!([0.0, 4.0].map(|variance| lag::mean_age_in_flight_s(2.0, variance)), [1.0, 2.0]);
    let oracle = oracle("T3.disagree.scale");
    for (name, expected) in oracle.value.as_object().unwrap() {
        let (n, mean_s) = (if name.starts_with("n8") { 8 } else { 16 }, if name.ends_with("c2") { 2.0 } else { 1.0 });
        let actual = [lag::mean_of_busy(n, 1), lag::mean_age_s(n, n as f64 / mean_s)];
        assert_eq!(actual.as_slice(), numbers(expected), "{name}");
    }
    // What the identity of Little says, for any of the systems: (mean lag + 1) = throughput × mean age.
    let little = crate::support::oracle("T3.little");
    assert_eq!(little.value, "lag_mean+1 = X*age_mean = n");
    assert_eq!(lag::mean_of_busy(6, 1) + 1.0, 4.0 * lag::mean_age_s(6, 4.0));
    for oracle in oracles("T4.pull.") {
        let [n, request, down, compute, up] = ["n", "req", "down", "compute", "up"].map(|name| given(&oracle, name));
        let (holding, cycle) = (down + compute + up, request + down + compute + up);
        let mean = lag::mean_of_separate_pull(n as u64, holding, cycle);
        same(&oracle, "lag", mean, value(&oracle, "lag_mean"));
        same(&oracle, "throughput", n / cycle, value(&oracle, "throughput"));
        same(&oracle, "age", holding, value(&oracle, "age"));
    }
}
