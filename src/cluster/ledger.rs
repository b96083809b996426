//! The books of a run: what became of every gradient, and the two laws that they must obey.

use super::gradient::{FATES, Fate, Gradient};
use crate::error::{Error, Result};
use crate::kernel::Span;

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
    /// Sum of the lags in nanoseconds of those applied.
    pub lag_nanos: u128,
}

/// All that is known of one worker's gradients.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Books {
    /// Gradients started.
    pub started: u64,
    /// How many of them met each fate, in the order of [`FATES`].
    pub fates: [u64; FATES.len()],
    /// Sum of the lags in versions of those applied.
    pub lag_versions: i64,
    /// Sum of the lags in nanoseconds of those applied.
    pub lag_nanos: u128,
    /// Sum of the factors on those applied.
    pub weight: f64,
    /// How long it had no work, from joining on, though it was up.
    pub waited: Span,
    /// How long it was down.
    pub down: Span,
}

impl Books {
    /// Those of a worker that always has one gradient under way once it has joined.
    pub fn of(tally: &Tally, weight: f64) -> Books {
        let mut books = Books {
            started: tally.started,
            lag_versions: tally.lag_versions,
            lag_nanos: tally.lag_nanos,
            weight: tally.applied as f64 * weight,
            ..Books::default()
        };
        books.fates[Fate::Applied as usize] = tally.applied;
        books.fates[Fate::Rejected as usize] = tally.rejected;
        books.fates[Fate::InFlight as usize] = u64::from(tally.started > 0);
        books
    }

    /// Gradients that met a fate.
    pub fn count(&self, fate: Fate) -> u64 {
        self.fates[fate as usize]
    }
}

