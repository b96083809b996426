//! Many runs: plans, threads, resumption, statistics and comparisons.

use crate::support::{fates, play, quadratic, source};
use laggard::cluster::Fate;
use laggard::study::{Plan, Prepared, run, statistics};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const BASE: &str = "Scenario(objective: Quadratic(curvature: 1.0), start: [1.0], noise: Gaussian(sd: 0.1),
    optimiser: [Sgd(learning_rate: 0.05)], workers: [(count: 4, compute: Exponential(mean: 1.0))], stop: (updates: 2000))";

const SWEEP: &str = "Sweep(
    scenario: \"base.ron\",
    axes: [
        Counts([1, 2, 4]),
        Changes(name: \"law\", values: [
            (\"gamma\", (each_class: (compute: Gamma(mean: 1.0, cv: 0.5)))),
            (\"pareto\", (each_class: (compute: Pareto(minimum: 0.5, shape: 1.5)))),
        ]),
    ],
    replications: Fixed(3),
    tables: [LagHistogram, LagJoint, LagCauses, Participation, Trajectory],
)";

pub fn laggard(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_laggard")).args(arguments).output().unwrap()
}

/// A folder with the sweep and its scenario.
pub fn folder(sweep: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("base.ron"), BASE).unwrap();
    std::fs::write(folder.path().join("sweep.ron"), sweep).unwrap();
    folder
}

pub fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_string_lossy().into_owned()
}

fn sweep(folder: &Path, out: &str, more: &[&str]) -> Output {
    let (file, out) = (path(folder, "sweep.ron"), path(folder, out));
    laggard(&[&["sweep", &file, "--out", &out, "--json"], more].concat())
}

/// Every file below a folder with its bytes.
pub fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = PathBuf::from(path.file_name().unwrap());
        if path.is_dir() {
            found.extend(files(&path).into_iter().map(|(below, bytes)| (name.join(below), bytes)));
        } else {
            found.insert(name, std::fs::read(&path).unwrap());
        }
    }
    found
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let folder = folder(SWEEP);
    let outputs = ["1", "2", "4", "8"].map(|jobs| sweep(folder.path(), jobs, &["--jobs", jobs]));
    assert!(outputs.iter().all(|output| output.status.code() == Some(0)), "{outputs:?}");
    let first = files(&folder.path().join("1"));
    assert!(first.len() == 1 + 18 + 7, "{:?}", first.keys());
    for (jobs, output) in ["2", "4", "8"].iter().zip(&outputs[1..]) {
        assert_eq!(files(&folder.path().join(jobs)), first, "{jobs}");
        assert_eq!(output.stdout, outputs[0].stdout);
    }
    let cells: Value = serde_json::from_slice(&outputs[0].stdout).unwrap();
    let cell = &cells[5];
    assert_eq!((cell["axes"]["workers"].as_str(), cell["axes"]["law"].as_str()), (Some("4"), Some("pareto")));
    assert_eq!(cell["figures"]["lag_s_mean"]["caution"], "the variance is infinite: no interval");
    assert!(cell["figures"]["lag_versions_mean"]["half_width"].as_f64().unwrap() > 0.0);
    assert_eq!(cell["ended"]["updates"], 3);
}

