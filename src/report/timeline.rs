//! The first steps of a run: as a table, as one lane a worker, and beside them the steps that might have been.

use super::number::number;
use super::plain_table;
use crate::record::{Answer, Row, Which};
use crate::vector::norm;
use std::fmt::Write;

/// Lanes are drawn for so many workers and steps at most; beyond, they could not be read.
const MAX_LANES: u32 = 12;
const MAX_STEPS: usize = 60;
const WIDTH: usize = 100;

/// Everything about single steps that was asked for; empty if nothing was. With a `constant_load`, every worker reads again
/// when its gradient is applied.
pub fn timeline(rows: &[Row], answers: &[Answer], constant_load: bool) -> String {
    let mut text = String::new();
    if !rows.is_empty() {
        text += &table(rows);
        text += "\n";
        text += &lanes(rows, constant_load);
    }
    if !answers.is_empty() {
        text += &what_if(rows, answers);
        text += "\n";
    }
    text
}

/// One parameter as it is, several as their norm.
fn vector(w: &[f64]) -> String {
    if let [w] = w { number(*w) } else { number(norm(w)) }
}

fn table(rows: &[Row]) -> String {
    let w = if rows[0].w_after.len() == 1 { ["w read", "w after"] } else { ["‖w‖ read", "‖w‖ after"] };
    let weighted = rows.iter().any(|row| row.gradient.weight != 1.0);
    let mut header =
        vec!["time s", "worker", "version read", w[0], "lag versions", "lag s", "version after", w[1], "f after"];
    if weighted {
        header.push("weight");
    }
    let line = |row: &Row| {
        let gradient = &row.gradient;
        let mut line = vec![
            number(gradient.ended.seconds()),
            gradient.worker.to_string(),
            gradient.version_read.to_string(),
            vector(&row.w_read),
            gradient.lag_versions().to_string(),
            number(gradient.lag().seconds()),
            (gradient.version_applied + 1).to_string(),
            vector(&row.w_after),
            number(row.loss),
        ];
        line.extend(weighted.then(|| number(gradient.weight)));
        line
    };
    plain_table(&header, rows.iter().map(line))
}

/// One line a worker, from left to right in time: `r7` where it reads version 7, `a10` where its gradient is applied to
/// version 10, so that the difference is the lag in versions, and the distance the lag in seconds.
fn lanes(rows: &[Row], constant_load: bool) -> String {
    let workers = rows.iter().map(|row| row.gradient.worker).max().unwrap_or(0) + 1;
    let end = rows.iter().map(|row| row.gradient.ended.seconds()).fold(0.0, f64::max);
    if workers > MAX_LANES || rows.len() > MAX_STEPS || end <= 0.0 {
        return String::new();
    }
    let place = |seconds: f64| (seconds / end * (WIDTH - 1) as f64).round() as usize;
    let mut text =
        String::from("r7: reads version 7; a10: its gradient is applied to version 10, with a lag of 3 versions\n");
    for worker in 0..workers {
        let mut lane = vec![' '; WIDTH + 8];
        let own = || rows.iter().map(|row| &row.gradient).filter(|gradient| gradient.worker == worker);
        for gradient in own() {
            lane[place(gradient.read.seconds())..place(gradient.ended.seconds())].fill('─');
        }
        // Labels afterwards: a gradient that waits for its step overlaps the next one of its worker.
        for gradient in own() {
            let (from, to) = (place(gradient.read.seconds()), place(gradient.ended.seconds()));
            let (read, applied) = (format!("r{}", gradient.version_read), format!("a{}", gradient.version_applied));
            // What does not fit between read and apply is left out; the table has it all.
            if read.len() + applied.len() <= to - from {
                write_at(&mut lane, from, &read);
                write_at(&mut lane, to - applied.len(), &applied);
            } else if let Some(mark) = lane.get_mut(from) {
                *mark = '·';
            }
        }
        // What it read last was not applied within the table.
        if let Some(last) = own().next_back().filter(|_| constant_load) {
            let from = place(last.ended.seconds());
            lane[from..WIDTH].fill('─');
            write_at(&mut lane, from, &format!("r{}", last.version_applied + 1));
        }
        let lane: String = lane.into_iter().collect();
        let _ = writeln!(text, "worker {worker:<3} {}", lane.trim_end());
    }
    let _ = writeln!(text, "time s     0{:>width$}\n", number(end), width = WIDTH - 2);
    text
}

fn write_at(lane: &mut [char], at: usize, label: &str) {
    for (cell, c) in lane[at..].iter_mut().zip(label.chars()) {
        *cell = c;
    }
}

fn what_if(rows: &[Row], answers: &[Answer]) -> String {
    let taken = |version: u64| {
        let row = rows.iter().find(|row| row.gradient.version_applied == version)?;
        Some(vec![
            "what happened".to_owned(),
            format!("{version} → {}", version + 1),
            vector(&row.w_after),
            number(row.loss),
        ])
    };
    let mut lines: Vec<Vec<String>> = Vec::new();
    let mut last = None;
    for answer in answers {
        let version = answer.question.version;
        if last != Some(version) {
            lines.extend(taken(version));
            last = Some(version);
        }
        let gradient = match answer.question.gradient {
            Which::Stale => "the same stale gradient",
            Which::Fresh => "a fresh gradient",
        };
        let optimiser = match &answer.question.optimiser {
            None => String::new(),
            Some(chain) => {
                let names: Vec<String> = chain.iter().map(|link| ron::to_string(link).unwrap_or_default()).collect();
                format!(", {}", names.join(", "))
            }
        };
        lines.push(vec![
            format!("{gradient}{optimiser}"),
            format!("{version} → {}", version + 1),
            answer.outcome.as_ref().map_or("not reached".to_owned(), |(w, _)| vector(w)),
            answer.outcome.as_ref().map_or("–".to_owned(), |(_, loss)| number(*loss)),
        ]);
    }
    plain_table(&["from the same state", "step", "w after", "f after"], lines)
}
