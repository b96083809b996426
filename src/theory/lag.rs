//! How stale gradients are, in versions, where each is a step of its own and its worker reads again at once. A worker's own step counts in
//! the version that it reads; network and server take no time unless it is said. There is at least one
//! worker, K is at least 1, and at most n where it counts workers.

/// The mean lag of n workers that always have one gradient under way: n − 1, whatever their compute times, the network and the server.
/// Every step makes all gradients in flight but one a version older, and each ends once: an identity up to O(n²) in all, not a law of
/// chance. (Koloskova, Stich and Jaggi, 2022, who count the gradient itself.) With K gradients a step, whoever computed them,
/// (n − 1) / K.
pub fn mean_of_busy(workers: u64, gradients_per_step: u64) -> f64 {
    (workers as f64 - 1.0) / gradients_per_step as f64
}

/// The mean lag where K different workers make a step and wait for it (K-async): (n − K) / K, for any law.
pub fn mean_of_k_async(workers: u64, k: u64) -> f64 {
    (workers - k) as f64 / k as f64
}

/// P(lag = k) for equal workers with exponential compute times: (1/n) (1 − 1/n)^k, as every worker is as likely as any other to be next.
/// With K-async steps, (K/n) (1 − K/n)^k.
pub fn memoryless_probability(workers: u64, k_async: u64, lag: u64) -> f64 {
    let share = k_async as f64 / workers as f64;
    share * (1.0 - share).powi(lag.min(i32::MAX as u64) as i32)
}

/// The variance of that for one gradient a step: n (n − 1).
pub fn memoryless_variance(workers: u64) -> f64 {
    workers as f64 * (workers as f64 - 1.0)
}

/// The correlation of lags in versions and seconds for them: √((n − 1) / n), as a gradient of age x has a Poisson lag.
pub fn memoryless_correlation(workers: u64) -> f64 {
    (memoryless_variance(workers)).sqrt() / workers as f64
}

/// The share of the steps that worker i of several with exponential compute times of the rates `rates` makes: rateᵢ / Σ rates.
pub fn memoryless_share_of(rates: &[f64], worker: usize) -> f64 {
    rates[worker] / rates.iter().sum::<f64>()
}

/// The mean lag of worker i of several with exponential compute times of the rates `rates`: Σ rates / rateᵢ − 1.
pub fn memoryless_mean_of(rates: &[f64], worker: usize) -> f64 {
    rates.iter().sum::<f64>() / rates[worker] - 1.0
}

/// Mean age at the step, in seconds, of what is in flight: by Little's law, n / throughput, whatever happens between reading and applying.
pub fn mean_age_s(workers: u64, throughput_per_s: f64) -> f64 {
    workers as f64 / throughput_per_s
}

/// The mean lag of a random gradient in flight: (n − 1)/2 for equal constant compute times, n − 1 for exponential ones, though both are
/// n − 1 when applied.
pub fn mean_in_flight_of_constant(workers: u64) -> f64 {
    (workers as f64 - 1.0) / 2.0
}

/// The mean lag of gradients in flight for exponential compute times: n − 1, as when they are applied.
pub fn mean_in_flight_of_memoryless(workers: u64) -> f64 {
    workers as f64 - 1.0
}

/// The mean age in seconds of what is in flight at a random time, (mean² + variance) / (2 mean) of compute times that follow one another: half
/// of it for constant ones, all of it for exponential ones (renewal theory).
pub fn mean_age_in_flight_s(mean_s: f64, variance_s2: f64) -> f64 {
    (mean_s + variance_s2 / mean_s) / 2.0
}

/// What the lags of the first so many steps and those of what is then in flight add up to: steps × (n − 1), exactly, for n workers that read at
/// once after each of their pushes, in any run without losses. Derived here; [`mean_of_busy`] is its consequence.
pub fn total_of_busy(workers: u64, steps: u64) -> u64 {
    steps * (workers - 1)
}

