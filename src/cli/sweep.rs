//! `laggard sweep` and `laggard merge`.

use super::run::Interruption;
use super::{Jobs, Verdict, changes, check_quantities, estimate_json, kept_in, note, print, read};
use crate::error::{Error, Result};
use crate::output::{Folder, NoRows, Stamp, SweepFolder, Table};
use crate::report::{self, bytes};
use crate::scenario::print_document;
use crate::study::{CellFigures, Figure, Journal, Plan, Progress, Replications, Standing, execute, run, tabulate};
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use rayon::ThreadPool;
use serde_json::{Value, json};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  laggard sweep scenarios/sweeps/ssp-bound.ron --plan               what would be run, and about how long it takes
  laggard sweep scenarios/sweeps/ssp-bound.ron --out out/ssp-bound  run it; the same command goes on where it stopped
  laggard report out/ssp-bound                                      look at it")]
pub struct Options {
    /// The sweep, a RON file
    file: PathBuf,
    /// The folder of the results; the same command continues where it stopped
    #[arg(long, value_name = "DIR", required_unless_present = "plan")]
    out: Option<PathBuf>,
    /// Change fields of the scenario in all runs, as in --set 'stop: (updates: 1000)'
    #[arg(long = "set", value_name = "FIELDS")]
    changes: Vec<String>,
    /// Only these combinations, by number, as in 17..40, the last one excluded
    #[arg(long, value_name = "FROM..TO", value_parser = range)]
    only: Option<Range<usize>>,
    #[command(flatten)]
    jobs: Jobs,
    /// Print the plan with the numbers of the combinations, and run nothing
    #[arg(long)]
    plan: bool,
    #[command(flatten)]
    shown: Shown,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  laggard merge sweep.ron out/machine-1 out/machine-2 --out out/all")]
pub struct MergeOptions {
    /// The sweep, a RON file
    file: PathBuf,
    /// The fields that were changed in all runs, as they were given to the sweep
    #[arg(long = "set", value_name = "FIELDS")]
    changes: Vec<String>,
    /// Folders with runs of it
    #[arg(required = true)]
    folders: Vec<PathBuf>,
    /// The folder of the results
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    jobs: Jobs,
    #[command(flatten)]
    shown: Shown,
}

/// What is shown of the results.
#[derive(Debug, clap::Args)]
struct Shown {
    /// The figures to show, by their names in the summary
    #[arg(long, value_delimiter = ',', default_value = "throughput_per_s,lag_versions_mean,lag_s_mean,loss")]
    show: Vec<String>,
    /// Print the figures of all combinations as JSON
    #[arg(long)]
    json: bool,
    /// Print nothing but errors and, with --json, the figures
    #[arg(long, short)]
    quiet: bool,
}

/// A range of numbers, as in 17..40.
fn range(text: &str) -> Result<Range<usize>, String> {
    let numbers = text.split_once("..").and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
    match numbers {
        Some((from, to)) if from < to => Ok(from..to),
        _ => Err("expected two numbers, the first below the second, as in 17..40".to_owned()),
    }
}

pub fn sweep(options: &Options) -> Result<Verdict> {
    let plan = plan(&options.file, &options.changes, &options.shown)?;
    let all = 0..plan.cells.len();
    let cells = match &options.only {
        Some(only) if only.end > all.end => {
            let (Range { start, end }, last) = (only, all.end);
            let reason = format!("--only {start}..{end}: there are the combinations 0..{last}, the last one excluded");
            return Err(Error::Invalid(reason));
        }
        Some(only) => only.clone(),
        None => all,
    };
    let pool = options.jobs.pool()?;
    let text = describe(&plan, &cells, &pool)?;
    let Some(out) = options.out.as_deref().filter(|_| !options.plan) else {
        let numbered = cells.map(|cell| format!("{cell:>6}  {}\n", plan.name(cell)));
        print(&(text + &numbered.collect::<String>()))?;
        return Ok(Verdict::Fine);
    };
    if !options.shown.quiet {
        note(&text);
    }
    let results = Results::open(plan, out, &options.file)?;
    let progress = Progress::default();
    let work = || execute(&results.plan, &results.journal, cells, &pool, &progress);
    if !watch(options.shown.quiet, &progress, work)? {
        return Ok(results.interrupted(&progress));
    }
    let (plan, cells) = results.publish(&pool, |_, _| None)?;
    options.shown.show(&plan, &cells, out)
}

pub fn merge(options: &MergeOptions) -> Result<Verdict> {
    let plan = plan(&options.file, &options.changes, &options.shown)?;
    let results = Results::open(plan, &options.out, &options.file)?;
    for other in &options.folders {
        results.journal.take_over(&Journal::existing(other, &results.plan)?)?;
    }
    let (plan, cells) = results.publish(&options.jobs.pool()?, |_, _| None)?;
    options.shown.show(&plan, &cells, &options.out)
}

/// The plan that a file says, if what is to be shown exists.
fn plan(file: &Path, sets: &[String], shown: &Shown) -> Result<Plan> {
    let plan = Plan::new(&read(file)?, &changes(sets)?)?;
    check_quantities("--show", &shown.show)?;
    Ok(plan)
}

/// The results of a sweep, as they come.
pub struct Results {
    /// What is run.
    pub plan: Plan,
    /// The finished runs.
    pub journal: Journal,
    folder: Folder,
}

impl Results {
    /// Opens the folder `out`, so that what cannot be written is known before the first run.
    pub fn open(plan: Plan, out: &Path, file: &Path) -> Result<Results> {
        let folder = Folder::create(out, &[file.to_owned(), plan.base.path().to_owned()])?;
        let journal = Journal::open(&folder, &plan)?;
        Ok(Results { plan, journal, folder })
    }

