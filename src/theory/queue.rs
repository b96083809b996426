//! Workers and a server that takes in one gradient at a time: the machine repairman, with N workers that each take `away` seconds from reading
//! until their gradient arrives. N is at least 1, times are above 0.

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
    let probabilities = probabilities(workers, away_s, service_s);
    let waiting = probabilities.iter().enumerate().map(|(k, probability)| k as f64 * probability).sum::<f64>();
    let utilisation = 1.0 - probabilities[0];
    Repairman { throughput_per_s: utilisation / service_s, utilisation, waiting }
}

/// The probabilities of 0 to N gradients at that server.
fn probabilities(workers: u64, away_s: f64, service_s: f64) -> Vec<f64> {
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
    weights.iter().map(|weight| weight / all).collect()
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

/// P(lag = k) when applied, for k from 0 on until it is below 10⁻²⁰, for exponential times away and at that server. A gradient's lag is what
/// is applied while its worker is away, and what is at the server when it arrives. When a worker reads, the others are as a system of N − 1 is in
/// the long run (arrival theorem); from there on the mean times in each state follow from one another. Derived here.
pub fn lag_probabilities(workers: u64, away_s: f64, service_s: f64) -> Vec<f64> {
    let others = (workers as usize).saturating_sub(1);
    let (arrival, service) = (1.0 / away_s, 1.0 / service_s);
    // At the server from 0 to N − 1, when the worker reads.
    let mut entering = probabilities(others as u64, away_s, service_s);
    let (mut lags, mut stays): (Vec<f64>, Vec<Vec<f64>>) = (Vec::new(), Vec::new());
    // Its tail is geometric.
    while lags.len() <= workers as usize || lags[lags.len() - 1] > 1e-20 {
        // Mean times with k at the server and so many applied, while the worker is away.
        let mut stay: Vec<f64> = Vec::with_capacity(others + 1);
        for k in 0..=others {
            let joined = if k == 0 { 0.0 } else { stay[k - 1] * arrival * (others - k + 1) as f64 };
            let leaving = arrival * (1 + others - k) as f64 + if k == 0 { 0.0 } else { service };
            stay.push((entering[k] + joined) / leaving);
        }
        entering = (0..=others).map(|k| if k == others { 0.0 } else { stay[k + 1] * service }).collect();
        stays.push(stay);
        let lag = stays.len() - 1;
        let chance: f64 = (0..=others.min(lag)).map(|k| arrival * stays[lag - k][k]).sum();
        lags.push(chance);
    }
    lags
}

/// The variance of that; the mean is N − 1.
pub fn lag_variance(workers: u64, away_s: f64, service_s: f64) -> f64 {
    let mean = workers as f64 - 1.0;
    let lags = lag_probabilities(workers, away_s, service_s);
    lags.iter().enumerate().map(|(lag, chance)| chance * (lag as f64 - mean).powi(2)).sum()
}

/// Any law of service times, and exponential times away: with B the mean number of gradients that the server applies without a pause, the
/// throughput is B / (away / N + service × B), where B = Σ over n < N of C(N − 1, n) Π over i ≤ n of (1 − ψ(i/away)) / ψ(i/away), with the
/// Laplace transform ψ of the law of service times (Takács, *Introduction to the Theory of Queues*, 1962). Gives the system and B.
pub fn any_server(workers: u64, away_s: f64, service_s: f64, transform: impl Fn(f64) -> f64) -> (Repairman, f64) {
    takacs(workers, away_s, service_s, |rate| {
        let psi = transform(rate);
        (1.0 - psi) / psi
    })
}

/// The same for constant service times (M/D/1//N).
pub fn constant_server(workers: u64, away_s: f64, service_s: f64) -> (Repairman, f64) {
    takacs(workers, away_s, service_s, |rate| (rate * service_s).exp_m1())
}

fn takacs(workers: u64, away_s: f64, service_s: f64, ratio: impl Fn(f64) -> f64) -> (Repairman, f64) {
    let (mut term, mut served) = (1.0, 1.0);
    for n in 1..workers {
        term *= (workers - n) as f64 / n as f64 * ratio(n as f64 / away_s);
        served += term;
    }
    // As shares of B, so that it may overflow.
    let throughput_per_s = 1.0 / (away_s / workers as f64 / served + service_s);
    let waiting = workers as f64 - throughput_per_s * away_s;
    (Repairman { throughput_per_s, utilisation: throughput_per_s * service_s, waiting }, served)
}

/// The times at which the first `count` gradients are applied, and their ages, for constant times and workers that begin at `starts_s`, in
/// ascending order: first come first served they keep that order, and what is served in turn n is served at its arrival or after the one before,
/// and not in an `outage`, from its first instant until before its last: a recursion of maxima.
pub fn constant_ages_s(
    starts_s: &[f64],
    away_s: f64,
    service_s: f64,
    outage: Option<(f64, f64)>,
    count: usize,
) -> Vec<(f64, f64)> {
    let mut applied: Vec<(f64, f64)> = Vec::new();
    for turn in 0..count {
        let read_s = turn.checked_sub(starts_s.len()).map_or_else(|| starts_s[turn], |before| applied[before].0);
        let free_s = applied.last().map_or(0.0, |&(time_s, _)| time_s);
        let begins_s = free_s.max(read_s + away_s);
        let begins_s = match outage {
            Some((from, until)) if (from..until).contains(&begins_s) => until,
            _ => begins_s,
        };
        applied.push((begins_s + service_s, begins_s + service_s - read_s));
    }
    applied
}

/// One of several unequal workers at one server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unequal {
    /// Its gradients a second.
    pub throughput_per_s: f64,
    /// Their mean age when applied.
    pub age_s: f64,
    /// Their mean lag when applied.
    pub lag: f64,
}

/// Workers that are away for different mean times, of any law, and an exponential server, first come first served: worker i has the throughput
/// G(without i) / (G away) with G = Σ over k of k! eₖ(service / away), where eₖ is the elementary symmetric sum (product form with a class per
/// worker: Baskett, Chandy, Muntz and Palacios, 1975). Its mean age is one over that, and its mean lag the throughput of all over its own, less
/// itself, whatever the server.
pub fn unequal_workers(away_s: &[f64], service_s: f64) -> Vec<Unequal> {
    // The logarithm of G, from k! eₖ of one worker more at a time, in proportion to the greatest.
    let log = |skipped: usize| {
        let (mut terms, mut log) = (vec![1.0], 0.0);
        for (_, away) in away_s.iter().enumerate().filter(|&(worker, _)| worker != skipped) {
            terms.push(0.0);
            for k in (1..terms.len()).rev() {
                terms[k] += service_s / away * k as f64 * terms[k - 1];
            }
            let most = terms.iter().copied().fold(0.0, f64::max);
            terms.iter_mut().for_each(|term| *term /= most);
            log += f64::ln(most);
        }
        log + terms.iter().sum::<f64>().ln()
    };
    let whole = log(away_s.len());
    let own: Vec<f64> = away_s.iter().enumerate().map(|(worker, away)| (log(worker) - whole).exp() / away).collect();
    let all: f64 = own.iter().sum();
    own.iter().map(|&own| Unequal { throughput_per_s: own, age_s: 1.0 / own, lag: all / own - 1.0 }).collect()
}
