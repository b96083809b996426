//! A server in several shards: each has some of the parameters, and a version, a queue and failures of its own. A worker reads from all
//! of them at once, so that its snapshot has a version of each, and sends each its part of the gradient. A part is a gradient of its
//! shard: it is started, is stale, and has its fate on its own.

use super::engine::{ARRIVAL_OR_STEP, Simulation};
use super::errors;
use super::gradient::{Causes, Fate, Gradient};
use super::model::{DelayId, Model, purpose};
use super::process::Processes;
use super::shard::{Part, Shard, ShardFigures};
use super::upcoming::What;
use super::worker::duration;
use super::{Ended, Observer, Step};
use crate::error::Result;
use crate::failure::Future;
use crate::kernel::{Due, Span, Time};
use crate::optimiser::Context;
use crate::protocol::Otherwise;

/// A gradient of which not all parts have ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Open {
    worker: u32,
    /// How many its worker had begun before.
    index: u64,
    slot: u32,
    read: Time,
    received: Time,
    computed: Time,
    /// The whole gradient, once a part of it was used.
    pushed: Vec<f64>,
    is_computed: bool,
    /// Parts that have not reached their shard, that have not ended, and that were applied.
    on_way: u32,
    left: u32,
    applied: u32,
    /// The least and the greatest lag of those applied.
    least: i64,
    most: i64,
}

/// A part on its way to its shard.
#[derive(Clone, Copy, Debug, Default)]
struct OnWay {
    open: u32,
    version_read: u64,
    incarnation: u32,
    upload: Span,
}

/// What a worker has besides its hot state.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standing {
    /// Gradients begun, and those all of whose parts have ended.
    pub begun: u64,
    pub done: u64,
    /// Since when it waits for the shards, if it does, and how long it did before.
    pub since: Option<Time>,
    pub waited: Span,
    /// Parts that have not ended, and that were dropped, and undone.
    pub in_flight: u64,
    pub dropped: u64,
    pub rolled_back: u64,
    /// Sum of the factors on parts applied.
    pub weight: f64,
}

/// Parts of the same gradient, and versions of different shards: how far apart they were.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Apart {
    /// Gradients all of whose parts were applied.
    pub whole: u64,
    /// The sum of their spreads: the greatest lag of a part less the least, in versions.
    pub spread: i64,
    /// The greatest of these.
    pub most_spread: i64,
    /// The greatest difference of the versions of two shards at any time.
    pub most_skew: u64,
}

/// The shards, and what is under way between them and the workers.
#[derive(Debug)]
pub struct Shards {
    pub(super) shards: Vec<Shard>,
    open: Vec<Open>,
    free: Vec<u32>,
    /// By worker and shard.
    on_way: Vec<OnWay>,
    pub(super) standings: Vec<Standing>,
    pub(super) processes: Processes,
    /// Workers that go on when this event has been dealt with.
    starts: Vec<u32>,
    /// Whether this event made a step.
    stepped: bool,
    apart: Apart,
    pub(super) lag_in_flight: i64,
    pub(super) nanos_in_flight: u128,
    pub(super) lag_versions: i64,
    /// How long workers were busy with what was applied, and stands; and with what was undone.
    pub(super) useful_nanos: u128,
    pub(super) undone_nanos: u128,
}

impl Shards {
    /// Those of a model, before the first event.
    pub fn new(model: &Model) -> Shards {
        let workers = model.workers.len();
        Shards {
            shards: model.shards.iter().map(|shard| Shard::new(model, shard)).collect(),
            open: Vec::with_capacity(workers),
            free: Vec::with_capacity(workers),
            on_way: vec![OnWay::default(); workers * model.shards.len()],
            standings: vec![Standing::default(); workers],
            processes: Processes::new(model.failures.len()),
            starts: Vec::with_capacity(workers),
            stepped: false,
            apart: Apart::default(),
            lag_in_flight: 0,
            nanos_in_flight: 0,
            lag_versions: 0,
            useful_nanos: 0,
            undone_nanos: 0,
        }
    }

    /// Deals with an event.
    pub fn handle(&mut self, run: &mut Simulation, due: Due, observer: &mut impl Observer) -> Result<()> {
        match run.what(due) {
            What::Start(worker) => self.starts.push(worker),
            What::PartArrival(worker, shard) => self.on_arrival(run, worker, shard, observer)?,
            What::ShardFree(shard) => self.on_free(run, shard, observer)?,
            What::Fault(place) => self.on_fault(run, place as usize, observer)?,
            // Those of a whole server.
            _ => {}
        }
        let mut starts = std::mem::take(&mut self.starts);
        starts.sort_unstable();
        starts.drain(..).try_for_each(|worker| self.begin(run, worker))?;
        self.starts = starts;
        if std::mem::take(&mut self.stepped) {
            run.ledger.glimpse();
        }
        Ok(())
    }

