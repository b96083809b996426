//! Figures over replications, with how sure they are: the cells of a sweep, and scenarios compared.

use super::number::figure;
use super::plain_table;
use crate::study::statistics::{Caution, Estimate};
use crate::study::{CellFigures, Choice, Comparison, Goal, Plan, Rank, Verdict};
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
    let figures = || rows.iter().flat_map(|(_, cell)| &cell.figures).filter(|figure| shown.contains(&figure.quantity));
    let all = || figures().filter_map(|figure| figure.estimate);
    if all().any(|known| known.half_width == Err(Caution::InfiniteVariance)) {
        text += " *: the variance of some delay is infinite, so that no interval can be given\n";
    }
    if all().any(|known| known.half_width == Err(Caution::NotFinite)) {
        text += " !: a run diverged: the deviation is beyond all numbers\n";
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
        Err(Caution::NotFinite) => format!("{} !", figure(known.mean)),
    }
}

/// A number to two significant digits.
struct Significant(f64);

impl std::fmt::Display for Significant {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = (1.0 - self.0.abs().log10().floor()).clamp(0.0, 12.0) as usize;
        if !(1e-4..1e7).contains(&self.0.abs()) {
            write!(formatter, "{:.1e}", self.0)
        } else {
            write!(formatter, "{:.digits$}", self.0)
        }
    }
}

/// A table of the scenarios called `names` for each figure, with what can be said of their differences from the first.
pub fn comparison(names: &[String], comparison: &Comparison, replications: u64, level: f64) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (quantity, contrasts) in comparison {
        for (contrast, name) in contrasts.iter().zip(names) {
            let missing = contrast.own.map_or(replications, |own| replications - own.n);
            let reached = if missing > 0 { format!(" ({missing} of {replications} without)") } else { String::new() };
            let own = contrast.own.map_or("–".to_owned(), |own| with_interval(&own)) + &reached;
            let verdict = contrast.verdict().map_or("", Verdict::name);
            rows.push(vec![
                quantity.clone(),
                name.clone(),
                own,
                contrast.difference.map_or(String::new(), |difference| with_interval(&difference)),
                contrast.lower.map_or(String::new(), super::number::percent),
                verdict.to_owned(),
            ]);
        }
    }
    let mut text =
        plain_table(&["figure", "scenario", "mean", "difference from the first", "lower in", "verdict"], rows);
    let _ = writeln!(
        text,
        " ± half the width of {} % intervals, over {replications} replications with the same random numbers",
        figure(level * 100.0)
    );
    text
}

/// A table of the best values for each combination of the others, with those that may be as good.
pub fn choices(plan: &Plan, goal: &Goal, choices: &[Choice]) -> String {
    let rest = (0..plan.axes.len()).filter(|axis| !goal.over.contains(axis));
    let mut header: Vec<&str> = rest.map(|axis| plan.axes[axis].as_str()).collect();
    let by = format!("mean {}", goal.by);
    let best: Vec<String> = goal.over.iter().map(|&axis| format!("best {}", plan.axes[axis])).collect();
    header.extend(best.iter().map(String::as_str));
    header.extend([by.as_str(), "median", "runs with it", "may be as good"]);
    let values = |cell: usize| goal.over.iter().map(move |&axis| plan.cells[cell].labels[axis].clone());
    let line = |choice: &Choice| {
        let near = choice.candidates.iter().filter(|candidate| candidate.rank == Rank::Near);
        let near: Vec<String> = near.map(|candidate| values(candidate.cell).collect::<Vec<_>>().join(" ")).collect();
        let mut row = choice.labels.clone();
        match choice.best() {
            Some(best) => {
                row.extend(values(best.cell));
                row.push(best.estimate.map_or("–".to_owned(), |known| with_interval(&known)));
                row.push(best.median.map_or("–".to_owned(), |median| figure(median.value)));
                row.push(format!("{} of {}", best.estimate.map_or(0, |known| known.n), best.runs));
                row.push(near.join(", "));
            }
            None => {
                row.extend(goal.over.iter().map(|_| "–".to_owned()));
                row.extend(["–".to_owned(), "–".to_owned(), "never".to_owned(), String::new()]);
            }
        }
        row
    };
    let level = figure(plan.sweep.level.get() * 100.0);
    let heavy = |choice: &Choice| {
        choice
            .best()
            .and_then(|best| best.estimate)
            .is_some_and(|known| known.half_width == Err(Caution::InfiniteVariance))
    };
    let star =
        " *: the variance of some delay is infinite: best is the least median, and medians of differences tell\n";
    let star = if choices.iter().any(heavy) { star } else { "" };
    plain_table(&header, choices.iter().map(line))
        + star
        + &format!(
            " ± half the width of {level} % intervals; as good: the interval of the paired difference has 0 in it\n"
        )
}

/// Figures of one run with intervals by batch means.
pub fn intervals(figures: &[(&str, Estimate)]) -> String {
    let shown: Vec<String> = figures.iter().map(|(name, known)| format!("{name} {}", with_interval(known))).collect();
    let Some((_, first)) = figures.first() else { return String::new() };
    format!("{} batch means    {}; 95 % intervals\n", first.n, shown.join(", "))
}
