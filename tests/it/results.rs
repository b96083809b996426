//! The result files: their names and columns, read back; equal bytes for equal runs; nothing half written.
#![cfg(feature = "parquet")]

use polars::prelude::{DataFrame, ParquetReader, SerReader};
use std::path::Path;
use std::process::{Command, Output};

fn run(arguments: &[&Path]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_laggard"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).arg("run").args(arguments).arg("--quiet").output().unwrap()
}

/// Runs `scenario` into the folder `out` in `folder`.
fn results(folder: &Path, scenario: &str, out: &str) -> std::path::PathBuf {
    let file = folder.join("scenario.ron");
    std::fs::write(&file, scenario).unwrap();
    let out = folder.join(out);
    let output = run(&[&file, Path::new("--out"), &out]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    out
}

fn read(folder: &Path, name: &str) -> DataFrame {
    let file = std::fs::File::open(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    ParquetReader::new(file).finish().unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn sum(frame: &DataFrame, column: &str) -> f64 {
    let cast = frame.column(column).unwrap().cast(&polars::prelude::DataType::Float64).unwrap();
    cast.f64().unwrap().iter().flatten().sum()
}

const SCENARIO: &str = "Scenario(
    objective: Quadratic(curvature: 1.0), start: [1.0], optimiser: [Sgd(learning_rate: 0.01)],
    workers: [(name: \"fast\", count: 3, compute: Exponential(mean: 1.0)), (name: \"slow\", compute: Constant(4.0), weight: 0.5)],
    network: (download: Exponential(mean: 0.1)), server: (service: Constant(0.05)),
    stop: (updates: 3000), record: (gradients: All))";

#[test]
fn every_file_of_the_plan_is_there_with_its_columns() {
    let folder = tempfile::tempdir().unwrap();
    let out = results(folder.path(), SCENARIO, "out");
    let expected = [
        "gradients.parquet",
        "lag_causes.parquet",
        "lag_histogram.parquet",
        "lag_joint.parquet",
        "participation.parquet",
        "scenario.ron",
        "summary.parquet",
        "trajectory.parquet",
    ];
    assert_eq!(names(&out), expected);
    let columns = |name: &str| -> Vec<String> {
        read(&out, name).get_column_names().iter().map(|name| name.to_string()).collect()
    };
    let gradients = "run, worker, class, version_read, version_applied, lag_versions, lag_s, lag_clocks, read_s, received_s, \
        computed_s, arrived_s, applied_s, download_s, compute_s, upload_s, queue_s, service_s, hold_s, outage_s, drift, \
        gradient_error, weight, multiplicity, fate, read_ns, received_ns, computed_ns, arrived_ns, applied_ns, shard";
    assert_eq!(columns("gradients.parquet").join(", "), gradients);
    let summary = columns("summary.parquet");
    let wanted = "run, seed, replication, steps, time_s, throughput_per_s, lag_versions_mean, lag_versions_sd, lag_versions_p50, \
        lag_versions_p90, lag_versions_p99, lag_versions_max, lag_s_mean, lag_s_sd, lag_s_p50, lag_s_p90, lag_s_p99, lag_s_max, \
        loss, started, applied, rejected, dropped, cancelled, lost, rolled_back, in_flight, cost, fingerprint, ended";
    for name in wanted.split(", ") {
        assert!(summary.iter().any(|column| column == name), "summary.parquet has no {name}");
    }
    assert_eq!(columns("lag_histogram.parquet"), ["run", "class", "unit", "lower", "upper", "count", "weight"]);
    assert_eq!(columns("lag_causes.parquet"), ["run", "class", "cause", "mean_s", "p99_s", "share"]);
    assert_eq!(columns("trajectory.parquet"), ["run", "time_s", "version", "updates", "loss", "distance", "cost"]);
}

#[test]
fn the_tables_agree_with_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let out = results(folder.path(), SCENARIO, "out");
    let (gradients, histogram) = (read(&out, "gradients.parquet"), read(&out, "lag_histogram.parquet"));
    let (participation, summary) = (read(&out, "participation.parquet"), read(&out, "summary.parquet"));
    assert_eq!((gradients.height(), participation.height(), summary.height()), (3004, 4, 1));
    assert_eq!(sum(&histogram, "count"), 3.0 * 3000.0, "once in versions, seconds and clocks");
    assert_eq!(sum(&read(&out, "lag_joint.parquet"), "count"), 3000.0);
    assert_eq!(
        (sum(&participation, "started"), sum(&participation, "applied"), sum(&participation, "in_flight")),
        (3004.0, 3000.0, 4.0)
    );
    assert!((sum(&participation, "weight_share") - 1.0).abs() < 1e-12);
    let parts = ["download_s", "compute_s", "upload_s", "queue_s", "service_s", "hold_s", "outage_s"];
    let causes: f64 = parts.iter().map(|part| sum(&gradients.head(Some(3000)), part)).sum();
    let lags = sum(&gradients.head(Some(3000)), "lag_s");
    assert!((causes - lags).abs() < 1e-6, "{causes} s of causes, {lags} s of lag");
    assert!((sum(&summary, "lag_s_mean") - lags / 3000.0).abs() < 1e-9);
    // Conservation from the file alone: each step raises the lag of all gradients then in flight, of which there are four
    // but for the one that it uses.
    assert_eq!(sum(&gradients, "lag_versions"), 3000.0 * 3.0);
    let shares = read(&out, "lag_causes.parquet");
    assert!((sum(&shares, "share") - 2.0).abs() < 1e-9, "the shares of each class add up to 1");
}

#[test]
fn equal_runs_give_equal_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (results(folder.path(), SCENARIO, "a"), results(folder.path(), SCENARIO, "b/c"));
    for name in names(&first) {
        let bytes = |out: &Path| std::fs::read(out.join(&name)).unwrap();
        assert!(bytes(&first) == bytes(&second), "{name} differs");
    }
}

#[test]
fn more_rows_than_one_batch_are_all_written() {
    let folder = tempfile::tempdir().unwrap();
    let out = results(folder.path(), &SCENARIO.replace("3000", "300000"), "out");
    let gradients = read(&out, "gradients.parquet");
    assert_eq!((gradients.height(), sum(&gradients, "lag_versions")), (300_004, 900_000.0));
}

#[test]
fn the_resolved_scenario_beside_the_results_gives_the_same_results() {
    let folder = tempfile::tempdir().unwrap();
    let first = results(folder.path(), SCENARIO, "a");
    let second = results(folder.path(), &std::fs::read_to_string(first.join("scenario.ron")).unwrap(), "b");
    assert!(
        std::fs::read(first.join("gradients.parquet")).unwrap()
            == std::fs::read(second.join("gradients.parquet")).unwrap()
    );
}

#[test]
fn a_new_run_replaces_the_files_of_the_old_one_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let out = results(folder.path(), SCENARIO, "out");
    std::fs::write(out.join("notes.txt"), "mine").unwrap();
    results(folder.path(), &SCENARIO.replace("gradients: All", ""), "out");
    assert!(!names(&out).contains(&"gradients.parquet".to_owned()), "an old file would lie about the new run");
    assert_eq!(std::fs::read_to_string(out.join("notes.txt")).unwrap(), "mine");
}

#[test]
fn a_folder_that_cannot_be_written_is_found_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("scenario.ron");
    std::fs::write(&file, SCENARIO).unwrap();
    let blocked = folder.path().join("taken");
    std::fs::write(&blocked, "a file, not a folder").unwrap();
    let long = folder.path().join("new").join("a".repeat(300));
    for out in [blocked.clone(), blocked.join("inside"), "/proc/laggard".into(), long] {
        let output = run(&[&file, Path::new("--out"), &out]);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{}: {message}", out.display());
        assert!(message.starts_with("error: ") && !message.contains("panicked"), "{message}");
    }
    assert_eq!(names(folder.path()), ["scenario.ron", "taken"]);
}

