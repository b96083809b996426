//! The program as a user meets it.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn laggard(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_laggard"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn run_prints_timeline_summary_and_checks() {
    let output = laggard(&["run", "scenarios/overshoot.ron"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let columns = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
    let step = text.lines().map(columns).find(|words| words.first().is_some_and(|word| word == "18")).unwrap();
    assert_eq!(step, ["18", "2", "7", "2", "3", "4", "11", "-0.5", "0.125"]);
    for expected in ["a fresh gradient", "0.03125", "1.125", "lag when applied", "Little's law", "as expected"] {
        assert!(text.contains(expected), "{expected} is not in\n{text}");
    }
}

#[test]
fn json_is_one_object_with_the_names_of_the_summary() {
    let output = laggard(&["run", "scenarios/overshoot.ron", "--json"]);
    let object: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((object["steps"].as_u64(), object["lag_versions_max"].as_f64()), (Some(13), Some(7.0)));
    assert_eq!((object["ended"].as_str(), object["cost"].is_null()), (Some("updates"), true));
    assert_eq!(object["timeline"][10]["w_after"][0].as_f64(), Some(-0.5));
    assert_eq!(object["what_if"][0]["loss_after"].as_f64(), Some(0.03125));
    assert!(object["expect"].as_array().unwrap().iter().all(|check| check["holds"] == true));
    assert_eq!(object["schema_version"], 1);
}

#[test]
fn quiet_prints_nothing_and_seed_and_replication_count() {
    let found = stdout(&laggard(&["list", "staircase"]));
    assert!(found.contains("Staircase(every: 1000, factor: 0.5)"), "{found}");
    let quiet = laggard(&["run", "scenarios/overshoot.ron", "--quiet"]);
    assert_eq!((stdout(&quiet), stderr(&quiet)), (String::new(), String::new()));
    let fingerprint = |arguments: &[&str]| {
        let all = [&["run", "scenarios/disagree-8-workers.ron", "--json"], arguments].concat();
        serde_json::from_str::<Value>(&stdout(&laggard(&all))).unwrap()["fingerprint"].as_str().unwrap().to_owned()
    };
    assert_eq!(fingerprint(&[]), fingerprint(&["--seed", "1", "--replication", "0"]));
    assert_ne!(fingerprint(&[]), fingerprint(&["--seed", "2"]));
    assert_ne!(fingerprint(&[]), fingerprint(&["--replication", "1"]));
}

#[test]
fn exit_codes_tell_how_it_went() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = |rest: &str| {
        format!(
            "Scenario(objective: Quadratic(curvature: 1.0), start: [1.0], optimiser: [Sgd(learning_rate: 5.0)],
             workers: [(count: 2, compute: Constant(1.0))], {rest})"
        )
    };
    let code = |text: &str| {
        let file = write(folder.path(), "case.ron", text);
        laggard(&["run", file.to_str().unwrap()]).status.code()
    };
    assert_eq!(code(&scenario("stop: (updates: 3)")), Some(0));
    assert_eq!(code(&scenario("stop: (updates: 100000)")), Some(1), "it diverges");
    let expectation = "stop: (updates: 3), expect: [(quantity: \"steps\", value: 4.0)]";
    assert_eq!(code(&scenario(expectation)), Some(1), "it does not come to what was expected");
    assert_eq!(code("Scenario()"), Some(2));
    assert_eq!(laggard(&["run", "nowhere.ron"]).status.code(), Some(3));
    assert_eq!(laggard(&["fly"]).status.code(), Some(2));
    assert_eq!(laggard(&["list", "nonsense"]).status.code(), Some(2));
    assert_eq!(laggard(&["run"]).status.code(), Some(2));
    assert_eq!(laggard(&["--version"]).status.code(), Some(0));
}

#[test]
fn a_diverging_run_says_when() {
    let folder = tempfile::tempdir().unwrap();
    let text = "Scenario(objective: Quadratic(curvature: 1.0), start: [1.0], optimiser: [Sgd(learning_rate: 5.0)],
        workers: [(count: 2, compute: Constant(1.0))], stop: (updates: 100000))";
    let file = write(folder.path(), "diverges.ron", text);
    let output = laggard(&["run", file.to_str().unwrap(), "--json"]);
    let object: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(object["ended"], "diverged");
    assert!(object["steps"].as_u64().unwrap() < 2000, "{object}");
    let warning = "warning: a learning rate of 5 is beyond the edge of stability, 1.000000\n";
    assert_eq!(stderr(&output), format!("{warning}diverged after {} optimiser steps\n", object["steps"]));
}

