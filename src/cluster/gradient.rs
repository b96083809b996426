//! One gradient: when it lived, how stale it was, why, and what became of it.

use crate::kernel::{Span, Time};

/// What became of a gradient that was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Used by a server step.
    Applied,
    /// Refused by the server as too stale.
    Rejected,
    /// Late for the step that it was meant for.
    Dropped,
    /// Told to stop before it was finished.
    Cancelled,
    /// Its worker, link or server died.
    Lost,
    /// Applied, then undone by a restore.
    RolledBack,
    /// Not ended when the run did.
    InFlight,
}

/// Every fate and its name in files, in the order of the enum.
pub const FATES: [(Fate, &str); 7] = [
    (Fate::Applied, "applied"),
    (Fate::Rejected, "rejected"),
    (Fate::Dropped, "dropped"),
    (Fate::Cancelled, "cancelled"),
    (Fate::Lost, "lost"),
    (Fate::RolledBack, "rolled_back"),
    (Fate::InFlight, "in_flight"),
];

impl Fate {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        FATES[self as usize].1
    }
}

/// Where the seconds of a gradient's lag went. The seven parts add up to the lag exactly, in integer nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Causes {
    /// The snapshot on its way to the worker.
    pub download: Span,
    /// The worker computing.
    pub compute: Span,
    /// The gradient on its way to the server.
    pub upload: Span,
    /// Waiting until the server is free, or until the worker is, for a task that goes round.
    pub queue: Span,
    /// The server taking it in, and stepping with it.
    pub service: Span,
    /// Waiting for the other gradients of its step, while the server is free.
    pub hold: Span,
    /// Waiting for a server that is down.
    pub outage: Span,
}

/// The names of the causes, in the order of [`Causes::parts`].
pub const CAUSES: [&str; 7] = ["download", "compute", "upload", "queue", "service", "hold", "outage"];

impl Causes {
    /// The parts, in the order of [`CAUSES`].
    #[inline]
    pub fn parts(&self) -> [Span; 7] {
        [self.download, self.compute, self.upload, self.queue, self.service, self.hold, self.outage]
    }
}

/// A gradient that ended, or that was in flight when the run did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gradient {
    /// Who computed it, counted over the whole cluster from 0.
    pub worker: u32,
    /// The class of workers that it belongs to, in the order of the scenario.
    pub class: u32,
    /// The shard of the server that it, then a part of a gradient, is for; 0 of a whole server.
    pub shard: u16,
    /// How many gradients this worker had started before.
    pub index: u64,
    /// The server's version when the snapshot was sent.
    pub version_read: u64,
    /// The server's version when it arrived there; so far, for a gradient that did not.
    pub version_arrived: u64,
    /// The server's version just before the step that used it, or when it ended otherwise.
    pub version_applied: u64,
    /// The iteration clock of its worker behind the fastest worker's, where a worker's clock counts its gradients
    /// applied before this one.
    pub lag_clocks: u64,
    /// When the snapshot was sent.
    pub read: Time,
    /// When the worker has it; for a gradient in flight this, and the next two, may be still to come.
    pub received: Time,
    /// When it is computed.
    pub computed: Time,
    /// When it reaches the server.
    pub arrived: Time,
    /// When it was applied, or the run ended.
    pub ended: Time,
    /// Where the time from `read` to `ended` went.
    pub causes: Causes,
    /// The factor on it.
    pub weight: f64,
    /// How many gradients of the same base version entered the same step.
    pub multiplicity: u32,
    /// What became of it.
    pub fate: Fate,
    /// Whether it reached the server a second time: its worker was not busy with that, and does not wait for it.
    pub is_copy: bool,
}

impl Gradient {
    /// Server versions between read and apply: `version_applied − version_read`; 0 for a fresh gradient.
    #[inline]
    pub fn lag_versions(&self) -> i64 {
        self.version_applied as i64 - self.version_read as i64
    }

    /// Of these, those that passed before it arrived at the server.
    #[inline]
    pub fn lag_versions_in_flight(&self) -> i64 {
        self.version_arrived as i64 - self.version_read as i64
    }

    /// Time from read to apply.
    #[inline]
    pub fn lag(&self) -> Span {
        self.ended.since(self.read)
    }
}
