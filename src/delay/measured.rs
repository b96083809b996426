//! Durations that were measured: given values, or a column of a file, resampled or replayed in order.

use super::{Context, Delay};
use crate::error::{Error, Result};
use crate::kernel::Generator;
use crate::units::MAX_SECONDS;
use rand_distr::{Distribution, Uniform};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};

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
    /// In the order measured; shared with whoever else draws from them.
    values: Arc<[f64]>,
    /// What each is multiplied by.
    scale: f64,
    draw: Draw,
    places: Uniform<usize>,
    /// In ascending order, once somebody has asked for a probability.
    sorted: OnceLock<Vec<f64>>,
}

impl Values {
    /// `values` × `scale` in seconds, in the order measured.
    pub fn new(values: Arc<[f64]>, scale: f64, draw: Draw) -> Result<Values, String> {
        let places = Uniform::new(0, values.len()).map_err(|_| "give at least one value".to_owned())?;
        Ok(Values { values, scale, draw, places, sorted: OnceLock::new() })
    }

    fn seconds(&self) -> impl Iterator<Item = f64> + '_ {
        self.values.iter().map(|value| value * self.scale)
    }
}

impl Delay for Values {
    fn sample(&mut self, index: u64, random: &mut Generator) -> f64 {
        let place = match self.draw {
            Draw::Resample => self.places.sample(random),
            Draw::Replay => (index % self.values.len() as u64) as usize,
        };
        self.values[place] * self.scale
    }
    fn mean(&self) -> f64 {
        self.seconds().sum::<f64>() / self.values.len() as f64
    }
    fn variance(&self) -> f64 {
        let mean = self.mean();
        self.seconds().map(|value| (value - mean).powi(2)).sum::<f64>() / self.values.len() as f64
    }
    fn support(&self) -> (f64, f64) {
        (self.seconds().fold(f64::INFINITY, f64::min), self.seconds().fold(0.0, f64::max))
    }
    fn cdf(&self, x: f64) -> Option<f64> {
        let sorted = self.sorted.get_or_init(|| {
            let mut sorted: Vec<f64> = self.seconds().collect();
            sorted.sort_by(f64::total_cmp);
            sorted
        });
        Some(sorted.partition_point(|&value| value <= x) as f64 / sorted.len() as f64)
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
    let values: Arc<[f64]> = match source.by {
        None => Arc::clone(&context.files.columns(source.file, &[source.column])?[0]),
        Some(by) => {
            let series = context.files.series(source.file, source.column, by)?;
            let own = series.get(context.member as usize).ok_or_else(|| {
                let count = series.len();
                refuse(format!(
                    "column `{by}` tells {count} series apart, too few for worker {} of its class; \
                     lower the class's count to {count}, or leave out `by`",
                    context.member + 1
                ))
            })?;
            Arc::clone(own)
        }
    };
    let bad = |value: &f64| !(0.0..=MAX_SECONDS).contains(&(value * source.scale));
    if let Some(row) = values.iter().position(bad) {
        return Err(refuse(format!(
            "column `{}` × {} gives {} s in row {} of the series; a duration is 0 to {MAX_SECONDS} s",
            source.column,
            source.scale,
            values[row] * source.scale,
            row + 1
        )));
    }
    Values::new(values, source.scale, draw).map_err(refuse)
}
