//! What parts make up a whole: causes of lag, fates of gradients, workers' time, and each worker's part of the steps.

use super::{Axis, Curve, Curves, Detail, Drawing, Figure, Stacked, class_name, column, names, rows_of};
use crate::cluster::FATES;
use crate::output::Table;
use crate::record::WorkerTime;

/// Where the seconds of lag came from, class by class.
pub fn causes(table: &Table, runs: &[f64]) -> Option<Figure> {
    let rows = rows_of(table, runs);
    let (classes, causes) = (table.texts("class"), table.texts("cause"));
    let (mean_s, parts) = (column(table, "mean_s", &rows), names(causes, &rows));
    let all = names(classes, &rows);
    let bar = |class: &&str| {
        let of = |cause: &&str| {
            let own = (0..rows.len()).filter(|&place| classes[rows[place]] == *class && causes[rows[place]] == **cause);
            own.map(|place| mean_s[place]).sum::<f64>() / runs.len() as f64
        };
        (class_name(class, all.len()), parts.iter().map(of).collect::<Vec<f64>>())
    };
    let bars: Vec<_> = all.iter().map(bar).collect();
    let note = "Mean seconds of lag by cause: they add up to the mean lag in seconds exactly.";
    stacked("lag_causes", "Why gradients are stale", note, "mean lag in seconds", &parts, bars)
}

/// What became of the gradients of each class.
pub fn fates(summary: &Table, participation: &Table, runs: &[f64]) -> Option<Figure> {
    let parts = FATES.map(|(_, name)| name);
    let rows = rows_of(participation, runs);
    let classes = participation.texts("class");
    let sums = |table: &Table, rows: &[usize]| parts.map(|part| column(table, part, rows).iter().sum::<f64>()).to_vec();
    let bars = if rows.is_empty() {
        vec![("all workers".to_owned(), sums(summary, &rows_of(summary, runs)))]
    } else {
        let own = |class: &str| rows.iter().copied().filter(|&row| classes[row] == class).collect::<Vec<usize>>();
        let all = names(classes, &rows);
        all.iter().map(|class| (class_name(class, all.len()), sums(participation, &own(class)))).collect()
    };
    let note = "Every gradient that was started, by what became of it: the ledger, which is checked after every run.";
    let note = if runs.len() > 1 { format!("{note} All {} repeats together.", runs.len()) } else { note.to_owned() };
    stacked("fates", "What became of gradients", &note, "gradients", &parts, bars)
}

/// Where the workers' time went.
pub fn times(summary: &Table, runs: &[f64]) -> Option<Figure> {
    let rows = rows_of(summary, runs);
    let names = WorkerTime::default().parts().map(|(name, _)| name);
    let seconds = names.map(|name| column(summary, name, &rows).iter().sum::<f64>() / rows.len() as f64);
    let parts = names.map(|name| name.trim_end_matches("_s"));
    let note = "Seconds of all workers, from joining on: in gradients that stand, without work, down, or in gradients that came to nothing.";
    stacked(
        "worker_time",
        "Where the workers' time went",
        note,
        "seconds of all workers",
        &parts,
        vec![("all workers".to_owned(), seconds.to_vec())],
    )
}

/// Parts that are no more than this of the whole are rounding.
const ROUNDING: f64 = 1e-9;

/// A figure without the parts that are nowhere; none without bars.
fn stacked(
    name: &str,
    title: &str,
    note: &str,
    label: &str,
    parts: &[&str],
    bars: Vec<(String, Vec<f64>)>,
) -> Option<Figure> {
    let used: Vec<usize> = (0..parts.len())
        .filter(|&part| bars.iter().any(|(_, bar)| bar[part] > ROUNDING * bar.iter().sum::<f64>()))
        .collect();
    let pick = |bar: Vec<f64>| used.iter().map(|&part| bar[part]).collect::<Vec<f64>>();
    let stacked = Stacked {
        x: Axis::new(label),
        parts: used.iter().map(|&part| parts[part].replace('_', " ")).collect(),
        bars: bars.into_iter().map(|(name, bar)| (name, pick(bar))).collect(),
    };
    (!used.is_empty()).then(|| Figure {
        name: name.to_owned(),
        title: title.to_owned(),
        note: note.to_owned(),
        drawing: Drawing::Stacked(stacked),
    })
}

/// Each worker's part of the steps, times the number of workers: 1 is an equal part.
pub fn participation(table: &Table, runs: &[f64], detail: Detail) -> Option<Figure> {
    let rows = rows_of(table, runs);
    let [worker, share, weight] = ["worker", "applied_share", "weight_share"].map(|name| column(table, name, &rows));
    let workers = worker.iter().copied().fold(-1.0, f64::max) as usize + 1;
    if workers < 2 {
        return None;
    }
    // Neighbours are taken together where they are many.
    let together = workers.div_ceil(2 * detail.points);
    let count = workers.div_ceil(together);
    let curve = |name: &str, shares: &[f64]| {
        let mut sums = vec![(0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY); count];
        let mut each = vec![0.0; workers];
        worker.iter().zip(shares).for_each(|(&worker, share)| each[worker as usize] += share / runs.len() as f64);
        for (worker, share) in each.iter().enumerate() {
            let parts = share * workers as f64;
            let sum = &mut sums[worker / together];
            *sum = (sum.0 + parts, sum.1 + 1.0, sum.2.min(parts), sum.3.max(parts));
        }
        let ends = |of: fn(&(f64, f64, f64, f64)) -> f64| {
            if together > 1 { sums.iter().map(|sum| Some(of(sum))).collect() } else { Vec::new() }
        };
        Curve {
            name: name.to_owned(),
            x: (0..count).map(|place| (place * together) as f64 + (together - 1) as f64 / 2.0).collect(),
            y: sums.iter().map(|sum| Some(sum.0 / sum.1)).collect(),
            lower: ends(|sum| sum.2),
            upper: ends(|sum| sum.3),
        }
    };
    let mut curves = vec![curve("of the gradients applied", &share)];
    if share.iter().zip(&weight).any(|(share, weight)| (share - weight).abs() > 1e-9) {
        curves.push(curve("of their weight, discounts included", &weight));
    }
    let note = match together {
        1 => "Each worker's part of the steps, as a multiple of an equal part.".to_owned(),
        _ => format!(
            "Parts of the steps, as multiples of an equal part: means of {together} neighbours, with the least and the greatest of them."
        ),
    };
    let drawing = Drawing::Curves(Curves {
        x: Axis::new("worker"),
        y: Axis::new("part of the steps × workers"),
        curves,
        points: true,
    });
    Some(Figure { name: "participation".to_owned(), title: "Who takes part".to_owned(), note, drawing })
}
