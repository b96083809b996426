//! Local steps, elastic averaging and model mixing, against exact recursions.

use crate::support::{number, numbers, oracle, oracles, quadratic, watch};

/// The server's parameters after every step.
fn path(text: &str) -> Vec<f64> {
    let mut path: Vec<f64> = Vec::new();
    let mut last = 0;
    watch(text, |_, step| {
        if step.updates != last {
            last = step.updates;
            path.push(step.after[0]);
        }
    });
    path
}

fn outer(text: &str) -> String {
    text.replace("0.001", "1.0")
}

fn shifted(text: &str, a: &[f64], b: &[f64]) -> String {
    let classes: String = a.iter().zip(b).map(|(a, b)| format!("(curvature: {a:?}, minimum: {b:?}),")).collect();
    text.replace("Quadratic(curvature: 1.0)", &format!("Shifted(classes: [{classes}])"))
}

/// FedAvg contracts towards a point that is not the minimiser if local steps are many.
#[test]
fn local_sgd_contracts_to_its_own_fixed_point() {
    for case in oracles("T9.localsgd.").iter().filter(|case| !case.id.contains("var")) {
        let (a, b) = (numbers(&case.scenario["a"]), numbers(&case.scenario["b"]));
        let (eta, steps) = (number(&case.scenario["eta"]), number(&case.scenario["H"]));
        let protocol = format!("LocalSgd(local: (steps: {steps}, learning_rate: {eta:?}))");
        let rest = format!("protocol: {protocol}, stop: (updates: 300)");
        let text = quadratic("(compute: Constant(1.0)), (compute: Constant(1.0))", &rest);
        let path = path(&shifted(&outer(&text), &a, &b));
        let fixed = number(&case.value["fixed_point"]);
        case.check_within("fixed point", path[299], fixed, 1e-12);
        let contraction = (path[1] - fixed) / (path[0] - fixed);
        case.check_within("contraction", contraction, number(&case.value["contraction"]), 1e-9);
    }
}

#[test]
fn the_noise_of_local_sgd_does_not_depend_on_the_number_of_steps() {
    const ROUNDS: f64 = 100_000.0;
    for case in oracles("T9.localsgd.var.") {
        let part = |key: &str| -> f64 {
            let from = case.id.find(key).unwrap() + key.len();
            case.id[from..].chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
        };
        let (n, steps) = (part(".n"), part(".H"));
        let eta = if n == 4.0 { 0.25 } else { 0.5 };
        let protocol = format!("LocalSgd(local: (steps: {steps}, learning_rate: {eta:?}))");
        let rest = format!("protocol: {protocol}, noise: Gaussian(sd: 1.0), stop: (updates: {ROUNDS})");
        let text = outer(&quadratic(&format!("(count: {n}, compute: Constant(1.0))"), &rest));
        let squares: f64 = path(&text).iter().map(|w| w * w).sum();
        case.check_relative("variance", squares / ROUNDS / (eta * eta), number(&case.value), ROUNDS);
    }
}

/// One local step, sent as it is, is an asynchronous gradient step.
#[test]
fn one_local_step_is_a_gradient() {
    let workers = "(count: 3, compute: Exponential(mean: 1.0))";
    let noise = "noise: Gaussian(sd: 0.5), stop: (updates: 200)";
    let plain = path(&quadratic(workers, noise).replace("0.001", "0.125"));
    let protocol = "protocol: AsyncLocalSgd(local: (steps: 1, learning_rate: 0.125))";
    let local = path(&outer(&quadratic(workers, &format!("{protocol}, {noise}"))));
    for (a, b) in plain.iter().zip(&local) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }
}

