//! One shard of a server: its queue, what it saves, and how it fails and comes back.

use super::Observer;
use super::engine::Simulation;
use super::gradient::{Fate, Gradient};
use super::incident::{Happening, Incident};
use super::model::{DelayId, Model, ShardSpec, Target, purpose};
use super::shards::Shards;
use super::worker::duration;
use crate::error::Result;
use crate::failure::{Every, Recovery};
use crate::kernel::{Span, Time};
use crate::optimiser::Optimiser;
use std::collections::VecDeque;
use std::sync::Arc;

/// A part of a gradient at its shard.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The gradient that it is of.
    pub open: u32,
    /// What is known of it so far.
    pub gradient: Gradient,
    /// Since when it waits, and how long the shard had been away until then, in nanoseconds.
    pub since: Time,
    pub away_nanos: u64,
    /// The shard's incarnation when it was read.
    pub incarnation: u32,
}

/// What a shard has, as it is saved.
#[derive(Clone, Debug)]
struct Saved {
    version: u64,
    parameters: Vec<f64>,
    optimiser: Optimiser,
}

/// Of a worker's parts: how many were applied since what can be restored, and how long it was busy with them. Those of an earlier
/// `save` are none.
#[derive(Clone, Copy, Debug, Default)]
struct Since {
    save: u64,
    parts: u64,
    busy_nanos: u64,
}

/// A shard during a run.
#[derive(Debug)]
pub struct Shard {
    pub version: u64,
    /// Steps, undone ones included.
    pub steps: u64,
    pub rejected: u64,
    /// Parts of its own that have not ended.
    pub in_flight: u64,
    pub waiting: VecDeque<Part>,
    pub serving: Option<(Part, Time)>,
    /// Parts that it began to take in.
    pub served: u64,
    /// How long it was taking in parts, in nanoseconds.
    pub busy_nanos: u64,
    /// Sums over parts applied.
    lag_versions: i64,
    most_lag: i64,
    lag_nanos: u128,
    queue_nanos: u128,
    /// Since when it is down, by how many failures, and for how long it was before.
    away: Option<Time>,
    away_before: u64,
    down_by: u32,
    failures: u64,
    /// What can be restored, and what is being written.
    first: Saved,
    saved: Saved,
    writing: Option<Saved>,
    saves: u64,
    /// How often it had saved when it last went back.
    saves_restored: Option<u64>,
    versions_lost: u64,
    /// The versions that were restored, by incarnation.
    restored: Vec<u64>,
    /// By worker.
    since_saved: Vec<Since>,
}

/// What is known of a shard in the end.
#[derive(Clone, Debug, PartialEq)]
pub struct ShardFigures {
    /// How many parameters it has.
    pub parameters: usize,
    /// Its version.
    pub version: u64,
    /// Its steps, undone ones included.
    pub steps: u64,
    /// Parts rejected.
    pub rejected: u64,
    /// The mean lag of parts applied, in versions.
    pub lag_versions: Option<f64>,
    /// The same in seconds.
    pub lag_s: Option<f64>,
    /// Of these, what they waited in its queue.
    pub queue_s: Option<f64>,
    /// The greatest lag in versions.
    pub most_lag: Option<i64>,
    /// How long it was taking in parts.
    pub busy: Span,
    /// How long it was down.
    pub away: Span,
    /// Its failures.
    pub failures: u64,
    /// The steps that were undone.
    pub versions_lost: u64,
    /// How often it saved.
    pub saves: u64,
}

impl Shard {
    pub fn new(model: &Model, own: &ShardSpec) -> Shard {
        let first = Saved {
            version: model.start_version,
            parameters: model.start[own.parameters.clone()].to_vec(),
            optimiser: own.optimiser.clone(),
        };
        Shard {
            version: model.start_version,
            steps: 0,
            rejected: 0,
            in_flight: 0,
            waiting: VecDeque::with_capacity(model.workers.len()),
            serving: None,
            served: 0,
            busy_nanos: 0,
            lag_versions: 0,
            most_lag: i64::MIN,
            lag_nanos: 0,
            queue_nanos: 0,
            away: None,
            away_before: 0,
            down_by: 0,
            failures: 0,
            saved: first.clone(),
            first,
            writing: None,
            saves: 0,
            saves_restored: None,
            versions_lost: 0,
            restored: Vec::new(),
            since_saved: vec![Since::default(); model.workers.len()],
        }
    }

    pub fn is_free(&self) -> bool {
        self.down_by == 0 && self.serving.is_none() && self.writing.is_none()
    }

    /// How often it has come back with something else than it had.
    pub fn incarnation(&self) -> u32 {
        self.restored.len() as u32
    }

    /// Whether a version that was read in an earlier incarnation was undone since.
    pub fn is_undone(&self, incarnation: u32, version: u64) -> bool {
        self.restored[incarnation as usize..].iter().any(|&restored| version > restored)
    }

