//! Things that fail: workers, links and the server, and what that costs.

use crate::support::{cases, fates, number, oracle, oracles, play, quadratic, run_into, source, waited_s};
use laggard::cluster::{Ended, Fate, Happening};
use laggard::output::NoRows;
use laggard::record::Summary;
use laggard::study::{Prepared, run, statistics};
use proptest::prelude::*;

/// The summary of a replication of the scenario that `text` is.
fn summary(text: &str, replication: u64) -> Summary {
    let prepared = Prepared::new(&source(text), None, Some(replication)).unwrap_or_else(|error| panic!("{error}"));
    run(prepared, NoRows, |_| true).unwrap_or_else(|error| panic!("{error}")).summary
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Two workers and a server that is held up for ten seconds: every lag in versions stays 1, two ages jump.
#[test]
fn an_outage_shows_in_seconds_and_not_in_versions() {
    let oracle = oracle("T3.disagree.outage");
    let workers = "(compute: Constant(1.0)), (compute: Constant(1.0), joins_at: 0.5)";
    let rest = "server: (service: Constant(0.125), recovery: Kept), stop: (updates: 20), record: (gradients: All),
        failures: [(of: Server, at: At([5.25]), repair: Constant(10.0))]";
    let outcome = play(&quadratic(workers, rest));
    let rows: Vec<_> =
        outcome.recording.sink.iter().map(|row| row.gradient).filter(|g| g.fate == Fate::Applied).collect();
    let column = |name: &str| -> Vec<f64> { oracle.value[name].as_array().unwrap().iter().map(number).collect() };
    assert_eq!(rows.iter().map(|g| f64::from(g.worker)).collect::<Vec<_>>(), column("worker"));
    assert_eq!(rows.iter().map(|g| g.lag_versions() as f64).collect::<Vec<_>>(), column("lag"));
    assert_eq!(rows.iter().map(|g| g.lag().seconds()).collect::<Vec<_>>(), column("age"));
    assert_eq!(rows.iter().map(|g| g.ended.seconds()).collect::<Vec<_>>(), column("t"));
    // What came in the outage waited for its end: from 5.5 and 6.0 until 15.25.
    let outages: Vec<f64> = rows.iter().map(|g| g.causes.outage.seconds()).filter(|&outage| outage > 0.0).collect();
    assert_eq!(outages, [9.75, 9.25]);
    assert_eq!(outcome.summary.server_away_s, 10.0);
}

/// The interval between checkpoints that theory calls best is the best, or cannot be told from it: M (1 + W₀(−e^(−δ/M − 1))).
#[test]
fn the_best_interval_is_that_of_theory() {
    let oracle = oracle("T8.daly.M6h");
    let best = oracle.value["exact"].as_f64().unwrap().round();
    // A gradient a minute, so that k versions are k minutes of work.
    let times = |minutes: f64| -> Vec<f64> {
        let rest = format!(
            "server: (recovery: Checkpoint(every: Versions({minutes}), write: Constant(300.0))), stop: (updates: 3000),
             failures: [(of: Server, at: Every(Exponential(mean: 21600.0)), repair: Constant(600.0))]"
        );
        let text = quadratic("(compute: Constant(60.0))", &rest);
        (0..400).map(|replication| summary(&text, replication).time_s).collect()
    };
    let of_theory = times(best);
    let worse = |minutes: f64| {
        let differences: Vec<f64> = times(minutes).iter().zip(&of_theory).map(|(other, best)| other - best).collect();
        let estimate = statistics::mean(&differences, 0.95).unwrap();
        (estimate.mean, estimate.half_width.unwrap())
    };
    for minutes in [14.0, 28.0, 114.0, 228.0] {
        let (mean, half) = worse(minutes);
        assert!(mean > half, "{minutes}: {mean} ± {half}");
    }
    for minutes in [50.0, 64.0] {
        let (mean, half) = worse(minutes);
        assert!(mean > -half, "{minutes}: {mean} ± {half}");
    }
}

/// A server that crashes at version v has lost v mod k versions, and goes on from the loss that it had there.
#[test]
fn a_crash_undoes_what_was_not_saved() {
    for oracle in oracles("T8.server.") {
        let k: u64 = oracle.id.trim_start_matches("T8.server.k").parse().unwrap();
        let lost: Vec<f64> = (0..k)
            .map(|extra| {
                let at = 100.0 + extra as f64 + 0.5;
                let rest = format!(
                    "server: (recovery: Checkpoint(every: Versions({k}))), stop: (updates: 200),
                     failures: [(of: Server, at: At([{at:?}]), repair: Constant(20.0))], record: (trajectory: Every(1))"
                );
                let outcome = run_into(&quadratic("(compute: Constant(1.0))", &rest), NoRows);
                let back = outcome.recording.incidents.iter().find(|incident| incident.what == Happening::ServerBack);
                let back = back.unwrap();
                let points = outcome.recording.trajectory.points();
                let there = points.iter().find(|point| point.version == back.version).unwrap();
                assert_eq!((back.at.seconds(), back.loss), (at + 20.0, Some(there.loss)));
                assert_eq!((100 + extra) % k, outcome.summary.versions_lost);
                assert_eq!(fates(&outcome, Fate::RolledBack), [outcome.summary.versions_lost as f64]);
                assert_eq!((fates(&outcome, Fate::Applied)[0], outcome.simulation.version()), (200.0, 200));
                assert_eq!(outcome.summary.steps, 200 + outcome.summary.versions_lost);
                outcome.summary.versions_lost as f64
            })
            .collect();
        assert_eq!(mean(&lost), oracle.value["mean"].as_f64().unwrap());
        assert_eq!(lost.iter().copied().fold(0.0, f64::max), oracle.value["max"].as_f64().unwrap());
    }
}

/// Heartbeats every h seconds, suspicion after θ without one, a crash at any instant: known between θ − h and θ later.
#[test]
fn a_missing_worker_is_given_up_after_the_detection_time() {
    for oracle in oracles("T8.detect.") {
        let [h, theta] = ["h", "theta"].map(|name| oracle.scenario[name].as_f64().unwrap());
        let rest = format!(
            "protocol: Sync, stop: (time_s: 100.0), failures: [(of: Numbers([1]), at: At([10.25]),
             detection: Uniform(low: {:?}, high: {theta:?}))]",
            theta - h
        );
        let text = quadratic("(count: 3, compute: Constant(1.0))", &rest);
        let delays: Vec<f64> = (0..2000)
            .map(|replication| {
                let prepared = Prepared::new(&source(&text), None, Some(replication)).unwrap();
                let outcome = run(prepared, NoRows, |_| true).unwrap();
                let missed =
                    outcome.recording.incidents.iter().find(|incident| incident.what == Happening::WorkerMissed);
                let missed = missed.unwrap().at.seconds();
                // The two others wait for it, and then go on without it, one step a second.
                assert_eq!(outcome.summary.steps, 10 + 1 + (100.0 - missed) as u64);
                missed - 10.25
            })
            .collect();
        let of = |name: &str| oracle.value[name].as_f64().unwrap();
        oracle.check_within("mean", mean(&delays), of("mean"), 4.0 * h / (12.0f64 * 2000.0).sqrt());
        assert!(delays.iter().all(|&delay| delay >= of("min") && delay <= of("max")));
    }
}

