//! Participation, failures, policies and averaging against the oracles.

use crate::support::{given, near, number, numbers, oracle, oracles, same, value};
use laggard::theory::lag::{self, Constants};
use laggard::theory::moments::Memoryless;
use laggard::theory::{averaging, checkpoint, failure, participation, policy};

#[test]
fn who_takes_part() {
    for oracle in oracles("T8.drop.n") {
        let rates = numbers(&oracle.scenario["rates"]);
        let all = participation::dropping(&rates, given(&oracle, "tau") as u64);
        for worker in 0..rates.len() {
            same(&oracle, "share", all.shares[worker], number(&oracle.value["share"][worker]));
            same(&oracle, "accepted", all.accepted[worker], number(&oracle.value["accept"][worker]));
        }
        same(&oracle, "overall", all.accepted_of_all, value(&oracle, "overall"));
    }
    let oracle = oracle("T8.drop.det");
    let (compute_s, starts_s) = (numbers(&oracle.scenario["T"]), numbers(&oracle.scenario["starts"]));
    let end = given(&oracle, "t_end");
    let workers = Constants { compute_s, starts_s, reads_after_all: false };
    for (name, expected) in oracle.value.as_object().unwrap() {
        // The fast worker's are all applied, so that the slow one's lags are what they would be if its own were.
        let bound = name.trim_start_matches("tau").parse::<u64>().unwrap();
        let applied = |worker: usize| {
            let pushes = (1..).take_while(|&push| workers.time_s(worker, push) <= end);
            pushes.filter(|&push| workers.lag(worker, push) <= bound).count() as f64
        };
        assert_eq!([applied(0), applied(1)].as_slice(), numbers(expected), "{name}");
    }
    let limit = crate::support::oracle("T8.bias.drop");
    let applied = Memoryless {
        shares: participation::dropping(&[0.9, 0.1], 5).shares,
        curvatures: vec![1.0, 4.0],
        minima: vec![0.0, 1.0],
        learning_rate: 0.0,
    };
    same(&limit, "small steps", applied.small_step_mean(), limit.value.as_f64().unwrap());
}

#[test]
fn what_failures_cost() {
    for oracle in oracles("T8.loss.") {
        let [q, timeout, hop] = ["q", "rto", "d"].map(|name| given(&oracle, name));
        let (mean, variance) = failure::lossy_message_s(hop, q, timeout);
        same(&oracle, "mean", mean, value(&oracle, "mean"));
        same(&oracle, "variance", variance, value(&oracle, "var"));
        // A second of computing and one message.
        same(&oracle, "ratio", failure::lossy_throughput(1.0 + hop, q, timeout), value(&oracle, "throughput_ratio"));
    }
    for oracle in oracles("T8.detect.") {
        let (least, mean, most) = failure::detection_s(given(&oracle, "h"), given(&oracle, "theta"));
        for (name, actual) in [("min", least), ("mean", mean), ("max", most)] {
            same(&oracle, name, actual, value(&oracle, name));
        }
    }
    for oracle in oracles("T8.chain.n") {
        let [n, processing, hop] = ["n", "processing", "hop"].map(|name| given(&oracle, name));
        let chain = failure::chain(n as u64, processing, hop);
        same(&oracle, "update", chain.update_s, value(&oracle, "update"));
        same(&oracle, "query", chain.query_s, value(&oracle, "query"));
        same(&oracle, "throughput", chain.updates_per_s, value(&oracle, "throughput"));
    }
    for oracle in oracles("T8.chain.failover.") {
        let outage = failure::OUTAGE;
        for (name, actual) in [
            ("head_updates", outage.head),
            ("middle_update_delay", outage.middle),
            ("tail", outage.tail),
            ("primary_backup_primary", outage.primary),
            ("primary_backup_backup", outage.backup),
        ] {
            assert_eq!(actual as f64, value(&oracle, name), "{}", oracle.id);
        }
    }
    for oracle in oracles("T8.makespan.") {
        let [m, delta, r, tau, segments] = ["M", "delta", "R", "tau", "segments"].map(|name| given(&oracle, name));
        let can_fail = oracle.id.ends_with("R_can_fail");
        let best = checkpoint::best_interval_s(m, delta);
        let work = tau * segments;
        let time = checkpoint::makespan_s(work / best, best + delta, m, r, can_fail);
        same(&oracle, "best", time, value(&oracle, "T_at_exact_opt"));
        same(&oracle, "efficiency", work / value(&oracle, "T"), value(&oracle, "efficiency"));
    }
    for oracle in oracles("T8.lost.") {
        let (chance, failures) = checkpoint::failures_of_segment(given(&oracle, "L"), given(&oracle, "M"));
        same(&oracle, "chance", chance, value(&oracle, "p_fail"));
        same(&oracle, "failures", failures, value(&oracle, "failures_per_segment"));
    }
    for oracle in oracles("T8.avail.") {
        let n = given(&oracle, "n") as u64;
        let up = checkpoint::availability(given(&oracle, "MTBF"), given(&oracle, "MTTR"));
        same(&oracle, "all", checkpoint::at_least_up(n, n, up), value(&oracle, "all_up"));
        same(&oracle, "all but one", checkpoint::at_least_up(n, n - 1, up), value(&oracle, "ge_n_minus_1"));
        let mean: f64 = (1..=n).map(|k| checkpoint::at_least_up(n, k, up)).sum();
        same(&oracle, "mean", mean, value(&oracle, "expected_up"));
    }
    for oracle in oracles("T8.server.k") {
        let every = oracle.id.rsplit('k').next().unwrap().parse().unwrap();
        same(&oracle, "mean", checkpoint::versions_lost(every), value(&oracle, "mean"));
        assert_eq!(checkpoint::most_versions_lost(every) as f64, value(&oracle, "max"));
    }
}

