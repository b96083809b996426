//! Who takes part where stale gradients are dropped, and where that leads.

use super::Entry;
use super::case::{Case, WITHIN};
use super::play::{constant_workers, exponential_workers, fates, or_nan, play, quadratic, shifted, watch, with};
use crate::cluster::Fate;
use crate::error::Result;
use crate::theory::lag::Constants;
use crate::theory::moments::{Memoryless, periodic_orbit};
use crate::theory::{barrier, lag, participation};

pub const ENTRIES: &[Entry] = &[
    Entry::checked("T8.drop.n", "shares of memoryless workers under a bound on the lag", dropping),
    Entry::checked("T8.drop.det", "the same with constant compute times, counted", counted),
    Entry::checked("T8.bias.exp.", "where SGD settles when workers see different objectives", bias),
    Entry::checked("T8.bias.det.", "the orbit on which it goes with constant compute times", orbit),
    Entry::checked("T8.bias.drop", "where dropping what is stale moves that", dropped_bias),
];

fn dropping(case: &mut Case) -> Result<()> {
    let (rates, bound) = (case.given_list("rates"), case.count("tau"));
    let known = participation::dropping(&rates, bound);
    let expected = case.list("share");
    case.formula_list("shares", &known.shares, &expected);
    case.formula_list("accepted", &known.accepted, &case.list("accept"));
    case.formula("accepted of all", known.accepted_of_all, case.value("overall"));
    let all_shares: Vec<f64> = (0..rates.len()).map(|worker| lag::memoryless_share_of(&rates, worker)).collect();
    let without = case.list("nodrop_share");
    // The pairs are named by their shares.
    if !without.is_empty() {
        case.formula_list("shares without dropping", &all_shares, &without);
    }
    let pushes = case.samples(200_000) as f64;
    let rest =
        format!("protocol: Ringmaster(bound: {}), stop: (time_s: {:?})", bound + 1, pushes / rates.iter().sum::<f64>());
    let outcome = play(&quadratic(&exponential_workers(&rates), &rest))?;
    let (applied, rejected) = (fates(&outcome, Fate::Applied), fates(&outcome, Fate::Rejected));
    let (all, in_vain): (f64, f64) = (applied.iter().sum(), rejected.iter().sum());
    case.estimate("accepted of all", all / (all + in_vain), case.value("overall"), "", (all + in_vain) as u64);
    for (worker, share) in expected.into_iter().enumerate() {
        // Binomial, but for a weak correlation of successive admissions: a third more covers it.
        let off = WITHIN * 1.3 * (share * (1.0 - share) / all).sqrt();
        case.estimate_within(&format!("share of worker {worker}"), applied[worker] / all, share, off);
    }
    Ok(())
}

fn counted(case: &mut Case) -> Result<()> {
    let (compute_s, starts_s, end_s) = (case.given_list("T"), case.given_list("starts"), case.given("t_end"));
    let workers = Constants { compute_s: compute_s.clone(), starts_s: starts_s.clone(), reads_after_all: false };
    for bound in [5, 9, 10] {
        let (name, expected) = (format!("tau{bound}"), case.list(&format!("tau{bound}")));
        // The fast worker's are all applied, so that the slow one's lags are what they would be if its own were.
        let applied = |worker: usize| {
            let pushes = (1..).take_while(|&push| workers.time_s(worker, push) <= end_s);
            pushes.filter(|&push| workers.lag(worker, push) <= bound).count() as f64
        };
        case.formula_list(&name, &[applied(0), applied(1)], &expected);
        let rest = format!("protocol: Ringmaster(bound: {}), stop: (time_s: {end_s:?})", bound + 1);
        let outcome = play(&quadratic(&constant_workers(&compute_s, &starts_s), &rest))?;
        case.exact_list(&name, &fates(&outcome, Fate::Applied), &expected);
    }
    Ok(())
}

fn sgd(rate: f64) -> String {
    format!("Sgd(learning_rate: {rate:?})")
}

