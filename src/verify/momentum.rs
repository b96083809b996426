//! Momentum under delay, and asynchrony as momentum: expected iterates, rates, variances and edges of quadratics.

use super::case::{Case, WITHIN};
use super::play::{equal, exponential_workers, mean_square, memoryless, most, or_nan, path, prepare, shifted, with};
use super::{Entry, play};
use crate::cluster::Simulation;
use crate::error::Result;
use crate::theory::moments::Memoryless;
use crate::theory::{momentum, stability};

pub const ENTRIES: &[Entry] = &[
    Entry::checked("T2.momentum.tau", "edges of heavy-ball momentum under a constant lag", edge),
    Entry::checked("T2.momentum.best.", "the best momentum under a constant lag, which is negative", best),
    Entry::checked("T6.mean.", "E w under memoryless lag: momentum of 1 − 1/n (Mitliagkas et al., 2016)", mean),
    Entry::checked("T6.kasync.mean.", "the same with steps of K workers: 1 − K/n", mean),
    Entry::checked("T6.rate.", "the rate at which E w shrinks", rate),
    Entry::checked("T6.ms.", "edges in the mean square and in the mean, and the best learning rate", mean_square_edge),
    Entry::checked(
        "T6.var.",
        "the stationary variance under memoryless lag, beside that under a constant one",
        variance,
    ),
    Entry::checked("T6.kasync.var.", "the same with steps of K workers", k_async_variance),
    Entry::checked("T6.het.", "E w with workers of different speeds and objectives", unequal),
    Entry::checked("T6.total.", "momentum on top of asynchrony", total),
];

fn sgd(rate: f64) -> String {
    format!("Sgd(learning_rate: {rate:?})")
}

fn heavy_ball(rate: f64, momentum: f64) -> String {
    format!("HeavyBall(learning_rate: {rate:?}, momentum: {momentum:?})")
}

fn edge(case: &mut Case) -> Result<()> {
    let (lag, mu, edge) = (case.count("tau"), case.given("mu"), case.value(""));
    case.formula("edge", momentum::heavy_ball_edge(mu, lag), edge);
    let growth = |factor: f64| -> Result<f64> {
        let text = with(&heavy_ball(edge * factor, mu), &equal(lag + 1), "stop: (updates: 6000)");
        Ok(play::growth(&path(&text)?, 400))
    };
    // Half a percent below it shrinks, half a percent above it grows.
    case.at_most("growth just below the edge", growth(0.995)?, 0.9);
    case.at_least("growth just above the edge", growth(1.005)?, 1.1);
    Ok(())
}

fn best(case: &mut Case) -> Result<()> {
    let lag = case.in_name("tau") as u64;
    let (mu, alpha, rho) = (case.value("mu"), case.value("alpha"), case.value("rho"));
    let known = momentum::heavy_ball_fastest(lag);
    // The book's were found by an optimiser, and are a little slower.
    case.formula_within("momentum", known.momentum, mu, 1e-5);
    case.formula_within("learning rate", known.alpha, alpha, 1e-5);
    case.formula_within("factor a step", known.rate, rho, 2e-5);
    let without = stability::constant_lag_fastest(lag).1;
    case.formula("factor a step without momentum", without, case.value("rho_without_momentum"));
    if lag == 1 {
        // Exactly −1 and 1: two steps and it is there; a scenario's momentum lies strictly between −1 and 1.
        return Ok(());
    }
    let path = path(&with(&heavy_ball(alpha, mu), &equal(lag + 1), "stop: (updates: 120)"))?;
    if path.len() < 120 {
        case.exact("steps without diverging", path.len() as f64, 120.0);
        return Ok(());
    }
    // A multiple root: |w| shrinks as t or t² times its power, so over 60 steps that much slower.
    let slack = (100.0f64 / 40.0).powf(2.0 / 60.0);
    let rate = (most(&path[100..120]) / most(&path[40..60])).powf(1.0 / 60.0);
    case.at_least("factor a step", rate, rho * 0.995);
    case.at_most("factor a step", rate, rho * slack * 1.005);
    case.at_most("factor a step, beside that without momentum", rate, case.value("rho_without_momentum") * slack);
    Ok(())
}

