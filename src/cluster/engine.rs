//! The event loop: one queue, one handler for each kind of event.

use super::errors;
use super::gradient::{Causes, Fate, Gradient};
use super::ledger::{Ledger, Tally};
use super::model::{DelayId, Model, purpose};
use super::server::Server;
use super::snapshots::Snapshots;
use super::worker::{Worker, duration};
use super::{Observer, Step};
use crate::error::Result;
use crate::kernel::{Due, Fingerprint, Queue, Rank, Span, Stream, Time};
use crate::optimiser::{Context, Optimiser};
use crate::protocol::Admission;

/// The order of events at the same instant. Faults come first and observations fourth, the end of the run last.
const ARRIVAL_OR_STEP: Rank = Rank::new(1);
const START: Rank = Rank::new(2);

/// So many events (and some for each worker) may happen at one instant; then something takes no time at all.
const MOST_STANDING: u64 = 1 << 20;

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The number of optimiser steps was reached.
    Updates,
    /// The virtual time was reached.
    Time,
    /// The loss was reached.
    Loss,
    /// A parameter was no number any more, or beyond 10¹⁰⁰.
    Diverged,
    /// Somebody asked for it.
    Interrupted,
}

impl Ended {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Ended::Updates => "updates",
            Ended::Time => "time",
            Ended::Loss => "loss",
            Ended::Diverged => "diverged",
            Ended::Interrupted => "interrupted",
        }
    }
}

/// What can happen.
enum Event {
    /// A worker joins and reads for the first time.
    Start(u32),
    /// A worker's gradient reaches the server.
    Arrival(u32),
    /// The server has applied a gradient.
    Served,
}

/// A run in progress.
#[derive(Debug)]
pub struct Simulation {
    model: Model,
    queue: Queue,
    now: Time,
    version: u64,
    updates: u64,
    ended: Option<Ended>,
    workers: Vec<Worker>,
    server: Server,
    service: Stream,
    snapshots: Snapshots,
    /// The gradient on its way through the optimiser.
    update: Vec<f64>,
    /// Copies for observers of a step: parameters read, gradient pushed, parameters before.
    seen: [Vec<f64>; 3],
    /// The optimiser before a step, for an observer that asked for it.
    optimiser_before: Option<Optimiser>,
    ledger: Ledger,
    /// The most gradients applied of any worker.
    fastest_clock: u64,
    /// Events since the clock last moved, counted in slices.
    standing: u64,
    fingerprint: Fingerprint,
}

impl Simulation {
    /// A run of `model` just before its first event.
    pub fn new(model: Model) -> Simulation {
        let workers = model.workers.len() as u32;
        let dimension = model.start.len();
        // The server has a key only if its service takes time: one key more can mean one match more at every event.
        let mut queue = Queue::new(workers + u32::from(model.service != DelayId::NONE));
        for (number, member) in (0..).zip(&model.workers) {
            queue.schedule(number, member.joins_at, START);
        }
        Simulation {
            queue,
            now: Time::ZERO,
            version: model.start_version,
            updates: 0,
            ended: None,
            workers: (0..workers).map(|number| Worker::new(&model, number)).collect(),
            server: Server::new(workers as usize),
            service: model.streams.stream(purpose::SERVICE, 0),
            snapshots: Snapshots::new(&model.start, workers),
            update: vec![0.0; dimension],
            seen: std::array::from_fn(|_| vec![0.0; dimension]),
            optimiser_before: None,
            ledger: Ledger::default(),
            fastest_clock: 0,
            standing: 0,
            fingerprint: Fingerprint::default(),
            model,
        }
    }

    /// Handles up to `events` events; says why the run ended, if it did.
    ///
    /// # Errors
    /// If a delay does not fit the clock, the clock stands still, there are too many events, or the observer fails.
    pub fn advance(&mut self, events: u64, observer: &mut impl Observer) -> Result<Option<Ended>> {
        let begun = self.now;
        self.check_events(events)?;
        for _ in 0..events {
            if self.ended.is_some() {
                break;
            }
            match self.queue.peek() {
                Some(due) if due.time <= self.model.stop.time => {
                    self.queue.pop();
                    self.now = due.time;
                    self.fingerprint.add(due.time.nanos(), (self.version << 24) ^ u64::from(due.key));
                    self.handle(due, observer)?;
                }
                _ => {
                    self.now = self.model.stop.time;
                    self.ended = Some(Ended::Time);
                }
            }
        }
        self.standing = if self.now == begun { self.standing + events } else { 0 };
        if self.ended.is_none() && self.standing > MOST_STANDING + 4 * self.workers.len() as u64 {
            return Err(errors::stands_still(self.now, self.standing));
        }
        Ok(self.ended)
    }

    /// Refuses a slice after which the queue might be exhausted.
    fn check_events(&self, events: u64) -> Result<()> {
        // An event schedules at most two others.
        if events.saturating_mul(2).saturating_add(self.queue.scheduled()) > Queue::MAX_EVENTS {
            return Err(errors::too_many_events());
        }
        Ok(())
    }

