//! A server in shards: versions, queues and failures of their own.

use crate::support::{applied, cases, check_catalogue, fates, play, run_into, source, waited_s};
use laggard::cluster::{Ended, Fate};
use laggard::output::NoRows;
use laggard::record::GradientRow;
use laggard::scenario::{GoOn, Rollback};
use laggard::study::{Outcome, Prepared};
use proptest::prelude::*;

/// Eight curvatures, with a server and whatever else is said.
fn scenario(workers: &str, server: &str, rest: &str) -> String {
    format!(
        "Scenario(objective: Diagonal(curvatures: Geometrically(from: 0.1, to: 1.0, dimension: 8)), start: [1.0],
         noise: Gaussian(sd: 0.1), optimiser: [HeavyBall(learning_rate: 0.02, momentum: 0.5)], workers: [{workers}],
         server: ({server}), {rest})"
    )
}

const NETWORK: &str = "network: (download: Exponential(mean: 0.1), upload: Exponential(mean: 0.2))";

#[test]
fn a_server_in_one_shard_is_a_whole_one() {
    let workers =
        "(count: 3, compute: Exponential(mean: 1.0)), (count: 2, compute: Gamma(mean: 2.0, cv: 0.5), weight: 0.5)";
    for service in ["Constant(0.0)", "Exponential(mean: 0.2)"] {
        for protocol in ["Async", "Ringmaster(bound: 3)"] {
            let rest = format!("{NETWORK}, protocol: {protocol}, record: (gradients: All), stop: (updates: 2000)");
            let whole = play(&scenario(workers, &format!("service: {service}"), &rest));
            let one = play(&scenario(workers, &format!("service: {service}, shards: (each: [()])"), &rest));
            let same = |outcome: &Outcome<Vec<GradientRow>>| {
                let rows = outcome.recording.sink.iter().filter(|row| row.gradient.fate != Fate::InFlight);
                let rows = rows.map(|row| {
                    let gradient = row.gradient;
                    (gradient.worker, gradient.version_read, gradient.version_applied, gradient.read, gradient.ended)
                });
                (rows.collect::<Vec<_>>(), outcome.simulation.parameters().to_vec(), outcome.summary.fates)
            };
            assert!(same(&whole) == same(&one), "{service} {protocol}");
        }
    }
}

#[test]
fn a_slow_shard_holds_up_its_workers_or_is_left_behind() {
    // One worker that computes for 1 s; shard 0 takes no time, shard 1 takes 2 s for its part.
    let server =
        |go_on: &str| format!("shards: (each: [(service: Constant(0.0)), (service: Constant(2.0))], go_on: {go_on})");
    let rest = "record: (gradients: All), stop: (time_s: 30.0)";
    let waits = play(&scenario("(compute: Constant(1.0))", &server("Applied"), rest));
    let (shards, apart) = waits.simulation.sharded().unwrap();
    // A cycle takes 3 s, and every part is fresh.
    assert_eq!([shards[0].version, shards[1].version], [10, 10]);
    assert!(applied(&waits).iter().all(|gradient| gradient.lag_versions() == 0));
    assert_eq!((apart.most_skew, apart.most_spread), (1, 0));
    assert!((waits.summary.worker_utilisation.unwrap() - 1.0 / 3.0).abs() < 1e-12);
    // Without waiting, a gradient a second comes to a shard that deals with one in two seconds.
    let goes_on = play(&scenario("(compute: Constant(1.0))", &server("Arrived"), rest));
    let (shards, apart) = goes_on.simulation.sharded().unwrap();
    assert_eq!([shards[0].version, shards[1].version], [30, 14]);
    assert_eq!(apart.most_skew, 16);
    let slow = applied(&goes_on).into_iter().filter(|gradient| gradient.shard == 1);
    let lags: Vec<i64> = slow.map(|gradient| gradient.lag_versions()).collect();
    // Gradient k is read at k s and applied at 3 + 2k s, when k others have been since version 0; it read those of (k − 1)/2.
    assert_eq!(lags, [0, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]);
    assert_eq!(goes_on.summary.worker_utilisation, Some(1.0));
}

/// Every worker has one gradient under way at each shard: the mean lag is at most n − 1, whatever the shards, and exactly that where
/// the parts of a gradient arrive together and shards take no time.
#[test]
fn lags_of_shards_are_those_of_whole_servers() {
    let workers = "(count: 5, compute: Exponential(mean: 1.0))";
    let outcome = play(&scenario(workers, "shards: (each: [(count: 4)])", "stop: (updates: 40000)"));
    let (shards, apart) = outcome.simulation.sharded().unwrap();
    for shard in shards {
        assert!((shard.lag_versions.unwrap() - 4.0).abs() < 5.0 * 5.0 / 10_000.0, "{shard:?}");
    }
    assert_eq!((apart.most_spread, apart.most_skew), (0, 1));
    // On links of their own, the parts of one gradient meet different versions.
    let outcome =
        play(&scenario(workers, "shards: (each: [(count: 4)])", &format!("{NETWORK}, stop: (updates: 40000)")));
    let (shards, apart) = outcome.simulation.sharded().unwrap();
    assert!(shards.iter().all(|shard| shard.lag_versions.unwrap() < 4.0));
    assert!(apart.spread > 0 && apart.most_skew > 1 && apart.most_skew <= 5, "{apart:?}");
}

