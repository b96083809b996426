//! The two measures of lag together: how versions and seconds go with each other, and where they disagree.

use super::histogram::{bin_of, edges};

/// Bins are at most 1/8 of their lower edge wide; below 16 every integer has its own.
const PRECISION: u32 = 3;
/// Bins of a 64-bit value.
const COLUMNS: usize = (64 - PRECISION as usize + 1) << PRECISION;

/// A histogram of (lag in versions, lag in nanoseconds), with their exact correlation.
#[derive(Clone, Debug, Default)]
pub struct Joint {
    /// Row by row, one row for each bin of versions.
    counts: Vec<u64>,
    products: u128,
}

/// One cell that is not empty; edges are inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Least and greatest lag in versions.
    pub versions: (u64, u64),
    /// Least and greatest lag in nanoseconds.
    pub nanos: (u64, u64),
    /// How many gradients.
    pub count: u64,
}

impl Joint {
    /// Counts one gradient.
    #[inline(always)]
    pub fn record(&mut self, versions: u64, nanos: u64) {
        let place = bin_of(PRECISION, versions) * COLUMNS + bin_of(PRECISION, nanos);
        match self.counts.get_mut(place) {
            Some(count) => *count += 1,
            None => self.count_beyond(place),
        }
        self.products += u128::from(versions) * u128::from(nanos);
    }

    #[cold]
    fn count_beyond(&mut self, place: usize) {
        self.counts.resize((place / COLUMNS + 1).next_power_of_two() * COLUMNS, 0);
        self.counts[place] = 1;
    }

    /// Σ versions × nanoseconds.
    pub fn products(&self) -> u128 {
        self.products
    }

    /// The cells that are not empty, by versions, then seconds.
    pub fn cells(&self) -> impl Iterator<Item = Cell> + '_ {
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(place, &count)| Cell {
            versions: edges(PRECISION, place / COLUMNS),
            nanos: edges(PRECISION, place % COLUMNS),
            count,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_hold_what_was_recorded() {
        let mut joint = Joint::default();
        joint.record(3, 4_000_000_000);
        joint.record(3, 4_000_000_000);
        joint.record(200, u64::MAX);
        let cells: Vec<Cell> = joint.cells().collect();
        assert_eq!(cells.len(), 2);
        assert_eq!((cells[0].versions, cells[0].count), ((3, 3), 2));
        assert!(cells[0].nanos.0 <= 4_000_000_000 && 4_000_000_000 <= cells[0].nanos.1);
        assert!(cells[1].versions.0 <= 200 && 200 <= cells[1].versions.1 && cells[1].nanos.1 == u64::MAX);
        assert_eq!(joint.products(), 24_000_000_000 + 200 * u128::from(u64::MAX));
    }
}
