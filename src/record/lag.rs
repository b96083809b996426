//! The lag of every gradient that was applied, in three units and by cause, for each class of workers.

use super::histogram::{Histogram, Moments};
use super::joint::Joint;
use crate::cluster::{CAUSES, Causes, Gradient};
use crate::error::{Error, Result};
use crate::kernel::Span;

/// Lags in versions have bins of their own up to 2,097,151, which only millions of workers exceed.
const VERSIONS: u32 = 20;
/// Lags in clocks have bins of their own up to 131,071, and of relative width 2⁻¹⁶ beyond: between workers that differ in
/// speed they grow for as long as the run lasts, and memory must not.
const CLOCKS: u32 = 16;
/// Lags in time have bins of relative width 1/128, and quantiles are means of what is in a bin.
const FINE: u32 = 7;

/// The lags of one class of workers, or of all.
#[derive(Clone, Debug)]
pub struct ClassLags {
    /// In server versions, where these are not negative.
    pub versions: Moments<VERSIONS>,
    /// How far ahead of the server gradients were, in versions: those of versions that a restore has undone.
    pub ahead: Moments<VERSIONS>,
    /// In nanoseconds.
    pub nanos: Moments<FINE>,
    /// In the workers' iteration clocks.
    pub clocks: Moments<CLOCKS>,
    /// Nanoseconds by cause, in the order of [`CAUSES`]; gradients that lost no time to a cause are not counted.
    pub causes: [Histogram<FINE>; CAUSES.len()],
}

impl ClassLags {
    fn new() -> ClassLags {
        ClassLags {
            versions: Moments::new(Histogram::default()),
            ahead: Moments::new(Histogram::default()),
            nanos: Moments::new(Histogram::with_means()),
            clocks: Moments::new(Histogram::default()),
            causes: std::array::from_fn(|_| Histogram::default()),
        }
    }

    #[inline(always)]
    fn record_causes(&mut self, causes: &Causes) {
        // One by one, not in a loop: where gradients never wait, the compiler knows the last four to be 0 and leaves them out.
        let [download, compute, upload, queue, service, hold, outage] = &mut self.causes;
        count(download, causes.download);
        count(compute, causes.compute);
        count(upload, causes.upload);
        count(queue, causes.queue);
        count(service, causes.service);
        count(hold, causes.hold);
        count(outage, causes.outage);
    }
}

#[inline(always)]
fn count(histogram: &mut Histogram<FINE>, span: Span) {
    if span > Span::ZERO {
        histogram.record(span.nanos());
    }
}

/// The lags of all classes, and the joint distribution over all of them.
#[derive(Debug)]
pub struct Lags {
    classes: Vec<ClassLags>,
    joint: Joint,
}

impl Lags {
    /// Nothing seen, for so many classes.
    pub fn new(classes: usize) -> Lags {
        Lags { classes: (0..classes).map(|_| ClassLags::new()).collect(), joint: Joint::default() }
    }

    /// Takes in a gradient that was applied.
    #[inline(always)]
    pub fn record(&mut self, gradient: &Gradient) {
        let class = &mut self.classes[gradient.class as usize];
        let lag = gradient.lag_versions();
        let nanos = gradient.lag().nanos();
        if lag >= 0 {
            class.versions.record_small(lag as u64);
        } else {
            class.ahead.record_ahead(lag.unsigned_abs());
        }
        class.nanos.record(nanos);
        class.clocks.record_small(gradient.lag_clocks);
        if lag >= 0 {
            self.joint.record(lag as u64, nanos);
        }
        class.record_causes(&gradient.causes);
    }

    /// Looks at the bins of lags of so many versions.
    #[inline(always)]
    pub fn count_about(&self, lag_versions: u64) -> u64 {
        self.classes.iter().map(|class| class.versions.histogram().count_about(lag_versions)).sum()
    }

    /// Class by class.
    pub fn classes(&self) -> &[ClassLags] {
        &self.classes
    }

    /// The joint distribution of versions and seconds.
    pub fn joint(&self) -> &Joint {
        &self.joint
    }

    /// All classes together.
    pub fn overall(&self) -> ClassLags {
        let mut all = ClassLags::new();
        for class in &self.classes {
            all.versions.merge(&class.versions);
            all.ahead.merge(&class.ahead);
            all.nanos.merge(&class.nanos);
            all.clocks.merge(&class.clocks);
            all.causes.iter_mut().zip(&class.causes).for_each(|(mine, theirs)| mine.merge(theirs));
        }
        all
    }

    /// The correlation (Pearson's) of versions and seconds over all gradients; `None` if either never varied, or some lag in
    /// versions was negative.
    pub fn correlation(&self) -> Option<f64> {
        let all = self.overall();
        if all.ahead.total() > 0 {
            return None;
        }
        let (versions, nanos) = (all.versions.histogram().sum(), all.nanos.histogram().sum());
        let n = u128::from(all.versions.total());
        let exact = n.checked_mul(self.joint.products()).zip(versions.checked_mul(nanos));
        let scaled = match exact {
            // Of numbers below 2¹²⁸, so the difference is right whichever is larger.
            Some((products, sums)) if products >= sums => (products - sums) as f64,
            Some((products, sums)) => -((sums - products) as f64),
            None => n as f64 * self.joint.products() as f64 - versions as f64 * nanos as f64,
        };
        let spread = all.versions.sd()? * all.nanos.sd()?;
        (spread > 0.0).then(|| (scaled / (n as f64 * n as f64) / spread).clamp(-1.0, 1.0))
    }

    /// Asserts that causes add up to lags, to the nanosecond.
    ///
    /// # Errors
    /// If they do not.
    pub fn check(&self) -> Result<()> {
        for (number, class) in self.classes.iter().enumerate() {
            let causes: u128 = class.causes.iter().map(Histogram::sum).sum();
            let lags = class.nanos.histogram().sum();
            if causes != lags {
                return Err(Error::Broken(format!(
                    "causes of class {number} add up to {causes} ns, its lags to {lags} ns"
                )));
            }
        }
        Ok(())
    }
}