    /// How long it was down until now, in nanoseconds.
    pub fn away_nanos(&self, now: Time) -> u64 {
        self.away_before + self.away.map_or(0, |since| now.since(since).nanos())
    }

    /// How long it was taking in parts until now, in nanoseconds.
    pub fn busy_nanos(&self, now: Time) -> u64 {
        self.busy_nanos + self.serving.as_ref().map_or(0, |(_, begun)| now.since(*begun).nanos())
    }

    /// Puts down where the time went of a part that waited until now: to the outage while the shard was down, to the queue otherwise.
    pub fn queued(&self, part: &mut Part, now: Time) {
        let all = now.since(part.since);
        let away = self.away_nanos(now);
        let outage = Span::from_nanos(away - part.away_nanos).min(all);
        part.gradient.causes.outage += outage;
        part.gradient.causes.queue += all - outage;
        (part.since, part.away_nanos) = (now, away);
    }

    /// Puts down a part that was applied.
    pub fn applied(&mut self, gradient: &Gradient, busy_nanos: u64) {
        self.version += 1;
        self.steps += 1;
        self.lag_versions += gradient.lag_versions();
        self.most_lag = self.most_lag.max(gradient.lag_versions());
        self.lag_nanos += u128::from(gradient.lag().nanos());
        self.queue_nanos += u128::from(gradient.causes.queue.nanos());
        let since = &mut self.since_saved[gradient.worker as usize];
        if since.save != self.saves {
            *since = Since { save: self.saves, ..Since::default() };
        }
        since.parts += 1;
        since.busy_nanos += busy_nanos;
    }

    /// The parts that are here, as they are now.
    pub fn held(&self, now: Time) -> impl Iterator<Item = Gradient> {
        let waiting = self.waiting.iter().map(move |part| {
            let mut part = *part;
            self.queued(&mut part, now);
            part.gradient
        });
        let serving = self.serving.iter().map(move |(part, begun)| {
            let mut gradient = part.gradient;
            gradient.causes.service += now.since(*begun);
            gradient
        });
        let version = self.version;
        let as_now =
            move |gradient| Gradient { version_applied: version, ended: now, fate: Fate::InFlight, ..gradient };
        serving.chain(waiting).map(as_now)
    }

    /// What is known of it.
    pub fn figures(&self, own: &ShardSpec, now: Time) -> ShardFigures {
        let mean = |sum: f64| (self.steps > 0).then(|| sum / self.steps as f64);
        ShardFigures {
            parameters: own.parameters.len(),
            version: self.version,
            steps: self.steps,
            rejected: self.rejected,
            lag_versions: mean(self.lag_versions as f64),
            lag_s: mean(self.lag_nanos as f64 / 1e9),
            queue_s: mean(self.queue_nanos as f64 / 1e9),
            most_lag: (self.steps > 0).then_some(self.most_lag),
            busy: Span::from_nanos(self.busy_nanos(now)),
            away: Span::from_nanos(self.away_nanos(now)),
            failures: self.failures,
            versions_lost: self.versions_lost,
            saves: self.saves,
        }
    }
}

impl Shards {
    /// After a step: saves what the shard has, if it is time.
    pub(super) fn save_if_due(&mut self, run: &mut Simulation, shard: u32, observer: &mut impl Observer) -> Result<()> {
        let Recovery::Checkpoint { every: Every::Versions(every), write, .. } = &run.model.comeback.recovery else {
            return Ok(());
        };
        let (write, state) = (*write, &mut self.shards[shard as usize]);
        if !state.version.is_multiple_of(every.get()) {
            return Ok(());
        }
        let own = &run.model.shards[shard as usize];
        state.writing = Some(Saved {
            version: state.version,
            parameters: run.snapshots.current()[own.parameters.clone()].to_vec(),
            optimiser: own.optimiser.clone(),
        });
        if write == DelayId::NONE {
            return self.written(run, shard, observer);
        }
        let stream = run.model.streams.stream(purpose::RECOVERY[0], u64::from(shard));
        let span = duration(&mut run.model.delays, write, stream, state.saves);
        self.busy_for(run, shard, span)
    }

    /// What a shard was writing can be restored.
    pub(super) fn written(&mut self, run: &mut Simulation, shard: u32, observer: &mut impl Observer) -> Result<()> {
        let state = &mut self.shards[shard as usize];
        let Some(saved) = state.writing.take() else { return Ok(()) };
        state.saved = saved;
        state.saves += 1;
        self.report(run, Happening::Saved, shard, observer)
    }

