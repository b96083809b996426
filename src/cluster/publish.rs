//! What workers read where that is not always the server's current version.

use super::engine::{START, Simulation};
use super::flow::{Flow, Key, key, later};
use super::model::{DelayId, Publish, purpose};
use crate::error::Result;

/// The version that workers read, and the next one on its way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Published {
    /// Its slot and version; `None` while it is the server's own.
    pub current: Option<(u32, u64)>,
    /// The same of the next one.
    coming: Option<(u32, u64)>,
    /// Whether there is a newer one to follow that.
    again: bool,
    /// The number of the next delay.
    times: u64,
}

impl Flow {
    /// After a step: lets workers see it, now or later.
    pub fn publish(&mut self, run: &mut Simulation) -> Result<()> {
        let publish = run.model.server.publish;
        if publish == Publish::ALWAYS || !run.updates.is_multiple_of(publish.every) {
            return Ok(());
        }
        self.published.again = self.published.coming.is_some();
        if self.published.again { Ok(()) } else { self.send_out(run) }
    }

    /// Before the first step, where workers do not always see the current version.
    pub fn publish_first(&mut self, run: &mut Simulation) {
        if run.model.server.publish != Publish::ALWAYS && self.published.current.is_none() {
            self.published.current = Some((run.snapshots.hold(), run.version));
        }
    }

    fn send_out(&mut self, run: &mut Simulation) -> Result<()> {
        self.published.coming = Some((run.snapshots.hold(), run.version));
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
        if let Some((slot, _)) = std::mem::replace(&mut self.published.current, self.published.coming.take()) {
            run.snapshots.release(slot);
        }
        if std::mem::take(&mut self.published.again) { self.send_out(run) } else { Ok(()) }
    }
}
