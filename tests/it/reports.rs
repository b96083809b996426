//! Pages, pictures and texts of results, beside the files that they are of. What only a browser can tell is in `tests/page.py`.

use laggard::output::Results;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::tempdir;

fn laggard(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_laggard")).args(arguments).env("COLUMNS", "72").output().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

const SCENARIO: &str = "Scenario(objective: Quadratic(curvature: 1.0), start: [1.0], optimiser: [Sgd(learning_rate: 0.01)],
    workers: [(name: \"fast\", count: 3, compute: Exponential(mean: 1.0)), (name: \"slow\", compute: Exponential(mean: 3.0))],
    network: (upload: Exponential(mean: 0.2)), server: (service: Constant(0.1)), stop: (updates: 4000))";

/// The results of a run in a folder of its own.
fn results(folder: &Path) -> std::path::PathBuf {
    let (scenario, out) = (folder.join("s.ron"), folder.join("out"));
    std::fs::write(&scenario, SCENARIO).unwrap();
    assert!(laggard(&["run", text(&scenario), "--out", text(&out), "-q"]).status.success());
    out
}

/// The numbers in an attribute of all elements with a name, in order.
fn attribute(svg: &str, element: &str, name: &str) -> Vec<f64> {
    let document = roxmltree::Document::parse(svg).unwrap();
    let nodes = document.descendants().filter(|node| node.has_tag_name(element));
    nodes.filter_map(|node| node.attribute(name)?.parse().ok()).collect()
}

#[test]
fn bars_of_an_svg_are_as_long_as_what_was_counted() {
    let folder = tempdir().unwrap();
    let out = results(folder.path());
    let figures = folder.path().join("figures");
    assert!(laggard(&["report", text(&out), "--svg", text(&figures)]).status.success());
    let svg = |name: &str| std::fs::read_to_string(figures.join(format!("{name}.svg"))).unwrap();
    let mut names: Vec<String> =
        std::fs::read_dir(&figures).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let known =
        ["fates", "lag_causes", "lag_clocks", "lag_joint", "lag_seconds", "lag_versions", "loss_time", "loss_updates"];
    assert!(known.iter().all(|name| names.contains(&format!("{name}.svg"))), "{names:?}");
    // The causes of the two classes: a piece each, behind the background and the keys of the colours, in the order of causes.
    let causes = Results::open(&out).unwrap().table("lag_causes.parquet").unwrap().unwrap();
    let (cause, mean_s) = (causes.texts("cause"), causes.numbers("mean_s"));
    let used: Vec<&str> = ["compute", "upload", "queue", "service"].to_vec();
    let expected: Vec<f64> = used
        .iter()
        .flat_map(|part| (0..cause.len()).filter(move |&row| cause[row] == *part))
        .map(|row| mean_s[row].unwrap())
        .collect();
    let widths = attribute(&svg("lag_causes"), "rect", "width");
    let pieces = &widths[1 + used.len()..];
    assert_eq!(pieces.len(), expected.len());
    let scale = pieces.iter().sum::<f64>() / expected.iter().sum::<f64>();
    for (piece, expected) in pieces.iter().zip(&expected) {
        assert!((piece - expected * scale).abs() < 2.0, "{piece} pixels, {} wanted", expected * scale);
    }
    // Versions: a bar for each lag of each class that is drawn at first.
    let lags = Results::open(&out).unwrap().table("lag_histogram.parquet").unwrap().unwrap();
    let of_fast = |row: &usize| lags.texts("unit")[*row] == "versions" && lags.texts("class")[*row] == "fast";
    let counts: Vec<f64> = (0..lags.rows()).filter(of_fast).map(|row| lags.numbers("count")[row].unwrap()).collect();
    let heights = attribute(&svg("lag_versions"), "rect", "height");
    let heights = &heights[3..];
    let scale = heights[1] / counts[1];
    for (height, count) in heights.iter().zip(&counts).take(6) {
        assert!((height - count * scale).abs() < 2.0 + 0.02 * height, "{height} pixels, {} wanted", count * scale);
    }
}

#[test]
fn a_page_is_one_file_with_its_data_and_no_address_to_load() {
    let folder = tempdir().unwrap();
    // What a scenario says may look like markup.
    let out = results(folder.path());
    let page = folder.path().join("page.html");
    assert!(laggard(&["report", text(&out), "--html", text(&page), "-q"]).status.success());
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.len() < 200_000, "{}", html.len());
    assert!(!html.contains("src=") && !html.contains("<link rel=\"stylesheet") && !html.contains("{{"));
    assert!(html.contains("Copyright (c) 2022 Leon Sorokin"));
    let data = html.split("<script type=\"application/json\" id=\"report\">").nth(1).unwrap();
    let data: Value = serde_json::from_str(data.split("</script>").next().unwrap()).unwrap();
    assert_eq!(
        data["scenario"].as_str().unwrap().trim(),
        std::fs::read_to_string(out.join("scenario.ron")).unwrap().trim()
    );
    // The line that makes it again does.
    let command = data["command"].as_str().unwrap().replace("again", text(&folder.path().join("again")));
    assert!(laggard(&command.split(' ').skip(1).collect::<Vec<_>>()).status.success());
    let bytes = |folder: &Path| std::fs::read(folder.join("summary.parquet")).unwrap();
    assert_eq!(bytes(&out), bytes(&folder.path().join("again")));
}

#[test]
fn a_sweep_is_drawn_along_any_axis() {
    let folder = tempdir().unwrap();
    std::fs::write(folder.path().join("s.ron"), SCENARIO).unwrap();
    let sweep = folder.path().join("sweep.ron");
    let axes = "axes: [Counts([1, 2]), Changes(name: \"</script>\", values: [(\"a\", (seed: 1)), (\"b\", (seed: 2))])]";
    let tables = "tables: [LagHistogram, Trajectory]";
    let rest = "set: (stop: (updates: 200)), replications: Fixed(3)";
    std::fs::write(&sweep, format!("Sweep(scenario: \"s.ron\", {rest}, {axes}, {tables})")).unwrap();
    let out = folder.path().join("out");
    assert!(laggard(&["sweep", text(&sweep), "--out", text(&out), "-q"]).status.success());
    let shown = laggard(&["report", text(&out), "--show", "lag_versions_mean", "--along", "</script>"]);
    let small = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.status.success() && small.contains("lag_versions_mean against </script>"), "{small}");
    assert!(small.lines().skip(1).all(|line| line.chars().count() <= 72), "{small}");
    assert!(!small.contains('\u{1b}'), "colours, and no terminal");
    let html = std::fs::read_to_string(out.join("report.html")).unwrap();
    let data = html.split("id=\"report\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["cells"]["axes"][1]["name"], "</script>");
    assert_eq!(data["parts"].as_array().unwrap().len(), 4);
    let loss =
        data["parts"][0]["figures"].as_array().unwrap().iter().find(|figure| figure["name"] == "loss_time").unwrap();
    let curve = &loss["drawing"]["curves"][0];
    assert_eq!(curve["lower"].as_array().unwrap().len(), curve["x"].as_array().unwrap().len());
    let figures = folder.path().join("figures");
    assert!(laggard(&["report", text(&out), "--svg", text(&figures), "--show", "loss", "-q"]).status.success());
    for name in ["loss_curves.svg", "loss_grid.svg"] {
        roxmltree::Document::parse(&std::fs::read_to_string(figures.join(name)).unwrap()).unwrap();
    }
    let wrong = laggard(&["report", text(&out), "--along", "workres"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8(wrong.stderr).unwrap().contains("did you mean `workers`"));
}

#[test]
fn what_is_no_result_is_refused_with_a_remedy() {
    let folder = tempdir().unwrap();
    let refused = |path: &Path, code: i32, says: &str| {
        let output = laggard(&["report", text(path)]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(says), "{said}");
    };
    refused(&folder.path().join("nowhere"), 2, "laggard run SCENARIO --out FOLDER");
    refused(folder.path(), 2, "has no summary.parquet");
    std::fs::create_dir(folder.path().join("runs")).unwrap();
    refused(folder.path(), 2, "the same command goes on with it");
    let out = results(folder.path());
    let along = laggard(&["report", text(&out), "--along", "workers"]);
    assert_eq!(along.status.code(), Some(2));
    assert!(String::from_utf8(along.stderr).unwrap().contains("have no axes"));
    let summary = out.join("summary.parquet");
    let bytes = std::fs::read(&summary).unwrap();
    std::fs::write(&summary, &bytes[..bytes.len() / 2]).unwrap();
    refused(&out, 3, "summary.parquet");
    std::fs::write(&summary, &bytes).unwrap();
    // A table under the name of another has not its columns.
    std::fs::copy(out.join("trajectory.parquet"), out.join("lag_causes.parquet")).unwrap();
    refused(&out, 3, "has no column `class`");
    std::fs::remove_file(out.join("lag_causes.parquet")).unwrap();
    std::fs::write(out.join("lag_joint.parquet"), "PAR1 nothing PAR1").unwrap();
    refused(&out, 3, "lag_joint.parquet");
}

#[test]
fn shells_and_readers_of_manuals_are_served() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = laggard(&["completions", shell]);
        assert!(String::from_utf8(output.stdout).unwrap().contains("timeline"), "{shell}");
    }
    let folder = tempdir().unwrap();
    assert!(laggard(&["manual", text(folder.path())]).status.success());
    let page = std::fs::read_to_string(folder.path().join("laggard-report.1")).unwrap();
    assert!(page.contains("Examples") && page.contains("laggard report out/pai"), "{page}");
}
