//! Whether a protocol can go on for ever in the cluster that it is for: no choice may wait for what another holds back.

use super::diagnose::Problem;
use super::{Publish, Scenario};
use crate::protocol::{After, Composition, Late, Mean, Order, Pace, Work};
use crate::units::Count;

/// A step with more gradients, or of more local steps, would take for ever.
const MOST: u64 = 1 << 24;

/// Everything that is wrong with the protocol of a scenario.
pub fn protocol(scenario: &Scenario) -> Vec<Problem> {
    let composition = scenario.composition();
    let mut problems = amounts(scenario, &composition);
    problems.extend(pace(scenario, &composition));
    if composition.late == Late::CancelStale && composition.admit.most_versions.is_none() {
        problems.push(
            Problem::at("protocol", "no bound says when work is too stale to go on")
                .help("give the greatest lag in versions (most_age, most_versions), or choose another `late`"),
        );
    }
    problems.extend(table(scenario));
    problems.extend(publication(scenario, composition.late));
    problems.extend(work(scenario, &composition.work));
    problems.extend(questions(scenario, composition.steps_with_several()));
    problems
}

/// How many gradients a step takes, of how many there can be.
fn amounts(scenario: &Scenario, composition: &Composition) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut wrong = |message: String, help: &str| problems.push(Problem::at("protocol", message).help(help));
    let workers = scenario.worker_count();
    let each = composition.gradients_per_step(workers);
    if each > MOST {
        wrong(format!("{each} gradients a step are too many"), "at most 16,777,216");
    }
    let needs = match composition.step.after {
        After::Gradients(_) if composition.pace == Pace::Barrier => each,
        After::Workers(k) => k.get(),
        _ => 0,
    };
    if needs > workers {
        wrong(
            format!("a step waits for gradients of {needs} workers, and there are {workers}"),
            "wait for fewer, or add workers",
        );
    }
    if matches!(composition.step.after, After::Deadline(seconds) if seconds.get() < 1e-9) {
        wrong("the deadline is over before the clock can move".to_owned(), "at least 1e-9 s, the clock's resolution");
    }
    let fits = if composition.step.after == After::Table { workers } else { each };
    if composition.step.capacity.is_some_and(|capacity| capacity.get() < fits) {
        wrong(format!("a step takes {fits} gradients, which do not fit the capacity"), "raise the capacity");
    }
    if composition.step.parts.get() > each {
        wrong(
            format!("{each} gradients cannot be cut into {} parts", composition.step.parts.get()),
            "lower `parts`, or take more gradients a step",
        );
    }
    problems
}

/// Whether those that may start are enough for a step.
fn pace(scenario: &Scenario, composition: &Composition) -> Vec<Problem> {
    let workers = scenario.worker_count();
    let counted = matches!(composition.step.after, After::Gradients(_));
    let wrong = |message: String, help: &str| vec![Problem::at("protocol", message).help(help)];
    match &composition.pace {
        Pace::Budget { batch, .. } if !counted || batch.get() < composition.gradients_per_step(workers) => wrong(
            format!("a budget of {} gradients a step does not last for steps that take others", batch.get()),
            "let a step take a number of gradients, `after: Gradients(…)`, no more than the budget's batch",
        ),
        Pace::Tokens if !counted || matches!(composition.late, Late::Cancel | Late::CancelStale) => wrong(
            "tokens count gradients, and a worker that is stopped would keep its old one".to_owned(),
            "use after: Gradients(…), and late: Keep or Drop",
        ),
        Pace::Slots { concurrency, .. } if concurrency.get() > workers => wrong(
            format!("{} workers are to be active at a time, and there are {workers}", concurrency.get()),
            "lower the concurrency, or add workers",
        ),
        Pace::Routed { tasks, shares, .. } => routed(scenario, tasks.get(), shares),
        _ => Vec::new(),
    }
}

/// Every worker has the same part in a table, whatever it sends.
fn table(scenario: &Scenario) -> Option<Problem> {
    let composition = scenario.composition();
    let plain = composition.step.mean == Mean::Count
        && composition.step.order == Order::Fifo
        && composition.step.parts == Count::ONE
        && composition.admit.discount.is_none()
        && scenario.workers.iter().all(|class| class.weight.get() == 1.0);
    (composition.step.after == After::Table && !plain).then(|| {
        Problem::at("protocol", "a table gives every worker the same part in a step, and takes all that has come")
            .help("leave out weights, discount, mean, order and parts")
    })
}

/// Gradients of versions that are no longer current can never be used where only fresh ones are.
fn publication(scenario: &Scenario, late: Late) -> Option<Problem> {
    let publish = &scenario.server.publish;
    let delayed = *publish != Publish::default();
    (delayed && matches!(late, Late::Drop | Late::Cancel)).then(|| {
        Problem::at("server.publish", "workers do not always see the current version, and this protocol uses no other")
            .help("leave out `publish`, or choose a protocol that admits stale gradients")
    })
}

fn routed(scenario: &Scenario, tasks: u64, shares: &[crate::units::NonNegative]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let composition = scenario.composition();
    if !shares.is_empty() && shares.len() != scenario.workers.len() {
        let message = format!("{} shares for {} classes of workers", shares.len(), scenario.workers.len());
        problems.push(Problem::at("protocol.shares", message).help("give one for each class, or none at all"));
    }
    if !shares.is_empty() && shares.iter().all(|share| share.get() == 0.0) {
        problems.push(Problem::at("protocol.shares", "no class has a share").help("give one above 0"));
    }
    if scenario.network.request != crate::delay::Law::Constant(Default::default()) {
        problems.push(
            Problem::at("network.request", "tasks that go round are sent to workers, which never ask for one")
                .help("leave it out"),
        );
    }
    if tasks > MOST {
        problems.push(Problem::at("protocol.tasks", format!("{tasks} tasks are too many")).help("at most 16,777,216"));
    }
    if !matches!(composition.step.after, After::Gradients(_)) || composition.late != Late::Keep {
        problems.push(
            Problem::at("protocol", "where tasks go round, a step takes a number of gradients, and late work goes on")
                .help("use after: Gradients(…) and late: Keep"),
        );
    }
    problems
}

fn work(scenario: &Scenario, work: &Work) -> Vec<Problem> {
    let mut problems = Vec::new();
    let local = match work {
        Work::Gradient => return problems,
        Work::LocalSteps { local, .. } | Work::Elastic { local, .. } => local,
    };
    if local.steps.get() > MOST {
        let message = format!("{} local steps are too many", local.steps.get());
        problems.push(Problem::at("protocol.local.steps", message).help("at most 16,777,216"));
    }
    if let (Work::Elastic { .. }, Pace::Routed { .. }) = (work, &scenario.composition().pace) {
        problems.push(
            Problem::at("protocol", "workers cannot keep parameters of their own where tasks go round")
                .help("choose another pace or work"),
        );
    }
    problems
}

/// Questions about single steps are about single gradients.
fn questions(scenario: &Scenario, several: bool) -> Option<Problem> {
    let asks = several && !scenario.record.what_if.is_empty();
    asks.then(|| {
        Problem::at("record.what_if", "a step of this protocol uses several gradients, so that none can be exchanged")
            .help("ask this of a protocol that steps with one")
    })
}
