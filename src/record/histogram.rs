//! Counts of integers, exact where they are small and of bounded relative width where they are not.

use std::collections::BTreeMap;

/// A histogram of `u64` values whose memory depends on their range alone, never on their number.
///
/// Below 2^(PRECISION+1) every value has a bin of its own. Above, each octave is cut into 2^PRECISION bins of equal
/// width, so that a bin is at most 2^−PRECISION of its lower edge wide. The sum, and so the mean, is exact at any size.
#[derive(Clone, Debug)]
pub struct Histogram<const PRECISION: u32> {
    /// Narrow, so that more of them are near the processor; what no longer fits is in `spilled`.
    counts: Vec<u32>,
    spilled: BTreeMap<usize, u64>,
    /// For each bin the sum of what its values exceed its lower edge by; empty where that is not wanted.
    excess: Vec<u64>,
    /// The sum of the values that have no bin of their own; that of the others is in the counts.
    sum: u128,
}

/// A histogram that also knows the exact standard deviation and the exact greatest value.
#[derive(Clone, Debug)]
pub struct Moments<const PRECISION: u32> {
    histogram: Histogram<PRECISION>,
    /// The first value without a bin of its own: squares of deviations from it stay small where the values are large and
    /// alike. [`NOTHING_YET`] before there is one.
    origin: u64,
    /// Σ (value − origin)² over the values that have no bin of their own.
    squares: u128,
    /// Whether the squares no longer fit.
    overflown: bool,
    /// The greatest of the values that have no bin of their own.
    greatest: u64,
}

/// No duration or count of this program is as large.
const NOTHING_YET: u64 = u64::MAX;

/// One bin: values from `lower` up to and including `upper`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// The least value that falls into it.
    pub lower: u64,
    /// The greatest.
    pub upper: u64,
    /// How many did.
    pub count: u64,
    /// Their mean, or the middle of the bin where that is not known.
    pub typical: u64,
}

/// The place of `value` among the bins of a histogram of `precision`.
#[inline(always)]
pub fn bin_of(precision: u32, value: u64) -> usize {
    if value < 2 << precision { value as usize } else { shared_bin(precision, value).0 }
}

/// The bin of a value that has none of its own, and what the value exceeds the bin's lower edge by.
#[inline(always)]
fn shared_bin(precision: u32, value: u64) -> (usize, u64) {
    let shift = 63 - precision - value.leading_zeros();
    let upper = value >> shift;
    (((shift as usize) << precision) + upper as usize, value - (upper << shift))
}

/// The least and the greatest value of bin number `bin`.
#[inline]
pub fn edges(precision: u32, bin: usize) -> (u64, u64) {
    let per_octave = 1usize << precision;
    if bin < 2 * per_octave {
        return (bin as u64, bin as u64);
    }
    let shift = (bin >> precision) as u32 - 1;
    let lower = ((bin & (per_octave - 1)) + per_octave) as u64;
    // The upper edge of the last bin is 2⁶⁴ − 1: shift in ones, which cannot overflow.
    (lower << shift, (lower << shift) | ((1u64 << shift) - 1))
}

impl<const PRECISION: u32> Default for Histogram<PRECISION> {
    fn default() -> Self {
        let bins = 2 << PRECISION.min(6);
        Histogram { counts: vec![0; bins], spilled: BTreeMap::new(), excess: Vec::new(), sum: 0 }
    }
}

impl<const PRECISION: u32> Histogram<PRECISION> {
    /// An empty histogram that knows the mean value of each bin, so that quantiles are those of equal values exactly.
    pub fn with_means() -> Self {
        let histogram = Self::default();
        Histogram { excess: vec![0; histogram.counts.len()], ..histogram }
    }

    /// The least value that has no bin of its own.
    const LIMIT: u64 = 2 << PRECISION;

    /// Counts `value`.
    #[inline(always)]
    pub fn record(&mut self, value: u64) {
        if value < Self::LIMIT {
            self.count_in(value as usize);
        } else {
            self.record_shared(value);
        }
    }

    /// Counts a value that has no bin of its own.
    #[inline(always)]
    fn record_shared(&mut self, value: u64) {
        let (bin, excess) = shared_bin(PRECISION, value);
        self.count_in(bin);
        self.sum += u128::from(value);
        if let Some(sum) = self.excess.get_mut(bin) {
            *sum = sum.saturating_add(excess);
        }
    }

    #[inline(always)]
    fn count_in(&mut self, bin: usize) {
        let Some(count) = self.counts.get_mut(bin) else { return self.make_room(bin) };
        *count = count.wrapping_add(1);
        if *count == 0 {
            self.spill(bin);
        }
    }

