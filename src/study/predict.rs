//! What theory says of a scenario before it is run: which closed forms apply, what they give, and why others do not.

use super::run::Prepared;
use crate::cluster::{DelayId, Publish};
use crate::delay::Law;
use crate::failure::{Every, Of, Recovery, When};
use crate::objective::{self, Noise};
use crate::optimiser::Spec;
use crate::protocol::{After, Composition, Late, Pace, StepRule};
use crate::theory::{barrier, checkpoint, lag, queue, stability};
use crate::units::Count;

/// A figure in the long run, by a closed form.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Its name: that of the summary, where the summary has it.
    pub quantity: &'static str,
    /// The figure.
    pub value: f64,
    /// Where it comes from, and when it holds.
    pub because: String,
}

/// What can be said of a scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forecast {
    /// What closed forms give.
    pub predictions: Vec<Prediction>,
    /// Of what there is none, and why.
    pub silent: Vec<(&'static str, String)>,
    /// What is likely to go wrong.
    pub warnings: Vec<String>,
}

impl Forecast {
    fn say(&mut self, quantity: &'static str, value: f64, because: impl Into<String>) {
        self.predictions.push(Prediction { quantity, value, because: because.into() });
    }

    fn pass(&mut self, about: &'static str, why: impl Into<String>) {
        self.silent.push((about, why.into()));
    }

    /// The figure called so, if there is one.
    pub fn get(&self, quantity: &str) -> Option<f64> {
        self.predictions.iter().find(|known| known.quantity == quantity).map(|known| known.value)
    }
}

/// What the forms here need to know of a cluster.
struct View<'a> {
    prepared: &'a Prepared,
    composition: Composition,
    workers: u64,
    /// Seconds from reading to arriving, class by class, on average; and how many workers each has.
    away: Vec<(u64, f64)>,
    service_s: f64,
    step_s: f64,
}

/// What closed forms say of a scenario.
pub fn predict(prepared: &Prepared) -> Forecast {
    let mut forecast = Forecast::default();
    interval(prepared, &mut forecast);
    heavy(prepared, &mut forecast);
    let view = View::new(prepared);
    if let Some(what) = view.beyond() {
        forecast.pass("lag, rate and stability", format!("{what}, of which the forms here know nothing"));
        return forecast;
    }
    let asynchronous = view.gradients_per_step();
    match asynchronous {
        Some(each) => busy(&view, each, &mut forecast),
        None => barriers(&view, &mut forecast),
    }
    rates_of_learning(&view, asynchronous == Some(1), &mut forecast);
    forecast
}

impl View<'_> {
    fn new(prepared: &Prepared) -> View<'_> {
        let model = &prepared.model;
        let mean = |id: DelayId| id.place().map_or(0.0, |place| model.delays[place].delay().mean());
        let mut away = vec![(0, 0.0); prepared.scenario.workers.len()];
        for member in &model.workers {
            let (legs, (count, all_s)) = (member.legs, &mut away[member.class as usize]);
            *count += 1;
            *all_s += mean(legs.download) + mean(legs.compute) * f64::from(member.local_steps) + mean(legs.upload);
        }
        View {
            prepared,
            composition: prepared.scenario.composition(),
            workers: model.workers.len() as u64,
            away: away.into_iter().map(|(count, all_s)| (count, all_s / count.max(1) as f64)).collect(),
            service_s: mean(model.server.service),
            step_s: mean(model.server.step),
        }
    }

    /// What is in the scenario that no form here can deal with.
    fn beyond(&self) -> Option<&'static str> {
        let (model, scenario) = (&self.prepared.model, &self.prepared.scenario);
        let patience = model.workers.iter().any(|member| member.gives_up.is_some());
        let asks = model.workers.iter().any(|member| member.request != DelayId::NONE);
        let found = [
            (!model.shards.is_empty(), "the server is in shards"),
            (!scenario.failures.is_empty(), "something fails"),
            (scenario.server.recovery.saves(), "the server saves what it has"),
            (scenario.server.recovery.is_stateless(), "the server is stateless"),
            (model.server.link.is_some(), "messages share a link"),
            (model.server.duplicates > 0.0, "gradients come twice"),
            (model.server.publish != Publish::ALWAYS, "workers do not see every version"),
            (patience, "workers give up"),
            (asks, "snapshots are requested"),
            (self.away.iter().any(|(_, away)| !away.is_finite()), "a mean delay is infinite"),
        ];
        found.into_iter().find_map(|(is_so, what)| is_so.then_some(what))
    }

    /// How many gradients a step takes, if workers never wait for others, and nothing is refused.
    fn gradients_per_step(&self) -> Option<u64> {
        let After::Gradients(each) = self.composition.step.after else { return None };
        let composition = Composition {
            step: StepRule { after: After::Gradients(Count::ONE), mean: Default::default(), ..self.composition.step },
            work: Default::default(),
            ..self.composition.clone()
        };
        let refuses = self.composition.admit.most_versions.is_some() || self.composition.admit.most_s.is_some();
        let busy = composition.pace == Pace::AtOnce && composition.late == Late::Keep && !refuses;
        (busy && composition.step == StepRule::default()).then_some(each.get())
    }

    /// Gradients a second, as long as nobody waits for the server.
    fn rate(&self) -> f64 {
        self.away.iter().map(|(count, away)| *count as f64 / away).sum()
    }

    /// The law of compute times, if all workers have the same, and nothing else takes time on the way.
    fn only_law(&self) -> Option<&Law> {
        let [class] = self.prepared.scenario.workers.as_slice() else { return None };
        let legs = self.prepared.model.workers.first()?.legs;
        let alone = legs.download == DelayId::NONE && legs.upload == DelayId::NONE;
        let single = self.prepared.model.workers.iter().all(|member| member.local_steps == 1);
        (alone && single && !class.compute.is_individual()).then_some(&class.compute)
    }
}