    /// A worker reads from all shards, and computes; its parts are scheduled to arrive.
    fn begin(&mut self, run: &mut Simulation, number: u32) -> Result<()> {
        let shards = self.shards.len();
        let standing = &mut self.standings[number as usize];
        standing.waited += standing.since.take().map_or(Span::ZERO, |since| run.now.since(since));
        let index = standing.begun;
        standing.begun += 1;
        standing.in_flight += shards as u64;
        let (legs, worker) = (run.model.workers[number as usize].legs, &run.workers[number as usize]);
        let (delays, model) = (&mut run.model.delays, &run.model.shards);
        let mut draw = |id: DelayId, purpose, index: u64| worker.draw(delays, id, purpose, index);
        // The draws of a server in one shard are those of a whole one.
        let of = |shard: usize| index * shards as u64 + shard as u64;
        let mut times = || -> Option<(Time, Time)> {
            let mut slowest = Span::ZERO;
            for (shard, own) in model.iter().enumerate() {
                let download = draw(legs.download, purpose::DOWNLOAD, of(shard))?;
                let download = download + draw(own.download, purpose::SHARD_DOWNLOAD, of(shard))?;
                slowest = slowest.max(download);
                let upload = draw(legs.upload, purpose::UPLOAD, of(shard))?;
                self.on_way[number as usize * shards + shard].upload =
                    upload + draw(own.upload, purpose::SHARD_UPLOAD, of(shard))?;
            }
            let received = run.now.checked_add(slowest)?;
            Some((received, received.checked_add(draw(legs.compute, purpose::COMPUTE, index)?)?))
        };
        let class = worker.class;
        let beyond = || errors::worker_beyond(number, class, run.now);
        let (received, computed) = times().ok_or_else(beyond)?;
        let id = self.free.pop().unwrap_or_else(|| {
            self.open.push(Open { pushed: vec![0.0; run.update.len()], ..Open::default() });
            self.open.len() as u32 - 1
        });
        let open = &mut self.open[id as usize];
        (open.worker, open.index, open.slot) = (number, index, run.snapshots.hold());
        (open.read, open.received, open.computed, open.is_computed) = (run.now, received, computed, false);
        (open.on_way, open.left, open.applied) = (shards as u32, shards as u32, 0);
        (open.least, open.most) = (i64::MAX, i64::MIN);
        for (shard, state) in self.shards.iter_mut().enumerate() {
            let place = number as usize * shards + shard;
            let part = &mut self.on_way[place];
            (part.open, part.version_read, part.incarnation) = (id, state.version, state.incarnation());
            state.in_flight += 1;
            run.ledger.start(&mut run.workers[number as usize].tally);
            let arrives =
                computed.checked_add(part.upload).ok_or_else(|| errors::worker_beyond(number, class, run.now))?;
            run.queue.schedule((run.workers.len() + place) as u32, arrives, ARRIVAL_OR_STEP);
        }
        Ok(())
    }

    /// The part of a gradient for a shard, as it is on its way.
    pub(super) fn part(&self, run: &Simulation, number: u32, shard: u32) -> Part {
        let OnWay { open: id, version_read, incarnation, upload } =
            self.on_way[number as usize * self.shards.len() + shard as usize];
        let (open, worker) = (&self.open[id as usize], &run.workers[number as usize]);
        let version = self.shards[shard as usize].version;
        let gradient = Gradient {
            worker: number,
            class: worker.class,
            index: open.index,
            shard: shard as u16,
            version_read,
            version_arrived: version,
            version_applied: version,
            lag_clocks: run.fastest_clock.saturating_sub(self.standings[number as usize].done),
            read: open.read,
            received: open.received,
            computed: open.computed,
            arrived: open.computed + upload,
            ended: run.now,
            causes: Causes {
                download: open.received.since(open.read),
                compute: open.computed.since(open.received),
                upload,
                ..Causes::default()
            },
            weight: worker.weight,
            multiplicity: 1,
            fate: Fate::Applied,
            is_copy: false,
        };
        Part { open: id, gradient, since: run.now, away_nanos: 0, incarnation }
    }

    fn on_arrival(
        &mut self,
        run: &mut Simulation,
        number: u32,
        shard: u32,
        observer: &mut impl Observer,
    ) -> Result<()> {
        let mut part = self.part(run, number, shard);
        let state = &mut self.shards[shard as usize];
        part.away_nanos = state.away_nanos(run.now);
        state.waiting.push_back(part);
        let open = &mut self.open[part.open as usize];
        open.on_way -= 1;
        if open.on_way == 0 {
            if run.model.sharding.waits {
                self.standings[number as usize].since = Some(run.now);
            } else {
                self.starts.push(number);
            }
        }
        self.serve(run, shard, observer)
    }

