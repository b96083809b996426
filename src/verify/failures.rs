//! Things that fail: checkpoints, crashes, detection, and messages that get lost.

use super::Entry;
use super::case::{Case, WITHIN};
use super::play::{fates, prepare, quadratic, run_into};
use crate::cluster::{Fate, Happening};
use crate::error::Result;
use crate::output::NoRows;
use crate::record::Summary;
use crate::study::run;
use crate::theory::{checkpoint, failure};

pub const ENTRIES: &[Entry] = &[
    Entry::checked(
        "T8.daly.",
        "the best time between checkpoints, exactly and as published (Young, 1974; Daly, 2006)",
        intervals,
    ),
    Entry::checked("T8.makespan.", "how long a run with checkpoints takes", makespan),
    Entry::checked("T8.mk.", "the same, by simulation", simulated_makespan),
    Entry::checked("T8.lost.", "what a failure costs of the work since the last checkpoint", lost),
    Entry::checked("T8.crash.", "a worker that crashes, with constant and with memoryless work", crash),
    Entry::checked("T8.avail.", "how many workers are up", availability),
    Entry::checked("T8.server.", "a server that crashes loses v mod k versions", server),
    Entry::checked("T8.detect.", "how long it takes to miss a worker", detection),
    Entry::checked("T8.chain.n", "times of a chain of servers (van Renesse and Schneider, 2004)", chain),
    Entry::not(
        "T8.chain.failover.",
        "outages of chains, in messages",
        "quoted from a paper: constants, without anything to compute",
    ),
    Entry::checked("T8.loss.", "messages that get lost, and are sent again", lossy),
];

