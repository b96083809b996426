//! The optimiser: a chain of small gradient transforms, applied in the order written.
//!
//! Each transform turns an update u into another; the first gets the gradient, and what leaves the last is subtracted
//! from the parameters: w ← w − u. `[Clip(norm: 1.0), Sgd(learning_rate: 0.1)]` thus clips the gradient, then scales it.

mod adaptive;
mod elementary;
mod momentum;
mod schedule;
mod staleness;

pub use schedule::{CATALOGUE as SCHEDULES, Schedule};
pub use staleness::{CATALOGUE as DISCOUNTS, Discount};

use crate::catalogue::{Entry, entry};
use crate::error::{Error, Result};
use crate::kernel::Span;
use crate::units::{Count, Fraction, Momentum, NonNegative, Positive};
use serde::{Deserialize, Serialize};

/// What a transform may know of the gradient that it is given, besides the gradient.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Optimiser steps taken before this one.
    pub updates: u64,
    /// Server versions between reading and applying; negative after a rollback.
    pub lag_versions: i64,
    /// Time between reading and applying.
    pub lag: Span,
    /// Who computed it.
    pub worker: u32,
    /// The server's parameters just before the step.
    pub parameters: &'a [f64],
    /// The parameters that the gradient was computed at.
    pub read: &'a [f64],
}

/// One link of the chain, with its state.
pub trait Transform: std::fmt::Debug + Send {
    /// Replaces `update` by the transformed update.
    fn apply(&mut self, update: &mut [f64], context: &Context);

    /// A copy in the same state.
    fn duplicate(&self) -> Box<dyn Transform>;
}

impl Clone for Box<dyn Transform> {
    fn clone(&self) -> Box<dyn Transform> {
        self.duplicate()
    }
}

/// A gradient transform, as a scenario names it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the variants and their parameters are documented in CATALOGUE, which `list` prints")]
pub enum Spec {
    Sgd {
        learning_rate: Positive,
    },
    HeavyBall {
        learning_rate: Positive,
        momentum: Momentum,
    },
    Nesterov {
        learning_rate: Positive,
        momentum: Momentum,
    },
    DelayedNesterov {
        learning_rate: Positive,
        momentum: Momentum,
        every: Count,
    },
    AdaGrad {
        learning_rate: Positive,
        #[serde(default = "epsilon")]
        epsilon: Positive,
    },
    RmsProp {
        learning_rate: Positive,
        #[serde(default = "decay")]
        decay: Fraction,
        #[serde(default = "epsilon")]
        epsilon: Positive,
    },
    Adam {
        learning_rate: Positive,
        #[serde(default = "beta_1")]
        beta_1: Fraction,
        #[serde(default = "beta_2")]
        beta_2: Fraction,
        #[serde(default = "epsilon")]
        epsilon: Positive,
    },
    AdamW {
        learning_rate: Positive,
        weight_decay: NonNegative,
        #[serde(default = "beta_1")]
        beta_1: Fraction,
        #[serde(default = "beta_2")]
        beta_2: Fraction,
        #[serde(default = "epsilon")]
        epsilon: Positive,
    },
    Clip {
        norm: Positive,
    },
    WeightDecay {
        rate: NonNegative,
    },
    Schedule(Schedule),
    Discount(Discount),
    ClipByLag {
        norm: Positive,
    },
    DcAsgd {
        lambda: NonNegative,
    },
    DcAsgdAdaptive {
        lambda: NonNegative,
        #[serde(default = "slow_decay")]
        decay: Fraction,
        #[serde(default = "small")]
        epsilon: Positive,
    },
    GapAware,
}

fn fraction(value: f64) -> Fraction {
    Fraction::new(value).unwrap_or_else(|reason| unreachable!("{reason}"))
}

fn epsilon() -> Positive {
    Positive::new(1e-8).unwrap_or_else(|reason| unreachable!("{reason}"))
}

fn decay() -> Fraction {
    fraction(0.9)
}

fn slow_decay() -> Fraction {
    fraction(0.95)
}

fn small() -> Positive {
    Positive::new(1e-7).unwrap_or_else(|reason| unreachable!("{reason}"))
}

fn beta_1() -> Fraction {
    fraction(0.9)
}

fn beta_2() -> Fraction {
    fraction(0.999)
}

