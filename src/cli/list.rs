//! `laggard list`.

use super::{Verdict, print};
use crate::catalogue::Entry;
use crate::error::Result;
use crate::objective::Noise;
use crate::record::WHAT_IF;
use crate::{delay, objective, optimiser, protocol};

#[derive(Debug, clap::Args)]
pub struct Options {
    /// Show only parts whose name or summary contains this
    search: Option<String>,
}

/// Every part of a scenario that has variants, with them.
pub const PARTS: [(&str, &[Entry]); 6] = [
    ("objective: what is minimised", objective::CATALOGUE),
    ("noise: what makes gradients stochastic", Noise::CATALOGUE),
    ("optimiser: a chain of these", optimiser::CATALOGUE),
    ("protocol: who waits for whom", protocol::CATALOGUE),
    ("compute, download, upload, service: laws of delay", delay::CATALOGUE),
    ("record: questions about single steps", &[WHAT_IF]),
];

pub fn list(options: &Options) -> Result<Verdict> {
    let wanted = options.search.as_deref().unwrap_or_default().to_lowercase();
    let matches = |entry: &&Entry| [entry.name, entry.summary].iter().any(|text| text.to_lowercase().contains(&wanted));
    let mut text = String::new();
    for (part, entries) in PARTS {
        let found: Vec<&Entry> = entries.iter().filter(matches).collect();
        if found.is_empty() {
            continue;
        }
        text += &format!("{part}\n");
        for entry in found {
            text += &format!("  {:<20}{}\n  {:<20}{}\n", entry.name, entry.summary, "", entry.example);
        }
        text += "\n";
    }
    if text.is_empty() {
        text = format!("nothing here is called `{wanted}`\n");
    }
    print(&text)?;
    Ok(Verdict::Fine)
}
