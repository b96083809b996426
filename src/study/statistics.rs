//! How sure a figure is: intervals for means and quantiles, and where to cut off a warm-up.

use serde::{Deserialize, Serialize};
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, StudentsT};

/// Why there is no interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Caution {
    /// Fewer values than an interval needs.
    TooFew,
    /// The variance is infinite: a mean of many values is no surer than one of few, and deviations tell nothing.
    InfiniteVariance,
    /// A value, or the deviation, is beyond all numbers, as of a run that diverged.
    NotFinite,
}

impl Caution {
    /// What to tell a person.
    pub fn reason(self) -> &'static str {
        match self {
            Caution::TooFew => "too few values for an interval",
            Caution::InfiniteVariance => "the variance is infinite: no interval",
            Caution::NotFinite => "a value or the deviation is not finite: no interval",
        }
    }
}

/// A mean and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Of how many values.
    pub n: u64,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation, with divisor n − 1; 0 for a single value.
    pub sd: f64,
    /// Half the width of the interval around the mean, or why there is none.
    pub half_width: Result<f64, Caution>,
}

impl Estimate {
    /// The ends of the interval around the mean, if there is one.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let half = self.half_width.ok()?;
        Some((self.mean - half, self.mean + half))
    }
}

/// The mean of independent values with its confidence interval at `level`, by Student's t with n − 1 degrees of freedom: exact
/// for normal values, and nearly so for means of many. `None` for no values.
pub fn mean(values: &[f64], level: f64) -> Option<Estimate> {
    let n = values.len();
    if n == 0 {
        return None;
    }
    // About the first value, so that nearly equal ones do not cancel.
    let origin = values[0];
    let shift = values.iter().map(|value| value - origin).sum::<f64>() / n as f64;
    let mean = origin + shift;
    let squares: f64 = values.iter().map(|value| (value - origin - shift).powi(2)).sum();
    let sd = if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 };
    let half_width = match quantile_of_t(n, level) {
        Some(_) if !sd.is_finite() => Err(Caution::NotFinite),
        Some(t) => Ok(t * sd / (n as f64).sqrt()),
        None => Err(Caution::TooFew),
    };
    Some(Estimate { n: n as u64, mean, sd, half_width })
}

/// Of Student's t with n − 1 degrees of freedom, what is exceeded on either side with probability 1 − `level` in all.
fn quantile_of_t(n: usize, level: f64) -> Option<f64> {
    let degrees = n.checked_sub(1).filter(|&degrees| degrees > 0)?;
    let t = StudentsT::new(0.0, 1.0, degrees as f64).ok()?;
    Some(t.inverse_cdf(0.5 + level / 2.0))
}

/// A confidence interval at `level` for the `p`-quantile, between two of the values in ascending order, whatever their law: the
/// number of values below the quantile is binomial (David and Nagaraja, 2003, section 7.1). Conservative; `None` if there are
/// too few values for one.
pub fn quantile(sorted: &[f64], p: f64, level: f64) -> Option<(f64, f64)> {
    let n = sorted.len() as u64;
    let below = Binomial::new(p, n).ok()?;
    let tail = (1.0 - level) / 2.0;
    // P(at most `low` of them lie below) ≤ tail, and P(at least `high` do) ≤ tail.
    let low = (0..n).take_while(|&count| below.cdf(count) <= tail).last()?;
    let high = (low + 1..=n).find(|&count| 1.0 - below.cdf(count - 1) <= tail)?;
    Some((sorted[low as usize], sorted[high as usize - 1]))
}

/// The median and its interval, whatever the law of the values: also where means do not settle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Median {
    /// The middle value, or the mean of the two.
    pub value: f64,
    /// Its confidence interval by [`quantile`]; `None` for too few values, of 95 % intervals fewer than 6.
    pub interval: Option<(f64, f64)>,
}

/// The median of values with its interval at `level`. `None` for no values.
pub fn median(values: &[f64], level: f64) -> Option<Median> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (*sorted.get(sorted.len().checked_sub(1)? / 2)?, *sorted.get(sorted.len() / 2)?);
    Some(Median { value: low + (high - low) / 2.0, interval: quantile(&sorted, 0.5, level) })
}