/// The summary of a replication of the scenario that `text` is.
fn summary(text: &str, replication: u64) -> Result<Summary> {
    Ok(run(prepare(text, Some(replication))?, NoRows, |_| true)?.summary)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn intervals(case: &mut Case) -> Result<()> {
    let (m, delta) = (case.given("M"), case.given("delta"));
    let best = checkpoint::best_interval_s(m, delta);
    case.formula("exact", best, case.value("exact"));
    case.formula("Young", checkpoint::young_interval_s(m, delta), case.value("young"));
    let daly = checkpoint::daly_interval_s(m, delta);
    case.formula("Daly", daly, case.value("daly"));
    // The paper prints two digits or three.
    case.formula_within("as printed", daly, case.value("published"), if daly < 10.0 { 0.05 } else { 0.5 });
    // A gradient a minute, so that k versions are k minutes of work: on either side, half and twice as long, it takes longer.
    let times = |minutes: f64, runs: u64| -> Result<Vec<f64>> {
        let rest = format!(
            "server: (recovery: Checkpoint(every: Versions({minutes}), write: Constant({:?}))), stop: (updates: 3000),
             failures: [(of: Server, at: Every(Exponential(mean: {:?})), repair: Constant(60.0))]",
            delta * 60.0,
            m * 60.0
        );
        let text = quadratic("(compute: Constant(60.0))", &rest);
        (0..runs).map(|replication| Ok(summary(&text, replication)?.time_s)).collect()
    };
    let runs = case.samples(400);
    let of_theory = mean(&times(best.round(), runs)?);
    for factor in [0.25, 4.0] {
        let other = mean(&times((best * factor).round(), runs)?);
        case.at_least(&format!("makespan with {factor} times the interval, relative"), other / of_theory, 1.0);
    }
    Ok(())
}

fn makespan(case: &mut Case) -> Result<()> {
    let [m, delta, r, tau, segments] = ["M", "delta", "R", "tau", "segments"].map(|name| case.given(name));
    let can_fail = case.id().ends_with("R_can_fail");
    let time = checkpoint::makespan_s(segments, tau + delta, m, r, can_fail);
    // An exponential less 1, times thousands.
    case.formula_about("makespan", time, case.value("T"), 1e-11);
    case.formula_about("efficiency", tau * segments / time, case.value("efficiency"), 1e-11);
    let best = checkpoint::best_interval_s(m, delta);
    let least = checkpoint::makespan_s(tau * segments / best, best + delta, m, r, can_fail);
    case.formula("least makespan", least, case.value("T_at_exact_opt"));
    Ok(())
}

fn simulated_makespan(case: &mut Case) -> Result<()> {
    let [tau, delta, r, m, segments] = ["tau", "delta", "R", "M", "segments"].map(|name| case.given(name));
    let (can_fail, at_end) = (case.id().contains("R_can_fail"), case.id().ends_with(".ckpt"));
    let whole = checkpoint::segment_s(tau + delta, m, r, can_fail);
    let last = checkpoint::segment_s(if at_end { tau + delta } else { tau }, m, r, can_fail);
    case.formula("makespan", (segments - 1.0) * whole + last, case.value(""));
    let rest = format!(
        "server: (recovery: Checkpoint(every: Versions(1), write: Constant({delta:?}), at_end: {at_end})), stop: (updates: {segments}),
         failures: [(of: Server, at: Every(Exponential(mean: {m:?})), repair: Constant({r:?}), while_down: {can_fail})]"
    );
    let text = quadratic(&format!("(compute: Constant({tau:?}))"), &rest);
    let runs = case.samples(20_000);
    let times = (0..runs).map(|replication| Ok(summary(&text, replication)?.time_s)).collect::<Result<Vec<f64>>>()?;
    case.estimate("makespan", mean(&times), case.value(""), "", runs);
    Ok(())
}

fn lost(case: &mut Case) -> Result<()> {
    let [l, m] = ["L", "M"].map(|name| case.given(name));
    let (chance, failures) = checkpoint::failures_of_segment(l, m);
    let [lost, p, each] = ["lost", "p_fail", "failures_per_segment"].map(|name| case.value(name));
    case.formula("work lost", checkpoint::lost_s(l, m), lost);
    case.formula("probability of a failure", chance, p);
    case.formula("failures of a segment", failures, each);
    let rest = format!(
        "server: (recovery: Checkpoint(every: Versions(1))), stop: (updates: 1), record: (gradients: All),
         failures: [(of: Server, at: Every(Exponential(mean: {m:?})), repair: Constant(0.0))]"
    );
    let text = quadratic(&format!("(compute: Constant({l:?}))"), &rest);
    let (mut losses, mut attempts, runs) = (Vec::new(), 0.0, case.samples(20_000));
    for replication in 0..runs {
        let rows = run(prepare(&text, Some(replication))?, Vec::new(), |_| true)?.recording.sink;
        attempts += rows.iter().filter(|row| row.gradient.fate != Fate::InFlight).count() as f64;
        let lost = rows.iter().filter(|row| row.gradient.fate == Fate::Lost);
        losses.extend(lost.map(|row| row.gradient.lag().seconds()));
    }
    let (n, runs) = (losses.len() as f64, runs as f64);
    // What is lost deviates no more than a uniform part of the segment; attempts are geometric.
    case.estimate_within("work lost", mean(&losses), lost, WITHIN * l / (12.0 * n).sqrt());
    case.estimate_within("probability of a failure", n / attempts, p, WITHIN * (p * (1.0 - p) / attempts).sqrt());
    case.estimate_within("failures of a segment", n / runs, each, WITHIN * (each * (1.0 + each) / runs).sqrt());
    Ok(())
}

fn crash(case: &mut Case) -> Result<()> {
    let [c, m, r] = ["compute_mean", "MTBF", "repair"].map(|name| case.given(name));
    let steps = case.samples(100_000);
    for (law, name) in [(format!("Constant({c:?})"), "det"), (format!("Exponential(mean: {c:?})"), "exp")] {
        case.formula(name, checkpoint::crashing_worker_s(c, name == "exp", m, r), case.value(name));
        let failures =
            format!("failures: [(of: Workers, at: Every(Exponential(mean: {m:?})), repair: Constant({r:?}))]");
        let text = quadratic(&format!("(compute: {law})"), &format!("stop: (updates: {steps}), {failures}"));
        let outcome = run_into(&text, NoRows)?;
        case.estimate(name, outcome.summary.time_s / steps as f64, case.value(name), name, steps);
        case.at_least(&format!("{name}: gradients lost"), fates(&outcome, Fate::Lost).iter().sum(), 1.0);
    }
    Ok(())
}

fn availability(case: &mut Case) -> Result<()> {
    let [m, r, n] = ["MTBF", "MTTR", "n"].map(|name| case.given(name));
    let workers = n as u64;
    let known = checkpoint::availability(m, r);
    let [up, all, but_one, expected] = ["A", "all_up", "ge_n_minus_1", "expected_up"].map(|name| case.value(name));
    case.formula("share of the time", known, up);
    case.formula("all are up", checkpoint::at_least_up(workers, workers, known), all);
    case.formula("all but one", checkpoint::at_least_up(workers, workers - 1, known), but_one);
    case.formula("mean number", (1..=workers).map(|k| checkpoint::at_least_up(workers, k, known)).sum(), expected);
    // Whatever the laws of being up and down.
    let renewals = case.samples(40_000) as f64;
    let laws = [
        ("exponential", format!("Exponential(mean: {m:?})"), format!("Exponential(mean: {r:?})")),
        ("uniform, constant", format!("Uniform(low: 0.0, high: {:?})", 2.0 * m), format!("Constant({r:?})")),
    ];
    for (name, at, repair) in laws {
        let rest = format!(
            "stop: (time_s: {:?}), failures: [(of: Workers, at: Every({at}), repair: {repair})]",
            renewals * (m + r) / n
        );
        let text = quadratic(&format!("(count: {n}, compute: Constant({m:?}))"), &rest);
        let found = run_into(&text, NoRows)?.summary.worker_availability.unwrap_or(f64::NAN);
        // The standard error is below √(2 / renewals) of the share of being down.
        let off = WITHIN * (1.0 - up) * (2.0 / renewals).sqrt();
        case.estimate_within(&format!("share of the time, {name}"), found, up, off);
    }
    at_one_instant(case, [m, r, n], [all, but_one, expected])
}

/// How many are up at one instant, far from the beginning.
fn at_one_instant(case: &mut Case, [m, r, n]: [f64; 3], [all, but_one, expected]: [f64; 3]) -> Result<()> {
    let failure = format!("(of: Workers, at: Every(Exponential(mean: {m:?})), repair: Constant({r:?}))");
    let rest = format!("stop: (time_s: {:?}), failures: [{failure}]", 5.0 * (m + r));
    let text = quadratic(&format!("(count: {n}, compute: Constant({:?}))", 10.0 * m), &rest);
    let up = |replication: u64| -> Result<f64> {
        let outcome = run(prepare(&text, Some(replication))?, NoRows, |_| true)?;
        Ok(n + outcome.recording.incidents.iter().fold(0.0, |up, incident| match incident.what {
            Happening::WorkerDown => up - 1.0,
            Happening::WorkerBack => up + 1.0,
            _ => up,
        }))
    };
    let ups = (0..case.samples(20_000)).map(up).collect::<Result<Vec<f64>>>()?;
    let runs = ups.len() as f64;
    let share = |least: f64| ups.iter().filter(|&&up| up >= least).count() as f64 / runs;
    let error = |p: f64| WITHIN * (p * (1.0 - p) / runs).sqrt();
    case.estimate_within("all are up", share(n), all, error(all));
    case.estimate_within("all but one", share(n - 1.0), but_one, error(but_one));
    let p = expected / n;
    case.estimate_within("mean number", mean(&ups), expected, WITHIN * (n * p * (1.0 - p) / runs).sqrt());
    Ok(())
}

fn server(case: &mut Case) -> Result<()> {
    let every = case.in_name("server.k") as u64;
    case.formula("mean of versions lost", checkpoint::versions_lost(every), case.value("mean"));
    case.formula("most of them", checkpoint::most_versions_lost(every) as f64, case.value("max"));
    let mut lost = Vec::new();
    for extra in 0..every {
        let rest = format!(
            "server: (recovery: Checkpoint(every: Versions({every}))), stop: (updates: 200),
             failures: [(of: Server, at: At([{:?}]), repair: Constant(20.0))]",
            100.5 + extra as f64
        );
        lost.push(run_into(&quadratic("(compute: Constant(1.0))", &rest), NoRows)?.summary.versions_lost as f64);
    }
    case.exact("mean of versions lost", mean(&lost), case.value("mean"));
    case.exact("most of them", lost.iter().copied().fold(0.0, f64::max), case.value("max"));
    Ok(())
}

fn detection(case: &mut Case) -> Result<()> {
    let [h, theta] = ["h", "theta"].map(|name| case.given(name));
    let (least, average, most) = failure::detection_s(h, theta);
    for (name, known) in [("min", least), ("mean", average), ("max", most)] {
        case.formula(name, known, case.value(name));
    }
    let rest = format!(
        "protocol: Sync, stop: (time_s: 100.0), failures: [(of: Numbers([1]), at: At([10.25]),
         detection: Uniform(low: {:?}, high: {theta:?}))]",
        theta - h
    );
    let text = quadratic("(count: 3, compute: Constant(1.0))", &rest);
    let mut delays = Vec::new();
    for replication in 0..case.samples(2000) {
        let incidents = run(prepare(&text, Some(replication))?, NoRows, |_| true)?.recording.incidents;
        let missed = incidents.iter().find(|incident| incident.what == Happening::WorkerMissed);
        delays.extend(missed.map(|missed| missed.at.seconds() - 10.25));
    }
    let off = WITHIN * h / (12.0 * delays.len() as f64).sqrt();
    case.estimate_within("mean", mean(&delays), case.value("mean"), off);
    case.at_least("least", delays.iter().copied().fold(f64::INFINITY, f64::min), case.value("min"));
    case.at_most("most", delays.iter().copied().fold(0.0, f64::max), case.value("max"));
    Ok(())
}