/// Every transform, in the order of [`Spec`].
pub const CATALOGUE: &[Entry] = &[
    entry("Sgd", "u ← learning_rate · u", "Sgd(learning_rate: 0.1)"),
    entry("HeavyBall", "v ← momentum · v + learning_rate · u, u ← v", "HeavyBall(learning_rate: 0.1, momentum: 0.9)"),
    entry(
        "Nesterov",
        "v ← momentum · v + learning_rate · u, u ← momentum · v + learning_rate · u",
        "Nesterov(learning_rate: 0.1, momentum: 0.9)",
    ),
    entry(
        "DelayedNesterov",
        "u ← learning_rate · u / every, and at every so-many-th step momentum · m more, m ← momentum · m + mean of u",
        "DelayedNesterov(learning_rate: 0.7, momentum: 0.9, every: 4)",
    ),
    entry(
        "AdaGrad",
        "u ← learning_rate · u / (√Σu² + epsilon), coordinate by coordinate",
        "AdaGrad(learning_rate: 0.1)",
    ),
    entry(
        "RmsProp",
        "as AdaGrad, with a decaying mean of u² in place of the sum",
        "RmsProp(learning_rate: 0.01, decay: 0.9)",
    ),
    entry(
        "Adam",
        "bias-corrected decaying means of u and u²",
        "Adam(learning_rate: 0.001, beta_1: 0.9, beta_2: 0.999)",
    ),
    entry("AdamW", "Adam + learning_rate · weight_decay · w", "AdamW(learning_rate: 0.001, weight_decay: 0.01)"),
    entry("Clip", "u ← u · min(1, norm / ‖u‖)", "Clip(norm: 10.0)"),
    entry("WeightDecay", "u ← u + rate · w: before Sgd, the gradient of rate · ‖w‖² / 2", "WeightDecay(rate: 0.0001)"),
    entry(
        "Schedule",
        "u ← factor(step) · u: Warmup, Staircase, Cosine, InverseTime or InverseSqrt",
        "Schedule(Warmup(updates: 100))",
    ),
    entry(
        "Discount",
        "u ← s(lag) · u: Inverse, Polynomial, Hinge, Capped, HalfLife or Cutoff",
        "Discount(Polynomial(exponent: 0.5))",
    ),
    entry("ClipByLag", "u ← u · min(1, norm / ((1 + τ)‖u‖)), for a lag of τ versions", "ClipByLag(norm: 10.0)"),
    entry("DcAsgd", "delay compensation: u ← u + lambda · u² · (w_now − w_read)", "DcAsgd(lambda: 0.04)"),
    entry(
        "DcAsgdAdaptive",
        "the same with lambda / √(decaying mean of u² + epsilon)",
        "DcAsgdAdaptive(lambda: 2.0, decay: 0.95, epsilon: 1e-7)",
    ),
    entry("GapAware", "u ← u / (1 + ‖w_now − w_read‖ / mean length of a step so far)", "GapAware"),
];

impl Spec {
    /// The name of the variant, as in RON.
    pub fn name(&self) -> &'static str {
        match self {
            Spec::Sgd { .. } => "Sgd",
            Spec::HeavyBall { .. } => "HeavyBall",
            Spec::Nesterov { .. } => "Nesterov",
            Spec::DelayedNesterov { .. } => "DelayedNesterov",
            Spec::AdaGrad { .. } => "AdaGrad",
            Spec::RmsProp { .. } => "RmsProp",
            Spec::Adam { .. } => "Adam",
            Spec::AdamW { .. } => "AdamW",
            Spec::Clip { .. } => "Clip",
            Spec::WeightDecay { .. } => "WeightDecay",
            Spec::Schedule(_) => "Schedule",
            Spec::Discount(_) => "Discount",
            Spec::ClipByLag { .. } => "ClipByLag",
            Spec::DcAsgd { .. } => "DcAsgd",
            Spec::DcAsgdAdaptive { .. } => "DcAsgdAdaptive",
            Spec::GapAware => "GapAware",
        }
    }

    /// Whether it knows how stale the gradient is, so that it must see each on its own.
    fn knows_lag(&self) -> bool {
        use Spec::*;
        matches!(self, Discount(_) | ClipByLag { .. } | DcAsgd { .. } | DcAsgdAdaptive { .. } | GapAware)
    }

    /// Its learning rate, if it brings one; a chain needs exactly one.
    pub fn learning_rate(&self) -> Option<Positive> {
        self.clone().learning_rate_mut().copied()
    }

    /// The same, to be set.
    pub fn learning_rate_mut(&mut self) -> Option<&mut Positive> {
        use Spec::*;
        match self {
            Sgd { learning_rate }
            | HeavyBall { learning_rate, .. }
            | Nesterov { learning_rate, .. }
            | DelayedNesterov { learning_rate, .. }
            | AdaGrad { learning_rate, .. }
            | RmsProp { learning_rate, .. }
            | Adam { learning_rate, .. }
            | AdamW { learning_rate, .. } => Some(learning_rate),
            Clip { .. } | WeightDecay { .. } | Schedule(_) => None,
            Discount(_) | ClipByLag { .. } | DcAsgd { .. } | DcAsgdAdaptive { .. } | GapAware => None,
        }
    }

    fn build(&self, dimension: usize) -> Box<dyn Transform> {
        match *self {
            Spec::Sgd { learning_rate } => Box::new(elementary::Scale(learning_rate.get())),
            Spec::HeavyBall { learning_rate, momentum } => {
                Box::new(momentum::Velocity::new(learning_rate.get(), momentum.get(), false, dimension))
            }
            Spec::Nesterov { learning_rate, momentum } => {
                Box::new(momentum::Velocity::new(learning_rate.get(), momentum.get(), true, dimension))
            }
            Spec::DelayedNesterov { learning_rate, momentum, every } => {
                Box::new(momentum::Delayed::new(learning_rate.get(), momentum.get(), every.get(), dimension))
            }
            Spec::AdaGrad { learning_rate, epsilon } => {
                Box::new(adaptive::Root::new(learning_rate.get(), None, epsilon.get(), dimension))
            }
            Spec::RmsProp { learning_rate, decay, epsilon } => {
                Box::new(adaptive::Root::new(learning_rate.get(), Some(decay.get()), epsilon.get(), dimension))
            }
            Spec::Adam { learning_rate, beta_1, beta_2, epsilon } => Box::new(adaptive::Adam::new(
                adaptive::Rates { learning_rate, beta_1, beta_2, epsilon, weight_decay: NonNegative::default() },
                dimension,
            )),
            Spec::AdamW { learning_rate, weight_decay, beta_1, beta_2, epsilon } => Box::new(adaptive::Adam::new(
                adaptive::Rates { learning_rate, beta_1, beta_2, epsilon, weight_decay },
                dimension,
            )),
            Spec::Clip { norm } => Box::new(elementary::Clip(norm.get())),
            Spec::WeightDecay { rate } => Box::new(elementary::WeightDecay(rate.get())),
            Spec::Schedule(schedule) => Box::new(schedule),
            Spec::Discount(discount) => Box::new(discount),
            Spec::ClipByLag { norm } => Box::new(staleness::ClipByLag(norm.get())),
            Spec::DcAsgd { lambda } => Box::new(staleness::Compensation::fixed(lambda.get())),
            Spec::DcAsgdAdaptive { lambda, decay, epsilon } => {
                Box::new(staleness::Compensation::adaptive(lambda.get(), decay.get(), epsilon.get(), dimension))
            }
            Spec::GapAware => Box::new(staleness::GapAware::default()),
        }
    }
}

