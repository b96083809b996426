//! Pending events as players of a tournament: for as many keys as are near the processor.

use super::queue::{Entry, NOTHING};

/// Every inner node holds the earlier of its two children, the root the next event. Scheduling replays one path of a fixed length without unpredictable
/// branches; nothing is ever allocated after the beginning.
#[derive(Clone, Debug)]
pub struct Tournament {
    /// Node 1 is the root, nodes 2n and 2n + 1 play for node n, node `leaves + key` is the leaf of `key`; node 0 is not used.
    tree: Vec<Entry>,
    leaves: usize,
}

impl Tournament {
    /// Nothing pending, of so many keys.
    pub fn new(keys: u32) -> Tournament {
        let leaves = (keys.max(1) as usize).next_power_of_two();
        Tournament { tree: vec![NOTHING; 2 * leaves], leaves }
    }

    /// The next event.
    #[inline(always)]
    pub fn first(&self) -> Entry {
        self.tree[1]
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
