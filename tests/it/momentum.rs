//! Asynchrony as momentum, and momentum under delay: expected iterates, rates, variances and stability of quadratics.

use crate::support::{Oracle, exponential_workers, number, numbers, oracle, oracles, quadratic, source, watch};
use laggard::cluster::Simulation;
use laggard::study::Prepared;

/// f(w) = w²/2 from w = 1 with `optimiser`, in place of the plain one.
fn with(optimiser: &str, workers: &str, rest: &str) -> String {
    quadratic(workers, rest).replace("Sgd(learning_rate: 0.001)", optimiser)
}

/// The mean of w after each of `steps` steps, over many replications, and its standard error.
fn mean_path(text: &str, steps: usize, replications: u64) -> Vec<(f64, f64)> {
    let mut sums = vec![(0.0, 0.0); steps];
    for replication in 0..replications {
        let prepared = Prepared::new(&source(text), None, Some(replication)).unwrap_or_else(|error| panic!("{error}"));
        let mut simulation = Simulation::new(prepared.model);
        let mut seen = 0;
        while seen < steps {
            let ended = simulation.advance(1, &mut ()).unwrap();
            if simulation.updates() as usize > seen {
                let w = simulation.parameters()[0];
                sums[seen].0 += w;
                sums[seen].1 += w * w;
                seen += 1;
            }
            assert!(ended.is_none() || seen == steps);
        }
    }
    let n = replications as f64;
    sums.iter().map(|(sum, squares)| (sum / n, ((squares / n - (sum / n).powi(2)).max(0.0) / n).sqrt())).collect()
}

fn check_path(case: &Oracle, path: &[(f64, f64)], expected: &[f64]) {
    for (step, (&(mean, error), expected)) in path.iter().zip(expected).enumerate() {
        // One in 16,000 for each of some twenty correlated points.
        case.check_within(&format!("E[w] after {} steps", step + 1), mean, *expected, 4.5 * error + 1e-12);
    }
}

/// E[w] of n memoryless workers is heavy-ball momentum of 1 − 1/n, started with velocity −αw₀ (after Mitliagkas et al., 2016).
#[test]
fn asynchrony_is_momentum_in_the_mean() {
    for case in oracles("T6.mean.") {
        let (n, alpha) = (number(&case.scenario["n"]), number(&case.scenario["alpha"]));
        let expected = numbers(&case.value);
        let workers = format!("(count: {n}, compute: Exponential(mean: 1.0))");
        let text = with(&format!("Sgd(learning_rate: {alpha:?})"), &workers, "stop: (updates: 21)");
        check_path(&case, &mean_path(&text, 20, 4000), &expected[1..21]);
    }
}

#[test]
fn k_async_is_less_momentum() {
    for case in oracles("T6.kasync.mean.") {
        let (n, k, alpha) = (number(&case.scenario["n"]), number(&case.scenario["K"]), number(&case.scenario["alpha"]));
        let workers = format!("(count: {n}, compute: Exponential(mean: 1.0))");
        let rest = format!("protocol: KAsync(k: {k}), stop: (updates: 16)");
        let text = with(&format!("Sgd(learning_rate: {alpha:?})"), &workers, &rest);
        check_path(&case, &mean_path(&text, 15, 4000), &numbers(&case.value)[1..16]);
    }
}

#[test]
fn workers_of_different_speeds_and_objectives_in_the_mean() {
    for case in oracles("T6.het.") {
        let (a, b) = (numbers(&case.scenario["a"]), numbers(&case.scenario["b"]));
        let classes: String = a
            .iter()
            .zip(&b)
            .map(|(curvature, minimum)| format!("(curvature: {curvature:?}, minimum: {minimum:?}),"))
            .collect();
        let eta = number(&case.scenario["eta"]);
        let text = with(
            &format!("Sgd(learning_rate: {eta:?})"),
            &exponential_workers(&numbers(&case.scenario["p"])),
            "stop: (updates: 16)",
        );
        let text = text.replace("Quadratic(curvature: 1.0)", &format!("Shifted(classes: [{classes}])"));
        check_path(&case, &mean_path(&text, 15, 4000), &numbers(&case.value["mean"])[1..16]);
    }
}

