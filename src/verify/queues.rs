//! Workers that share a server: finite-source queues.

use super::Entry;
use super::case::{Case, WITHIN};
use super::play::{applied, constant_workers, exponential_workers, memoryless, or_nan, play, quadratic};
use crate::cluster::{Fate, Gradient};
use crate::error::Result;
use crate::record::GradientRow;
use crate::study::Outcome;
use crate::theory::{lag, network, queue};

pub const ENTRIES: &[Entry] = &[
    Entry::checked("T4.mm1N.", "exponential workers at an exponential server (M/M/1//N)", exponential_server),
    Entry::checked("T4.md1N.", "exponential workers at a constant server (M/D/1//N)", constant_service),
    Entry::checked("T4.dd1.", "constant compute times at a constant server", constant_server),
    Entry::checked("T4.insens.", "of compute times and networks only the means matter", only_means),
    Entry::checked("T4.hetero.", "workers of different speed at an exponential server", unequal_workers),
    Entry::checked("T4.mva.", "mean values of a server with ever more workers", mean_values),
    Entry::checked("T4.bottleneck", "how many workers keep a server busy", knee),
    Entry::checked("T3.disagree.outage", "an outage of the server shows in seconds, not in versions", outage),
];

const STEPS: u64 = 300_000;

fn serve(case: &Case, workers: &str, service: &str, rest: &str) -> Result<Outcome<Vec<GradientRow>>> {
    let steps = case.samples(STEPS);
    let rest = format!("server: (service: {service}), stop: (updates: {steps}), record: (gradients: All), {rest}");
    play(&quadratic(workers, &rest))
}

/// The mean over gradients of the version lag that each had when it reached the server, before it queued.
fn lag_at_arrival(gradients: &[Gradient]) -> f64 {
    let ends: Vec<u64> = gradients.iter().map(|gradient| gradient.ended.nanos()).collect();
    let lag = |gradient: &Gradient| {
        let version = ends.partition_point(|&end| end <= gradient.arrived.nanos()) as f64;
        version - gradient.version_read as f64
    };
    gradients.iter().map(lag).sum::<f64>() / gradients.len() as f64
}

fn exponential_server(case: &mut Case) -> Result<()> {
    let n = case.count("N");
    let (compute_s, service_s) = (1.0 / case.given("compute_rate"), 1.0 / case.given("service_rate"));
    let known = queue::exponential_server(n, compute_s, service_s);
    case.formula("throughput", known.throughput_per_s, case.value("throughput"));
    case.formula("utilisation", known.utilisation, case.value("utilisation"));
    case.formula("waiting", known.waiting, case.value("L"));
    case.formula("age", lag::mean_age_s(n, known.throughput_per_s), case.value("age_commit"));
    // What arrives finds the server as the others alone would keep it (Sevcik and Mitrani, 1981).
    let found = queue::exponential_server(n - 1, compute_s, service_s).waiting;
    case.formula("waiting at an arrival", found, case.value("queue_seen_by_arrival"));
    let response_s = known.waiting / known.throughput_per_s;
    case.formula("seconds at the server", response_s, case.value("server_response"));
    case.formula("age at arrival", compute_s, case.value("age_arrival"));
    case.formula("mean lag", lag::mean_of_busy(n, 1), case.value("lag_commit_mean"));
    // A difference of numbers of the size of n.
    let arrival = queue::lag_at_arrival(n, compute_s, service_s);
    case.formula_within("lag at arrival", arrival, case.value("lag_arrival_mean"), 1e-12 * n as f64);
    case.formula("variance of the lag", queue::lag_variance(n, compute_s, service_s), case.value("lag_var"));
    let lags = queue::lag_probabilities(n, compute_s, service_s);
    case.formula_list("probabilities of lags", &lags, &case.list("lag_pmf"));
    let workers = format!("(count: {n}, compute: Exponential(mean: {compute_s:?}))");
    let outcome = serve(case, &workers, &format!("Exponential(mean: {service_s:?})"), "")?;
    compare(case, &outcome);
    let (steps, sd) = (outcome.summary.steps, or_nan(outcome.summary.lag_versions.sd));
    case.estimate("variance of the lag", sd.powi(2), case.value("lag_var"), "lag_var", steps);
    let gradients = applied(&outcome);
    let arrival = lag_at_arrival(&gradients);
    case.estimate("lag at arrival", arrival, case.value("lag_arrival_mean"), "lag_arrival_mean", steps);
    let column = |of: fn(&Gradient) -> f64| gradients.iter().map(of).collect::<Vec<f64>>();
    let at_server = column(|gradient| gradient.ended.since(gradient.arrived).seconds());
    case.batches("seconds at the server", &at_server, case.value("server_response"));
    let at_arrival = column(|gradient| gradient.arrived.since(gradient.read).seconds());
    case.batches("age at arrival", &at_arrival, case.value("age_arrival"));
    Ok(())
}