/// Without a detector, a synchronous step waits for a worker that never comes back: nothing can happen any more.
#[test]
fn a_quorum_that_starves_ends_the_run() {
    let rest = "protocol: KSync(k: 3), stop: (updates: 100), failures: [(of: Numbers([0, 1]), at: At([5.5]))]";
    let outcome = run_into(&quadratic("(count: 4, compute: Constant(1.0))", rest), NoRows);
    assert_eq!((outcome.summary.ended.name(), outcome.summary.steps), ("stalled", 5));
    assert_eq!(outcome.summary.time_s, 6.0);
}

/// A server that restores an older version meets gradients from the future, and does with them as it is told.
#[test]
fn gradients_of_undone_versions_are_dealt_with() {
    let play = |future: &str| {
        let rest = format!(
            "server: (recovery: Checkpoint(every: Versions(10)), meanwhile: Retry, future: {future}),
             failures: [(of: Server, at: At([17.6]), repair: Constant(1.0))], stop: (updates: 30), record: (gradients: All)"
        );
        play(&quadratic(
            "(compute: Constant(1.0)), (compute: Constant(3.0), joins_at: 0.25),
            (compute: Constant(5.0), joins_at: 16.5)",
            &rest,
        ))
    };
    let lags = |future: &str| -> Vec<i64> {
        let outcome = play(future);
        let rows = outcome.recording.sink.iter().map(|row| row.gradient).filter(|g| g.fate == Fate::Applied);
        rows.filter(|g| g.ended.seconds() > 17.6).map(|g| g.lag_versions()).take(2).collect()
    };
    // At 17.6 s the server is at version 22. The first worker has read that, the third version 21, and it goes back to 20.
    let accepted = play("Accept");
    assert_eq!(accepted.summary.versions_lost, 2);
    assert_eq!(lags("Accept"), [-2, 1]);
    assert_eq!(lags("Relabel"), [0, 1]);
    assert_eq!(accepted.recording.lags.classes()[0].ahead.total(), 1);
    assert_eq!(fates(&play("Drop"), Fate::Dropped), [1.0, 0.0, 1.0]);
    // The first waits for the server already; the third is told to stop.
    assert_eq!(fates(&play("Refetch"), Fate::Dropped), [1.0, 0.0, 0.0]);
    assert_eq!(fates(&play("Refetch"), Fate::Cancelled), [0.0, 0.0, 1.0]);
    let sum = accepted.summary.lag_versions;
    let applied: Vec<f64> = {
        let rows = accepted.recording.sink.iter().map(|row| row.gradient).filter(|g| g.fate == Fate::Applied);
        rows.map(|g| g.lag_versions() as f64).collect()
    };
    assert!((sum.mean.unwrap() - mean(&applied)).abs() < 1e-12);
    let square = mean(&applied.iter().map(|lag| (lag - mean(&applied)).powi(2)).collect::<Vec<_>>());
    assert!((sum.sd.unwrap() - square.sqrt()).abs() < 1e-12);
}

