//! A case of the book, and what is found when it is checked.

use crate::error::Result;
use crate::study::statistics::{Estimate, batch_means, mean};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How many standard errors a simulated figure may be off: 6.8 in a million are, by chance.
pub const WITHIN: f64 = 4.5;
/// How often a single estimate is further off, by chance.
pub const FALSE_ALARM: f64 = 6.8e-6;
/// How far a formula may be off, relatively: twelve digits.
const DIGITS: f64 = 1e-12;
/// How far a simulation may be off that has no chance in it: its clock counts nanoseconds.
const CLOCK: f64 = 1e-9;

/// What is known of a case: computed apart from this program, in exact fractions or with 40 digits.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    /// The name.
    pub id: String,
    /// What is given.
    #[serde(default)]
    scenario: Value,
    /// What must come out.
    value: Value,
    /// The standard errors of simulated figures from samples of `n`: one, or some by name.
    #[serde(default)]
    se: Value,
    /// The same of P(lag = 0).
    #[serde(default)]
    se_p0: Value,
    /// The same, relative to the figure.
    #[serde(default)]
    se_rel: Value,
    #[serde(default)]
    n: f64,
}

/// How much is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// A tenth, for a first look.
    Quick,
    /// All.
    Full,
}

/// How a figure was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// By a closed form of [`crate::theory`].
    Formula,
    /// By a simulation that has no chance in it, or whose figure has none.
    Exact,
    /// By a simulation, with chance.
    Estimate,
    /// By a simulation, and there is only a bound.
    Bound,
}

/// One figure of a case, beside what it must be.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The figure.
    pub what: String,
    /// Where it is from.
    pub by: By,
    /// What was found.
    pub found: f64,
    /// What it must be.
    pub expected: f64,
    /// How far it may be off: for an estimate, half the width of its interval.
    pub within: f64,
    /// Whether it is not further off.
    pub holds: bool,
}

/// A case being checked. Figures that the book does not have are NaN, and so hold for nothing.
#[derive(Debug)]
pub struct Case<'a> {
    fact: &'a Fact,
    effort: Effort,
    /// What was found.
    pub findings: Vec<Finding>,
}

/// How a case is checked.
pub type Check = fn(&mut Case) -> Result<()>;

impl<'a> Case<'a> {
    /// A case of which nothing has been found yet.
    pub fn new(fact: &'a Fact, effort: Effort) -> Case<'a> {
        Case { fact, effort, findings: Vec::new() }
    }

    /// The name.
    pub fn id(&self) -> &'a str {
        &self.fact.id
    }

    /// What is given under that name.
    pub fn given(&self, name: &str) -> f64 {
        number(&self.fact.scenario[name])
    }

    /// The same as a whole number.
    pub fn count(&self, name: &str) -> u64 {
        self.given(name) as u64
    }

    /// A list that is given.
    pub fn given_list(&self, name: &str) -> Vec<f64> {
        numbers(&self.fact.scenario[name])
    }

