//! Tuning: of some axes of a sweep the best values, for each combination of the others.

use super::cells::{counted, depends_on_time, is_label};
use super::compare::{Verdict, contrast};
use super::journal::{Brief, Journal};
use super::run::quantities;
use super::statistics::{self, Caution, Estimate, Median};
use super::sweep::Plan;
use crate::error::{Error, Result};
use crate::output::{Column, Table};
use crate::scenario::suggest;
use crate::units::Positive;
use std::collections::{BTreeMap, BTreeSet};

/// What is to be made least, over what.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// The axes that are chosen from, by their places.
    pub over: Vec<usize>,
    /// The figure that is to be least.
    pub by: String,
}

/// A candidate: one combination, seen as a choice for its values on the axes that are tuned.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The combination.
    pub cell: usize,
    /// How many runs it has, with the figure or without.
    pub runs: u64,
    /// The figure over the runs that have it: `None` if none has.
    pub estimate: Option<Estimate>,
    /// The median of the same.
    pub median: Option<Median>,
    /// Where it stands.
    pub rank: Rank,
}

/// Where a candidate stands among those for the same other values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// The best: of those that have the figure in nearly as large a share of their runs as any, the one whose mean is least or, where the
    /// variance is infinite, whose median is.
    Best,
    /// Not to be told from the best: the interval of the paired difference has 0 in it.
    Near,
    /// Worse, or without the figure in too many of its runs.
    Worse,
}

impl Rank {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Rank::Best => "best",
            Rank::Near => "near",
            Rank::Worse => "worse",
        }
    }
}

/// The candidates for one combination of the values that are not tuned.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The labels of the axes that are not tuned.
    pub labels: Vec<String>,
    /// All candidates, in order of their values.
    pub candidates: Vec<Candidate>,
    /// Axes on which the best is the least or the greatest of the numbers tried: better ones may lie beyond.
    pub edges: Vec<usize>,
}

impl Choice {
    /// The best candidate; `None` if no run of any has the figure.
    pub fn best(&self) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.rank == Rank::Best)
    }
}

/// So near to the greatest share of runs that have the figure, a share is as good.
const NEARLY: f64 = 0.9;

