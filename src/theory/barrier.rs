//! How long a step takes that waits for the K fastest of P equal workers (order statistics), network and server without time of their own.
//! The same is an upper bound where those that are not among the K go on with what they have (K-async), for laws whose rest is stochastically less
//! than a new draw, such as uniform and shifted exponential ones; for exponential ones it is exact (Dutta and others, 2018).
//! Everywhere 1 ≤ K ≤ P, but for [`any_k`] and [`batch_sync`], which need not have P of them.

use super::quadrature::{Rule, end_of, normal_tail, pieces};
use statrs::function::gamma::{gamma_lr, ln_gamma};

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

/// The variance of the time of exponential compute times of that mean: mean² Σ 1/place² over the places from P − K + 1 to P.
pub fn exponential_variance(mean_s: f64, workers: u64, k: u64) -> f64 {
    mean_s * mean_s * (workers - k + 1..=workers).map(|place| (place as f64).powi(-2)).sum::<f64>()
}

/// Compute times evenly between the two: low + (high − low) K / (P + 1).
pub fn uniform(low_s: f64, high_s: f64, workers: u64, k: u64) -> f64 {
    low_s + (high_s - low_s) * k as f64 / (workers as f64 + 1.0)
}

/// Log-normal compute times, with that median and deviation of the logarithm, by [`any_law`].
pub fn log_normal(median_s: f64, sigma: f64, workers: u64, k: u64) -> f64 {
    median_s * any_law(|x| normal_tail(x.ln() / sigma), (sigma * sigma / 2.0).exp(), workers, k)
}

/// Any law whose P(X > x) is smooth above 0 and, P − K + 1 of them being at work, ends fast enough: the integral over t of the probability that
/// fewer than K of P are done, Σ over j < K of C(P, j) F^j (1 − F)^(P − j). `mean_s` is the scale on which it is looked at.
pub fn any_law(survival: impl Fn(f64) -> f64, mean_s: f64, workers: u64, k: u64) -> f64 {
    let waits = |t: f64| {
        let left = if t > 0.0 { survival(t) } else { 1.0 };
        let (mut coefficient, mut sum) = (1.0, 0.0);
        for done in 0..k {
            sum += coefficient * (1.0 - left).powi(done as i32) * left.powi((workers - done) as i32);
            coefficient *= (workers - done) as f64 / (done + 1) as f64;
        }
        sum
    };
    let high = end_of(mean_s, |t| waits(t) * t / mean_s);
    Rule::new(20).integral(&pieces(mean_s, 0.0, high), waits)
}

/// A step that waits for K gradients of its own version, whoever computes them, all P workers beginning anew at each (K-batch-sync), of compute
/// times that are a constant `shift` and then exponential of that mean: the integral over t of the probability that fewer than K are done,
/// where a worker has done k in t with the probability of a gamma law, and the numbers of P workers add up.
pub fn batch_sync(shift_s: f64, mean_s: f64, workers: u64, k: u64) -> f64 {
    let most = k as usize;
    let done_by = |count: usize, t: f64| {
        let rest = (t - count as f64 * shift_s) / mean_s;
        if count == 0 {
            1.0
        } else if rest <= 0.0 {
            0.0
        } else {
            gamma_lr(count as f64, rest)
        }
    };
    let waits = |t: f64| {
        let one: Vec<f64> = (0..most).map(|count| done_by(count, t) - done_by(count + 1, t)).collect();
        let mut all = one.clone();
        for _ in 1..workers {
            all = (0..most).map(|sum| (0..=sum).map(|own| one[own] * all[sum - own]).sum()).collect();
        }
        all.iter().sum::<f64>()
    };
    // It changes its form at multiples of the shift; K gradients take no longer than one worker's K.
    let high = end_of(k as f64 * (shift_s + mean_s), waits);
    let mut ends = Vec::new();
    for count in 0..=k {
        let from = count as f64 * shift_s;
        let until = if count == k { high } else { from + shift_s };
        // Later than this after a multiple it is flat until the next.
        let settled = until.min(from + (60 + 4 * k) as f64 * mean_s);
        let pieces = ((settled - from) / mean_s * 2.0).ceil() as u64;
        ends.extend((0..pieces).map(|piece| from + piece as f64 * mean_s / 2.0));
    }
    ends.push(high);
    Rule::new(20).integral(&ends, waits)
}

/// Constant compute times of unequal workers: the time of the K-th fastest.
pub fn constant(compute_s: &[f64], k: usize) -> f64 {
    let mut sorted = compute_s.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[k - 1]
}

/// How many gradients unequal workers with those mean compute times make a second if none waits: Σ 1/mean, for any laws, in the long run.
pub fn unhindered_per_s(means_s: &[f64]) -> f64 {
    means_s.iter().map(|mean| 1.0 / mean).sum()
}
