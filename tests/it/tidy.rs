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
    "cluster",
    "record",
    "scenario",
    "output",
    "study",
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
        for line in code(&text) {
            for part in line.split("crate::").skip(1) {
                let names = part.trim_start_matches('{').split(|c: char| !c.is_alphanumeric() && c != '_');
                let Some(used) = names.filter_map(|name| ROOMS.iter().position(|room| *room == name)).next() else {
                    continue;
                };
                assert!(used <= own, "{}: {} may not use {}", path.display(), ROOMS[own], ROOMS[used]);
            }
        }
    }
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
                    && before.split_whitespace().all(|word| ["pub", "const", "pub(crate)"].contains(&word))
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
