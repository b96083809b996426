//! `laggard run`.

use super::{Input, Verdict, kept_in, note, print, warn};
use crate::cluster::Ended;
use crate::error::Result;
use crate::output::{Folder, GradientFile, NoRows, SCENARIO, Stamp, summary_table, tables};
use crate::record::{Answer, GradientRow, Gradients, Recording, Rejection, Row, RowSink};
use crate::report::{self, Heading};
use crate::study::{Check, Outcome, Prepared, run as simulate};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  laggard run scenarios/overshoot.ron                                     a table of every step, and what might have been
  laggard run scenarios/pai.ron --out out/pai                             and its tables as Parquet files
  laggard run scenarios/pai.ron --set 'protocol: Ssp(bound: 3)' --json    another protocol; the summary as JSON")]
pub struct Options {
    #[command(flatten)]
    input: Input,
    /// Write the result files to this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the summary as one JSON object
    #[arg(long)]
    json: bool,
    /// Print nothing but errors and, with --json, the summary
    #[arg(long, short)]
    quiet: bool,
}

/// Rows of single gradients go to their file, if there is one.
enum Sink {
    None(NoRows),
    File(Box<GradientFile>),
}

impl RowSink for Sink {
    fn row(&mut self, row: &GradientRow) -> Result<()> {
        match self {
            Sink::None(sink) => sink.row(row),
            Sink::File(sink) => sink.row(row),
        }
    }
}

pub fn run(options: &Options) -> Result<Verdict> {
    let prepared = options.input.prepare()?;
    let interruption = Interruption::listen();
    let folder = options.out.as_deref().map(|out| Folder::create(out, &prepared.inputs)).transpose()?;
    folder.iter().for_each(|folder| interruption.guard(folder));
    let classes = prepared.scenario.class_names();
    let heading = Heading {
        scenario: options.input.name(),
        protocol: prepared.scenario.protocol.name().to_owned(),
        objective: prepared.scenario.objective.name().to_owned(),
        classes: classes.clone(),
        constant_load: prepared.model.has_constant_load(),
        minimum: prepared.model.objective.minimum(),
    };
    let stamp = prepared.stamp.clone();
    let names_files = prepared.inputs.len() > 1;
    let sink = match &folder {
        Some(folder) if prepared.scenario.record.gradients != Gradients::Off => {
            Sink::File(Box::new(GradientFile::create(folder, classes, &stamp)?))
        }
        _ => Sink::None(NoRows),
    };
    if !options.quiet {
        warn(&prepared);
    }
    let bar = progress(options.quiet, &prepared);
    let outcome = simulate(prepared, sink, |simulation| {
        bar.set_position(simulation.updates());
        !interruption.asked.load(Ordering::Relaxed)
    })?;
    bar.finish_and_clear();
    let verdict = verdict(&outcome);
    let (outcome, sink) = take_sink(outcome);
    if let Some(folder) = folder {
        write(folder, &outcome, sink, &heading.classes, stamp, names_files)?;
    }
    if options.json {
        print(&format!("{}\n", to_json(&outcome)))?;
    } else if !options.quiet {
        print(&to_text(&heading, &outcome))?;
        if let Some(out) = &options.out {
            note(&kept_in(out));
        }
    }
    if options.quiet || options.json {
        complain(&outcome);
    }
    Ok(verdict)
}

/// Says on stderr what a summary would have shown of a run that is not as it should be.
fn complain(outcome: &Outcome<()>) {
    let Outcome { summary, checks, .. } = outcome;
    if let Some(trouble) = report::trouble(summary, &outcome.recording.rejections) {
        note(&trouble);
    }
    let unmet: Vec<Check> = checks.iter().filter(|check| !check.holds()).cloned().collect();
    note(&report::checks(&unmet));
}

fn verdict<S>(outcome: &Outcome<S>) -> Verdict {
    match outcome.summary.ended {
        Ended::Interrupted => Verdict::Interrupted,
        Ended::Diverged => Verdict::Unmet,
        // A scenario that shows how a run fails or gets stuck says so by what it expects.
        Ended::Stale | Ended::Stalled if outcome.checks.is_empty() => Verdict::Unmet,
        _ if !outcome.checks.iter().all(Check::holds) => Verdict::Unmet,
        _ => Verdict::Fine,
    }
}

fn take_sink(outcome: Outcome<Sink>) -> (Outcome<()>, Sink) {
    let Outcome { simulation, recording, summary, checks, intervals } = outcome;
    let Recording { lags, trajectory, timeline, answers, rejections, incidents, vain, cut, marks, sink } = recording;
    let recording =
        Recording { lags, trajectory, timeline, answers, rejections, incidents, vain, cut, marks, sink: () };
    (Outcome { simulation, recording, summary, checks, intervals }, sink)
}

/// A bar on the terminal; nothing where stderr is none.
fn progress(quiet: bool, prepared: &Prepared) -> ProgressBar {
    if quiet {
        return ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    }
    let template = "{bar:40} {pos}/{len} steps, {per_sec}, {eta} left";
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(prepared.estimate.updates as u64).with_style(style)
}

