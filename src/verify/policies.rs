//! What is made of a stale gradient: weights, compensation, mixing, averaging.

use super::Entry;
use super::case::{Case, number, numbers};
use super::play::{constant_workers, equal, mean_square, most, path, play, shifted, watch, with};
use crate::error::{Error, Result};
use crate::kernel::Span;
use crate::optimiser::{Context, Discount, Optimiser, Spec};
use crate::theory::lag::{self, Constants};
use crate::theory::{averaging, policy};

pub const ENTRIES: &[Entry] = &[
    Entry::checked("T9.fedasync.", "weights by lag (Xie, Koyejo and Gupta, 2019)", weights),
    Entry::checked("T9.fedasync.mix", "models that are mixed, not added", mixing),
    Entry::checked("T9.example.policies", "the glossary's stale step under twelve policies", example),
    Entry::checked("T9.dcasgd.", "delay compensation (Zheng et al., 2017)", compensation),
    Entry::checked("T9.dcasgda", "the same, adaptive", adaptive),
    Entry::checked("T9.localsgd.", "local steps: contraction and fixed point", local_sgd),
    Entry::checked("T9.localsgd.var.", "and the noise that is left", local_noise),
    Entry::checked(
        "T9.easgd.rr.",
        "elastic averaging in turn: its edge of stability (Zhang, Choromanska and LeCun, 2015)",
        elastic,
    ),
    Entry::checked("T9.easgd.sync.", "elastic averaging together: its modes", elastic_together),
    Entry::checked("T9.fedbuff.", "buffers of constant workers, exactly", buffers),
];

/// The overshoot that the glossary tells, with questions about its step from version 10 to 11.
pub const GLOSSARY: &str = include_str!("../../scenarios/overshoot.ron");

fn discount(text: &str) -> Result<Discount> {
    ron::from_str(text).map_err(|error| Error::Broken(error.to_string()))
}

fn weights(case: &mut Case) -> Result<()> {
    type Weight = fn(u64) -> f64;
    let (text, known): (&str, Weight) = match case.id().trim_start_matches("T9.fedasync.") {
        "const" => ("Polynomial(exponent: 0.0)", |_| 1.0),
        "poly.a0.5" => ("Polynomial(exponent: 0.5)", |lag| policy::polynomial(lag, 0.5)),
        "poly.a1" => ("Polynomial(exponent: 1.0)", |lag| policy::polynomial(lag, 1.0)),
        "poly.a2" => ("Polynomial(exponent: 2.0)", |lag| policy::polynomial(lag, 2.0)),
        "hinge.a10.b4" => ("Hinge(slope: 10.0, after: 4)", |lag| policy::hinge(lag, 10.0, 4)),
        "hinge.a1.b2" => ("Hinge(slope: 1.0, after: 2)", |lag| policy::hinge(lag, 1.0, 2)),
        "hinge.a10.b6" => ("Hinge(slope: 10.0, after: 6)", |lag| policy::hinge(lag, 10.0, 6)),
        _ => return Ok(()),
    };
    let own = discount(text)?;
    for (lag, expected) in case.whole().as_object().into_iter().flatten() {
        let versions = lag.parse().unwrap_or(u64::MAX);
        case.formula(&format!("weight of lag {lag}"), known(versions), number(expected));
        case.exact(&format!("weight of lag {lag}"), own.factor(versions as i64, 0.0), number(expected));
    }
    Ok(())
}

