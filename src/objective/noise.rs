//! The noise of stochastic gradients, apart from the pure function.

use super::Objective;
use crate::catalogue::{Entry, entry};
use crate::error::{Error, Result};
use crate::kernel::{Generator, Quick};
use crate::units::{Count, NonNegative};
use rand_distr::{Distribution, StandardNormal, Uniform};
use serde::{Deserialize, Serialize};

/// Gradient noise, as a scenario names it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the variants and their parameters are documented in CATALOGUE, which `list` prints")]
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
        entry(
            "MiniBatch",
            "gradient of `size` examples, drawn with replacement; data objectives only",
            "MiniBatch(size: 32)",
        ),
    ];

    /// The noise as it acts on gradients of `objective`.
    ///
    /// # Errors
    /// Mini-batches of an objective that is no average over examples.
    pub fn build(noise: Option<Noise>, objective: &dyn Objective) -> Result<NoiseSource> {
        Ok(match noise {
            None => NoiseSource::Silent,
            Some(Noise::Gaussian { sd, batch }) => {
                let additive = sd.get() / (batch.get() as f64).sqrt();
                NoiseSource::Normal { additive, multiplicative: 0.0 }
            }
            Some(Noise::Multiplicative { sd }) => NoiseSource::Normal { additive: 0.0, multiplicative: sd.get() },
            Some(Noise::MiniBatch { size }) if size.get() > MAX_BATCH => {
                return Err(Error::Invalid(format!(
                    "MiniBatch: {} examples a gradient; give at most {MAX_BATCH}",
                    size.get()
                )));
            }
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

/// Larger batches would take minutes a gradient.
const MAX_BATCH: u64 = 10_000_000;

/// g ← g + (`additive` + `multiplicative` · g) · N(0, 1) in every coordinate.
fn disturb(gradient: &mut [f64], additive: f64, multiplicative: f64, mut random: Generator) {
    let normal = Quick::new(StandardNormal);
    for g in gradient {
        let standard = normal.sample(&mut random);
        *g += (additive + multiplicative * *g) * standard;
    }
}

/// Noise, ready to act.
#[derive(Clone, Copy, Debug)]
pub enum NoiseSource {
    /// None: the exact gradient.
    Silent,
    /// Normal, independently in every coordinate.
    Normal {
        /// Standard deviation of what is added to each coordinate.
        additive: f64,
        /// Standard deviation of each coordinate's factor.
        multiplicative: f64,
    },
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
    #[inline(always)]
    pub fn gradient(
        &self,
        objective: &dyn Objective,
        class: usize,
        w: &[f64],
        random: impl FnOnce() -> Generator,
        gradient: &mut [f64],
    ) {
        match self {
            NoiseSource::Silent => objective.local_gradient(class, w, gradient),
            noisy => noisy.noisy_gradient(objective, class, w, random(), gradient),
        }
    }

    #[inline(never)]
    fn noisy_gradient(
        &self,
        objective: &dyn Objective,
        class: usize,
        w: &[f64],
        mut random: Generator,
        gradient: &mut [f64],
    ) {
        match *self {
            NoiseSource::Silent => {}
            NoiseSource::Normal { additive, multiplicative } => {
                objective.local_gradient(class, w, gradient);
                disturb(gradient, additive, multiplicative, random);
            }
            NoiseSource::MiniBatch { size, examples } => {
                gradient.fill(0.0);
                for _ in 0..size {
                    let example = examples.sample(&mut random);
                    objective.add_example_gradient(example, 1.0 / size as f64, w, gradient);
                }
            }
        }
    }
}
