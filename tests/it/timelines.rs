//! Exact runs: every number is a dyadic rational, so every bit must be right.

use crate::support::{applied, constant_workers, number, numbers, oracle, oracles, play, quadratic};
use laggard::cluster::Ended;
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
fn the_glossary_example_happens_as_told_from_version_0() {
    let outcome = play(&scenario_file("overshoot"));
    compare("T1.timeline.A", &outcome.recording.timeline);
    let lags = oracle("T1.timeline.A.lags").value;
    let rows = &outcome.recording.timeline;
    let of = |what: fn(&Row) -> f64| rows.iter().map(what).collect::<Vec<f64>>();
    assert_eq!(of(|row| row.gradient.lag_versions() as f64), numbers(&lags["lag"]));
    assert_eq!(of(|row| row.gradient.lag().seconds()), numbers(&lags["age_seconds"]));
    assert_eq!(of(|row| f64::from(row.gradient.worker)), numbers(&lags["worker"]));
}

#[test]
fn the_step_from_10_to_11_is_the_glossary_step_and_so_are_the_steps_that_might_have_been() {
    let outcome = play(&scenario_file("overshoot"));
    let step = &outcome.recording.timeline[10];
    assert_eq!((step.gradient.version_read, step.gradient.version_applied), (7, 10));
    let before = oracle("T1.core.f_before").value;
    assert_eq!((step.w_read[0], step.w_before[0], step.w_before[0].powi(2) / 2.0), (2.0, 0.5, number(&before)));
    let stale = oracle("T1.core.stale.lr1_2").value;
    assert_eq!((step.w_after[0], step.loss), (number(&stale["w"]), number(&stale["f"])));
    let fresh = oracle("T1.core.fresh").value;
    let answers = &outcome.recording.answers;
    assert_eq!(outcome_of(&answers[0]), (number(&fresh["w"]), number(&fresh["f"])));
    let fast = oracle("T1.core.stale.lr1").value;
    assert_eq!(outcome_of(&answers[1]), (number(&fast["w"]), number(&fast["f"])));
    assert_eq!(answers.len(), 2);
}

#[test]
fn the_glossary_example_happens_as_told_from_version_7() {
    compare("T1.timeline.B", &play(&scenario_file("overshoot-from-7")).recording.timeline);
}

#[test]
fn a_fresh_gradient_at_learning_rate_1_lands_on_the_minimum() {
    let text = scenario_file("overshoot")
        .replace("what_if: [", "what_if: [(version: 10, gradient: Fresh, optimiser: [Sgd(learning_rate: 1.0)]),");
    let answer = &play(&text).recording.answers[0];
    let expected = oracle("T1.core.fresh.lr1").value;
    assert_eq!(outcome_of(answer), (number(&expected["w"]), number(&expected["f"])));
}

#[test]
fn learning_rate_one_half_is_just_neutral_for_the_stale_step() {
    let neutral = number(&oracle("T1.core.lr_neutral").value);
    let loss = |rate: f64| {
        let question = format!("what_if: [(version: 10, optimiser: [Sgd(learning_rate: {rate:?})]),");
        play(&scenario_file("overshoot").replace("what_if: [", &question)).recording.answers[0]
            .outcome
            .as_ref()
            .unwrap()
            .1
    };
    assert_eq!(loss(neutral), 0.125);
    assert!(loss(neutral - 0.01) < 0.125 && loss(neutral + 0.01) > 0.125);
}