/// Worker 1 reads w = 2, takes one step of ½ to w = 1, and arrives with a lag of 3, where the book has the server at ½.
fn mixing(case: &mut Case) -> Result<()> {
    let rules = [
        ("const", 1.0, "None"),
        ("poly0.5", policy::polynomial(3, 0.5), "Some(Polynomial(exponent: 0.5))"),
        ("hinge10_4", policy::hinge(3, 10.0, 4), "Some(Hinge(slope: 10.0, after: 4))"),
    ];
    for (name, weight, discount) in rules {
        let model = policy::step(2.0, 2.0, 0.5, 1.0);
        case.formula(name, policy::mix(0.5, model, 0.6, weight), case.value(name));
        let rest = format!(
            "protocol: FedAsync(local: (steps: 1, learning_rate: 0.5), discount: {discount}), stop: (updates: 4)"
        );
        let text = with("Sgd(learning_rate: 0.6)", "(compute: Constant(1.0)), (compute: Constant(3.5))", &rest);
        let mut seen = f64::NAN;
        watch(&text.replace("start: [1.0]", "start: [2.0]"), |gradient, step| {
            if gradient.worker == 1 && gradient.lag_versions() == 3 {
                // The server is elsewhere than in the glossary; mixing is linear in it: w + αs (w_local − w).
                let rate = (step.after[0] - step.before[0]) / (1.0 - step.before[0]);
                seen = 0.5 + rate * (1.0 - 0.5);
            }
        })?;
        case.exact(name, seen, case.value(name));
    }
    Ok(())
}

fn example(case: &mut Case) -> Result<()> {
    let after = |weight: f64| policy::step(0.5, 2.0, 0.5, weight);
    let compensated = |lambda: f64| policy::step(0.5, policy::compensated(2.0, 0.5, 2.0, lambda), 0.5, 1.0);
    let rules = [
        ("plain", after(1.0), "Discount(Polynomial(exponent: 0.0))"),
        ("fedbuff_sqrt_K1", after(policy::polynomial(3, 0.5)), "Discount(Polynomial(exponent: 0.5))"),
        ("lr_over_lag", after(policy::inverse_lag(3)), "Discount(Inverse)"),
        ("lr_over_1plus_lag", after(policy::polynomial(3, 1.0)), "Discount(Polynomial(exponent: 1.0))"),
        ("hinge_10_4", after(policy::hinge(3, 10.0, 4)), "Discount(Hinge(slope: 10.0, after: 4))"),
        ("hinge_10_2", after(policy::hinge(3, 10.0, 2)), "Discount(Hinge(slope: 10.0, after: 2))"),
        ("poly_a1", after(policy::polynomial(3, 1.0)), "Discount(Polynomial(exponent: 1.0))"),
        ("drop_if_lag_gt_2", after(policy::cutoff(3, 2)), "Discount(Cutoff(after: 2))"),
        ("drop_if_lag_gt_3", after(policy::cutoff(3, 3)), "Discount(Cutoff(after: 3))"),
        ("dcasgd_lambda_1_4", compensated(0.25), "DcAsgd(lambda: 0.25)"),
        ("dcasgd_lambda_0.04", compensated(0.04), "DcAsgd(lambda: 0.04)"),
        ("hessian_exact", compensated(policy::exact_compensation(1.0, 2.0)), "DcAsgd(lambda: 0.25)"),
    ];
    for (name, known, link) in rules {
        case.formula(name, known, case.value(name));
        let question = format!("what_if: [(version: 10, optimiser: [{link}, Sgd(learning_rate: 0.5)]),");
        let outcome = play(&GLOSSARY.replace("what_if: [", &question))?;
        let answer = outcome.recording.answers.first().and_then(|answer| answer.outcome.as_ref());
        case.exact(name, answer.map_or(f64::NAN, |(w, _)| w[0]), case.value(name));
    }
    Ok(())
}

/// What a chain makes of a gradient that was read at `read`, and is used at `now`.
fn transformed(chain: &str, gradient: f64, now: f64, read: f64) -> Result<f64> {
    let chain: Vec<Spec> = ron::from_str(chain).map_err(|error| Error::Broken(error.to_string()))?;
    let mut update = [gradient];
    let (parameters, read) = ([now], [read]);
    let context =
        Context { updates: 0, lag_versions: 3, lag: Span::ZERO, worker: 0, parameters: &parameters, read: &read };
    Optimiser::new(&chain, 1)?.transform(&mut update, &context);
    Ok(update[0])
}