#[test]
fn a_shard_that_fails_goes_back_alone_or_with_all() {
    let run = |rollback: &str, failure: &str, recovery: &str| {
        let server =
            format!("shards: (each: [(count: 4)], rollback: {rollback}), recovery: {recovery}, meanwhile: Retry");
        let rest = format!(
            "record: (gradients: All), stop: (time_s: 45.0),
             failures: [(of: {failure}, at: At([30.5]), repair: Constant(3.0))]"
        );
        play(&scenario("(compute: Constant(1.0))", &server, &rest))
    };
    let lost = |outcome: &Outcome<Vec<GradientRow>>| {
        let shards = outcome.simulation.sharded().unwrap().0;
        shards.iter().map(|shard| (shard.version, shard.versions_lost)).collect::<Vec<_>>()
    };
    // At 30.5 s all are at version 30; the part of the next gradient waits for shard 1 from 31 to 33.5 s.
    let checkpoint = "Checkpoint(every: Versions(8))";
    let alone = run("Failed", "Shard(1)", checkpoint);
    assert_eq!(lost(&alone), [(42, 0), (36, 6), (42, 0), (42, 0)]);
    assert_eq!(fates(&alone, Fate::RolledBack), [6.0]);
    let waited = applied(&alone).into_iter().find(|gradient| gradient.causes.outage.nanos() > 0).unwrap();
    // It had read version 30, and meets 24.
    assert_eq!((waited.shard, waited.lag_versions(), waited.causes.outage.seconds()), (1, -6, 2.5));
    // With all, the others lose the seventh version since the checkpoint, too.
    assert_eq!(lost(&run("All", "Shard(1)", checkpoint)), [(35, 7), (36, 6), (35, 7), (35, 7)]);
    assert_eq!(lost(&run("Failed", "Server", checkpoint)), [(36, 6); 4]);
    assert_eq!(lost(&run("Failed", "Shard(1)", "Kept")), [(42, 0); 4]);
    assert_eq!(lost(&run("Failed", "Shard(1)", "Scratch")), [(42, 0), (12, 30), (42, 0), (42, 0)]);
    // Each on its own, and still at the same instant.
    assert_eq!(lost(&run("Failed", "Shards", checkpoint)), [(36, 6); 4]);
    // Writing takes a shard's time: every 8 versions half a second.
    let writes = "Checkpoint(every: Versions(8), write: Constant(0.5), restore: Constant(1.0))";
    let written = run("Failed", "Shard(1)", writes);
    assert_eq!(written.summary.saves, 4 * 5 - 1);
    assert_eq!(written.summary.server_away_s, 1.0);
}

#[test]
fn parts_that_are_too_stale_are_refused_by_their_shard_alone() {
    let server = "shards: (each: [(), (service: Exponential(mean: 0.3))], go_on: Arrived)";
    let workers = "(count: 2, compute: Exponential(mean: 1.0))";
    let rest = "protocol: Custom(admit: (most_versions: 1)), record: (gradients: All), stop: (time_s: 3000.0)";
    let outcome = play(&scenario(workers, server, rest));
    let (shards, _) = outcome.simulation.sharded().unwrap();
    assert!(shards[1].rejected > 2 * shards[0].rejected, "{shards:?}");
    assert!(applied(&outcome).iter().all(|gradient| gradient.lag_versions() <= 1));
    let fatal = rest.replace("most_versions: 1", "most_versions: 1, otherwise: Fail");
    assert_eq!(play(&scenario(workers, server, &fatal)).summary.ended, Ended::Stale);
    let drops = "shards: (each: [(count: 2)]), recovery: Scratch, meanwhile: Retry, future: Drop";
    let rest = "stop: (time_s: 300.0), failures: [(of: Shard(0), at: At([100.0]), repair: Constant(5.0))]";
    // Both workers send their parts of the future.
    assert_eq!(play(&scenario(workers, drops, rest)).summary.fates[Fate::Dropped as usize], 2);
}

