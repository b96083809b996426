//! Constant delay on a quadratic: edges of stability, iterates, rates, and what noise leaves.

use super::Entry;
use super::case::Case;
use super::play::{equal, mean_square, most, or_nan, path, play, with};
use crate::cluster::Ended;
use crate::error::Result;
use crate::theory::{policy, stability};

pub const ENTRIES: &[Entry] = &[
    Entry::checked(
        "T2.delay.",
        "edge, rates and period of w ← w − α w(t − lag), and the variance that noise keeps up",
        delay,
    ),
    Entry::checked("T2.traj.", "its iterates, exactly", iterates),
    Entry::checked("T2.diverge.", "its growth beyond the edge", growth),
    Entry::checked("T2.kappa.", "the best learning rate for two curvatures", two_curvatures),
    Entry::checked("T2.var.tau", "the stationary variance under gradient noise", variance),
    Entry::checked("T2.var.sync.", "the same with the mean of n fresh gradients", synchronous),
    Entry::checked("T9.lrscale.", "edges of steps that are scaled down by their lag", scaled),
];

fn sgd(rate: f64) -> String {
    format!("Sgd(learning_rate: {rate:?})")
}

fn delay(case: &mut Case) -> Result<()> {
    let lag = case.count("tau");
    let edge = stability::constant_lag_edge(lag);
    case.formula("edge", edge, case.value("alpha_max"));
    let (fastest, rate) = stability::constant_lag_fastest(lag);
    case.formula("fastest", fastest, case.value("alpha_crit"));
    case.formula("its rate", rate, case.value("rate_at_crit"));
    for (name, alpha) in [("rate_at_half_max", edge / 2.0), ("rate_at_half_crit", fastest / 2.0)] {
        let (rate, expected) = (stability::constant_lag_rate(alpha, lag), case.value(name));
        case.formula_within(name, rate, expected, 1e-12);
    }
    for (name, alpha) in [("half_max", edge / 2.0), ("crit", fastest)] {
        let known = or_nan(stability::constant_lag_variance(alpha, lag));
        // Of a tangent near its pole the last digits are lost.
        case.formula_about(
            &format!("variance at {name}"),
            known,
            case.value(&format!("var_over_eta2sigma2_at_{name}")),
            1e-11,
        );
    }
    let period = case.value("oscillation_period_at_alpha_max");
    case.formula("period at the edge", stability::constant_lag_period(lag) as f64, period);
    // A hundredth below the edge it shrinks, a hundredth above it grows.
    let loss = |alpha: f64| -> Result<f64> {
        let summary = play(&with(&sgd(alpha), &equal(lag + 1), "stop: (updates: 100000)"))?.summary;
        Ok(if summary.ended == Ended::Diverged { f64::INFINITY } else { or_nan(summary.loss) })
    };
    case.at_most("loss just below the edge", loss(0.99 * edge)?, 1e-6);
    case.at_least("loss just above the edge", loss(1.01 * edge)?, 1e6);
    Ok(())
}

fn iterates(case: &mut Case) -> Result<()> {
    let (lag, rate, expected) = (case.count("tau"), case.given("lr"), case.list(""));
    let known = stability::constant_lag_iterates(rate, lag as usize, expected.len() - 1);
    case.formula_list("iterates", &known, &expected);
    let path = path(&with(&sgd(rate), &equal(lag + 1), &format!("stop: (updates: {})", expected.len() - 1)))?;
    case.exact_list("iterates", &path, &expected[1..]);
    Ok(())
}

/// The factor of a step, from the greatest of some iterates a thousand steps apart.
fn factor(path: &[f64]) -> f64 {
    match path.len() {
        2000.. => (most(&path[1950..2000]) / most(&path[950..1000])).powf(1e-3),
        _ => f64::NAN,
    }
}

