//! The glossary's worked example, on clusters where it happens step by step.

use super::Entry;
use super::case::{Case, number};
use super::play::{constant_workers, play, with};
use super::policies::GLOSSARY;
use crate::error::Result;
use crate::record::{Answer, Row};
use crate::theory::lag::Constants;
use crate::theory::policy;
use serde_json::Value;

pub const ENTRIES: &[Entry] = &[
    Entry::checked("T1.core.", "the stale step, and the steps that might have been", core),
    Entry::checked("T1.timeline.", "a cluster on which it happens", timeline),
    Entry::checked("T1.timeline.A.lags", "the lags of that, in versions and seconds", lags),
    Entry::checked("T1.timeline.D", "one learning rate with which the stale step is perfect", perfect),
];

/// w and f of a step that might have been.
fn answer(answers: &[Answer]) -> (f64, f64) {
    let outcome = answers.first().and_then(|answer| answer.outcome.as_ref());
    outcome.map_or((f64::NAN, f64::NAN), |(w, loss)| (w[0], *loss))
}

/// The answer to a question about the step from version 10.
fn ask(question: &str) -> Result<(f64, f64)> {
    let text = GLOSSARY.replace("what_if: [", &format!("what_if: [(version: 10, {question}),"));
    Ok(answer(&play(&text)?.recording.answers))
}

fn core(case: &mut Case) -> Result<()> {
    let (gradient, rate, question) = match case.id() {
        "T1.core.stale.lr1_2" => (2.0, 0.5, ""),
        "T1.core.stale.lr1" => (2.0, 1.0, "optimiser: [Sgd(learning_rate: 1.0)]"),
        "T1.core.fresh" => (0.5, 0.5, "gradient: Fresh"),
        "T1.core.fresh.lr1" => (0.5, 1.0, "gradient: Fresh, optimiser: [Sgd(learning_rate: 1.0)]"),
        "T1.core.lr_neutral" => {
            let neutral = policy::neutral_learning_rate(0.5, 2.0);
            case.formula("learning rate", neutral, case.value(""));
            let loss = |rate: f64| Ok(ask(&format!("optimiser: [Sgd(learning_rate: {rate:?})]"))?.1);
            let before = 0.125;
            case.exact("f", loss(neutral)?, before);
            case.at_most("f with less", loss(neutral - 0.01)?, before);
            case.at_least("f with more", loss(neutral + 0.01)?, before);
            return Ok(());
        }
        _ => {
            let rows = play(GLOSSARY)?.recording.timeline;
            case.exact("f before", rows[10].w_before[0].powi(2) / 2.0, case.value(""));
            return Ok(());
        }
    };
    let w = policy::step(0.5, gradient, rate, 1.0);
    case.formula("w", w, case.value("w"));
    case.formula("f", w * w / 2.0, case.value("f"));
    let (w, loss) = ask(question)?;
    case.exact("w", w, case.value("w"));
    case.exact("f", loss, case.value("f"));
    if case.id() != "T1.core.fresh.lr1" {
        let step = play(GLOSSARY)?.recording.timeline[10].gradient;
        // A fresh gradient reads the version that it is applied to.
        let read = if question.starts_with("gradient: Fresh") { step.version_applied } else { step.version_read };
        case.exact("lag", step.version_applied as f64 - read as f64, case.value("lag"));
        case.exact("version", (step.version_applied + 1) as f64, case.value("version"));
    }
    Ok(())
}

/// Column by column.
fn compare(case: &mut Case, rows: &[Row], events: &[&Value]) {
    let column = |of: &dyn Fn(&Row) -> f64| rows.iter().map(of).collect::<Vec<f64>>();
    let columns: [(&str, Vec<f64>); 9] = [
        ("t", column(&|row| row.gradient.ended.seconds())),
        ("worker", column(&|row| f64::from(row.gradient.worker))),
        ("read_version", column(&|row| row.gradient.version_read as f64)),
        ("lag", column(&|row| row.gradient.lag_versions() as f64)),
        ("age", column(&|row| row.gradient.lag().seconds())),
        ("version_after", column(&|row| (row.gradient.version_applied + 1) as f64)),
        ("w_read", column(&|row| row.w_read[0])),
        ("w_after", column(&|row| row.w_after[0])),
        // f as the book has it is w²/2, that of the observed worker; where classes differ the scenario's is their average.
        ("f_after", column(&|row| row.w_after[0].powi(2) / 2.0)),
    ];
    for (name, found) in columns {
        let expected: Vec<f64> = events.iter().map(|event| number(&event[name])).collect();
        case.exact_list(name, &found, &expected);
    }
}

