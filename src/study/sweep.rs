//! A sweep: a scenario and axes of changes, and the plan of runs that follows from them.

use super::check_sweep::check;
use super::replications::Replications;
use super::run::{Base, Change, Prepared};
use crate::catalogue::{Entry, entry};
use crate::error::{Error, Result};
use crate::output::Column;
use crate::scenario::{Patch, Problem, Source, print_document};
use crate::units::{Count, Fraction, Positive};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// A sweep, as its file says it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// The file of the scenario, relative to the sweep's folder.
    pub scenario: String,
    /// What is changed of it in all runs.
    #[serde(default)]
    pub set: Patch,
    /// What is varied: every value of each axis with every value of the others.
    pub axes: Vec<Axis>,
    /// Axes that are varied together: the first value of each, then the second, and so on.
    #[serde(default)]
    pub zip: Vec<Vec<String>>,
    /// Combinations to leave out: those that have all of these labels, by axis.
    #[serde(default)]
    pub exclude: Vec<BTreeMap<String, String>>,
    /// How often each combination is run.
    #[serde(default)]
    pub replications: Replications,
    /// The confidence of intervals.
    #[serde(default = "usual")]
    pub level: Fraction,
    /// Which tables are kept of each run, besides the summary.
    #[serde(default = "histograms")]
    pub tables: Vec<Kept>,
}

/// One thing that is varied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Axis {
    /// The number of workers in every class.
    Counts(Vec<Count>),
    /// The learning rate.
    LearningRates(Vec<Positive>),
    /// Learning rates that grow by equal factors.
    LearningRatesBetween {
        /// The first.
        from: Positive,
        /// The last.
        to: Positive,
        /// How many, at least 2.
        count: Count,
    },
    /// Any changes, each with its label.
    Changes {
        /// The axis's name, a column of the results.
        name: String,
        /// Labels and changes.
        values: Vec<(String, Patch)>,
    },
}

/// A table of single runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each is the table of that name, see docs/results.md")]
pub enum Kept {
    LagHistogram,
    LagJoint,
    LagCauses,
    Participation,
    Trajectory,
    Incidents,
    Shards,
}

impl Kept {
    /// The name of its file.
    pub fn file(self) -> &'static str {
        match self {
            Kept::LagHistogram => "lag_histogram.parquet",
            Kept::LagJoint => "lag_joint.parquet",
            Kept::LagCauses => "lag_causes.parquet",
            Kept::Participation => "participation.parquet",
            Kept::Trajectory => "trajectory.parquet",
            Kept::Incidents => "incidents.parquet",
            Kept::Shards => "shards.parquet",
        }
    }

    /// Every table, in the order of the enum.
    pub const CATALOGUE: &[Entry] = &[
        entry("LagHistogram", "lags in three units, by class", "LagHistogram"),
        entry("LagJoint", "lags in versions beside seconds", "LagJoint"),
        entry("LagCauses", "where the seconds go, by class", "LagCauses"),
        entry("Participation", "what became of the gradients, by worker", "Participation"),
        entry("Trajectory", "samples of the loss", "Trajectory"),
        entry("Incidents", "failures and returns, where something can fail", "Incidents"),
        entry("Shards", "lags, rejections and failures of each shard of a server that has them", "Shards"),
    ];
}

impl Axis {
    /// Every kind of axis, in the order of the enum.
    pub const CATALOGUE: &[Entry] = &[
        entry("Counts", "workers in every class; the axis is called `workers`", "Counts([1, 2, 4, 8])"),
        entry("LearningRates", "the axis is called `learning_rate`", "LearningRates([0.01, 0.1])"),
        entry(
            "LearningRatesBetween",
            "`count` of them, equal factors apart",
            "LearningRatesBetween(from: 0.001, to: 1.0, count: 7)",
        ),
        entry(
            "Changes",
            "any fields of a scenario, each with a label",
            "Changes(name: \"protocol\", values: [(\"sync\", (protocol: Sync)), (\"async\", (protocol: Async))])",
        ),
    ];

    /// Its name, a column of the results.
    pub fn name(&self) -> &str {
        match self {
            Axis::Counts(_) => "workers",
            Axis::LearningRates(_) | Axis::LearningRatesBetween { .. } => "learning_rate",
            Axis::Changes { name, .. } => name,
        }
    }

