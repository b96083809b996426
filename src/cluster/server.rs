//! The server's side of a gradient's life: the queue in which it arrives, the buffer in which it waits for its step, and the
//! step that uses it.

use super::gradient::Gradient;
use crate::kernel::{Span, Time};
use crate::protocol::{After, Order, StepRule};
use std::collections::VecDeque;

/// A gradient at the server, with what is needed to compute it: that is done when it is used.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// What is known of it so far.
    pub gradient: Gradient,
    /// The snapshot that it is of.
    pub slot: u32,
    /// The data that it is of: a worker, and a number.
    pub data: (u32, u64),
    /// The version that decides whether it is late.
    pub base: u64,
    /// Batches used up when its snapshot was the newest.
    pub batches_read: u64,
    /// The factor on it by its lag.
    pub discount: f64,
    /// When it came to where it waits now.
    pub since: Time,
    /// How long the server had been stepping, and how long it had been away, until then, in nanoseconds.
    pub stepped_nanos: u64,
    pub away_nanos: u64,
    /// The server's incarnation when it was read.
    pub incarnation: u32,
}

impl Held {
    /// See [`Server::waited`]; `stepped_nanos` and `away_nanos` are the server's until `now`.
    fn waited(&mut self, now: Time, stepped_nanos: u64, away_nanos: u64) {
        let all = now.since(self.since);
        let queue = Span::from_nanos(stepped_nanos - self.stepped_nanos).min(all);
        let outage = Span::from_nanos(away_nanos - self.away_nanos).min(all - queue);
        self.gradient.causes.queue += queue;
        self.gradient.causes.outage += outage;
        self.gradient.causes.hold += all - queue - outage;
        (self.since, self.stepped_nanos, self.away_nanos) = (now, stepped_nanos, away_nanos);
    }
}

/// What the server holds.
#[derive(Debug)]
pub struct Server {
    rule: StepRule,
    workers: u32,
    /// Arrived, and not yet taken in.
    pub waiting: VecDeque<Held>,
    /// Being taken in, since when.
    pub serving: Option<(Held, Time)>,
    /// Gradients that it began to take in: the number of the next service time.
    pub served: u64,
    /// Taken in, and not yet used.
    pub buffer: VecDeque<Held>,
    /// How many of them are of each worker, and of how many workers there are any.
    of_worker: Vec<u32>,
    distinct: u32,
    /// Those of the steps under way.
    pub batch: VecDeque<Held>,
    /// When the step under way was begun.
    pub stepping: Option<Time>,
    /// How many gradients the batch had, and in how many steps they are used; how many of these are over.
    taken: u64,
    parts: u64,
    parts_done: u64,
    /// Batches used up.
    pub batches: u64,
    /// Steps that took time: the number of the next step time.
    pub timed_steps: u64,
    /// Whether a deadline is over, but the server was not free.
    pub is_due: bool,
    /// How long it was stepping, and how long it was taking in gradients, in nanoseconds.
    stepped_nanos: u64,
    served_nanos: u64,
    /// Whether it is away, since when, and how long it was before.
    pub away: Option<Time>,
    pub away_before: u64,
    /// Workers that are known to be gone, and how many of these have nothing in the buffer: nobody waits for them.
    gone: Vec<bool>,
    absent: u32,
    /// Workers that have not had their step in this round of a table.
    round: Vec<bool>,
    round_left: u32,
}

impl Server {
    /// An empty one.
    pub fn new(rule: StepRule, workers: u32) -> Server {
        let table = if rule.after == After::Table { workers as usize } else { 0 };
        Server {
            rule,
            workers,
            waiting: VecDeque::with_capacity(workers as usize),
            serving: None,
            served: 0,
            buffer: VecDeque::with_capacity(workers as usize),
            of_worker: vec![0; workers as usize],
            distinct: 0,
            batch: VecDeque::with_capacity(workers as usize),
            stepping: None,
            taken: 0,
            parts: 1,
            parts_done: 0,
            batches: 0,
            timed_steps: 0,
            is_due: false,
            stepped_nanos: 0,
            served_nanos: 0,
            away: None,
            away_before: 0,
            gone: vec![false; workers as usize],
            absent: 0,
            round: vec![false; table],
            round_left: 0,
        }
    }

