//! The laws of lag, for workers without network and server delays.

use crate::support::{applied, constant_workers, number, numbers, oracle, oracles, play, quadratic};
use laggard::cluster::Fate;
use laggard::record::GradientRow;
use laggard::study::Outcome;
use proptest::prelude::*;

/// Runs `workers` for so many steps, lags recorded.
fn steps(workers: &str, updates: u64) -> Outcome<Vec<GradientRow>> {
    play(&quadratic(workers, &format!("stop: (updates: {updates})")))
}

fn variance(outcome: &Outcome<Vec<GradientRow>>) -> f64 {
    outcome.summary.lag_versions.sd.unwrap().powi(2)
}

/// The share of gradients with each lag 0, 1, 2 …
fn pmf(outcome: &Outcome<Vec<GradientRow>>, lags: usize) -> Vec<f64> {
    let all = outcome.recording.lags.overall();
    let mut shares = vec![0.0; lags];
    for bin in all.versions.histogram().bins() {
        if let Some(share) = shares.get_mut(bin.lower as usize) {
            *share = bin.count as f64 / all.versions.total() as f64;
        }
    }
    shares
}

#[test]
fn equal_exponential_workers_have_a_geometric_lag() {
    const STEPS: u64 = 300_000;
    for case in oracles("T3.exp.n") {
        let n = number(&case.scenario["n"]);
        let outcome = steps(&format!("(count: {n}, compute: Exponential(mean: 1.0))"), STEPS);
        case.check("variance", variance(&outcome), number(&case.value["var"]), "", STEPS as f64);
        let shares = pmf(&outcome, 12);
        let expected = numbers(&case.value["pmf"]);
        case.check_within("P(0)", shares[0], expected[0], 4.0 * case.se_p0());
        for (lag, (share, p)) in shares.iter().zip(&expected).enumerate() {
            // Successive lags are weakly correlated: 1.2 times the binomial deviation was measured for P(0).
            let off = 4.5 * 1.2 * (p * (1.0 - p) / STEPS as f64).sqrt();
            case.check_within(&format!("P({lag})"), *share, *p, off);
        }
        // The mean is no matter of chance: it is off by what is in flight at the end, and no more.
        let in_flight = outcome.summary.lag_versions.max.unwrap() * n;
        case.check_within("mean", outcome.summary.lag_versions.mean.unwrap(), n - 1.0, in_flight / STEPS as f64);
    }
}

#[test]
fn unequal_exponential_workers_have_shares_and_lags_by_their_rates() {
    const STEPS: u64 = 300_000;
    for case in oracles("T3.exp.het.") {
        let rates = numbers(&case.scenario["rates"]);
        let workers: String =
            rates.iter().map(|rate| format!("(compute: Exponential(mean: {:?})),", 1.0 / rate)).collect();
        let outcome = steps(&workers, STEPS);
        case.check("variance", variance(&outcome), number(&case.value["overall_var"]), "", STEPS as f64);
        let (share, mean) = (numbers(&case.value["share"]), numbers(&case.value["mean_lag"]));
        let age = numbers(&case.value["mean_age_per_worker"]);
        for (worker, books) in outcome.simulation.books().enumerate() {
            // Shares are binomial, ages exponential, lags geometric: their deviations are known; four of them are allowed.
            let (p, n) = (share[worker], books.count(Fate::Applied) as f64);
            let off = 4.0 * (p * (1.0 - p) / STEPS as f64).sqrt();
            case.check_within("share", n / STEPS as f64, p, off);
            let sd = number(&case.value["var_lag"][worker]).sqrt();
            // Lags of one worker follow each other with a little correlation; a fifth sd covers it.
            case.check_within("mean lag", books.lag_versions as f64 / n, mean[worker], 5.0 * sd / n.sqrt());
            case.check_within("mean age", books.lag_nanos as f64 / 1e9 / n, age[worker], 4.0 * age[worker] / n.sqrt());
        }
    }
}

#[test]
fn equal_constant_workers_have_constant_lags_whether_they_tie_or_not() {
    for n in [2, 4, 8] {
        let tied = oracle(&format!("T3.det.equal.n{n}.tieA"));
        let expected = numbers(&tied.value);
        let updates = expected.len();
        let run = |workers: &str| {
            let text = quadratic(workers, &format!("stop: (updates: {updates}), record: (gradients: All)"));
            applied(&play(&text)).iter().map(|gradient| gradient.lag_versions() as f64).collect::<Vec<f64>>()
        };
        assert_eq!(run(&format!("(count: {n}, compute: Constant(1.0))")), expected, "{}", tied.id);
        let staggered = oracle(&format!("T3.det.equal.n{n}.stagger"));
        let starts = numbers(&staggered.scenario["starts"]);
        let lags = run(&constant_workers(&vec![1.0; n], &starts));
        assert_eq!(lags, numbers(&staggered.value)[..updates], "{}", staggered.id);
    }
}

