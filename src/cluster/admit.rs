//! What the server does with gradients that come, and with those that have become too stale.

use super::engine::Simulation;
use super::flow::{Flow, is_under_way};
use super::gradient::{Fate, Gradient};
use super::model::purpose;
use super::server::Held;
use super::worker::Phase;
use super::{Ended, Observer};
use crate::error::Result;
use crate::protocol::{Late, Otherwise};
use rand::RngExt;

impl Flow {
    /// The gradient comes a second time, if it does (at-least-once delivery): the copy counts as started, and is like any other but
    /// that no worker waits for it.
    pub(super) fn copy(&mut self, run: &mut Simulation, held: &Held) {
        let probability = run.model.server.duplicates;
        let (worker, number) = (held.gradient.worker, self.standings[held.gradient.worker as usize].begun);
        let mut random = run.model.streams.stream(purpose::DUPLICATE, u64::from(worker)).draw(number);
        if random.random::<f64>() >= probability {
            return;
        }
        run.ledger.start(&mut run.workers[worker as usize].tally);
        run.ledger.relabel(held.gradient.version_read as i64 - run.version as i64);
        self.standings[worker as usize].in_flight += 1;
        run.snapshots.share(held.slot);
        self.server.waiting.push_back(Held { gradient: Gradient { is_copy: true, ..held.gradient }, ..*held });
    }

    /// Tells who paces the workers that a gradient was dealt with. Of copies it knows nothing.
    pub(super) fn tell_done(&mut self, held: &Held, refused: bool) {
        if !held.gradient.is_copy {
            self.pacer.done(held.gradient.worker, refused, &mut self.starts);
        }
    }

    /// The same of one that was held for a step, and will not be used after all.
    pub(super) fn tell_unused(&mut self, held: &Held, version: u64) {
        if !held.gradient.is_copy {
            self.pacer.unused(held.gradient.worker, held.base == version, &mut self.starts);
        }
    }

    /// The same of one that does not count against a budget any more.
    pub(super) fn tell_refund(&mut self, held: &Held) {
        if !held.gradient.is_copy {
            self.pacer.refund(&mut self.starts);
        }
    }

    /// A gradient is ready to be used: it is refused, or held for its step.
    pub(super) fn receive(
        &mut self,
        run: &mut Simulation,
        held: &mut Held,
        observer: &mut impl Observer,
    ) -> Result<()> {
        let number = held.gradient.worker;
        let refusal = self.refusal(run, held);
        match refusal {
            Some(fate) => self.refuse(run, held, fate, observer)?,
            None => {
                if let Some(mut evicted) = self.server.hold(held, run.now) {
                    self.server.waited(&mut evicted, run.now);
                    self.refuse(run, &evicted, Fate::Dropped, observer)?;
                    self.tell_unused(&evicted, run.version);
                }
                self.step_if_ready(run, observer)?;
                if self.server.stepping.is_some() && !self.buffers && !held.gradient.is_copy {
                    // Its worker goes on when the step is over, and reads the version that includes its own update.
                    self.awaits_step = Some(number);
                    return Ok(());
                }
            }
        }
        self.tell_done(held, refusal.is_some());
        Ok(())
    }

    /// Whether, and as what, a gradient is refused if its turn is now.
    pub(super) fn refusal(&self, run: &Simulation, held: &Held) -> Option<Fate> {
        let composition = &run.model.composition;
        let lag = run.version as i64 - held.gradient.version_read as i64;
        let late = matches!(composition.late, Late::Drop | Late::Cancel) && held.base != run.version;
        let rejected = !composition.admit.lets_in(lag, run.now.since(held.gradient.read).seconds());
        if rejected { Some(Fate::Rejected) } else { late.then_some(Fate::Dropped) }
    }

    /// Ends a gradient that the server does not want.
    pub(super) fn refuse(
        &mut self,
        run: &mut Simulation,
        held: &Held,
        fate: Fate,
        observer: &mut impl Observer,
    ) -> Result<()> {
        let gradient = Gradient { fate, version_applied: run.version, ended: run.now, ..held.gradient };
        match run.model.composition.admit.otherwise {
            Otherwise::Fail if fate == Fate::Rejected => {
                run.ended.get_or_insert(Ended::Stale);
            }
            Otherwise::Recompute if fate == Fate::Rejected => self.again.push_back(held.data),
            _ => {}
        }
        self.tell_refund(held);
        self.end(run, &gradient, held.slot, observer)
    }

    /// After a step, or with time: refuses what has become too stale where it waits for its step.
    pub fn refuse_held(&mut self, run: &mut Simulation, observer: &mut impl Observer) -> Result<()> {
        let mut place = 0;
        while let Some(&(mut held)) = self.server.buffer.get(place) {
            let Some(fate) = self.refusal(run, &held) else {
                place += 1;
                continue;
            };
            self.server.waited(&mut held, run.now);
            self.server.remove(place);
            self.refuse(run, &held, fate, observer)?;
            self.tell_unused(&held, run.version);
        }
        Ok(())
    }

    /// After a step: tells unfinished work to stop that is of no use any more, and lets its workers start again.
    pub fn stop_late(&mut self, run: &mut Simulation, observer: &mut impl Observer) -> Result<()> {
        match run.model.composition.late {
            Late::Keep | Late::Drop => {}
            Late::Cancel => {
                for number in 0..self.standings.len() as u32 {
                    if self.standings[number as usize].phase == Phase::Busy {
                        self.stop(run, number, Fate::Cancelled, observer)?;
                        self.starts.push(number);
                    }
                }
            }
            Late::CancelStale => {
                let most = run.model.composition.admit.most_versions.unwrap_or(u64::MAX);
                while let Some(&(number, index, version)) = self.order.front() {
                    if run.version.saturating_sub(version) <= most {
                        break;
                    }
                    self.order.pop_front();
                    if is_under_way(&self.standings[number as usize], index) {
                        self.stop(run, number, Fate::Cancelled, observer)?;
                        self.starts.push(number);
                    }
                }
            }
        }
        Ok(())
    }
}
