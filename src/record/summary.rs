//! One run in one row.

use super::Recording;
use super::histogram::Moments;
use super::lag::Lags;
use super::steady::Cut;
use super::vain::Vain;
use crate::cluster::{Ended, FATES, Fate, Simulation};
use crate::kernel::Time;
use crate::protocol::Work;
use crate::vector::distance;

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
    pub fn of<const PRECISION: u32>(histogram: &Moments<PRECISION>, per_unit: f64) -> Spread {
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

    /// Of integers of either sign: those from 0 on, and how far the others are below.
    pub fn of_signed<const PRECISION: u32>(above: &Moments<PRECISION>, below: &Moments<PRECISION>) -> Spread {
        let (n, under) = ((above.total() + below.total()) as f64, below.total() as f64);
        if under == 0.0 {
            return Spread::of(above, 1.0);
        }
        let part = |moments: &Moments<PRECISION>| {
            (moments.total() as f64, moments.mean().unwrap_or(0.0), moments.sd().unwrap_or(0.0))
        };
        let ((n_above, mean_above, sd_above), (_, mean_below, sd_below)) = (part(above), part(below));
        let mean = (n_above * mean_above - under * mean_below) / n;
        let square = |n: f64, mean: f64, sd: f64| n * (sd * sd + mean * mean);
        let squares = square(n_above, mean_above, sd_above) + square(under, mean_below, sd_below);
        // The least value that at least that share does not exceed: counted from below, the largest distance first.
        let quantile = |p: f64| {
            let rank = (p * n).ceil().max(1.0);
            if rank > under {
                return above.quantile((rank - under) / n_above).map(|value| value as f64);
            }
            below.quantile((under - rank + 1.0) / under).map(|value| -(value as f64))
        };
        Spread {
            mean: Some(mean),
            sd: Some((squares / n - mean * mean).max(0.0).sqrt()),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            max: above.greatest().map(|value| value as f64).or(quantile(1.0)),
        }
    }

    /// Its figures with the endings of their names in files.
    pub fn figures(&self) -> [(&'static str, Option<f64>); 6] {
        let Spread { mean, sd, p50, p90, p99, max } = *self;
        [("mean", mean), ("sd", sd), ("p50", p50), ("p90", p90), ("p99", p99), ("max", max)]
    }
}

/// Where the time of all workers went, from joining on, in seconds of workers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WorkerTime {
    /// For gradients that were applied, and stand: downloading, computing and uploading, as in all that follow.
    pub useful_s: f64,
    /// Up, and with none of the gradients of the other lines: without work, or waiting for its link, or for the server.
    pub idle_s: f64,
    /// Down.
    pub down_s: f64,
    /// For gradients that were applied, and undone by a restore.
    pub rolled_back_s: f64,
    /// For gradients that were rejected, or dropped.
    pub discarded_s: f64,
    /// For gradients that were told to stop.
    pub cancelled_s: f64,
    /// For gradients that a failure took.
    pub lost_s: f64,
    /// For gradients that had not ended when the run did.
    pub in_flight_s: f64,
}

