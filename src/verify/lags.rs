//! The laws of lag, for workers without network and server delays.

use super::Entry;
use super::case::{Case, WITHIN};
use super::play::{applied, constant_workers, equal, exponential_workers, memoryless, or_nan, play, quadratic};
use crate::cluster::{Fate, Gradient};
use crate::error::Result;
use crate::record::GradientRow;
use crate::study::Outcome;
use crate::theory::barrier;
use crate::theory::lag::{self, Constants};
use crate::theory::renewal::{self, Renewal};

pub const ENTRIES: &[Entry] = &[
    Entry::checked("T3.exp.n", "equal workers with exponential compute times: geometric lags", geometric),
    Entry::checked("T3.exp.het.", "unequal ones: shares, lags and ages by their rates", unequal),
    Entry::checked("T3.det.equal.", "equal workers with constant compute times, in turn or at once", constant),
    Entry::checked("T3.det.", "unequal ones: the exact sequence of lags, and what adds up", sequence),
    Entry::checked("T3.identity", "lags add up to N (n − 1), whatever the laws", identity),
    Entry::checked("T3.little", "mean lag + 1 = throughput × mean age = n (Little)", little),
    Entry::checked("T3.renewal.", "any law of compute times: the variance of the lag", any_law),
    Entry::checked("T3.renewal.universal", "that variance for laws without one of their own", universal),
    Entry::checked("T3.pmf.", "the whole law of lags for Erlang compute times", erlang),
    Entry::checked("T3.inflight.", "what is in flight is less stale than what is applied, or is not", in_flight),
    Entry::checked("T3.corr.", "correlation of lags in versions and in seconds", correlation),
    Entry::checked("T3.disagree.scale", "more workers raise versions, slower ones seconds", scale),
    Entry::checked("T3.disagree.reversal", "the older gradient can have the smaller lag in versions", reversal),
    Entry::checked("T3.kbatch.", "K gradients a step, of whoever is first: (n − 1)/K", buffers),
    Entry::checked("T3.kasync.", "K workers a step, who wait for it: (n − K)/K", buffers),
];

fn steps(workers: &str, updates: u64) -> Result<Outcome<Vec<GradientRow>>> {
    play(&quadratic(workers, &format!("stop: (updates: {updates})")))
}

fn variance(outcome: &Outcome<Vec<GradientRow>>) -> f64 {
    or_nan(outcome.summary.lag_versions.sd).powi(2)
}

/// The share of gradients with each lag 0, 1, 2 …
fn shares(outcome: &Outcome<Vec<GradientRow>>, lags: usize) -> Vec<f64> {
    let all = outcome.recording.lags.overall().versions;
    let mut shares = vec![0.0; lags];
    for bin in all.histogram().bins() {
        if let Some(share) = shares.get_mut(bin.lower as usize) {
            *share = bin.count as f64 / all.total() as f64;
        }
    }
    shares
}

/// The standard error of a share, with so much more for correlation.
fn of_share(p: f64, n: f64, more: f64) -> f64 {
    more * (p * (1.0 - p) / n).sqrt()
}

fn geometric(case: &mut Case) -> Result<()> {
    let n = case.count("n");
    let expected = case.list("pmf");
    case.formula("mean", lag::mean_of_busy(n, 1), case.value("mean"));
    case.formula("variance", lag::memoryless_variance(n), case.value("var"));
    let known: Vec<f64> = (0..expected.len() as u64).map(|k| lag::memoryless_probability(n, 1, k)).collect();
    case.formula_list("probabilities", &known, &expected);
    let below: f64 = (0..n).map(|k| lag::memoryless_probability(n, 1, k)).sum();
    case.formula("P(lag ≥ n)", 1.0 - below, case.value("P_ge_n"));
    let updates = case.samples(300_000);
    let outcome = steps(&memoryless(n), updates)?;
    case.estimate("variance", variance(&outcome), case.value("var"), "", updates);
    let found = shares(&outcome, expected.len());
    case.estimate_p0(found[0], expected[0], updates);
    for (lag, (share, p)) in found.iter().zip(&expected).enumerate() {
        // Successive lags are weakly correlated: 1.2 times the binomial deviation was measured for P(0).
        case.estimate_within(&format!("P({lag})"), *share, *p, WITHIN * of_share(*p, updates as f64, 1.2));
    }
    // The mean is no matter of chance: it is off by what is in flight at the end, and no more.
    let left = or_nan(outcome.summary.lag_versions.max) * n as f64 / updates as f64;
    case.estimate_within("mean", or_nan(outcome.summary.lag_versions.mean), n as f64 - 1.0, left);
    Ok(())
}

