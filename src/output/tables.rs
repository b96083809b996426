//! The tables of a run: which files there are, and what stands in their columns. docs/results.md explains them all.

use super::table::{Column, Table, Values};
use crate::cluster::{Books, CAUSES, FATES, Fate, Incident, Model, ShardFigures, Simulation};
use crate::record::{Bin, Histogram, Lags, Point, Recording, Summary};

/// Every table of a run but that of single gradients.
pub fn tables<S>(simulation: &Simulation, summary: &Summary, seen: &Recording<S>, classes: &[String]) -> Vec<Table> {
    let mut all = vec![
        summary_table(summary),
        histogram_table(&seen.lags, simulation.model(), classes),
        joint_table(&seen.lags),
        causes_table(&seen.lags, classes),
        participation_table(simulation, classes),
        trajectory_table(seen.trajectory.points()),
    ];
    if simulation.outages().is_some() {
        all.push(incidents_table(&seen.incidents));
    }
    if let Some((shards, _)) = simulation.sharded() {
        all.push(shards_table(&shards));
    }
    all
}

/// The numbers of a summary by name: those that an expectation can be about.
pub fn summary_numbers(summary: &Summary) -> Vec<(String, Option<f64>)> {
    let number = |column: Column| {
        let value = match column.values {
            Values::Whole(values) => values.first().map(|&value| value as f64),
            Values::Number(values) => values.first().copied().flatten(),
            Values::Signed(_) | Values::MaybeWhole(_) | Values::Text(_) | Values::Choice(..) => return None,
        };
        Some((column.name, value))
    };
    summary_table(summary).columns.into_iter().filter_map(number).collect()
}

/// One row for the run.
pub fn summary_table(summary: &Summary) -> Table {
    let s = summary;
    let whole = |name, unit, value| Column::whole(name, unit, vec![value]);
    let maybe = |name: &str, unit, value| Column::maybe(name, unit, vec![value]);
    let mut columns = vec![
        whole("run", "number", 0),
        whole("seed", "number", s.seed),
        whole("replication", "number", s.replication),
        whole("workers", "workers", s.workers),
        whole("steps", "optimiser steps", s.steps),
        maybe("time_s", "virtual s", Some(s.time_s)),
        whole("warm_up_updates", "optimiser steps left out", s.warm_up),
        maybe("throughput_per_s", "optimiser steps per virtual s", s.throughput_per_s),
    ];
    let lags = [("versions", "versions", s.lag_versions), ("s", "s", s.lag_s), ("clocks", "clocks", s.lag_clocks)];
    for (measure, unit, spread) in lags {
        for (figure, value) in spread.figures() {
            columns.push(maybe(&format!("lag_{measure}_{figure}"), unit, value));
        }
    }
    columns.extend([
        maybe("lag_versions_in_flight_mean", "versions before arrival", s.lag_versions_in_flight),
        maybe("lag_versions_in_queue_mean", "versions after arrival", s.lag_versions_in_queue),
        maybe("lag_s_in_flight_mean", "s before arrival", s.lag_s_in_flight),
        maybe("lag_s_in_queue_mean", "s after arrival", s.lag_s_in_queue),
        maybe("lag_batches_mean", "batches", s.lag_batches),
        maybe("lag_correlation", "correlation of versions and seconds", s.lag_correlation),
        maybe("in_flight_lag_versions_mean", "versions", s.in_flight_lag_versions),
        maybe("time_to_loss_s", "virtual s", s.time_to_loss_s),
        maybe("updates_to_loss", "optimiser steps", s.updates_to_loss),
        maybe("gradients_to_loss", "gradients started", s.gradients_to_loss),
        maybe("loss", "f(w) at the end", s.loss),
        maybe("distance", "norm of w - w* at the end", s.distance),
        maybe("stationary_bias", "norm of where these shares of classes lead to - w*", s.stationary_bias),
        maybe("worker_utilisation", "share of the workers' time with work", s.worker_utilisation),
        maybe("server_utilisation", "share of the time", s.server_utilisation),
        whole("started", "gradients", s.started),
    ]);
    columns.extend(FATES.iter().zip(s.fates).map(|((_, name), count)| whole(name, "gradients", count)));
    columns.extend([
        whole("server_failures", "failures", s.server_failures),
        whole("worker_failures", "failures", s.worker_failures),
        whole("versions_lost", "optimiser steps undone", s.versions_lost),
        whole("saves", "checkpoints or replications", s.saves),
        maybe("server_away_s", "virtual s", Some(s.server_away_s)),
        maybe("worker_availability", "share of the workers' time", s.worker_availability),
        maybe("effective_share", "share of the workers' time for gradients that stand", s.effective_share),
    ]);
    columns.extend(s.time.parts().map(|(name, seconds)| maybe(name, "s of workers", Some(seconds))));
    columns.extend([
        maybe("shard_skew_max", "versions between two shards", s.shard_skew_max),
        maybe("shard_spread_mean", "versions between parts of a gradient", s.shard_spread_mean),
        maybe("shard_spread_max", "versions between parts of a gradient", s.shard_spread_max),
        maybe("cost", "price", s.cost),
        maybe("cost_to_loss", "price", s.cost_to_loss),
        Column::text("fingerprint", vec![format!("{:016x}", s.fingerprint)]),
        Column::text("ended", vec![s.ended.name().to_owned()]),
    ]);
    Table { file: "summary.parquet".into(), columns }
}