/// Workers that always have a gradient under way.
fn busy(view: &View, each: u64, forecast: &mut Forecast) {
    let n = view.workers;
    let any = if each == 1 { "n − 1 for any laws" } else { "(n − 1)/K for any laws" };
    forecast.say("lag_versions_mean", lag::mean_of_busy(n, each), format!("{any}: every worker is always busy"));
    if view.step_s > 0.0 {
        return forecast.pass("rate and age", "steps take time");
    }
    let rate = match view.service_s > 0.0 {
        false => Some((view.rate(), "Σ 1/mean time of each worker: nobody waits".to_owned())),
        true => served(view, forecast),
    };
    let Some((rate, because)) = rate else { return };
    forecast.say("throughput_per_s", rate / each as f64, because);
    if each == 1 {
        forecast.say("lag_s_mean", lag::mean_age_s(n, rate), "n / throughput: Little's law");
        if matches!(view.only_law(), Some(Law::Exponential { .. })) && view.service_s == 0.0 {
            forecast.say("lag_versions_sd", lag::memoryless_variance(n).sqrt(), "√(n (n − 1)): lag is geometric");
            forecast.say(
                "lag_correlation",
                lag::memoryless_correlation(n),
                "√((n − 1)/n): lag is Poisson, given its age",
            );
        }
    }
}

/// The rate of a server that takes in one gradient at a time, if it is known, and whether it is what limits the workers.
fn served(view: &View, forecast: &mut Forecast) -> Option<(f64, String)> {
    let away = view.away[0].1;
    if view.away.iter().any(|(_, other)| (other - away).abs() > 1e-9 * away) {
        forecast.pass("rate and age", "workers of different speed share a server that takes time");
        return None;
    }
    let saturation = queue::saturation(away, view.service_s);
    forecast.say("saturation_workers", saturation, "(time away + service) / service: from there on the server limits");
    if view.workers as f64 > saturation {
        let (n, most) = (view.workers, 1.0 / view.service_s);
        forecast.warnings.push(format!(
            "the server is saturated: {n} workers, where {saturation:.1} keep it busy at {most} gradients/s"
        ));
    }
    match (&view.prepared.scenario.server.service, view.only_law()) {
        (Law::Exponential { .. }, _) => {
            let system = queue::exponential_server(view.workers, away, view.service_s);
            forecast.say("server_utilisation", system.utilisation, "M/M/1//N");
            Some((system.throughput_per_s, "M/M/1//N: exponential service, any law of the time away".to_owned()))
        }
        (Law::Constant(_), Some(Law::Constant(_))) => {
            let rate = queue::most_throughput_per_s(view.workers, away, view.service_s);
            Some((rate, "min(N/(time away + service), 1/service): constant times".to_owned()))
        }
        _ => {
            let most = queue::most_throughput_per_s(view.workers, away, view.service_s);
            forecast.say(
                "throughput_per_s_at_most",
                most,
                "min(N/(time away + service), 1/service): a bound for any laws",
            );
            forecast.pass("rate and age", "no closed form for these laws of service and compute times");
            None
        }
    }
}

