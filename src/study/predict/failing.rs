//! Things that fail: how often to save, and what is left of the workers' time.

use super::Forecast;
use super::view::View;
use crate::delay::Law;
use crate::failure::{Every, Of, Recovery, When};
use crate::study::Prepared;
use crate::theory::checkpoint;

/// How often to save.
pub fn interval(prepared: &Prepared, forecast: &mut Forecast) {
    let scenario = &prepared.scenario;
    let Recovery::Checkpoint { every, .. } = &scenario.server.recovery else { return };
    let Recovery::Checkpoint { write, blocking: true, .. } = &prepared.model.comeback.recovery else {
        return forecast.pass("checkpoint interval", "the server goes on while it saves");
    };
    let failures: Vec<_> = scenario.failures.iter().filter(|failure| failure.of == Of::Server).collect();
    let [failure] = failures.as_slice() else {
        return forecast.pass("checkpoint interval", "known for one law of failures of the server");
    };
    let When::Every(Law::Exponential { mean }) = &failure.at else {
        return forecast.pass("checkpoint interval", "known for exponential times between failures");
    };
    let write_s = write.place().map_or(0.0, |place| prepared.model.delays[place].delay().mean());
    if write_s == 0.0 {
        return forecast.pass("checkpoint interval", "saving takes no time: the more often the better");
    }
    let best = checkpoint::best_interval_s(mean.get(), write_s);
    forecast.say("checkpoint_interval_s", best, "M (1 + W₀(−e^(−δ/M − 1))) of work between checkpoints (Daly, 2006)");
    forecast.say(
        "checkpoint_interval_young_s",
        checkpoint::young_interval_s(mean.get(), write_s),
        "√(2 δ M) (Young, 1974)",
    );
    if let Every::Versions(every) = every {
        forecast.say("versions_lost_each", checkpoint::versions_lost(every.get()), "(k − 1)/2 for each failure");
    }
}

/// Workers that fail on their own, by one law, and are repaired: what that leaves of their time and, where each gradient is a step of its own,
/// of the rate.
pub fn workers(view: &View, forecast: &mut Forecast) {
    let scenario = &view.prepared.scenario;
    let [failure] = scenario.failures.as_slice() else { return };
    let (Of::Workers, When::Every(up), Some(_)) = (&failure.of, &failure.at, &failure.repair) else { return };
    let Some(process) = view.prepared.model.failures.first() else { return };
    let mean =
        |id: crate::cluster::DelayId| id.place().map_or(0.0, |place| view.prepared.model.delays[place].delay().mean());
    let (crate::cluster::Occurs::Every(up_s, _), Some(repair)) = (&process.occurs, process.repair) else { return };
    let (up_s, repair_s) = (mean(*up_s), mean(repair));
    if up.is_individual() || failure.while_down || failure.notice_s.is_some() || !up_s.is_finite() {
        return;
    }
    let availability = checkpoint::availability(up_s, repair_s);
    forecast.say("worker_availability", availability, "M/(M + R), whatever the laws");
    let compute = match view.only_law() {
        Some(Law::Exponential { mean }) => Some((mean.get(), true)),
        Some(Law::Constant(seconds)) => Some((seconds.get(), false)),
        _ => None,
    };
    let memoryless = matches!(up, Law::Exponential { .. }) && failure.detection.is_none();
    if let (Some((compute_s, exponential)), true, true) = (
        compute,
        memoryless && view.composition.is_plain(),
        view.is_instant() && view.composition.admit.most_versions.is_none(),
    ) {
        let each_s = checkpoint::crashing_worker_s(compute_s, exponential, up_s, repair_s);
        let because = match exponential {
            true => "n / c (1 + R/M): of memoryless work nothing is lost",
            false => "n / ((M + R)(e^(c/M) − 1)): what was under way begins anew",
        };
        forecast.say("throughput_per_s", view.workers as f64 / each_s, because);
    }
}
