//! The yardstick: the least code that plays the same work. One pending arrival a worker in a loser tree of plain `u64`
//! keys, or, of many workers, in a ladder of buckets cut to fit the work; one xoshiro256++ for everything, lag and age
//! into two histograms by bit tricks. No causes, no joint histogram, no books, no streams by worker, no order among
//! ties.

use rand::{Rng, SeedableRng, TryRng};
use rand_distr::{Distribution, Exp1, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::hint::select_unpredictable;

/// xoshiro256++ under a name of its own, so that the compiler makes (and inlines) samplers for this loop alone.
struct Fast(Xoshiro256PlusPlus);

impl TryRng for Fast {
    type Error = std::convert::Infallible;
    #[inline(always)]
    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        self.0.try_next_u32()
    }
    #[inline(always)]
    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        self.0.try_next_u64()
    }
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        self.0.try_fill_bytes(bytes)
    }
}

/// A tournament in which every inner node keeps the loser of its match, so that replacing the winner replays one path.
struct LoserTree {
    nodes: Vec<(u64, u32)>,
    leaves: usize,
    winner: (u64, u32),
}

impl LoserTree {
    fn new(keys: &[u64]) -> LoserTree {
        let leaves = keys.len().next_power_of_two();
        let key = |leaf: usize| (keys.get(leaf).copied().unwrap_or(u64::MAX), leaf as u32);
        let mut winners: Vec<(u64, u32)> = vec![(u64::MAX, 0); 2 * leaves];
        (0..leaves).for_each(|leaf| winners[leaves + leaf] = key(leaf));
        let mut nodes = vec![(u64::MAX, 0); leaves];
        for node in (1..leaves).rev() {
            let (a, b) = (winners[2 * node], winners[2 * node + 1]);
            (winners[node], nodes[node]) = if a.0 <= b.0 { (a, b) } else { (b, a) };
        }
        LoserTree { nodes, leaves, winner: winners[1] }
    }

    #[inline]
    fn replace(&mut self, key: u64) {
        let (mut key, mut leaf) = (key, self.winner.1);
        let mut node = (self.leaves + leaf as usize) >> 1;
        while node > 0 {
            let (rival_key, rival_leaf) = self.nodes[node];
            let wins = rival_key < key;
            self.nodes[node] =
                (select_unpredictable(wins, key, rival_key), select_unpredictable(wins, leaf, rival_leaf));
            key = select_unpredictable(wins, rival_key, key);
            leaf = select_unpredictable(wins, rival_leaf, leaf);
            node >>= 1;
        }
        self.winner = (key, leaf);
    }
}

/// What can hold the pending arrivals: the first of them, and another of the same worker in its place.
trait Pending {
    fn first(&mut self) -> (u64, u32);
    fn replace(&mut self, key: u64);
}

impl Pending for LoserTree {
    fn first(&mut self) -> (u64, u32) {
        self.winner
    }
    fn replace(&mut self, key: u64) {
        LoserTree::replace(self, key);
    }
}

/// Buckets of equal width, which go round: what is in one may be of a later round. That of the present is in order, the next one last.
struct Ladder {
    buckets: Vec<Vec<(u64, u32)>>,
    width: u64,
    at: u64,
    present: Vec<(u64, u32)>,
}

impl Ladder {
    /// For keys that lie `spread` apart from now at the most, but for a few.
    fn new(keys: &[u64], spread: u64) -> Ladder {
        let buckets = (keys.len() / 16).next_power_of_two();
        let width = spread / buckets as u64;
        let room = || Vec::with_capacity(64);
        let mut ladder = Ladder { buckets: (0..buckets).map(|_| room()).collect(), width, at: 0, present: room() };
        keys.iter().zip(0..).for_each(|(&key, leaf)| ladder.enter(key, leaf));
        ladder.advance();
        ladder
    }

    #[inline]
    fn enter(&mut self, key: u64, leaf: u32) {
        let bucket = key / self.width;
        if bucket <= self.at && !self.present.is_empty() {
            let place = self.present.partition_point(|other| other.0 > key);
            return self.present.insert(place, (key, leaf));
        }
        let count = self.buckets.len();
        self.buckets[bucket as usize & (count - 1)].push((key, leaf));
    }

    fn advance(&mut self) {
        while self.present.is_empty() {
            let count = self.buckets.len();
            let (at, width) = (self.at, self.width);
            let present = &mut self.present;
            self.buckets[at as usize & (count - 1)].retain(|&(key, leaf)| {
                let later = key / width > at;
                if !later {
                    present.push((key, leaf));
                }
                later
            });
            self.at += 1;
        }
        self.at -= 1;
        self.present.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.0));
    }
}

