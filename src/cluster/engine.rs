//! The event loop: one queue, one handler for each kind of event.

use super::ended::Ended;
use super::errors;
use super::flow::Flow;
use super::gradient::{Fate, Gradient};
use super::ledger::Ledger;
use super::model::Model;
use super::shards::Shards;
use super::snapshots::Snapshots;
use super::upcoming::{What, keys};
use super::worker::Worker;
use super::{Observer, Step};
use crate::error::{Error, Result};
use crate::kernel::{Due, Fingerprint, Queue, Rank, Stream, Time};
use crate::optimiser::{Context, Optimiser};

/// The order of events at the same instant. Faults come first, the end of the run last.
pub const ARRIVAL_OR_STEP: Rank = Rank::new(1);
pub const START: Rank = Rank::new(2);
/// Deadlines of rounds and ends of patience, after arrivals: a gradient that comes at that very instant is in time.
pub const TIME_IS_UP: Rank = Rank::new(3);

/// So many events (and some for each worker) may happen at one instant; then something takes no time at all.
const MOST_STANDING: u64 = 1 << 20;

/// So many workers are always near the processor.
const MOST_NEAR: usize = 1 << 11;

/// After so many gradients in a row that came to nothing, none will come to anything.
const MOST_IN_VAIN: u64 = 1 << 24;

/// After so many restores in a row of the same save, there will be no other one.
const MOST_RESTORES: u64 = 1 << 14;

/// A run in progress.
#[derive(Debug)]
pub struct Simulation {
    pub(super) model: Model,
    pub(super) queue: Queue,
    pub(super) now: Time,
    pub(super) version: u64,
    pub(super) updates: u64,
    pub(super) ended: Option<Ended>,
    pub(super) workers: Vec<Worker>,
    pub(super) snapshots: Snapshots,
    /// The gradient on its way through the optimiser.
    pub(super) update: Vec<f64>,
    /// Copies for observers of a step: parameters read, gradient pushed, parameters before.
    pub(super) seen: [Vec<f64>; 3],
    /// The optimiser before a step, for an observer that asked for it.
    pub(super) optimiser_before: Option<Optimiser>,
    pub(super) ledger: Ledger,
    /// The most gradients applied of any worker.
    pub(super) fastest_clock: u64,
    /// What there is more, unless every gradient is a step of its own and never waits. Taken out while it deals with an event.
    flow: Option<Box<Flow>>,
    /// The shards of the server, if it is in shards. The same.
    shards: Option<Box<Shards>>,
    /// Whether there is neither.
    is_plain: bool,
    /// If a step is no more than that: curvature, minimum and learning rate.
    parabola: Option<[f64; 3]>,
    /// Events since the clock last moved, counted in slices.
    standing: u64,
    /// Gradients that came to nothing since the last step.
    pub(super) in_vain: u64,
    /// Restores of what the restore before had found, too.
    restores: u64,
    fingerprint: Fingerprint,
    /// What was wrong before the first event.
    failed: Option<Error>,
    /// Whether anything has a price: found out once, as there may be many workers.
    pub(super) has_prices: bool,
}

impl Simulation {
    /// A run of `model` just before its first event.
    pub fn new(model: Model) -> Simulation {
        let workers = model.workers.len() as u32;
        let dimension = model.start.len();
        let is_plain = model.is_plain();
        // More keys only if they are needed: one can mean one match more at every event.
        let mut queue = Queue::new(keys(&model));
        for (number, member) in (0..).zip(model.workers.iter()) {
            queue.schedule(number, member.joins_at, START);
        }
        let mut simulation = Simulation {
            queue,
            now: Time::ZERO,
            version: model.start_version,
            updates: 0,
            ended: None,
            workers: (0..workers).map(|number| Worker::new(&model, number)).collect(),
            snapshots: Snapshots::new(&model.start, workers),
            update: vec![0.0; dimension],
            seen: std::array::from_fn(|_| vec![0.0; dimension]),
            optimiser_before: None,
            ledger: Ledger::default(),
            fastest_clock: 0,
            flow: None,
            shards: None,
            is_plain,
            parabola: model.parabola(),
            standing: 0,
            in_vain: 0,
            restores: 0,
            fingerprint: Fingerprint::default(),
            failed: None,
            has_prices: model.has_prices(),
            model,
        };
        if !simulation.model.shards.is_empty() {
            let mut shards = Box::new(Shards::new(&simulation.model));
            simulation.failed = shards.processes.begin(&mut simulation).err();
            simulation.shards = Some(shards);
        } else if !is_plain {
            let mut flow = Box::new(Flow::new(&simulation.model));
            flow.set_deadline(&mut simulation);
            flow.set_timer(&mut simulation);
            simulation.failed = flow.faults.processes.begin(&mut simulation).err();
            simulation.flow = Some(flow);
        }
        simulation
    }

