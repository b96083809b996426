//! Laws made of laws: mixtures, multiples and sums. Their moments follow from those of the parts.

use super::Delay;
use crate::kernel::Generator;
use rand_distr::{Distribution, StandardUniform};

/// One of several laws, chosen afresh at every draw.
#[derive(Debug)]
pub struct Mixture {
    /// P(one of the first i + 1 parts).
    cumulative: Vec<f64>,
    probabilities: Vec<f64>,
    parts: Vec<Box<dyn Delay>>,
}

impl Mixture {
    /// `weights` are relative; they need not add up to 1.
    pub fn new(weights: &[f64], parts: Vec<Box<dyn Delay>>) -> Result<Mixture, &'static str> {
        let total: f64 = weights.iter().sum();
        if parts.is_empty() {
            return Err("give at least one part");
        }
        if !total.is_finite() {
            return Err("the weights add up to more than a number can hold; make them smaller");
        }
        let probabilities: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
        let cumulative = probabilities.iter().scan(0.0, |sum, p| {
            *sum += p;
            Some(*sum)
        });
        Ok(Mixture { cumulative: cumulative.collect(), probabilities, parts })
    }

    fn average(&self, of: impl Fn(&dyn Delay) -> f64) -> f64 {
        self.probabilities.iter().zip(&self.parts).map(|(p, part)| p * of(part.as_ref())).sum()
    }
}

impl Delay for Mixture {
    fn sample(&mut self, index: u64, random: &mut Generator) -> f64 {
        let uniform: f64 = StandardUniform.sample(random);
        let chosen = self.cumulative.iter().position(|&c| uniform < c).unwrap_or(self.parts.len() - 1);
        self.parts[chosen].sample(index, random)
    }
    fn mean(&self) -> f64 {
        self.average(|part| part.mean())
    }
    fn variance(&self) -> f64 {
        let mean = self.mean();
        if mean.is_infinite() {
            return f64::INFINITY;
        }
        self.average(|part| part.variance() + (part.mean() - mean).powi(2))
    }
    fn support(&self) -> (f64, f64) {
        let supports = || self.parts.iter().map(|part| part.support());
        (supports().map(|s| s.0).fold(f64::INFINITY, f64::min), supports().map(|s| s.1).fold(0.0, f64::max))
    }
    fn cdf(&self, x: f64) -> Option<f64> {
        self.probabilities.iter().zip(&self.parts).map(|(p, part)| Some(p * part.cdf(x)?)).sum()
    }
}

/// A multiple of another law.
#[derive(Debug)]
pub struct Scaled {
    /// What every draw is multiplied by.
    pub factor: f64,
    /// What is drawn.
    pub law: Box<dyn Delay>,
}

impl Delay for Scaled {
    fn sample(&mut self, index: u64, random: &mut Generator) -> f64 {
        self.factor * self.law.sample(index, random)
    }
    fn mean(&self) -> f64 {
        times(self.factor, self.law.mean())
    }
    fn variance(&self) -> f64 {
        times(self.factor * self.factor, self.law.variance())
    }
    fn support(&self) -> (f64, f64) {
        let (low, high) = self.law.support();
        (times(self.factor, low), times(self.factor, high))
    }
    fn cdf(&self, x: f64) -> Option<f64> {
        if self.factor > 0.0 { self.law.cdf(x / self.factor) } else { Some(if x >= 0.0 { 1.0 } else { 0.0 }) }
    }
    fn quantile(&self, p: f64) -> Option<f64> {
        Some(times(self.factor, self.law.quantile(p)?))
    }
}

/// A product in which nothing times an infinite amount is nothing.
pub fn times(factor: f64, amount: f64) -> f64 {
    if factor == 0.0 || amount == 0.0 { 0.0 } else { factor * amount }
}

/// The sum of independent draws. It has no closed distribution function in general.
#[derive(Debug)]
pub struct Sum {
    /// What is added up.
    pub laws: Vec<Box<dyn Delay>>,
}

impl Delay for Sum {
    fn sample(&mut self, index: u64, random: &mut Generator) -> f64 {
        self.laws.iter_mut().map(|law| law.sample(index, random)).sum()
    }
    fn mean(&self) -> f64 {
        self.laws.iter().map(|law| law.mean()).sum()
    }
    fn variance(&self) -> f64 {
        self.laws.iter().map(|law| law.variance()).sum()
    }
    fn support(&self) -> (f64, f64) {
        let supports = || self.laws.iter().map(|law| law.support());
        (supports().map(|s| s.0).sum(), supports().map(|s| s.1).sum())
    }
    fn cdf(&self, _: f64) -> Option<f64> {
        None
    }
}
