//! Queues and closed networks against the oracles.

use crate::support::{given, near, number, numbers, oracle, oracles, same, value};
use laggard::theory::{lag, network, queue};

#[test]
fn lags_at_an_exponential_server() {
    for oracle in oracles("T4.mm1N.") {
        let (n, away, service) =
            (given(&oracle, "N") as u64, 1.0 / given(&oracle, "compute_rate"), 1.0 / given(&oracle, "service_rate"));
        let lags = queue::lag_probabilities(n, away, service);
        for (lag, expected) in numbers(&oracle.value["lag_pmf"]).iter().enumerate() {
            same(&oracle, "probability", lags[lag], *expected);
        }
        assert!((lags.iter().sum::<f64>() - 1.0).abs() < 1e-14, "{}", oracle.id);
        same(&oracle, "variance", queue::lag_variance(n, away, service), value(&oracle, "lag_var"));
        let last = network::mean_values(n, away, service).pop().unwrap();
        same(&oracle, "throughput", last.throughput_per_s, value(&oracle, "throughput"));
        same(&oracle, "response", last.at_server_s, value(&oracle, "server_response"));
        let before = if n > 1 { queue::exponential_server(n - 1, away, service).waiting } else { 0.0 };
        same(&oracle, "seen", before, value(&oracle, "queue_seen_by_arrival"));
    }
    for oracle in oracles("T4.insens.") {
        let system = queue::exponential_server(8, 2.5, 0.25);
        same(&oracle, "throughput", system.throughput_per_s, value(&oracle, "throughput"));
        same(&oracle, "age", lag::mean_age_s(8, system.throughput_per_s), value(&oracle, "age"));
        assert_eq!(lag::mean_of_busy(8, 1), value(&oracle, "lag"));
    }
}

#[test]
fn constant_service() {
    for oracle in oracles("T4.md1N.") {
        let (n, away, service) =
            (given(&oracle, "N") as u64, 1.0 / given(&oracle, "compute_rate"), given(&oracle, "service"));
        let (system, served) = queue::constant_server(n, away, service);
        same(&oracle, "throughput", system.throughput_per_s, value(&oracle, "throughput"));
        same(&oracle, "utilisation", system.utilisation, value(&oracle, "utilisation"));
        same(&oracle, "served", served, value(&oracle, "busy_period_served"));
        same(&oracle, "age", lag::mean_age_s(n, system.throughput_per_s), value(&oracle, "age_commit"));
    }
    for oracle in oracles("T4.dd1.") {
        let (n, away, service) = (given(&oracle, "N") as u64, given(&oracle, "T"), given(&oracle, "s"));
        let age = lag::mean_age_s(n, queue::most_throughput_per_s(n, away, service));
        assert_eq!(oracle.value["age"].as_array().unwrap().len(), 1);
        same(&oracle, "age", age, number(&oracle.value["age"][0]));
        let ages = queue::constant_ages_s(&vec![0.0; n as usize], away, service, None, 10 * n as usize);
        for (place, expected) in numbers(&oracle.value["first_pass_ages"]).iter().enumerate() {
            same(&oracle, "first age", ages[place].1, *expected);
        }
        same(&oracle, "last age", ages[ages.len() - 1].1, age);
    }
    let oracle = oracle("T3.disagree.outage");
    let [starts, outage, times, ages] =
        [&oracle.scenario["starts"], &oracle.scenario["outage"], &oracle.value["t"], &oracle.value["age"]].map(numbers);
    let expected: Vec<(f64, f64)> = times.into_iter().zip(ages).collect();
    let (away, service) = (given(&oracle, "T"), given(&oracle, "service"));
    let outage = Some((outage[0], outage[1]));
    assert_eq!(queue::constant_ages_s(&starts, away, service, outage, expected.len()), expected);
    // With the transform of an exponential law it is the machine repairman.
    let expected = queue::exponential_server(9, 2.0, 0.3);
    let (system, _) = queue::any_server(9, 2.0, 0.3, |s| 1.0 / (1.0 + 0.3 * s));
    assert!((system.throughput_per_s / expected.throughput_per_s - 1.0).abs() < 1e-13);
    assert!((system.waiting / expected.waiting - 1.0).abs() < 1e-12);
}

