//! Methods that scale each coordinate by the size of its past gradients.

use super::{Context, Transform};
use crate::units::{Fraction, NonNegative, Positive};

/// u ← η·u / (√s + ε), where s is the sum of u² (AdaGrad; Duchi, Hazan and Singer, 2011) or its exponentially decaying
/// mean (RMSProp; Tieleman and Hinton, 2012, lecture 6.5).
#[derive(Clone, Debug)]
pub struct Root {
    learning_rate: f64,
    decay: Option<f64>,
    epsilon: f64,
    squares: Vec<f64>,
}

impl Root {
    /// Without a decay: AdaGrad; with one: RMSProp.
    pub fn new(learning_rate: f64, decay: Option<f64>, epsilon: f64, dimension: usize) -> Root {
        Root { learning_rate, decay, epsilon, squares: vec![0.0; dimension] }
    }
}

impl Transform for Root {
    fn apply(&mut self, update: &mut [f64], _: &Context) {
        let (keep, take) = self.decay.map_or((1.0, 1.0), |decay| (decay, 1.0 - decay));
        for (u, s) in update.iter_mut().zip(&mut self.squares) {
            *s = keep * *s + take * *u * *u;
            *u *= self.learning_rate / (s.sqrt() + self.epsilon);
        }
    }

    fn duplicate(&self) -> Box<dyn Transform> {
        Box::new(self.clone())
    }
}

/// The parameters of Adam and AdamW.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// η.
    pub learning_rate: Positive,
    /// Decay of the mean of u.
    pub beta_1: Fraction,
    /// Decay of the mean of u².
    pub beta_2: Fraction,
    /// Added to the root.
    pub epsilon: Positive,
    /// Decoupled weight decay.
    pub weight_decay: NonNegative,
}

/// Adam (Kingma and Ba, 2015, algorithm 1) with the decoupled weight decay of AdamW (Loshchilov and Hutter, 2019).
#[derive(Clone, Debug)]
pub struct Adam {
    rates: Rates,
    mean: Vec<f64>,
    square: Vec<f64>,
    /// β₁ᵗ and β₂ᵗ, for the bias correction.
    powers: (f64, f64),
}

impl Adam {
    /// With empty means.
    pub fn new(rates: Rates, dimension: usize) -> Adam {
        Adam { rates, mean: vec![0.0; dimension], square: vec![0.0; dimension], powers: (1.0, 1.0) }
    }
}

impl Transform for Adam {
    fn apply(&mut self, update: &mut [f64], context: &Context) {
        let (beta_1, beta_2) = (self.rates.beta_1.get(), self.rates.beta_2.get());
        let (rate, epsilon, decay) =
            (self.rates.learning_rate.get(), self.rates.epsilon.get(), self.rates.weight_decay.get());
        self.powers = (self.powers.0 * beta_1, self.powers.1 * beta_2);
        let (correct_1, correct_2) = (1.0 - self.powers.0, 1.0 - self.powers.1);
        let means = self.mean.iter_mut().zip(&mut self.square);
        for ((u, (m, s)), w) in update.iter_mut().zip(means).zip(context.parameters) {
            *m = beta_1 * *m + (1.0 - beta_1) * *u;
            *s = beta_2 * *s + (1.0 - beta_2) * *u * *u;
            *u = rate * ((*m / correct_1) / ((*s / correct_2).sqrt() + epsilon) + decay * w);
        }
    }

    fn duplicate(&self) -> Box<dyn Transform> {
        Box::new(self.clone())
    }
}
