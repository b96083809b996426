//! The books of a run: what became of every gradient, and the two laws that they must obey.

use super::gradient::{FATES, Fate, Gradient};
use crate::error::{Error, Result};

/// The books of one worker, kept beside its state.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Gradients started.
    pub started: u64,
    /// Of these, how many were applied: the worker's iteration clock.
    pub applied: u64,
    /// And how many were rejected.
    pub rejected: u64,
    /// Sum of the lags in versions of those applied.
    pub lag_versions: i64,
    /// Sum of the lags in nanoseconds of those applied: less than the run's own length, as one follows the other.
    pub lag_nanos: u64,
    /// Not ended when the run did.
    pub in_flight: bool,
}

impl Tally {
    /// How many of its gradients met each fate, in the order of [`FATES`].
    pub fn fates(&self) -> [u64; FATES.len()] {
        let mut fates = [0; FATES.len()];
        fates[Fate::Applied as usize] = self.applied;
        fates[Fate::Rejected as usize] = self.rejected;
        fates[Fate::InFlight as usize] = u64::from(self.in_flight);
        fates
    }
}

/// The sums behind the conservation law, over all workers. Those of 64 bits cannot overflow: a queue has fewer than 2⁴⁰
/// events and 2²¹ keys, so that no sum of lags exceeds 2⁶¹.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Gradients in flight: snapshots held.
    in_flight: u64,
    /// Σ over version changes Δ of Δ × snapshots then held by others.
    exposure: i64,
    /// Σ lag in versions of every gradient when it ended.
    ended_lag: i64,
    /// Σ over steps of the lags then outstanding, and of the number of gradients then in flight.
    glimpsed: (i128, u64),
}

impl Ledger {
    /// A worker took a snapshot.
    #[inline(always)]
    pub fn start(&mut self, tally: &mut Tally) {
        tally.started += 1;
        self.in_flight += 1;
    }

    /// A gradient was applied, after its worker had started on the next one, and the server went one version on.
    #[inline(always)]
    pub fn apply(&mut self, tally: &mut Tally, gradient: &Gradient) {
        tally.applied += 1;
        tally.lag_versions += gradient.lag_versions();
        tally.lag_nanos += gradient.lag().nanos();
        self.in_flight -= 1;
        self.ended_lag += gradient.lag_versions();
        // Of those in flight, one is the same worker's next, which reads the new version.
        self.exposure += self.in_flight as i64 - 1;
        self.glimpsed.0 += i128::from(self.exposure - self.ended_lag);
        self.glimpsed.1 += self.in_flight;
    }

    /// A gradient was rejected, after its worker had started on the next one: no version changed.
    pub fn reject(&mut self, tally: &mut Tally, gradient: &Gradient) {
        tally.rejected += 1;
        self.in_flight -= 1;
        self.ended_lag += gradient.lag_versions();
    }

    /// The mean lag in versions, so far, of the gradients in flight just after each step. It differs from the lag at
    /// application: an inspector sees gradients half way, and sees long-lived ones more often.
    pub fn in_flight_lag(&self) -> Option<f64> {
        (self.glimpsed.1 > 0).then(|| self.glimpsed.0 as f64 / self.glimpsed.1 as f64)
    }

    /// Closes the books of all workers, with the gradients still in flight, and asserts both laws.
    ///
    /// # Errors
    /// If one is broken.
    pub fn close<'a>(
        &self,
        tallies: impl Iterator<Item = &'a Tally>,
        in_flight: impl Iterator<Item = Gradient>,
    ) -> Result<()> {
        for (worker, tally) in tallies.enumerate() {
            let (started, ended) = (tally.started, tally.fates().iter().sum::<u64>());
            if started != ended {
                return Err(Error::Broken(format!(
                    "ledger: worker {worker} started {started} gradients, {ended} ended"
                )));
            }
        }
        let outstanding: i64 = in_flight.map(|gradient| gradient.lag_versions()).sum();
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
            received: Time::ZERO,
            computed: Time::ZERO,
            arrived: Time::ZERO,
            ended: Time::ZERO,
            causes: Causes::default(),
            weight: 1.0,
            multiplicity: 1,
            fate,
        }
    }

    /// Two workers read version 0; one pushes, so that the other is outstanding with lag 1.
    fn books() -> (Ledger, [Tally; 2]) {
        let (mut ledger, mut tallies) = (Ledger::default(), [Tally::default(); 2]);
        tallies.iter_mut().for_each(|tally| ledger.start(tally));
        ledger.start(&mut tallies[0]);
        ledger.apply(&mut tallies[0], &gradient(0, 0, 0, Fate::Applied));
        tallies.iter_mut().for_each(|tally| tally.in_flight = true);
        (ledger, tallies)
    }

    #[test]
    fn books_that_balance_close() {
        let (ledger, tallies) = books();
        let in_flight = [gradient(0, 1, 1, Fate::InFlight), gradient(1, 0, 1, Fate::InFlight)];
        assert!(ledger.close(tallies.iter(), in_flight.into_iter()).is_ok());
        assert_eq!(ledger.in_flight_lag(), Some(0.5));
    }

    #[test]
    fn a_rejected_gradient_ends_without_a_step() {
        let (mut ledger, mut tallies) = books();
        ledger.start(&mut tallies[1]);
        ledger.reject(&mut tallies[1], &gradient(1, 0, 1, Fate::Rejected));
        assert_eq!(tallies[1].fates(), [0, 1, 0, 0, 0, 0, 1]);
        let in_flight = [gradient(0, 1, 1, Fate::InFlight), gradient(1, 1, 1, Fate::InFlight)];
        assert!(ledger.close(tallies.iter(), in_flight.into_iter()).is_ok());
    }

    #[test]
    fn a_gradient_that_vanished_breaks_the_ledger() {
        let (ledger, mut tallies) = books();
        tallies[1].in_flight = false;
        let error = ledger.close(tallies.iter(), std::iter::empty()).unwrap_err().to_string();
        assert!(error.contains("ledger: worker 1 started 1 gradients, 0 ended"), "{error}");
    }

    #[test]
    fn a_lag_that_is_off_by_one_breaks_the_conservation_law() {
        let (ledger, tallies) = books();
        let in_flight = [gradient(0, 1, 1, Fate::InFlight), gradient(1, 0, 2, Fate::InFlight)];
        let error = ledger.close(tallies.iter(), in_flight.into_iter()).unwrap_err().to_string();
        assert!(error.contains("conservation: lags of 0 ended and 2 outstanding do not add up to 1"), "{error}");
    }
}