/// While a stateless server is away its workers go on at the same weights; when it is back all of that is one step, or many.
#[test]
fn a_backlog_has_no_lag_in_versions_and_much_in_seconds() {
    let play = |backlog: &str, curvature: f64| {
        let text = format!(
            "Scenario(objective: Quadratic(curvature: {curvature:?}), start: [1.0], optimiser: [Sgd(learning_rate: 0.01)],
             workers: [(count: 2, compute: Constant(0.1))], stop: (time_s: 30.1), record: (gradients: All),
             server: (recovery: Stateless({backlog})), failures: [(of: Server, at: At([10.05]), repair: Constant(20.0))])"
        );
        crate::support::play(&text)
    };
    let sum = play("backlog: Sum", 0.1);
    let rows: Vec<_> = sum.recording.sink.iter().map(|row| row.gradient).collect();
    let late: Vec<_> = rows.iter().filter(|g| g.fate == Fate::Applied && g.ended.seconds() == 30.05).collect();
    assert_eq!(late.len(), 400);
    // One of them had been read just before the last step; all others have no lag at all.
    assert_eq!(late.iter().map(|g| g.lag_versions()).sum::<i64>(), 1);
    assert!(late.iter().all(|g| g.multiplicity == if g.lag_versions() == 0 { 399 } else { 1 }));
    assert!(late.iter().map(|g| g.lag().seconds()).fold(0.0, f64::max) > 19.9);
    // One step of n gradients at one point is 1 − lr·n·h, stable if lr·n·h < 2.
    let back = sum.recording.incidents.iter().find(|incident| incident.what == Happening::ServerBack).unwrap();
    assert_eq!(back.waiting, 400);
    let grows = |backlog: &str, curvature: f64| {
        let outcome = play(backlog, curvature);
        let back =
            outcome.recording.incidents.iter().find(|incident| incident.what == Happening::ServerBack).unwrap().loss;
        outcome.summary.loss.unwrap() > back.unwrap()
    };
    assert!(!grows("backlog: Sum", 0.4) && grows("backlog: Sum", 0.6));
    assert!(!grows("backlog: Sum, above: 50, factor: 0.1", 4.0) && grows("backlog: Sum, above: 50, factor: 0.1", 6.0));
    assert!(!grows("backlog: Mean", 6.0));
    // One by one, they are still gradients at the same point: it is as far as with their sum.
    let single = play("backlog: OneByOne", 0.1);
    let (one, all) = (single.summary.loss.unwrap(), sum.summary.loss.unwrap());
    assert!((one - all).abs() < 1e-12 * all, "{one} {all}");
    assert_eq!(single.summary.steps, sum.summary.steps + 399);
}

/// The next of the chain takes over after the time of detection, and there is one less.
#[test]
fn a_chain_of_servers_takes_over_until_it_is_used_up() {
    let rest = "server: (recovery: Chain(replicas: 2, every: 5, detection: Constant(2.0), replacement: None)), stop: (time_s: 60.0),
        failures: [(of: Server, at: At([10.5, 20.5, 30.5]), repair: Constant(7.0))]";
    let outcome = run_into(&quadratic("(compute: Constant(1.0))", rest), NoRows);
    let seen = outcome.recording.incidents.iter().filter(|incident| incident.what != Happening::Saved);
    let seen: Vec<(f64, u64)> = seen.map(|incident| (incident.at.seconds(), incident.version)).collect();
    // Back at the last multiple of 5, twice; then from the beginning.
    assert_eq!(seen, [(10.5, 10), (12.5, 10), (20.5, 17), (22.5, 15), (30.5, 22), (37.5, 0)]);
    let rest = rest.replace("replacement: None", "replacement: Constant(15.0)");
    let outcome = run_into(&quadratic("(compute: Constant(1.0))", &rest), NoRows);
    let last = outcome.recording.incidents.iter().rfind(|incident| incident.what == Happening::ServerBack).unwrap();
    assert_eq!((last.at.seconds(), last.version), (32.5, 20));
}

/// A server that came back empty has what a worker has.
#[test]
fn a_worker_has_the_newest_copy() {
    let rest = "server: (recovery: WorkerCopy(restore: Constant(0.25)), meanwhile: Retry), stop: (updates: 30),
        failures: [(of: Server, at: At([10.4]), repair: Constant(1.0))], record: (trajectory: Every(1))";
    let outcome = run_into(&quadratic("(compute: Constant(1.0)), (compute: Constant(0.7))", rest), NoRows);
    let back = outcome.recording.incidents.iter().find(|incident| incident.what == Happening::ServerBack).unwrap();
    assert_eq!((back.at.seconds(), back.version, outcome.summary.versions_lost), (11.65, 24, 0));
    // With nobody who has a copy there is nothing but the beginning.
    let dead = rest
        .replace("failures: [", "failures: [(of: Workers, at: At([10.3])), ")
        .replace("updates: 30", "time_s: 20.0");
    let scratch = run_into(&quadratic("(compute: Constant(1.0))", &dead), NoRows);
    let back = scratch.recording.incidents.iter().find(|incident| incident.what == Happening::ServerBack).unwrap();
    assert_eq!((back.version, back.loss), (0, Some(0.5)));
}

/// Cut off from the server, a worker finishes what it has, and its push waits for the link.
#[test]
fn a_partition_holds_up_pushes_and_reads() {
    let workers = "(name: \"near\", compute: Constant(1.0)), (name: \"far\", compute: Constant(1.0), joins_at: 0.5)";
    let rest = "failures: [(of: Links([\"far\"]), at: At([3.25]), repair: Constant(4.0))], stop: (time_s: 10.0),
        record: (gradients: All)";
    let outcome = play(&quadratic(workers, rest));
    let far: Vec<_> = outcome.recording.sink.iter().map(|row| row.gradient).filter(|g| g.worker == 1).collect();
    let held: Vec<_> = far.iter().filter(|g| g.causes.outage.seconds() > 0.0).collect();
    assert_eq!(held.len(), 1);
    assert_eq!((held[0].read.seconds(), held[0].ended.seconds(), held[0].causes.outage.seconds()), (2.5, 7.25, 3.75));
    assert_eq!(outcome.summary.applied_by_worker(&outcome.simulation), [10, 5]);
}

trait AppliedByWorker {
    fn applied_by_worker(&self, simulation: &laggard::cluster::Simulation) -> Vec<u64>;
}

impl AppliedByWorker for Summary {
    fn applied_by_worker(&self, simulation: &laggard::cluster::Simulation) -> Vec<u64> {
        simulation.books().map(|books| books.count(Fate::Applied)).collect()
    }
}

