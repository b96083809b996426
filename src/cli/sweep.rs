//! `laggard sweep` and `laggard merge`.

use super::run::Interruption;
use super::{Verdict, colour, note, print};
use crate::error::{Error, Result};
use crate::output::{Folder, Stamp, SweepFolder};
use crate::report::{self, bytes};
use crate::scenario::{Scenario, Source, print_document};
use crate::study::{CellFigures, Change, Journal, Plan, Progress, execute, tabulate};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub struct Options {
    /// The sweep, a RON file
    file: PathBuf,
    /// The folder of the results; the same command continues where it stopped
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Change fields of the scenario in all runs, as in --set 'stop: (updates: 1000)'
    #[arg(long = "set", value_name = "FIELDS")]
    changes: Vec<String>,
    /// Only these combinations, by number, as in 17..40, the last one excluded
    #[arg(long, value_name = "FROM..TO", value_parser = range)]
    only: Option<Range<usize>>,
    /// How many runs at a time; all cores if left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Print the plan, and run nothing
    #[arg(long)]
    plan: bool,
    #[command(flatten)]
    shown: Shown,
}

#[derive(Debug, clap::Args)]
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
    let plan = read(&options.file, &options.changes, &options.shown)?;
    let all = 0..plan.cells.len();
    let cells = match &options.only {
        Some(only) if only.end > all.end => {
            return Err(Error::Invalid(format!(
                "--only {}..{}: the combinations are 0..{}",
                only.start, only.end, all.end
            )));
        }
        Some(only) => only.clone(),
        None => all,
    };
    let text = describe(&plan, &cells)?;
    if options.plan {
        print(&text)?;
        return Ok(Verdict::Fine);
    }
    if !options.shown.quiet {
        note(&text);
    }
    let threads = options.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    // Before the first run, what cannot be written is known.
    let folder = Folder::create(&options.out, &[options.file.clone(), plan.base.source().path.clone()])?;
    let journal = Journal::open(&options.out, &plan)?;
    let progress = Progress::default();
    let finished = watch(&options.shown, &progress, || execute(&plan, &journal, cells, threads, &progress))?;
    if !finished {
        note(&format!(
            "interrupted; {} runs are kept in {}, the same command continues\n",
            progress.runs.load(Ordering::Relaxed),
            options.out.display()
        ));
        return Ok(Verdict::Interrupted);
    }
    conclude(&plan, &journal, folder, &options.shown, &options.out)
}

pub fn merge(options: &MergeOptions) -> Result<Verdict> {
    let plan = read(&options.file, &options.changes, &options.shown)?;
    let folder = Folder::create(&options.out, &[options.file.clone(), plan.base.source().path.clone()])?;
    let journal = Journal::open(&options.out, &plan)?;
    for other in &options.folders {
        journal.take_over(&Journal::existing(other, &plan)?)?;
    }
    conclude(&plan, &journal, folder, &options.shown, &options.out)
}

/// The plan that a file says, all of whose scenarios can be run, if what is to be shown exists.
fn read(file: &Path, changes: &[String], shown: &Shown) -> Result<Plan> {
    let changes: Vec<Change> = changes.iter().map(|text| Change::from_set(text, colour())).collect::<Result<_>>()?;
    let plan = Plan::new(&Source { colour: colour(), ..Source::read(file)? }, &changes)?;
    let names = crate::study::quantities();
    if let Some(unknown) = shown.show.iter().find(|name| !names.contains(&name.as_str())) {
        let reason = format!("no number in the summary is called `{unknown}`; the numbers are: {}", names.join(", "));
        return Err(Error::Invalid(reason));
    }
    Ok(plan)
}

/// What will be run, and about what it will cost: every combination is checked on the way.
fn describe(plan: &Plan, cells: &Range<usize>) -> Result<String> {
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
    let times = if first == most { most.to_string() } else { format!("{first} to {most}") };
    let axes: Vec<String> =
        plan.axes.iter().map(|axis| format!("{axis} ({})", values(plan, axis).join(", "))).collect();
    Ok(format!(
        "axes: {}\n{} combinations × {times} runs, about {} optimiser steps in all; memory about {} a thread, \
         about {} of files\n",
        axes.join("; "),
        cells.len(),
        report::number(steps * first as f64),
        bytes(memory),
        bytes(output * first as f64),
    ))
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
fn watch(shown: &Shown, progress: &Progress, work: impl FnOnce() -> Result<bool> + Send) -> Result<bool> {
    let interruption = Interruption::listen();
    let bar = if shown.quiet { ProgressBar::hidden() } else { ProgressBar::new(0) };
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

/// Makes tables of all finished runs, and shows the figures.
fn conclude(plan: &Plan, journal: &Journal, folder: Folder, shown: &Shown, out: &Path) -> Result<Verdict> {
    let scenario: Scenario = plan.base.source().parse()?;
    let stamp = Stamp {
        scenario: print_document(&plan.sweep)?,
        scenario_hash: plan.hash,
        seed: plan.sweep.set.seed.unwrap_or(scenario.seed),
        replication: 0,
        fingerprint: None,
    };
    let mut tables = SweepFolder::new(folder);
    let cells = tabulate(plan, journal, &mut tables, &stamp)?;
    tables.publish()?;
    if shown.json {
        print(&format!("{}\n", Value::Array(cells.iter().map(|cell| to_json(plan, cell)).collect())))?;
    } else if !shown.quiet {
        print(&report::cells(&plan.axes, &rows(plan, &cells), &shown.show, plan.sweep.level.get()))?;
        note(&format!("results in {}\n", out.display()));
    }
    Ok(Verdict::Fine)
}

/// The cells with their labels.
fn rows<'a>(plan: &'a Plan, cells: &'a [CellFigures]) -> Vec<(&'a [String], &'a CellFigures)> {
    cells.iter().map(|cell| (plan.cells[cell.cell].labels.as_slice(), cell)).collect()
}

fn to_json(plan: &Plan, cell: &CellFigures) -> Value {
    let labels: serde_json::Map<String, Value> =
        plan.axes.iter().cloned().zip(plan.cells[cell.cell].labels.iter().map(|label| label.as_str().into())).collect();
    let figures: serde_json::Map<String, Value> = cell
        .figures
        .iter()
        .map(|figure| {
            let estimate = figure.estimate.map(|estimate| {
                json!({
                    "n": estimate.n,
                    "mean": estimate.mean,
                    "sd": estimate.sd,
                    "half_width": estimate.half_width.ok(),
                    "caution": estimate.half_width.err().map(|caution| caution.reason()),
                })
            });
            (figure.quantity.clone(), estimate.unwrap_or(Value::Null))
        })
        .collect();
    json!({ "cell": cell.cell, "axes": labels, "runs": cell.runs, "ended": cell.ended, "figures": figures })
}