    /// How often a value that has a bin of its own was counted, but for what has spilled; 0 for others.
    #[inline(always)]
    pub fn count_about(&self, value: u64) -> u64 {
        self.counts.get(value as usize).map_or(0, |&count| u64::from(count))
    }

    /// The first value in a bin so high that there is no room for it yet.
    #[cold]
    fn make_room(&mut self, bin: usize) {
        self.grow((bin + 1).next_power_of_two());
        self.counts[bin] = 1;
    }

    /// A bin whose count has just wrapped to 0.
    #[cold]
    fn spill(&mut self, bin: usize) {
        *self.spilled.entry(bin).or_default() += 1 << u32::BITS;
    }

    fn grow(&mut self, bins: usize) {
        self.counts.resize(bins, 0);
        if !self.excess.is_empty() {
            self.excess.resize(bins, 0);
        }
    }

    /// How many values are in bin number `bin`.
    fn count(&self, bin: usize) -> u64 {
        let spilled = if self.spilled.is_empty() { None } else { self.spilled.get(&bin) };
        u64::from(self.counts[bin]) + spilled.copied().unwrap_or(0)
    }

    /// Counts everything that `other` has counted.
    pub fn merge(&mut self, other: &Self) {
        if other.counts.len() > self.counts.len() {
            self.grow(other.counts.len());
        }
        for bin in (0..other.counts.len()).filter(|&bin| other.count(bin) > 0) {
            let sum = self.count(bin) + other.count(bin);
            let kept = sum & u64::from(u32::MAX);
            self.counts[bin] = kept as u32;
            if sum > kept {
                self.spilled.insert(bin, sum - kept);
            }
        }
        self.excess.iter_mut().zip(&other.excess).for_each(|(mine, theirs)| *mine = mine.saturating_add(*theirs));
        self.sum += other.sum;
    }

    /// The values that have a bin of their own, with their counts.
    fn exact(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let bins = self.counts.len().min(Self::LIMIT as usize);
        (0..bins).map(|bin| (bin as u64, self.count(bin))).filter(|(_, count)| *count > 0)
    }

    /// How many values were counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|&count| u64::from(count)).sum::<u64>() + self.spilled.values().sum::<u64>()
    }

    /// Their sum.
    pub fn sum(&self) -> u128 {
        self.sum + self.exact().map(|(value, count)| u128::from(value) * u128::from(count)).sum::<u128>()
    }

    /// The mean of the values; `None` if there are none.
    pub fn mean(&self) -> Option<f64> {
        let total = self.total();
        (total > 0).then(|| self.sum() as f64 / total as f64)
    }

    /// The least value x such that at least the share `p` of the values is ≤ x: exact where bins are single values, or hold
    /// equal ones, else the mean of the values in its bin. `None` if there are no values.
    pub fn quantile(&self, p: f64) -> Option<u64> {
        let total = self.total();
        let rank = ((p * total as f64).ceil() as u64).clamp(1, total.max(1));
        let mut below = 0;
        let bin = (0..self.counts.len()).find(|&bin| {
            below += self.count(bin);
            below >= rank
        })?;
        Some(self.typical(bin))
    }

    /// The mean of the values in bin number `bin`, rounded down; the middle of the bin, if that is not known.
    fn typical(&self, bin: usize) -> u64 {
        let (lower, upper) = edges(PRECISION, bin);
        match self.excess.get(bin) {
            Some(&excess) if excess < u64::MAX => lower + excess / self.count(bin).max(1),
            _ => lower + (upper - lower) / 2,
        }
    }

    /// The bins that are not empty, in ascending order.
    pub fn bins(&self) -> impl Iterator<Item = Bin> + '_ {
        (0..self.counts.len()).filter(|&bin| self.count(bin) > 0).map(|bin| {
            let (lower, upper) = edges(PRECISION, bin);
            Bin { lower, upper, count: self.count(bin), typical: self.typical(bin) }
        })
    }
}

impl<const PRECISION: u32> Moments<PRECISION> {
    /// Of an empty histogram.
    pub fn new(histogram: Histogram<PRECISION>) -> Self {
        Moments { histogram, origin: NOTHING_YET, squares: 0, overflown: false, greatest: 0 }
    }

    /// Counts `value`.
    #[inline(always)]
    pub fn record(&mut self, value: u64) {
        if value < Histogram::<PRECISION>::LIMIT {
            self.histogram.count_in(value as usize);
        } else {
            self.histogram.record_shared(value);
            self.square(value);
        }
    }

    /// Counts `value`, which most often has a bin of its own: then nothing else need be done.
    #[inline(always)]
    pub fn record_small(&mut self, value: u64) {
        if value < Histogram::<PRECISION>::LIMIT {
            self.histogram.count_in(value as usize);
        } else {
            self.record_large(value);
        }
    }

