//! Who waits for whom, and what the server does with a stale gradient.
//!
//! A protocol is five small [choices](Composition); the published methods are [presets](Protocol) of them. It is asked and
//! decides; it never touches the clock, the parameters or the books.

mod choices;
mod clocks;
mod pace;
mod presets;

pub use choices::{
    Admit, After, CHOICES, Composition, Late, Local, Mean, Next, Order, Otherwise, Pace, Send, StepRule, Work,
};
pub use pace::{Pacer, Party};
pub use presets::{CATALOGUE, LateOfSync, Protocol, Stale, scenario_of};

impl Composition {
    /// Whether every gradient is a step of its own, taken when it arrives, and its worker goes on at once: then nothing ever
    /// waits at the server, and nothing is ever told to stop.
    pub fn is_plain(&self) -> bool {
        let one = self.step == StepRule::default();
        let refetch = self.admit.most_s.is_none() && self.admit.otherwise == Otherwise::Refetch;
        one && refetch
            && self.admit.discount.is_none()
            && self.pace == Pace::AtOnce
            && self.late == Late::Keep
            && self.work == Work::Gradient
    }

    /// Whether gradients go into a buffer beside the server, even while it steps, so that no worker ever waits for it.
    pub fn has_buffer(&self) -> bool {
        matches!(self.pace, Pace::Budget { .. })
    }

    /// Whether a step may use several gradients.
    pub fn steps_with_several(&self) -> bool {
        self.step.after != After::Gradients(crate::units::Count::ONE)
    }

    /// How many gradients a step uses at most, in a cluster of `workers`; as many as have come, for a deadline.
    pub fn gradients_per_step(&self, workers: u64) -> u64 {
        match self.step.after {
            After::Gradients(k) | After::Workers(k) => k.get(),
            After::All | After::Deadline(_) => workers,
            After::Table => 1,
        }
    }
}

impl Admit {
    /// Whether a gradient with such a lag is let in.
    #[inline]
    pub fn lets_in(&self, lag_versions: i64, lag_s: f64) -> bool {
        self.most_versions.is_none_or(|most| lag_versions <= most.min(i64::MAX as u64) as i64)
            && self.most_s.is_none_or(|most| lag_s <= most.get())
    }
}
