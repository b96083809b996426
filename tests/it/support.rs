//! What the tests share: running a scenario from its text, and cases of the book (`src/verify/book.json`) beyond what `verify` asks of them.

use laggard::cluster::{Fate, Gradient, Observer, Simulation, Step};
use laggard::record::{GradientRow, RowSink};
use laggard::scenario::Source;
use laggard::study::{Outcome, Prepared, run};
use proptest::test_runner::{Config as ProptestConfig, RngSeed};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

pub fn source(text: &str) -> Source {
    Source { path: "test.ron".into(), text: text.to_owned(), colour: false }
}

/// Runs the scenario that `text` is, with rows of single gradients going to `sink`.
pub fn run_into<S: RowSink>(text: &str, sink: S) -> Outcome<S> {
    let prepared = Prepared::new(&source(text), None, None).unwrap_or_else(|error| panic!("{error}"));
    run(prepared, sink, |_| true).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs the scenario that `text` is, keeping the rows of single gradients.
pub fn play(text: &str) -> Outcome<Vec<GradientRow>> {
    run_into(text, Vec::new())
}

/// Shows `see` every step of the run of the scenario that `text` is, gradient by gradient.
pub fn watch(text: &str, see: impl FnMut(&Gradient, &Step)) -> Simulation {
    let prepared = Prepared::new(&source(text), None, None).unwrap_or_else(|error| panic!("{error}"));
    let mut simulation = Simulation::new(prepared.model);
    let mut watcher = Watcher(see);
    while simulation.advance(10_000, &mut watcher).unwrap_or_else(|error| panic!("{error}")).is_none() {}
    simulation.close(&mut watcher).unwrap_or_else(|error| panic!("{error}"));
    simulation
}

struct Watcher<F>(F);

impl<F: FnMut(&Gradient, &Step)> Observer for Watcher<F> {
    fn applied(&mut self, _: &Gradient) {}
    fn wants_inspection(&self, _: u64) -> bool {
        true
    }
    fn inspect(&mut self, gradient: &Gradient, step: &Step) -> laggard::error::Result<()> {
        (self.0)(gradient, step);
        Ok(())
    }
    fn not_applied(&mut self, _: &Gradient) -> laggard::error::Result<()> {
        Ok(())
    }
}

/// How many gradients of each worker met a fate.
pub fn fates<S>(outcome: &Outcome<S>, fate: Fate) -> Vec<f64> {
    outcome.simulation.books().map(|books| books.count(fate) as f64).collect()
}

/// How long workers had no work, in seconds of all of them.
pub fn waited_s<S>(outcome: &Outcome<S>) -> f64 {
    outcome.simulation.books().map(|books| books.waited.seconds()).sum()
}

/// The gradients applied in a run with `gradients: All`, in order.
pub fn applied(outcome: &Outcome<Vec<GradientRow>>) -> Vec<Gradient> {
    let rows = outcome.recording.sink.iter().map(|row| row.gradient);
    rows.filter(|gradient| gradient.fate == Fate::Applied).collect()
}

/// A scenario on f(w) = w²/2 with `workers` (the list's inside) and whatever `rest` says.
pub fn quadratic(workers: &str, rest: &str) -> String {
    format!(
        "Scenario(objective: Quadratic(curvature: 1.0), start: [1.0], optimiser: [Sgd(learning_rate: 0.001)],
         workers: [{workers}], {rest})"
    )
}

/// So many cases of a property, always the same ones.
pub fn cases(count: u32) -> ProptestConfig {
    ProptestConfig {
        cases: count,
        max_global_rejects: 1_000_000,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

pub struct Oracle {
    pub id: String,
    pub scenario: Value,
    pub value: Value,
}

/// The oracles whose name begins with `prefix`.
pub fn oracles(prefix: &str) -> Vec<Oracle> {
    let all: Vec<Value> =
        serde_json::from_str(include_str!("../../src/verify/book.json")).expect("the oracles are JSON");
    let wanted = all.into_iter().filter(|case| case["id"].as_str().is_some_and(|id| id.starts_with(prefix)));
    let found: Vec<Oracle> = wanted
        .map(|case| Oracle {
            id: case["id"].as_str().unwrap_or_default().to_owned(),
            scenario: case["scenario"].clone(),
            value: case["value"].clone(),
        })
        .collect();
    assert!(!found.is_empty(), "no oracle begins with {prefix}");
    found
}

/// The one oracle called `id`.
pub fn oracle(id: &str) -> Oracle {
    oracles(id).into_iter().find(|oracle| oracle.id == id).unwrap_or_else(|| panic!("no oracle is called {id}"))
}

impl Oracle {
    /// Asserts that `actual` is the oracle's `expected` up to `within`.
    pub fn check_within(&self, what: &str, actual: f64, expected: f64, within: f64) {
        let off = (actual - expected).abs();
        assert!(off <= within, "{}: {what} is {actual}, expected {expected} ± {within}", self.id);
    }
}

/// A number, or a fraction such as "1/8".
pub fn number(value: &Value) -> f64 {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut parts =
        text.split('/').map(|part| part.trim().parse::<f64>().unwrap_or_else(|_| panic!("{text} is no number")));
    let first = parts.next().unwrap_or(f64::NAN);
    parts.fold(first, |numerator, denominator| numerator / denominator)
}

/// Asserts that a catalogue lists the variants of the enum `T` as RON offers them, and that its examples read as such.
pub fn check_catalogue<T: DeserializeOwned + Serialize>(catalogue: &[laggard::catalogue::Entry]) {
    let options = ron::Options::default().with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME);
    let Err(error) = options.from_str::<T>("NoSuchName") else { panic!("there is a variant called NoSuchName") };
    let ron::Error::NoSuchEnumVariant { expected, .. } = error.code else { panic!("{error}") };
    let listed: Vec<&str> = catalogue.iter().map(|entry| entry.name).collect();
    assert_eq!(listed, expected);
    for entry in catalogue {
        let value: T = options.from_str(entry.example).unwrap_or_else(|error| panic!("{}: {error}", entry.example));
        let text = options.to_string(&value).unwrap();
        assert_eq!(text.split('(').next(), Some(entry.name));
    }
}