#[test]
fn weights() {
    let named: [(&str, &dyn Fn(u64) -> f64); 7] = [
        ("const", &|_| 1.0),
        ("poly.a0.5", &|lag| policy::polynomial(lag, 0.5)),
        ("poly.a1", &|lag| policy::polynomial(lag, 1.0)),
        ("poly.a2", &|lag| policy::polynomial(lag, 2.0)),
        ("hinge.a10.b4", &|lag| policy::hinge(lag, 10.0, 4)),
        ("hinge.a1.b2", &|lag| policy::hinge(lag, 1.0, 2)),
        ("hinge.a10.b6", &|lag| policy::hinge(lag, 10.0, 6)),
    ];
    for (name, weight) in named {
        let oracle = oracle(&format!("T9.fedasync.{name}"));
        for (lag, expected) in oracle.value.as_object().unwrap() {
            same(&oracle, lag, weight(lag.parse().unwrap()), number(expected));
        }
    }
    let mix = oracle("T9.fedasync.mix");
    for (name, weight) in
        [("const", 1.0), ("poly0.5", policy::polynomial(3, 0.5)), ("hinge10_4", policy::hinge(3, 10.0, 4))]
    {
        let model = policy::step(2.0, 2.0, 0.5, 1.0);
        same(&mix, name, policy::mix(0.5, model, 0.6, weight), value(&mix, name));
    }
    let neutral = oracle("T1.core.lr_neutral");
    same(&neutral, "neutral", policy::neutral_learning_rate(0.5, 2.0), neutral.value.as_f64().unwrap());
    for (id, gradient, rate) in [
        ("T1.core.stale.lr1_2", 2.0, 0.5),
        ("T1.core.stale.lr1", 2.0, 1.0),
        ("T1.core.fresh", 0.5, 0.5),
        ("T1.core.fresh.lr1", 0.5, 1.0),
    ] {
        let oracle = oracle(id);
        let w = policy::step(0.5, gradient, rate, 1.0);
        assert_eq!([w, w * w / 2.0], ["w", "f"].map(|name| value(&oracle, name)), "{id}");
    }
    let example = oracle("T9.example.policies");
    let after = |weight: f64| policy::step(0.5, 2.0, 0.5, weight);
    let compensated = |lambda: f64| policy::step(0.5, policy::compensated(2.0, 0.5, 2.0, lambda), 0.5, 1.0);
    for (name, actual) in [
        ("plain", after(1.0)),
        ("fedbuff_sqrt_K1", after(policy::polynomial(3, 0.5))),
        ("lr_over_lag", after(policy::inverse_lag(3))),
        ("lr_over_1plus_lag", after(policy::polynomial(3, 1.0))),
        ("hinge_10_4", after(policy::hinge(3, 10.0, 4))),
        ("hinge_10_2", after(policy::hinge(3, 10.0, 2))),
        ("poly_a1", after(policy::polynomial(3, 1.0))),
        ("drop_if_lag_gt_2", after(policy::cutoff(3, 2))),
        ("drop_if_lag_gt_3", after(policy::cutoff(3, 3))),
        ("dcasgd_lambda_1_4", compensated(0.25)),
        ("dcasgd_lambda_0.04", compensated(0.04)),
        ("hessian_exact", compensated(policy::exact_compensation(1.0, 2.0))),
    ] {
        same(&example, name, actual, value(&example, name));
    }
}

#[test]
fn compensation() {
    for (id, a, read, now) in
        [("T9.dcasgd.a1", 1.0, 2.0, 0.5), ("T9.dcasgd.a3", 3.0, 1.0, -0.5), ("T9.dcasgd.a1_2", 0.5, 4.0, 1.0)]
    {
        let oracle = oracle(id);
        let gradient = a * read;
        let lambda = policy::exact_compensation(a, gradient);
        same(&oracle, "lambda", lambda, value(&oracle, "lambda"));
        same(&oracle, "exact", policy::compensated(gradient, now, read, lambda), value(&oracle, "fresh"));
        same(&oracle, "0.04", policy::compensated(gradient, now, read, 0.04), value(&oracle, "comp_0.04"));
    }
    let oracle = oracle("T9.dcasgda");
    let (square, lambda) = policy::first_adaptive_compensation(2.0, 2.0, 0.95);
    same(&oracle, "mean square", square, value(&oracle, "ms"));
    same(&oracle, "lambda", lambda, value(&oracle, "lambda"));
    same(&oracle, "gradient", policy::compensated(2.0, 0.5, 2.0, lambda), value(&oracle, "comp"));
}

