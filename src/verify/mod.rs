//! The book: closed forms of the field with their values, and simulations that must come to them. What the program says of itself.

mod barriers;
mod case;
mod clocks;
mod complexity;
mod failures;
mod lags;
mod momentum;
mod participation;
mod play;
mod policies;
mod queues;
mod routing;
mod stability;
mod timelines;

pub use case::{By, Effort, FALSE_ALARM, Finding, WITHIN};

use crate::error::{Error, Result};
use case::{Case, Check, Fact};
use rayon::prelude::*;

/// Cases that are checked in the same way: those whose names begin so.
#[derive(Debug)]
pub struct Entry {
    prefix: &'static str,
    statement: &'static str,
    how: How,
}

#[derive(Debug)]
enum How {
    Checked(Check),
    /// It is not, and why.
    Not(&'static str),
}

impl Entry {
    const fn checked(prefix: &'static str, statement: &'static str, check: Check) -> Entry {
        Entry { prefix, statement, how: How::Checked(check) }
    }

    const fn not(prefix: &'static str, statement: &'static str, reason: &'static str) -> Entry {
        Entry { prefix, statement, how: How::Not(reason) }
    }
}

/// The topics of the book, in its order. Of several entries that fit a case the one with the longest prefix is its own.
const TOPICS: &[(&str, &[Entry])] = &[
    ("the worked example", timelines::ENTRIES),
    ("constant delay", stability::ENTRIES),
    ("momentum and asynchrony", momentum::ENTRIES),
    ("laws of lag", lags::ENTRIES),
    ("queues at a server", queues::ENTRIES),
    ("tasks and requests", routing::ENTRIES),
    ("barriers", barriers::ENTRIES),
    ("bounded clocks", clocks::ENTRIES),
    ("time complexities", complexity::ENTRIES),
    ("failures", failures::ENTRIES),
    ("participation", participation::ENTRIES),
    ("policies", policies::ENTRIES),
];

/// A case of the book, checked.
#[derive(Debug)]
pub struct Checked {
    /// Its name.
    pub id: String,
    /// The topic that it belongs to.
    pub topic: &'static str,
    /// What it is about.
    pub statement: &'static str,
    /// What was found, or why nothing was.
    pub outcome: Outcome,
}

/// What became of a case.
#[derive(Debug)]
pub enum Outcome {
    /// It was checked.
    Found(Vec<Finding>),
    /// It is not checked, and why.
    Unchecked(&'static str),
    /// It could not be.
    Failed(Error),
}

impl Checked {
    /// Whether something is wrong with it. A check that found nothing is.
    pub fn is_wrong(&self) -> bool {
        match &self.outcome {
            Outcome::Found(findings) => findings.is_empty() || findings.iter().any(|finding| !finding.holds),
            Outcome::Unchecked(_) => false,
            Outcome::Failed(_) => true,
        }
    }
}

/// The names of all cases of the book.
///
/// # Errors
/// If the book, which is part of the program, is broken.
pub fn names() -> Result<Vec<String>> {
    Ok(facts()?.into_iter().map(|fact| fact.id).collect())
}

fn facts() -> Result<Vec<Fact>> {
    serde_json::from_str(include_str!("book.json")).map_err(|error| Error::Broken(format!("the book: {error}")))
}

/// Checks the cases whose names contain one of `filters` (all, if there are none), several at a time in the pool that this is called in; the
/// results are in the order of the book, and the same at any number of threads.
///
/// # Errors
/// If the book is broken. What is wrong with a single case is part of the result.
pub fn verify(filters: &[String], effort: Effort) -> Result<Vec<Checked>> {
    let mut facts = facts()?;
    facts.retain(|fact| filters.is_empty() || filters.iter().any(|part| fact.id.contains(part.as_str())));
    Ok(facts.par_iter().with_max_len(1).map(|fact| check(fact, effort)).collect())
}

fn check(fact: &Fact, effort: Effort) -> Checked {
    let entries = TOPICS.iter().flat_map(|&(topic, entries)| entries.iter().map(move |entry| (topic, entry)));
    let fitting = entries.filter(|(_, entry)| fact.id.starts_with(entry.prefix));
    let Some((topic, entry)) = fitting.max_by_key(|(_, entry)| entry.prefix.len()) else {
        let outcome = Outcome::Unchecked("nothing in this program checks it");
        return Checked { id: fact.id.clone(), topic: "none", statement: "", outcome };
    };
    let outcome = match entry.how {
        How::Not(reason) => Outcome::Unchecked(reason),
        How::Checked(check) => {
            let mut case = Case::new(fact, effort);
            match check(&mut case) {
                Ok(()) => Outcome::Found(case.findings),
                Err(error) => Outcome::Failed(error),
            }
        }
    };
    Checked { id: fact.id.clone(), topic, statement: entry.statement, outcome }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn checked(fact: &str) -> Checked {
        check(&serde_json::from_str(fact).unwrap(), Effort::Full)
    }

    /// Whatever of a case is false, or missing, it is found.
    #[test]
    fn a_false_value_is_found() {
        let right = r#"{"id": "T4.dd1.x", "scenario": {"N": 4, "T": 1, "s": "1/8"}, "value": {"throughput": 3.5555555555555554,
            "age": [1.125], "lag": [3], "N_star": 9, "first_pass_lags": [0, 1, 2, 3], "first_pass_ages": [1.125, 1.25, 1.375, 1.5]}}"#;
        assert!(!checked(right).is_wrong());
        for (old, new) in [
            ("3.5555555555555554", "3.55555555556"),
            ("[1.125]", "[1.126]"),
            ("\"lag\": [3], ", ""),
            ("1, 2, 3]", "1, 3, 3]"),
            ("1.5]", "1.5, 1.6]"),
            ("\"N_star\": 9", "\"N_star\": \"nine\""),
        ] {
            assert!(right.contains(old) && checked(&right.replace(old, new)).is_wrong(), "{old}");
        }
        // An estimate that is five standard errors off.
        let estimate = r#"{"id": "T4.pull.x", "scenario": {"n": 4, "req": 1.0, "down": 0.0, "compute": 1.0, "up": 0.0},
            "value": {"throughput": 2, "lag_mean": 1.5, "age": 1}, "se": 0.0027, "n": 300000}"#;
        assert!(!checked(estimate).is_wrong());
        assert!(checked(&estimate.replace("1.5", "1.52")).is_wrong());
        assert!(matches!(checked(r#"{"id": "T0.none", "value": 1}"#).outcome, Outcome::Unchecked(_)));
    }

    /// Where the numbers of a value are; of long lists the first, the middle and the last.
    fn numbers_in(value: &Value, at: &str, found: &mut Vec<String>) {
        match value {
            Value::Array(list) => {
                let ends = [0, list.len() / 2, list.len().saturating_sub(1)];
                let some = list.iter().enumerate().filter(|(place, _)| list.len() < 5 || ends.contains(place));
                some.for_each(|(place, part)| numbers_in(part, &format!("{at}/{place}"), found));
            }
            Value::Object(parts) => {
                parts.iter().for_each(|(name, part)| numbers_in(part, &format!("{at}/{name}"), found))
            }
            other if !case::number(other).is_nan() => found.push(at.to_owned()),
            _ => (),
        }
    }

    /// Numbers that nothing is found of, and why.
    const NOT_FIGURES: [(&str, &str); 2] = [
        // A standard error.
        ("T5.kasync.bound.", "/mc_se"),
        // 0, where the book's optimiser stopped at 2e-5.
        ("T2.momentum.best.tau1", "/rho"),
    ];

    /// Every figure of the book is compared with something that would tell if it were a twentieth off.
    #[test]
    fn no_figure_is_left_out() {
        let book: Vec<Value> = serde_json::from_str(include_str!("book.json")).unwrap();
        let false_and_not_found = |entry: &Value| -> Vec<String> {
            let read = |entry: &Value| check(&serde_json::from_value(entry.clone()).unwrap(), Effort::Quick);
            let right = read(entry);
            if right.is_wrong() {
                return vec![right.id];
            }
            let mut places = Vec::new();
            if !matches!(right.outcome, Outcome::Unchecked(_)) {
                numbers_in(&entry["value"], "", &mut places);
            }
            places.retain(|place| !NOT_FIGURES.iter().any(|(id, at)| right.id.starts_with(id) && place == at));
            places.retain(|place| {
                let mut entry = entry.clone();
                let figure = entry["value"].pointer_mut(place).unwrap();
                let old = case::number(figure);
                *figure = serde_json::json!(if old == 0.0 { 0.05 } else { 1.05 * old });
                !read(&entry).is_wrong()
            });
            places.iter().map(|place| format!("{}{place}", right.id)).collect()
        };
        let left_out: Vec<String> = book.par_iter().with_max_len(1).flat_map_iter(false_and_not_found).collect();
        assert!(left_out.is_empty(), "{left_out:#?}");
    }
}
