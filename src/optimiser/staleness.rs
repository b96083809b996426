//! Transforms that know how stale the gradient is: they make less of it, or try to repair it.

use super::{Context, Transform};
use crate::catalogue::{Entry, entry};
use crate::units::{Count, NonNegative, Positive};
use crate::vector::{distance, norm};
use serde::{Deserialize, Serialize};

/// A factor on the update, as a function of its lag. A lag below 0 counts as none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Discount {
    /// 1 / max(1, τ) for a lag of τ versions: the learning rate divided by the lag (Zhang, Gupta, Lian and Liu, 2016,
    /// "Staleness-aware async-SGD", equation 3).
    Inverse,
    /// (1 + τ)^−exponent (Xie, Koyejo and Gupta, 2019, "Asynchronous federated optimization", section 5.2). With ½ it is the
    /// weight of FedBuff (Nguyen et al., 2022), with 1 the learning rate divided by 1 + τ.
    Polynomial {
        /// 0 for no discount at all.
        exponent: NonNegative,
    },
    /// 1 for τ ≤ after, else 1 / (slope · (τ − after) + 1) (Xie, Koyejo and Gupta, 2019, section 5.2).
    Hinge {
        /// How steeply it falls.
        slope: Positive,
        /// The greatest lag in versions without a discount.
        after: u64,
    },
    /// min(1, after / τ): the full learning rate up to a lag of `after`, and one divided by the lag beyond (Koloskova, Stich and
    /// Jaggi, 2022, "Sharper convergence guarantees for asynchronous SGD", theorem 8).
    Capped {
        /// The greatest lag in versions without a discount.
        after: Count,
    },
    /// 2^(−lag / seconds), by the lag in seconds.
    HalfLife {
        /// After which it is worth half.
        seconds: Positive,
    },
    /// 1 for τ ≤ after, else 0: nothing is made of the gradient, though its step is counted.
    Cutoff {
        /// The greatest lag in versions that counts.
        after: u64,
    },
}

/// Every discount, in the order of [`Discount`].
pub const CATALOGUE: &[Entry] = &[
    entry("Inverse", "1 / max(1, τ), for a lag of τ versions", "Inverse"),
    entry("Polynomial", "(1 + τ)^−exponent; ½ is FedBuff's", "Polynomial(exponent: 0.5)"),
    entry("Hinge", "1 for τ ≤ after, else 1 / (slope · (τ − after) + 1)", "Hinge(slope: 10.0, after: 4)"),
    entry("Capped", "min(1, after / τ): delay-adaptive", "Capped(after: 8)"),
    entry("HalfLife", "2^(−lag / seconds), by the lag in seconds", "HalfLife(seconds: 2.0)"),
    entry("Cutoff", "1 for τ ≤ after, else 0", "Cutoff(after: 8)"),
];

impl Discount {
    /// The factor on an update with a lag of `versions` and `seconds`.
    pub fn factor(&self, versions: i64, seconds: f64) -> f64 {
        let lag = versions.max(0) as f64;
        match *self {
            Discount::Inverse => 1.0 / lag.max(1.0),
            Discount::Polynomial { exponent } => (1.0 + lag).powf(-exponent.get()),
            Discount::Hinge { slope, after } => 1.0 / (slope.get() * (lag - after as f64).max(0.0) + 1.0),
            Discount::Capped { after } => (after.get() as f64 / lag).min(1.0),
            Discount::HalfLife { seconds: half } => (-seconds / half.get()).exp2(),
            Discount::Cutoff { after } => f64::from(lag <= after as f64),
        }
    }
}

impl Transform for Discount {
    fn apply(&mut self, update: &mut [f64], context: &Context) {
        let factor = self.factor(context.lag_versions, context.lag.seconds());
        update.iter_mut().for_each(|u| *u *= factor);
    }

    fn duplicate(&self) -> Box<dyn Transform> {
        Box::new(*self)
    }
}

/// u ← u · min(1, limit / ((1 + τ)‖u‖)): the staler, the shorter the longest step.
#[derive(Clone, Debug)]
pub struct ClipByLag(pub f64);

impl Transform for ClipByLag {
    fn apply(&mut self, update: &mut [f64], context: &Context) {
        let limit = self.0 / (1.0 + context.lag_versions.max(0) as f64);
        let length = norm(update);
        if length > limit {
            update.iter_mut().for_each(|u| *u *= limit / length);
        }
    }

    fn duplicate(&self) -> Box<dyn Transform> {
        Box::new(self.clone())
    }
}

/// Delay compensation: u ← u + λ · u² · (w_now − w_read), coordinate by coordinate, a first-order correction in which u² stands
/// for the Hessian (Zheng et al., 2017, "Asynchronous stochastic gradient descent with delay compensation", algorithm 2).
///
/// With a decay, λ = λ₀ / √(mean square + ε), the mean square decaying as in RMSProp (their DC-ASGD-a); it begins at 0, so
/// that the first steps over-compensate.
#[derive(Clone, Debug)]
pub struct Compensation {
    lambda: f64,
    /// Decay and ε of the mean square, which is empty without them.
    adaptive: Option<(f64, f64)>,
    squares: Vec<f64>,
}

impl Compensation {
    /// With the same λ for ever.
    pub fn fixed(lambda: f64) -> Compensation {
        Compensation { lambda, adaptive: None, squares: Vec::new() }
    }

    /// With a λ that follows the size of the gradients.
    pub fn adaptive(lambda: f64, decay: f64, epsilon: f64, dimension: usize) -> Compensation {
        Compensation { lambda, adaptive: Some((decay, epsilon)), squares: vec![0.0; dimension] }
    }
}

impl Transform for Compensation {
    fn apply(&mut self, update: &mut [f64], context: &Context) {
        let moved = context.parameters.iter().zip(context.read);
        match self.adaptive {
            None => {
                for (u, (now, read)) in update.iter_mut().zip(moved) {
                    *u += self.lambda * *u * *u * (now - read);
                }
            }
            Some((decay, epsilon)) => {
                for ((u, s), (now, read)) in update.iter_mut().zip(&mut self.squares).zip(moved) {
                    *s = decay * *s + (1.0 - decay) * *u * *u;
                    *u += self.lambda / (*s + epsilon).sqrt() * *u * *u * (now - read);
                }
            }
        }
    }

    fn duplicate(&self) -> Box<dyn Transform> {
        Box::new(self.clone())
    }
}

/// u ← u / (1 + G): G is how far the server has moved since the read, in mean lengths of its steps so far (after Barkai, Hakimi and
/// Schuster, 2020, "Gap-aware mitigation of gradient staleness", section 4; they average the length over steps, too). While
/// nothing has moved, G is 0.
#[derive(Clone, Debug, Default)]
pub struct GapAware {
    /// The parameters before the step before, once there was one.
    before: Vec<f64>,
    moved: f64,
    steps: f64,
}

impl Transform for GapAware {
    fn apply(&mut self, update: &mut [f64], context: &Context) {
        if self.before.is_empty() {
            self.before = context.parameters.to_vec();
        }
        let step = distance(context.parameters, &self.before);
        if step > 0.0 {
            self.moved += step;
            self.steps += 1.0;
            self.before.copy_from_slice(context.parameters);
        }
        if self.steps > 0.0 {
            let gap = distance(context.parameters, context.read) * self.steps / self.moved;
            update.iter_mut().for_each(|u| *u /= 1.0 + gap);
        }
    }

    fn duplicate(&self) -> Box<dyn Transform> {
        Box::new(self.clone())
    }
}