#[test]
fn shards_that_do_not_fit_are_refused_at_their_place() {
    let bad = [
        ("shards: (each: [])", "", "0 shards"),
        ("shards: (each: [(parameters: 9)])", "", "1 shards with 9 parameters given do not share out 8"),
        ("shards: (each: [(parameters: 3)])", "", "do not share out 8"),
        ("shards: (each: [(count: 9)])", "", "9 shards with 0 parameters given do not share out 8"),
        ("shards: (each: [(count: 2)])", "protocol: Sync,", "it waits for others"),
        ("shards: (each: [(count: 2)]), step: Constant(1.0)", "", "a step takes time"),
        ("shards: (each: [(count: 2)])", "network: (duplicates: 0.5),", "gradients come twice"),
        ("shards: (each: [(count: 2)])", "failures: [(of: Shard(2), at: At([1.0]))],", "there is no shard 2"),
        ("shards: (each: [(count: 2)])", "failures: [(of: Workers, at: At([1.0]))],", "workers and links do not fail"),
        ("shards: (each: [(count: 2)])", "failures: [(of: Shard(1), at: At([1.0]))],", "meanwhile: Retry"),
        ("service: Constant(0.1)", "failures: [(of: Shard(1), at: At([1.0]))],", "the server has no shards"),
        ("shards: (each: [()]), recovery: Stateless()", "", "it comes back from elsewhere"),
    ];
    for (server, rest, message) in bad {
        let text = scenario("(compute: Constant(1.0))", server, &format!("{rest} stop: (updates: 10)"));
        let error = Prepared::new(&source(&text), None, None).unwrap_err().to_string();
        assert!(error.contains(message) && error.contains("help: "), "{server} {rest}: {error}");
    }
    check_catalogue::<GoOn>(GoOn::CATALOGUE);
    check_catalogue::<Rollback>(Rollback::CATALOGUE);
}

fn failure() -> impl Strategy<Value = String> {
    let of = prop_oneof![Just("Server"), Just("Shard(0)"), Just("Shard(1)"), Just("Shards")];
    let at =
        prop_oneof![Just("At([2.0, 5.5, 9.0])"), Just("Every(Exponential(mean: 6.0))"), Just("Every(Constant(3.0))")];
    let repair = prop_oneof![
        3 => Just("repair: Exponential(mean: 1.5),"),
        1 => Just("repair: Constant(0.0),"),
        1 => Just(""),
    ];
    (of, at, repair, any::<bool>())
        .prop_map(|(of, at, repair, while_down)| format!("(of: {of}, at: {at}, {repair} while_down: {while_down})"))
}

proptest! {
    #![proptest_config(cases(2_000))]

    /// Whatever shards do: books balance, lags are conserved, causes add up, and a run ends.
    #[test]
    fn the_laws_hold_in_shards(
        each in prop_oneof![
            Just("(count: 2)"),
            Just("(count: 3, service: Exponential(mean: 0.3))"),
            Just("(parameters: 1), (service: Constant(0.5), upload: Exponential(mean: 0.5))"),
            Just("(service: Constant(1.0)), (count: 4, download: Uniform(low: 0.0, high: 1.0))"),
        ],
        go_on in prop_oneof![Just("Applied"), Just("Arrived")],
        rollback in prop_oneof![Just("Failed"), Just("All")],
        recovery in prop_oneof![
            Just("Kept"),
            Just("Scratch"),
            Just("Checkpoint(every: Versions(5), write: Exponential(mean: 0.2), restore: Constant(0.5))"),
            Just("Checkpoint(every: Versions(3))"),
        ],
        future in prop_oneof![Just("Accept"), Just("Drop")],
        admit in prop_oneof![2 => Just(""), 1 => Just("most_versions: 2"), 1 => Just("most_s: 2.0")],
        failures in prop::collection::vec(failure(), 0..3),
        network in any::<bool>(),
        seed in 0..1000u64,
    ) {
        let server = format!(
            "shards: (each: [{each}], go_on: {go_on}, rollback: {rollback}), recovery: {recovery}, meanwhile: Retry, future: {future}"
        );
        let network = if network { NETWORK } else { "" };
        let rest = format!(
            "{network}{} protocol: Custom(admit: ({admit})), failures: [{}], seed: {seed}, stop: (updates: 300, time_s: 40.0)",
            if network.is_empty() { "" } else { "," },
            failures.join(", ")
        );
        let workers = "(count: 2, compute: Exponential(mean: 1.0)), (compute: Constant(0.5), joins_at: 3.0)";
        let outcome = run_into(&scenario(workers, &server, &rest), NoRows);
        let summary = &outcome.summary;
        let utilisation = summary.worker_utilisation.unwrap();
        prop_assert!((0.0..=1.0).contains(&utilisation), "{utilisation}");
        prop_assert!(summary.effective_share.is_none_or(|share| (0.0..=1.0).contains(&share)), "{summary:?}");
        // Parts of a gradient are uploaded at the same time, and the shorter ones do not count for as long as the longest.
        let off = summary.time.idle_s - waited_s(&outcome);
        prop_assert!(off > -1e-5 && (off < 1e-5 || rest.contains("network") || each.contains("load")), "{summary:?}");
        let (shards, _) = outcome.simulation.sharded().unwrap();
        for shard in &shards {
            prop_assert_eq!(shard.version + shard.versions_lost, shard.steps);
        }
        let fates = summary.fates;
        let undone: u64 = shards.iter().map(|shard| shard.versions_lost).sum();
        prop_assert_eq!(fates[Fate::RolledBack as usize], undone);
        prop_assert_eq!(fates[Fate::Applied as usize] + undone, summary.steps);
    }
}
