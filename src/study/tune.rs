//! Tuning: of some axes of a sweep the best values, for each combination of the others.

use super::cells::counted;
use super::compare::{Verdict, contrast};
use super::journal::Journal;
use super::run::quantities;
use super::statistics::Estimate;
use super::sweep::Plan;
use crate::error::{Error, Result};
use crate::scenario::suggest;
use crate::units::Positive;
use std::collections::{BTreeMap, BTreeSet};

/// What is to be made least, over what.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// The axes that are chosen from, by their places.
    pub over: Vec<usize>,
    /// The figure whose mean is to be least.
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
    /// Where it stands.
    pub rank: Rank,
}

/// Where a candidate stands among those for the same other values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// The best: of those that have the figure in most of their runs, the one whose mean is least.
    Best,
    /// Not to be told from the best: the interval of the paired difference has 0 in it.
    Near,
    /// Worse, or without the figure in more of its runs.
    Worse,
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

impl Goal {
    /// The goal of making the mean of `by` least over the axes called `over`. The plan's runs then belong to it.
    ///
    /// # Errors
    /// If there is no such figure, or axis, or if it is varied together with one that is not tuned.
    pub fn new(plan: &mut Plan, over: &[String], by: &str) -> Result<Goal> {
        if !quantities().contains(&by) {
            let help = suggest(by, quantities(), "the numbers are");
            return Err(Error::Invalid(format!("--by: no number in the summary is called `{by}`; {help}")));
        }
        let names: Vec<&str> = plan.axes.iter().map(String::as_str).collect();
        let place = |name: &String| {
            names.iter().position(|axis| axis == name).ok_or_else(|| {
                Error::Invalid(format!("--over: no axis is called `{name}`; {}", suggest(name, &names, "the axes are")))
            })
        };
        let places = over.iter().map(place).collect::<Result<BTreeSet<usize>>>()?;
        for group in &plan.sweep.zip {
            let (tuned, other): (Vec<&String>, Vec<&String>) = group.iter().partition(|axis| over.contains(axis));
            if let ([tuned, ..], [other, ..]) = (tuned.as_slice(), other.as_slice()) {
                let reason = format!("--over: `{tuned}` is varied together with `{other}`; tune both, or unzip them");
                return Err(Error::Invalid(reason));
            }
        }
        let goal = Goal { over: places.into_iter().collect(), by: by.to_owned() };
        plan.belong_to(&format!("{goal:?}"));
        Ok(goal)
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
        let level = plan.sweep.level.get();
        let mut all: Vec<(usize, Vec<Option<f64>>)> = Vec::new();
        for &cell in cells {
            let (entries, _) = counted(plan, journal, cell)?;
            let value = |entry: &super::journal::Entry| entry.figure(&self.by).filter(|value| value.is_finite());
            all.push((cell, entries.iter().map(value).collect()));
        }
        all.sort_by(|(a, _), (b, _)| self.in_order(plan, *a, *b));
        let reached = |values: &[Option<f64>]| values.iter().flatten().count();
        let mean = |values: &[Option<f64>]| values.iter().flatten().sum::<f64>() / reached(values) as f64;
        let most = all.iter().map(|(_, values)| reached(values)).max().unwrap_or_default();
        let surest = all.iter().filter(|(_, values)| most > 0 && reached(values) == most);
        let best = surest.min_by(|(_, a), (_, b)| mean(a).total_cmp(&mean(b)));
        let candidate = |(cell, values): &(usize, Vec<Option<f64>>)| {
            let first = best.map_or(&[][..], |(_, values)| values);
            let contrast = contrast(values, first, true, level);
            let rank = match contrast.verdict() {
                _ if best.is_some_and(|(best, _)| best == cell) => Rank::Best,
                _ if most == 0 || reached(values) < most => Rank::Worse,
                None | Some(Verdict::Noise | Verdict::Equal) => Rank::Near,
                Some(_) => Rank::Worse,
            };
            Candidate { cell: *cell, runs: values.len() as u64, estimate: contrast.own, rank }
        };
        let candidates: Vec<Candidate> = all.iter().map(candidate).collect();
        let edges = best.map_or(Vec::new(), |(best, _)| self.edges(plan, *best, cells));
        Ok(Choice { labels: self.rest(plan, cells[0]).into_iter().cloned().collect(), candidates, edges })
    }

    /// By numbers where labels are such, else as in the file.
    fn in_order(&self, plan: &Plan, a: usize, b: usize) -> std::cmp::Ordering {
        let number = |axis: usize, cell: usize| plan.cells[cell].labels[axis].parse::<f64>().unwrap_or(f64::NAN);
        let by = |&axis: &usize| number(axis, a).partial_cmp(&number(axis, b)).filter(|order| order.is_ne());
        self.over.iter().find_map(by).unwrap_or_else(|| a.cmp(&b))
    }

    /// The tuned axes, all of whose labels are numbers, on which `best` is the least or the greatest of `cells`.
    fn edges(&self, plan: &Plan, best: usize, cells: &[usize]) -> Vec<usize> {
        let is_edge = |&axis: &usize| {
            let number = |cell: usize| plan.cells[cell].labels[axis].parse::<f64>().ok();
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
