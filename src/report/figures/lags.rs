//! How stale gradients were: in each unit, and in two at a time.

use super::{Axis, Detail, Drawing, Figure, Group, Histogram, Joint, class_name, column, names, rows_of};
use crate::output::Table;
use crate::report::number::percent;

/// What is beyond this quantile is not drawn at first.
const RARE: f64 = 0.999;

/// One for each unit: versions, seconds, clocks.
pub fn histograms(table: &Table, runs: &[f64], detail: Detail) -> Vec<Figure> {
    let rows = rows_of(table, runs);
    let (units, classes) = (table.texts("unit"), table.texts("class"));
    let one = |unit: &'static str, note: &str| {
        let own: Vec<usize> = rows.iter().copied().filter(|&row| units[row] == unit).collect();
        let all = bins(table, &own);
        let shown = shown(&all)?;
        let width = (shown[1] - shown[0]) / detail.points as f64;
        let classes_here = names(classes, &own);
        let group = |class: &&str| {
            let own: Vec<usize> = own.iter().copied().filter(|&row| classes[row] == *class).collect();
            group(class_name(class, classes_here.len()), bins(table, &own), width)
        };
        let groups = classes_here.iter().map(group).collect();
        Some(Figure {
            name: format!("lag_{unit}"),
            title: format!("Lag in {unit}, when applied"),
            note: note.to_owned(),
            drawing: Drawing::Histogram(Histogram {
                x: Axis::new(format!("lag in {unit}")),
                whole: unit != "seconds",
                shown,
                groups,
            }),
        })
    };
    let notes = [
        ("versions", "Server steps between the version that was read and the one that the gradient was applied to."),
        ("seconds", "Virtual seconds from reading to applying."),
        (
            "clocks",
            "Gradients that the fastest worker had applied more than the own one: how far behind its worker is.",
        ),
    ];
    notes.into_iter().filter_map(|(unit, note)| one(unit, note)).collect()
}

/// A bin: from, until, how many.
type Bin = (f64, f64, f64);

/// The bins of those rows in ascending order, those of several runs and classes together.
fn bins(table: &Table, rows: &[usize]) -> Vec<Bin> {
    let [lower, upper, count] = ["lower", "upper", "count"].map(|name| column(table, name, rows));
    let mut all: Vec<Bin> = (0..rows.len()).map(|row| (lower[row], upper[row], count[row])).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all.dedup_by(|next, bin| {
        let same = next.0 == bin.0;
        if same {
            bin.2 += next.2;
        }
        same
    });
    all
}

/// From the least value to a high quantile.
fn shown(bins: &[Bin]) -> Option<[f64; 2]> {
    let total: f64 = bins.iter().map(|bin| bin.2).sum();
    let mut below = 0.0;
    let last = bins.iter().find(|bin| {
        below += bin.2;
        below >= RARE * total
    })?;
    Some([bins.first()?.0, last.1])
}

/// Bins of at least `width`, as long as the next one would not make them wider than that.
fn group(name: String, bins: Vec<Bin>, width: f64) -> Group {
    let mut wide: Vec<Bin> = Vec::new();
    for bin in bins {
        match wide.last_mut() {
            Some(last) if bin.1 - last.0 <= width => (last.1, last.2) = (bin.1, last.2 + bin.2),
            _ => wide.push(bin),
        }
    }
    let column = |of: fn(&Bin) -> f64| wide.iter().map(of).collect();
    Group { name, lower: column(|bin| bin.0), upper: column(|bin| bin.1), count: column(|bin| bin.2) }
}

/// Lags in versions beside those in seconds, and where the two disagree.
pub fn joint(table: &Table, runs: &[f64], detail: Detail) -> Option<Figure> {
    let rows = rows_of(table, runs);
    let names = ["versions_lower", "versions_upper", "seconds_lower", "seconds_upper", "count"];
    let columns = names.map(|name| column(table, name, &rows));
    let mut cells: Vec<[f64; 5]> = (0..rows.len()).map(|row| columns.each_ref().map(|column| column[row])).collect();
    unite(&mut cells);
    let medians = [median(&cells, 0)?, median(&cells, 2)?];
    let shown = [shown(&along(&cells, 0))?, shown(&along(&cells, 2))?];
    let note = format!(
        "Where versions and seconds disagree on how stale a gradient was. Dashed: the medians; upper left: old, with few \
         versions; lower right: young, with many. Of two gradients, the one that is staler in versions is fresher in seconds for {} of the pairs.",
        percent(discordant(&cells))
    );
    [0, 2].into_iter().for_each(|side| coarsen(&mut cells, side, detail.points / 2));
    unite(&mut cells);
    let drawing = Drawing::Joint(Joint {
        x: Axis::new("lag in versions"),
        y: Axis::new("lag in seconds"),
        cells,
        medians,
        shown,
    });
    Some(Figure { name: "lag_joint".to_owned(), title: "Versions beside seconds".to_owned(), note, drawing })
}

