//! Transforms without a memory.

use super::{Context, Transform};
use crate::vector::{add_scaled, norm};

/// u ← rate · u: plain stochastic gradient descent.
#[derive(Clone, Debug)]
pub struct Scale(pub f64);

impl Transform for Scale {
    fn apply(&mut self, update: &mut [f64], _: &Context) {
        for u in update {
            *u *= self.0;
        }
    }

    fn duplicate(&self) -> Box<dyn Transform> {
        Box::new(self.clone())
    }
}

/// u ← u · min(1, limit / ‖u‖).
#[derive(Clone, Debug)]
pub struct Clip(pub f64);

impl Transform for Clip {
    fn apply(&mut self, update: &mut [f64], _: &Context) {
        let length = norm(update);
        if length > self.0 {
            let factor = self.0 / length;
            update.iter_mut().for_each(|u| *u *= factor);
        }
    }

    fn duplicate(&self) -> Box<dyn Transform> {
        Box::new(self.clone())
    }
}

/// u ← u + rate · w.
#[derive(Clone, Debug)]
pub struct WeightDecay(pub f64);

impl Transform for WeightDecay {
    fn apply(&mut self, update: &mut [f64], context: &Context) {
        add_scaled(update, self.0, context.parameters);
    }

    fn duplicate(&self) -> Box<dyn Transform> {
        Box::new(self.clone())
    }
}
