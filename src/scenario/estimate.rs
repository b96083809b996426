//! What a run will cost, before it is begun.

use super::Scenario;
use crate::record::Sampling;

/// Rough figures for one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Optimiser steps; an upper bound if the run may end by its loss.
    pub updates: f64,
    /// Events.
    pub events: f64,
    /// Peak memory of the simulation, in bytes.
    pub memory_bytes: f64,
    /// Result files, in bytes.
    pub output_bytes: f64,
}

/// Measured per worker: its own state, its books, its leaf in the queue, its place in the server's.
const BYTES_PER_WORKER: f64 = 360.0;
/// Ten histograms of a few thousand bins.
const BYTES_PER_CLASS: f64 = 250_000.0;
/// A row of `gradients.parquet`, compressed.
const BYTES_PER_ROW: f64 = 60.0;

impl Estimate {
    /// For a scenario whose class i takes `cycle_s[i]` seconds a gradient on average, server excluded, and whose server
    /// takes `service_s`, in `dimension` parameters.
    pub fn new(scenario: &Scenario, cycle_s: &[f64], service_s: f64, dimension: usize) -> Estimate {
        let workers = scenario.worker_count() as f64;
        let arrivals: f64 =
            scenario.workers.iter().zip(cycle_s).map(|(class, cycle)| class.count.get() as f64 / cycle).sum();
        let rate = if service_s > 0.0 { arrivals.min(1.0 / service_s) } else { arrivals };
        let by_count = scenario.stop.updates.map_or(f64::INFINITY, |updates| updates.get() as f64);
        let by_time = scenario.stop.time_s.map_or(f64::INFINITY, |time| (time.get() * rate).ceil());
        let updates = by_count.min(by_time);
        let steps = if updates < u64::MAX as f64 { updates as u64 } else { u64::MAX };
        let points = match scenario.record.trajectory {
            Sampling::Points(points) => points.get() as f64,
            Sampling::Every(stride) => updates / stride.get() as f64,
        };
        Estimate {
            updates,
            events: updates * if service_s > 0.0 { 2.0 } else { 1.0 } + workers,
            memory_bytes: workers * BYTES_PER_WORKER
                + (workers + 8.0) * dimension as f64 * 8.0
                + scenario.workers.len() as f64 * BYTES_PER_CLASS
                + points * 40.0
                + 8e6,
            output_bytes: scenario.record.gradients.rows(steps) as f64 * BYTES_PER_ROW
                + workers * 8.0
                + points * 25.0
                + 30e3,
        }
    }
}
