//! Every protocol, by one row of a table: whatever the cluster, its books balance, its causes add up, its declared bound holds,
//! nothing waits for ever, and its synchronous limit is serial SGD.

use crate::support::{play, quadratic, source};
use laggard::cluster::{Ended, Fate, Gradient};
use laggard::output::NoRows;
use laggard::protocol::CATALOGUE;
use laggard::study::{Prepared, run};
use proptest::prelude::*;

/// What a protocol promises.
struct Row {
    name: &'static str,
    /// How it is written, with its parameter k in place of `K`: any number of at least 1, at most the number of workers.
    written: &'static str,
    /// What no gradient that is applied exceeds, for k and n workers.
    bound: fn(&Gradient, u64, u64) -> bool,
    /// The k for which it is serial SGD with n equal workers, if there is one, as it is written then.
    limit: Option<&'static str>,
}

fn any(_: &Gradient, _: u64, _: u64) -> bool {
    true
}

fn fresh(gradient: &Gradient, _: u64, _: u64) -> bool {
    gradient.lag_versions() == 0
}

/// One row a protocol, in the order of the catalogue.
const TABLE: &[Row] = &[
    Row { name: "Async", written: "Async", bound: any, limit: None },
    Row { name: "Sync", written: "Sync", bound: fresh, limit: Some("Sync") },
    Row { name: "KSync", written: "KSync(k: K)", bound: fresh, limit: Some("KSync(k: N)") },
    Row { name: "KBatchSync", written: "KBatchSync(k: K)", bound: fresh, limit: Some("KBatchSync(k: N)") },
    Row { name: "KAsync", written: "KAsync(k: K)", bound: any, limit: Some("KAsync(k: N)") },
    Row { name: "KBatchAsync", written: "KBatchAsync(k: K)", bound: any, limit: None },
    Row { name: "Softsync", written: "Softsync(n: K)", bound: any, limit: None },
    Row {
        name: "Ssp",
        written: "Ssp(bound: K)",
        bound: |g, k, n| g.lag_versions() as u64 <= (n - 1) * (2 * k + 1),
        limit: None,
    },
    Row { name: "SampledSsp", written: "SampledSsp(bound: K, sample: 2)", bound: any, limit: None },
    Row { name: "FedAsync", written: "FedAsync(local: (steps: K, learning_rate: 0.1))", bound: any, limit: None },
    Row { name: "StalenessAware", written: "StalenessAware", bound: |g, _, _| g.weight <= 1.0, limit: None },
    Row {
        name: "DelayAdaptive",
        written: "DelayAdaptive(after: K)",
        bound: |g, k, _| g.weight * g.lag_versions() as f64 <= k as f64 + 1e-9,
        limit: None,
    },
    Row { name: "FedBuff", written: "FedBuff(buffer: K, concurrency: K)", bound: any, limit: None },
    Row { name: "Rennala", written: "Rennala(batch: K)", bound: fresh, limit: Some("Rennala(batch: N)") },
    Row {
        name: "Ringmaster",
        written: "Ringmaster(bound: K, stops: true)",
        bound: |g, k, _| (g.lag_versions() as u64) < k,
        limit: None,
    },
    Row {
        name: "Ringleader",
        written: "Ringleader",
        bound: |g, _, n| g.lag_versions() as u64 <= 2 * n - 2,
        limit: None,
    },
    Row { name: "SyncReplicas", written: "SyncReplicas(gradients: K)", bound: fresh, limit: None },
    Row {
        name: "RejectStale",
        written: "RejectStale(tolerance: K, otherwise: Recompute)",
        bound: |g, k, _| g.lag_versions() as u64 <= k,
        limit: None,
    },
    Row { name: "LocalSgd", written: "LocalSgd(local: (steps: K, learning_rate: 0.1))", bound: fresh, limit: None },
    Row {
        name: "AsyncLocalSgd",
        written: "AsyncLocalSgd(local: (steps: K, learning_rate: 0.1), by_speed: true)",
        bound: any,
        limit: None,
    },
    Row { name: "Easgd", written: "Easgd(alpha: 0.1, local: (steps: K, learning_rate: 0.1))", bound: any, limit: None },
    Row { name: "GeneralisedAsync", written: "GeneralisedAsync(tasks: K)", bound: any, limit: None },
    Row { name: "Deadline", written: "Deadline(seconds: 0.7)", bound: fresh, limit: Some("Deadline(seconds: 9.0)") },
    Row {
        name: "Admission",
        written: "Admission(eta: 1.5, batch: K, most_age: 3, stale: Cancel)",
        bound: |g, _, _| g.lag_versions() <= 3,
        limit: Some("Admission(eta: 0, batch: N)"),
    },
    Row {
        name: "Custom",
        written: "Custom(pace: Slots(concurrency: K), step: (after: Workers(K), mean: Weights, order: Lifo), late: Drop)",
        bound: fresh,
        limit: None,
    },
];