/// Told in time, a worker that is called back loses nothing.
#[test]
fn notice_saves_the_gradient_in_progress() {
    let lost = |notice: &str| {
        let failure = format!("(of: Workers, at: At([10.5]), repair: Constant(5.0){notice})");
        let rest = format!("failures: [{failure}], stop: (time_s: 20.0)");
        let outcome = run_into(&quadratic("(count: 3, compute: Constant(1.0))", &rest), NoRows);
        (fates(&outcome, Fate::Lost).iter().sum::<f64>(), fates(&outcome, Fate::Applied)[0])
    };
    assert_eq!(lost(""), (3.0, 14.0));
    assert_eq!(lost(", notice_s: 1.0"), (0.0, 14.0));
}

/// What is rented is paid, busy or not; what is away is not, unless it is said so.
#[test]
fn cost_is_the_price_of_what_was_rented() {
    let scenario = |more: &str| {
        let workers = format!(
            "(count: 2, compute: Constant(1.0), price_per_hour: 36.0{more}), (compute: Constant(1.0), joins_at: 40.0, price_per_hour: 18.0)"
        );
        let rest = "server: (price_per_hour: 3.6), stop: (time_s: 100.0),
            failures: [(of: Numbers([0]), at: At([50.0]), repair: Constant(20.0))]";
        run_into(&quadratic(&workers, rest), NoRows)
    };
    // 200 worker-seconds at 0.01, 60 at 0.005, and the server's 100 at 0.001.
    let near = |cost: Option<f64>, expected: f64| assert!((cost.unwrap() - expected).abs() < 1e-9, "{cost:?}");
    near(scenario(", paid_while_down: true").summary.cost, 2.0 + 0.3 + 0.1);
    let outcome = scenario("");
    near(outcome.summary.cost, 1.8 + 0.3 + 0.1);
    near(outcome.recording.trajectory.points().last().unwrap().cost, 2.2);
    assert_eq!(outcome.summary.cost_to_loss, None);
    let reached = quadratic("(compute: Constant(1.0), price_per_hour: 3600.0)", "stop: (updates: 10000, loss: 0.1)");
    let summary = run_into(&reached, NoRows).summary;
    near(summary.cost_to_loss, summary.time_to_loss_s.unwrap());
    assert_eq!(run_into(&quadratic("(compute: Constant(1.0))", "stop: (updates: 5)"), NoRows).summary.cost, None);
}

/// What of the workers' time was of use: three gradients of one second in ten, one of them undone.
#[test]
fn time_that_came_to_nothing_is_no_use() {
    let rest = "server: (recovery: Checkpoint(every: Versions(2))), stop: (time_s: 10.0),
        failures: [(of: Server, at: At([3.5]), repair: Constant(100.0))]";
    let summary = run_into(&quadratic("(compute: Constant(1.0))", rest), NoRows).summary;
    assert_eq!((summary.steps, summary.versions_lost, summary.effective_share), (3, 0, Some(0.3)));
    let rest = rest.replace("100.0", "6.0");
    let summary = run_into(&quadratic("(compute: Constant(1.0))", &rest), NoRows).summary;
    assert_eq!((summary.steps, summary.versions_lost, summary.effective_share), (3, 1, Some(0.2)));
    // Without failures all of it is, but for what is under way at the end.
    let plain = run_into(&quadratic("(compute: Constant(0.75))", "stop: (time_s: 10.0)"), NoRows).summary;
    assert_eq!(plain.effective_share, Some(0.975));
}

/// A server that never gets as far as its next save is a livelock, and ends.
#[test]
fn a_server_that_never_comes_further_has_stalled() {
    let text = quadratic(
        "(compute: Constant(1.0))",
        "server: (recovery: Checkpoint(every: Versions(100))), stop: (updates: 1000000000),
         failures: [(of: Server, at: Every(Constant(10.0)), repair: Constant(1.0))]",
    );
    let summary = run_into(&text, NoRows).summary;
    assert_eq!((summary.ended, summary.saves), (Ended::Stalled, 0));
    assert!(summary.server_failures > 16_384, "{}", summary.server_failures);
}

fn failure() -> impl Strategy<Value = String> {
    let of = prop_oneof![
        Just("Server"),
        Just("Workers"),
        Just("Class(\"a\")"),
        Just("Numbers([0, 2])"),
        Just("Together([\"a\"])"),
        Just("Links([\"b\"])"),
        Just("Links([\"a\", \"b\"])"),
    ];
    let at = prop_oneof![
        Just("At([2.0, 5.5, 9.0])"),
        Just("Every(Exponential(mean: 6.0))"),
        Just("Every(Weibull(shape: 0.6, scale: 5.0))"),
        Just("Every(Constant(3.0))"),
    ];
    let repair = prop_oneof![
        3 => Just("repair: Exponential(mean: 1.5),"),
        2 => Just("repair: Constant(2.0),"),
        1 => Just("repair: Constant(0.0),"),
        1 => Just(""),
    ];
    (of, at, repair, any::<bool>(), 0..3u8).prop_map(|(of, at, repair, while_down, more)| {
        let of_workers = !of.starts_with("Server") && !of.starts_with("Links");
        let more = match more {
            1 if of_workers => "notice_s: 0.7,",
            2 if of_workers => "detection: Uniform(low: 0.1, high: 2.0),",
            _ => "",
        };
        format!("(of: {of}, at: {at}, {repair} while_down: {while_down}, {more})")
    })
}