fn unequal(case: &mut Case) -> Result<()> {
    let rates = case.given_list("rates");
    let n = rates.len() as u64;
    let known = |of: fn(&[f64], usize) -> f64| (0..rates.len()).map(|worker| of(&rates, worker)).collect::<Vec<f64>>();
    case.formula_list("shares", &known(lag::memoryless_share_of), &case.list("share"));
    case.formula_list("means", &known(lag::memoryless_mean_of), &case.list("mean_lag"));
    case.formula_list("variances", &known(lag::memoryless_variance_of), &case.list("var_lag"));
    case.formula("mean of all", lag::mean_of_busy(n, 1), case.value("overall_mean"));
    case.formula("variance of all", lag::memoryless_variance_of_all(&rates), case.value("overall_var"));
    let throughput = case.value("throughput");
    case.formula("age", lag::mean_age_s(n, throughput), case.value("mean_age_over_commits"));
    // One worker's gradients are its own queue of one: Little's law.
    let ages: Vec<f64> = rates.iter().map(|&rate| lag::mean_age_s(1, rate)).collect();
    case.formula_list("ages", &ages, &case.list("mean_age_per_worker"));
    let updates = case.samples(300_000);
    let outcome = steps(&exponential_workers(&rates), updates)?;
    // Steps are a Poisson process.
    let found = or_nan(outcome.summary.throughput_per_s);
    case.estimate_within("throughput", found, throughput, WITHIN * throughput / (updates as f64).sqrt());
    case.estimate("variance of all", variance(&outcome), case.value("overall_var"), "", updates);
    let [share, mean, var, age] = ["share", "mean_lag", "var_lag", "mean_age_per_worker"].map(|name| case.list(name));
    for (worker, books) in outcome.simulation.books().enumerate() {
        // Shares are binomial, ages exponential, lags geometric: their deviations are known.
        let (p, n) = (share[worker], books.count(Fate::Applied) as f64);
        let of = |what: &str| format!("{what} of worker {worker}");
        case.estimate_within(&of("share"), n / updates as f64, p, WITHIN * of_share(p, updates as f64, 1.0));
        // Lags of one worker follow each other with a little correlation.
        let off = WITHIN * 1.2 * (var[worker] / n).sqrt();
        case.estimate_within(&of("lag"), books.lag_versions as f64 / n, mean[worker], off);
        let seconds = books.lag_nanos as f64 / 1e9 / n;
        case.estimate_within(&of("age"), seconds, age[worker], WITHIN * age[worker] / n.sqrt());
    }
    Ok(())
}