#[test]
fn check_prints_a_scenario_that_can_be_run_and_what_it_will_cost() {
    let output = laggard(&["check", "scenarios/network-and-server.ron"]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    assert!(text.contains("// about 300000 optimiser steps, 600008 events"), "{text}");
    assert!(text.contains("of memory") && text.contains("curvature between 0.01 and 1"), "{text}");
    assert!(text.contains("// class 0, compute: mean 2 s, sd 1 s, from 0 to inf s"), "{text}");
    assert!(text.contains("// server, service: mean 0.25 s, sd 0.25 s, from 0 to inf s"), "{text}");
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "resolved.ron", &text);
    let fingerprint = |path: &str| {
        let output = laggard(&["run", path, "--json"]);
        serde_json::from_str::<Value>(&stdout(&output)).unwrap()["fingerprint"].clone()
    };
    assert_eq!(fingerprint(file.to_str().unwrap()), fingerprint("scenarios/network-and-server.ron"));
}

#[test]
fn list_names_everything_and_can_be_searched() {
    let text = stdout(&laggard(&["list"]));
    for name in ["Quadratic", "Softmax", "Gaussian", "HeavyBall", "Async", "Weibull", "Measured", "what_if"] {
        assert!(text.contains(name), "{name} is not listed");
    }
    let found = stdout(&laggard(&["list", "pareto"]));
    assert!(found.contains("Pareto") && !found.contains("Quadratic"), "{found}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let bash = |script: &str| {
        Command::new("bash").current_dir(env!("CARGO_MANIFEST_DIR")).args(["-c", script]).output().unwrap()
    };
    let program = env!("CARGO_BIN_EXE_laggard");
    let output = bash(&format!("'{program}' list | head -n 1; exit ${{PIPESTATUS[0]}}"));
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    let output = bash(&format!("'{program}' run scenarios/overshoot.ron --json 2>/dev/full"));
    assert_eq!(output.status.code(), Some(0));
}

/// The first Ctrl-C ends the run where it is; what was simulated until then is written and marked.
#[cfg(all(unix, feature = "parquet"))]
#[test]
fn an_interrupted_run_keeps_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let text = "Scenario(objective: Quadratic(curvature: 1.0), start: [1.0], optimiser: [Sgd(learning_rate: 0.1)],
        workers: [(count: 4, compute: Exponential(mean: 1.0))], stop: (updates: 1000000000))";
    let file = write(folder.path(), "long.ron", text);
    let out = folder.path().join("out");
    let child = Command::new(env!("CARGO_BIN_EXE_laggard"))
        .args([Path::new("run"), &file, Path::new("--json"), Path::new("--out"), &out])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // The folder is made after the program has begun to listen.
    while !out.exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let object: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(object["ended"] == "interrupted" && object["steps"].as_u64().unwrap() > 0, "{object}");
    assert!(out.join("summary.parquet").exists());
}

