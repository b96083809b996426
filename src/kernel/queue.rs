//! The pending events: at most one a key, popped in a total order that is part of the contract.

use super::calendar::Calendar;
use super::time::Time;
use super::tournament::Tournament;
use std::hint::select_unpredictable;

/// Which of several events at the same instant comes first: the lower rank. The model gives the ranks their meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(u8);

impl Rank {
    /// The rank `value`, below 8.
    ///
    /// # Panics
    /// If `value` is 8 or more: ranks are constants of a model, so this is found when it is compiled.
    pub const fn new(value: u8) -> Rank {
        assert!(value < 8, "there are eight ranks, 0 to 7");
        Rank(value)
    }

    /// The number that it was made from.
    pub fn value(self) -> u8 {
        self.0
    }
}

/// An event whose time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// When.
    pub time: Time,
    /// The rank that it was scheduled with.
    pub rank: Rank,
    /// Whose event it is.
    pub key: u32,
}

const KEY_BITS: u32 = 21;
const SEQUENCE_BITS: u32 = 40;
const RANK_SHIFT: u32 = KEY_BITS + SEQUENCE_BITS;
const NO_KEY: u32 = u32::MAX;

/// A pending event as two words: its time, and `rank | sequence | key`. The order of events *is* the order of these
/// 128 bits, ties included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub time: u64,
    pub order: u64,
}

/// Later than everything.
pub(super) const NOTHING: Entry = Entry { time: u64::MAX, order: u64::MAX };

impl Entry {
    /// The smaller of two entries. Which one that is cannot be predicted, so it is selected without a branch; that two
    /// times are equal can, as it is either rare or the rule.
    #[inline(always)]
    pub fn earlier(self, other: Entry) -> Entry {
        if other.time == self.time {
            return first_scheduled(self, other);
        }
        let wins = other.time < self.time;
        Entry {
            time: select_unpredictable(wins, other.time, self.time),
            order: select_unpredictable(wins, other.order, self.order),
        }
    }

    #[inline]
    fn unpack(self) -> Due {
        Due { time: Time(self.time), rank: Rank((self.order >> RANK_SHIFT) as u8), key: self.key() }
    }

    /// Whose event it is.
    #[inline]
    pub fn key(self) -> u32 {
        (self.order & u64::from(Queue::MAX_KEYS - 1)) as u32
    }
}

/// So many keys are always near the processor.
const MOST_NEAR: u32 = 1 << 14;

/// A queue of at most one pending event a key, in the order (time, rank, order of scheduling).
///
/// Up to 16,384 keys play a tournament, beyond that they are entered in a calendar; the order is the same.
#[derive(Clone, Debug)]
pub struct Queue {
    store: Store,
    sequence: u64,
    /// The key that was popped last, while the store still knows it by its event. Most models schedule that key again at
    /// once, which saves taking it out.
    popped: u32,
}

#[derive(Clone, Debug)]
enum Store {
    Tournament(Tournament),
    Calendar(Box<Calendar>),
}

impl Queue {
    /// The most keys that a queue can have.
    pub const MAX_KEYS: u32 = 1 << KEY_BITS;
    /// The most events that can be scheduled in the life of a queue: about 10¹².
    pub const MAX_EVENTS: u64 = 1 << SEQUENCE_BITS;

    /// An empty queue for the keys `0..keys`.
    ///
    /// # Panics
    /// If `keys` exceeds [`Queue::MAX_KEYS`].
    pub fn new(keys: u32) -> Queue {
        assert!(keys <= Queue::MAX_KEYS, "a queue has at most {} keys", Queue::MAX_KEYS);
        let store = match keys {
            0..=MOST_NEAR => Store::Tournament(Tournament::new(keys)),
            _ => Store::Calendar(Box::new(Calendar::new(keys))),
        };
        Queue { store, sequence: 0, popped: NO_KEY }
    }

    /// Lets the event of `key` happen at `time`, in place of the one that was pending for it, if any.
    ///
    /// # Panics
    /// If the queue has no such key, or after [`Queue::MAX_EVENTS`] events.
    #[inline(always)]
    pub fn schedule(&mut self, key: u32, time: Time, rank: Rank) {
        assert!(self.sequence < Queue::MAX_EVENTS, "the event queue is exhausted after 2^40 events");
        let order = (u64::from(rank.0) << RANK_SHIFT) | (self.sequence << KEY_BITS) | u64::from(key);
        let entry = Entry { time: time.nanos(), order };
        self.sequence += 1;
        let was_popped = self.popped == key;
        if was_popped {
            self.popped = NO_KEY;
        }
        match &mut self.store {
            Store::Tournament(tournament) => tournament.replay(key, entry),
            Store::Calendar(calendar) if was_popped => calendar.reschedule(key, entry),
            Store::Calendar(calendar) => calendar.schedule(key, entry),
        }
    }

