//! One run, from the scenario to everything that was recorded of it.

use super::statistics;
use crate::cluster::{Ended, Gradient, Model, Observer, Simulation, Step};
use crate::data::Files;
use crate::error::{Error, Result};
use crate::output::{Stamp, summary_numbers};
use crate::record::{Mark, Record, Recorder, Recording, RowSink, Summary, WarmUp};
use crate::scenario::{Draft, Estimate, Located, Patch, Problem, Scenario, Source, build, print};
use crate::units::Count;
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
    /// Figures with intervals by batch means, where the scenario asks for batches.
    pub intervals: Vec<(&'static str, statistics::Estimate)>,
}

/// The figures that have intervals by batch means, in the order of [`Mark::means`].
const IN_BATCHES: [&str; 3] = ["lag_versions_mean", "lag_s_mean", "throughput_per_s"];

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

    /// The file that it was read from.
    pub fn path(&self) -> &Path {
        &self.source.path
    }

    /// It as text, with all defaults filled in.
    ///
    /// # Errors
    /// If it cannot be written as RON, which would be a bug.
    pub fn text(&self) -> Result<String> {
        self.draft.document.as_ref().map_or(Ok(String::new()), print)
    }

    /// Its own seed.
    pub fn seed(&self) -> u64 {
        self.draft.document.as_ref().map_or(0, |scenario| scenario.seed)
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

impl Prepared {
    /// Whether some delay has an infinite variance, so that means of times do not settle.
    pub fn has_infinite_variance(&self) -> bool {
        self.model.delays.iter().any(|delay| delay.delay().variance().is_infinite())
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
    /// If it cannot be read, or sets nothing: every mistake, with its place and a remedy.
    pub fn from_set(text: &str, colour: bool) -> Result<Change> {
        let source = Source { path: "--set".into(), text: format!("({text})"), colour };
        let patch: Patch = source.parse()?;
        if patch == Patch::default() {
            return Err(Error::Invalid(
                "--set sets nothing; give fields, as in --set 'protocol: Ssp(bound: 3)'".to_owned(),
            ));
        }
        Ok(Change { patch, source: Arc::new(source), at: Vec::new() })
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
    let record = match prepared.scenario.record.warm_up {
        WarmUp::Mser5 => Record { warm_up: warm_up(&prepared, &mut proceed)?, ..prepared.scenario.record.clone() },
        WarmUp::Off | WarmUp::Updates(_) => prepared.scenario.record.clone(),
    };
    let Prepared { scenario, model, source, changes, .. } = prepared;
    let mut simulation = Simulation::new(model);
    let mut recorder = Recorder::new(&record, &simulation, sink);
    let ended = play(&mut simulation, &mut recorder, &mut proceed).map_err(|error| locate(&source, &changes, error))?;
    simulation.close(&mut recorder)?;
    let recording = recorder.finish(&simulation)?;
    let (seed, replication) = (scenario.seed, scenario.replication);
    let summary = Summary::new(&simulation, ended, &recording, seed, replication);
    let numbers = summary_numbers(&summary);
    let check = |expectation: &crate::scenario::Expectation| Check {
        quantity: expectation.quantity.clone(),
        expected: expectation.value.get(),
        within: expectation.within.get(),
        actual: numbers.iter().find(|(name, _)| *name == expectation.quantity).and_then(|(_, value)| *value),
    };
    let checks = scenario.expect.iter().map(check).collect();
    let intervals = intervals(&recording.marks);
    Ok(Outcome { simulation, recording, summary, checks, intervals })
}

/// Plays to the end, or until `proceed` says no.
fn play(
    simulation: &mut Simulation,
    observer: &mut impl Observer,
    proceed: &mut impl FnMut(&Simulation) -> bool,
) -> Result<Ended> {
    let slice = (SLICE / (simulation.parameters().len() as u64 + 15)).max(1);
    loop {
        if let Some(ended) = simulation.advance(slice, observer)? {
            return Ok(ended);
        }
        if !proceed(simulation) {
            simulation.interrupt();
        }
    }
}

/// Means of batches with their 95 % intervals.
fn intervals(marks: &[Mark]) -> Vec<(&'static str, statistics::Estimate)> {
    let means: Vec<[f64; 3]> = marks.windows(2).map(|pair| Mark::means(&pair[0], &pair[1])).collect();
    let figure = |(place, name): (usize, &&'static str)| {
        let values: Vec<f64> = means.iter().map(|means| means[place]).filter(|mean| mean.is_finite()).collect();
        statistics::mean(&values, 0.95).map(|estimate| (*name, estimate))
    };
    IN_BATCHES.iter().enumerate().filter_map(figure).collect()
}

/// Makes the run once to see how long its lags take to settle.
fn warm_up(prepared: &Prepared, proceed: &mut impl FnMut(&Simulation) -> bool) -> Result<WarmUp> {
    let Prepared { source, changes, .. } = prepared;
    let mut simulation = Simulation::new(Base::new(source)?.prepare(changes)?.model);
    let mut series = Series::default();
    play(&mut simulation, &mut series, proceed).map_err(|error| locate(source, changes, error))?;
    // Lags in versions settle when all workers have gone round, lags in seconds when queues have filled: whichever is later.
    let [versions, seconds] = [0, 1].map(|measure| {
        let means: Vec<f64> = series.means.iter().map(|means| means[measure]).collect();
        statistics::mser_5(&means)
    });
    let cut = versions.max(seconds) as u64 * series.length;
    // In steps: as many gradients as steps on average make one.
    let gradients = series.means.len() as u64 * series.length;
    let steps = (cut as f64 / gradients.max(1) as f64 * simulation.updates() as f64) as u64;
    Ok(Count::new(steps).map_or(WarmUp::Off, WarmUp::Updates))
}

/// Lags in versions and in seconds as means of so many at a time, never more than a few thousand.
#[derive(Debug, Default)]
struct Series {
    means: Vec<[f64; 2]>,
    length: u64,
    sums: [f64; 2],
    count: u64,
}

/// At so many means, every two become one.
const MOST_MEANS: usize = 8192;

impl Observer for Series {
    fn applied(&mut self, gradient: &Gradient) {
        self.length = self.length.max(1);
        self.sums[0] += gradient.lag_versions() as f64;
        self.sums[1] += gradient.lag().seconds();
        self.count += 1;
        if self.count < self.length {
            return;
        }
        self.means.push(self.sums.map(|sum| sum / self.length as f64));
        (self.sums, self.count) = ([0.0; 2], 0);
        if self.means.len() == MOST_MEANS {
            let mean = |pair: &[[f64; 2]]| std::array::from_fn(|measure| (pair[0][measure] + pair[1][measure]) / 2.0);
            self.means = self.means.chunks_exact(2).map(mean).collect();
            self.length *= 2;
        }
    }
    fn wants_inspection(&self, _: u64) -> bool {
        false
    }
    fn inspect(&mut self, _: &Gradient, _: &Step) -> Result<()> {
        Ok(())
    }
    fn not_applied(&mut self, _: &Gradient) -> Result<()> {
        Ok(())
    }
}
