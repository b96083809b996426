//! What workers read where that is not always the server's current version.

use super::engine::{START, Simulation};
use super::flow::{Flow, Key, key, later};
use super::model::{DelayId, Publish, purpose};
use crate::error::Result;

/// A version that can be read.
#[derive(Clone, Copy, Debug)]
pub struct Edition {
    /// Where its parameters are.
    pub slot: u32,
    /// Its number.
    pub version: u64,
    /// Batches used up when it was the newest.
    pub batches: u64,
}

/// The version that workers read, and those on their way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Published {
    /// What workers read; `None` while it is the server's newest.
    current: Option<Edition>,
    /// What they will read next.
    coming: Option<Edition>,
    /// The newest of those that are to follow.
    next: Option<Edition>,
    /// The number of the next delay.
    times: u64,
}

impl Flow {
    /// What a worker reads now; it holds the snapshot from then on.
    pub fn read(&self, run: &mut Simulation) -> Edition {
        match self.published.current {
            Some(edition) => Edition { slot: run.snapshots.share(edition.slot), ..edition },
            None => self.newest(run),
        }
    }

    fn newest(&self, run: &mut Simulation) -> Edition {
        Edition { slot: run.snapshots.hold(), version: run.version, batches: self.server.batches }
    }

    /// Before the first step, where workers do not always see the newest version.
    pub fn publish_first(&mut self, run: &mut Simulation) {
        if run.model.server.publish != Publish::ALWAYS && self.published.current.is_none() {
            self.published.current = Some(self.newest(run));
        }
    }

    /// What workers can read, and what is on its way to them, is gone: they read what the server has now.
    pub fn unpublish(&mut self, run: &mut Simulation) {
        let Published { current, coming, next, .. } = self.published;
        for edition in [current, coming, next].into_iter().flatten() {
            run.snapshots.release(edition.slot);
        }
        self.published = Published { times: self.published.times, ..Published::default() };
    }

    /// After a step: lets workers see it, now or later, if it is one of those that they see.
    pub fn publish(&mut self, run: &mut Simulation) -> Result<()> {
        let publish = run.model.server.publish;
        if publish == Publish::ALWAYS || !run.updates.is_multiple_of(publish.every) {
            return Ok(());
        }
        let newest = self.newest(run);
        if let Some(overtaken) = self.published.next.replace(newest) {
            run.snapshots.release(overtaken.slot);
        }
        if self.published.coming.is_none() { self.send_out(run) } else { Ok(()) }
    }

    fn send_out(&mut self, run: &mut Simulation) -> Result<()> {
        self.published.coming = self.published.next.take();
        let id = run.model.server.publish.delay;
        if id == DelayId::NONE {
            return self.on_published(run);
        }
        let stream = run.model.streams.stream(purpose::PUBLISH, 0);
        let then = later(run, id, stream, self.published.times)?;
        self.published.times += 1;
        run.queue.schedule(key(run, Key::Publish), then, START);
        Ok(())
    }

    /// Workers now read a newer version.
    pub fn on_published(&mut self, run: &mut Simulation) -> Result<()> {
        if let Some(old) = std::mem::replace(&mut self.published.current, self.published.coming.take()) {
            run.snapshots.release(old.slot);
        }
        if self.published.next.is_some() { self.send_out(run) } else { Ok(()) }
    }
}
