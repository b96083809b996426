//! Where workers' time went that came to nothing.

use crate::cluster::{FATES, Fate, Gradient};

/// How long workers were busy with gradients that were not applied, by fate: downloading, computing and uploading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vain {
    nanos: [u128; FATES.len()],
    /// How many parts a gradient has, with all of which its worker is busy at the same time.
    parts: u64,
}

impl Vain {
    /// Nothing yet, of gradients of so many parts.
    pub fn new(parts: u64) -> Vain {
        Vain { nanos: [0; FATES.len()], parts }
    }

    /// Adds a gradient that was not applied.
    pub fn add(&mut self, gradient: &Gradient) {
        if gradient.is_copy {
            return;
        }
        let causes = gradient.causes;
        let busy = causes.download + causes.compute + causes.upload;
        self.nanos[gradient.fate as usize] += u128::from(busy.nanos() / self.parts);
    }

    /// Seconds of workers for those of a fate.
    pub fn seconds(&self, fate: Fate) -> f64 {
        self.nanos[fate as usize] as f64 / 1e9
    }
}
