//! `laggard list`.

use super::{Verdict, print};
use crate::catalogue::Entry;
use crate::error::{Error, Result};
use crate::failure::{Backlog, Every, Future, Meanwhile, Of, Recovery, When};
use crate::objective::{Data, Noise, Spectrum};
use crate::record::{Gradients, Sampling, WHAT_IF, WarmUp};
use crate::scenario::{GoOn, Rollback};
use crate::study::{Axis, Kept, Replications, quantities};
use crate::{delay, objective, optimiser, protocol};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  laggard list              everything by name
  laggard list weibull      one law, with an example")]
pub struct Options {
    /// Show only parts whose name or summary contains this
    search: Option<String>,
}

/// Every part of a scenario that has variants, with them.
const PARTS: [(&str, &[Entry]); 25] = [
    ("objective: what is minimised", objective::CATALOGUE),
    ("curvatures of Diagonal", Spectrum::CATALOGUE),
    ("data of LeastSquares, Logistic and Softmax", Data::CATALOGUE),
    ("noise: what makes gradients stochastic", Noise::CATALOGUE),
    ("optimiser: a chain of these", optimiser::CATALOGUE),
    ("schedules of Schedule", optimiser::SCHEDULES),
    ("discounts of Discount, by lag", optimiser::DISCOUNTS),
    ("protocol: who waits for whom", protocol::CATALOGUE),
    ("compute, download, upload, service: laws of delay", delay::CATALOGUE),
    ("failures, of: what fails", Of::CATALOGUE),
    ("failures, at: when", When::CATALOGUE),
    ("server, recovery: what it has when it is back", Recovery::<()>::CATALOGUE),
    ("every of Checkpoint", Every::CATALOGUE),
    ("backlog of Stateless", Backlog::CATALOGUE),
    ("server, meanwhile: what workers do while it is away", Meanwhile::CATALOGUE),
    ("server, future: gradients of versions that were undone", Future::CATALOGUE),
    ("shards, go_on: when a worker goes on", GoOn::CATALOGUE),
    ("shards, rollback: which go back", Rollback::CATALOGUE),
    ("record, gradients: rows of single gradients", Gradients::CATALOGUE),
    ("record, trajectory: samples of the loss", Sampling::CATALOGUE),
    ("record, what_if: questions about single steps", &[WHAT_IF]),
    ("record, warm_up: what is left out of lags and rates", WarmUp::CATALOGUE),
    ("axes of a sweep", Axis::CATALOGUE),
    ("replications of a sweep", Replications::CATALOGUE),
    ("tables of a sweep", Kept::CATALOGUE),
];

pub fn list(options: &Options) -> Result<Verdict> {
    let wanted = options.search.as_deref().unwrap_or_default().to_lowercase();
    let matches = |entry: &&Entry| [entry.name, entry.summary].iter().any(|text| text.to_lowercase().contains(&wanted));
    let mut text = String::new();
    for (part, entries) in PARTS.iter().chain(&protocol::CHOICES) {
        let whole = part.to_lowercase().contains(&wanted);
        let found: Vec<&Entry> = entries.iter().filter(|entry| whole || matches(entry)).collect();
        if found.is_empty() {
            continue;
        }
        text += &format!("{part}\n");
        for entry in found {
            text += &format!("  {:<20}{}\n  {:<20}{}\n", entry.name, entry.summary, "", entry.example);
            if part.starts_with("protocol") {
                text += &format!("  {:<20}shown by {}\n", "", protocol::scenario_of(entry.name));
            }
        }
        text += "\n";
    }
    let names = quantities();
    let named: Vec<&str> = names.iter().copied().filter(|name| name.contains(&wanted)).collect();
    if !named.is_empty() {
        text += &format!("expect, quantity: numbers of the summary\n  {}\n", named.join(", "));
    }
    if text.is_empty() {
        let reason = format!("nothing here is called `{wanted}`; docs/scenario.md explains the fields of a scenario");
        return Err(Error::Invalid(reason));
    }
    print(&text)?;
    Ok(Verdict::Fine)
}
