//! Pictures of results: what is drawn, apart from how. A page draws them with a chart library, a paper gets them as SVG, a terminal as text.

mod cells;
mod course;
mod lags;
mod shares;

pub use cells::{Cells, SweepAxis};

use crate::output::Table;
use serde::Serialize;

/// One picture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// What a file with it is called.
    pub name: String,
    /// What is drawn.
    pub title: String,
    /// How to read it.
    pub note: String,
    /// The drawing.
    pub drawing: Drawing,
}

/// A kind of picture, with its values.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Drawing {
    /// Lines, with bands of confidence.
    Curves(Curves),
    /// How often values lie where.
    Histogram(Histogram),
    /// How often pairs of values lie where.
    Joint(Joint),
    /// Bars made of parts.
    Stacked(Stacked),
    /// A number at each crossing of two lists.
    Grid(Grid),
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// What it is, and its unit.
    pub label: String,
    /// Whether equal distances are equal factors.
    pub log: bool,
    /// If it has names in place of numbers: those of 0, 1, 2 …
    pub names: Vec<String>,
    /// Which numbers stand on it; if there are none, round ones.
    pub ticks: Vec<f64>,
}

/// Lines.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curves {
    /// From left to right.
    pub x: Axis,
    /// From bottom to top.
    pub y: Axis,
    /// The lines.
    pub curves: Vec<Curve>,
    /// Whether values are points, not lines.
    pub points: bool,
}

/// A line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// What it is of.
    pub name: String,
    /// Where its values are, in ascending order.
    pub x: Vec<f64>,
    /// The values.
    pub y: Vec<Option<f64>>,
    /// The lower ends of their intervals; empty if there are none.
    pub lower: Vec<Option<f64>>,
    /// The upper ends.
    pub upper: Vec<Option<f64>>,
}

/// A histogram.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Histogram {
    /// What was counted.
    pub x: Axis,
    /// Whether values are whole numbers: a bin from 3 until 4 is then drawn around 3.
    pub whole: bool,
    /// What of it is drawn at first: all but the rarest.
    pub shown: [f64; 2],
    /// One for each class of workers.
    pub groups: Vec<Group>,
}

/// The bins of a class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// The class.
    pub name: String,
    /// Where each bin begins, in ascending order.
    pub lower: Vec<f64>,
    /// Where it ends.
    pub upper: Vec<f64>,
    /// How many values are in it.
    pub count: Vec<f64>,
}

/// A histogram of pairs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Joint {
    /// The first of each pair.
    pub x: Axis,
    /// The second.
    pub y: Axis,
    /// For each cell: from and until x, from and until y, and how many pairs.
    pub cells: Vec<[f64; 5]>,
    /// The medians.
    pub medians: [f64; 2],
    /// What is drawn of either side: all but the rarest.
    pub shown: [[f64; 2]; 2],
}

/// Bars made of parts, from left to right.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stacked {
    /// What their length is.
    pub x: Axis,
    /// What the parts are.
    pub parts: Vec<String>,
    /// The bars: the name, and the length of each part.
    pub bars: Vec<(String, Vec<f64>)>,
}

/// Numbers at crossings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Grid {
    /// From left to right.
    pub x: Axis,
    /// From top to bottom.
    pub y: Axis,
    /// What the numbers are.
    pub label: String,
    /// Whether equal steps of shade are equal factors.
    pub log: bool,
    /// Row by row.
    pub rows: Vec<Vec<Option<f64>>>,
}

/// The tables that pictures of runs are made from; those that are not there are empty.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// summary.parquet
    pub summary: Table,
    /// lag_histogram.parquet
    pub histogram: Table,
    /// lag_joint.parquet
    pub joint: Table,
    /// lag_causes.parquet
    pub causes: Table,
    /// participation.parquet
    pub participation: Table,
    /// trajectory.parquet
    pub trajectory: Table,
}

/// How much is drawn of each: many pictures are drawn with less.
#[derive(Clone, Copy, Debug)]
pub struct Detail {
    /// Bins of a histogram, and points of a line.
    pub points: usize,
    /// The level of intervals.
    pub level: f64,
}

/// All pictures of some runs, which are repeats of one another.
pub fn figures(tables: &Tables, runs: &[f64], detail: Detail) -> Vec<Figure> {
    let mut all = lags::histograms(&tables.histogram, runs, detail);
    all.extend(lags::joint(&tables.joint, runs, detail));
    all.extend(course::losses(&tables.trajectory, runs, detail));
    all.extend(shares::participation(&tables.participation, runs, detail));
    all.extend(shares::causes(&tables.causes, runs));
    all.extend(shares::fates(&tables.summary, &tables.participation, runs));
    all.extend(shares::times(&tables.summary, runs));
    all
}

impl Axis {
    /// A plain axis.
    pub fn new(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), log: false, names: Vec::new(), ticks: Vec::new() }
    }
}

/// Whether figures that are never below 0 lie so far apart that only factors tell.
fn are_wide(values: impl Iterator<Item = f64> + Clone) -> bool {
    const WIDE: f64 = 1000.0;
    let least = values.clone().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
    values.clone().all(|value| value >= 0.0) && values.fold(0.0, f64::max) > WIDE * least
}

/// The rows of a table that are of some runs. Runs stand one after the other in it.
fn rows_of(table: &Table, runs: &[f64]) -> Vec<usize> {
    let number = table.numbers("run");
    let before = |run: f64| number.partition_point(|known| known.is_some_and(|known| known < run));
    runs.iter().flat_map(|&run| before(run)..before(run + 1.0)).collect()
}

/// What stands in a column of those rows, 0 for what is missing.
fn column(table: &Table, name: &str, rows: &[usize]) -> Vec<f64> {
    let values = table.numbers(name);
    rows.iter().map(|&row| values.get(row).copied().flatten().unwrap_or(0.0)).collect()
}

/// The different values of a column of text, as they come.
fn names<'a>(texts: &'a [String], rows: &[usize]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for &row in rows {
        if !names.contains(&texts[row].as_str()) {
            names.push(&texts[row]);
        }
    }
    names
}

/// What a class is called, of so many: classes without a name have numbers.
fn class_name(name: &str, classes: usize) -> String {
    match name.parse::<usize>() {
        Ok(_) if classes == 1 => "all workers".to_owned(),
        Ok(_) => format!("class {name}"),
        Err(_) => name.to_owned(),
    }
}
