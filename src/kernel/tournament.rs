//! Pending events as players of a tournament: for as many keys as are near the processor.

use super::queue::{Entry, NOTHING};

/// Four play in a match, the earliest of them in a match one level above, and so on: scheduling replays one path of a
/// fixed length without unpredictable branches; nothing is ever allocated after the beginning.
#[derive(Clone, Debug)]
pub struct Tournament {
    /// Match 0 is the final; the winner of match m plays in match (m − 1)/4.
    matches: Vec<Match>,
    /// The first of the matches in which keys play themselves, four in each.
    leaves: usize,
    first: Entry,
    /// The keys of favourites that were not shown yet, and where the next one is to be put.
    notes: [u32; NOTES],
    noted: usize,
    /// By so many bits a key must be shifted to become the number of its part.
    part_bits: u32,
}

/// One line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Match([Entry; 4]);

/// Of so many parts of the keys the favourites are known: those that play in the matches two below the final.
const PARTS: usize = 64;
/// The first of those matches.
const FIRST_PART: usize = 1 + 4;
/// So many favourites are shown at a time.
const NOTES: usize = 8;

impl Tournament {
    /// The least number of events, about, that come before that of a favourite.
    pub const AHEAD: u64 = (PARTS - NOTES) as u64;

    /// Nothing pending, of so many keys.
    pub fn new(keys: u32) -> Tournament {
        let (mut leaves, mut width, mut part_bits) = (0, 1, 0);
        while 4 * width < keys as usize {
            leaves += width;
            width *= 4;
            part_bits += 2;
        }
        Tournament {
            matches: vec![Match([NOTHING; 4]); leaves + width],
            leaves,
            first: NOTHING,
            notes: [0; NOTES],
            noted: 0,
            part_bits: u32::saturating_sub(part_bits, 4),
        }
    }

    /// The next event.
    #[inline(always)]
    pub fn first(&self) -> Entry {
        self.first
    }

    /// Notes the winner of the part in which `key` plays: where the event of `key` was the next one, and was replaced,
    /// this is the only one that has changed, and its own event is about as many events away as there are parts. True
    /// when the notes are full.
    #[inline(always)]
    pub fn note(&mut self, key: u32) -> bool {
        let part = (key >> self.part_bits) as usize % PARTS;
        let Match(four) = &self.matches[(FIRST_PART + part / 4).min(self.leaves)];
        self.notes[self.noted] = four[part % 4].key();
        self.noted = (self.noted + 1) % NOTES;
        self.noted == 0
    }

    /// The notes.
    pub fn noted(&self) -> &[u32; NOTES] {
        &self.notes
    }

    /// Whether an event of `key` is pending.
    pub fn has(&self, key: u32) -> bool {
        let Match(four) = &self.matches[self.leaves + key as usize / 4];
        four[key as usize % 4] != NOTHING
    }

    /// Puts `entry` in place of what there was of `key`.
    #[inline(never)]
    pub fn replay(&mut self, key: u32, entry: Entry) {
        let mut number = self.leaves + key as usize / 4;
        let mut seat = key as usize % 4;
        let mut winner = entry;
        loop {
            let Match(four) = &mut self.matches[number];
            // The others among themselves first: that does not wait for what comes from below.
            let others = four[seat ^ 1].earlier(four[seat ^ 2]).earlier(four[seat ^ 3]);
            four[seat] = winner;
            winner = winner.earlier(others);
            if number == 0 {
                break;
            }
            (number, seat) = ((number - 1) / 4, (number - 1) % 4);
        }
        self.first = winner;
    }
}
