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
    assert!(text.contains("warning: 1: the best learning_rate, 0.1, is the last one tried on its side"), "{text}");
    let never = tune(folder.path(), "never", &["--set", "stop: (updates: 2)", "--by", "time_to_loss_s"]);
    let choices = json(&never);
    assert!(choices[0]["best"].is_null() && choices[0]["candidates"][0]["rank"] == "worse", "{choices}");
    let file = path(folder.path(), "sweep.ron");
    let text = laggard(&["tune", &file, "--out", &path(folder.path(), "never"), "--set", "stop: (updates: 2)"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("never"), "{text}");
}

/// With noise, neighbours of the best cannot be told from it, and are named; the same command gives the same bytes again, and a
/// sweep does not go on in the folder of a tuning.
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
    assert_eq!((first.stdout, before), (again.stdout, files(&folder.path().join("out"))));
    let out = path(folder.path(), "out");
    assert_eq!(laggard(&["sweep", &path(folder.path(), "sweep.ron"), "--out", &out]).status.code(), Some(2));
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