    /// What is said when somebody asked for the end.
    pub fn interrupted(&self, progress: &Progress) -> Verdict {
        let (runs, out) = (progress.runs.load(Ordering::Relaxed), self.folder.path().display());
        note(&format!("interrupted; {runs} runs are kept in {out}, the same command continues\n"));
        Verdict::Interrupted
    }

    /// Makes tables of all finished runs, and writes them, and one that is made of the cells.
    pub fn publish(
        self,
        pool: &ThreadPool,
        more: impl FnOnce(&Plan, &[CellFigures]) -> Option<Table>,
    ) -> Result<(Plan, Vec<CellFigures>)> {
        let Results { plan, journal, folder } = self;
        let stamp = Stamp {
            scenario: print_document(&plan.sweep)?,
            scenario_hash: plan.hash,
            seed: plan.sweep.set.seed.unwrap_or(plan.base.seed()),
            replication: 0,
            fingerprint: None,
        };
        let mut tables = SweepFolder::new(&folder);
        let cells = tabulate(&plan, &journal, &mut tables, &stamp, pool)?;
        if let Some(table) = more(&plan, &cells) {
            tables.append(table, &stamp)?;
        }
        tables.finish()?;
        folder.publish()?;
        Ok((plan, cells))
    }
}

/// What will be run, and about what it will cost: every combination is checked on the way.
pub fn describe(plan: &Plan, cells: &Range<usize>, pool: &ThreadPool) -> Result<String> {
    let (mut steps, mut output, mut memory) = (0.0, 0.0, 0.0f64);
    let mut wrong: Vec<String> = Vec::new();
    for cell in cells.clone() {
        match plan.prepare(cell, 0) {
            Ok(prepared) => {
                steps += prepared.estimate.updates;
                output += prepared.estimate.output_bytes;
                memory = memory.max(prepared.estimate.memory_bytes);
            }
            Err(error) => wrong.push(format!("with {}:\n{error}", plan.name(cell))),
        }
    }
    if !wrong.is_empty() {
        let more = wrong.len().saturating_sub(3);
        wrong.truncate(3);
        let more =
            if more > 0 { format!("\n\nand {more} more combinations that cannot be run") } else { String::new() };
        return Err(Error::Scenario(wrong.join("\n\n") + &more));
    }
    let (first, most) = plan.sweep.replications.range();
    let between = |each: f64, text: fn(f64) -> String| {
        let [low, high] = [first, most].map(|runs| text(each * runs as f64));
        if low == high { low } else { format!("{low} to {high}") }
    };
    let axes: Vec<String> =
        plan.axes.iter().map(|axis| format!("{axis} ({})", values(plan, axis).join(", "))).collect();
    let (step_s, threads) = (step_s(plan, cells)?, pool.current_num_threads());
    Ok(format!(
        "axes: {}\n{} combinations × {} runs, about {} optimiser steps in all: about {} on {threads} threads; \
         memory about {} a thread, about {} of files\n",
        axes.join("; "),
        cells.len(),
        between(1.0, report::number),
        between(steps, report::number),
        between(steps * step_s / threads as f64, duration),
        bytes(memory),
        between(output, bytes),
    ))
}

/// How long a step takes: the beginnings of a few runs, spread over the combinations, are tried.
fn step_s(plan: &Plan, cells: &Range<usize>) -> Result<f64> {
    const TRIED: usize = 8;
    const EACH: Duration = Duration::from_millis(15);
    let (mut spent_s, mut steps) = (0.0, 0);
    for cell in cells.clone().step_by(cells.len().div_ceil(TRIED)) {
        // What the progress of the sweep is shown with is our clock.
        let clock = ProgressBar::hidden();
        let outcome = run(plan.prepare(cell, 0)?, NoRows, |_| clock.elapsed() < EACH)?;
        spent_s += clock.elapsed().as_secs_f64();
        steps += outcome.summary.steps;
    }
    Ok(spent_s / steps.max(1) as f64)
}

/// A span of time, roughly.
fn duration(seconds: f64) -> String {
    let rounded = if seconds < 1.0 { (seconds * 1e3).ceil() / 1e3 } else { seconds.round() };
    HumanDuration(Duration::try_from_secs_f64(rounded).unwrap_or(Duration::MAX)).to_string()
}

/// The labels of an axis, in their order.
fn values(plan: &Plan, axis: &str) -> Vec<String> {
    let place = plan.axes.iter().position(|name| name == axis).unwrap_or_default();
    let mut labels: Vec<String> = Vec::new();
    for cell in &plan.cells {
        if !labels.contains(&cell.labels[place]) {
            labels.push(cell.labels[place].clone());
        }
    }
    labels
}

/// Shows how far `work` is, and tells it to stop when somebody asks.
pub fn watch(quiet: bool, progress: &Progress, work: impl FnOnce() -> Result<bool> + Send) -> Result<bool> {
    let interruption = Interruption::listen();
    let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(0) };
    let template = "{bar:40} {pos}/{len} runs, {msg}, {eta} left";
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    std::thread::scope(|scope| {
        let worker = scope.spawn(work);
        while !worker.is_finished() {
            std::thread::sleep(Duration::from_millis(20));
            bar.set_length(progress.planned.load(Ordering::Relaxed));
            bar.set_position(progress.runs.load(Ordering::Relaxed));
            let seconds = bar.elapsed().as_secs_f64().max(1e-3);
            bar.set_message(format!(
                "{} steps/s",
                report::number(progress.steps.load(Ordering::Relaxed) as f64 / seconds)
            ));
            if interruption.asked.load(Ordering::Relaxed) {
                progress.stop.store(true, Ordering::Relaxed);
            }
        }
        bar.finish_and_clear();
        worker.join().unwrap_or_else(|_| Err(Error::Broken("a run panicked".to_owned())))
    })
}

