//! How lags in versions vary with the law of compute times: n equal workers that always compute, whose gradients are steps of their own,
//! without time for network and server. Given that a gradient takes x, its lag is the number of times that n − 1 independent renewal
//! processes in their long run renew within x. Its mean is n − 1 for any law; its variance is (n − 1) E V + (n − 1)² c², with c² the squared
//! coefficient of variation of a compute time and E V the mean, over x, of the variance of one such number. Derived here. No unit of time
//! enters: laws that differ in scale alone have the same lags.

use super::quadrature::{Rule, end_of, half_line, normal_tail, pieces};
use std::f64::consts::{PI, SQRT_2};

/// What of a law of compute times decides how lags vary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Renewal {
    /// c², the variance of a compute time over its squared mean; infinite where that is.
    pub squared_cv: f64,
    /// E V = (2 / mean) Σ over k ≥ 1 of E (X − Sₖ)⁺ − c², with Sₖ the sum of k compute times independent of X.
    pub count_variance: f64,
    /// P(lag = 0) of two workers: 1 − E min(X₁, X₂) / mean.
    pub fresh_of_two: f64,
}

impl Renewal {
    /// Of mean, E X², E min(X₁, X₂) and Σ E (X − Sₖ)⁺.
    fn new(mean: f64, square: f64, least_of_two: f64, excess: f64) -> Renewal {
        let squared_cv = square / (mean * mean) - 1.0;
        Renewal {
            squared_cv,
            count_variance: 2.0 * excess / mean - squared_cv,
            fresh_of_two: 1.0 - least_of_two / mean,
        }
    }

    /// The variance of lags in versions, for two workers or more: infinite where c² is.
    pub fn lag_variance(&self, workers: u64) -> f64 {
        let others = workers as f64 - 1.0;
        if self.squared_cv.is_infinite() {
            return f64::INFINITY;
        }
        others * self.count_variance + others * others * self.squared_cv
    }

    /// The correlation of the lag of a gradient in versions with its age in seconds: (n − 1) c over the deviation of lags, as the mean lag
    /// given the age is n − 1 times the age over its mean.
    pub fn lag_correlation(&self, workers: u64) -> f64 {
        (workers as f64 - 1.0) * (self.squared_cv / self.lag_variance(workers)).sqrt()
    }
}

/// Constant compute times: lags do not vary. (Two workers meet at the same time or never: `fresh_of_two` is for those that do not.)
pub fn constant() -> Renewal {
    Renewal { squared_cv: 0.0, count_variance: 0.0, fresh_of_two: 0.0 }
}

/// Exponential ones: c² = E V = 1, and lags are geometric.
pub fn exponential() -> Renewal {
    Renewal { squared_cv: 1.0, count_variance: 1.0, fresh_of_two: 0.5 }
}

/// Sums of `shape` equal exponential times. X has i of its phases before Sₖ ends with the negative binomial probability
/// C(rk − 1 + i, i) 2^(−rk − i), and is then longer by (r − i) phases on average.
pub fn erlang(shape: u64) -> Renewal {
    let r = shape as f64;
    let (mut excess, mut k) = (0.0, 1);
    loop {
        let term = phases_left(shape * k, shape);
        excess += term;
        // The terms fall at least as fast as 2⁻ᵏ once they are small.
        if term <= 1e-18 * excess {
            break;
        }
        k += 1;
    }
    let least_of_two = r - (0..shape).map(|i| negative_binomial(shape, i) * (r - i as f64)).sum::<f64>();
    Renewal::new(r, r * (r + 1.0), least_of_two, excess)
}

/// The mean number of the `own` phases that are left when `others` have ended, all phases being equal and exponential.
fn phases_left(others: u64, own: u64) -> f64 {
    (0..own).map(|done| negative_binomial(others, done) * (own - done) as f64).sum()
}

/// The probability that of two equal Poisson processes one has `done` events when the other has its event number `others`.
fn negative_binomial(others: u64, done: u64) -> f64 {
    let start = (-(others as f64) * 2f64.ln()).exp();
    (1..=done).fold(start, |probability, i| probability * (others + i - 1) as f64 / (2.0 * i as f64))
}

