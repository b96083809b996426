//! Runs many: all that a plan asks for and a folder does not have yet, on all cores, in an order that does not show.

use super::cells::counted;
use super::journal::{Entry, Journal, kept};
use super::replications::Standing;
use super::run::run;
use super::sweep::Plan;
use crate::cluster::Ended;
use crate::error::{Error, Result};
use crate::output::{NoRows, tables};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How a batch of runs goes on, for whoever watches; and whether it shall.
#[derive(Debug, Default)]
pub struct Progress {
    /// Runs that are finished, those found finished included.
    pub runs: AtomicU64,
    /// Runs that there will be, as far as is known.
    pub planned: AtomicU64,
    /// Optimiser steps.
    pub steps: AtomicU64,
    /// Set to end what is under way, and begin nothing more.
    pub stop: AtomicBool,
}

/// Threads to run on: `jobs`, or as many as there are cores.
///
/// # Errors
/// If there are none to be had.
pub fn threads(jobs: Option<u16>) -> Result<ThreadPool> {
    let jobs = jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let pool = ThreadPoolBuilder::new().num_threads(jobs).build();
    pool.map_err(|error| Error::Invalid(format!("--jobs {jobs}: {error}")))
}

/// Makes the runs of the cells in `cells` on the threads of `pool`, and keeps them in `journal`. True if it came to its end.
///
/// # Errors
/// If a run cannot be made or kept.
pub fn execute(
    plan: &Plan,
    journal: &Journal,
    cells: std::ops::Range<usize>,
    pool: &ThreadPool,
    progress: &Progress,
) -> Result<bool> {
    let (first, most) = plan.sweep.replications.range();
    let mut open: Vec<usize> = cells.collect();
    let mut done = 0;
    // In rounds: whether a cell needs more is decided when a whole round of it is there, whoever finished first.
    while done < most && !open.is_empty() {
        let next = (done + first).min(most);
        let runs: Vec<(usize, u64)> =
            open.iter().flat_map(|&cell| (done..next).map(move |replication| (cell, replication))).collect();
        progress.planned.fetch_add(runs.len() as u64, Ordering::Relaxed);
        pool.install(|| {
            runs.par_iter().try_for_each(|&(cell, replication)| make(plan, journal, cell, replication, progress))
        })?;
        if progress.stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        done = next;
        let mut wanting = Vec::new();
        for cell in open {
            if counted(plan, journal, cell)?.1 == Standing::Short {
                wanting.push(cell);
            }
        }
        open = wanting;
    }
    Ok(true)
}

/// Makes one run, unless it is there already.
fn make(plan: &Plan, journal: &Journal, cell: usize, replication: u64, progress: &Progress) -> Result<()> {
    if progress.stop.load(Ordering::Relaxed) {
        return Ok(());
    }
    let named = |error: Error| match error {
        Error::Scenario(text) => Error::Scenario(format!("with {}:\n{text}", plan.name(cell))),
        other => other,
    };
    let prepared = plan.prepare(cell, replication).map_err(named)?;
    let hash = prepared.stamp.scenario_hash;
    if journal.read(plan, cell, replication, Some(hash))?.is_none() {
        let infinite_variance = prepared.has_infinite_variance();
        let classes = prepared.scenario.class_names();
        let mut steps = 0;
        let outcome = run(prepared, NoRows, |simulation| {
            progress.steps.fetch_add(simulation.updates() - steps, Ordering::Relaxed);
            steps = simulation.updates();
            !progress.stop.load(Ordering::Relaxed)
        });
        let outcome = outcome.map_err(named)?;
        // A run that was cut short is no result.
        if outcome.summary.ended == Ended::Interrupted {
            return Ok(());
        }
        progress.steps.fetch_add(outcome.summary.steps - steps, Ordering::Relaxed);
        let all = tables(&outcome.simulation, &outcome.summary, &outcome.recording, &classes);
        let tables = kept(all, &plan.sweep.tables);
        let entry = Entry { cell, replication, scenario_hash: hash, infinite_variance, tables };
        journal.write(plan, &entry)?;
    }
    progress.runs.fetch_add(1, Ordering::Relaxed);
    Ok(())
}
