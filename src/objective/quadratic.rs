//! Quadratics: the functions for which the field's closed forms hold.

use super::{Objective, bounded};
use crate::catalogue::{Entry, entry};
use crate::error::{Error, Result};
use crate::units::{Count, Finite, Positive};
use serde::{Deserialize, Serialize};

/// The curvatures of a diagonal quadratic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Spectrum {
    /// These.
    Values(Vec<Positive>),
    /// `dimension` of them with equal differences, both ends included.
    Evenly {
        /// The first.
        from: Positive,
        /// The last.
        to: Positive,
        /// How many.
        dimension: Count,
    },
    /// `dimension` of them with equal ratios, both ends included.
    Geometrically {
        /// The first.
        from: Positive,
        /// The last.
        to: Positive,
        /// How many.
        dimension: Count,
    },
}

impl Spectrum {
    /// Every kind of spectrum, in the order of the enum.
    pub const CATALOGUE: &[Entry] = &[
        entry("Values", "these curvatures", "Values([0.5, 1.0, 4.0])"),
        entry("Evenly", "equal differences, both ends included", "Evenly(from: 0.1, to: 1.0, dimension: 1000)"),
        entry("Geometrically", "equal ratios, both ends included", "Geometrically(from: 0.01, to: 1.0, dimension: 20)"),
    ];

    /// The curvatures as a list.
    ///
    /// # Errors
    /// If there are none, or too many.
    pub fn values(&self) -> Result<Vec<f64>> {
        let spaced = |dimension: &Count, at: &dyn Fn(f64) -> f64| -> Result<Vec<f64>> {
            let dimension = bounded(dimension.get())?;
            let last = dimension.saturating_sub(1).max(1) as f64;
            Ok((0..dimension).map(|i| at(i as f64 / last)).collect())
        };
        match self {
            Spectrum::Values(values) if values.is_empty() => {
                Err(Error::Invalid("Diagonal: give at least one curvature".to_owned()))
            }
            Spectrum::Values(values) => Ok(values.iter().map(|value| value.get()).collect()),
            Spectrum::Evenly { from, to, dimension } => {
                spaced(dimension, &|share| from.get() + (to.get() - from.get()) * share)
            }
            Spectrum::Geometrically { from, to, dimension } => {
                spaced(dimension, &|share| from.get() * (to.get() / from.get()).powf(share))
            }
        }
    }
}

/// f(w) = Σ λᵢ (wᵢ − b)² / 2.
#[derive(Debug)]
pub struct Diagonal {
    curvatures: Vec<f64>,
    minimiser: Vec<f64>,
}

impl Diagonal {
    /// With the curvatures λ and the minimum b of every coordinate.
    pub fn new(curvatures: Vec<f64>, minimum: f64) -> Diagonal {
        let minimiser = vec![minimum; curvatures.len()];
        Diagonal { curvatures, minimiser }
    }
}

impl Objective for Diagonal {
    fn parabola(&self) -> Option<(f64, f64)> {
        if let ([a], [b]) = (&self.curvatures[..], &self.minimiser[..]) { Some((*a, *b)) } else { None }
    }

    fn dimension(&self) -> usize {
        self.curvatures.len()
    }
    fn loss(&self, w: &[f64]) -> f64 {
        let terms = w.iter().zip(&self.curvatures).zip(&self.minimiser).map(|((w, a), b)| a * (w - b) * (w - b));
        terms.sum::<f64>() / 2.0
    }
    fn gradient(&self, w: &[f64], gradient: &mut [f64]) {
        if let ([g], [w], [a], [b]) = (&mut *gradient, w, &self.curvatures[..], &self.minimiser[..]) {
            *g = a * (w - b);
            return;
        }
        for (((g, w), a), b) in gradient.iter_mut().zip(w).zip(&self.curvatures).zip(&self.minimiser) {
            *g = a * (w - b);
        }
    }
    fn minimiser(&self) -> Option<&[f64]> {
        Some(&self.minimiser)
    }
    fn curvature(&self) -> Option<(f64, f64)> {
        let least = self.curvatures.iter().copied().fold(f64::INFINITY, f64::min);
        Some((least, self.curvatures.iter().copied().fold(0.0, f64::max)))
    }
}

/// f(w) = wᵀAw/2 − bᵀw with A = ¼ tridiag(−1, 2, −1) and b = (−¼, 0, …, 0): the hard quadratic on which the papers on
/// optimal time complexity compare their methods (Tyurin and Richtárik, 2023; Maranjyan, Tyurin and Richtárik, 2025,
/// "Ringmaster ASGD", section on experiments).
///
/// Its minimiser is wᵢ = i/(d+1) − 1, its minimum −d / (8(d+1)), its eigenvalues sin²(kπ / (2(d+1))).
#[derive(Debug)]
pub struct Tridiagonal {
    minimiser: Vec<f64>,
}