/// One row for each class, unit and bin that is not empty.
fn histogram_table(lags: &Lags, model: &Model, classes: &[String]) -> Table {
    let (mut class_of, mut unit_of) = (Vec::new(), Vec::new());
    let (mut lower, mut upper, mut count, mut weight) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (number, (class, name)) in lags.classes().iter().zip(classes).enumerate() {
        let member = model.workers.iter().find(|member| member.class as usize == number);
        let factor = member.map_or(1.0, |member| member.weight);
        for bin in class.ahead.histogram().bins().collect::<Vec<_>>().into_iter().rev() {
            class_of.push(name.clone());
            unit_of.push("versions".to_owned());
            lower.push(-(bin.upper as f64));
            upper.push(-(bin.lower as f64) + 1.0);
            count.push(bin.count);
            weight.push(bin.count as f64 * factor);
        }
        let units: [(&str, Vec<Bin>, f64); 3] = [
            ("versions", class.versions.histogram().bins().collect(), 1.0),
            ("seconds", class.nanos.histogram().bins().collect(), 1e9),
            ("clocks", class.clocks.histogram().bins().collect(), 1.0),
        ];
        for (unit, bins, per_unit) in units {
            for bin in bins {
                class_of.push(name.clone());
                unit_of.push(unit.to_owned());
                lower.push(bin.lower as f64 / per_unit);
                upper.push((bin.upper + 1) as f64 / per_unit);
                count.push(bin.count);
                weight.push(bin.count as f64 * factor);
            }
        }
    }
    let columns = vec![
        Column::whole("run", "number", vec![0; count.len()]),
        Column::text("class", class_of),
        Column::text("unit", unit_of),
        Column::number("lower", "see unit; inclusive", lower),
        Column::number("upper", "see unit; exclusive", upper),
        Column::whole("count", "gradients", count),
        Column::number("weight", "sum of factors", weight),
    ];
    Table { file: "lag_histogram.parquet".into(), columns }
}

