//! What the tests share: running a scenario from its text, and the oracle values to hold it to.
//!
//! The oracles (`tests/data/oracles.json`) were computed by an independent program from the closed forms. A statistical
//! one comes with the standard error `se` that an independent simulation of length `n` had; an estimate from N samples
//! must lie within 4·se·√(n/N), which a correct program misses once in 16,000 times. Seeds are fixed, so no test is flaky.

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

/// Workers with exponential compute times of given rates.
pub fn exponential_workers(rates: &[f64]) -> String {
    rates.iter().map(|rate| format!("(compute: Exponential(mean: {:?})),", 1.0 / rate)).collect()
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
    case: Value,
}

/// The oracles whose name begins with `prefix`.
pub fn oracles(prefix: &str) -> Vec<Oracle> {
    let all: Vec<Value> = serde_json::from_str(include_str!("../data/oracles.json")).expect("the oracles are JSON");
    let wanted = all.into_iter().filter(|case| case["id"].as_str().is_some_and(|id| id.starts_with(prefix)));
    let found: Vec<Oracle> = wanted
        .map(|case| Oracle {
            id: case["id"].as_str().unwrap_or_default().to_owned(),
            scenario: case["scenario"].clone(),
            value: case["value"].clone(),
            case,
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
    /// Asserts that `actual`, estimated from `samples`, is the oracle's `expected` within the standard error called
    /// `se` (its own, if that is empty).
    pub fn check(&self, what: &str, actual: f64, expected: f64, se: &str, samples: f64) {
        let error = if se.is_empty() { &self.case["se"] } else { &self.case["se"][se] };
        let error = error.as_f64().unwrap_or_else(|| panic!("{}: no standard error {se}", self.id));
        let n = self.case["n"].as_f64().unwrap_or_else(|| panic!("{}: no sample size", self.id));
        self.check_within(what, actual, expected, 4.0 * error * (n / samples).sqrt());
    }

    /// Asserts that `actual` is the oracle's `expected` up to `within`.
    pub fn check_within(&self, what: &str, actual: f64, expected: f64, within: f64) {
        let off = (actual - expected).abs();
        assert!(off <= within, "{}: {what} is {actual}, expected {expected} ± {within}", self.id);
    }

    /// As [`Oracle::check`], where the standard error is given relative to the value.
    pub fn check_relative(&self, what: &str, actual: f64, expected: f64, samples: f64) {
        let error = self.case["se_rel"].as_f64().unwrap_or_else(|| panic!("{}: no relative standard error", self.id));
        let n = self.case["n"].as_f64().unwrap_or(samples);
        self.check_within(what, actual, expected, 4.0 * error * expected.abs() * (n / samples).sqrt());
    }

    /// The standard error of P(lag = 0).
    pub fn se_p0(&self) -> f64 {
        self.case["se_p0"].as_f64().unwrap_or_else(|| panic!("{}: no standard error of P0", self.id))
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

/// A list of numbers or fractions.
pub fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list")).iter().map(number).collect()
}

/// A number of the oracle's values.
pub fn value(oracle: &Oracle, name: &str) -> f64 {
    oracle.value[name].as_f64().unwrap_or_else(|| panic!("{}: no {name}", oracle.id))
}

/// A number of the oracle's scenario.
pub fn given(oracle: &Oracle, name: &str) -> f64 {
    number(&oracle.scenario[name])
}

/// Asserts that a closed form is what the oracle says, to twelve digits.
pub fn same(oracle: &Oracle, what: &str, actual: f64, expected: f64) {
    near(oracle, what, actual, expected, 1e-12);
}

/// The same to `relative`, for oracles that were found by less exact means.
pub fn near(oracle: &Oracle, what: &str, actual: f64, expected: f64, relative: f64) {
    let off = (actual - expected).abs();
    assert!(off <= relative * expected.abs().max(1e-300), "{}: {what} is {actual}, expected {expected}", oracle.id);
}

/// Workers with constant compute times that join at given times.
pub fn constant_workers(compute: &[f64], starts: &[f64]) -> String {
    let worker = |(compute, start): (&f64, &f64)| format!("(compute: Constant({compute:?}), joins_at: {start:?}), ");
    compute.iter().zip(starts).map(worker).collect()
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
