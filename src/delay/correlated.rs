//! Laws that make the draws of one worker resemble each other, as measured times do: a worker that is slow stays slow,
//! and slow batches follow slow batches.

use super::composite::times;
use super::{Context, Delay};
use crate::kernel::{Generator, Purpose};
use rand_distr::{Distribution, StandardNormal};
use statrs::distribution::{ContinuousCDF, Normal};

/// Purposes at and above this are those of per-worker factors.
const FACTOR: u32 = 1 << 16;

/// A law times a factor that its worker drew once, before the run.
#[derive(Debug)]
pub struct PerWorker {
    own: f64,
    factor: Box<dyn Delay>,
    law: Box<dyn Delay>,
}

impl PerWorker {
    /// Draws the factor of the worker that `context` is about.
    pub fn new(mut factor: Box<dyn Delay>, law: Box<dyn Delay>, context: &Context) -> PerWorker {
        let purpose = Purpose(FACTOR + context.purpose.0);
        let index = context.factors.replace(context.factors.get() + 1);
        // A replayed list of factors gives each worker of the class the next one.
        let own = factor.sample(context.member, &mut context.streams.stream(purpose, context.entity).draw(index));
        PerWorker { own, factor, law }
    }
}

/// The moments are those over all workers that might have been drawn.
impl Delay for PerWorker {
    fn sample(&mut self, index: u64, random: &mut Generator) -> f64 {
        self.own * self.law.sample(index, random)
    }
    fn mean(&self) -> f64 {
        times(self.factor.mean(), self.law.mean())
    }
    fn variance(&self) -> f64 {
        let square = |law: &dyn Delay| law.variance() + law.mean() * law.mean();
        let product = times(square(self.factor.as_ref()), square(self.law.as_ref()));
        if product.is_infinite() { product } else { product - self.mean() * self.mean() }
    }
    /// What this worker can draw.
    fn support(&self) -> (f64, f64) {
        let (low, high) = self.law.support();
        (times(self.own, low), times(self.own, high))
    }
    fn cdf(&self, _: f64) -> Option<f64> {
        None
    }
}

/// A Gaussian copula over an AR(1) process (Cario and Nelson, 1996, "Autoregressive to anything"): with
/// z₀ ~ N(0, 1) and z_k = ρ·z_(k−1) + √(1−ρ²)·ε_k, the k-th duration is the Φ(z_k)-quantile of the law. The law of each
/// duration is kept exactly; ρ is the correlation of successive z, and nearly that of the durations where the law is
/// not far from normal.
#[derive(Debug)]
pub struct Autoregressive {
    correlation: f64,
    law: Box<dyn Delay>,
    standard: Normal,
    state: Option<f64>,
}

impl Autoregressive {
    /// The law must have a distribution function, which is inverted.
    pub fn new(correlation: f64, law: Box<dyn Delay>) -> Result<Autoregressive, String> {
        let standard = Normal::new(0.0, 1.0).map_err(|error| error.to_string())?;
        match law.quantile(0.5) {
            Some(_) => Ok(Autoregressive { correlation, law, standard, state: None }),
            None => Err("the law must have a distribution function: put Sum, PerWorker or Autoregressive outside it, \
                         as in PerWorker(factor: …, law: Autoregressive(…))"
                .to_owned()),
        }
    }
}

impl Delay for Autoregressive {
    fn sample(&mut self, index: u64, random: &mut Generator) -> f64 {
        let fresh: f64 = StandardNormal.sample(random);
        let rho = self.correlation;
        let z = self.state.map_or(fresh, |last| rho * last + (1.0 - rho * rho).sqrt() * fresh);
        self.state = Some(z);
        // Φ rounds to 1 beyond 8.2 standard deviations, where an unbounded law would give infinity.
        let p = self.standard.cdf(z).min(1.0 - f64::EPSILON / 2.0);
        self.law.quantile(p).unwrap_or_else(|| self.law.sample(index, random))
    }
    fn mean(&self) -> f64 {
        self.law.mean()
    }
    fn variance(&self) -> f64 {
        self.law.variance()
    }
    fn support(&self) -> (f64, f64) {
        self.law.support()
    }
    fn cdf(&self, _: f64) -> Option<f64> {
        // The marginal law is known, but not that of a draw given the last, which is what a nested copula would need.
        None
    }
}
