//! The pending events: at most one a key, popped in a total order that is part of the contract.

use super::time::Time;
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
struct Entry {
    time: u64,
    order: u64,
}

/// Later than everything.
const NOTHING: Entry = Entry { time: u64::MAX, order: u64::MAX };

impl Entry {
    /// The smaller of two entries. Which one that is cannot be predicted, so it is selected without a branch; that two
    /// times are equal can, as it is either rare or the rule.
    #[inline(always)]
    fn earlier(self, other: Entry) -> Entry {
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
        Due {
            time: Time(self.time),
            rank: Rank((self.order >> RANK_SHIFT) as u8),
            key: (self.order & u64::from(Queue::MAX_KEYS - 1)) as u32,
        }
    }
}

/// A queue of at most one pending event a key, in the order (time, rank, order of scheduling).
///
/// The pending events stand in the leaves of a tournament: every inner node holds the earlier of its two children, the
/// root the next event. Scheduling replays one path of a fixed length without unpredictable branches; nothing is ever
/// allocated after [`Queue::new`].
#[derive(Clone, Debug)]
pub struct Queue {
    /// Node 1 is the root, nodes 2n and 2n + 1 play for node n, node `leaves + key` is the leaf of `key`; node 0 is not used.
    tree: Vec<Entry>,
    leaves: usize,
    sequence: u64,
    /// The key that was popped last, while its leaf still holds the popped event. Most models schedule that key again
    /// at once, which overwrites the leaf and saves one replay.
    popped: u32,
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
        let leaves = (keys.max(1) as usize).next_power_of_two();
        Queue { tree: vec![NOTHING; 2 * leaves], leaves, sequence: 0, popped: NO_KEY }
    }

    /// Lets the event of `key` happen at `time`, in place of the one that was pending for it, if any.
    ///
    /// # Panics
    /// If the queue has no such key, or after [`Queue::MAX_EVENTS`] events.
    #[inline(always)]
    pub fn schedule(&mut self, key: u32, time: Time, rank: Rank) {
        assert!(self.sequence < Queue::MAX_EVENTS, "the event queue is exhausted after 2^40 events");
        let order = (u64::from(rank.0) << RANK_SHIFT) | (self.sequence << KEY_BITS) | u64::from(key);
        self.sequence += 1;
        if self.popped == key {
            self.popped = NO_KEY;
        }
        self.replay(key, Entry { time: time.nanos(), order });
    }

    /// Takes back the event of `key`; without effect if none is pending.
    pub fn cancel(&mut self, key: u32) {
        if self.popped == key {
            self.popped = NO_KEY;
        }
        self.replay(key, NOTHING);
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
        Some(due)
    }

    /// The next event, left where it is.
    #[inline]
    pub fn peek(&mut self) -> Option<Due> {
        if self.popped != NO_KEY {
            let key = std::mem::replace(&mut self.popped, NO_KEY);
            self.replay(key, NOTHING);
        }
        let first = self.tree[1];
        if first.time == NOTHING.time { None } else { Some(first.unpack()) }
    }

    /// How many events were scheduled so far.
    pub fn scheduled(&self) -> u64 {
        self.sequence
    }

    /// When the event of `key` will happen, if one is pending.
    pub fn pending(&self, key: u32) -> Option<Time> {
        let entry = self.tree[self.leaves + key as usize];
        (entry != NOTHING && key != self.popped).then(|| entry.unpack().time)
    }

    #[inline(never)]
    fn replay(&mut self, key: u32, entry: Entry) {
        let tree = self.tree.as_mut_slice();
        let mut node = self.leaves + key as usize;
        let mut winner = entry;
        while node > 1 {
            let rival = tree[node ^ 1];
            tree[node] = winner;
            winner = winner.earlier(rival);
            node /= 2;
        }
        tree[1] = winner;
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
        assert_eq!((queue.pending(0), queue.pending(1)), (Some(at(9)), None));
        assert_eq!(queue.pop().map(|due| due.time), Some(at(9)));
        assert_eq!(queue.pending(0), None);
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn the_last_instant_of_the_clock_is_an_event_like_any_other() {
        let mut queue = Queue::new(1);
        queue.schedule(0, Time::MAX, Rank::new(7));
        assert_eq!(queue.pop(), Some(Due { time: Time::MAX, rank: Rank::new(7), key: 0 }));
    }

    #[derive(Clone, Debug)]
    enum Operation {
        Schedule(u32, u64, u8),
        Cancel(u32),
        Pop,
    }

    fn operation() -> impl Strategy<Value = Operation> {
        prop_oneof![
            (0..9u32, 0..6u64, 0..3u8).prop_map(|(key, delay, rank)| Operation::Schedule(key, delay, rank)),
            (0..9u32).prop_map(Operation::Cancel),
            Just(Operation::Pop),
        ]
    }

    proptest! {
        /// Against a plain list, searched for its least (time, rank, sequence), after any operations.
        #[test]
        fn behaves_as_a_list_searched_for_its_least(operations in prop::collection::vec(operation(), 0..300)) {
            let mut queue = Queue::new(9);
            let mut list: Vec<(u64, u8, usize, u32)> = Vec::new();
            let mut now = 0;
            for (sequence, operation) in operations.into_iter().enumerate() {
                match operation {
                    Operation::Schedule(key, delay, rank) => {
                        queue.schedule(key, at(now + delay), Rank::new(rank));
                        list.retain(|event| event.3 != key);
                        list.push((now + delay, rank, sequence, key));
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
            }
        }
    }
}