/// The mean of a long run of dependent values with its interval at `level`: means of `batches` equal parts are nearly
/// independent if the parts are long (Law and Carson, 1979). The values that do not fill the last part are left out.
pub fn batch_means(values: &[f64], batches: usize, level: f64) -> Option<Estimate> {
    let length = values.len() / batches.max(1);
    if length == 0 {
        return mean(values, level);
    }
    let means = values.chunks_exact(length).take(batches);
    let means: Vec<f64> = means.map(|part| part.iter().sum::<f64>() / length as f64).collect();
    mean(&means, level)
}

/// How many of the first values to leave out as warm-up: MSER-5 (White, Cobb and Spratt, 2000). Of all cuts in the first half, in
/// steps of five values, the one that makes the standard error of the rest least.
pub fn mser_5(values: &[f64]) -> usize {
    let fives: Vec<f64> = values.chunks_exact(5).map(|five| five.iter().sum::<f64>() / 5.0).collect();
    let origin = fives.last().copied().unwrap_or_default();
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (cut, value) in fives.iter().enumerate().rev() {
        sum += value - origin;
        squares += (value - origin).powi(2);
        let n = (fives.len() - cut) as f64;
        let error = (squares - sum * sum / n).max(0.0) / (n * n);
        // In the second half so few values are left that chance makes the error small.
        if cut <= fives.len() / 2 && error <= best.0 {
            best = (error, cut);
        }
    }
    best.1 * 5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_means_are_those_of_the_tables() {
        let estimate = mean(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap();
        assert_eq!((estimate.mean, estimate.n), (3.0, 5));
        assert!((estimate.sd - 2.5f64.sqrt()).abs() < 1e-15);
        // t with 4 degrees of freedom: 2.776.
        assert!((estimate.half_width.unwrap() - 2.776445105 * 0.5f64.sqrt()).abs() < 1e-8);
        assert_eq!(mean(&[7.0], 0.95).unwrap().half_width, Err(Caution::TooFew));
        assert_eq!(mean(&[], 0.95), None);
        assert_eq!(mean(&[1e200, -1e200], 0.95).unwrap().half_width, Err(Caution::NotFinite));
        assert_eq!(mean(&[1.0, f64::INFINITY], 0.95).unwrap().half_width, Err(Caution::NotFinite));
        let near = mean(&[1e9, 1e9 + 1.0, 1e9 + 2.0], 0.9).unwrap();
        assert_eq!((near.mean, near.sd), (1e9 + 1.0, 1.0));
    }

    #[test]
    fn intervals_of_quantiles_are_order_statistics() {
        let sorted: Vec<f64> = (1..=20).map(f64::from).collect();
        // Of 20 values, the median lies between the 6th and the 15th with probability 0.9586.
        assert_eq!(quantile(&sorted, 0.5, 0.95), Some((6.0, 15.0)));
        assert_eq!(quantile(&sorted[..5], 0.5, 0.95), None);
        assert_eq!(quantile(&sorted, 0.99, 0.95), None);
        let sixth = [3.0, 1.0, 1e9, 2.0, 5.0, 4.0];
        assert_eq!(median(&sixth, 0.95), Some(Median { value: 3.5, interval: Some((1.0, 1e9)) }));
        assert_eq!(median(&sixth[..5], 0.95), Some(Median { value: 3.0, interval: None }));
        assert_eq!(median(&[], 0.95), None);
    }

    #[test]
    fn batch_means_leave_out_the_rest() {
        let values: Vec<f64> = (0..25).map(|value| f64::from(value % 2)).collect();
        let estimate = batch_means(&values, 4, 0.95).unwrap();
        assert_eq!((estimate.n, estimate.mean), (4, 0.5));
        assert_eq!(estimate.half_width, Ok(0.0));
    }

    #[test]
    fn a_transient_is_cut_off_and_a_stationary_run_is_not() {
        let noise = |step: usize| ((step * 7919) % 101) as f64 / 101.0 - 0.5;
        let decaying: Vec<f64> = (0..1000).map(|step| 50.0 * (-(step as f64) / 30.0).exp() + noise(step)).collect();
        let cut = mser_5(&decaying);
        assert!((100..260).contains(&cut), "{cut}");
        let flat: Vec<f64> = (0..1000).map(noise).collect();
        assert!(mser_5(&flat) < 100, "{}", mser_5(&flat));
        assert_eq!(mser_5(&[]), 0);
    }
}
