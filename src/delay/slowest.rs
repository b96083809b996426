//! The slowest of several independent draws: how long a group takes that is complete when all of it is.

use super::Delay;
use crate::kernel::Generator;

/// The maximum of `count` draws of a law with a distribution function F: its own is Fⁿ.
#[derive(Debug)]
pub struct Slowest {
    count: u64,
    law: Box<dyn Delay>,
    mean: f64,
    variance: f64,
}

impl Slowest {
    /// Its moments are integrals of the tail 1 − Fⁿ, computed here once.
    pub fn new(count: u64, law: Box<dyn Delay>) -> Result<Slowest, &'static str> {
        if count > 1 << 20 {
            return Err("give at most 1,048,576 draws");
        }
        let (low, high) = law.support();
        if law.cdf(low).is_none() {
            return Err("needs a law with a distribution function, so no Sum");
        }
        let tail = |x: f64| 1.0 - law.cdf(low + x).unwrap_or(1.0).powi(count as i32);
        let moment = |of: &dyn Fn(f64) -> f64| integrate(of, law.mean() - low, high - low);
        // The tail of the maximum is as heavy as that of one draw.
        let mean = if law.mean().is_finite() { low + moment(&tail) } else { f64::INFINITY };
        let variance = if law.variance().is_finite() {
            (moment(&|x| 2.0 * x * tail(x)) - (mean - low).powi(2)).max(0.0)
        } else {
            f64::INFINITY
        };
        Ok(Slowest { count, law, mean, variance })
    }
}

impl Delay for Slowest {
    fn sample(&mut self, index: u64, random: &mut Generator) -> f64 {
        let first = index * self.count;
        (first..first + self.count).map(|index| self.law.sample(index, random)).fold(0.0, f64::max)
    }
    fn mean(&self) -> f64 {
        self.mean
    }
    fn variance(&self) -> f64 {
        self.variance
    }
    fn support(&self) -> (f64, f64) {
        self.law.support()
    }
    fn cdf(&self, x: f64) -> Option<f64> {
        self.law.cdf(x).map(|p| p.powi(self.count as i32))
    }
    fn quantile(&self, p: f64) -> Option<f64> {
        self.law.quantile(p.powf(1.0 / self.count as f64))
    }
}

/// ∫ f from 0 to `end`, which may be infinite, of a function that falls off beyond `scale`: over intervals that double.
fn integrate(f: &dyn Fn(f64) -> f64, scale: f64, end: f64) -> f64 {
    let (mut from, mut to, mut sum) = (0.0, scale.min(end), 0.0);
    while from < to && to.is_finite() {
        let part = simpson(f, [from, (from + to) / 2.0, to], 1e-10 * (sum + scale * f(from)), 50);
        sum += part;
        if part <= 1e-13 * sum {
            break;
        }
        (from, to) = (to, (2.0 * to).min(end));
    }
    sum
}

/// Adaptive Simpson integration (Lyness, 1969) over the points a, b, c; steps cost a few more halvings.
fn simpson(f: &dyn Fn(f64) -> f64, [a, b, c]: [f64; 3], tolerance: f64, depth: u32) -> f64 {
    let rule = |a: f64, b: f64, c: f64| (c - a) / 6.0 * (f(a) + 4.0 * f(b) + f(c));
    let (left, right) = ((a + b) / 2.0, (b + c) / 2.0);
    let whole = rule(a, b, c);
    let halves = rule(a, left, b) + rule(b, right, c);
    let off = (halves - whole) / 15.0;
    if depth == 0 || (depth < 46 && off.abs() <= tolerance) {
        return halves + off;
    }
    simpson(f, [a, left, b], tolerance / 2.0, depth - 1) + simpson(f, [b, right, c], tolerance / 2.0, depth - 1)
}