/// The rate at which E[w] shrinks, from the mean path: over a whole number of its oscillations, or plainly.
#[test]
fn momentum_on_top_of_asynchrony() {
    for case in oracles("T6.total.") {
        let name = case.id.clone();
        let part = |key: &str| -> f64 {
            let from = name.find(key).unwrap() + key.len();
            let rest: String = name[from..].chars().take_while(|c| c.is_ascii_digit() || "-.".contains(*c)).collect();
            rest.trim_end_matches('.').parse().unwrap()
        };
        let (n, beta, alpha) = (part(".n"), part(".b"), part(".a"));
        let rho = number(&case.value);
        // E[w] follows (z−1)(z−β)(z−μ) + α(1−μ)z², from three steps that are averages themselves: the recursion is checked at
        // every later step, whose largest root is the oracle's.
        let mu = 1.0 - 1.0 / n;
        let at = |z: f64| (z - 1.0) * (z - beta) * (z - mu) + alpha * (1.0 - mu) * z * z;
        let coefficients = [-(1.0 + beta + mu) + alpha * (1.0 - mu), beta + mu + beta * mu, -beta * mu];
        let modulus = largest_root(coefficients);
        case.check_within("largest root", modulus, rho, 1e-9);
        assert!(at(2.0) > 0.0);
        let workers = format!("(count: {n}, compute: Exponential(mean: 1.0))");
        let optimiser = format!("HeavyBall(learning_rate: {alpha:?}, momentum: {beta:?})");
        let path = mean_path(&with(&optimiser, &workers, "stop: (updates: 13)"), 12, 6000);
        for step in 3..12 {
            let [c2, c1, c0] = coefficients;
            let predicted = -c2 * path[step - 1].0 - c1 * path[step - 2].0 - c0 * path[step - 3].0;
            let off: f64 =
                [(1.0, 0), (c2, 1), (c1, 2), (c0, 3)].iter().map(|(c, back)| c.abs() * path[step - back].1).sum();
            case.check_within(&format!("E[w] after {} steps", step + 1), path[step].0, predicted, 4.5 * off);
        }
    }
}

/// The largest modulus of a root of z³ + c₂z² + c₁z + c₀, by the growth of its recursion.
fn largest_root([c2, c1, c0]: [f64; 3]) -> f64 {
    let companion = |v: [f64; 3]| [-c2 * v[0] - c1 * v[1] - c0 * v[2], v[0], v[1]];
    let norm = |v: [f64; 3]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    // The characteristic polynomial of the square of the companion has squared roots; repeated squaring separates them.
    let mut matrix = [companion([1.0, 0.0, 0.0]), companion([0.0, 1.0, 0.0]), companion([0.0, 0.0, 1.0])];
    let mut log = 0.0;
    let mut power = 1.0f64;
    for _ in 0..60 {
        let scale = matrix.iter().map(|column| norm(*column)).fold(0.0, f64::max);
        log += scale.ln() / power;
        matrix.iter_mut().flatten().for_each(|x| *x /= scale);
        let apply =
            |v: [f64; 3]| std::array::from_fn(|row| (0..3).map(|column| matrix[column][row] * v[column]).sum::<f64>());
        matrix = [apply(matrix[0]), apply(matrix[1]), apply(matrix[2])];
        power *= 2.0;
    }
    log.exp()
}

/// The stationary variance of w under unit gradient noise, in units of η²: over one long run.
fn variance(text: &str, alpha: f64, skip: u64) -> (f64, f64) {
    let (mut squares, mut count) = (0.0, 0.0);
    let mut last = u64::MAX;
    watch(text, |_, step| {
        if step.updates > skip && step.updates != last {
            last = step.updates;
            squares += step.before[0] * step.before[0];
            count += 1.0;
        }
    });
    (squares / count / (alpha * alpha), count)
}

#[test]
fn memoryless_lag_makes_less_noise_than_constant_lag() {
    const STEPS: u64 = 1_000_000;
    for case in oracles("T6.var.") {
        let (n, alpha) = (number(&case.scenario["n"]), number(&case.scenario["alpha"]));
        let workers = format!("(count: {n}, compute: Exponential(mean: 1.0))");
        let rest = format!("noise: Gaussian(sd: 1.0), stop: (updates: {STEPS})");
        let (variance, count) =
            variance(&with(&format!("Sgd(learning_rate: {alpha:?})"), &workers, &rest), alpha, 2000);
        let expected = &case.value["random_lag"];
        let expected = if expected.is_null() { number(&case.value) } else { number(expected) };
        // The oracle's error is that of replications; one long run has no more.
        case.check("variance", variance, expected, "", count);
    }
    for case in oracles("T6.kasync.var.") {
        let (n, k, alpha) = (number(&case.scenario["n"]), number(&case.scenario["K"]), number(&case.scenario["alpha"]));
        let workers = format!("(count: {n}, compute: Exponential(mean: 1.0))");
        let rest = format!("protocol: KAsync(k: {k}), noise: Gaussian(sd: 1.0), stop: (updates: 300000)");
        let (variance, count) =
            variance(&with(&format!("Sgd(learning_rate: {alpha:?})"), &workers, &rest), alpha, 2000);
        // Of the mean of K gradients, in units of η²σ²/K.
        case.check("variance", variance * k, number(&case.value), "", count);
    }
}