#[test]
fn unequal_constant_workers_have_the_exact_sequence_of_lags() {
    for id in ["T3.det.235", "T3.det.1-10", "T3.det.1-2-4-8"] {
        let case = oracle(id);
        let workers = constant_workers(&numbers(&case.scenario["T"]), &numbers(&case.scenario["starts"]));
        let text = quadratic(&workers, "stop: (updates: 2000), record: (gradients: All)");
        let outcome = play(&text);
        let gradients = applied(&outcome);
        let expected = numbers(&case.value["lag"]);
        let lags: Vec<f64> = gradients.iter().map(|gradient| gradient.lag_versions() as f64).collect();
        assert_eq!(lags[..expected.len()], expected[..], "{id}");
        let order: Vec<f64> = gradients.iter().map(|gradient| f64::from(gradient.worker)).collect();
        assert_eq!(order[..expected.len()], numbers(&case.value["worker"])[..], "{id}");
        let rows = &outcome.recording.sink;
        let outstanding: i64 =
            rows.iter().filter(|row| row.gradient.fate == Fate::InFlight).map(|row| row.gradient.lag_versions()).sum();
        let identity = &case.value["identity_N2000"];
        assert_eq!(lags.iter().sum::<f64>(), number(&identity["sum_lag"]), "{id}");
        assert_eq!(outstanding as f64, number(&identity["sum_partial"]), "{id}");
    }
}

#[test]
fn any_renewal_law_has_the_variance_that_its_moments_give() {
    const STEPS: u64 = 150_000;
    let laws = [
        ("T3.renewal.erlang2", "Erlang(shape: 2, mean: 1.0)"),
        ("T3.renewal.erlang4", "Erlang(shape: 4, mean: 1.0)"),
        ("T3.renewal.uniform02", "Uniform(low: 0.0, high: 2.0)"),
        ("T3.renewal.uniform.5-1.5", "Uniform(low: 0.5, high: 1.5)"),
        ("T3.renewal.shiftexp.5", "ShiftedExponential(shift: 0.5, mean: 0.5)"),
        (
            "T3.renewal.hyperexp",
            "Hyperexponential(branches: [(weight: 0.9, mean: 0.5555555555555556), (weight: 0.1, mean: 5.0)])",
        ),
        ("T3.renewal.lognormal.5", "LogNormal(median: 1.0, sigma: 0.5)"),
        ("T3.renewal.lognormal1", "LogNormal(median: 1.0, sigma: 1.0)"),
    ];
    for (id, law) in laws {
        let case = oracle(id);
        for n in [2, 4, 8] {
            let name = format!("n{n}");
            let outcome = steps(&format!("(count: {n}, compute: {law})"), STEPS);
            case.check(&name, variance(&outcome), number(&case.value[format!("var_{name}")]), &name, STEPS as f64);
        }
    }
}

/// For a Pareto law of shape 3 the variance exists, but its estimate has none: only P(0) can be held to theory.
#[test]
fn a_heavy_tailed_law_has_the_share_of_fresh_gradients_of_theory() {
    const STEPS: u64 = 150_000;
    let case = oracle("T3.renewal.pareto3");
    let outcome = steps("(count: 2, compute: Pareto(minimum: 1.0, shape: 3.0))", STEPS);
    let p = number(&case.value["P0_n2"]);
    case.check_within("P(0)", pmf(&outcome, 1)[0], p, 5.0 * (p * (1.0 - p) / STEPS as f64).sqrt());
}

#[test]
fn erlang_workers_have_the_lag_distribution_of_theory() {
    const STEPS: u64 = 150_000;
    for (id, n) in [("T3.pmf.erlang2.n2", 2), ("T3.pmf.erlang2.n4", 4)] {
        let case = oracle(id);
        let outcome = steps(&format!("(count: {n}, compute: Erlang(shape: 2, mean: 1.0))"), STEPS);
        for (lag, (share, p)) in pmf(&outcome, 8).iter().zip(numbers(&case.value)).enumerate() {
            // Successive lags are weakly correlated: 1.2 times the binomial deviation was measured for P(0).
            let off = 4.0 * 1.2 * (p * (1.0 - p) / STEPS as f64).sqrt();
            case.check_within(&format!("P({lag})"), *share, p, off);
        }
    }
}