fn timeline(case: &mut Case) -> Result<()> {
    let scenario = case.scenario();
    let all = scenario["events"].as_array().into_iter().flatten();
    let events: Vec<&Value> = all.filter(|event| event["event"] == "apply").collect();
    let mut compute_s = case.given_list("compute_seconds");
    let mut starts_s = case.given_list("start_times");
    starts_s.resize(compute_s.len(), 0.0);
    let rest = format!("stop: (updates: {}), record: (timeline: 100)", events.len());
    let text = with("Sgd(learning_rate: 0.5)", &constant_workers(&compute_s, &starts_s), &rest);
    let text = match case.id() {
        "T1.timeline.A" => GLOSSARY.to_owned(),
        "T1.timeline.A2" => text.replace("start: [1.0]", "start: [-2.0]"),
        "T1.timeline.B" => {
            let weights = case.given_list("weights");
            let worker =
                |(compute, weight): (&f64, &f64)| format!("(compute: Constant({compute:?}), weight: {weight:?}), ");
            let workers: String = compute_s.iter().zip(&weights).map(worker).collect();
            with("Sgd(learning_rate: 0.5)", &workers, &rest).replace("start: [1.0]", "start: [2.0], start_version: 7")
        }
        _ => {
            let curvatures = case.given_list("curvature");
            let minima = vec![0.0; curvatures.len()];
            super::play::shifted(&text, &curvatures, &minima).replace("start: [1.0]", "start: [2.0], start_version: 7")
        }
    };
    if case.id().starts_with("T1.timeline.A") {
        let workers = Constants { compute_s: std::mem::take(&mut compute_s), starts_s, reads_after_all: false };
        let pushes = workers.pushes(events.len() as u64);
        let lags: Vec<Vec<usize>> =
            pushes.iter().map(|&(worker, push)| vec![workers.lag(worker, push) as usize]).collect();
        let w: Vec<f64> = policy::buffered_iterates(0.5, &lags).iter().map(|w| case.given("w0") * w).collect();
        case.formula_list("iterates", &w, &case.list(""));
    }
    let rows = play(&text)?.recording.timeline;
    compare(case, &rows, &events);
    let path: Vec<f64> =
        rows.first().map(|row| row.w_before[0]).into_iter().chain(rows.iter().map(|row| row.w_after[0])).collect();
    case.exact_list("path", &path, &case.list(""));
    Ok(())
}

fn lags(case: &mut Case) -> Result<()> {
    let rows = play(GLOSSARY)?.recording.timeline;
    let column = |of: fn(&Row) -> f64| rows.iter().map(of).collect::<Vec<f64>>();
    case.exact_list("t", &column(|row| row.gradient.ended.seconds()), &case.list("t"));
    case.exact_list("read_version", &column(|row| row.gradient.version_read as f64), &case.list("read_version"));
    case.exact_list("lag", &column(|row| row.gradient.lag_versions() as f64), &case.list("lag"));
    case.exact_list("age", &column(|row| row.gradient.lag().seconds()), &case.list("age_seconds"));
    case.exact_list("worker", &column(|row| f64::from(row.gradient.worker)), &case.list("worker"));
    Ok(())
}

fn perfect(case: &mut Case) -> Result<()> {
    let workers = constant_workers(&case.given_list("compute_seconds"), &[0.0; 4]);
    let text = with("Sgd(learning_rate: 0.25)", &workers, "stop: (updates: 4), record: (timeline: 4)");
    let rows = play(&text.replace("start: [1.0]", "start: [2.0], start_version: 7"))?.recording.timeline;
    let found: Vec<f64> = rows.iter().map(|row| row.w_after[0]).collect();
    case.exact_list("iterates", &found, &case.list("")[1..]);
    let lags: Vec<Vec<usize>> = (0..4).map(|lag| vec![lag]).collect();
    let known: Vec<f64> = policy::buffered_iterates(0.25, &lags).iter().map(|w| 2.0 * w).collect();
    case.formula_list("iterates", &known, &case.list(""));
    Ok(())
}