impl WorkerTime {
    /// Its parts with the names that they have in files.
    pub fn parts(&self) -> [(&'static str, f64); 8] {
        [
            ("useful_s", self.useful_s),
            ("idle_s", self.idle_s),
            ("down_s", self.down_s),
            ("rolled_back_s", self.rolled_back_s),
            ("discarded_s", self.discarded_s),
            ("cancelled_s", self.cancelled_s),
            ("lost_s", self.lost_s),
            ("in_flight_s", self.in_flight_s),
        ]
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
    /// Steps that are left out of lags and rates.
    pub warm_up: u64,
    /// Steps per virtual second.
    pub throughput_per_s: Option<f64>,
    /// Lag at application in server versions.
    pub lag_versions: Spread,
    /// Lag at application in seconds.
    pub lag_s: Spread,
    /// Lag at application in the workers' iteration clocks.
    pub lag_clocks: Spread,
    /// Of the mean lag in versions, what passed before gradients arrived at the server.
    pub lag_versions_in_flight: Option<f64>,
    /// And what passed while they waited there, and were being applied.
    pub lag_versions_in_queue: Option<f64>,
    /// The same of the mean lag in seconds.
    pub lag_s_in_flight: Option<f64>,
    /// And what passed at the server.
    pub lag_s_in_queue: Option<f64>,
    /// Mean lag in batches, where a batch is used in several steps; else that in versions.
    pub lag_batches: Option<f64>,
    /// Pearson's correlation of the lags in versions and in seconds.
    pub lag_correlation: Option<f64>,
    /// Mean lag in versions of what is in flight just after a step.
    pub in_flight_lag_versions: Option<f64>,
    /// When the loss of `stop` was reached, in virtual seconds; `None` if it never was, or none was asked for.
    pub time_to_loss_s: Option<f64>,
    /// After how many optimiser steps.
    pub updates_to_loss: Option<f64>,
    /// After how many gradients, in vain or not: all that had been started.
    pub gradients_to_loss: Option<f64>,
    /// f(w) at the end, if it is a number.
    pub loss: Option<f64>,
    /// ‖w − w*‖ at the end, if the minimiser w* is known.
    pub distance: Option<f64>,
    /// How far from the minimiser SGD would settle, in the limit of small learning rates, with each class of workers taking the
    /// part that it took, local steps counted: ‖w̄ − w*‖. `None` unless classes see different objectives.
    pub stationary_bias: Option<f64>,
    /// Share of the workers' time, from joining on, in which they had a gradient under way.
    pub worker_utilisation: Option<f64>,
    /// Share of the time in which the server was taking in a gradient, or stepping; `None` if that takes no time.
    pub server_utilisation: Option<f64>,
    /// Gradients started.
    pub started: u64,
    /// Of these, how many met each fate.
    pub fates: [u64; FATES.len()],
    /// The same, class by class.
    pub class_fates: Vec<[u64; FATES.len()]>,
    /// The sum of the factors on what was applied, class by class.
    pub class_weights: Vec<f64>,
    /// Failures of the server.
    pub server_failures: u64,
    /// Failures of workers.
    pub worker_failures: u64,
    /// Optimiser steps that a restore has undone.
    pub versions_lost: u64,
    /// How often what the server had was saved.
    pub saves: u64,
    /// How long the server was away.
    pub server_away_s: f64,
    /// Share of the workers' time, from joining on, in which they were up.
    pub worker_availability: Option<f64>,
    /// Share of the workers' time, from joining on, that they were busy with gradients which were applied, and stand.
    pub effective_share: Option<f64>,
    /// The greatest difference of the versions of two shards of the server; `None` if it is whole.
    pub shard_skew_max: Option<f64>,
    /// Of gradients all of whose parts were applied, the greatest lag of a part less the least, in versions, on average.
    pub shard_spread_mean: Option<f64>,
    /// The greatest of these.
    pub shard_spread_max: Option<f64>,
    /// Where the workers' time went, from joining on.
    pub time: WorkerTime,
    /// What it cost, if anything has a price.
    pub cost: Option<f64>,
    /// What it had cost when the loss of `stop` was reached.
    pub cost_to_loss: Option<f64>,
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
            warm_up: 0,
            throughput_per_s: None,
            lag_versions: none,
            lag_s: none,
            lag_clocks: none,
            lag_versions_in_flight: None,
            lag_versions_in_queue: None,
            lag_s_in_flight: None,
            lag_s_in_queue: None,
            lag_batches: None,
            lag_correlation: None,
            in_flight_lag_versions: None,
            time_to_loss_s: None,
            updates_to_loss: None,
            gradients_to_loss: None,
            loss: None,
            distance: None,
            stationary_bias: None,
            worker_utilisation: None,
            server_utilisation: None,
            started: 0,
            fates: [0; FATES.len()],
            class_fates: Vec::new(),
            class_weights: Vec::new(),
            server_failures: 0,
            worker_failures: 0,
            versions_lost: 0,
            saves: 0,
            server_away_s: 0.0,
            worker_availability: None,
            effective_share: None,
            shard_skew_max: None,
            shard_spread_mean: None,
            shard_spread_max: None,
            time: WorkerTime::default(),
            cost: None,
            cost_to_loss: None,
            fingerprint: 0,
            ended: Ended::Interrupted,
        }
    }

