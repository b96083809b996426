//! The book of cases that the program checks itself against, for a person.

use super::number::number;
use super::plain_table;
use crate::verify::{By, Checked, FALSE_ALARM, Finding, Outcome, WITHIN};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A row for each topic, what is wrong, what is not checked and why; with `each` all figures.
pub fn book(all: &[Checked], each: bool) -> String {
    let mut text = String::new();
    if each {
        all.iter().for_each(|case| text += &findings(case, |_| true));
        text += "\n";
    }
    let mut topics: Vec<&str> = Vec::new();
    for case in all {
        if !topics.contains(&case.topic) {
            topics.push(case.topic);
        }
    }
    let header = ["topic", "cases", "checked", "formulas", "exact", "estimates", "bounds", "wrong"];
    let row = |topic: &str| {
        let own: Vec<&Checked> = all.iter().filter(|case| case.topic == topic).collect();
        let counts = [own.len(), own.iter().filter(|case| is_checked(case)).count()];
        let by = [By::Formula, By::Exact, By::Estimate, By::Bound].map(|by| count(&own, by));
        let wrong = own.iter().filter(|case| case.is_wrong()).count();
        let counts = counts.into_iter().chain(by).chain([wrong]).map(|count| count.to_string());
        std::iter::once(topic.to_owned()).chain(counts).collect()
    };
    text += &plain_table(&header, topics.into_iter().map(row));
    for case in all.iter().filter(|case| case.is_wrong()) {
        text += &format!("\nwrong: {}", findings(case, |finding| !finding.holds));
    }
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for case in all {
        if let Outcome::Unchecked(reason) = &case.outcome {
            reasons.entry(reason).or_default().push(&case.id);
        }
    }
    for (reason, cases) in reasons {
        let _ = writeln!(text, "not checked: {} ({reason})", cases.join(", "));
    }
    text + &totals(all)
}

/// How many cases and figures there are, and how likely a false alarm was.
pub fn totals(all: &[Checked]) -> String {
    let cases: Vec<&Checked> = all.iter().collect();
    let by = [By::Formula, By::Exact, By::Estimate, By::Bound].map(|by| count(&cases, by));
    let checked = all.iter().filter(|case| is_checked(case)).count();
    let wrong = all.iter().filter(|case| case.is_wrong()).count();
    let alarm = 100.0 * (1.0 - (1.0 - FALSE_ALARM).powi(by[2] as i32));
    format!(
        "{} cases, {checked} checked, {wrong} wrong: {} formulas, {} exact replays, {} estimates, {} bounds\n\
         an estimate may be {WITHIN} standard errors off; by chance alone one of these would be further off for {alarm:.1} % of all seeds, \
         but the seeds are fixed\n",
        all.len(),
        by[0],
        by[1],
        by[2],
        by[3]
    )
}

fn is_checked(case: &Checked) -> bool {
    !matches!(case.outcome, Outcome::Unchecked(_))
}

fn count(cases: &[&Checked], by: By) -> usize {
    let of = |case: &&Checked| match &case.outcome {
        Outcome::Found(findings) => findings.iter().filter(|finding| finding.by == by).count(),
        _ => 0,
    };
    cases.iter().map(of).sum()
}

/// A case with those of its figures that are asked for.
fn findings(case: &Checked, wanted: impl Fn(&Finding) -> bool) -> String {
    let mut text = format!("{}: {}\n", case.id, case.statement);
    match &case.outcome {
        Outcome::Unchecked(reason) => text += &format!("  not checked: {reason}\n"),
        Outcome::Failed(error) => text += &format!("  {error}\n"),
        Outcome::Found(findings) => {
            for finding in findings.iter().filter(|finding| wanted(finding)) {
                let by = match finding.by {
                    By::Formula => "formula",
                    By::Exact => "replay",
                    By::Estimate => "estimate",
                    By::Bound => "bound",
                };
                let within = match finding.by {
                    By::Estimate => format!(" ± {}", number(finding.within)),
                    _ => String::new(),
                };
                let verdict = if finding.holds { "" } else { "  WRONG" };
                let (found, expected) = (finding.found, finding.expected);
                let _ = writeln!(text, "  {by:<9}{}: {found}{within}, expected {expected}{verdict}", finding.what);
            }
        }
    }
    text
}