impl Pending for Ladder {
    #[inline]
    fn first(&mut self) -> (u64, u32) {
        self.present[self.present.len() - 1]
    }
    #[inline]
    fn replace(&mut self, key: u64) {
        let (_, leaf) = self.first();
        self.enter(key, leaf);
        // What was entered stands before the first one, or elsewhere.
        self.present.pop();
        if self.present.is_empty() {
            self.at += 1;
            self.advance();
        }
    }
}

struct Histogram {
    counts: Vec<u64>,
}

impl Histogram {
    #[inline]
    fn record(&mut self, value: u64) {
        let octave = 63 - (value | 128).leading_zeros();
        let shift = octave - 7;
        self.counts[((shift as usize) << 7) + (value >> shift) as usize] += 1;
    }
}

/// What the loop tells of itself: enough to see that it played the same work.
pub struct Told {
    pub mean_lag: f64,
    pub w: f64,
}

#[derive(Clone, Copy)]
struct Worker {
    read: u64,
    version: u64,
    w: f64,
}

fn cycle(random: &mut Fast) -> u64 {
    let mut exponential = |mean: f64| -> f64 {
        let unit: f64 = Exp1.sample(random);
        mean * unit
    };
    ((exponential(0.05) + exponential(1.0) + exponential(0.05)) * 1e9) as u64
}

/// W1 to W3: (w − 1)²/2 from 0. A tree goes as far as the cache does.
pub fn scalar(workers: usize, rate: f64, steps: u64) -> Told {
    let mut random = Fast(Xoshiro256PlusPlus::seed_from_u64(1));
    let keys: Vec<u64> = (0..workers).map(|_| cycle(&mut random)).collect();
    if workers <= 1 << 14 {
        return play(LoserTree::new(&keys), random, workers, rate, steps);
    }
    play(Ladder::new(&keys, 3_000_000_000), random, workers, rate, steps)
}

fn play(mut pending: impl Pending, mut random: Fast, workers: usize, rate: f64, steps: u64) -> Told {
    let mut state = vec![Worker { read: 0, version: 0, w: 0.0 }; workers];
    let mut histograms = [0, 1].map(|_| Histogram { counts: vec![0; 8192] });
    let (mut version, mut w, mut lags) = (0u64, 0.0, 0u64);
    while version < steps {
        let (now, worker) = pending.first();
        let me = &mut state[worker as usize];
        let lag = version - me.version;
        histograms[0].record(lag);
        histograms[1].record(now - me.read);
        lags += lag;
        w -= rate * (me.w - 1.0);
        version += 1;
        *me = Worker { read: now, version, w };
        pending.replace(now + cycle(&mut random));
    }
    std::hint::black_box(&histograms[0].counts);
    std::hint::black_box(&histograms[1].counts);
    Told { mean_lag: lags as f64 / steps as f64, w }
}

/// W4: a diagonal quadratic with gradient noise; versions in a ring, one fused kernel for gradient, noise and step.
pub fn vector(workers: usize, dimension: usize, rate: f64, sd: f64, steps: u64) -> Told {
    let mut random = Fast(Xoshiro256PlusPlus::seed_from_u64(1));
    let curvatures: Vec<f64> = (0..dimension).map(|i| 0.1 + 0.9 * i as f64 / (dimension - 1) as f64).collect();
    let mut ring: Vec<Vec<f64>> = vec![vec![0.0; dimension]; workers + 2];
    let mut holders = vec![0u32; workers + 2];
    let mut free: Vec<usize> = (1..workers + 2).collect();
    let mut current = 0;
    holders[0] = workers as u32;
    let mut state = vec![(0u64, 0u64, 0usize); workers];
    let keys: Vec<u64> = (0..workers).map(|_| cycle(&mut random)).collect();
    let mut tree = LoserTree::new(&keys);
    let mut histograms = [0, 1].map(|_| Histogram { counts: vec![0; 8192] });
    let (mut version, mut lags) = (0u64, 0u64);
    while version < steps {
        let (now, worker) = tree.winner;
        let (read, version_read, slot) = state[worker as usize];
        let lag = version - version_read;
        histograms[0].record(lag);
        histograms[1].record(now - read);
        lags += lag;
        let next = free.pop().expect("there are more versions than workers");
        let mut target = std::mem::take(&mut ring[next]);
        let (old, seen) = (&ring[current], &ring[slot]);
        for i in 0..dimension {
            let noise: f64 = StandardNormal.sample(&mut random);
            target[i] = old[i] - rate * (curvatures[i] * seen[i] + sd * noise);
        }
        ring[next] = target;
        // Every version is held by the worker that made it, until that worker's next gradient.
        holders[slot] -= 1;
        if holders[slot] == 0 {
            free.push(slot);
        }
        current = next;
        holders[current] = 1;
        version += 1;
        state[worker as usize] = (now, version, current);
        tree.replace(now + cycle(&mut random));
    }
    std::hint::black_box(&histograms[0].counts);
    std::hint::black_box(random.next_u64());
    Told { mean_lag: lags as f64 / steps as f64, w: ring[current][0] }
}