/// Every line of output that the README shows is in what its commands print.
#[test]
fn the_readme_shows_what_is_printed() {
    let printed = ["overshoot", "pai", "cases/queue-wait-fast-producer", "training-through-failure/checkpoint-sync"]
        .map(|name| stdout(&laggard(&["run", &format!("scenarios/{name}.ron")])))
        .concat();
    let out = tempfile::tempdir().unwrap();
    let figures = "lag_versions_mean,lag_versions_p99,lag_s_mean";
    let out = out.path().to_string_lossy();
    let sweep = ["sweep", "scenarios/sweeps/workers-and-delays.ron", "--out", &out, "--show", figures];
    let printed = printed + &stdout(&laggard(&sweep));
    let printed = printed + &stdout(&laggard(&["predict", "scenarios/network-and-server.ron", "--run"]));
    let printed = printed + &stdout(&laggard(&["verify", "--quick"]));
    let readme = std::fs::read_to_string(format!("{}/README.md", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let shown: Vec<&str> = readme.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(shown.len() >= 2);
    for line in shown.iter().flat_map(|block| block.lines()).filter(|line| !line.contains('…')) {
        assert!(printed.lines().any(|printed| printed == line), "not printed: {line}");
    }
}

/// `--set` changes fields, several times and one after the other; what is wrong with one is shown in it.
#[test]
fn fields_can_be_set_on_the_command_line() {
    let file = "scenarios/overshoot.ron";
    let changes = ["--set", "stop: (updates: 5), expect: []", "--set", "each_class: (count: 2)", "--json"];
    let output = laggard(&[&["run", file], &changes[..]].concat());
    let object: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((object["steps"].as_u64(), object["workers"].as_u64()), (Some(5), Some(8)));
    let refused = |change: &str| {
        let output = laggard(&["run", file, "--set", change]);
        assert_eq!(output.status.code(), Some(2), "{change}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let message = refused("protocol: KSync(k: 99)");
    assert!(
        message.contains("a step waits for gradients of 99 workers") && message.contains("--set:1:12"),
        "{message}"
    );
    let message = refused("protocl: Sync");
    assert!(message.contains("did you mean `protocol`?") && message.contains("--set:1:2"), "{message}");
    let message = refused("classes: {\"slow\": (count: 2)}");
    assert!(message.contains("no class of workers is called `slow`"), "{message}");
    let message = refused("each_class: (compute: Gamma(mean: 1.0, cv: 1e9))");
    assert!(message.contains("out of range") && message.contains("--set:1:"), "{message}");
    assert!(refused("").contains("--set sets nothing"));
    let message = refused("protocol: None");
    assert!(message.contains("unknown name `None`") && message.contains("--set:1:12"), "{message}");
    let message = refused("stop: (updates: None)");
    assert!(message.contains("the run never ends"), "{message}");
    let message = refused("learning_rate: 0.0");
    assert!(message.contains("above 0"), "{message}");
}

/// `None` takes away what can be left out: a run without its noise is another run.
#[test]
fn what_can_be_left_out_can_be_taken_away() {
    let loss = |change: &str| {
        let output =
            laggard(&["run", "scenarios/network-and-server.ron", "--json", "--set", "expect: []", "--set", change]);
        let object: Value = serde_json::from_str(&stdout(&output)).unwrap();
        object["loss"].as_f64().unwrap()
    };
    let (noisy, silent) = (loss("stop: (updates: 3000)"), loss("stop: (updates: 3000), noise: None"));
    assert_eq!(silent, loss("stop: (updates: 3000), noise: Gaussian(sd: 0.0)"));
    assert!(silent < noisy);
}

/// A run that gets stuck, or fails because a gradient is too stale, says so and has exit code 1.
#[test]
fn a_run_that_gets_stuck_or_fails_says_so() {
    let file = "scenarios/two-workers.ron";
    let run = |change: &str| {
        let output = laggard(&["run", file, "--json", "--set", "expect: []", "--set", change]);
        assert_eq!(output.status.code(), Some(1), "{change}");
        let object: Value = serde_json::from_slice(&output.stdout).unwrap();
        (object, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (object, message) = run("protocol: RejectStale(tolerance: 0, otherwise: Fail)");
    assert_eq!(object["ended"], "stale");
    assert_eq!(object["rejections"][0]["version_got"], 0);
    assert!(message.contains("is stale, expected version"), "{message}");
    let stuck = "protocol: Custom(admit: (most_s: 0.0)), workers: [(count: 2, compute: Constant(1.0))], \
                 stop: (updates: 5, time_s: 1e9)";
    let (object, message) = run(stuck);
    assert_eq!((object["ended"].as_str(), object["steps"].as_u64()), (Some("stalled"), Some(0)));
    assert!(message.contains("stalled after 0 optimiser steps"), "{message}");
}

/// What theory warns of is said before a run, and by `check`.
#[test]
fn theory_warns_beforehand() {
    for command in ["run", "check", "predict"] {
        let output = laggard(&[command, "scenarios/saturated-server.ron"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(0) && said.contains("warning: the server is saturated: 16 workers"),
            "{command}: {said}"
        );
    }
    let output = laggard(&["run", "scenarios/saturated-server.ron", "--quiet"]);
    assert!(output.stderr.is_empty());
}

/// `verify` says what it found, and with which exit code; a name that no case has is refused.
#[test]
fn the_book_is_checked_from_the_command_line() {
    let output = laggard(&["verify", "T4.dd1.N4", "--each"]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    assert!(text.contains("replay   throughput: 3.555555555555555") && text.contains("queues at a server"), "{text}");
    let output = laggard(&["verify", "T5.ssp.regret", "T4.dd1.N4", "--json"]);
    let cases: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let verdicts: Vec<&str> = cases.as_array().unwrap().iter().map(|case| case["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["right", "unchecked"]);
    assert!(cases[0]["findings"].as_array().unwrap().iter().all(|finding| finding["holds"] == true), "{cases}");
    let output = laggard(&["verify", "T4.mm2N"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("in the names are: arjevani"), "{}", stderr(&output));
}

/// The picture is XML with a bar for every gradient, an arrow for every step and its label; the trace is JSON whose events nest and whose arrows meet.
#[test]
fn the_lives_of_gradients_are_drawn() {
    let svg = stdout(&laggard(&["timeline", "scenarios/overshoot.ron", "--steps", "13"]));
    let picture = roxmltree::Document::parse(&svg).unwrap();
    let count = |class: &str| picture.descendants().filter(|node| node.attribute("class") == Some(class)).count();
    // 13 steps, and four gradients in flight at the end, one of which was read just then: it has no bar yet. (The legend has one.)
    assert_eq!((count("apply"), count("compute") - 1, count("read")), (13, 16, 17));
    assert!(svg.contains("c: read version 7 at 14 s; applied at version 10, 18 s: lag 3 versions, 4 s (compute 4 s)"));
    assert!(svg.contains(">3 v, 4 s<") && svg.contains(">v13<"));
    // The handbook's figures are what is drawn.
    for (scenario, steps, figure) in [("overshoot", "13", "overshoot"), ("protocols/k-async", "10", "k-async")] {
        let drawn = stdout(&laggard(&["timeline", &format!("scenarios/{scenario}.ron"), "--steps", steps]));
        let figure = format!("{}/docs/figures/{figure}.svg", env!("CARGO_MANIFEST_DIR"));
        assert!(std::fs::read_to_string(&figure).unwrap() == drawn, "draw {figure} again, as docs/theory.md says");
    }
    let trace = laggard(&["timeline", "scenarios/network-and-server.ron", "--steps", "40", "--trace", "/dev/stdout"]);
    let trace: Value = serde_json::from_str(&stdout(&trace)).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).collect::<Vec<&Value>>();
    assert_eq!((of("s").len(), of("f").len()), (40, 40));
    assert_eq!(of("b").len(), of("e").len());
    for (from, to) in of("s").iter().zip(of("f")) {
        assert_eq!(from["id"], to["id"]);
        assert!(from["ts"].as_f64() < to["ts"].as_f64());
        // Each end lies in a slice of its track.
        for end in [from, &to] {
            let at = end["ts"].as_f64().unwrap();
            let inside = |slice: &&Value| {
                let (begin, long) = (slice["ts"].as_f64().unwrap(), slice["dur"].as_f64().unwrap());
                slice["pid"] == end["pid"] && slice["tid"] == end["tid"] && begin <= at && at <= begin + long
            };
            assert!(of("X").iter().any(inside), "{end}");
        }
    }
    // The parts of a gradient lie inside it, one after the other.
    let parts = of("X").into_iter().filter(|slice| slice["pid"] == 1 && slice["args"]["fate"].is_null());
    let whole = || of("X").into_iter().filter(|slice| slice["pid"] == 1 && !slice["args"]["fate"].is_null());
    let span = |slice: &Value| {
        let begin = slice["ts"].as_f64().unwrap();
        (begin, begin + slice["dur"].as_f64().unwrap())
    };
    for part in parts {
        let (begin, end) = span(part);
        let holds =
            |slice: &Value| slice["tid"] == part["tid"] && span(slice).0 <= begin && end <= span(slice).1 + 1e-3;
        assert!(whole().any(holds), "{part}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/picture.svg");
    let written = laggard(&["timeline", "scenarios/overshoot.ron", "--steps", "13", "--svg", path.to_str().unwrap()]);
    assert!(written.status.success() && std::fs::read_to_string(path).unwrap() == svg);
    let refused = laggard(&["timeline", "scenarios/overshoot.ron", "--from", "1000"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("the run is over at 22 s"), "{}", stderr(&refused));
    let many = laggard(&["timeline", "scenarios/overshoot.ron", "--set", "each_class: (count: 100)"]);
    assert!(stderr(&many).contains("400 workers are too many to draw"), "{}", stderr(&many));
}
