//! Who takes part, and where that leads when workers do not see the same objective.

use crate::support::{play, quadratic};

fn shifted(text: &str, a: &[f64], b: &[f64], eta: f64) -> String {
    let classes: String = a.iter().zip(b).map(|(a, b)| format!("(curvature: {a:?}, minimum: {b:?}),")).collect();
    text.replace("Quadratic(curvature: 1.0)", &format!("Shifted(classes: [{classes}])"))
        .replace("0.001", &format!("{eta:?}"))
}

/// More local steps on its own objective are a greater part in where it leads.
#[test]
fn local_steps_count_in_the_bias() {
    let protocol = "AsyncLocalSgd(local: (steps: 8, learning_rate: 0.001), by_speed: true)";
    let workers = "(compute: Constant(1.0)), (compute: Constant(4.0))";
    let rest = format!("protocol: {protocol}, stop: (updates: 20000)");
    let text = shifted(&quadratic(workers, &rest), &[1.0, 1.0], &[0.0, 1.0], 0.5);
    let summary = play(&text.replace("learning_rate: 0.5), by", "learning_rate: 0.001), by")).summary;
    // 8 steps of one for 2 of the other: it settles at 0.2, not at 0.5.
    assert!((summary.stationary_bias.unwrap() - 0.3).abs() < 1e-3, "{:?}", summary.stationary_bias);
    assert!((summary.distance.unwrap() - 0.3).abs() < 0.01, "{:?}", summary.distance);
}

/// Whoever is sent more tasks counts no more: gradients weigh 1 / (n pᵢ).
#[test]
fn routing_by_shares_is_without_bias() {
    let workers = "(compute: Exponential(mean: 1.0)), (compute: Exponential(mean: 1.0))";
    let rest = "protocol: GeneralisedAsync(tasks: 4, shares: [0.9, 0.1]), stop: (updates: 200000)";
    let text = shifted(&quadratic(workers, rest), &[1.0, 1.0], &[0.0, 1.0], 0.001);
    let summary = play(&text).summary;
    // Shares of weight are binomial: 20,000 gradients of weight 5 for 100,000.
    assert!(summary.stationary_bias.unwrap() < 0.01, "{:?}", summary.stationary_bias);
    let routed = "Custom(pace: Routed(tasks: 4, shares: [0.9, 0.1]))";
    let biased = text.replace("GeneralisedAsync(tasks: 4, shares: [0.9, 0.1])", routed);
    assert!((play(&biased).summary.stationary_bias.unwrap() - 0.4).abs() < 0.01);
}