fn constant(case: &mut Case) -> Result<()> {
    let (n, expected) = (case.count("n"), case.list(""));
    let staggered = case.id().ends_with("stagger");
    let starts_s: Vec<f64> = (0..n).map(|i| if staggered { i as f64 / n as f64 } else { 0.0 }).collect();
    let reads_after_all = case.id().ends_with("tieB");
    let workers = Constants { compute_s: vec![1.0; n as usize], starts_s: starts_s.clone(), reads_after_all };
    let known: Vec<f64> =
        workers.pushes(expected.len() as u64).iter().map(|&(worker, push)| workers.lag(worker, push) as f64).collect();
    case.formula_list("lags", &known, &expected);
    // That all read after all pushes of an instant is what requests of a nanosecond come to.
    let network = if reads_after_all { "network: (request: Constant(1e-9)), " } else { "" };
    let each = if staggered { constant_workers(&vec![1.0; n as usize], &starts_s) } else { equal(n) };
    let rest = format!("{network}stop: (updates: {}), record: (gradients: All)", expected.len());
    let lags: Vec<f64> = applied(&play(&quadratic(&each, &rest))?).iter().map(|g| g.lag_versions() as f64).collect();
    case.exact_list("lags", &lags, &expected);
    Ok(())
}

fn sequence(case: &mut Case) -> Result<()> {
    const PUSHES: u64 = 2000;
    let (compute_s, starts_s) = (case.given_list("T"), case.given_list("starts"));
    let (who, expected) = (case.list("worker"), case.list("lag"));
    let workers = Constants { compute_s: compute_s.clone(), starts_s: starts_s.clone(), reads_after_all: false };
    let pushes = workers.pushes(PUSHES);
    let known: Vec<f64> = pushes.iter().map(|&(worker, push)| workers.lag(worker, push) as f64).collect();
    case.formula_list("lags", &known, &expected);
    let means: Vec<f64> = (0..compute_s.len()).map(|worker| lag::constant_mean_of(&compute_s, worker)).collect();
    case.formula_list("means", &means, &case.list("mean_lag"));
    let total = crate::verify::case::number(&case.whole()["identity_N2000"]["total"]);
    case.formula("all lags of 2,000 steps", lag::total_of_busy(compute_s.len() as u64, PUSHES) as f64, total);
    let text = quadratic(&constant_workers(&compute_s, &starts_s), "stop: (updates: 2000), record: (gradients: All)");
    let outcome = play(&text)?;
    let gradients = applied(&outcome);
    let lags: Vec<f64> = gradients.iter().map(|gradient| gradient.lag_versions() as f64).collect();
    case.exact_list("lags", &lags[..expected.len()], &expected);
    let order: Vec<f64> = gradients.iter().take(who.len()).map(|gradient| f64::from(gradient.worker)).collect();
    case.exact_list("order of workers", &order, &who);
    hyperperiod(case, &gradients, &compute_s);
    let rows = outcome.recording.sink.iter().filter(|row| row.gradient.fate == Fate::InFlight);
    let left: i64 = rows.map(|row| row.gradient.lag_versions()).sum();
    let part = |name: &str| crate::verify::case::number(&case.whole()["identity_N2000"][name]);
    let (applied, in_flight) = (part("sum_lag"), part("sum_partial"));
    case.exact("lags of what was applied", lags.iter().sum(), applied);
    case.exact("lags of what is in flight", left as f64, in_flight);
    Ok(())
}

/// The time after which everything comes again: every worker has pushed a whole number of times, and from then on lags are what they were.
fn hyperperiod(case: &mut Case, gradients: &[Gradient], compute_s: &[f64]) {
    let (period_s, commits) = (case.value("hyperperiod"), case.value("commits_per_hyperperiod"));
    case.formula("steps a hyperperiod", period_s * barrier::unhindered_per_s(compute_s), commits);
    let left: f64 = compute_s.iter().map(|time| period_s % time).sum();
    case.formula("what is left of it beside whole compute times", left, 0.0);
    case.formula("mean of all", lag::mean_of_busy(compute_s.len() as u64, 1), case.value("overall_mean"));
    let lags = |from: usize| gradients[from..].iter().take(500).map(|gradient| gradient.lag_versions() as f64);
    // The first of them read at the start, where nothing had happened yet.
    let (first, period) = (compute_s.len() * 10, commits as usize);
    let (once, again): (Vec<f64>, Vec<f64>) = (lags(first).collect(), lags(first + period).collect());
    case.exact_list("lags a hyperperiod later", &again, &once);
    let mean = lags(first).take(period).sum::<f64>() / period as f64;
    case.exact("mean of all, over a hyperperiod", mean, case.value("overall_mean"));
}

