//! Momentum, rates and moments under lag against the oracles.

use crate::support::{given, near, number, numbers, oracle, oracles, same, value};
use laggard::theory::moments::{Memoryless, periodic_orbit};
use laggard::theory::{momentum, policy, stability};

#[test]
fn rates_and_iterates_under_a_constant_lag() {
    for oracle in oracles("T2.delay.") {
        let tau = given(&oracle, "tau") as u64;
        let (edge, fastest) = (stability::constant_lag_edge(tau), stability::constant_lag_fastest(tau).0);
        for (name, alpha) in [("rate_at_half_max", edge / 2.0), ("rate_at_half_crit", fastest / 2.0)] {
            let rate = stability::constant_lag_rate(alpha, tau);
            assert!((rate - value(&oracle, name)).abs() < 1e-13, "{}: {name} {rate}", oracle.id);
            let among_all = momentum::heavy_ball_rate(alpha, 0.0, tau);
            assert!((rate - among_all).abs() < 1e-13, "{}: {rate} {among_all}", oracle.id);
        }
    }
    for oracle in oracles("T2.delay.") {
        let tau = given(&oracle, "tau") as u64;
        let period = stability::constant_lag_period(tau);
        assert_eq!(period as f64, value(&oracle, "oscillation_period_at_alpha_max"));
        let late = 400 * (tau as usize + 1);
        let w =
            stability::constant_lag_iterates(stability::constant_lag_edge(tau), tau as usize, late + period as usize);
        assert!((w[late + period as usize] - w[late]).abs() < 1e-9, "{}", oracle.id);
        assert!((stability::constant_lag_rate(stability::constant_lag_edge(tau), tau) - 1.0).abs() < 1e-14);
    }
    let diverging = oracle("T2.diverge.rate");
    let rate = stability::constant_lag_rate(given(&diverging, "alpha"), given(&diverging, "tau") as u64);
    same(&diverging, "rate", rate, diverging.value.as_f64().unwrap());
    for oracle in oracles("T2.traj.") {
        let expected = numbers(&oracle.value);
        let tau = given(&oracle, "tau") as usize;
        let actual = stability::constant_lag_iterates(given(&oracle, "lr"), tau, expected.len() - 1);
        // These are dyadic: exact but for the digits that were printed.
        for (actual, expected) in actual.iter().zip(&expected) {
            assert!((actual - expected).abs() <= 1e-15, "{}: {actual} {expected}", oracle.id);
        }
    }
    for oracle in oracles("T2.var.sync.") {
        let (n, alpha) = if oracle.id.ends_with("n4") { (4, 0.25) } else { (8, 0.5) };
        same(&oracle, "variance", stability::sync_variance(alpha, n).unwrap(), oracle.value.as_f64().unwrap());
    }
    // Found by an optimiser there.
    for oracle in oracles("T2.kappa.") {
        let curvatures = numbers(&oracle.scenario["lambda"]);
        let (eta, rate) = stability::constant_lag_best(curvatures[1], curvatures[0], given(&oracle, "tau") as u64);
        near(&oracle, "learning rate", eta, value(&oracle, "eta"), 1e-7);
        near(&oracle, "rate", rate, value(&oracle, "rho"), 1e-8);
        assert!(rate <= value(&oracle, "rho") + 1e-14, "{}", oracle.id);
    }
    for oracle in oracles("T9.lrscale.") {
        let tau = oracle.id.rsplit("tau").next().unwrap().parse().unwrap();
        let weights = [policy::inverse_lag(tau), policy::polynomial(tau, 1.0), policy::polynomial(tau, 0.5)];
        for (weight, name) in weights.into_iter().zip(["over_tau", "over_1plus", "over_sqrt"]) {
            same(&oracle, name, stability::scaled_lag_edge(tau, weight), value(&oracle, name));
        }
    }
}