fn joint_table(lags: &Lags) -> Table {
    let cells: Vec<_> = lags.joint().cells().collect();
    let column = |of: fn(&crate::record::Cell) -> f64| cells.iter().map(of).collect::<Vec<f64>>();
    let columns = vec![
        Column::whole("run", "number", vec![0; cells.len()]),
        Column::number("versions_lower", "versions; inclusive", column(|cell| cell.versions.0 as f64)),
        Column::number("versions_upper", "versions; exclusive", column(|cell| (cell.versions.1 + 1) as f64)),
        Column::number("seconds_lower", "s; inclusive", column(|cell| cell.nanos.0 as f64 / 1e9)),
        Column::number("seconds_upper", "s; exclusive", column(|cell| (cell.nanos.1 + 1) as f64 / 1e9)),
        Column::whole("count", "gradients", cells.iter().map(|cell| cell.count).collect()),
    ];
    Table { file: "lag_joint.parquet".into(), columns }
}

fn causes_table(lags: &Lags, classes: &[String]) -> Table {
    let (mut class_of, mut cause_of) = (Vec::new(), Vec::new());
    let (mut mean, mut p99, mut share) = (Vec::new(), Vec::new(), Vec::new());
    for (class, name) in lags.classes().iter().zip(classes) {
        for (histogram, cause) in class.causes.iter().zip(CAUSES) {
            let gradients = class.nanos.total();
            class_of.push(name.clone());
            cause_of.push(cause.to_owned());
            mean.push((gradients > 0).then(|| histogram.sum() as f64 / gradients as f64 / 1e9));
            p99.push(quantile_with_zeros(histogram, gradients, 0.99).map(|nanos| nanos as f64 / 1e9));
            share.push(
                (class.nanos.histogram().sum() > 0)
                    .then(|| histogram.sum() as f64 / class.nanos.histogram().sum() as f64),
            );
        }
    }
    let columns = vec![
        Column::whole("run", "number", vec![0; share.len()]),
        Column::text("class", class_of),
        Column::text("cause", cause_of),
        Column::maybe("mean_s", "s", mean),
        Column::maybe("p99_s", "s", p99),
        Column::maybe("share", "of the class's lag in seconds", share),
    ];
    Table { file: "lag_causes.parquet".into(), columns }
}

/// A quantile over `total` values of which those not in the histogram are 0.
fn quantile_with_zeros<const PRECISION: u32>(histogram: &Histogram<PRECISION>, total: u64, p: f64) -> Option<u64> {
    let zeros = total - histogram.total();
    let rank = (p * total as f64).ceil();
    if total == 0 {
        return None;
    }
    if rank <= zeros as f64 {
        return Some(0);
    }
    histogram.quantile((rank - zeros as f64) / histogram.total() as f64)
}

fn participation_table(simulation: &Simulation, classes: &[String]) -> Table {
    let books: Vec<Books> = simulation.books().collect();
    let members = &simulation.model().workers;
    let weight: f64 = books.iter().map(|books| books.weight).sum();
    // What was undone later was applied, too.
    let applied = |books: &Books| (books.count(Fate::Applied) + books.count(Fate::RolledBack)) as f64;
    let all: f64 = books.iter().map(applied).sum();
    let share = |part: f64, total: f64| (total > 0.0).then(|| part / total);
    let maybe = |of: &dyn Fn(&Books) -> Option<f64>| books.iter().map(of).collect::<Vec<Option<f64>>>();
    let mut columns = vec![
        Column::whole("run", "number", vec![0; books.len()]),
        Column::whole("worker", "number", (0..books.len() as u64).collect()),
        Column::text("class", members.iter().map(|member| classes[member.class as usize].clone()).collect()),
        Column::whole("started", "gradients", books.iter().map(|books| books.started).collect()),
    ];
    for (fate, name) in FATES {
        columns.push(Column::whole(name, "gradients", books.iter().map(|books| books.count(fate)).collect()));
    }
    columns.extend([
        Column::maybe("applied_share", "of all gradients applied", maybe(&|books| share(applied(books), all))),
        Column::maybe("weight_share", "of all weight applied", maybe(&|books| share(books.weight, weight))),
        Column::maybe(
            "lag_versions_mean",
            "versions",
            maybe(&|books| share(books.lag_versions as f64, applied(books))),
        ),
        Column::maybe("lag_s_mean", "s", maybe(&|books| share(books.lag_nanos as f64 / 1e9, applied(books)))),
        Column::number("waited_s", "s without work", books.iter().map(|books| books.waited.seconds()).collect()),
        Column::number("down_s", "s", books.iter().map(|books| books.down.seconds()).collect()),
    ]);
    Table { file: "participation.parquet".into(), columns }
}

