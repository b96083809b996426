//! Tasks that go round between workers with queues, and snapshots that are asked for.

use super::Entry;
use super::case::{Case, WITHIN};
use super::play::{exponential_workers, or_nan, play, quadratic};
use crate::cluster::Fate;
use crate::error::Result;
use crate::theory::{lag, network};

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
    case.formula_list("sojourns", &column(|client| client.with_it_s), &case.list("sojourn"));
    // Tasks are spread evenly at the start; where they are many, it takes long until the fast clients' queues have emptied.
    let steps = if tasks > 500 { 4_000_000 } else { 400_000 };
    let rest = format!("protocol: GeneralisedAsync(tasks: {tasks}, shares: {shares:?}), stop: (updates: {steps})");
    let outcome = play(&quadratic(&exponential_workers(&rates), &rest))?;
    let found = or_nan(outcome.summary.throughput_per_s) / case.value("throughput");
    case.estimate_within("throughput, relative", found, 1.0, 0.01);
    let (lags, sojourns) = (case.list("lag_mean"), case.list("sojourn"));
    // Clients that are alike are taken together: one queue of many tasks moves slowly. Where tasks are many, so does the balance between the
    // fast and the slow: these tolerances are of that, not of a standard error.
    let off = if tasks > 50 { 0.05 } else { 0.015 };
    for (first, rate) in rates.iter().enumerate().filter(|&(place, rate)| !rates[..place].contains(rate)) {
        let books: Vec<_> = outcome
            .simulation
            .books()
            .zip(&rates)
            .filter(|(_, other)| *other == rate)
            .map(|(books, _)| books)
            .collect();
        let n: f64 = books.iter().map(|books| books.count(Fate::Applied) as f64).sum();
        let of = |what: &str| format!("{what} of clients of rate {rate}");
        case.estimate_within(&of("share"), n / books.len() as f64 / steps as f64, shares[first], 0.005);
        let lag = books.iter().map(|books| books.lag_versions as f64).sum::<f64>() / n;
        case.estimate_within(&of("lag"), lag, lags[first], off * lags[first] + 0.01);
        let seconds = books.iter().map(|books| books.lag_nanos as f64).sum::<f64>() / 1e9 / n;
        case.estimate_within(&of("sojourn"), seconds, sojourns[first], off * sojourns[first] + 0.01);
    }
    // Exactly, up to the tasks in flight at the end: Σ pᵢ lagᵢ = m − 1.
    let tasks = tasks as f64;
    let ends = tasks * tasks * 20.0 / steps as f64 + 1e-9;
    case.estimate_within("mean lag", or_nan(outcome.summary.lag_versions.mean), tasks - 1.0, ends);
    Ok(())
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
