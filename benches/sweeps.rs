//! A sweep of 200 runs, 64 workers and 100,000 steps each: does a second thread cost CPU time?
//! `cargo bench --profile dev --bench sweeps`

use cpu_time::ProcessTime;
use laggard::output::Folder;
use laggard::scenario::Source;
use laggard::study::{Journal, Plan, Progress, execute, threads};
use std::time::Instant;

const ROUNDS: usize = 5;
const SCENARIO: &str =
    "Scenario(objective: Quadratic(curvature: 1.0), start: [1.0], optimiser: [Sgd(learning_rate: 0.01)],
    workers: [(count: 64, compute: Exponential(mean: 1.0))], stop: (updates: 100_000))";
const SWEEP: &str =
    "Sweep(scenario: \"base.ron\", axes: [LearningRates([0.001, 0.002, 0.003, 0.004])], replications: Fixed(50))";

/// CPU and wall seconds of the runs on so many threads.
fn seconds(jobs: u16) -> (f64, f64) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("it can be written to");
    write("base.ron", SCENARIO);
    write("sweep.ron", SWEEP);
    let plan = Plan::new(&Source::read(&folder.path().join("sweep.ron")).expect("the sweep is there"), &[]);
    let plan = plan.expect("the sweep can be run");
    let out = Folder::create(&folder.path().join("out"), &[]).expect("the folder of results can be made");
    let journal = Journal::open(&out, &plan).expect("nobody else works on it");
    let pool = threads(Some(jobs)).expect("there are threads");
    let (cpu, wall) = (ProcessTime::now(), Instant::now());
    execute(&plan, &journal, 0..plan.cells.len(), &pool, &Progress::default()).expect("every run ends");
    (cpu.elapsed().as_secs_f64(), wall.elapsed().as_secs_f64())
}

fn main() {
    let mut rounds: Vec<[f64; 4]> = Vec::new();
    for _ in 0..ROUNDS {
        let ((cpu_1, wall_1), (cpu_2, wall_2)) = (seconds(1), seconds(2));
        rounds.push([cpu_1, wall_1, cpu_2 / cpu_1, wall_2 / wall_1]);
    }
    let [cpu, wall, cpu_ratio, wall_ratio] = [0, 1, 2, 3].map(|figure| {
        rounds.sort_by(|a, b| a[figure].total_cmp(&b[figure]));
        rounds[ROUNDS / 2][figure]
    });
    println!("200 runs, medians of {ROUNDS}: one thread {cpu:.2} s of CPU, {wall:.2} s");
    println!("two threads in ratio: CPU {cpu_ratio:.3} (at most 1.1), wall {wall_ratio:.3}");
}
