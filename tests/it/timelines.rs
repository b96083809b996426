//! Exact runs: every number is a dyadic rational, so every bit must be right.

use crate::support::{number, oracle, play, quadratic};
use laggard::record::{Answer, Row};
use serde_json::Value;

/// Compares a timeline with the `apply` events of an oracle, bit by bit.
fn compare(id: &str, rows: &[Row]) {
    let oracle = oracle(id);
    let events = oracle.scenario["events"].as_array().unwrap();
    let applies: Vec<&Value> = events.iter().filter(|event| event["event"] == "apply").collect();
    assert_eq!(rows.len(), applies.len(), "{id}");
    for (row, event) in rows.iter().zip(applies) {
        let gradient = &row.gradient;
        assert_eq!(gradient.ended.seconds(), number(&event["t"]), "{id} {event}");
        assert_eq!(f64::from(gradient.worker), number(&event["worker"]), "{id} {event}");
        assert_eq!(gradient.version_read as f64, number(&event["read_version"]), "{id} {event}");
        assert_eq!(gradient.lag_versions() as f64, number(&event["lag"]), "{id} {event}");
        assert_eq!(gradient.lag().seconds(), number(&event["age"]), "{id} {event}");
        assert_eq!((gradient.version_applied + 1) as f64, number(&event["version_after"]), "{id} {event}");
        assert_eq!(row.w_read, [number(&event["w_read"])], "{id} {event}");
        assert_eq!(row.w_after, [number(&event["w_after"])], "{id} {event}");
        assert_eq!(row.loss, number(&event["f_after"]), "{id} {event}");
    }
}

/// What a step that might have been would have given: w and f.
fn outcome_of(answer: &Answer) -> (f64, f64) {
    let (w, loss) = answer.outcome.as_ref().unwrap();
    (w[0], *loss)
}

fn scenario_file(name: &str) -> String {
    let path = format!("{}/scenarios/{name}.ron", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn the_glossary_example_happens_as_told_from_version_7() {
    compare("T1.timeline.B", &play(&scenario_file("overshoot-from-7")).recording.timeline);
}

#[test]
fn helpers_with_half_the_curvature_of_their_own_data_do_as_half_weights_do() {
    let text = "Scenario(
        objective: Shifted(classes: [(curvature: 0.5, minimum: 0.0), (curvature: 0.5, minimum: 0.0),
                                     (curvature: 0.5, minimum: 0.0), (curvature: 1.0, minimum: 0.0)]),
        start: [2.0], start_version: 7, optimiser: [Sgd(learning_rate: 0.5)],
        workers: [(compute: Constant(5.0)), (compute: Constant(6.0)), (compute: Constant(7.0)), (compute: Constant(8.0))],
        stop: (updates: 4), record: (timeline: 4))";
    let rows = play(text).recording.timeline;
    // f as the oracle has it is that of the observed worker alone, w²/2; the scenario's is the average of all four.
    let observed: Vec<Row> = rows.into_iter().map(|row| Row { loss: row.w_after[0].powi(2) / 2.0, ..row }).collect();
    compare("T1.timeline.C", &observed);
}

#[test]
fn the_exercise_of_two_workers_has_the_lags_that_its_head_promises() {
    let rows = play(&scenario_file("two-workers")).recording.timeline;
    let lags = |worker: u32| -> Vec<(i64, f64)> {
        let own = rows.iter().map(|row| row.gradient).filter(|gradient| gradient.worker == worker);
        own.map(|gradient| (gradient.lag_versions(), gradient.lag().seconds())).collect()
    };
    assert_eq!(lags(1), [(2, 5.0), (2, 5.0), (3, 5.0), (2, 5.0)]);
    assert_eq!(lags(0).len(), 10);
    assert!(lags(0).iter().all(|(versions, seconds)| *versions <= 1 && *seconds == 2.0));
}

/// A question about a step of a run with momentum is answered from the momentum of that moment.
#[test]
fn a_step_taken_again_without_change_is_the_step_that_was_taken() {
    for optimiser in ["HeavyBall(learning_rate: 0.1, momentum: 0.9)", "Adam(learning_rate: 0.1)"] {
        let text = quadratic(
            "(count: 3, compute: Exponential(mean: 1.0))",
            "noise: Gaussian(sd: 0.1), stop: (updates: 30),
             record: (timeline: 30, what_if: [(version: 20), (version: 20, gradient: Fresh), (version: 99)])",
        )
        .replace("Sgd(learning_rate: 0.001)", optimiser);
        let recording = play(&text).recording;
        let taken = &recording.timeline[20];
        let (w, loss) = outcome_of(&recording.answers[0]);
        assert_eq!((w.to_bits(), loss.to_bits()), (taken.w_after[0].to_bits(), taken.loss.to_bits()), "{optimiser}");
        assert_ne!(outcome_of(&recording.answers[1]).0, w);
        assert_eq!(recording.answers[2].outcome, None, "the run ended before version 99");
    }
}