const LAWS: [&str; 4] = [
    "Exponential(mean: 1.0)",
    "Uniform(low: 0.5, high: 1.5)",
    "Pareto(minimum: 0.1, shape: 1.1)",
    "Autoregressive(correlation: 0.9, law: Gamma(mean: 1.0, cv: 2.0))",
];

fn identity(case: &mut Case) -> Result<()> {
    for law in LAWS {
        let outcome = play(&quadratic(
            &format!("(count: 7, compute: {law})"),
            "stop: (updates: 5000), record: (gradients: All)",
        ))?;
        let all: i64 = outcome.recording.sink.iter().map(|row| row.gradient.lag_versions()).sum();
        case.exact(law, all as f64, lag::total_of_busy(7, 5000) as f64);
    }
    Ok(())
}

fn little(case: &mut Case) -> Result<()> {
    let updates = case.samples(300_000);
    for law in LAWS.iter().filter(|law| !law.starts_with("Pareto")) {
        let rest = format!(
            "network: (download: Exponential(mean: 0.1), upload: Constant(0.2)), server: (service: Gamma(mean: 0.05, cv: 1.0)),
             stop: (updates: {updates})"
        );
        let summary = play(&quadratic(&format!("(count: 8, compute: {law})"), &rest))?.summary;
        // But for the eight gradients at each end, of a few times the mean.
        let off = 100.0 / updates as f64 * 8.0;
        let age = or_nan(summary.throughput_per_s) * or_nan(summary.lag_s.mean);
        case.estimate_within(&format!("{law}: mean lag + 1"), or_nan(summary.lag_versions.mean) + 1.0, 8.0, off);
        case.estimate_within(&format!("{law}: throughput × age"), age, 8.0, off);
    }
    Ok(())
}

fn law_of(id: &str) -> Option<(Renewal, &'static str)> {
    Some(match id.trim_start_matches("T3.renewal.") {
        "erlang2" => (renewal::erlang(2), "Erlang(shape: 2, mean: 1.0)"),
        "erlang4" => (renewal::erlang(4), "Erlang(shape: 4, mean: 1.0)"),
        "uniform02" => (renewal::uniform(0.0, 2.0), "Uniform(low: 0.0, high: 2.0)"),
        "uniform.5-1.5" => (renewal::uniform(0.5, 1.5), "Uniform(low: 0.5, high: 1.5)"),
        "shiftexp.5" => (renewal::shifted_exponential(0.5, 0.5), "ShiftedExponential(shift: 0.5, mean: 0.5)"),
        "hyperexp" => (
            renewal::hyperexponential(&[0.9, 0.1], &[1.0 / 1.8, 5.0]),
            "Hyperexponential(branches: [(weight: 0.9, mean: 0.5555555555555556), (weight: 0.1, mean: 5.0)])",
        ),
        "pareto3" => (renewal::pareto(3.0), "Pareto(minimum: 1.0, shape: 3.0)"),
        "lognormal.5" => (renewal::log_normal(0.5), "LogNormal(median: 1.0, sigma: 0.5)"),
        "lognormal1" => (renewal::log_normal(1.0), "LogNormal(median: 1.0, sigma: 1.0)"),
        _ => return None,
    })
}

