//! One run, from the scenario to everything that was recorded of it.

use crate::cluster::{Ended, Model, Simulation};
use crate::data::Files;
use crate::error::{Error, Result};
use crate::output::{Stamp, summary_numbers};
use crate::record::{Recorder, Recording, RowSink, Summary};
use crate::scenario::{Draft, Estimate, Located, Patch, Problem, Scenario, Source, build, print};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Coordinates that are computed with between two looks at the clock and at Ctrl-C.
const SLICE: u64 = 1 << 20;

/// A scenario that can be run: everything about it was checked.
#[derive(Debug)]
pub struct Prepared {
    /// The document.
    pub scenario: Scenario,
    /// The cluster.
    pub model: Model,
    /// What it will cost.
    pub estimate: Estimate,
    /// Its text, for messages.
    pub source: Arc<Source>,
    /// What was changed of it.
    pub changes: Vec<Change>,
    /// Every file that it was made from.
    pub inputs: Vec<PathBuf>,
    /// What its files will say of their origin.
    pub stamp: Stamp,
}

/// A run that is over.
#[derive(Debug)]
pub struct Outcome<S> {
    /// Its last state.
    pub simulation: Simulation,
    /// What was seen of it.
    pub recording: Recording<S>,
    /// It in one row.
    pub summary: Summary,
    /// What the scenario expected, and what came.
    pub checks: Vec<Check>,
}

/// An expectation and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The name of the figure.
    pub quantity: String,
    /// What it was to be.
    pub expected: f64,
    /// By how much it might be off.
    pub within: f64,
    /// What it was.
    pub actual: Option<f64>,
}

impl Check {
    /// Whether the figure is as expected.
    pub fn holds(&self) -> bool {
        self.actual.is_some_and(|actual| (actual - self.expected).abs() <= self.within)
    }
}

/// The names that an expectation can use.
pub fn quantities() -> &'static [&'static str] {
    static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
        let names = summary_numbers(&Summary::blank()).into_iter().map(|(name, _)| name);
        names.map(|name| &*name.leak()).collect()
    });
    &NAMES
}

/// A scenario that was read once, to be prepared with many changes.
#[derive(Clone, Debug)]
pub struct Base {
    source: Arc<Source>,
    draft: Draft<Scenario>,
}

impl Base {
    /// Reads what `source` says.
    ///
    /// # Errors
    /// If that is no scenario at all: all problems. Others wait for [`Base::prepare`], which finds more.
    pub fn new(source: &Source) -> Result<Base> {
        let draft: Draft<Scenario> = source.draft();
        if draft.document.is_none() {
            return Err(source.refuse(&draft.problems));
        }
        Ok(Base { source: Arc::new(source.clone()), draft })
    }

    /// Its text.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The scenario with `changes`, one after the other, checked and built.
    ///
    /// # Errors
    /// If it cannot be run: all problems, each with its place, in the scenario or in the change, and a remedy.
    pub fn prepare(&self, changes: &[Change]) -> Result<Prepared> {
        let source = &self.source;
        let Some(mut scenario) = self.draft.document.clone() else { return Err(source.refuse(&self.draft.problems)) };
        for change in changes {
            change.patch.apply(&mut scenario).map_err(|problem| change.refuse(&problem))?;
        }
        let files = Files::beside(source.path.parent().unwrap_or(Path::new("")));
        let (model, estimate) = match build(&scenario, &files, quantities()) {
            Ok(built) if self.draft.problems.is_empty() => built,
            built => return Err(misfit(source, changes, self.draft.clone(), &built.err().unwrap_or_default())),
        };
        let text = print(&scenario)?;
        let stamp = Stamp {
            scenario_hash: xxh3_64_with_seed(text.as_bytes(), files.digest()),
            scenario: text,
            seed: scenario.seed,
            replication: scenario.replication,
            fingerprint: None,
        };
        let inputs = std::iter::once(source.path.clone()).chain(files.paths()).collect();
        let (source, changes) = (Arc::clone(source), changes.to_vec());
        Ok(Prepared { scenario, model, estimate, source, changes, inputs, stamp })
    }
}

impl Prepared {
    /// Checks and builds what `source` says; `seed` and `replication` take the place of the scenario's own.
    ///
    /// # Errors
    /// If it cannot be run: all problems, each with its place and a remedy.
    pub fn new(source: &Source, seed: Option<u64>, replication: Option<u64>) -> Result<Prepared> {
        let own = Change::unwritten(Patch { seed, replication, ..Patch::default() });
        Prepared::changed(source, &[own])
    }

    /// Checks and builds what `source` says with `changes`, one after the other.
    ///
    /// # Errors
    /// If it cannot be run: all problems, each with its place, in the scenario or in the change, and a remedy.
    pub fn changed(source: &Source, changes: &[Change]) -> Result<Prepared> {
        Base::new(source)?.prepare(changes)
    }
}

