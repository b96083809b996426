//! The parameter server's queue: gradients are applied one at a time, first come, first served.

use crate::kernel::{Span, Time};
use std::collections::VecDeque;

/// A single FIFO server. Without a service time it is never busy and its queue never used.
#[derive(Debug)]
pub struct Server {
    waiting: VecDeque<u32>,
    /// Whose gradient is being applied, since when, and for how long.
    pub serving: Option<(u32, Time, Span)>,
    /// Gradients whose service has begun: the number of the next service time.
    pub served: u64,
}

impl Server {
    /// Room for one gradient of each worker.
    pub fn new(workers: usize) -> Server {
        Server { waiting: VecDeque::with_capacity(workers), serving: None, served: 0 }
    }

    /// The gradient of `worker` has arrived.
    pub fn enqueue(&mut self, worker: u32) {
        self.waiting.push_back(worker);
    }

    /// The gradient to be applied next.
    pub fn dequeue(&mut self) -> Option<u32> {
        self.waiting.pop_front()
    }
}
