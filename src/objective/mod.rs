//! What is being minimised: analytic functions with known gradients, minima and curvature, and the noise of stochastic
//! gradients apart from them.

mod classic;
mod data_fit;
mod minimise;
mod noise;
mod quadratic;
mod regression;

pub use classic::Function;
pub use data_fit::{Data, Examples};
pub use noise::{Noise, NoiseSource};
pub use quadratic::{Local, Spectrum};

use crate::catalogue::{Entry, entry};
use crate::data::Files;
use crate::error::Result;
use crate::kernel::Streams;
use crate::units::{Count, Finite, NonNegative, Positive};
use serde::{Deserialize, Serialize};

/// A function to minimise, with its gradient.
pub trait Objective: std::fmt::Debug + Send + Sync {
    /// The number of parameters d; every `w` and gradient has this length.
    fn dimension(&self) -> usize;

    /// f(`w`).
    fn loss(&self, w: &[f64]) -> f64;

    /// Writes ∇f(`w`) to `gradient`.
    fn gradient(&self, w: &[f64], gradient: &mut [f64]);

    /// Writes the gradient of what the workers of `class` see of f: all of it, unless their data differ.
    #[inline]
    fn local_gradient(&self, _class: usize, w: &[f64], gradient: &mut [f64]) {
        self.gradient(w, gradient);
    }

    /// The curvature a and the minimum b if f(w) = a (w − b)² / 2, with one parameter and the same for all classes: then a step is so little
    /// work that asking for it would be most of it.
    fn parabola(&self) -> Option<(f64, f64)> {
        None
    }

    /// A point where f is least, if it is known.
    fn minimiser(&self) -> Option<&[f64]>;

    /// The least value of f, if it is known.
    fn minimum(&self) -> Option<f64> {
        self.minimiser().map(|w| self.loss(w))
    }

    /// Bounds (μ, L) on the curvature: every eigenvalue of every Hessian lies between them. `None` if there are none.
    fn curvature(&self) -> Option<(f64, f64)>;

    /// Where SGD settles, in the limit of a small learning rate, if the gradients that it uses are `shares[i]` of class i, up to a
    /// common factor: the minimiser of that mixture. `None` if classes do not differ, or no gradient was used.
    fn stationary(&self, _shares: &[f64]) -> Option<Vec<f64>> {
        None
    }

    /// For an average over examples, their number, so that mini-batches can be drawn.
    fn examples(&self) -> Option<usize> {
        None
    }

    /// Adds `weight` times the gradient of example number `example` at `w` to `gradient`, regularisation included.
    fn add_example_gradient(&self, _example: usize, _weight: f64, _w: &[f64], _gradient: &mut [f64]) {}
}

/// An objective, as a scenario names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the variants and their parameters are documented in CATALOGUE, which `list` prints")]
pub enum Spec {
    Quadratic {
        curvature: Positive,
        #[serde(default)]
        minimum: Finite,
    },
    Diagonal {
        curvatures: Spectrum,
        #[serde(default)]
        minimum: Finite,
    },
    Tridiagonal {
        dimension: Count,
    },
    Shifted {
        classes: Vec<Local>,
    },
    LeastSquares {
        data: Data,
        #[serde(default)]
        regularisation: NonNegative,
    },
    Logistic {
        data: Data,
        #[serde(default)]
        regularisation: NonNegative,
    },
    Softmax {
        data: Data,
        classes: Count,
        #[serde(default)]
        regularisation: NonNegative,
    },
    Classic {
        function: Function,
        #[serde(default = "two")]
        dimension: Count,
    },
}

fn two() -> Count {
    Count::new(2).unwrap_or(Count::ONE)
}