impl Tridiagonal {
    /// In `dimension` parameters.
    pub fn new(dimension: usize) -> Tridiagonal {
        let minimiser = (1..=dimension).map(|i| i as f64 / (dimension + 1) as f64 - 1.0).collect();
        Tridiagonal { minimiser }
    }
}

impl Objective for Tridiagonal {
    fn dimension(&self) -> usize {
        self.minimiser.len()
    }
    fn loss(&self, w: &[f64]) -> f64 {
        // wᵀAw = ¼ (w₁² + Σ (wᵢ₊₁ − wᵢ)² + w_d²)
        let ends = w[0] * w[0] + w[w.len() - 1] * w[w.len() - 1];
        let differences: f64 = w.windows(2).map(|pair| (pair[1] - pair[0]) * (pair[1] - pair[0])).sum();
        (ends + differences) / 8.0 + w[0] / 4.0
    }
    fn gradient(&self, w: &[f64], gradient: &mut [f64]) {
        let row = |before: f64, own: f64, after: f64| (2.0 * own - before - after) / 4.0;
        let last = w.len() - 1;
        // The ends, and between them a loop without branches.
        gradient[0] = row(-1.0, w[0], if last > 0 { w[1] } else { 0.0 });
        gradient[last] = row(if last > 0 { w[last - 1] } else { -1.0 }, w[last], 0.0);
        for (g, w) in gradient.iter_mut().skip(1).zip(w.windows(3)) {
            *g = row(w[0], w[1], w[2]);
        }
    }
    fn minimiser(&self) -> Option<&[f64]> {
        Some(&self.minimiser)
    }
    fn minimum(&self) -> Option<f64> {
        let d = self.minimiser.len() as f64;
        Some(-d / (8.0 * (d + 1.0)))
    }
    fn curvature(&self) -> Option<(f64, f64)> {
        let d = self.minimiser.len() as f64;
        let eigenvalue = |k: f64| (k * std::f64::consts::FRAC_PI_2 / (d + 1.0)).sin().powi(2);
        Some((eigenvalue(1.0), eigenvalue(d)))
    }
}

/// What one class of workers sees: curvature · (w − minimum)² / 2.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Local {
    /// Its curvature.
    pub curvature: Positive,
    /// Where it is least.
    pub minimum: Finite,
}

/// Each class of workers has a quadratic of its own; f is their average, weighted by the number of workers.
#[derive(Debug)]
pub struct Shifted {
    /// (curvature, minimum, share of the workers) of each class.
    classes: Vec<(f64, f64, f64)>,
    minimiser: [f64; 1],
}

impl Shifted {
    /// For a cluster with `workers[i]` workers in class i.
    pub fn new(classes: &[Local], workers: &[u64]) -> Result<Shifted> {
        if classes.len() != workers.len() {
            return Err(Error::Invalid(format!(
                "Shifted: {} classes of objective for {} classes of workers; give one for each",
                classes.len(),
                workers.len()
            )));
        }
        let total: u64 = workers.iter().sum();
        let classes: Vec<(f64, f64, f64)> = classes
            .iter()
            .zip(workers)
            .map(|(local, count)| (local.curvature.get(), local.minimum.get(), *count as f64 / total as f64))
            .collect();
        let curvature: f64 = classes.iter().map(|(a, _, share)| share * a).sum();
        let minimiser = [classes.iter().map(|(a, b, share)| share * a * b).sum::<f64>() / curvature];
        Ok(Shifted { classes, minimiser })
    }
}

impl Objective for Shifted {
    fn dimension(&self) -> usize {
        1
    }
    fn loss(&self, w: &[f64]) -> f64 {
        self.classes.iter().map(|(a, b, share)| share * a * (w[0] - b) * (w[0] - b)).sum::<f64>() / 2.0
    }
    fn gradient(&self, w: &[f64], gradient: &mut [f64]) {
        gradient[0] = self.classes.iter().map(|(a, b, share)| share * a * (w[0] - b)).sum();
    }
    fn local_gradient(&self, class: usize, w: &[f64], gradient: &mut [f64]) {
        let (a, b, _) = self.classes[class];
        gradient[0] = a * (w[0] - b);
    }
    fn minimiser(&self) -> Option<&[f64]> {
        Some(&self.minimiser)
    }
    fn stationary(&self, shares: &[f64]) -> Option<Vec<f64>> {
        let used = self.classes.iter().zip(shares);
        let curvature: f64 = used.clone().map(|((a, _, _), share)| share * a).sum();
        (curvature > 0.0).then(|| vec![used.map(|((a, b, _), share)| share * a * b).sum::<f64>() / curvature])
    }
    fn curvature(&self) -> Option<(f64, f64)> {
        let curvature = self.classes.iter().map(|(a, _, share)| share * a).sum();
        Some((curvature, curvature))
    }
}
