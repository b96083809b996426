//! Laws of duration: how long computing, sending or serving takes.
//!
//! [`Law`] is what a scenario says; [`Law::build`] turns it into a [`Delay`], which draws durations and knows its own
//! moments and distribution. Samplers are rand_distr's, moments, distribution functions and quantiles statrs's.

mod closed;
mod composite;
mod correlated;
mod measured;
mod slowest;

pub use measured::Draw;

use crate::catalogue::{Entry, entry};
use crate::data::Files;
use crate::error::{Error, Result};
use crate::kernel::{Generator, Purpose, Quick, Streams};
use crate::units::{Correlation, Count, Finite, NonNegative, Positive, Seconds};
use rand_distr::Exp1;
use serde::{Deserialize, Serialize};
use std::cell::Cell;

/// A law of duration, ready to be drawn from. All durations are in seconds.
pub trait Delay: std::fmt::Debug + Send {
    /// Duration number `index` of the entity that this was built for, from that draw's own generator.
    fn sample(&mut self, index: u64, random: &mut Generator) -> f64;

    /// The mean, if this is a plain exponential law: the commonest law has a way of its own through [`Sampler`].
    fn as_exponential(&self) -> Option<f64> {
        None
    }

    /// The mean in seconds; infinite where it is.
    fn mean(&self) -> f64;

    /// The variance in seconds²; infinite where it is.
    fn variance(&self) -> f64;

    /// The least and the greatest possible duration, the latter perhaps infinite.
    fn support(&self) -> (f64, f64);

    /// P(duration ≤ `x`), or `None` for a law without a formula for it (sums).
    fn cdf(&self, x: f64) -> Option<f64>;

    /// The least `x` with `cdf(x)` ≥ `p`, by bisection unless a law knows better; `None` as for [`Delay::cdf`].
    fn quantile(&self, p: f64) -> Option<f64> {
        bisect(self.support(), |x| self.cdf(x), p)
    }
}

/// The least x with `cdf`(x) ≥ `p`, for a law between the ends of `support`.
fn bisect(support: (f64, f64), cdf: impl Fn(f64) -> Option<f64>, p: f64) -> Option<f64> {
    let (mut low, high) = support;
    let mut high = if high.is_finite() { high } else { low + 1.0 };
    while cdf(high)? < p && high < f64::MAX / 2.0 {
        high *= 2.0;
    }
    // Each round halves an interval of doubles, of which there are fewer than 2⁶⁴ in all.
    for _ in 0..1100 {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if cdf(middle)? < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(high)
}

/// A delay with the way to its draws decided once, before the run.
#[derive(Debug)]
pub struct Sampler {
    /// If it is exponential: its mean, and the law with mean 1.
    exponential: Option<(f64, Quick<Exp1>)>,
    delay: Box<dyn Delay>,
}

impl Sampler {
    /// Of `delay`.
    pub fn new(delay: Box<dyn Delay>) -> Sampler {
        Sampler { exponential: delay.as_exponential().map(|mean| (mean, Quick::new(Exp1))), delay }
    }

    /// The delay itself.
    pub fn delay(&self) -> &dyn Delay {
        self.delay.as_ref()
    }

    /// Duration number `index` in seconds, from that draw's own generator: the same number by either way.
    #[inline(always)]
    pub fn sample(&mut self, index: u64, mut random: Generator) -> f64 {
        match self.exponential {
            Some((mean, standard)) => mean * standard.sample(&mut random),
            None => self.delay.sample(index, &mut random),
        }
    }
}

/// A law of duration, as a scenario names it. Durations are in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the variants and their parameters are documented in CATALOGUE, which `list` prints")]
pub enum Law {
    Constant(Seconds),
    Uniform {
        low: Seconds,
        high: Seconds,
    },
    Exponential {
        mean: Seconds,
    },
    ShiftedExponential {
        shift: Seconds,
        mean: Seconds,
    },
    Erlang {
        shape: Count,
        mean: Seconds,
    },
    Gamma {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mean: Option<Seconds>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cv: Option<Positive>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shape: Option<Positive>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scale: Option<Seconds>,
    },
    TruncatedNormal {
        mean: Finite,
        sd: Positive,
    },
    HalfNormal {
        #[serde(default)]
        shift: Seconds,
        scale: Positive,
    },
    LogNormal {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        median: Option<Seconds>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sigma: Option<Positive>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mean: Option<Seconds>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cv: Option<Positive>,
    },
    Weibull {
        shape: Positive,
        scale: Seconds,
    },
    Pareto {
        minimum: Seconds,
        shape: Positive,
    },
    Hyperexponential {
        branches: Vec<Branch>,
    },
    Mixture {
        parts: Vec<Part>,
    },
    Empirical {
        values: Vec<Seconds>,
        #[serde(default)]
        draw: Draw,
    },
    Measured {
        file: String,
        column: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        #[serde(default = "one", skip_serializing_if = "is_one")]
        scale: Positive,
        #[serde(default)]
        draw: Draw,
    },
    Scaled {
        factor: NonNegative,
        law: Box<Law>,
    },
    Sum {
        laws: Vec<Law>,
    },
    Slowest {
        count: Count,
        law: Box<Law>,
    },
    PerWorker {
        factor: Box<Law>,
        law: Box<Law>,
    },
    Autoregressive {
        correlation: Correlation,
        law: Box<Law>,
    },
}

/// One exponential branch of a hyperexponential law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// Its share of the draws, relative to the other branches.
    pub weight: Positive,
    /// Its mean in seconds.
    pub mean: Seconds,
}

