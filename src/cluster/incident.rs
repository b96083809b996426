//! Things that happen to workers, links and the server, for those who watch.

use crate::kernel::Time;

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Incident {
    /// When.
    pub at: Time,
    /// What.
    pub what: Happening,
    /// To which worker, if to one.
    pub worker: Option<u32>,
    /// To which shard of the server, if it is in shards.
    pub shard: Option<u32>,
    /// The server's version then, or what it is after.
    pub version: u64,
    /// The loss then, or after, where it is the server that fails, or is back.
    pub loss: Option<f64>,
    /// Gradients that wait at the server, or for it.
    pub waiting: u64,
}

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The server fails.
    ServerDown,
    /// The server is there again, with what it has.
    ServerBack,
    /// What the server has was saved, and can be restored.
    Saved,
    /// A worker fails.
    WorkerDown,
    /// The server no longer waits for a worker that failed.
    WorkerMissed,
    /// A worker is there again.
    WorkerBack,
    /// Workers learn that they are going to fail.
    Noticed,
    /// Links are cut.
    LinksCut,
    /// Links are there again.
    LinksBack,
}

impl Happening {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Happening::ServerDown => "server_down",
            Happening::ServerBack => "server_back",
            Happening::Saved => "saved",
            Happening::WorkerDown => "worker_down",
            Happening::WorkerMissed => "worker_missed",
            Happening::WorkerBack => "worker_back",
            Happening::Noticed => "noticed",
            Happening::LinksCut => "links_cut",
            Happening::LinksBack => "links_back",
        }
    }
}
