//! Workers and a server that takes in one gradient at a time: the machine repairman, with N workers that each take `away` seconds from reading
//! until their gradient arrives.

/// What there is to know of such a system in the long run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repairman {
    /// Gradients a second.
    pub throughput_per_s: f64,
    /// Share of the time in which the server is busy.
    pub utilisation: f64,
    /// Mean number of gradients at the server.
    pub waiting: f64,
}

/// Exponential service times, first come first served, and any law of the time away with that mean (the network of queues has a product form,
/// in which only means of stations without queues matter: Baskett, Chandy, Muntz and Palacios, 1975): the probability of k gradients at
/// the server is in proportion to N! / (N − k)! (service / away)^k (M/M/1//N).
pub fn exponential_server(workers: u64, away_s: f64, service_s: f64) -> Repairman {
    // In proportion to the most probable state, so that nothing overflows.
    let ratio = service_s / away_s;
    let mut logs = vec![0.0f64];
    for k in 1..=workers {
        let before = logs[k as usize - 1];
        logs.push(before + ((workers - k + 1) as f64 * ratio).ln());
    }
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logs.iter().map(|log| (log - most).exp()).collect();
    let all: f64 = weights.iter().sum();
    let waiting = weights.iter().enumerate().map(|(k, weight)| k as f64 * weight).sum::<f64>() / all;
    let utilisation = 1.0 - weights[0] / all;
    Repairman { throughput_per_s: utilisation / service_s, utilisation, waiting }
}

/// The mean lag of gradients when they arrive at that server: N − 1 less what they meet there, which is what a system of one worker less has
/// waiting (arrival theorem: Lavenberg and Reiser, 1980). When applied it is N − 1.
pub fn lag_at_arrival(workers: u64, away_s: f64, service_s: f64) -> f64 {
    workers as f64 - 1.0 - exponential_server(workers - 1, away_s, service_s).waiting
}

/// Constant times: min(N / (away + service), 1 / service). For other laws of the same means no server does better (Muntz and Wong, 1974).
pub fn most_throughput_per_s(workers: u64, away_s: f64, service_s: f64) -> f64 {
    (workers as f64 / (away_s + service_s)).min(1.0 / service_s)
}

/// From how many workers on the server is what limits them: (away + service) / service.
pub fn saturation(away_s: f64, service_s: f64) -> f64 {
    (away_s + service_s) / service_s
}
