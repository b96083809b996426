//! Protocols against exact replays and closed forms: bounds on lag, rounds, buffers, tables.

use crate::support::{applied, fates, play, quadratic, watch};
use laggard::cluster::{Ended, Fate};
use laggard::protocol::{After, CATALOGUE, CHOICES, Late, Next, Otherwise, Pace, Protocol, Work};
use proptest::prelude::*;

/// Two workers of a table: one step when both have come, one for the other's next gradient; then a new round.
#[test]
fn a_table_takes_one_step_a_worker_and_round() {
    let workers = "(compute: Constant(1.0)), (compute: Constant(2.5))";
    let rest = "protocol: Ringleader, stop: (updates: 4), record: (gradients: All, timeline: 20)";
    let outcome = play(&quadratic(workers, rest).replace("0.001", "0.5"));
    let rows: Vec<(f64, u32, u64, f64)> = outcome
        .recording
        .timeline
        .iter()
        .map(|row| (row.gradient.ended.seconds(), row.gradient.worker, row.gradient.version_applied, row.w_after[0]))
        .collect();
    let expected = [
        // Worker 0 has sent two gradients of w = 1, at 1 s and 2 s, when worker 1 sends the first at 2.5 s.
        (2.5, 0, 0, 0.5),
        (2.5, 0, 0, 0.5),
        (2.5, 1, 0, 0.5),
        // At 3 s worker 0 has its step; all in the table are still of w = 1.
        (3.0, 0, 1, 0.0),
        // The new round begins when worker 1 comes at 5 s with a gradient of w = 0.5; worker 0 has sent one of w = 0, at 4 s.
        (5.0, 0, 2, -0.125),
        (5.0, 1, 2, -0.125),
        // And ends when worker 0 comes, too, with another gradient of w = 0.
        (5.0, 0, 3, -0.25),
    ];
    assert_eq!(rows, expected);
    // Every step is half of each worker, whoever sent more.
    let weights: Vec<f64> = outcome.simulation.books().map(|books| books.weight).collect();
    assert_eq!(weights, [4.0, 4.0]);
}

/// TensorFlow 1 counts gradients, not workers: with a token left, the same worker can fill a step alone.
#[test]
fn tokens_let_a_fast_worker_push_twice_for_one_step() {
    let workers = "(compute: Constant(1.0)), (compute: Constant(5.0))";
    let rest = "protocol: SyncReplicas(gradients: 2), stop: (updates: 1), record: (gradients: All)";
    let outcome = play(&quadratic(workers, rest));
    let applied: Vec<(u32, f64)> = applied(&outcome).iter().map(|g| (g.worker, g.ended.seconds())).collect();
    assert_eq!(applied, [(0, 2.0), (0, 2.0)]);
}

#[test]
fn a_stale_gradient_is_reported_and_can_end_the_run() {
    let workers = "(compute: Constant(1.0)), (compute: Constant(4.5))";
    let with = |otherwise: &str| {
        let rest = format!(
            "protocol: RejectStale(tolerance: 3, otherwise: {otherwise}), stop: (updates: 20),
             noise: Gaussian(sd: 1.0), record: (gradients: All)"
        );
        play(&quadratic(workers, &rest))
    };
    let failed = with("Fail");
    assert_eq!(failed.summary.ended, Ended::Stale);
    let rejection = failed.recording.rejections[0];
    assert_eq!((rejection.worker, rejection.expected, rejection.got), (1, 4, 0));
    assert_eq!(rejection.at.seconds(), 4.5);
    let refetched = with("Refetch");
    assert_eq!(refetched.summary.ended, Ended::Updates);
    assert_eq!(fates(&refetched, Fate::Rejected), [0.0, 4.0]);
    // Batch 0 of worker 1 is computed again by whoever starts next, which is worker 1, and is never used.
    let recomputed = with("Recompute");
    assert_eq!(fates(&recomputed, Fate::Rejected), [0.0, 4.0]);
    assert_eq!(recomputed.summary.loss, refetched.summary.loss);
}