    /// Lets a free shard take in the next part. What is refused is refused before it costs any service.
    pub(super) fn serve(&mut self, run: &mut Simulation, shard: u32, observer: &mut impl Observer) -> Result<()> {
        while run.ended.is_none() && self.shards[shard as usize].is_free() {
            let state = &mut self.shards[shard as usize];
            let Some(mut part) = state.waiting.pop_front() else { return Ok(()) };
            state.queued(&mut part, run.now);
            let service = run.model.shards[shard as usize].service;
            if service == DelayId::NONE || self.refusal(run, &part).is_some() {
                self.receive(run, part, observer)?;
                continue;
            }
            let state = &mut self.shards[shard as usize];
            let stream = run.model.streams.stream(purpose::SERVICE, u64::from(shard));
            let span = duration(&mut run.model.delays, service, stream, state.served);
            state.served += 1;
            state.serving = Some((part, run.now));
            self.busy_for(run, shard, span)?;
        }
        Ok(())
    }

    /// A shard is busy for so long.
    pub(super) fn busy_for(&mut self, run: &mut Simulation, shard: u32, span: Option<Span>) -> Result<()> {
        let then = span.and_then(|span| run.now.checked_add(span));
        let then = then.ok_or_else(|| errors::clock_ended(&format!("shard {shard}"), "server.shards", run.now))?;
        run.queue.schedule(self.key(run, shard), then, ARRIVAL_OR_STEP);
        Ok(())
    }

    pub(super) fn key(&self, run: &Simulation, shard: u32) -> u32 {
        (run.workers.len() * (self.shards.len() + 1)) as u32 + shard
    }

    fn on_free(&mut self, run: &mut Simulation, shard: u32, observer: &mut impl Observer) -> Result<()> {
        let state = &mut self.shards[shard as usize];
        if let Some((mut part, begun)) = state.serving.take() {
            part.gradient.causes.service += run.now.since(begun);
            state.busy_nanos += run.now.since(begun).nanos();
            part.since = run.now;
            self.receive(run, part, observer)?;
        } else {
            self.written(run, shard, observer)?;
        }
        self.serve(run, shard, observer)
    }

    /// Whether, and as what, a part is refused if its turn is now.
    fn refusal(&self, run: &Simulation, part: &Part) -> Option<Fate> {
        let state = &self.shards[part.gradient.shard as usize];
        let undone = state.is_undone(part.incarnation, part.gradient.version_read);
        if undone && run.model.comeback.future == Future::Drop {
            return Some(Fate::Dropped);
        }
        let lag = state.version as i64 - part.gradient.version_read as i64;
        let lets_in = run.model.composition.admit.lets_in(lag, run.now.since(part.gradient.read).seconds());
        (!lets_in).then_some(Fate::Rejected)
    }

    /// A shard has taken in a part: it uses it, or does not.
    fn receive(&mut self, run: &mut Simulation, part: Part, observer: &mut impl Observer) -> Result<()> {
        match self.refusal(run, &part) {
            Some(fate) => self.refuse(run, part, fate, observer),
            None => self.apply(run, part, observer),
        }
    }

    fn refuse(&mut self, run: &mut Simulation, part: Part, fate: Fate, observer: &mut impl Observer) -> Result<()> {
        let shard = part.gradient.shard as usize;
        let gradient = Gradient { fate, version_applied: self.shards[shard].version, ended: run.now, ..part.gradient };
        if fate == Fate::Rejected {
            run.workers[gradient.worker as usize].tally.rejected += 1;
            self.shards[shard].rejected += 1;
            if run.model.composition.admit.otherwise == Otherwise::Fail {
                run.ended.get_or_insert(Ended::Stale);
            }
        } else {
            self.standings[gradient.worker as usize].dropped += 1;
        }
        run.in_vain += 1;
        run.ledger.end(&gradient);
        observer.not_applied(&gradient)?;
        self.end(run, &part);
        Ok(())
    }

    /// A step of one shard with a part of a gradient.
    fn apply(&mut self, run: &mut Simulation, part: Part, observer: &mut impl Observer) -> Result<()> {
        let shard = part.gradient.shard as usize;
        let version = self.shards[shard].version;
        let gradient = Gradient { version_applied: version, ended: run.now, ..part.gradient };
        let inspected = observer.wants_inspection(run.updates + 1);
        let sound = self.step(run, &part, &gradient, inspected);
        self.close_books(run, &part, &gradient);
        observer.applied(&gradient);
        if inspected {
            let [read, pushed, before] = &run.seen;
            let step = Step {
                updates: run.updates,
                read,
                pushed,
                before,
                after: run.snapshots.current(),
                objective: run.model.objective.as_ref(),
                cost: run.cost_with(&[]),
                totals: Some(self.totals(run)),
                optimiser: None,
            };
            observer.inspect(&gradient, &step)?;
        }
        run.check_end(sound);
        self.end(run, &part);
        self.save_if_due(run, shard as u32, observer)
    }