fn compensation(case: &mut Case) -> Result<()> {
    let (curvature, read, now) = match case.id() {
        "T9.dcasgd.a1" => (1.0, 2.0, 0.5),
        "T9.dcasgd.a3" => (3.0, 1.0, -0.5),
        _ => (0.5, 4.0, 1.0),
    };
    let gradient = curvature * read;
    let lambda = policy::exact_compensation(curvature, gradient);
    case.formula("λ that makes it fresh", lambda, case.value("lambda"));
    case.formula("stale", policy::compensated(gradient, now, read, 0.0), case.value("stale"));
    case.formula("fresh", curvature * now, case.value("fresh"));
    for (name, lambda) in [("comp", case.value("lambda")), ("comp_0.04", 0.04)] {
        case.formula(name, policy::compensated(gradient, now, read, lambda), case.value(name));
        let chain = format!("[DcAsgd(lambda: {lambda:?}), Sgd(learning_rate: 1.0)]");
        case.exact(name, transformed(&chain, gradient, now, read)?, case.value(name));
    }
    Ok(())
}

fn adaptive(case: &mut Case) -> Result<()> {
    let (square, lambda) = policy::first_adaptive_compensation(2.0, 2.0, 0.95);
    case.formula("mean square", square, case.value("ms"));
    case.formula("λ", lambda, case.value("lambda"));
    case.formula("gradient", policy::compensated(2.0, 0.5, 2.0, lambda), case.value("comp"));
    let chain = "[DcAsgdAdaptive(lambda: 2.0), Sgd(learning_rate: 1.0)]";
    case.exact("gradient", transformed(chain, 2.0, 0.5, 2.0)?, case.value("comp"));
    Ok(())
}

const OUTER: &str = "Sgd(learning_rate: 1.0)";

fn local_sgd(case: &mut Case) -> Result<()> {
    let [curvatures, minima] = ["a", "b"].map(|name| case.given_list(name));
    let (rate, steps) = (case.given("eta"), case.count("H"));
    let known = averaging::local_sgd(&curvatures, &minima, rate, steps);
    case.formula("contraction", known.contraction, case.value("contraction"));
    case.formula("fixed point", known.fixed_point, case.value("fixed_point"));
    let once = averaging::local_sgd(&curvatures, &minima, rate, 1);
    case.formula("minimiser", once.fixed_point, case.value("minimiser"));
    let rest = format!("protocol: LocalSgd(local: (steps: {steps}, learning_rate: {rate:?})), stop: (updates: 300)");
    let path = path(&shifted(
        &with(OUTER, "(compute: Constant(1.0)), (compute: Constant(1.0))", &rest),
        &curvatures,
        &minima,
    ))?;
    let fixed = case.value("fixed_point");
    case.exact("fixed point", path[299], fixed);
    case.exact("contraction", (path[1] - fixed) / (path[0] - fixed), case.value("contraction"));
    Ok(())
}

fn local_noise(case: &mut Case) -> Result<()> {
    let (n, steps) = (case.in_name(".n") as u64, case.in_name(".H"));
    let rate = if n == 4 { 0.25 } else { 0.5 };
    case.formula("variance", averaging::local_sgd_variance(rate, n), case.value(""));
    let rounds = case.samples(100_000);
    let rest = format!(
        "protocol: LocalSgd(local: (steps: {steps}, learning_rate: {rate:?})), noise: Gaussian(sd: 1.0), stop: (updates: {rounds})"
    );
    let (square, count) = mean_square(&with(OUTER, &equal(n), &rest), 0)?;
    case.estimate_relative("variance", square / (rate * rate), case.value(""), count);
    Ok(())
}

