//! From the runs of a sweep to tables: every run in a row, every cell with its means and how sure they are.

use super::journal::{Brief, Entry, Journal, Runs};
use super::replications::Standing;
use super::statistics::{self, Caution, Estimate, Median};
use super::sweep::Plan;
use crate::error::Result;
use crate::output::{Column, Stamp, SweepFolder, Table};
use rayon::ThreadPool;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// A figure of a cell, over its replications.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name in the summary.
    pub quantity: String,
    /// Its mean, with its interval; `None` if no run had it.
    pub estimate: Option<Estimate>,
    /// Its median, with its interval; `None` if no run had it.
    pub median: Option<Median>,
}

/// A cell with its figures.
#[derive(Clone, Debug, PartialEq)]
pub struct CellFigures {
    /// Its number.
    pub cell: usize,
    /// How many runs it has.
    pub runs: u64,
    /// Whether these are all that is wanted.
    pub standing: Standing,
    /// How many of them ended for which reason.
    pub ended: BTreeMap<String, u64>,
    /// All figures of the summary.
    pub figures: Vec<Figure>,
}

/// The runs of a cell that count, and how that stands.
///
/// # Errors
/// If a run cannot be read.
pub fn counted(plan: &Plan, journal: &Journal, cell: usize) -> Result<(Runs, Standing)> {
    let (_, most) = plan.sweep.replications.range();
    let mut all = Runs::default();
    for replication in 0..most {
        let Some(entry) = journal.read(plan, cell, replication, None)? else { break };
        all.runs.push(entry.brief(&mut all.names));
    }
    let level = plan.sweep.level.get();
    let estimate = |quantity: &str, runs: u64| estimate(&all, runs as usize, quantity, level);
    let (count, standing) = plan.sweep.replications.count(all.runs.len() as u64, estimate);
    all.runs.truncate(count as usize);
    Ok((all, standing))
}

/// The mean of a quantity over the first runs with its interval at `level`.
fn estimate(all: &Runs, runs: usize, quantity: &str, level: f64) -> Option<Estimate> {
    let values: Vec<f64> = all.figure(quantity).take(runs).flatten().collect();
    let known = statistics::mean(&values, level)?;
    let heavy = all.infinite_variance() && depends_on_time(quantity);
    Some(if heavy { Estimate { half_width: Err(Caution::InfiniteVariance), ..known } } else { known })
}

/// Runs that are read at a time.
const AT_A_TIME: usize = 64;

/// Writes the tables of all runs in `journal` that count to `folder`, and returns the figures of the cells that have any. Runs are
/// numbered in the order of cells and replications; memory does not grow with their number, but for the cells'.
///
/// # Errors
/// If a run cannot be read, or a table not be written.
pub fn tabulate(
    plan: &Plan,
    journal: &Journal,
    folder: &mut SweepFolder,
    stamp: &Stamp,
    pool: &ThreadPool,
) -> Result<Vec<CellFigures>> {
    let mut cells = Vec::new();
    let mut run = 0;
    let present = journal.begun(plan)?;
    for chunk in present.chunks(AT_A_TIME) {
        let all: Vec<_> =
            pool.install(|| chunk.par_iter().map(|&cell| counted(plan, journal, cell)).collect::<Result<_>>())?;
        for (&cell, (counted, standing)) in chunk.iter().zip(all) {
            if counted.runs.is_empty() {
                continue;
            }
            for part in counted.runs.chunks(AT_A_TIME) {
                let whole = |run: &Brief| journal.read(plan, cell, run.replication, Some(run.scenario_hash));
                let part: Vec<Option<Entry>> = pool.install(|| part.par_iter().map(whole).collect::<Result<_>>())?;
                for mut entry in part.into_iter().flatten() {
                    for table in std::mem::take(&mut entry.tables) {
                        folder.append(labelled(plan, &entry, table, run), stamp)?;
                    }
                    run += 1;
                }
            }
            cells.push(summarise(plan, cell, &counted, standing));
        }
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
        let labels = plan.labels(&vec![entry.cell; rows]);
        table.columns.splice(1..1, labels);
    }
    table
}

fn summarise(plan: &Plan, cell: usize, counted: &Runs, standing: Standing) -> CellFigures {
    let level = plan.sweep.level.get();
    let figure_of = |quantity: &String| Figure {
        estimate: estimate(counted, counted.runs.len(), quantity, level),
        median: statistics::median(&counted.figure(quantity).flatten().collect::<Vec<f64>>(), level),
        quantity: quantity.clone(),
    };
    let mut ended = BTreeMap::new();
    for run in &counted.runs {
        *ended.entry(run.ended.clone()).or_default() += 1;
    }
    let figures = counted.names.iter().filter(|name| !is_label(name)).map(figure_of).collect();
    CellFigures { cell, runs: counted.runs.len() as u64, standing, ended, figures }
}

/// Numbers that say which run it is, and are no result.
pub fn is_label(name: &str) -> bool {
    ["run", "seed", "replication"].contains(&name)
}

/// Whether a figure is made of durations, or of how many fit into others, so that its variance is infinite if theirs is.
pub fn depends_on_time(quantity: &str) -> bool {
    quantity.starts_with("lag_s")
        || quantity.ends_with("_s")
        || quantity.ends_with("_per_s")
        || quantity.ends_with("_sd")
}

/// One row for each cell and figure.
fn cell_table(plan: &Plan, cells: &[CellFigures]) -> Table {
    let rows: Vec<(&CellFigures, &Figure)> =
        cells.iter().flat_map(|cell| cell.figures.iter().map(move |figure| (cell, figure))).collect();
    let number = |of: &dyn Fn(&Figure) -> Option<f64>| {
        rows.iter().map(|(_, figure)| of(figure).filter(|number| number.is_finite())).collect::<Vec<_>>()
    };
    let mean = |of: fn(&Estimate) -> Option<f64>| number(&|figure| figure.estimate.as_ref().and_then(of));
    let median = |of: fn(&Median) -> Option<f64>| number(&|figure| figure.median.as_ref().and_then(of));
    let mut columns = plan.labels(&rows.iter().map(|(cell, _)| cell.cell).collect::<Vec<_>>());
    columns.extend([
        Column::text("quantity", rows.iter().map(|(_, figure)| figure.quantity.clone()).collect()),
        Column::whole(
            "n",
            "runs",
            rows.iter().map(|(_, figure)| figure.estimate.map_or(0, |estimate| estimate.n)).collect(),
        ),
        Column::maybe("mean", "as in the summary", mean(|known| Some(known.mean))),
        Column::maybe("sd", "as in the summary; divisor n - 1", mean(|known| Some(known.sd))),
        Column::maybe("lower", "end of the interval of the mean", mean(|known| Some(known.interval()?.0))),
        Column::maybe("upper", "end of the interval of the mean", mean(|known| Some(known.interval()?.1))),
        Column::maybe("median", "as in the summary", median(|median| Some(median.value))),
        Column::maybe("median_lower", "end of the interval of the median", median(|median| Some(median.interval?.0))),
        Column::maybe("median_upper", "end of the interval of the median", median(|median| Some(median.interval?.1))),
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