    /// Its values: labels and changes.
    pub(super) fn values(&self) -> Vec<(String, Patch)> {
        let count = |count: &Count| {
            let class = crate::scenario::ClassPatch { count: Some(*count), ..Default::default() };
            (count.get().to_string(), Patch { each_class: Some(class), ..Patch::default() })
        };
        match self {
            Axis::Counts(counts) => counts.iter().map(count).collect(),
            Axis::LearningRates(rates) => rates.iter().map(|&rate| learning_rate(rate)).collect(),
            Axis::LearningRatesBetween { from, to, count } => {
                let last = count.get().max(2) - 1;
                let grow = (to.get() / from.get()).powf(1.0 / last as f64);
                let at = |step: u64| Positive::new(from.get() * grow.powf(step as f64));
                (0..=last).filter_map(|step| at(step).ok()).map(learning_rate).collect()
            }
            Axis::Changes { values, .. } => values.clone(),
        }
    }

    /// Where its value number `place` stands in the file, from the axis on.
    fn at(&self, place: usize) -> Vec<String> {
        let steps: &[usize] = match self {
            Axis::Counts(_) | Axis::LearningRates(_) => &[0, place],
            Axis::LearningRatesBetween { .. } => &[],
            Axis::Changes { .. } => return ["values".to_owned(), place.to_string(), "1".to_owned()].into(),
        };
        steps.iter().map(usize::to_string).collect()
    }
}

/// A learning rate as a value of an axis. Ten digits are enough, and read better: 0.0625, not 0.062499999999999986.
fn learning_rate(rate: Positive) -> (String, Patch) {
    let rounded = format!("{:.9e}", rate.get()).parse().ok().and_then(|rate| Positive::new(rate).ok()).unwrap_or(rate);
    (rounded.get().to_string(), Patch { learning_rate: Some(rounded), ..Patch::default() })
}

fn usual() -> Fraction {
    Fraction::new(0.95).unwrap_or_else(|reason| unreachable!("{reason}"))
}

fn histograms() -> Vec<Kept> {
    vec![Kept::LagHistogram, Kept::LagCauses]
}

/// One combination of the values of all axes.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The label of each axis's value, in the order of the axes.
    pub labels: Vec<String>,
    /// What is changed of the scenario.
    pub changes: Vec<Change>,
    /// What its runs are called in the folder: its number or, of one that was added, a hash of its labels.
    pub id: String,
}

/// All runs of a sweep.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The document.
    pub sweep: Sweep,
    /// The scenario.
    pub base: Base,
    /// The names of the axes.
    pub axes: Vec<String>,
    /// The combinations, the last axis varying fastest.
    pub cells: Vec<Cell>,
    /// A hash of what its runs depend on: of another one, results are not continued.
    pub hash: u64,
}

impl Plan {
    /// The plan of the sweep that `source` says, with `more` changed of the scenario in all runs.
    ///
    /// # Errors
    /// If it cannot be read, or its axes do not fit: every mistake, with its place and a remedy.
    pub fn new(source: &Source, more: &[Change]) -> Result<Plan> {
        let sweep: Sweep = source.parse()?;
        let mut problems = check(&sweep);
        let folder = source.path.parent().unwrap_or(std::path::Path::new(""));
        let base = match Source::read(&folder.join(&sweep.scenario)) {
            Err(error @ Error::Io { .. }) => {
                let problem = Problem::at("scenario", error.to_string());
                problems.push(problem.help("paths are relative to the sweep's folder"));
                None
            }
            other => Some(other?),
        };
        let (Some(base), true) = (base, problems.is_empty()) else {
            let problems: Vec<_> = problems.iter().map(|problem| problem.locate(&source.text)).collect();
            return Err(source.refuse(&problems));
        };
        let cells = cells(&sweep, source, more);
        if cells.is_empty() {
            let problem = Problem::at("exclude", "no combination is left").help("exclude fewer");
            return Err(source.refuse(&[problem.locate(&source.text)]));
        }
        let base = Base::new(&Source { colour: source.colour, ..base })?;
        let hash = identity(&sweep, &base, more)?;
        let axes = sweep.axes.iter().map(|axis| axis.name().to_owned()).collect();
        Ok(Plan { sweep, base, axes, cells, hash })
    }

    /// A run, ready to begin.
    ///
    /// # Errors
    /// If the scenario of this combination cannot be run.
    pub fn prepare(&self, cell: usize, replication: u64) -> Result<Prepared> {
        let mut changes = self.cells[cell].changes.clone();
        changes.push(Change::unwritten(Patch { replication: Some(replication), ..Patch::default() }));
        self.base.prepare(&changes)
    }

    /// Whether an axis is one of learning rates.
    pub fn is_learning_rate(&self, axis: usize) -> bool {
        matches!(self.sweep.axes[axis], Axis::LearningRates(_) | Axis::LearningRatesBetween { .. })
    }

