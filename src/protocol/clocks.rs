//! Clocks of workers: who is too far ahead of others to start.

use crate::kernel::{Purpose, Streams};
use rand::RngExt;

/// The streams, by worker, of whom it looks at before it starts.
const SAMPLE: Purpose = Purpose(7);

/// Clocks of all workers, none more than a bound ahead of the slowest.
#[derive(Debug)]
pub struct Gap {
    bound: u64,
    clocks: Vec<u64>,
    slowest: u64,
    /// How many workers have the slowest clock.
    at_slowest: usize,
    blocked: Vec<u32>,
    /// Workers that have left: nobody waits for them.
    gone: Vec<bool>,
}

/// Clocks of all workers, none starting more than a bound ahead of the slowest of some others.
#[derive(Debug)]
pub struct Sampled {
    bound: u64,
    sample: usize,
    clocks: Vec<u64>,
    /// For each worker, the first of those that wait for it; for each that waits, the next one.
    first: Vec<Option<u32>>,
    after: Vec<Option<u32>>,
    streams: Streams,
    drawn: Vec<usize>,
    /// Which are drawn.
    is_drawn: Vec<bool>,
    /// Workers that have left: nobody waits for them.
    gone: Vec<bool>,
}

impl Gap {
    pub fn new(bound: u64, workers: usize) -> Gap {
        Gap {
            bound,
            clocks: vec![0; workers],
            slowest: 0,
            at_slowest: workers,
            blocked: Vec::with_capacity(workers),
            gone: vec![false; workers],
        }
    }

    /// A worker has completed a gradient.
    pub fn complete(&mut self, worker: u32, starts: &mut Vec<u32>) {
        let clock = &mut self.clocks[worker as usize];
        *clock += 1;
        let clock = *clock;
        if clock == self.slowest + 1 {
            self.at_slowest -= 1;
            if self.at_slowest == 0 {
                self.advance(starts);
            }
        }
        if clock - self.slowest <= self.bound { starts.push(worker) } else { self.blocked.push(worker) }
    }

    /// Nobody has the slowest clock any more. (It moves once for every gradient of each worker, so that these scans cost little.)
    fn advance(&mut self, starts: &mut Vec<u32>) {
        let present = || self.clocks.iter().zip(&self.gone).filter(|(_, gone)| !**gone).map(|(clock, _)| *clock);
        let Some(slowest) = present().min() else { return };
        let at_slowest = present().filter(|&clock| clock == slowest).count();
        (self.slowest, self.at_slowest) = (slowest, at_slowest);
        let (clocks, bound) = (&self.clocks, self.bound);
        starts.extend(self.blocked.extract_if(.., |worker| clocks[*worker as usize] - slowest <= bound));
    }

    /// True if it was held back.
    pub fn leave(&mut self, worker: u32, starts: &mut Vec<u32>) -> bool {
        self.gone[worker as usize] = true;
        let before = self.blocked.len();
        self.blocked.retain(|&other| other != worker);
        let was_blocked = self.blocked.len() < before;
        if self.clocks[worker as usize] == self.slowest {
            self.at_slowest -= 1;
            if self.at_slowest == 0 {
                self.advance(starts);
            }
        }
        was_blocked
    }

    /// It goes on with the slowest, if it was behind them.
    pub fn rejoin(&mut self, worker: u32) {
        self.gone[worker as usize] = false;
        let clock = &mut self.clocks[worker as usize];
        *clock = (*clock).max(self.slowest);
        self.at_slowest += usize::from(*clock == self.slowest);
        if self.at_slowest == 0 {
            // All others are gone.
            self.advance(&mut Vec::new());
        }
    }
}

impl Sampled {
    pub fn new(bound: u64, sample: usize, workers: usize, streams: Streams) -> Sampled {
        Sampled {
            bound,
            sample,
            clocks: vec![0; workers],
            first: vec![None; workers],
            after: vec![None; workers],
            streams,
            drawn: Vec::with_capacity(sample),
            is_drawn: vec![false; workers],
            gone: vec![false; workers],
        }
    }

    /// A worker has completed a gradient.
    pub fn complete(&mut self, worker: u32, starts: &mut Vec<u32>) {
        self.clocks[worker as usize] += 1;
        let mut waiting = self.first[worker as usize].take();
        self.start_or_wait(worker, starts);
        while let Some(other) = waiting {
            waiting = self.after[other as usize].take();
            self.start_or_wait(other, starts);
        }
    }

    fn start_or_wait(&mut self, worker: u32, starts: &mut Vec<u32>) {
        let clock = self.clocks[worker as usize];
        self.draw(worker, clock);
        // All of the others stand in a row from which the worker itself is missing.
        let others = self.drawn.iter().map(|&other| other + usize::from(other >= worker as usize));
        let is_behind = |&other: &usize| !self.gone[other] && self.clocks[other].saturating_add(self.bound) < clock;
        let behind = others.into_iter().find(is_behind);
        match behind {
            None => starts.push(worker),
            Some(other) => self.after[worker as usize] = self.first[other].replace(worker),
        }
    }

    /// True if it was held back.
    pub fn leave(&mut self, worker: u32, starts: &mut Vec<u32>) -> bool {
        self.gone[worker as usize] = true;
        let was_blocked = self.take_out(worker);
        let mut waiting = self.first[worker as usize].take();
        while let Some(other) = waiting {
            waiting = self.after[other as usize].take();
            self.start_or_wait(other, starts);
        }
        was_blocked
    }

    /// Takes a worker out of the row that it waits in, if it does.
    fn take_out(&mut self, worker: u32) -> bool {
        let next = self.after[worker as usize].take();
        for row in self.first.iter_mut().chain(&mut self.after) {
            if *row == Some(worker) {
                *row = next;
                return true;
            }
        }
        false
    }

    /// It goes on with the slowest that are there, if it was behind them.
    pub fn rejoin(&mut self, worker: u32) {
        let present = self.clocks.iter().zip(&self.gone).filter(|(_, gone)| !**gone).map(|(clock, _)| *clock);
        let slowest = present.min().unwrap_or(0);
        self.gone[worker as usize] = false;
        let clock = &mut self.clocks[worker as usize];
        *clock = slowest.max(*clock);
    }

    /// Draws different others (Floyd's algorithm, 1987), always the same for the same worker and clock.
    fn draw(&mut self, worker: u32, clock: u64) {
        let mut random = self.streams.stream(SAMPLE, u64::from(worker)).draw(clock);
        let others = self.clocks.len() - 1;
        self.drawn.drain(..).for_each(|other| self.is_drawn[other] = false);
        for last in others - self.sample..others {
            let other = random.random_range(0..=last);
            let other = if self.is_drawn[other] { last } else { other };
            self.is_drawn[other] = true;
            self.drawn.push(other);
        }
    }
}
