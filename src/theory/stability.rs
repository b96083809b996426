//! Which learning rates are stable under lag, and how far from the minimum noise keeps a run: on a quadratic, f(w) = h w²/2, with
//! α = learning rate × h. Lags count versions, a fresh gradient has lag 0.

use super::linear::{largest_root, spectral_radius};
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

/// E w(t) for t from 0 on, by that recursion, for w(0) = 1 and the mean of K gradients a step, of K different workers (K-async).
pub fn memoryless_mean(alpha: f64, workers: u64, gradients_per_step: u64, steps: usize) -> Vec<f64> {
    let mu = implicit_momentum(workers, gradients_per_step);
    let mut mean = vec![1.0, 1.0 - alpha];
    while mean.len() <= steps {
        let (before, now) = (mean[mean.len() - 2], mean[mean.len() - 1]);
        mean.push(now + mu * (now - before) - (1.0 - mu) * alpha * now);
    }
    mean.truncate(steps + 1);
    mean
}

/// By which factor a step multiplies E w in the long run there: the greater root of z² − (1 + μ − (1 − μ) α) z + μ = 0; where the roots are
/// complex, √μ whatever α is.
pub fn memoryless_mean_rate(alpha: f64, workers: u64, gradients_per_step: u64) -> f64 {
    let mu = implicit_momentum(workers, gradients_per_step);
    largest_root(&[mu, (1.0 - mu) * alpha - 1.0 - mu])
}

/// The variance of w in the long run where steps take the mean of the gradients of K different workers of n, which wait for the step
/// (K-async) and have exponential compute times, in units of (learning rate × deviation of the noise of one gradient)²: 1 / (2 α (1 − (n − K)/K
/// α d) − α² (1 + (K − 1) d)/K) with d = 1 / (1 + 2 α n (n − K) / (K (2 n − K − 1))), times 1/K for the mean of the noise. `None` where it is
/// not positive. Derived here; K = 1 is [`memoryless_variance`], K = n [`sync_variance`].
pub fn k_async_variance(alpha: f64, workers: u64, k: u64) -> Option<f64> {
    let (n, k) = (workers as f64, k as f64);
    if n == k {
        return sync_variance(alpha, workers);
    }
    let d = 1.0 / (1.0 + 2.0 * alpha * n * (n - k) / (k * (2.0 * n - k - 1.0)));
    let pull = 2.0 * alpha * (1.0 - (n - k) / k * alpha * d) - alpha * alpha * (1.0 + (k - 1.0) * d) / k;
    (alpha > 0.0 && pull > 0.0).then(|| 1.0 / (k * pull))
}

/// The variance of w in the long run for the mean of n fresh gradients a step, in the same units: 1 / (n α (2 − α)), for 0 < α < 2.
pub fn sync_variance(alpha: f64, workers: u64) -> Option<f64> {
    (alpha > 0.0 && alpha < 2.0).then(|| 1.0 / (workers as f64 * alpha * (2.0 - alpha)))
}

/// By which factor a step multiplies E w² in the long run for n equal workers with exponential compute times: the greatest eigenvalue of the
/// recursion of E w², E w r, E r² and E r r′, with r and r′ what two workers hold. Derived here.
pub fn memoryless_square_rate(alpha: f64, workers: u64) -> f64 {
    if workers == 1 {
        return (1.0 - alpha) * (1.0 - alpha);
    }
    let n = workers as f64;
    let rest = (n - 1.0) / n;
    let square = [1.0, -2.0 * alpha, alpha * alpha, 0.0];
    let mixed = [1.0 / n, -2.0 * alpha / n + rest, alpha * alpha / n, -alpha * rest];
    let held = [1.0 / n, -2.0 * alpha / n, alpha * alpha / n + rest, 0.0];
    let pair = [0.0, 2.0 / n, 0.0, (n - 2.0 - 2.0 * alpha) / n];
    spectral_radius(&[square, mixed, held, pair].map(|row| row.to_vec()).to_vec())
}

/// The α at which E w² converges fastest for them, and its rate there, by golden sections.
pub fn memoryless_fastest(workers: u64) -> (f64, f64) {
    let section = (5f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (0.0, memoryless_edge(workers));
    while high - low > 1e-12 * high {
        let (left, right) = (high - section * (high - low), low + section * (high - low));
        if memoryless_square_rate(left, workers) < memoryless_square_rate(right, workers) {
            high = right;
        } else {
            low = left;
        }
    }
    let alpha = (low + high) / 2.0;
    (alpha, memoryless_square_rate(alpha, workers))
}

/// By which factor a step multiplies w in the long run under a constant lag, above 1 beyond the edge: the greatest modulus ρ of a root of
/// z^lag (1 − z) = α. Up to the fastest α it is real, and beyond lag / (lag + 1); from there on its angle θ grows from 0, with ρ = sin(lag θ) /
/// sin((lag + 1) θ) and α = ρ^lag sin θ / sin((lag + 1) θ). Found by halving. Derived.
pub fn constant_lag_rate(alpha: f64, lag: u64) -> f64 {
    if lag == 0 {
        return (1.0 - alpha).abs();
    }
    let tau = lag as f64;
    let (fastest, least) = constant_lag_fastest(lag);
    if alpha <= fastest {
        return halve(least, 1.0, |root| root.powf(tau) * (1.0 - root) > alpha);
    }
    let modulus = |theta: f64| (tau * theta).sin() / ((tau + 1.0) * theta).sin();
    let step = |theta: f64| modulus(theta).powf(tau) * theta.sin() / ((tau + 1.0) * theta).sin();
    modulus(halve(0.0, PI / (tau + 1.0), |theta| step(theta) < alpha))
}

/// Where `below` turns from true to false between the two.
fn halve(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// The period in steps with which w oscillates at the edge of a constant lag: 4 lag + 2.
pub fn constant_lag_period(lag: u64) -> u64 {
    4 * lag + 2
}

/// w(t) for t from 0 on under a constant lag, w(0) = 1, all workers having read version 0 at first: w(t + 1) = w(t) − α w(t − lag).
pub fn constant_lag_iterates(alpha: f64, lag: usize, steps: usize) -> Vec<f64> {
    let mut w = vec![1.0f64];
    while w.len() <= steps {
        let t = w.len() - 1;
        w.push(w[t] - alpha * w[t.saturating_sub(lag)]);
    }
    w
}

/// The best learning rate for curvatures between two ends under a constant lag, and its rate a step: where the flattest direction, which is
/// too slow, and the steepest, which is near its edge, converge equally fast.
pub fn constant_lag_best(flattest: f64, steepest: f64, lag: u64) -> (f64, f64) {
    let rate = |learning_rate: f64, curvature: f64| constant_lag_rate(learning_rate * curvature, lag);
    let (low, high) = (constant_lag_fastest(lag).0 / steepest, constant_lag_edge(lag) / steepest);
    let learning_rate = halve(low, high, |middle| rate(middle, steepest) < rate(middle, flattest));
    (learning_rate, rate(learning_rate, steepest).max(rate(learning_rate, flattest)))
}

/// The edge for the α before it is multiplied by what gradients of that lag count for: the edge of a constant lag over `weight`. With 1 / lag
/// or 1 / (1 + lag) it tends to π/2; with 1 / √(1 + lag) it still tends to 0.
pub fn scaled_lag_edge(lag: u64, weight: f64) -> f64 {
    constant_lag_edge(lag) / weight
}
