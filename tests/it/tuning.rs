//! Tuning: the best values of some axes, honestly.

use crate::studies::{files, folder, laggard, path};
use serde_json::Value;

/// f(w) = w²/2 without noise and one worker without a lag: after a step of 1/curvature the minimum is reached, so that the best
/// learning rate of a cell is the reciprocal of its curvature, and every other is worse.
const SWEEP: &str = "Sweep(
    scenario: \"base.ron\",
    set: (noise: Gaussian(sd: 0.0), stop: (updates: 500, loss: 1e-12), each_class: (count: 1)),
    axes: [
        Changes(name: \"curvature\", values: [
            (\"1\", (objective: Quadratic(curvature: 1.0))),
            (\"4\", (objective: Quadratic(curvature: 4.0))),
        ]),
        LearningRatesBetween(from: 0.0625, to: 4.0, count: 4),
    ],
    replications: Fixed(4),
)";

fn tune(folder: &std::path::Path, out: &str, more: &[&str]) -> std::process::Output {
    let (file, out) = (path(folder, "sweep.ron"), path(folder, out));
    laggard(&[&["tune", &file, "--out", &out, "--json"], more].concat())
}

fn json(output: &std::process::Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

#[test]
fn refinement_finds_the_best_learning_rate_of_each_cell() {
    let folder = folder(SWEEP);
    let output = tune(folder.path(), "out", &["--by", "updates_to_loss"]);
    let choices = json(&output);
    // 0.0625, 0.25, 1, 4; halfway around the best, twice.
    for (cell, best) in [(0, "1"), (1, "0.25")] {
        let choice = &choices[cell];
        assert_eq!(choice["best"]["learning_rate"], best, "{choice}");
        assert_eq!(choice["at_the_edge"].as_array().unwrap().len(), 0);
        let candidates = choice["candidates"].as_array().unwrap();
        assert_eq!(candidates.len(), 4 + 2 + 2);
        for candidate in candidates {
            let is_best = candidate["values"]["learning_rate"] == best;
            assert_eq!(candidate["rank"], if is_best { "best" } else { "worse" }, "{candidate}");
            if is_best {
                assert_eq!(candidate["figure"]["mean"], 1.0);
            }
        }
        let rates: Vec<f64> =
            candidates.iter().map(|c| c["values"]["learning_rate"].as_str().unwrap().parse().unwrap()).collect();
        assert!(rates.is_sorted(), "{rates:?}");
    }
    // Beyond 2/curvature a run never gets there: such a candidate has no figure, and is no best.
    let unstable = &choices[1]["candidates"][7];
    assert_eq!((unstable["figure"].is_null(), unstable["runs"].as_u64()), (true, Some(4)));
    // What was tried by refining is in the tables, too, with its learning rate.
    let cells = files(&folder.path().join("out"));
    assert!(cells.contains_key(std::path::Path::new("tune.parquet")) && cells.len() == 64 + 6, "{:?}", cells.keys());
}

#[test]
fn a_best_at_the_edge_is_warned_of_and_never_is_a_result() {
    let folder = folder(&SWEEP.replace("from: 0.0625, to: 4.0", "from: 0.001, to: 0.1"));
    let output = tune(folder.path(), "out", &["--by", "updates_to_loss", "--refine", "0"]);
    let choices = json(&output);
    // After 500 steps at 0.1, with curvature 1: 0.9^1000/2 < 1e-12 is reached after 128; at 0.02 not yet.
    assert_eq!(choices[0]["best"]["learning_rate"], "0.1");
    assert_eq!(choices[0]["at_the_edge"][0], "learning_rate");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        text.contains("warning: in 2 of 2 choices the best learning_rate is the last one tried on its side (0.1)"),
        "{text}"
    );
    let never = tune(folder.path(), "never", &["--set", "stop: (updates: 2)", "--by", "time_to_loss_s"]);
    let choices = json(&never);
    assert!(choices[0]["best"].is_null() && choices[0]["candidates"][0]["rank"] == "worse", "{choices}");
    let file = path(folder.path(), "sweep.ron");
    let text = laggard(&["tune", &file, "--out", &path(folder.path(), "never"), "--set", "stop: (updates: 2)"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("never"), "{text}");
}

/// With noise, neighbours of the best cannot be told from it, and are named; the same command gives the same bytes again, also where
/// another one has been in between that refined elsewhere.
#[test]
fn what_may_be_as_good_is_named_and_a_folder_is_continued() {
    let noisy = SWEEP
        .replace("sd: 0.0", "sd: 1.0")
        .replace("loss: 1e-12", "loss: 1e-2")
        .replace("updates: 500", "updates: 5000");
    let folder = folder(&noisy);
    let first = tune(folder.path(), "out", &["--jobs", "1"]);
    let choices = json(&first);
    let ranks = choices[0]["candidates"].as_array().unwrap().iter().filter(|candidate| candidate["rank"] == "near");
    assert!(ranks.count() > 0, "{choices}");
    let before = files(&folder.path().join("out"));
    let again = tune(folder.path(), "out", &["--jobs", "2"]);
    assert_eq!((&first.stdout, &before), (&again.stdout, &files(&folder.path().join("out"))));
    // Fewer replications lead elsewhere, and a sweep has the same runs.
    std::fs::write(folder.path().join("sweep.ron"), noisy.replace("Fixed(4)", "Fixed(2)")).unwrap();
    assert_eq!(tune(folder.path(), "out", &["--by", "loss"]).status.code(), Some(0));
    assert_eq!(
        laggard(&["sweep", &path(folder.path(), "sweep.ron"), "--out", &path(folder.path(), "out")]).status.code(),
        Some(0)
    );
    std::fs::write(folder.path().join("sweep.ron"), &noisy).unwrap();
    assert_eq!(tune(folder.path(), "out", &[]).stdout, again.stdout);
    let after = files(&folder.path().join("out"));
    let tables = |files: &std::collections::BTreeMap<std::path::PathBuf, Vec<u8>>| -> Vec<Vec<u8>> {
        files.iter().filter(|(name, _)| !name.starts_with("runs")).map(|(_, bytes)| bytes.clone()).collect()
    };
    assert_eq!(tables(&before), tables(&after));
}

#[test]
fn what_cannot_be_tuned_is_refused() {
    let zipped = SWEEP
        .replace("replications", "zip: [[\"curvature\", \"learning_rate\"]], replications")
        .replace("count: 4", "count: 2");
    let folder = folder(&zipped);
    for (more, said) in [
        (&["--over", "learning_rat"][..], "did you mean `learning_rate`?"),
        (&["--by", "time_to_los_s"], "did you mean `time_to_loss_s`?"),
        (&[], "varied together with `curvature`"),
    ] {
        let output = tune(folder.path(), "out", more);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && text.contains(said), "{text}");
    }
    assert!(!folder.path().join("out").exists());
}

