//! A worker and the gradient that it has in flight.

use super::ledger::Tally;
use super::model::{DelayId, Legs, Model, purpose};
use crate::delay::Sampler;
use crate::kernel::{EntityStreams, Span, Stream, Time};

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

    /// Draws the delays of its next gradient, whose number is that of the gradients started before, and says when it
    /// will reach the server; `None` if the clock cannot show that.
    #[inline(always)]
    pub fn draw_delays(&mut self, delays: &mut [Sampler]) -> Option<Time> {
        let (index, legs, streams) = (self.tally.started, self.legs, self.streams);
        self.download = duration(delays, legs.download, streams.stream(purpose::DOWNLOAD), index)?;
        self.compute = duration(delays, legs.compute, streams.stream(purpose::COMPUTE), index)?;
        self.upload = duration(delays, legs.upload, streams.stream(purpose::UPLOAD), index)?;
        self.arrival()
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
