//! Pending events as entries of a calendar (Brown, 1988, "Calendar queues: a fast O(1) priority queue implementation for the simulation event set
//! problem"): for so many keys that each look at one is a wait for memory.

use super::queue::{Entry, NOTHING};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// As many events a day are aimed at, at the near end of the calendar.
const PER_DAY: u32 = 32;
/// A day of so many events is too long.
const TOO_MANY: usize = 16 * PER_DAY as usize;
/// So many events are shown at a time, of a day on which everything happens, …
const SHOWN: usize = 64;
/// … when there are no more than these to come before them.
const HARDLY_ANY: usize = 8;
/// So many events fill four lines of the cache, together with the number of the sheet that comes next.
const PER_SHEET: usize = 15;
const NO_SHEET: u32 = u32::MAX;
const NOT_PENDING: u64 = u64::MAX;

/// A part of what is entered on a page.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Sheet {
    entries: [Entry; PER_SHEET],
    next: u32,
}

/// What is entered for one day, or for days of several years. How much there is on its first sheet stands here, so that
/// to enter an event is only to write.
#[derive(Clone, Copy, Debug)]
struct Page {
    /// Its first sheet; those behind it are full.
    sheet: u32,
    count: u32,
}

const EMPTY: Page = Page { sheet: NO_SHEET, count: 0 };

/// Events by the day on which they happen: today's in order, those of later days in none. A day is a power of two
/// nanoseconds, so long that only a few events happen on it; where that turns out wrong all are entered anew, with days
/// of another length. Days beyond the last page go round: what is on a page may be of another year.
#[derive(Clone, Debug)]
pub struct Calendar {
    /// Of every key the order of its pending event, which no other event has. What is entered, and does not stand here, has been taken back.
    orders: Vec<u64>,
    pages: Vec<Page>,
    /// A bit for every page on which anything is entered.
    marks: Vec<u64>,
    sheets: Vec<Sheet>,
    /// Sheets not in use, chained.
    free: u32,
    /// A day is 2^`length` ns.
    length: u32,
    today: u64,
    /// Today's, the next one last.
    ready: Vec<Entry>,
    /// What was scheduled for today when it had begun.
    late: BinaryHeap<Reverse<Entry>>,
    /// Entries on pages.
    entered: usize,
    /// Entries anywhere that have been taken back.
    void: usize,
    /// Events scheduled since the days were given their length.
    since: usize,
    /// How many of those that are ready were not shown yet: the last to come.
    unseen: usize,
}

impl Calendar {
    /// Nothing pending, of so many keys.
    pub fn new(keys: u32) -> Calendar {
        let pages = (keys as usize / 16).next_power_of_two().max(64);
        Calendar {
            orders: vec![NOT_PENDING; keys as usize],
            pages: vec![EMPTY; pages],
            marks: vec![0; pages / 64],
            // Room that is not used is not there: it costs nothing.
            sheets: Vec::with_capacity(keys as usize / PER_SHEET + pages),
            free: NO_SHEET,
            length: 20,
            today: 0,
            ready: Vec::new(),
            late: BinaryHeap::new(),
            entered: 0,
            void: 0,
            since: 0,
            unseen: 0,
        }
    }

    /// Whether an event of `key` is pending.
    pub fn has(&self, key: u32) -> bool {
        self.orders[key as usize] != NOT_PENDING
    }

    /// Enters an event of `key`, in place of what was pending.
    #[inline]
    pub fn schedule(&mut self, key: u32, entry: Entry) {
        self.cancel(key);
        self.reschedule(key, entry);
    }

    /// The same for a key of which nothing is entered but what was taken by [`Calendar::first`] and [`Calendar::remove_first`].
    #[inline]
    pub fn reschedule(&mut self, key: u32, entry: Entry) {
        self.orders[key as usize] = entry.order;
        self.since += 1;
        if entry.time >> self.length > self.today {
            self.enter(entry);
        } else {
            self.late.push(Reverse(entry));
            if self.late.len() > TOO_MANY {
                self.shorten();
            }
        }
    }

