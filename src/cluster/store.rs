//! What a server saves, and when, so that there is something to come back to.

use super::engine::{ARRIVAL_OR_STEP, Simulation};
use super::flow::{Flow, Key, key, later};
use super::incident::Happening;
use super::model::{DelayId, Model, Target, purpose};
use super::worker::Phase;
use super::{Ended, Observer};
use crate::error::Result;
use crate::failure::{Every, Recovery};
use crate::kernel::{Span, Time};
use crate::optimiser::Optimiser;
use std::collections::VecDeque;

/// What a server has, as it is saved.
#[derive(Clone, Debug)]
pub struct Saved {
    pub version: u64,
    pub batches: u64,
    pub parameters: Vec<f64>,
    pub optimiser: Optimiser,
}

/// A gradient that was applied, and may be undone.
#[derive(Clone, Copy, Debug)]
pub struct Applied {
    pub version: u64,
    pub worker: u32,
    /// How long its worker was busy with it.
    pub busy_nanos: u64,
}

/// What there is to come back to.
#[derive(Debug)]
pub struct Store {
    /// As the run began.
    pub first: Saved,
    /// What can be restored.
    pub last: Saved,
    /// What is being written, or not yet there.
    pub pending: Option<Saved>,
    /// Whether it is being written; and whether the server waits for that.
    pub writing: bool,
    pub blocks: bool,
    /// Whether the run ends when it is saved.
    pub finishing: bool,
    /// How many failures keep the server down.
    pub down_by: u32,
    /// Gradients applied since what can be restored, in their order; none where nothing is undone, or everything.
    pub log: Option<VecDeque<Applied>>,
    /// From which length on it is worth trimming.
    pub long: usize,
    /// Whether it is time to save, but the server is not free.
    pub timed: bool,
    /// The versions that were restored, by incarnation.
    pub restored: Vec<u64>,
    /// Servers that stand by, and those that will.
    pub replicas: u32,
    pub joining: Vec<Time>,
    /// Draws of each kind of time so far.
    pub drawn: [u64; 4],
    /// What becomes of the next steps, while what came during an outage is applied.
    pub backlog: bool,
    /// Totals of the run.
    pub failures: u64,
    pub versions_lost: u64,
    pub saves: u64,
    /// How often it had saved when it last went back.
    pub saves_restored: Option<u64>,
    /// How long workers were busy with what was applied, and stands; and with what was undone.
    pub useful_nanos: u128,
    pub undone_nanos: u128,
}

/// The kinds of times that are drawn.
#[derive(Clone, Copy)]
pub enum Draw {
    Write,
    Commit,
    Restore,
    Replacement,
}

impl Store {
    pub fn new(model: &Model) -> Store {
        let first = Saved {
            version: model.start_version,
            batches: 0,
            parameters: model.start.clone(),
            optimiser: model.optimiser.clone(),
        };
        let recovery = &model.comeback.recovery;
        let replicas = if let Recovery::Chain { replicas, .. } = recovery { *replicas } else { 0 };
        let fails = model.failures.iter().any(|process| process.target == Target::Server);
        Store {
            last: first.clone(),
            first,
            pending: None,
            writing: false,
            blocks: false,
            finishing: false,
            down_by: 0,
            log: (fails && (recovery.saves() || matches!(recovery, Recovery::WorkerCopy { .. }))).then(VecDeque::new),
            long: 1024,
            timed: false,
            restored: Vec::new(),
            replicas,
            joining: Vec::new(),
            drawn: [0; 4],
            backlog: false,
            failures: 0,
            versions_lost: 0,
            saves: 0,
            saves_restored: None,
            useful_nanos: 0,
            undone_nanos: 0,
        }
    }

    pub fn is_down(&self) -> bool {
        self.down_by > 0
    }

    /// How often the server has come back with something else than it had.
    pub fn incarnation(&self) -> u32 {
        self.restored.len() as u32
    }

    /// Whether a version that was read in an earlier incarnation was undone since.
    pub fn is_undone(&self, incarnation: u32, version: u64) -> bool {
        self.restored[(incarnation as usize).min(self.restored.len())..].iter().any(|&restored| version > restored)
    }

    /// Puts down a gradient that was applied.
    pub fn applied(&mut self, version: u64, worker: u32, busy: Span) {
        self.useful_nanos += u128::from(busy.nanos());
        if let Some(log) = &mut self.log {
            log.push_back(Applied { version, worker, busy_nanos: busy.nanos() });
        }
    }
}

impl Flow {
    pub(super) fn draw_time(&mut self, run: &mut Simulation, kind: Draw, id: DelayId) -> Result<Time> {
        let stream = run.model.streams.stream(purpose::RECOVERY[kind as usize], 0);
        let index = self.store.drawn[kind as usize];
        self.store.drawn[kind as usize] += 1;
        later(run, id, stream, index)
    }