/// Which batches of each of two workers were used, told by their noise.
fn batches_used(protocol: &str) -> [Vec<usize>; 2] {
    let noises = |protocol: &str| {
        let rest = format!("protocol: {protocol}, stop: (updates: 400), noise: Gaussian(sd: 1.0)");
        let mut noises = [Vec::new(), Vec::new()];
        watch(&quadratic("(count: 2, compute: Exponential(mean: 1.0))", &rest), |gradient, step| {
            noises[gradient.worker as usize].push(step.pushed[0] - step.read[0]);
        });
        noises
    };
    let all = noises("Async");
    let mut used = [Vec::new(), Vec::new()];
    for noise in noises(protocol).concat() {
        let place = |of: &Vec<f64>| of.iter().position(|other| (other - noise).abs() < 1e-9);
        match [place(&all[0]), place(&all[1])] {
            [Some(number), None] => used[0].push(number),
            [None, Some(number)] => used[1].push(number),
            found => assert!(found == [None, None], "two batches have the same noise"),
        }
    }
    used.iter_mut().for_each(|numbers| numbers.sort_unstable());
    used
}

/// A batch of data that was refused is computed again, and none is lost; fetching anew goes on with the next one.
#[test]
fn a_batch_computed_again_is_not_lost() {
    let is_whole = |numbers: &Vec<usize>| numbers.windows(2).all(|pair| pair[1] == pair[0] + 1);
    // The last one or two of each worker may still be under way.
    let recomputed = batches_used("RejectStale(tolerance: 0, otherwise: Recompute)");
    assert!(recomputed.iter().all(|numbers| is_whole(&numbers[..numbers.len() - 2].to_vec())), "{recomputed:?}");
    let refetched = batches_used("RejectStale(tolerance: 0, otherwise: Refetch)");
    assert!(!refetched.iter().any(is_whole));
}

#[test]
fn a_deadline_takes_what_has_come() {
    let workers = "(compute: Constant(1.0)), (compute: Constant(2.0)), (compute: Constant(6.0))";
    let run = |late: &str| {
        let rest =
            format!("protocol: Deadline(seconds: 3.0, late: {late}), stop: (time_s: 12.0), record: (gradients: All)");
        play(&quadratic(workers, &rest))
    };
    let cancelled = run("Cancel");
    assert_eq!(cancelled.summary.steps, 4);
    assert_eq!(fates(&cancelled, Fate::Applied), [4.0, 4.0, 0.0]);
    assert_eq!(fates(&cancelled, Fate::Cancelled), [0.0, 0.0, 4.0]);
    let dropped = run("Drop");
    assert_eq!(fates(&dropped, Fate::Dropped), [0.0, 0.0, 2.0]);
    // Who comes at the very instant of the deadline is in time.
    let exactly = play(&quadratic(
        "(compute: Constant(1.0)), (compute: Constant(3.0)), (compute: Constant(9.0))",
        "protocol: Deadline(seconds: 3.0), stop: (time_s: 12.0)",
    ));
    assert_eq!(fates(&exactly, Fate::Applied), [4.0, 4.0, 0.0]);
    // Where all are in before the deadline, nobody waits for it.
    let early = run("Drop").summary.steps;
    let rest = "protocol: Deadline(seconds: 3.0), stop: (time_s: 12.0)";
    let quick = play(&quadratic("(compute: Constant(1.0)), (compute: Constant(2.0))", rest));
    assert_eq!((early, quick.summary.steps), (4, 6));
}

#[test]
fn the_catalogue_has_every_protocol() {
    crate::support::check_catalogue::<Protocol>(CATALOGUE);
    let [paces, afters, lates, works, otherwises, nexts] = CHOICES.map(|(_, entries)| entries);
    crate::support::check_catalogue::<Pace>(paces);
    crate::support::check_catalogue::<After>(afters);
    crate::support::check_catalogue::<Late>(lates);
    crate::support::check_catalogue::<Work>(works);
    crate::support::check_catalogue::<Otherwise>(otherwises);
    crate::support::check_catalogue::<Next>(nexts);
}

