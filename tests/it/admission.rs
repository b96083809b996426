//! Asynchronous reinforcement learning: generators ahead of a trainer, by budget, age, order and publication.

use crate::support::{applied, fates, play, quadratic};
use laggard::cluster::Fate;
use laggard::record::Summary;

/// Generators (the inside of a list of workers) and a trainer.
fn train(generators: &str, protocol: &str, server: &str, stop: &str) -> Summary {
    play(&quadratic(generators, &format!("protocol: {protocol}, server: ({server}), stop: ({stop})"))).summary
}

fn close(actual: Option<f64>, expected: f64, within: f64) {
    let actual = actual.unwrap();
    assert!((actual - expected).abs() <= within, "{actual}, expected {expected} ± {within}");
}

/// Where the trainer is the bottleneck, the budget is always used up, and the mean lag is η: in batches, whatever the parts.
#[test]
fn the_mean_lag_is_the_budget_where_it_binds() {
    let fast = "(count: 64, compute: Exponential(mean: 0.1))";
    for eta in [1.0, 2.0, 4.0] {
        let protocol = format!("Admission(eta: {eta:?}, batch: 8)");
        let summary = train(fast, &protocol, "step: Constant(1.0)", "updates: 4000");
        // A little less than η: items of a batch are generated after the one before was taken.
        close(summary.lag_versions.mean, eta, 0.02);
        close(summary.server_utilisation, 1.0, 0.002);
        assert!(summary.worker_utilisation.unwrap() < 0.2);
        // Generated at once, and then waiting: the lag is made in the queue.
        assert!(summary.lag_versions_in_queue.unwrap() > 0.8 * eta);
        assert!(summary.lag_s_in_queue.unwrap() > summary.lag_s_in_flight.unwrap());
    }
    let parts = "Admission(eta: 2, batch: 8, parts: 4)";
    let summary = train(fast, parts, "step: Constant(0.25)", "updates: 16000");
    close(summary.lag_batches, 2.0, 0.02);
    // The j-th step on a batch is j − 1 versions staler: (4 − 1) / 2 in the mean.
    close(summary.lag_versions.mean, 2.0 * 4.0 + 1.5, 0.1);
}

#[test]
fn slow_generators_make_the_lag_in_flight() {
    let slow = "(count: 16, compute: LogNormal(median: 4.0, sigma: 0.5))";
    let summary = train(slow, "Admission(eta: 4, batch: 8)", "step: Constant(0.1)", "updates: 4000");
    // 16 in flight and nothing queued but what waits for its batch: (16 − 1) / 8 and what a batch adds.
    assert!(summary.lag_versions_in_queue.unwrap() < 0.1, "{summary:?}");
    close(summary.worker_utilisation, 1.0, 0.001);
    let sum = summary.lag_versions_in_flight.unwrap() + summary.lag_versions_in_queue.unwrap();
    close(summary.lag_versions.mean, sum, 1e-12);
    let seconds = summary.lag_s_in_flight.unwrap() + summary.lag_s_in_queue.unwrap();
    close(summary.lag_s.mean, seconds, 1e-9);
}

/// Budget 0 is synchronous: generate, then train, by turns; each half of the time at equal times.
#[test]
fn no_budget_means_taking_turns() {
    let equal = "(count: 8, compute: Constant(1.0))";
    let turns = train(equal, "Admission(eta: 0, batch: 8)", "step: Constant(1.0)", "updates: 1000");
    close(turns.server_utilisation, 0.5, 1e-9);
    close(turns.worker_utilisation, 0.5, 1e-9);
    assert_eq!(turns.lag_versions.max, Some(0.0));
    let ahead = train(equal, "Admission(eta: 1, batch: 8)", "step: Constant(1.0)", "updates: 1000");
    close(ahead.server_utilisation, 1000.0 / 1001.0, 1e-9);
    assert_eq!(ahead.lag_versions.max, Some(1.0));
}

/// A budget of a fraction of a batch: verl's staleness threshold.
#[test]
fn a_fraction_of_a_batch_is_a_budget_too() {
    let fast = "(count: 64, compute: Constant(0.01))";
    let summary = train(fast, "Admission(eta: 0.5, batch: 8)", "step: Constant(1.0)", "updates: 1000");
    // Of every batch, half was begun under the version before.
    close(summary.lag_versions.mean, 0.5, 0.01);
}

