//! The life of a gradient where there is more to it than push and read again: workers that wait, gradients that wait at the
//! server, work that is told to stop. The protocol says who and which; the clock, the books and the parameters are kept here.

use super::Observer;
use super::account::unfinished;
use super::engine::{ARRIVAL_OR_STEP, START, Simulation, TIME_IS_UP};
use super::errors;
use super::fault::Faults;
use super::gradient::{Fate, Gradient};
use super::link::{Link, Way};
use super::members::Members;
use super::model::{DelayId, Model, purpose};
use super::publish::{Edition, Published};
use super::server::{Held, Server};
use super::store::Store;
use super::work::{Table, Workshop};
use super::worker::{Phase, Standing, duration};
use crate::error::Result;
use crate::kernel::{Queue, Time};
use crate::protocol::{After, Late, Pace, Pacer, Party};
use std::collections::VecDeque;

/// The keys of the queue beyond those of the workers, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Service,
    Step,
    Publish,
    Deadline,
    Save,
    Timer,
    Link,
    LinkOut,
}

/// How many keys there are beyond those of the workers.
pub const KEYS: u32 = 8;

/// The most workers that a run can have.
pub const MAX_WORKERS: u64 = (Queue::MAX_KEYS - KEYS) as u64;

/// A task that was sent to a worker, and waits for it.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    pub read: Time,
    pub edition: Edition,
    /// The server's incarnation then.
    pub incarnation: u32,
}

/// All that a plain run has no need of.
#[derive(Debug)]
pub struct Flow {
    pub(super) pacer: Pacer,
    pub(super) standings: Vec<Standing>,
    pub(super) server: Server,
    pub(super) workshop: Workshop,
    pub(super) table: Option<Table>,
    /// Tasks that wait for their worker, where tasks go round.
    pub(super) tasks: Vec<VecDeque<Task>>,
    /// Who may start, once this event has been dealt with.
    pub(super) starts: Vec<u32>,
    /// Whether there was a step in this event.
    pub(super) stepped: bool,
    /// See [`Composition::has_buffer`](crate::protocol::Composition::has_buffer).
    pub(super) buffers: bool,
    /// Whose gradient began the step under way, if it waits for its end.
    pub(super) awaits_step: Option<u32>,
    /// Data to be computed again, by whoever starts next.
    pub(super) again: VecDeque<(u32, u64)>,
    /// Computations in the order in which they were begun, with the version that they read: for what is told to stop.
    pub(super) order: VecDeque<(u32, u64, u64)>,
    pub(super) published: Published,
    pub(super) faults: Faults,
    pub(super) store: Store,
    pub(super) link: Link,
    /// Whose requests for a snapshot have come while nobody could read.
    pub(super) knocking: Vec<u32>,
    /// Lags of those applied: in flight, in versions and nanoseconds, and in batches.
    pub(super) lag_in_flight: i64,
    pub(super) nanos_in_flight: u128,
    pub(super) lag_batches: i64,
    /// For a step with several gradients.
    pub(super) pushed: Vec<f64>,
    pub(super) versions: Vec<u64>,
}

impl Flow {
    pub fn new(model: &Model) -> Flow {
        let workers = model.workers.len();
        let composition = &model.composition;
        let party = Party {
            classes: model.workers.iter().map(|member| member.class).collect(),
            gradients_per_step: composition.gradients_per_step(workers as u64),
            version: model.start_version,
            streams: model.streams,
        };
        let routed = matches!(composition.pace, Pace::Routed { .. });
        let table = composition.step.after == After::Table;
        Flow {
            pacer: Pacer::new(&composition.pace, party),
            standings: vec![Standing::default(); workers],
            server: Server::new(composition.step, workers as u32),
            workshop: Workshop::new(composition.work, &model.start, workers),
            table: table.then(|| Table::new(workers, model.start.len())),
            tasks: if routed { vec![VecDeque::new(); workers] } else { Vec::new() },
            starts: Vec::with_capacity(workers),
            stepped: false,
            buffers: composition.has_buffer() || model.comeback.recovery.is_stateless(),
            awaits_step: None,
            again: VecDeque::new(),
            order: VecDeque::new(),
            published: Published::default(),
            faults: Faults::new(model),
            store: Store::new(model),
            link: Link::default(),
            knocking: Vec::new(),
            lag_in_flight: 0,
            nanos_in_flight: 0,
            lag_batches: 0,
            pushed: vec![0.0; model.start.len()],
            versions: Vec::new(),
        }
    }