    /// Takes back the event of `key`; without effect if none is pending.
    pub fn cancel(&mut self, key: u32) {
        if self.popped == key {
            return self.settle();
        }
        match &mut self.store {
            Store::Tournament(tournament) => tournament.replay(key, NOTHING),
            Store::Calendar(calendar) => calendar.cancel(key),
        }
    }

    /// The next event, which is then no longer pending.
    #[inline]
    pub fn pop(&mut self) -> Option<Due> {
        self.pop_by(Time::MAX)
    }

    /// The same, unless that is later than `last`.
    #[inline]
    pub fn pop_by(&mut self, last: Time) -> Option<Due> {
        let due = self.peek().filter(|due| due.time <= last)?;
        self.popped = due.key;
        if let Store::Calendar(calendar) = &mut self.store {
            calendar.remove_first();
        }
        Some(due)
    }

    /// The next event, left where it is.
    #[inline(always)]
    pub fn peek(&mut self) -> Option<Due> {
        if self.popped != NO_KEY {
            self.settle();
        }
        let first = match &mut self.store {
            Store::Tournament(tournament) => tournament.first(),
            Store::Calendar(calendar) => calendar.first(),
        };
        if first.time == NOTHING.time { None } else { Some(first.unpack()) }
    }

    /// Notes that an event of `key` has just been scheduled; true now and then, when [`Queue::foresee`] has something to show.
    #[inline(always)]
    pub fn note(&mut self, key: u32) -> bool {
        match &mut self.store {
            Store::Tournament(tournament) => tournament.note(key),
            Store::Calendar(calendar) => calendar.has_fresh(),
        }
    }

    /// Shows to `each` keys whose events are about to come, and roughly how many events come before: every key about
    /// once for every event, and several at a time, so that who has much to look up for an event can begin with all of
    /// them together.
    #[inline(always)]
    pub fn foresee(&mut self, mut each: impl FnMut(u32, u64)) {
        match &mut self.store {
            Store::Tournament(tournament) => {
                tournament.noted().iter().zip(Tournament::AHEAD..).for_each(|(&key, before)| each(key, before));
            }
            Store::Calendar(calendar) => calendar.fresh().for_each(|(entry, before)| each(entry.key(), before)),
        }
    }

    /// How many events were scheduled so far.
    pub fn scheduled(&self) -> u64 {
        self.sequence
    }

    /// Whether an event of `key` is pending.
    ///
    /// # Panics
    /// If the queue has no such key.
    pub fn is_pending(&self, key: u32) -> bool {
        let is_known = match &self.store {
            Store::Tournament(tournament) => tournament.has(key),
            Store::Calendar(calendar) => calendar.has(key),
        };
        is_known && key != self.popped
    }

    /// Takes out what was popped, and not scheduled again.
    #[cold]
    #[inline(never)]
    fn settle(&mut self) {
        let key = std::mem::replace(&mut self.popped, NO_KEY);
        match &mut self.store {
            Store::Tournament(tournament) => tournament.replay(key, NOTHING),
            Store::Calendar(calendar) => calendar.forget(key),
        }
    }
}