fn chain(case: &mut Case) -> Result<()> {
    let known = failure::chain(case.count("n"), case.given("processing"), case.given("hop"));
    case.formula("an update", known.update_s, case.value("update"));
    case.formula("a query", known.query_s, case.value("query"));
    case.formula("updates a second", known.updates_per_s, case.value("throughput"));
    Ok(())
}

fn lossy(case: &mut Case) -> Result<()> {
    let [q, timeout_s, hop_s] = ["q", "rto", "d"].map(|name| case.given(name));
    let (known, variance) = failure::lossy_message_s(hop_s, q, timeout_s);
    case.formula("mean time of a message", known, case.value("mean"));
    case.formula("its variance", variance, case.value("var"));
    // A second of computing, and one message.
    case.formula(
        "throughput, relative",
        failure::lossy_throughput(1.0 + hop_s, q, timeout_s),
        case.value("throughput_ratio"),
    );
    // As many timeouts as there were losses: a geometric number.
    let parts: String = (0..40)
        .map(|losses: i32| {
            format!("(weight: {:?}, law: Constant({:?})), ", q.powi(losses), hop_s + f64::from(losses) * timeout_s)
        })
        .collect();
    let steps = case.samples(200_000);
    let rest = format!("network: (upload: Mixture(parts: [{parts}])), stop: (updates: {steps})");
    let outcome = run_into(&quadratic("(compute: Constant(1.0))", &rest), NoRows)?;
    let found = outcome.summary.time_s / steps as f64 - 1.0;
    let off = WITHIN * (case.value("var") / steps as f64).sqrt();
    case.estimate_within("mean time of a message", found, case.value("mean"), off);
    Ok(())
}