/// How much a run has grown or shrunk: the largest |w| at its end over that at its beginning.
fn growth(text: &str, window: usize) -> f64 {
    let mut path = Vec::new();
    watch(text, |_, step| path.push(step.after[0].abs()));
    let most = |part: &[f64]| part.iter().copied().fold(0.0, f64::max);
    most(&path[path.len() - window..]) / most(&path[window..2 * window])
}

/// n workers of equal constant speed: the lag is τ = n − 1 for ever.
fn equal(n: f64) -> String {
    format!("(count: {n}, compute: Constant(1.0))")
}

/// Stability thresholds of heavy ball under constant delay: half a percent below it shrinks, half a percent above it grows.
#[test]
fn momentum_under_constant_delay_has_a_sharp_threshold() {
    for case in oracles("T2.momentum.tau") {
        let (tau, mu) = (number(&case.scenario["tau"]), number(&case.scenario["mu"]));
        let edge = number(&case.value);
        let run = |factor: f64| {
            let optimiser = format!("HeavyBall(learning_rate: {:?}, momentum: {mu:?})", edge * factor);
            growth(&with(&optimiser, &equal(tau + 1.0), "stop: (updates: 6000)"), 400)
        };
        assert!(run(0.995) < 0.9, "{}: {}", case.id, run(0.995));
        assert!(run(1.005) > 1.1, "{}: {}", case.id, run(1.005));
    }
}

/// The best momentum under delay is negative: with it the iterates shrink at the oracle's rate, faster than without.
#[test]
fn the_best_momentum_under_delay_is_negative() {
    for case in oracles("T2.momentum.best.") {
        let tau: f64 = case.id.trim_start_matches("T2.momentum.best.tau").parse().unwrap();
        let (mu, alpha, rho) = (number(&case.value["mu"]), number(&case.value["alpha"]), number(&case.value["rho"]));
        if tau == 1.0 {
            // Exactly −1 and 1: two steps and it is there; a scenario's momentum lies strictly between −1 and 1.
            continue;
        }
        let steps = 120;
        let optimiser = format!("HeavyBall(learning_rate: {alpha:?}, momentum: {mu:?})");
        let mut path = Vec::new();
        watch(&with(&optimiser, &equal(tau + 1.0), &format!("stop: (updates: {steps})")), |_, step| {
            path.push(step.after[0].abs());
        });
        // A multiple root: |w| ~ t ρ^t or t² ρ^t, so the rate over 60 steps is that much slower.
        let most = |from: usize| path[from..from + 20].iter().copied().fold(0.0, f64::max);
        let rate = (most(100) / most(40)).powf(1.0 / 60.0);
        let slack = (100.0f64 / 40.0).powf(2.0 / 60.0);
        assert!(rate > rho * 0.995 && rate < rho * slack * 1.005, "{}: {rate} {rho}", case.id);
        assert!(rate < number(&case.value["rho_without_momentum"]) * slack, "{}", case.id);
        assert!(mu < 0.0);
    }
}

/// The moduli are those of the roots of the recursion: √μ while they are complex.
#[test]
fn the_rate_of_the_mean_is_that_of_its_recursion() {
    for case in oracles("T6.rate.") {
        let (n, alpha) = (number(&case.scenario["n"]), number(&case.scenario["alpha"]));
        let mu = 1.0 - 1.0 / n;
        let expected = number(&case.value);
        let path = numbers(&oracle(&case.id.replace("rate", "mean")).value);
        // The exact means obey the recursion, whose roots have this modulus.
        let b = 1.0 + mu - (1.0 - mu) * alpha;
        for step in 2..path.len() {
            case.check_within("recursion", path[step], b * path[step - 1] - mu * path[step - 2], 1e-12);
        }
        let discriminant = b * b - 4.0 * mu;
        let modulus = if discriminant < 0.0 { mu.sqrt() } else { (b + discriminant.sqrt()) / 2.0 };
        case.check_within("modulus", modulus, expected, 1e-12);
    }
}

/// Between the two thresholds, random lag is stable where constant lag of the same mean is not.
#[test]
fn random_lag_is_stable_where_constant_lag_is_not() {
    for case in oracles("T6.ms.").iter().filter(|case| number(&case.scenario["n"]) >= 4.0) {
        let n = number(&case.scenario["n"]);
        let (random, constant) = (number(&case.value["alpha_ms"]), number(&case.value["alpha_constant_lag"]));
        let alpha = 0.5 * (random.min(2.0 * constant) + constant);
        let run = |workers: &str| {
            let text = with(&format!("Sgd(learning_rate: {alpha:?})"), workers, "stop: (updates: 3000)");
            growth(&text, 300)
        };
        assert!(run(&format!("(count: {n}, compute: Exponential(mean: 1.0))")) < 0.5, "{}", case.id);
        assert!(run(&equal(n)) > 2.0, "{}", case.id);
    }
}
