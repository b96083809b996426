//! A server that fails, and what it is when it is there again.

use super::engine::Simulation;
use super::flow::{Flow, Key, key};
use super::gradient::Fate;
use super::incident::{Happening, Incident};
use super::model::DelayId;
use super::server::Held;
use super::store::{Draw, Saved};
use super::worker::Phase;
use super::{Ended, Observer};
use crate::error::Result;
use crate::failure::{Backlog, Future, Meanwhile, Recovery};
use crate::kernel::Time;
use crate::protocol::Pace;
use std::collections::VecDeque;

impl Flow {
    /// Whether the server can step.
    pub(super) fn can_step(&self) -> bool {
        !self.store.is_down() && !self.store.blocks
    }

    /// Whether workers can read.
    pub(super) fn is_open(&self, run: &Simulation) -> bool {
        !self.store.blocks && (!self.store.is_down() || run.model.comeback.recovery.is_stateless())
    }

    /// When a server that fails now is there again, if it will be.
    pub(super) fn server_will_be_back(&mut self, run: &mut Simulation, repair: Option<Time>) -> Result<Option<Time>> {
        let restore = match &run.model.comeback.recovery {
            Recovery::Chain { detection, replacement, .. } => {
                let (detection, replacement) = (*detection, *replacement);
                self.store.replicas += self.store.joining.extract_if(.., |joins| *joins <= run.now).count() as u32;
                if let Some(replacement) = replacement {
                    let joins = self.draw_time(run, Draw::Replacement, replacement)?;
                    self.store.joining.push(joins);
                }
                if self.store.replicas > 0 {
                    return Ok(Some(self.draw_time(run, Draw::Restore, detection)?));
                }
                DelayId::NONE
            }
            Recovery::Checkpoint { restore, .. } => *restore,
            Recovery::WorkerCopy { restore } => *restore,
            Recovery::Scratch | Recovery::Kept | Recovery::Stateless { .. } => DelayId::NONE,
        };
        let Some(repair) = repair else { return Ok(None) };
        let restored = self.draw_time(run, Draw::Restore, restore)?;
        Ok(repair.checked_add(restored.since(run.now)))
    }

    /// The server fails, `again` if that only prolongs its repair, and perhaps `for_ever`.
    pub(super) fn server_fails(
        &mut self,
        run: &mut Simulation,
        again: bool,
        for_ever: bool,
        observer: &mut impl Observer,
    ) -> Result<()> {
        self.store.failures += 1;
        self.report_server(run, Happening::ServerDown, observer)?;
        self.store.down_by += u32::from(!again);
        if again || self.store.down_by > 1 {
            return Ok(());
        }
        self.server.away = Some(run.now);
        let recovery = &run.model.comeback.recovery;
        if *recovery == Recovery::Kept {
            return Ok(());
        }
        let stateless = recovery.is_stateless();
        for what in [Key::Service, Key::Step, Key::Save, Key::Timer] {
            run.queue.cancel(key(run, what));
        }
        (self.store.pending, self.store.writing, self.store.blocks, self.store.finishing) = (None, false, false, false);
        self.store.timed = false;
        if stateless {
            if for_ever {
                // Its workers would go on without end, and nothing would come of it.
                run.ended.get_or_insert(Ended::Stalled);
            }
            self.put_back(run);
            return self.start_all(run);
        }
        run.queue.cancel(key(run, Key::Publish));
        run.queue.cancel(key(run, Key::Deadline));
        self.lose_all(run, observer)?;
        if run.model.comeback.meanwhile == Meanwhile::Idle {
            for number in 0..self.standings.len() as u32 {
                if self.standings[number as usize].phase == Phase::Busy {
                    self.stop(run, number, Fate::Lost, observer)?;
                    self.starts.push(number);
                }
            }
        }
        Ok(())
    }

    /// What the server was doing comes to nothing, but the gradients are still in the store.
    fn put_back(&mut self, run: &Simulation) {
        if let Some((mut held, begun)) = self.server.serving {
            held.gradient.causes.service += run.now.since(begun);
            self.server.begin_wait(&mut held, run.now);
            self.server.waiting.push_front(held);
        }
        while let Some(mut held) = self.server.batch.pop_back() {
            held.gradient.causes.queue += run.now.since(held.since);
            self.server.put_back(held, run.now);
        }
        self.server.break_off(run.now);
    }

    /// Everything that was at the server is lost, and whoever waits for it goes on when it is there again.
    fn lose_all(&mut self, run: &mut Simulation, observer: &mut impl Observer) -> Result<()> {
        let (all, outside) = self.server.all(run.now);
        self.server.lose_all(run.now);
        for (place, held) in all.iter().enumerate() {
            self.lose(run, held, observer)?;
            if place < outside {
                self.tell_done(held, true);
            } else {
                self.tell_unused(held, run.version);
            }
        }
        if let Some(worker) = self.awaits_step.take() {
            // Its gradient was in the step, and is dealt with like the others there; but it has not completed it.
            let completes = !matches!(run.model.composition.pace, Pace::ClockGap { .. });
            self.pacer.done(worker, !completes, &mut self.starts);
        }
        Ok(())
    }

