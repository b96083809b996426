//! Whether the parts of a sweep fit each other.

use super::replications::Replications;
use super::run::quantities;
use super::sweep::{Axis, Sweep, groups};
use crate::scenario::{Problem, suggest};
use std::collections::BTreeSet;

/// More combinations are a slip.
const MAX_CELLS: usize = 1_000_000;

/// Everything that is wrong with a sweep before a combination is built.
pub fn check(sweep: &Sweep) -> Vec<Problem> {
    let mut problems = axes(sweep);
    problems.extend(zip(sweep));
    problems.extend(exclude(sweep));
    problems.extend(replications(&sweep.replications));
    problems
}

/// Whether axes have names of their own and values.
fn axes(sweep: &Sweep) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut names = BTreeSet::new();
    for (place, axis) in sweep.axes.iter().enumerate() {
        let values = axis.values();
        let name = axis.name();
        let mut wrong = |message: String, help: &str| {
            problems.push(Problem::at(&format!("axes.{place}"), message).help(help));
        };
        if name.is_empty() || values.iter().any(|(label, _)| label.is_empty()) {
            let message = "an axis, or a value of it, has an empty name".to_owned();
            wrong(message, "name it, as in `Changes(name: \"law\", values: [(\"gamma\", …)])`");
        }
        if matches!(axis, Axis::LearningRatesBetween { count, .. } if count.get() < 2) {
            let message = "there are two ends, so at least two learning rates".to_owned();
            wrong(message, "give a `count` of at least 2, or `LearningRates([…])`");
        }
        if !names.insert(name) {
            wrong(format!("two axes are called `{name}`"), "rename one of them");
        }
        if values.is_empty() {
            wrong(format!("axis `{name}` has no values"), "give at least one");
        }
        let labels: BTreeSet<&String> = values.iter().map(|(label, _)| label).collect();
        if labels.len() < values.len() {
            wrong(format!("axis `{name}` has a value twice"), "remove one of them");
        }
    }
    let cells: usize = groups(sweep).iter().fold(1, |product, group| {
        let length = group.first().map_or(1, |&axis| sweep.axes[axis].values().len());
        product.saturating_mul(length)
    });
    if cells > MAX_CELLS {
        problems.push(Problem::at("axes", format!("{cells} combinations are too many")).help("at most 1,000,000"));
    }
    problems
}

/// Whether axes that are varied together are axes, and equally long.
fn zip(sweep: &Sweep) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut zipped = BTreeSet::new();
    let find = |name: &String| sweep.axes.iter().find(|axis| axis.name() == name);
    for (place, group) in sweep.zip.iter().enumerate() {
        let mut wrong = |message: String, help: &str| {
            problems.push(Problem::at(&format!("zip.{place}"), message).help(help));
        };
        for name in group {
            if find(name).is_none() {
                wrong(format!("no axis is called `{name}`"), "name one of the axes");
            } else if !zipped.insert(name) {
                wrong(format!("axis `{name}` is zipped twice"), "name it once");
            }
        }
        let lengths: BTreeSet<usize> = group.iter().filter_map(find).map(|axis| axis.values().len()).collect();
        if lengths.len() > 1 {
            wrong("these axes have different numbers of values".to_owned(), "make them equal");
        }
    }
    problems
}

/// Whether combinations to leave out are there.
fn exclude(sweep: &Sweep) -> Vec<Problem> {
    let has = |name: &String, label: &String| {
        let axis = sweep.axes.iter().find(|axis| axis.name() == name);
        axis.is_some_and(|axis| axis.values().iter().any(|(own, _)| own == label))
    };
    let named =
        sweep.exclude.iter().enumerate().flat_map(|(place, labels)| labels.iter().map(move |pair| (place, pair)));
    let unknown = named.filter(|(_, (name, label))| !has(name, label)).map(|(place, (name, label))| {
        Problem::at(&format!("exclude.{place}"), format!("no axis `{name}` has a value `{label}`"))
            .help("name an axis and one of its labels")
    });
    unknown.collect()
}

/// Whether a rule for replications can be kept.
fn replications(rule: &Replications) -> Vec<Problem> {
    let Replications::Until { quantity, at_least, at_most, .. } = rule else { return Vec::new() };
    let mut problems = Vec::new();
    if !quantities().contains(&quantity.as_str()) {
        let problem = Problem::at("replications.quantity", format!("no number in the summary is called `{quantity}`"));
        problems.push(problem.help(suggest(quantity, quantities(), "the numbers are")));
    }
    if at_least > at_most {
        let problem = Problem::at("replications.at_least", "`at_least` is more than `at_most`");
        problems.push(problem.help("give at most as many as `at_most`"));
    }
    if at_most.get() < 2 {
        let problem = Problem::at("replications.at_most", "of a single run there is no interval");
        problems.push(problem.help("give at least 2"));
    }
    problems
}
