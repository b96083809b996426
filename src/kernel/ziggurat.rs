//! The short way through the samplers of rand_distr: of a hundred draws of a normal or exponential number 99 take one random word, one entry of a
//! table and one comparison, which here are a dozen instructions in the caller's own loop. All others are left to rand_distr, and every number is
//! the one that it would have drawn.

use super::Generator;
use rand::TryRng;
use rand_distr::{Distribution, Exp1, StandardNormal};
use std::convert::Infallible;
use std::sync::LazyLock;

/// The layers of a ziggurat (Marsaglia and Tsang, 2000, "The ziggurat method for generating random variables";
/// rand_distr's is Doornik's, 2005): layer i is `edges[i]` wide, and what falls short of `edges[i + 1]` lies under the
/// curve for certain.
#[derive(Debug)]
pub struct Ziggurat {
    edges: [f64; 257],
}

/// A law that rand_distr draws by a ziggurat.
pub trait Layered: Distribution<f64> + Copy {
    /// The upper bits of a word are the digits of a number with this sign and exponent, …
    const EXPONENT: u64;
    /// … and that less this is the place in the layer, as a share of its width.
    const OFFSET: f64;

    /// Its layers.
    fn layers() -> &'static Ziggurat;
}

/// A law, ready to draw.
#[derive(Clone, Copy, Debug)]
pub struct Quick<L> {
    law: L,
    layers: &'static Ziggurat,
}

impl Layered for StandardNormal {
    // From [2, 4) to [−1, 1).
    const EXPONENT: u64 = 0x400;
    const OFFSET: f64 = 3.0;

    fn layers() -> &'static Ziggurat {
        static LAYERS: LazyLock<Ziggurat> = LazyLock::new(|| Ziggurat::learn(StandardNormal, 3 << 62, 2.0));
        &LAYERS
    }
}

impl Layered for Exp1 {
    // From [1, 2) to (0, 1).
    const EXPONENT: u64 = 0x3ff;
    const OFFSET: f64 = 1.0 - f64::EPSILON / 2.0;

    fn layers() -> &'static Ziggurat {
        static LAYERS: LazyLock<Ziggurat> = LazyLock::new(|| Ziggurat::learn(Exp1, 0, (1u64 << 53) as f64));
        &LAYERS
    }
}

impl<L: Layered> Quick<L> {
    /// Ready to draw: finding the layers at every draw would take as long as the draw.
    pub fn new(law: L) -> Quick<L> {
        Quick { law, layers: L::layers() }
    }

    /// One number.
    #[inline(always)]
    pub fn sample(self, random: &mut Generator) -> f64 {
        let word = random.word();
        self.begin(word, random)
    }

    /// The draw that begins with `word`.
    #[inline(always)]
    fn begin(self, word: u64, random: &mut Generator) -> f64 {
        let (width, next) = self.layers.layer(word);
        let x = (f64::from_bits(word >> 12 | L::EXPONENT << 52) - L::OFFSET) * width;
        if x.abs() < next { x } else { go_on(sample_again(self.law, word, random.clone()), random) }
    }
}

impl Ziggurat {
    /// The layers as `sampler` has them, which tells them by what it draws: `word` makes of every layer the point at
    /// 1/`part` of its width, which is a power of two, so that nothing is rounded.
    fn learn(sampler: impl Distribution<f64>, word: u64, part: f64) -> Ziggurat {
        // After that word nothing but ones: where it must decide by a second number, that is as good as 1, which it accepts.
        let edge = |layer: u64| part * sampler.sample(&mut Then { word: Some(word | layer), then: || u64::MAX });
        Ziggurat { edges: std::array::from_fn(|layer| if layer < 256 { edge(layer as u64) } else { 0.0 }) }
    }

    /// The width of the layer that `word` names, and of the next.
    #[inline(always)]
    fn layer(&self, word: u64) -> (f64, f64) {
        let layer = (word & 0xff) as usize;
        (self.edges[layer], self.edges[layer + 1])
    }
}

/// A generator that is handed over, and back, can stay in a register of the loop around.
#[inline(always)]
fn go_on((x, after): (f64, Generator), random: &mut Generator) -> f64 {
    *random = after;
    x
}

/// The draw that began with `word`, from its beginning.
#[cold]
#[inline(never)]
fn sample_again(sampler: impl Distribution<f64>, word: u64, mut random: Generator) -> (f64, Generator) {
    let x = sampler.sample(&mut Then { word: Some(word), then: || random.word() });
    (x, random)
}

/// A generator of one word, and then of others.
struct Then<F> {
    word: Option<u64>,
    then: F,
}

impl<F: FnMut() -> u64> TryRng for Then<F> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|word| (word >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.word.take().unwrap_or_else(&mut self.then))
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
    use crate::kernel::{Purpose, Streams};

    const DRAWS: u64 = 3_000_000;

    /// Every number of both laws, bit for bit, and as many words used: three million draws take the long way some 40,000 times, the tails
    /// included.
    #[test]
    fn every_number_is_that_of_rand_distr() {
        let mut one = Streams::new(5, 0).stream(Purpose(3), 1).draw(0);
        let mut other = one.clone();
        let (normal, exponential) = (Quick::new(StandardNormal), Quick::new(Exp1));
        for _ in 0..DRAWS {
            let theirs: f64 = StandardNormal.sample(&mut other);
            assert_eq!(normal.sample(&mut one).to_bits(), theirs.to_bits());
            let theirs: f64 = Exp1.sample(&mut other);
            assert_eq!(exponential.sample(&mut one).to_bits(), theirs.to_bits());
        }
        assert_eq!(one.word(), other.word());
    }

    /// Of every layer the words at both ends, in the middle, and on both sides of where the next layer ends.
    #[test]
    fn every_layer_is_that_of_rand_distr() {
        const WIDTH: u64 = 1 << 52;
        let generator = Streams::new(6, 0).stream(Purpose(3), 1).draw(0);
        for layer in 0..256 {
            let share = |ziggurat: &Ziggurat| ziggurat.edges[layer + 1] / ziggurat.edges[layer] * WIDTH as f64;
            let (one, two) = (share(Exp1::layers()) as u64, share(StandardNormal::layers()) as u64 / 2);
            let near = [one, WIDTH / 2 - two, WIDTH / 2 + two].into_iter().flat_map(|at| at.saturating_sub(3)..at + 3);
            for at in near.chain([0, 1, WIDTH / 2, WIDTH - 1]).filter(|&at| at < WIDTH) {
                let word = at << 12 | layer as u64;
                let normal = Quick::new(StandardNormal).begin(word, &mut generator.clone());
                assert_eq!(
                    normal.to_bits(),
                    sample_again(StandardNormal, word, generator.clone()).0.to_bits(),
                    "{word}"
                );
                let exponential = Quick::new(Exp1).begin(word, &mut generator.clone());
                assert_eq!(exponential.to_bits(), sample_again(Exp1, word, generator.clone()).0.to_bits(), "{word}");
            }
        }
    }
}