/// One part of a mixture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its share of the draws, relative to the other parts.
    pub weight: Positive,
    /// What is drawn then.
    pub law: Law,
}

fn one() -> Positive {
    Positive::new(1.0).unwrap_or_else(|_| unreachable!("1 is above 0"))
}

fn is_one(scale: &Positive) -> bool {
    scale.get() == 1.0
}

/// Every law, in the order of [`Law`].
pub const CATALOGUE: &[Entry] = &[
    entry("Constant", "always the same number of seconds", "Constant(4.0)"),
    entry("Uniform", "evenly between low and high, s", "Uniform(low: 0.5, high: 1.5)"),
    entry("Exponential", "memoryless, by its mean, s", "Exponential(mean: 1.0)"),
    entry("ShiftedExponential", "shift + an exponential of that mean, s", "ShiftedExponential(shift: 0.5, mean: 0.5)"),
    entry("Erlang", "sum of `shape` equal exponentials, by the mean of the sum, s", "Erlang(shape: 4, mean: 1.0)"),
    entry("Gamma", "by mean, s, and coefficient of variation, or by shape and scale, s", "Gamma(mean: 5.0, cv: 0.9)"),
    entry(
        "TruncatedNormal",
        "normal of that mean and sd, s, given that it is 0 or more",
        "TruncatedNormal(mean: 1.0, sd: 0.2)",
    ),
    entry("HalfNormal", "shift + |N(0, scale²)|, s", "HalfNormal(shift: 1.0, scale: 0.5)"),
    entry(
        "LogNormal",
        "by median, s, and sigma of the logarithm, or by mean, s, and cv",
        "LogNormal(median: 1.0, sigma: 0.5)",
    ),
    entry("Weibull", "by shape and scale, s; shape < 1 is heavier than exponential", "Weibull(shape: 0.7, scale: 1.0)"),
    entry(
        "Pareto",
        "P(X > x) = (minimum / x)^shape; variance infinite for shape ≤ 2, mean for shape ≤ 1",
        "Pareto(minimum: 1.0, shape: 2.5)",
    ),
    entry(
        "Hyperexponential",
        "one of several exponentials, by weight and mean, s",
        "Hyperexponential(branches: [(weight: 0.9, mean: 0.5), (weight: 0.1, mean: 5.0)])",
    ),
    entry(
        "Mixture",
        "one of several laws, by weight",
        "Mixture(parts: [(weight: 0.98, law: Constant(1.0)), (weight: 0.02, law: Constant(20.0))])",
    ),
    entry(
        "Empirical",
        "given values, s: drawn at random (Resample) or in order, over and over (Replay), all workers in step",
        "Empirical(values: [0.9, 1.0, 1.4], draw: Replay)",
    ),
    entry(
        "Measured",
        "a column of a CSV or Parquet file × scale, s; `by` names a column that gives each worker its own rows",
        "Measured(file: \"times.csv\", column: \"ms\", by: \"worker\", scale: 0.001, draw: Replay)",
    ),
    entry("Scaled", "factor × another law", "Scaled(factor: 2.0, law: Exponential(mean: 1.0))"),
    entry("Sum", "the sum of independent draws of several laws", "Sum(laws: [Constant(0.1), Exponential(mean: 1.0)])"),
    entry(
        "Slowest",
        "the slowest of `count` independent draws: a group that is complete when all of it is",
        "Slowest(count: 8, law: LogNormal(median: 1.0, sigma: 1.0))",
    ),
    entry(
        "PerWorker",
        "another law × a factor that each worker draws once: workers that are slow for ever",
        "PerWorker(factor: LogNormal(median: 1.0, sigma: 0.3), law: Exponential(mean: 1.0))",
    ),
    entry(
        "Autoregressive",
        "another law, correlated in time: slow batches follow slow batches (AR(1) copula)",
        "Autoregressive(correlation: 0.7, law: LogNormal(mean: 1.0, cv: 0.1))",
    ),
];

