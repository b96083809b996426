//! `laggard verify`.

use super::{Jobs, Verdict, note, print};
use crate::error::{Error, Result};
use crate::report;
use crate::scenario::suggest;
use crate::verify::{Checked, Effort, Outcome, names, verify as check};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use std::time::Duration;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  laggard verify --quick              the whole book, with a tenth of the samples
  laggard verify T4.mm1N --each       one queue, figure by figure")]
pub struct Options {
    /// Only cases whose names contain one of these
    filter: Vec<String>,
    /// A tenth of the samples
    #[arg(long)]
    quick: bool,
    /// Print every figure, not only what is wrong
    #[arg(long)]
    each: bool,
    /// Print all cases with their figures as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    jobs: Jobs,
}

pub fn verify(options: &Options) -> Result<Verdict> {
    let all = names()?;
    if let Some(part) = options.filter.iter().find(|part| !all.iter().any(|name| name.contains(part.as_str()))) {
        let mut topics: Vec<&str> = all.iter().map(|name| name.split('.').nth(1).unwrap_or(name)).collect();
        topics.sort_unstable();
        topics.dedup();
        let help = suggest(part, &topics, "in the names are");
        return Err(Error::Invalid(format!("no case of the book has `{part}` in its name; {help}")));
    }
    let effort = if options.quick { Effort::Quick } else { Effort::Full };
    let bar = ProgressBar::new_spinner();
    bar.set_style(
        ProgressStyle::with_template("{spinner} {elapsed} {msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    bar.set_message("checking the book");
    bar.enable_steady_tick(Duration::from_millis(100));
    let checked = options.jobs.pool()?.install(|| check(&options.filter, effort))?;
    bar.finish_and_clear();
    if options.json {
        print(&format!("{}\n", Value::Array(checked.iter().map(to_json).collect())))?;
        note(&report::totals(&checked));
    } else {
        print(&report::book(&checked, options.each))?;
    }
    Ok(if checked.iter().any(Checked::is_wrong) { Verdict::Unmet } else { Verdict::Fine })
}

fn to_json(case: &Checked) -> Value {
    let (verdict, findings) = match &case.outcome {
        Outcome::Unchecked(_) => ("unchecked", json!([])),
        Outcome::Failed(_) => ("wrong", json!([])),
        Outcome::Found(findings) => (if case.is_wrong() { "wrong" } else { "right" }, json!(findings)),
    };
    let reason = match &case.outcome {
        Outcome::Unchecked(reason) => Value::from(*reason),
        Outcome::Failed(error) => error.to_string().into(),
        Outcome::Found(_) => Value::Null,
    };
    json!({
        "case": case.id,
        "topic": case.topic,
        "about": case.statement,
        "verdict": verdict,
        "reason": reason,
        "findings": findings,
    })
}
