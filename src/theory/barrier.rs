//! How long a step takes that waits for the K fastest of P equal workers (order statistics), network and server without time of their own.

use statrs::function::gamma::ln_gamma;

/// Exponential compute times of that mean, after a constant `shift`: shift + mean (H(P) − H(P − K)). For K = P this is synchronous SGD;
/// K-async steps take as long (Dutta, Joshi, Ghosh, Dube and Nagpurkar, 2018).
pub fn exponential(shift_s: f64, mean_s: f64, workers: u64, k: u64) -> f64 {
    shift_s + mean_s * (workers - k + 1..=workers).map(|place| 1.0 / place as f64).sum::<f64>()
}

/// Pareto compute times from `minimum` on: minimum Γ(P + 1) Γ(P − K + 1 − 1/a) / (Γ(P − K + 1) Γ(P + 1 − 1/a)) for the shape a; infinite
/// where a (P − K + 1) ≤ 1. (David and Nagaraja, *Order Statistics*, 2003.)
pub fn pareto(minimum_s: f64, shape: f64, workers: u64, k: u64) -> f64 {
    let (p, rest, inverse) = (workers as f64, (workers - k) as f64, 1.0 / shape);
    if rest + 1.0 <= inverse {
        return f64::INFINITY;
    }
    let logs = ln_gamma(p + 1.0) + ln_gamma(rest + 1.0 - inverse) - ln_gamma(rest + 1.0) - ln_gamma(p + 1.0 - inverse);
    minimum_s * logs.exp()
}

/// Where a step takes the next K gradients, whoever computed them, and their workers go on: K mean / P, for any law, in the long run.
pub fn any_k(mean_s: f64, workers: u64, k: u64) -> f64 {
    k as f64 * mean_s / workers as f64
}
