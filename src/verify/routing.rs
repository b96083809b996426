//! Tasks that go round between workers with queues, and snapshots that are asked for.

use super::Entry;
use super::case::{Case, WITHIN};
use super::play::{exponential_workers, or_nan, play, prepare, quadratic};
use crate::cluster::{Books, Fate};
use crate::error::Result;
use crate::output::NoRows;
use crate::study::{Outcome, run};
use crate::theory::{lag, network};

/// How many independent runs an estimate is from.
const RUNS: u64 = 20;

pub const ENTRIES: &[Entry] = &[
    Entry::checked("T4.jackson.", "tasks that go round: a closed Jackson network (Leconte et al., 2024)", jackson),
    Entry::checked("T4.jackson.asympt", "the same with very many tasks", many_tasks),
    Entry::checked("T4.network.", "clients, links and a server together (Buzen, 1973)", whole_network),
    Entry::checked("T4.pull.", "a separate request for the snapshot is less stale", pull),
];

fn jackson(case: &mut Case) -> Result<()> {
    let (rates, shares, tasks) = (case.given_list("mu"), case.given_list("p"), case.count("m"));
    let (throughput, clients) = network::clients(&rates, &shares, tasks);
    case.formula("throughput", throughput, case.value("throughput"));
    let column = |of: fn(&network::Client) -> f64| clients.iter().map(of).collect::<Vec<f64>>();
    case.formula_list("tasks", &column(|client| client.tasks), &case.list("EX"));
    case.formula_list("lags", &column(|client| client.lag), &case.list("lag_mean"));
    let all: f64 = clients.iter().zip(&shares).map(|(client, share)| share * client.lag).sum();
    case.formula_within("mean lag", all, case.value("sum_p_lag"), 1e-12 * tasks as f64);
    case.formula_list("sojourns", &column(|client| client.with_it_s), &case.list("sojourn"));
    // Tasks are spread evenly at the start; where they are many, it takes long until the fast clients' queues have emptied.
    let steps = if tasks > 500 { 4_000_000 } else { 400_000 };
    let runs = if tasks > 50 { 1 } else { RUNS };
    let rest =
        format!("protocol: GeneralisedAsync(tasks: {tasks}, shares: {shares:?}), stop: (updates: {})", steps / runs);
    let text = quadratic(&exponential_workers(&rates), &rest);
    let outcomes: Vec<_> = (0..runs)
        .map(|replication| run(prepare(&text, Some(replication))?, NoRows, |_| true))
        .collect::<Result<_>>()?;
    let column = |of: &dyn Fn(&Outcome<NoRows>) -> f64| outcomes.iter().map(of).collect::<Vec<f64>>();
    let throughputs = column(&|outcome| or_nan(outcome.summary.throughput_per_s));
    of_tasks(case, "throughput", &throughputs, case.value("throughput"));
    let (lags, sojourns) = (case.list("lag_mean"), case.list("sojourn"));
    // Clients that are alike are taken together: one queue of many tasks moves slowly.
    for (first, rate) in rates.iter().enumerate().filter(|&(place, rate)| !rates[..place].contains(rate)) {
        let mean = |of: &dyn Fn(&Books) -> f64, per_gradient: bool| {
            column(&|outcome| {
                let alike = || outcome.simulation.books().zip(&rates).filter(|(_, other)| *other == rate);
                let n: f64 = alike().map(|(books, _)| books.count(Fate::Applied) as f64).sum();
                let sum: f64 = alike().map(|(books, _)| of(&books)).sum();
                if per_gradient { sum / n } else { sum / alike().count() as f64 / outcome.summary.steps as f64 }
            })
        };
        let what = |name: &str| format!("{name} of clients of rate {rate}");
        let share = mean(&|books| books.count(Fate::Applied) as f64, false);
        of_tasks(case, &what("share"), &share, shares[first]);
        of_tasks(case, &what("lag"), &mean(&|books| books.lag_versions as f64, true), lags[first]);
        of_tasks(case, &what("sojourn"), &mean(&|books| books.lag_nanos as f64 / 1e9, true), sojourns[first]);
    }
    let outcome = &outcomes[0];
    // Exactly, up to the tasks in flight at the end: Σ pᵢ lagᵢ = m − 1.
    let tasks = tasks as f64;
    let ends = tasks * tasks * 20.0 / outcome.summary.steps as f64 + 1e-9;
    case.estimate_within("mean lag", or_nan(outcome.summary.lag_versions.mean), case.value("sum_p_lag"), ends);
    Ok(())
}