#[test]
fn the_table_has_a_row_for_every_protocol() {
    let named: Vec<&str> = TABLE.iter().map(|row| row.name).collect();
    let listed: Vec<&str> = CATALOGUE.iter().map(|entry| entry.name).collect();
    assert_eq!(named, listed);
}

/// A cluster that is unlike the others.
#[derive(Clone, Debug)]
struct Cluster {
    means: Vec<f64>,
    cv: f64,
    network: &'static str,
    server: &'static str,
    give_up: bool,
    late_joiner: bool,
    k: u64,
    seed: u64,
}

fn cluster() -> impl Strategy<Value = Cluster> {
    let network = prop::sample::select(vec![
        "",
        "network: (download: Exponential(mean: 0.1), upload: Uniform(low: 0.0, high: 0.3)),",
        "network: (request: Exponential(mean: 0.2), upload: Constant(0.1)),",
    ]);
    let server = prop::sample::select(vec![
        "",
        "server: (service: Exponential(mean: 0.1)),",
        "server: (step: Exponential(mean: 0.3)),",
        "server: (service: Constant(0.05), step: Constant(0.2), publish: (every: 3, delay: Exponential(mean: 0.5))),",
    ]);
    let flags = (any_bool(), any_bool());
    let means = prop::collection::vec(0.2..3.0f64, 1..7);
    (means, 0.1..2.0f64, network, server, flags, 1..7u64, 0..10_000u64).prop_map(
        |(means, cv, network, server, (give_up, late_joiner), k, seed)| {
            let k = k.min(means.len() as u64);
            Cluster { means, cv, network, server, give_up, late_joiner, k, seed }
        },
    )
}

fn any_bool() -> impl Strategy<Value = bool> {
    prop::sample::select(vec![false, false, true])
}

fn scenario(row: &Row, cluster: &Cluster) -> String {
    let protocol = row.written.replace('K', "\u{1}").replace("\u{1})", &format!("{})", cluster.k));
    let protocol = protocol.replace("\u{1},", &format!("{},", cluster.k)).replace('\u{1}', "K");
    with_protocol(&protocol, cluster)
}

fn with_protocol(protocol: &str, cluster: &Cluster) -> String {
    let Cluster { means, cv, network, server, give_up, late_joiner, k, seed } = cluster;
    // Rarely reached, however many local steps there are.
    let give_up = if *give_up { format!(", give_up_s: {}.0", 6 * k) } else { String::new() };
    let joins = |place: usize| if *late_joiner && place + 1 == means.len() { 7.5 } else { 0.0 };
    let worker = |(place, mean): (usize, &f64)| {
        format!("(compute: Gamma(mean: {mean:?}, cv: {cv:?}), joins_at: {:?}{give_up}),", joins(place))
    };
    let workers: String = means.iter().enumerate().map(worker).collect();
    quadratic(
        &workers,
        &format!(
            "seed: {seed}, protocol: {protocol}, {network} {server} noise: Gaussian(sd: 0.1),
             stop: (updates: 60, time_s: 1e5), record: (gradients: All)"
        ),
    )
}