fn constant_server(case: &mut Case) -> Result<()> {
    let (n, service_s) = (case.count("N"), case.given("s"));
    case.formula("throughput", queue::most_throughput_per_s(n, 1.0, service_s), case.value("throughput"));
    case.formula("workers that keep it busy", queue::saturation(1.0, service_s), case.value("N_star"));
    let known = queue::constant_ages_s(&vec![0.0; n as usize], 1.0, service_s, None, n as usize);
    let ages: Vec<f64> = known.iter().map(|(_, age)| *age).collect();
    case.formula_list("ages of the first round", &ages, &case.list("first_pass_ages"));
    let rest = format!("server: (service: Constant({service_s:?})), stop: (updates: 1000), record: (gradients: All)");
    let gradients = applied(&play(&quadratic(&format!("(count: {n}, compute: Constant(1.0))"), &rest))?);
    let lags: Vec<f64> = gradients.iter().map(|gradient| gradient.lag_versions() as f64).collect();
    let ages: Vec<f64> = gradients.iter().map(|gradient| gradient.lag().seconds()).collect();
    let first = n as usize;
    case.exact_list("lags of the first round", &lags[..first], &case.list("first_pass_lags"));
    case.exact_list("ages of the first round", &ages[..first], &case.list("first_pass_ages"));
    let [lag, age] = ["lag", "age"].map(|name| case.list(name).first().copied().unwrap_or(f64::NAN));
    case.exact_list("lags after that", &lags[first..], &vec![lag; lags.len() - first]);
    case.exact_list("ages after that", &ages[first..], &vec![age; ages.len() - first]);
    // One full round of the steady state: n steps in n/throughput seconds, exactly.
    let round_s = gradients[999].ended.seconds() - gradients[999 - first].ended.seconds();
    case.exact("throughput", n as f64 / round_s, case.value("throughput"));
    Ok(())
}

fn constant_service(case: &mut Case) -> Result<()> {
    let (n, service_s) = (case.count("N"), case.given("service"));
    let (known, served) = queue::constant_server(n, 1.0 / case.given("compute_rate"), service_s);
    case.formula("throughput", known.throughput_per_s, case.value("throughput"));
    case.formula("utilisation", known.utilisation, case.value("utilisation"));
    case.formula("served in a busy period", served, case.value("busy_period_served"));
    case.formula("age", lag::mean_age_s(n, known.throughput_per_s), case.value("age_commit"));
    case.formula("mean lag", lag::mean_of_busy(n, 1), case.value("lag_commit_mean"));
    let outcome = serve(case, &memoryless(n), &format!("Constant({service_s:?})"), "")?;
    compare(case, &outcome);
    let gradients = applied(&outcome);
    // A gradient that did not queue found the server idle, and so began a busy period, whose length has a deviation of the order of its mean.
    let periods = gradients.iter().filter(|gradient| gradient.causes.queue.nanos() == 0).count() as f64;
    let expected = case.value("busy_period_served");
    let found = gradients.len() as f64 / periods;
    case.estimate_within("served in a busy period", found, expected, WITHIN * 2.0 * expected / periods.sqrt());
    Ok(())
}

