//! The closed-form laws: rand_distr draws, statrs knows the moments and the distribution function.

use super::{Delay, bisect};
use crate::error::{Error, Result};
use crate::kernel::Generator;
use crate::units::{Positive, Seconds};
use rand_distr::{Distribution as Sampler, Exp1, StandardNormal};
use statrs::distribution::{ContinuousCDF, Normal};
use statrs::statistics::Distribution as Theory;

/// Always the same duration.
#[derive(Debug)]
pub struct Constant(pub f64);

impl Delay for Constant {
    fn sample(&mut self, _: u64, _: &mut Generator) -> f64 {
        self.0
    }
    fn mean(&self) -> f64 {
        self.0
    }
    fn variance(&self) -> f64 {
        0.0
    }
    fn support(&self) -> (f64, f64) {
        (self.0, self.0)
    }
    fn cdf(&self, x: f64) -> Option<f64> {
        Some(if x >= self.0 { 1.0 } else { 0.0 })
    }
    fn quantile(&self, _: f64) -> Option<f64> {
        Some(self.0)
    }
}

/// A duration with a sampler from one library and a theory from the other.
#[derive(Debug)]
struct Closed<S, T> {
    sampler: S,
    theory: T,
    support: (f64, f64),
    /// Whether the library has a formula for quantiles; where it searches, it may stop early, or not at all.
    quantile_formula: bool,
}

impl<S, T> Delay for Closed<S, T>
where
    S: Sampler<f64> + std::fmt::Debug + Send,
    T: ContinuousCDF<f64, f64> + Theory<f64> + std::fmt::Debug + Send,
{
    fn sample(&mut self, _: u64, random: &mut Generator) -> f64 {
        self.sampler.sample(random)
    }
    fn mean(&self) -> f64 {
        self.theory.mean().unwrap_or(f64::INFINITY)
    }
    fn variance(&self) -> f64 {
        self.theory.variance().unwrap_or(f64::INFINITY)
    }
    fn support(&self) -> (f64, f64) {
        self.support
    }
    fn cdf(&self, x: f64) -> Option<f64> {
        Some(self.theory.cdf(x))
    }
    fn quantile(&self, p: f64) -> Option<f64> {
        if self.quantile_formula { Some(self.theory.inverse_cdf(p)) } else { bisect(self.support, |x| self.cdf(x), p) }
    }
}

fn refuse(law: &str, reason: impl std::fmt::Display) -> Error {
    Error::Invalid(format!("{law}: {reason}"))
}

/// Evenly between `low` and `high`.
pub fn uniform(low: f64, high: f64) -> Result<Box<dyn Delay>> {
    if low >= high {
        return Err(refuse(
            "Uniform",
            format!("low ({low}) must be below high ({high}); for one value use Constant({low})"),
        ));
    }
    let sampler = rand_distr::Uniform::new(low, high).map_err(|error| refuse("Uniform", error))?;
    let theory = statrs::distribution::Uniform::new(low, high).map_err(|error| refuse("Uniform", error))?;
    Ok(Box::new(Closed { sampler, theory, support: (low, high), quantile_formula: true }))
}

/// `shift` + an exponential of mean `mean`.
pub fn exponential(shift: f64, mean: f64) -> Box<dyn Delay> {
    if mean > 0.0 { Box::new(Exponential { shift, mean }) } else { Box::new(Constant(shift)) }
}

/// P(X > x) = exp(−(x − shift)/mean) for x ≥ shift. Its own formulas are shorter than the way to a library's.
#[derive(Debug)]
struct Exponential {
    shift: f64,
    mean: f64,
}

impl Delay for Exponential {
    fn sample(&mut self, _: u64, random: &mut Generator) -> f64 {
        let standard: f64 = Exp1.sample(random);
        self.shift + self.mean * standard
    }
    fn as_exponential(&self) -> Option<f64> {
        (self.shift == 0.0).then_some(self.mean)
    }
    fn mean(&self) -> f64 {
        self.shift + self.mean
    }
    fn variance(&self) -> f64 {
        self.mean * self.mean
    }
    fn support(&self) -> (f64, f64) {
        (self.shift, f64::INFINITY)
    }
    fn cdf(&self, x: f64) -> Option<f64> {
        Some(if x < self.shift { 0.0 } else { -(-(x - self.shift) / self.mean).exp_m1() })
    }
    fn quantile(&self, p: f64) -> Option<f64> {
        Some(self.shift - self.mean * (-p).ln_1p())
    }
}

