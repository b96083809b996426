//! A cluster, as closed forms see it.

use crate::cluster::{DelayId, Member, Publish};
use crate::delay::Law;
use crate::protocol::{After, Composition, Late, Pace, StepRule};
use crate::study::Prepared;
use crate::units::Count;

/// What the forms here need to know of a cluster.
pub struct View<'a> {
    pub prepared: &'a Prepared,
    pub composition: Composition,
    pub workers: u64,
    /// Seconds from reading to arriving, class by class, on average; and how many workers each has.
    pub away: Vec<(u64, f64)>,
    pub service_s: f64,
    pub step_s: f64,
}

impl View<'_> {
    pub fn new(prepared: &Prepared) -> View<'_> {
        let model = &prepared.model;
        let mean = |id: DelayId| id.place().map_or(0.0, |place| model.delays[place].delay().mean());
        let mut away = vec![(0, 0.0); prepared.scenario.workers.len()];
        for member in model.workers.iter() {
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
    pub fn beyond(&self) -> Option<&'static str> {
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
    pub fn gradients_per_step(&self) -> Option<u64> {
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
    pub fn rate(&self) -> f64 {
        self.away.iter().map(|(count, away)| *count as f64 / away).sum()
    }

    /// The law of compute times, if all workers have the same, and nothing else takes time on the way.
    pub fn only_law(&self) -> Option<&Law> {
        let [class] = self.prepared.scenario.workers.as_slice() else { return None };
        let legs = self.prepared.model.workers.first()?.legs;
        let alone = legs.download == DelayId::NONE && legs.upload == DelayId::NONE;
        let single = self.prepared.model.workers.iter().all(|member| member.local_steps == 1);
        (alone && single && !class.compute.is_individual()).then_some(&class.compute)
    }

    /// The rates of all workers, if they have exponential compute times, and nothing else takes time on the way.
    pub fn exponential_rates(&self) -> Option<Vec<f64>> {
        let model = &self.prepared.model;
        let rate = |member: &Member| {
            let alone = member.legs.download == DelayId::NONE && member.legs.upload == DelayId::NONE;
            let delay = member.legs.compute.place().map(|place| model.delays[place].delay())?;
            delay.as_exponential().filter(|_| alone && member.local_steps == 1).map(|mean_s| 1.0 / mean_s)
        };
        model.workers.iter().map(rate).collect()
    }

    /// Whether the server takes the same time for each gradient, or none.
    pub fn has_constant_service(&self) -> bool {
        matches!(self.prepared.scenario.server.service, Law::Constant(_))
    }

    /// Whether it takes the server no time to take in a gradient, and to step.
    pub fn is_instant(&self) -> bool {
        self.service_s + self.step_s == 0.0
    }
}