/// Sorts cells by columns, and takes those at the same place together.
fn unite(cells: &mut Vec<[f64; 5]>) {
    cells.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[2].total_cmp(&b[2])));
    cells.dedup_by(|next, cell| {
        let same = next[0] == cell[0] && next[2] == cell[2];
        if same {
            cell[4] += next[4];
        }
        same
    });
}

/// Makes cells wider along the side that begins at `place`, so that there are at most so many.
fn coarsen(cells: &mut [[f64; 5]], place: usize, most: usize) {
    let mut edges: Vec<[f64; 2]> = cells.iter().map(|cell| [cell[place], cell[place + 1]]).collect();
    edges.sort_by(|a, b| a[0].total_cmp(&b[0]));
    edges.dedup();
    let together = edges.len().div_ceil(most.max(1));
    for cell in cells {
        let at = edges.partition_point(|edge| edge[0] < cell[place]) / together * together;
        let last = edges[(at + together).min(edges.len()) - 1];
        [cell[place], cell[place + 1]] = [edges[at][0], last[1]];
    }
}

/// The cells as bins along the side that begins at `place`, in ascending order.
fn along(cells: &[[f64; 5]], place: usize) -> Vec<Bin> {
    let mut along: Vec<Bin> = cells.iter().map(|cell| (cell[place], cell[place + 1], cell[4])).collect();
    along.sort_by(|a, b| a.0.total_cmp(&b.0));
    along
}

/// The middle of the cell in which the median lies, along the side that begins at `place`.
fn median(cells: &[[f64; 5]], place: usize) -> Option<f64> {
    let along = along(cells, place);
    let half = along.iter().map(|cell| cell.2).sum::<f64>() / 2.0;
    let mut below = 0.0;
    let middle = along.iter().find(|cell| {
        below += cell.2;
        below >= half
    })?;
    Some((middle.0 + middle.1) / 2.0)
}

/// The share of pairs of gradients that the two measures put in opposite orders (Kendall, 1938: his discordant pairs). Pairs in the same row or
/// column of cells are in neither order.
fn discordant(cells: &[[f64; 5]]) -> f64 {
    let total: f64 = cells.iter().map(|cell| cell[4]).sum();
    let mut heights: Vec<f64> = cells.iter().map(|cell| cell[2]).collect();
    heights.sort_by(f64::total_cmp);
    heights.dedup();
    // How many of the columns so far have each height.
    let mut before = vec![0.0; heights.len()];
    let mut pairs = 0.0;
    for column in cells.chunk_by(|a, b| a[0] == b[0]) {
        let place = |cell: &[f64; 5]| heights.partition_point(|height| *height < cell[2]);
        for cell in column {
            pairs += cell[4] * before[place(cell) + 1..].iter().sum::<f64>();
        }
        column.iter().for_each(|cell| before[place(cell)] += cell[4]);
    }
    2.0 * pairs / (total * (total - 1.0)).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_bins_hold_what_the_narrow_ones_held() {
        let narrow: Vec<Bin> = [0.0, 1.0, 2.0, 3.0, 10.0, 11.0].map(|lower| (lower, lower + 1.0, lower + 1.0)).to_vec();
        let wide = group("all".to_owned(), narrow, 3.0);
        assert_eq!(wide.lower, [0.0, 3.0, 10.0]);
        assert_eq!(wide.upper, [3.0, 4.0, 12.0]);
        assert_eq!(wide.count, [6.0, 4.0, 23.0]);
    }

    #[test]
    fn pairs_in_opposite_orders_are_counted() {
        // Gradients at (1, 2), (2, 1) twice and (3, 3): 2 of the 6 pairs are in opposite orders.
        let cell = |x: f64, y: f64, count: f64| [x, x + 1.0, y, y + 1.0, count];
        let cells = [cell(1.0, 2.0, 1.0), cell(2.0, 1.0, 2.0), cell(3.0, 3.0, 1.0)];
        assert!((discordant(&cells) - 2.0 / 6.0).abs() < 1e-15);
        assert_eq!([median(&cells, 0), median(&cells, 2)], [Some(2.5), Some(1.5)]);
        assert_eq!(discordant(&cells[..1]), 0.0);
    }
}