#[test]
fn items_beyond_the_age_cap_are_withheld_requeued_or_cancelled() {
    let heavy = "(count: 32, compute: LogNormal(median: 1.0, sigma: 1.5))";
    let run = |stale: &str| {
        let protocol = format!("Admission(eta: 6, batch: 4, most_age: 2, stale: {stale})");
        let rest = format!(
            "protocol: {protocol}, server: (step: Constant(0.2)), stop: (updates: 2000), record: (gradients: All)"
        );
        play(&quadratic(heavy, &rest))
    };
    for (stale, fate) in [("Withhold", Fate::Rejected), ("Requeue", Fate::Rejected), ("Cancel", Fate::Cancelled)] {
        let outcome = run(stale);
        assert!(applied(&outcome).iter().all(|gradient| gradient.lag_versions() <= 2), "{stale}");
        assert!(fates(&outcome, fate).iter().sum::<f64>() > 100.0, "{stale}");
        assert_eq!(outcome.summary.steps, 2000);
    }
    // What is stopped at once costs the generators less than what is finished in vain.
    let (withheld, cancelled) = (run("Withhold").summary.time_s, run("Cancel").summary.time_s);
    assert!(cancelled < withheld, "{cancelled} {withheld}");
}

/// What waits longest first, or last: the mean lag changes little, the greatest much; with a capacity, old items are dropped.
#[test]
fn the_order_of_the_buffer_shows_in_the_tail() {
    let fast = "(count: 32, compute: Exponential(mean: 0.5))";
    let run = |more: &str| {
        let protocol = format!("Admission(eta: 8, batch: 8, {more})");
        train(fast, &protocol, "step: Constant(1.0)", "updates: 3000")
    };
    let (fifo, lifo) = (run("order: Fifo"), run("order: Lifo"));
    assert!(lifo.lag_versions.max > fifo.lag_versions.max);
    assert!(lifo.lag_versions.p50 < fifo.lag_versions.p50);
    let evicted = run("order: Fifo, capacity: 16");
    assert!(evicted.fates[Fate::Dropped as usize] > 1000);
    assert!(evicted.lag_versions.mean < fifo.lag_versions.mean);
}

/// Generators see new weights every third step only, and half a second late.
#[test]
fn publication_adds_to_the_lag() {
    let lag = |publish: &str| {
        let rest = format!("protocol: Admission(eta: 50, batch: 1), server: ({publish}), stop: (updates: 3000)");
        play(&quadratic("(compute: Constant(0.25))", &rest)).summary.lag_versions.mean.unwrap()
    };
    assert_eq!(lag(""), 0.0);
    // Versions 3, 6, … are seen: what is read is 0, 1 or 2 behind.
    assert!((lag("publish: (every: 3)") - 1.0).abs() < 0.01);
    // And half a second is two steps more.
    let late = lag("publish: (every: 3, delay: Constant(0.49))");
    assert!((late - 3.0).abs() < 0.01, "{late}");
}

/// A group of 8 slots that waits for its slowest is at work for E[mean] / E[max] = 1/H₈ of the time; refilled one by one, always.
#[test]
fn slots_that_wait_for_their_group_idle() {
    let slots = "(count: 8, compute: Exponential(mean: 1.0))";
    let harmonic: f64 = (1..=8).map(|k| 1.0 / f64::from(k)).sum();
    let group = train(slots, "Sync", "", "updates: 40000");
    close(group.worker_utilisation, 1.0 / harmonic, 0.004);
    close(train(slots, "Async", "", "updates: 40000").worker_utilisation, 1.0, 0.0);
    // The same group as one worker: what it takes is the law of the slowest.
    let one = "(compute: Slowest(count: 8, law: Exponential(mean: 1.0)))";
    close(train(one, "Async", "", "updates: 40000").lag_s.mean, harmonic, 0.03);
}

/// A rollout that hangs holds up its step for ever; given up after a while, it does not.
#[test]
fn a_hung_rollout_stalls_a_step_unless_it_is_given_up() {
    let hangs = |more: &str| {
        let law = "Mixture(parts: [(weight: 0.99, law: Constant(1.0)), (weight: 0.01, law: Constant(1e9))])";
        train(&format!("(count: 32, compute: {law}{more})"), "Sync", "", "updates: 300, time_s: 100000")
    };
    let (stuck, free) = (hangs(""), hangs(", give_up_s: 10.0"));
    assert!(stuck.steps < 30);
    assert_eq!(free.steps, 300);
    // Each of 9,600 and more gradients hangs with probability 0.01.
    let given_up = free.fates[Fate::Cancelled as usize] as f64;
    assert!((given_up - 96.97).abs() < 4.0 * 97f64.sqrt(), "{given_up}");
}
