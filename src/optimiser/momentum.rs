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
