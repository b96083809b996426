//! Objectives that are averages over examples: f(w) = mean of ℓ(w; xᵢ, yᵢ) + r‖w‖²/2.

use super::minimise::{Smooth, minimise};
use super::{Objective, bounded};
use crate::catalogue::{Entry, entry};
use crate::data::Files;
use crate::error::{Error, Result};
use crate::kernel::{Purpose, Streams};
use crate::units::{Count, NonNegative};
use crate::vector::{add_scaled, dot};
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

/// The purpose under which data are generated. Its entity is always 0, and so is the replication's influence: see
/// [`Data::load`].
const DATA: Purpose = Purpose(64);

/// Where the examples come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Data {
    /// Standard normal features, a standard normal true weight vector (one per class), and targets from them.
    Generated {
        /// How many.
        examples: Count,
        /// Features of each.
        features: Count,
        /// Standard deviation of the noise that is added to the true score before the target is taken from it.
        #[serde(default)]
        noise: NonNegative,
    },
    /// Columns of a CSV or Parquet file.
    File {
        /// The file, relative to the scenario's folder.
        file: String,
        /// The columns of features.
        features: Vec<String>,
        /// The column of targets.
        target: String,
    },
}

/// What a target may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Targets {
    /// Any number.
    Real,
    /// A whole number below this.
    Classes(usize),
}

/// Examples in memory.
#[derive(Debug)]
pub struct Examples {
    /// Features of one example.
    pub features: usize,
    /// All features, example by example.
    pub x: Vec<f64>,
    /// One target an example.
    pub y: Vec<f64>,
}

impl Targets {
    /// Weight vectors, and so scores, per example.
    fn scores(self) -> usize {
        match self {
            Targets::Real | Targets::Classes(2) => 1,
            Targets::Classes(classes) => classes,
        }
    }
}

impl Examples {
    /// The features of example `i`.
    #[inline]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.x[i * self.features..(i + 1) * self.features]
    }
}

impl Data {
    /// Every source of data, in the order of the enum.
    pub const CATALOGUE: &[Entry] = &[
        entry(
            "Generated",
            "standard normal features and true weights; noise is added to the score",
            "Generated(examples: 200, features: 5, noise: 0.1)",
        ),
        entry(
            "File",
            "columns of a CSV or Parquet file",
            "File(file: \"data.csv\", features: [\"x1\", \"x2\"], target: \"y\")",
        ),
    ];

    /// The examples, generated from the streams' seed or read from the file.
    ///
    /// # Errors
    /// If there are too many or none, the file cannot be read, or a target is not what the objective needs.
    pub fn load(&self, targets: Targets, streams: Streams, files: &Files) -> Result<Examples> {
        match self {
            Data::Generated { examples, features, noise } => {
                let (rows, features) = (bounded(examples.get())?, bounded(features.get())?);
                bounded(examples.get().saturating_mul(features as u64))?;
                bounded(targets.scores().saturating_mul(features) as u64)?;
                Ok(generate(rows, features, noise.get(), targets, streams))
            }
            Data::File { file, features, target } => {
                let names: Vec<&str> = features.iter().map(String::as_str).chain([target.as_str()]).collect();
                let columns = files.columns(file, &names)?;
                let [x @ .., y] = &columns[..] else {
                    return Err(Error::Invalid(format!("{file}: name at least one column of features")));
                };
                if x.is_empty() {
                    return Err(Error::Invalid(format!("{file}: name at least one column of features")));
                }
                if let Targets::Classes(classes) = targets {
                    let fits = |value: &f64| value.fract() == 0.0 && (0.0..classes as f64).contains(value);
                    if let Some(row) = y.iter().position(|value| !fits(value)) {
                        return Err(Error::Invalid(format!(
                            "{file}: column `{target}`, row {}: expected a class from 0 to {}, got {}",
                            row + 1,
                            classes - 1,
                            y[row]
                        )));
                    }
                }
                let flat = (0..y.len()).flat_map(|row| x.iter().map(move |column| column[row])).collect();
                Ok(Examples { features: x.len(), x: flat, y: y.to_vec() })
            }
        }
    }
}

fn generate(rows: usize, features: usize, noise: f64, targets: Targets, streams: Streams) -> Examples {
    let mut random = streams.stream(DATA, 0).draw(0);
    let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
    let scores = targets.scores();
    let truth: Vec<f64> = (0..scores * features).map(|_| normal()).collect();
    let mut examples = Examples { features, x: Vec::with_capacity(rows * features), y: Vec::with_capacity(rows) };
    for row in 0..rows {
        examples.x.extend((0..features).map(|_| normal()));
        let score: Vec<f64> = truth.chunks(features).map(|w| dot(w, examples.row(row)) + noise * normal()).collect();
        examples.y.push(match targets {
            Targets::Real => score[0],
            Targets::Classes(2) => f64::from(score[0] > 0.0),
            Targets::Classes(_) => (0..scores).max_by(|&a, &b| score[a].total_cmp(&score[b])).unwrap_or(0) as f64,
        });
    }
    examples
}

