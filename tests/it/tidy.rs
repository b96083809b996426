//! The rules of the house, where a machine can see them.

use std::path::{Path, PathBuf};

/// Rooms in the order in which they may be imported: each may use those before it, never those after it.
const ROOMS: &[&str] = &[
    "catalogue",
    "error",
    "units",
    "vector",
    "data",
    "kernel",
    "delay",
    "objective",
    "optimiser",
    "protocol",
    "failure",
    "cluster",
    "record",
    "theory",
    "scenario",
    "output",
    "study",
    "verify",
    "report",
    "cli",
];

const FILE_LINES: usize = 500;
const FUNCTION_LINES: usize = 60;
const LINE_LENGTH: usize = 150;

fn sources() -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push((path.clone(), std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut found = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    assert!(found.len() > 30);
    found
}

/// The code of a file without its unit tests, comments and doc examples.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let end = text.find("#[cfg(test)]").unwrap_or(text.len());
    text[..end].lines().filter(|line| !line.trim_start().starts_with("//"))
}

fn room(path: &Path) -> Option<usize> {
    let inside = path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap();
    let name = inside.components().next().unwrap().as_os_str().to_str().unwrap().trim_end_matches(".rs");
    ROOMS.iter().position(|room| *room == name)
}

#[test]
fn rooms_import_only_rooms_before_them() {
    for (path, text) in sources() {
        let Some(own) = room(&path) else {
            assert!(path.ends_with("lib.rs") || path.ends_with("main.rs"), "{} is in no room", path.display());
            continue;
        };
        let code: String = code(&text).flat_map(|line| [line, "\n"]).collect();
        for used in code.split("crate::").skip(1).flat_map(rooms_named) {
            assert!(used <= own, "{}: {} may not use {}", path.display(), ROOMS[own], ROOMS[used]);
        }
    }
}

/// The rooms that the text after `crate::` names: one, or all in the braces that follow.
fn rooms_named(rest: &str) -> Vec<usize> {
    let room = |name: &str| ROOMS.iter().position(|room| *room == name);
    let word =
        |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default().to_owned();
    let Some(inside) = rest.strip_prefix('{') else { return room(&word(rest)).into_iter().collect() };
    let (mut depth, mut found, mut start) = (0, Vec::new(), true);
    for (at, c) in inside.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => start = true,
            c if c.is_whitespace() => {}
            _ if start && depth == 0 => {
                found.extend(room(&word(&inside[at..])));
                start = false;
            }
            _ => {}
        }
    }
    found
}

#[test]
fn imports_are_seen_in_every_form() {
    let named = |rest: &str| rooms_named(rest).into_iter().map(|room| ROOMS[room]).collect::<Vec<&str>>();
    assert_eq!(named("error::{Error, Result};"), ["error"]);
    assert_eq!(named("{error::{self, cli}, cli::Y,\n    study};"), ["error", "cli", "study"]);
}

#[test]
fn files_functions_and_lines_are_short() {
    for (path, text) in sources() {
        let name = path.display();
        assert!(text.lines().count() <= FILE_LINES, "{name} has {} lines", text.lines().count());
        for (number, line) in text.lines().enumerate() {
            assert!(line.chars().count() <= LINE_LENGTH, "{name}:{} is too long", number + 1);
        }
        let mut start: Option<(usize, usize)> = None;
        for (number, line) in text.lines().enumerate() {
            let indent = line.len() - line.trim_start().len();
            let begins = line.trim_start().split("fn ").next().is_some_and(|before| {
                line.contains("fn ")
                    && before
                        .split_whitespace()
                        .all(|word| ["pub", "const", "pub(crate)", "pub(super)"].contains(&word))
            });
            if begins && start.is_none() && !line.trim_end().ends_with(';') {
                start = Some((number, indent));
            }
            if let Some((first, own)) = start
                && line.trim_end() == format!("{}}}", " ".repeat(own))
            {
                assert!(
                    number - first < FUNCTION_LINES,
                    "{name}:{}: a function of {} lines",
                    first + 1,
                    number - first + 1
                );
                start = None;
            }
            if start.is_some_and(|(first, _)| first == number) && line.trim_end().ends_with('}') {
                start = None;
            }
        }
    }
}

/// Nothing that differs from run to run may reach a result: no iteration order of hash maps, no clock, no thread.
#[test]
fn nothing_that_varies_can_reach_a_result() {
    let forbidden = ["HashMap", "HashSet", "Instant::now", "SystemTime", "thread::current", "rand::rng(", "ThreadRng"];
    for (path, text) in sources() {
        for line in code(&text) {
            for word in forbidden {
                assert!(!line.contains(word), "{} uses {word}: {line}", path.display());
            }
        }
    }
}

#[test]
fn the_kernel_knows_nothing_of_optimisation() {
    for (path, text) in sources().into_iter().filter(|(path, _)| path.to_string_lossy().contains("/kernel/")) {
        for word in ["gradient", "optimis", "worker", "server"] {
            let used = code(&text).any(|line| line.to_lowercase().contains(word));
            assert!(!used, "{} speaks of {word}", path.display());
        }
    }
}
