//! Workers and links that fail, and are there again: what becomes of what they had, and who waits for them.

use super::Observer;
use super::engine::Simulation;
use super::flow::Flow;
use super::gradient::Fate;
use super::incident::{Happening, Incident};
use super::model::{Model, Process, Target, purpose};
use super::process::{Processes, Struck, draw};
use super::worker::Phase;
use crate::error::Result;
use crate::kernel::{Rank, Span, Time};
use std::sync::Arc;

/// Faults come before everything else of the same instant.
pub const FAULT: Rank = Rank::new(0);

/// What a worker has besides, where something can fail.
#[derive(Clone, Copy, Debug, Default)]
pub struct Health {
    /// How many failures keep it down, and its link.
    down_by: u32,
    cut_by: u32,
    /// How many failures it was told of that keep it from beginning anything new.
    noticed: u32,
    /// Since when it is down, and for how long it was before.
    down_since: Time,
    down: Span,
    /// How often it may start as soon as it can.
    owed: u32,
    /// The server knows that it is gone.
    left: bool,
    /// Its gradient is ready, but does not get through; and for how long the last one did not.
    pub stranded: bool,
    pub outage: Span,
    /// The server's incarnation when it read.
    pub incarnation: u32,
    pub lost: u64,
    pub rolled_back: u64,
}

impl Health {
    fn is_able(&self) -> bool {
        self.down_by == 0 && self.cut_by == 0 && self.noticed == 0
    }

    /// It begins on something, as the server has that many incarnations behind it.
    pub fn begin(&mut self, incarnation: u32) {
        (self.stranded, self.outage, self.incarnation) = (false, Span::ZERO, incarnation);
    }

    /// It joins, and is down from now on if it failed before.
    pub fn join(&mut self, now: Time) {
        self.down_since = self.down_since.min(now);
    }

    /// How long it was down until `now`.
    pub fn down(&self, now: Time) -> Span {
        self.down + if self.down_by > 0 { now.since(self.down_since.min(now)) } else { Span::ZERO }
    }

    pub fn is_up(&self) -> bool {
        self.down_by == 0
    }
}

/// What fails, and how it stands with it.
#[derive(Debug)]
pub struct Faults {
    pub processes: Processes,
    /// By worker; empty if nothing ever fails.
    pub health: Vec<Health>,
    /// Failures of workers so far.
    pub of_workers: u64,
}

impl Faults {
    pub fn new(model: &Model) -> Faults {
        let some = !model.failures.is_empty();
        Faults {
            processes: Processes::new(model.failures.len()),
            health: if some { vec![Health::default(); model.workers.len()] } else { Vec::new() },
            of_workers: 0,
        }
    }
}

impl Flow {
    /// Something happens to a process.
    pub fn on_fault(&mut self, run: &mut Simulation, place: usize, observer: &mut impl Observer) -> Result<()> {
        let now = Some(run.now);
        run.in_vain += 1;
        let process = Arc::clone(&run.model.failures[place]);
        if self.faults.processes.is_back(run, place) {
            let had_noticed = std::mem::take(&mut self.faults.processes.running[place].has_noticed);
            if !process.while_down {
                self.faults.processes.next_failure(run, place)?;
            }
            if had_noticed {
                self.notice(&process, false);
            }
            if self.faults.processes.running[place].noticed == now {
                // It will fail so soon that nothing can be begun before.
                self.is_noticed(run, place, &process, observer)?;
            }
            self.comes_back(run, &process, observer)?;
        } else if self.faults.processes.running[place].known == now {
            self.faults.processes.running[place].known = None;
            self.is_known(run, &process, observer)?;
        } else if self.faults.processes.running[place].noticed == now {
            self.is_noticed(run, place, &process, observer)?;
        } else if self.faults.processes.fails_now(run, place) {
            self.fails(run, place, &process, observer)?;
        }
        self.faults.processes.await_fault(run, place);
        Ok(())
    }

