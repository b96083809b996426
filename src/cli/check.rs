//! `laggard check`.

use super::{Input, Verdict, print};
use crate::error::Result;
use crate::report::{bytes, number};
use crate::study::Prepared;

#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    input: Input,
}

pub fn check(options: &Options) -> Result<Verdict> {
    let prepared = Prepared::new(&options.input.read()?, options.input.seed, options.input.replication)?;
    let (estimate, stamp) = (&prepared.estimate, &prepared.stamp);
    let at_most = if prepared.scenario.stop.loss.is_some() { "at most " } else { "about " };
    let mut text = format!("{}\n\n", stamp.scenario);
    text += &format!("// {} workers, {} parameters\n", prepared.model.workers.len(), prepared.model.start.len());
    text += &format!("// {at_most}{} optimiser steps, {} events\n", number(estimate.updates), number(estimate.events));
    text += &format!(
        "// about {} of memory, {} of result files\n",
        bytes(estimate.memory_bytes),
        bytes(estimate.output_bytes)
    );
    text += &format!("// scenario hash {:016x}\n", stamp.scenario_hash);
    if let Some((least, greatest)) = prepared.model.objective.curvature() {
        text += &format!("// curvature between {} and {}\n", number(least), number(greatest));
    }
    if let Some(minimum) = prepared.model.objective.minimum() {
        text += &format!("// minimum f(w*) = {}\n", number(minimum));
    }
    print(&text)?;
    Ok(Verdict::Fine)
}
