//! Failures, and what is saved between them. Failures are memoryless, `between_s` apart on average, while the server works and writes.

/// The time of work between two checkpoints, each `write_s` long, with which a run is done soonest: M (1 + W₀(−e^(−δ/M − 1))), whatever a
/// restart costs. The minimum of [`makespan_s`] over the length of a segment (Daly, 2006, whose series approximates it).
pub fn best_interval_s(between_s: f64, write_s: f64) -> f64 {
    // With u = τ/M it is the root of (1 − u) e^u = e^(−δ/M), which is where it falls from 1 at 0 to 0 at 1.
    let target = (-write_s / between_s).exp();
    let mut u = (2.0 * write_s / between_s).sqrt().min(0.5);
    for _ in 0..100 {
        let step = ((1.0 - u) * u.exp() - target) / (-u * u.exp());
        let next = (u - step).clamp(u / 2.0, (1.0 + u) / 2.0);
        if (next - u).abs() <= f64::EPSILON * u {
            break;
        }
        u = next;
    }
    u * between_s
}

/// Young's rule for the same (1974): √(2 δ M).
pub fn young_interval_s(between_s: f64, write_s: f64) -> f64 {
    (2.0 * write_s * between_s).sqrt()
}

/// Daly's higher order (2006): √(2 δ M) (1 + ⅓ √(δ / 2M) + (δ / 2M)/9) − δ for δ < 2M, else M.
pub fn daly_interval_s(between_s: f64, write_s: f64) -> f64 {
    let x = write_s / (2.0 * between_s);
    if x >= 1.0 {
        return between_s;
    }
    young_interval_s(between_s, write_s) * (1.0 + x.sqrt() / 3.0 + x / 9.0) - write_s
}

/// The mean time of a segment of `length_s` (work and checkpoint), which begins again after each failure: (M + R)(e^(L/M) − 1), or
/// M e^(R/M) (e^(L/M) − 1) if failures can strike the restart, too, which takes R. Derived: a geometric number of attempts.
pub fn segment_s(length_s: f64, between_s: f64, restart_s: f64, restart_can_fail: bool) -> f64 {
    let attempts = (length_s / between_s).exp_m1();
    let each = if restart_can_fail { between_s * (restart_s / between_s).exp() } else { between_s + restart_s };
    each * attempts
}

/// Of such segments a run needs so many, not necessarily a whole number.
pub fn makespan_s(segments: f64, length_s: f64, between_s: f64, restart_s: f64, restart_can_fail: bool) -> f64 {
    segments * segment_s(length_s, between_s, restart_s, restart_can_fail)
}

/// The mean work that a failure costs, given that it strikes a segment of `length_s`: M − L / (e^(L/M) − 1).
pub fn lost_s(length_s: f64, between_s: f64) -> f64 {
    between_s - length_s / (length_s / between_s).exp_m1()
}

/// The mean time of a gradient of a worker that fails: what is in progress is lost, and begins anew after the repair. Constant compute times
/// are segments, (M + R)(e^(c/M) − 1); of exponential ones, being memoryless, nothing is lost, c (1 + R/M).
pub fn crashing_worker_s(compute_s: f64, is_exponential: bool, between_s: f64, repair_s: f64) -> f64 {
    if is_exponential {
        return compute_s * (1.0 + repair_s / between_s);
    }
    segment_s(compute_s, between_s, repair_s, false)
}

/// The share of the time in which something is up that fails after `between_s` and is repaired in `repair_s` on average, whatever the laws
/// (renewal theory).
pub fn availability(between_s: f64, repair_s: f64) -> f64 {
    between_s / (between_s + repair_s)
}

/// The mean number of versions that a checkpoint every `every` versions loses, for a failure at any of them: v mod k.
pub fn versions_lost(every: u64) -> f64 {
    (every as f64 - 1.0) / 2.0
}

/// The most that it can lose: k − 1.
pub fn most_versions_lost(every: u64) -> u64 {
    every - 1
}

/// The probability that a failure strikes a segment of `length_s`, 1 − e^(−L/M), and the mean number of failures until it is done, e^(L/M) − 1, where
/// failures cannot strike restarts (each attempt is independent of those before).
pub fn failures_of_segment(length_s: f64, between_s: f64) -> (f64, f64) {
    (-(-length_s / between_s).exp_m1(), (length_s / between_s).exp_m1())
}

/// The probability that at least k of n are up, each independently with that availability.
pub fn at_least_up(n: u64, k: u64, availability: f64) -> f64 {
    let down = 1.0 - availability;
    let (mut coefficient, mut sum) = (1.0, 0.0);
    for failed in 0..=n - k {
        sum += coefficient * availability.powf((n - failed) as f64) * down.powf(failed as f64);
        coefficient *= (n - failed) as f64 / (failed + 1) as f64;
    }
    sum
}