/// Of two entries at the same instant. Apart, so that the comparison of times stays the only one on the common path.
#[cold]
fn first_scheduled(a: Entry, b: Entry) -> Entry {
    if a.order < b.order { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Purpose, Streams};
    use proptest::prelude::*;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos).unwrap()
    }

    #[test]
    fn equal_times_go_by_rank_and_then_first_in_first_out() {
        let mut queue = Queue::new(5);
        queue.schedule(4, at(7), Rank::new(1));
        queue.schedule(2, at(7), Rank::new(1));
        queue.schedule(3, at(7), Rank::new(0));
        queue.schedule(0, at(6), Rank::new(5));
        queue.schedule(1, at(7), Rank::new(1));
        let order: Vec<u32> = std::iter::from_fn(|| queue.pop().map(|due| due.key)).collect();
        assert_eq!(order, [0, 3, 4, 2, 1]);
    }

    #[test]
    fn a_key_has_one_event_and_a_cancelled_one_never_happens() {
        let mut queue = Queue::new(2);
        queue.schedule(0, at(5), Rank::new(0));
        queue.schedule(0, at(9), Rank::new(0));
        queue.schedule(1, at(8), Rank::new(0));
        queue.cancel(1);
        assert_eq!((queue.is_pending(0), queue.is_pending(1)), (true, false));
        assert_eq!(queue.pop().map(|due| due.time), Some(at(9)));
        assert!(!queue.is_pending(0));
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn the_last_instant_of_the_clock_is_an_event_like_any_other() {
        let mut queue = Queue::new(1);
        queue.schedule(0, Time::MAX, Rank::new(7));
        assert_eq!(queue.pop(), Some(Due { time: Time::MAX, rank: Rank::new(7), key: 0 }));
    }

    /// A queue of nine keys, in either store.
    fn queues() -> [Queue; 2] {
        let calendar = Queue { store: Store::Calendar(Box::new(Calendar::new(9))), ..Queue::new(9) };
        [Queue::new(9), calendar]
    }

    #[derive(Clone, Debug)]
    enum Operation {
        Schedule(u32, u64, u8),
        Cancel(u32),
        Pop,
    }

    /// Delays from none at all to the length of the clock: days of a calendar that are too long, too short, and of other years.
    fn delay() -> impl Strategy<Value = u64> {
        prop_oneof![0..6u64, 0..1u64 << 24, (0..60u32).prop_map(|bits| 1u64 << bits)]
    }

    fn operation() -> impl Strategy<Value = Operation> {
        prop_oneof![
            2 => (0..9u32, delay(), 0..3u8).prop_map(|(key, delay, rank)| Operation::Schedule(key, delay, rank)),
            1 => (0..9u32).prop_map(Operation::Cancel),
            2 => Just(Operation::Pop),
        ]
    }

    proptest! {
        /// Against a plain list, searched for its least (time, rank, sequence), after any operations.
        #[test]
        fn behaves_as_a_list_searched_for_its_least(operations in prop::collection::vec(operation(), 0..300)) {
            for mut queue in queues() {
                let mut list: Vec<(u64, u8, usize, u32)> = Vec::new();
                let mut now = 0;
                for (sequence, operation) in operations.iter().enumerate() {
                    match *operation {
                        Operation::Schedule(key, delay, rank) => {
                            let time = (now + delay).min(Time::MAX.nanos());
                            queue.schedule(key, at(time), Rank::new(rank));
                            list.retain(|event| event.3 != key);
                            list.push((time, rank, sequence, key));
                        }
                        Operation::Cancel(key) => {
                            queue.cancel(key);
                            list.retain(|event| event.3 != key);
                        }
                        Operation::Pop => {
                            let least = list.iter().min().copied();
                            list.retain(|event| Some(*event) != least);
                            let expected = least.map(|(time, rank, _, key)| Due { time: at(time), rank: Rank::new(rank), key });
                            prop_assert_eq!(queue.pop(), expected);
                            now = least.map_or(now, |event| event.0);
                        }
                    }
                    for key in 0..9 {
                        prop_assert_eq!(queue.is_pending(key), list.iter().any(|event| event.3 == key));
                    }
                }
            }
        }
    }

    /// Many keys, each scheduled again when it was popped: both stores give the same events, whatever the law of the delays, and when it changes.
    #[test]
    fn a_calendar_gives_what_a_tournament_gives() {
        const KEYS: u32 = 3000;
        let laws: [fn(u64) -> u64; 5] = [
            |word| word >> 34,
            |_| 1_000_000,
            |word| if word % 100 == 0 { word >> 10 } else { word >> 60 },
            |word| 1 << (word % 50),
            |word| (word >> 63) * 5,
        ];
        let [mut one, mut other] =
            [Store::Tournament(Tournament::new(KEYS)), Store::Calendar(Box::new(Calendar::new(KEYS)))]
                .map(|store| Queue { store, ..Queue::new(1) });
        (0..KEYS).for_each(|key| {
            [&mut one, &mut other].into_iter().for_each(|queue| queue.schedule(key, at(0), Rank::new(0)))
        });
        let mut random = Streams::new(3, 0).stream(Purpose(1), 0).draw(0);
        for law in laws.into_iter().cycle().take(10) {
            for _ in 0..20_000 {
                let due = one.pop().unwrap();
                assert_eq!(other.pop(), Some(due));
                let time = at((due.time.nanos() + law(random.word())).min(Time::MAX.nanos()));
                let rank = Rank::new((time.nanos() % 3) as u8);
                [&mut one, &mut other].into_iter().for_each(|queue| queue.schedule(due.key, time, rank));
            }
        }
    }

    /// Of the events of a busy queue nearly all are foreseen, by either store, and shortly before.
    #[test]
    fn most_events_are_foreseen() {
        const KEYS: u32 = 4096;
        for store in [Store::Tournament(Tournament::new(KEYS)), Store::Calendar(Box::new(Calendar::new(KEYS)))] {
            let mut queue = Queue { store, ..Queue::new(1) };
            let mut random = Streams::new(4, 0).stream(Purpose(1), 0).draw(0);
            (0..KEYS).for_each(|key| queue.schedule(key, at(random.word() >> 34), Rank::new(0)));
            let mut shown = vec![None; KEYS as usize];
            let mut foreseen = 0;
            for step in 0..40_000 {
                let due = queue.pop().unwrap();
                let before = shown[due.key as usize].take().map(|at: u32| step - at);
                foreseen += u32::from(step >= 20_000 && before.is_some_and(|before| before < 512));
                queue.schedule(due.key, at(due.time.nanos() + (random.word() >> 34)), Rank::new(0));
                if queue.note(due.key) {
                    queue.foresee(|key, _| shown[key as usize] = Some(step));
                }
            }
            assert!(foreseen > 17_000, "{foreseen} of 20,000");
        }
    }
}
