//! One number that stands for the whole sequence of events of a run.

/// A 64-bit rolling hash of a sequence of words. Runs with equal fingerprints handled the same events at the same
/// instants in the same order; it is a check on determinism, not a cryptographic digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Fingerprint {
        Fingerprint(0x243f_6a88_85a3_08d3)
    }
}

impl Fingerprint {
    /// Takes in two words. The folded 128-bit product depends on every bit of both, and on the order.
    #[inline]
    pub fn add(&mut self, first: u64, second: u64) {
        let product =
            u128::from(self.0 ^ first) * u128::from(second.rotate_left(32) ^ 0x9e37_79b9_7f4a_7c15) + u128::from(first);
        self.0 = (product as u64) ^ ((product >> 64) as u64).rotate_left(29);
    }

    /// The hash so far.
    pub fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[(u64, u64)]) -> u64 {
        let mut fingerprint = Fingerprint::default();
        words.iter().for_each(|&(first, second)| fingerprint.add(first, second));
        fingerprint.value()
    }

    #[test]
    fn content_and_order_both_count() {
        assert_eq!(of(&[(1, 2), (3, 4)]), of(&[(1, 2), (3, 4)]));
        assert_ne!(of(&[(1, 2), (3, 4)]), of(&[(3, 4), (1, 2)]));
        assert_ne!(of(&[(1, 2)]), of(&[(1, 3)]));
        assert_ne!(of(&[(1, 2)]), of(&[(1, 2), (0, 0)]));
    }
}
