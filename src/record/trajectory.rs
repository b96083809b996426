//! How the loss went, at a bounded number of points.

use crate::catalogue::{Entry, entry};
use serde::{Deserialize, Serialize};

/// How often the trajectory is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Sampling {
    /// Between this number and half of it, evenly over the run, however long that turns out to be.
    Points(crate::units::Count),
    /// Every so many optimiser steps; memory then grows with the run.
    Every(crate::units::Count),
}

impl Sampling {
    /// Every choice, in the order of the enum.
    pub const CATALOGUE: &[Entry] = &[
        entry("Points", "at most so many, evenly over the run; 1000 if left out", "Points(1000)"),
        entry("Every", "every so-many-th step", "Every(10)"),
    ];
}

impl Default for Sampling {
    fn default() -> Sampling {
        Sampling::Points(crate::units::Count::new(1000).unwrap_or(crate::units::Count::ONE))
    }
}

/// One point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Virtual seconds.
    pub time_s: f64,
    /// The server's version.
    pub version: u64,
    /// Optimiser steps in this run.
    pub updates: u64,
    /// f(w).
    pub loss: f64,
    /// ‖w − w*‖, where the minimiser is known.
    pub distance: Option<f64>,
    /// What the run had cost, if anything has a price.
    pub cost: Option<f64>,
}

/// The points sampled so far.
#[derive(Clone, Debug)]
pub struct Trajectory {
    points: Vec<Point>,
    stride: u64,
    /// At so many points every second one is forgotten, and the stride doubled.
    most: usize,
}

impl Trajectory {
    /// Starts with the state before the first step.
    pub fn new(sampling: Sampling, first: Point) -> Trajectory {
        let (stride, most) = match sampling {
            Sampling::Points(points) => (1, usize::try_from(points.get()).unwrap_or(usize::MAX).max(2)),
            Sampling::Every(stride) => (stride.get(), usize::MAX),
        };
        Trajectory { points: vec![first], stride, most }
    }

    /// The number of the step to be sampled next.
    pub fn next(&self) -> u64 {
        self.points[self.points.len() - 1].updates / self.stride * self.stride + self.stride
    }

    /// Adds the point of step [`Trajectory::next`].
    pub fn push(&mut self, point: Point) {
        self.points.push(point);
        if self.points.len() > self.most {
            self.stride *= 2;
            let stride = self.stride;
            self.points.retain(|point| point.updates.is_multiple_of(stride));
        }
    }

    /// Adds the state at the end, unless it is there already.
    pub fn finish(&mut self, last: Point) {
        let sampled = self.points[self.points.len() - 1];
        if sampled.updates < last.updates || sampled.time_s < last.time_s {
            self.points.push(last);
        }
    }

    /// The points, in order.
    pub fn points(&self) -> &[Point] {
        &self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Count;

    fn point(updates: u64) -> Point {
        Point { time_s: updates as f64, version: updates, updates, loss: 0.0, distance: None, cost: None }
    }

    fn sampled(sampling: Sampling, steps: u64) -> Vec<u64> {
        let mut trajectory = Trajectory::new(sampling, point(0));
        for step in 1..=steps {
            if step == trajectory.next() {
                trajectory.push(point(step));
            }
        }
        trajectory.finish(point(steps));
        trajectory.points().iter().map(|point| point.updates).collect()
    }

    #[test]
    fn the_number_of_points_is_bounded_whatever_the_length() {
        for steps in [0, 1, 7, 100, 1023, 1024, 1025, 100_000] {
            let points = sampled(Sampling::Points(Count::new(64).unwrap()), steps);
            assert!(points.len() <= 65, "{steps}: {}", points.len());
            assert!(points.len() as u64 > steps.min(31), "{steps}: {}", points.len());
            assert_eq!((points[0], *points.last().unwrap()), (0, steps));
        }
    }

    #[test]
    fn a_fixed_stride_is_kept() {
        assert_eq!(sampled(Sampling::Every(Count::new(3).unwrap()), 8), [0, 3, 6, 8]);
    }
}
