//! The reference works, everything recorded, beside a bare loop; what protocols and recorders cost; memory and start-up.
//! `cargo bench --profile dev --bench works`, or with `-- W1 W4` these alone.
//!
//! Both programs take turns in one process; figures are medians of CPU time, and ratios are what counts. What the works are stands in
//! `scenarios/`; `benches/instructions` counts the instructions of the same.

mod bare;

use cpu_time::ProcessTime;
use laggard::cluster::Simulation;
use laggard::output::{Folder, GradientFile, NoRows, Stamp};
use laggard::record::{Recorder, RowSink};
use laggard::scenario::{Patch, Source};
use laggard::study::{Base, Change, Prepared, run};
use std::process::Command;
use std::time::Instant;

const ROUNDS: usize = 7;

struct Work {
    name: &'static str,
    scenario: &'static str,
    bare: fn(u64) -> bare::Told,
    rounds: usize,
}

const W1: &str = include_str!("scenarios/w1.ron");
const W3: &str = include_str!("scenarios/w3.ron");
const W5: &str = include_str!("scenarios/w5.ron");

const WORKS: [Work; 4] = [
    Work { name: "W1", scenario: W1, bare: |steps| bare::scalar(64, 0.01, steps), rounds: ROUNDS },
    Work {
        name: "W2",
        scenario: include_str!("scenarios/w2.ron"),
        bare: |steps| bare::scalar(10_000, 1e-4, steps),
        rounds: ROUNDS,
    },
    Work { name: "W3", scenario: W3, bare: |steps| bare::scalar(1_000_000, 1e-6, steps), rounds: 3 },
    Work {
        name: "W4",
        scenario: include_str!("scenarios/w4.ron"),
        bare: |steps| bare::vector(16, 1000, 0.01, 0.1, steps),
        rounds: ROUNDS,
    },
];

/// Beside W1, per gradient applied.
const PROTOCOLS: [(&str, &str); 4] = [
    ("Ssp(bound: 4)", include_str!("scenarios/ssp.ron")),
    ("KSync(k: 48)", include_str!("scenarios/k-sync.ron")),
    ("FedBuff(buffer: 10)", include_str!("scenarios/fed-buff.ron")),
    ("a server with service", include_str!("scenarios/service.ron")),
];

fn prepare(scenario: &str, set: &[&str]) -> Prepared {
    let source = Source { path: "work.ron".into(), text: scenario.to_owned(), colour: false };
    let changes: Vec<Change> = set.iter().map(|set| Change::from_set(set, false).expect("it can be set")).collect();
    Prepared::changed(&source, &changes).expect("the reference works are valid")
}

/// What a run took: nanoseconds of CPU time a gradient applied, its steps, and the mean lag.
fn laggard(scenario: &str, set: &[&str], sink: impl RowSink) -> (f64, u64, f64) {
    let prepared = prepare(scenario, set);
    let start = ProcessTime::now();
    let outcome = run(prepared, sink, |_| true).expect("the reference works run");
    let nanos = start.elapsed().as_nanos() as f64;
    let applied: u64 = outcome.simulation.books().map(|books| books.count(laggard::cluster::Fate::Applied)).sum();
    (nanos / applied as f64, outcome.summary.steps, outcome.summary.lag_versions.mean.unwrap_or_default())
}

/// The same with every gradient written to a file, and the time by the clock, as the file is written beside the run; bytes a row, too.
fn written() -> [f64; 3] {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let results = Folder::create(&folder.path().join("out"), &[]).expect("the folder of results can be made");
    let stamp = Stamp { scenario: String::new(), scenario_hash: 0, seed: 1, replication: 0, fingerprint: None };
    let file = GradientFile::create(&results, vec!["0".to_owned()], &stamp).expect("the file can be made");
    let prepared = prepare(W1, &["record: (gradients: All)"]);
    let (start, began) = (ProcessTime::now(), Instant::now());
    let outcome = run(prepared, file, |_| true).expect("the reference works run");
    let (steps, sink) = (outcome.summary.steps as f64, outcome.recording.sink);
    sink.finish().expect("the file can be written");
    let times = [start.elapsed(), began.elapsed()].map(|time| time.as_nanos() as f64 / steps);
    let bytes = std::fs::metadata(results.staged("gradients.parquet")).expect("it is there").len();
    [times[0], times[1], bytes as f64 / steps]
}

/// How a step grows with the number of workers, everything else as in W1.
fn growth() {
    let step = |workers: u32, steps: u64| {
        let class = format!("workers: [(count: {workers}, compute: Exponential(mean: 1.0))]");
        let set = [class.as_str(), "optimiser: [Sgd(learning_rate: 1e-7)]", &format!("stop: (updates: {steps})")];
        median((0..3).map(|_| laggard(W1, &set, NoRows).0).collect())
    };
    let few = step(64, 1_000_000);
    for (workers, steps) in [(4096, 2_000_000), (65_536, 4_000_000), (1_000_000, 10_000_000)] {
        println!("  {workers:>9} workers in place of 64 {:>13.2} times", step(workers, steps) / few);
    }
}