    /// The queue's key of one of the processes that make things fail: they are the last.
    pub(super) fn fault_key(&self, place: usize) -> u32 {
        keys(&self.model) - self.model.failures.len() as u32 + place as u32
    }

    /// Handles up to `events` events; says why the run ended, if it did.
    ///
    /// # Errors
    /// If a delay does not fit the clock, the clock stands still, there are too many events, or the observer fails.
    pub fn advance(&mut self, events: u64, observer: &mut impl Observer) -> Result<Option<Ended>> {
        let begun = self.now;
        self.check_events(events)?;
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        for _ in 0..events {
            if self.ended.is_some() {
                break;
            }
            let Some(due) = self.queue.pop_by(self.model.stop.time) else {
                self.run_out();
                break;
            };
            self.now = due.time;
            self.fingerprint.add(due.time.nanos(), (self.version << 24) ^ u64::from(due.key));
            self.handle(due, observer)?;
        }
        if self.in_vain > MOST_IN_VAIN || self.restores > MOST_RESTORES {
            self.ended.get_or_insert(Ended::Stalled);
        }
        self.standing = if self.now == begun { self.standing + events } else { 0 };
        if self.ended.is_none() && self.standing > MOST_STANDING + 4 * self.workers.len() as u64 {
            return Err(errors::stands_still(self.now, self.standing));
        }
        Ok(self.ended)
    }

    /// Ends a run in which nothing is left to happen, or nothing in its time.
    #[cold]
    fn run_out(&mut self) {
        self.ended = Some(Ended::Stalled);
        if self.queue.peek().is_some() {
            self.now = self.model.stop.time;
            self.ended = Some(Ended::Time);
        }
    }

    /// Refuses a slice after which the queue might be exhausted.
    fn check_events(&self, events: u64) -> Result<()> {
        // An event schedules at most one other for each key.
        let each = if self.is_plain { 1 } else { u64::from(keys(&self.model)) };
        if events.saturating_mul(each).saturating_add(self.queue.scheduled()) > Queue::MAX_EVENTS {
            return Err(errors::too_many_events());
        }
        Ok(())
    }

    /// Ends the run where it is.
    pub fn interrupt(&mut self) {
        self.ended.get_or_insert(Ended::Interrupted);
    }

    /// The server, or a shard of it, goes back to what it had saved `saves` times; `last` is how often it had when it last did. If it never
    /// comes further the run is stalled.
    pub(super) fn restores(&mut self, saves: u64, last: &mut Option<u64>) {
        self.restores = if *last == Some(saves) { self.restores + 1 } else { 0 };
        *last = Some(saves);
    }

    /// Closes the books: hands the gradients in flight to the observer, and asserts the laws of every run.
    ///
    /// # Errors
    /// If a law is broken, or the observer fails.
    pub fn close(&mut self, observer: &mut impl Observer) -> Result<()> {
        // Runs with the same events can differ in their numbers, by noise or by the processor: the end result shows it.
        for w in self.snapshots.current() {
            self.fingerprint.add(w.to_bits(), 0);
        }
        let in_flight: Box<dyn Iterator<Item = Gradient>> = match (&self.flow, &self.shards) {
            (Some(flow), _) => Box::new(flow.in_flight(self).into_iter()),
            (_, Some(shards)) => Box::new(shards.in_flight(self).into_iter()),
            _ => Box::new(self.in_flight()),
        };
        let mut outstanding = 0;
        for gradient in in_flight {
            outstanding += gradient.lag_versions();
            observer.not_applied(&gradient)?;
        }
        self.ledger.close(self.books(), outstanding)
    }

    /// The virtual clock.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Optimiser steps so far, undone ones included.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// The server's version.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The server's parameters.
    pub fn parameters(&self) -> &[f64] {
        self.snapshots.current()
    }

    pub(super) fn flow(&self) -> Option<&Flow> {
        self.flow.as_deref()
    }

    /// The shards of the server, if it is in shards.
    pub(super) fn shards(&self) -> Option<&Shards> {
        self.shards.as_deref()
    }