    fn fails(
        &mut self,
        run: &mut Simulation,
        place: usize,
        process: &Process,
        observer: &mut impl Observer,
    ) -> Result<()> {
        let Struck { again, number, repair } = self.faults.processes.strike(run, place)?;
        let back = match process.target {
            Target::Server => self.server_will_be_back(run, repair)?,
            _ => repair,
        };
        if !again {
            // If it is back before, that is never known.
            self.faults.processes.running[place].known =
                draw(run, place, process.detection, purpose::DETECTION, number)?;
        }
        self.faults.processes.set_back(place, back);
        if process.while_down {
            self.faults.processes.next_failure(run, place)?;
        }
        match &process.target {
            Target::Server => self.server_fails(run, again, back.is_none(), observer),
            _ if again => Ok(()),
            Target::Workers(numbers) => {
                numbers.iter().try_for_each(|&number| self.kill(run, number, observer))?;
                self.start_all(run)
            }
            // Those of a server in shards are dealt with there.
            Target::Shards(_) => Ok(()),
            Target::Links(numbers) => {
                numbers.iter().for_each(|&number| self.faults.health[number as usize].cut_by += 1);
                self.report(run, Happening::LinksCut, None, observer)
            }
        }
    }

    fn comes_back(&mut self, run: &mut Simulation, process: &Process, observer: &mut impl Observer) -> Result<()> {
        match &process.target {
            Target::Server => return self.server_is_back(run, observer),
            Target::Workers(numbers) => {
                numbers.iter().try_for_each(|&number| self.revive(run, number, observer))?;
            }
            Target::Shards(_) => {}
            Target::Links(numbers) => {
                self.report(run, Happening::LinksBack, None, observer)?;
                for &number in numbers {
                    self.faults.health[number as usize].cut_by -= 1;
                    self.get_through(run, number, observer)?;
                    self.resume(number);
                }
            }
        }
        self.start_all(run)?;
        match &process.target {
            Target::Workers(numbers) => numbers.iter().try_for_each(|&number| self.next_task(run, number)),
            _ => Ok(()),
        }
    }

    /// Workers learn that they are going to fail.
    fn is_noticed(
        &mut self,
        run: &mut Simulation,
        place: usize,
        process: &Process,
        observer: &mut impl Observer,
    ) -> Result<()> {
        let running = &mut self.faults.processes.running[place];
        running.noticed = None;
        if std::mem::replace(&mut running.has_noticed, true) {
            return Ok(());
        }
        self.notice(process, true);
        let Target::Workers(numbers) = &process.target else { return Ok(()) };
        numbers.iter().try_for_each(|&number| self.report(run, Happening::Noticed, Some(number), observer))
    }

    /// A process keeps its workers from beginning anything new, or no longer does.
    fn notice(&mut self, process: &Process, keeps: bool) {
        let Target::Workers(numbers) = &process.target else { return };
        for &number in numbers {
            let noticed = &mut self.faults.health[number as usize].noticed;
            *noticed = if keeps { *noticed + 1 } else { *noticed - 1 };
        }
    }

    /// The server learns that workers are gone, and no longer waits for them.
    fn is_known(&mut self, run: &mut Simulation, process: &Process, observer: &mut impl Observer) -> Result<()> {
        let Target::Workers(numbers) = &process.target else { return Ok(()) };
        for &number in numbers {
            let health = &mut self.faults.health[number as usize];
            if health.left || health.down_by == 0 {
                continue;
            }
            health.left = true;
            // Where tasks go round they stay with their worker.
            let owed = if self.tasks.is_empty() { std::mem::take(&mut health.owed) > 0 } else { false };
            self.server.set_gone(number, true);
            self.pacer.leave(number, owed, &mut self.starts);
            self.report(run, Happening::WorkerMissed, Some(number), observer)?;
        }
        self.step_if_ready(run, observer)?;
        self.start_all(run)
    }