/// Every objective, in the order of [`Spec`].
pub const CATALOGUE: &[Entry] = &[
    entry("Quadratic", "curvature · (w − minimum)² / 2, one parameter", "Quadratic(curvature: 1.0, minimum: 0.0)"),
    entry(
        "Diagonal",
        "Σ curvatureᵢ · (wᵢ − minimum)² / 2; curvatures Evenly or Geometrically spaced, or Values([…])",
        "Diagonal(curvatures: Evenly(from: 0.1, to: 1.0, dimension: 1000))",
    ),
    entry(
        "Tridiagonal",
        "the worst-case quadratic of the optimal-complexity papers, A = ¼ tridiag(−1, 2, −1), b = −¼ e₁",
        "Tridiagonal(dimension: 1729)",
    ),
    entry(
        "Shifted",
        "class i of the workers sees curvatureᵢ · (w − minimumᵢ)² / 2; f is the average over workers",
        "Shifted(classes: [(curvature: 1.0, minimum: -1.0), (curvature: 2.0, minimum: 1.0)])",
    ),
    entry(
        "LeastSquares",
        "mean of (xᵢ·w − yᵢ)² / 2 + regularisation · ‖w‖² / 2; data Generated or from a File",
        "LeastSquares(data: Generated(examples: 200, features: 5, noise: 0.1))",
    ),
    entry(
        "Logistic",
        "logistic regression on targets 0 and 1",
        "Logistic(data: Generated(examples: 200, features: 5, noise: 1.0), regularisation: 0.01)",
    ),
    entry(
        "Softmax",
        "softmax regression on targets 0 … classes − 1, one weight vector a class",
        "Softmax(data: File(file: \"iris.csv\", features: [\"a\", \"b\"], target: \"kind\"), classes: 3, regularisation: 0.01)",
    ),
    entry(
        "Classic",
        "a classic test function: Ackley, Beale, Booth, Himmelblau, Levy, Matyas, Rastrigin, Rosenbrock, StyblinskiTang",
        "Classic(function: Rosenbrock, dimension: 4)",
    ),
];

impl Spec {
    /// The name of the variant, as in RON.
    pub fn name(&self) -> &'static str {
        match self {
            Spec::Quadratic { .. } => "Quadratic",
            Spec::Diagonal { .. } => "Diagonal",
            Spec::Tridiagonal { .. } => "Tridiagonal",
            Spec::Shifted { .. } => "Shifted",
            Spec::LeastSquares { .. } => "LeastSquares",
            Spec::Logistic { .. } => "Logistic",
            Spec::Softmax { .. } => "Softmax",
            Spec::Classic { .. } => "Classic",
        }
    }

    /// The objective as a running object, for a cluster with `workers[i]` workers in class i.
    ///
    /// # Errors
    /// If the parameters do not fit each other or the cluster, or a data file cannot be read.
    pub fn build(&self, workers: &[u64], streams: Streams, files: &Files) -> Result<Box<dyn Objective>> {
        Ok(match self {
            Spec::Quadratic { curvature, minimum } => {
                Box::new(quadratic::Diagonal::new(vec![curvature.get()], minimum.get()))
            }
            Spec::Diagonal { curvatures, minimum } => {
                Box::new(quadratic::Diagonal::new(curvatures.values()?, minimum.get()))
            }
            Spec::Tridiagonal { dimension } => Box::new(quadratic::Tridiagonal::new(bounded(dimension.get())?)),
            Spec::Shifted { classes } => Box::new(quadratic::Shifted::new(classes, workers)?),
            Spec::LeastSquares { data, regularisation } => {
                let examples = data.load(data_fit::Targets::Real, streams, files)?;
                Box::new(data_fit::DataFit::new(regression::Squares, examples, regularisation.get()))
            }
            Spec::Logistic { data, regularisation } => {
                let examples = data.load(data_fit::Targets::Classes(2), streams, files)?;
                Box::new(data_fit::DataFit::new(regression::Logistic, examples, regularisation.get()))
            }
            Spec::Softmax { data, classes, regularisation } => {
                let classes = data_fit::class_count(classes.get())?;
                let examples = data.load(data_fit::Targets::Classes(classes), streams, files)?;
                bounded((examples.features * classes) as u64)?;
                Box::new(data_fit::DataFit::new(regression::Softmax { classes }, examples, regularisation.get()))
            }
            Spec::Classic { function, dimension } => {
                Box::new(classic::Classic::new(*function, bounded(dimension.get())?)?)
            }
        })
    }
}

/// The most parameters that an objective may have.
pub const MAX_DIMENSION: u64 = 10_000_000;

fn bounded(dimension: u64) -> Result<usize> {
    if dimension > MAX_DIMENSION {
        let reason = format!("{dimension} parameters are more than the {MAX_DIMENSION} that a run may have");
        return Err(crate::error::Error::Invalid(reason));
    }
    Ok(dimension as usize)
}
