//! `laggard predict`.

use super::{Input, Verdict, note, print};
use crate::error::Result;
use crate::output::{NoRows, summary_numbers};
use crate::report;
use crate::study::{Forecast, Prepared, predict as forecast, run as simulate};
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  laggard predict scenarios/saturated-server.ron                          closed forms beside what they assume
  laggard predict scenarios/pai.ron --set 'each_class: (count: 100)'      before there are machines")]
pub struct Options {
    #[command(flatten)]
    input: Input,
    /// Run the scenario, too, and show what came of it beside
    #[arg(long)]
    run: bool,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub fn predict(options: &Options) -> Result<Verdict> {
    let prepared: Prepared = options.input.prepare()?;
    let said = forecast(&prepared);
    let seen: Option<BTreeMap<String, Option<f64>>> = match options.run {
        true => Some(summary_numbers(&simulate(prepared, NoRows, |_| true)?.summary).into_iter().collect()),
        false => None,
    };
    if options.json {
        print(&format!("{}\n", to_json(&said, seen.as_ref())))?;
    } else {
        print(&report::forecast(&said, |quantity| figure(seen.as_ref(), quantity)))?;
    }
    said.warnings.iter().for_each(|warning| note(&format!("warning: {warning}\n")));
    Ok(Verdict::Fine)
}

fn figure(seen: Option<&BTreeMap<String, Option<f64>>>, quantity: &str) -> Option<f64> {
    let name = if quantity == "stationary_loss" { "loss" } else { quantity };
    seen.and_then(|seen| seen.get(name).copied().flatten())
}

fn to_json(said: &Forecast, seen: Option<&BTreeMap<String, Option<f64>>>) -> Value {
    let predictions = said.predictions.iter().map(|known| {
        json!({
            "quantity": known.quantity,
            "value": known.value,
            "simulated": figure(seen, known.quantity),
            "because": known.because,
        })
    });
    let silent = said.silent.iter().map(|(about, why)| json!({ "about": about, "why": why }));
    json!({
        "predictions": predictions.collect::<Vec<_>>(),
        "silent": silent.collect::<Vec<_>>(),
        "warnings": said.warnings,
    })
}