    /// Counts how far a lag is below 0, which hardly ever happens.
    #[cold]
    #[inline(never)]
    pub fn record_ahead(&mut self, value: u64) {
        self.record(value);
    }

    #[inline(never)]
    fn record_large(&mut self, value: u64) {
        self.record(value);
    }

    #[inline(always)]
    fn square(&mut self, value: u64) {
        if self.origin == NOTHING_YET {
            self.origin = value;
        }
        let off = u128::from(value.abs_diff(self.origin));
        let (squares, overflow) = self.squares.overflowing_add(off * off);
        self.squares = squares;
        self.overflown |= overflow;
        self.greatest = self.greatest.max(value);
    }

    /// Counts everything that `other` has counted.
    pub fn merge(&mut self, other: &Self) {
        if self.origin == NOTHING_YET {
            self.origin = other.origin;
        }
        let squares = other.large_squares_about(self.origin).and_then(|squares| self.squares.checked_add(squares));
        self.overflown |= squares.is_none();
        self.squares = squares.unwrap_or(0);
        self.histogram.merge(&other.histogram);
        self.greatest = self.greatest.max(other.greatest);
    }

    /// The histogram itself.
    pub fn histogram(&self) -> &Histogram<PRECISION> {
        &self.histogram
    }

    /// How many values were counted.
    pub fn total(&self) -> u64 {
        self.histogram.total()
    }

    /// The mean of the values; `None` if there are none.
    pub fn mean(&self) -> Option<f64> {
        self.histogram.mean()
    }

    /// Σ (value − `origin`)² over the values without a bin of their own, if it fits.
    fn large_squares_about(&self, origin: u64) -> Option<u128> {
        if self.origin == NOTHING_YET {
            return Some(0);
        }
        let shift = i128::from(self.origin) - i128::from(origin);
        let count = i128::from(self.total()) - self.histogram.exact().map(|(_, count)| i128::from(count)).sum::<i128>();
        let offset =
            i128::try_from(self.histogram.sum).ok()?.checked_sub(count.checked_mul(i128::from(self.origin))?)?;
        // Σ(v − o)² = Σ(v − p)² + 2(p − o) Σ(v − p) + n(p − o)², for p the own origin.
        let cross = shift.checked_mul(2)?.checked_mul(offset)?;
        let constant = count.checked_mul(shift.checked_mul(shift)?)?;
        let sum = i128::try_from(self.squares).ok()?.checked_add(cross)?.checked_add(constant)?;
        u128::try_from(sum).ok().filter(|_| !self.overflown)
    }

    /// The standard deviation of the values, with divisor n; `None` if there are none, or if the squares of their
    /// deviations add up to more than 128 bits hold, as those of lags of decades do.
    pub fn sd(&self) -> Option<f64> {
        let n = i128::from(self.total());
        let origin = if self.origin == NOTHING_YET { self.mean()? as u64 } else { self.origin };
        let mut squares = i128::try_from(self.large_squares_about(origin)?).ok()?;
        for (value, count) in self.histogram.exact() {
            let off = i128::from(value.abs_diff(origin));
            squares = squares.checked_add(off.checked_mul(off)?.checked_mul(i128::from(count))?)?;
        }
        let offset = i128::try_from(self.histogram.sum()).ok()?.checked_sub(n.checked_mul(i128::from(origin))?)?;
        let exact = n.checked_mul(squares).zip(offset.checked_mul(offset)).map(|(a, b)| (a - b) as f64);
        let scaled = exact.unwrap_or_else(|| {
            // Beyond 128 bits: rounding then costs at most the last digits, as the origin is among the values.
            (n as f64 * squares as f64 - offset as f64 * offset as f64).max(0.0)
        });
        (n > 0).then(|| scaled.sqrt() / n as f64)
    }

    /// The greatest value.
    pub fn greatest(&self) -> Option<u64> {
        let small = self.histogram.exact().last().map(|(value, _)| value);
        if self.origin == NOTHING_YET { small } else { Some(self.greatest) }
    }

