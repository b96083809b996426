//! The laws of lag, for workers without network and server delays.

use crate::support::{play, quadratic};
use proptest::prelude::*;

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