/// Throughput, age and mean lag of a run beside the book's.
fn compare(case: &mut Case, outcome: &Outcome<Vec<GradientRow>>) {
    let summary = &outcome.summary;
    let [mean, most] = [summary.lag_versions.mean, summary.lag_versions.max].map(or_nan);
    // It is N − 1 however fast the server is: an identity, up to what is in flight.
    let off = case.given("N") * most / summary.steps as f64;
    case.estimate_within("mean lag", mean, case.value("lag_commit_mean"), off);
    case.estimate(
        "throughput",
        or_nan(summary.throughput_per_s),
        case.value("throughput"),
        "throughput",
        summary.steps,
    );
    case.estimate("age", or_nan(summary.lag_s.mean), case.value("age_commit"), "age", summary.steps);
}

fn only_means(case: &mut Case) -> Result<()> {
    let known = queue::exponential_server(8, 2.5, 0.25).throughput_per_s;
    case.formula("throughput", known, case.value("throughput"));
    case.formula("age", lag::mean_age_s(8, known), case.value("age"));
    case.formula("mean lag", lag::mean_of_busy(8, 1), case.value("lag"));
    let (compute, download, upload) = match case.id() {
        "T4.insens.exp" => ("Exponential(mean: 2.0)", "Exponential(mean: 0.25)", "Exponential(mean: 0.25)"),
        "T4.insens.det" => ("Constant(2.0)", "Constant(0.25)", "Constant(0.25)"),
        _ => (
            "Uniform(low: 0.0, high: 4.0)",
            "Pareto(minimum: 0.16666666666666666, shape: 3.0)",
            "Empirical(values: [0.1, 0.4])",
        ),
    };
    let network = format!("network: (download: {download}, upload: {upload})");
    let outcome = serve(case, &format!("(count: 8, compute: {compute})"), "Exponential(mean: 0.25)", &network)?;
    let (throughput, steps) = (or_nan(outcome.summary.throughput_per_s), outcome.summary.steps);
    case.estimate("throughput", throughput, case.value("throughput"), "", steps);
    // The mean lag and Little's law hold but for the 8 gradients at each end.
    let off = 300.0 / steps as f64;
    case.estimate_within("mean lag", or_nan(outcome.summary.lag_versions.mean), case.value("lag"), 8.0 * off);
    case.estimate_within("throughput × age / 8", or_nan(outcome.summary.lag_s.mean) * throughput / 8.0, 1.0, off);
    Ok(())
}

fn unequal_workers(case: &mut Case) -> Result<()> {
    let (away_s, service_s) = (case.given_list("Z"), case.given("service_mean"));
    let known = queue::unequal_workers(&away_s, service_s);
    let all: f64 = known.iter().map(|worker| worker.throughput_per_s).sum();
    case.formula("throughput of all", all, case.value("total"));
    let column = |of: fn(&queue::Unequal) -> f64| known.iter().map(of).collect::<Vec<f64>>();
    case.formula_list("throughputs", &column(|worker| worker.throughput_per_s), &case.list("X"));
    let shares: Vec<f64> = known.iter().map(|worker| worker.throughput_per_s / all).collect();
    case.formula_list("shares", &shares, &case.list("share"));
    case.formula_list("lags", &column(|worker| worker.lag), &case.list("lag_mean"));
    case.formula_list("ages", &column(|worker| worker.age_s), &case.list("age"));
    let mean: f64 = known.iter().map(|worker| worker.lag * worker.throughput_per_s / all).sum();
    case.formula("mean lag", mean, case.value("overall_lag"));
    let rates: Vec<f64> = away_s.iter().map(|mean| 1.0 / mean).collect();
    let outcome = serve(case, &exponential_workers(&rates), &format!("Exponential(mean: {service_s:?})"), "")?;
    let [share, lag, age] = ["share", "lag_mean", "age"].map(|name| case.list(name));
    for (worker, books) in outcome.simulation.books().enumerate() {
        let n = books.count(Fate::Applied) as f64;
        // Relative deviations of a few per √n.
        let off = WITHIN * 1.5 / n.sqrt();
        let of = |what: &str| format!("{what} of worker {worker}, relative");
        case.estimate_within(&of("share"), n / outcome.summary.steps as f64 / share[worker], 1.0, off);
        case.estimate_within(&of("lag"), books.lag_versions as f64 / n / lag[worker], 1.0, off);
        case.estimate_within(&of("age"), books.lag_nanos as f64 / 1e9 / n / age[worker], 1.0, off);
    }
    Ok(())
}