/// Steps that wait for the fastest workers.
fn barriers(view: &View, forecast: &mut Forecast) {
    let n = view.workers;
    let restarts = view.composition.late == Late::Cancel;
    let k = match (&view.composition.pace, view.composition.step.after) {
        (Pace::Barrier, After::All) => n,
        (Pace::Barrier, After::Workers(k)) if k.get() >= n || restarts => k.get().min(n),
        _ => return forecast.pass("lag and rate", "no closed form for this protocol"),
    };
    forecast.say("lag_versions_mean", 0.0, "a step uses gradients of the current version only");
    if view.service_s + view.step_s > 0.0 {
        return forecast.pass("rate", "the server takes time");
    }
    let round = match view.only_law() {
        Some(Law::Exponential { mean }) => barrier::exponential(0.0, mean.get(), n, k),
        Some(Law::ShiftedExponential { shift, mean }) => barrier::exponential(shift.get(), mean.get(), n, k),
        Some(Law::Pareto { minimum, shape }) => barrier::pareto(minimum.get(), shape.get(), n, k),
        Some(Law::Constant(seconds)) => seconds.get(),
        _ => return forecast.pass("rate", "no closed form for the fastest of these compute times"),
    };
    if round.is_finite() && round > 0.0 {
        forecast.say(
            "throughput_per_s",
            1.0 / round,
            format!("the {k} fastest of {n} take {round:.6} s on average (order statistics)"),
        );
    } else {
        forecast.pass("rate", "the mean of the slowest is infinite");
    }
}

/// How large a learning rate is stable, and where noise leaves the loss.
fn rates_of_learning(view: &View, one_each: bool, forecast: &mut Forecast) {
    let scenario = &view.prepared.scenario;
    let quadratic = matches!(scenario.objective, objective::Spec::Quadratic { .. } | objective::Spec::Diagonal { .. });
    let ([Spec::Sgd { learning_rate }], true) = (scenario.optimiser.as_slice(), quadratic) else {
        return forecast.pass("stability", "known for plain SGD on quadratics");
    };
    let Some((_, steepest)) = view.prepared.model.objective.curvature() else { return };
    let weighted =
        scenario.workers.iter().any(|class| class.weight.get() != 1.0) || view.composition.admit.discount.is_some();
    if weighted || view.service_s + view.step_s > 0.0 || !one_each {
        return forecast.pass("stability", "known for one unweighted gradient a step, and a server that takes no time");
    }
    let (n, alpha) = (view.workers, learning_rate.get() * steepest);
    let (edge, variance) = match view.only_law() {
        Some(Law::Exponential { .. }) => {
            forecast.say("implicit_momentum", stability::implicit_momentum(n, 1), "1 − 1/n (Mitliagkas et al., 2016)");
            (stability::memoryless_edge(n), stability::memoryless_variance(alpha, n))
        }
        Some(Law::Constant(_)) => (stability::constant_lag_edge(n - 1), stability::constant_lag_variance(alpha, n - 1)),
        _ => return forecast.pass("stability", "known for equal workers with constant or exponential compute times"),
    };
    forecast.say("learning_rate_edge", edge / steepest, "beyond it E w² grows without bound");
    if alpha >= edge {
        forecast.warnings.push(format!(
            "a learning rate of {} is beyond the edge of stability, {:.6}",
            learning_rate.get(),
            edge / steepest
        ));
    }
    let (Some(variance), Some(Noise::Gaussian { sd, batch })) = (variance, scenario.noise) else { return };
    if let objective::Spec::Quadratic { curvature, .. } = scenario.objective {
        let step = learning_rate.get() * sd.get() / (batch.get() as f64).sqrt();
        forecast.say(
            "stationary_loss",
            curvature.get() / 2.0 * variance * step * step,
            "h/2 × the variance that noise keeps up",
        );
    }
}

/// How often to save.
fn interval(prepared: &Prepared, forecast: &mut Forecast) {
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

/// Warns of laws whose means settle slowly, or not at all.
fn heavy(prepared: &Prepared, forecast: &mut Forecast) {
    if prepared.has_infinite_variance() {
        forecast.warnings.push(
            "the variance of some delay is infinite: figures in seconds settle slowly, and have no intervals"
                .to_owned(),
        );
    }
}