fn recovery() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("Scratch".to_owned()),
        Just("Kept".to_owned()),
        Just("Checkpoint(every: Versions(7), write: Exponential(mean: 0.2), commit: Constant(0.3), restore: Constant(0.5))".to_owned()),
        Just("Checkpoint(every: Seconds(2.5), write: Constant(0.4), blocking: false, optimiser: false)".to_owned()),
        Just("Checkpoint(every: Versions(3), write: Constant(0.1), at_end: true, missed: 1)".to_owned()),
        Just("Chain(replicas: 2, every: 4, delay: Constant(0.2), detection: Constant(1.0), replacement: Exponential(mean: 4.0))".to_owned()),
        Just("Stateless()".to_owned()),
        Just("Stateless(backlog: Sum, above: 5, factor: 0.1)".to_owned()),
        Just("Stateless(backlog: OneByOne)".to_owned()),
        Just("WorkerCopy(restore: Constant(0.5))".to_owned()),
    ]
}

fn protocol() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("Async"),
        Just("Sync"),
        Just("KSync(k: 2)"),
        Just("KBatchAsync(k: 2)"),
        Just("Ssp(bound: 2)"),
        Just("FedBuff(buffer: 2, concurrency: 3)"),
        Just("Rennala(batch: 3)"),
        Just("Ringmaster(bound: 3)"),
        Just("Admission(eta: 0.5, batch: 3)"),
        Just("SyncReplicas(gradients: 2)"),
        Just("RejectStale(tolerance: 1)"),
        Just("LocalSgd(local: (steps: 2, learning_rate: 0.1))"),
        Just("Custom(pace: Routed(tasks: 6))"),
        Just("Custom(step: (after: Deadline(1.5)), pace: Barrier)"),
        Just("Custom(step: (after: Gradients(4), parts: 2))"),
    ]
}