fn growth(case: &mut Case) -> Result<()> {
    let (lag, alpha) = (case.count("tau"), case.given("alpha"));
    case.formula("factor a step", stability::constant_lag_rate(alpha, lag), case.value(""));
    let path = path(&with(&sgd(alpha), &equal(lag + 1), "stop: (updates: 2000)"))?;
    // The greatest of fifty iterates is met somewhere in their oscillation, so that it may be off by a third: over a thousand steps, 3e-4.
    case.estimate_within("factor a step", factor(&path), case.value(""), 3e-4);
    Ok(())
}

fn two_curvatures(case: &mut Case) -> Result<()> {
    let (lag, curvatures) = (case.count("tau"), case.given_list("lambda"));
    let (rate, known) = stability::constant_lag_best(curvatures[1], curvatures[0], lag);
    // The book's were found by an optimiser.
    case.formula_within("learning rate", rate, case.value("eta"), 1e-7);
    case.formula_within("factor a step", known, case.value("rho"), 1e-8);
    let objective = format!("Diagonal(curvatures: Values({curvatures:?}))");
    let text = with(&sgd(rate), &equal(lag + 1), "stop: (updates: 2000)");
    let mut path = Vec::new();
    super::play::watch(&text.replace("Quadratic(curvature: 1.0)", &objective), |_, step| {
        path.push(most(step.after));
    })?;
    // A double root shrinks as t times its power: in a thousand steps by a factor of two less.
    case.estimate_within("factor a step", factor(&path), case.value("rho"), 1e-3);
    Ok(())
}

fn variance(case: &mut Case) -> Result<()> {
    let (lag, alpha) = (case.count("tau"), case.given("alpha"));
    case.formula_about("variance", or_nan(stability::constant_lag_variance(alpha, lag)), case.value(""), 1e-11);
    let rest = format!("noise: Gaussian(sd: 1.0), stop: (updates: {})", 2000 + case.samples(720_000));
    let (square, count) = mean_square(&with(&sgd(alpha), &equal(lag + 1), &rest), 2000)?;
    case.estimate("variance", square / (alpha * alpha), case.value(""), "", count);
    Ok(())
}

fn synchronous(case: &mut Case) -> Result<()> {
    let n = case.in_name(".n");
    // The book's α: ¼ for 4 gradients, ½ for 8.
    let alpha = if n == 4.0 { 0.25 } else { 0.5 };
    case.formula("variance", or_nan(stability::sync_variance(alpha, n as u64)), case.value(""));
    let rest = format!("protocol: Sync, noise: Gaussian(sd: 1.0), stop: (updates: {})", case.samples(200_000));
    let (square, count) = mean_square(&with(&sgd(alpha), &equal(n as u64), &rest), 0)?;
    case.estimate_relative("variance", square / (alpha * alpha), case.value(""), count);
    Ok(())
}

fn scaled(case: &mut Case) -> Result<()> {
    let lag = case.in_name("tau") as u64;
    let rules = [
        ("over_tau", policy::inverse_lag(lag), "Inverse"),
        ("over_1plus", policy::polynomial(lag, 1.0), "Polynomial(exponent: 1.0)"),
        ("over_sqrt", policy::polynomial(lag, 0.5), "Polynomial(exponent: 0.5)"),
    ];
    for (name, weight, discount) in rules {
        let edge = case.value(name);
        case.formula(name, stability::scaled_lag_edge(lag, weight), edge);
        let loss = |rate: f64| -> Result<f64> {
            let chain = format!("Discount({discount}), Sgd(learning_rate: {rate:?})");
            let summary = play(&with(&chain, &equal(lag + 1), "stop: (updates: 200000)"))?.summary;
            Ok(if summary.ended == Ended::Diverged { f64::INFINITY } else { or_nan(summary.loss) })
        };
        case.at_most(&format!("loss just below {name}"), loss(0.99 * edge)?, 1e-6);
        case.at_least(&format!("loss just above {name}"), loss(1.01 * edge)?, 1e6);
    }
    Ok(())
}
