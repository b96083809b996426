//! One run in one row.

use super::histogram::Moments;
use super::lag::Lags;
use crate::cluster::{Ended, FATES, Simulation};

/// How a lag was distributed over the gradients applied. All empty if there were none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: Option<f64>,
    /// The standard deviation, with divisor n.
    pub sd: Option<f64>,
    /// The median.
    pub p50: Option<f64>,
    /// The 90 % quantile.
    pub p90: Option<f64>,
    /// The 99 % quantile.
    pub p99: Option<f64>,
    /// The greatest.
    pub max: Option<f64>,
}

impl Spread {
    /// Of the values of a histogram, of which `per_unit` make one unit. (Dividing by 10⁹ is exact where the result is;
    /// multiplying by 10⁻⁹ would not be.)
    pub fn of(histogram: &Moments, per_unit: f64) -> Spread {
        let quantile = |p| histogram.quantile(p).map(|value| value as f64 / per_unit);
        Spread {
            mean: histogram.mean().map(|mean| mean / per_unit),
            sd: histogram.sd().map(|sd| sd / per_unit),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            max: histogram.greatest().map(|value| value as f64 / per_unit),
        }
    }

    /// Its figures with the endings of their names in files.
    pub fn figures(&self) -> [(&'static str, Option<f64>); 6] {
        let Spread { mean, sd, p50, p90, p99, max } = *self;
        [("mean", mean), ("sd", sd), ("p50", p50), ("p90", p90), ("p99", p99), ("max", max)]
    }
}

/// One run. A figure that does not exist, such as a mean of nothing, is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The seed.
    pub seed: u64,
    /// Which repeat under that seed.
    pub replication: u64,
    /// Workers.
    pub workers: u64,
    /// Optimiser steps.
    pub steps: u64,
    /// Virtual seconds.
    pub time_s: f64,
    /// Steps per virtual second.
    pub throughput_per_s: Option<f64>,
    /// Lag at application in server versions.
    pub lag_versions: Spread,
    /// Lag at application in seconds.
    pub lag_s: Spread,
    /// Lag at application in the workers' iteration clocks.
    pub lag_clocks: Spread,
    /// Pearson's correlation of the lags in versions and in seconds.
    pub lag_correlation: Option<f64>,
    /// Mean lag in versions of what is in flight just after a step.
    pub in_flight_lag_versions: Option<f64>,
    /// f(w) at the end, if it is a number.
    pub loss: Option<f64>,
    /// ‖w − w*‖ at the end, if the minimiser w* is known.
    pub distance: Option<f64>,
    /// Gradients started.
    pub started: u64,
    /// Of these, how many met each fate.
    pub fates: [u64; FATES.len()],
    /// The same, class by class.
    pub class_fates: Vec<[u64; FATES.len()]>,
    /// What it cost.
    pub cost: Option<f64>,
    /// The hash of its events.
    pub fingerprint: u64,
    /// Why it ended.
    pub ended: Ended,
}

impl Summary {
    /// Of no run at all, for the names of its figures.
    pub fn blank() -> Summary {
        let none = Spread::default();
        Summary {
            seed: 0,
            replication: 0,
            workers: 0,
            steps: 0,
            time_s: 0.0,
            throughput_per_s: None,
            lag_versions: none,
            lag_s: none,
            lag_clocks: none,
            lag_correlation: None,
            in_flight_lag_versions: None,
            loss: None,
            distance: None,
            started: 0,
            fates: [0; FATES.len()],
            class_fates: Vec::new(),
            cost: None,
            fingerprint: 0,
            ended: Ended::Interrupted,
        }
    }

    /// Of a run that has been closed, with the lags that were recorded of it.
    pub fn new(simulation: &Simulation, ended: Ended, lags: &Lags, seed: u64, replication: u64) -> Summary {
        let all = lags.overall();
        let objective = &simulation.model().objective;
        let mut class_fates = vec![[0; FATES.len()]; lags.classes().len()];
        for (tally, member) in simulation.tallies().zip(&simulation.model().workers) {
            let own = &mut class_fates[member.class as usize];
            own.iter_mut().zip(tally.fates()).for_each(|(total, count)| *total += count);
        }
        let fates = std::array::from_fn(|fate| class_fates.iter().map(|own| own[fate]).sum());
        let time_s = simulation.now().seconds();
        Summary {
            seed,
            replication,
            workers: simulation.model().workers.len() as u64,
            steps: simulation.updates(),
            time_s,
            throughput_per_s: (time_s > 0.0).then(|| simulation.updates() as f64 / time_s),
            lag_versions: Spread::of(&all.versions, 1.0),
            lag_s: Spread::of(&all.nanos, 1e9),
            lag_clocks: Spread::of(&all.clocks, 1.0),
            lag_correlation: lags.correlation(),
            in_flight_lag_versions: simulation.ledger().in_flight_lag(),
            loss: Some(objective.loss(simulation.parameters())).filter(|loss| loss.is_finite()),
            distance: objective
                .minimiser()
                .map(|best| crate::vector::distance(simulation.parameters(), best))
                .filter(|distance| distance.is_finite()),
            started: simulation.tallies().map(|tally| tally.started).sum(),
            fates,
            class_fates,
            cost: None,
            fingerprint: simulation.fingerprint(),
            ended,
        }
    }
}