proptest! {
    #![proptest_config(cases(10_000))]

    /// Whatever fails, whenever, and whatever is done about it: books balance, lags are conserved, causes add up, and a run ends.
    #[test]
    fn the_laws_hold_through_every_failure(
        failures in prop::collection::vec(failure(), 1..4),
        recovery in recovery(),
        protocol in protocol(),
        meanwhile in prop_oneof![Just("Idle"), Just("Retry"), Just("Lose")],
        future in prop_oneof![Just("Accept"), Just("Drop"), Just("Relabel"), Just("Refetch")],
        times in prop_oneof![
            Just(""),
            Just("service: Exponential(mean: 0.05), "),
            Just("step: Constant(0.2), "),
            Just("service: Constant(0.1), step: Exponential(mean: 0.1), publish: (every: 2, delay: Constant(0.1)), "),
        ],
        network in prop_oneof![
            Just(""),
            Just("network: (request: Constant(0.1), upload: Exponential(mean: 0.1)), "),
            Just("network: (link: (bytes_per_s: 40.0)), "),
            Just("network: (link: (bytes_per_s: 40.0, sharing: Fair), upload: Constant(0.1)), "),
            Just("network: (duplicates: 0.3), "),
        ],
        patience in prop_oneof![4 => Just(""), 1 => Just(", give_up_s: 1.5")],
        seed in 0..1000u64,
    ) {
        let text = format!(
            "Scenario(seed: {seed}, objective: Quadratic(curvature: 1.0), start: [1.0], optimiser: [HeavyBall(learning_rate: 0.01, momentum: 0.5)],
             protocol: {protocol}, workers: [(name: \"a\", count: 2, compute: Exponential(mean: 1.0){patience}),
             (name: \"b\", count: 2, compute: Gamma(mean: 0.7, cv: 0.4), joins_at: 1.5)], {network}
             server: ({times} recovery: {recovery}, meanwhile: {meanwhile}, future: {future}), failures: [{}],
             stop: (updates: 150, time_s: 60.0), record: (gradients: All))", failures.join(", "));
        let source = source(&text);
        // Some protocols cannot be combined with published versions, or have nothing to drop.
        let prepared = Prepared::new(&source, None, None);
        prop_assume!(prepared.is_ok());
        let outcome = run(prepared.unwrap(), Vec::new(), |_| true).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let books: Vec<_> = outcome.simulation.books().collect();
        let applied: u64 = books.iter().map(|books| books.count(Fate::Applied) + books.count(Fate::RolledBack)).sum();
        let rows = outcome.recording.sink.iter().filter(|row| row.gradient.fate == Fate::Applied).count() as u64;
        prop_assert_eq!(applied, rows, "{}", text);
        prop_assert_eq!(outcome.summary.steps - outcome.summary.versions_lost, outcome.simulation.version(), "{}", text);
        let effective = outcome.summary.effective_share.unwrap_or(0.0);
        prop_assert!((0.0..=1.0).contains(&effective), "{effective} {}", text);
        // What workers did not spend on gradients they waited, or their links were cut.
        let (time, waited_s) = (outcome.summary.time, waited_s(&outcome));
        let off = time.idle_s - waited_s;
        prop_assert!(off > -1e-6 && (off < 1e-6 || text.contains("Links")), "{time:?} {waited_s} {}", text);
    }
}

#[test]
fn the_catalogues_have_every_way_to_fail_and_to_come_back() {
    use laggard::failure::{Backlog, Every, Future, Meanwhile, Of, Recovery, When};
    crate::support::check_catalogue::<Of>(Of::CATALOGUE);
    crate::support::check_catalogue::<When>(When::CATALOGUE);
    crate::support::check_catalogue::<Recovery<laggard::delay::Law>>(Recovery::<()>::CATALOGUE);
    crate::support::check_catalogue::<Every>(Every::CATALOGUE);
    crate::support::check_catalogue::<Backlog>(Backlog::CATALOGUE);
    crate::support::check_catalogue::<Meanwhile>(Meanwhile::CATALOGUE);
    crate::support::check_catalogue::<Future>(Future::CATALOGUE);
}

/// Measured faults, by node, with names and overlaps: each worker is down when its node was.
#[test]
fn measured_faults_are_replayed_node_by_node() {
    let folder = tempfile::tempdir().unwrap();
    // Of node b the second fault lies in the first, and the third begins where it ends.
    let faults = "node,start_h,down_h\nb,1.0,2.0\na,4.0,0.5\nb,1.5,0.25\nb,3.0,1.0\na,0.25,0.25\n";
    std::fs::write(folder.path().join("faults.csv"), faults).unwrap();
    let text = |how: &str| {
        let at = format!("Spells(file: \"faults.csv\", from: \"start_h\", {how}, by: \"node\", scale: 3600.0)");
        let rest = format!("failures: [(of: Workers, at: {at})], stop: (time_s: 36000.0)");
        quadratic("(count: 3, compute: Constant(60.0))", &rest)
    };
    let source =
        |how: &str| laggard::scenario::Source { path: folder.path().join("s.ron"), text: text(how), colour: false };
    let outcome = run(Prepared::new(&source("lasting: \"down_h\""), None, None).unwrap(), NoRows, |_| true).unwrap();
    let down: Vec<f64> = outcome.simulation.books().map(|books| books.down.seconds() / 3600.0).collect();
    assert_eq!((down, outcome.summary.worker_failures), (vec![3.0, 0.75, 0.0], 3));
    let seen =
        outcome.recording.incidents.iter().map(|incident| (incident.at.seconds() / 3600.0, incident.worker.unwrap()));
    assert_eq!(seen.collect::<Vec<_>>(), [(0.25, 1), (0.5, 1), (1.0, 0), (4.0, 1), (4.0, 0), (4.5, 1)]);
    for wrong in ["until: \"down_h\"", "lasting: \"down_h\", until: \"down_h\"", "lasting: \"none\""] {
        assert!(Prepared::new(&source(wrong), None, None).is_err(), "{wrong}");
    }
}

/// Messages of 1,000 parameters at 4 bytes, 8,000 bytes a second: each takes half a second, and waits for others.
#[test]
fn messages_share_the_link_of_the_server() {
    let scenario = |workers: &str, sharing: &str, stop: &str| {
        format!(
            "Scenario(objective: Diagonal(curvatures: Evenly(from: 0.5, to: 1.0, dimension: 1000)), start: [1.0],
             optimiser: [Sgd(learning_rate: 0.01)], workers: [{workers}], network: (link: (bytes_per_s: 8000.0, sharing: {sharing})),
             stop: ({stop}), record: (gradients: All))"
        )
    };
    let ends = |sharing: &str| -> Vec<(u32, f64)> {
        let outcome =
            play(&scenario("(count: 2, compute: Constant(1.25)), (compute: Constant(1.0))", sharing, "updates: 3"));
        let rows = outcome.recording.sink.iter().map(|row| row.gradient).filter(|g| g.fate == Fate::Applied);
        rows.map(|g| (g.worker, g.ended.seconds())).collect()
    };
    // Snapshots are out at 0.5, 1 and 1.5 s; gradients are ready at 1.75, 2.25 and 2.5 s.
    assert_eq!(ends("Fifo"), [(0, 2.25), (1, 2.75), (2, 3.25)]);
    // All snapshots share it until 1.5 s. The third gradient is alone from 2.5 s on, with half of it left when the others come at 2.75 s; they have half left
    // when it is through.
    assert_eq!(ends("Fair"), [(2, 3.5), (0, 4.0), (1, 4.0)]);
    for sharing in ["Fifo", "Fair"] {
        let summary =
            play(&scenario("(count: 16, compute: Exponential(mean: 1.0))", sharing, "updates: 60000")).summary;
        // One after the other, a gradient in half a second. Stations that all share have a product form, whatever the laws (Baskett, Chandy, Muntz and
        // Palacios, 1975): that of exponential ones. (0.02 is five standard errors.) And Little's law.
        let shared = laggard::theory::network::closed(&[0.5, 0.5], 1.0, 16).throughput_per_s;
        let expected = if sharing == "Fair" { shared } else { 2.0 };
        let (rate, age) = (summary.throughput_per_s.unwrap(), summary.lag_s.mean.unwrap());
        assert!((rate - expected).abs() < 0.02 && (rate * age - 16.0).abs() < 0.1, "{rate} {expected} {age}");
        assert!((summary.lag_versions.mean.unwrap() - 15.0).abs() < 0.1);
    }
}

/// At-least-once delivery: with probability p a gradient comes twice, and is used twice.
#[test]
fn duplicates_are_used_twice() {
    let rest = "network: (duplicates: 0.25), stop: (time_s: 4000.0), record: (gradients: All)";
    let outcome = play(&quadratic("(count: 5, compute: Constant(1.0))", rest));
    let copies = outcome.summary.steps as f64 - 20_000.0;
    assert!((copies - 5000.0).abs() < 4.0 * (20_000.0f64 * 0.25 * 0.75).sqrt(), "{copies}");
    // Those in a row of one worker and one instant are of the same version: the second is one behind.
    let rows: Vec<_> =
        outcome.recording.sink.iter().map(|row| row.gradient).filter(|g| g.fate == Fate::Applied).collect();
    let pairs = rows.windows(2).filter(|pair| pair[0].worker == pair[1].worker && pair[0].read == pair[1].read);
    let lags: Vec<i64> = pairs.map(|pair| pair[1].lag_versions() - pair[0].lag_versions()).collect();
    assert!(lags.len() as f64 == copies && lags.iter().all(|&lag| lag == 1));
    // A synchronous step takes both. A copy that comes after it stands for its worker in the next, which then goes on without that worker's own.
    let sync = play(&quadratic("(count: 5, compute: Constant(1.0))", &format!("protocol: Sync, {rest}")));
    let applied = fates(&sync, Fate::Applied);
    assert_eq!(sync.summary.steps, 4000);
    assert!(applied[..4].iter().all(|&applied| applied > 4800.0) && applied[4] > 4000.0, "{applied:?}");
}

/// What was to fail while it was down is passed over, and a spell that has begun meanwhile goes on; the clock never runs back.
#[test]
fn what_is_down_does_not_fail_again() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("spells.csv"), "a,b\n10,20\n21,22\n100,130\n").unwrap();
    let text = |failure: &str| {
        let recovery = "Checkpoint(every: Versions(10), restore: Empirical(values: [90.0, 1.0], draw: Replay))";
        let rest =
            format!("server: (recovery: {recovery}), failures: [(of: Server, {failure})], stop: (time_s: 200.0)");
        quadratic("(count: 2, compute: Constant(1.0))", &rest)
    };
    let incidents = |failure: &str| -> Vec<f64> {
        let source =
            laggard::scenario::Source { path: folder.path().join("s.ron"), text: text(failure), colour: false };
        let outcome = run(Prepared::new(&source, None, None).unwrap(), NoRows, |_| true).unwrap();
        let incidents = outcome.recording.incidents.iter().filter(|incident| incident.what != Happening::Saved);
        incidents.map(|incident| incident.at.seconds()).collect()
    };
    // Away from 10 until 20 + 90; the second spell is over by then, the third is not.
    assert_eq!(incidents("at: Spells(file: \"spells.csv\", from: \"a\", until: \"b\")"), [10.0, 110.0, 110.0, 131.0]);
    assert_eq!(incidents("at: At([5.0, 8.0, 150.0]), repair: Constant(10.0)"), [5.0, 105.0, 150.0, 161.0]);
}

