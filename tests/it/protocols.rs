//! Protocols against exact replays and closed forms.

use crate::support::{applied, constant_workers, number, numbers, oracle, oracles, play, quadratic};
use laggard::cluster::Fate;
use laggard::protocol::{CATALOGUE, Protocol};
use proptest::prelude::*;

/// Gradients of each worker that were applied, and that were rejected.
fn counts(text: &str) -> (Vec<f64>, Vec<f64>) {
    let outcome = play(text);
    let of = |what: fn(&laggard::cluster::Tally) -> u64| {
        outcome.simulation.tallies().map(|tally| what(tally) as f64).collect()
    };
    (of(|tally| tally.applied), of(|tally| tally.rejected))
}

/// The oracle lets equal instants go by worker number; here that order is made by starting worker i at i nanoseconds.
#[test]
fn ringmaster_replays_are_exact() {
    for case in oracles("T7.replay.").iter().filter(|case| !case.scenario["R"].is_null() || case.id.ends_with("RNone"))
    {
        let times = numbers(&case.scenario["taus"]);
        let starts: Vec<f64> = (0..times.len()).map(|worker| worker as f64 * 1e-9).collect();
        let protocol = match case.scenario["R"].as_u64() {
            Some(bound) => format!("Ringmaster(bound: {bound})"),
            None => "Async".to_owned(),
        };
        let end = number(&case.scenario["t_end"]) + 1e-6;
        let rest = format!("protocol: {protocol}, stop: (time_s: {end:?})");
        let (applied, rejected) = counts(&quadratic(&constant_workers(&times, &starts), &rest));
        assert_eq!(applied, numbers(&case.value["applied"]), "{}", case.id);
        assert_eq!(rejected, numbers(&case.value["discarded"]), "{}", case.id);
    }
}

/// Exponential workers under a bound on lag: who takes part, and how many gradients are in vain.
#[test]
fn dropping_stale_gradients_excludes_slow_workers_as_theory_says() {
    const PUSHES: f64 = 200_000.0;
    for case in oracles("T8.drop.n") {
        let rates = numbers(&case.scenario["rates"]);
        let total: f64 = rates.iter().sum();
        let workers: String =
            rates.iter().map(|rate| format!("(compute: Exponential(mean: {:?})),", 1.0 / rate)).collect();
        let bound = number(&case.scenario["tau"]) + 1.0;
        let rest = format!("protocol: Ringmaster(bound: {bound}), stop: (time_s: {:?})", PUSHES / total);
        let (applied, rejected) = counts(&quadratic(&workers, &rest));
        let (all, in_vain): (f64, f64) = (applied.iter().sum(), rejected.iter().sum());
        case.check("acceptance", all / (all + in_vain), number(&case.value["overall"]), "", all + in_vain);
        for (worker, share) in numbers(&case.value["share"]).into_iter().enumerate() {
            // Binomial, but for a weak correlation of successive admissions: a fifth deviation and a third more cover it.
            let off = 5.0 * 1.3 * (share * (1.0 - share) / all).sqrt();
            case.check_within(&format!("share of worker {worker}"), applied[worker] / all, share, off);
        }
    }
}

#[test]
fn a_slow_worker_takes_part_only_beyond_a_bound() {
    let case = oracle("T8.drop.det");
    let workers = constant_workers(&numbers(&case.scenario["T"]), &numbers(&case.scenario["starts"]));
    for tau in [5, 9, 10] {
        let end = number(&case.scenario["t_end"]);
        let rest = format!("protocol: Ringmaster(bound: {}), stop: (time_s: {end:?})", tau + 1);
        let (applied, _) = counts(&quadratic(&workers, &rest));
        assert_eq!(applied, numbers(&case.value[format!("tau{tau}")]), "{tau}");
    }
}

#[test]
fn the_catalogue_has_every_protocol() {
    crate::support::check_catalogue::<Protocol>(CATALOGUE);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever the cluster: no gradient at or above the bound is applied, none below it is rejected, and both laws hold.
    #[test]
    fn the_bound_is_kept(
        bound in 1..6u64,
        means in prop::collection::vec(0.1..5.0f64, 1..7),
        service in prop::sample::select(vec!["Constant(0.0)", "Constant(0.3)", "Exponential(mean: 0.2)"]),
        seed in 0..1000u64,
    ) {
        let workers: String = means.iter().map(|mean| format!("(compute: Gamma(mean: {mean:?}, cv: 0.7)),")).collect();
        let rest = format!(
            "seed: {seed}, protocol: Ringmaster(bound: {bound}), server: (service: {service}), stop: (updates: 300),
             record: (gradients: All)"
        );
        let outcome = play(&quadratic(&workers, &rest));
        for row in &outcome.recording.sink {
            let lag = row.gradient.lag_versions() as u64;
            match row.gradient.fate {
                Fate::Applied => prop_assert!(lag < bound),
                Fate::Rejected => prop_assert!(lag >= bound && row.gradient.causes.service.nanos() == 0),
                _ => {}
            }
            let sum: u64 = row.gradient.causes.parts().iter().map(|part| part.nanos()).sum();
            prop_assert_eq!(sum, row.gradient.lag().nanos());
        }
        prop_assert_eq!(applied(&outcome).len(), 300);
        prop_assert_eq!(outcome.summary.started, outcome.recording.sink.len() as u64);
    }

    /// A bound of one is serial SGD: each step uses a gradient at the very parameters that it changes.
    #[test]
    fn a_bound_of_one_is_serial_sgd(seed in 0..1000u64) {
        let rest = format!("seed: {seed}, protocol: Ringmaster(bound: 1), stop: (updates: 100), record: (timeline: 100)");
        let outcome = play(&quadratic("(count: 5, compute: Exponential(mean: 1.0))", &rest).replace("0.001", "0.125"));
        let mut w = 1.0f64;
        for row in &outcome.recording.timeline {
            w -= 0.125 * w;
            prop_assert_eq!(row.w_after[0].to_bits(), w.to_bits());
        }
    }
}