/// All mistakes of a scenario and of its changes: those of its text, and `misfits` where they were made, be it in the scenario
/// or in the last change of that field.
fn misfit(source: &Source, changes: &[Change], draft: Draft<Scenario>, misfits: &[Problem]) -> Error {
    let sure = misfits.iter().filter(|problem| draft.is_sure_of(problem));
    let changed = |problem: &Problem| last_change(changes, problem);
    let (of_changes, of_text): (Vec<&Problem>, Vec<&Problem>) = sure.partition(|problem| changed(problem).is_some());
    let mut problems: Vec<Located> = of_text.iter().map(|problem| problem.locate(&source.text)).collect();
    problems.extend(draft.problems);
    problems.sort_by_key(|problem| problem.span.start);
    let mut texts: Vec<String> = Vec::new();
    if !problems.is_empty() {
        texts.push(source.refuse(&problems).to_string());
    }
    texts.extend(of_changes.iter().filter_map(|problem| Some(changed(problem)?.refuse(problem).to_string())));
    Error::Scenario(texts.join("\n\n"))
}

/// The last change of the field that a problem is about.
fn last_change<'a>(changes: &'a [Change], problem: &Problem) -> Option<&'a Change> {
    let field = problem.path.first()?;
    changes.iter().rfind(|change| change.patch.touches(field))
}

/// A change to a scenario, with the text that says it.
#[derive(Clone, Debug)]
pub struct Change {
    /// What is changed.
    pub patch: Patch,
    /// The document that says so.
    pub source: Arc<Source>,
    /// Where in it: field names and list positions.
    pub at: Vec<String>,
}

impl Change {
    /// One that no text says.
    pub fn unwritten(patch: Patch) -> Change {
        let source = Source { path: PathBuf::new(), text: String::new(), colour: false };
        Change { patch, source: Arc::new(source), at: Vec::new() }
    }

    /// What `--set` says: fields of a scenario, without the outer brackets.
    ///
    /// # Errors
    /// If it cannot be read: every mistake, with its place and a remedy.
    pub fn from_set(text: &str, colour: bool) -> Result<Change> {
        let source = Source { path: "--set".into(), text: format!("({text})"), colour };
        Ok(Change { patch: source.parse()?, source: Arc::new(source), at: Vec::new() })
    }

    /// The error that shows a problem at its place in the change.
    fn refuse(&self, problem: &Problem) -> Error {
        let path = self.at.iter().chain(&problem.path).cloned().collect();
        self.source.refuse(&[Problem { path, ..problem.clone() }.locate(&self.source.text)])
    }
}

/// An error of the clock, at the field of the scenario, or of the change, that it is due to.
fn locate(source: &Source, changes: &[Change], error: Error) -> Error {
    let Error::Clock { message, field } = error else { return error };
    let problem = Problem::at(&field, message);
    match last_change(changes, &problem) {
        Some(change) => change.refuse(&problem),
        None => source.refuse(&[problem.locate(&source.text)]),
    }
}

/// Runs to the end, or until `proceed`, which is asked every few thousand events, says no.
///
/// # Errors
/// If a delay does not fit the clock, a row cannot be written, or a law of the simulation is broken.
pub fn run<S: RowSink>(
    prepared: Prepared,
    sink: S,
    mut proceed: impl FnMut(&Simulation) -> bool,
) -> Result<Outcome<S>> {
    let Prepared { scenario, model, source, changes, .. } = prepared;
    let mut simulation = Simulation::new(model);
    let mut recorder = Recorder::new(&scenario.record, &simulation, sink);
    let slice = (SLICE / (simulation.parameters().len() as u64 + 15)).max(1);
    let ended: Ended = loop {
        if let Some(ended) =
            simulation.advance(slice, &mut recorder).map_err(|error| locate(&source, &changes, error))?
        {
            break ended;
        }
        if !proceed(&simulation) {
            simulation.interrupt();
        }
    };
    simulation.close(&mut recorder)?;
    let recording = recorder.finish(&simulation)?;
    let summary = Summary::new(&simulation, ended, &recording.lags, scenario.seed, scenario.replication);
    let numbers = summary_numbers(&summary);
    let check = |expectation: &crate::scenario::Expectation| Check {
        quantity: expectation.quantity.clone(),
        expected: expectation.value.get(),
        within: expectation.within.get(),
        actual: numbers.iter().find(|(name, _)| *name == expectation.quantity).and_then(|(_, value)| *value),
    };
    let checks = scenario.expect.iter().map(check).collect();
    Ok(Outcome { simulation, recording, summary, checks })
}
