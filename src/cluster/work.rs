//! What a worker computes, done when its result is used: it depends on nothing but what the worker read, its data and, where it
//! sends its parameters or is pulled, where the server is then.

use super::server::Held;
use super::snapshots::Snapshots;
use crate::kernel::{Stream, Streams};
use crate::objective::{NoiseSource, Objective};
use crate::protocol::{Local, Send, Work};
use crate::vector::add_scaled;

/// What is needed to compute, whatever is computed.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    pub objective: &'a dyn Objective,
    pub noise: &'a NoiseSource,
    pub streams: Streams,
    pub snapshots: &'a Snapshots,
}

/// The workers' own parameters, and room to compute in.
#[derive(Debug)]
pub struct Workshop {
    work: Work,
    /// Parameters during local steps.
    local: Vec<f64>,
    gradient: Vec<f64>,
    /// The parameters that each worker keeps, one after the other.
    own: Vec<f64>,
}

impl Workshop {
    /// For so many workers, which all begin at `start`.
    pub fn new(work: Work, start: &[f64], workers: usize) -> Workshop {
        let keeps = matches!(work, Work::Elastic { .. });
        Workshop {
            work,
            local: vec![0.0; start.len()],
            gradient: vec![0.0; start.len()],
            own: if keeps { start.repeat(workers) } else { Vec::new() },
        }
    }

    /// Writes what the worker pushes to `pushed`: a gradient, or what stands for one. `local_steps` is how many it took.
    #[inline]
    pub fn compute(&mut self, problem: &Problem, held: &Held, local_steps: u64, pushed: &mut [f64]) {
        let class = held.gradient.class as usize;
        let noise = problem.streams.stream(super::purpose::NOISE, u64::from(held.data.0));
        let first = held.data.1 * local_steps;
        match self.work {
            Work::Gradient => {
                let read = problem.snapshots.get(held.slot);
                let random = || noise.draw(held.data.1);
                problem.noise.gradient(problem.objective, class, read, random, pushed);
            }
            Work::LocalSteps { local, send, .. } => {
                let read = problem.snapshots.get(held.slot);
                self.local.copy_from_slice(read);
                descend(problem, class, local, noise, first..first + local_steps, &mut self.local, &mut self.gradient);
                let from = match send {
                    Send::Delta => read,
                    Send::Model => problem.snapshots.current(),
                };
                pushed.iter_mut().zip(from.iter().zip(&self.local)).for_each(|(u, (from, to))| *u = from - to);
            }
            Work::Elastic { local, alpha } => {
                let at = held.gradient.worker as usize * pushed.len();
                let own = &mut self.own[at..at + pushed.len()];
                let last = first + local_steps - 1;
                descend(problem, class, local, noise, first..last, own, &mut self.gradient);
                // The pull and the last step start from the same point (Zhang, Choromanska and LeCun, 2015, equations 5 and 6).
                problem.noise.gradient(problem.objective, class, own, || noise.draw(last), &mut self.gradient);
                for ((u, x), centre) in pushed.iter_mut().zip(own.iter()).zip(problem.snapshots.current()) {
                    *u = -alpha.get() * (x - centre);
                }
                add_scaled(own, -local.learning_rate.get(), &self.gradient);
                add_scaled(own, 1.0, pushed);
            }
        }
    }
}

/// Steps of SGD on `w`, with the noise of the draws `numbers`.
fn descend(
    problem: &Problem,
    class: usize,
    local: Local,
    noise: Stream,
    numbers: std::ops::Range<u64>,
    w: &mut [f64],
    gradient: &mut [f64],
) {
    for number in numbers {
        problem.noise.gradient(problem.objective, class, w, || noise.draw(number), gradient);
        add_scaled(w, -local.learning_rate.get(), gradient);
    }
}

/// The table of a step a worker and round: the sum and number of each worker's gradients, and the mean over workers of the
/// means of theirs.
#[derive(Debug)]
pub struct Table {
    sums: Vec<f64>,
    counts: Vec<u64>,
    mean: Vec<f64>,
    steps: u64,
}

impl Table {
    /// An empty one.
    pub fn new(workers: usize, dimension: usize) -> Table {
        Table { sums: vec![0.0; workers * dimension], counts: vec![0; workers], mean: vec![0.0; dimension], steps: 0 }
    }

    /// Forgets the round before.
    pub fn clear(&mut self) {
        self.sums.fill(0.0);
        self.counts.fill(0);
        self.mean.fill(0.0);
    }

    /// Adds a gradient of `worker`.
    pub fn add(&mut self, worker: usize, gradient: &[f64]) {
        let (before, at) = (self.counts[worker].max(1) as f64, worker * gradient.len());
        self.counts[worker] += 1;
        let (after, workers) = (self.counts[worker] as f64, self.counts.len() as f64);
        let sums = &mut self.sums[at..at + gradient.len()];
        for ((mean, sum), g) in self.mean.iter_mut().zip(sums).zip(gradient) {
            let old = *sum / before;
            *sum += g;
            *mean += (*sum / after - old) / workers;
        }
    }

    /// Writes the mean over workers of their means to `update` (Maranjyan and Richtárik, 2025, "Ringleader ASGD", equation 3).
    pub fn step(&mut self, update: &mut [f64]) {
        self.steps += 1;
        update.copy_from_slice(&self.mean);
    }

    /// How many steps it made, each with the same part of every worker.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}