/// W5 beside the same in Python, by CPU time for all that one run does, its start included.
fn published() {
    const WORKERS: u32 = 6174;
    const SECONDS: &str = "1000";
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let rows = (1..=WORKERS).map(|worker| format!("{worker},{}\n", 1.0 + f64::from(worker).sqrt()));
    std::fs::write(folder.path().join("mean.csv"), format!("worker,s\n{}", rows.collect::<String>()))
        .expect("it can be written");
    let source = Source { path: folder.path().join("w5.ron"), text: W5.to_owned(), colour: false };
    let ours = || {
        let start = ProcessTime::now();
        let prepared = Prepared::new(&source, None, None).expect("the reference works are valid");
        let outcome = run(prepared, NoRows, |_| true).expect("the reference works run");
        start.elapsed().as_nanos() as f64 / outcome.summary.steps as f64
    };
    let theirs = || -> Option<f64> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/works/w5.py");
        let output = Command::new("python3").args([script, "100", "0.005", SECONDS]).output().ok()?;
        let told: Vec<f64> = String::from_utf8(output.stdout)
            .ok()?
            .split_whitespace()
            .filter_map(|figure| figure.parse().ok())
            .collect();
        Some(1e9 * told.first()? / told.get(1)?)
    };
    if theirs().is_none() {
        return println!("  W5 is left out: python3 with numpy is not there");
    }
    let (ours, theirs, ratio) = in_turns(5, ours, || theirs().unwrap_or(f64::NAN));
    println!("  W5, for a step: {ours:.0} ns, in Python {theirs:.0} ns: {:.1} times", 1.0 / ratio);
}

/// Microseconds of CPU time to make one run of 64 workers of a sweep ready, up to its first event.
fn set_up() -> f64 {
    const TIMES: u32 = 2000;
    let source = Source { path: "work.ron".into(), text: W1.to_owned(), colour: false };
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

/// Milliseconds from start to last output of the program with the worked example.
fn start_up() -> f64 {
    let start = Instant::now();
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/overshoot.ron");
    let output = Command::new(env!("CARGO_BIN_EXE_laggard")).args(["run", scenario]).output().expect("it starts");
    assert!(output.status.success());
    start.elapsed().as_secs_f64() * 1e3
}

/// The most memory that a run of the program had, in KiB, as the system counts it.
fn peak_kib(scenario: &str) -> Option<f64> {
    let path = format!("{}/benches/works/scenarios/{scenario}.ron", env!("CARGO_MANIFEST_DIR"));
    let run = [env!("CARGO_BIN_EXE_laggard"), "run", &path, "--quiet"];
    let output = Command::new("/usr/bin/time").args(["-f", "%M"]).args(run).output().ok()?;
    String::from_utf8_lossy(&output.stderr).trim().parse().ok()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The medians of what two programs take in turns, and of their ratios.
fn in_turns(rounds: usize, mut one: impl FnMut() -> f64, mut other: impl FnMut() -> f64) -> (f64, f64, f64) {
    let pairs: Vec<(f64, f64)> = (0..rounds).map(|_| (one(), other())).collect();
    let of = |of: fn(&(f64, f64)) -> f64| median(pairs.iter().map(of).collect());
    (of(|pair| pair.0), of(|pair| pair.1), of(|pair| pair.0 / pair.1))
}

fn main() {
    println!("work  bare loop ns/step  laggard ns/step  bare/laggard   mean lag: bare  laggard");
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    for work in WORKS.iter().filter(|work| asked.is_empty() || asked.iter().any(|name| name == work.name)) {
        let steps = prepare(work.scenario, &[]).model.stop.updates;
        let (mut bare_lag, mut our_lag) = (0.0, 0.0);
        let bare = || {
            let start = ProcessTime::now();
            let told = (work.bare)(steps);
            bare_lag = told.mean_lag;
            std::hint::black_box(told.w);
            start.elapsed().as_nanos() as f64 / steps as f64
        };
        let ours = || {
            let (nanos, _, lag) = laggard(work.scenario, &[], NoRows);
            our_lag = lag;
            nanos
        };
        let (bare, ours, ratio) = in_turns(work.rounds, bare, ours);
        println!("{:<6}{bare:>17.1}{ours:>17.1}{ratio:>14.2}{bare_lag:>17.1}{our_lag:>9.1}", work.name);
    }
    if !asked.is_empty() {
        return;
    }
    println!("\nbeside W1, for a gradient applied");
    let w1 = || laggard(W1, &[], NoRows).0;
    for (name, scenario) in PROTOCOLS {
        let (ours, _, ratio) = in_turns(ROUNDS, || laggard(scenario, &[], NoRows).0, w1);
        println!("  {name:<28}{ours:>8.1} ns  {ratio:>6.2} times");
    }
    let sampled = || laggard(W1, &["record: (gradients: Every(100))"], NoRows).0;
    let (_, _, ratio) = in_turns(ROUNDS, sampled, w1);
    println!("  one gradient in 100 looked at{:>18.2} times", ratio);
    let rows: Vec<[f64; 3]> = (0..3).map(|_| written()).collect();
    let [cpu, wall, bytes] = [0, 1, 2].map(|figure| median(rows.iter().map(|row| row[figure]).collect()));
    println!(
        "  every gradient to Parquet   {cpu:>8.1} ns  on two cores {wall:.1} ns, {:.2} million rows a second; {bytes:.0} bytes a row",
        1e3 / wall
    );
    growth();
    published();
    println!("\nset-up of a run of 64 workers: {:.1} µs", median((0..ROUNDS).map(|_| set_up()).collect()));
    println!(
        "start to last output of `run scenarios/overshoot.ron`: {:.1} ms",
        median((0..21).map(|_| start_up()).collect())
    );
    if let (Some(few), Some(many)) = (peak_kib("w1"), peak_kib("w3")) {
        let each = (many - few) * 1024.0 / 1e6;
        println!("memory: {:.1} MiB with 64 workers, {each:.0} bytes for each of a million more", few / 1024.0);
    }
}
