//! Scenarios for cases of the book, and their runs.

use crate::cluster::{Fate, Gradient, Observer, Simulation, Step};
use crate::error::Result;
use crate::record::{GradientRow, RowSink};
use crate::scenario::Source;
use crate::study::{Outcome, Prepared, run};

/// A scenario on f(w) = w²/2 with `workers` (the list's inside) and whatever `rest` says.
pub fn quadratic(workers: &str, rest: &str) -> String {
    with("Sgd(learning_rate: 0.001)", workers, rest)
}

/// The same with an optimiser.
pub fn with(optimiser: &str, workers: &str, rest: &str) -> String {
    format!(
        "Scenario(objective: Quadratic(curvature: 1.0), start: [1.0], optimiser: [{optimiser}], workers: [{workers}], {rest})"
    )
}

/// Workers with exponential compute times of given rates.
pub fn exponential_workers(rates: &[f64]) -> String {
    rates.iter().map(|rate| format!("(compute: Exponential(mean: {:?})),", 1.0 / rate)).collect()
}

/// Workers with constant compute times that join at given times.
pub fn constant_workers(compute_s: &[f64], starts_s: &[f64]) -> String {
    let worker = |(compute, start): (&f64, &f64)| format!("(compute: Constant({compute:?}), joins_at: {start:?}), ");
    compute_s.iter().zip(starts_s).map(worker).collect()
}

/// The scenario that a text is, in one of its replications.
pub fn prepare(text: &str, replication: Option<u64>) -> Result<Prepared> {
    let source = Source { path: "case.ron".into(), text: text.to_owned(), colour: false };
    Prepared::new(&source, None, replication)
}

/// Runs the scenario that `text` is, with rows of single gradients going to `sink`.
pub fn run_into<S: RowSink>(text: &str, sink: S) -> Result<Outcome<S>> {
    run(prepare(text, None)?, sink, |_| true)
}

/// The same, keeping the rows.
pub fn play(text: &str) -> Result<Outcome<Vec<GradientRow>>> {
    run_into(text, Vec::new())
}

/// The gradients applied in a run with `gradients: All`, in order.
pub fn applied(outcome: &Outcome<Vec<GradientRow>>) -> Vec<Gradient> {
    let rows = outcome.recording.sink.iter().map(|row| row.gradient);
    rows.filter(|gradient| gradient.fate == Fate::Applied).collect()
}

/// How many gradients of each worker met a fate.
pub fn fates<S>(outcome: &Outcome<S>, fate: Fate) -> Vec<f64> {
    outcome.simulation.books().map(|books| books.count(fate) as f64).collect()
}

/// Shows `see` every step of the run of the scenario that `text` is, gradient by gradient.
pub fn watch(text: &str, see: impl FnMut(&Gradient, &Step)) -> Result<Simulation> {
    let mut simulation = Simulation::new(prepare(text, None)?.model);
    let mut watcher = Watcher(see);
    while simulation.advance(10_000, &mut watcher)?.is_none() {}
    simulation.close(&mut watcher)?;
    Ok(simulation)
}

struct Watcher<F>(F);

impl<F: FnMut(&Gradient, &Step)> Observer for Watcher<F> {
    fn applied(&mut self, _: &Gradient) {}
    fn wants_inspection(&self, _: u64) -> bool {
        true
    }
    fn inspect(&mut self, gradient: &Gradient, step: &Step) -> Result<()> {
        (self.0)(gradient, step);
        Ok(())
    }
    fn not_applied(&mut self, _: &Gradient) -> Result<()> {
        Ok(())
    }
}

/// A figure that a summary may not have.
pub fn or_nan(figure: Option<f64>) -> f64 {
    figure.unwrap_or(f64::NAN)
}

/// The server's parameters after every step, if there is one parameter.
pub fn path(text: &str) -> Result<Vec<f64>> {
    let (mut path, mut last) = (Vec::new(), u64::MAX);
    watch(text, |_, step| {
        if step.updates != last {
            last = step.updates;
            path.push(step.after[0]);
        }
    })?;
    Ok(path)
}

/// The stationary mean of w² before each step after the first `skip`, and over how many it was taken.
pub fn mean_square(text: &str, skip: u64) -> Result<(f64, u64)> {
    let (mut squares, mut count, mut last) = (0.0, 0, u64::MAX);
    watch(text, |_, step| {
        if step.updates > skip && step.updates != last {
            last = step.updates;
            squares += step.before[0] * step.before[0];
            count += 1;
        }
    })?;
    Ok((squares / count as f64, count))
}

/// The greatest size among some iterates.
pub fn most(part: &[f64]) -> f64 {
    part.iter().fold(0.0f64, |most, w| most.max(w.abs()))
}

/// How much iterates have grown or shrunk: the greatest of the last `window` over the greatest of the second such window. Those that ended
/// too early have diverged.
pub fn growth(path: &[f64], window: usize) -> f64 {
    if path.len() < 3 * window {
        return f64::INFINITY;
    }
    most(&path[path.len() - window..]) / most(&path[window..2 * window])
}

/// f with the classes' own curvatures and minima in place of w²/2.
pub fn shifted(text: &str, curvatures: &[f64], minima: &[f64]) -> String {
    let class = |(a, b): (&f64, &f64)| format!("(curvature: {a:?}, minimum: {b:?}),");
    let classes: String = curvatures.iter().zip(minima).map(class).collect();
    text.replace("Quadratic(curvature: 1.0)", &format!("Shifted(classes: [{classes}])"))
}

/// Equal workers with constant compute times: the lag is their number less one for ever.
pub fn equal(workers: u64) -> String {
    format!("(count: {workers}, compute: Constant(1.0))")
}

/// Equal workers with exponential compute times.
pub fn memoryless(workers: u64) -> String {
    format!("(count: {workers}, compute: Exponential(mean: 1.0))")
}