    /// A worker joins, or its request for a snapshot reaches the server.
    pub fn on_start(&mut self, run: &mut Simulation, number: u32) -> Result<()> {
        let standing = &mut self.standings[number as usize];
        if standing.phase != Phase::Away {
            if !self.is_open(run) {
                self.knocking.push(number);
                return Ok(());
            }
            return self.answer(run, number);
        }
        standing.phase = Phase::Free;
        standing.since = run.now;
        if let Some(health) = self.faults.health.get_mut(number as usize) {
            health.join(run.now);
        }
        self.pacer.joined(number, &mut self.starts);
        self.start_all(run)?;
        self.next_task(run, number)
    }

    /// A request for a snapshot is answered, unless its worker cannot take it: then it asks again when it can.
    pub(super) fn answer(&mut self, run: &mut Simulation, number: u32) -> Result<()> {
        if self.is_able(number) {
            return self.assign(run, number);
        }
        self.owe(number);
        Ok(())
    }

    /// Lets all start that may: in the order of their numbers, so that those released by the same step come in an order that
    /// does not depend on who came when.
    pub fn start_all(&mut self, run: &mut Simulation) -> Result<()> {
        if !self.is_open(run) {
            return self.look(run);
        }
        let mut starts = std::mem::take(&mut self.starts);
        starts.sort_unstable();
        for &number in &starts {
            if !self.is_able(number) {
                self.owe(number);
                continue;
            }
            let request = run.model.workers[number as usize].request;
            let standing = &self.standings[number as usize];
            if request == DelayId::NONE || standing.begun == 0 {
                self.assign(run, number)?;
                continue;
            }
            let span =
                run.workers[number as usize].draw(&mut run.model.delays, request, purpose::REQUEST, standing.begun);
            let then = span.and_then(|span| run.now.checked_add(span));
            let then = then.ok_or_else(|| errors::clock_ended(&format!("worker {number}"), "network", run.now))?;
            run.queue.schedule(number, then, START);
        }
        starts.clear();
        self.starts = starts;
        self.look(run)
    }

    /// After steps: a look at what is in flight.
    fn look(&mut self, run: &mut Simulation) -> Result<()> {
        if std::mem::take(&mut self.stepped) {
            run.ledger.glimpse();
        }
        Ok(())
    }

    /// Hands a snapshot to a worker, which begins to compute, unless it has other tasks to do before.
    pub(super) fn assign(&mut self, run: &mut Simulation, number: u32) -> Result<()> {
        let edition = self.read(run);
        run.ledger.start(&mut run.workers[number as usize].tally);
        run.ledger.read_behind(run.version - edition.version);
        let task = Task { read: run.now, edition, incarnation: self.store.incarnation() };
        let standing = &mut self.standings[number as usize];
        standing.in_flight += 1;
        // A task can be sent to a worker that is busy, or has not joined yet.
        if let Some(queue) = self.tasks.get_mut(number as usize)
            && (standing.phase != Phase::Free || !queue.is_empty())
        {
            queue.push_back(task);
            return self.next_task(run, number);
        }
        self.compute(run, number, task)
    }

    /// (One place for all its callers, so that what it calls is drawn into it.)
    #[inline(never)]
    fn compute(&mut self, run: &mut Simulation, number: u32, task: Task) -> Result<()> {
        let standing = &mut self.standings[number as usize];
        if standing.phase == Phase::Busy {
            return Err(errors::begins_twice(number, run.now));
        }
        standing.waited += run.now.since(standing.since);
        standing.phase = Phase::Busy;
        standing.wait = run.now.since(task.read);
        standing.batches_read = task.edition.batches;
        if let Some(health) = self.faults.health.get_mut(number as usize) {
            health.begin(task.incarnation);
        }
        let index = standing.begun;
        standing.begun += 1;
        let again = take_again(&mut self.again, &run.model.workers, number);
        let standing = &mut self.standings[number as usize];
        standing.data = again.unwrap_or((number, standing.fresh));
        standing.fresh += u64::from(again.is_none());
        let worker = &mut run.workers[number as usize];
        (worker.read, worker.version_read, worker.slot) = (task.read, task.edition.version, task.edition.slot);
        let member = run.model.workers[number as usize];
        let arrival = worker.draw_work(&mut run.model.delays, index, u64::from(member.local_steps), run.now);
        let arrival = arrival.ok_or_else(|| errors::worker_beyond(number, member.class, run.now))?;
        let arrival = match run.model.server.link {
            None => Some(arrival),
            Some(link) => self.send_out_snapshot(run, link, number, arrival)?,
        };
        self.await_arrival(run, number, arrival);
        if run.model.composition.late == Late::CancelStale {
            self.remember(number, index, task.edition.version);
        }
        Ok(())
    }

