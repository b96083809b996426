//! Same scenario and seed, same bits; and randomness that belongs to names, not to the order of use.

use crate::support::{applied, play, quadratic, run_into, source};
use laggard::cluster::{Gradient, Simulation};
use laggard::output::NoRows;
use laggard::study::{Prepared, run};

const WORKERS: &str = "(count: 5, compute: Exponential(mean: 1.0)), (count: 2, compute: Gamma(mean: 2.0, cv: 0.5))";

fn scenario(rest: &str) -> String {
    quadratic(WORKERS, &format!("stop: (updates: 2000), {rest}"))
}

/// Compute times by worker and number.
fn compute_times(text: &str) -> Vec<(u32, u64, u64)> {
    let mut times: Vec<(u32, u64, u64)> = applied(&play(text))
        .iter()
        .map(|gradient: &Gradient| (gradient.worker, gradient.index, gradient.causes.compute.nanos()))
        .collect();
    times.sort_unstable();
    times
}

#[test]
fn runs_repeat_and_seeds_and_replications_differ() {
    let text = scenario("record: (gradients: All)");
    let fingerprint = |seed: Option<u64>, replication: u64| {
        let prepared = Prepared::new(&source(&text), seed, Some(replication)).unwrap();
        run(prepared, NoRows, |_| true).unwrap().summary.fingerprint
    };
    let first = fingerprint(None, 0);
    assert_eq!(first, fingerprint(None, 0));
    assert_eq!(first, fingerprint(Some(1), 0), "the seed is 1 by default");
    let others = [fingerprint(Some(2), 0), fingerprint(None, 1), fingerprint(Some(2), 1)];
    assert!(!others.contains(&first) && others[0] != others[1] && others[1] != others[2] && others[0] != others[2]);
}

#[test]
fn recording_more_changes_nothing() {
    let none = run_into(&scenario(""), NoRows).summary;
    let text = scenario(
        "record: (gradients: All, timeline: 2000, trajectory: Every(1), what_if: [(version: 7, gradient: Fresh)])",
    );
    let all = play(&text).summary;
    assert_eq!(none, all);
    let mut alone = Simulation::new(Prepared::new(&source(&scenario("")), None, None).unwrap().model);
    while alone.advance(1000, &mut ()).unwrap().is_none() {}
    alone.close(&mut ()).unwrap();
    assert_eq!((alone.fingerprint(), alone.parameters()[0].to_bits()), (none.fingerprint, all_parameters(&text)));
}

fn all_parameters(text: &str) -> u64 {
    play(text).simulation.parameters()[0].to_bits()
}

#[test]
fn the_size_of_the_slices_in_which_a_run_is_played_does_not_matter() {
    let play_in = |slice: u64| {
        let mut simulation = Simulation::new(Prepared::new(&source(&scenario("")), None, None).unwrap().model);
        while simulation.advance(slice, &mut ()).unwrap().is_none() {}
        (simulation.fingerprint(), simulation.now(), simulation.parameters()[0].to_bits())
    };
    assert_eq!(play_in(1), play_in(1 << 20));
    assert_eq!(play_in(7), play_in(1000));
}

/// Common random numbers: worker k's j-th compute time is the same number whatever else is changed.
#[test]
fn compute_times_belong_to_worker_and_number_alone() {
    let with = |rest: &str| compute_times(&scenario(&format!("record: (gradients: All), {rest}")));
    let plain = with("");
    let changed = [
        "network: (download: Exponential(mean: 0.3), upload: LogNormal(median: 0.1, sigma: 1.0))",
        "server: (service: Exponential(mean: 0.2))",
        "noise: Gaussian(sd: 1.0)",
    ];
    for rest in changed {
        let other = with(rest);
        let common: Vec<_> = plain.iter().filter(|time| other.binary_search(time).is_ok()).collect();
        let both = plain.iter().filter(|(worker, index, _)| other.iter().any(|o| (o.0, o.1) == (*worker, *index)));
        let both = both.count();
        assert!(both > 1000 && common.len() == both, "{rest}: {} of {both} are the same", common.len());
    }
    let more_workers =
        quadratic(&format!("{WORKERS}, (compute: Constant(0.5))"), "stop: (time_s: 100.0), record: (gradients: All)");
    let fewer_workers = quadratic(WORKERS, "stop: (time_s: 100.0), record: (gradients: All)");
    let others: Vec<_> = compute_times(&more_workers).into_iter().filter(|(worker, ..)| *worker < 7).collect();
    assert_eq!(compute_times(&fewer_workers), others);
}

#[test]
fn an_interrupted_run_is_a_run_with_fewer_steps() {
    let text = quadratic(WORKERS, "stop: (updates: 1000000)");
    let prepared = Prepared::new(&source(&text), None, None).unwrap();
    let outcome = run(prepared, NoRows, |simulation| simulation.updates() < 100_000).unwrap();
    assert_eq!(outcome.summary.ended.name(), "interrupted");
    let steps = outcome.summary.steps;
    assert!((100_000..300_000).contains(&steps));
    let whole = run_into(&quadratic(WORKERS, &format!("stop: (updates: {steps})")), NoRows);
    assert_eq!(whole.summary.fingerprint, outcome.summary.fingerprint);
    assert_eq!(whole.summary.lag_s, outcome.summary.lag_s);
}