    /// Of a run that has been closed, with what was recorded of it.
    pub fn new<S>(
        simulation: &Simulation,
        ended: Ended,
        recording: &Recording<S>,
        seed: u64,
        replication: u64,
    ) -> Summary {
        let (lags, cut) = (&recording.lags, recording.cut.as_ref());
        let objective = &simulation.model().objective;
        let sums = Sums::new(simulation, lags.classes().len());
        let time_s = simulation.now().seconds();
        let reached = ended == Ended::Loss;
        let stationary = objective.stationary(&sums.steps).zip(objective.minimiser());
        Summary {
            seed,
            replication,
            workers: sums.workers,
            steps: simulation.updates(),
            time_s,
            warm_up: cut.map_or(0, |cut| cut.updates),
            in_flight_lag_versions: simulation.ledger().in_flight_lag(),
            time_to_loss_s: reached.then_some(time_s),
            updates_to_loss: reached.then(|| simulation.updates() as f64),
            gradients_to_loss: reached.then_some(sums.started as f64),
            loss: Some(objective.loss(simulation.parameters())).filter(|loss| loss.is_finite()),
            distance: objective
                .minimiser()
                .map(|best| distance(simulation.parameters(), best))
                .filter(|distance| distance.is_finite()),
            stationary_bias: stationary.map(|(settles, best)| distance(&settles, best)),
            worker_utilisation: worker_utilisation(simulation, &sums),
            started: sums.started,
            fates: std::array::from_fn(|fate| sums.fates.iter().map(|own| own[fate]).sum()),
            class_fates: sums.fates,
            class_weights: sums.weights,
            cost: simulation.cost(),
            cost_to_loss: simulation.cost().filter(|_| reached),
            fingerprint: simulation.fingerprint(),
            ended,
            ..Summary::blank()
        }
        .with_lags(simulation, lags, cut)
        .with_outages(simulation)
        .with_time(simulation, sums.down_nanos, &recording.vain)
        .with_shards(simulation)
    }

    /// The same, with what there is to say of lags and rates since `cut`.
    fn with_lags(self, simulation: &Simulation, lags: &Lags, cut: Option<&Cut>) -> Summary {
        let all = lags.overall();
        let totals = simulation.totals();
        let totals = totals.map(|now| cut.and_then(|cut| cut.totals).map_or(now, |before| now.since(&before)));
        let (from, steps) = cut.map_or((Time::ZERO, 0), |cut| (cut.at, cut.updates));
        let span_s = simulation.now().since(from).seconds();
        let (lag_versions, lag_s) = (Spread::of_signed(&all.versions, &all.ahead), Spread::of(&all.nanos, 1e9));
        let applied = all.nanos.total();
        let mean = |sum: f64| (applied > 0).then(|| sum / applied as f64);
        let in_flight = totals.map_or(lag_versions.mean, |totals| mean(totals.lag_in_flight as f64));
        let s_in_flight = totals.map_or(lag_s.mean, |totals| mean(totals.nanos_in_flight as f64 / 1e9));
        let server = &simulation.model().server;
        let serves = server.service.place().or(server.step.place()).is_some()
            || simulation.model().shards.iter().any(|shard| shard.service.place().is_some());
        let busy_s = totals.map_or(0.0, |totals| totals.busy_nanos as f64 / 1e9);
        Summary {
            throughput_per_s: (span_s > 0.0).then(|| (simulation.updates() - steps) as f64 / span_s),
            lag_versions,
            lag_s,
            lag_clocks: Spread::of(&all.clocks, 1.0),
            lag_versions_in_flight: in_flight,
            lag_versions_in_queue: lag_versions.mean.zip(in_flight).map(|(all, part)| all - part),
            lag_s_in_flight: s_in_flight,
            lag_s_in_queue: lag_s.mean.zip(s_in_flight).map(|(all, part)| (all - part).max(0.0)),
            lag_batches: totals.map_or(lag_versions.mean, |totals| mean(totals.lag_batches as f64)),
            lag_correlation: lags.correlation(),
            server_utilisation: (serves && span_s > 0.0).then(|| busy_s / span_s),
            ..self
        }
    }
}