#[test]
fn what_is_in_flight_looks_less_stale_than_what_is_applied() {
    for id in ["T3.inflight.exp.n4", "T3.inflight.exp.n8", "T3.inflight.det.n4", "T3.inflight.det.n8"] {
        let case = oracle(id);
        let n = number(&case.scenario["n"]);
        let law = if id.contains("exp") { "Exponential(mean: 1.0)" } else { "Constant(1.0)" };
        let outcome = steps(&format!("(count: {n}, compute: {law})"), 300_000);
        // Exponential: the mean over n geometric lags deviates by some sqrt(n) and is renewed every n
        // updates or so, which makes 0.01 n about 4 standard errors. Constant: only the start is off.
        let within = if id.contains("exp") { 0.01 * n } else { 10.0 * n / 300_000.0 };
        case.check_within("mean", outcome.summary.in_flight_lag_versions.unwrap(), number(&case.value), within);
    }
}

#[test]
fn versions_and_seconds_are_correlated_as_theory_says() {
    let case = oracle("T3.corr.exp");
    for n in [2, 4, 8, 16] {
        let outcome = steps(&format!("(count: {n}, compute: Exponential(mean: 1.0))"), 300_000);
        let expected = number(&case.value[n.to_string()]);
        case.check(&format!("n = {n}"), outcome.summary.lag_correlation.unwrap(), expected, "", 300_000.0);
    }
}

#[test]
fn doubling_workers_doubles_versions_and_doubling_times_doubles_seconds() {
    let case = oracle("T3.disagree.scale");
    for (name, n, mean) in [("n8_c1", 8, 1.0), ("n16_c1", 16, 1.0), ("n8_c2", 8, 2.0)] {
        let outcome = steps(&format!("(count: {n}, compute: Exponential(mean: {mean:?}))"), 300_000);
        let expected = numbers(&case.value[name]);
        // The mean of versions is n - 1 in every run but for its ends, n² of 300,000 at most.
        case.check_within(name, outcome.summary.lag_versions.mean.unwrap(), expected[0], 0.01);
        // An exponential has its mean for deviation, and ages are independent.
        case.check_within(name, outcome.summary.lag_s.mean.unwrap(), expected[1], 4.0 * mean / 300_000f64.sqrt());
    }
}

fn law() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "Constant(1.0)",
        "Constant(0.5)",
        "Exponential(mean: 1.0)",
        "Uniform(low: 0.0, high: 2.0)",
        "Pareto(minimum: 0.1, shape: 1.1)",
        "Autoregressive(correlation: 0.9, law: Gamma(mean: 1.0, cv: 2.0))",
        "Empirical(values: [0.0, 1.0, 3.0], draw: Replay)",
    ])
}

proptest! {
    #![proptest_config(crate::support::cases(60))]

    /// The conservation law, the ledger and the sum of causes are asserted by every run; here they are also recomputed
    /// from the rows, for any cluster.
    #[test]
    fn lags_are_conserved_whatever_the_cluster(
        laws in prop::collection::vec((law(), prop_oneof![Just(0.0), 0.0..5.0]), 1..6),
        service in prop::sample::select(vec!["Constant(0.0)", "Constant(0.25)", "Exponential(mean: 0.2)"]),
        upload in law(),
        seed in 0..1000u64,
        updates in 1..400u64,
    ) {
        let workers: String = laws.iter().map(|(law, joins)| format!("(compute: {law}, joins_at: {joins:?}),")).collect();
        let rest = format!(
            "seed: {seed}, network: (upload: {upload}), server: (service: {service}), stop: (updates: {updates}),
             record: (gradients: All)"
        );
        let outcome = play(&quadratic(&workers, &rest));
        let rows = &outcome.recording.sink;
        let ended: i64 = rows.iter().map(|row| row.gradient.lag_versions()).sum();
        // Each step raises by one the lag of every gradient that was read before it and ends after it.
        let exposure: usize = (0..updates).map(|version| {
            rows.iter().filter(|row| row.gradient.version_read <= version && version < row.gradient.version_applied).count()
        }).sum();
        prop_assert_eq!(ended, exposure as i64);
        // T3.identity: with n workers that hold a snapshot from the start, each step raises the lags of n − 1 others. (A
        // gradient that takes no time at all is applied before the others start.)
        if laws.iter().all(|(law, joins)| *joins == 0.0 && !law.starts_with("Empirical")) {
            prop_assert_eq!(ended, (updates * (laws.len() as u64 - 1)) as i64);
        }
        for row in rows {
            let sum: u64 = row.gradient.causes.parts().iter().map(|part| part.nanos()).sum();
            prop_assert_eq!(sum, row.gradient.lag().nanos());
        }
        prop_assert_eq!(outcome.summary.started, rows.len() as u64);
    }
}