    /// Puts down a computation in the order in which they were begun. Those that are over are forgotten when they are many.
    fn remember(&mut self, number: u32, index: u64, version: u64) {
        if self.order.len() > 2 * self.standings.len() + 64 {
            let standings = &self.standings;
            self.order.retain(|&(number, index, _)| is_under_way(&standings[number as usize], index));
        }
        // In the order of versions, also where the server went back.
        let place = match self.order.back() {
            Some(&(_, _, last)) if last > version => self.order.partition_point(|&(_, _, other)| other <= version),
            _ => self.order.len(),
        };
        self.order.insert(place, (number, index, version));
    }

    /// The same after the server went back: in the order of the versions that they read.
    pub(super) fn order_again(&mut self, run: &Simulation) {
        let standings = &self.standings;
        self.order.retain(|&(number, index, _)| is_under_way(&standings[number as usize], index));
        self.order.make_contiguous().sort_by_key(|&(number, _, _)| run.workers[number as usize].version_read);
    }

    /// The gradient that a worker has under way, as far as it is known now.
    #[inline]
    pub(super) fn under_way(&self, run: &Simulation, number: u32) -> Gradient {
        let (worker, standing) = (&run.workers[number as usize], &self.standings[number as usize]);
        let received = worker.read + standing.wait + worker.download;
        let mut gradient = run.gradient(number);
        gradient.index = standing.begun - 1;
        gradient.received = received;
        gradient.computed = received + worker.compute;
        gradient.arrived = gradient.computed + worker.upload;
        gradient.causes.queue = standing.wait;
        if let Some(health) = self.faults.health.get(number as usize) {
            gradient.arrived = gradient.arrived + health.outage;
            gradient.causes.outage = health.outage;
        }
        match standing.way {
            Way::Off | Way::Sent => {}
            Way::Out => {
                gradient.causes.download += run.now.since(worker.read + standing.wait);
                [gradient.received, gradient.computed, gradient.arrived] = [Time::MAX; 3];
            }
            Way::In => {
                gradient.causes.upload += run.now.since(gradient.arrived.min(run.now));
                gradient.arrived = Time::MAX;
            }
        }
        gradient
    }

    /// A gradient reaches the server.
    pub fn on_arrival(&mut self, run: &mut Simulation, number: u32, observer: &mut impl Observer) -> Result<()> {
        if self.is_stranded(number) {
            if let Some(up) = self.gives_up_at(run, number) {
                run.queue.schedule(number, up.max(run.now), TIME_IS_UP);
            }
            return Ok(());
        }
        if let Some(link) = run.model.server.link
            && self.enters_link(run, link, number)?
        {
            return Ok(());
        }
        let gradient = self.under_way(run, number);
        let mut held = Held {
            base: self.pacer.base(number, gradient.version_read),
            gradient,
            slot: run.workers[number as usize].slot,
            data: self.standings[number as usize].data,
            batches_read: self.standings[number as usize].batches_read,
            discount: 1.0,
            since: run.now,
            stepped_nanos: self.server.stepped_nanos(run.now),
            away_nanos: self.server.away_nanos(run.now),
            incarnation: self.faults.health.get(number as usize).map_or(0, |health| health.incarnation),
        };
        self.free(run, number);
        if self.is_lost(run) {
            return self.lose_push(run, &held, observer);
        }
        if self.store.incarnation() == 0 || self.greet(run, &mut held, observer)? {
            let model = &run.model.server;
            let at_once = model.service == DelayId::NONE && model.duplicates == 0.0;
            if at_once && self.server.waiting.is_empty() && self.takes_in(run) {
                // What is large is not put where it would be taken from at once.
                self.server.queued(&mut held, run.now);
                self.receive(run, &mut held, observer)?;
            } else {
                self.server.waiting.push_back(held);
                if run.model.server.duplicates > 0.0 {
                    self.copy(run, &held);
                }
            }
        }
        self.serve(run, observer)?;
        self.next_task(run, number)?;
        self.start_all(run)
    }

    /// When a worker gives up on the gradient that it has under way, if it does.
    pub(super) fn gives_up_at(&self, run: &Simulation, number: u32) -> Option<Time> {
        let began = run.workers[number as usize].read + self.standings[number as usize].wait;
        began.checked_add(run.model.workers[number as usize].gives_up?)
    }

    fn free(&mut self, run: &Simulation, number: u32) {
        let standing = &mut self.standings[number as usize];
        standing.phase = Phase::Free;
        standing.since = run.now;
    }

    /// A worker that is free begins on the task that has waited longest for it.
    pub(super) fn next_task(&mut self, run: &mut Simulation, number: u32) -> Result<()> {
        let waiting = self.standings[number as usize].phase == Phase::Free && self.is_able(number);
        match self.tasks.get_mut(number as usize).filter(|_| waiting).and_then(VecDeque::pop_front) {
            Some(task) => self.compute(run, number, task),
            None => Ok(()),
        }
    }