/// Runs of one protocol in clusters of all kinds: 42 for each of 25 protocols are more than a thousand.
fn conforms(row: &Row, cluster: &Cluster) -> Result<(), TestCaseError> {
    let text = scenario(row, cluster);
    let (k, n) = (cluster.k, cluster.means.len() as u64);
    // Where workers read old versions on purpose, what they push is as old.
    let published = cluster.server.contains("publish");
    balances(&text, cluster, |gradient| published || (row.bound)(gradient, k, n))
}

/// What holds in every run: it comes to its end, its books balance, and `bound` holds for all that is applied.
fn balances(text: &str, cluster: &Cluster, bound: impl Fn(&Gradient) -> bool) -> Result<(), TestCaseError> {
    // Closing the books asserts the ledger, the conservation law and that causes add up.
    let outcome = play(text);
    prop_assert_eq!(outcome.summary.ended, Ended::Updates, "{}", text);
    for share in [outcome.summary.worker_utilisation, outcome.summary.server_utilisation].into_iter().flatten() {
        prop_assert!((0.0..=1.0).contains(&share), "{share}: {text}");
    }
    let mut counts = [0u64; 7];
    for gradient in outcome.recording.sink.iter().map(|row| &row.gradient) {
        counts[gradient.fate as usize] += 1;
        let sum: u64 = gradient.causes.parts().iter().map(|part| part.nanos()).sum();
        prop_assert_eq!(sum, gradient.lag().nanos(), "{:?}: {}", gradient, text);
        prop_assert!(gradient.fate != Fate::Applied || bound(gradient), "{gradient:?}: {text}");
        prop_assert!(gradient.version_read <= gradient.version_arrived);
        prop_assert!(gradient.version_arrived <= gradient.version_applied);
        // A server that takes no time makes nobody queue; tasks that go round queue at their worker.
        let idle = cluster.server.is_empty() && !text.contains("GeneralisedAsync") && !text.contains("Routed");
        prop_assert!(!idle || gradient.causes.queue.nanos() == 0, "{gradient:?}: {text}");
    }
    prop_assert_eq!(counts, outcome.summary.fates);
    let again = run(Prepared::new(&source(text), None, None).unwrap(), NoRows, |_| true).unwrap();
    prop_assert_eq!(again.summary, outcome.summary, "recording changed the run");
    Ok(())
}

proptest! {
    #![proptest_config(crate::support::cases(42))]

    #[test]
    fn every_protocol_conforms_in_every_cluster(cluster in cluster()) {
        for row in TABLE {
            // A version that nobody reads is a version that nobody can be fresh for; and tasks that are sent are not asked for.
            let impossible = cluster.server.contains("publish") && needs_the_current_version(row)
                || cluster.network.contains("request") && row.name == "GeneralisedAsync";
            if !impossible {
                conforms(row, &cluster)?;
            }
        }
    }
}

/// Any combination of choices, as RON.
fn choices() -> impl Strategy<Value = String> {
    let pace = prop::sample::select(vec![
        "AtOnce",
        "Barrier",
        "ClockGap(bound: 1)",
        "ClockGap(bound: 0, sample: 2)",
        "Slots(concurrency: K)",
        "Slots(concurrency: K, next: InTurn)",
        "Routed(tasks: 5)",
        "Budget(eta: 1.5, batch: 3)",
        "Tokens",
    ]);
    let admit = prop::sample::select(vec![
        "",
        "admit: (most_versions: 3),",
        "admit: (most_versions: 1, otherwise: Recompute),",
        "admit: (most_s: 20.0),",
        "admit: (discount: Polynomial(exponent: 0.5)),",
    ]);
    let after =
        prop::sample::select(vec!["Gradients(1)", "Gradients(K)", "Workers(K)", "All", "Deadline(1.3)", "Table"]);
    let more =
        prop::sample::select(vec!["", ", order: Lifo", ", mean: Weights", ", mean: Sum, capacity: 9", ", parts: K"]);
    let late = prop::sample::select(vec!["Keep", "Drop", "Cancel", "CancelStale"]);
    let work = prop::sample::select(vec![
        "Gradient",
        "LocalSteps(local: (steps: 2, learning_rate: 0.1), by_speed: true)",
        "LocalSteps(local: (steps: 2, learning_rate: 0.1), send: Model)",
        "Elastic(local: (steps: 1, learning_rate: 0.1), alpha: 0.1)",
    ]);
    (pace, admit, after, more, late, work).prop_map(|(pace, admit, after, more, late, work)| {
        format!("Custom(pace: {pace}, {admit} step: (after: {after}{more}), late: {late}, work: {work})")
    })
}

