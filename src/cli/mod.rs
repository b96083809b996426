//! The command line: data on stdout, messages and progress on stderr, and an exit code that says how it went.

mod check;
mod compare;
mod list;
mod predict;
#[cfg(feature = "parquet")]
mod report;
mod run;
mod shell;
mod sweep;
mod timeline;
mod tune;
mod verify;

use crate::error::{Error, Result};
use crate::scenario::{Patch, Source, suggest};
use crate::study::statistics::Estimate;
use crate::study::{Change, Prepared, quantities, threads, warnings};
use clap::{Parser, Subcommand};
use rayon::ThreadPool;
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Discrete-event simulator of staleness in distributed optimisation.
#[derive(Debug, Parser)]
#[command(
    version,
    about,
    after_help = "Exit codes: 0 ok; 1 finished, but the run diverged or an expectation failed, or two runs that are compared by `diff` differ; \
2 the scenario, or a file that it names, or the command is wrong; 3 the scenario could not be read or the results not be written; 130 interrupted."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a scenario and show how stale its gradients were
    Run(run::Options),
    /// Run a scenario with every combination of changes, with statistics over replications
    Sweep(sweep::Options),
    /// Find the best learning rate, bound or whatever else a sweep varies, for each of the other combinations
    Tune(tune::Options),
    /// Unite the runs of one sweep from several folders
    Merge(sweep::MergeOptions),
    /// Compare scenarios on the same random numbers: is the difference real?
    Compare(compare::Options),
    /// Name the first event at which two runs part
    Diff(compare::DiffOptions),
    /// Check a scenario; print it with all defaults filled in, and what running it will cost
    Check(check::Options),
    /// Say what closed forms give for a scenario, and why others do not apply
    Predict(predict::Options),
    /// Check the program against the closed forms of its field: the formulas, and simulations that must come to them
    Verify(verify::Options),
    /// Draw the lives of the first gradients of a run, from reading to applying
    Timeline(timeline::Options),
    /// Make a page of the results in a folder, or SVG files of its figures
    #[cfg(feature = "parquet")]
    Report(report::Options),
    /// Name every objective, optimiser, protocol and law of delay, with an example each
    List(list::Options),
    /// Print what a shell needs to complete these commands
    Completions(shell::CompletionOptions),
    /// Write manual pages
    Manual(shell::ManualOptions),
}

/// What is asked of every command that reads a scenario.
#[derive(Debug, clap::Args)]
struct Input {
    /// The scenario, a RON file
    file: PathBuf,
    /// Use this seed in place of the scenario's
    #[arg(long)]
    seed: Option<u64>,
    /// Run this independent repeat under the seed in place of the scenario's
    #[arg(long)]
    replication: Option<u64>,
    /// Change fields of the scenario, as in --set 'protocol: Ssp(bound: 3)' or --set 'each_class: (count: 16)'
    #[arg(long = "set", value_name = "FIELDS")]
    changes: Vec<String>,
}

impl Input {
    /// The scenario with all changes, ready to run.
    fn prepare(&self) -> Result<Prepared> {
        let mut changes = changes(&self.changes)?;
        let (seed, replication) = (self.seed, self.replication);
        changes.push(Change::unwritten(Patch { seed, replication, ..Patch::default() }));
        Prepared::changed(&read(&self.file)?, &changes)
    }

    fn name(&self) -> String {
        let name = self.file.file_name().unwrap_or(self.file.as_os_str());
        name.to_string_lossy().into_owned()
    }
}

/// How much is done at a time.
#[derive(Debug, clap::Args)]
struct Jobs {
    /// How many runs at a time; all cores if left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
}

impl Jobs {
    fn pool(&self) -> Result<ThreadPool> {
        threads(self.jobs)
    }
}

/// The document in a file.
fn read(file: &Path) -> Result<Source> {
    Ok(Source { colour: colour(), ..Source::read(file)? })
}

/// What all `--set` say.
fn changes(texts: &[String]) -> Result<Vec<Change>> {
    texts.iter().map(|text| Change::from_set(text, colour())).collect()
}

/// An error if one of these is no number of a summary.
fn check_quantities<'a>(option: &str, names: impl IntoIterator<Item = &'a String>) -> Result<()> {
    let known = quantities();
    match names.into_iter().find(|name| !known.contains(&name.as_str())) {
        Some(unknown) => {
            let help = suggest(unknown, known, "the numbers are");
            Err(Error::Invalid(format!("{option}: no number in the summary is called `{unknown}`; {help}")))
        }
        None => Ok(()),
    }
}

fn estimate_json(known: &Estimate) -> Value {
    json!({
        "n": known.n,
        "mean": known.mean,
        "sd": known.sd,
        "half_width": known.half_width.ok(),
        "caution": known.half_width.err().map(|caution| caution.reason()),
    })
}

/// How a command that did not fail came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Fine,
    /// The run diverged, or an expectation failed.
    Unmet,
    Interrupted,
}

/// Whether messages may have colours: on a terminal, unless the user asked for none (no-color.org).
fn colour() -> bool {
    let asked_for_none = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stderr().is_terminal() && !asked_for_none
}

/// Writes a result to stdout. A reader that has gone away (`| head`) is not an error.
fn print(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Error::io(Path::new("stdout"), error)),
        _ => Ok(()),
    }
}

/// Writes a message to stderr. That nobody can read it is no reason to fail.
fn note(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Where results are, and what shows them.
fn kept_in(folder: &Path) -> String {
    let folder = folder.display();
    format!("results in {folder}; laggard report {folder} makes a page of them\n")
}

/// Says what theory warns of before a run.
fn warn(prepared: &Prepared) {
    warnings(prepared).iter().for_each(|warning| note(&format!("warning: {warning}\n")));
}

/// Runs the command that the user gave, and says how it went.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match &arguments.command {
        Command::Run(options) => run::run(options),
        Command::Sweep(options) => sweep::sweep(options),
        Command::Tune(options) => tune::tune(options),
        Command::Merge(options) => sweep::merge(options),
        Command::Compare(options) => compare::compare(options),
        Command::Diff(options) => compare::diff(options),
        Command::Check(options) => check::check(options),
        Command::Predict(options) => predict::predict(options),
        Command::Verify(options) => verify::verify(options),
        Command::Timeline(options) => timeline::timeline(options),
        #[cfg(feature = "parquet")]
        Command::Report(options) => report::report(options),
        Command::List(options) => list::list(options),
        Command::Completions(options) => shell::completions(options),
        Command::Manual(options) => shell::manual(options),
    };
    match outcome {
        Ok(Verdict::Fine) => ExitCode::SUCCESS,
        Ok(Verdict::Unmet) => ExitCode::from(1),
        Ok(Verdict::Interrupted) => ExitCode::from(130),
        Err(error) => {
            // Problems of a scenario come rendered, each with its own heading.
            let heading = if matches!(error, Error::Scenario(_)) { "" } else { "error: " };
            note(&format!("{heading}{error}\n"));
            ExitCode::from(error.exit_code())
        }
    }
}
