//! Closed forms beyond the book: where they agree with each other, and limits. (The book itself is checked by `verify`.)

use laggard::theory::moments::Memoryless;
use laggard::theory::renewal::{self, Renewal};
use laggard::theory::{averaging, barrier, complexity, lag, momentum, queue, ssp, stability};

/// What works for any law agrees with what was found for each.
#[test]
fn laws_by_their_density() {
    let same = |actual: Renewal, expected: Renewal| {
        for (actual, expected) in [
            (actual.squared_cv, expected.squared_cv),
            (actual.count_variance, expected.count_variance),
            (actual.fresh_of_two, expected.fresh_of_two),
        ] {
            assert!((actual / expected - 1.0).abs() < 1e-11, "{actual} {expected}");
        }
    };
    same(renewal::of_density(|x| (-x).exp(), |x| (-x).exp(), 1.0, 1.0), renewal::exponential());
    same(renewal::erlang(1), renewal::exponential());
    same(renewal::shifted_exponential(0.0, 3.0), renewal::exponential());
    same(renewal::hyperexponential(&[0.3, 0.7], &[2.0, 2.0]), renewal::exponential());
    let erlang = renewal::of_density(|x| x * (-x).exp(), |x| (1.0 + x) * (-x).exp(), 2.0, 2f64.sqrt());
    same(erlang, renewal::erlang(2));
    let (slow, fast) = (0.2, 1.8);
    let mixed = renewal::of_density(
        |x| 0.9 * fast * (-fast * x).exp() + 0.1 * slow * (-slow * x).exp(),
        |x| 0.9 * (-fast * x).exp() + 0.1 * (-slow * x).exp(),
        1.0,
        (41f64 / 9.0).sqrt(),
    );
    same(mixed, renewal::hyperexponential(&[0.9, 0.1], &[1.0 / fast, 1.0 / slow]));
    let pareto = renewal::pareto(3.0).count_variance;
    assert!((pareto - 0.287983122184666).abs() < 1e-14, "{pareto}");
    assert!([2.0, 1.5].iter().all(|&shape| renewal::pareto(shape).lag_variance(2).is_infinite()));
    // The more phases, the nearer to constant times.
    assert!(renewal::erlang(400).lag_variance(3) < 0.15);
}

#[test]
fn laws_of_lag_agree_with_each_other() {
    for n in [2, 5, 40] {
        assert_eq!(renewal::exponential().lag_variance(n), lag::memoryless_variance(n));
        assert!((renewal::exponential().lag_correlation(n) - lag::memoryless_correlation(n)).abs() < 1e-15);
        assert_eq!(renewal::constant().lag_variance(n), 0.0);
    }
    let chances = lag::erlang_probabilities(3, 3, 60);
    let mean: f64 = chances.iter().enumerate().map(|(k, chance)| k as f64 * chance).sum();
    let square: f64 = chances.iter().enumerate().map(|(k, chance)| (k * k) as f64 * chance).sum();
    assert!((mean - 2.0).abs() < 1e-12 && (square - mean * mean - renewal::erlang(3).lag_variance(3)).abs() < 1e-12);
    for (lag, chance) in lag::erlang_probabilities(5, 1, 20).iter().enumerate() {
        assert!((chance / lag::memoryless_probability(5, 1, lag as u64) - 1.0).abs() < 1e-12);
    }
    assert_eq!(lag::memoryless_batch_probability(1, 3, 0), 1.0);
    assert_eq!(lag::memoryless_mean_of(&[1.0, 2.0, 4.0], 1), 2.5);
    assert_eq!([0.0, 4.0].map(|variance| lag::mean_age_in_flight_s(2.0, variance)), [1.0, 2.0]);
}

#[test]
fn queues_agree_with_each_other() {
    // With the transform of an exponential law M/G/1//N is the machine repairman.
    let expected = queue::exponential_server(9, 2.0, 0.3);
    let (system, _) = queue::any_server(9, 2.0, 0.3, |s| 1.0 / (1.0 + 0.3 * s));
    assert!((system.throughput_per_s / expected.throughput_per_s - 1.0).abs() < 1e-13);
    assert!((system.waiting / expected.waiting - 1.0).abs() < 1e-12);
    assert!((queue::lag_probabilities(9, 2.0, 0.3).iter().sum::<f64>() - 1.0).abs() < 1e-13);
    // Many unequal workers do not overflow, and equal ones are the repairman's.
    let workers = queue::unequal_workers(&[3.0; 400], 1.0);
    let expected = queue::exponential_server(400, 3.0, 1.0).throughput_per_s;
    assert!((400.0 * workers[7].throughput_per_s / expected - 1.0).abs() < 1e-11);
}

