//! How a run that passed every check can still fail, each with the field of the scenario to look at.

use crate::error::Error;
use crate::kernel::{Queue, Span, Time};

/// `who` drew a delay, or one that ends at an instant, beyond the clock.
#[cold]
pub fn clock_ended(who: &str, field: &str, now: Time) -> Error {
    let year = 365.25 * 86_400.0;
    let message = format!(
        "after {:e} s of virtual time {who} drew a delay that the virtual clock cannot show: one delay takes at most \
         {:.0} years, and the clock ends after {:.0}; give its laws a lighter tail",
        now.seconds(),
        Span::MAX.seconds() / year,
        Time::MAX.seconds() / year,
    );
    Error::Clock { message, field: field.to_owned() }
}

/// The same of a worker of a class.
#[cold]
#[inline(never)]
pub fn worker_beyond(number: u32, class: u32, now: Time) -> Error {
    clock_ended(&format!("worker {number}"), &format!("workers.{class}"), now)
}

/// Something takes no time at all, again and again.
#[cold]
pub fn stands_still(now: Time, events: u64) -> Error {
    let message = format!(
        "the virtual clock stands still at {:e} s: {events} events have happened there; some worker's delays are all \
         shorter than a nanosecond, give them a mean of at least 1e-9 s",
        now.seconds()
    );
    Error::Clock { message, field: "workers".to_owned() }
}

/// The queue would be exhausted.
#[cold]
pub fn too_many_events() -> Error {
    let message = format!("more than {} events in one run; stop it earlier", Queue::MAX_EVENTS);
    Error::Clock { message, field: "stop".to_owned() }
}

/// A worker was told to start while it had a gradient under way.
#[cold]
pub fn begins_twice(number: u32, now: Time) -> Error {
    Error::Broken(format!(
        "at {} s worker {number} began on a gradient while it had another one under way",
        now.seconds()
    ))
}
