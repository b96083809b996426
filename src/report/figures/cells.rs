//! The figures of a sweep: a number with its interval for every combination.

use super::{Axis, Curve, Curves, Drawing, Figure, Grid, are_wide};
use crate::output::Table;
use serde::Serialize;

/// An axis of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepAxis {
    /// Its name.
    pub name: String,
    /// What stands on it, in order.
    pub labels: Vec<String>,
}

/// Every combination with all its figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cells {
    /// What was varied.
    pub axes: Vec<SweepAxis>,
    /// The names of the figures, in the order of the summary.
    pub quantities: Vec<String>,
    /// The number of each combination in the sweep.
    pub numbers: Vec<u64>,
    /// Where each stands on every axis.
    pub places: Vec<Vec<usize>>,
    /// For each combination and quantity: the mean and the ends of its interval, or nothing.
    pub figures: Vec<Vec<Option<[Option<f64>; 3]>>>,
}

impl Cells {
    /// From cells.parquet. Of a sweep without axes there is one combination.
    pub fn read(table: &Table) -> Cells {
        let names: Vec<&str> = table.columns.iter().filter_map(|column| column.name.strip_prefix("axis_")).collect();
        let mut axes: Vec<SweepAxis> =
            names.iter().map(|name| SweepAxis { name: (*name).to_owned(), labels: Vec::new() }).collect();
        let labels: Vec<&[String]> = names.iter().map(|name| table.texts(&format!("axis_{name}"))).collect();
        let quantity = table.texts("quantity");
        let [cell, mean, lower, upper] = ["cell", "mean", "lower", "upper"].map(|name| table.numbers(name));
        let mut cells = Cells {
            axes: Vec::new(),
            quantities: Vec::new(),
            numbers: Vec::new(),
            places: Vec::new(),
            figures: Vec::new(),
        };
        for row in 0..table.rows() {
            let number = cell[row].unwrap_or(0.0) as u64;
            if cells.numbers.last() != Some(&number) {
                cells.numbers.push(number);
                cells.places.push(
                    axes.iter_mut().zip(&labels).map(|(axis, labels)| place(&mut axis.labels, &labels[row])).collect(),
                );
                cells.figures.push(Vec::new());
            }
            let at = place(&mut cells.quantities, &quantity[row]);
            if let Some(figures) = cells.figures.last_mut() {
                figures.resize(figures.len().max(at + 1), None);
                figures[at] = mean[row].map(|mean| [Some(mean), lower[row], upper[row]]);
            }
        }
        cells.figures.iter_mut().for_each(|figures| figures.resize(cells.quantities.len(), None));
        cells.axes = axes;
        (0..cells.axes.len()).for_each(|axis| cells.ascend(axis));
        cells.drop_constant();
        cells
    }

    /// Numbers on an axis stand in ascending order, as those of a tuning that was refined do not.
    fn ascend(&mut self, axis: usize) {
        let labels = &self.axes[axis].labels;
        let Some(numbers) = labels.iter().map(|label| label.parse().ok()).collect::<Option<Vec<f64>>>() else { return };
        let mut order: Vec<usize> = (0..numbers.len()).collect();
        order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
        self.axes[axis].labels = order.iter().map(|&old| labels[old].clone()).collect();
        for places in &mut self.places {
            places[axis] = order.iter().position(|&old| old == places[axis]).unwrap_or(places[axis]);
        }
    }

    /// Figures that no combination has say nothing.
    fn drop_constant(&mut self) {
        let used: Vec<bool> =
            (0..self.quantities.len()).map(|at| self.figures.iter().any(|figures| figures[at].is_some())).collect();
        let mut keep = used.iter();
        self.quantities.retain(|_| keep.next().copied().unwrap_or(true));
        for figures in &mut self.figures {
            let mut keep = used.iter();
            figures.retain(|_| keep.next().copied().unwrap_or(true));
        }
    }

    /// What a combination is called.
    pub fn name(&self, cell: usize) -> String {
        let parts =
            self.axes.iter().zip(&self.places[cell]).map(|(axis, &at)| format!("{} {}", axis.name, axis.labels[at]));
        let name = parts.collect::<Vec<_>>().join(", ");
        if name.is_empty() { "all runs".to_owned() } else { name }
    }