/// Words among the numbers, runs that diverge, goals that cannot be reached, rules that stop at different numbers of runs.
#[test]
fn what_is_best_is_told_in_the_face_of_oddities() {
    let noisy = |axis: &str, rest: &str| {
        format!(
            "Sweep(scenario: \"base.ron\", set: (noise: Gaussian(sd: 1.0), stop: (updates: 2000, loss: 0.01), each_class: (count: 2)),
             axes: [{axis}, LearningRates([0.05, 0.3, 30.0])], {rest})"
        )
    };
    let bounds = "Changes(name: \"bound\", values: [(\"0\", (protocol: Ssp(bound: 0))), (\"none\", (protocol: Async)), (\"8\", (protocol: Ssp(bound: 8))),
        (\"2\", (protocol: Ssp(bound: 2)))])";
    let folder = folder(&noisy(bounds, "replications: Fixed(3)"));
    let output = tune(folder.path(), "words", &["--over", "bound,learning_rate"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let choice = &json(&output)[0];
    // In the order of the file, as not all labels are numbers; the rates of each in theirs.
    let order: Vec<&str> =
        choice["candidates"].as_array().unwrap().iter().map(|c| c["values"]["bound"].as_str().unwrap()).collect();
    assert!(
        order.is_sorted_by_key(|bound| ["0", "none", "8", "2"].iter().position(|known| known == bound)),
        "{order:?}"
    );
    // What diverged has no loss, however many runs it has, and a loss asked for after a stop by loss is warned of.
    let output = tune(folder.path(), "loss", &["--by", "loss", "--refine", "0"]);
    for candidate in
        json(&output).as_array().unwrap().iter().flat_map(|choice| choice["candidates"].as_array().unwrap())
    {
        let diverged = candidate["values"]["learning_rate"] == "30";
        assert_eq!(
            (candidate["figure"].is_null(), candidate["rank"] == "worse" && diverged),
            (diverged, diverged),
            "{candidate}"
        );
    }
    assert!(String::from_utf8_lossy(&output.stderr).contains("runs end at the loss of `stop`"));
    // A rule that makes more runs of one than of another does not make it better.
    let until = "replications: Until(quantity: \"time_to_loss_s\", relative: 0.2, at_least: 5, at_most: 60)";
    std::fs::write(folder.path().join("sweep.ron"), noisy(bounds, until)).unwrap();
    let output = tune(folder.path(), "until", &["--refine", "0"]);
    for choice in json(&output).as_array().unwrap() {
        let candidates = choice["candidates"].as_array().unwrap();
        // One of 30 that diverge may touch the loss before it does.
        let always = |candidate: &Value| candidate["figure"]["n"] == candidate["runs"];
        let mean = |candidate: &Value| {
            candidate["figure"]["mean"].as_f64().filter(|_| always(candidate)).unwrap_or(f64::INFINITY)
        };
        let least = candidates.iter().map(mean).fold(f64::INFINITY, f64::min);
        assert_eq!(candidates.iter().find(|c| c["rank"] == "best").map(mean), Some(least), "{choice}");
    }
    let output = tune(folder.path(), "never", &["--by", "cost_to_loss", "--refine", "0"]);
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("no run has cost_to_loss; give price_per_hour"),
        "{output:?}"
    );
    assert_eq!(tune(folder.path(), "label", &["--by", "seed"]).status.code(), Some(2));
}

/// A folder named as people do, relative to where they are.
#[test]
fn a_relative_folder_is_as_good() {
    let folder = folder(SWEEP);
    for arguments in [&["tune", "sweep.ron", "--by", "updates_to_loss"][..], &["sweep", "sweep.ron"]] {
        for _ in 0..2 {
            let output = std::process::Command::new(env!("CARGO_BIN_EXE_laggard"))
                .args(arguments)
                .args(["--out", "out/here", "--quiet"])
                .current_dir(folder.path())
                .output()
                .unwrap();
            assert_eq!(output.status.code(), Some(0), "{output:?}");
        }
    }
}
