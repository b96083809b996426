//! Every scenario that comes with the project runs, and comes to the figures that it promises.

use laggard::output::NoRows;
use laggard::scenario::{Scenario, Source, print};
use laggard::study::{Check, Prepared, run};
use std::path::{Path, PathBuf};

fn files_in(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_in(&path, files);
        } else if std::fs::read_to_string(&path).unwrap().lines().all(|line| !line.starts_with("Sweep(")) {
            files.push(path);
        }
    }
}

pub fn files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    files_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios"), &mut files);
    files.sort();
    assert!(files.len() >= 9);
    files
}

/// Every protocol has a scenario that shows it, where `laggard list` says.
#[test]
fn every_protocol_has_a_scenario() {
    for entry in laggard::protocol::CATALOGUE {
        let path = laggard::protocol::scenario_of(entry.name);
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(&path);
        let scenario: Scenario =
            Source::read(&file).and_then(|source| source.parse()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(scenario.protocol.name(), entry.name, "{path}");
    }
}

#[test]
fn every_scenario_keeps_its_promises() {
    for file in files() {
        let source = Source::read(&file).unwrap();
        let prepared = Prepared::new(&source, None, None).unwrap_or_else(|error| panic!("{error}"));
        let outcome = run(prepared, NoRows, |_| true).unwrap();
        assert!(!outcome.checks.is_empty(), "{}: expects nothing", file.display());
        let broken: Vec<&Check> = outcome.checks.iter().filter(|check| !check.holds()).collect();
        assert!(broken.is_empty(), "{}: {broken:?}", file.display());
    }
}

#[test]
fn every_scenario_says_what_it_is_for_and_what_to_expect() {
    for file in files() {
        let text = std::fs::read_to_string(&file).unwrap();
        let head: String = text.lines().take_while(|line| line.starts_with("//")).collect();
        assert!(head.contains("Expected"), "{}", file.display());
        assert!(text.lines().all(|line| line.chars().count() <= 150), "{}", file.display());
    }
}

/// What `laggard check` prints is the same scenario, with nothing left to defaults.
#[test]
fn the_resolved_scenario_reads_back_as_itself() {
    for file in files() {
        let scenario: Scenario = Source::read(&file).unwrap().parse().unwrap();
        let printed = print(&scenario).unwrap();
        let again = Source { path: file.clone(), text: printed.clone(), colour: false }.parse::<Scenario>();
        assert_eq!(again.unwrap_or_else(|error| panic!("{printed}\n{error}")), scenario);
    }
}

/// The scenario in the README is one, and comes to what it expects.
#[test]
fn the_scenario_of_the_readme_runs() {
    let readme = std::fs::read_to_string(format!("{}/README.md", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let block = readme.split("```ron\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let source = Source { path: "README.md".into(), text: block.to_owned(), colour: false };
    let prepared = Prepared::new(&source, None, None).unwrap_or_else(|error| panic!("{error}"));
    let outcome = run(prepared, NoRows, |_| true).unwrap();
    assert!(outcome.checks.iter().all(Check::holds), "{:?}", outcome.checks);
}

#[test]
fn the_catalogues_have_every_way_to_record() {
    crate::support::check_catalogue::<laggard::record::Gradients>(laggard::record::Gradients::CATALOGUE);
    crate::support::check_catalogue::<laggard::record::Sampling>(laggard::record::Sampling::CATALOGUE);
}