/// Shapes beyond these have no use: they spread by less than a thousandth of the mean, or give nothing but zeros.
const SHAPES: std::ops::RangeInclusive<f64> = 1e-4..=1e6;

/// Gamma by shape and scale, of mean shape × scale; `law` is what the scenario calls it.
pub fn gamma(law: &str, shape: f64, scale: f64) -> Result<Box<dyn Delay>> {
    if !SHAPES.contains(&shape) {
        let reason = format!("a coefficient of variation of {:.1e} is out of range: 0.001 to 100", 1.0 / shape.sqrt());
        return Err(refuse(law, reason));
    }
    if !scale.is_normal() {
        return Err(refuse(law, "the mean must be above 0; for no time at all use Constant(0.0)"));
    }
    let sampler = rand_distr::Gamma::new(shape, scale).map_err(|error| refuse(law, error))?;
    let theory = statrs::distribution::Gamma::new(shape, 1.0 / scale).map_err(|error| refuse(law, error))?;
    Ok(Box::new(Closed { sampler, theory, support: (0.0, f64::INFINITY), quantile_formula: false }))
}

/// Gamma by mean and coefficient of variation, or by shape and scale.
pub fn gamma_by(
    mean: Option<Seconds>,
    cv: Option<Positive>,
    shape: Option<Positive>,
    scale: Option<Seconds>,
) -> Result<Box<dyn Delay>> {
    match (mean, cv, shape, scale) {
        (Some(mean), Some(cv), None, None) => gamma("Gamma", 1.0 / cv.get().powi(2), mean.get() * cv.get().powi(2)),
        (None, None, Some(shape), Some(scale)) => gamma("Gamma", shape.get(), scale.get()),
        _ => Err(refuse("Gamma", "give mean and cv, or shape and scale")),
    }
}

/// Lognormal by median and sigma, or by mean and coefficient of variation: then sigma² = ln(1 + cv²), and the median is
/// mean·exp(−sigma²/2).
pub fn log_normal_by(
    median: Option<Seconds>,
    sigma: Option<Positive>,
    mean: Option<Seconds>,
    cv: Option<Positive>,
) -> Result<Box<dyn Delay>> {
    match (median, sigma, mean, cv) {
        (Some(median), Some(sigma), None, None) => log_normal(median.get(), sigma.get()),
        (None, None, Some(mean), Some(cv)) => {
            let square = cv.get().powi(2).ln_1p();
            log_normal(mean.get() * (-square / 2.0).exp(), square.sqrt())
        }
        _ => Err(refuse("LogNormal", "give median and sigma, or mean and cv")),
    }
}

/// exp(N(ln `median`, `sigma`²)).
fn log_normal(median: f64, sigma: f64) -> Result<Box<dyn Delay>> {
    if median == 0.0 {
        return Err(refuse("LogNormal", "the median or mean must be above 0; for no time at all use Constant(0.0)"));
    }
    if !(1e-6..=30.0).contains(&sigma) {
        return Err(refuse(
            "LogNormal",
            format!("a sigma of {sigma:.1e} of the logarithm is out of range: 1e-6 to 30"),
        ));
    }
    let sampler = rand_distr::LogNormal::new(median.ln(), sigma).map_err(|error| refuse("LogNormal", error))?;
    let theory =
        statrs::distribution::LogNormal::new(median.ln(), sigma).map_err(|error| refuse("LogNormal", error))?;
    Ok(Box::new(Closed { sampler, theory, support: (0.0, f64::INFINITY), quantile_formula: true }))
}

/// P(X > x) = exp(−(x/scale)^shape).
pub fn weibull(shape: f64, scale: f64) -> Result<Box<dyn Delay>> {
    if !(0.01..=1e4).contains(&shape) || !scale.is_normal() {
        return Err(refuse("Weibull", "the shape must be 0.01 to 10000, the scale above 0"));
    }
    let sampler = rand_distr::Weibull::new(scale, shape).map_err(|error| refuse("Weibull", error))?;
    let theory = statrs::distribution::Weibull::new(shape, scale).map_err(|error| refuse("Weibull", error))?;
    Ok(Box::new(Closed { sampler, theory, support: (0.0, f64::INFINITY), quantile_formula: true }))
}

