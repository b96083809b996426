//! The server's link, if messages share one: snapshots go out, and gradients come in, each way at the same rate.

use super::Observer;
use super::engine::{ARRIVAL_OR_STEP, Simulation, TIME_IS_UP};
use super::errors;
use super::flow::{Flow, Key, key};
use crate::error::Result;
use crate::kernel::{Span, Time};
use std::collections::VecDeque;

/// What messages share, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedLink {
    /// How long a message takes that has the link to itself.
    pub message: Span,
    /// Whether messages that go the same way at the same time share it, in place of going one after the other.
    pub fair: bool,
}

/// Where a worker's messages are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// Not on a link that messages share.
    #[default]
    Off,
    /// Its snapshot shares the link with others, until nobody knows when.
    Out,
    /// Its gradient does.
    In,
    /// Its gradient has its place on the link, or is through.
    Sent,
}

/// One way of the link.
#[derive(Debug, Default)]
struct Lane {
    /// Until when it is taken, where messages go one after the other.
    until: Time,
    /// Whose messages share it, in the order in which they began, and so will be through: all are equally long. Each with how far
    /// a message would be through that had been there from the beginning, when this one is through, in nanoseconds alone.
    going: VecDeque<(u32, f64)>,
    /// How far such a message is now, and since when.
    progress: f64,
    since: Time,
}

impl Lane {
    /// Moves on to `now`.
    fn advance(&mut self, now: Time) {
        if !self.going.is_empty() {
            self.progress += now.since(self.since).nanos() as f64 / self.going.len() as f64;
        }
        self.since = now;
    }

    /// When the first of those that share it will be through.
    fn next(&self) -> Option<Span> {
        let (_, at) = self.going.front()?;
        let left = (at - self.progress).max(0.0) * self.going.len() as f64;
        Some(Span::from_nanos(left.round() as u64))
    }

    /// A message shares it from now on.
    fn enter(&mut self, number: u32, message: Span, now: Time) {
        self.advance(now);
        if self.going.is_empty() {
            self.progress = 0.0;
        }
        self.going.push_back((number, self.progress + message.nanos() as f64));
    }

    /// The first message is through.
    fn first(&mut self, now: Time) -> Option<u32> {
        self.advance(now);
        self.going.pop_front().map(|(number, _)| number)
    }

    /// A message is withdrawn.
    fn leave(&mut self, number: u32, now: Time) {
        self.advance(now);
        self.going.retain(|&(other, _)| other != number);
    }

    /// A message takes its place after all others: says when it is through.
    fn append(&mut self, message: Span, now: Time) -> Result<Time> {
        let begins = self.until.max(now);
        self.until = begins.checked_add(message).ok_or_else(|| errors::clock_ended("the link", "network", now))?;
        Ok(self.until)
    }
}

/// What is on the link.
#[derive(Debug, Default)]
pub struct Link {
    out: Lane,
    inward: Lane,
}

impl Flow {
    /// A snapshot is sent to a worker: when its gradient, which would reach the server at `arrival` if messages took no time, does. `None` if
    /// that is not known yet.
    pub(super) fn send_out_snapshot(
        &mut self,
        run: &mut Simulation,
        link: SharedLink,
        number: u32,
        arrival: Time,
    ) -> Result<Option<Time>> {
        if link.fair {
            self.link.out.enter(number, link.message, run.now);
            self.standings[number as usize].way = Way::Out;
            self.await_lane(run, Key::LinkOut)?;
            return Ok(None);
        }
        let out = self.link.out.append(link.message, run.now)?.since(run.now);
        run.workers[number as usize].download += out;
        let arrival = arrival.checked_add(out);
        arrival.map(Some).ok_or_else(|| errors::clock_ended("the link", "network", run.now))
    }

    /// The first of the snapshots that share the link is through: its worker begins to compute.
    pub fn on_sent_out(&mut self, run: &mut Simulation) -> Result<()> {
        let Some(number) = self.link.out.first(run.now) else { return Ok(()) };
        self.await_lane(run, Key::LinkOut)?;
        let standing = &mut self.standings[number as usize];
        standing.way = Way::Off;
        let worker = &mut run.workers[number as usize];
        worker.download += run.now.since(worker.read + standing.wait);
        let arrival = (worker.read + standing.wait)
            .checked_add(worker.download + worker.compute + worker.upload)
            .ok_or_else(|| errors::clock_ended("the link", "network", run.now))?;
        self.await_arrival(run, number, Some(arrival));
        Ok(())
    }

    /// Schedules the arrival of a worker's gradient, if it is known, or the end of its patience, whichever comes first.
    pub(super) fn await_arrival(&mut self, run: &mut Simulation, number: u32, arrival: Option<Time>) {
        let up = self.gives_up_at(run, number).filter(|&up| arrival.is_none_or(|arrival| up < arrival));
        match (up, arrival) {
            (Some(up), _) => run.queue.schedule(number, up.max(run.now), TIME_IS_UP),
            (None, Some(arrival)) => run.queue.schedule(number, arrival, ARRIVAL_OR_STEP),
            (None, None) => {}
        }
    }

    /// A gradient reaches the server's link: true if it has to get through that first, and will be back.
    pub(super) fn enters_link(&mut self, run: &mut Simulation, link: SharedLink, number: u32) -> Result<bool> {
        let way = &mut self.standings[number as usize].way;
        if *way == Way::Sent {
            *way = Way::Off;
            return Ok(false);
        }
        if link.fair {
            *way = Way::In;
            self.link.inward.enter(number, link.message, run.now);
            self.await_lane(run, Key::Link)?;
            self.await_arrival(run, number, None);
            return Ok(true);
        }
        *way = Way::Sent;
        let ends = self.link.inward.append(link.message, run.now)?;
        let worker = &mut run.workers[number as usize];
        worker.upload += ends.since(run.now);
        self.await_arrival(run, number, Some(ends));
        Ok(true)
    }

    /// Schedules the end of the next message on one way of the link.
    fn await_lane(&mut self, run: &mut Simulation, way: Key) -> Result<()> {
        let lane = if way == Key::LinkOut { &self.link.out } else { &self.link.inward };
        let Some(left) = lane.next() else { return Ok(()) };
        let then = run.now.checked_add(left).ok_or_else(|| errors::clock_ended("the link", "network", run.now))?;
        run.queue.schedule(key(run, way), then, ARRIVAL_OR_STEP);
        Ok(())
    }

    /// The first of the gradients that share the link is through.
    pub fn on_link(&mut self, run: &mut Simulation, observer: &mut impl Observer) -> Result<()> {
        let Some(number) = self.link.inward.first(run.now) else { return Ok(()) };
        self.await_lane(run, Key::Link)?;
        run.queue.cancel(number);
        self.standings[number as usize].way = Way::Sent;
        let late = run.now.since(self.under_way(run, number).arrived.min(run.now));
        let worker = &mut run.workers[number as usize];
        worker.upload += late;
        self.on_arrival(run, number, observer)
    }

    /// What a worker was receiving, or sending, is of no use any more.
    pub(super) fn leaves_link(&mut self, run: &mut Simulation, number: u32) -> Result<()> {
        let way = match std::mem::take(&mut self.standings[number as usize].way) {
            Way::Out => Key::LinkOut,
            Way::In => Key::Link,
            Way::Off | Way::Sent => return Ok(()),
        };
        let lane = if way == Key::LinkOut { &mut self.link.out } else { &mut self.link.inward };
        lane.leave(number, run.now);
        run.queue.cancel(key(run, way));
        self.await_lane(run, way)
    }
}