    /// Takes back what is pending of `key`.
    pub fn cancel(&mut self, key: u32) {
        self.void += usize::from(self.has(key));
        self.orders[key as usize] = NOT_PENDING;
        if self.void > self.orders.len() + TOO_MANY {
            self.enter_anew();
        }
    }

    /// The next event. As a call it returns two words, in registers; put into the loop of an engine, it goes through
    /// memory, behind all that is still on its way there.
    #[inline(never)]
    pub fn first(&mut self) -> Entry {
        loop {
            let (ready, late) = (self.ready.last(), self.late.peek());
            let first = match (ready, late) {
                (Some(&ready), Some(&Reverse(late))) => ready.min(late),
                (Some(&ready), None) => ready,
                (None, Some(_)) => {
                    self.make_ready();
                    continue;
                }
                (None, None) if self.entered == 0 => return NOTHING,
                (None, None) => {
                    self.turn_the_page();
                    continue;
                }
            };
            if self.void == 0 || self.orders[first.key() as usize] == first.order {
                return first;
            }
            self.remove_first();
            self.void -= 1;
        }
    }

    /// Removes what [`Calendar::first`] has just given. Its key is still known by it, until it is scheduled again or
    /// forgotten.
    #[inline]
    pub fn remove_first(&mut self) {
        match (self.ready.last(), self.late.peek()) {
            (Some(ready), Some(Reverse(late))) if late < ready => drop(self.late.pop()),
            _ => drop(self.ready.pop()),
        }
        self.unseen = self.unseen.min(self.ready.len());
    }

    /// Puts in order what was scheduled for today when nothing else is left of it: cheaper than to take it from a heap.
    #[inline(never)]
    fn make_ready(&mut self) {
        if self.late.len() > TOO_MANY {
            // As everything is in the beginning: room for so much is not kept.
            self.ready = std::mem::take(&mut self.late).into_iter().map(|Reverse(entry)| entry).collect();
        } else {
            self.ready.extend(self.late.drain().map(|Reverse(entry)| entry));
        }
        self.sort();
    }

    fn sort(&mut self) {
        self.ready.sort_unstable_by(|a, b| b.cmp(a));
        self.unseen = self.ready.len();
    }

    /// Forgets the event of `key` that was removed.
    #[inline]
    pub fn forget(&mut self, key: u32) {
        self.orders[key as usize] = NOT_PENDING;
    }

    /// Whether hardly anything is ready but what was not shown yet.
    #[inline(always)]
    pub fn has_fresh(&self) -> bool {
        self.unseen > 0 && self.ready.len() < self.unseen + HARDLY_ANY
    }

    /// What happens next of that, in its order, each with how many come before it. It is shown once.
    #[inline(always)]
    pub fn fresh(&mut self) -> impl Iterator<Item = (&Entry, u64)> {
        let shown = self.unseen.saturating_sub(SHOWN)..self.unseen;
        self.unseen = shown.start;
        let before = (self.ready.len() - shown.end) as u64;
        self.ready[shown].iter().rev().zip(before..)
    }

    /// Enters an event of a later day on its page.
    #[inline]
    fn enter(&mut self, entry: Entry) {
        let page = (entry.time >> self.length) as usize & (self.pages.len() - 1);
        self.entered += 1;
        let Page { sheet, count } = self.pages[page];
        if (count as usize) < PER_SHEET
            && let Some(sheet) = self.sheets.get_mut(sheet as usize)
        {
            sheet.entries[count as usize] = entry;
            self.pages[page].count = count + 1;
            return;
        }
        let mut entries = [NOTHING; PER_SHEET];
        entries[0] = entry;
        self.pages[page] = Page { sheet: self.put(Sheet { entries, next: sheet }), count: 1 };
        self.marks[page / 64] |= 1 << (page % 64);
    }

