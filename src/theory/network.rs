//! Tasks that go round in a closed network of queues: clients that each work on one task at a time, links, a server. Demands, rates and
//! probabilities are above 0, and there is at least one task.

/// What there is to know of such a network in the long run.
#[derive(Clone, Debug, PartialEq)]
pub struct Closed {
    /// Rounds a second, all tasks together.
    pub throughput_per_s: f64,
    /// The mean number of tasks at each station with a queue.
    pub at_stations: Vec<f64>,
    /// The mean number of tasks on their way, where nobody waits.
    pub on_the_way: f64,
}

/// Stations with exponential service, first come first served, at which a task asks for `demands_s[i]` of service a round (visits × mean service
/// time), and `way_s` a round on which tasks do not wait for one another, of any law. With G(k) the sum over all ways to place k tasks of
/// Π demand^tasks × way^(on the way) / (on the way)!, the throughput of m tasks is G(m − 1) / G(m), and station i has Σ over k of demandᵢ^k
/// G(m − k) / G(m) (Gordon and Newell, 1967; the convolution is Buzen's, 1973).
pub fn closed(demands_s: &[f64], way_s: f64, tasks: u64) -> Closed {
    let tasks = tasks as usize;
    // In units of the greatest demand, in which G neither vanishes nor, but for the longest ways, overflows.
    let unit_s = demands_s.iter().copied().fold(0.0, f64::max);
    let mut g = vec![1.0f64];
    for k in 1..=tasks {
        g.push(g[k - 1] * way_s / unit_s / k as f64);
    }
    for demand_s in demands_s {
        for k in 1..=tasks {
            g[k] += demand_s / unit_s * g[k - 1];
        }
    }
    if tasks == 0 {
        return Closed { throughput_per_s: 0.0, at_stations: vec![0.0; demands_s.len()], on_the_way: 0.0 };
    }
    let throughput_per_s = g[tasks - 1] / g[tasks] / unit_s;
    let number = |demand_s: &f64| {
        let (mut power, mut sum) = (1.0, 0.0);
        for k in 1..=tasks {
            power *= demand_s / unit_s;
            sum += power * g[tasks - k];
        }
        sum / g[tasks]
    };
    Closed {
        throughput_per_s,
        at_stations: demands_s.iter().map(number).collect(),
        on_the_way: throughput_per_s * way_s,
    }
}

/// A client of a server that sends each task, after every step, to a client drawn with given probabilities (generalised AsyncSGD).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Client {
    /// The mean lag of its gradients.
    pub lag: f64,
    /// How long a task is with it on average, waiting included.
    pub with_it_s: f64,
    /// The mean number of tasks with it.
    pub tasks: f64,
}

/// Such clients, with exponential compute times of the rates `rates_per_s`, one task at a time, and a server and links without time of their own:
/// the throughput, and each client. A task that goes to client i meets what is there in a network of m − 1 tasks (arrival theorem), and
/// that mean number over pᵢ is how many steps are made until it is back (Leconte, Jonckheere, Samsonov and Moulines, 2024). Σ pᵢ lagᵢ = m − 1.
pub fn clients(rates_per_s: &[f64], probabilities: &[f64], tasks: u64) -> (f64, Vec<Client>) {
    let demands_s: Vec<f64> = rates_per_s.iter().zip(probabilities).map(|(rate, p)| p / rate).collect();
    let (full, less) = (closed(&demands_s, 0.0, tasks), closed(&demands_s, 0.0, tasks - 1));
    let client = |i: usize| Client {
        lag: less.at_stations[i] / probabilities[i],
        with_it_s: full.at_stations[i] / (full.throughput_per_s * probabilities[i]),
        tasks: full.at_stations[i],
    };
    (full.throughput_per_s, (0..rates_per_s.len()).map(client).collect())
}

/// The limit of their lags for many tasks: of a client whose load r = (p / rate) / greatest is below 1, r / (1 − r) / p; those with the greatest
/// share the other tasks evenly.
pub fn many_tasks_lags(rates_per_s: &[f64], probabilities: &[f64], tasks: u64) -> Vec<f64> {
    let loads: Vec<f64> = rates_per_s.iter().zip(probabilities).map(|(rate, p)| p / rate).collect();
    let most = loads.iter().copied().fold(0.0, f64::max);
    // Equal but for rounding.
    let saturated = |load: f64| load >= most * (1.0 - 1e-12);
    let light = |load: f64| load / most / (1.0 - load / most);
    let elsewhere: f64 = loads.iter().filter(|&&load| !saturated(load)).map(|&load| light(load)).sum();
    let sharing = loads.iter().filter(|&&load| saturated(load)).count() as f64;
    let tasks_with = |load: f64| if saturated(load) { (tasks as f64 - 1.0 - elsewhere) / sharing } else { light(load) };
    loads.iter().zip(probabilities).map(|(&load, p)| tasks_with(load) / p).collect()
}

/// One line of the mean value analysis of N workers and one exponential server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanValues {
    /// Gradients a second.
    pub throughput_per_s: f64,
    /// The mean time at the server, waiting included.
    pub at_server_s: f64,
    /// The mean number of gradients there.
    pub waiting: f64,
}

/// From one worker to `workers`: a gradient's time at the server is the service times of itself and of what a system of one worker less has
/// there (Reiser and Lavenberg, 1980). The same as [`super::queue::exponential_server`], without probabilities.
pub fn mean_values(workers: u64, away_s: f64, service_s: f64) -> Vec<MeanValues> {
    let (mut waiting, mut lines) = (0.0, Vec::new());
    for n in 1..=workers {
        let at_server_s = service_s * (1.0 + waiting);
        let throughput_per_s = n as f64 / (away_s + at_server_s);
        waiting = throughput_per_s * at_server_s;
        lines.push(MeanValues { throughput_per_s, at_server_s, waiting });
    }
    lines
}
