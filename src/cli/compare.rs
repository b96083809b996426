//! `laggard compare` and `laggard diff`.

use super::{Input, Jobs, Verdict, changes, check_quantities, estimate_json, print, read};
use crate::cluster::{Upcoming, What};
use crate::error::{Error, Result};
use crate::report;
use crate::scenario::{Patch, Source};
use crate::study::{Base, Change, Parting, Prepared, compare as contrast, diff as part};
use serde_json::json;
use std::path::PathBuf;

/// What is compared if nothing else is asked for.
const SHOWN: &str = "throughput_per_s,lag_versions_mean,lag_s_mean,loss,time_to_loss_s";

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  laggard compare scenarios/disagree-8-workers.ron scenarios/disagree-16-workers.ron -n 10")]
pub struct Options {
    /// The scenarios; the others are compared with the first
    #[arg(required = true, num_args = 2..)]
    files: Vec<PathBuf>,
    /// How many replications of each
    #[arg(long, short = 'n', default_value_t = 20, value_parser = clap::value_parser!(u64).range(2..))]
    replications: u64,
    /// The figures to compare, by their names in the summary
    #[arg(
        long,
        value_delimiter = ',',
        default_value = SHOWN
    )]
    show: Vec<String>,
    /// The confidence of intervals
    #[arg(long, default_value_t = 0.95)]
    level: f64,
    /// Change fields of all scenarios
    #[arg(long = "set", value_name = "FIELDS")]
    changes: Vec<String>,
    #[command(flatten)]
    jobs: Jobs,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  laggard diff scenarios/pai.ron --other-set 'protocol: Ssp(bound: 2)'   the first event, and the first step, that differ")]
pub struct DiffOptions {
    #[command(flatten)]
    input: Input,
    /// The other scenario; the same one if left out, with what --other-set changes of it
    #[arg(long, value_name = "FILE")]
    other: Option<PathBuf>,
    /// Change fields of the other scenario only
    #[arg(long = "other-set", value_name = "FIELDS")]
    other_changes: Vec<String>,
}

pub fn compare(options: &Options) -> Result<Verdict> {
    if !(0.0..1.0).contains(&options.level) || options.level == 0.0 {
        return Err(Error::Invalid(format!("--level {}: expected a number between 0 and 1", options.level)));
    }
    check_quantities("--show", &options.show)?;
    let bases = options.files.iter().map(|file| Base::new(&read(file)?)).collect::<Result<Vec<Base>>>()?;
    let changes = changes(&options.changes)?;
    // One seed for all, so that all draw the same random numbers.
    let seed = bases[0].seed();
    let prepare = |scenario: usize, replication: u64| {
        let mut changes = changes.clone();
        let own = Patch { seed: Some(seed), replication: Some(replication), ..Patch::default() };
        changes.insert(0, Change::unwritten(own));
        bases[scenario].prepare(&changes)
    };
    let pool = options.jobs.pool()?;
    let comparison = contrast(bases.len(), prepare, options.replications, &options.show, options.level, &pool)?;
    let names: Vec<String> = options.files.iter().map(|file| file.display().to_string()).collect();
    if !options.json {
        print(&report::comparison(&names, &comparison, options.replications, options.level))?;
        return Ok(Verdict::Fine);
    }
    let object: serde_json::Map<String, serde_json::Value> = comparison
        .iter()
        .map(|(quantity, contrasts)| {
            let each = contrasts.iter().zip(&names).map(|(contrast, name)| {
                json!({
                    "scenario": name,
                    "figure": contrast.own.as_ref().map(estimate_json),
                    "difference": contrast.difference.as_ref().map(estimate_json),
                    "share_lower": contrast.lower,
                    "verdict": contrast.verdict().map(|verdict| verdict.name()),
                })
            });
            (quantity.clone(), each.collect())
        })
        .collect();
    print(&format!("{}\n", serde_json::Value::Object(object)))?;
    Ok(Verdict::Fine)
}

pub fn diff(options: &DiffOptions) -> Result<Verdict> {
    let first = options.input.prepare()?;
    let source = match &options.other {
        Some(file) => read(file)?,
        None => Source::clone(&first.source),
    };
    let own = changes(&options.other_changes)?;
    let changes: Vec<Change> = first.changes.iter().cloned().chain(own).collect();
    let second = Prepared::changed(&source, &changes)?;
    let parting = part(first, second)?;
    print(&describe(&parting))?;
    Ok(if parting.apart || parting.parameters_from.is_some() { Verdict::Unmet } else { Verdict::Fine })
}

fn describe(parting: &Parting) -> String {
    let event = |next: &Option<Upcoming>| next.as_ref().map_or("the run is over".to_owned(), name);
    let mut text = match parting.parameters_from {
        Some(step) => format!("the parameters differ from step {step} on\n"),
        None => String::new(),
    };
    text += &if parting.apart {
        let [first, second] = &parting.next;
        format!(
            "{} events are the same; then\n  first:  {}\n  second: {}\n",
            parting.common,
            event(first),
            event(second)
        )
    } else {
        format!("all {} events are the same\n", parting.common)
    };
    text
}

fn name(next: &Upcoming) -> String {
    let what = match next.what {
        What::Start(worker) => format!("worker {worker} joins, or asks for a snapshot"),
        What::Arrival(worker) => format!("a gradient of worker {worker} reaches the server"),
        What::GiveUp(worker) => format!("worker {worker} gives up on its gradient"),
        What::Served => "the server has taken in a gradient".to_owned(),
        What::Stepped => "the server's step is over".to_owned(),
        What::Published => "workers can read a newer version".to_owned(),
        What::Deadline => "the time for a step is up".to_owned(),
        What::Saved => "what the server has is written, or saved".to_owned(),
        What::Timer => "it is time to save what the server has".to_owned(),
        What::Through => "a gradient has got through the server's link".to_owned(),
        What::SentOut => "a snapshot has got through the server's link".to_owned(),
        What::PartArrival(worker, shard) => format!("a part of a gradient of worker {worker} reaches shard {shard}"),
        What::ShardFree(shard) => format!("shard {shard} has taken in a part, or written what it has"),
        What::Fault(_) => "something fails, or is there again".to_owned(),
    };
    format!("at {} s, version {}: {what}", next.time.nanos() as f64 / 1e9, next.version)
}