    /// Puts a gradient with those that wait for a step; names the one that had to make room for it.
    pub fn hold(&mut self, held: &mut Held, now: Time) -> Option<Held> {
        self.begin_wait(held, now);
        let full = self.rule.capacity.is_some_and(|most| self.buffer.len() as u64 >= most.get());
        let evicted = if full { self.remove(0) } else { None };
        self.count(held.gradient.worker);
        self.buffer.push_back(*held);
        evicted
    }

    /// The gradient of a step that came to nothing, where gradients outlast the server: first in the buffer again.
    pub fn put_back(&mut self, mut held: Held, now: Time) {
        self.begin_wait(&mut held, now);
        self.count(held.gradient.worker);
        self.buffer.push_front(held);
    }

    /// A gradient begins to wait. (In place: it is large, and this happens to every one.)
    #[inline]
    pub fn begin_wait(&self, held: &mut Held, now: Time) {
        held.since = now;
        held.stepped_nanos = self.stepped_nanos(now);
        held.away_nanos = self.away_nanos(now);
    }

    /// One gradient more of a worker is in the buffer.
    fn count(&mut self, worker: u32) {
        let worker = worker as usize;
        let is_first = self.of_worker[worker] == 0;
        self.distinct += u32::from(is_first);
        self.absent -= u32::from(is_first && self.gone[worker]);
        self.of_worker[worker] += 1;
    }

    /// A worker is known to be gone, or there again.
    pub fn set_gone(&mut self, worker: u32, gone: bool) {
        let worker = worker as usize;
        if self.gone[worker] != gone {
            self.gone[worker] = gone;
            let nothing = u32::from(self.of_worker[worker] == 0);
            self.absent = if gone { self.absent + nothing } else { self.absent - nothing };
        }
    }

    /// Takes out the gradient at `place` in the buffer.
    pub fn remove(&mut self, place: usize) -> Option<Held> {
        let held = self.buffer.remove(place)?;
        let worker = held.gradient.worker as usize;
        self.of_worker[worker] -= 1;
        let was_last = self.of_worker[worker] == 0;
        self.distinct -= u32::from(was_last);
        self.absent += u32::from(was_last && self.gone[worker]);
        Some(held)
    }

    /// Whether there is enough for a step.
    pub fn is_ready(&self) -> bool {
        match self.rule.after {
            After::Gradients(count) => self.buffer.len() as u64 >= count.get(),
            After::Workers(count) => u64::from(self.distinct) >= count.get(),
            After::All => self.has_all(),
            After::Deadline(_) => self.has_all() || (self.is_due && !self.buffer.is_empty()),
            After::Table if self.round_left == 0 => self.distinct == self.workers,
            After::Table => self.buffer.back().is_some_and(|held| self.round[held.gradient.worker as usize]),
        }
    }

    /// Whether there is something of every worker that is not known to be gone.
    fn has_all(&self) -> bool {
        self.distinct > 0 && self.distinct + self.absent == self.workers
    }

    /// Takes the gradients of the next step, or of the next few, out of the buffer.
    pub fn take(&mut self, now: Time) {
        match self.rule.after {
            After::Gradients(count) => (0..count.get()).for_each(|_| self.take_one()),
            After::Workers(_) | After::All | After::Deadline(_) => self.take_all(),
            After::Table => self.take_round(),
        }
        let (stepped_nanos, away_nanos) = (self.stepped_nanos(now), self.away_nanos(now));
        self.batch.iter_mut().for_each(|held| held.waited(now, stepped_nanos, away_nanos));
        self.is_due = false;
        self.taken = self.batch.len() as u64;
        self.parts = self.rule.parts.get().min(self.taken).max(1);
        self.parts_done = 0;
    }

    /// How many gradients the step under way uses: parts differ by one at most.
    pub fn part(&self) -> usize {
        let upto = |part: u64| self.taken * part / self.parts;
        ((upto(self.parts_done + 1) - upto(self.parts_done)) as usize).min(self.batch.len())
    }

    /// The step under way is over, and with it perhaps the batch.
    pub fn end_step(&mut self, begun: Time, now: Time) {
        self.stepped_nanos += now.since(begun).nanos();
        self.parts_done += 1;
    }

    /// The gradient that was being taken in is in.
    pub fn end_service(&mut self, begun: Time, now: Time) {
        self.served_nanos += now.since(begun).nanos();
    }