#[test]
fn momentum_under_a_constant_lag() {
    for oracle in oracles("T2.momentum.tau") {
        let (mu, tau) = (given(&oracle, "mu"), given(&oracle, "tau") as u64);
        let edge = momentum::heavy_ball_edge(mu, tau);
        same(&oracle, "edge", edge, oracle.value.as_f64().unwrap());
        assert!(momentum::heavy_ball_rate(edge * 0.999, mu, tau) < 1.0, "{}", oracle.id);
        assert!(momentum::heavy_ball_rate(edge * 1.001, mu, tau) > 1.0, "{}", oracle.id);
    }
    // Found by an optimiser there, which the closed form beats.
    for oracle in oracles("T2.momentum.best.") {
        let tau = oracle.id.rsplit("tau").next().unwrap().parse().unwrap();
        let best = momentum::heavy_ball_fastest(tau);
        near(&oracle, "momentum", best.momentum, value(&oracle, "mu"), 1e-5);
        near(&oracle, "alpha", best.alpha, value(&oracle, "alpha"), 1e-5);
        assert!(best.rate <= value(&oracle, "rho"), "{}", oracle.id);
        assert!(value(&oracle, "rho") - best.rate < 2e-5, "{}", oracle.id);
    }
    for lag in 1..12 {
        let best = momentum::heavy_ball_fastest(lag);
        assert!(best.rate < stability::constant_lag_fastest(lag).1);
        let rate = momentum::heavy_ball_rate(best.alpha, best.momentum, lag);
        // A double root is only as exact as the square root of rounding.
        assert!((rate - best.rate).abs() < 1e-6, "{lag}: {rate} {}", best.rate);
        for (mu, alpha) in [(1e-3, 0.0), (-1e-3, 0.0), (0.0, 1e-3), (0.0, -1e-3), (1e-3, 1e-3), (-1e-3, -1e-3)] {
            let (mu, alpha) = (best.momentum + mu, best.alpha * (1.0 + alpha));
            assert!(momentum::heavy_ball_rate(alpha, mu, lag) > best.rate, "{lag}: {mu} {alpha}");
        }
    }
    assert_eq!(momentum::heavy_ball_fastest(0).rate, momentum::heavy_ball_rate(1.0, 0.0, 0));
}

#[test]
fn rates_under_memoryless_lag() {
    for oracle in oracles("T6.rate.") {
        let rate = stability::memoryless_mean_rate(given(&oracle, "alpha"), given(&oracle, "n") as u64, 1);
        same(&oracle, "rate", rate, oracle.value.as_f64().unwrap());
    }
    for oracle in oracles("T6.ms.") {
        let n = given(&oracle, "n") as u64;
        let (alpha, rate) = stability::memoryless_fastest(n);
        near(&oracle, "alpha", alpha, value(&oracle, "best_ms_alpha"), 1e-6);
        near(&oracle, "rate", rate, value(&oracle, "best_ms_rate_per_update"), 1e-9);
        let edge = stability::memoryless_edge(n);
        assert!((stability::memoryless_square_rate(edge, n) - 1.0).abs() < 1e-12, "{}", oracle.id);
    }
    for oracle in oracles("T6.total.") {
        let [n, beta, alpha] = ["n", "beta", "alpha"].map(|name| given(&oracle, name));
        let rate = momentum::total_rate(alpha, beta, n as u64);
        same(&oracle, "rate", rate, oracle.value.as_f64().unwrap());
    }
    for oracle in oracles("T6.kasync.var.") {
        let [n, k, alpha] = ["n", "K", "alpha"].map(|name| given(&oracle, name));
        let variance = k * stability::k_async_variance(alpha, n as u64, k as u64).unwrap();
        same(&oracle, "variance", variance, oracle.value.as_f64().unwrap());
    }
    for oracle in oracles("T6.kasync.mean.") {
        let [n, k, alpha] = ["n", "K", "alpha"].map(|name| given(&oracle, name));
        let expected = numbers(&oracle.value);
        let actual = stability::memoryless_mean(alpha, n as u64, k as u64, expected.len() - 1);
        for (actual, expected) in actual.iter().zip(&expected) {
            assert!((actual - expected).abs() < 1e-12, "{}: {actual} {expected}", oracle.id);
        }
    }
    for (n, alpha) in [(1, 0.5), (3, 0.25), (8, 0.1)] {
        let all = stability::memoryless_variance(alpha, n).unwrap();
        assert!((stability::k_async_variance(alpha, n, 1).unwrap() / all - 1.0).abs() < 1e-12);
    }
}