    /// After a step: saves what the server has, if it is time.
    pub(super) fn save_if_due(&mut self, run: &mut Simulation, observer: &mut impl Observer) -> Result<()> {
        let due = |every: u64| run.version.is_multiple_of(every);
        let (is_due, at_end) = match &run.model.comeback.recovery {
            Recovery::Checkpoint { every: Every::Versions(every), at_end, .. } => (due(every.get()), *at_end),
            Recovery::Checkpoint { at_end, .. } => (self.store.timed, *at_end),
            Recovery::Chain { every, .. } => (due(every.get()), false),
            Recovery::WorkerCopy { .. } => {
                self.trim(run);
                return Ok(());
            }
            _ => return Ok(()),
        };
        let ends = at_end && run.ended == Some(Ended::Updates);
        if ends {
            run.ended = None;
            self.store.finishing = true;
            self.store.pending = None;
        }
        if is_due || ends { self.save(run, observer) } else { Ok(()) }
    }

    /// It is time to save, by the clock.
    pub fn on_timer(&mut self, run: &mut Simulation, observer: &mut impl Observer) -> Result<()> {
        if self.store.is_down() {
            return Ok(());
        }
        if self.server.stepping.is_some() || self.server.serving.is_some() {
            // As soon as it is free.
            self.store.timed = true;
            return Ok(());
        }
        self.save(run, observer)?;
        self.start_all(run)
    }

    /// The server is free: it saves, if it is time.
    pub(super) fn save_if_timed(&mut self, run: &mut Simulation, observer: &mut impl Observer) -> Result<()> {
        let is_free = self.server.stepping.is_none() && self.server.serving.is_none();
        if self.store.timed && is_free && run.ended.is_none() { self.save(run, observer) } else { Ok(()) }
    }

    /// Lets the time until it saves begin, if that goes by the clock.
    pub fn set_timer(&mut self, run: &mut Simulation) {
        if let Recovery::Checkpoint { every: Every::Seconds(seconds), .. } = &run.model.comeback.recovery {
            let then = Span::from_seconds(seconds.get()).and_then(|span| run.now.checked_add(span));
            run.queue.schedule(key(run, Key::Timer), then.unwrap_or(Time::MAX), ARRIVAL_OR_STEP);
        }
    }

    /// Begins to save what the server has, unless it is still at it.
    pub(super) fn save(&mut self, run: &mut Simulation, observer: &mut impl Observer) -> Result<()> {
        run.in_vain += 1;
        self.store.timed = false;
        let (write, blocking) = match &run.model.comeback.recovery {
            Recovery::Checkpoint { write, blocking, .. } => (*write, *blocking),
            _ => (DelayId::NONE, false),
        };
        if self.store.pending.is_some() {
            self.set_timer(run);
            return Ok(());
        }
        self.store.pending = Some(Saved {
            version: run.version,
            batches: self.server.batches,
            parameters: run.snapshots.current().to_vec(),
            optimiser: run.model.optimiser.clone(),
        });
        self.store.writing = true;
        self.store.blocks = (blocking && write != DelayId::NONE) || self.store.finishing;
        let then = self.draw_time(run, Draw::Write, write)?;
        if then > run.now {
            run.queue.schedule(key(run, Key::Save), then, ARRIVAL_OR_STEP);
            return Ok(());
        }
        self.written(run, observer)
    }

    /// What is saved is written, or there.
    pub fn on_saved(&mut self, run: &mut Simulation, observer: &mut impl Observer) -> Result<()> {
        if !self.store.writing {
            return self.committed(run, observer);
        }
        // At the end nothing else happens until it is there.
        let blocked = self.store.blocks && !self.store.finishing;
        self.store.blocks &= self.store.finishing;
        self.written(run, observer)?;
        if blocked && run.ended.is_none() { self.reopen(run, observer) } else { Ok(()) }
    }

    fn written(&mut self, run: &mut Simulation, observer: &mut impl Observer) -> Result<()> {
        self.store.writing = false;
        self.set_timer(run);
        let commit = match &run.model.comeback.recovery {
            Recovery::Checkpoint { commit, .. } => *commit,
            Recovery::Chain { delay, .. } => *delay,
            _ => DelayId::NONE,
        };
        let then = self.draw_time(run, Draw::Commit, commit)?;
        if then > run.now {
            run.queue.schedule(key(run, Key::Save), then, ARRIVAL_OR_STEP);
            return Ok(());
        }
        self.committed(run, observer)
    }

    fn committed(&mut self, run: &mut Simulation, observer: &mut impl Observer) -> Result<()> {
        let Some(saved) = self.store.pending.take() else { return Ok(()) };
        if let Some(log) = &mut self.store.log {
            log.drain(..log.partition_point(|applied| applied.version < saved.version));
        }
        self.store.last = saved;
        self.store.saves += 1;
        if self.store.finishing {
            run.ended.get_or_insert(Ended::Updates);
        }
        self.report_server(run, Happening::Saved, observer)
    }

    /// Forgets what will never be undone, where a worker's copy is what there is to come back to: now and then, so that it costs
    /// little.
    fn trim(&mut self, run: &Simulation) {
        let Some(log) = self.store.log.as_mut().filter(|log| log.len() >= self.store.long) else { return };
        let busy = (0..self.standings.len()).filter(|&number| self.standings[number].phase == Phase::Busy);
        let oldest = busy.map(|number| run.workers[number].version_read).min().unwrap_or(run.version);
        log.drain(..log.partition_point(|applied| applied.version < oldest));
        self.store.long = 2 * log.len() + 1024;
    }
}
