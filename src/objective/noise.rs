//! The noise of stochastic gradients, apart from the pure function.

use super::Objective;
use crate::catalogue::{Entry, entry};
use crate::error::{Error, Result};
use crate::kernel::Generator;
use crate::units::{Count, NonNegative};
use rand_distr::{Distribution, StandardNormal, Uniform};
use serde::{Deserialize, Serialize};

/// Gradient noise, as a scenario names it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the variants and their parameters are documented in NOISES, which `list` prints")]
pub enum Noise {
    Gaussian {
        sd: NonNegative,
        #[serde(default = "one")]
        batch: Count,
    },
    Multiplicative {
        sd: NonNegative,
    },
    MiniBatch {
        size: Count,
    },
}

fn one() -> Count {
    Count::ONE
}

impl Noise {
    /// Every kind of noise, in the order of the enum.
    pub const CATALOGUE: &[Entry] = &[
        entry("Gaussian", "adds N(0, sd² / batch) to every coordinate, independently", "Gaussian(sd: 0.1, batch: 32)"),
        entry("Multiplicative", "multiplies every coordinate by N(1, sd²), independently", "Multiplicative(sd: 0.5)"),
        entry("MiniBatch", "gradient of `size` examples, drawn with replacement; data objectives only", "MiniBatch(size: 32)"),
    ];

    /// The name of the variant, as in RON.
    pub fn name(&self) -> &'static str {
        match self {
            Noise::Gaussian { .. } => "Gaussian",
            Noise::Multiplicative { .. } => "Multiplicative",
            Noise::MiniBatch { .. } => "MiniBatch",
        }
    }

    /// The noise as it acts on gradients of `objective`.
    ///
    /// # Errors
    /// Mini-batches of an objective that is no average over examples.
    pub fn build(noise: Option<Noise>, objective: &dyn Objective) -> Result<NoiseSource> {
        Ok(match noise {
            None => NoiseSource::Silent,
            Some(Noise::Gaussian { sd, batch }) => NoiseSource::Additive(sd.get() / (batch.get() as f64).sqrt()),
            Some(Noise::Multiplicative { sd }) => NoiseSource::Multiplicative(sd.get()),
            Some(Noise::MiniBatch { size }) => {
                let examples = objective.examples().and_then(|count| Uniform::new(0, count).ok());
                let examples = examples.ok_or_else(|| {
                    let reason = "MiniBatch: this objective has no examples to draw; use Gaussian or Multiplicative, \
                                  or an objective with data (LeastSquares, Logistic, Softmax)";
                    Error::Invalid(reason.to_owned())
                })?;
                NoiseSource::MiniBatch { size: size.get(), examples }
            }
        })
    }
}

/// Noise, ready to act.
#[derive(Clone, Copy, Debug)]
pub enum NoiseSource {
    /// None: the exact gradient.
    Silent,
    /// Standard deviation of what is added to each coordinate.
    Additive(f64),
    /// Standard deviation of each coordinate's factor.
    Multiplicative(f64),
    /// The mean over `size` random examples.
    MiniBatch {
        /// How many.
        size: u64,
        /// Which.
        examples: Uniform<usize>,
    },
}

impl NoiseSource {
    /// Writes the stochastic gradient of `class` at `w` to `gradient`; `random` gives that gradient's own generator.
    #[inline]
    pub fn gradient(
        &self,
        objective: &dyn Objective,
        class: usize,
        w: &[f64],
        random: impl FnOnce() -> Generator,
        gradient: &mut [f64],
    ) {
        match *self {
            NoiseSource::Silent => objective.local_gradient(class, w, gradient),
            NoiseSource::Additive(sd) => {
                objective.local_gradient(class, w, gradient);
                let mut random = random();
                for g in gradient {
                    let standard: f64 = StandardNormal.sample(&mut random);
                    *g += sd * standard;
                }
            }
            NoiseSource::Multiplicative(sd) => {
                objective.local_gradient(class, w, gradient);
                let mut random = random();
                for g in gradient {
                    let standard: f64 = StandardNormal.sample(&mut random);
                    *g *= 1.0 + sd * standard;
                }
            }
            NoiseSource::MiniBatch { size, examples } => {
                gradient.fill(0.0);
                let mut random = random();
                for _ in 0..size {
                    let example = examples.sample(&mut random);
                    objective.add_example_gradient(example, 1.0 / size as f64, w, gradient);
                }
            }
        }
    }
}
