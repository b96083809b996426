//! Virtual time in integer nanoseconds: sums are exact, order is total, and there is no NaN.

use std::ops::{Add, AddAssign, Sub};

const NANOS_PER_SECOND: f64 = 1e9;

/// An instant on the virtual clock, in nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub(super) u64);

/// A length of virtual time, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// The last instant that the clock can show: 2⁶² ns, about 146 years.
    pub const MAX: Time = Time(1 << 62);

    /// The instant `nanos` nanoseconds after the start; `None` beyond [`Time::MAX`].
    pub fn from_nanos(nanos: u64) -> Option<Time> {
        (nanos <= Time::MAX.0).then_some(Time(nanos))
    }

    /// The instant `seconds` after the start, to the nearest nanosecond; `None` for NaN, negative or beyond [`Span::MAX`].
    pub fn from_seconds(seconds: f64) -> Option<Time> {
        Span::from_seconds(seconds).map(|span| Time(span.0))
    }

    /// Nanoseconds since the start.
    #[inline]
    pub fn nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start.
    #[inline]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / NANOS_PER_SECOND
    }

    /// The instant `span` later, or `None` where the clock ends.
    #[inline]
    pub fn checked_add(self, span: Span) -> Option<Time> {
        // A time is at most 2⁶², and a span the sum of at most three of 2⁶¹, so this sum cannot wrap.
        let sum = self.0 + span.0;
        (sum <= Time::MAX.0).then_some(Time(sum))
    }

    /// The span since `earlier`, which must not be later than `self`.
    #[inline]
    pub fn since(self, earlier: Time) -> Span {
        Span(self.0 - earlier.0)
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);
    /// The longest span that can be made of seconds: 2⁶¹ ns, about 73 years. Three of them, and a time, add up in 64 bits.
    pub const MAX: Span = Span(1 << 61);

    /// `seconds` to the nearest nanosecond; `None` for NaN, a negative number or more than [`Span::MAX`].
    #[inline]
    pub fn from_seconds(seconds: f64) -> Option<Span> {
        // Adding 2⁵² to a number below it leaves the nearest integer in the low bits of the sum, in one instruction.
        const INTEGERS: f64 = (1u64 << 52) as f64;
        let nanos = seconds * NANOS_PER_SECOND;
        // As bits, numbers from 0 on are in order; negative ones, and what is no number, come after all of them.
        if nanos.to_bits() < INTEGERS.to_bits() {
            Some(Span((nanos + INTEGERS).to_bits() - INTEGERS.to_bits()))
        } else {
            Span::from_many_nanos(nanos)
        }
    }

    /// Spans beyond 52 days, where every number is an integer already; −0; and what is no span.
    #[cold]
    fn from_many_nanos(nanos: f64) -> Option<Span> {
        (0.0..=Span::MAX.0 as f64).contains(&nanos).then_some(Span(nanos as u64))
    }

    /// So many nanoseconds, which must be the sum or difference of spans.
    #[inline]
    pub fn from_nanos(nanos: u64) -> Span {
        Span(nanos)
    }

    /// Its nanoseconds.
    #[inline]
    pub fn nanos(self) -> u64 {
        self.0
    }

    /// Its seconds.
    #[inline]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / NANOS_PER_SECOND
    }
}

impl Add<Span> for Time {
    type Output = Time;
    /// For instants of the past, which are known to be within the clock.
    #[inline]
    fn add(self, span: Span) -> Time {
        Time(self.0 + span.0)
    }
}

impl Add for Span {
    type Output = Span;
    #[inline]
    fn add(self, other: Span) -> Span {
        Span(self.0 + other.0)
    }
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Span) {
        self.0 += other.0;
    }
}

impl Sub for Span {
    type Output = Span;
    #[inline]
    fn sub(self, other: Span) -> Span {
        Span(self.0 - other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_round_to_the_nearest_nanosecond() {
        assert_eq!(Span::from_seconds(0.1), Some(Span(100_000_000)));
        assert_eq!(Span::from_seconds(1.4e-9), Some(Span(1)));
        assert_eq!(Span::from_seconds(1.6e-9), Some(Span(2)));
        assert_eq!(Span::from_seconds(0.0), Some(Span::ZERO));
        assert_eq!(Span::from_seconds(-0.0), Some(Span::ZERO));
        // Just below and just above 2⁵² ns, where the way of rounding changes.
        assert_eq!(Span::from_seconds(4_503_599.5), Some(Span(4_503_599_500_000_000)));
        assert_eq!(Span::from_seconds(4_503_599.75), Some(Span(4_503_599_750_000_000)));
        assert_eq!(Span::from_seconds(10.25).map(Span::seconds), Some(10.25));
    }

    #[test]
    fn what_the_clock_cannot_show_is_refused() {
        for bad in [f64::NAN, -1e-9, -1.0, f64::INFINITY, f64::NEG_INFINITY, 1e10, 1e300] {
            assert_eq!(Span::from_seconds(bad), None, "{bad}");
            assert_eq!(Time::from_seconds(bad), None, "{bad}");
        }
        assert_eq!(Time::MAX.checked_add(Span(1)), None);
        assert_eq!(Time::from_nanos((1 << 62) + 1), None);
    }

    #[test]
    fn the_largest_sum_does_not_wrap() {
        let span = Span::MAX + Span::MAX;
        assert_eq!(Time::MAX.checked_add(span + Span::MAX), None);
        assert_eq!(Time::ZERO.checked_add(span), Some(Time::MAX));
    }
}