/// A label as a number, from 0 on.
fn number(label: &str) -> Option<f64> {
    label.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// A figure of all runs of a combination.
struct Tried {
    cell: usize,
    values: Vec<Option<f64>>,
}

impl Tried {
    fn known(&self) -> Vec<f64> {
        self.values.iter().copied().flatten().collect()
    }

    /// In which share of the runs it is there.
    fn share(&self) -> f64 {
        self.known().len() as f64 / self.values.len().max(1) as f64
    }

    /// Its mean or, where means do not settle, its median.
    fn middle(&self, heavy: bool) -> f64 {
        let known = self.known();
        if heavy {
            return statistics::median(&known, 0.95).map_or(f64::INFINITY, |median| median.value);
        }
        known.iter().sum::<f64>() / known.len() as f64
    }
}

impl Goal {
    /// The goal of making `by` least over the axes called `over`.
    ///
    /// # Errors
    /// If there is no such figure, or axis, or if one is varied together with one that is not tuned: all of it.
    pub fn new(plan: &Plan, over: &[String], by: &str) -> Result<Goal> {
        let mut wrong = Vec::new();
        if !quantities().contains(&by) || is_label(by) {
            let help = suggest(by, quantities(), "the numbers are");
            wrong.push(format!("--by: no figure of the summary is called `{by}`; {help}"));
        }
        let names: Vec<&str> = plan.axes.iter().map(String::as_str).collect();
        let mut places = BTreeSet::new();
        for name in over {
            match names.iter().position(|axis| axis == name) {
                Some(place) => drop(places.insert(place)),
                None if names.is_empty() => wrong.push("--over: the sweep has no axes to tune".to_owned()),
                None => {
                    let help = suggest(name, &names, "give --over with some of the axes, which are");
                    wrong.push(format!("--over: no axis is called `{name}`; {help}"));
                }
            }
        }
        for group in &plan.sweep.zip {
            let (tuned, other): (Vec<&String>, Vec<&String>) = group.iter().partition(|axis| over.contains(axis));
            if let ([tuned, ..], [other, ..]) = (tuned.as_slice(), other.as_slice()) {
                let reason = "is varied together with";
                wrong.push(format!("--over: `{tuned}` {reason} `{other}`; tune both, or unzip them"));
            }
        }
        if !wrong.is_empty() {
            return Err(Error::Invalid(wrong.join("\n       ")));
        }
        Ok(Goal { over: places.into_iter().collect(), by: by.to_owned() })
    }

    /// The choices of a plan whose runs are there.
    ///
    /// # Errors
    /// If a run cannot be read.
    pub fn choices(&self, plan: &Plan, journal: &Journal) -> Result<Vec<Choice>> {
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut firsts: BTreeMap<Vec<&String>, usize> = BTreeMap::new();
        for cell in 0..plan.cells.len() {
            let first = *firsts.entry(self.rest(plan, cell)).or_insert(cell);
            groups.entry(first).or_default().push(cell);
        }
        groups.into_values().map(|cells| self.choice(plan, journal, &cells)).collect()
    }

    /// The labels of a cell on the axes that are not tuned.
    fn rest<'a>(&self, plan: &'a Plan, cell: usize) -> Vec<&'a String> {
        let labels = plan.cells[cell].labels.iter().enumerate();
        labels.filter(|(axis, _)| !self.over.contains(axis)).map(|(_, label)| label).collect()
    }

    fn choice(&self, plan: &Plan, journal: &Journal, cells: &[usize]) -> Result<Choice> {
        let (mut all, mut heavy) = (Vec::new(), false);
        for &cell in cells {
            let (counted, _) = counted(plan, journal, cell)?;
            heavy |= counted.infinite_variance() && depends_on_time(&self.by);
            // Of a run that diverged no figure counts.
            let value = |(value, run): (Option<f64>, &Brief)| {
                value.filter(|value| value.is_finite() && run.ended != "diverged")
            };
            all.push(Tried { cell, values: counted.figure(&self.by).zip(&counted.runs).map(value).collect() });
        }
        all.sort_by_cached_key(|runs| self.place(plan, runs.cell));
        let most = all.iter().map(Tried::share).fold(0.0, f64::max);
        let counts = |runs: &&Tried| most > 0.0 && runs.share() >= NEARLY * most;
        let best = all.iter().filter(counts).min_by(|a, b| a.middle(heavy).total_cmp(&b.middle(heavy)));
        let candidate = |runs: &Tried| {
            let first = best.map_or(&[][..], |best| &best.values);
            let contrast = contrast(&runs.values, first, true, plan.sweep.level.get(), heavy);
            let unsure = contrast.difference.is_none_or(|known| known.half_width != Err(Caution::NotFinite));
            let rank = match contrast.verdict() {
                _ if best.is_some_and(|best| best.cell == runs.cell) => Rank::Best,
                _ if !counts(&runs) => Rank::Worse,
                Some(Verdict::Noise | Verdict::Equal) => Rank::Near,
                // Too few pairs to tell.
                None if unsure => Rank::Near,
                _ => Rank::Worse,
            };
            let median = statistics::median(&runs.known(), plan.sweep.level.get());
            Candidate { cell: runs.cell, runs: runs.values.len() as u64, estimate: contrast.own, median, rank }
        };
        let candidates: Vec<Candidate> = all.iter().map(candidate).collect();
        let edges = best.map_or(Vec::new(), |best| self.edges(plan, best.cell, cells));
        Ok(Choice { labels: self.rest(plan, cells[0]).into_iter().cloned().collect(), candidates, edges })
    }

    /// Where a cell stands among the others: on each tuned axis by its number, where all labels are such, else as in the file.
    fn place(&self, plan: &Plan, cell: usize) -> Vec<u64> {
        let on = |&axis: &usize| {
            let label = &plan.cells[cell].labels[axis];
            if plan.cells.iter().all(|cell| number(&cell.labels[axis]).is_some()) {
                // Numbers from 0 on are in the order of their bits.
                return number(label).unwrap_or_default().to_bits();
            }
            plan.cells.iter().position(|other| other.labels[axis] == *label).unwrap_or_default() as u64
        };
        self.over.iter().map(on).chain([cell as u64]).collect()
    }

    /// The tuned axes, all of whose labels are numbers, on which `best` is the least or the greatest of `cells`.
    fn edges(&self, plan: &Plan, best: usize, cells: &[usize]) -> Vec<usize> {
        let is_edge = |&axis: &usize| {
            let number = |cell: usize| number(&plan.cells[cell].labels[axis]);
            let all = cells.iter().map(|&cell| number(cell)).collect::<Option<Vec<f64>>>().unwrap_or_default();
            let own = number(best).unwrap_or(f64::NAN);
            let (below, above) = (all.iter().any(|&other| other < own), all.iter().any(|&other| other > own));
            below != above
        };
        self.over.iter().copied().filter(is_edge).collect()
    }

    /// Adds to the plan, for every choice, the learning rates halfway (by factors) between the best and those beside it.
    pub fn refine(&self, plan: &mut Plan, choices: &[Choice]) {
        for choice in choices {
            let Some(best) = choice.best().map(|best| best.cell) else { continue };
            for &axis in &self.over {
                let rates = if plan.is_learning_rate(axis) { between(plan, choice, best, axis) } else { Vec::new() };
                rates.into_iter().for_each(|rate| plan.add(best, axis, rate));
            }
        }
    }

    /// `tune.parquet`: one row for each candidate.
    pub fn table(&self, plan: &Plan, choices: &[Choice]) -> Table {
        let rows: Vec<_> = choices.iter().flat_map(|choice| &choice.candidates).collect();
        let cells: Vec<usize> = rows.iter().map(|candidate| candidate.cell).collect();
        let number = |of: fn(&Estimate) -> Option<f64>| {
            rows.iter().map(|candidate| candidate.estimate.as_ref().and_then(of)).collect::<Vec<_>>()
        };
        let mut columns = plan.labels(&cells);
        columns.extend([
            Column::whole("runs", "runs", rows.iter().map(|candidate| candidate.runs).collect()),
            Column::whole(
                "n",
                "runs that have the figure",
                rows.iter().map(|candidate| candidate.estimate.map_or(0, |known| known.n)).collect(),
            ),
            Column::maybe("mean", "as in the summary", number(|known| Some(known.mean))),
            Column::maybe(
                "median",
                "as in the summary",
                rows.iter().map(|candidate| candidate.median.map(|median| median.value)).collect(),
            ),
            Column::maybe("lower", "end of the interval", number(|known| Some(known.interval()?.0))),
            Column::maybe("upper", "end of the interval", number(|known| Some(known.interval()?.1))),
            Column::text("by", rows.iter().map(|_| self.by.clone()).collect()),
            Column::text("rank", rows.iter().map(|candidate| candidate.rank.name().to_owned()).collect()),
        ]);
        Table { file: "tune.parquet".into(), columns }
    }
}

/// Between the learning rate of `best` and the next on either side, among candidates that are the same but for it.
fn between(plan: &Plan, choice: &Choice, best: usize, axis: usize) -> Vec<Positive> {
    let rate = |cell: usize| plan.cells[cell].labels[axis].parse::<f64>().unwrap_or(f64::NAN);
    let alike = |cell: &usize| {
        let labels = plan.cells[*cell].labels.iter().zip(&plan.cells[best].labels).enumerate();
        labels.into_iter().all(|(place, (label, own))| place == axis || label == own)
    };
    let own = rate(best);
    let cells = choice.candidates.iter().map(|candidate| candidate.cell);
    let rates: Vec<f64> = cells.filter(alike).map(rate).collect();
    let below = rates.iter().copied().filter(|&rate| rate < own).max_by(f64::total_cmp);
    let above = rates.iter().copied().filter(|&rate| rate > own).min_by(f64::total_cmp);
    below.into_iter().chain(above).filter_map(|next| Positive::new((own * next).sqrt()).ok()).collect()
}