/// Evenly between the two: with width w and (xₖ) = (1 − (k − 1) low / w)⁺, E (X − Sₖ)⁺ = w xₖ^(k + 2) / (k + 2)!, as a sum of k + 1 uniform
/// numbers has the density x^k / k! below 1.
pub fn uniform(low_s: f64, high_s: f64) -> Renewal {
    let (mean, width) = ((low_s + high_s) / 2.0, high_s - low_s);
    let (mut excess, mut factorial) = (0.0, 2.0);
    for k in 1..170u32 {
        factorial *= f64::from(k + 2);
        let x = 1.0 - f64::from(k - 1) * low_s / width;
        if x <= 0.0 {
            break;
        }
        excess += width * x.powi(k as i32 + 2) / factorial;
    }
    Renewal::new(mean, mean * mean + width * width / 12.0, low_s + width / 3.0, excess)
}

/// `shift_s` and then an exponential time of mean `mean_s`: Σ E (X − Sₖ)⁺ = mean / (2 − e^(−shift / mean)), a geometric series.
pub fn shifted_exponential(shift_s: f64, mean_s: f64) -> Renewal {
    let mean = shift_s + mean_s;
    let excess = mean_s / (2.0 - (-shift_s / mean_s).exp());
    Renewal::new(mean, mean * mean + mean_s * mean_s, shift_s + mean_s / 2.0, excess)
}

/// Exponential times whose mean is drawn each time, with the given probabilities: Σ E (X − Sₖ)⁺ = Σ over j of pⱼ mⱼ L(1/mⱼ) / (1 − L(1/mⱼ)),
/// with the Laplace transform L of the law.
pub fn hyperexponential(probabilities: &[f64], means_s: &[f64]) -> Renewal {
    let parts = || probabilities.iter().zip(means_s);
    let sum = |of: &dyn Fn(f64) -> f64| parts().map(|(p, &m)| p * of(m)).sum::<f64>();
    // At the rate 1/m of a branch: 1 − L(1/m) = Σ pⱼ mⱼ / (m + mⱼ).
    let excess = sum(&|m| m * sum(&|other| m / (m + other)) / sum(&|other| other / (m + other)));
    let least_of_two = sum(&|m| sum(&|other| m * other / (m + other)));
    Renewal::new(sum(&|m| m), 2.0 * sum(&|m| m * m), least_of_two, excess)
}

/// From a minimum on, P(X > x) = (minimum / x)^shape, for shape > 2; below that variance and lags' variance are infinite. As the excess over s
/// is s^(1 − a) / (a − 1) on average for every s ≥ 1, Σ E (X − Sₖ)⁺ = 1 / Γ(a) times the integral of t^(a − 2) L(t) / (1 − L(t)).
pub fn pareto(shape: f64) -> Renewal {
    let mean = shape / (shape - 1.0);
    let fresh_of_two = 1.0 / (2.0 * shape - 1.0);
    if shape <= 2.0 {
        return Renewal { squared_cv: f64::INFINITY, count_variance: f64::INFINITY, fresh_of_two };
    }
    let density = |x: f64| shape * (1.0 + x).powf(-shape - 1.0);
    let excess = half_line(|t| {
        let gone = half_line(|x| density(x) * (-t * (1.0 + x)).exp());
        let left = half_line(|x| density(x) * -(-t * (1.0 + x)).exp_m1());
        t.powf(shape - 2.0) * gone / left
    }) / statrs::function::gamma::gamma(shape);
    let squared_cv = 1.0 / (shape * (shape - 2.0));
    Renewal { squared_cv, count_variance: 2.0 * excess / mean - squared_cv, fresh_of_two }
}

/// Log-normal, with that deviation of the logarithm: c² = e^(σ²) − 1, P(lag = 0) of two workers erf(σ/2), and E V by [`of_density`].
pub fn log_normal(sigma: f64) -> Renewal {
    let density = |x: f64| {
        let z = x.ln() / sigma;
        (-z * z / 2.0).exp() / (x * sigma * (2.0 * PI).sqrt())
    };
    let survival = |x: f64| normal_tail(x.ln() / sigma);
    let mean = (sigma * sigma / 2.0).exp();
    let squared_cv = (sigma * sigma).exp_m1();
    let count_variance = of_density(density, survival, mean, mean * squared_cv.sqrt()).count_variance;
    Renewal { squared_cv, count_variance, fresh_of_two: 1.0 - 2.0 * normal_tail(sigma / SQRT_2) }
}

