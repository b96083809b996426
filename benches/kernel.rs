//! The kernel alone: a take-and-reinsert on the queue, against std's heap, and a random draw, against a plain generator.
//! `cargo bench --profile dev --bench kernel`

use cpu_time::ProcessTime;
use laggard::kernel::{Fingerprint, Purpose, Queue, Rank, Streams, Time};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const ROUNDS: usize = 7;
const EVENTS: u64 = 2_000_000;

/// Median nanoseconds an event of two programs that take turns, and the median of their ratios.
fn race(mut first: impl FnMut(), mut second: impl FnMut()) -> (f64, f64, f64) {
    let time = |work: &mut dyn FnMut()| {
        let start = ProcessTime::now();
        work();
        start.elapsed().as_nanos() as f64 / EVENTS as f64
    };
    let mut rounds: Vec<(f64, f64)> = (0..ROUNDS).map(|_| (time(&mut first), time(&mut second))).collect();
    let mut median = |of: fn(&(f64, f64)) -> f64| {
        rounds.sort_by(|a, b| of(a).total_cmp(&of(b)));
        of(&rounds[ROUNDS / 2])
    };
    (median(|round| round.0), median(|round| round.1), median(|round| round.1 / round.0))
}

/// The next time of a key, after a delay that is cheap to make.
fn later(random: &mut Xoshiro256PlusPlus, now: u64) -> u64 {
    now + (random.next_u64() >> 34)
}

fn queue(keys: u32) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut queue = Queue::new(keys);
    let at = |nanos| Time::from_nanos(nanos).expect("the benchmark ends before the clock does");
    (0..keys).for_each(|key| queue.schedule(key, at(later(&mut random, 0)), Rank::new(1)));
    for _ in 0..EVENTS {
        let due = queue.pop().expect("every key has an event");
        queue.schedule(due.key, at(later(&mut random, due.time.nanos())), Rank::new(1));
    }
    std::hint::black_box(queue.pop());
}

fn heap(keys: u32) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut heap = BinaryHeap::with_capacity(keys as usize);
    (0..keys).for_each(|key| heap.push(Reverse((later(&mut random, 0), 1u8, u64::from(key), key))));
    for sequence in u64::from(keys)..u64::from(keys) + EVENTS {
        let Reverse((now, rank, _, key)) = heap.pop().expect("every key has an event");
        heap.push(Reverse((later(&mut random, now), rank, sequence, key)));
    }
    std::hint::black_box(heap.pop());
}

fn main() {
    println!("queue: pop and schedule      laggard ns  std heap ns  heap/laggard");
    for keys in [2, 64, 1024, 16_384, 262_144] {
        let (ours, theirs, ratio) = race(|| queue(keys), || heap(keys));
        println!("{keys:>8} pending {ours:>22.1} {theirs:>12.1} {ratio:>13.2}");
    }
    let streams = Streams::new(1, 0);
    let addressed = || {
        let stream = streams.stream(Purpose(1), 7);
        let sum = (0..EVENTS).fold(0u64, |sum, index| sum.wrapping_add(stream.draw(index).next_u64()));
        std::hint::black_box(sum);
    };
    let plain = || {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let sum = (0..EVENTS).fold(0u64, |sum, _| sum.wrapping_add(random.next_u64()));
        std::hint::black_box(sum);
    };
    let (ours, theirs, ratio) = race(addressed, plain);
    println!("random word               laggard ns {ours:.2}, xoshiro256++ ns {theirs:.2}, ratio {ratio:.2}");
    let fingerprint = || {
        let mut fingerprint = Fingerprint::default();
        (0..EVENTS).for_each(|event| fingerprint.add(event, event));
        std::hint::black_box(fingerprint.value());
    };
    let (ours, ..) = race(fingerprint, || {});
    println!("fingerprint               laggard ns {ours:.2}");
}