    /// A gradient that reached the server, or what is left of it, is lost.
    fn lose(&mut self, run: &mut Simulation, held: &Held, observer: &mut impl Observer) -> Result<()> {
        let mut gradient = held.gradient;
        (gradient.fate, gradient.version_applied, gradient.ended) = (Fate::Lost, run.version, run.now);
        self.tell_refund(held);
        self.end(run, &gradient, held.slot, observer)
    }

    /// A push finds no server, and is lost with it where workers do not try again.
    pub(super) fn is_lost(&self, run: &Simulation) -> bool {
        let comeback = &run.model.comeback;
        self.store.is_down() && comeback.meanwhile == Meanwhile::Lose && !comeback.recovery.keeps_all()
    }

    pub(super) fn lose_push(&mut self, run: &mut Simulation, held: &Held, observer: &mut impl Observer) -> Result<()> {
        self.lose(run, held, observer)?;
        self.tell_done(held, true);
        self.start_all(run)
    }

    /// The server is there again, with what it has.
    pub(super) fn server_is_back(&mut self, run: &mut Simulation, observer: &mut impl Observer) -> Result<()> {
        self.store.down_by -= 1;
        if self.store.is_down() {
            return Ok(());
        }
        self.server.away_before = self.server.away_nanos(run.now);
        self.server.away = None;
        match self.comes_back_with(run) {
            Some(saved) => self.roll_back(run, &saved, observer)?,
            None => self.store.backlog = !self.server.buffer.is_empty() && run.model.comeback.recovery.is_stateless(),
        }
        self.report_server(run, Happening::ServerBack, observer)?;
        if !run.queue.is_pending(key(run, Key::Timer)) {
            self.set_timer(run);
        }
        self.reopen(run, observer)
    }

    /// Whoever waited for the server goes on.
    pub(super) fn reopen(&mut self, run: &mut Simulation, observer: &mut impl Observer) -> Result<()> {
        if !run.queue.is_pending(key(run, Key::Deadline)) {
            // One that passed meanwhile passed without effect.
            self.set_deadline(run);
        }
        self.step_if_ready(run, observer)?;
        self.store.backlog = false;
        self.serve(run, observer)?;
        for number in std::mem::take(&mut self.knocking) {
            self.answer(run, number)?;
        }
        self.start_all(run)
    }

    /// What a server that is there again has, if that is not what it had.
    fn comes_back_with(&mut self, run: &Simulation) -> Option<Saved> {
        let first = || Some(self.store.first.clone());
        match &run.model.comeback.recovery {
            Recovery::Kept | Recovery::Stateless { .. } => None,
            Recovery::Scratch => first(),
            Recovery::Checkpoint { missed, .. } if u64::from(self.store.incarnation()) < *missed => first(),
            Recovery::Checkpoint { optimiser, .. } => {
                let mut last = self.store.last.clone();
                if !optimiser {
                    last.optimiser = self.store.first.optimiser.clone();
                }
                Some(last)
            }
            Recovery::Chain { .. } if self.store.replicas == 0 => first(),
            Recovery::Chain { .. } => {
                self.store.replicas -= 1;
                Some(self.store.last.clone())
            }
            Recovery::WorkerCopy { .. } => {
                let able = |number: &usize| self.faults.health[*number].is_up();
                let busy = (0..self.standings.len()).filter(|&number| self.standings[number].phase == Phase::Busy);
                let computing =
                    busy.filter(able).map(|number| (run.workers[number].version_read, run.workers[number].slot));
                // Those that try to push still have what they read.
                let pushing = self.server.waiting.iter().filter(|held| able(&(held.gradient.worker as usize)));
                let pushing = pushing.map(|held| (held.gradient.version_read, held.slot));
                let Some((version, slot)) = computing.chain(pushing).max_by_key(|(version, _)| *version) else {
                    return first();
                };
                let undone = run.version - version.min(run.version);
                let parts = run.model.composition.step.parts.get();
                Some(Saved {
                    batches: self.server.batches.saturating_sub(undone.div_ceil(parts)),
                    version: version.min(run.version),
                    parameters: run.snapshots.get(slot).to_vec(),
                    ..self.store.first.clone()
                })
            }
        }
    }

