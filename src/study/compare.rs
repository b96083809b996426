//! Several scenarios on the same random numbers: is the difference real, or noise?

use super::cells::depends_on_time;
use super::run::{Prepared, run};
use super::statistics::{self, Caution, Estimate, Median};
use crate::error::Result;
use crate::output::{NoRows, summary_numbers};
use rayon::ThreadPool;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// A figure of one scenario against the same figure of the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Contrast {
    /// The figure of this scenario; `None` if no run had it.
    pub own: Option<Estimate>,
    /// Its difference from the first scenario's, replication by replication; `None` for the first itself, or without pairs.
    pub difference: Option<Estimate>,
    /// The median of these differences.
    pub middle: Option<Median>,
    /// The share of pairs in which it is lower, ties counted half.
    pub lower: Option<f64>,
}

impl Contrast {
    /// What can be said of it.
    pub fn verdict(&self) -> Option<Verdict> {
        let difference = self.difference?;
        // Where means do not settle, the median of the differences tells.
        let (lower, upper) = match difference.half_width {
            Err(Caution::InfiniteVariance) => self.middle?.interval?,
            _ => difference.interval()?,
        };
        Some(if difference.mean == 0.0 && difference.sd == 0.0 {
            Verdict::Equal
        } else if lower <= 0.0 && upper >= 0.0 {
            Verdict::Noise
        } else if upper < 0.0 {
            Verdict::Lower
        } else {
            Verdict::Higher
        })
    }
}

/// What can be said of a figure against that of the first scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is lower.
    Lower,
    /// It is higher.
    Higher,
    /// It is the same in every replication.
    Equal,
    /// The interval of the difference has 0 in it.
    Noise,
}

impl Verdict {
    /// What a person calls it.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Lower => "lower",
            Verdict::Higher => "higher",
            Verdict::Equal => "equal",
            Verdict::Noise => "may be noise",
        }
    }
}

/// For every figure asked for, each scenario's contrast, in their order.
pub type Comparison = Vec<(String, Vec<Contrast>)>;

/// Runs every scenario with the replications 0 to `replications` − 1, on the threads of `pool`, and contrasts the figures called
/// `quantities`. `prepare` makes scenario i ready with a replication: with the same seed, all draw the same random numbers for
/// the same worker, so that differences vary less than the figures do.
///
/// # Errors
/// If a scenario cannot be run.
pub fn compare(
    scenarios: usize,
    prepare: impl Fn(usize, u64) -> Result<Prepared> + Sync,
    replications: u64,
    quantities: &[String],
    level: f64,
    pool: &ThreadPool,
) -> Result<Comparison> {
    let runs: Vec<(usize, u64)> =
        (0..scenarios).flat_map(|scenario| (0..replications).map(move |replication| (scenario, replication))).collect();
    type Figures = BTreeMap<String, Option<f64>>;
    let figures = |&(scenario, replication): &(usize, u64)| -> Result<(Figures, bool)> {
        let prepared = prepare(scenario, replication)?;
        let heavy = prepared.has_infinite_variance();
        let outcome = run(prepared, NoRows, |_| true)?;
        Ok((summary_numbers(&outcome.summary).into_iter().collect(), heavy))
    };
    let all: Vec<(Figures, bool)> = pool.install(|| runs.par_iter().map(figures).collect::<Result<_>>())?;
    let heavy = all.iter().any(|(_, heavy)| *heavy);
    let of = |scenario: usize, quantity: &String| -> Vec<Option<f64>> {
        let own = &all[scenario * replications as usize..(scenario + 1) * replications as usize];
        own.iter().map(|(figures, _)| figures.get(quantity).copied().flatten()).collect()
    };
    let contrasts = |quantity: &String| {
        let first = of(0, quantity);
        let heavy = heavy && depends_on_time(quantity);
        let contrast = |scenario: usize| contrast(&of(scenario, quantity), &first, scenario > 0, level, heavy);
        (quantity.clone(), (0..scenarios).map(contrast).collect())
    };
    Ok(quantities.iter().map(contrasts).collect())
}

/// A figure over replications against the first scenario's. `heavy` says that its variance is infinite.
pub(super) fn contrast(
    own: &[Option<f64>],
    first: &[Option<f64>],
    is_other: bool,
    level: f64,
    heavy: bool,
) -> Contrast {
    let values: Vec<f64> = own.iter().copied().flatten().collect();
    let pairs = own.iter().zip(first).filter_map(|(own, first)| Some(((*own)?, (*first)?)));
    let pairs: Vec<(f64, f64)> = pairs.filter(|_| is_other).collect();
    let differences: Vec<f64> = pairs.iter().map(|(own, first)| own - first).collect();
    let lower = |&(own, first): &(f64, f64)| {
        if own < first {
            1.0
        } else if own == first {
            0.5
        } else {
            0.0
        }
    };
    let known = |values: &[f64]| {
        let known = statistics::mean(values, level)?;
        Some(if heavy { Estimate { half_width: Err(Caution::InfiniteVariance), ..known } } else { known })
    };
    Contrast {
        own: known(&values),
        difference: known(&differences),
        middle: statistics::median(&differences, level),
        lower: (!pairs.is_empty()).then(|| pairs.iter().map(lower).sum::<f64>() / pairs.len() as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_within_the_noise_is_no_verdict() {
        let first = [Some(1.0), Some(2.0), Some(3.0)];
        let noisy = contrast(&[Some(1.1), Some(1.9), Some(3.1)], &first, true, 0.95, false);
        assert_eq!((noisy.verdict(), noisy.lower), (Some(Verdict::Noise), Some(1.0 / 3.0)));
        let lower = contrast(&[Some(0.5), Some(1.49), Some(2.51)], &first, true, 0.95, false);
        assert_eq!((lower.verdict(), lower.lower), (Some(Verdict::Lower), Some(1.0)));
        let same = contrast(&first, &first, true, 0.95, false);
        assert_eq!((same.verdict(), same.lower), (Some(Verdict::Equal), Some(0.5)));
        let never = contrast(&[None, None, Some(1.0)], &first, true, 0.95, false);
        assert_eq!((never.own.unwrap().n, never.verdict()), (1, None));
        // With infinite variance no mean is sure, but a difference that has the same sign in all of six pairs is.
        let six: Vec<Option<f64>> = (0..6).map(|value| Some(f64::from(value))).collect();
        let more: Vec<Option<f64>> = (0..6).map(|value| Some(f64::from(value * value + 1))).collect();
        let heavy = contrast(&more, &six, true, 0.95, true);
        assert_eq!((heavy.own.unwrap().half_width.is_err(), heavy.verdict()), (true, Some(Verdict::Higher)));
        assert_eq!(contrast(&more[..5], &six[..5], true, 0.95, true).verdict(), None);
        assert_eq!(contrast(&first, &first, false, 0.95, false).difference, None);
    }
}