/// After a restart from nothing, what was saved in another life is not come back to.
#[test]
fn a_server_does_not_go_forward_when_it_comes_back() {
    for recovery in [
        "Checkpoint(every: Versions(10), missed: 1)",
        "Chain(replicas: 1, every: 10, detection: Constant(1.0), replacement: Constant(3.5))",
    ] {
        let rest = format!(
            "server: (recovery: {recovery}), failures: [(of: Server, at: At([10.5, 13.5, 18.9]), repair: Constant(1.0))],
             stop: (updates: 60, time_s: 1000.0)"
        );
        let outcome = run_into(&quadratic("(count: 2, compute: Constant(1.0))", &rest), NoRows);
        assert_eq!((outcome.summary.ended.name(), outcome.simulation.version()), ("updates", 60), "{recovery}");
        let backs = outcome.recording.incidents.windows(2).filter(|pair| pair[1].what == Happening::ServerBack);
        assert!(backs.into_iter().all(|pair| pair[1].version <= pair[0].version));
        assert_eq!(outcome.summary.steps, 60 + outcome.summary.versions_lost);
    }
}

/// One failure, and everything is as it was before: with tasks that go round, budgets, slots, samples and deadlines.
#[test]
fn protocols_go_on_after_a_failure() {
    let two = "(count: 2, compute: Constant(1.0))";
    let eight = "(count: 8, compute: Constant(1.0))";
    let server = |recovery: &str, more: &str| {
        format!("server: (recovery: {recovery}{more}), failures: [(of: Server, at: At([5.5]), repair: Constant(0.1))]")
    };
    let worker = "failures: [(of: Numbers([0]), at: At([2.5]), detection: Constant(1.0))]";
    for (protocol, workers, rest) in [
        ("GeneralisedAsync(tasks: 6)", two, server("Checkpoint(every: Versions(1))", "")),
        ("GeneralisedAsync(tasks: 6)", two, server("Scratch", ", meanwhile: Retry, future: Refetch")),
        ("Admission(eta: 1.0, batch: 4)", eight, server("WorkerCopy()", ", meanwhile: Retry")),
        (
            "Custom(pace: Slots(concurrency: 1, next: InTurn))",
            two,
            format!("server: (service: Constant(2.0)), {worker}"),
        ),
        ("Admission(eta: 0.0, batch: 1)", two, format!("server: (service: Constant(2.0)), {worker}")),
        ("SampledSsp(bound: 1, sample: 1)", "(count: 3, compute: Constant(1.0))", worker.to_owned()),
        ("SyncReplicas(gradients: 2)", two, server("Checkpoint(every: Versions(1))", "")),
    ] {
        let outcome =
            run_into(&quadratic(workers, &format!("protocol: {protocol}, {rest}, stop: (updates: 100)")), NoRows);
        assert_eq!(outcome.summary.ended.name(), "updates", "{protocol} {rest}");
    }
    // A deadline that passes while the server writes passes: the next step has all three gradients again.
    let rest = "protocol: Deadline(seconds: 2.0, late: Drop), server: (recovery: Checkpoint(every: Versions(1), write: Constant(2.5))),
        stop: (updates: 20)";
    let outcome = run_into(&quadratic("(count: 2, compute: Constant(1.0)), (compute: Constant(1.7))", rest), NoRows);
    assert_eq!(
        (fates(&outcome, Fate::Applied).iter().sum::<f64>(), fates(&outcome, Fate::Dropped).iter().sum::<f64>()),
        (60.0, 0.0)
    );
}

