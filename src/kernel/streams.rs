//! Randomness by name: every draw has an address, so that no draw depends on which others were made before it.

use rand::TryRng;
use std::convert::Infallible;

/// What a random number is for. A purpose has streams of its own, so that adding one leaves all others as they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purpose(pub u32);

impl Purpose {
    /// Its distance from its entity's key; a constant where the purpose is one.
    #[inline]
    const fn offset(self) -> u64 {
        mix(self.0 as u64 ^ 0x6a09_e667_f3bc_c908)
    }
}

/// All random streams of one run.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    root: u64,
}

/// All random streams of one entity (a worker, a server): eight bytes in its hot state.
#[derive(Clone, Copy, Debug)]
pub struct EntityStreams {
    key: u64,
}

/// The random stream of one entity for one purpose.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    key: u64,
}

/// The generator of one draw: as many random words as a sampler asks for. SplitMix64 (Steele, Lea and Flood, 2014,
/// "Fast splittable pseudorandom number generators"), started at the draw's own address: the words of one draw go on by
/// one odd constant, as published, and draws of a stream begin at multiples of another.
#[derive(Clone, Debug)]
pub struct Generator {
    state: u64,
}

/// From one word of a draw to the next.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// From one draw of a stream to the next: the multiplier of Steele and Vigna (2021), odd and without pattern in its bits.
const DRAW: u64 = 0xd134_2543_de82_ef95;

impl Streams {
    /// The streams of the `replication`-th repeat under `seed`.
    pub fn new(seed: u64, replication: u64) -> Streams {
        Streams { root: mix(mix(seed) ^ replication) }
    }

    /// The streams of `entity`. They depend on nothing but seed, replication and entity.
    pub fn entity(self, entity: u64) -> EntityStreams {
        EntityStreams { key: mix(self.root ^ mix(entity)) }
    }

    /// The stream of `entity` for `purpose`. It depends on nothing but seed, replication, entity and purpose.
    pub fn stream(self, purpose: Purpose, entity: u64) -> Stream {
        self.entity(entity).stream(purpose)
    }
}

impl EntityStreams {
    /// The stream for `purpose`. Keys are places on the circle of 2⁶⁴ that nothing but chance brings near each other.
    #[inline]
    pub fn stream(self, purpose: Purpose) -> Stream {
        Stream { key: self.key.wrapping_add(purpose.offset()) }
    }
}

impl Stream {
    /// The generator of draw number `index`. Draws can be made in any order, and again.
    #[inline]
    pub fn draw(self, index: u64) -> Generator {
        Generator { state: self.key.wrapping_add(index.wrapping_mul(DRAW)) }
    }
}

/// The output function of SplitMix64, a bijection in which every bit of `x` moves every bit of the result.
#[inline]
const fn mix(x: u64) -> u64 {
    let z = x.wrapping_add(GOLDEN);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Generator {
    /// The next random word.
    #[inline(always)]
    pub fn word(&mut self) -> u64 {
        let word = mix(self.state);
        self.state = self.state.wrapping_add(GOLDEN);
        word
    }
}

impl TryRng for Generator {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|word| (word >> 32) as u32)
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.word())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.try_next_u64()?.to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use std::collections::BTreeSet;

    fn words(stream: Stream, draws: u64) -> Vec<u64> {
        (0..draws).map(|index| stream.draw(index).next_u64()).collect()
    }

    #[test]
    fn the_generator_is_the_published_one() {
        let mut ours = Generator { state: 1_477_776_061_723_855_037 };
        let mut theirs = rand_xoshiro::SplitMix64::seed_from_u64(1_477_776_061_723_855_037);
        for _ in 0..1000 {
            assert_eq!(ours.next_u64(), theirs.next_u64());
        }
    }

    #[test]
    fn names_that_differ_give_streams_that_differ() {
        let mut seen = BTreeSet::new();
        let mut names = 0;
        for seed in [0, 1, u64::MAX] {
            for replication in [0, 1, 2] {
                for purpose in 0..6 {
                    for entity in 0..200 {
                        let stream = Streams::new(seed, replication).stream(Purpose(purpose), entity);
                        seen.insert(words(stream, 2));
                        names += 1;
                    }
                }
            }
        }
        assert_eq!(seen.len(), names);
    }

    /// 64 streams of 100,000 draws: of the 2,016 correlations none exceeds 4.5/√n (chance of a false alarm: 1.4 %, and
    /// the seed is fixed).
    #[test]
    fn streams_are_uncorrelated() {
        const DRAWS: u64 = 100_000;
        let centred = |entity: u64| -> Vec<f64> {
            let stream = Streams::new(7, 0).stream(Purpose(1), entity);
            words(stream, DRAWS).iter().map(|&word| (word as f64 / 2f64.powi(64) - 0.5) * 12f64.sqrt()).collect()
        };
        let streams: Vec<Vec<f64>> = (0..64).map(centred).collect();
        for (a, first) in streams.iter().enumerate() {
            for second in &streams[..a] {
                let sum: f64 = first.iter().zip(second).map(|(x, y)| x * y).sum();
                assert!((sum / DRAWS as f64).abs() < 4.5 / (DRAWS as f64).sqrt());
            }
        }
    }

    /// Bytes of consecutive draws: χ² with 255 degrees of freedom, below its 99.9 % quantile of 330.5.
    #[test]
    fn the_bytes_of_consecutive_draws_are_uniform() {
        let stream = Streams::new(3, 5).stream(Purpose(2), 9);
        for byte in [0, 3, 7] {
            let mut counts = [0f64; 256];
            for word in words(stream, 256_000) {
                counts[usize::from(word.to_le_bytes()[byte])] += 1.0;
            }
            let chi_squared: f64 = counts.iter().map(|count| (count - 1000.0).powi(2) / 1000.0).sum();
            assert!(chi_squared < 330.5, "byte {byte}: {chi_squared}");
        }
    }
}