/// The mean of w after each of `steps` steps, over many replications, and its standard error.
fn mean_path(text: &str, steps: usize, replications: u64) -> Result<Vec<(f64, f64)>> {
    let mut sums = vec![(0.0, 0.0); steps];
    for replication in 0..replications {
        let mut simulation = Simulation::new(prepare(text, Some(replication))?.model);
        let mut seen = 0;
        while seen < steps {
            let ended = simulation.advance(1, &mut ())?;
            if simulation.updates() as usize > seen {
                let w = simulation.parameters()[0];
                sums[seen].0 += w;
                sums[seen].1 += w * w;
                seen += 1;
            } else if ended.is_some() {
                break;
            }
        }
    }
    let n = replications as f64;
    Ok(sums.iter().map(|(sum, squares)| (sum / n, ((squares / n - (sum / n).powi(2)).max(0.0) / n).sqrt())).collect())
}

/// Each of the correlated means of a path.
fn compare(case: &mut Case, path: &[(f64, f64)], expected: &[f64]) {
    for (step, (&(mean, error), expected)) in path.iter().zip(expected).enumerate() {
        case.estimate_within(&format!("E w after {} steps", step + 1), mean, *expected, WITHIN * error + 1e-12);
    }
}

fn mean(case: &mut Case) -> Result<()> {
    let (n, alpha, expected) = (case.count("n"), case.given("alpha"), case.list(""));
    let k = if case.id().contains("kasync") { case.count("K") } else { 1 };
    let known = stability::memoryless_mean(alpha, n, k, expected.len() - 1);
    let off = known.iter().zip(&expected).map(|(known, expected)| (known - expected).abs()).fold(0.0, f64::max);
    case.formula_within("all of E w: the greatest error", off, 0.0, 1e-12);
    let steps = if k == 1 { 20 } else { 15 };
    let rest = if k == 1 { String::new() } else { format!("protocol: KAsync(k: {k}), ") };
    let text = with(&sgd(alpha), &memoryless(n), &format!("{rest}stop: (updates: {})", steps + 1));
    let path = mean_path(&text, steps, case.samples(4000))?;
    compare(case, &path, &expected[1..=steps]);
    Ok(())
}

fn rate(case: &mut Case) -> Result<()> {
    let (n, alpha) = (case.count("n"), case.given("alpha"));
    let rate = stability::memoryless_mean_rate(alpha, n, 1);
    case.formula("factor a step", rate, case.value(""));
    // Of the exact means, which are held to simulations beside this, over whole periods if they oscillate.
    let path = stability::memoryless_mean(alpha, n, 1, 2000);
    let measured = (most(&path[700..900]) / most(&path[300..500])).powf(1.0 / 400.0);
    case.formula_within("factor a step, from the means themselves", measured, rate, 2e-3);
    Ok(())
}

fn mean_square_edge(case: &mut Case) -> Result<()> {
    let n = case.count("n");
    case.formula("edge in the mean square", stability::memoryless_edge(n), case.value("alpha_ms"));
    case.formula("edge of the mean", stability::memoryless_mean_edge(n), case.value("alpha_mean"));
    case.formula("edge under a constant lag", stability::constant_lag_edge(n - 1), case.value("alpha_constant_lag"));
    let (alpha, rate) = stability::memoryless_fastest(n);
    // A minimum is flat, and was looked for.
    case.formula_about("best learning rate", alpha, case.value("best_ms_alpha"), 1e-6);
    case.formula_about("its factor of E w²", rate, case.value("best_ms_rate_per_update"), 1e-9);
    if n < 4 {
        return Ok(());
    }
    // Between the two edges: stable with random lags, and not with constant ones of the same mean.
    let (random, constant) = (case.value("alpha_ms"), case.value("alpha_constant_lag"));
    let alpha = 0.5 * (random.min(2.0 * constant) + constant);
    let growth = |workers: &str| -> Result<f64> {
        Ok(play::growth(&path(&with(&sgd(alpha), workers, "stop: (updates: 3000)"))?, 300))
    };
    case.at_most("growth with memoryless lags", growth(&memoryless(n))?, 0.5);
    case.at_least("growth with constant lags", growth(&equal(n))?, 2.0);
    Ok(())
}