    /// A worker gives up on its gradient, and begins another one in its place.
    pub fn on_give_up(&mut self, run: &mut Simulation, number: u32, observer: &mut impl Observer) -> Result<()> {
        self.stop(run, number, Fate::Cancelled, observer)?;
        self.starts.push(number);
        self.start_all(run)?;
        self.next_task(run, number)
    }

    /// Ends the gradient that a worker has under way.
    pub(super) fn stop(
        &mut self,
        run: &mut Simulation,
        number: u32,
        fate: Fate,
        observer: &mut impl Observer,
    ) -> Result<()> {
        let gradient = unfinished(self.under_way(run, number), fate);
        run.queue.cancel(number);
        if run.model.server.link.is_some() {
            self.leaves_link(run, number)?;
        }
        if let Some(health) = self.faults.health.get_mut(number as usize) {
            health.stranded = false;
        }
        let slot = run.workers[number as usize].slot;
        self.free(run, number);
        self.end(run, &gradient, slot, observer)
    }

    /// Closes the books of a gradient that comes to nothing.
    pub(super) fn end(
        &mut self,
        run: &mut Simulation,
        gradient: &Gradient,
        slot: u32,
        observer: &mut impl Observer,
    ) -> Result<()> {
        let standing = &mut self.standings[gradient.worker as usize];
        standing.in_flight -= 1;
        match gradient.fate {
            Fate::Rejected => run.workers[gradient.worker as usize].tally.rejected += 1,
            Fate::Dropped => standing.dropped += 1,
            Fate::Lost => self.faults.health[gradient.worker as usize].lost += 1,
            _ => standing.cancelled += 1,
        }
        run.in_vain += 1;
        run.ledger.end(gradient);
        run.snapshots.release(slot);
        observer.not_applied(gradient)
    }

    /// Whether the server takes in gradients: not while it is away, steps or saves, unless they only go into a buffer beside it.
    fn takes_in(&self, run: &Simulation) -> bool {
        let is_free = (self.server.stepping.is_none() && !self.store.blocks) || self.buffers;
        let is_there = !self.store.is_down() || run.model.comeback.recovery.is_stateless();
        self.server.serving.is_none() && is_free && is_there
    }

    /// Lets a free server begin to take in the next gradient. What is refused is refused before it costs any service.
    pub(super) fn serve(&mut self, run: &mut Simulation, observer: &mut impl Observer) -> Result<()> {
        while self.takes_in(run) && run.ended.is_none() {
            let Some(mut held) = self.server.waiting.pop_front() else { return Ok(()) };
            self.server.queued(&mut held, run.now);
            if run.model.server.service == DelayId::NONE {
                self.receive(run, &mut held, observer)?;
                continue;
            }
            if let Some(fate) = self.refusal(run, &held) {
                self.refuse(run, &held, fate, observer)?;
                self.tell_done(&held, true);
                continue;
            }
            let stream = run.model.streams.stream(purpose::SERVICE, 0);
            let id = run.model.server.service;
            let then = later(run, id, stream, self.server.served)?;
            self.server.served += 1;
            self.server.serving = Some((held, run.now));
            run.queue.schedule(key(run, Key::Service), then, ARRIVAL_OR_STEP);
        }
        Ok(())
    }

    /// The server has taken in a gradient.
    pub fn on_served(&mut self, run: &mut Simulation, observer: &mut impl Observer) -> Result<()> {
        if let Some((mut held, begun)) = self.server.serving.take() {
            held.gradient.causes.service += run.now.since(begun);
            self.server.end_service(begun, run.now);
            self.receive(run, &mut held, observer)?;
            self.save_if_timed(run, observer)?;
        }
        self.serve(run, observer)?;
        self.start_all(run)
    }
}

/// The queue's key for what is not a worker's event.
pub fn key(run: &Simulation, key: Key) -> u32 {
    run.workers.len() as u32 + key as u32
}

/// The instant at which a delay of the server that begins now is over.
pub fn later(run: &mut Simulation, id: DelayId, stream: crate::kernel::Stream, index: u64) -> Result<Time> {
    let span = duration(&mut run.model.delays, id, stream, index);
    let then = span.and_then(|span| run.now.checked_add(span));
    then.ok_or_else(|| errors::clock_ended("the server", "server", run.now))
}

/// Whether the computation of a worker with that number is not over.
pub fn is_under_way(standing: &Standing, index: u64) -> bool {
    standing.phase == Phase::Busy && standing.begun == index + 1
}

/// The data that wait longest to be computed again by a worker like this one: others see other data, or take other steps on them.
fn take_again(again: &mut VecDeque<(u32, u64)>, members: &Members, number: u32) -> Option<(u32, u64)> {
    let kind = |number: u32| (members[number as usize].class, members[number as usize].local_steps);
    let place = again.iter().position(|&(owner, _)| kind(owner) == kind(number))?;
    again.remove(place)
}