    /// Pictures of one quantity: along the axis `x`, one line for each combination of the others, and, over the axes `x` and `by`, a grid for those
    /// with the first label on every other axis.
    pub fn figures_of(&self, quantity: usize, x: usize, by: Option<usize>) -> Vec<Figure> {
        let name = &self.quantities[quantity];
        let along = self.axis(x);
        let mut curves: Vec<(Vec<usize>, Curve)> = Vec::new();
        let mut along_x: Vec<usize> = (0..self.places.len()).collect();
        along_x.sort_by_key(|&cell| self.places[cell][x]);
        for cell in along_x {
            let places = &self.places[cell];
            let others: Vec<usize> =
                places.iter().enumerate().filter(|(axis, _)| *axis != x).map(|(_, at)| *at).collect();
            let known = curves.iter().position(|(known, _)| *known == others);
            let line = known.unwrap_or_else(|| {
                curves.push((others, self.empty_curve(cell, x)));
                curves.len() - 1
            });
            let curve = &mut curves[line].1;
            let value = self.figures[cell][quantity].unwrap_or_default();
            let number = self.axes[x].labels[places[x]].parse().ok().filter(|_| along.names.is_empty());
            curve.x.push(number.unwrap_or(places[x] as f64));
            curve.y.push(value[0]);
            curve.lower.push(value[1]);
            curve.upper.push(value[2]);
        }
        let mut curves: Vec<Curve> = curves.into_iter().map(|(_, curve)| curve).collect();
        let log = are_wide(curves.iter().flat_map(|curve| &curve.y).flatten().copied());
        if log {
            let ends = curves.iter_mut().flat_map(|curve| [&mut curve.y, &mut curve.lower, &mut curve.upper]);
            ends.flatten().for_each(|value| *value = value.filter(|value| *value > 0.0));
        }
        let figure = |kind: &str, title: String, drawing: Drawing| Figure {
            name: format!("{name}_{kind}"),
            title,
            note: "Means over repeats; bands are their intervals.".to_owned(),
            drawing,
        };
        let axis = self.axes[x].name.clone();
        let lines = Curves { x: along, y: Axis { log, ..Axis::new(name.clone()) }, curves, points: false };
        let mut all = vec![figure("curves", format!("{name} against {axis}"), Drawing::Curves(lines))];
        if let Some(by) = by {
            let title = format!("{name} over {axis} and {}", self.axes[by].name);
            all.push(figure("grid", title, Drawing::Grid(self.grid(quantity, x, by))));
        }
        all
    }

    fn grid(&self, quantity: usize, x: usize, by: usize) -> Grid {
        let mut rows = vec![vec![None; self.axes[x].labels.len()]; self.axes[by].labels.len()];
        for (places, figures) in self.places.iter().zip(&self.figures) {
            let first = places.iter().enumerate().all(|(axis, at)| axis == x || axis == by || *at == 0);
            if first {
                rows[places[by]][places[x]] = figures[quantity].and_then(|figure| figure[0]);
            }
        }
        let names =
            |axis: usize| Axis { names: self.axes[axis].labels.clone(), ..Axis::new(self.axes[axis].name.clone()) };
        let log = are_wide(rows.iter().flatten().flatten().copied());
        Grid { x: names(x), y: names(by), label: self.quantities[quantity].clone(), log, rows }
    }

    /// With numbers where all labels are, else with names; with equal factors where numbers are.
    fn axis(&self, axis: usize) -> Axis {
        let SweepAxis { name, labels } = &self.axes[axis];
        let numbers: Option<Vec<f64>> = labels.iter().map(|label| label.parse().ok()).collect();
        match numbers {
            Some(numbers) => {
                let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
                let log = least > 0.0 && numbers.iter().copied().fold(0.0, f64::max) >= 8.0 * least;
                // Of few values each is marked.
                let ticks = if numbers.len() <= 10 { numbers } else { Vec::new() };
                Axis { log, ticks, ..Axis::new(name.clone()) }
            }
            None => Axis { names: labels.clone(), ..Axis::new(name.clone()) },
        }
    }

    fn empty_curve(&self, cell: usize, x: usize) -> Curve {
        let others = self.axes.iter().zip(&self.places[cell]).enumerate().filter(|(axis, _)| *axis != x);
        let name =
            others.map(|(_, (axis, &at))| format!("{} {}", axis.name, axis.labels[at])).collect::<Vec<_>>().join(", ");
        Curve {
            name: if name.is_empty() { "mean".to_owned() } else { name },
            x: Vec::new(),
            y: Vec::new(),
            lower: Vec::new(),
            upper: Vec::new(),
        }
    }
}

/// Where a label stands, at the end if it is new.
fn place(labels: &mut Vec<String>, label: &str) -> usize {
    labels.iter().position(|known| known == label).unwrap_or_else(|| {
        labels.push(label.to_owned());
        labels.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Column;

    /// Candidates of a tuning come in the order in which they were tried.
    #[test]
    fn numbers_ascend_along_an_axis_and_names_stay_as_they_are() {
        let texts = |texts: [&str; 4]| texts.map(str::to_owned).to_vec();
        let columns = vec![
            Column::whole("cell", "number", vec![0, 1, 2, 3]),
            Column::text("axis_rate", texts(["0.1", "0.4", "0.2", "0.1"])),
            Column::text("axis_law", texts(["z", "z", "z", "a"])),
            Column::text("quantity", texts(["loss", "loss", "loss", "loss"])),
            Column::number("mean", "f(w)", vec![1.0, 4.0, 2.0, 9.0]),
            Column::maybe("lower", "f(w)", vec![None; 4]),
            Column::maybe("upper", "f(w)", vec![None; 4]),
        ];
        let cells = Cells::read(&Table { file: "cells.parquet".into(), columns });
        assert_eq!(cells.axes[0].labels, ["0.1", "0.2", "0.4"]);
        assert_eq!(cells.axes[1].labels, ["z", "a"]);
        let figures = cells.figures_of(0, 0, Some(1));
        let Drawing::Curves(curves) = &figures[0].drawing else { panic!("no curves") };
        assert_eq!((curves.curves[0].name.as_str(), &curves.curves[0].x[..]), ("law z", &[0.1, 0.2, 0.4][..]));
        assert_eq!(curves.curves[0].y, [Some(1.0), Some(2.0), Some(4.0)]);
        let Drawing::Grid(grid) = &figures[1].drawing else { panic!("no grid") };
        assert_eq!(grid.rows, [[Some(1.0), Some(2.0), Some(4.0)], [Some(9.0), None, None]]);
    }
}