fn elastic(case: &mut Case) -> Result<()> {
    let rate = case.given("eta");
    case.formula("the paper's bound", averaging::elastic_bound(rate), case.value("paper_bound"));
    for n in [1u64, 2, 4, 8] {
        let edge = case.value(&format!("p{n}"));
        // The book's were found by halving, until they were 10⁻¹² above.
        case.formula_within(&format!("edge of {n} workers"), averaging::elastic_edge(n as usize, rate), edge, 2e-12);
        let growth = |alpha: f64| -> Result<f64> {
            let protocol = format!("Easgd(alpha: {alpha:?}, local: (steps: 1, learning_rate: {rate:?}))");
            let rest = format!("protocol: {protocol}, stop: (updates: {})", 8000 * n);
            let (path, window) = (path(&with(OUTER, &equal(n), &rest))?, (100 * n) as usize);
            // From the middle on, when all but the greatest root have died out.
            let late = &path[path.len() / 2..];
            Ok(if late.len() < window {
                f64::INFINITY
            } else {
                most(&late[late.len() - window..]) / most(&late[..window])
            })
        };
        case.at_most(&format!("growth of {n} workers just below"), growth(edge * 0.999)?, 0.9);
        case.at_least(&format!("growth of {n} workers just above"), growth(edge * 1.001)?, 1.1);
    }
    Ok(())
}

fn elastic_together(case: &mut Case) -> Result<()> {
    let (n, rate, alpha) = if case.id().ends_with("p4") { (4, 0.5, 0.125) } else { (8, 0.25, 0.1) };
    let known = averaging::elastic(n, rate, alpha);
    let modes = case.list("mean_mode");
    if let Some((greater, less)) = known.common {
        case.formula_list("modes in common", &[greater, less], &modes);
    }
    case.formula("mode of differences", known.difference, case.value("difference_mode"));
    case.formula("edge of the centre", known.centre_edge, case.value("beta_limit"));
    let protocol = format!("Easgd(alpha: {alpha:?}, local: (steps: 1, learning_rate: {rate:?}), together: true)");
    let path = path(&with(OUTER, &equal(n), &format!("protocol: {protocol}, stop: (updates: 60)")))?;
    let (sum, product) = (modes[0] + modes[1], modes[0] * modes[1]);
    let predicted: Vec<f64> = (2..40).map(|step| sum * path[step - 1] - product * path[step - 2]).collect();
    case.exact_list("the centre", &path[2..40], &predicted);
    Ok(())
}

fn buffers(case: &mut Case) -> Result<()> {
    let (compute_s, starts_s, k) = (case.given_list("T"), case.given_list("starts"), case.count("K"));
    let (t, w) = (case.list("t"), case.list("w"));
    let expected: Vec<f64> =
        case.whole()["lags"].as_array().map_or(Vec::new(), |all| all.iter().flat_map(numbers).collect());
    let workers = Constants { compute_s: compute_s.clone(), starts_s: starts_s.clone(), reads_after_all: false };
    let pushes = workers.pushes(k * t.len() as u64);
    let before = |worker, push| (push > 1).then(|| workers.place(worker, push - 1));
    let in_batch =
        |&(worker, push): &(usize, u64)| lag::in_batch(workers.place(worker, push), before(worker, push), k) as usize;
    let lags: Vec<Vec<usize>> = pushes.chunks(k as usize).map(|step| step.iter().map(in_batch).collect()).collect();
    let flat: Vec<f64> = lags.iter().flatten().map(|&lag| lag as f64).collect();
    case.formula_list("lags", &flat, &expected);
    let iterates = policy::buffered_iterates(0.5, &lags);
    let off = iterates[1..].iter().zip(&w).map(|(known, expected)| (known - expected).abs()).fold(0.0, f64::max);
    case.formula_within("iterates: the greatest error", off, 0.0, 1e-12);
    let rest = format!(
        "protocol: FedBuff(buffer: {k}, discount: None), stop: (updates: {0}), record: (timeline: {0})",
        t.len()
    );
    let rows =
        play(&with("Sgd(learning_rate: 0.5)", &constant_workers(&compute_s, &starts_s), &rest))?.recording.timeline;
    let firsts = || rows.chunks(k as usize).filter_map(|step| step.first());
    case.exact_list(
        "lags",
        &rows.iter().map(|row| row.gradient.lag_versions() as f64).collect::<Vec<f64>>(),
        &expected,
    );
    case.exact_list("instants", &firsts().map(|row| row.gradient.ended.seconds()).collect::<Vec<f64>>(), &t);
    case.exact_list("iterates", &firsts().map(|row| row.w_after[0]).collect::<Vec<f64>>(), &w);
    Ok(())
}