#[test]
fn models_that_are_averaged() {
    for name in ["A", "B", "C", "D"] {
        let oracle = oracle(&format!("T9.localsgd.{name}"));
        let [a, b] = ["a", "b"].map(|name| numbers(&oracle.scenario[name]));
        let round = averaging::local_sgd(&a, &b, given(&oracle, "eta"), given(&oracle, "H") as u64);
        same(&oracle, "contraction", round.contraction, value(&oracle, "contraction"));
        same(&oracle, "fixed point", round.fixed_point, value(&oracle, "fixed_point"));
        let once = averaging::local_sgd(&a, &b, given(&oracle, "eta"), 1);
        same(&oracle, "minimiser", once.fixed_point, value(&oracle, "minimiser"));
    }
    for (id, n, eta) in [("n4.H1", 4, 0.25), ("n4.H8", 4, 0.25), ("n16.H4", 16, 0.5)] {
        let oracle = oracle(&format!("T9.localsgd.var.{id}"));
        same(&oracle, "variance", averaging::local_sgd_variance(eta, n), oracle.value.as_f64().unwrap());
    }
    for oracle in oracles("T9.easgd.rr.") {
        let eta = given(&oracle, "eta");
        same(&oracle, "bound", averaging::elastic_bound(eta), value(&oracle, "paper_bound"));
        // Found by halving there, until it was 10⁻¹² above.
        for n in [1, 2, 4, 8] {
            near(&oracle, "edge", averaging::elastic_edge(n, eta), value(&oracle, &format!("p{n}")), 2e-12);
        }
        assert!((averaging::elastic_edge(1, eta) / averaging::elastic_bound(eta) - 1.0).abs() < 1e-13);
    }
    for (id, n, eta, alpha) in [("p4", 4, 0.5, 0.125), ("p8", 8, 0.25, 0.1)] {
        let oracle = oracle(&format!("T9.easgd.sync.{id}"));
        let elastic = averaging::elastic(n, eta, alpha);
        let (greater, less) = elastic.common.unwrap();
        same(&oracle, "common", greater, number(&oracle.value["mean_mode"][0]));
        same(&oracle, "common", less, number(&oracle.value["mean_mode"][1]));
        same(&oracle, "difference", elastic.difference, value(&oracle, "difference_mode"));
        same(&oracle, "edge", elastic.centre_edge, value(&oracle, "beta_limit"));
    }
}

#[test]
fn timelines() {
    for id in ["T1.timeline.A", "T1.timeline.A2"] {
        let oracle = oracle(id);
        let [compute_s, starts_s] = ["compute_seconds", "start_times"].map(|name| numbers(&oracle.scenario[name]));
        let workers = Constants { compute_s, starts_s, reads_after_all: false };
        let events = oracle.scenario["events"].as_array().unwrap();
        let steps: Vec<_> = events.iter().filter(|event| event["event"] == "apply").collect();
        let pushes = workers.pushes(steps.len() as u64);
        let lags: Vec<Vec<usize>> =
            pushes.iter().map(|&(worker, push)| vec![workers.lag(worker, push) as usize]).collect();
        let w = policy::buffered_iterates(given(&oracle, "lr"), &lags);
        for (at, (&(worker, push), step)) in pushes.iter().zip(&steps).enumerate() {
            let after = given(&oracle, "w0") * w[at + 1];
            let actual = [workers.time_s(worker, push), worker as f64, lags[at][0] as f64, after];
            let expected = ["t", "worker", "lag", "w_after"].map(|name| number(&step[name]));
            assert_eq!(actual, expected, "{id} {at}");
        }
    }
}

#[test]
fn buffers_of_constant_workers() {
    for oracle in oracles("T9.fedbuff.det.") {
        let (compute_s, starts_s) = (numbers(&oracle.scenario["T"]), numbers(&oracle.scenario["starts"]));
        let workers = Constants { compute_s, starts_s, reads_after_all: false };
        let (k, times) = (given(&oracle, "K") as u64, numbers(&oracle.value["t"]));
        let pushes = workers.pushes(k * times.len() as u64);
        let lags: Vec<Vec<usize>> = pushes
            .chunks(k as usize)
            .map(|step| {
                let before = |worker, push| (push > 1).then(|| workers.place(worker, push - 1));
                step.iter()
                    .map(|&(worker, push)| lag::in_batch(workers.place(worker, push), before(worker, push), k) as usize)
                    .collect()
            })
            .collect();
        let w = policy::buffered_iterates(0.5, &lags);
        for (at, step) in pushes.chunks(k as usize).enumerate() {
            let (worker, push) = step[step.len() - 1];
            assert_eq!(workers.time_s(worker, push), times[at], "{}", oracle.id);
            let expected = numbers(&oracle.value["lags"][at]);
            assert_eq!(lags[at].iter().map(|&lag| lag as f64).collect::<Vec<_>>(), expected, "{} {at}", oracle.id);
            same(&oracle, "w", w[at + 1], number(&oracle.value["w"][at]));
        }
    }
}
