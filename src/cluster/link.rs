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
    /// Whether gradients that come in at the same time share it, in place of coming in one after the other.
    pub fair: bool,
}

/// What is on the link.
#[derive(Debug, Default)]
pub struct Link {
    /// Until when it is taken, on the way out and, where messages do not share it, on the way in.
    out_until: Time,
    in_until: Time,
    /// Whose gradients share it, in the order in which they began, and so will be through: all are equally long. Each with how far
    /// a message would be through that had been there from the beginning, when this one is through, in nanoseconds alone.
    coming: VecDeque<(u32, f64)>,
    /// How far such a message is now, and since when.
    progress: f64,
    since: Time,
}

impl Link {
    /// Moves on to `now`.
    fn advance(&mut self, now: Time) {
        if !self.coming.is_empty() {
            self.progress += now.since(self.since).nanos() as f64 / self.coming.len() as f64;
        }
        self.since = now;
    }

    /// When the first of those that share it will be through.
    fn next(&self) -> Option<Span> {
        let (_, at) = self.coming.front()?;
        let left = (at - self.progress).max(0.0) * self.coming.len() as f64;
        Some(Span::from_nanos(left.round() as u64))
    }
}

impl Flow {
    /// A snapshot is sent to a worker: when its gradient, which would reach the server at `arrival` if messages took no time, does.
    pub(super) fn send_out_snapshot(
        &mut self,
        run: &mut Simulation,
        link: SharedLink,
        number: u32,
        arrival: Time,
    ) -> Result<Time> {
        let begins = self.link.out_until.max(run.now);
        let ends =
            begins.checked_add(link.message).ok_or_else(|| errors::clock_ended("the link", "network", run.now))?;
        self.link.out_until = ends;
        let out = ends.since(run.now);
        run.workers[number as usize].download += out;
        arrival.checked_add(out).ok_or_else(|| errors::clock_ended("the link", "network", run.now))
    }

    /// A gradient reaches the server's link: true if it has to get through that first, and will be back.
    pub(super) fn enters_link(&mut self, run: &mut Simulation, link: SharedLink, number: u32) -> Result<bool> {
        if std::mem::take(&mut self.standings[number as usize].is_sent) {
            return Ok(false);
        }
        if link.fair {
            self.link.advance(run.now);
            if self.link.coming.is_empty() {
                self.link.progress = 0.0;
            }
            self.link.coming.push_back((number, self.link.progress + link.message.nanos() as f64));
            self.await_link(run)?;
            if let Some(up) = self.gives_up_at(run, number) {
                run.queue.schedule(number, up.max(run.now), TIME_IS_UP);
            }
            return Ok(true);
        }
        self.standings[number as usize].is_sent = true;
        let begins = self.link.in_until.max(run.now);
        let ends =
            begins.checked_add(link.message).ok_or_else(|| errors::clock_ended("the link", "network", run.now))?;
        self.link.in_until = ends;
        let worker = &mut run.workers[number as usize];
        worker.upload += ends.since(run.now);
        match self.gives_up_at(run, number).filter(|&up| up < ends) {
            Some(up) => run.queue.schedule(number, up.max(run.now), TIME_IS_UP),
            None => run.queue.schedule(number, ends, ARRIVAL_OR_STEP),
        }
        Ok(true)
    }

    fn await_link(&mut self, run: &mut Simulation) -> Result<()> {
        let Some(left) = self.link.next() else { return Ok(()) };
        let then = run.now.checked_add(left).ok_or_else(|| errors::clock_ended("the link", "network", run.now))?;
        run.queue.schedule(key(run, Key::Link), then, ARRIVAL_OR_STEP);
        Ok(())
    }

    /// The first of the gradients that share the link is through.
    pub fn on_link(&mut self, run: &mut Simulation, observer: &mut impl Observer) -> Result<()> {
        self.link.advance(run.now);
        let Some((number, _)) = self.link.coming.pop_front() else { return Ok(()) };
        self.await_link(run)?;
        run.queue.cancel(number);
        self.standings[number as usize].is_sent = true;
        let late = run.now.since(self.under_way(run, number).arrived.min(run.now));
        let worker = &mut run.workers[number as usize];
        worker.upload += late;
        self.on_arrival(run, number, observer)
    }

    /// Whether a worker's gradient is on the link, with others, until nobody knows when.
    pub(super) fn is_on_link(&self, number: u32) -> bool {
        self.link.coming.iter().any(|&(other, _)| other == number)
    }

    /// What a worker was sending is of no use any more.
    pub(super) fn leaves_link(&mut self, run: &mut Simulation, number: u32) -> Result<()> {
        self.standings[number as usize].is_sent = false;
        if self.is_on_link(number) {
            self.link.advance(run.now);
            self.link.coming.retain(|&(other, _)| other != number);
            run.queue.cancel(key(run, Key::Link));
            return self.await_link(run);
        }
        Ok(())
    }
}