    /// Adds a combination that is `cell` with another learning rate on that axis, unless it is there.
    pub fn add(&mut self, cell: usize, axis: usize, rate: Positive) {
        let (label, patch) = learning_rate(rate);
        let mut added = self.cells[cell].clone();
        added.labels[axis] = label;
        if self.cells.iter().any(|other| other.labels == added.labels) {
            return;
        }
        // Changes of the axes stand last, in their order.
        let place = added.changes.len() - self.axes.len() + axis;
        added.changes[place] = Change::unwritten(patch);
        added.id = format!("{:016x}", xxh3_64(added.labels.join("\n").as_bytes()));
        self.cells.push(added);
    }

    /// One column an axis, with the labels of cells, and one with their numbers.
    pub fn labels(&self, cells: &[usize]) -> Vec<Column> {
        let numbers = cells.iter().map(|&cell| cell as u64).collect();
        let axis = |(place, name): (usize, &String)| {
            let labels = cells.iter().map(|&cell| self.cells[cell].labels[place].clone()).collect();
            Column::text(format!("axis_{name}"), labels)
        };
        let axes = self.axes.iter().enumerate().map(axis);
        std::iter::once(Column::whole("cell", "number", numbers)).chain(axes).collect()
    }

    /// What a person calls a combination.
    pub fn name(&self, cell: usize) -> String {
        let labels = self.axes.iter().zip(&self.cells[cell].labels).map(|(axis, label)| format!("{axis} {label}"));
        labels.collect::<Vec<_>>().join(", ")
    }
}

/// A hash of all that single runs depend on, but for the files that they read: not of the number of replications, which is
/// raised to go on, nor of how sure intervals are, nor of comments.
fn identity(sweep: &Sweep, base: &Base, more: &[Change]) -> Result<u64> {
    let runs =
        Sweep { scenario: String::new(), replications: Replications::default(), level: usual(), ..sweep.clone() };
    let mut text = print_document(&runs)? + "\n" + &base.text()?;
    for change in more {
        text += &format!("\n{}", print_document(&change.patch)?);
    }
    Ok(xxh3_64(text.as_bytes()))
}

/// The axes that are varied together, by their places: zipped ones, and each of the others alone, in the order of their first.
pub(super) fn groups(sweep: &Sweep) -> Vec<Vec<usize>> {
    let place = |name: &String| sweep.axes.iter().position(|axis| axis.name() == name);
    let mut groups: Vec<Vec<usize>> = sweep.zip.iter().map(|names| names.iter().filter_map(place).collect()).collect();
    groups.retain(|group| !group.is_empty());
    let alone = (0..sweep.axes.len()).filter(|axis| !groups.iter().any(|group| group.contains(axis)));
    let alone: Vec<Vec<usize>> = alone.map(|axis| vec![axis]).collect();
    groups.extend(alone);
    groups.sort();
    groups
}

fn cells(sweep: &Sweep, source: &Source, more: &[Change]) -> Vec<Cell> {
    let values: Vec<Vec<(String, Patch)>> = sweep.axes.iter().map(Axis::values).collect();
    let source = Arc::new(source.clone());
    let set = Change { patch: sweep.set.clone(), source: Arc::clone(&source), at: vec!["set".to_owned()] };
    let mut combinations: Vec<Vec<(usize, usize)>> = vec![Vec::new()];
    for group in groups(sweep) {
        let length = values[group[0]].len();
        let longer = combinations.iter().flat_map(|chosen| {
            (0..length).map(|place| {
                let mut chosen = chosen.clone();
                chosen.extend(group.iter().map(|&axis| (axis, place)));
                chosen
            })
        });
        combinations = longer.collect();
    }
    let cell = |mut chosen: Vec<(usize, usize)>| {
        chosen.sort_unstable();
        let change = |&(axis, place): &(usize, usize)| {
            let mut at = vec!["axes".to_owned(), axis.to_string()];
            at.extend(sweep.axes[axis].at(place));
            Change { patch: values[axis][place].1.clone(), source: Arc::clone(&source), at }
        };
        Cell {
            labels: chosen.iter().map(|&(axis, place)| values[axis][place].0.clone()).collect(),
            changes: std::iter::once(set.clone())
                .chain(more.iter().cloned())
                .chain(chosen.iter().map(change))
                .collect(),
            id: String::new(),
        }
    };
    let excluded = |cell: &Cell| {
        sweep.exclude.iter().any(|labels| {
            let own = |name: &String| sweep.axes.iter().position(|axis| axis.name() == name);
            labels.iter().all(|(name, label)| own(name).is_some_and(|axis| cell.labels[axis] == *label))
        })
    };
    let numbered = combinations.into_iter().map(cell).filter(|cell| !excluded(cell)).enumerate();
    numbered.map(|(number, cell)| Cell { id: format!("{number:06}"), ..cell }).collect()
}