fn any_law(case: &mut Case) -> Result<()> {
    let Some((renewal, law)) = law_of(case.id()) else { return Ok(()) };
    let heavy = case.id().ends_with("pareto3");
    // The book solved a renewal equation on a grid, which for this law left nine digits.
    let relative = if heavy { 1e-9 } else { 1e-12 };
    case.formula_about("squared coefficient of variation", renewal.squared_cv, case.value("c2"), relative);
    case.formula_about("variance of a count", renewal.count_variance, case.value("EV"), relative);
    case.formula_about("P(lag = 0) of two", renewal.fresh_of_two, case.value("P0_n2"), relative);
    let updates = case.samples(150_000);
    for n in [2, 4, 8] {
        let (name, expected) = (format!("n{n}"), case.value(&format!("var_n{n}")));
        case.formula_about(&format!("variance of {n}"), renewal.lag_variance(n), expected, relative);
        if heavy && n > 2 {
            continue;
        }
        let outcome = steps(&format!("(count: {n}, compute: {law})"), updates)?;
        if heavy {
            // The variance exists, but its estimate has none: only P(0) can be told.
            let p = case.value("P0_n2");
            case.estimate_within(
                "P(lag = 0) of two",
                shares(&outcome, 1)[0],
                p,
                WITHIN * of_share(p, updates as f64, 1.2),
            );
        } else {
            case.estimate(&format!("variance of {n}"), variance(&outcome), expected, &name, updates);
        }
    }
    Ok(())
}

fn universal(case: &mut Case) -> Result<()> {
    for n in [2, 5, 40] {
        let of = |law: &str| format!("{law}, {n} workers");
        case.formula(&of("constant times"), renewal::constant().lag_variance(n), 0.0);
        case.formula(&of("exponential times"), renewal::exponential().lag_variance(n), lag::memoryless_variance(n));
        case.formula(&of("Pareto times of shape 1.5"), renewal::pareto(1.5).lag_variance(n), f64::INFINITY);
        let outcome = play(&quadratic(
            &format!("(count: {n}, compute: Pareto(minimum: 1.0, shape: 1.5))"),
            "stop: (updates: 5000), record: (gradients: All)",
        ))?;
        let all: i64 = outcome.recording.sink.iter().map(|row| row.gradient.lag_versions()).sum();
        case.exact(&of("all lags of 5,000 steps"), all as f64, 5000.0 * (n as f64 - 1.0));
    }
    Ok(())
}

fn erlang(case: &mut Case) -> Result<()> {
    let (n, expected) = (case.in_name(".n") as u64, case.list(""));
    let known = lag::erlang_probabilities(n, 2, expected.len() as u64 - 1);
    case.formula_list("probabilities", &known, &expected);
    let updates = case.samples(150_000);
    let outcome = steps(&format!("(count: {n}, compute: Erlang(shape: 2, mean: 1.0))"), updates)?;
    for (lag, (share, p)) in shares(&outcome, 8).iter().zip(&expected).enumerate() {
        case.estimate_within(&format!("P({lag})"), *share, *p, WITHIN * of_share(*p, updates as f64, 1.2));
    }
    Ok(())
}

fn in_flight(case: &mut Case) -> Result<()> {
    let n = case.count("n");
    let exponential = case.id().contains("exp");
    let known = if exponential { lag::mean_in_flight_of_memoryless(n) } else { lag::mean_in_flight_of_constant(n) };
    case.formula("mean", known, case.value(""));
    let updates = case.samples(300_000);
    let outcome = steps(&if exponential { memoryless(n) } else { equal(n) }, updates)?;
    // The mean over n geometric lags deviates by some √n, and is renewed every n steps or so. Constant: only the start is off.
    let (n, updates) = (n as f64, updates as f64);
    let off = if exponential { WITHIN * n * (2.0 / updates).sqrt() } else { 10.0 * n / updates };
    case.estimate_within("mean", or_nan(outcome.summary.in_flight_lag_versions), case.value(""), off);
    Ok(())
}

fn correlation(case: &mut Case) -> Result<()> {
    let updates = case.samples(300_000);
    for n in [2, 4, 8, 16] {
        let expected = case.value(&n.to_string());
        case.formula(&format!("of {n} workers"), lag::memoryless_correlation(n), expected);
        let found = or_nan(steps(&memoryless(n), updates)?.summary.lag_correlation);
        case.estimate(&format!("of {n} workers"), found, expected, "", updates);
    }
    Ok(())
}