#[test]
fn steps_that_wait_agree_with_each_other() {
    for (p, k) in [(2, 1), (8, 6), (32, 28)] {
        let by_law = barrier::any_law(|x| (-x).exp(), 1.0, p, k);
        assert!((by_law / barrier::exponential(0.0, 1.0, p, k) - 1.0).abs() < 1e-12, "{p} {k}");
    }
    // By a sum over the normal variable of the same mean, in double precision.
    for (k, expected) in [(8, 2.138940484313651), (6, 1.299109075076568)] {
        assert!((barrier::log_normal(1.0, 0.5, 8, k) / expected - 1.0).abs() < 1e-13);
    }
    assert_eq!(barrier::pareto(1.0, 0.5, 4, 4), f64::INFINITY);
    // 4 F L √(2 (s + 1) P / T)
    assert!((ssp::regret_bound(3.0, 0.5, 4, 1, 400) - 1.2).abs() < 1e-15);
}

/// Of these the book has no numbers.
#[test]
fn complexities_by_hand() {
    assert_eq!(complexity::ringmaster_steps(10, 2.0, 3.0, 1.0, 0.1), (0.0125, 14400.0));
    assert_eq!([4, 8, 16].map(|delay| complexity::delay_adaptive_step(8, delay, 0.5)), [0.03125, 0.03125, 0.03125]);
    assert!((complexity::delay_adaptive_error(10, 1.0, 1.0, 4.0, 100.0) - 0.3).abs() < 1e-15);
    assert!((complexity::steps_under_delay(1.0, 0.1, 100.0, 1.0) - 200.0).abs() < 1e-12);
    for delay in [0, 3, 100] {
        assert!(complexity::safe_step(1.0, delay) < stability::constant_lag_edge(delay));
    }
}

#[test]
fn nothing_near_the_best_momentum_is_better() {
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
fn rates_and_variances_agree_with_each_other() {
    for lag in [0, 1, 4, 16, 32] {
        let edge = stability::constant_lag_edge(lag);
        assert!((stability::constant_lag_rate(edge, lag) - 1.0).abs() < 1e-14);
        assert_eq!(stability::constant_lag_variance(edge * 1.0001, lag), None);
        let (rate, among_all) =
            (stability::constant_lag_rate(edge / 2.0, lag), momentum::heavy_ball_rate(edge / 2.0, 0.0, lag));
        assert!((rate - among_all).abs() < 1e-13, "{lag}: {rate} {among_all}");
        // At the edge it goes round for ever.
        let (period, late) = (stability::constant_lag_period(lag) as usize, 400 * (lag as usize + 1));
        let w = stability::constant_lag_iterates(edge, lag as usize, late + period);
        assert!((w[late + period] - w[late]).abs() < 1e-9, "{lag}");
    }
    for (n, alpha) in [(1, 0.5), (3, 0.25), (8, 0.1)] {
        let all = stability::memoryless_variance(alpha, n).unwrap();
        assert!((stability::k_async_variance(alpha, n, 1).unwrap() / all - 1.0).abs() < 1e-12);
        assert!((stability::memoryless_square_rate(stability::memoryless_edge(n), n) - 1.0).abs() < 1e-12);
    }
    assert_eq!(stability::implicit_momentum(8, 2), 0.75);
    let equal =
        Memoryless { shares: vec![0.25; 4], curvatures: vec![1.0; 4], minima: vec![0.0; 4], learning_rate: 0.25 };
    let expected = stability::memoryless_variance(0.25, 4).unwrap();
    assert!((equal.variance().unwrap() / expected - 1.0).abs() < 1e-12);
    let limit = *equal.mean(1.0, 20_000).last().unwrap();
    assert!((limit - equal.stationary_mean()).abs() < 1e-12);
    assert_eq!(Memoryless { learning_rate: 0.9, ..equal }.variance(), None);
    for rate in [0.1, 0.5, 1.5] {
        assert!((averaging::elastic_edge(1, rate) / averaging::elastic_bound(rate) - 1.0).abs() < 1e-13);
    }
}
