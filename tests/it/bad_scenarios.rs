//! Scenarios that cannot be run: each mistake is shown at its line and column, with the program's exit code 2, and
//! without a panic.

use crate::support::source;
use laggard::study::Prepared;
use std::process::Command;

const GOOD: &str = "Scenario(
    objective: Quadratic(curvature: 1.0),
    start: [1.0],
    optimiser: [Sgd(learning_rate: 0.1)],
    workers: [(count: 2, compute: Constant(1.0))],
    stop: (updates: 10),
)
";

/// (what to replace in the good scenario, by what, what the message says). `«` marks where the message must point.
const BAD: &[(&str, &str, &str)] = &[
    // Numbers that are none, or out of range.
    ("curvature: 1.0", "curvature: «NaN", "expected a finite number above 0, got NaN"),
    ("curvature: 1.0", "curvature: «-1.0", "expected a finite number above 0, got -1"),
    ("curvature: 1.0", "curvature: «0", "expected a finite number above 0, got 0"),
    ("curvature: 1.0", "curvature: «1e999", "expected a finite number above 0, got inf"),
    ("[1.0]", "[«inf]", "expected a finite number, got inf"),
    ("Constant(1.0)", "Constant(«NaN)", "expected seconds from 0"),
    ("Constant(1.0)", "Constant(«-0.5)", "expected seconds from 0 to 2305843009 (73 years), got -0.5"),
    ("Constant(1.0)", "Constant(«1e300)", "expected seconds from 0"),
    ("Constant(1.0)", "Exponential(mean: «-inf)", "got -inf"),
    ("count: 2", "count: «0", "expected a whole number, 1 or more, got 0"),
    ("count: 2", "count: «-1", "does not fit"),
    ("count: 2", "count: «2.5", "expected a whole number, got 2.5"),
    ("count: 2", "count: «99999999999999999999", "does not fit"),
    ("updates: 10", "updates: «0", "1 or more"),
    ("updates: 10", "time_s: «-5.0", "above 0"),
    ("learning_rate: 0.1", "learning_rate: «0.0", "above 0"),
    ("[Sgd(learning_rate: 0.1)]", "[HeavyBall(learning_rate: 0.1, momentum: «1.0)]", "above -1 and below 1"),
    // Names.
    ("start: [1.0]", "strat: [1.0]", "did you mean `start`?"),
    ("start: [1.0]", "«colour: 3", "unknown field `colour`"),
    ("start: [1.0]", "start: [1.0], «start: [2.0]", "field `start` is given twice"),
    ("Quadratic(curvature: 1.0)", "«Quadratc(curvature: 1.0)", "did you mean `Quadratic`?"),
    ("Sgd", "«SGD", "did you mean `Sgd`?"),
    ("Constant(1.0)", "«Gaussian(mean: 1.0)", "unknown name `Gaussian`"),
    ("Constant(1.0)", "Exponential(«rate: 1.0)", "unknown field `rate`"),
    ("    stop: (updates: 10),\n", "", "field `stop` is missing"),
    ("compute: Constant(1.0)", "joins_at: 0.0", "field `compute` is missing"),
    // Types and brackets.
    ("start: [1.0]", "start: «1.0", "expected a list"),
    ("curvature: 1.0", "curvature: «\"one\"", "expected a number"),
    ("stop: (updates: 10),\n)", "stop: (updates: 10),\n", "the file ends too early"),
    ("stop: (updates: 10),\n)\n", "stop: (updates: 10),\n)\n«)", "after the end"),
    ("start: [1.0],", "start: [1.0]", "expected a comma"),
    ("Scenario(", "«Scene(", "Scene"),
    ("updates: 10", "updates: «1e3", "expected a whole number"),
    ("start: [1.0]", "start: [1.0 2.0]", "expected a comma"),
    // Protocols that would wait for ever, or for what there is none of.
    ("count: 2", "give_up_s: «0.5, count: 2", "no gradient is ever finished in 0.5 s"),
    ("start: [1.0]", "protocol: «KSync(k: 3)", "a step waits for gradients of 3 workers, and there are 2"),
    ("start: [1.0]", "protocol: KSync(k: «0)", "1 or more"),
    (
        "start: [1.0]",
        "protocol: «FedBuff(buffer: 2, concurrency: 9)",
        "9 workers are to be active at a time, and there are 2",
    ),
    ("start: [1.0]", "protocol: «KBatchAsync(k: 99999999999)", "99999999999 gradients a step are too many"),
    ("start: [1.0]", "protocol: «Deadline(seconds: 1e-12)", "before the clock can move"),
    ("start: [1.0]", "protocol: GeneralisedAsync(tasks: 2, shares: «[0.5, 0.5])", "2 shares for 1 classes"),
    ("start: [1.0]", "protocol: GeneralisedAsync(tasks: 2, shares: «[0.0])", "no class has a share"),
    ("start: [1.0]", "protocol: GeneralisedAsync(tasks: «99999999999)", "too many"),
    (
        "start: [1.0]",
        "protocol: «Custom(pace: Budget(eta: 0.5, batch: 2), step: (after: Gradients(4)))",
        "a budget of 2 gradients a step does not last",
    ),
    ("start: [1.0]", "protocol: «Admission(eta: 1, batch: 4, capacity: 2)", "do not fit the capacity"),
    ("start: [1.0]", "protocol: «Admission(eta: 1, batch: 4, parts: 5)", "cannot be cut into 5 parts"),
    ("start: [1.0]", "protocol: «Admission(eta: 1, batch: 4, stale: Cancel)", "no bound says when work is too stale"),
    ("start: [1.0]", "protocol: «Custom(late: CancelStale)", "no bound says when work is too stale"),
    ("start: [1.0]", "protocol: «Admission(eta: 1e15, batch: 4), server: (step: Constant(1e9))", "GiB of memory"),
    ("start: [1.0]", "protocol: «Custom(pace: Routed(tasks: 3), late: Cancel)", "late work goes on"),
    ("start: [1.0]", "protocol: Custom(work: LocalSteps(local: (steps: «0, learning_rate: 0.1)))", "1 or more"),
    (
        "start: [1.0]",
        "protocol: «Custom(pace: Budget(eta: 9.0, batch: 2), step: (after: All))",
        "does not last for steps that take others",
    ),
    ("start: [1.0]", "protocol: «Custom(pace: Tokens, step: (after: Workers(2)))", "tokens count gradients"),
    ("start: [1.0]", "protocol: «Custom(pace: Tokens, late: Cancel)", "tokens count gradients"),
    ("start: [1.0]", "protocol: «Custom(step: (after: Table, capacity: Some(1)))", "do not fit the capacity"),
    ("start: [1.0]", "protocol: Custom(step: (after: Gradients(«1.5)))", "expected a whole number, got 1.5"),
    ("start: [1.0]", "protocol: KSync,", "expected its parameters in round brackets"),
    ("start: [1.0]", "protocol: Rennala(batch: 2, restart: 1)", "expected true or false"),
    ("start: [1.0]", "protocol: «Custom(step: (after: Table, mean: Sum))", "a table gives every worker the same part"),
    (
        "start: [1.0]",
        "protocol: KSync(k: 1), server: (publish: «(every: 2))",
        "workers do not always see the current version",
    ),
    (
        "start: [1.0]",
        "protocol: GeneralisedAsync(tasks: 2), network: (request: «Constant(1.0))",
        "tasks that go round are sent to workers",
    ),
    ("start: [1.0]", "protocol: «Kasync(k: 2)", "did you mean `KAsync`?"),
    ("start: [1.0]", "protocol: Ssp(«slack: 2)", "unknown field `slack`"),
    (
        "start: [1.0]",
        "protocol: Sync, record: (what_if: «[(version: 2, gradient: Fresh)])",
        "a step of this protocol uses several gradients",
    ),
    (
        "optimiser: [Sgd(learning_rate: 0.1)]",
        "protocol: Sync, optimiser: «[Sgd(learning_rate: 0.1), Discount(Inverse)]",
        "Discount knows the lag of one gradient, but this protocol steps with several; put it before Sgd",
    ),
    // Parts that do not fit each other.
    ("start: [1.0]", "start: [«1e200]", "too large to compute with"),
    ("start: [1.0]", "record: (gradients: «Window(first: 11, last: 12))", "after the last"),
    ("start: [1.0]", "record: (warm_up: «Updates(10))", "leaves nothing of a run of 10"),
    ("start: [1.0]", "record: (batch: «Some(6))", "leaves fewer than two"),
    ("updates: 10", "time_s: «1e-300", "before the clock can move"),
    ("count: 2", "name: «\"a\\u{1b}[31m\"", "control character"),
    ("Constant(1.0)", "«Gamma(mean: 1.0, cv: 1e9)", "out of range: 0.001 to 100"),
    ("Constant(1.0)", "«Autoregressive(correlation: 0.9, law: Gamma(mean: 1.0, cv: 1e-9))", "out of range"),
    ("Constant(1.0)", "«Erlang(shape: 3, mean: 0.0)", "Erlang: the mean must be above 0"),
    ("Constant(1.0)", "«LogNormal(mean: 1.0, cv: 1e-300)", "out of range"),
    ("Constant(1.0)", "«Weibull(shape: 1e-9, scale: 1.0)", "the shape must be"),
    ("Constant(1.0)", "«Pareto(minimum: 0.0, shape: 2.0)", "the minimum must be above 0"),
    (
        "Constant(1.0)",
        "«PerWorker(factor: Constant(0.0), law: Pareto(minimum: 1.0, shape: 0.5))",
        "take no time at all",
    ),
    ("start: [1.0]", "noise: «MiniBatch(size: 18446744073709551615)", "give at most 10000000"),
    ("start: [1.0]", "start: «[1.0, 2.0]", "start has length 2, but the objective has dimension 1"),
    ("[(count: 2, compute: Constant(1.0))]", "«[]", "there are no workers"),
    ("count: 2", "count: 3000000", "3000000 workers are more than one run can have"),
    ("Constant(1.0)", "«Constant(0.0)", "take no time at all"),
    ("Constant(1.0)", "«Exponential(mean: 1e-12)", "take no time at all"),
    ("Constant(1.0)", "«Uniform(low: 2.0, high: 1.0)", "must be below high"),
    ("Constant(1.0)", "«Gamma(mean: 1.0)", "give mean and cv, or shape and scale"),
    ("Constant(1.0)", "«Gamma(mean: 1.0, cv: 1.0, shape: 1.0)", "give mean and cv, or shape and scale"),
    ("Constant(1.0)", "«LogNormal(sigma: 1.0)", "give median and sigma, or mean and cv"),
    ("Constant(1.0)", "«Mixture(parts: [])", "at least one part"),
    ("Constant(1.0)", "«Empirical(values: [])", "at least one value"),
    ("Constant(1.0)", "«Sum(laws: [])", "at least one law"),
    ("Constant(1.0)", "«TruncatedNormal(mean: -9.0, sd: 1.0)", "nearly every draw is refused"),
    (
        "Constant(1.0)",
        "«Autoregressive(correlation: 0.5, law: Sum(laws: [Constant(1.0)]))",
        "must have a distribution function",
    ),
    ("Constant(1.0)", "«Measured(file: \"nowhere.csv\", column: \"s\")", "No such file"),
    ("Constant(1.0)", "«Measured(file: \"Cargo.toml\", column: \"s\")", "ends in .csv or .parquet"),
    ("updates: 10", "loss: 0.5", "the loss may never be reached"),
    ("stop: (updates: 10)", "stop: «()", "the run never ends"),
    ("updates: 10", "updates: 9999999999999", "more than one run can have"),
    (
        "Constant(1.0))],\n    stop: (updates: 10)",
        "Constant(0.001))],\n    stop: «(time_s: 2e9)",
        "more than one run can have",
    ),
    ("start: [1.0]", "record: (trajectory: Points(9999999999)), noise: MiniBatch(size: «0)", "1 or more"),
    ("Constant(1.0)", "«Scaled(factor: 1e12, law: Constant(1.0))", "which the virtual clock cannot show"),
    (
        "Constant(1.0)",
        "«PerWorker(factor: Empirical(values: [1.0, 0.0], draw: Replay), law: Constant(1.0))",
        "of worker 2 of this class take no time",
    ),
    (
        "Quadratic(curvature: 1.0)",
        "«Softmax(data: Generated(examples: 1, features: 9000000), classes: 64)",
        "more than the 10000000",
    ),
    ("updates: 10", "time_s: «1e18", "do not fit the virtual clock"),
    ("[Sgd(learning_rate: 0.1)]", "«[Clip(norm: 1.0)]", "no learning rate"),
    ("[Sgd(learning_rate: 0.1)]", "«[Sgd(learning_rate: 0.1), Sgd(learning_rate: 0.1)]", "2 learning rates"),
    ("start: [1.0]", "noise: «MiniBatch(size: 3)", "no examples to draw"),
    ("start: [1.0]", "start_version: «9007199254740993", "too large to count on from"),
    ("start: [1.0]", "expect: [(quantity: «\"lag\", value: 1.0)]", "no number in the summary is called `lag`"),
    ("start: [1.0]", "record: (what_if: [(version: 1, optimiser: «[])])", "no learning rate"),
    ("start: [1.0]", "start_version: 5, record: (what_if: [«(version: 1)])", "no step at version 1"),
    ("start: [1.0]", "record: (gradients: «Window(first: 9, last: 3))", "ends (3) before it begins (9)"),
    ("start: [1.0]", "record: (timeline: «1000000)", "too long to print"),
    (
        "[(count: 2, compute: Constant(1.0))]",
        "[(compute: Constant(1.0), name: \"a\"), (compute: Constant(1.0), name: «\"a\")]",
        "two classes are called `a`",
    ),
    (
        "Quadratic(curvature: 1.0)",
        "«Diagonal(curvatures: Evenly(from: 1.0, to: 2.0, dimension: 99999999))",
        "parameters",
    ),
];

