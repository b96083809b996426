//! Who takes part, and where that leads when workers do not see the same objective.

use crate::support::{exponential_workers, number, numbers, oracle, oracles, play, quadratic, watch};

fn shifted(text: &str, a: &[f64], b: &[f64], eta: f64) -> String {
    let classes: String = a.iter().zip(b).map(|(a, b)| format!("(curvature: {a:?}, minimum: {b:?}),")).collect();
    text.replace("Quadratic(curvature: 1.0)", &format!("Shifted(classes: [{classes}])"))
        .replace("0.001", &format!("{eta:?}"))
}

/// E[w] = Σ pᵢcᵢbᵢ / Σ pᵢcᵢ with cᵢ = aᵢ / (1 + ηaᵢ), for exponential workers; and what the summary tells of it.
#[test]
fn the_stationary_mean_is_that_of_those_who_take_part() {
    const STEPS: u64 = 1_000_000;
    for case in oracles("T8.bias.exp.") {
        let (p, a, b) = (numbers(&case.scenario["p"]), numbers(&case.scenario["a"]), numbers(&case.scenario["b"]));
        let eta = number(&case.scenario["eta"]);
        let text = quadratic(&exponential_workers(&p), &format!("stop: (updates: {STEPS})"));
        let text = shifted(&text, &a, &b, eta);
        let (mut sum, mut count) = (0.0, 0.0);
        watch(&text, |_, step| {
            if step.updates > 1000 {
                sum += step.before[0];
                count += 1.0;
            }
        });
        case.check("E[w]", sum / count, number(&case.value["Ew"]), "", count);
        let bias = (number(&case.value["small_step"]) - number(&case.value["minimiser"])).abs();
        let summary = play(&text.replace(&STEPS.to_string(), "200000")).summary;
        // Shares are binomial.
        case.check_within("stationary bias", summary.stationary_bias.unwrap(), bias, 0.01 * bias.max(1.0));
    }
}

#[test]
fn deterministic_workers_go_round_an_exact_orbit() {
    for case in oracles("T8.bias.det.") {
        let (times, starts) = (numbers(&case.scenario["T"]), numbers(&case.scenario["starts"]));
        let (a, b) = (numbers(&case.scenario["a"]), numbers(&case.scenario["b"]));
        let workers = crate::support::constant_workers(&times, &starts);
        let text = quadratic(&workers, "stop: (updates: 4000)");
        let mut path = Vec::new();
        watch(&shifted(&text, &a, &b, number(&case.scenario["eta"])), |gradient, step| {
            path.push((f64::from(gradient.worker), step.after[0]));
        });
        let (orbit, worker) = (numbers(&case.value["orbit"]), numbers(&case.value["worker"]));
        let period = orbit.len();
        let end = &path[path.len() - 2 * period..];
        // The orbit may be entered anywhere.
        let fits = (0..period).any(|shift| {
            (0..period).all(|place| {
                let (who, w) = end[shift + place];
                who == worker[place] && (w - orbit[place]).abs() < 1e-10
            })
        });
        assert!(fits, "{}: {:?}", case.id, &end[..period]);
    }
}

/// Dropping what is stale silently excludes the slow, and moves the point where SGD settles further away.
#[test]
fn dropping_moves_the_fixed_point() {
    let case = oracle("T8.bias.drop");
    let text = quadratic(&exponential_workers(&[0.9, 0.1]), "protocol: Ringmaster(bound: 6), stop: (updates: 400000)");
    let summary = play(&shifted(&text, &[1.0, 4.0], &[0.0, 1.0], 0.001)).summary;
    let settles = 0.8 - summary.stationary_bias.unwrap();
    // From the shares that came about: binomial, of the slow worker's 5 % of 400,000.
    case.check_within("settles at", settles, number(&case.value), 0.003);
    let without = quadratic(&exponential_workers(&[0.9, 0.1]), "stop: (updates: 400000)");
    let without = play(&shifted(&without, &[1.0, 4.0], &[0.0, 1.0], 0.001)).summary;
    assert!(without.stationary_bias.unwrap() < summary.stationary_bias.unwrap());
    // The end of the run is near it.
    assert!((summary.loss.unwrap() - without.loss.unwrap()).abs() > 0.01);
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
