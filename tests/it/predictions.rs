//! What theory says of a scenario before it is run.

use crate::support::{quadratic, source};
use laggard::output::{NoRows, summary_numbers};
use laggard::study::{Prepared, predict, run};

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