    /// As [`Histogram::quantile`], and never above the greatest value.
    pub fn quantile(&self, p: f64) -> Option<u64> {
        self.histogram.quantile(p).zip(self.greatest()).map(|(typical, greatest)| typical.min(greatest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Moments<7> {
        let mut histogram = Moments::new(Histogram::with_means());
        values.iter().for_each(|&value| histogram.record(value));
        histogram
    }

    #[test]
    fn bins_cover_the_integers_without_gap_or_overlap() {
        for precision in [3, 7, 15] {
            let mut next = 0;
            let last = bin_of(precision, u64::MAX);
            for bin in 0..=last {
                let (lower, upper) = edges(precision, bin);
                assert_eq!(lower, next);
                assert!(upper - lower <= lower >> precision, "bin {bin} is too wide");
                assert_eq!((bin_of(precision, lower), bin_of(precision, upper)), (bin, bin));
                next = upper.wrapping_add(1);
            }
            assert_eq!(next, 0, "the last bin ends at the last integer");
        }
    }

    #[test]
    fn constant_values_have_no_spread_at_all() {
        let histogram = of(&[4_000_000_001; 1000]);
        assert_eq!(histogram.sd(), Some(0.0));
        assert_eq!(histogram.mean(), Some(4_000_000_001.0));
        assert_eq!(histogram.quantile(0.5), Some(4_000_000_001));
    }

    #[test]
    fn large_values_that_are_nearly_equal_have_their_small_deviation() {
        let values: Vec<u64> = (0..1000).map(|i| 10_000_000_000_000 + i % 10).collect();
        assert!((of(&values).sd().unwrap() - 8.25f64.sqrt()).abs() < 1e-12);
        let mut merged = of(&values[..500]);
        merged.merge(&of(&values[500..]));
        assert!((merged.sd().unwrap() - 8.25f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn counts_beyond_32_bits_are_kept() {
        let mut histogram = of(&[5]);
        histogram.histogram.counts[5] = u32::MAX;
        histogram.record(5);
        assert_eq!((histogram.total(), histogram.quantile(0.5)), (1 << 32, Some(5)));
    }

    #[test]
    fn an_empty_histogram_knows_nothing() {
        let histogram = of(&[]);
        assert_eq!((histogram.mean(), histogram.sd(), histogram.quantile(0.5)), (None, None, None));
        assert_eq!((histogram.greatest(), histogram.histogram().bins().count()), (None, 0));
    }

    #[test]
    fn a_deviation_beyond_128_bits_is_right_or_unknown() {
        // n · Σ squares exceeds 128 bits, Σ squares does not.
        let (low, high) = (1u64 << 61, (1u64 << 61) + (1 << 60));
        let mut histogram = of(&[low]);
        (0..100).for_each(|_| histogram.record(high));
        let sd = histogram.sd().unwrap() / (1u64 << 60) as f64;
        assert!((sd - (100.0f64 / 101.0 / 101.0).sqrt()).abs() < 1e-9, "{sd}");
        (0..300).for_each(|_| histogram.record(high));
        assert_eq!(histogram.sd(), None, "it is not known, and not said");
    }

    #[test]
    fn small_values_and_large_ones_together_have_the_moments_of_all() {
        let values = [0, 1, 255, 256, 300, 1_000_000];
        let histogram = of(&values);
        let mean = values.iter().sum::<u64>() as f64 / 6.0;
        let variance = values.iter().map(|&value| (value as f64 - mean).powi(2)).sum::<f64>() / 6.0;
        assert_eq!((histogram.mean(), histogram.greatest()), (Some(mean), Some(1_000_000)));
        assert!((histogram.sd().unwrap() / variance.sqrt() - 1.0).abs() < 1e-12);
        let mut apart = of(&values[..2]);
        apart.merge(&of(&values[2..]));
        assert_eq!((apart.sd(), apart.mean()), (histogram.sd(), histogram.mean()));
    }

    proptest! {
        #[test]
        fn moments_and_quantiles_agree_with_the_sorted_list(mut values in prop::collection::vec(0..1u64 << 40, 1..200)) {
            let histogram = of(&values);
            values.sort_unstable();
            let n = values.len() as f64;
            let mean = values.iter().map(|&v| v as f64).sum::<f64>() / n;
            let variance = values.iter().map(|&v| (v as f64 - mean).powi(2)).sum::<f64>() / n;
            prop_assert!((histogram.mean().unwrap() - mean).abs() <= 1e-12 * mean);
            prop_assert!((histogram.sd().unwrap() - variance.sqrt()).abs() <= 1e-9 * mean);
            for p in [0.0, 0.5, 0.9, 0.99, 1.0] {
                let rank = ((p * n).ceil() as usize).max(1);
                let exact = values[rank - 1] as f64;
                let found = histogram.quantile(p).unwrap() as f64;
                prop_assert!((found - exact).abs() <= exact / 128.0, "{found} for {exact}");
            }
        }

        #[test]
        fn merging_is_recording_both(a in prop::collection::vec(0..10_000u64, 0..50), b in prop::collection::vec(0..1u64 << 50, 0..50)) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            let both = of(&[a, b].concat());
            prop_assert!(merged.histogram().bins().eq(both.histogram().bins()), "bins differ");
            prop_assert_eq!((merged.mean(), merged.sd(), merged.greatest()), (both.mean(), both.sd(), both.greatest()));
        }
    }
}
