//! The cells of a sweep, a row each, with how sure every figure is.

use super::number::figure;
use super::plain_table;
use crate::study::CellFigures;
use crate::study::statistics::{Caution, Estimate};
use std::fmt::Write;

/// A table of the figures called `shown`, for cells with their labels.
pub fn cells(axes: &[String], rows: &[(&[String], &CellFigures)], shown: &[String], level: f64) -> String {
    let mut header: Vec<&str> = axes.iter().map(String::as_str).collect();
    header.push("runs");
    header.extend(shown.iter().map(String::as_str));
    let line = |(labels, cell): &(&[String], &CellFigures)| {
        let find = |name: &String| cell.figures.iter().find(|figure| figure.quantity == *name)?.estimate;
        let figures = shown.iter().map(|name| find(name).map_or("–".to_owned(), |known| with_interval(&known)));
        labels.iter().cloned().chain([cell.runs.to_string()]).chain(figures).collect::<Vec<String>>()
    };
    let mut text = plain_table(&header, rows.iter().map(line));
    let _ = writeln!(text, " mean ± half the width of its {} % interval", figure(level * 100.0));
    let all = || rows.iter().flat_map(|(_, cell)| &cell.figures).filter_map(|figure| figure.estimate);
    if all().any(|known| known.half_width == Err(Caution::InfiniteVariance)) {
        text += " *: the variance of some delay is infinite, so that no interval can be given\n";
    }
    let mut ended = std::collections::BTreeMap::new();
    for (reason, count) in rows.iter().flat_map(|(_, cell)| &cell.ended) {
        *ended.entry(reason).or_insert(0) += count;
    }
    let ended: Vec<String> = ended.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    let _ = writeln!(text, " runs ended by: {}", ended.join(", "));
    text
}

fn with_interval(known: &Estimate) -> String {
    match known.half_width {
        Ok(half) if half > 0.0 => format!("{} ± {}", figure(known.mean), Significant(half)),
        Ok(_) | Err(Caution::TooFew) => figure(known.mean),
        Err(Caution::InfiniteVariance) => format!("{} *", figure(known.mean)),
    }
}

/// A number to two significant digits.
struct Significant(f64);

impl std::fmt::Display for Significant {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = (1.0 - self.0.abs().log10().floor()).clamp(0.0, 12.0) as usize;
        if self.0.abs() < 1e-4 { write!(formatter, "{:.1e}", self.0) } else { write!(formatter, "{:.digits$}", self.0) }
    }
}
