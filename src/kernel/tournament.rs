//! Pending events as players of a tournament: for as many keys as are near the processor.

use super::queue::{Entry, NOTHING};

/// Every inner node holds the earlier of its two children, the root the next event. Scheduling replays one path of a fixed length without unpredictable
/// branches; nothing is ever allocated after the beginning.
#[derive(Clone, Debug)]
pub struct Tournament {
    /// Node 1 is the root, nodes 2n and 2n + 1 play for node n, node `leaves + key` is the leaf of `key`; node 0 is not used.
    tree: Vec<Entry>,
    leaves: usize,
    /// Favourites that were not shown yet, and how many there were.
    notes: [Entry; NOTES],
    noted: usize,
}

/// Of so many parts of the keys the favourites are known.
const PARTS: usize = 32;
/// So many favourites are shown at a time.
const NOTES: usize = 8;

impl Tournament {
    /// The least number of events, about, that come before that of a favourite.
    pub const AHEAD: u64 = (PARTS - NOTES) as u64;

    /// Nothing pending, of so many keys.
    pub fn new(keys: u32) -> Tournament {
        let leaves = (keys.max(1) as usize).next_power_of_two();
        Tournament { tree: vec![NOTHING; 2 * leaves], leaves, notes: [NOTHING; NOTES], noted: 0 }
    }

    /// The next event.
    #[inline(always)]
    pub fn first(&self) -> Entry {
        self.tree[1]
    }

    /// The winners of parts of the keys, several at a time. Where the event of `key` was the next one, and was replaced, the winner of its part is the only one that
    /// has changed; its own event is then about as many events away as there are parts.
    #[inline(always)]
    pub fn favourites(&mut self, key: u32) -> Option<&[Entry; NOTES]> {
        let matches = (self.leaves / PARTS).max(1).trailing_zeros();
        self.notes[self.noted % NOTES] = self.tree[(self.leaves + key as usize) >> matches];
        self.noted += 1;
        self.noted.is_multiple_of(NOTES).then_some(&self.notes)
    }

    /// Whether an event of `key` is pending.
    pub fn has(&self, key: u32) -> bool {
        self.tree[self.leaves + key as usize] != NOTHING
    }

    /// Puts `entry` in place of what there was of `key`.
    #[inline(never)]
    pub fn replay(&mut self, key: u32, entry: Entry) {
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