impl Shown {
    /// Shows the figures of cells, and says what is not as it was wanted.
    fn show(&self, plan: &Plan, cells: &[CellFigures], out: &Path) -> Result<Verdict> {
        if self.json {
            print(&format!("{}\n", Value::Array(cells.iter().map(|cell| to_json(plan, cell)).collect())))?;
        } else if !self.quiet {
            print(&report::cells(&plan.axes, &rows(plan, cells), &self.show, plan.sweep.level.get()))?;
            note(&kept_in(out));
        }
        note(&shortfall(plan, cells));
        Ok(Verdict::Fine)
    }
}

/// What is not as the sweep wants it: runs that are missing, and intervals that are too wide.
pub fn shortfall(plan: &Plan, cells: &[CellFigures]) -> String {
    let count = |standing: Standing| cells.iter().filter(|cell| cell.standing == standing).count();
    let none = plan.cells.len() - cells.len();
    let (short, imprecise) = (count(Standing::Short), count(Standing::Imprecise));
    let mut text = String::new();
    let all = plan.cells.len();
    if none + short > 0 {
        text += &format!("of {all} combinations, {none} have no runs and {short} have fewer than the sweep wants\n");
    }
    if let (1.., Replications::Until { quantity, .. }) = (imprecise, &plan.sweep.replications) {
        text += &format!("in {imprecise} of {all} combinations {quantity} is not as precise as the sweep wants\n");
    }
    text
}

/// The cells with their labels.
fn rows<'a>(plan: &'a Plan, cells: &'a [CellFigures]) -> Vec<(&'a [String], &'a CellFigures)> {
    cells.iter().map(|cell| (plan.cells[cell.cell].labels.as_slice(), cell)).collect()
}

fn to_json(plan: &Plan, cell: &CellFigures) -> Value {
    let labels: serde_json::Map<String, Value> =
        plan.axes.iter().cloned().zip(plan.cells[cell.cell].labels.iter().map(|label| label.as_str().into())).collect();
    let figure = |figure: &Figure| {
        let mut object = figure.estimate.as_ref().map_or(Value::Null, estimate_json);
        if let Some(median) = &figure.median {
            object["median"] = median.value.into();
            object["median_interval"] = median.interval.map_or(Value::Null, |(lower, upper)| json!([lower, upper]));
        }
        (figure.quantity.clone(), object)
    };
    let figures: serde_json::Map<String, Value> = cell.figures.iter().map(figure).collect();
    json!({ "cell": cell.cell, "axes": labels, "runs": cell.runs, "ended": cell.ended, "figures": figures })
}