/// P(X > x) = (minimum/x)^shape for x ≥ minimum.
pub fn pareto(minimum: f64, shape: f64) -> Result<Box<dyn Delay>> {
    if !minimum.is_normal() {
        return Err(refuse(
            "Pareto",
            "the minimum must be above 0; for a law that begins at 0 use Exponential or Weibull",
        ));
    }
    let sampler = rand_distr::Pareto::new(minimum, shape).map_err(|error| refuse("Pareto", error))?;
    let theory = statrs::distribution::Pareto::new(minimum, shape).map_err(|error| refuse("Pareto", error))?;
    Ok(Box::new(Closed { sampler, theory, support: (minimum, f64::INFINITY), quantile_formula: true }))
}

/// A normal variable, given that it is not negative. Moments: Johnson, Kotz and Balakrishnan, *Continuous Univariate
/// Distributions* 1 (1994), section 10.1, with a = −mean/sd and h = φ(a)/(1 − Φ(a)):
/// E = mean + sd·h, Var = sd²(1 + a·h − h²).
#[derive(Debug)]
pub struct TruncatedNormal {
    mean: f64,
    sd: f64,
    normal: Normal,
}

impl TruncatedNormal {
    /// `mean` and `sd` are those before the truncation.
    pub fn new(mean: f64, sd: f64) -> Result<TruncatedNormal> {
        if mean < -4.0 * sd {
            let reason = "the mean lies more than 4 sd below 0, where nearly every draw is refused; \
                          use Exponential, which such a tail resembles";
            return Err(refuse("TruncatedNormal", reason));
        }
        let normal = Normal::new(mean, sd).map_err(|error| refuse("TruncatedNormal", error))?;
        Ok(TruncatedNormal { mean, sd, normal })
    }

    fn hazard(&self) -> f64 {
        use statrs::distribution::Continuous;
        self.sd * self.normal.pdf(0.0) / self.normal.sf(0.0)
    }
}

impl Delay for TruncatedNormal {
    fn sample(&mut self, _: u64, random: &mut Generator) -> f64 {
        loop {
            let standard: f64 = StandardNormal.sample(random);
            let value = self.mean + self.sd * standard;
            if value >= 0.0 {
                return value;
            }
        }
    }
    fn mean(&self) -> f64 {
        self.mean + self.sd * self.hazard()
    }
    fn variance(&self) -> f64 {
        let (a, h) = (-self.mean / self.sd, self.hazard());
        self.sd * self.sd * (1.0 + a * h - h * h)
    }
    fn support(&self) -> (f64, f64) {
        (0.0, f64::INFINITY)
    }
    fn cdf(&self, x: f64) -> Option<f64> {
        let below = self.normal.cdf(0.0);
        Some(if x < 0.0 { 0.0 } else { (self.normal.cdf(x) - below) / (1.0 - below) })
    }
}

/// `shift` + |N(0, scale²)|: mean shift + scale·√(2/π), variance scale²(1 − 2/π).
#[derive(Debug)]
pub struct HalfNormal {
    shift: f64,
    scale: f64,
}

impl HalfNormal {
    /// By the standard deviation of the normal variable whose size it is.
    pub fn new(shift: f64, scale: f64) -> HalfNormal {
        HalfNormal { shift, scale }
    }
}

impl Delay for HalfNormal {
    fn sample(&mut self, _: u64, random: &mut Generator) -> f64 {
        let standard: f64 = StandardNormal.sample(random);
        self.shift + self.scale * standard.abs()
    }
    fn mean(&self) -> f64 {
        self.shift + self.scale * std::f64::consts::FRAC_2_PI.sqrt()
    }
    fn variance(&self) -> f64 {
        self.scale * self.scale * (1.0 - std::f64::consts::FRAC_2_PI)
    }
    fn support(&self) -> (f64, f64) {
        (self.shift, f64::INFINITY)
    }
    fn cdf(&self, x: f64) -> Option<f64> {
        let z = (x - self.shift) / self.scale;
        // erf(z/√2), by way of the gamma function: statrs's own erf has nine digits.
        Some(if z <= 0.0 { 0.0 } else { statrs::function::gamma::gamma_lr(0.5, z * z / 2.0) })
    }
}