/// The mean lag where a worker asks for the parameters after its push and gets them as they are when the request arrives: (n − 1) × holding /
/// cycle, with the mean time from there to the push and the mean time from push to push. For n equal workers that do not wait for one another,
/// of any law. Derived here.
pub fn mean_of_separate_pull(workers: u64, holding_s: f64, cycle_s: f64) -> f64 {
    (workers as f64 - 1.0) * holding_s / cycle_s
}

/// The variance of the lag of worker i of several with exponential compute times of the rates `rates`: (1 − p) / p² with its share p of the
/// steps, as its lag is geometric.
pub fn memoryless_variance_of(rates: &[f64], worker: usize) -> f64 {
    let others = memoryless_mean_of(rates, worker);
    others * (others + 1.0)
}

/// The variance of all their lags: Σ (1 − p) (2 − p) / p − (n − 1)², as worker i makes the share p of them.
pub fn memoryless_variance_of_all(rates: &[f64]) -> f64 {
    let all: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| (1.0 - rate / all) * (2.0 * all / rate - 1.0)).sum();
    squares - (rates.len() as f64 - 1.0).powi(2)
}

/// P(lag = k) for equal workers with exponential compute times, a step every K gradients, whoever computed them, and workers that go on at once:
/// a gradient whose worker read while s others waited for the step has this lag if kK − s to kK − s + K − 1 others came in between, and their
/// number is geometric; s is as likely to be any of 0 to K − 1. Derived here.
pub fn memoryless_batch_probability(workers: u64, k_batch: u64, lag: u64) -> f64 {
    // P(at least x others came) = (1 − 1/n)^x.
    let others = 1.0 - 1.0 / workers as f64;
    let least = |x: u64| others.powf(x as f64);
    let one = |waiting: u64| {
        let first = (lag * k_batch).saturating_sub(waiting);
        least(first) * (1.0 - least(lag * k_batch + k_batch - waiting - first))
    };
    (0..k_batch).map(one).sum::<f64>() / k_batch as f64
}

/// P(lag = k) for k from 0 to `most` and n equal workers whose compute times are sums of `shape` equal exponential phases, one gradient a step.
/// While a gradient is computed the phases of the others are a Poisson process, split evenly among them; one with j phases has pushed c times
/// with probability (1 − |j − c × shape| / shape)⁺, as it is as likely to begin in any phase. Derived here.
pub fn erlang_probabilities(workers: u64, shape: u64, most: u64) -> Vec<f64> {
    let (r, most, phases) = (shape as f64, most as usize, ((most + workers) * shape) as usize);
    let pushed = |c: usize, j: usize| (1.0 - (j as f64 - c as f64 * r).abs() / r).max(0.0);
    // P(they pushed c times | j phases) for a growing number of others, from which the last takes a binomial share.
    let table = |of: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
        (0..=most).map(|c| (0..=phases).map(|j| of(c, j)).collect()).collect()
    };
    let mut all = table(&|c, j| f64::from(u8::from(c == 0 && j == 0)));
    for others in 1..workers {
        let shares: Vec<Vec<f64>> = (0..=phases).map(|j| binomial(j, 1.0 / others as f64)).collect();
        let before = all;
        all = table(&|c, j| {
            let last = |own: usize, took: usize| pushed(own, took) * before[c - own][j - took];
            (0..=j).map(|took| shares[j][took] * (0..=c).map(|own| last(own, took)).sum::<f64>()).sum()
        });
    }
    // The number of phases of the others is negative binomial: the gradient itself ends at its own phase number `shape`.
    let (mut chance, mut chances) = ((1.0 / workers as f64).powf(r), Vec::new());
    for j in 0..=phases {
        chances.push(chance);
        chance *= (j as f64 + r) / (j as f64 + 1.0) * (workers as f64 - 1.0) / workers as f64;
    }
    all.iter().map(|row| row.iter().zip(&chances).map(|(given, chance)| given * chance).sum()).collect()
}