/// Killed without warning, a hundred times: what has a final name opens, and the same command comes to the same bytes in the end.
#[test]
fn a_sweep_that_is_killed_goes_on_where_it_was() {
    let longer = SWEEP.replace("Fixed(3)", "Fixed(40)").replace("Counts([1, 2, 4])", "Counts([1, 2, 4, 8, 16])");
    let folder = folder(&longer);
    assert_eq!(sweep(folder.path(), "whole", &[]).status.code(), Some(0));
    let (file, out) = (path(folder.path(), "sweep.ron"), path(folder.path(), "killed"));
    let mut finished = 0;
    // On a busy machine a kill in the middle comes later.
    let mut longest_us = 9000;
    for kill in 0..100u64 {
        longest_us *= if finished == 0 && kill % 10 == 9 { 2 } else { 1 };
        let mut child = Command::new(env!("CARGO_BIN_EXE_laggard"))
            .args(["sweep", &file, "--out", &out, "--quiet", "--jobs", "2"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_micros(500 + kill.wrapping_mul(7919) % longest_us));
        child.kill().unwrap();
        child.wait().unwrap();
        let runs = folder.path().join("killed/runs");
        let Ok(entries) = std::fs::read_dir(runs) else { continue };
        let names: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        let whole = names.iter().filter(|name| name.extension().is_some_and(|extension| extension == "json"));
        let count = whole.inspect(|name| drop(read_json(name))).count();
        assert!(count >= finished, "a finished run was lost");
        finished = count;
    }
    assert!(finished > 0, "no kill came in the middle");
    assert_eq!(sweep(folder.path(), "killed", &[]).status.code(), Some(0));
    let mut whole = files(&folder.path().join("whole"));
    let killed = files(&folder.path().join("killed"));
    assert_eq!(killed.len(), whole.len());
    for (name, bytes) in killed {
        assert!(whole.remove(&name) == Some(bytes), "{} differs", name.display());
    }
}

fn read_json(name: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(name).unwrap()).unwrap_or_else(|error| panic!("{}: {error}", name.display()))
}