    /// Computes the gradient, if this is the first of its parts, and steps with the part; false if the parameters have diverged.
    fn step(&mut self, run: &mut Simulation, part: &Part, gradient: &Gradient, inspected: bool) -> bool {
        let shard = gradient.shard as usize;
        let open = &mut self.open[part.open as usize];
        let read = run.snapshots.get(open.slot);
        if !std::mem::replace(&mut open.is_computed, true) {
            let noise = run.workers[gradient.worker as usize].noise();
            let random = || noise.draw(open.index);
            let (objective, class) = (run.model.objective.as_ref(), gradient.class as usize);
            run.model.noise.gradient(objective, class, read, random, &mut open.pushed);
            if gradient.weight != 1.0 {
                open.pushed.iter_mut().for_each(|g| *g *= gradient.weight);
            }
        }
        let own = &mut run.model.shards[shard];
        let range = own.parameters.clone();
        run.update.fill(0.0);
        run.update[range.clone()].copy_from_slice(&open.pushed[range.clone()]);
        if inspected {
            let now = [read, &run.update, run.snapshots.current()];
            run.seen.iter_mut().zip(now).for_each(|(seen, now)| seen.copy_from_slice(now));
        }
        let context = Context {
            updates: self.shards[shard].steps,
            lag_versions: gradient.lag_versions(),
            lag: gradient.lag(),
            worker: gradient.worker,
            parameters: &run.snapshots.current()[range.clone()],
            read: &read[range.clone()],
        };
        own.optimiser.transform(&mut run.update[range], &context);
        run.snapshots.step(&run.update)
    }

    /// A part was applied, and its shard is one version on.
    fn close_books(&mut self, run: &mut Simulation, part: &Part, gradient: &Gradient) {
        let tally = &mut run.workers[gradient.worker as usize].tally;
        tally.applied += 1;
        tally.lag_versions += gradient.lag_versions();
        tally.lag_nanos += u128::from(gradient.lag().nanos());
        self.standings[gradient.worker as usize].weight += gradient.weight;
        self.lag_versions += gradient.lag_versions();
        self.lag_in_flight += gradient.lag_versions_in_flight();
        self.nanos_in_flight += u128::from(gradient.arrived.since(gradient.read).nanos());
        let open = &mut self.open[part.open as usize];
        open.applied += 1;
        (open.least, open.most) = (open.least.min(gradient.lag_versions()), open.most.max(gradient.lag_versions()));
        let causes = gradient.causes;
        // A worker is busy with all parts at the same time.
        let busy = (causes.download + causes.compute + causes.upload).nanos() / self.shards.len() as u64;
        self.useful_nanos += u128::from(busy);
        let state = &mut self.shards[gradient.shard as usize];
        state.applied(gradient, busy);
        run.ledger.end(gradient);
        run.updates += 1;
        run.in_vain = 0;
        // Of this shard's parts one has ended: `end` takes it out of those in flight.
        run.ledger.step_among(state.in_flight - 1);
        self.stepped = true;
        self.compare_versions(run);
    }

    /// Looks how far apart the shards are.
    pub(super) fn compare_versions(&mut self, run: &mut Simulation) {
        let versions = || self.shards.iter().map(|shard| shard.version);
        let (least, most) = (versions().min().unwrap_or(0), versions().max().unwrap_or(0));
        run.version = most;
        self.apart.most_skew = self.apart.most_skew.max(most - least);
    }

    /// A part has ended, and perhaps with it the gradient.
    fn end(&mut self, run: &mut Simulation, part: &Part) {
        let worker = part.gradient.worker;
        self.shards[part.gradient.shard as usize].in_flight -= 1;
        self.standings[worker as usize].in_flight -= 1;
        let shards = self.shards.len() as u32;
        let open = &mut self.open[part.open as usize];
        open.left -= 1;
        if open.left > 0 {
            return;
        }
        if open.applied == shards {
            let spread = open.most - open.least;
            self.apart.whole += 1;
            self.apart.spread += spread;
            self.apart.most_spread = self.apart.most_spread.max(spread);
        }
        run.snapshots.release(open.slot);
        self.free.push(part.open);
        let standing = &mut self.standings[worker as usize];
        standing.done += 1;
        run.fastest_clock = run.fastest_clock.max(standing.done);
        if run.model.sharding.waits {
            self.starts.push(worker);
        }
    }

    /// How far apart parts and versions were.
    pub fn apart(&self) -> Apart {
        self.apart
    }

    /// What is known of each shard.
    pub fn figures(&self, run: &Simulation) -> Vec<ShardFigures> {
        self.shards.iter().zip(&run.model.shards).map(|(shard, own)| shard.figures(own, run.now)).collect()
    }
}
