//! Which learning rates are stable under lag, and how far from the minimum noise keeps a run: on a quadratic, f(w) = h w²/2, with
//! α = learning rate × h. Lags count versions, a fresh gradient has lag 0.

use std::f64::consts::{FRAC_PI_4, PI};

/// The edge of stability under a constant lag: w(t+1) = w(t) − α w(t − lag) converges if and only if 0 < α < 2 sin(π / (2 (2 lag + 1))).
/// At the edge it oscillates with period 4 lag + 2. Equal workers with constant compute times have this recursion, with lag n − 1.
/// (Levin and May, 1976, on x(t+1) = x(t) − α x(t − k).)
pub fn constant_lag_edge(lag: u64) -> f64 {
    2.0 * (PI / (2.0 * (2.0 * lag as f64 + 1.0))).sin()
}

/// The α at which that recursion converges fastest, lag^lag / (lag + 1)^(lag + 1), and its rate a step there, lag / (lag + 1): the
/// characteristic polynomial then has a double root, which is the condition for the least modulus.
pub fn constant_lag_fastest(lag: u64) -> (f64, f64) {
    let lag = lag as f64;
    let rate = lag / (lag + 1.0);
    (rate.powf(lag) / (lag + 1.0), rate)
}

/// The variance of w in the long run under a constant lag, in units of (learning rate × deviation of the gradient's noise)²:
/// tan(π/4 + (2 lag + 1) θ/4) / (2 sin θ) with θ = 2 asin(α/2). `None` beyond the edge. Noise is independent from step to step, of any law.
/// Derived from the Yule–Walker equations of the recursion; for lag 0 it is 1 / (α (2 − α)).
pub fn constant_lag_variance(alpha: f64, lag: u64) -> Option<f64> {
    if !(0.0..constant_lag_edge(lag)).contains(&alpha) || alpha == 0.0 {
        return None;
    }
    let theta = 2.0 * (alpha / 2.0).asin();
    Some((FRAC_PI_4 + (2.0 * lag as f64 + 1.0) * theta / 4.0).tan() / (2.0 * theta.sin()))
}

/// The same for n equal workers with exponential compute times, whose lag is memoryless: (1 + n α) / (α (2 + α − n α²)). `None` beyond
/// the edge of the mean square. Derived: the second moments of w and of what the workers hold close among themselves.
pub fn memoryless_variance(alpha: f64, workers: u64) -> Option<f64> {
    let n = workers as f64;
    (alpha > 0.0 && alpha < memoryless_edge(workers))
        .then(|| (1.0 + n * alpha) / (alpha * (2.0 + alpha - n * alpha * alpha)))
}

/// Up to where E w² converges for n equal workers with exponential compute times: (1 + √(1 + 8 n)) / (2 n), far beyond the edge of a
/// constant lag of the same mean. Derived from the same second moments.
pub fn memoryless_edge(workers: u64) -> f64 {
    let n = workers as f64;
    (1.0 + (1.0 + 8.0 * n).sqrt()) / (2.0 * n)
}

/// Up to where E w converges for them: 2 (2 n − 1).
pub fn memoryless_mean_edge(workers: u64) -> f64 {
    2.0 * (2.0 * workers as f64 - 1.0)
}

/// The momentum that memoryless lag amounts to: E w(t+1) − E w(t) = μ (E w(t) − E w(t−1)) − (1 − μ) α E w(t) with μ = 1 − 1/n (Mitliagkas,
/// Zhang, Hadjis and Ré, 2016, theorem 3), from t = 1 on, with E w(1) = (1 − α) w(0). With K of n workers a step, 1 − K/n.
pub fn implicit_momentum(workers: u64, gradients_per_step: u64) -> f64 {
    1.0 - gradients_per_step as f64 / workers as f64
}

/// E w(t) for t from 0 on, by that recursion, for w(0) = 1 and one gradient a step.
pub fn memoryless_mean(alpha: f64, workers: u64, steps: usize) -> Vec<f64> {
    let mu = implicit_momentum(workers, 1);
    let mut mean = vec![1.0, 1.0 - alpha];
    while mean.len() <= steps {
        let (before, now) = (mean[mean.len() - 2], mean[mean.len() - 1]);
        mean.push(now + mu * (now - before) - (1.0 - mu) * alpha * now);
    }
    mean.truncate(steps + 1);
    mean
}