/// The probabilities of 0 to `count` successes.
fn binomial(count: usize, chance: f64) -> Vec<f64> {
    if chance >= 1.0 {
        return (0..=count).map(|successes| f64::from(u8::from(successes == count))).collect();
    }
    let mut probabilities = vec![(1.0 - chance).powf(count as f64)];
    for successes in 0..count {
        let odds = (count - successes) as f64 / (successes + 1) as f64 * chance / (1.0 - chance);
        probabilities.push(probabilities[successes] * odds);
    }
    probabilities
}

/// The mean lag of worker i of several with constant compute times, whatever their offsets: Tᵢ Σ 1/Tⱼ − 1, as in a long time each pushes
/// once in its own.
pub fn constant_mean_of(compute_s: &[f64], worker: usize) -> f64 {
    compute_s[worker] * compute_s.iter().map(|time| 1.0 / time).sum::<f64>() - 1.0
}

/// Workers with constant compute times, which begin at times of their own and never wait: everything is a matter of counting. Times are exact
/// where they are sums of powers of two; else rounding may decide which of two pushes at one time is first.
#[derive(Clone, Debug, PartialEq)]
pub struct Constants {
    /// The compute time of each.
    pub compute_s: Vec<f64>,
    /// When each begins, with version 0 or what is there.
    pub starts_s: Vec<f64>,
    /// Of pushes at one time, whether all come before any of these workers reads. Else each reads right after its push, in the order of workers.
    pub reads_after_all: bool,
}

impl Constants {
    /// How many pushes, of any worker, there are up to then, or before then.
    fn pushes_of(&self, worker: usize, time_s: f64, then_too: bool) -> u64 {
        let periods = (time_s - self.starts_s[worker]) / self.compute_s[worker];
        let whole = if then_too { periods.floor() } else { periods.ceil() - 1.0 };
        whole.max(0.0) as u64
    }

    /// When the push number `push` of a worker is, from 1 on.
    pub fn time_s(&self, worker: usize, push: u64) -> f64 {
        self.starts_s[worker] + push as f64 * self.compute_s[worker]
    }

    /// Which push of all this is, from 0 on: the version, where each push is a step.
    pub fn place(&self, worker: usize, push: u64) -> u64 {
        let time_s = self.time_s(worker, push);
        let before =
            |other: usize| if other == worker { push - 1 } else { self.pushes_of(other, time_s, other < worker) };
        (0..self.compute_s.len()).map(before).sum()
    }

    /// The lag of that push, where each push is a step: the pushes of the others since the worker read.
    pub fn lag(&self, worker: usize, push: u64) -> u64 {
        let (read_s, time_s) = (self.time_s(worker, push - 1), self.time_s(worker, push));
        let others = (0..self.compute_s.len()).filter(|&other| other != worker);
        let since = |other: usize| {
            let seen = self.reads_after_all || other < worker;
            self.pushes_of(other, time_s, other < worker) - self.pushes_of(other, read_s, seen)
        };
        others.map(since).sum()
    }

    /// Of the first so many pushes: who, and its push number.
    pub fn pushes(&self, count: u64) -> Vec<(usize, u64)> {
        let mut all: Vec<(usize, u64)> = (0..self.compute_s.len())
            .flat_map(|worker| (1..=count).map(move |push| (worker, push)))
            .filter(|&(worker, push)| self.place(worker, push) < count)
            .collect();
        all.sort_by_key(|&(worker, push)| self.place(worker, push));
        all
    }
}

/// The lag of the push number `place` of all, from 0 on, whose worker's push before it was number `before` (`None` for its first), where every K
/// pushes make a step, and the worker that brings the last reads after the step: ⌊place / K⌋ − ⌊(before + 1) / K⌋.
pub fn in_batch(place: u64, before: Option<u64>, k_batch: u64) -> u64 {
    place / k_batch - before.map_or(0, |before| (before + 1) / k_batch)
}
