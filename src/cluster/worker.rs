//! A worker and the gradient that it has in flight.

use super::model::{Member, Model, purpose};
use crate::delay::Delay;
use crate::error::{Error, Result};
use crate::kernel::{Span, Stream, Time};

/// The hot state of one worker, in two cache lines. Its next three delays cannot be interrupted, so they are drawn when
/// it reads and fused into one event, the arrival of its gradient.
#[derive(Debug)]
#[repr(align(128))]
pub struct Worker {
    pub member: Member,
    compute: Stream,
    download: Stream,
    upload: Stream,
    pub noise: Stream,
    /// Gradients that it has started.
    pub started: u64,
    pub version_read: u64,
    pub read: Time,
    pub download_time: Span,
    pub compute_time: Span,
    pub upload_time: Span,
    /// The snapshot that it holds.
    pub slot: u32,
}

impl Worker {
    pub fn new(model: &Model, number: u32) -> Worker {
        let stream = |purpose| model.streams.stream(purpose, u64::from(number));
        Worker {
            member: model.workers[number as usize],
            compute: stream(purpose::COMPUTE),
            download: stream(purpose::DOWNLOAD),
            upload: stream(purpose::UPLOAD),
            noise: stream(purpose::NOISE),
            started: 0,
            version_read: 0,
            read: Time::ZERO,
            download_time: Span::ZERO,
            compute_time: Span::ZERO,
            upload_time: Span::ZERO,
            slot: 0,
        }
    }

    /// Draws the delays of its next gradient, whose number is `started`.
    #[inline]
    pub fn draw_delays(&mut self, delays: &mut [Box<dyn Delay>]) -> Result<()> {
        let (index, legs) = (self.started, self.member.legs);
        let mut draw = |id: super::DelayId, stream: Stream| duration(delays, id, stream, index);
        if let Some(id) = legs.compute {
            self.compute_time = draw(id, self.compute)?;
        }
        if let Some(id) = legs.download {
            self.download_time = draw(id, self.download)?;
        }
        if let Some(id) = legs.upload {
            self.upload_time = draw(id, self.upload)?;
        }
        Ok(())
    }

    /// When its gradient reaches the server; `None` beyond the clock.
    #[inline]
    pub fn arrival(&self) -> Option<Time> {
        let received = self.read.checked_add(self.download_time)?;
        received.checked_add(self.compute_time)?.checked_add(self.upload_time)
    }
}

/// Draw number `index` of a delay, on the clock.
#[inline]
pub fn duration(delays: &mut [Box<dyn Delay>], id: super::DelayId, stream: Stream, index: u64) -> Result<Span> {
    let seconds = delays[id.0 as usize].sample(index, &mut stream.draw(index));
    Span::from_seconds(seconds).ok_or_else(|| too_long(delays[id.0 as usize].as_ref(), seconds))
}

#[cold]
fn too_long(delay: &dyn Delay, seconds: f64) -> Error {
    let (low, high) = delay.support();
    Error::Clock(format!(
        "a delay of {seconds:e} s was drawn, which the virtual clock cannot show (at most {:e} s); \
         its law has mean {:e} s and draws from {low:e} to {high:e} s: give it a lighter tail",
        Span::MAX.seconds(),
        delay.mean(),
    ))
}
