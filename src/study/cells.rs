//! From the runs of a sweep to tables: every run in a row, every cell with its means and how sure they are.

use super::batch::{figure, figures};
use super::journal::{Entry, Journal};
use super::statistics::{self, Caution, Estimate};
use super::sweep::Plan;
use crate::error::Result;
use crate::output::{Column, Stamp, SweepFolder, Table};
use std::collections::BTreeMap;

/// A figure of a cell, over its replications.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name in the summary.
    pub quantity: String,
    /// Its mean, with its interval; `None` if no run had it.
    pub estimate: Option<Estimate>,
}

/// A cell with its figures.
#[derive(Clone, Debug, PartialEq)]
pub struct CellFigures {
    /// Its number.
    pub cell: usize,
    /// How many runs it has.
    pub runs: u64,
    /// How many of them ended for which reason.
    pub ended: BTreeMap<String, u64>,
    /// All figures of the summary.
    pub figures: Vec<Figure>,
}

/// Writes the tables of all runs in `journal` to `folder`, and returns the figures of the cells. Runs are numbered in the order of
/// cells and replications; memory does not grow with their number, but for the cells'.
///
/// # Errors
/// If a run cannot be read, or a table not be written.
pub fn tabulate(plan: &Plan, journal: &Journal, folder: &mut SweepFolder, stamp: &Stamp) -> Result<Vec<CellFigures>> {
    let mut cells = Vec::new();
    let mut run = 0;
    for (cell, replications) in journal.finished()? {
        if cell >= plan.cells.len() {
            continue;
        }
        let mut entries = Vec::new();
        for replication in replications {
            let Some(entry) = journal.read(cell, replication, None)? else { continue };
            for table in &entry.tables {
                folder.append(labelled(plan, &entry, table.clone(), run), stamp)?;
            }
            run += 1;
            entries.push(Entry { tables: entry.tables.into_iter().take(1).collect(), ..entry });
        }
        cells.push(summarise(plan, cell, &entries));
    }
    folder.append(cell_table(plan, &cells), stamp)?;
    Ok(cells)
}

/// A table of one run with its number and, in the summary, the labels of its cell.
fn labelled(plan: &Plan, entry: &Entry, mut table: Table, run: u64) -> Table {
    let rows = table.rows();
    if let Some(column) = table.columns.iter_mut().find(|column| column.name == "run") {
        *column = Column::whole("run", "number", vec![run; rows]);
    }
    if table.file == "summary.parquet" {
        let labels = labels(plan, &vec![entry.cell; rows]);
        table.columns.splice(1..1, labels);
    }
    table
}

/// One column an axis, with the labels of cells, and one with their numbers.
fn labels(plan: &Plan, cells: &[usize]) -> Vec<Column> {
    let numbers = cells.iter().map(|&cell| cell as u64).collect();
    let axis = |(place, name): (usize, &String)| {
        Column::text(format!("axis_{name}"), cells.iter().map(|&cell| plan.cells[cell].labels[place].clone()).collect())
    };
    std::iter::once(Column::whole("cell", "number", numbers)).chain(plan.axes.iter().enumerate().map(axis)).collect()
}

fn summarise(plan: &Plan, cell: usize, entries: &[Entry]) -> CellFigures {
    let names = entries.first().and_then(|entry| entry.tables.first()).map(figures).unwrap_or_default();
    let heavy = entries.iter().any(|entry| entry.infinite_variance);
    let level = plan.sweep.level.get();
    let figure_of = |quantity: String| {
        let values: Vec<f64> = entries.iter().filter_map(|entry| figure(entry, &quantity)).collect();
        let mut estimate = statistics::mean(&values, level);
        if heavy && depends_on_time(&quantity) {
            estimate = estimate.map(|known| Estimate { half_width: Err(Caution::InfiniteVariance), ..known });
        }
        Figure { quantity, estimate }
    };
    let mut ended = BTreeMap::new();
    for entry in entries {
        *ended.entry(text(entry, "ended")).or_default() += 1;
    }
    CellFigures { cell, runs: entries.len() as u64, ended, figures: names.into_iter().map(figure_of).collect() }
}

fn text(entry: &Entry, name: &str) -> String {
    let column = entry.tables.first().and_then(|table| table.columns.iter().find(|column| column.name == name));
    match column.map(|column| &column.values) {
        Some(crate::output::Values::Text(values)) => values.first().cloned().unwrap_or_default(),
        _ => String::new(),
    }
}

/// Whether a figure is made of durations, or of how many fit into others, so that its variance is infinite if theirs is.
fn depends_on_time(quantity: &str) -> bool {
    quantity.starts_with("lag_s")
        || quantity.ends_with("_s")
        || quantity.ends_with("_per_s")
        || quantity.ends_with("_sd")
}

/// One row for each cell and figure.
fn cell_table(plan: &Plan, cells: &[CellFigures]) -> Table {
    let rows: Vec<(&CellFigures, &Figure)> =
        cells.iter().flat_map(|cell| cell.figures.iter().map(move |figure| (cell, figure))).collect();
    let number = |of: &dyn Fn(&Estimate) -> Option<f64>| {
        rows.iter().map(|(_, figure)| figure.estimate.as_ref().and_then(of)).collect::<Vec<_>>()
    };
    let mut columns = labels(plan, &rows.iter().map(|(cell, _)| cell.cell).collect::<Vec<_>>());
    columns.extend([
        Column::text("quantity", rows.iter().map(|(_, figure)| figure.quantity.clone()).collect()),
        Column::whole(
            "n",
            "runs",
            rows.iter().map(|(_, figure)| figure.estimate.map_or(0, |estimate| estimate.n)).collect(),
        ),
        Column::maybe("mean", "as in the summary", number(&|estimate| Some(estimate.mean))),
        Column::maybe("sd", "as in the summary; divisor n - 1", number(&|estimate| Some(estimate.sd))),
        Column::maybe(
            "lower",
            "end of the confidence interval",
            number(&|estimate| estimate.half_width.ok().map(|half| estimate.mean - half)),
        ),
        Column::maybe(
            "upper",
            "end of the confidence interval",
            number(&|estimate| estimate.half_width.ok().map(|half| estimate.mean + half)),
        ),
        Column::text(
            "caution",
            rows.iter()
                .map(|(_, figure)| figure.estimate.and_then(|estimate| estimate.half_width.err()))
                .map(|caution| caution.map_or("", Caution::reason).to_owned())
                .collect(),
        ),
    ]);
    Table { file: "cells.parquet".into(), columns }
}