fn message(text: &str) -> String {
    match Prepared::new(&source(text), None, None) {
        Ok(_) => String::new(),
        Err(error) => {
            assert_eq!(error.exit_code(), 2, "{error}");
            error.to_string()
        }
    }
}

#[test]
fn the_good_scenario_is_good() {
    assert_eq!(message(GOOD), "");
}

#[test]
fn every_mistake_is_shown_at_its_line_and_column() {
    for (from, to, expected) in BAD {
        assert!(GOOD.contains(from), "{from} is not in the good scenario");
        let marked = GOOD.replacen(from, to, 1);
        let text = marked.replace('«', "");
        let message = message(&text);
        assert!(message.contains(expected), "{text}\nsays\n{message}\nnot\n{expected}");
        if let Some(place) = marked.find('«') {
            let before = &marked[..place];
            let (line, column) =
                (before.matches('\n').count() + 1, before.rsplit('\n').next().unwrap().chars().count() + 1);
            let pointer = format!("test.ron:{line}:{column}\n");
            assert!(message.contains(&pointer), "{text}\nis wrong at {pointer}but the message is\n{message}");
        }
    }
}

#[test]
fn many_snapshots_of_many_parameters_are_refused_before_the_memory_is_asked_for() {
    let text = GOOD
        .replace("Quadratic(curvature: 1.0)", "Diagonal(curvatures: Evenly(from: 1.0, to: 2.0, dimension: 1000000))")
        .replace("count: 2", "count: 100000");
    assert!(message(&text).contains("745 GiB of memory"), "{}", message(&text));
}