    /// Finds a place for a sheet.
    #[inline]
    fn put(&mut self, sheet: Sheet) -> u32 {
        let place = self.free;
        match self.sheets.get_mut(place as usize) {
            Some(free) => {
                self.free = free.next;
                *free = sheet;
                place
            }
            None => {
                self.sheets.push(sheet);
                self.sheets.len() as u32 - 1
            }
        }
    }

    /// Goes on to the next day on which anything is entered.
    #[inline(never)]
    fn turn_the_page(&mut self) {
        let last = self.pages.len() as u64;
        let (begun, mut day) = (self.today, self.today + 1);
        while self.ready.is_empty() {
            match self.next_marked(day) {
                // Once round, and everything entered is of another year.
                Some(next) if next <= begun + last => {
                    self.today = next;
                    self.take_page(next);
                    day = next + 1;
                }
                _ => return self.enter_anew(),
            }
        }
        if self.ready.len() > TOO_MANY && self.since > self.entered {
            return self.enter_anew();
        }
        self.sort();
    }

    /// The first day from `day` on with a page on which anything is entered.
    fn next_marked(&self, day: u64) -> Option<u64> {
        let pages = self.pages.len();
        let start = day as usize & (pages - 1);
        let words = self.marks.len();
        for step in 0..=words {
            let word = (start / 64 + step) % words;
            let mut marks = self.marks[word];
            if step == 0 {
                marks &= u64::MAX << (start % 64);
            }
            if step == words {
                marks &= !(u64::MAX << (start % 64));
            }
            if marks != 0 {
                let page = word * 64 + marks.trailing_zeros() as usize;
                return Some(day + ((page + pages - start) % pages) as u64);
            }
        }
        None
    }

    /// Makes what is entered for `day` ready; what else is on its page stays there.
    fn take_page(&mut self, day: u64) {
        let page = day as usize & (self.pages.len() - 1);
        let Page { sheet: mut place, count } = std::mem::replace(&mut self.pages[page], EMPTY);
        self.marks[page / 64] &= !(1 << (page % 64));
        let mut count = count as usize;
        while place != NO_SHEET {
            let sheet = self.sheets[place as usize];
            self.sheets[place as usize].next = self.free;
            self.free = place;
            place = sheet.next;
            for entry in &sheet.entries[..count] {
                self.entered -= 1;
                if entry.time >> self.length == day { self.ready.push(*entry) } else { self.enter(*entry) }
            }
            count = PER_SHEET;
        }
    }

    /// Shortens the days, unless that has just been done.
    #[cold]
    fn shorten(&mut self) {
        if self.since > self.entered + self.late.len() + self.ready.len() {
            self.enter_anew();
        }
    }

    /// Enters everything anew, with days as long as what is pending asks for.
    #[cold]
    fn enter_anew(&mut self) {
        // In the beginning both were large, and are not again: their room is used, and given back.
        let mut all = std::mem::take(&mut self.ready);
        all.extend(std::mem::take(&mut self.late).into_iter().map(|Reverse(entry)| entry));
        for page in &mut self.pages {
            let Page { sheet: mut place, count } = std::mem::replace(page, EMPTY);
            let mut count = count as usize;
            while let Some(sheet) = self.sheets.get(place as usize) {
                all.extend(&sheet.entries[..count]);
                (place, count) = (sheet.next, PER_SHEET);
            }
        }
        self.sheets.clear();
        self.marks.fill(0);
        all.retain(|entry| self.orders[entry.key() as usize] == entry.order);
        (self.free, self.entered, self.void, self.since, self.unseen) = (NO_SHEET, 0, 0, 0, 0);
        let Some(first) = all.iter().map(|entry| entry.time).min() else { return };
        let middle = all.len() / 2;
        let (_, median, _) = all.select_nth_unstable(middle);
        let each = (median.time - first) / (middle as u64 + 1);
        if each > 0 {
            self.length = (each.ilog2() + 1 + PER_DAY.ilog2()).min(62);
        }
        self.today = first >> self.length;
        for entry in all {
            if entry.time >> self.length > self.today { self.enter(entry) } else { self.ready.push(entry) }
        }
        self.sort();
    }
}