/// A mean of independent runs beside the book's. Where tasks are many there is one long run, which is as sure of them as the balance between fast
/// and slow clients moves slowly: that tolerance is of experience, not a standard error.
fn of_tasks(case: &mut Case, what: &str, found: &[f64], expected: f64) {
    match found {
        [one] => case.estimate_within(&format!("{what}, relative"), one / expected, 1.0, 0.05),
        _ => case.replicated(what, found, expected),
    }
}

/// The network of ten clients with a thousand tasks, of which the limit is.
fn many_tasks(case: &mut Case) -> Result<()> {
    let (rates, shares) = ([[1.2; 5], [1.0; 5]].concat(), [0.1; 10]);
    let limit = network::many_tasks_lags(&rates, &shares, 1000);
    for (name, place) in [("fast", 0), ("slow", 9)] {
        case.formula(name, limit[place], case.value(name));
        // The limit beside what it is the limit of: the fast clients' lags come to it, the slow ones' share what is left of all tasks.
        let tasks = 100_000;
        let (_, clients) = network::clients(&rates, &shares, tasks);
        let expected = network::many_tasks_lags(&rates, &shares, tasks)[place];
        case.formula_about(&format!("{name}, beside a network of {tasks} tasks"), clients[place].lag, expected, 1e-3);
    }
    Ok(())
}

fn whole_network(case: &mut Case) -> Result<()> {
    let rates = case.given_list("mu");
    let [server_s, up_s, down_s] = ["server_mean", "up", "down"].map(|name| case.given(name));
    let tasks = case.count("m");
    let mut demands_s: Vec<f64> = rates.iter().map(|rate| 1.0 / rates.len() as f64 / rate).collect();
    demands_s.push(server_s);
    let known = network::closed(&demands_s, up_s + down_s, tasks);
    case.formula("throughput", known.throughput_per_s, case.value("throughput"));
    case.formula_list("tasks at clients", &known.at_stations, &case.list("E_clients"));
    case.formula("tasks at the server", known.at_stations[rates.len()], case.value("E_server"));
    case.formula("tasks on links", known.on_the_way, case.value("E_links"));
    case.formula("cycle", lag::mean_age_s(tasks, known.throughput_per_s), case.value("cycle"));
    case.formula("mean lag", lag::mean_of_busy(tasks, 1), case.value("lag_mean"));
    // Here a client is busy with a task until its gradient has arrived, so that of the network only the mean lag is the same.
    let steps = case.samples(400_000);
    let rest = format!(
        "protocol: GeneralisedAsync(tasks: {tasks}), network: (upload: Constant({:?})), server: (service: Exponential(mean: {server_s:?})),
         stop: (updates: {steps})",
        up_s + down_s
    );
    let outcome = play(&quadratic(&exponential_workers(&rates), &rest))?;
    let off = 20.0 * (tasks * tasks) as f64 / steps as f64;
    case.estimate_within("mean lag", or_nan(outcome.summary.lag_versions.mean), tasks as f64 - 1.0, off);
    Ok(())
}

fn pull(case: &mut Case) -> Result<()> {
    let [request_s, down_s, compute_s, up_s] = ["req", "down", "compute", "up"].map(|name| case.given(name));
    let (n, holding_s) = (case.count("n"), down_s + compute_s + up_s);
    let cycle_s = request_s + holding_s;
    case.formula("lag", lag::mean_of_separate_pull(n, holding_s, cycle_s), case.value("lag_mean"));
    case.formula("throughput", n as f64 / cycle_s, case.value("throughput"));
    case.formula("age", holding_s, case.value("age"));
    let law = |mean_s: f64| match mean_s > 0.0 {
        true => format!("Exponential(mean: {mean_s:?})"),
        false => "Constant(0.0)".to_owned(),
    };
    let steps = case.samples(300_000);
    let rest = format!(
        "network: (request: {}, download: {}, upload: {}), stop: (updates: {steps})",
        law(request_s),
        law(down_s),
        law(up_s)
    );
    let summary = play(&quadratic(&format!("(count: {n}, compute: {})", law(compute_s)), &rest))?.summary;
    case.estimate("lag", or_nan(summary.lag_versions.mean), case.value("lag_mean"), "", steps);
    // Means of sums of exponentials, whose deviation is no more than the mean.
    let off = WITHIN / (steps as f64).sqrt();
    let age = or_nan(summary.lag_s.mean) / case.value("age");
    case.estimate_within("age, relative", age, 1.0, off);
    let throughput = or_nan(summary.throughput_per_s) / case.value("throughput");
    case.estimate_within("throughput, relative", throughput, 1.0, off);
    Ok(())
}
