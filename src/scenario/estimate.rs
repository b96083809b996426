//! What a run will cost, before it is begun.

use super::Scenario;
use crate::protocol::{After, Composition, Pace, Work};
use crate::record::{Point, Sampling};

/// Rows of single gradients that are written at a time.
const BATCH_ROWS: f64 = (1u64 << 17) as f64;
/// A point of the trajectory in memory.
const POINT_BYTES: f64 = size_of::<Point>() as f64;

/// Rough figures for one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Optimiser steps; an upper bound if the run may end by its loss.
    pub updates: f64,
    /// Events.
    pub events: f64,
    /// Peak memory of the simulation, in bytes.
    pub memory_bytes: f64,
    /// Of this, what gradients take that wait for their step, or for their worker.
    pub waiting_bytes: f64,
    /// Result files, in bytes.
    pub output_bytes: f64,
}

/// What the program itself takes, most of it when it writes Parquet.
const BYTES_ALWAYS: f64 = 36e6;
/// Measured per worker: its own state and books, its leaf in the queue, its place in the server's.
const BYTES_PER_WORKER: f64 = 300.0;
/// Of a worker and a shard: what is on its way, its leaf in the queue, what was applied since the shard saved, and its place there.
const BYTES_PER_PART: f64 = 350.0;
/// Ten histograms of a few thousand bins.
const BYTES_PER_CLASS: f64 = 100_000.0;
/// A gradient while its batch is being encoded.
const BYTES_PER_BATCHED_ROW: f64 = 1100.0;
/// A row of `gradients.parquet`: whole batches compress better than a few rows.
const BYTES_PER_ROW: f64 = 85.0;
/// All other files, for one class of a few workers.
const BYTES_OF_TABLES: f64 = 60e3;

/// A gradient that waits for its step.
const BYTES_PER_HELD: f64 = 500.0;

/// How many gradients may wait at the same time, besides one a worker, and how many versions they are of.
fn waiting(composition: &Composition, workers: f64, each: f64) -> (f64, f64) {
    let held = match &composition.pace {
        Pace::Routed { tasks, .. } => tasks.get() as f64,
        Pace::Budget { eta, batch } => (eta.get() + 1.0) * batch.get() as f64,
        _ => each,
    };
    let held = composition.step.capacity.map_or(held, |capacity| held.min(capacity.get() as f64 + workers));
    let versions = match &composition.pace {
        Pace::Budget { eta, .. } => (eta.get() + 2.0) * composition.step.parts.get() as f64 + workers,
        _ => held,
    };
    (held, versions.min(held))
}

/// How many vectors there are of each worker.
fn vectors(composition: &Composition) -> f64 {
    let own = matches!(composition.work, Work::Elastic { .. });
    1.0 + f64::from(own) + f64::from(composition.step.after == After::Table)
}

impl Estimate {
    /// For a scenario whose class i takes `cycle_s[i]` seconds a gradient on average, server excluded, and whose server
    /// takes `server_s` to take in a gradient, and to step, in `dimension` parameters. As if no worker ever waited for others.
    pub fn new(scenario: &Scenario, cycle_s: &[f64], server_s: [f64; 2], dimension: usize) -> Estimate {
        let workers = scenario.worker_count() as f64;
        let composition = scenario.composition();
        let each = composition.gradients_per_step(scenario.worker_count()) as f64;
        let each = (each / composition.step.parts.get() as f64).max(1.0);
        let [service_s, step_s] = server_s;
        // A part of a gradient is one of its shard.
        let shards = scenario.server.shards.as_ref().map_or(1.0, |shards| shards.count() as f64);
        let service_s = service_s / shards;
        let gradients: f64 =
            scenario.workers.iter().zip(cycle_s).map(|(class, cycle)| class.count.get() as f64 / cycle).sum();
        let arrivals = gradients * shards;
        let most = |rate: f64, seconds: f64| if seconds > 0.0 { rate.min(1.0 / seconds) } else { rate };
        let rate = most(most(arrivals, service_s) / each, step_s);
        let by_count = scenario.stop.updates.map_or(f64::INFINITY, |updates| updates.get() as f64);
        let by_time = scenario.stop.time_s.map_or(f64::INFINITY, |time| (time.get() * rate).ceil());
        let updates = by_count.min(by_time);
        let steps = if updates < u64::MAX as f64 { updates as u64 } else { u64::MAX };
        let points = match scenario.record.trajectory {
            Sampling::Points(points) => (points.get() as f64).min(updates),
            Sampling::Every(stride) => updates / stride.get() as f64,
        };
        let rows = scenario.record.gradients.rows(steps) as f64 * each;
        let timeline = f64::from(scenario.record.timeline).min(updates);
        let classes = scenario.workers.len() as f64;
        let arrived = if rate > 0.0 { arrivals * updates / rate } else { f64::INFINITY };
        // Where a step needs gradients of several workers, those of the others pile up until the slowest comes.
        let slowest = cycle_s.iter().copied().filter(|cycle| cycle.is_finite()).fold(0.0, f64::max);
        let piled = if composition.pace == Pace::AtOnce { arrivals * slowest } else { 0.0 };
        let alone = matches!(composition.step.after, After::Gradients(_) | After::Deadline(_));
        let (held, versions) = waiting(&composition, workers, if alone { each } else { each.max(piled) });
        let waiting_bytes = held.min(arrived) * BYTES_PER_HELD + versions.min(arrived) * dimension as f64 * 8.0;
        Estimate {
            updates,
            events: updates * (each * if service_s > 0.0 { 2.0 } else { 1.0 } + f64::from(step_s > 0.0)) + workers,
            memory_bytes: BYTES_ALWAYS
                + workers * (BYTES_PER_WORKER + shards * BYTES_PER_PART)
                + (workers * vectors(&composition) + 8.0 + 3.0 * timeline) * dimension as f64 * 8.0
                + waiting_bytes
                + classes * BYTES_PER_CLASS
                + points * POINT_BYTES
                + rows.min(BATCH_ROWS) * BYTES_PER_BATCHED_ROW,
            waiting_bytes,
            output_bytes: BYTES_OF_TABLES + rows * BYTES_PER_ROW + workers * 20.0 + points * 25.0 + classes * 20e3,
        }
    }
}
