//! Workers that share a server: finite-source queues.

use super::Entry;
use super::case::Case;
use super::play::{applied, play, quadratic};
use crate::cluster::Gradient;
use crate::error::Result;
use crate::record::GradientRow;
use crate::study::Outcome;
use crate::theory::queue;

pub const ENTRIES: &[Entry] = &[
    Entry::checked("T4.mm1N.", "exponential workers at an exponential server (M/M/1//N)", exponential_server),
    Entry::checked("T4.dd1.", "constant compute times at a constant server", constant_server),
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
    case.formula("lag at arrival", queue::lag_at_arrival(n, compute_s, service_s), case.value("lag_arrival_mean"));
    let workers = format!("(count: {n}, compute: Exponential(mean: {compute_s:?}))");
    let outcome = serve(case, &workers, &format!("Exponential(mean: {service_s:?})"), "")?;
    let (steps, lag) = (outcome.summary.steps, &outcome.summary.lag_versions);
    let [throughput, age, mean, sd, most] =
        [outcome.summary.throughput_per_s, outcome.summary.lag_s.mean, lag.mean, lag.sd, lag.max]
            .map(|figure| figure.unwrap_or(f64::NAN));
    case.estimate("throughput", throughput, case.value("throughput"), "throughput", steps);
    case.estimate("age", age, case.value("age_commit"), "age", steps);
    // At commit the mean lag is N − 1 however fast the server is: an identity, up to what is in flight.
    let off = n as f64 * most / steps as f64;
    case.estimate_within("mean lag", mean, n as f64 - 1.0, off);
    case.estimate("variance of the lag", sd.powi(2), case.value("lag_var"), "lag_var", steps);
    let arrival = lag_at_arrival(&applied(&outcome));
    case.estimate("lag at arrival", arrival, case.value("lag_arrival_mean"), "lag_arrival_mean", steps);
    Ok(())
}

fn constant_server(case: &mut Case) -> Result<()> {
    let (n, service_s) = (case.count("N"), case.given("s"));
    case.formula("throughput", queue::most_throughput_per_s(n, 1.0, service_s), case.value("throughput"));
    let rest = format!("server: (service: Constant({service_s:?})), stop: (updates: 1000), record: (gradients: All)");
    let gradients = applied(&play(&quadratic(&format!("(count: {n}, compute: Constant(1.0))"), &rest))?);
    let lags: Vec<f64> = gradients.iter().map(|gradient| gradient.lag_versions() as f64).collect();
    let ages: Vec<f64> = gradients.iter().map(|gradient| gradient.lag().seconds()).collect();
    let first = n as usize;
    case.exact_list("lags of the first round", &lags[..first], &case.list("first_pass_lags"));
    case.exact_list("ages of the first round", &ages[..first], &case.list("first_pass_ages"));
    case.exact_list("lags after that", &lags[first..], &vec![case.value("lag"); lags.len() - first]);
    case.exact_list("ages after that", &ages[first..], &vec![case.value("age"); ages.len() - first]);
    // One full round of the steady state: n steps in n/throughput seconds, exactly.
    let round_s = gradients[999].ended.seconds() - gradients[999 - first].ended.seconds();
    case.exact("throughput", n as f64 / round_s, case.value("throughput"));
    Ok(())
}