impl Summary {
    /// The same, with what there is to say of failures.
    fn with_outages(self, simulation: &Simulation) -> Summary {
        let Some(outages) = simulation.outages() else { return self };
        Summary {
            server_failures: outages.of_server,
            worker_failures: outages.of_workers,
            versions_lost: outages.versions_lost,
            saves: outages.saves,
            server_away_s: outages.server_away.seconds(),
            ..self
        }
    }

    /// The same, with where the workers' time went.
    fn with_time(self, simulation: &Simulation, down: u128, vain: &Vain) -> Summary {
        let rented = rented(simulation) as f64;
        let share = |part: u128| (rented > 0.0).then(|| part as f64 / rented);
        let (useful, undone) = simulation.applied_nanos();
        let seconds = |nanos: u128| nanos as f64 / 1e9;
        let time = WorkerTime {
            useful_s: seconds(useful),
            idle_s: 0.0,
            down_s: seconds(down),
            rolled_back_s: seconds(undone),
            discarded_s: vain.seconds(Fate::Rejected) + vain.seconds(Fate::Dropped),
            cancelled_s: vain.seconds(Fate::Cancelled),
            lost_s: vain.seconds(Fate::Lost),
            in_flight_s: vain.seconds(Fate::InFlight),
        };
        let rest: f64 = time.parts().iter().map(|(_, seconds)| seconds).sum();
        let time = WorkerTime { idle_s: (rented / 1e9 - rest).max(0.0), ..time };
        let availability = share(down).map(|down| 1.0 - down);
        Summary { worker_availability: availability, effective_share: share(useful), time, ..self }
    }
}

impl Summary {
    /// The same, with what there is to say of shards.
    fn with_shards(self, simulation: &Simulation) -> Summary {
        let Some((_, apart)) = simulation.sharded() else { return self };
        let some = apart.whole > 0;
        Summary {
            shard_skew_max: Some(apart.most_skew as f64),
            shard_spread_mean: some.then(|| apart.spread as f64 / apart.whole as f64),
            shard_spread_max: some.then_some(apart.most_spread as f64),
            ..self
        }
    }
}

/// The workers' time from joining on, in nanoseconds.
fn rented(simulation: &Simulation) -> u128 {
    let now = simulation.now();
    let there = |joined: Time| if joined < now { u128::from(now.since(joined).nanos()) } else { 0 };
    simulation.model().workers.iter().map(|member| there(member.joins_at)).sum()
}

/// What the books of all workers add up to.
struct Sums {
    workers: u64,
    started: u64,
    /// Class by class.
    fates: Vec<[u64; FATES.len()]>,
    weights: Vec<f64>,
    /// How many steps on its objective each class took, weighted; 0 where workers keep parameters of their own, so that what a class pulls is no
    /// matter of how often.
    steps: Vec<f64>,
    waited_nanos: u128,
    down_nanos: u128,
}

impl Sums {
    fn new(simulation: &Simulation, classes: usize) -> Sums {
        let model = simulation.model();
        let steps = !matches!(model.composition.work, Work::Elastic { .. });
        let mut sums = Sums {
            workers: model.workers.len() as u64,
            started: 0,
            fates: vec![[0; FATES.len()]; classes],
            weights: vec![0.0; classes],
            steps: vec![0.0; classes],
            waited_nanos: 0,
            down_nanos: 0,
        };
        for (books, member) in simulation.books().zip(model.workers.iter()) {
            let class = member.class as usize;
            sums.started += books.started;
            sums.fates[class].iter_mut().zip(books.fates).for_each(|(total, count)| *total += count);
            sums.weights[class] += books.weight;
            sums.steps[class] += if steps { books.weight * f64::from(member.local_steps) } else { 0.0 };
            sums.waited_nanos += u128::from(books.waited.nanos());
            sums.down_nanos += u128::from(books.down.nanos());
        }
        sums
    }
}

/// Of the time from joining on, the share in which workers were neither down nor without work.
fn worker_utilisation(simulation: &Simulation, sums: &Sums) -> Option<f64> {
    let time = rented(simulation);
    (time > 0).then(|| 1.0 - (sums.waited_nanos + sums.down_nanos) as f64 / time as f64)
}
