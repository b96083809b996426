//! How long it takes to find a point where E ‖∇f‖² ≤ ε, for a smooth function (gradients L-Lipschitz, f(start) − inf f = Δ) and gradients with
//! variance σ²: worker i needs at most τᵢ seconds for a gradient, communication is free. Times are in units of L Δ / ε, without the constants,
//! and `noise` is σ²/ε. There is at least one worker, and times are above 0.

/// h(m): the mean time of a gradient of the m fastest workers (their harmonic mean), for times in ascending order.
pub fn mean_of_fastest_s(ascending_s: &[f64], m: usize) -> f64 {
    m as f64 / ascending_s[..m].iter().map(|time| 1.0 / time).sum::<f64>()
}

/// The best possible time, the least over m of h(m) (1 + noise / m), and the m for which it is: the workers that are worth using, the others may
/// as well stop (Tyurin and Richtárik, 2023; Ringmaster attains it: Maranjyan, Tyurin and Richtárik, 2025).
pub fn optimal(compute_s: &[f64], noise: f64) -> (f64, usize) {
    let sorted = ascending(compute_s);
    let times = (1..=sorted.len()).map(|m| (mean_of_fastest_s(&sorted, m) * (1.0 + noise / m as f64), m));
    times.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::NAN, 0))
}

/// The time of asynchronous SGD that uses all n workers: h(n) (1 + noise / n) (Koloskova, Stich and Jaggi, 2022; Mishchenko, Bach, Even and
/// Woodworth, 2022).
pub fn asynchronous(compute_s: &[f64], noise: f64) -> f64 {
    let n = compute_s.len();
    mean_of_fastest_s(&ascending(compute_s), n) * (1.0 + noise / n as f64)
}

/// The time of synchronous SGD, which waits for the slowest: max τ (1 + noise / n).
pub fn synchronous(compute_s: &[f64], noise: f64) -> f64 {
    compute_s.iter().copied().fold(0.0, f64::max) * (1.0 + noise / compute_s.len() as f64)
}

/// The bound on delays of Ringmaster, max(1, ⌈noise⌉): a gradient is applied if its delay is below (Maranjyan, Tyurin and Richtárik, 2025).
pub fn ringmaster_bound(noise: f64) -> u64 {
    noise.ceil().max(1.0) as u64
}

/// Its step size, min(1 / (2 R L), ε / (4 L σ²)), and the number of steps after which it is done, ⌈8 R L Δ / ε + 16 σ² L Δ / ε²⌉ (there; constants as
/// commonly quoted).
pub fn ringmaster_steps(bound: u64, smoothness: f64, gap: f64, variance: f64, accuracy: f64) -> (f64, f64) {
    let r = bound as f64;
    let step = (1.0 / (2.0 * r * smoothness)).min(accuracy / (4.0 * smoothness * variance));
    let scale = smoothness * gap / accuracy;
    (step, (8.0 * r * scale + 16.0 * variance / accuracy * scale).ceil())
}

/// What any R steps that follow one another take at most with that bound R: 2 times the least over m of h(m) (1 + R / m) seconds (there, lemma
/// 4.1).
pub fn ringmaster_window_s(compute_s: &[f64], bound: u64) -> f64 {
    2.0 * optimal(compute_s, bound as f64).0
}

/// The step size of delay-adaptive asynchronous SGD for a gradient of that delay and n workers: 1 / (8 n L), but 1 / (4 L delay) for delays beyond n
/// (Mishchenko, Bach, Even and Woodworth, 2022; constants as commonly quoted).
pub fn delay_adaptive_step(workers: u64, delay: u64, smoothness: f64) -> f64 {
    if delay > workers { 1.0 / (4.0 * smoothness * delay as f64) } else { 1.0 / (8.0 * smoothness * workers as f64) }
}

/// The order of E ‖∇f‖² after so many steps of it, whatever the greatest delay: √(L Δ σ² / steps) + n L Δ / steps (there).
pub fn delay_adaptive_error(workers: u64, smoothness: f64, gap: f64, variance: f64, steps: f64) -> f64 {
    (smoothness * gap * variance / steps).sqrt() + workers as f64 * smoothness * gap / steps
}

/// The order of the steps that asynchronous SGD needs with a constant step size, in units of L Δ: σ²/ε² + √(greatest × mean delay)/ε; with steps
/// that adapt to the delay the greatest is replaced by the mean (Koloskova, Stich and Jaggi, 2022).
pub fn steps_under_delay(variance: f64, accuracy: f64, greatest_delay: f64, mean_delay: f64) -> f64 {
    variance / (accuracy * accuracy) + (greatest_delay * mean_delay).sqrt() / accuracy
}

/// A step size that is safe on every quadratic with curvatures up to L under delays up to τ: 1 / (20 L (τ + 1)), of the order of what is needed
/// (Arjevani, Shamir and Srebro, 2020). [`super::stability::constant_lag_edge`] is exact, and about 31 times as long.
pub fn safe_step(smoothness: f64, delay: u64) -> f64 {
    1.0 / (20.0 * smoothness * (delay as f64 + 1.0))
}

fn ascending(times_s: &[f64]) -> Vec<f64> {
    let mut sorted = times_s.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}