fn variance(case: &mut Case) -> Result<()> {
    let (n, alpha, expected) = (case.count("n"), case.given("alpha"), case.value("random_lag"));
    case.formula("variance", or_nan(stability::memoryless_variance(alpha, n)), expected);
    let constant = stability::constant_lag_variance(alpha, n - 1);
    match case.whole()["constant_lag"].as_f64() {
        Some(known) => case.formula_about("under a constant lag", or_nan(constant), known, 1e-11),
        None => case.formula("under a constant lag: none", f64::from(u8::from(constant.is_some())), 0.0),
    }
    let rest = format!("noise: Gaussian(sd: 1.0), stop: (updates: {})", case.samples(1_000_000));
    let (square, count) = mean_square(&with(&sgd(alpha), &memoryless(n), &rest), 2000)?;
    // The book's error is that of replications; one long run has no more.
    case.estimate("variance", square / (alpha * alpha), expected, "", count);
    Ok(())
}

fn k_async_variance(case: &mut Case) -> Result<()> {
    let (n, k, alpha) = (case.count("n"), case.count("K"), case.given("alpha"));
    // In units of the variance of a step, of the mean of K gradients.
    let known = k as f64 * or_nan(stability::k_async_variance(alpha, n, k));
    case.formula("variance", known, case.value(""));
    let updates = case.samples(300_000);
    let rest = format!("protocol: KAsync(k: {k}), noise: Gaussian(sd: 1.0), stop: (updates: {updates})");
    let (square, count) = mean_square(&with(&sgd(alpha), &memoryless(n), &rest), 2000)?;
    case.estimate("variance", k as f64 * square / (alpha * alpha), case.value(""), "", count);
    Ok(())
}

fn unequal(case: &mut Case) -> Result<()> {
    let [shares, curvatures, minima] = ["p", "a", "b"].map(|name| case.given_list(name));
    let rate = case.given("eta");
    let expected = case.list("mean");
    let text = with(&sgd(rate), &exponential_workers(&shares), "stop: (updates: 16)");
    let text = shifted(&text, &curvatures, &minima);
    let workers = Memoryless { shares, curvatures, minima, learning_rate: rate };
    let off =
        workers.mean(1.0, expected.len() - 1).iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    case.formula_within("all of E w: the greatest error", off, 0.0, 1e-12);
    case.formula("variance", or_nan(workers.variance()), case.value("var"));
    case.formula("factor of E w²", workers.square_rate(), case.value("ms_rate"));
    let path = mean_path(&text, 15, case.samples(4000))?;
    compare(case, &path, &expected[1..16]);
    Ok(())
}

fn total(case: &mut Case) -> Result<()> {
    let [n, beta, alpha] = ["n", "beta", "alpha"].map(|name| case.given(name));
    case.formula("factor a step", momentum::total_rate(alpha, beta, n as u64), case.value(""));
    // E w follows (z − 1)(z − β)(z − μ) + α (1 − μ) z², from three steps that are averages themselves.
    let mu = 1.0 - 1.0 / n;
    let coefficients = [-(1.0 + beta + mu) + alpha * (1.0 - mu), beta + mu + beta * mu, -beta * mu];
    let text = with(&heavy_ball(alpha, beta), &memoryless(n as u64), "stop: (updates: 13)");
    let path = mean_path(&text, 12, case.samples(6000))?;
    for step in 3..12 {
        let [c2, c1, c0] = coefficients;
        let predicted = -c2 * path[step - 1].0 - c1 * path[step - 2].0 - c0 * path[step - 3].0;
        let error: f64 =
            [(1.0, 0), (c2, 1), (c1, 2), (c0, 3)].iter().map(|(c, back)| c.abs() * path[step - back].1).sum();
        case.estimate_within(&format!("E w after {} steps", step + 1), path[step].0, predicted, WITHIN * error);
    }
    Ok(())
}
