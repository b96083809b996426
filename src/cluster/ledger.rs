//! The books of a run: what became of every gradient, and the two laws that they must obey.

use super::gradient::{FATES, Fate, Gradient};
use crate::error::{Error, Result};

/// The books of one worker.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Gradients started.
    pub started: u64,
    /// Of these, how many met each fate, in the order of [`FATES`].
    pub fates: [u64; FATES.len()],
    /// Sum of the weights of those applied.
    pub weight: f64,
    /// Sum of the lags in versions of those applied.
    pub lag_versions: i64,
    /// Sum of the lags in nanoseconds of those applied: less than the run's own length, as one follows the other.
    pub lag_nanos: u64,
}

/// The books of all workers, and the sums behind the conservation law.
#[derive(Debug)]
pub struct Ledger {
    tallies: Vec<Tally>,
    /// Gradients in flight: snapshots held.
    in_flight: u64,
    /// Σ over version changes Δ of Δ × snapshots then held by others.
    exposure: i128,
    /// Σ lag in versions of every gradient when it ended.
    ended_lag: i128,
    /// Σ over steps of the lags then outstanding, and of the number of gradients then in flight.
    glimpsed: (i128, u128),
}

impl Ledger {
    /// Empty books for `workers` workers.
    pub fn new(workers: usize) -> Ledger {
        Ledger {
            tallies: vec![Tally::default(); workers],
            in_flight: 0,
            exposure: 0,
            ended_lag: 0,
            glimpsed: (0, 0),
        }
    }

    /// The books of every worker.
    pub fn tallies(&self) -> &[Tally] {
        &self.tallies
    }

    /// Gradients of `worker` applied so far: its iteration clock.
    #[inline]
    pub fn applied(&self, worker: u32) -> u64 {
        self.tallies[worker as usize].fates[Fate::Applied as usize]
    }

    /// `worker` took a snapshot.
    #[inline]
    pub fn start(&mut self, worker: u32) {
        self.tallies[worker as usize].started += 1;
        self.in_flight += 1;
    }

    /// A gradient ended with the fate that it carries.
    #[inline]
    pub fn end(&mut self, gradient: &Gradient) {
        let tally = &mut self.tallies[gradient.worker as usize];
        tally.fates[gradient.fate as usize] += 1;
        if gradient.fate == Fate::Applied {
            tally.weight += gradient.weight;
            tally.lag_versions += gradient.lag_versions();
            tally.lag_nanos += gradient.lag().nanos();
        }
        self.in_flight -= 1;
        self.ended_lag += i128::from(gradient.lag_versions());
    }

    /// The server went one version on, while the gradients that had not ended were held by others.
    #[inline]
    pub fn step(&mut self) {
        self.exposure += i128::from(self.in_flight);
        self.glimpsed.0 += self.exposure - self.ended_lag;
        // The worker whose gradient was applied reads again at once, with lag 0.
        self.glimpsed.1 += u128::from(self.in_flight) + 1;
    }

    /// The mean lag in versions, so far, of the gradients in flight just after each step. It differs from the lag at
    /// application: an inspector sees gradients half way, and sees long-lived ones more often.
    pub fn in_flight_lag(&self) -> Option<f64> {
        (self.glimpsed.1 > 0).then(|| self.glimpsed.0 as f64 / self.glimpsed.1 as f64)
    }

    /// Totals over all workers of each fate.
    pub fn totals(&self) -> (u64, [u64; FATES.len()]) {
        let mut totals = [0; FATES.len()];
        for tally in &self.tallies {
            totals.iter_mut().zip(tally.fates).for_each(|(total, count)| *total += count);
        }
        (self.tallies.iter().map(|tally| tally.started).sum(), totals)
    }

    /// Closes the books with the gradients still in flight, and asserts both laws.
    ///
    /// # Errors
    /// If one is broken.
    pub fn close(&mut self, unfinished: impl Iterator<Item = Gradient>) -> Result<()> {
        let mut outstanding: i128 = 0;
        for gradient in unfinished {
            self.tallies[gradient.worker as usize].fates[Fate::InFlight as usize] += 1;
            outstanding += i128::from(gradient.lag_versions());
        }
        for (worker, tally) in self.tallies.iter().enumerate() {
            let ended: u64 = tally.fates.iter().sum();
            if tally.started != ended {
                let started = tally.started;
                return Err(Error::Broken(format!("ledger: worker {worker} started {started} gradients, {ended} ended")));
            }
        }
        if self.ended_lag + outstanding != self.exposure {
            return Err(Error::Broken(format!(
                "conservation: lags of {} ended and {outstanding} outstanding do not add up to {}",
                self.ended_lag, self.exposure
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Causes;
    use crate::kernel::Time;

    fn gradient(worker: u32, version_read: u64, version_applied: u64, fate: Fate) -> Gradient {
        Gradient {
            worker,
            class: 0,
            index: 0,
            version_read,
            version_applied,
            lag_clocks: 0,
            read: Time::ZERO,
            ended: Time::ZERO,
            causes: Causes::default(),
            weight: 1.0,
            multiplicity: 1,
            fate,
        }
    }

    /// Two workers read version 0; one pushes, so that the other is outstanding with lag 1.
    fn books() -> Ledger {
        let mut ledger = Ledger::new(2);
        ledger.start(0);
        ledger.start(1);
        ledger.end(&gradient(0, 0, 0, Fate::Applied));
        ledger.step();
        ledger
    }

    #[test]
    fn books_that_balance_close() {
        let unfinished = [gradient(1, 0, 1, Fate::InFlight)];
        assert!(books().close(unfinished.into_iter()).is_ok());
    }

    #[test]
    fn a_gradient_that_vanished_breaks_the_ledger() {
        let error = books().close(std::iter::empty()).unwrap_err().to_string();
        assert!(error.contains("ledger: worker 1 started 1 gradients, 0 ended"), "{error}");
    }

    #[test]
    fn a_lag_that_is_off_by_one_breaks_the_conservation_law() {
        let unfinished = [gradient(1, 0, 2, Fate::InFlight)];
        let error = books().close(unfinished.into_iter()).unwrap_err().to_string();
        assert!(error.contains("conservation: lags of 0 ended and 2 outstanding do not add up to 1"), "{error}");
    }
}
