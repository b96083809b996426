//! Processes that make things fail from time to time: when each strikes next, and when what it struck is there again.

use super::engine::Simulation;
use super::errors;
use super::fault::FAULT;
use super::model::{DelayId, Occurs, purpose};
use super::worker::duration;
use crate::error::Result;
use crate::kernel::{Purpose, Span, Time};
use std::sync::Arc;

/// How a process goes on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Running {
    /// When it fails next, if it does.
    fails: Option<Time>,
    /// When what has failed is there again, if it will be.
    back: Option<Time>,
    /// When the server will know.
    pub known: Option<Time>,
    /// When workers will be told that it is going to fail.
    pub noticed: Option<Time>,
    is_down: bool,
    /// Failures so far, and times of being up that were drawn.
    failures: u64,
    ups: u64,
    /// The next of the instants, or spells, that are given.
    given: usize,
    /// Whether it keeps workers from beginning anything new.
    pub has_noticed: bool,
}

/// A failure that has just happened.
pub struct Struck {
    /// Whether what fails was down already.
    pub again: bool,
    /// How many failures of the process there were before.
    pub number: u64,
    /// When it is repaired, if it will be.
    pub repair: Option<Time>,
}

/// All processes of a run.
#[derive(Debug)]
pub struct Processes {
    pub running: Vec<Running>,
}

/// The draw of a process's own, if it has such a delay.
pub fn draw(
    run: &mut Simulation,
    place: usize,
    id: Option<DelayId>,
    purpose: Purpose,
    index: u64,
) -> Result<Option<Time>> {
    let Some(id) = id else { return Ok(None) };
    let stream = run.model.streams.stream(purpose, run.model.failures[place].entity);
    let span = duration(&mut run.model.delays, id, stream, index);
    let then = span.and_then(|span| run.now.checked_add(span));
    then.map(Some).ok_or_else(|| errors::clock_ended("a failure", &format!("failures.{place}"), run.now))
}

impl Processes {
    pub fn new(count: usize) -> Processes {
        Processes { running: vec![Running::default(); count] }
    }

    /// Lets all processes begin.
    pub fn begin(&mut self, run: &mut Simulation) -> Result<()> {
        for place in 0..self.running.len() {
            self.next_failure(run, place)?;
            self.await_fault(run, place);
        }
        Ok(())
    }

    /// Finds out when a process that is up, or can fail while it is down, fails next.
    pub fn next_failure(&mut self, run: &mut Simulation, place: usize) -> Result<()> {
        let running = self.running[place];
        // What was to fail while it was down has failed.
        let from = |passed: usize| running.given.max(passed);
        let fails = match &run.model.failures[place].occurs {
            Occurs::At(times) => {
                let given = from(times.partition_point(|&at| at < run.now));
                self.running[place].given = given;
                times.get(given).copied()
            }
            Occurs::Spells(spells) => {
                let given = from(spells.partition_point(|spell| spell.1 <= run.now && spell.0 < run.now));
                self.running[place].given = given;
                spells.get(given).map(|spell| spell.0)
            }
            Occurs::Every(id, from) => {
                let (id, from) = (*id, *from);
                self.running[place].ups += 1;
                let then = draw(run, place, Some(id), purpose::FAILURE, running.ups)?;
                // From the beginning on, or from now: what is drawn counts from now.
                then.and_then(|then| then.checked_add(from.since(run.now.min(from))))
            }
        };
        // A spell that has begun meanwhile goes on.
        let fails = fails.map(|fails| fails.max(run.now));
        let notice = run.model.failures[place].notice;
        let running = &mut self.running[place];
        running.fails = fails;
        running.noticed = fails.filter(|_| notice > Span::ZERO).map(|fails| {
            let lead = notice.min(fails.since(run.now));
            Time::from_nanos(fails.nanos() - lead.nanos()).unwrap_or(run.now)
        });
        Ok(())
    }

    /// Schedules whatever comes next of a process.
    pub fn await_fault(&self, run: &mut Simulation, place: usize) {
        let Running { fails, back, known, noticed, .. } = self.running[place];
        if let Some(next) = [noticed, fails, known, back].into_iter().flatten().min() {
            run.queue.schedule(run.fault_key(place), next, FAULT);
        }
    }

    /// Whether what a process has brought down is there again now.
    pub fn is_back(&mut self, run: &Simulation, place: usize) -> bool {
        let running = &mut self.running[place];
        let is_back = running.back == Some(run.now);
        if is_back {
            (running.back, running.known, running.is_down) = (None, None, false);
        }
        is_back
    }

    /// Whether a process fails now.
    pub fn fails_now(&self, run: &Simulation, place: usize) -> bool {
        self.running[place].fails == Some(run.now)
    }

    /// A process fails.
    pub fn strike(&mut self, run: &mut Simulation, place: usize) -> Result<Struck> {
        let process = Arc::clone(&run.model.failures[place]);
        let running = &mut self.running[place];
        let again = std::mem::replace(&mut running.is_down, true);
        let number = running.failures;
        running.failures += 1;
        running.fails = None;
        let given = running.given;
        running.given += usize::from(!matches!(process.occurs, Occurs::Every(..)));
        let repair = match &process.occurs {
            Occurs::Spells(spells) => spells.get(given).map(|spell| spell.1.max(run.now)),
            _ => draw(run, place, process.repair, purpose::REPAIR, number)?,
        };
        Ok(Struck { again, number, repair })
    }

    /// What a process has brought down will be there again at that time.
    pub fn set_back(&mut self, place: usize, back: Option<Time>) {
        self.running[place].back = back;
    }
}