#[test]
fn a_plan_can_be_cut_and_its_parts_united() {
    let folder = folder(SWEEP);
    assert_eq!(sweep(folder.path(), "whole", &[]).status.code(), Some(0));
    for (out, cells) in [("a", "0..2"), ("b", "2..6")] {
        assert_eq!(sweep(folder.path(), out, &["--only", cells]).status.code(), Some(0));
    }
    let [file, a, b, united] = ["sweep.ron", "a", "b", "united"].map(|name| path(folder.path(), name));
    let output = laggard(&["merge", &file, &a, &b, "--out", &united, "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(files(Path::new(&united)), files(&folder.path().join("whole")));
    assert_eq!(sweep(folder.path(), "c", &["--only", "4..7"]).status.code(), Some(2));
    assert_eq!(laggard(&["merge", &file, &path(folder.path(), "nowhere"), "--out", &united]).status.code(), Some(2));
}

#[test]
fn another_sweep_is_not_continued_but_more_replications_are() {
    let folder = folder(SWEEP);
    assert_eq!(sweep(folder.path(), "out", &[]).status.code(), Some(0));
    let output = sweep(folder.path(), "out", &["--set", "stop: (updates: 100)"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("belongs to another sweep"), "{output:?}");
    std::fs::write(folder.path().join("sweep.ron"), SWEEP.replace("Fixed(3)", "Fixed(5)")).unwrap();
    let cells: Value = serde_json::from_slice(&sweep(folder.path(), "out", &[]).stdout).unwrap();
    assert_eq!(cells[0]["runs"], 5);
    // A comment, or how sure intervals are, is no other sweep; a learning rate is.
    std::fs::write(folder.path().join("base.ron"), format!("// More.\n{BASE}")).unwrap();
    let surer = SWEEP.replace("replications", "level: 0.99, replications");
    std::fs::write(folder.path().join("sweep.ron"), surer).unwrap();
    assert_eq!(sweep(folder.path(), "out", &[]).status.code(), Some(0));
    std::fs::write(folder.path().join("base.ron"), BASE.replace("0.05", "0.06")).unwrap();
    assert_eq!(sweep(folder.path(), "out", &[]).status.code(), Some(2));
}

/// Results follow from what the sweep says now: not from the runs that an earlier one left, be they more or others.
#[test]
fn results_do_not_depend_on_what_was_asked_for_before() {
    let until = |relative: f64, at_least: u64| {
        let rule = format!("Until(quantity: \"lag_s_mean\", relative: {relative}, at_least: {at_least}, at_most: 20)");
        SWEEP.replace("Fixed(3)", &rule)
    };
    let folder = folder(&until(0.02, 4));
    let tables = |out: &str| {
        let runs = |name: &PathBuf| name.starts_with("runs");
        files(&folder.path().join(out)).into_iter().filter(|(name, _)| !runs(name)).collect::<BTreeMap<_, _>>()
    };
    assert_eq!(sweep(folder.path(), "old", &[]).status.code(), Some(0));
    for (place, text) in [SWEEP.to_owned(), until(0.05, 3), until(0.5, 5)].iter().enumerate() {
        std::fs::write(folder.path().join("sweep.ron"), text).unwrap();
        let fresh = format!("fresh{place}");
        let outputs = [sweep(folder.path(), "old", &[]), sweep(folder.path(), &fresh, &[])];
        assert_eq!(outputs[0].stdout, outputs[1].stdout);
        assert_eq!(tables("old"), tables(&fresh), "{text}");
    }
}

#[test]
fn what_a_sweep_did_not_get_is_said() {
    let folder = folder(SWEEP);
    let text = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let output = sweep(folder.path(), "part", &["--only", "0..2"]);
    assert!(text(&output).contains("of 6 combinations, 4 have no runs and 0 have fewer"), "{output:?}");
    std::fs::write(folder.path().join("sweep.ron"), SWEEP.replace("Fixed(3)", "Fixed(5)")).unwrap();
    let [file, part, out] = ["sweep.ron", "part", "merged"].map(|name| path(folder.path(), name));
    let output = laggard(&["merge", &file, &part, "--out", &out, "--quiet"]);
    assert!(text(&output).contains("of 6 combinations, 4 have no runs and 2 have fewer"), "{output:?}");
    // No run has a target, and half of the cells no variance.
    for (quantity, cells) in [("time_to_loss_s", 6), ("lag_s_mean", 3)] {
        let rule = format!("Until(quantity: \"{quantity}\", relative: 0.9, at_least: 2, at_most: 3)");
        std::fs::write(folder.path().join("sweep.ron"), SWEEP.replace("Fixed(3)", &rule)).unwrap();
        let output = sweep(folder.path(), quantity, &[]);
        let expected = format!("in {cells} of 6 combinations {quantity} is not as precise");
        assert!(text(&output).contains(&expected), "{output:?}");
    }
}

#[test]
fn mistakes_of_a_sweep_are_shown_at_once() {
    let wrong = "Sweep(scenario: \"none.ron\", axes: [Changes(name: \"\", values: [(\"a\", (protocol: Async))]),
        LearningRatesBetween(from: 0.1, to: 1.0, count: 1)],
        replications: Until(quantity: \"lag_s_men\", relative: 0.1, at_least: 9, at_most: 1))";
    let folder = folder(wrong);
    let output = sweep(folder.path(), "out", &[]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    for said in [
        "none.ron",
        "has an empty name",
        "at least two learning rates",
        "did you mean `lag_s_mean`?",
        "`at_least` is more than `at_most`",
        "of a single run there is no interval",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let all = "exclude: [{\"law\": \"gamma\"}, {\"law\": \"pareto\"}], replications";
    std::fs::write(folder.path().join("sweep.ron"), SWEEP.replace("replications", all)).unwrap();
    let output = sweep(folder.path(), "out", &[]);
    assert!(
        output.status.code() == Some(2) && String::from_utf8_lossy(&output.stderr).contains("no combination is left")
    );
    assert!(!folder.path().join("out").exists());
    let base = path(folder.path(), "base.ron");
    let output = laggard(&["sweep", &base, "--plan"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("give it to `laggard run`"), "{output:?}");
    let output = laggard(&["run", &path(folder.path(), "sweep.ron")]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("give it to `laggard sweep`"), "{output:?}");
}

#[test]
fn a_plan_is_numbered_and_needs_no_folder() {
    let folder =
        folder(&SWEEP.replace("Fixed(3)", "Until(quantity: \"loss\", relative: 0.1, at_least: 3, at_most: 9)"));
    let file = path(folder.path(), "sweep.ron");
    let output = laggard(&["sweep", &file, "--plan", "--only", "2..4"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("2 combinations × 3 to 9 runs, about 12000 to 36000 optimiser steps in all: about "),
        "{text}"
    );
    assert!(text.ends_with("     2  workers 2, law gamma\n     3  workers 2, law pareto\n"), "{text}");
    assert_eq!(laggard(&["sweep", &file]).status.code(), Some(2));
}

/// The folder of a sweep that is running is not touched by another process.
#[cfg(unix)]
#[test]
fn two_processes_do_not_work_on_one_folder() {
    let folder = folder(&SWEEP.replace("Fixed(3)", "Fixed(100000)"));
    let (file, out) = (path(folder.path(), "sweep.ron"), path(folder.path(), "out"));
    let mut first = Command::new(env!("CARGO_BIN_EXE_laggard"))
        .args(["sweep", &file, "--out", &out, "--quiet"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while std::fs::read_dir(folder.path().join("out/runs")).map_or(0, Iterator::count) < 10 {}
    let second = laggard(&["sweep", &file, "--out", &out]);
    let text = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(second.status.code() == Some(2) && text.contains("another process works on this folder"), "{text}");
    // Ctrl-C keeps what is finished, and says so.
    let kill = Command::new("kill").args(["-INT", &first.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let mut said = String::new();
    std::io::Read::read_to_string(first.stderr.as_mut().unwrap(), &mut said).unwrap();
    assert_eq!(first.wait().unwrap().code(), Some(130));
    assert!(said.contains("interrupted; ") && said.contains("the same command continues"), "{said}");
    let names: Vec<PathBuf> = files(&folder.path().join("out")).into_keys().collect();
    assert!(names.len() > 10 && !names.iter().any(|name| name.to_string_lossy().ends_with("tmp")), "{names:?}");
}

/// A disk without room: said as it is, with nothing half written left, and nothing finished lost.
#[cfg(unix)]
#[test]
fn a_full_disk_is_said_as_it_is() {
    let folder = folder(SWEEP);
    // No file may be longer than 4 KiB.
    let limited = |arguments: &str| {
        let script = format!("trap '' XFSZ; ulimit -f 8; exec '{}' {arguments}", env!("CARGO_BIN_EXE_laggard"));
        Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output().unwrap()
    };
    for arguments in
        ["run base.ron --set 'record: (gradients: All)' --out run --quiet", "sweep sweep.ron --out sweep --quiet"]
    {
        let output = limited(arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(3) && text.contains("File too large"), "{arguments}: {text}");
    }
    assert!(!folder.path().join("run").exists());
    let left: Vec<PathBuf> = files(&folder.path().join("sweep")).into_keys().collect();
    assert_eq!(left, [PathBuf::from("sweep.json")]);
    assert_eq!(sweep(folder.path(), "sweep", &[]).status.code(), Some(0));
}

/// Learning rates beyond the edge of stability: numbers beyond all numbers have no interval, and are no numbers in files.
#[test]
fn runs_that_diverge_have_a_caution_and_no_interval() {
    let folder = folder(&SWEEP.replace("(\"gamma\", (", "(\"gamma\", (learning_rate: 3.0, "));
    let cells: Value = serde_json::from_slice(&sweep(folder.path(), "out", &[]).stdout).unwrap();
    let loss = &cells[4]["figures"]["loss"];
    assert_eq!(cells[4]["ended"]["diverged"], 3);
    assert_eq!(loss["caution"], "a value or the deviation is not finite: no interval");
    assert!(loss["half_width"].is_null(), "{loss}");
}

#[test]
fn zipped_axes_go_together_and_exclusions_are_left_out() {
    let text = "Sweep(scenario: \"base.ron\", axes: [Counts([1, 2]), LearningRates([0.1, 0.2]),
        Changes(name: \"p\", values: [(\"a\", (protocol: Async)), (\"s\", (protocol: Sync))])],
        zip: [[\"workers\", \"learning_rate\"]], exclude: [{\"workers\": \"1\", \"p\": \"s\"}])";
    let folder = folder(text);
    let source = laggard::scenario::Source::read(&folder.path().join("sweep.ron")).unwrap();
    let plan = Plan::new(&source, &[]).unwrap();
    let labels: Vec<&[String]> = plan.cells.iter().map(|cell| cell.labels.as_slice()).collect();
    assert_eq!(labels, [["1", "0.1", "a"], ["2", "0.2", "a"], ["2", "0.2", "s"]]);
    let prepared = plan.prepare(2, 7).unwrap();
    assert_eq!((prepared.scenario.worker_count(), prepared.scenario.replication), (2, 7));
    assert_eq!(prepared.scenario.protocol.name(), "Sync");
}

/// Mistakes of a sweep are shown where they are: in its axes, or in what a value of one sets.
#[test]
fn mistakes_of_a_sweep_are_shown_where_they_are() {
    let refuse = |text: &str| {
        let folder = folder(text);
        let output = sweep(folder.path(), "out", &[]);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(!folder.path().join("out").exists(), "{text}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let with = |from: &str, to: &str| refuse(&SWEEP.replacen(from, to, 1));
    assert!(with("Counts([1, 2, 4])", "Counts([])").contains("axis `workers` has no values"));
    assert!(with("Counts([1, 2, 4])", "Counts([2, 2])").contains("has a value twice"));
    assert!(with("\"law\"", "\"workers\"").contains("two axes are called `workers`"));
    assert!(with("base.ron", "bose.ron").contains("paths are relative to the sweep's folder"));
    assert!(with("replications: Fixed(3)", "zip: [[\"x\"]]").contains("no axis is called `x`"));
    assert!(with("replications: Fixed(3)", "zip: [[\"workers\", \"law\"]]").contains("different numbers of values"));
    assert!(with("replications: Fixed(3)", "exclude: [{\"law\": \"x\"}]").contains("no axis `law` has a value `x`"));
    let unknown = "replications: Until(quantity: \"lag\", relative: 0.1, at_least: 2, at_most: 3)";
    assert!(with("replications: Fixed(3)", unknown).contains("no number in the summary is called `lag`"));
    let message = with("Gamma(mean: 1.0, cv: 0.5)", "Gamma(mean: 1.0, cv: 1e9)");
    assert!(message.contains("with workers 1, law gamma:") && message.contains("sweep.ron:6:"), "{message}");
    assert!(with("cv: 0.5", "cw: 0.5").contains("unknown field `cw`"));
}

/// As many runs as it takes for a narrow interval, five at a time.
#[test]
fn replications_go_on_until_a_figure_is_known() {
    let until = "Until(quantity: \"lag_s_mean\", relative: 0.02, at_least: 5, at_most: 60)";
    let folder = folder(&SWEEP.replace("Fixed(3)", until));
    let cells: Value = serde_json::from_slice(&sweep(folder.path(), "out", &[]).stdout).unwrap();
    for cell in cells.as_array().unwrap() {
        let (runs, figure) = (cell["runs"].as_u64().unwrap(), &cell["figures"]["lag_s_mean"]);
        assert_eq!(runs % 5, 0);
        let narrow = |half: f64| half <= 0.02 * figure["mean"].as_f64().unwrap();
        assert!(runs == 60 || figure["half_width"].as_f64().is_none_or(narrow), "{cell}");
    }
    let runs: Vec<u64> = cells.as_array().unwrap().iter().map(|cell| cell["runs"].as_u64().unwrap()).collect();
    assert!(runs.iter().any(|&runs| runs < 60), "{runs:?}");
}

/// Rounds of synchronous SGD are independent, and last H₄ on average: in 1,000 studies of eight replications each, the 95 %
/// interval covers that in 950, give or take four binomial deviations.
#[test]
fn intervals_cover_what_they_promise() {
    let text = quadratic("(count: 4, compute: Exponential(mean: 1.0))", "protocol: Sync, stop: (updates: 60)");
    let truth = 25.0 / 12.0;
    let covers = |study: u64| {
        let seconds = |replication: u64| {
            let prepared = Prepared::new(&source(&text), Some(study), Some(replication)).unwrap();
            run(prepared, laggard::output::NoRows, |_| true).unwrap().summary.time_s / 60.0
        };
        let values: Vec<f64> = (0..8).map(seconds).collect();
        let estimate = statistics::mean(&values, 0.95).unwrap();
        (estimate.mean - truth).abs() <= estimate.half_width.unwrap()
    };
    let covered = (0..1000).filter(|&study| covers(study)).count();
    assert!((922..=978).contains(&covered), "{covered}");
}

/// Another protocol leaves worker k's j-th compute time as it was.
#[test]
fn all_protocols_draw_the_same_compute_times() {
    let times = |protocol: &str| {
        let rest = format!("protocol: {protocol}, stop: (time_s: 60.0), record: (gradients: All)");
        let outcome = play(&quadratic("(count: 5, compute: Gamma(mean: 1.0, cv: 0.7))", &rest));
        assert!(fates(&outcome, Fate::Applied).iter().all(|&applied| applied > 3.0), "{protocol}");
        let finished = outcome.recording.sink.iter().map(|row| row.gradient).filter(|g| g.computed <= g.ended);
        finished.map(|g| ((g.worker, g.index), g.computed.since(g.received))).collect::<BTreeMap<_, _>>()
    };
    let first = times("Async");
    for protocol in
        ["Sync", "Ssp(bound: 1)", "KBatchAsync(k: 3)", "FedBuff(buffer: 2, concurrency: 3)", "Rennala(batch: 2)"]
    {
        let other = times(protocol);
        let common = other.iter().filter(|(address, _)| first.contains_key(address));
        let same = common.clone().filter(|&(address, span)| first[address] == *span).count();
        assert!(same > 50 && same == common.count(), "{protocol}");
    }
}

#[test]
fn scenarios_are_compared_on_the_same_random_numbers() {
    let folder = folder(SWEEP);
    let base = path(folder.path(), "base.ron");
    let same = path(folder.path(), "same.ron");
    std::fs::write(&same, BASE.replace("0.05", "0.05000001")).unwrap();
    let slower = path(folder.path(), "slower.ron");
    std::fs::write(&slower, BASE.replace("mean: 1.0", "mean: 1.01")).unwrap();
    let output = laggard(&["compare", &base, &same, &slower, "-n", "10", "--show", "lag_s_mean,loss", "--json"]);
    let object: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let lag = &object["lag_s_mean"];
    assert_eq!((lag[1]["verdict"].as_str(), lag[1]["share_lower"].as_f64()), (Some("equal"), Some(0.5)));
    // One per cent more is far within the noise of a run, but not with the same random numbers.
    assert_eq!((lag[2]["verdict"].as_str(), lag[2]["share_lower"].as_f64()), (Some("higher"), Some(0.0)));
    let spread = lag[2]["figure"]["half_width"].as_f64().unwrap();
    assert!(lag[2]["difference"]["mean"].as_f64().unwrap() < spread);
    assert!(lag[2]["difference"]["half_width"].as_f64().unwrap() < 0.1 * spread);
    assert_eq!(laggard(&["compare", &base, &same, "--show", "lag"]).status.code(), Some(2));
    assert_eq!(laggard(&["compare", &base, &same, "--level", "2"]).status.code(), Some(2));
}

#[test]
fn the_first_event_at_which_runs_part_is_named() {
    let folder = folder(SWEEP);
    let base = path(folder.path(), "base.ron");
    let output = laggard(&["diff", &base]);
    assert_eq!(
        (output.status.code(), String::from_utf8_lossy(&output.stdout).contains("all 2004 events are the same")),
        (Some(0), true)
    );
    let output = laggard(&["diff", &base, "--other-set", "learning_rate: 0.06"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("the parameters differ from step 1 on") && text.contains("all 2004 events"), "{text}");
    let output = laggard(&["diff", &base, "--other-set", "each_class: (joins_at: 0.25)"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("0 events are the same; then\n  first:  at 0 s, version 0: worker 0 joins"), "{text}");
}

/// Every sweep that comes with the project can be run.
#[test]
fn every_sweep_is_a_plan() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/sweeps");
    let mut sweeps = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        let source = laggard::scenario::Source::read(&file).unwrap();
        if source.text.lines().any(|line| line.starts_with("Sweep(")) {
            let plan = Plan::new(&source, &[]).unwrap_or_else(|error| panic!("{error}"));
            for cell in 0..plan.cells.len() {
                plan.prepare(cell, 0).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            }
            assert!(source.text.contains("// Expected"), "{}", file.display());
            sweeps += 1;
        }
    }
    assert!(sweeps >= 5);
}

#[test]
fn the_catalogues_have_every_part_of_a_sweep() {
    crate::support::check_catalogue::<laggard::study::Axis>(laggard::study::Axis::CATALOGUE);
    crate::support::check_catalogue::<laggard::study::Kept>(laggard::study::Kept::CATALOGUE);
    crate::support::check_catalogue::<laggard::study::Replications>(laggard::study::Replications::CATALOGUE);
}

/// Workers that join one after the other: what is left out is what came before, in all figures of lag and rate.
#[test]
fn a_warm_up_is_left_out() {
    let workers: String =
        (0..8).map(|worker| format!("(compute: Exponential(mean: 1.0), joins_at: {}.0),", 20 * worker)).collect();
    let scenario = |warm_up: &str| {
        let server = "server: (service: Exponential(mean: 0.02))";
        quadratic(&workers, &format!("{server}, stop: (updates: 6000), record: (gradients: All, warm_up: {warm_up})"))
    };
    let whole = play(&scenario("Off"));
    let cut = play(&scenario("Updates(1000)"));
    assert_eq!(whole.summary.fingerprint, cut.summary.fingerprint);
    let rows = whole.recording.sink.iter().map(|row| row.gradient);
    let after: Vec<_> = rows.filter(|g| g.fate == Fate::Applied && g.version_applied >= 1000).collect();
    let n = after.len() as f64;
    let mean = |of: &dyn Fn(&laggard::cluster::Gradient) -> f64| after.iter().map(of).sum::<f64>() / n;
    let near = |actual: Option<f64>, expected: f64| assert!((actual.unwrap() - expected).abs() < 1e-9, "{actual:?}");
    near(cut.summary.lag_versions.mean, mean(&|g| g.lag_versions() as f64));
    near(cut.summary.lag_s.mean, mean(&|g| g.lag().seconds()));
    near(cut.summary.lag_versions_in_flight, mean(&|g| g.lag_versions_in_flight() as f64));
    near(cut.summary.lag_s_in_flight, mean(&|g| g.arrived.since(g.read).seconds()));
    let began = after[0].ended.seconds();
    let before = whole.recording.sink.iter().filter(|row| row.gradient.version_applied == 999).map(|row| row.gradient);
    let from = before.filter(|g| g.fate == Fate::Applied).map(|g| g.ended.seconds()).next().unwrap();
    assert!(from < began);
    near(cut.summary.throughput_per_s, 5000.0 / (cut.summary.time_s - from));
    assert_eq!((cut.summary.warm_up, cut.summary.started), (1000, whole.summary.started));
    // MSER-5 finds that the first 140 s are not like the rest.
    let found = play(&scenario("Mser5"));
    assert!((200..3000).contains(&found.summary.warm_up), "{}", found.summary.warm_up);
    assert!(found.summary.lag_versions.mean > whole.summary.lag_versions.mean);
    assert_eq!(found.summary.fingerprint, whole.summary.fingerprint);
}

/// The mean of a long run with its interval: 20 batches of 1,000 steps, in 200 runs of which 95 % cover the truth, 1 s.
#[test]
fn batch_means_cover_the_truth() {
    let rest = "stop: (updates: 21000), record: (warm_up: Updates(1000), batch: Some(1000))";
    let text = quadratic("(count: 4, compute: Exponential(mean: 1.0))", rest);
    let covers = |seed: u64| {
        let prepared = Prepared::new(&source(&text), Some(seed), None).unwrap();
        let outcome = run(prepared, laggard::output::NoRows, |_| true).unwrap();
        let find = |name: &str| outcome.intervals.iter().find(|(own, _)| *own == name).unwrap().1;
        let (lag, rate) = (find("lag_s_mean"), find("throughput_per_s"));
        assert_eq!((lag.n, rate.n), (20, 20));
        [(lag, 1.0), (rate, 4.0)].map(|(figure, truth)| (figure.mean - truth).abs() <= figure.half_width.unwrap())
    };
    let covered: Vec<[bool; 2]> = (0..200).map(covers).collect();
    for figure in 0..2 {
        let count = covered.iter().filter(|covers| covers[figure]).count();
        // 190, give or take four binomial deviations.
        assert!((178..=200).contains(&count), "{count}");
    }
}

#[test]
fn the_catalogue_has_every_warm_up() {
    crate::support::check_catalogue::<laggard::record::WarmUp>(laggard::record::WarmUp::CATALOGUE);
}
