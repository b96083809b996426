//! Whose gradients are used where a gradient is dropped if its lag exceeds a bound. Workers have exponential compute times, each gradient that is
//! applied is a step, a worker whose gradient is dropped reads again, and a dropped gradient makes no version. Rates are above 0.

use std::collections::BTreeMap;

/// What becomes of the gradients in the long run.
#[derive(Clone, Debug, PartialEq)]
pub struct Participation {
    /// Which share of the gradients applied is whose.
    pub shares: Vec<f64>,
    /// Which share of its gradients is applied, per worker.
    pub accepted: Vec<f64>,
    /// Which share of all gradients is applied.
    pub accepted_of_all: f64,
}

/// Workers of the given rates, gradients being applied if their lag is at most `bound`: the stationary law of the Markov chain of the lags that
/// the workers would have, those beyond the bound being one. Found by going on from push to push until nothing changes, over at most
/// (bound + 2)ⁿ states, as many times as the slowest worker's share goes into 40. Derived here.
pub fn dropping(rates: &[f64], bound: u64) -> Participation {
    let all: f64 = rates.iter().sum();
    let shares: Vec<f64> = rates.iter().map(|rate| rate / all).collect();
    let (states, next) = chain(rates.len(), bound);
    let mut probabilities = vec![1.0 / states.len() as f64; states.len()];
    for _ in 0..1_000_000 {
        let mut after = vec![0.0; states.len()];
        for (probability, targets) in probabilities.iter().zip(&next) {
            for (share, &target) in shares.iter().zip(targets) {
                after[target] += probability * share;
            }
        }
        let change: f64 = after.iter().zip(&probabilities).map(|(new, old)| (new - old).abs()).sum();
        probabilities = after;
        if change < 1e-16 {
            break;
        }
    }
    let mass: f64 = probabilities.iter().sum();
    let accepted: Vec<f64> = (0..rates.len())
        .map(|worker| {
            let fresh = states.iter().zip(&probabilities).filter(|(state, _)| state[worker] <= bound);
            fresh.map(|(_, probability)| probability).sum::<f64>() / mass
        })
        .collect();
    let applied: Vec<f64> = shares.iter().zip(&accepted).map(|(share, accepted)| share * accepted).collect();
    let accepted_of_all: f64 = applied.iter().sum();
    Participation { shares: applied.iter().map(|share| share / accepted_of_all).collect(), accepted, accepted_of_all }
}

/// The states that the chain can get to from a common start, and where it goes from each if a worker pushes.
fn chain(workers: usize, bound: u64) -> (Vec<Vec<u64>>, Vec<Vec<usize>>) {
    let mut states = vec![vec![0u64; workers]];
    let mut index = BTreeMap::from([(states[0].clone(), 0usize)]);
    let mut next: Vec<Vec<usize>> = Vec::new();
    while next.len() < states.len() {
        let state = states[next.len()].clone();
        let target = |worker: usize| {
            let mut after = state.clone();
            if state[worker] <= bound {
                after.iter_mut().for_each(|lag| *lag = (*lag + 1).min(bound + 1));
            }
            after[worker] = 0;
            after
        };
        let targets = (0..workers)
            .map(|worker| {
                let after = target(worker);
                *index.entry(after.clone()).or_insert_with(|| {
                    states.push(after);
                    states.len() - 1
                })
            })
            .collect();
        next.push(targets);
    }
    (states, next)
}
