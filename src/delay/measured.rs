//! Durations that were measured: given values, or a column of a file, resampled or replayed in order.

use super::{Context, Delay};
use crate::error::{Error, Result};
use crate::kernel::Generator;
use crate::units::MAX_SECONDS;
use rand_distr::{Distribution, Uniform};
use serde::{Deserialize, Serialize};

/// How measured values are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Draw {
    /// Each duration is one of the values, all equally likely, independently.
    #[default]
    Resample,
    /// The values in their order, from the first again after the last: keeps their correlation in time.
    Replay,
}

/// A finite set of durations.
#[derive(Debug)]
pub struct Values {
    values: Vec<f64>,
    sorted: Vec<f64>,
    draw: Draw,
    places: Uniform<usize>,
}

impl Values {
    /// `values` in seconds, in the order measured.
    pub fn new(values: Vec<f64>, draw: Draw) -> Result<Values, String> {
        let places = Uniform::new(0, values.len()).map_err(|_| "give at least one value".to_owned())?;
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        Ok(Values { values, sorted, draw, places })
    }
}

impl Delay for Values {
    fn sample(&mut self, index: u64, random: &mut Generator) -> f64 {
        match self.draw {
            Draw::Resample => self.values[self.places.sample(random)],
            Draw::Replay => self.values[(index % self.values.len() as u64) as usize],
        }
    }
    fn mean(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len() as f64
    }
    fn variance(&self) -> f64 {
        let mean = self.mean();
        self.values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / self.values.len() as f64
    }
    fn support(&self) -> (f64, f64) {
        (self.sorted[0], self.sorted[self.sorted.len() - 1])
    }
    fn cdf(&self, x: f64) -> Option<f64> {
        Some(self.sorted.partition_point(|&value| value <= x) as f64 / self.sorted.len() as f64)
    }
}

/// Where measured durations stand.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The file, as the scenario writes it.
    pub file: &'a str,
    /// The column of durations.
    pub column: &'a str,
    /// The column that tells the series of the workers apart, if any.
    pub by: Option<&'a str>,
    /// Seconds per unit of the column.
    pub scale: f64,
}

/// The measured durations of the worker that `context` is about: the whole column or, with `by`, the rows of its own
/// series. Series are numbered by the order in which they first appear in the file.
pub fn load(context: &Context, source: Source, draw: Draw) -> Result<Values> {
    let refuse = |reason: String| Error::Invalid(format!("Measured: {}: {reason}", source.file));
    let values = match source.by {
        None => context.files.columns(source.file, &[source.column])?[0].clone(),
        Some(by) => {
            let columns = context.files.columns(source.file, &[source.column, by])?;
            let series = nth_distinct(&columns[1], context.member).map_err(|count| {
                refuse(format!(
                    "column `{by}` tells {count} series apart, too few for worker {} of its class; \
                     lower the class's count to {count}, or leave out `by`",
                    context.member + 1
                ))
            })?;
            columns[0].iter().zip(&columns[1]).filter(|(_, key)| **key == series).map(|(value, _)| *value).collect()
        }
    };
    let values: Vec<f64> = values.iter().map(|value| value * source.scale).collect();
    if let Some(row) = values.iter().position(|value| !(0.0..=MAX_SECONDS).contains(value)) {
        return Err(refuse(format!(
            "column `{}` × {} gives {} s in row {} of the series; a duration is 0 to {MAX_SECONDS} s",
            source.column,
            source.scale,
            values[row],
            row + 1
        )));
    }
    Values::new(values, draw).map_err(refuse)
}

/// The `n`-th distinct value of `keys` in order of appearance, or how many there are.
fn nth_distinct(keys: &[f64], n: u64) -> Result<f64, usize> {
    let mut seen: Vec<f64> = Vec::new();
    for &key in keys {
        if !seen.contains(&key) {
            seen.push(key);
            if seen.len() as u64 > n {
                return Ok(key);
            }
        }
    }
    Err(seen.len())
}