    /// The server goes on from what was saved. What was applied since then is undone.
    fn roll_back(&mut self, run: &mut Simulation, saved: &Saved, observer: &mut impl Observer) -> Result<()> {
        run.restores(self.store.saves, &mut self.store.saves_restored);
        let undone = self.undo(run, saved.version);
        let lost = run.version - saved.version;
        self.store.versions_lost += lost;
        // What was undone is to be done again.
        run.model.stop.updates = run.model.stop.updates.saturating_add(lost);
        self.store.restored.push(saved.version);
        run.ledger.go_back(lost);
        run.version = saved.version;
        run.snapshots.restore(&saved.parameters);
        run.model.optimiser = saved.optimiser.clone();
        self.server.batches = saved.batches;
        self.unpublish(run);
        if saved.version < self.store.last.version || !run.model.comeback.recovery.saves() {
            // What it has now is all that there is to come back to.
            self.store.last = saved.clone();
        }
        self.pacer.restored(run.version, saved.batches, undone, &mut self.starts);
        self.meet_future(run, observer)
    }

    /// Gradients that were applied at a version or later have been in vain; says how many.
    fn undo(&mut self, run: &Simulation, version: u64) -> u64 {
        let mut undone = 0;
        if version <= self.store.first.version {
            // All of them, whatever the log still has.
            for (health, worker) in self.faults.health.iter_mut().zip(&run.workers) {
                undone += worker.tally.applied - health.rolled_back;
                health.rolled_back = worker.tally.applied;
            }
            self.store.undone_nanos += std::mem::take(&mut self.store.useful_nanos);
            self.store.log.iter_mut().for_each(VecDeque::clear);
            return undone;
        }
        let log = self.store.log.get_or_insert_default();
        while let Some(applied) = log.back().filter(|applied| applied.version >= version) {
            self.faults.health[applied.worker as usize].rolled_back += 1;
            self.store.useful_nanos -= u128::from(applied.busy_nanos);
            self.store.undone_nanos += u128::from(applied.busy_nanos);
            undone += 1;
            log.pop_back();
        }
        undone
    }

    /// Deals with gradients of versions that were undone, as far as they can be dealt with now.
    fn meet_future(&mut self, run: &mut Simulation, observer: &mut impl Observer) -> Result<()> {
        self.order_again(run);
        let future = run.model.comeback.future;
        if future == Future::Refetch {
            for number in 0..self.standings.len() as u32 {
                let (read, incarnation) =
                    (run.workers[number as usize].version_read, self.faults.health[number as usize].incarnation);
                if self.standings[number as usize].phase == Phase::Busy && self.store.is_undone(incarnation, read) {
                    self.stop(run, number, Fate::Cancelled, observer)?;
                    self.starts.push(number);
                }
            }
        }
        for _ in 0..self.server.waiting.len() {
            let Some(mut held) = self.server.waiting.pop_front() else { break };
            if self.greet(run, &mut held, observer)? {
                self.server.waiting.push_back(held);
            }
        }
        Ok(())
    }

    /// A gradient comes to a server that may have another past. False if it is not wanted.
    pub(super) fn greet(
        &mut self,
        run: &mut Simulation,
        held: &mut Held,
        observer: &mut impl Observer,
    ) -> Result<bool> {
        if !self.store.is_undone(held.incarnation, held.gradient.version_read) || self.store.is_down() {
            return Ok(true);
        }
        match run.model.comeback.future {
            Future::Accept => {}
            Future::Relabel => {
                run.ledger.relabel(run.version as i64 - held.gradient.version_read as i64);
                held.gradient.version_read = run.version;
                held.gradient.version_arrived = run.version;
                held.base = run.version;
            }
            Future::Drop | Future::Refetch => {
                self.server.queued(held, run.now);
                let mut gradient = held.gradient;
                (gradient.fate, gradient.version_applied, gradient.ended) = (Fate::Dropped, run.version, run.now);
                self.tell_refund(held);
                self.end(run, &gradient, held.slot, observer)?;
                self.tell_done(held, true);
                return Ok(false);
            }
        }
        held.incarnation = self.store.incarnation();
        Ok(true)
    }

    /// How the steps that apply what came during an outage are made.
    pub(super) fn backlog(&self, run: &Simulation) -> Backlog {
        match run.model.comeback.recovery {
            Recovery::Stateless { backlog, .. } if self.store.backlog => backlog,
            _ => Backlog::AsAlways,
        }
    }

    /// The factor on a step with so many gradients.
    pub(super) fn switch(&self, run: &Simulation, count: u64) -> f64 {
        match run.model.comeback.recovery {
            Recovery::Stateless { above: Some(above), factor, .. } if count > above.get() => factor.get(),
            _ => 1.0,
        }
    }

    pub(super) fn report_server(&self, run: &Simulation, what: Happening, observer: &mut impl Observer) -> Result<()> {
        let waiting = (self.server.waiting.len() + self.server.buffer.len()) as u64;
        let loss = Some(run.model.objective.loss(run.snapshots.current()));
        observer.incident(&Incident {
            at: run.now,
            what,
            worker: None,
            shard: None,
            version: run.version,
            loss,
            waiting,
        })
    }
}