    /// Ends the run where it is.
    pub fn interrupt(&mut self) {
        self.ended.get_or_insert(Ended::Interrupted);
    }

    /// Closes the books: hands the gradients in flight to the observer, and asserts the laws of every run.
    ///
    /// # Errors
    /// If a law is broken, or the observer fails.
    pub fn close(&mut self, observer: &mut impl Observer) -> Result<()> {
        for worker in &mut self.workers {
            // A worker that has joined always has a gradient in flight; one that has not has started none.
            worker.tally.in_flight = worker.tally.started > 0;
        }
        // Runs with the same events can differ in their numbers, by noise or by the processor: the end result shows it.
        for w in self.snapshots.current() {
            self.fingerprint.add(w.to_bits(), 0);
        }
        let numbers = 0..self.workers.len() as u32;
        for gradient in numbers.clone().filter_map(|number| self.in_flight(number)) {
            observer.not_applied(&gradient)?;
        }
        let in_flight = numbers.filter_map(|number| self.in_flight(number));
        self.ledger.close(self.workers.iter().map(|worker| &worker.tally), in_flight)
    }

    /// The virtual clock.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Optimiser steps so far.
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

    /// What it is made of.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The sums behind the conservation law.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The books of every worker.
    pub fn tallies(&self) -> impl ExactSizeIterator<Item = &Tally> {
        self.workers.iter().map(|worker| &worker.tally)
    }

