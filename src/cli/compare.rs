//! `laggard compare` and `laggard diff`.

use super::{Input, Verdict, colour, print};
use crate::cluster::{Upcoming, What};
use crate::error::{Error, Result};
use crate::report;
use crate::scenario::{Patch, Scenario, Source};
use crate::study::statistics::Estimate;
use crate::study::{Base, Change, Parting, Prepared, compare as contrast, diff as part, quantities};
use serde_json::json;
use std::path::PathBuf;

/// What is compared if nothing else is asked for.
const SHOWN: &str = "throughput_per_s,lag_versions_mean,lag_s_mean,loss,time_to_loss_s";

#[derive(Debug, clap::Args)]
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
    /// How many runs at a time; all cores if left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
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
    let names = quantities();
    if let Some(unknown) = options.show.iter().find(|name| !names.contains(&name.as_str())) {
        let reason = format!("no number in the summary is called `{unknown}`; the numbers are: {}", names.join(", "));
        return Err(Error::Invalid(reason));
    }
    let read = |file: &PathBuf| Ok(Source { colour: colour(), ..Source::read(file)? });
    let sources: Vec<Source> = options.files.iter().map(read).collect::<Result<_>>()?;
    let changes: Vec<Change> =
        options.changes.iter().map(|text| Change::from_set(text, colour())).collect::<Result<_>>()?;
    let bases: Vec<Base> = sources.iter().map(Base::new).collect::<Result<_>>()?;
    // One seed for all, so that all draw the same random numbers.
    let seed = sources[0].parse::<Scenario>()?.seed;
    let prepare = |scenario: usize, replication: u64| {
        let mut changes = changes.clone();
        let own = Patch { seed: Some(seed), replication: Some(replication), ..Patch::default() };
        changes.insert(0, Change::unwritten(own));
        bases[scenario].prepare(&changes)
    };
    let threads = options.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let comparison = contrast(sources.len(), prepare, options.replications, &options.show, options.level, threads)?;
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
                    "verdict": contrast.verdict(),
                })
            });
            (quantity.clone(), each.collect())
        })
        .collect();
    print(&format!("{}\n", serde_json::Value::Object(object)))?;
    Ok(Verdict::Fine)
}

fn estimate_json(known: &Estimate) -> serde_json::Value {
    let half_width = known.half_width.ok();
    json!({ "n": known.n, "mean": known.mean, "sd": known.sd, "half_width": half_width })
}

pub fn diff(options: &DiffOptions) -> Result<Verdict> {
    let first = options.input.prepare()?;
    let source = match &options.other {
        Some(file) => Source { colour: colour(), ..Source::read(file)? },
        None => Source::clone(&first.source),
    };
    let own = options.other_changes.iter().map(|text| Change::from_set(text, colour()));
    let own: Vec<Change> = own.collect::<Result<_>>()?;
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
    };
    format!("at {} s, version {}: {what}", next.time.nanos() as f64 / 1e9, next.version)
}