proptest! {
    #![proptest_config(crate::support::cases(60))]

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

/// Rounds whose deadline passes while a gradient is being taken in step when it is in: the server does one thing at a time.
#[test]
fn a_deadline_waits_for_a_server_that_is_busy() {
    let workers = "(count: 16, compute: Exponential(mean: 0.3))";
    let rest = "protocol: Deadline(seconds: 0.5, late: Drop), stop: (updates: 500),
                server: (service: Constant(0.2), step: Constant(0.3))";
    let share = play(&quadratic(workers, rest)).summary.server_utilisation.unwrap();
    assert!(share > 0.9 && share <= 1.0, "{share}");
}

/// What is refused is not completed: the clock of SSP does not move, and others wait.
#[test]
fn refused_gradients_do_not_move_the_clock() {
    let workers = "(compute: Constant(1.0)), (compute: Constant(1.1)), (compute: Constant(7.0))";
    let protocol = "Custom(pace: ClockGap(bound: 0), admit: (most_versions: 1))";
    let outcome = play(&quadratic(workers, &format!("protocol: {protocol}, stop: (updates: 30)")));
    let applied = fates(&outcome, Fate::Applied);
    assert!(applied.iter().all(|own| (own - 10.0).abs() <= 1.0), "{applied:?}");
}

/// Nine gradients in six steps: 1 or 2 each, and every batch in exactly six.
#[test]
fn parts_of_a_batch_differ_by_one_at_most() {
    let rest = "protocol: Admission(eta: 0, batch: 9, parts: 6), server: (step: Constant(0.1)), stop: (updates: 600)";
    let outcome = play(&quadratic("(count: 9, compute: Constant(1.0))", rest));
    assert_eq!(fates(&outcome, Fate::Applied).iter().sum::<f64>(), 900.0);
    assert_eq!(outcome.summary.lag_batches, Some(0.0));
    // 1, 2, 1, 2, 1, 2 gradients with lags of 0 to 5: 24 in all, of 9.
    assert_eq!(outcome.summary.lag_versions.mean, Some(24.0 / 9.0));
}

/// Tasks that were sent to a worker before it joins wait for it.
#[test]
fn tasks_wait_for_a_worker_that_joins_late() {
    let workers = "(compute: Constant(1.0)), (compute: Constant(1.0), joins_at: 50.0)";
    let rest = "protocol: GeneralisedAsync(tasks: 4), stop: (time_s: 200.0), record: (gradients: All)";
    let outcome = play(&quadratic(workers, rest));
    let first = applied(&outcome).into_iter().find(|gradient| gradient.worker == 1).unwrap();
    assert_eq!(first.ended.seconds(), 51.0);
    assert_eq!(fates(&outcome, Fate::InFlight).iter().sum::<f64>(), 4.0);
}

/// Only every third version is ever seen, however long publication takes.
#[test]
fn workers_see_only_the_versions_that_are_published() {
    let rest = "server: (publish: (every: 3, delay: Constant(3.5))), stop: (updates: 60), record: (gradients: All)";
    let outcome = play(&quadratic("(compute: Constant(1.0))", rest));
    assert!(applied(&outcome).iter().all(|gradient| gradient.version_read.is_multiple_of(3)));
}

/// Where too old a gradient is an error, nothing is done after it.
#[test]
fn a_run_that_fails_ends_there_and_takes_no_step_more() {
    let protocol = "Custom(admit: (most_s: 4.0, otherwise: Fail), step: (after: Deadline(4.2)))";
    let workers = "(compute: Constant(1.0)), (compute: Constant(3.5)), (compute: Constant(100.0))";
    let outcome = play(&quadratic(workers, &format!("protocol: {protocol}, stop: (updates: 1)")));
    assert_eq!((outcome.summary.ended, outcome.summary.steps), (Ended::Stale, 0));
}

/// The order of what may be stopped does not grow with the run.
#[test]
fn memory_of_stops_does_not_grow_with_the_run() {
    let peak = |updates: u64| {
        let rest = format!("protocol: Ringmaster(bound: 1000000000, stops: true), stop: (updates: {updates})");
        let text = quadratic("(count: 4, compute: Exponential(mean: 1.0))", &rest);
        allocation_counter::measure(|| {
            crate::support::run_into(&text, laggard::output::NoRows);
        })
        .bytes_max
    };
    let (short, long) = (peak(20_000), peak(200_000));
    assert!(long < short + (128 << 10), "{short} {long}");
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