/// What Ctrl-C or a request to terminate does: the first ends the run where it is, the second the program.
#[derive(Debug, Default)]
pub struct Interruption {
    /// Whether somebody did.
    pub asked: AtomicBool,
    /// What is to be removed if the program ends at once.
    staging: Mutex<Option<PathBuf>>,
}

impl Interruption {
    /// Listens from now on.
    pub fn listen() -> Arc<Interruption> {
        let interruption = Arc::new(Interruption::default());
        let shared = Arc::clone(&interruption);
        // Without a handler the signal just kills the program, which leaves no file with a final name half written either.
        let _ = ctrlc::set_handler(move || {
            if shared.asked.swap(true, Ordering::Relaxed) {
                if let Ok(Some(staging)) = shared.staging.lock().map(|mut staging| staging.take()) {
                    let _ = std::fs::remove_dir_all(staging);
                }
                std::process::exit(130);
            }
        });
        interruption
    }

    fn guard(&self, folder: &Folder) {
        if let Ok(mut staging) = self.staging.lock() {
            *staging = Some(folder.staging().to_owned());
        }
    }
}

fn write(
    folder: Folder,
    outcome: &Outcome<()>,
    sink: Sink,
    classes: &[String],
    stamp: Stamp,
    names_files: bool,
) -> Result<()> {
    if let Sink::File(file) = sink {
        file.finish()?;
    }
    let Outcome { simulation, recording, summary, .. } = outcome;
    let stamp = Stamp { fingerprint: Some(simulation.fingerprint()), ..stamp };
    for table in tables(simulation, summary, recording, classes) {
        folder.write(&table, &stamp)?;
    }
    let files = "// The files that it names are relative to the folder of the scenario that this was made from.\n";
    let head = if names_files { files } else { "" };
    folder.write_text(SCENARIO, &format!("{head}{}\n", stamp.scenario))?;
    folder.publish()
}

fn to_text(heading: &Heading, outcome: &Outcome<()>) -> String {
    let Outcome { recording, summary, checks, intervals, simulation, .. } = outcome;
    let shards =
        simulation.sharded().map_or(String::new(), |(all, _)| "\n".to_owned() + &report::shards(&all, summary));
    let timeline = report::timeline(&recording.timeline, &recording.answers, heading.constant_load);
    let trouble = report::trouble(summary, &recording.rejections).unwrap_or_default();
    let rejections = report::rejections(summary, &recording.rejections);
    let summary = report::summary(heading, summary, &recording.lags, &recording.trajectory);
    timeline + &summary + &shards + &report::intervals(intervals) + &rejections + &trouble + &report::checks(checks)
}

fn to_json(outcome: &Outcome<()>) -> Value {
    let Outcome { recording, summary, checks, intervals, .. } = outcome;
    let mut object = summary_table(summary).json_row(0);
    object["schema_version"] = 1.into();
    if !recording.timeline.is_empty() {
        object["timeline"] = recording.timeline.iter().map(row_json).collect();
    }
    if !recording.answers.is_empty() {
        object["what_if"] = recording.answers.iter().map(answer_json).collect();
    }
    for (name, estimate) in intervals {
        let half_width = estimate.half_width.ok();
        object["intervals"][*name] = json!({ "batches": estimate.n, "mean": estimate.mean, "half_width": half_width });
    }
    if !recording.rejections.is_empty() {
        object["rejections"] = recording.rejections.iter().map(rejection_json).collect();
    }
    if !checks.is_empty() {
        object["expect"] = checks.iter().map(check_json).collect();
    }
    object
}

fn row_json(row: &Row) -> Value {
    json!({
        "time_s": row.gradient.ended.seconds(),
        "worker": row.gradient.worker,
        "version_read": row.gradient.version_read,
        "w_read": row.w_read,
        "lag_versions": row.gradient.lag_versions(),
        "lag_s": row.gradient.lag().seconds(),
        "version_after": row.gradient.version_applied + 1,
        "w_before": row.w_before,
        "w_after": row.w_after,
        "loss_after": row.loss,
    })
}

fn answer_json(answer: &Answer) -> Value {
    json!({
        "version": answer.question.version,
        "gradient": answer.question.gradient,
        "optimiser": answer.question.optimiser,
        "w_after": answer.outcome.as_ref().map(|(w, _)| w),
        "loss_after": answer.outcome.as_ref().map(|(_, loss)| loss),
    })
}

fn rejection_json(rejection: &Rejection) -> Value {
    json!({
        "time_s": rejection.at.seconds(),
        "worker": rejection.worker,
        "version_expected": rejection.expected,
        "version_got": rejection.got,
        "lag_s": rejection.lag.seconds(),
    })
}

fn check_json(check: &Check) -> Value {
    json!({
        "quantity": check.quantity,
        "expected": check.expected,
        "within": check.within,
        "actual": check.actual,
        "holds": check.holds(),
    })
}