/// The part of an example's loss that depends on the parameters only through the scores xᵀw.
pub trait Loss: std::fmt::Debug + Send + Sync {
    /// Weight vectors, and so scores, per example.
    fn scores(&self) -> usize;
    /// ℓ(scores, y).
    fn value(&self, scores: &[f64], y: f64) -> f64;
    /// Replaces the scores by ∂ℓ/∂scores.
    fn derivative(&self, scores: &mut [f64], y: f64);
    /// Replaces `direction` by (∂²ℓ/∂scores²) · direction.
    fn curve(&self, scores: &[f64], direction: &mut [f64]);
    /// An upper bound on the eigenvalues of ∂²ℓ/∂scores².
    fn curvature(&self) -> f64;
}

/// Multiplications that the search for a minimum may take: a second or so. It is good to know, not worth a long wait.
const MAX_WORK: usize = 1_000_000_000;

/// Scores of one example fit in here, so that a gradient needs no allocation.
const MAX_SCORES: usize = 64;

/// A loss averaged over examples, with a quadratic penalty.
#[derive(Debug)]
pub struct DataFit<L> {
    loss: L,
    examples: Examples,
    regularisation: f64,
    minimiser: Option<Vec<f64>>,
}

impl<L: Loss> DataFit<L> {
    /// Finds the minimum too, if Newton's method does, soon enough.
    pub fn new(loss: L, examples: Examples, regularisation: f64) -> DataFit<L> {
        let mut fit = DataFit { loss, examples, regularisation, minimiser: None };
        let work = fit.examples.x.len() * fit.loss.scores();
        fit.minimiser = minimise(&fit, vec![0.0; fit.dimension()], (MAX_WORK / work.max(1)).max(1));
        fit
    }

    fn scores<'a>(&self, example: usize, w: &[f64], buffer: &'a mut [f64; MAX_SCORES]) -> &'a mut [f64] {
        let x = self.examples.row(example);
        let scores = &mut buffer[..self.loss.scores()];
        for (score, w) in scores.iter_mut().zip(w.chunks(x.len())) {
            *score = dot(x, w);
        }
        scores
    }

    fn spread(&self, example: usize, weight: f64, scores: &[f64], out: &mut [f64]) {
        let x = self.examples.row(example);
        for (score, out) in scores.iter().zip(out.chunks_mut(x.len())) {
            add_scaled(out, weight * score, x);
        }
    }
}

impl<L: Loss> Objective for DataFit<L> {
    fn dimension(&self) -> usize {
        self.examples.features * self.loss.scores()
    }
    fn loss(&self, w: &[f64]) -> f64 {
        let mut buffer = [0.0; MAX_SCORES];
        let total: f64 = (0..self.examples.y.len())
            .map(|i| self.loss.value(self.scores(i, w, &mut buffer), self.examples.y[i]))
            .sum();
        total / self.examples.y.len() as f64 + self.regularisation * dot(w, w) / 2.0
    }
    fn gradient(&self, w: &[f64], gradient: &mut [f64]) {
        gradient.fill(0.0);
        let weight = 1.0 / self.examples.y.len() as f64;
        for example in 0..self.examples.y.len() {
            self.add_example_gradient(example, weight, w, gradient);
        }
    }
    fn minimiser(&self) -> Option<&[f64]> {
        self.minimiser.as_deref()
    }
    /// The penalty below; above, the penalty + the loss's own bound × the mean of ‖xᵢ‖², which bounds the largest
    /// eigenvalue of the mean of xᵢxᵢᵀ by its trace.
    fn curvature(&self) -> Option<(f64, f64)> {
        let trace = dot(&self.examples.x, &self.examples.x) / self.examples.y.len() as f64;
        Some((self.regularisation, self.regularisation + self.loss.curvature() * trace))
    }
    fn examples(&self) -> Option<usize> {
        Some(self.examples.y.len())
    }
    fn add_example_gradient(&self, example: usize, weight: f64, w: &[f64], gradient: &mut [f64]) {
        let mut buffer = [0.0; MAX_SCORES];
        let scores = self.scores(example, w, &mut buffer);
        self.loss.derivative(scores, self.examples.y[example]);
        self.spread(example, weight, scores, gradient);
        add_scaled(gradient, weight * self.regularisation, w);
    }
}

impl<L: Loss> Smooth for DataFit<L> {
    fn hessian_times(&self, w: &[f64], direction: &[f64], out: &mut [f64]) {
        let (mut at, mut along) = ([0.0; MAX_SCORES], [0.0; MAX_SCORES]);
        let weight = 1.0 / self.examples.y.len() as f64;
        out.fill(0.0);
        for example in 0..self.examples.y.len() {
            let scores = self.scores(example, w, &mut at);
            let curved = self.scores(example, direction, &mut along);
            self.loss.curve(scores, curved);
            self.spread(example, weight, curved, out);
        }
        add_scaled(out, self.regularisation, direction);
    }
}

/// The most classes that softmax regression may have.
pub const MAX_CLASSES: usize = MAX_SCORES;

/// A number of classes that softmax regression can handle.
pub fn class_count(classes: u64) -> Result<usize> {
    if (2..=MAX_CLASSES as u64).contains(&classes) {
        Ok(classes as usize)
    } else {
        Err(Error::Invalid(format!("Softmax: {classes} classes; give 2 to {MAX_CLASSES}")))
    }
}
