//! A sweep: a scenario and axes of changes, and the plan of runs that follows from them.

use super::run::{Base, Change, Prepared};
use crate::catalogue::{Entry, entry};
use crate::error::{Error, Result};
use crate::scenario::{Patch, Problem, Source, print_document};
use crate::units::{Count, Fraction, Positive};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
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

/// How often each combination is run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Replications {
    /// So often.
    Fixed(Count),
    /// Until the mean of a quantity of the summary is known well enough.
    Until {
        /// Its name.
        quantity: String,
        /// Half the width of its interval, as a part of the mean, is to be no more than this.
        relative: Positive,
        /// Runs are made so many at a time.
        at_least: Count,
        /// And no more than so many in all.
        at_most: Count,
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
        }
    }

    /// Every table, in the order of the enum.
    pub const CATALOGUE: &[Entry] = &[
        entry("LagHistogram", "lags in three units, by class", "LagHistogram"),
        entry("LagJoint", "lags in versions beside seconds", "LagJoint"),
        entry("LagCauses", "where the seconds go, by class", "LagCauses"),
        entry("Participation", "what became of the gradients, by worker", "Participation"),
        entry("Trajectory", "samples of the loss", "Trajectory"),
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
    fn values(&self) -> Vec<(String, Patch)> {
        let count = |count: &Count| {
            let class = crate::scenario::ClassPatch { count: Some(*count), ..Default::default() };
            (count.get().to_string(), Patch { each_class: Some(class), ..Patch::default() })
        };
        let rate =
            |rate: Positive| (format!("{}", rate.get()), Patch { learning_rate: Some(rate), ..Patch::default() });
        match self {
            Axis::Counts(counts) => counts.iter().map(count).collect(),
            Axis::LearningRates(rates) => rates.iter().map(|&value| rate(value)).collect(),
            Axis::LearningRatesBetween { from, to, count } => {
                let last = count.get().max(2) - 1;
                let grow = (to.get() / from.get()).powf(1.0 / last as f64);
                // Ten digits are enough, and read better: 0.0625, not 0.062499999999999986.
                let round = |rate: f64| format!("{rate:.9e}").parse().unwrap_or(rate);
                let at = |step: u64| round(from.get() * grow.powf(step as f64));
                (0..=last).filter_map(|step| Positive::new(at(step)).ok()).map(rate).collect()
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

impl Replications {
    /// Every choice, in the order of the enum.
    pub const CATALOGUE: &[Entry] = &[
        entry("Fixed", "so many", "Fixed(10)"),
        entry(
            "Until",
            "so many at a time, until the interval of the mean of a quantity is narrow enough",
            "Until(quantity: \"lag_s_mean\", relative: 0.01, at_least: 5, at_most: 100)",
        ),
    ];

    /// How many there are at first, and how many at most.
    pub fn range(&self) -> (u64, u64) {
        match self {
            Replications::Fixed(count) => (count.get(), count.get()),
            Replications::Until { at_least, at_most, .. } => (at_least.get().min(at_most.get()), at_most.get()),
        }
    }
}

impl Default for Replications {
    fn default() -> Replications {
        Replications::Fixed(Count::ONE)
    }
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
    /// A hash of the sweep, but for its replications, and of the scenario: of another one, results are not continued.
    pub hash: u64,
}

/// More combinations are a slip.
const MAX_CELLS: usize = 1_000_000;

impl Plan {
    /// The plan of the sweep that `source` says, with `more` changed of the scenario in all runs.
    ///
    /// # Errors
    /// If it cannot be read, or its axes do not fit: every mistake, with its place and a remedy.
    pub fn new(source: &Source, more: &[Change]) -> Result<Plan> {
        let sweep: Sweep = source.parse()?;
        let folder = source.path.parent().unwrap_or(std::path::Path::new(""));
        let base = Source::read(&folder.join(&sweep.scenario)).map_err(|error| match error {
            Error::Io { .. } => {
                let problem = Problem::at("scenario", error.to_string());
                let problem = problem.help("paths are relative to the sweep's folder");
                source.refuse(&[problem.locate(&source.text)])
            }
            other => other,
        })?;
        let base = Source { colour: source.colour, ..base };
        let problems = check(&sweep);
        if !problems.is_empty() {
            let problems: Vec<_> = problems.iter().map(|problem| problem.locate(&source.text)).collect();
            return Err(source.refuse(&problems));
        }
        let cells = cells(&sweep, source, more);
        let identity = Sweep { replications: Replications::default(), ..sweep.clone() };
        let more: Vec<&str> = more.iter().map(|change| change.source.text.as_str()).collect();
        let hash = xxh3_64(format!("{}\n{}\n{}", print_document(&identity)?, base.text, more.join("\n")).as_bytes());
        let axes = sweep.axes.iter().map(|axis| axis.name().to_owned()).collect();
        Ok(Plan { sweep, base: Base::new(&base)?, axes, cells, hash })
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

    /// What a person calls a combination.
    pub fn name(&self, cell: usize) -> String {
        let labels = self.axes.iter().zip(&self.cells[cell].labels).map(|(axis, label)| format!("{axis} {label}"));
        labels.collect::<Vec<_>>().join(", ")
    }
}

/// Whether axes have names of their own and values, and whether what else names them names one.
fn check(sweep: &Sweep) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut wrong = |path: String, message: String, help: &str| problems.push(Problem::at(&path, message).help(help));
    let mut names = BTreeSet::new();
    for (place, axis) in sweep.axes.iter().enumerate() {
        let values = axis.values();
        if !names.insert(axis.name()) {
            wrong(format!("axes.{place}"), format!("two axes are called `{}`", axis.name()), "rename one of them");
        }
        if values.is_empty() {
            wrong(format!("axes.{place}"), format!("axis `{}` has no values", axis.name()), "give at least one");
        }
        let labels: BTreeSet<&String> = values.iter().map(|(label, _)| label).collect();
        if labels.len() < values.len() {
            wrong(format!("axes.{place}"), format!("axis `{}` has a value twice", axis.name()), "remove one of them");
        }
    }
    let mut zipped = BTreeSet::new();
    for (place, group) in sweep.zip.iter().enumerate() {
        for name in group {
            if !names.contains(name.as_str()) {
                wrong(format!("zip.{place}"), format!("no axis is called `{name}`"), "name one of the axes");
            } else if !zipped.insert(name) {
                wrong(format!("zip.{place}"), format!("axis `{name}` is zipped twice"), "name it once");
            }
        }
        let lengths: BTreeSet<usize> = group
            .iter()
            .filter_map(|name| sweep.axes.iter().find(|axis| axis.name() == name))
            .map(|axis| axis.values().len())
            .collect();
        if lengths.len() > 1 {
            wrong(format!("zip.{place}"), "these axes have different numbers of values".to_owned(), "make them equal");
        }
    }
    for (place, labels) in sweep.exclude.iter().enumerate() {
        for (name, label) in labels {
            let axis = sweep.axes.iter().find(|axis| axis.name() == name);
            if !axis.is_some_and(|axis| axis.values().iter().any(|(own, _)| own == label)) {
                let message = format!("no axis `{name}` has a value `{label}`");
                wrong(format!("exclude.{place}"), message, "name an axis and one of its labels");
            }
        }
    }
    let cells: usize = groups(sweep).iter().fold(1, |product, group| {
        let length = group.first().map_or(1, |&axis| sweep.axes[axis].values().len());
        product.saturating_mul(length)
    });
    if cells > MAX_CELLS {
        wrong("axes".to_owned(), format!("{cells} combinations are too many"), "at most 1,000,000");
    }
    if let Replications::Until { quantity, .. } = &sweep.replications
        && !super::run::quantities().contains(&quantity.as_str())
    {
        let message = format!("no number in the summary is called `{quantity}`");
        wrong("replications.quantity".to_owned(), message, "`laggard list` names them");
    }
    problems
}

/// The axes that are varied together, by their places: zipped ones, and each of the others alone, in the order of their first.
fn groups(sweep: &Sweep) -> Vec<Vec<usize>> {
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
        }
    };
    let excluded = |cell: &Cell| {
        sweep.exclude.iter().any(|labels| {
            let own = |name: &String| sweep.axes.iter().position(|axis| axis.name() == name);
            labels.iter().all(|(name, label)| own(name).is_some_and(|axis| cell.labels[axis] == *label))
        })
    };
    combinations.into_iter().map(cell).filter(|cell| !excluded(cell)).collect()
}