    /// All that is given.
    pub fn scenario(&self) -> &'a Value {
        &self.fact.scenario
    }

    /// What must come out.
    pub fn whole(&self) -> &'a Value {
        &self.fact.value
    }

    /// The figure of that name, or the only one for an empty name.
    pub fn value(&self, name: &str) -> f64 {
        number(self.part(name))
    }

    /// A list of figures.
    pub fn list(&self, name: &str) -> Vec<f64> {
        numbers(self.part(name))
    }

    fn part(&self, name: &str) -> &'a Value {
        if name.is_empty() { &self.fact.value } else { &self.fact.value[name] }
    }

    /// How many of `full` samples, steps or replications to take.
    pub fn samples(&self, full: u64) -> u64 {
        if self.effort == Effort::Quick { full.div_ceil(10) } else { full }
    }

    /// The number that stands in the name behind `key`, as 4 behind `.n` in `T6.total.n4.b0.5`.
    pub fn in_name(&self, key: &str) -> f64 {
        let rest = self.fact.id.split_once(key).map_or("", |(_, rest)| rest);
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
        // What follows may be another part of the name.
        let digits = rest[..end].trim_end_matches('.');
        let whole = digits.split('.').take(2).collect::<Vec<_>>().join(".");
        whole.parse().unwrap_or(f64::NAN)
    }

    fn find(&mut self, what: &str, by: By, found: f64, expected: f64, within: f64) {
        let holds = found == expected || (found - expected).abs() <= within;
        self.findings.push(Finding { what: what.to_owned(), by, found, expected, within, holds });
    }

    /// A closed form gives this figure, to twelve digits.
    pub fn formula(&mut self, what: &str, found: f64, expected: f64) {
        self.find(what, By::Formula, found, expected, DIGITS * expected.abs());
    }

    /// The same for each figure of a list: one finding, that of the worst.
    pub fn formula_list(&mut self, what: &str, found: &[f64], expected: &[f64]) {
        self.formula_list_within(what, found, expected, DIGITS);
    }

    /// The same with so large a relative error.
    pub fn formula_list_within(&mut self, what: &str, found: &[f64], expected: &[f64], relative: f64) {
        if found.len() < expected.len() || expected.is_empty() {
            return self.formula(&format!("{what}: how many"), found.len() as f64, expected.len().max(1) as f64);
        }
        let off =
            |place: &usize| (found[*place] - expected[*place]).abs() / expected[*place].abs().max(f64::MIN_POSITIVE);
        let worst = (0..expected.len()).max_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or(0);
        let what = format!("{what}, {} of them", expected.len());
        self.formula_within(&what, found[worst], expected[worst], relative * expected[worst].abs());
    }

    /// A closed form gives this figure up to that relative error.
    pub fn formula_about(&mut self, what: &str, found: f64, expected: f64, relative: f64) {
        self.find(what, By::Formula, found, expected, relative * expected.abs());
    }

    /// A closed form gives this figure, known to `within` only.
    pub fn formula_within(&mut self, what: &str, found: f64, expected: f64, within: f64) {
        self.find(what, By::Formula, found, expected, within);
    }

    /// A simulation without chance gives this figure, to the nanosecond of its clock.
    pub fn exact(&mut self, what: &str, found: f64, expected: f64) {
        self.find(what, By::Exact, found, expected, CLOCK * expected.abs().max(1.0));
    }

    /// The same for each figure of a list; they are one finding, that of the first that is off.
    pub fn exact_list(&mut self, what: &str, found: &[f64], expected: &[f64]) {
        if found.len() != expected.len() || expected.is_empty() {
            return self.exact(&format!("{what}: how many"), found.len() as f64, expected.len().max(1) as f64);
        }
        let off = |place: &usize| (found[*place] - expected[*place]).abs() > CLOCK * expected[*place].abs().max(1.0);
        let place = (0..found.len()).find(off).unwrap_or(found.len() - 1);
        self.exact(&format!("{what}, {} of them", found.len()), found[place], expected[place]);
    }

    /// A simulation gives this figure within an interval of its own half width.
    pub fn estimate_within(&mut self, what: &str, found: f64, expected: f64, half_width: f64) {
        self.find(what, By::Estimate, found, expected, half_width);
    }

    /// Independent runs have this mean; their own deviation tells how far it may be off.
    pub fn replicated(&mut self, what: &str, found: &[f64], expected: f64) {
        self.own(what, mean(found, 1.0 - FALSE_ALARM), expected);
    }

    /// Values that follow one another in a run have this mean; the deviation of the means of twenty parts tells how far it may be off.
    pub fn batches(&mut self, what: &str, found: &[f64], expected: f64) {
        self.own(what, batch_means(found, 20, 1.0 - FALSE_ALARM), expected);
    }

    fn own(&mut self, what: &str, found: Option<Estimate>, expected: f64) {
        let half_width = found.and_then(|found| found.half_width.ok()).unwrap_or(f64::NAN);
        self.estimate_within(what, found.map_or(f64::NAN, |found| found.mean), expected, half_width);
    }

    /// A simulation of so many samples gives this figure. The standard error is the book's, which is known better than it could be estimated;
    /// `error` names it, if there are several.
    pub fn estimate(&mut self, what: &str, found: f64, expected: f64, error: &str, samples: u64) {
        let known = if error.is_empty() { &self.fact.se } else { &self.fact.se[error] };
        let half_width = WITHIN * number(known) * (self.fact.n / samples as f64).sqrt();
        self.estimate_within(what, found, expected, half_width);
    }

    /// The same, where the standard error is relative to the figure.
    pub fn estimate_relative(&mut self, what: &str, found: f64, expected: f64, samples: u64) {
        let n = if self.fact.n > 0.0 { self.fact.n } else { samples as f64 };
        let half_width = WITHIN * number(&self.fact.se_rel) * expected.abs() * (n / samples as f64).sqrt();
        self.estimate_within(what, found, expected, half_width);
    }

    /// The same for P(lag = 0).
    pub fn estimate_p0(&mut self, found: f64, expected: f64, samples: u64) {
        let half_width = WITHIN * number(&self.fact.se_p0) * (self.fact.n / samples as f64).sqrt();
        self.estimate_within("P(lag = 0)", found, expected, half_width);
    }

    /// A simulation gives at most this.
    pub fn at_most(&mut self, what: &str, found: f64, bound: f64) {
        let holds = found <= bound;
        let what = format!("{what}, at most");
        self.findings.push(Finding { what, by: By::Bound, found, expected: bound, within: 0.0, holds });
    }

    /// A simulation gives at least this.
    pub fn at_least(&mut self, what: &str, found: f64, bound: f64) {
        let holds = found >= bound;
        let what = format!("{what}, at least");
        self.findings.push(Finding { what, by: By::Bound, found, expected: bound, within: 0.0, holds });
    }
}

/// A number, or a fraction such as "1/8"; NaN for anything else.
pub fn number(value: &Value) -> f64 {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut parts = text.split('/').map(|part| part.trim().parse::<f64>().unwrap_or(f64::NAN));
    let first = parts.next().unwrap_or(f64::NAN);
    parts.fold(first, |numerator, denominator| numerator / denominator)
}

/// A list of numbers or fractions; empty for anything else.
pub fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().map_or(Vec::new(), |list| list.iter().map(number).collect())
}
