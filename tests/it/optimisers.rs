//! The optimiser chain: each transform against its published formula, and all of them on a quadratic.

use crate::support::{number, oracle, play, quadratic};
use laggard::kernel::Span;
use laggard::optimiser::{CATALOGUE, Context, DISCOUNTS, Discount, Optimiser, SCHEDULES, Schedule, Spec};

fn chain(text: &str, dimension: usize) -> Optimiser {
    let specs: Vec<Spec> = ron::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    Optimiser::new(&specs, dimension).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The updates that a chain makes of a sequence of gradients, at parameters `w`.
fn updates(text: &str, w: &[f64], gradients: &[&[f64]]) -> Vec<Vec<f64>> {
    let mut optimiser = chain(text, w.len());
    let update = |(step, gradient): (usize, &&[f64])| {
        let mut update = gradient.to_vec();
        let context =
            Context { updates: step as u64, lag_versions: 0, lag: Span::ZERO, worker: 0, parameters: w, read: w };
        optimiser.transform(&mut update, &context);
        update
    };
    gradients.iter().enumerate().map(update).collect()
}

fn scalar(text: &str, gradients: &[f64]) -> Vec<f64> {
    let gradients: Vec<[f64; 1]> = gradients.iter().map(|g| [*g]).collect();
    let slices: Vec<&[f64]> = gradients.iter().map(|g| &g[..]).collect();
    updates(text, &[2.0], &slices).into_iter().map(|u| u[0]).collect()
}

fn assert_close(actual: &[f64], expected: &[f64]) {
    assert_eq!(actual.len(), expected.len());
    for (a, e) in actual.iter().zip(expected) {
        assert!((a - e).abs() <= 1e-12 * e.abs().max(1.0), "{actual:?} for {expected:?}");
    }
}

#[test]
fn plain_and_momentum_methods_follow_their_formulas() {
    assert_close(&scalar("[Sgd(learning_rate: 0.5)]", &[2.0, -4.0]), &[1.0, -2.0]);
    // v: 1, 0.5 + 1, 0.75 + 0
    let heavy = scalar("[HeavyBall(learning_rate: 0.5, momentum: 0.5)]", &[2.0, 2.0, 0.0]);
    assert_close(&heavy, &[1.0, 1.5, 0.75]);
    // u = 0.5·v + 0.5·g
    let nesterov = scalar("[Nesterov(learning_rate: 0.5, momentum: 0.5)]", &[2.0, 2.0, 0.0]);
    assert_close(&nesterov, &[1.5, 1.75, 0.375]);
    // m is 0.5 · 0 + (2 + 4)/2 at the second step; momentum · m moves it once, the gradients by halves.
    let delayed = scalar("[DelayedNesterov(learning_rate: 1.0, momentum: 0.5, every: 2)]", &[2.0, 4.0, 2.0, 0.0]);
    assert_close(&delayed, &[1.0, 2.0 + 1.5, 1.0, 0.0 + 0.5 * (0.5 * 3.0 + 1.0)]);
    let negative = scalar("[HeavyBall(learning_rate: 1.0, momentum: -0.5)]", &[1.0, 0.0]);
    assert_close(&negative, &[1.0, -0.5]);
}

#[test]
fn adaptive_methods_follow_their_formulas() {
    let tiny = 1e-8;
    let adagrad = scalar("[AdaGrad(learning_rate: 0.1)]", &[3.0, 4.0]);
    assert_close(&adagrad, &[0.1 * 3.0 / (3.0 + tiny), 0.1 * 4.0 / (5.0 + tiny)]);
    let rms = scalar("[RmsProp(learning_rate: 0.1, decay: 0.75)]", &[2.0, 4.0]);
    assert_close(&rms, &[0.1 * 2.0 / (1.0 + tiny), 0.1 * 4.0 / ((0.75 + 4.0f64).sqrt() + tiny)]);
    // Bias correction makes the first step of Adam η·sign(g), whatever the size.
    let adam = scalar("[Adam(learning_rate: 0.1, beta_1: 0.5, beta_2: 0.5)]", &[7.0, -1.0]);
    let (m, s) = ((0.5 * 3.5 - 0.5) / 0.75, (0.5 * 24.5 + 0.5) / 0.75);
    assert_close(&adam, &[0.1 * 7.0 / (7.0 + tiny), 0.1 * m / (f64::sqrt(s) + tiny)]);
    let adamw = scalar("[AdamW(learning_rate: 0.1, weight_decay: 0.25, beta_1: 0.5, beta_2: 0.5)]", &[7.0, -1.0]);
    assert_close(&adamw, &[adam[0] + 0.1 * 0.25 * 2.0, adam[1] + 0.1 * 0.25 * 2.0]);
}

#[test]
fn clipping_decay_and_schedules_change_the_update_in_the_order_written() {
    let clipped =
        updates("[Clip(norm: 5.0), Sgd(learning_rate: 0.1)]", &[0.0, 0.0], &[&[6.0, 8.0], &[3.0, 4.0], &[0.0, 0.0]]);
    assert_close(&clipped.concat(), &[0.3, 0.4, 0.3, 0.4, 0.0, 0.0]);
    let after = updates("[Sgd(learning_rate: 0.1), Clip(norm: 5.0)]", &[0.0, 0.0], &[&[6.0, 8.0]]);
    assert_close(&after.concat(), &[0.6, 0.8]);
    // The gradient of ‖w‖²·rate/2 at w = 2.
    assert_close(&scalar("[WeightDecay(rate: 0.5), Sgd(learning_rate: 0.1)]", &[3.0]), &[0.4]);
    let factors = |schedule: &str| scalar(&format!("[Schedule({schedule}), Sgd(learning_rate: 1.0)]"), &[1.0; 6]);
    assert_close(&factors("Warmup(updates: 4)"), &[0.25, 0.5, 0.75, 1.0, 1.0, 1.0]);
    assert_close(&factors("Staircase(every: 2, factor: 0.5)"), &[1.0, 1.0, 0.5, 0.5, 0.25, 0.25]);
    assert_close(&factors("InverseTime(updates: 1)"), &[1.0, 0.5, 1.0 / 3.0, 0.25, 0.2, 1.0 / 6.0]);
    assert_close(&factors("InverseSqrt(updates: 1)")[..4], &[1.0, 0.5f64.sqrt(), (1.0f64 / 3.0).sqrt(), 0.5]);
    let cosine = factors("Cosine(updates: 4, floor: 0.2)");
    let half = 0.5f64.sqrt();
    assert_close(&cosine, &[1.0, 0.2 + 0.4 * (1.0 + half), 0.6, 0.2 + 0.4 * (1.0 - half), 0.2, 0.2]);
}

#[test]
fn every_method_goes_down_a_quadratic_and_rests_at_its_minimum() {
    for entry in CATALOGUE {
        let own_rate = Optimiser::new(&[ron::from_str(entry.example).unwrap()], 1).is_err();
        let text = if own_rate {
            format!("[{}, Sgd(learning_rate: 0.1)]", entry.example)
        } else {
            format!("[{}]", entry.example)
        };
        let mut optimiser = chain(&text, 2);
        let mut w = [3.0, -2.0];
        let curvature = [1.0, 0.3];
        for step in 0..20_000 {
            let mut update = [curvature[0] * w[0], curvature[1] * w[1]];
            let parameters = w;
            let context = Context {
                updates: step,
                lag_versions: 0,
                lag: Span::ZERO,
                worker: 0,
                parameters: &parameters,
                read: &parameters,
            };
            optimiser.transform(&mut update, &context);
            (0..2).for_each(|i| w[i] -= update[i]);
        }
        let loss = (curvature[0] * w[0] * w[0] + curvature[1] * w[1] * w[1]) / 2.0;
        // Adaptive methods with a fixed rate end within about that rate of the minimum.
        assert!(loss < 1e-3, "{text}: {loss} at {w:?}");
    }
}

#[test]
fn a_chain_has_exactly_one_learning_rate() {
    let refuse =
        |text: &str| Optimiser::new(&ron::from_str::<Vec<Spec>>(text).unwrap(), 1).map(|_| ()).unwrap_err().to_string();
    assert!(refuse("[]").contains("no learning rate"));
    assert!(refuse("[Clip(norm: 1.0)]").contains("no learning rate"));
    assert!(refuse("[Sgd(learning_rate: 1.0), Adam(learning_rate: 1.0)]").contains("2 learning rates (Sgd, Adam)"));
}

#[test]
fn the_catalogue_has_every_transform() {
    crate::support::check_catalogue::<Spec>(CATALOGUE);
    crate::support::check_catalogue::<Schedule>(SCHEDULES);
    crate::support::check_catalogue::<Discount>(DISCOUNTS);
}

/// The update that a chain makes of one scalar gradient with a lag.
fn stale(text: &str, gradient: f64, lag_versions: i64, lag_s: f64, now: f64, read: f64) -> f64 {
    let mut update = [gradient];
    let lag = Span::from_seconds(lag_s).unwrap();
    let context = Context { updates: 0, lag_versions, lag, worker: 0, parameters: &[now], read: &[read] };
    chain(text, 1).transform(&mut update, &context);
    update[0]
}

/// Steps of length 2 on average, and a gap of 3: the update is divided by 1 + 3/2.
#[test]
fn gap_aware_steps_are_divided_by_the_gap() {
    let mut optimiser = chain("[GapAware, Sgd(learning_rate: 1.0)]", 1);
    let mut step = |now: f64, read: f64| {
        let mut update = [1.0];
        let (parameters, read) = ([now], [read]);
        let context =
            Context { updates: 0, lag_versions: 9, lag: Span::ZERO, worker: 0, parameters: &parameters, read: &read };
        optimiser.transform(&mut update, &context);
        update[0]
    };
    assert_eq!([step(0.0, 5.0), step(1.0, 1.0), step(4.0, 1.0)], [1.0, 1.0, 1.0 / 2.5]);
}

/// In a step with several gradients, what knows the lag sees each of them with its own.
#[test]
fn each_gradient_of_a_step_is_discounted_by_its_own_lag() {
    let workers = "(compute: Constant(1.0)), (compute: Constant(3.5))";
    let rest = "protocol: KBatchAsync(k: 2), stop: (updates: 2), record: (timeline: 9)";
    let text = quadratic(workers, rest);
    let text =
        text.replace("Sgd(learning_rate: 0.001)", "Discount(Polynomial(exponent: 1.0)), Sgd(learning_rate: 0.5)");
    let rows = play(&text).recording.timeline;
    // Step 1 with two fresh gradients of 1, at 2 s; step 2 at 3.5 s, with a fresh one of ½ and one of 1 that is one version old.
    assert_eq!(rows[0].w_after[0], 0.5);
    assert_eq!(rows[3].gradient.lag_versions(), 1);
    assert_eq!(rows[3].w_after[0], 0.5 - 0.5 * (0.5 + 1.0 / 2.0) / 2.0);
}

#[test]
fn stale_steps_are_clipped_shorter() {
    let clipped =
        |gradient, lag| stale("[ClipByLag(norm: 4.0), Sgd(learning_rate: 1.0)]", gradient, lag, 0.0, 0.0, 0.0);
    assert_eq!([clipped(9.0, 0), clipped(9.0, 3), clipped(-0.5, 3), clipped(9.0, -1)], [4.0, 1.0, -0.5, 4.0]);
}

#[test]
fn discounts_are_the_published_functions_of_the_lag() {
    let functions = [
        ("T9.fedasync.const", "Polynomial(exponent: 0.0)"),
        ("T9.fedasync.poly.a0.5", "Polynomial(exponent: 0.5)"),
        ("T9.fedasync.poly.a1", "Polynomial(exponent: 1.0)"),
        ("T9.fedasync.poly.a2", "Polynomial(exponent: 2.0)"),
        ("T9.fedasync.hinge.a10.b4", "Hinge(slope: 10.0, after: 4)"),
        ("T9.fedasync.hinge.a1.b2", "Hinge(slope: 1.0, after: 2)"),
        ("T9.fedasync.hinge.a10.b6", "Hinge(slope: 10.0, after: 6)"),
    ];
    for (id, text) in functions {
        let case = oracle(id);
        let discount: Discount = ron::from_str(text).unwrap();
        for (lag, expected) in case.value.as_object().unwrap() {
            let factor = discount.factor(lag.parse().unwrap(), 0.0);
            case.check_within(&format!("s({lag})"), factor, number(expected), 1e-12);
        }
        assert_eq!(discount.factor(-3, 0.0), 1.0, "a gradient from the future is not stale");
    }
    let factor = |text: &str, versions, seconds| ron::from_str::<Discount>(text).unwrap().factor(versions, seconds);
    assert_eq!([0, 1, 4].map(|lag| factor("Inverse", lag, 0.0)), [1.0, 1.0, 0.25]);
    assert_eq!([0.0, 2.0, 4.0].map(|lag_s| factor("HalfLife(seconds: 2.0)", 9, lag_s)), [1.0, 0.5, 0.25]);
    assert_eq!([7, 8, 9].map(|lag| factor("Cutoff(after: 8)", lag, 0.0)), [1.0, 1.0, 0.0]);
}
