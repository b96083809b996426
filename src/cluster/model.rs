//! Everything that a run is made of, built and checked, before its first event.

use super::link::SharedLink;
use super::members::Members;
use crate::delay::Sampler;
use crate::failure::{Future, Meanwhile, Recovery};
use crate::kernel::{Purpose, Span, Streams, Time};
use crate::objective::{NoiseSource, Objective};
use crate::optimiser::Optimiser;
use crate::protocol::{Composition, Pace};
use std::ops::Range;
use std::sync::Arc;

/// What the random streams of a cluster are for.
pub mod purpose {
    use super::Purpose;

    /// Compute times, by worker.
    pub const COMPUTE: Purpose = Purpose(1);
    /// Download times, by worker.
    pub const DOWNLOAD: Purpose = Purpose(2);
    /// Upload times, by worker.
    pub const UPLOAD: Purpose = Purpose(3);
    /// Service times, by server.
    pub const SERVICE: Purpose = Purpose(4);
    /// Gradient noise, by worker.
    pub const NOISE: Purpose = Purpose(5);
    // 6 and 7 are those of the protocol.
    /// Times of requests for a snapshot, by worker.
    pub const REQUEST: Purpose = Purpose(8);
    /// Times of whole optimiser steps, by server.
    pub const STEP: Purpose = Purpose(9);
    /// Times until new parameters can be read, by server.
    pub const PUBLISH: Purpose = Purpose(10);
    /// Times of being up until a failure, by failure and worker.
    pub const FAILURE: Purpose = Purpose(11);
    /// Times of repairs, by failure and worker.
    pub const REPAIR: Purpose = Purpose(12);
    /// Times until a failure is known, by failure and worker.
    pub const DETECTION: Purpose = Purpose(13);
    /// Which gradients reach the server twice, by worker.
    pub const DUPLICATE: Purpose = Purpose(18);
    /// What a shard adds to download times, by worker.
    pub const SHARD_DOWNLOAD: Purpose = Purpose(19);
    /// What it adds to upload times, by worker.
    pub const SHARD_UPLOAD: Purpose = Purpose(20);
    /// Times of saving and restoring, by server, one purpose a kind.
    pub const RECOVERY: [Purpose; 4] = [Purpose(14), Purpose(15), Purpose(16), Purpose(17)];
}

/// The place of a delay in [`Model::delays`]; workers of a class share one unless their law tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayId(u32);

impl DelayId {
    /// No time at all.
    pub const NONE: DelayId = DelayId(u32::MAX);

    /// The delay at `place`.
    pub fn new(place: usize) -> DelayId {
        DelayId(place as u32)
    }

    /// Its place, if it is one.
    #[inline]
    pub fn place(self) -> Option<usize> {
        (self != DelayId::NONE).then_some(self.0 as usize)
    }
}

/// The delays that one gradient of a worker takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Legs {
    /// Server to worker.
    pub download: DelayId,
    /// At the worker.
    pub compute: DelayId,
    /// Worker to server.
    pub upload: DelayId,
}

/// One worker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    /// Its class.
    pub class: u32,
    /// When it first reads.
    pub joins_at: Time,
    /// The factor on its gradients.
    pub weight: f64,
    /// Its delays.
    pub legs: Legs,
    /// The time of its request for a snapshot, without which it gets the next with the answer to its push.
    pub request: DelayId,
    /// How long after it began on a gradient it gives up.
    pub gives_up: Option<Span>,
    /// How many gradients it computes from one read to the next push.
    pub local_steps: u32,
    /// What it costs a second, from joining on.
    pub price_per_s: f64,
    /// Whether that is to be paid while it is down, too.
    pub paid_while_down: bool,
}

/// A thing that fails from time to time.
#[derive(Clone, Debug)]
pub struct Process {
    /// What.
    pub target: Target,
    /// When.
    pub occurs: Occurs,
    /// Whose random numbers it has.
    pub entity: u64,
    /// How long it is down; for ever if there is none.
    pub repair: Option<DelayId>,
    /// Whether it can fail while it is down.
    pub while_down: bool,
    /// How long before each failure workers begin nothing new.
    pub notice: Span,
    /// How long after a failure the server knows; never if there is none.
    pub detection: Option<DelayId>,
}

/// What fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The server.
    Server,
    /// Shards of the server, all at the same time.
    Shards(Vec<u32>),
    /// Workers, all at the same time.
    Workers(Vec<u32>),
    /// The links of workers, all at the same time.
    Links(Vec<u32>),
}

/// When it fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Occurs {
    /// At these instants, in their order.
    At(Vec<Time>),
    /// After being up for so long since this instant, and since every repair.
    Every(DelayId, Time),
    /// From the first until the second of each, in their order, without overlap.
    Spells(Vec<(Time, Time)>),
}

/// When workers see new parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Publish {
    /// After every so many steps.
    pub every: u64,
    /// And so much later.
    pub delay: DelayId,
}

