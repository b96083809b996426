//! One optimiser step of the server with the gradients that the protocol holds for it.

use super::engine::{ARRIVAL_OR_STEP, Simulation, TIME_IS_UP};
use super::flow::{Flow, Key, key, later};
use super::gradient::Gradient;
use super::model::{DelayId, purpose};
use super::snapshots::Snapshots;
use super::work::Problem;
use super::{Observer, Step};
use crate::error::Result;
use crate::failure::Backlog;
use crate::kernel::{Span, Time};
use crate::optimiser::Context;
use crate::protocol::{After, Late, Mean};

/// What a step adds up.
#[derive(Default)]
struct Sum {
    /// Of weights.
    weight: f64,
    /// How many gradients.
    count: u64,
}

impl Flow {
    /// Steps as often as there are enough gradients. A step that takes time goes on while others come in.
    pub fn step_if_ready(&mut self, run: &mut Simulation, observer: &mut impl Observer) -> Result<()> {
        let ages = run.model.composition.admit.most_s.is_some();
        while run.ended.is_none() && self.can_step() && self.server.stepping.is_none() && self.has_enough(run) {
            if !self.server.batch.is_empty() {
                self.begin_step(run, observer)?;
                continue;
            }
            if ages {
                // What has become too old by waiting is found when it would be used.
                self.refuse_held(run, observer)?;
                if run.ended.is_some() || !self.has_enough(run) {
                    return Ok(());
                }
            }
            match self.backlog(run) {
                Backlog::AsAlways => self.server.take(run.now),
                Backlog::OneByOne => self.server.take_backlog(1, run.now),
                Backlog::Sum | Backlog::Mean => self.server.take_backlog(usize::MAX, run.now),
            }
            self.begin_step(run, observer)?;
        }
        Ok(())
    }

    /// Whether there is enough for a step, or a part of one is left.
    fn has_enough(&self, run: &Simulation) -> bool {
        let backlog = self.backlog(run) != Backlog::AsAlways && !self.server.buffer.is_empty();
        backlog || !self.server.batch.is_empty() || self.server.is_ready()
    }

    fn begin_step(&mut self, run: &mut Simulation, observer: &mut impl Observer) -> Result<()> {
        self.server.stepping = Some(run.now);
        if run.model.server.step == DelayId::NONE {
            return self.complete_step(run, observer);
        }
        let stream = run.model.streams.stream(purpose::STEP, 0);
        let id = run.model.server.step;
        let then = later(run, id, stream, self.server.timed_steps)?;
        self.server.timed_steps += 1;
        run.queue.schedule(key(run, Key::Step), then, ARRIVAL_OR_STEP);
        Ok(())
    }

    /// A step that took time is over.
    pub fn on_stepped(&mut self, run: &mut Simulation, observer: &mut impl Observer) -> Result<()> {
        self.complete_step(run, observer)?;
        if self.server.batch.is_empty()
            && let Some(worker) = self.awaits_step.take()
        {
            self.pacer.done(worker, false, &mut self.starts);
        }
        self.step_if_ready(run, observer)?;
        self.serve(run, observer)?;
        self.start_all(run)
    }

    /// The time for a step is up: it is taken with what there is, as soon as the server is free. The next deadline begins with
    /// that step, or now if nothing has come.
    pub fn on_deadline(&mut self, run: &mut Simulation, observer: &mut impl Observer) -> Result<()> {
        if self.server.stepping.is_some() {
            // The end of that step lets the next deadline begin.
            return Ok(());
        }
        if !self.can_step() {
            return Ok(());
        }
        self.server.is_due = true;
        if self.server.serving.is_none() {
            let before = run.updates;
            self.step_if_ready(run, observer)?;
            if run.updates == before && self.server.stepping.is_none() {
                self.server.is_due = false;
                self.pass_deadlines(run);
            }
        }
        self.start_all(run)
    }

    /// Nothing has come by a deadline: the next one that matters is the first after the next event. If there is none, nothing will
    /// ever come.
    fn pass_deadlines(&mut self, run: &mut Simulation) {
        let After::Deadline(seconds) = run.model.composition.step.after else { return };
        let Some(next) = run.queue.peek() else { return };
        let length = Span::from_seconds(seconds.get()).unwrap_or(Span::MAX).nanos();
        let passed = next.time.since(run.now).nanos().div_ceil(length).max(1);
        let then = run.now.checked_add(Span::from_nanos(passed.saturating_mul(length).min(Span::MAX.nanos())));
        run.queue.schedule(key(run, Key::Deadline), then.unwrap_or(Time::MAX), TIME_IS_UP);
    }

