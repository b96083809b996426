//! The reference works against a bare loop, everything recorded. `cargo bench --profile dev --bench works`
//!
//! W1: 64 workers, one parameter. W2: 10,000 workers. W4: 16 workers, 1,000 parameters with gradient noise. Both programs
//! take turns in one process; the figures are medians of CPU time, and the last column is what counts.

mod bare;

use cpu_time::ProcessTime;
use laggard::cluster::Simulation;
use laggard::output::NoRows;
use laggard::record::Recorder;
use laggard::scenario::{Patch, Source};
use laggard::study::{Base, Change, Prepared, run};

const ROUNDS: usize = 7;

struct Work {
    name: &'static str,
    steps: u64,
    scenario: String,
    bare: fn(u64) -> bare::Told,
    target: f64,
}

fn scalar(workers: u64, rate: f64, steps: u64) -> String {
    format!(
        "Scenario(objective: Quadratic(curvature: 1.0, minimum: 1.0), optimiser: [Sgd(learning_rate: {rate})],
         workers: [(count: {workers}, compute: Exponential(mean: 1.0))],
         network: (download: Exponential(mean: 0.05), upload: Exponential(mean: 0.05)), stop: (updates: {steps}))"
    )
}

fn vector(steps: u64) -> String {
    format!(
        "Scenario(objective: Diagonal(curvatures: Evenly(from: 0.1, to: 1.0, dimension: 1000)),
         noise: Gaussian(sd: 0.1), optimiser: [Sgd(learning_rate: 0.01)],
         workers: [(count: 16, compute: Exponential(mean: 1.0))],
         network: (download: Exponential(mean: 0.05), upload: Exponential(mean: 0.05)), stop: (updates: {steps}))"
    )
}

/// Runs a scenario; nanoseconds of CPU time a step, and the mean lag.
fn laggard(scenario: &str, steps: u64) -> (f64, f64) {
    let source = Source { path: "work.ron".into(), text: scenario.to_owned(), colour: false };
    let prepared = Prepared::new(&source, None, None).expect("the reference works are valid");
    let start = ProcessTime::now();
    let outcome = run(prepared, NoRows, |_| true).expect("the reference works run");
    let nanos = start.elapsed().as_nanos() as f64 / steps as f64;
    (nanos, outcome.summary.lag_versions.mean.unwrap_or_default())
}

/// Microseconds of CPU time to make one run of 64 workers of a sweep ready, up to its first event.
fn set_up() -> f64 {
    const TIMES: u32 = 2000;
    let source = Source { path: "work.ron".into(), text: scalar(64, 0.01, 1000), colour: false };
    let base = Base::new(&source).expect("the reference works are valid");
    let start = ProcessTime::now();
    for replication in 0..TIMES {
        let own = Patch { replication: Some(u64::from(replication)), ..Patch::default() };
        let prepared = base.prepare(&[Change::unwritten(own)]).expect("the reference works are valid");
        let spec = prepared.scenario.record.clone();
        let simulation = Simulation::new(prepared.model);
        std::hint::black_box(&Recorder::new(&spec, &simulation, NoRows));
    }
    start.elapsed().as_nanos() as f64 / f64::from(TIMES) / 1e3
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let works = [
        Work {
            name: "W1",
            steps: 1_000_000,
            scenario: scalar(64, 0.01, 1_000_000),
            bare: |steps| bare::scalar(64, 0.01, steps),
            target: 0.45,
        },
        Work {
            name: "W2",
            steps: 1_000_000,
            scenario: scalar(10_000, 1e-4, 1_000_000),
            bare: |steps| bare::scalar(10_000, 1e-4, steps),
            target: 0.4,
        },
        Work {
            name: "W4",
            steps: 100_000,
            scenario: vector(100_000),
            bare: |steps| bare::vector(16, 1000, 0.01, 0.1, steps),
            target: 0.9,
        },
    ];
    println!("work  bare loop ns/step  laggard ns/step  bare/laggard  target   mean lag: bare  laggard");
    for work in works {
        let (mut bare_ns, mut ours_ns, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        let (mut bare_lag, mut our_lag) = (0.0, 0.0);
        for _ in 0..ROUNDS {
            let start = ProcessTime::now();
            let told = (work.bare)(work.steps);
            let bare = start.elapsed().as_nanos() as f64 / work.steps as f64;
            std::hint::black_box(told.w);
            let (ours, lag) = laggard(&work.scenario, work.steps);
            (bare_lag, our_lag) = (told.mean_lag, lag);
            ratios.push(bare / ours);
            bare_ns.push(bare);
            ours_ns.push(ours);
        }
        println!(
            "{:<6}{:>17.1}{:>17.1}{:>14.2}{:>8.2}{:>17.1}{:>9.1}",
            work.name,
            median(bare_ns),
            median(ours_ns),
            median(ratios),
            work.target,
            bare_lag,
            our_lag
        );
    }
    println!("set-up of a run of 64 workers: {:.1} µs", median((0..ROUNDS).map(|_| set_up()).collect()));
}
