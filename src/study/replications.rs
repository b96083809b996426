//! How often a combination is run, and which of its runs count.

use super::statistics::Estimate;
use crate::catalogue::{Entry, entry};
use crate::units::{Count, Positive};
use serde::{Deserialize, Serialize};

/// How often each combination is run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Replications {
    /// So often.
    Fixed(Count),
    /// Until the mean of a quantity of the summary is known well enough.
    Until {
        /// Its name.
        quantity: String,
        /// Half the width of its interval, as a part of the mean, is to be no more than this.
        relative: Positive,
        /// Runs are made so many at a time.
        at_least: Count,
        /// And no more than so many in all.
        at_most: Count,
    },
}

/// How far the runs of a combination have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// All that is wanted is there.
    Whole,
    /// All runs that there may be are there, and the interval is still too wide.
    Imprecise,
    /// Runs are missing.
    Short,
}

impl Replications {
    /// Every choice, in the order of the enum.
    pub const CATALOGUE: &[Entry] = &[
        entry("Fixed", "so many", "Fixed(10)"),
        entry(
            "Until",
            "so many at a time, until the interval of the mean of a quantity is narrow enough",
            "Until(quantity: \"lag_s_mean\", relative: 0.01, at_least: 5, at_most: 100)",
        ),
    ];

    /// How many there are at least, and at most.
    pub fn range(&self) -> (u64, u64) {
        match self {
            Replications::Fixed(count) => (count.get(), count.get()),
            Replications::Until { at_least, at_most, .. } => (at_least.get().min(at_most.get()), at_most.get()),
        }
    }

    /// Of the first `finished` runs of a combination, how many count, and how that stands. `estimate` gives the mean of a
    /// quantity over so many of the first runs. Nothing else decides: not what more there is, nor what was asked for before.
    pub fn count(&self, finished: u64, estimate: impl Fn(&str, u64) -> Option<Estimate>) -> (u64, Standing) {
        let (first, most) = self.range();
        if let Replications::Until { quantity, relative, .. } = self {
            let is_precise = |runs: u64| {
                let Some(Estimate { mean, half_width: Ok(half), .. }) = estimate(quantity, runs) else { return false };
                half <= relative.get() * mean.abs()
            };
            // In rounds, so that the number does not depend on which run was finished first.
            let rounds = (1..).map(|round| first.saturating_mul(round).min(most));
            let looked_at = rounds.take_while(|&runs| runs <= finished && runs < most);
            if let Some(enough) = looked_at.chain((most <= finished).then_some(most)).find(|&runs| is_precise(runs)) {
                return (enough, Standing::Whole);
            }
            return if finished >= most { (most, Standing::Imprecise) } else { (finished, Standing::Short) };
        }
        if finished >= most { (most, Standing::Whole) } else { (finished, Standing::Short) }
    }
}

impl Default for Replications {
    fn default() -> Replications {
        Replications::Fixed(Count::ONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::statistics;

    #[test]
    fn what_counts_depends_on_the_rule_alone() {
        let values = [1.0, 3.0, 1.9, 2.0, 2.1, 2.0, 2.0, 2.0];
        let of = |_: &str, runs: u64| statistics::mean(&values[..runs as usize], 0.95);
        let count = |count: u64| Count::new(count).unwrap();
        let until = |relative: f64, at_least: u64, at_most: u64| Replications::Until {
            quantity: "loss".into(),
            relative: Positive::new(relative).unwrap(),
            at_least: count(at_least),
            at_most: count(at_most),
        };
        assert_eq!(Replications::Fixed(count(3)).count(8, of), (3, Standing::Whole));
        assert_eq!(Replications::Fixed(count(9)).count(8, of), (8, Standing::Short));
        // Half-widths of the first 2, 4, 6 and 8: 12.7, 1.3, 0.66 and 0.44.
        assert_eq!(until(0.4, 2, 8).count(8, of), (6, Standing::Whole));
        assert_eq!(until(0.4, 2, 8).count(5, of), (5, Standing::Short));
        assert_eq!(until(0.4, 4, 7).count(8, of), (7, Standing::Whole));
        assert_eq!(until(0.1, 2, 7).count(8, of), (7, Standing::Imprecise));
        assert_eq!(until(0.1, 1, 1).count(8, of), (1, Standing::Imprecise));
        assert_eq!(until(0.4, 9, 8).count(8, of), (8, Standing::Whole));
    }
}