    /// Lets the time until the next deadline begin.
    pub fn set_deadline(&mut self, run: &mut Simulation) {
        let After::Deadline(seconds) = run.model.composition.step.after else { return };
        let then = Span::from_seconds(seconds.get()).and_then(|span| run.now.checked_add(span)).unwrap_or(Time::MAX);
        run.queue.schedule(key(run, Key::Deadline), then, TIME_IS_UP);
    }

    /// The step takes effect: new parameters, closed books, and whoever waited for it goes on.
    fn complete_step(&mut self, run: &mut Simulation, observer: &mut impl Observer) -> Result<()> {
        self.publish_first(run);
        let begun = self.server.stepping.take().unwrap_or(run.now);
        let count = self.server.part();
        self.describe(run, begun, count);
        let inspected = observer.wants_inspection(run.updates + 1);
        if inspected && observer.wants_optimiser(run.updates + 1) {
            run.optimiser_before = Some(run.model.optimiser.clone());
        }
        let before = inspected.then(|| run.snapshots.hold());
        let sound = self.change_parameters(run, count, inspected);
        self.close_books(run, count, observer);
        if let Some(before) = before {
            self.show(run, count, before, observer)?;
            run.optimiser_before = None;
        }
        run.check_end(sound);
        self.server.end_step(begun, run.now);
        for held in self.server.batch.iter().take(count) {
            run.snapshots.release(held.slot);
            if !held.gradient.is_copy {
                self.pacer.used(held.gradient.worker, &mut self.starts);
            }
        }
        self.server.batch.drain(..count);
        self.server.batches += u64::from(self.server.batch.is_empty());
        self.publish(run)?;
        self.after_step(run, observer)
    }

    /// What a new version means for those that did not take part in it.
    fn after_step(&mut self, run: &mut Simulation, observer: &mut impl Observer) -> Result<()> {
        let composition = &run.model.composition;
        let refuses = composition.admit.most_versions.is_some() || composition.late == Late::Drop;
        if !self.server.buffer.is_empty() && (refuses || composition.late == Late::Cancel) {
            self.refuse_held(run, observer)?;
        }
        self.stop_late(run, observer)?;
        self.pacer.stepped(run.version, self.server.batches, &mut self.starts);
        self.set_deadline(run);
        self.save_if_due(run, observer)
    }

    /// Puts down for the first `count` gradients of the batch what the step makes known of them.
    fn describe(&mut self, run: &Simulation, begun: Time, count: usize) {
        self.versions.clear();
        self.versions.extend(self.server.batch.iter().take(count).map(|held| held.gradient.version_read));
        self.versions.sort_unstable();
        let admit = run.model.composition.admit;
        for held in self.server.batch.iter_mut().take(count) {
            let gradient = &mut held.gradient;
            let tally = &run.workers[gradient.worker as usize].tally;
            gradient.version_applied = run.version;
            gradient.ended = run.now;
            gradient.lag_clocks = run.fastest_clock - tally.applied;
            gradient.causes.queue += begun.since(held.since);
            gradient.causes.service += run.now.since(begun);
            let alike = |order: fn(&u64, &u64) -> bool| {
                self.versions.partition_point(|version| order(version, &gradient.version_read))
            };
            gradient.multiplicity = (alike(|a, b| a <= b) - alike(|a, b| a < b)) as u32;
            if let Some(discount) = admit.discount {
                held.discount = discount.factor(gradient.lag_versions(), gradient.lag().seconds());
                gradient.weight *= held.discount;
            }
        }
    }