fn scale(case: &mut Case) -> Result<()> {
    let updates = case.samples(300_000);
    for (name, n, mean_s) in [("n8_c1", 8, 1.0), ("n16_c1", 16, 1.0), ("n8_c2", 8, 2.0)] {
        let expected = case.list(name);
        let known = [lag::mean_of_busy(n, 1), lag::mean_age_s(n, n as f64 / mean_s)];
        case.formula_list(name, &known, &expected);
        let summary = steps(&format!("(count: {n}, compute: Exponential(mean: {mean_s:?}))"), updates)?.summary;
        // The mean of versions is n − 1 in every run but for its ends: some n² lags.
        let off = 10.0 * (n * n) as f64 / updates as f64;
        case.estimate_within(&format!("{name}, versions"), or_nan(summary.lag_versions.mean), expected[0], off);
        // An exponential has its mean for deviation, and ages are independent.
        let off = WITHIN * mean_s / (updates as f64).sqrt();
        case.estimate_within(&format!("{name}, seconds"), or_nan(summary.lag_s.mean), expected[1], off);
    }
    Ok(())
}

fn reversal(case: &mut Case) -> Result<()> {
    let (compute_s, starts_s) = (case.given_list("T"), case.given_list("starts"));
    let workers = Constants { compute_s: compute_s.clone(), starts_s: starts_s.clone(), reads_after_all: false };
    let text = quadratic(&constant_workers(&compute_s, &starts_s), "stop: (time_s: 20.0), record: (gradients: All)");
    let gradients = applied(&play(&text)?);
    for (worker, name) in [(0, "worker0"), (7, "worker7")] {
        let expected = case.list(name);
        case.formula_list(name, &[workers.lag(worker, 1) as f64, compute_s[worker]], &expected);
        let first = gradients.iter().find(|gradient| gradient.worker as usize == worker);
        let found = first.map_or(Vec::new(), |first| vec![first.lag_versions() as f64, first.lag().seconds()]);
        case.exact_list(name, &found, &expected);
    }
    Ok(())
}

fn buffers(case: &mut Case) -> Result<()> {
    let (n, k) = (case.count("n"), case.count("K"));
    let waits = case.id().contains("kasync");
    let (mean, expected) = (case.value("mean"), case.list("pmf"));
    let known = if waits { lag::mean_of_k_async(n, k) } else { lag::mean_of_busy(n, k) };
    case.formula("mean", known, mean);
    let probability = if waits { lag::memoryless_probability } else { lag::memoryless_batch_probability };
    let known: Vec<f64> = (0..expected.len() as u64).map(|lag| probability(n, k, lag)).collect();
    case.formula_list("probabilities", &known, &expected);
    let protocol = if waits { "KAsync" } else { "KBatchAsync" };
    let updates = case.samples(150_000).div_ceil(k);
    let rest = format!("protocol: {protocol}(k: {k}), stop: (updates: {updates})");
    let lags = play(&quadratic(&memoryless(n), &rest))?.recording.lags.overall().versions;
    let total = lags.total() as f64;
    // Up to the ends of the run, where n gradients have lags of a few times the mean, the mean is no matter of chance.
    case.estimate_within("mean", or_nan(lags.mean()), mean, 10.0 * n as f64 * (mean + 1.0) / total);
    for (lag, p) in expected.into_iter().enumerate().filter(|(_, p)| *p > 1e-4) {
        let bins = lags.histogram().bins().filter(|bin| bin.lower == lag as u64);
        let share = bins.map(|bin| bin.count).sum::<u64>() as f64 / total;
        // The gradients of one step are not independent: half as much again as a binomial deviation.
        case.estimate_within(&format!("P({lag})"), share, p, WITHIN * 1.5 * (p / total).sqrt() + 20.0 / total);
    }
    Ok(())
}