/// What can never step again is found, also where events go on.
#[test]
fn what_goes_on_for_nothing_is_ended() {
    let two = "(count: 2, compute: Constant(1.0))";
    for rest in [
        "protocol: Sync, failures: [(of: Numbers([0]), at: At([5.5])), (of: Numbers([1]), at: Every(Constant(3.3)), repair: Constant(1.0))]",
        "server: (recovery: Checkpoint(every: Seconds(1.0))), failures: [(of: Workers, at: At([5.5]))]",
        "server: (recovery: Stateless()), failures: [(of: Server, at: At([5.5]))]",
    ] {
        let summary = run_into(&quadratic(two, &format!("{rest}, stop: (updates: 100)")), NoRows).summary;
        assert_eq!(summary.ended.name(), "stalled", "{rest}");
    }
}

/// Down before it joins, a worker is not rented yet.
#[test]
fn a_worker_that_has_not_joined_is_not_down() {
    let workers = "(compute: Constant(1.0), joins_at: 100.0, price_per_hour: 3600.0)";
    for (repair, down) in [(90.0, 0.0), (105.0, 5.0)] {
        let rest =
            format!("failures: [(of: Workers, at: At([0.0]), repair: Constant({repair:?}))], stop: (time_s: 200.0)");
        let summary = run_into(&quadratic(workers, &rest), NoRows).summary;
        assert_eq!((summary.worker_availability, summary.cost), (Some(1.0 - down / 100.0), Some(100.0 - down)));
    }
}

/// Silent since the first of several failures, a worker is missed so long after that one.
#[test]
fn detection_begins_with_the_first_silence() {
    let rest = "protocol: Sync, stop: (time_s: 60.0), failures: [(of: Numbers([0]), at: At([0.5, 9.0, 18.0]), repair: Constant(50.0),
        while_down: true, detection: Constant(10.0))]";
    let outcome = run_into(&quadratic("(count: 2, compute: Constant(1.0))", rest), NoRows);
    let missed = outcome.recording.incidents.iter().find(|incident| incident.what == Happening::WorkerMissed).unwrap();
    assert_eq!(missed.at.seconds(), 10.5);
    // A notice holds, whatever else is repaired meanwhile.
    let rest = "failures: [(of: Workers, at: At([10.0]), repair: Constant(10.0)), (of: Workers, at: At([30.5]), repair: Constant(1.0), notice_s: 15.0)],
        stop: (time_s: 40.0), record: (gradients: All)";
    let outcome = play(&quadratic("(compute: Constant(3.0))", rest));
    let reads: Vec<f64> = outcome.recording.sink.iter().map(|row| row.gradient.read.seconds()).collect();
    assert_eq!(reads, [0.0, 3.0, 6.0, 9.0, 31.5, 34.5, 37.5]);
}

#[test]
fn failures_that_make_no_sense_are_refused() {
    for (failure, said) in [
        ("(of: Numbers([]), at: At([1.0]))", "nothing is named"),
        ("(of: Numbers([0, 0]), at: At([1.0]))", "something twice"),
        ("(of: Links([]), at: At([1.0]))", "nothing is named"),
        ("(of: Class(\"none\"), at: At([1.0]))", "no class of workers is called `none`"),
        ("(of: Numbers([7]), at: At([1.0]))", "there is no worker 7"),
        ("(of: Server, at: At([]))", "it never fails"),
        ("(of: Server, at: At([1.0]), notice_s: 1.0)", "only workers can be told"),
        ("(of: Server, at: At([1.0]), detection: Constant(1.0))", "only workers are given up"),
        ("(of: Workers, at: Every(Constant(0.0)))", "it would fail all the time"),
    ] {
        let text =
            quadratic("(count: 2, compute: Constant(1.0))", &format!("failures: [{failure}], stop: (updates: 5)"));
        let error = Prepared::new(&source(&text), None, None).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(said) && error.contains("help") && error.contains("test.ron:2"), "{failure}: {error}");
    }
    for server in ["recovery: WorkerCopy()", "recovery: Stateless(factor: 0.5)"] {
        let text = quadratic("(compute: Constant(1.0))", &format!("server: ({server}), stop: (updates: 5)"));
        assert!(Prepared::new(&source(&text), None, None).is_err(), "{server}");
    }
}

/// A gradient that is through the link does not cross it again when its worker's own link is back; on the way it is uploaded, not held up.
#[test]
fn both_ways_to_share_a_link_agree_for_a_single_message() {
    for sharing in ["Fifo", "Fair"] {
        let scenario = |rest: &str| {
            let network = format!("network: (link: (bytes_per_s: 1.0, bytes_per_parameter: 4.0, sharing: {sharing}))");
            play(&quadratic(
                "(name: \"a\", compute: Constant(1.0))",
                &format!("{network}, {rest}, record: (gradients: All)"),
            ))
        };
        // The snapshot is there at 4, the gradient ready at 5 and through at 9, when the worker is cut off until 10.
        let cut =
            scenario("failures: [(of: Links([\"a\"]), at: At([7.0]), repair: Constant(3.0))], stop: (time_s: 40.0)");
        let first = cut.recording.sink[0].gradient;
        assert_eq!(
            (first.ended.seconds(), first.causes.outage.seconds(), first.causes.upload.seconds()),
            (10.0, 1.0, 4.0),
            "{sharing}"
        );
        let flying = scenario("stop: (time_s: 17.0)").recording.sink[1].gradient;
        assert_eq!(flying.fate, Fate::InFlight);
        assert_eq!((flying.causes.outage.seconds(), flying.causes.upload.seconds()), (0.0, 3.0), "{sharing}");
        assert!(flying.arrived > flying.ended);
    }
}
