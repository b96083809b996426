//! `laggard check`.

use super::{Input, Verdict, print, warn};
use crate::cluster::{DelayId, Model};
use crate::error::Result;
use crate::report::{bytes, number};
use crate::study::Prepared;
use std::fmt::Write;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  laggard check scenarios/network-and-server.ron")]
pub struct Options {
    #[command(flatten)]
    input: Input,
}

pub fn check(options: &Options) -> Result<Verdict> {
    let prepared = options.input.prepare()?;
    let mut text = format!("{}\n\n", prepared.stamp.scenario);
    text += &cost(&prepared);
    text += &problem(&prepared.model);
    text += &delays(&prepared);
    print(&text)?;
    warn(&prepared);
    Ok(Verdict::Fine)
}

/// How long and how large a run will be.
fn cost(prepared: &Prepared) -> String {
    let (estimate, model) = (&prepared.estimate, &prepared.model);
    let at_most = if prepared.scenario.stop.loss.is_some() { "at most" } else { "about" };
    format!(
        "// {} workers, {} parameters\n// {at_most} {} optimiser steps, {} events\n\
         // about {} of memory, {} of result files\n// scenario hash {:016x}\n",
        model.workers.len(),
        model.start.len(),
        number(estimate.updates),
        number(estimate.events),
        bytes(estimate.memory_bytes),
        bytes(estimate.output_bytes),
        prepared.stamp.scenario_hash
    )
}

/// What is known of the objective.
fn problem(model: &Model) -> String {
    let mut text = String::new();
    if let Some((least, greatest)) = model.objective.curvature() {
        let _ = writeln!(text, "// curvature between {} and {}", number(least), number(greatest));
    }
    if let Some(minimum) = model.objective.minimum() {
        let _ = writeln!(text, "// minimum f(w*) = {}", number(minimum));
    }
    text
}

/// Mean, deviation and support of every delay, by the first worker of each class.
fn delays(prepared: &Prepared) -> String {
    let model = &prepared.model;
    let mut text = String::new();
    let mut line = |what: String, id: DelayId| {
        let Some(place) = id.place() else { return };
        let delay = model.delays[place].delay();
        let (low, high) = delay.support();
        let [mean, sd, low, high] = [delay.mean(), delay.variance().sqrt(), low, high].map(number);
        let _ = writeln!(text, "// {what}: mean {mean} s, sd {sd} s, from {low} to {high} s");
    };
    for (number, name) in prepared.scenario.class_names().iter().enumerate() {
        let Some(member) = model.workers.iter().find(|member| member.class as usize == number) else { continue };
        for (leg, id) in
            [("download", member.legs.download), ("compute", member.legs.compute), ("upload", member.legs.upload)]
        {
            line(format!("class {name}, {leg}"), id);
        }
    }
    if let Some(member) = model.workers.first() {
        line("network, request".to_owned(), member.request);
    }
    line("server, service".to_owned(), model.server.service);
    line("server, step".to_owned(), model.server.step);
    line("server, publish".to_owned(), model.server.publish.delay);
    text
}
