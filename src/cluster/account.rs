//! What is known of a run that is more than push and read again: its books, its sums, and what has not ended.

use super::engine::Simulation;
use super::fault::Health;
use super::flow::Flow;
use super::gradient::{Causes, Fate, Gradient};
use super::ledger::Books;
use super::shards::Shards;
use super::worker::Phase;
use crate::kernel::{Span, Time};

/// Sums over a run, beside those of lags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Of the lags in versions of those applied, what passed before they arrived at the server.
    pub lag_in_flight: i64,
    /// The same of their lags in nanoseconds.
    pub nanos_in_flight: u128,
    /// Their lags in batches.
    pub lag_batches: i64,
    /// How long the server was busy.
    pub busy_nanos: u64,
}

impl Totals {
    /// What was added since `before`.
    pub fn since(&self, before: &Totals) -> Totals {
        Totals {
            lag_in_flight: self.lag_in_flight - before.lag_in_flight,
            nanos_in_flight: self.nanos_in_flight - before.nanos_in_flight,
            lag_batches: self.lag_batches - before.lag_batches,
            busy_nanos: self.busy_nanos - before.busy_nanos,
        }
    }
}

impl Simulation {
    /// The books of every worker.
    pub fn books(&self) -> impl ExactSizeIterator<Item = Books> {
        (0..self.workers.len()).map(|number| match (self.flow(), self.shards()) {
            (Some(flow), _) => flow.books(self, number),
            (_, Some(shards)) => shards.books(self, number),
            _ => Books::of(&self.workers[number].tally, self.workers[number].weight),
        })
    }

    /// Of the lags of all gradients applied, in total: the versions that passed while they were in flight, the batches, and
    /// the nanoseconds for which the server was busy. `None` for a run in which none of this can differ.
    pub fn totals(&self) -> Option<Totals> {
        match (self.flow(), self.shards()) {
            (Some(flow), _) => Some(flow.totals(self)),
            (_, Some(shards)) => Some(shards.totals(self)),
            _ => None,
        }
    }

    /// The gradients that workers have not finished, where none ever waits. One that has joined always has one under way; one that has not has none.
    pub fn in_flight(&self) -> impl Iterator<Item = Gradient> {
        let joined = (0..self.workers.len() as u32).filter(|&number| self.workers[number as usize].tally.started > 0);
        joined.map(|number| unfinished(self.gradient(number), Fate::InFlight))
    }
}

impl Flow {
    /// All gradients that have not ended.
    pub fn in_flight(&self, run: &Simulation) -> Vec<Gradient> {
        let at_server = self.server.all(run.now).0.into_iter().map(|held| held.gradient).map(|gradient| Gradient {
            version_applied: run.version,
            ended: run.now,
            fate: Fate::InFlight,
            ..gradient
        });
        let busy =
            (0..self.standings.len() as u32).filter(|&number| self.standings[number as usize].phase == Phase::Busy);
        let busy = busy.map(|number| unfinished(self.under_way(run, number), Fate::InFlight));
        let waiting = self.tasks.iter().enumerate().flat_map(|(number, tasks)| {
            tasks.iter().map(move |task| {
                let mut gradient = run.gradient(number as u32);
                gradient.read = task.read;
                gradient.version_read = task.edition.version;
                [gradient.received, gradient.computed, gradient.arrived] = [Time::MAX; 3];
                gradient.causes = Causes { queue: run.now.since(task.read), ..Causes::default() };
                Gradient { fate: Fate::InFlight, ..gradient }
            })
        });
        at_server.chain(busy).chain(waiting).collect()
    }

    /// Sums over the run so far.
    pub fn totals(&self, run: &Simulation) -> Totals {
        // A buffer beside the server takes no time of its own.
        let served_nanos = if self.buffers { 0 } else { self.server.served_nanos(run.now) };
        Totals {
            lag_in_flight: self.lag_in_flight,
            nanos_in_flight: self.nanos_in_flight,
            lag_batches: self.lag_batches,
            busy_nanos: self.server.stepped_nanos(run.now) + served_nanos,
        }
    }

    /// The books of one worker.
    pub fn books(&self, run: &Simulation, number: usize) -> Books {
        let (tally, standing) = (&run.workers[number].tally, &self.standings[number]);
        let mut books = Books::of(tally, 1.0);
        books.fates[Fate::Dropped as usize] = standing.dropped;
        books.fates[Fate::Cancelled as usize] = standing.cancelled;
        books.fates[Fate::InFlight as usize] = standing.in_flight;
        let health = self.faults.health.get(number);
        if let Some(health) = health {
            books.fates[Fate::Lost as usize] = health.lost;
            books.fates[Fate::RolledBack as usize] = health.rolled_back;
            books.fates[Fate::Applied as usize] -= health.rolled_back;
            books.down = health.down(run.now);
        }
        books.weight = standing.weight + self.table.as_ref().map_or(0.0, |table| table.steps() as f64);
        let is_up = health.is_none_or(Health::is_up);
        let free = if standing.phase == Phase::Free && is_up { run.now.since(standing.since) } else { Span::ZERO };
        books.waited = standing.waited + free;
        books
    }
}

impl Shards {
    /// All parts that have not ended.
    pub fn in_flight(&self, run: &Simulation) -> Vec<Gradient> {
        let shards = self.shards.len() as u32;
        let all = (0..run.workers.len() as u32).flat_map(|worker| (0..shards).map(move |shard| (worker, shard)));
        let key = |(worker, shard): &(u32, u32)| run.workers.len() as u32 + worker * shards + shard;
        let on_way = all.filter(|part| run.queue.is_pending(key(part)));
        let on_way = on_way.map(|(worker, shard)| unfinished(self.part(run, worker, shard).gradient, Fate::InFlight));
        let there = self.shards.iter().flat_map(|shard| shard.held(run.now));
        on_way.chain(there).collect()
    }

    /// Sums over the run so far.
    pub fn totals(&self, run: &Simulation) -> Totals {
        let busy: u64 = self.shards.iter().map(|shard| shard.busy_nanos(run.now)).sum();
        Totals {
            lag_in_flight: self.lag_in_flight,
            nanos_in_flight: self.nanos_in_flight,
            lag_batches: self.lag_versions,
            busy_nanos: busy / self.shards.len() as u64,
        }
    }

    /// The books of one worker.
    pub fn books(&self, run: &Simulation, number: usize) -> Books {
        let (tally, standing) = (&run.workers[number].tally, &self.standings[number]);
        let mut books = Books::of(tally, 1.0);
        books.fates[Fate::Applied as usize] -= standing.rolled_back;
        books.fates[Fate::RolledBack as usize] = standing.rolled_back;
        books.fates[Fate::Dropped as usize] = standing.dropped;
        books.fates[Fate::InFlight as usize] = standing.in_flight;
        books.weight = standing.weight;
        books.waited = standing.waited + standing.since.map_or(Span::ZERO, |since| run.now.since(since));
        books
    }
}

/// A gradient whose worker has not finished it: its causes are where the time went so far.
pub fn unfinished(gradient: Gradient, fate: Fate) -> Gradient {
    let mut left = gradient.ended.since(gradient.read);
    let mut take = |part: Span| {
        let taken = part.min(left);
        left = left - taken;
        taken
    };
    let mut causes = gradient.causes;
    causes.queue = take(causes.queue);
    causes.download = take(causes.download);
    causes.compute = take(causes.compute);
    causes.upload = take(causes.upload);
    // What is done, and has not reached the server, does not get through.
    causes.outage = left;
    Gradient { fate, causes, ..gradient }
}