    /// Something happens to a process.
    pub(super) fn on_fault(&mut self, run: &mut Simulation, place: usize, observer: &mut impl Observer) -> Result<()> {
        let process = Arc::clone(&run.model.failures[place]);
        run.in_vain += 1;
        let shards = match &process.target {
            Target::Shards(shards) => shards.as_slice(),
            _ => &[],
        };
        if self.processes.is_back(run, place) {
            if !process.while_down {
                self.processes.next_failure(run, place)?;
            }
            shards.iter().try_for_each(|&shard| self.shard_is_back(run, shard, observer))?;
        } else if self.processes.fails_now(run, place) {
            let failed = self.processes.strike(run, place)?;
            let back = match failed.repair {
                Some(repair) => repair.checked_add(self.restoring(run, failed.number)?),
                None => None,
            };
            self.processes.set_back(place, back);
            if process.while_down {
                self.processes.next_failure(run, place)?;
            }
            for &shard in shards {
                self.shards[shard as usize].failures += 1;
                if !failed.again {
                    self.shard_fails(run, shard, observer)?;
                }
            }
        }
        self.processes.await_fault(run, place);
        Ok(())
    }

    /// How long it takes to restore what was saved.
    fn restoring(&self, run: &mut Simulation, number: u64) -> Result<Span> {
        let Recovery::Checkpoint { restore, .. } = run.model.comeback.recovery else { return Ok(Span::ZERO) };
        let stream = run.model.streams.stream(purpose::RECOVERY[2], 0);
        let span = duration(&mut run.model.delays, restore, stream, number);
        span.ok_or_else(|| super::errors::clock_ended("a shard", "server.recovery", run.now))
    }

    /// A shard fails: what it was doing comes to nothing, but workers send again what it had not dealt with.
    fn shard_fails(&mut self, run: &mut Simulation, shard: u32, observer: &mut impl Observer) -> Result<()> {
        self.report(run, Happening::ServerDown, shard, observer)?;
        let key = self.key(run, shard);
        let state = &mut self.shards[shard as usize];
        state.down_by += 1;
        if state.down_by > 1 {
            return Ok(());
        }
        if let Some((mut part, begun)) = state.serving.take() {
            part.gradient.causes.service += run.now.since(begun);
            state.busy_nanos += run.now.since(begun).nanos();
            (part.since, part.away_nanos) = (run.now, state.away_nanos(run.now));
            state.waiting.push_front(part);
        }
        state.away = Some(run.now);
        state.writing = None;
        run.queue.cancel(key);
        Ok(())
    }

    /// A shard is there again: it goes on from what it has, and with it all others, if they go back together.
    fn shard_is_back(&mut self, run: &mut Simulation, shard: u32, observer: &mut impl Observer) -> Result<()> {
        let state = &mut self.shards[shard as usize];
        state.down_by -= 1;
        if state.down_by > 0 {
            return Ok(());
        }
        state.away_before = state.away_nanos(run.now);
        state.away = None;
        if run.model.comeback.recovery != Recovery::Kept {
            let all = 0..self.shards.len() as u32;
            let back = if run.model.sharding.all_roll_back { all } else { shard..shard + 1 };
            back.into_iter().for_each(|shard| self.roll_back(run, shard));
            self.compare_versions(run);
        }
        self.report(run, Happening::ServerBack, shard, observer)?;
        (0..self.shards.len() as u32).try_for_each(|shard| self.serve(run, shard, observer))
    }

    /// A shard goes back to what was saved. What was applied since then is undone.
    fn roll_back(&mut self, run: &mut Simulation, shard: u32) {
        let state = &mut self.shards[shard as usize];
        let saved = if run.model.comeback.recovery.saves() { state.saved.clone() } else { state.first.clone() };
        let lost = state.version - saved.version;
        if state.writing.take().is_some() {
            run.queue.cancel((run.workers.len() * (self.shards.len() + 1)) as u32 + shard);
        }
        let state = &mut self.shards[shard as usize];
        for (since, standing) in state.since_saved.iter_mut().zip(&mut self.standings) {
            if since.save == state.saves {
                standing.rolled_back += since.parts;
                self.useful_nanos -= u128::from(since.busy_nanos);
                self.undone_nanos += u128::from(since.busy_nanos);
            }
            *since = Since::default();
        }
        run.restores(state.saves, &mut state.saves_restored);
        state.versions_lost += lost;
        state.restored.push(saved.version);
        state.version = saved.version;
        // What was undone is to be done again.
        run.model.stop.updates = run.model.stop.updates.saturating_add(lost);
        run.ledger.go_back_among(lost, state.in_flight);
        let own = &mut run.model.shards[shard as usize];
        own.optimiser = saved.optimiser;
        let mut parameters = run.snapshots.current().to_vec();
        parameters[own.parameters.clone()].copy_from_slice(&saved.parameters);
        run.snapshots.restore(&parameters);
    }

    fn report(&self, run: &Simulation, what: Happening, shard: u32, observer: &mut impl Observer) -> Result<()> {
        let state = &self.shards[shard as usize];
        let loss = Some(run.model.objective.loss(run.snapshots.current()));
        let waiting = state.waiting.len() as u64;
        let shard = Some(shard);
        observer.incident(&Incident { at: run.now, what, worker: None, shard, version: state.version, loss, waiting })
    }
}