#[test]
fn unequal_workers_at_one_server() {
    for oracle in oracles("T4.hetero.") {
        let away = numbers(&oracle.scenario["Z"]);
        let workers = queue::unequal_workers(&away, given(&oracle, "service_mean"));
        let all: f64 = workers.iter().map(|worker| worker.throughput_per_s).sum();
        same(&oracle, "total", all, value(&oracle, "total"));
        let mut mean_lag = 0.0;
        for (index, worker) in workers.iter().enumerate() {
            same(&oracle, "throughput", worker.throughput_per_s, number(&oracle.value["X"][index]));
            same(&oracle, "share", worker.throughput_per_s / all, number(&oracle.value["share"][index]));
            same(&oracle, "lag", worker.lag, number(&oracle.value["lag_mean"][index]));
            same(&oracle, "age", worker.age_s, number(&oracle.value["age"][index]));
            mean_lag += worker.lag * worker.throughput_per_s / all;
        }
        same(&oracle, "overall", mean_lag, value(&oracle, "overall_lag"));
    }
    // Many of them do not overflow.
    let workers = queue::unequal_workers(&[3.0; 400], 1.0);
    let expected = queue::exponential_server(400, 3.0, 1.0).throughput_per_s;
    assert!((400.0 * workers[7].throughput_per_s / expected - 1.0).abs() < 1e-11);
}

#[test]
fn tasks_that_go_round() {
    for oracle in oracles("T4.jackson.n").into_iter().chain(oracles("T4.jackson.lec10")) {
        let (rates, chances) = (numbers(&oracle.scenario["mu"]), numbers(&oracle.scenario["p"]));
        let (throughput, clients) = network::clients(&rates, &chances, given(&oracle, "m") as u64);
        same(&oracle, "throughput", throughput, value(&oracle, "throughput"));
        for (index, client) in clients.iter().enumerate() {
            same(&oracle, "tasks", client.tasks, number(&oracle.value["EX"][index]));
            same(&oracle, "lag", client.lag, number(&oracle.value["lag_mean"][index]));
            same(&oracle, "time", client.with_it_s, number(&oracle.value["sojourn"][index]));
        }
        let sum: f64 = clients.iter().zip(&chances).map(|(client, p)| client.lag * p).sum();
        near(&oracle, "Σ p lag", sum, value(&oracle, "sum_p_lag"), 1e-12);
    }
    let limit = oracle("T4.jackson.asympt");
    let setting = oracle("T4.jackson.lec10.C1000");
    let (rates, chances) = (numbers(&setting.scenario["mu"]), numbers(&setting.scenario["p"]));
    let lags = network::many_tasks_lags(&rates, &chances, 1000);
    same(&limit, "fast", lags[0], value(&limit, "fast"));
    same(&limit, "slow", lags[9], value(&limit, "slow"));
    let oracle = oracle("T4.network.full");
    let [server, up, down] = ["server_mean", "up", "down"].map(|name| given(&oracle, name));
    let mut demands: Vec<f64> = numbers(&oracle.scenario["mu"]).iter().map(|rate| 1.0 / 3.0 / rate).collect();
    demands.push(server);
    let m = given(&oracle, "m") as u64;
    let all = network::closed(&demands, up + down, m);
    same(&oracle, "throughput", all.throughput_per_s, value(&oracle, "throughput"));
    for (index, expected) in numbers(&oracle.value["E_clients"]).iter().enumerate() {
        same(&oracle, "tasks", all.at_stations[index], *expected);
    }
    same(&oracle, "server", all.at_stations[3], value(&oracle, "E_server"));
    same(&oracle, "links", all.on_the_way, value(&oracle, "E_links"));
    same(&oracle, "cycle", lag::mean_age_s(m, all.throughput_per_s), value(&oracle, "cycle"));
    assert_eq!(lag::mean_of_busy(m, 1), value(&oracle, "lag_mean"));
}

#[test]
fn mean_values() {
    let oracle = oracle("T4.mva.Z2.5.D0.25");
    let (away, service) = (given(&oracle, "Z"), given(&oracle, "D"));
    let lines = network::mean_values(numbers(&oracle.value["X"]).len() as u64, away, service);
    for (index, line) in lines.iter().enumerate() {
        same(&oracle, "X", line.throughput_per_s, number(&oracle.value["X"][index]));
        same(&oracle, "R", line.at_server_s, number(&oracle.value["R"][index]));
        same(&oracle, "Q", line.waiting, number(&oracle.value["Q"][index]));
        let n = index as u64 + 1;
        assert!(line.throughput_per_s <= queue::most_throughput_per_s(n, away, service));
    }
    let knee = crate::support::oracle("T4.bottleneck");
    same(&knee, "knee", queue::saturation(away, service), knee.value.as_f64().unwrap());
}