/// The sums behind the conservation law, over all workers. Those of 64 bits cannot overflow: a queue has fewer than 2⁴⁰
/// events, and there are never more than 2²² gradients, so that no sum of lags exceeds 2⁶².
#[derive(Debug, Default)]
pub struct Ledger {
    /// Gradients in flight: snapshots held.
    in_flight: u64,
    /// Σ over version changes Δ of Δ × snapshots then held by others, + Σ over reads of how far behind they were.
    exposure: i64,
    /// Σ lag in versions of every gradient when it ended.
    ended_lag: i64,
    /// Σ over steps (those of one event together) of the lags outstanding just after them, and of the number of gradients then in flight.
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
        tally.lag_nanos += u128::from(gradient.lag().nanos());
        self.in_flight -= 1;
        self.ended_lag += gradient.lag_versions();
        // Of those in flight, one is the same worker's next, which reads the new version.
        self.exposure += self.in_flight as i64 - 1;
        self.glimpse();
    }

    /// A gradient was rejected, after its worker had started on the next one: no version changed.
    pub fn reject(&mut self, tally: &mut Tally, gradient: &Gradient) {
        tally.rejected += 1;
        self.end(gradient);
    }

    /// A snapshot was read that was already so many versions behind the server.
    pub fn read_behind(&mut self, versions: u64) {
        self.exposure += versions as i64;
    }

    /// A gradient ended, and its snapshot is no longer held.
    pub fn end(&mut self, gradient: &Gradient) {
        self.in_flight -= 1;
        self.ended_lag += gradient.lag_versions();
    }

    /// The server went one version on, after the gradients of that step had ended.
    pub fn step(&mut self) {
        self.step_among(self.in_flight);
    }

    /// The same of a shard of which so many gradients are in flight.
    pub fn step_among(&mut self, in_flight: u64) {
        self.exposure += in_flight as i64;
    }

    /// The server went so many versions back, and with it the lags of all gradients in flight.
    pub fn go_back(&mut self, versions: u64) {
        self.go_back_among(versions, self.in_flight);
    }

    /// The same of a shard of which so many gradients are in flight.
    pub fn go_back_among(&mut self, versions: u64, in_flight: u64) {
        self.exposure -= versions as i64 * in_flight as i64;
    }

    /// A gradient in flight is from now on taken for one of a version that is so many later.
    pub fn relabel(&mut self, versions: i64) {
        self.exposure -= versions;
    }

    /// A look at what is in flight, after the steps of one instant and after whoever they let go has read.
    #[inline(always)]
    pub fn glimpse(&mut self) {
        self.glimpsed.0 += i128::from(self.exposure - self.ended_lag);
        self.glimpsed.1 += self.in_flight;
    }

    /// The mean lag in versions, so far, of the gradients in flight just after each step. It differs from the lag at
    /// application: an inspector sees gradients half way, and sees long-lived ones more often.
    pub fn in_flight_lag(&self) -> Option<f64> {
        (self.glimpsed.1 > 0).then(|| self.glimpsed.0 as f64 / self.glimpsed.1 as f64)
    }

    /// Closes the books of all workers, with the sum of the lags of the gradients still in flight, and asserts both laws.
    ///
    /// # Errors
    /// If one is broken.
    pub fn close(&self, books: impl Iterator<Item = Books>, outstanding: i64) -> Result<()> {
        for (worker, books) in books.enumerate() {
            let (started, ended) = (books.started, books.fates.iter().sum::<u64>());
            if started != ended {
                return Err(Error::Broken(format!(
                    "ledger: worker {worker} started {started} gradients, {ended} ended"
                )));
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
            shard: 0,
            index: 0,
            version_read,
            version_arrived: version_applied,
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
            is_copy: false,
        }
    }

    /// Two workers read version 0; one pushes, so that the other is outstanding with lag 1.
    fn books() -> (Ledger, [Tally; 2]) {
        let (mut ledger, mut tallies) = (Ledger::default(), [Tally::default(); 2]);
        tallies.iter_mut().for_each(|tally| ledger.start(tally));
        ledger.start(&mut tallies[0]);
        ledger.apply(&mut tallies[0], &gradient(0, 0, 0, Fate::Applied));
        (ledger, tallies)
    }

    fn lags(in_flight: &[Gradient]) -> i64 {
        in_flight.iter().map(Gradient::lag_versions).sum()
    }

    fn close(ledger: &Ledger, tallies: &[Tally], in_flight: &[Gradient]) -> Result<()> {
        ledger.close(tallies.iter().map(|tally| Books::of(tally, 1.0)), lags(in_flight))
    }

    #[test]
    fn books_that_balance_close() {
        let (ledger, tallies) = books();
        let in_flight = [gradient(0, 1, 1, Fate::InFlight), gradient(1, 0, 1, Fate::InFlight)];
        assert!(close(&ledger, &tallies, &in_flight).is_ok());
        assert_eq!(ledger.in_flight_lag(), Some(0.5));
    }

    #[test]
    fn a_rejected_gradient_ends_without_a_step() {
        let (mut ledger, mut tallies) = books();
        ledger.start(&mut tallies[1]);
        ledger.reject(&mut tallies[1], &gradient(1, 0, 1, Fate::Rejected));
        assert_eq!(Books::of(&tallies[1], 1.0).fates, [0, 1, 0, 0, 0, 0, 1]);
        let in_flight = [gradient(0, 1, 1, Fate::InFlight), gradient(1, 1, 1, Fate::InFlight)];
        assert!(close(&ledger, &tallies, &in_flight).is_ok());
    }

    #[test]
    fn a_snapshot_that_was_old_when_it_was_read_counts_from_then() {
        let (mut ledger, mut tallies) = books();
        ledger.end(&gradient(1, 0, 1, Fate::Dropped));
        ledger.start(&mut tallies[1]);
        ledger.read_behind(1);
        ledger.step();
        let in_flight = [gradient(0, 1, 2, Fate::InFlight), gradient(1, 0, 2, Fate::InFlight)];
        assert!(ledger.close(std::iter::empty(), lags(&in_flight)).is_ok());
    }

    #[test]
    fn a_gradient_that_vanished_breaks_the_ledger() {
        let (ledger, mut tallies) = books();
        tallies[1].started += 1;
        let error = close(&ledger, &tallies, &[]).unwrap_err().to_string();
        assert!(error.contains("ledger: worker 1 started 2 gradients, 1 ended"), "{error}");
    }

    #[test]
    fn a_lag_that_is_off_by_one_breaks_the_conservation_law() {
        let (ledger, tallies) = books();
        let in_flight = [gradient(0, 1, 1, Fate::InFlight), gradient(1, 0, 2, Fate::InFlight)];
        let error = close(&ledger, &tallies, &in_flight).unwrap_err().to_string();
        assert!(error.contains("conservation: lags of 0 ended and 2 outstanding do not add up to 1"), "{error}");
    }
}