#[test]
fn workers_that_differ() {
    for oracle in oracles("T6.het.") {
        let [shares, curvatures, minima] = ["p", "a", "b"].map(|name| numbers(&oracle.scenario[name]));
        let workers = Memoryless { shares, curvatures, minima, learning_rate: given(&oracle, "eta") };
        let expected = numbers(&oracle.value["mean"]);
        for (actual, expected) in workers.mean(1.0, expected.len() - 1).iter().zip(&expected) {
            assert!((actual - expected).abs() < 1e-13, "{}: {actual} {expected}", oracle.id);
        }
        same(&oracle, "variance", workers.variance().unwrap(), value(&oracle, "var"));
        same(&oracle, "rate", workers.square_rate(), value(&oracle, "ms_rate"));
        let limit = *workers.mean(1.0, 20_000).last().unwrap();
        assert!((limit - workers.stationary_mean()).abs() < 1e-12, "{}: {limit}", oracle.id);
    }
    for oracle in oracles("T8.bias.exp.") {
        let [shares, curvatures, minima] = ["p", "a", "b"].map(|name| numbers(&oracle.scenario[name]));
        let workers = Memoryless { shares, curvatures, minima, learning_rate: given(&oracle, "eta") };
        same(&oracle, "mean", workers.stationary_mean(), value(&oracle, "Ew"));
        same(&oracle, "small steps", workers.small_step_mean(), value(&oracle, "small_step"));
        same(&oracle, "minimiser", workers.minimiser(), value(&oracle, "minimiser"));
    }
    // Equal workers have the variance of the closed form.
    let equal =
        Memoryless { shares: vec![0.25; 4], curvatures: vec![1.0; 4], minima: vec![0.0; 4], learning_rate: 0.25 };
    let expected = stability::memoryless_variance(0.25, 4).unwrap();
    assert!((equal.variance().unwrap() / expected - 1.0).abs() < 1e-12);
    assert_eq!(Memoryless { learning_rate: 0.9, ..equal }.variance(), None);
}

#[test]
fn orbits_of_workers_with_constant_compute_times() {
    for oracle in oracles("T8.bias.det.") {
        let [compute_s, starts_s, curvatures, minima] =
            ["T", "starts", "a", "b"].map(|name| numbers(&oracle.scenario[name]));
        let workers: Vec<usize> = numbers(&oracle.value["worker"]).iter().map(|&worker| worker as usize).collect();
        let constants = laggard::theory::lag::Constants { compute_s, starts_s, reads_after_all: false };
        // A whole number of periods later, when the lags of the beginning are over.
        let late = constants.pushes(11 * workers.len() as u64).split_off(10 * workers.len());
        assert_eq!(late.iter().map(|&(worker, _)| worker).collect::<Vec<_>>(), workers, "{}", oracle.id);
        let lags: Vec<usize> = late.iter().map(|&(worker, push)| constants.lag(worker, push) as usize).collect();
        let orbit = periodic_orbit(&workers, &lags, &curvatures, &minima, given(&oracle, "eta"));
        for (actual, expected) in orbit.iter().zip(oracle.value["orbit"].as_array().unwrap()) {
            same(&oracle, "orbit", *actual, number(expected));
        }
        same(&oracle, "mean", orbit.iter().sum::<f64>() / orbit.len() as f64, value(&oracle, "mean"));
    }
}