/// Results must not replace what the run was made from, nor be stopped half way by a folder in their place.
#[test]
fn a_folder_that_holds_an_input_or_a_folder_in_the_way_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("scenario.ron");
    std::fs::write(&file, SCENARIO).unwrap();
    let output = run(&[&file, Path::new("--out"), folder.path()]);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is read by this run"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), SCENARIO);
    let out = folder.path().join("out");
    std::fs::create_dir_all(out.join("trajectory.parquet")).unwrap();
    let output = run(&[&file, Path::new("--out"), &out]);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is a folder, where a result file is to be"));
    assert_eq!(names(&out), ["trajectory.parquet"]);
}

/// Of a gradient in flight at the end, causes are where its time went so far.
#[test]
fn what_did_not_come_yet_is_missing_and_causes_add_up_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = "Scenario(objective: Quadratic(curvature: 1.0), start: [1.0], optimiser: [Sgd(learning_rate: 0.1)],
        workers: [(count: 3, compute: Constant(1.0)), (compute: Constant(100.0), upload: Constant(0.5))],
        server: (service: Constant(4.0)), stop: (time_s: 10.5), record: (gradients: All))";
    let rows = read(&results(folder.path(), scenario, "out"), "gradients.parquet");
    let in_flight = rows.slice(sum(&rows, "multiplicity") as i64 - 4, 4);
    let number = |column: &str, row: usize| {
        let cast = in_flight.column(column).unwrap().cast(&polars::prelude::DataType::Float64).unwrap();
        cast.f64().unwrap().get(row)
    };
    for row in 0..4 {
        let parts = ["download_s", "compute_s", "upload_s", "queue_s", "service_s", "hold_s", "outage_s"];
        let causes: f64 = parts.iter().map(|part| number(part, row).unwrap()).sum();
        assert_eq!(Some(causes), number("lag_s", row), "row {row}");
        assert_eq!(number("applied_s", row), None);
    }
    // The third of three arrived at 1 s, waits until 9 s, and is being served; the slow one computes.
    assert_eq!([number("queue_s", 2), number("service_s", 2)], [Some(8.0), Some(1.5)]);
    assert_eq!([number("compute_s", 3), number("upload_s", 3), number("computed_s", 3)], [Some(10.5), Some(0.0), None]);
}

/// A run that fails half way takes the folders that it made with it.
#[test]
fn a_run_that_fails_leaves_no_folder_behind() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("scenario.ron");
    std::fs::write(&file, SCENARIO.replace("Constant(4.0)", "Pareto(minimum: 1.0, shape: 0.02)")).unwrap();
    let output = run(&[&file, Path::new("--out"), &folder.path().join("a/b")]);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(names(folder.path()), ["scenario.ron"]);
}

#[test]
fn footers_say_where_a_file_comes_from_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let out = results(folder.path(), SCENARIO, "out");
    for name in names(&out).iter().filter(|name| name.ends_with(".parquet")) {
        let bytes = std::fs::read(out.join(name)).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for key in
            ["laggard.schema_version", "laggard.version", "laggard.scenario_hash", "laggard.seed", "laggard.units"]
        {
            assert!(text.contains(key), "{name} has no {key}");
        }
        let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
        assert!(host.trim().len() < 4 || !text.contains(host.trim()), "{name} names the host");
        assert!(!text.contains(&folder.path().display().to_string()), "{name} names a path");
    }
}
