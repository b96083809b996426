//! One run, from the scenario to everything that was recorded of it.

use crate::cluster::{Ended, Model, Simulation};
use crate::data::Files;
use crate::error::{Error, Result};
use crate::output::{Stamp, summary_numbers};
use crate::record::{Recorder, Recording, RowSink, Summary};
use crate::scenario::{Estimate, Located, Problem, Scenario, Source, build, print};
use std::path::{Path, PathBuf};
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
    pub source: Source,
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
pub fn quantities() -> Vec<String> {
    summary_numbers(&Summary::blank()).into_iter().map(|(name, _)| name).collect()
}

impl Prepared {
    /// Checks and builds what `source` says; `seed` and `replication` take the place of the scenario's own.
    ///
    /// # Errors
    /// If it cannot be run: all problems, each with its place and a remedy.
    pub fn new(source: &Source, seed: Option<u64>, replication: Option<u64>) -> Result<Prepared> {
        let draft = source.draft();
        let Some(mut scenario) = draft.scenario.clone() else { return Err(source.refuse(&draft.problems)) };
        scenario.seed = seed.unwrap_or(scenario.seed);
        scenario.replication = replication.unwrap_or(scenario.replication);
        let files = Files::beside(source.path.parent().unwrap_or(Path::new("")));
        let names = quantities();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (model, estimate) = match build(&scenario, &files, &names) {
            Ok(built) if draft.problems.is_empty() => built,
            built => {
                let misfits = built.err().unwrap_or_default();
                let sure = misfits.iter().filter(|problem| draft.is_sure_of(problem));
                let mut problems: Vec<Located> = sure.map(|problem| problem.locate(&source.text)).collect();
                problems.extend(draft.problems);
                problems.sort_by_key(|problem| problem.span.start);
                return Err(source.refuse(&problems));
            }
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
        Ok(Prepared { scenario, model, estimate, source: source.clone(), inputs, stamp })
    }
}

/// An error of the clock, at the field of the scenario that it is due to.
fn locate(source: &Source, error: Error) -> Error {
    match error {
        Error::Clock { message, field } => source.refuse(&[Problem::at(&field, message).locate(&source.text)]),
        other => other,
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
    let Prepared { scenario, model, source, .. } = prepared;
    let mut simulation = Simulation::new(model);
    let mut recorder = Recorder::new(&scenario.record, &simulation, sink);
    let slice = (SLICE / (simulation.parameters().len() as u64 + 15)).max(1);
    let ended: Ended = loop {
        if let Some(ended) = simulation.advance(slice, &mut recorder).map_err(|error| locate(&source, error))? {
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
