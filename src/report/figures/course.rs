//! How the loss went on: against time, updates and cost, with the confidence of repeats.

use super::{Axis, Curve, Curves, Detail, Drawing, Figure, rows_of};
use crate::output::Table;
use crate::study::statistics;

/// One figure for each thing that a run uses up.
pub fn losses(table: &Table, runs: &[f64], detail: Detail) -> Vec<Figure> {
    let ways =
        [("time_s", "time", "virtual seconds"), ("updates", "updates", "optimiser steps"), ("cost", "cost", "cost")];
    ways.into_iter().filter_map(|(column, name, label)| loss(table, runs, detail, column, name, label)).collect()
}

fn loss(table: &Table, runs: &[f64], detail: Detail, column: &str, name: &str, label: &str) -> Option<Figure> {
    let (along, loss) = (table.numbers(column), table.numbers("loss"));
    let paths: Vec<Vec<(f64, f64)>> = runs
        .iter()
        .map(|run| rows_of(table, &[*run]).into_iter().filter_map(|row| Some((along[row]?, loss[row]?))).collect())
        .filter(|path: &Vec<(f64, f64)>| path.len() > 1)
        .collect();
    let curve = if let [path] = &paths[..] { single(path, detail.points) } else { mean(&paths, detail)? };
    let note = match paths.len() {
        1 => "f(w) at the server's parameters.".to_owned(),
        n => format!(
            "f(w) at the server's parameters: the mean of {n} runs with its {} % interval.",
            100.0 * detail.level
        ),
    };
    let log = is_wide(&curve);
    let curve = if log { without_zeros(curve) } else { curve };
    let all = paths.iter().filter_map(|path| path.last()).map(|point| point.0).fold(0.0, f64::max);
    let ended = log && curve.x.last().is_none_or(|last| *last < 0.9 * all);
    let nothing = if ended { " What follows is rounding to nothing, and is not drawn." } else { "" };
    let note = format!("{note}{nothing}");
    let y = Axis { log, ..Axis::new("loss f(w)") };
    let drawing = Drawing::Curves(Curves { x: Axis::new(label), y, curves: vec![curve], points: false });
    Some(Figure { name: format!("loss_{name}"), title: format!("Loss against {name}"), note, drawing })
}

/// How far apart the greatest and the least must be for a logarithmic axis.
const WIDE: f64 = 30.0;
/// Less than this part of the first loss is rounding, and is not drawn.
const NOTHING: f64 = 1e-16;

fn greatest(curve: &Curve) -> f64 {
    curve.y.iter().flatten().copied().fold(0.0, f64::max)
}

fn is_wide(curve: &Curve) -> bool {
    let least = curve.y.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    least >= 0.0 && greatest(curve) > WIDE * least
}

/// As a logarithmic axis can show it: without what is not above 0, and an interval that reaches below the least mean ends there.
fn without_zeros(curve: Curve) -> Curve {
    let nothing = NOTHING * curve.y.iter().flatten().copied().find(|loss| *loss > 0.0).unwrap_or(0.0);
    let drawn = |value: &f64| *value > nothing;
    let end = curve.y.iter().rposition(|value| value.is_some_and(|value| drawn(&value))).map_or(0, |last| last + 1);
    let foot = curve.y.iter().flatten().copied().filter(drawn).fold(f64::INFINITY, f64::min);
    let part = |values: Vec<Option<f64>>, of: &dyn Fn(f64) -> Option<f64>| -> Vec<Option<f64>> {
        values.into_iter().take(end).map(|value| value.and_then(of)).collect()
    };
    let some = |value: f64| Some(value).filter(drawn);
    Curve {
        x: curve.x.into_iter().take(end).collect(),
        y: part(curve.y, &some),
        lower: part(curve.lower, &|value| Some(value.max(foot))),
        upper: part(curve.upper, &some),
        name: curve.name,
    }
}

/// A path with at most so many of its points, the last among them.
fn single(path: &[(f64, f64)], points: usize) -> Curve {
    let every = path.len().div_ceil(12 * points);
    let kept: Vec<(f64, f64)> = path
        .iter()
        .enumerate()
        .filter(|(place, _)| place % every == 0 || *place + 1 == path.len())
        .map(|(_, point)| *point)
        .collect();
    Curve {
        name: "loss".to_owned(),
        x: kept.iter().map(|point| point.0).collect(),
        y: kept.iter().map(|point| Some(point.1)).collect(),
        lower: Vec::new(),
        upper: Vec::new(),
    }
}

/// The mean of paths at common places, as far as all of them go.
fn mean(paths: &[Vec<(f64, f64)>], detail: Detail) -> Option<Curve> {
    let end = paths.iter().filter_map(|path| path.last()).map(|point| point.0).reduce(f64::min)?;
    let start = paths.iter().filter_map(|path| path.first()).map(|point| point.0).reduce(f64::max)?;
    let x: Vec<f64> =
        (0..=detail.points).map(|place| start + (end - start) * place as f64 / detail.points as f64).collect();
    // The state at a sample lasts until the next.
    let at = |path: &[(f64, f64)], x: f64| path[path.partition_point(|point| point.0 <= x).max(1) - 1].1;
    let known = x.iter().map(|&x| {
        let values: Vec<f64> = paths.iter().map(|path| at(path, x)).collect();
        statistics::mean(&values, detail.level)
    });
    let known: Vec<_> = known.collect::<Option<_>>()?;
    let finite = |value: f64| Some(value).filter(|value| value.is_finite());
    Some(Curve {
        name: "loss".to_owned(),
        x,
        y: known.iter().map(|known| finite(known.mean)).collect(),
        lower: known.iter().map(|known| finite(known.interval()?.0)).collect(),
        upper: known.iter().map(|known| finite(known.interval()?.1)).collect(),
    })
}