    /// How long it was stepping until now, in nanoseconds.
    pub fn stepped_nanos(&self, now: Time) -> u64 {
        self.stepped_nanos + self.stepping.map_or(0, |begun| now.since(begun).nanos())
    }

    /// How long it was away until now, in nanoseconds.
    pub fn away_nanos(&self, now: Time) -> u64 {
        self.away_before + self.away.map_or(0, |since| now.since(since).nanos())
    }

    /// How long it was taking in gradients until now, in nanoseconds.
    pub fn served_nanos(&self, now: Time) -> u64 {
        self.served_nanos + self.serving.map_or(0, |(_, begun)| now.since(begun).nanos())
    }

    /// Takes up to so many of those that came first, for one step.
    pub fn take_backlog(&mut self, most: usize, now: Time) {
        for _ in 0..most.min(self.buffer.len()) {
            if let Some(mut held) = self.remove(0) {
                self.waited(&mut held, now);
                self.batch.push_back(held);
            }
        }
        self.taken = self.batch.len() as u64;
        (self.parts, self.parts_done) = (1, 0);
    }

    fn take_one(&mut self) {
        let place = match self.rule.order {
            Order::Fifo => 0,
            Order::Lifo => self.buffer.len() - 1,
        };
        let held = self.remove(place);
        self.batch.extend(held);
    }

    fn take_all(&mut self) {
        while let Some(held) = self.remove(0) {
            self.batch.push_back(held);
        }
    }

    /// All that came before the first step of a round, and later just the one that came last.
    fn take_round(&mut self) {
        let Some(last) = self.buffer.back().map(|held| held.gradient.worker as usize) else { return };
        if self.round_left == 0 {
            self.take_all();
            self.round.fill(true);
            self.round_left = self.workers;
        } else {
            let held = self.remove(self.buffer.len() - 1);
            self.batch.extend(held);
        }
        self.round[last] = false;
        self.round_left -= 1;
    }

    /// Whether the step under way is the first of a round of a table.
    pub fn begins_round(&self) -> bool {
        self.round_left + 1 == self.workers
    }

    /// Puts down where the time went of a gradient in the buffer, until `now`: to the queue while the server was stepping with
    /// others, to the outage while it was away, to waiting for others while it was free.
    pub fn waited(&self, held: &mut Held, now: Time) {
        held.waited(now, self.stepped_nanos(now), self.away_nanos(now));
    }

    /// The same of one that waits for the server to take it in: to the outage while it was away, to the queue otherwise.
    pub fn queued(&self, held: &mut Held, now: Time) {
        let all = now.since(held.since);
        let outage = Span::from_nanos(self.away_nanos(now) - held.away_nanos).min(all);
        held.gradient.causes.outage += outage;
        held.gradient.causes.queue += all - outage;
        self.begin_wait(held, now);
    }

    /// Everything at the server that has not ended, with where the time went until `now`: first what it has not taken in, and
    /// how many these are.
    pub fn all(&self, now: Time) -> (Vec<Held>, usize) {
        let mut all: Vec<Held> = self.waiting.iter().copied().collect();
        all.iter_mut().for_each(|held| self.queued(held, now));
        if let Some((mut held, begun)) = self.serving {
            held.gradient.causes.service += now.since(begun);
            all.push(held);
        }
        let outside = all.len();
        for (place, held) in self.batch.iter().enumerate() {
            let mut held = *held;
            let begun = self.stepping.filter(|_| place < self.part()).unwrap_or(now);
            held.gradient.causes.queue += begun.since(held.since);
            held.gradient.causes.service += now.since(begun);
            all.push(held);
        }
        for mut held in self.buffer.iter().copied() {
            self.waited(&mut held, now);
            all.push(held);
        }
        (all, outside)
    }

    /// What it is doing comes to nothing.
    pub fn break_off(&mut self, now: Time) {
        if let Some((_, begun)) = self.serving.take() {
            self.end_service(begun, now);
        }
        if let Some(begun) = self.stepping.take() {
            self.stepped_nanos += now.since(begun).nanos();
        }
    }

    /// Forgets everything that it has taken in or was taking in, and what waits for it.
    pub fn lose_all(&mut self, now: Time) {
        self.break_off(now);
        self.waiting.clear();
        self.batch.clear();
        while self.remove(0).is_some() {}
        self.round.fill(false);
        self.round_left = 0;
        self.is_due = false;
    }
}