/// Any law with a density that is bounded and smooth above 0, and with a deviation of no less than about a twentieth of its mean, from
/// P(X > x), mean and deviation. Σ E (X − Sₖ)⁺ is the integral of M(x) P(X > x), whose renewal function M is found piece by piece from its
/// equation M = F + M ∗ f, to about twelve digits; it takes a tenth of a second.
pub fn of_density(density: impl Fn(f64) -> f64, survival: impl Fn(f64) -> f64, mean_s: f64, sd_s: f64) -> Renewal {
    let high = end_of(mean_s, |x| survival(x) * (x / mean_s) * (x / mean_s));
    let ends = pieces(mean_s, sd_s / 3.0, high);
    let rule = Rule::new(14);
    let mut function = Interpolated::new(&rule, ends.clone());
    for piece in 0..ends.len() - 1 {
        let values = renewal_function_of_piece(&function, piece, &density, &survival);
        function.values.push(values);
    }
    let excess = rule.integral(&ends, |x| if x > 0.0 { function.at(x) * survival(x) } else { 0.0 });
    let least_of_two = rule.integral(&ends, |x| survival(x) * survival(x));
    Renewal::new(mean_s, mean_s * mean_s + sd_s * sd_s, least_of_two, excess)
}

/// A function that is a polynomial on each piece, through its values at Gauss nodes.
struct Interpolated<'a> {
    rule: &'a Rule,
    ends: Vec<f64>,
    /// Barycentric weights of the nodes.
    weights: Vec<f64>,
    values: Vec<Vec<f64>>,
}

impl Interpolated<'_> {
    fn new(rule: &Rule, ends: Vec<f64>) -> Interpolated<'_> {
        let apart = |x: f64| rule.nodes.iter().filter(|&&other| other != x).map(|other| x - other).product::<f64>();
        let weights = rule.nodes.iter().map(|&x| 1.0 / apart(x)).collect();
        Interpolated { rule, ends, weights, values: Vec::new() }
    }

    /// What each node of that piece counts for at x.
    fn shares(&self, piece: usize, x: f64) -> Vec<f64> {
        let (low, high) = (self.ends[piece], self.ends[piece + 1]);
        let place = (2.0 * x - low - high) / (high - low);
        if let Some(hit) = self.rule.nodes.iter().position(|&node| node == place) {
            return (0..self.weights.len()).map(|index| f64::from(u8::from(index == hit))).collect();
        }
        let raw: Vec<f64> =
            self.rule.nodes.iter().zip(&self.weights).map(|(node, weight)| weight / (place - node)).collect();
        let all: f64 = raw.iter().sum();
        raw.iter().map(|share| share / all).collect()
    }

    fn at(&self, x: f64) -> f64 {
        let piece = self.ends.partition_point(|&end| end < x).saturating_sub(1).min(self.values.len() - 1);
        self.shares(piece, x).iter().zip(&self.values[piece]).map(|(share, value)| share * value).sum()
    }
}

/// The values of the renewal function at the nodes of a piece, from those on all pieces before it.
fn renewal_function_of_piece(
    function: &Interpolated,
    piece: usize,
    density: &impl Fn(f64) -> f64,
    survival: &impl Fn(f64) -> f64,
) -> Vec<f64> {
    let (low, high) = (function.ends[piece], function.ends[piece + 1]);
    let points = function.rule.nodes.len();
    let (mut system, mut right) = (super::linear::zeros(points), vec![0.0; points]);
    for row in 0..points {
        let x = (low + high) / 2.0 + (high - low) / 2.0 * function.rule.nodes[row];
        // Both the density of u and the function of x − u vary with the distance from their 0: the pieces of both are needed.
        let mut cuts: Vec<f64> = function.ends.iter().filter(|&&end| end < x).flat_map(|&end| [end, x - end]).collect();
        cuts.sort_by(f64::total_cmp);
        cuts.dedup();
        let own = x - low;
        let (within, before): (Vec<f64>, Vec<f64>) = (
            cuts.iter().copied().filter(|&u| u <= own).collect(),
            cuts.iter().copied().filter(|&u| u >= own).collect(),
        );
        system[row][row] = 1.0;
        for part in within.windows(2) {
            for (u, weight) in function.rule.points(part[0], part[1]) {
                let mass = weight * density(u);
                system[row]
                    .iter_mut()
                    .zip(function.shares(piece, x - u))
                    .for_each(|(entry, share)| *entry -= mass * share);
            }
        }
        let known = function.rule.integral(&before, |u| density(u) * function.at(x - u));
        right[row] = 1.0 - survival(x) + known;
    }
    super::linear::solve(system, right)
}
