//! Integrals of functions that are smooth but for their ends.

use statrs::function::gamma::{gamma_lr, gamma_ur};
use std::f64::consts::{FRAC_PI_2, PI};

/// The rule of Gauss and Legendre.
pub(super) struct Rule {
    /// Where it looks, within (−1, 1).
    pub nodes: Vec<f64>,
    weights: Vec<f64>,
}

impl Rule {
    /// With that many nodes, the roots of the Legendre polynomial of that degree.
    pub(super) fn new(points: usize) -> Rule {
        let n = points as f64;
        let (mut nodes, mut weights) = (Vec::new(), Vec::new());
        for index in 0..points {
            let mut x = (PI * (index as f64 + 0.75) / (n + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..20 {
                let (mut before, mut value) = (1.0, x);
                for degree in 2..=points {
                    let k = degree as f64;
                    (before, value) = (value, ((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k);
                }
                slope = n * (x * value - before) / (x * x - 1.0);
                x -= value / slope;
            }
            nodes.push(x);
            weights.push(2.0 / ((1.0 - x * x) * slope * slope));
        }
        Rule { nodes, weights }
    }

    /// Where it looks between `low` and `high`, and what each place counts for.
    pub(super) fn points(&self, low: f64, high: f64) -> impl Iterator<Item = (f64, f64)> + '_ {
        let (middle, half) = ((low + high) / 2.0, (high - low) / 2.0);
        self.nodes.iter().zip(&self.weights).map(move |(x, weight)| (middle + half * x, half * weight))
    }

    /// ∫ f from the first of `ends` to the last, piece by piece.
    pub(super) fn integral(&self, ends: &[f64], mut f: impl FnMut(f64) -> f64) -> f64 {
        let mut piece = |low, high| self.points(low, high).map(|(x, weight)| weight * f(x)).sum::<f64>();
        ends.windows(2).map(|ends| piece(ends[0], ends[1])).sum()
    }
}

/// ∫ f from 0 to ∞ of what may have a power of x at either end, with x = exp(π/2 sinh t) (Takahasi and Mori, 1974).
pub(super) fn half_line(mut f: impl FnMut(f64) -> f64) -> f64 {
    let step = 1.0 / 32.0;
    let term = |index: i32| {
        let t = f64::from(index) * step;
        let x = (FRAC_PI_2 * t.sinh()).exp();
        let value = f(x) * x * FRAC_PI_2 * t.cosh();
        if value.is_finite() { value } else { 0.0 }
    };
    step * (-208..=208).map(term).sum::<f64>()
}

/// Ends of pieces for what varies on the scale of the distance from 0, and nowhere faster than within `least_s`: from 0 to `high_s`.
pub(super) fn pieces(scale_s: f64, least_s: f64, high_s: f64) -> Vec<f64> {
    let mut ends = vec![0.0, scale_s * 1e-6];
    while ends[ends.len() - 1] < high_s {
        let at = ends[ends.len() - 1];
        ends.push(at + (at / 4.0).min(least_s.max(at / 6.0)));
    }
    ends
}

/// From where on `tail` is below 10⁻¹⁸, looking from `scale_s` on in doublings.
pub(super) fn end_of(scale_s: f64, tail: impl Fn(f64) -> f64) -> f64 {
    let mut high = scale_s;
    for _ in 0..60 {
        if tail(high) < 1e-18 {
            break;
        }
        high *= 2.0;
    }
    high
}

/// P(Z > z) of a standard normal variable, by the incomplete gamma function: the error function at hand has nine digits only.
pub(super) fn normal_tail(z: f64) -> f64 {
    let square = z * z / 2.0;
    match z {
        _ if square == 0.0 => 0.5,
        _ if z > 0.0 => gamma_ur(0.5, square) / 2.0,
        _ => (1.0 + gamma_lr(0.5, square)) / 2.0,
    }
}