/// A chain of transforms, ready to step. A clone has the state of the original.
#[derive(Clone, Debug)]
pub struct Optimiser {
    /// Those that see each gradient of a step on its own, before they are added up.
    each: Vec<Box<dyn Transform>>,
    chain: Vec<Box<dyn Transform>>,
    /// If it is nothing but SGD with a constant learning rate: that.
    plain_rate: Option<f64>,
}

impl Optimiser {
    /// The chain for `dimension` parameters, in its initial state, for steps with one gradient each.
    ///
    /// # Errors
    /// If the chain has no transform with a learning rate, or more than one.
    pub fn new(chain: &[Spec], dimension: usize) -> Result<Optimiser> {
        let with_rate: Vec<&str> = chain.iter().filter(|spec| spec.learning_rate().is_some()).map(Spec::name).collect();
        match with_rate.as_slice() {
            [_] => Ok(Optimiser {
                each: Vec::new(),
                chain: chain.iter().map(|spec| spec.build(dimension)).collect(),
                plain_rate: if let [Spec::Sgd { learning_rate }] = chain { Some(learning_rate.get()) } else { None },
            }),
            [] => Err(Error::Invalid(
                "the optimiser has no learning rate; add one of Sgd, HeavyBall, Nesterov, DelayedNesterov, AdaGrad, RmsProp, \
                 Adam, AdamW"
                    .to_owned(),
            )),
            several => Err(Error::Invalid(format!(
                "the optimiser multiplies {} learning rates ({}); keep one of them, and use Schedule to vary it",
                several.len(),
                several.join(", ")
            ))),
        }
    }

    /// The same for steps with several gradients: the transforms at its head that know the lag see each on its own, the others
    /// what was made of all.
    ///
    /// # Errors
    /// As for [`Optimiser::new`], and if a transform that knows the lag stands behind one that does not.
    pub fn for_several(chain: &[Spec], dimension: usize) -> Result<Optimiser> {
        let mut optimiser = Optimiser::new(chain, dimension)?;
        let head = chain.iter().take_while(|spec| spec.knows_lag()).count();
        if let Some(late) = chain[head..].iter().find(|spec| spec.knows_lag()) {
            return Err(Error::Invalid(format!(
                "{} knows the lag of one gradient, but this protocol steps with several; put it before {}",
                late.name(),
                chain[head].name()
            )));
        }
        optimiser.each = optimiser.chain.drain(..head).collect();
        Ok(optimiser)
    }

    /// The learning rate, if all that it does is to multiply by that.
    pub fn plain_rate(&self) -> Option<f64> {
        self.plain_rate
    }

    /// Turns one of several gradients into its part of the sum.
    #[inline]
    pub fn transform_gradient(&mut self, gradient: &mut [f64], context: &Context) {
        for link in &mut self.each {
            link.apply(gradient, context);
        }
    }

    /// Turns the gradient in `update`, or what was made of several, into what is to be subtracted from the parameters.
    #[inline]
    pub fn transform(&mut self, update: &mut [f64], context: &Context) {
        for link in &mut self.chain {
            link.apply(update, context);
        }
    }
}
