//! A worker and the gradient that it has in flight.

use super::gradient::{Causes, Fate, Gradient};
use super::ledger::Tally;
use super::link::Way;
use super::model::{DelayId, Legs, Model, purpose};
use crate::delay::Sampler;
use crate::kernel::{EntityStreams, Purpose, Span, Stream, Time};

/// The state of one worker, in two cache lines. Its next three delays cannot be interrupted, so they are drawn when it
/// reads and fused into one event, the arrival of its gradient.
#[derive(Debug)]
#[repr(align(64))]
pub struct Worker {
    streams: EntityStreams,
    legs: Legs,
    pub class: u32,
    pub weight: f64,
    pub version_read: u64,
    pub read: Time,
    pub download: Span,
    pub compute: Span,
    pub upload: Span,
    /// The snapshot that it holds.
    pub slot: u32,
    /// Its books.
    pub tally: Tally,
}

impl Worker {
    pub fn new(model: &Model, number: u32) -> Worker {
        let member = model.workers[number as usize];
        Worker {
            streams: model.streams.entity(u64::from(number)),
            legs: member.legs,
            class: member.class,
            weight: member.weight,
            version_read: 0,
            read: Time::ZERO,
            download: Span::ZERO,
            compute: Span::ZERO,
            upload: Span::ZERO,
            slot: 0,
            tally: Tally::default(),
        }
    }

    /// Reads now, and draws the delays of its next gradient, whose number is that of the gradients started before; says when that
    /// will reach the server, or `None` if the clock cannot show it.
    #[inline(always)]
    pub fn start(&mut self, delays: &mut [Sampler], now: Time) -> Option<Time> {
        self.read = now;
        let (index, legs, streams) = (self.tally.started, self.legs, self.streams);
        self.download = duration(delays, legs.download, streams.stream(purpose::DOWNLOAD), index)?;
        self.compute = duration(delays, legs.compute, streams.stream(purpose::COMPUTE), index)?;
        self.upload = duration(delays, legs.upload, streams.stream(purpose::UPLOAD), index)?;
        self.arrival()
    }

    /// The same for its computation number `index`, which takes `local_steps` gradients and begins at `now`: possibly later than
    /// it was read.
    pub fn draw_work(&mut self, delays: &mut [Sampler], index: u64, local_steps: u64, now: Time) -> Option<Time> {
        let (legs, streams) = (self.legs, self.streams);
        self.download = duration(delays, legs.download, streams.stream(purpose::DOWNLOAD), index)?;
        self.upload = duration(delays, legs.upload, streams.stream(purpose::UPLOAD), index)?;
        self.compute = Span::ZERO;
        for step in 0..local_steps {
            let next = duration(delays, legs.compute, streams.stream(purpose::COMPUTE), index * local_steps + step)?;
            self.compute = Some(self.compute + next).filter(|&sum| sum <= Span::MAX)?;
        }
        now.checked_add(self.download + self.compute + self.upload)
    }

    /// Draw number `index` of one of its delays, if the clock can show it.
    pub fn draw(&self, delays: &mut [Sampler], id: DelayId, purpose: Purpose, index: u64) -> Option<Span> {
        duration(delays, id, self.streams.stream(purpose), index)
    }

    /// The gradient that it has under way, if it ended now without having waited for anything; it is worker number `number`.
    #[inline(always)]
    pub fn gradient(&self, number: u32, version: u64, fastest_clock: u64, now: Time) -> Gradient {
        let received = self.read + self.download;
        Gradient {
            worker: number,
            class: self.class,
            shard: 0,
            index: self.tally.started - 1,
            version_read: self.version_read,
            version_arrived: version,
            version_applied: version,
            lag_clocks: fastest_clock - self.tally.applied,
            read: self.read,
            received,
            computed: received + self.compute,
            arrived: received + self.compute + self.upload,
            ended: now,
            causes: Causes { download: self.download, compute: self.compute, upload: self.upload, ..Causes::default() },
            weight: self.weight,
            multiplicity: 1,
            fate: Fate::Applied,
            is_copy: false,
        }
    }

    /// The stream of its gradient noise.
    #[inline]
    pub fn noise(&self) -> Stream {
        self.streams.stream(purpose::NOISE)
    }

    /// When its gradient reaches the server; `None` beyond the clock.
    #[inline]
    pub fn arrival(&self) -> Option<Time> {
        self.read.checked_add(self.download + self.compute + self.upload)
    }
}

/// One byte more, and a worker takes three cache lines.
const _: () = assert!(size_of::<Worker>() == 128);

/// Draw number `index` of a delay, if the clock can show it.
#[inline(always)]
pub fn duration(delays: &mut [Sampler], id: DelayId, stream: Stream, index: u64) -> Option<Span> {
    let Some(place) = id.place() else { return Some(Span::ZERO) };
    Span::from_seconds(delays[place].sample(index, stream.draw(index)))
}

/// What a worker is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// It has not joined.
    #[default]
    Away,
    /// It has no work, and waits for some, or its request for it is under way.
    Free,
    /// It has a gradient under way.
    Busy,
}

/// What a worker has besides its hot state, where the protocol asks for more than push and read again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing {
    pub phase: Phase,
    /// Since when it has been free.
    pub since: Time,
    /// How long it was free, from joining on.
    pub waited: Span,
    /// Computations begun.
    pub begun: u64,
    /// The number of the next data of its own: as many computations began with fresh ones.
    pub fresh: u64,
    /// The data of the computation under way: a worker, and a number.
    pub data: (u32, u64),
    /// Batches that the server had used up when what it read was the newest.
    pub batches_read: u64,
    /// How long its task had waited for it.
    pub wait: Span,
    /// Where its messages are on the server's link.
    pub way: Way,
    /// Gradients that it has not ended.
    pub in_flight: u64,
    pub dropped: u64,
    pub cancelled: u64,
    /// Sum of the factors on those applied.
    pub weight: f64,
}
