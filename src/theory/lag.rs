//! How stale gradients are, in versions, where each is a step of its own and its worker reads again at once. A worker's own step counts in
//! the version that it reads; network and server take no time unless it is said.

/// The mean lag of n workers that always have one gradient under way: n − 1, whatever their compute times, the network and the server.
/// Every step makes all gradients in flight but one a version older, and each ends once: an identity up to O(n²) in all, not a law of
/// chance. (Koloskova, Stich and Jaggi, 2022, who count the gradient itself.) With K gradients a step, whoever computed them,
/// (n − 1) / K.
pub fn mean_of_busy(workers: u64, gradients_per_step: u64) -> f64 {
    (workers as f64 - 1.0) / gradients_per_step as f64
}

/// The mean lag where K different workers make a step and wait for it (K-async): (n − K) / K, for any law.
pub fn mean_of_k_async(workers: u64, k: u64) -> f64 {
    (workers - k) as f64 / k as f64
}

/// P(lag = k) for equal workers with exponential compute times: (1/n) (1 − 1/n)^k, as every worker is as likely as any other to be next.
/// With K-async steps, (K/n) (1 − K/n)^k.
pub fn memoryless_probability(workers: u64, k_async: u64, lag: u64) -> f64 {
    let share = k_async as f64 / workers as f64;
    share * (1.0 - share).powi(lag.min(i32::MAX as u64) as i32)
}

/// The variance of that for one gradient a step: n (n − 1).
pub fn memoryless_variance(workers: u64) -> f64 {
    workers as f64 * (workers as f64 - 1.0)
}

/// The correlation of lags in versions and seconds for them: √((n − 1) / n), as a gradient of age x has a Poisson lag.
pub fn memoryless_correlation(workers: u64) -> f64 {
    (memoryless_variance(workers)).sqrt() / workers as f64
}

/// The mean lag of worker i of several with exponential compute times of the rates `rates`: Σ rates / rateᵢ − 1.
pub fn memoryless_mean_of(rates: &[f64], worker: usize) -> f64 {
    rates.iter().sum::<f64>() / rates[worker] - 1.0
}

/// Mean age at the step, in seconds, of what is in flight: by Little's law, n / throughput, whatever happens between reading and applying.
pub fn mean_age_s(workers: u64, throughput_per_s: f64) -> f64 {
    workers as f64 / throughput_per_s
}

/// The mean lag of a random gradient in flight: (n − 1)/2 for equal constant compute times, n − 1 for exponential ones, though both are
/// n − 1 when applied.
pub fn mean_in_flight_of_constant(workers: u64) -> f64 {
    (workers as f64 - 1.0) / 2.0
}
