//! What an event is, for the engine and for whoever follows a run event by event.

use super::engine::{START, Simulation, TIME_IS_UP};
use super::flow::{KEYS, Key};
use super::model::Model;
use crate::kernel::{Due, Time};

/// An event that has not happened yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upcoming {
    /// When it will.
    pub time: Time,
    /// The server's version until then.
    pub version: u64,
    /// What will happen.
    pub what: What,
}

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A worker joins, or its request reaches the server.
    Start(u32),
    /// A worker's gradient reaches the server.
    Arrival(u32),
    /// A worker gives up on its gradient.
    GiveUp(u32),
    /// The server has taken in a gradient.
    Served,
    /// The server's step is over.
    Stepped,
    /// Workers can read a newer version.
    Published,
    /// The time for a step is up.
    Deadline,
    /// What the server has is written, or saved.
    Saved,
    /// It is time to save what the server has.
    Timer,
    /// A gradient has got through the server's link.
    Through,
    /// A snapshot has.
    SentOut,
    /// Something fails, or is there again: one of the scenario's failures, each worker's counted on its own.
    Fault(u32),
    /// A worker's part of a gradient reaches its shard of the server.
    PartArrival(u32, u32),
    /// A shard of the server has taken in a part, or written what it has.
    ShardFree(u32),
}

/// How many keys the queue of a model needs: its workers', those of whatever else can be pending, and those of its failures.
pub fn keys(model: &Model) -> u32 {
    let (workers, failures) = (model.workers.len() as u32, model.failures.len() as u32);
    match model.shards.len() as u32 {
        0 if model.is_plain() => workers,
        0 => workers + KEYS + failures,
        // A part of a gradient on its way for each worker and shard, and what a shard is busy with.
        shards => workers * (shards + 1) + shards + failures,
    }
}

impl Simulation {
    /// The event that comes next; `None` if the run is over.
    pub fn upcoming(&mut self) -> Option<Upcoming> {
        let due = self.queue.peek().filter(|due| self.ended.is_none() && due.time <= self.model.stop.time)?;
        Some(Upcoming { time: due.time, version: self.version, what: self.what(due) })
    }

    /// What an event of the queue is.
    pub(super) fn what(&self, due: Due) -> What {
        let (workers, shards) = (self.workers.len() as u32, self.model.shards.len() as u32);
        if shards > 0 {
            let Some(part) = due.key.checked_sub(workers) else { return What::Start(due.key) };
            return match part.checked_sub(workers * shards) {
                None => What::PartArrival(part / shards, part % shards),
                Some(shard) if shard < shards => What::ShardFree(shard),
                Some(fault) => What::Fault(fault - shards),
            };
        }
        match due.key.checked_sub(workers) {
            None if due.rank == START => What::Start(due.key),
            None if due.rank == TIME_IS_UP => What::GiveUp(due.key),
            None => What::Arrival(due.key),
            Some(key) if key == Key::Service as u32 => What::Served,
            Some(key) if key == Key::Step as u32 => What::Stepped,
            Some(key) if key == Key::Publish as u32 => What::Published,
            Some(key) if key == Key::Save as u32 => What::Saved,
            Some(key) if key == Key::Timer as u32 => What::Timer,
            Some(key) if key == Key::Link as u32 => What::Through,
            Some(key) if key == Key::LinkOut as u32 => What::SentOut,
            Some(key) if key >= KEYS => What::Fault(key - KEYS),
            Some(_) => What::Deadline,
        }
    }
}
