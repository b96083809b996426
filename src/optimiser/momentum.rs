//! Momentum: Polyak's heavy ball (1964) and Nesterov's acceleration in the form of Sutskever et al. (2013), equation 3,
//! rewritten for gradients at the looked-ahead point, as deep-learning libraries have it.

use super::{Context, Transform};

/// v ← μv + ηu. The heavy ball moves by v, Nesterov's method by μv + ηu.
#[derive(Clone, Debug)]
pub struct Velocity {
    learning_rate: f64,
    momentum: f64,
    look_ahead: bool,
    velocity: Vec<f64>,
}

impl Velocity {
    /// At rest.
    pub fn new(learning_rate: f64, momentum: f64, look_ahead: bool, dimension: usize) -> Velocity {
        Velocity { learning_rate, momentum, look_ahead, velocity: vec![0.0; dimension] }
    }
}

impl Transform for Velocity {
    fn apply(&mut self, update: &mut [f64], _: &Context) {
        for (u, v) in update.iter_mut().zip(&mut self.velocity) {
            let step = self.learning_rate * *u;
            *v = self.momentum * *v + step;
            *u = if self.look_ahead { self.momentum * *v + step } else { *v };
        }
    }

    fn duplicate(&self) -> Box<dyn Transform> {
        Box::new(self.clone())
    }
}

/// Delayed Nesterov momentum for pseudo-gradients that come one by one: the momentum takes in the mean of `every` of them at a
/// time, and moves the parameters once in that time (Liu et al., 2024, "Asynchronous local-SGD training for language modeling",
/// algorithm 3, with c = 0).
#[derive(Clone, Debug)]
pub struct Delayed {
    learning_rate: f64,
    momentum: f64,
    every: u64,
    seen: u64,
    sum: Vec<f64>,
    velocity: Vec<f64>,
}

impl Delayed {
    /// At rest.
    pub fn new(learning_rate: f64, momentum: f64, every: u64, dimension: usize) -> Delayed {
        Delayed { learning_rate, momentum, every, seen: 0, sum: vec![0.0; dimension], velocity: vec![0.0; dimension] }
    }
}

impl Transform for Delayed {
    fn apply(&mut self, update: &mut [f64], _: &Context) {
        self.seen += 1;
        let count = self.every as f64;
        let due = self.seen.is_multiple_of(self.every);
        for ((u, sum), v) in update.iter_mut().zip(&mut self.sum).zip(&mut self.velocity) {
            *sum += *u;
            let mut step = *u / count;
            if due {
                *v = self.momentum * *v + *sum / count;
                *sum = 0.0;
                step += self.momentum * *v;
            }
            *u = self.learning_rate * step;
        }
    }

    fn duplicate(&self) -> Box<dyn Transform> {
        Box::new(self.clone())
    }
}