    /// The hash of its events so far and, once it is closed, of its last parameters.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint.value()
    }

    #[inline(always)]
    fn handle(&mut self, due: Due, observer: &mut impl Observer) -> Result<()> {
        match self.decode(due) {
            Event::Arrival(worker) => self.on_arrival(worker, observer),
            Event::Served => self.on_served(observer),
            Event::Start(worker) => self.on_start(worker),
        }
    }

    #[inline]
    fn decode(&self, due: Due) -> Event {
        if due.key as usize == self.workers.len() {
            Event::Served
        } else if due.rank == START {
            Event::Start(due.key)
        } else {
            Event::Arrival(due.key)
        }
    }

    /// A gradient reaches the server, which deals with it at once, or queues it.
    #[inline(always)]
    fn on_arrival(&mut self, worker: u32, observer: &mut impl Observer) -> Result<()> {
        if self.model.service != DelayId::NONE {
            self.server.enqueue(worker);
            return self.serve_next(observer);
        }
        match self.admit(worker) {
            Admission::Apply => self.apply(worker, Span::ZERO, Span::ZERO, observer),
            Admission::Reject => self.reject(worker, Span::ZERO, observer),
        }
    }

    /// What the protocol does with the gradient of a worker, were it applied now.
    #[inline(always)]
    fn admit(&self, worker: u32) -> Admission {
        let lag = self.version as i64 - self.workers[worker as usize].version_read as i64;
        self.model.protocol.admit(lag)
    }

    /// The server has finished with a gradient: its step takes effect now.
    #[inline(never)]
    fn on_served(&mut self, observer: &mut impl Observer) -> Result<()> {
        if let Some((worker, since, service)) = self.server.serving.take() {
            self.apply(worker, self.queued(worker, since), service, observer)?;
        }
        self.serve_next(observer)
    }

    /// How long the gradient of a worker had waited for the server at the instant `since`.
    fn queued(&self, worker: u32, since: Time) -> Span {
        since.since(self.workers[worker as usize].arrival().unwrap_or(since))
    }

    /// Lets a free server begin on the next gradient. No other step can come between, so what is too stale is known, and
    /// rejected, before it costs any service.
    #[inline(never)]
    fn serve_next(&mut self, observer: &mut impl Observer) -> Result<()> {
        if self.server.serving.is_some() {
            return Ok(());
        }
        let worker = loop {
            let Some(worker) = self.server.dequeue() else { return Ok(()) };
            match self.admit(worker) {
                Admission::Apply => break worker,
                Admission::Reject => self.reject(worker, self.queued(worker, self.now), observer)?,
            }
        };
        let id = self.model.service;
        let service = duration(&mut self.model.delays, id, self.service, self.server.served);
        let service = service.ok_or_else(|| errors::clock_ended("the server", "server", self.now))?;
        let done =
            self.now.checked_add(service).ok_or_else(|| errors::clock_ended("the server", "server", self.now))?;
        self.server.served += 1;
        self.server.serving = Some((worker, self.now, service));
        self.queue.schedule(self.workers.len() as u32, done, ARRIVAL_OR_STEP);
        Ok(())
    }

    /// A gradient is too stale: its worker reads the current version and starts on the next one.
    #[inline(never)]
    fn reject(&mut self, number: u32, queue: Span, observer: &mut impl Observer) -> Result<()> {
        let gradient = Gradient { fate: Fate::Rejected, ..self.gradient(number, queue, Span::ZERO) };
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
        worker.read = self.now;
        let arrival = worker.draw_delays(&mut self.model.delays).ok_or_else(|| {
            errors::clock_ended(&format!("worker {number}"), &format!("workers.{}", worker.class), self.now)
        })?;
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
    fn apply(&mut self, number: u32, queue: Span, service: Span, observer: &mut impl Observer) -> Result<()> {
        let gradient = self.gradient(number, queue, service);
        // The worker reads again at this very instant. Its delays depend on nothing that the step does, and drawing them
        // first lets the processor look for the next event while it still works on this one.
        self.schedule_arrival(number)?;
        self.touch_next();
        let inspected = observer.wants_inspection(self.updates + 1);
        if inspected && observer.wants_optimiser(self.updates + 1) {
            self.optimiser_before = Some(self.model.optimiser.clone());
        }
        let sound = self.step(&gradient, inspected);
        let tally = &mut self.workers[number as usize].tally;
        self.ledger.apply(tally, &gradient);
        self.fastest_clock = self.fastest_clock.max(tally.applied);
        self.version += 1;
        self.updates += 1;
        observer.applied(&gradient);
        if inspected {
            // A copy: the gradient itself never needs to be in memory, unless somebody looks at it.
            let shown = gradient;
            self.show(&shown, observer)?;
            self.optimiser_before = None;
        }
        if !sound {
            self.ended = Some(Ended::Diverged);
        } else if self.updates >= self.model.stop.updates {
            self.ended = Some(Ended::Updates);
        }
        if let Some(target) = self.model.stop.loss
            && self.model.objective.loss(self.snapshots.current()) <= target
        {
            self.ended = Some(Ended::Loss);
        }
        self.take_snapshot(number);
        Ok(())
    }

    /// Reads a little of the worker whose event comes next, so that its cache lines are on their way while this event is
    /// still being worked on. With more workers than the cache holds, this is a tenth of the time.
    #[inline(always)]
    fn touch_next(&mut self) {
        // Of a server, the next event is not known before it begins on its next gradient.
        if self.model.service != DelayId::NONE {
            return;
        }
        if let Some(worker) = self.queue.peek().and_then(|due| self.workers.get(due.key as usize)) {
            std::hint::black_box((worker.version_read, worker.tally.lag_nanos));
        }
    }

    /// The gradient of a worker that is being applied now.
    #[inline(always)]
    fn gradient(&self, number: u32, queue: Span, service: Span) -> Gradient {
        let worker = &self.workers[number as usize];
        Gradient {
            worker: number,
            class: worker.class,
            index: worker.tally.started - 1,
            version_read: worker.version_read,
            version_applied: self.version,
            lag_clocks: self.fastest_clock - worker.tally.applied,
            read: worker.read,
            received: worker.read + worker.download,
            computed: worker.read + worker.download + worker.compute,
            arrived: worker.read + worker.download + worker.compute + worker.upload,
            ended: self.now,
            causes: Causes {
                download: worker.download,
                compute: worker.compute,
                upload: worker.upload,
                queue,
                service,
                ..Causes::default()
            },
            weight: worker.weight,
            multiplicity: 1,
            fate: Fate::Applied,
        }
    }

    /// The gradient that a worker has not finished, if it has started one: its causes are where the time went so far.
    fn in_flight(&self, number: u32) -> Option<Gradient> {
        let worker = &self.workers[number as usize];
        if !worker.tally.in_flight {
            return None;
        }
        let mut left = self.now.since(worker.read);
        let mut take = |part: Span| {
            let taken = part.min(left);
            left = left - taken;
            taken
        };
        let (download, compute, upload) = (take(worker.download), take(worker.compute), take(worker.upload));
        let served =
            self.server.serving.filter(|(served, ..)| *served == number).map(|(_, since, _)| self.now.since(since));
        let service = served.unwrap_or(Span::ZERO);
        let causes = Causes { download, compute, upload, queue: left - service, service, ..Causes::default() };
        Some(Gradient { fate: Fate::InFlight, causes, ..self.gradient(number, Span::ZERO, Span::ZERO) })
    }

    /// Computes a gradient, turns it into an update and subtracts that; false if the parameters have diverged.
    #[inline(always)]
    fn step(&mut self, gradient: &Gradient, inspected: bool) -> bool {
        let worker = &self.workers[gradient.worker as usize];
        let read = self.snapshots.get(worker.slot);
        let random = || worker.noise().draw(gradient.index);
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
        self.model.optimiser.transform(&mut self.update, &context);
        self.snapshots.release(worker.slot);
        self.snapshots.step(&self.update)
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
            optimiser: self.optimiser_before.as_ref(),
        };
        observer.inspect(gradient, &step)
    }
}

#[cold]
fn remember(seen: &mut [Vec<f64>; 3], now: [&[f64]; 3]) {
    seen.iter_mut().zip(now).for_each(|(seen, now)| seen.copy_from_slice(now));
}
