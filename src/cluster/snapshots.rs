//! The parameters of every version that somebody still holds.

/// Parameters beyond this have diverged: their squares are near the end of what a number can hold.
pub const LARGEST: f64 = 1e100;

/// A ring of versions, written out of place: a worker that reads gets a reference to the current version, never a copy,
/// and a step writes the next version into a slot that nobody holds. It grows with the number of versions that are held at
/// the same time.
#[derive(Debug)]
pub struct Snapshots {
    dimension: usize,
    values: Vec<f64>,
    holders: Vec<u32>,
    free: Vec<u32>,
    current: u32,
}

impl Snapshots {
    /// Room for `readers` snapshots besides the current version, which is `start`, to begin with.
    pub fn new(start: &[f64], readers: u32) -> Snapshots {
        let slots = readers as usize + 1;
        let mut values = vec![0.0; slots * start.len()];
        values[..start.len()].copy_from_slice(start);
        Snapshots {
            dimension: start.len(),
            values,
            holders: vec![0; slots],
            free: (1..slots as u32).rev().collect(),
            current: 0,
        }
    }

    /// The parameters of the current version.
    #[inline]
    pub fn current(&self) -> &[f64] {
        self.get(self.current)
    }

    /// The parameters in `slot`, which the caller holds.
    #[inline]
    pub fn get(&self, slot: u32) -> &[f64] {
        let start = slot as usize * self.dimension;
        &self.values[start..start + self.dimension]
    }

    /// The same of one parameter.
    #[inline]
    pub fn get_scalar(&self, slot: u32) -> f64 {
        self.values[slot as usize]
    }

    /// The first parameter in `slot`, and who holds it, for who only wants to have them near.
    #[inline]
    pub fn glance(&self, slot: u32) -> u64 {
        self.values[slot as usize * self.dimension].to_bits() ^ u64::from(self.holders[slot as usize])
    }

    /// Takes a reference to the current version.
    #[inline]
    pub fn hold(&mut self) -> u32 {
        self.holders[self.current as usize] += 1;
        self.current
    }

    /// Takes another reference to the version in `slot`, which somebody holds.
    pub fn share(&mut self, slot: u32) -> u32 {
        self.holders[slot as usize] += 1;
        slot
    }

    /// Gives one back.
    #[inline]
    pub fn release(&mut self, slot: u32) {
        self.holders[slot as usize] -= 1;
        if self.holders[slot as usize] == 0 && slot != self.current {
            self.free.push(slot);
        }
    }

    /// Makes current − `update` the current version; false if a parameter has then diverged: it is no number, or beyond
    /// [`LARGEST`].
    #[inline(always)]
    pub fn step(&mut self, update: &[f64]) -> bool {
        self.step_scaled(update, 1.0)
    }

    /// The same with `rate` × `update`.
    #[inline(always)]
    pub fn step_scaled(&mut self, update: &[f64], rate: f64) -> bool {
        let old = self.turn();
        self.write(old, self.current, update, rate)
    }

    /// The same of one parameter.
    #[inline(always)]
    pub fn step_scalar(&mut self, update: f64) -> bool {
        let old = self.turn();
        let w = self.values[old as usize] - update;
        self.values[self.current as usize] = w;
        w.abs() <= LARGEST
    }

    /// Makes another slot the current one, and gives the one that was. A version that nobody has read need not be kept.
    #[inline(always)]
    fn turn(&mut self) -> u32 {
        let next = match self.holders[self.current as usize] {
            0 => self.current,
            _ => self.free.pop().unwrap_or_else(|| self.grow()),
        };
        std::mem::replace(&mut self.current, next)
    }

    /// Makes `parameters` the current version.
    pub fn restore(&mut self, parameters: &[f64]) {
        if self.holders[self.current as usize] > 0 {
            self.current = self.free.pop().unwrap_or_else(|| self.grow());
        }
        let start = self.current as usize * self.dimension;
        self.values[start..start + self.dimension].copy_from_slice(parameters);
    }

    /// One slot more.
    #[cold]
    fn grow(&mut self) -> u32 {
        self.values.resize(self.values.len() + self.dimension, 0.0);
        self.holders.push(0);
        self.holders.len() as u32 - 1
    }

    /// Writes the parameters in slot `old` − `rate` × `update` to slot `new`.
    fn write(&mut self, old: u32, new: u32, update: &[f64], rate: f64) -> bool {
        let (from, to) = (old as usize * self.dimension, new as usize * self.dimension);
        let mut sound = true;
        let mut subtract = |(w, (old, u)): (&mut f64, (&f64, &f64))| {
            *w = old - rate * u;
            sound &= w.abs() <= LARGEST;
        };
        if from == to {
            for (w, u) in self.values[to..to + self.dimension].iter_mut().zip(update) {
                let old = *w;
                subtract((w, (&old, u)));
            }
            return sound;
        }
        let (old, new) = if from < to {
            let (head, tail) = self.values.split_at_mut(to);
            (&head[from..from + self.dimension], &mut tail[..self.dimension])
        } else {
            let (head, tail) = self.values.split_at_mut(from);
            (&tail[..self.dimension], &mut head[to..to + self.dimension])
        };
        new.iter_mut().zip(old.iter().zip(update)).for_each(subtract);
        sound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_version_stays_as_it_was_read() {
        let mut snapshots = Snapshots::new(&[1.0, 2.0], 2);
        let first = snapshots.hold();
        assert!(snapshots.step(&[0.5, 0.5]));
        let second = snapshots.hold();
        assert!(snapshots.step(&[0.25, 0.0]));
        assert_eq!(snapshots.get(first), [1.0, 2.0]);
        assert_eq!(snapshots.get(second), [0.5, 1.5]);
        assert_eq!(snapshots.current(), [0.25, 1.5]);
        snapshots.release(first);
        let third = snapshots.hold();
        assert!(snapshots.step(&[0.25, 0.0]));
        assert_eq!(snapshots.get(third), [0.25, 1.5]);
        assert_eq!(snapshots.get(second), [0.5, 1.5]);
        assert_eq!(snapshots.current(), [0.0, 1.5]);
    }

    #[test]
    fn it_grows_with_what_is_held() {
        let mut snapshots = Snapshots::new(&[1.0], 1);
        let first = snapshots.hold();
        assert!(snapshots.step(&[0.25]));
        let second = snapshots.hold();
        assert_eq!(snapshots.share(first), first);
        snapshots.release(first);
        assert!(snapshots.step(&[0.25]));
        assert_eq!((snapshots.get(first), snapshots.get(second)), (&[1.0][..], &[0.75][..]));
        assert_eq!(snapshots.current(), [0.5]);
    }

    #[test]
    fn without_readers_the_step_is_in_place_and_divergence_is_seen() {
        let mut snapshots = Snapshots::new(&[1.0], 0);
        assert!(snapshots.step(&[3.0]));
        assert_eq!(snapshots.current(), [-2.0]);
        assert!(!snapshots.step(&[1e101]));
        assert!(!snapshots.step(&[f64::NAN]));
    }
}