fn bias(case: &mut Case) -> Result<()> {
    let [shares, curvatures, minima] = ["p", "a", "b"].map(|name| case.given_list(name));
    let rate = case.given("eta");
    let known = Memoryless {
        shares: shares.clone(),
        curvatures: curvatures.clone(),
        minima: minima.clone(),
        learning_rate: rate,
    };
    case.formula("E w", known.stationary_mean(), case.value("Ew"));
    case.formula("for small steps", known.small_step_mean(), case.value("small_step"));
    case.formula("minimiser", known.minimiser(), case.value("minimiser"));
    case.formula("bias", known.stationary_mean() - known.minimiser(), case.value("bias"));
    let text = |updates: u64| {
        let rest = format!("stop: (updates: {updates})");
        shifted(&with(&sgd(rate), &exponential_workers(&shares), &rest), &curvatures, &minima)
    };
    let (mut sum, mut count) = (0.0, 0);
    watch(&text(case.samples(1_000_000)), |_, step| {
        if step.updates > 1000 {
            sum += step.before[0];
            count += 1;
        }
    })?;
    case.estimate("E w", sum / count as f64, case.value("Ew"), "", count);
    // What the summary tells of it, from the shares that came about.
    let small = (case.value("small_step") - case.value("minimiser")).abs();
    let found = or_nan(play(&text(200_000))?.summary.stationary_bias);
    case.estimate_within("stationary_bias of the summary", found, small, 0.01 * small.max(1.0));
    Ok(())
}

fn orbit(case: &mut Case) -> Result<()> {
    let [compute_s, starts_s, curvatures, minima] = ["T", "starts", "a", "b"].map(|name| case.given_list(name));
    let (expected, who, rate) = (case.list("orbit"), case.list("worker"), case.given("eta"));
    let (period, order) = (expected.len(), who.iter().map(|&worker| worker as usize).collect::<Vec<usize>>());
    let workers = Constants { compute_s: compute_s.clone(), starts_s: starts_s.clone(), reads_after_all: false };
    // A whole number of periods later, when the lags of the beginning are over.
    let late = workers.pushes(11 * period as u64).split_off(10 * period);
    let lags: Vec<usize> = late.iter().map(|&(worker, push)| workers.lag(worker, push) as usize).collect();
    let known = periodic_orbit(&order, &lags, &curvatures, &minima, rate);
    case.formula_list("orbit", &known, &expected);
    case.formula("mean", known.iter().sum::<f64>() / period as f64, case.value("mean"));
    let each = Memoryless {
        shares: compute_s.iter().map(|time| 1.0 / time / barrier::unhindered_per_s(&compute_s)).collect(),
        curvatures: curvatures.clone(),
        minima: minima.clone(),
        learning_rate: rate,
    };
    case.formula("for small steps", each.small_step_mean(), case.value("small_step"));
    let text = with(&sgd(rate), &constant_workers(&compute_s, &starts_s), "stop: (updates: 4000)");
    let mut path = Vec::new();
    watch(&shifted(&text, &curvatures, &minima), |gradient, step| {
        path.push((f64::from(gradient.worker), step.after[0]))
    })?;
    let end = &path[path.len() - 2 * period..];
    // The orbit may be entered anywhere.
    let off = |shift: usize| {
        let each = (0..period).map(|place| {
            let (worker, w) = end[shift + place];
            if worker == who[place] { (w - expected[place]).abs() } else { f64::INFINITY }
        });
        each.fold(0.0, f64::max)
    };
    case.exact("orbit: the greatest error", (0..period).map(off).fold(f64::INFINITY, f64::min), 0.0);
    Ok(())
}

fn dropped_bias(case: &mut Case) -> Result<()> {
    let (shares, curvatures, minima) = ([0.9, 0.1], [1.0, 4.0], [0.0, 1.0]);
    let known = Memoryless {
        shares: participation::dropping(&shares, 5).shares,
        curvatures: curvatures.to_vec(),
        minima: minima.to_vec(),
        learning_rate: 0.0,
    };
    case.formula("for small steps", known.small_step_mean(), case.value(""));
    let rest = "protocol: Ringmaster(bound: 6), stop: (updates: 400000)";
    let text = shifted(&with(&sgd(0.001), &exponential_workers(&shares), rest), &curvatures, &minima);
    let summary = play(&text)?.summary;
    // From the shares that came about: binomial, of the slow worker's 5 % of 400,000.
    let found = known.minimiser() - or_nan(summary.stationary_bias);
    case.estimate_within("where it settles", found, case.value(""), 0.003);
    Ok(())
}