/// The glossary's stale worker, mixed in as a model: it pulls towards the old point, where its gradient would push beyond.
#[test]
fn fedasync_mixes_models() {
    let case = oracle("T9.fedasync.mix");
    // Worker 1 reads w = 2, takes one step of ½ to w = 1, and arrives with a lag of 3 when the server is at ½.
    for (name, discount) in [
        ("const", "None"),
        ("poly0.5", "Some(Polynomial(exponent: 0.5))"),
        ("hinge10_4", "Some(Hinge(slope: 10.0, after: 4))"),
    ] {
        let protocol = format!("FedAsync(local: (steps: 1, learning_rate: 0.5), discount: {discount})");
        let text = format!(
            "Scenario(objective: Quadratic(curvature: 1.0), start: [2.0], optimiser: [Sgd(learning_rate: 0.6)],
             protocol: {protocol}, workers: [(compute: Constant(1.0)), (compute: Constant(3.5))], stop: (updates: 4))"
        );
        let mut seen = None;
        watch(&text, |gradient, step| {
            if gradient.worker == 1 {
                assert_eq!(gradient.lag_versions(), 3);
                // The server is elsewhere than in the glossary; mixing is linear in it: w + αs(w_local − w).
                let rate = (step.after[0] - step.before[0]) / (1.0 - step.before[0]);
                seen = Some(0.5 + rate * (1.0 - 0.5));
            }
        });
        case.check_within(name, seen.expect("worker 1 arrives"), number(&case.value[name]), 1e-12);
    }
}

/// Elastic averaging: one round of p workers in turn is stable just below the oracle's α, and unstable just above.
#[test]
fn elastic_averaging_in_turn_has_a_sharp_threshold() {
    for case in oracles("T9.easgd.rr.") {
        let eta = number(&case.scenario["eta"]);
        for p in [1, 2, 4, 8] {
            let edge = number(&case.value[format!("p{p}")]);
            let run = |alpha: f64| {
                let protocol = format!("Easgd(alpha: {alpha:?}, local: (steps: 1, learning_rate: {eta:?}))");
                let rest = format!("protocol: {protocol}, stop: (updates: {})", 8000 * p);
                let path = path(&outer(&quadratic(&format!("(count: {p}, compute: Constant(1.0))"), &rest)));
                let most = |part: &[f64]| part.iter().fold(0.0f64, |most, w| most.max(w.abs()));
                most(&path[path.len() - 100 * p..]) / most(&path[path.len() / 2..path.len() / 2 + 100 * p])
            };
            assert!(run(edge * 0.999) < 0.9, "{} p{p}: {}", case.id, run(edge * 0.999));
            assert!(run(edge * 1.001) > 1.1, "{} p{p}: {}", case.id, run(edge * 1.001));
        }
    }
}

/// All at once: the mean of the workers and the centre follow two modes.
#[test]
fn elastic_averaging_together_has_two_modes() {
    for (id, p, eta, alpha) in [("T9.easgd.sync.p4", 4, 0.5, 0.125), ("T9.easgd.sync.p8", 8, 0.25, 0.1)] {
        let case = oracle(id);
        let protocol = format!("Easgd(alpha: {alpha:?}, local: (steps: 1, learning_rate: {eta:?}), together: true)");
        let rest = format!("protocol: {protocol}, stop: (updates: 60)");
        let path = path(&outer(&quadratic(&format!("(count: {p}, compute: Constant(1.0))"), &rest)));
        let modes = numbers(&case.value["mean_mode"]);
        let (sum, product) = (modes[0] + modes[1], modes[0] * modes[1]);
        for step in 2..40 {
            let predicted = sum * path[step - 1] - product * path[step - 2];
            case.check_within("centre", path[step], predicted, 1e-12);
        }
        assert!(alpha * f64::from(p) < number(&case.value["beta_limit"]));
    }
}

/// Work in proportion to speed: everyone takes about as long, the fastest all of its steps.
#[test]
fn slower_workers_take_fewer_local_steps() {
    let protocol = "AsyncLocalSgd(local: (steps: 8, learning_rate: 0.1), by_speed: true)";
    let workers = "(compute: Constant(1.0)), (compute: Constant(2.0)), (compute: Constant(100.0))";
    let rest = format!("protocol: {protocol}, stop: (time_s: 100.0)");
    let mut cycles = std::collections::BTreeMap::new();
    watch(&outer(&quadratic(workers, &rest)), |gradient, _| {
        cycles.insert(gradient.worker, gradient.causes.compute.seconds());
    });
    assert_eq!(cycles.into_iter().collect::<Vec<_>>(), [(0, 8.0), (1, 8.0), (2, 100.0)]);
}