    /// What it is made of.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The sums behind the conservation law.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The hash of its events so far and, once it is closed, of its last parameters.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint.value()
    }

    #[inline(always)]
    fn handle(&mut self, due: Due, observer: &mut impl Observer) -> Result<()> {
        if !self.is_plain {
            return self.handle_rest(due, observer);
        }
        if due.rank == START { self.on_start(due.key) } else { self.on_arrival(due.key, observer) }
    }

    /// What can happen where gradients wait, and work is told to stop.
    #[inline(never)]
    fn handle_rest(&mut self, due: Due, observer: &mut impl Observer) -> Result<()> {
        if let Some(mut shards) = self.shards.take() {
            let done = shards.handle(self, due, observer);
            self.shards = Some(shards);
            return done;
        }
        let Some(mut flow) = self.flow.take() else { return Ok(()) };
        let done = match self.what(due) {
            What::Start(worker) => flow.on_start(self, worker),
            What::Arrival(worker) => flow.on_arrival(self, worker, observer),
            What::GiveUp(worker) => flow.on_give_up(self, worker, observer),
            What::Served => flow.on_served(self, observer),
            What::Stepped => flow.on_stepped(self, observer),
            What::Published => flow.on_published(self),
            What::Deadline => flow.on_deadline(self, observer),
            What::Saved => flow.on_saved(self, observer),
            What::Timer => flow.on_timer(self, observer),
            What::Through => flow.on_link(self, observer),
            What::SentOut => flow.on_sent_out(self),
            What::Fault(place) => flow.on_fault(self, place as usize, observer),
            What::PartArrival(..) | What::ShardFree(_) => Ok(()),
        };
        self.flow = Some(flow);
        done
    }

    /// A gradient reaches the server, which deals with it at once.
    #[inline(always)]
    fn on_arrival(&mut self, worker: u32, observer: &mut impl Observer) -> Result<()> {
        let lag = self.version - self.workers[worker as usize].version_read;
        let admitted = self.model.composition.admit.most_versions.is_none_or(|most| lag <= most);
        if admitted { self.apply(worker, observer) } else { self.reject(worker, observer) }
    }

    /// A gradient is too stale: its worker reads the current version and starts on the next one.
    #[inline(never)]
    fn reject(&mut self, number: u32, observer: &mut impl Observer) -> Result<()> {
        let gradient = Gradient { fate: Fate::Rejected, ..self.gradient(number) };
        self.schedule_arrival(number)?;
        let worker = &mut self.workers[number as usize];
        self.ledger.reject(&mut worker.tally, &gradient);
        self.snapshots.release(worker.slot);
        self.take_snapshot(number);
        observer.not_applied(&gradient)
    }

    /// A worker that has joined reads the current version and starts on its first gradient.
    #[inline(never)]
    fn on_start(&mut self, number: u32) -> Result<()> {
        self.schedule_arrival(number)?;
        self.take_snapshot(number);
        Ok(())
    }

    /// Draws the delays of the gradient that a worker starts on now, and schedules its arrival.
    #[inline(always)]
    fn schedule_arrival(&mut self, number: u32) -> Result<()> {
        let worker = &mut self.workers[number as usize];
        let Some(arrival) = worker.start(&mut self.model.delays, self.now) else {
            return Err(errors::worker_beyond(number, worker.class, self.now));
        };
        self.ledger.start(&mut worker.tally);
        self.queue.schedule(number, arrival, ARRIVAL_OR_STEP);
        Ok(())
    }

    /// Hands the current version to a worker.
    #[inline(always)]
    fn take_snapshot(&mut self, number: u32) {
        let worker = &mut self.workers[number as usize];
        worker.slot = self.snapshots.hold();
        worker.version_read = self.version;
    }

    /// One optimiser step with the gradient of one worker, which then reads the version that includes it.
    #[inline(always)]
    fn apply(&mut self, number: u32, observer: &mut impl Observer) -> Result<()> {
        let worker = &mut self.workers[number as usize];
        let gradient = worker.gradient(number, self.version, self.fastest_clock, self.now);
        let held = (worker.slot, worker.noise());
        // The worker reads again at this very instant. Its delays depend on nothing that the step does, and drawing them
        // first lets the processor look for the next event while it still works on this one.
        let Some(arrival) = worker.start(&mut self.model.delays, self.now) else {
            return Err(errors::worker_beyond(number, worker.class, self.now));
        };
        worker.version_read = self.version + 1;
        self.ledger.start(&mut worker.tally);
        self.ledger.apply(&mut worker.tally, &gradient);
        self.fastest_clock = self.fastest_clock.max(worker.tally.applied);
        self.queue.schedule(number, arrival, ARRIVAL_OR_STEP);
        self.touch_next(number, observer);
        let inspected = observer.wants_inspection(self.updates + 1);
        if inspected && observer.wants_optimiser(self.updates + 1) {
            self.optimiser_before = Some(self.model.optimiser.clone());
        }
        let sound = self.step(&gradient, held, inspected);
        self.version += 1;
        self.updates += 1;
        observer.applied(&gradient);
        if inspected {
            // A copy: the gradient itself never needs to be in memory, unless somebody looks at it.
            let shown = gradient;
            self.show(&shown, observer)?;
            self.optimiser_before = None;
        }
        self.check_end(sound);
        self.workers[number as usize].slot = self.snapshots.hold();
        Ok(())
    }

    /// Whether the step just taken was the last; `sound` says that it led somewhere.
    #[inline(always)]
    pub(super) fn check_end(&mut self, sound: bool) {
        if self.updates >= self.model.stop.updates {
            self.ended = Some(Ended::Updates);
        }
        if !sound {
            self.ended = Some(Ended::Diverged);
        }
        if let Some(target) = self.model.stop.loss
            && self.model.objective.loss(self.snapshots.current()) <= target
        {
            self.ended = Some(Ended::Loss);
        }
    }

    /// Reads a little of the workers whose events come next, so that their cache lines are on their way while this event is
    /// still being worked on: with more workers than the cache holds, that is most of the time.
    #[inline(always)]
    fn touch_next(&mut self, number: u32, observer: &impl Observer) {
        if self.workers.len() > MOST_NEAR && self.queue.note(number) {
            self.touch_far(observer);
        }
    }

    #[inline(never)]
    fn touch_far(&mut self, observer: &impl Observer) {
        let mut seen = 0;
        self.queue.foresee(|key, before| {
            if let Some(worker) = self.workers.get(key as usize) {
                let lag = (self.version + before).saturating_sub(worker.version_read);
                seen ^= worker.tally.lag_nanos as u64 ^ self.snapshots.glance(worker.slot) ^ observer.expects(lag);
            }
        });
        // As if it mattered.
        std::hint::black_box(seen);
    }

    /// The gradient that a worker has under way, if it ended now without having waited for anything.
    pub(super) fn gradient(&self, number: u32) -> Gradient {
        self.workers[number as usize].gradient(number, self.version, self.fastest_clock, self.now)
    }

    /// Computes a gradient of what its worker held, by slot, with noise of its stream, turns it into an update and
    /// subtracts that; false if the parameters have diverged.
    #[inline(always)]
    fn step(&mut self, gradient: &Gradient, (slot, noise): (u32, Stream), inspected: bool) -> bool {
        if let (Some([curvature, minimum, rate]), false) = (self.parabola, inspected) {
            let update = curvature * (self.snapshots.get_scalar(slot) - minimum) * gradient.weight * rate;
            self.snapshots.release(slot);
            return self.snapshots.step_scalar(update);
        }
        let read = self.snapshots.get(slot);
        let random = || noise.draw(gradient.index);
        let class = gradient.class as usize;
        self.model.noise.gradient(self.model.objective.as_ref(), class, read, random, &mut self.update);
        if gradient.weight != 1.0 {
            self.update.iter_mut().for_each(|g| *g *= gradient.weight);
        }
        if inspected {
            remember(&mut self.seen, [read, &self.update, self.snapshots.current()]);
        }
        let context = Context {
            updates: self.updates,
            lag_versions: gradient.lag_versions(),
            lag: gradient.lag(),
            worker: gradient.worker,
            parameters: self.snapshots.current(),
            read,
        };
        // Where all that is left to do is to multiply by the learning rate, that is done as the step is written.
        let rate = self.model.optimiser.plain_rate();
        if rate.is_none() {
            self.model.optimiser.transform(&mut self.update, &context);
        }
        self.snapshots.release(slot);
        self.snapshots.step_scaled(&self.update, rate.unwrap_or(1.0))
    }

    #[cold]
    #[inline(never)]
    fn show(&self, gradient: &Gradient, observer: &mut impl Observer) -> Result<()> {
        let [read, pushed, before] = &self.seen;
        let step = Step {
            updates: self.updates,
            read,
            pushed,
            before,
            after: self.snapshots.current(),
            objective: self.model.objective.as_ref(),
            cost: self.cost_with(&[]),
            totals: None,
            optimiser: self.optimiser_before.as_ref(),
        };
        observer.inspect(gradient, &step)
    }
}

#[cold]
fn remember(seen: &mut [Vec<f64>; 3], now: [&[f64]; 3]) {
    seen.iter_mut().zip(now).for_each(|(seen, now)| seen.copy_from_slice(now));
}
