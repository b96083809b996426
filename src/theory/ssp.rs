//! Stale synchronous parallel: a worker may begin its next iteration if it has completed at most `bound` more than the slowest, so that completed
//! iterations differ by at most `bound` + 1 (Ho and others, 2013, whose bound 0 is bulk synchronous). Network and server take no time; rates
//! and compute times are above 0.

use super::linear::{stationary, zeros};
use std::collections::BTreeMap;

/// How a worker fares in the long run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Its iterations a second.
    pub rate_per_s: f64,
    /// The share of its time in which it waits for the slowest.
    pub blocked: f64,
}

/// Workers with exponential compute times of the rates `rates_per_s`: the stationary law of the Markov chain of how far each is ahead of the
/// slowest, who waits at `bound` + 1. It has (bound + 2)ⁿ − (bound + 1)ⁿ states, and takes the cube of that: for up to about a thousand.
/// All workers have the same rate. Derived.
pub fn exponential(rates_per_s: &[f64], bound: u64) -> Vec<Pace> {
    let states = clocks(rates_per_s.len(), bound + 1);
    let index: BTreeMap<&Vec<u64>, usize> = states.iter().enumerate().map(|(at, state)| (state, at)).collect();
    let mut rates = zeros(states.len());
    for (at, state) in states.iter().enumerate() {
        for (worker, rate) in rates_per_s.iter().enumerate() {
            if state[worker] <= bound {
                let mut next = state.clone();
                next[worker] += 1;
                let slowest = next.iter().copied().min().unwrap_or(0);
                next.iter_mut().for_each(|clock| *clock -= slowest);
                rates[at][index[&next]] += rate;
            }
        }
    }
    let probabilities = stationary(rates);
    let blocked = |worker: usize| -> f64 {
        let waiting = states.iter().zip(&probabilities).filter(|(state, _)| state[worker] > bound);
        waiting.map(|(_, probability)| probability).sum()
    };
    let working = |worker: usize| -> f64 {
        let busy = states.iter().zip(&probabilities).filter(|(state, _)| state[worker] <= bound);
        busy.map(|(_, probability)| probability).sum()
    };
    let pace = |(worker, rate): (usize, &f64)| Pace { rate_per_s: rate * working(worker), blocked: blocked(worker) };
    rates_per_s.iter().enumerate().map(pace).collect()
}

/// All ways for so many workers to be ahead of the slowest by at most `most`, one of them being the slowest.
fn clocks(workers: usize, most: u64) -> Vec<Vec<u64>> {
    let mut all = vec![Vec::new()];
    for _ in 0..workers {
        all = all.iter().flat_map(|state| (0..=most).map(move |clock| [state.as_slice(), &[clock]].concat())).collect();
    }
    all.retain(|state| state.contains(&0));
    all
}

/// The same for two workers, in closed form: the difference of their clocks is a birth and death chain between −(bound + 1) and bound + 1 whose
/// neighbours differ by the ratio of the rates. For equal rates both work the share (2 bound + 2) / (2 bound + 3) of the time.
pub fn exponential_pair(rates_per_s: [f64; 2], bound: u64) -> [Pace; 2] {
    let steps = 2 * bound + 2;
    // Of the one that is blocked at the end where the other is r times as fast: 1 / (1 + r + … + r^steps).
    let blocked = |own: f64, other: f64| 1.0 / (0..=steps).map(|k| (other / own).powf(k as f64)).sum::<f64>();
    let [first, second] = rates_per_s;
    let shares = [blocked(first, second), blocked(second, first)];
    [0, 1].map(|worker| Pace { rate_per_s: rates_per_s[worker] * (1.0 - shares[worker]), blocked: shares[worker] })
}

/// A time in which a worker is blocked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wait {
    /// Who.
    pub worker: usize,
    /// From when on.
    pub from_s: f64,
    /// Until when.
    pub until_s: f64,
    /// How many iterations it has completed.
    pub clock: u64,
}

/// Workers with constant compute times that begin together, up to a time: what each has completed, and when it was blocked, in order. A worker
/// begins its iteration k + 1 when it has completed k, and all have completed k − bound: a recursion of maxima.
pub fn constant(compute_s: &[f64], bound: u64, end_s: f64) -> (Vec<u64>, Vec<Wait>) {
    let workers = compute_s.len();
    // When each has completed 0, 1, … iterations.
    let mut completed = vec![vec![0.0f64; workers]];
    let (mut clocks, mut waits) = (vec![0; workers], Vec::new());
    for k in 0u64.. {
        let own = &completed[k as usize];
        let all = completed[k.saturating_sub(bound) as usize].iter().copied().fold(0.0, f64::max);
        let starts: Vec<f64> = own.iter().map(|done| done.max(all)).collect();
        for (worker, (&from_s, &until_s)) in own.iter().zip(&starts).enumerate() {
            if until_s > from_s && from_s < end_s {
                waits.push(Wait { worker, from_s, until_s, clock: k });
            }
        }
        let next: Vec<f64> = starts.iter().zip(compute_s).map(|(start, time)| start + time).collect();
        next.iter().zip(&mut clocks).filter(|(done, _)| **done <= end_s).for_each(|(_, clock)| *clock = k + 1);
        if next.iter().all(|&done| done > end_s) {
            break;
        }
        completed.push(next);
    }
    waits.sort_by(|a, b| (a.from_s, a.worker).partial_cmp(&(b.from_s, b.worker)).unwrap_or(std::cmp::Ordering::Equal));
    (clocks, waits)
}

/// The greatest lag in versions that there can be, each iteration being a step: (n − 1) (2 bound + 1). Attained: of a worker that is
/// `bound` ahead when it reads, each other can complete 2 `bound` + 1 iterations before being blocked, `bound` + 1 ahead of it.
pub fn greatest_lag(workers: u64, bound: u64) -> u64 {
    (workers - 1) * (2 * bound + 1)
}

/// A bound on the regret per step after T steps on convex losses: 4 F L √(2 (bound + 1) P / T), where gradients are no longer than L, points no
/// farther apart than F, and P workers compute (Ho and others, 2013, theorem 1).
pub fn regret_bound(diameter: f64, lipschitz: f64, workers: u64, bound: u64, steps: u64) -> f64 {
    4.0 * diameter * lipschitz * (2.0 * (bound as f64 + 1.0) * workers as f64 / steps as f64).sqrt()
}
