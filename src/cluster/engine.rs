//! The event loop: one queue, one handler for each kind of event.

use super::gradient::{Causes, Fate, Gradient};
use super::ledger::Ledger;
use super::model::{Model, purpose};
use super::server::Server;
use super::snapshots::Snapshots;
use super::worker::{Worker, duration};
use super::{Observer, Step};
use crate::error::{Error, Result};
use crate::kernel::{Due, Fingerprint, Queue, Rank, Span, Stream, Time};
use crate::optimiser::Context;

/// The order of events at the same instant. Faults come first and observations fourth, the end of the run last.
const ARRIVAL_OR_STEP: Rank = Rank::new(1);
const START: Rank = Rank::new(2);

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The number of optimiser steps was reached.
    Updates,
    /// The virtual time was reached.
    Time,
    /// The loss was reached.
    Loss,
    /// A parameter was no longer finite.
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
    ledger: Ledger,
    /// The most gradients applied of any worker.
    fastest_clock: u64,
    fingerprint: Fingerprint,
}

impl Simulation {
    /// A run of `model` just before its first event.
    pub fn new(model: Model) -> Simulation {
        let workers = model.workers.len() as u32;
        let dimension = model.start.len();
        let mut queue = Queue::new(workers + 1);
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
            ledger: Ledger::new(workers as usize),
            fastest_clock: 0,
            fingerprint: Fingerprint::default(),
            model,
        }
    }

    /// Handles up to `events` events; says why the run ended, if it did.
    ///
    /// # Errors
    /// If a delay does not fit the clock, or the observer fails.
    pub fn advance(&mut self, events: u64, observer: &mut impl Observer) -> Result<Option<Ended>> {
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
        Ok(self.ended)
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
        let in_flight: Vec<Gradient> = (0..self.workers.len() as u32).filter_map(|worker| self.in_flight(worker)).collect();
        for gradient in &in_flight {
            observer.unfinished(gradient)?;
        }
        self.ledger.close(in_flight.into_iter())
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

    /// Its books.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The hash of its events so far.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint.value()
    }

    #[inline]
    fn handle(&mut self, due: Due, observer: &mut impl Observer) -> Result<()> {
        match self.decode(due) {
            Event::Arrival(worker) => self.on_arrival(worker, observer),
            Event::Served => self.on_served(observer),
            Event::Start(worker) => self.read(worker),
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

    /// A gradient reaches the server, which applies it at once, or queues it.
    #[inline]
    fn on_arrival(&mut self, worker: u32, observer: &mut impl Observer) -> Result<()> {
        if self.model.service.is_none() {
            return self.apply(worker, Span::ZERO, Span::ZERO, observer);
        }
        self.server.enqueue(worker);
        self.serve_next()
    }

    /// The server has finished with a gradient: its step takes effect now.
    fn on_served(&mut self, observer: &mut impl Observer) -> Result<()> {
        if let Some((worker, since, service)) = self.server.serving.take() {
            let arrived = self.workers[worker as usize].arrival().unwrap_or(since);
            self.apply(worker, since.since(arrived), service, observer)?;
        }
        self.serve_next()
    }

    fn serve_next(&mut self) -> Result<()> {
        let (Some(id), None) = (self.model.service, self.server.serving) else { return Ok(()) };
        let Some(worker) = self.server.dequeue() else { return Ok(()) };
        let service = duration(&mut self.model.delays, id, self.service, self.server.served)?;
        self.server.served += 1;
        self.server.serving = Some((worker, self.now, service));
        let done = self.now.checked_add(service).ok_or_else(clock_ended)?;
        self.queue.schedule(self.workers.len() as u32, done, ARRIVAL_OR_STEP);
        Ok(())
    }

    /// The worker reads the current version and starts on its next gradient.
    #[inline]
    fn read(&mut self, number: u32) -> Result<()> {
        let worker = &mut self.workers[number as usize];
        worker.slot = self.snapshots.hold();
        worker.version_read = self.version;
        worker.read = self.now;
        worker.draw_delays(&mut self.model.delays)?;
        worker.started += 1;
        let arrival = worker.arrival().ok_or_else(clock_ended)?;
        self.ledger.start(number);
        self.queue.schedule(number, arrival, ARRIVAL_OR_STEP);
        Ok(())
    }

    /// One optimiser step with the gradient of one worker, which then reads the version that includes it.
    #[inline]
    fn apply(&mut self, number: u32, queue: Span, service: Span, observer: &mut impl Observer) -> Result<()> {
        let gradient = self.gradient(number, queue, service);
        let inspected = observer.wants_inspection(self.updates + 1);
        let finite = self.step(&gradient, inspected);
        self.ledger.end(&gradient);
        self.ledger.step();
        self.fastest_clock = self.fastest_clock.max(self.ledger.applied(number));
        self.version += 1;
        self.updates += 1;
        observer.applied(&gradient);
        if inspected {
            self.show(&gradient, observer)?;
        }
        if !finite {
            self.ended = Some(Ended::Diverged);
        } else if self.updates >= self.model.stop.updates {
            self.ended = Some(Ended::Updates);
        }
        if let Some(target) = self.model.stop.loss
            && self.model.objective.loss(self.snapshots.current()) <= target
        {
            self.ended = Some(Ended::Loss);
        }
        self.read(number)
    }

    /// The gradient of a worker that is being applied now.
    #[inline]
    fn gradient(&self, number: u32, queue: Span, service: Span) -> Gradient {
        let worker = &self.workers[number as usize];
        Gradient {
            worker: number,
            class: worker.member.class,
            index: worker.started - 1,
            version_read: worker.version_read,
            version_applied: self.version,
            lag_clocks: self.fastest_clock - self.ledger.applied(number),
            read: worker.read,
            ended: self.now,
            causes: Causes {
                download: worker.download_time,
                compute: worker.compute_time,
                upload: worker.upload_time,
                queue,
                service,
                ..Causes::default()
            },
            weight: worker.member.weight,
            multiplicity: 1,
            fate: Fate::Applied,
        }
    }

    /// The gradient that a worker has not finished, if it has started one.
    fn in_flight(&self, number: u32) -> Option<Gradient> {
        let worker = &self.workers[number as usize];
        (worker.started > 0).then(|| Gradient { fate: Fate::InFlight, ..self.gradient(number, Span::ZERO, Span::ZERO) })
    }

    /// Computes a gradient, turns it into an update and subtracts that; false if the parameters are no longer finite.
    #[inline]
    fn step(&mut self, gradient: &Gradient, inspected: bool) -> bool {
        let worker = &self.workers[gradient.worker as usize];
        let read = self.snapshots.get(worker.slot);
        let random = || worker.noise.draw(gradient.index);
        let class = gradient.class as usize;
        self.model.noise.gradient(self.model.objective.as_ref(), class, read, random, &mut self.update);
        if gradient.weight != 1.0 {
            self.update.iter_mut().for_each(|g| *g *= gradient.weight);
        }
        if inspected {
            let [seen_read, seen_pushed, seen_before] = &mut self.seen;
            seen_read.copy_from_slice(read);
            seen_pushed.copy_from_slice(&self.update);
            seen_before.copy_from_slice(self.snapshots.current());
        }
        let context = Context {
            updates: self.updates,
            lag_versions: gradient.lag_versions(),
            lag_s: gradient.lag().seconds(),
            worker: gradient.worker,
            parameters: self.snapshots.current(),
        };
        self.model.optimiser.transform(&mut self.update, &context);
        self.snapshots.release(worker.slot);
        self.snapshots.step(&self.update)
    }

    #[cold]
    fn show(&self, gradient: &Gradient, observer: &mut impl Observer) -> Result<()> {
        let [read, pushed, before] = &self.seen;
        let step = Step {
            updates: self.updates,
            read,
            pushed,
            before,
            after: self.snapshots.current(),
            objective: self.model.objective.as_ref(),
        };
        observer.inspect(gradient, &step)
    }
}

#[cold]
fn clock_ended() -> Error {
    let years = Time::MAX.seconds() / (365.25 * 86_400.0);
    Error::Clock(format!(
        "the virtual clock ended after {years:.0} years, before the run did; stop it earlier with stop: (time_s: …)"
    ))
}