#[test]
fn all_mistakes_of_a_file_are_shown_at_once() {
    let text = "Scenario(
    objective: Quadratic(curvature: -1.0),
    start: [1.0, NaN],
    optimizer: [Sgd(learning_rate: 0.1)],
    workers: [(count: 0, compute: Exponentail(mean: 1.0)), (compute: Uniform(low: 1.0, high: inf)), (count: 2)],
    stop: (updates: 10),
    bogus: 3,
)";
    let message = message(text);
    let places: Vec<&str> =
        message.lines().filter_map(|line| line.trim_start().strip_prefix("--> test.ron:")).collect();
    assert_eq!(places, ["2:37", "3:18", "4:5", "5:23", "5:35", "5:94", "5:110", "7:5"], "{message}");
}

/// What is wrong in the reading and what is wrong in the fitting, together; but nothing that only follows from what was
/// taken out.
#[test]
fn mistakes_of_both_kinds_are_shown_together() {
    let text = "Scenario(
    objective: Quadratic(curvature: 1.0),
    start: [1.0, 2.0],
    noise: MiniBatch(size: 3),
    optimiser: [Sgd(learning_rate: -0.1)],
    workers: [(count: 2, compute: Gamma(mean: 1.0))],
    stop: (updates: 10),
    record: (gradients: Window(first: 9, last: 3)),
    expect: [(quantity: \"lag\", value: 1.0)],
)";
    let message = message(text);
    let places: Vec<&str> =
        message.lines().filter_map(|line| line.trim_start().strip_prefix("--> test.ron:")).collect();
    assert_eq!(places, ["3:12", "4:12", "5:36", "6:35", "8:25", "9:25"], "{message}");
}

#[test]
fn fields_that_do_not_fit_each_other_are_shown_at_once() {
    let text = GOOD
        .replace("start: [1.0]", "start: [1.0, 2.0]")
        .replace("Constant(1.0)", "Gamma(mean: 1.0)")
        .replace("[Sgd(learning_rate: 0.1)]", "[]")
        .replace("updates: 10", "loss: 0.5");
    let message = message(&text);
    assert_eq!(message.matches("error: ").count(), 4, "{message}");
}

/// A list from which a bad number was taken out is not then found too short.
#[test]
fn what_follows_from_a_hole_in_a_list_is_no_mistake() {
    let text = GOOD
        .replace("Quadratic(curvature: 1.0)", "Diagonal(curvatures: Values([1.0, 2.0, 3.0]))")
        .replace("start: [1.0]", "start: [1.0, 2.0, NaN]");
    let message = message(&text);
    assert_eq!(message.matches("error: ").count(), 1, "{message}");
    assert!(message.contains("help: give a finite number"), "{message}");
}

/// One mistake is one message, wherever it is nested, and whatever follows from looking past it.
#[test]
fn a_mistake_has_no_echo() {
    let line = |workers: &str, rest: &str| {
        format!(
            "Scenario(objective: Quadratic(curvature: 1.0), optimiser: [Sgd(learning_rate: 0.1)], workers: [{workers}], {rest})"
        )
    };
    let cases = [
        line(
            "(compute: PerWorker(factor: Constant(1.0), law: Autoregressive(correlation: 1.0, law: Constant(1.0))))",
            "stop: (updates: 1)",
        ),
        line("(compute: Mixture(parts: [(weight: 1.0, law: Constant(-1.0))]))", "stop: (updates: 1)"),
        line("(compute: Constant(1.0))", "stop: (updates: Some(0))"),
        line("(compute: Constant(1.0))", "stop: (updates: 1), record: (trajectory: Points(0))"),
        line("(compute: Constant(1.0))", "stop: (updates: 1)").replace("Sgd", "Schedule(Warmup(updates: 0)), Sgd"),
        line("(compute: Constant(1.0))", "stop: (updates: 1)").replace("curvature: 1.0", "curvature: -1.0"),
        line(
            "(compute: Constant(1.0)), (compute: Constant(2.0))",
            "network: (download: Uniform(low: 3.0, high: 2.0)), stop: (updates: 1)",
        ),
    ];
    for text in cases {
        let message = message(&text);
        assert_eq!(message.matches("error: ").count(), 1, "{message}");
    }
}

#[test]
fn no_more_mistakes_are_shown_than_a_person_will_read() {
    let classes = "(name: \"a\", compute: Constant(1.0)),".repeat(2000);
    let text = GOOD.replace("[(count: 2, compute: Constant(1.0))]", &format!("[{classes}]"));
    assert_eq!(message(&text).matches("error: ").count(), 50);
}

#[test]
fn nesting_without_end_is_refused() {
    for (open, close) in [("Scaled(factor: 1.0, law: ", ")"), ("Sum(laws: [", "])")] {
        let law = format!("{}Constant(1.0){}", open.repeat(5000), close.repeat(5000));
        let message = message(&GOOD.replace("Constant(1.0)", &law));
        assert!(message.contains("nested too deeply"), "{}", &message[..message.len().min(500)]);
    }
    let message = message(&"(".repeat(100_000));
    assert!(message.starts_with("error: "), "{}", &message[..message.len().min(500)]);
}

#[test]
fn a_delay_beyond_the_clock_is_an_error_of_the_scenario() {
    let text =
        GOOD.replace("Constant(1.0)", "Pareto(minimum: 1.0, shape: 0.01)").replace("updates: 10", "updates: 1000");
    let error = run_error(&text);
    assert!(error.contains("the virtual clock cannot show") && error.contains("test.ron:5:15"), "{error}");
}

/// The error with which a scenario that passes every check ends all the same.
fn run_error(text: &str) -> String {
    let prepared = Prepared::new(&source(text), None, None).unwrap_or_else(|error| panic!("{error}"));
    let error = laggard::study::run(prepared, laggard::output::NoRows, |_| true).map(|_| ()).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    error.to_string()
}

#[test]
fn a_clock_that_stands_still_is_an_error_and_not_for_ever() {
    // Nine draws in ten round to no time at all, but their mean does not.
    let law = "Mixture(parts: [(weight: 1.0, law: Constant(0.0)), (weight: 1e-12, law: Constant(1e6))])";
    let text = GOOD.replace("Constant(1.0)", law).replace("updates: 10", "time_s: 5.0");
    assert!(run_error(&text).contains("the virtual clock stands still at 0e0 s"), "{}", run_error(&text));
}

/// The same through the program: what it prints, its exit code, and that it leaves nothing behind.
#[test]
fn the_program_shows_mistakes_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    for (number, (from, to, expected)) in BAD.iter().enumerate() {
        let file = folder.path().join(format!("{number}.ron"));
        std::fs::write(&file, GOOD.replacen(from, to, 1).replace('«', "")).unwrap();
        let out = folder.path().join("out");
        let output =
            Command::new(env!("CARGO_BIN_EXE_laggard")).arg("run").arg(&file).arg("--out").arg(&out).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{to}: {stderr}");
        assert!(
            output.stdout.is_empty() && stderr.contains(expected) && !stderr.contains("panicked"),
            "{to}: {stderr}"
        );
        assert!(!out.exists(), "{to} left a folder behind");
    }
}

#[test]
fn files_that_are_no_text_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, bytes: &[u8]| {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_laggard")).arg("check").arg(&file).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, stderr) = run("binary.ron", &[0xff, 0xfe, 0x00]);
    assert!(code == Some(2) && stderr.contains("is not UTF-8"), "{stderr}");
    let (code, stderr) = run("large.ron", &vec![b' '; 2 << 20]);
    assert!(code == Some(2) && stderr.contains("the limit is 1 MiB"), "{stderr}");
    let (code, stderr) = run("empty.ron", b"");
    assert!(code == Some(2) && stderr.contains("empty.ron:1:1") && stderr.contains("the file is empty"), "{stderr}");
    let (code, stderr) = run("mark.ron", format!("\u{feff}{GOOD}").as_bytes());
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let output = Command::new(env!("CARGO_BIN_EXE_laggard")).args(["run", "nowhere.ron"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let output = Command::new(env!("CARGO_BIN_EXE_laggard")).args(["check", "/dev/zero"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
