//! A histogram as a few bars.

use super::number::{number, percent};
use crate::record::Moments;

/// Bars at most, the tail included.
const BARS: u64 = 12;
const WIDTH: f64 = 24.0;

/// Bars of equal width from the least value to the 99 % quantile, and one for the tail beyond. `per_unit` values make
/// one `unit`.
pub fn bars<const PRECISION: u32>(histogram: &Moments<PRECISION>, per_unit: f64, unit: &str) -> Vec<String> {
    let least = histogram.histogram().bins().next().map(|bin| bin.lower);
    let (Some(least), Some(greatest), Some(p99)) = (least, histogram.greatest(), histogram.quantile(0.99)) else {
        return vec![format!("no gradients, no lag in {unit}")];
    };
    let p99 = p99.max(least);
    // Bars narrower than the bins behind them would show gaps that are not there.
    let finest = histogram.histogram().bins().find(|bin| bin.upper >= p99).map_or(1, |bin| bin.upper - bin.lower + 1);
    let width = nice(((p99 - least) as f64 / (BARS - 1) as f64).max(finest as f64));
    let first = least / width * width;
    let count = ((p99 - first) / width + 1).min(BARS + 1) as usize;
    let mut counts = vec![0u64; count + 1];
    for bin in histogram.histogram().bins() {
        let place = (bin.typical.saturating_sub(first) / width) as usize;
        counts[place.min(count)] += bin.count;
    }
    let top = counts.iter().copied().max().unwrap_or(1).max(1) as f64;
    let edge = |place: usize| (first + place as u64 * width) as f64 / per_unit;
    let label = |place: usize| {
        if place == count {
            format!("≥ {}, max {}", number(edge(place)), number(greatest as f64 / per_unit))
        } else if width == 1 {
            number(edge(place))
        } else if per_unit == 1.0 {
            // Whole numbers: both ends belong to the bar.
            format!("{} – {}", number(edge(place)), number(edge(place + 1) - 1.0))
        } else {
            format!("{} – {}", number(edge(place)), number(edge(place + 1)))
        }
    };
    let first_used = counts.iter().position(|&n| n > 0).unwrap_or(0);
    let last_used = counts.iter().rposition(|&n| n > 0).unwrap_or(0);
    let used = counts.iter().enumerate().take(last_used + 1).skip(first_used);
    let lines = used.map(|(place, &n)| {
        let share = n as f64 / histogram.total() as f64;
        format!("{:>22} {:<24} {:>7}", label(place), bar(n as f64 / top), percent(share))
    });
    std::iter::once(format!("{:>22}", format!("lag in {unit}"))).chain(lines).collect()
}

/// A bar of up to 24 characters, to an eighth of a character.
fn bar(share: f64) -> String {
    let eighths = (share * WIDTH * 8.0).round() as usize;
    let partial = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    let drawn = "█".repeat(eighths / 8) + partial;
    if drawn.is_empty() && share > 0.0 { "▏".to_owned() } else { drawn }
}

/// The least of 1, 2, 5, 10, 20, 50 … that is at least `width`.
fn nice(width: f64) -> u64 {
    let mut decade = 1u64;
    loop {
        for step in [1, 2, 5] {
            if (step * decade) as f64 >= width {
                return step * decade;
            }
        }
        decade *= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_hold_every_value_once() {
        let mut histogram = Moments::new(crate::record::Histogram::<15>::default());
        (0..1000u64).for_each(|value| histogram.record(value * value / 1000));
        let lines = bars(&histogram, 1.0, "versions");
        assert!(lines.len() as u64 <= BARS + 3, "{lines:#?}");
        let share = |line: &String| line.trim_end_matches(" %").rsplit(' ').next().unwrap().parse::<f64>().unwrap();
        let total: f64 = lines[1..].iter().map(share).sum();
        assert!((total - 100.0).abs() < 0.5, "{lines:#?}");
    }

    #[test]
    fn one_value_is_one_bar() {
        let mut histogram = Moments::new(crate::record::Histogram::<7>::with_means());
        histogram.record(4_000_000_000);
        assert_eq!(bars(&histogram, 1e9, "seconds").len(), 2);
    }
}