fn outage(case: &mut Case) -> Result<()> {
    let [starts_s, outage] = ["starts", "outage"].map(|name| case.given_list(name));
    let [worker, lag, age, t] = ["worker", "lag", "age", "t"].map(|name| case.list(name));
    let (compute_s, service_s) = (case.given("T"), case.given("service"));
    let known = queue::constant_ages_s(&starts_s, compute_s, service_s, Some((outage[0], outage[1])), t.len());
    case.formula_list("instants", &known.iter().map(|(at, _)| *at).collect::<Vec<f64>>(), &t);
    case.formula_list("ages", &known.iter().map(|(_, age)| *age).collect::<Vec<f64>>(), &age);
    let rest = format!(
        "server: (service: Constant({service_s:?}), recovery: Kept), stop: (updates: {}), record: (gradients: All),
         failures: [(of: Server, at: At([{:?}]), repair: Constant({:?}))]",
        t.len(),
        outage[0],
        outage[1] - outage[0]
    );
    let rows = applied(&play(&quadratic(&constant_workers(&vec![compute_s; starts_s.len()], &starts_s), &rest))?);
    let column = |of: fn(&Gradient) -> f64| rows.iter().map(of).collect::<Vec<f64>>();
    case.exact_list("workers", &column(|gradient| f64::from(gradient.worker)), &worker);
    case.exact_list("lags", &column(|gradient| gradient.lag_versions() as f64), &lag);
    case.exact_list("ages", &column(|gradient| gradient.lag().seconds()), &age);
    case.exact_list("instants", &column(|gradient| gradient.ended.seconds()), &t);
    Ok(())
}

fn mean_values(case: &mut Case) -> Result<()> {
    let (away_s, service_s, expected) = (case.given("Z"), case.given("D"), case.list("X"));
    let lines = network::mean_values(expected.len() as u64, away_s, service_s);
    let column = |of: fn(&network::MeanValues) -> f64| lines.iter().map(of).collect::<Vec<f64>>();
    case.formula_list("throughputs", &column(|line| line.throughput_per_s), &expected);
    case.formula_list("times at the server", &column(|line| line.at_server_s), &case.list("R"));
    case.formula_list("waiting", &column(|line| line.waiting), &case.list("Q"));
    case.formula("workers that keep it busy", queue::saturation(away_s, service_s), case.value("N_star"));
    let most = |n: usize| queue::most_throughput_per_s(n as u64, away_s, service_s);
    let bounds: Vec<f64> = (1..=expected.len()).map(most).collect();
    case.formula_list("bounds on throughput", &bounds, &case.list("X_bound"));
    let n = expected.len();
    let outcome = serve(
        case,
        &format!("(count: {n}, compute: Exponential(mean: {away_s:?}))"),
        &format!("Exponential(mean: {service_s:?})"),
        "",
    )?;
    // Saturated, the server's times are what varies.
    let off = WITHIN * 2.0 / (outcome.summary.steps as f64).sqrt();
    let found = or_nan(outcome.summary.throughput_per_s) / expected[n - 1];
    case.estimate_within(&format!("throughput of {n} workers, relative"), found, 1.0, off);
    Ok(())
}

fn knee(case: &mut Case) -> Result<()> {
    case.formula("workers that keep the server busy", queue::saturation(2.5, 0.25), case.value(""));
    // From there on more of them make no more gradients, with constant times.
    for (n, expected) in [(5, 5.0 / 2.75), (11, 4.0), (20, 4.0)] {
        let outcome = serve(case, &format!("(count: {n}, compute: Constant(2.5))"), "Constant(0.25)", "")?;
        let off = 200.0 / outcome.summary.steps as f64;
        case.estimate_within(
            &format!("throughput of {n} workers"),
            or_nan(outcome.summary.throughput_per_s),
            expected,
            off,
        );
    }
    Ok(())
}