    /// Computes the gradients, makes one update of them, and subtracts that; false if the parameters have diverged.
    fn change_parameters(&mut self, run: &mut Simulation, count: usize, inspected: bool) -> bool {
        if self.server.begins_round()
            && let Some(table) = &mut self.table
        {
            table.clear();
        }
        let mut sum = Sum::default();
        let mut lag = (0, Span::ZERO);
        for place in 0..count {
            let held = &self.server.batch[place];
            let gradient = &held.gradient;
            let problem = Problem {
                objective: run.model.objective.as_ref(),
                noise: &run.model.noise,
                streams: run.model.streams,
                snapshots: &run.snapshots,
            };
            let local_steps = u64::from(run.model.workers[gradient.worker as usize].local_steps);
            self.workshop.compute(&problem, held, local_steps, &mut self.pushed);
            // What its class weighs is part of what a worker pushes; what its lag is worth comes after.
            let class_weight = run.workers[gradient.worker as usize].weight;
            if class_weight != 1.0 {
                self.pushed.iter_mut().for_each(|g| *g *= class_weight);
            }
            let context = context(run.updates, &run.snapshots, gradient, held.slot);
            run.model.optimiser.transform_gradient(&mut self.pushed, &context);
            let factor = held.discount;
            if let Some(table) = &mut self.table {
                table.add(gradient.worker as usize, &self.pushed);
            } else if place == 0 {
                run.update
                    .iter_mut()
                    .zip(&self.pushed)
                    .for_each(|(u, g)| *u = if factor == 1.0 { *g } else { g * factor });
            } else {
                crate::vector::add_scaled(&mut run.update, factor, &self.pushed);
            }
            sum.weight += gradient.weight;
            sum.count += 1;
            lag = lag.max((gradient.lag_versions(), gradient.lag()));
        }
        match &mut self.table {
            Some(table) => table.step(&mut run.update),
            None => self.divide(run, &sum),
        }
        if inspected {
            run.seen[1].copy_from_slice(&run.update);
        }
        let first = &self.server.batch[0];
        let (lag_versions, lag) = lag;
        let context =
            Context { lag_versions, lag, ..context(run.updates, &run.snapshots, &first.gradient, first.slot) };
        run.model.optimiser.transform(&mut run.update, &context);
        run.snapshots.step(&run.update)
    }

    fn divide(&self, run: &mut Simulation, sum: &Sum) {
        let by = match run.model.composition.step.mean {
            Mean::Count => sum.count as f64,
            Mean::Weights => sum.weight,
            Mean::Sum => 1.0,
        };
        let by = match self.backlog(run) {
            Backlog::Sum => 1.0,
            Backlog::Mean => sum.count as f64,
            Backlog::AsAlways | Backlog::OneByOne => by,
        } / self.switch(run, sum.count);
        if by == 0.0 {
            // All weights are 0: nothing is made of the gradients, though their step is counted.
            run.update.fill(0.0);
        } else if by != 1.0 {
            run.update.iter_mut().for_each(|u| *u /= by);
        }
    }

    /// The gradients have ended, and the server is one version on.
    fn close_books(&mut self, run: &mut Simulation, count: usize, observer: &mut impl Observer) {
        for held in self.server.batch.iter().take(count) {
            let gradient = &held.gradient;
            let tally = &mut run.workers[gradient.worker as usize].tally;
            tally.applied += 1;
            tally.lag_versions += gradient.lag_versions();
            tally.lag_nanos += u128::from(gradient.lag().nanos());
            run.fastest_clock = run.fastest_clock.max(tally.applied);
            let standing = &mut self.standings[gradient.worker as usize];
            standing.in_flight -= 1;
            // A table gives every worker the same part in each step, however many gradients it sent.
            standing.weight += if self.table.is_some() { 0.0 } else { gradient.weight };
            self.lag_in_flight += gradient.lag_versions_in_flight();
            self.nanos_in_flight += u128::from(gradient.arrived.since(gradient.read).nanos());
            self.lag_batches += self.server.batches as i64 - held.batches_read as i64;
            let busy = gradient.causes;
            // A copy cost its worker nothing.
            let busy = if held.gradient.is_copy { Span::ZERO } else { busy.download + busy.compute + busy.upload };
            self.store.applied(run.version, gradient.worker, busy);
            run.ledger.end(gradient);
            observer.applied(gradient);
        }
        run.version += 1;
        run.updates += 1;
        run.in_vain = 0;
        run.ledger.step();
        self.stepped = true;
    }

    /// Shows the step to an observer, gradient by gradient.
    #[cold]
    fn show(&mut self, run: &mut Simulation, count: usize, before: u32, observer: &mut impl Observer) -> Result<()> {
        for held in self.server.batch.iter().take(count) {
            let step = Step {
                updates: run.updates,
                read: run.snapshots.get(held.slot),
                pushed: &run.seen[1],
                before: run.snapshots.get(before),
                after: run.snapshots.current(),
                objective: run.model.objective.as_ref(),
                cost: run.cost_with(&self.faults.health),
                totals: Some(self.totals(run)),
                optimiser: run.optimiser_before.as_ref(),
            };
            observer.inspect(&held.gradient, &step)?;
        }
        run.snapshots.release(before);
        Ok(())
    }
}

/// What the optimiser may know of a gradient.
fn context<'a>(updates: u64, snapshots: &'a Snapshots, gradient: &Gradient, slot: u32) -> Context<'a> {
    Context {
        updates,
        lag_versions: gradient.lag_versions(),
        lag: gradient.lag(),
        worker: gradient.worker,
        parameters: snapshots.current(),
        read: snapshots.get(slot),
    }
}