/// What building a law may need to know: for whom, from which streams, with which files.
pub struct Context<'a> {
    /// The files that measured laws read.
    pub files: &'a Files,
    /// The random streams of the run.
    pub streams: Streams,
    /// What the durations are for; a worker's own factor is drawn under a purpose derived from it.
    pub purpose: Purpose,
    /// The worker or server, counted over the whole cluster.
    pub entity: u64,
    /// The worker, counted within its class: which of the measured series is its own.
    pub member: u64,
    /// How many factors were drawn for this entity and purpose.
    pub factors: Cell<u64>,
}

/// No time at all.
impl Default for Law {
    fn default() -> Law {
        Law::Constant(Seconds::default())
    }
}

impl Law {
    /// The name of the variant, as in RON.
    pub fn name(&self) -> &'static str {
        match self {
            Law::Constant(_) => "Constant",
            Law::Uniform { .. } => "Uniform",
            Law::Exponential { .. } => "Exponential",
            Law::ShiftedExponential { .. } => "ShiftedExponential",
            Law::Erlang { .. } => "Erlang",
            Law::Gamma { .. } => "Gamma",
            Law::TruncatedNormal { .. } => "TruncatedNormal",
            Law::HalfNormal { .. } => "HalfNormal",
            Law::LogNormal { .. } => "LogNormal",
            Law::Weibull { .. } => "Weibull",
            Law::Pareto { .. } => "Pareto",
            Law::Hyperexponential { .. } => "Hyperexponential",
            Law::Mixture { .. } => "Mixture",
            Law::Empirical { .. } => "Empirical",
            Law::Measured { .. } => "Measured",
            Law::Scaled { .. } => "Scaled",
            Law::Sum { .. } => "Sum",
            Law::Slowest { .. } => "Slowest",
            Law::PerWorker { .. } => "PerWorker",
            Law::Autoregressive { .. } => "Autoregressive",
        }
    }

    /// Whether every worker of a class needs a delay of its own: it has a memory, or differs from worker to worker.
    pub fn is_individual(&self) -> bool {
        match self {
            Law::PerWorker { .. } | Law::Autoregressive { .. } => true,
            Law::Measured { by, .. } => by.is_some(),
            Law::Scaled { law, .. } | Law::Slowest { law, .. } => law.is_individual(),
            Law::Sum { laws } => laws.iter().any(Law::is_individual),
            Law::Mixture { parts } => parts.iter().any(|part| part.law.is_individual()),
            _ => false,
        }
    }

    /// The law as a running object.
    ///
    /// # Errors
    /// If the parameters do not fit each other (the message names the law and says what would), or a file of
    /// measurements cannot be read.
    pub fn build(&self, context: &Context) -> Result<Box<dyn Delay>> {
        let many =
            |laws: &[&Law]| -> Result<Vec<Box<dyn Delay>>> { laws.iter().map(|law| law.build(context)).collect() };
        Ok(match self {
            Law::Constant(value) => Box::new(closed::Constant(value.get())),
            Law::Uniform { low, high } => closed::uniform(low.get(), high.get())?,
            Law::Exponential { mean } => closed::exponential(0.0, mean.get()),
            Law::ShiftedExponential { shift, mean } => closed::exponential(shift.get(), mean.get()),
            Law::Erlang { shape, mean } => {
                closed::gamma("Erlang", shape.get() as f64, mean.get() / shape.get() as f64)?
            }
            Law::Gamma { mean, cv, shape, scale } => closed::gamma_by(*mean, *cv, *shape, *scale)?,
            Law::TruncatedNormal { mean, sd } => Box::new(closed::TruncatedNormal::new(mean.get(), sd.get())?),
            Law::HalfNormal { shift, scale } => Box::new(closed::HalfNormal::new(shift.get(), scale.get())),
            Law::LogNormal { median, sigma, mean, cv } => closed::log_normal_by(*median, *sigma, *mean, *cv)?,
            Law::Weibull { shape, scale } => closed::weibull(shape.get(), scale.get())?,
            Law::Pareto { minimum, shape } => closed::pareto(minimum.get(), shape.get())?,
            Law::Hyperexponential { branches } => {
                let parts = branches.iter().map(|branch| closed::exponential(0.0, branch.mean.get())).collect();
                let weights: Vec<f64> = branches.iter().map(|branch| branch.weight.get()).collect();
                Box::new(composite::Mixture::new(&weights, parts).map_err(|reason| self.refuse(reason))?)
            }
            Law::Mixture { parts } => {
                let weights: Vec<f64> = parts.iter().map(|part| part.weight.get()).collect();
                let laws: Vec<&Law> = parts.iter().map(|part| &part.law).collect();
                Box::new(composite::Mixture::new(&weights, many(&laws)?).map_err(|reason| self.refuse(reason))?)
            }
            Law::Empirical { values, draw } => {
                let values = values.iter().map(|value| value.get()).collect();
                Box::new(measured::Values::new(values, 1.0, *draw).map_err(|reason| self.refuse(reason))?)
            }
            Law::Measured { file, column, by, scale, draw } => Box::new(measured::load(
                context,
                measured::Source { file, column, by: by.as_deref(), scale: scale.get() },
                *draw,
            )?),
            Law::Scaled { factor, law } => {
                Box::new(composite::Scaled { factor: factor.get(), law: law.build(context)? })
            }
            Law::Sum { laws } if laws.is_empty() => return Err(self.refuse("give at least one law")),
            Law::Sum { laws } => Box::new(composite::Sum { laws: many(&laws.iter().collect::<Vec<_>>())? }),
            Law::Slowest { count, law } => {
                Box::new(slowest::Slowest::new(count.get(), law.build(context)?).map_err(|reason| self.refuse(reason))?)
            }
            Law::PerWorker { factor, law } => {
                Box::new(correlated::PerWorker::new(factor.build(context)?, law.build(context)?, context))
            }
            Law::Autoregressive { correlation, law } => Box::new(
                correlated::Autoregressive::new(correlation.get(), law.build(context)?)
                    .map_err(|reason| self.refuse(reason))?,
            ),
        })
    }

    fn refuse(&self, reason: impl std::fmt::Display) -> Error {
        Error::Invalid(format!("{}: {reason}", self.name()))
    }
}