#[test]
fn five_workers_tell_the_story_more_gently() {
    let case = oracle("T1.timeline.A2");
    let workers =
        constant_workers(&numbers(&case.scenario["compute_seconds"]), &numbers(&case.scenario["start_times"]));
    let events = case.scenario["events"].as_array().unwrap().iter().filter(|event| event["event"] == "apply").count();
    let text = quadratic(&workers, &format!("stop: (updates: {events}), record: (timeline: 100)"))
        .replace("start: [1.0]", "start: [-2.0]")
        .replace("0.001", "0.5");
    compare("T1.timeline.A2", &play(&text).recording.timeline);
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
fn one_learning_rate_of_a_quarter_makes_the_stale_step_perfect() {
    let text =
        quadratic(&constant_workers(&[5.0, 6.0, 7.0, 8.0], &[0.0; 4]), "stop: (updates: 4), record: (timeline: 4)")
            .replace("start: [1.0]", "start: [2.0], start_version: 7")
            .replace("0.001", "0.25");
    let w: Vec<f64> = play(&text).recording.timeline.iter().map(|row| row.w_after[0]).collect();
    assert_eq!(w, numbers(&oracle("T1.timeline.D").value)[1..]);
}

/// n equal constant workers have the constant lag τ = n − 1, so the iterates are those of w ← w − α·w_(t−τ).
#[test]
fn equal_workers_play_the_constant_delay_recursion() {
    for case in oracles("T2.traj.") {
        let tau = number(&case.scenario["tau"]) as usize;
        let rate = number(case.scenario.get("lr").unwrap());
        let expected = numbers(&case.value);
        let text = quadratic(
            &format!("(count: {}, compute: Constant(1.0))", tau + 1),
            &format!("stop: (updates: {}), record: (timeline: 100)", expected.len() - 1),
        )
        .replace("0.001", &format!("{rate:?}"));
        let w: Vec<f64> = play(&text).recording.timeline.iter().map(|row| row.w_after[0]).collect();
        for (t, (w, expected)) in w.iter().zip(&expected[1..]).enumerate() {
            case.check_within(&format!("w_{}", t + 1), *w, *expected, 1e-15 * expected.abs());
        }
    }
}

/// Stable just below the exact threshold of the constant-delay recursion, unstable just above it.
#[test]
fn the_stability_threshold_is_where_theory_has_it() {
    for tau in [0, 1, 2, 4, 8, 16] {
        let case = oracle(&format!("T2.delay.tau{tau:02}"));
        let threshold = number(&case.value["alpha_max"]);
        let run = |rate: f64| {
            let workers = format!("(count: {}, compute: Constant(1.0))", tau + 1);
            let text = quadratic(&workers, "stop: (updates: 100000)").replace("0.001", &format!("{rate:?}"));
            play(&text).summary
        };
        assert!(run(0.99 * threshold).loss.unwrap() < 1e-9, "{} is not stable below", case.id);
        let above = run(1.01 * threshold);
        assert!(
            above.loss.is_none_or(|loss| loss > 1e9) || above.ended == Ended::Diverged,
            "{} is not unstable above",
            case.id
        );
    }
}

/// Stationary variance under constant delay with additive noise, in units of η²σ².
#[test]
fn gradient_noise_has_the_stationary_variance_of_theory() {
    const BURN_IN: usize = 2000;
    const SAMPLES: usize = 720_000;
    for case in oracles("T2.var.tau") {
        let (tau, alpha) = (number(&case.scenario["tau"]) as u64, number(&case.scenario["alpha"]));
        let text = quadratic(
            &format!("(count: {}, compute: Constant(1.0))", tau + 1),
            &format!(
                "noise: Gaussian(sd: 1.0), stop: (updates: {}), record: (trajectory: Every(1))",
                BURN_IN + SAMPLES
            ),
        )
        .replace("0.001", &format!("{alpha:?}"));
        let outcome = play(&text);
        let tail = &outcome.recording.trajectory.points()[BURN_IN..];
        // The mean of w is 0, so its variance is E[w²] = 2 E[f].
        let variance = tail.iter().map(|point| 2.0 * point.loss).sum::<f64>() / tail.len() as f64;
        case.check("variance", variance / (alpha * alpha), number(&case.value), "", SAMPLES as f64);
    }
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

#[test]
fn the_older_gradient_can_have_the_smaller_lag_in_versions() {
    let case = oracle("T3.disagree.reversal");
    let text = scenario_file("disagree-reversal").replace("timeline: 20", "timeline: 20, gradients: All");
    let outcome = play(&text);
    let gradients = applied(&outcome);
    let (compute, starts) = (numbers(&case.scenario["T"]), numbers(&case.scenario["starts"]));
    for gradient in gradients.iter().filter(|gradient| gradient.index == 0) {
        let worker = gradient.worker as usize;
        assert_eq!(gradient.read.seconds(), starts[worker], "the scenario is not the oracle's");
        assert_eq!(gradient.causes.compute.seconds(), compute[worker], "the scenario is not the oracle's");
    }
    for (worker, name) in [(0, "worker0"), (7, "worker7")] {
        let first = gradients.iter().find(|gradient| gradient.worker == worker).unwrap();
        let expected = numbers(&case.value[name]);
        assert_eq!([first.lag_versions() as f64, first.lag().seconds()], expected[..], "{name}");
    }
}