impl Publish {
    /// Every version, at once.
    pub const ALWAYS: Publish = Publish { every: 1, delay: DelayId::NONE };
}

/// What the server does.
#[derive(Clone, Copy, Debug)]
pub struct Serving {
    /// The time to take in one gradient, one at a time.
    pub service: DelayId,
    /// The time of a whole optimiser step, during which no gradient is taken in, unless into a buffer beside the server.
    pub step: DelayId,
    /// When workers see its steps.
    pub publish: Publish,
    /// The link that all messages share, if they do.
    pub link: Option<SharedLink>,
    /// How probable it is that a gradient reaches it twice.
    pub duplicates: f64,
    /// What it costs a second.
    pub price_per_s: f64,
}

/// A shard of the server.
#[derive(Clone, Debug)]
pub struct ShardSpec {
    /// Its parameters.
    pub parameters: Range<usize>,
    /// How it steps.
    pub optimiser: Optimiser,
    /// The time to take in one part of a gradient, one at a time.
    pub service: DelayId,
    /// What it adds to the time of its part of a snapshot, and of its part of a gradient.
    pub download: DelayId,
    /// The latter.
    pub upload: DelayId,
}

/// How the shards of a server work together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sharding {
    /// Whether workers go on only when all shards have dealt with their parts; else when these have arrived.
    pub waits: bool,
    /// Whether all go back when one of them does.
    pub all_roll_back: bool,
}

/// What comes after a failure of the server.
#[derive(Clone, Debug, Default)]
pub struct Comeback {
    /// What it has.
    pub recovery: Recovery<DelayId>,
    /// What workers do until then.
    pub meanwhile: Meanwhile,
    /// What becomes of gradients of versions that were undone.
    pub future: Future,
}

/// When a run ends: as soon as one of these is reached.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// Optimiser steps.
    pub updates: u64,
    /// The last instant; events at that very instant still happen.
    pub time: Time,
    /// f(w) at or below this.
    pub loss: Option<f64>,
}

/// A cluster with its work, ready to run.
#[derive(Debug)]
pub struct Model {
    /// Where its randomness comes from.
    pub streams: Streams,
    /// Who waits for whom.
    pub composition: Composition,
    /// What is minimised.
    pub objective: Arc<dyn Objective>,
    /// What makes its gradients stochastic.
    pub noise: NoiseSource,
    /// How the server steps.
    pub optimiser: Optimiser,
    /// The first parameters.
    pub start: Vec<f64>,
    /// Their version.
    pub start_version: u64,
    /// All delays.
    pub delays: Vec<Sampler>,
    /// What the server does.
    pub server: Serving,
    /// Its shards; none if it is whole.
    pub shards: Vec<ShardSpec>,
    /// And how they work together.
    pub sharding: Sharding,
    /// The workers, class by class.
    pub workers: Members,
    /// What fails.
    pub failures: Vec<Arc<Process>>,
    /// And what comes after, for the server.
    pub comeback: Comeback,
    /// The end.
    pub stop: Stop,
}

impl Model {
    /// Curvature, minimum and learning rate, if a step is no more than that of a parabola by plain SGD with exact gradients: the engine then has no
    /// need of calls that are found out as the program runs, which would be most of such a step.
    pub fn parabola(&self) -> Option<[f64; 3]> {
        let (curvature, minimum) = self.objective.parabola()?;
        let is_exact = matches!(self.noise, NoiseSource::Silent);
        is_exact.then(|| self.optimiser.plain_rate()).flatten().map(|rate| [curvature, minimum, rate])
    }

    /// Whether gradients never wait at the server, and nothing ever interrupts a worker: each is then a single event.
    pub fn is_plain(&self) -> bool {
        let member = |member: &Member| member.request == DelayId::NONE && member.gives_up.is_none();
        self.composition.is_plain()
            && self.server.service == DelayId::NONE
            && self.server.step == DelayId::NONE
            && self.server.publish == Publish::ALWAYS
            && self.workers.kinds().iter().all(member)
            && self.failures.is_empty()
            && self.shards.is_empty()
            && self.server.link.is_none()
            && self.server.duplicates == 0.0
            && !self.comeback.recovery.saves()
            && !self.comeback.recovery.is_stateless()
    }

    /// Whether every worker always has one gradient under way, once it has joined: none waits for others, or asks for more.
    pub fn has_constant_load(&self) -> bool {
        let composition = &self.composition;
        composition.pace == Pace::AtOnce
            && !composition.steps_with_several()
            && self.workers.kinds().iter().all(|member| member.request == DelayId::NONE)
            && self.failures.is_empty()
            && self.shards.is_empty()
            && self.server.duplicates == 0.0
            && !self.comeback.recovery.saves()
    }

    /// Whether anything has a price.
    pub fn has_prices(&self) -> bool {
        self.server.price_per_s > 0.0 || self.workers.kinds().iter().any(|member| member.price_per_s > 0.0)
    }
}