    /// A worker dies, and with it the gradient that it has not pushed.
    fn kill(&mut self, run: &mut Simulation, number: u32, observer: &mut impl Observer) -> Result<()> {
        let health = &mut self.faults.health[number as usize];
        health.down_by += 1;
        if health.down_by > 1 {
            return Ok(());
        }
        // Before it joins it is not rented, and so not down.
        health.down_since = if self.standings[number as usize].phase == Phase::Away { Time::MAX } else { run.now };
        self.faults.of_workers += 1;
        self.report(run, Happening::WorkerDown, Some(number), observer)?;
        match self.standings[number as usize].phase {
            Phase::Away => {}
            Phase::Busy => {
                self.stop(run, number, Fate::Lost, observer)?;
                self.owe(number);
            }
            Phase::Free => {
                let standing = &mut self.standings[number as usize];
                standing.waited += run.now.since(standing.since);
                let asked = self.knocking.iter().position(|&asking| asking == number);
                if let Some(place) = asked {
                    self.knocking.remove(place);
                }
                // Its request for a snapshot is lost, if one is under way.
                if run.queue.is_pending(number) || asked.is_some() {
                    run.queue.cancel(number);
                    self.owe(number);
                }
            }
        }
        Ok(())
    }

    fn revive(&mut self, run: &mut Simulation, number: u32, observer: &mut impl Observer) -> Result<()> {
        let health = &mut self.faults.health[number as usize];
        health.down_by -= 1;
        if health.down_by > 0 {
            return Ok(());
        }
        health.down += run.now.since(health.down_since.min(run.now));
        let standing = &mut self.standings[number as usize];
        standing.since = run.now;
        if std::mem::take(&mut health.left) {
            self.server.set_gone(number, false);
            self.pacer.rejoin(number, &mut self.starts);
        }
        self.report(run, Happening::WorkerBack, Some(number), observer)?;
        self.resume(number);
        Ok(())
    }

    /// A worker may start once more, as soon as it can.
    pub(super) fn owe(&mut self, number: u32) {
        self.faults.health[number as usize].owed += 1;
    }

    /// Whether a worker can begin something new.
    pub(super) fn is_able(&self, number: u32) -> bool {
        self.faults.health.get(number as usize).is_none_or(Health::is_able)
    }

    /// A worker that can lets start what it owes.
    fn resume(&mut self, number: u32) {
        let health = &mut self.faults.health[number as usize];
        if health.is_able() {
            let owed = std::mem::take(&mut health.owed);
            self.starts.extend((0..owed).map(|_| number));
        }
    }

    /// Whether a gradient that should reach the server now does not get through, and has to wait for its link.
    pub(super) fn is_stranded(&mut self, number: u32) -> bool {
        let Some(health) = self.faults.health.get_mut(number as usize) else { return false };
        health.stranded = health.cut_by > 0;
        health.stranded
    }

    /// What could not get through does.
    fn get_through(&mut self, run: &mut Simulation, number: u32, observer: &mut impl Observer) -> Result<()> {
        let health = &mut self.faults.health[number as usize];
        if health.cut_by > 0 || !std::mem::take(&mut health.stranded) {
            return Ok(());
        }
        health.outage = Span::ZERO;
        run.queue.cancel(number);
        let late = run.now.since(self.under_way(run, number).arrived.min(run.now));
        self.faults.health[number as usize].outage = late;
        self.on_arrival(run, number, observer)
    }

    /// Tells the observer of something that happened.
    pub(super) fn report(
        &self,
        run: &Simulation,
        what: Happening,
        worker: Option<u32>,
        observer: &mut impl Observer,
    ) -> Result<()> {
        let waiting = (self.server.waiting.len() + self.server.buffer.len()) as u64;
        observer.incident(&Incident {
            at: run.now,
            what,
            worker,
            shard: None,
            version: run.version,
            loss: None,
            waiting,
        })
    }
}