fn shards_table(shards: &[ShardFigures]) -> Table {
    let whole = |name, unit, of: fn(&ShardFigures) -> u64| Column::whole(name, unit, shards.iter().map(of).collect());
    let maybe =
        |name, unit, of: fn(&ShardFigures) -> Option<f64>| Column::maybe(name, unit, shards.iter().map(of).collect());
    let columns = vec![
        Column::whole("run", "number", vec![0; shards.len()]),
        Column::whole("shard", "number", (0..shards.len() as u64).collect()),
        whole("parameters", "parameters", |shard| shard.parameters as u64),
        whole("version", "version", |shard| shard.version),
        whole("steps", "optimiser steps", |shard| shard.steps),
        whole("rejected", "parts of gradients", |shard| shard.rejected),
        maybe("lag_versions_mean", "versions", |shard| shard.lag_versions),
        maybe("lag_versions_max", "versions", |shard| shard.most_lag.map(|lag| lag as f64)),
        maybe("lag_s_mean", "s", |shard| shard.lag_s),
        maybe("queue_s_mean", "s", |shard| shard.queue_s),
        maybe("busy_s", "s", |shard| Some(shard.busy.seconds())),
        maybe("away_s", "s", |shard| Some(shard.away.seconds())),
        whole("failures", "failures", |shard| shard.failures),
        whole("versions_lost", "optimiser steps undone", |shard| shard.versions_lost),
        whole("saves", "checkpoints", |shard| shard.saves),
    ];
    Table { file: "shards.parquet".into(), columns }
}

fn incidents_table(incidents: &[Incident]) -> Table {
    let columns = vec![
        Column::whole("run", "number", vec![0; incidents.len()]),
        Column::number("time_s", "virtual s", incidents.iter().map(|incident| incident.at.seconds()).collect()),
        Column::text("what", incidents.iter().map(|incident| incident.what.name().to_owned()).collect()),
        Column {
            name: "worker".to_owned(),
            unit: "number".into(),
            values: Values::MaybeWhole(incidents.iter().map(|incident| incident.worker.map(u64::from)).collect()),
        },
        Column {
            name: "shard".to_owned(),
            unit: "number".into(),
            values: Values::MaybeWhole(incidents.iter().map(|incident| incident.shard.map(u64::from)).collect()),
        },
        Column::whole("version", "version", incidents.iter().map(|incident| incident.version).collect()),
        Column::maybe("loss", "f(w)", incidents.iter().map(|incident| incident.loss).collect()),
        Column::whole("waiting", "gradients", incidents.iter().map(|incident| incident.waiting).collect()),
    ];
    Table { file: "incidents.parquet".into(), columns }
}

fn trajectory_table(points: &[Point]) -> Table {
    let columns = vec![
        Column::whole("run", "number", vec![0; points.len()]),
        Column::number("time_s", "virtual s", points.iter().map(|point| point.time_s).collect()),
        Column::whole("version", "version", points.iter().map(|point| point.version).collect()),
        Column::whole("updates", "optimiser steps", points.iter().map(|point| point.updates).collect()),
        Column::number("loss", "f(w)", points.iter().map(|point| point.loss).collect()),
        Column::maybe("distance", "norm of w - w*", points.iter().map(|point| point.distance).collect()),
        Column::maybe("cost", "price", points.iter().map(|point| point.cost).collect()),
    ];
    Table { file: "trajectory.parquet".into(), columns }
}
