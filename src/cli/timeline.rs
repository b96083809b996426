//! `laggard timeline`.

use super::{Input, Verdict, note, print};
use crate::cluster::{Fate, Gradient};
use crate::error::{Error, Result};
use crate::kernel::Time;
use crate::record::{GradientRow, Gradients, RowSink};
use crate::report::{self, Lives};
use crate::study::run as simulate;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  laggard timeline scenarios/overshoot.ron > overshoot.svg
  laggard timeline scenarios/protocols/k-async.ron --steps 12 --trace k-async.json   (open it at ui.perfetto.dev)")]
pub struct Options {
    #[command(flatten)]
    input: Input,
    /// Draw so many optimiser steps
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u64).range(1..))]
    steps: u64,
    /// Leave out what ended before, in virtual seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    from: f64,
    /// Write the picture to this file in place of standard output
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write a Chrome trace to this file, for Perfetto, in place of the picture
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Pixels from left to right
    #[arg(long, default_value_t = 1200, value_parser = clap::value_parser!(u32).range(320..=20_000))]
    width: u32,
}

/// More could not be told apart.
const MOST_GRADIENTS: usize = 5_000;
const MOST_WORKERS: usize = 200;

/// Keeps the gradients that are drawn.
struct Kept {
    from: Time,
    /// Steps still to be drawn, and the last gradient's version of them.
    steps: u64,
    last: Option<u64>,
    /// When the last step was, once it was.
    until: Option<Time>,
    over: Arc<AtomicBool>,
    gradients: Vec<Gradient>,
}

impl Kept {
    /// Whether that was the last gradient of a step too many.
    fn count(&mut self, gradient: &Gradient) -> bool {
        if gradient.fate != Fate::Applied || self.last == Some(gradient.version_applied) {
            return false;
        }
        self.last = Some(gradient.version_applied);
        if self.steps == 0 {
            return true;
        }
        self.steps -= 1;
        false
    }
}

impl RowSink for Kept {
    fn row(&mut self, row: &GradientRow) -> Result<()> {
        let gradient = row.gradient;
        if gradient.ended < self.from {
            return Ok(());
        }
        if self.until.is_none() && self.count(&gradient) {
            self.until = self.gradients.last().map(|last| last.ended);
            self.over.store(true, Ordering::Relaxed);
        }
        // Of what ends later, what was begun before.
        if self.until.is_none_or(|until| gradient.read < until) && self.gradients.len() <= MOST_GRADIENTS {
            self.gradients.push(gradient);
        }
        Ok(())
    }
}

pub fn timeline(options: &Options) -> Result<Verdict> {
    let mut prepared = options.input.prepare()?;
    let from = Time::from_seconds(options.from)
        .ok_or_else(|| Error::Invalid(format!("--from {}: no instant of the virtual clock", options.from)))?;
    let classes: Vec<u32> = prepared.model.workers.iter().map(|member| member.class).collect();
    if classes.len() > MOST_WORKERS {
        let message = format!("{} workers are too many to draw", classes.len());
        return Err(Error::Invalid(format!("{message}; draw fewer, as with --set 'each_class: (count: 4)'")));
    }
    let workers = names(&prepared.scenario.class_names(), &classes);
    let title = format!("{}: {}", options.input.name(), prepared.scenario.protocol.name());
    prepared.scenario.record.gradients = Gradients::All;
    let over = Arc::new(AtomicBool::new(false));
    let sink = Kept { from, steps: options.steps, last: None, until: None, over: over.clone(), gradients: Vec::new() };
    let outcome = simulate(prepared, sink, |_| !over.load(Ordering::Relaxed))?;
    let kept = outcome.recording.sink;
    if kept.gradients.is_empty() {
        let ended = outcome.simulation.now().seconds();
        return Err(Error::Invalid(format!(
            "nothing ends after --from {}: the run is over at {ended} s",
            options.from
        )));
    }
    if kept.gradients.len() > MOST_GRADIENTS {
        let message =
            format!("more than {MOST_GRADIENTS} gradients are too many to draw; fewer --steps, or fewer workers");
        return Err(Error::Invalid(message));
    }
    let until = kept.until.unwrap_or(outcome.simulation.now());
    let incidents = &outcome.recording.incidents;
    let lives = Lives { title, gradients: &kept.gradients, incidents, workers, from, until };
    let drawn = match &options.trace {
        Some(_) => report::trace(&lives),
        None => report::life(&lives, f64::from(options.width)),
    };
    match options.trace.as_ref().or(options.svg.as_ref()) {
        Some(path) => {
            let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
            folder.and_then(|()| std::fs::write(path, &drawn)).map_err(|error| Error::io(path, error))?;
            note(&format!("{} gradients in {}\n", kept.gradients.len(), path.display()));
        }
        None => print(&drawn)?,
    }
    Ok(Verdict::Fine)
}

/// What the lanes are called: by class, numbered where it has several workers.
fn names(classes: &[String], workers: &[u32]) -> Vec<String> {
    let name = |(number, &class): (usize, &u32)| {
        let alike = workers.iter().filter(|&&other| other == class).count();
        let place = workers[..number].iter().filter(|&&other| other == class).count();
        let own = &classes[class as usize];
        // A class without a name is called by its number: workers then are, too.
        match (own.parse::<usize>().is_ok(), alike) {
            (true, _) => format!("worker {number}"),
            (false, 1) => own.clone(),
            (false, _) => format!("{own} {place}"),
        }
    };
    workers.iter().enumerate().map(name).collect()
}