proptest! {
    #![proptest_config(crate::support::cases(2000))]

    /// What passes the check comes to its end, and its books balance.
    #[test]
    fn any_combination_that_is_accepted_goes_on(protocol in choices(), cluster in cluster()) {
        // A gradient that is always too old, by publication or patience, is no matter of the choices.
        prop_assume!(!cluster.server.contains("publish") && !cluster.give_up);
        let text = with_protocol(&protocol.replace('K', &cluster.k.to_string()), &cluster);
        if Prepared::new(&source(&text), None, None).is_ok() {
            balances(&text, &cluster, |_| true)?;
        }
    }
}

/// Whether it uses only gradients of recent versions, so that workers who see old ones can never contribute.
fn needs_the_current_version(row: &Row) -> bool {
    ["Drop", "Cancel", "Rennala", "SyncReplicas", "KSync", "KBatchSync", "Deadline", "Ringmaster", "RejectStale"]
        .iter()
        .any(|word| row.written.contains(word))
}

/// With n workers of the same constant speed, a protocol's synchronous limit is serial SGD on the mean of n gradients, bit for
/// bit.
#[test]
fn synchronous_limits_are_serial_sgd() {
    for row in TABLE {
        let Some(limit) = row.limit else { continue };
        for n in [1u64, 3, 4] {
            let protocol = limit.replace("N)", &format!("{n})"));
            let rest = format!("protocol: {protocol}, stop: (updates: 50), record: (timeline: 1000)");
            let text = quadratic(&format!("(count: {n}, compute: Constant(1.0))"), &rest).replace("0.001", "0.37");
            let mut w = 1.0f64;
            for rows in play(&text).recording.timeline.chunks(n as usize) {
                let sum = (1..n).fold(w, |sum, _| sum + w);
                w -= 0.37 * (sum / n as f64);
                assert_eq!(rows[0].w_after[0].to_bits(), w.to_bits(), "{}", row.name);
            }
        }
    }
}

/// Bound 0 of every bounded protocol is its synchronous limit: the same steps at the same instants.
#[test]
fn a_bound_of_zero_is_synchronous() {
    let steps = |protocol: &str| {
        let rest = format!("protocol: {protocol}, stop: (updates: 40), record: (timeline: 1000)");
        let outcome = play(&quadratic("(count: 4, compute: Exponential(mean: 1.0))", &rest).replace("0.001", "0.25"));
        let rows = outcome.recording.timeline.iter();
        rows.map(|row| (row.gradient.ended, row.w_after[0].to_bits())).collect::<Vec<_>>()
    };
    assert_eq!(steps("Admission(eta: 0, batch: 4)"), steps("Sync"));
    assert_eq!(steps("RejectStale(tolerance: 0)"), steps("Ringmaster(bound: 1)"));
    assert_eq!(steps("KBatchAsync(k: 1)"), steps("Async"));
    assert_eq!(steps("KAsync(k: 1)"), steps("Async"));
    assert_eq!(steps("FedBuff(buffer: 1, discount: None)"), steps("Async"));
    assert_eq!(steps("Rennala(batch: 3, restart: true)"), steps("KBatchSync(k: 3)"));
    assert_eq!(steps("KAsync(k: 4)"), steps("Sync"));
    assert_eq!(steps("DelayAdaptive(after: 1)"), steps("StalenessAware"));
    // SSP's rounds are bulk-synchronous in time, with one step a gradient.
    let rounds = |protocol: &str| steps(protocol).into_iter().map(|(at, _)| at).collect::<Vec<_>>();
    let (ssp, sync) = (rounds("Ssp(bound: 0)"), rounds("Sync"));
    assert!(ssp.chunks(4).zip(sync.chunks(4)).all(|(ssp, sync)| ssp[3] == sync[3]));
}
