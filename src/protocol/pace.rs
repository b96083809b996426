//! Who may start now. Told what happened, it names the workers that may go on; it knows no clock and no parameters.

use super::choices::{Next, Pace};
use super::clocks::{Gap, Sampled};
use crate::kernel::{Purpose, Stream, Streams};
use crate::units::NonNegative;
use rand::RngExt;
use std::collections::{BTreeMap, VecDeque};

/// The stream of whom to send the next task to.
const CHOICE: Purpose = Purpose(6);

/// What the pace needs to know of the cluster.
#[derive(Clone, Debug)]
pub struct Party {
    /// The class of each worker.
    pub classes: Vec<u32>,
    /// How many gradients a step takes.
    pub gradients_per_step: u64,
    /// The version at the start.
    pub version: u64,
    /// Where its randomness comes from.
    pub streams: Streams,
}

/// The state behind a [`Pace`].
#[derive(Debug)]
pub struct Pacer {
    state: State,
    workers: u32,
    /// What there is to know of workers that have left: whether they want to start when they are back. Empty until one has.
    gone: BTreeMap<u32, bool>,
}

#[derive(Debug)]
enum State {
    AtOnce,
    Barrier,
    Gap(Gap),
    Sampled(Sampled),
    Slots { free: u64, next: Next, resting: VecDeque<u32>, chosen: u64, random: Stream },
    Routed { tasks: u64, upto: Vec<f64>, sent: u64, random: Stream },
    Budget { ahead: u64, batch: u64, admitted: u64, batches: u64, waiting: VecDeque<u32> },
    Tokens { newest: u64, left: VecDeque<(u64, u64)>, per_step: u64, carried: Vec<u64>, waiting: VecDeque<u32> },
}

impl Pacer {
    /// Nobody has joined yet.
    pub fn new(pace: &Pace, party: Party) -> Pacer {
        let workers = party.classes.len();
        let random = party.streams.stream(CHOICE, 0);
        let state = match pace {
            Pace::AtOnce => State::AtOnce,
            Pace::Barrier => State::Barrier,
            Pace::ClockGap { bound, sample: Some(sample) } if (sample.get() as usize) < workers.saturating_sub(1) => {
                State::Sampled(Sampled::new(*bound, sample.get() as usize, workers, party.streams))
            }
            Pace::ClockGap { bound, .. } => State::Gap(Gap::new(*bound, workers)),
            Pace::Slots { concurrency, next } => State::Slots {
                free: concurrency.get(),
                next: *next,
                resting: VecDeque::with_capacity(workers),
                chosen: 0,
                random,
            },
            Pace::Routed { tasks, shares, .. } => {
                let upto = cumulative(shares, &party.classes);
                State::Routed { tasks: tasks.get(), upto, sent: 0, random }
            }
            Pace::Budget { eta, batch } => State::Budget {
                // A whole number, whatever the rounding of a fraction such as 0.15 · 100.
                ahead: (eta.get() * batch.get() as f64 + 1e-9).floor() as u64,
                batch: batch.get(),
                admitted: 0,
                batches: 0,
                waiting: VecDeque::with_capacity(workers),
            },
            Pace::Tokens => State::Tokens {
                newest: party.version,
                left: VecDeque::from([(party.version, party.gradients_per_step)]),
                per_step: party.gradients_per_step.max(workers as u64),
                carried: vec![party.version; workers],
                waiting: VecDeque::with_capacity(workers),
            },
        };
        Pacer { state, workers: workers as u32, gone: BTreeMap::new() }
    }

    /// A worker has joined. Those that may start are added to `starts`, as by all of these methods; with tasks that go round, a
    /// worker is named once for each task that is sent to it.
    pub fn joined(&mut self, worker: u32, starts: &mut Vec<u32>) {
        match &mut self.state {
            State::AtOnce | State::Barrier | State::Gap(_) | State::Sampled(_) | State::Tokens { .. } => {
                starts.push(worker);
            }
            State::Slots { resting, .. } => {
                resting.push_back(worker);
                self.fill(starts);
            }
            State::Routed { tasks, .. } => {
                let (workers, worker) = (u64::from(self.workers), u64::from(worker));
                let own = *tasks / workers + u64::from(worker < *tasks % workers);
                starts.extend((0..own).map(|_| worker as u32));
            }
            State::Budget { waiting, .. } => {
                waiting.push_back(worker);
                self.fill(starts);
            }
        }
    }

    /// The gradient of a worker was dealt with: kept for a step, used by one, or `refused`.
    pub fn done(&mut self, worker: u32, refused: bool, starts: &mut Vec<u32>) {
        if !self.gone.is_empty()
            && !matches!(self.state, State::Routed { .. } | State::Barrier)
            && let Some(asks) = self.gone.get_mut(&worker)
        {
            // What it sent before it left.
            *asks = true;
            if let State::Slots { free, .. } = &mut self.state {
                *free += 1;
                self.fill(starts);
            }
            return;
        }
        match &mut self.state {
            State::AtOnce => starts.push(worker),
            State::Barrier => starts.extend(refused.then_some(worker)),
            // What was refused is not completed: its worker is where it was, and may start again.
            State::Gap(_) | State::Sampled(_) if refused => starts.push(worker),
            State::Gap(gap) => gap.complete(worker, starts),
            State::Sampled(sampled) => sampled.complete(worker, starts),
            State::Slots { free, resting, .. } => {
                *free += 1;
                resting.push_back(worker);
                self.fill(starts);
            }
            State::Routed { upto, sent, random, .. } => {
                let total = upto.last().copied().unwrap_or(0.0);
                let at: f64 = random.draw(*sent).random::<f64>() * total;
                *sent += 1;
                starts.push(upto.partition_point(|&upto| upto <= at).min(upto.len() - 1) as u32);
            }
            // Refused, though its token is of the current version: it keeps that, as no step will make another for it.
            State::Tokens { newest, carried, .. } if refused && carried[worker as usize] == *newest => {
                starts.push(worker);
            }
            State::Budget { waiting, .. } | State::Tokens { waiting, .. } => {
                waiting.push_back(worker);
                self.fill(starts);
            }
        }
    }

    /// A step used a gradient of a worker that waits for just that.
    pub fn used(&mut self, worker: u32, starts: &mut Vec<u32>) {
        if let State::Barrier = self.state {
            starts.push(worker);
        }
    }

    /// A gradient that was held for a step will not be used after all. Its worker may wait for just that; and a token of the current
    /// version, `is_current`, that it was made with is there again, as no step will make another for it.
    pub fn unused(&mut self, worker: u32, is_current: bool, starts: &mut Vec<u32>) {
        if let State::Tokens { newest, left, .. } = &mut self.state
            && is_current
        {
            left.push_back((*newest, 1));
            self.fill(starts);
        }
        self.used(worker, starts);
    }

    /// A gradient that was started will not be used: it does not count against a budget.
    pub fn refund(&mut self, starts: &mut Vec<u32>) {
        if let State::Budget { admitted, .. } = &mut self.state {
            *admitted -= 1;
            self.fill(starts);
        }
    }

    /// The server came to a version, with so many batches used.
    pub fn stepped(&mut self, version: u64, batches_used: u64, starts: &mut Vec<u32>) {
        match &mut self.state {
            State::Budget { batches, .. } => *batches = batches_used,
            State::Tokens { newest, left, per_step, .. } => {
                *newest = version;
                left.push_back((version, *per_step));
            }
            _ => return,
        }
        self.fill(starts);
    }

    /// The server is back at an older version, with so many batches used; `undone` gradients count no longer.
    pub fn restored(&mut self, version: u64, batches_used: u64, undone: u64, starts: &mut Vec<u32>) {
        match &mut self.state {
            State::Budget { batches, admitted, .. } => {
                *batches = batches_used;
                *admitted = admitted.saturating_sub(undone);
            }
            State::Tokens { newest, left, per_step, carried, .. } => {
                *newest = version;
                left.clear();
                left.push_back((version, *per_step));
                carried.iter_mut().for_each(|carried| *carried = version.min(*carried));
            }
            _ => return,
        }
        self.fill(starts);
    }

    /// A worker is gone, and nobody waits for it any more. `owes` says whether it was to start, and did not: that is then somebody
    /// else's to do. Where tasks go round they stay with their worker.
    pub fn leave(&mut self, worker: u32, owes: bool, starts: &mut Vec<u32>) {
        let take = |row: &mut VecDeque<u32>| {
            let before = row.len();
            row.retain(|&other| other != worker);
            row.len() < before
        };
        let waited = match &mut self.state {
            State::AtOnce | State::Barrier | State::Routed { .. } => false,
            State::Sampled(sampled) => sampled.leave(worker, starts),
            State::Gap(gap) => gap.leave(worker, starts),
            State::Slots { free, resting, .. } => {
                *free += u64::from(owes);
                take(resting)
            }
            State::Budget { admitted, waiting, .. } => {
                *admitted -= u64::from(owes);
                take(waiting)
            }
            State::Tokens { newest, left, carried, waiting, .. } => {
                if owes && carried[worker as usize] == *newest {
                    left.push_back((*newest, 1));
                }
                take(waiting)
            }
        };
        self.gone.insert(worker, waited || owes);
        self.fill(starts);
    }

    /// A worker that had left is back.
    pub fn rejoin(&mut self, worker: u32, starts: &mut Vec<u32>) {
        match &mut self.state {
            State::Gap(gap) => gap.rejoin(worker),
            State::Sampled(sampled) => sampled.rejoin(worker),
            _ => {}
        }
        if self.gone.remove(&worker) == Some(true) {
            self.joined(worker, starts);
        }
    }

    /// The version that decides whether a worker's gradient is late: that of its token, or else the one that it read.
    pub fn base(&self, worker: u32, version_read: u64) -> u64 {
        match &self.state {
            State::Tokens { carried, .. } => carried[worker as usize],
            _ => version_read,
        }
    }

    /// Lets those start that now may.
    fn fill(&mut self, starts: &mut Vec<u32>) {
        match &mut self.state {
            State::Slots { free, next, resting, chosen, random } => {
                while *free > 0 && !resting.is_empty() {
                    let place = match next {
                        Next::InTurn => 0,
                        Next::Random => random.draw(*chosen).random_range(0..resting.len()),
                    };
                    *chosen += 1;
                    let worker = if place == 0 { resting.pop_front() } else { resting.swap_remove_back(place) };
                    starts.extend(worker);
                    *free -= 1;
                }
            }
            State::Budget { ahead, batch, admitted, batches, waiting } => {
                let most = batch.saturating_mul(*batches + 1).saturating_add(*ahead);
                while *admitted < most {
                    let Some(worker) = waiting.pop_front() else { break };
                    starts.push(worker);
                    *admitted += 1;
                }
            }
            State::Tokens { left, carried, waiting, .. } => {
                while let (Some((step, count)), false) = (left.front_mut(), waiting.is_empty()) {
                    let Some(worker) = waiting.pop_front() else { break };
                    carried[worker as usize] = *step;
                    starts.push(worker);
                    *count -= 1;
                    if *count == 0 {
                        left.pop_front();
                    }
                }
            }
            _ => {}
        }
    }
}

/// How likely the first worker is to be chosen, the first two, and so on, up to a common factor.
fn cumulative(shares: &[NonNegative], classes: &[u32]) -> Vec<f64> {
    // Divided by the greatest, so that neither their sum nor a part of one leaves what a number can hold.
    let greatest = shares.iter().map(|share| share.get()).fold(0.0, f64::max);
    let mut counts = vec![0.0; classes.iter().map(|&class| class as usize + 1).max().unwrap_or(0)];
    classes.iter().for_each(|&class| counts[class as usize] += 1.0);
    let weight =
        |&class: &u32| shares.get(class as usize).map_or(1.0, |share| share.get() / greatest / counts[class as usize]);
    let upto = classes.iter().map(weight).scan(0.0, |sum, weight| {
        *sum += weight;
        Some(*sum)
    });
    upto.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Count, NonNegative};

    fn pacer(pace: Pace, workers: u32, gradients_per_step: u64) -> Pacer {
        let party =
            Party { classes: vec![0; workers as usize], gradients_per_step, version: 0, streams: Streams::new(1, 0) };
        Pacer::new(&pace, party)
    }

    const NOBODY: [u32; 0] = [];

    fn count(value: u64) -> Count {
        Count::new(value).unwrap()
    }

    fn told(tell: impl FnOnce(&mut Vec<u32>)) -> Vec<u32> {
        let mut starts = Vec::new();
        tell(&mut starts);
        starts
    }

    #[test]
    fn a_barrier_lets_go_those_whose_gradient_was_used_or_refused() {
        let mut pacer = pacer(Pace::Barrier, 2, 2);
        assert_eq!(told(|starts| pacer.done(0, false, starts)), NOBODY);
        assert_eq!(told(|starts| pacer.done(1, true, starts)), [1]);
        assert_eq!(told(|starts| pacer.used(0, starts)), [0]);
    }

    #[test]
    fn the_fastest_waits_for_the_slowest() {
        let mut pacer = pacer(Pace::ClockGap { bound: 1, sample: None }, 2, 1);
        assert_eq!(told(|starts| pacer.done(0, false, starts)), [0]);
        assert_eq!(told(|starts| pacer.done(0, false, starts)), NOBODY);
        assert_eq!(told(|starts| pacer.done(1, false, starts)), [0, 1]);
    }

    #[test]
    fn a_sample_holds_back_until_all_of_it_have_caught_up() {
        let mut pacer = pacer(Pace::ClockGap { bound: 0, sample: Some(count(2)) }, 4, 1);
        assert_eq!(told(|starts| pacer.done(0, false, starts)), NOBODY);
        let others: Vec<Vec<u32>> = (1..4).map(|other| told(|starts| pacer.done(other, false, starts))).collect();
        // Each may itself wait, but by then everyone has completed one gradient.
        let mut started: Vec<u32> = others.concat();
        started.sort_unstable();
        assert_eq!(started, [0, 1, 2, 3]);
        assert!(!others[0].contains(&0), "two of three others were looked at, one cannot be enough");
    }

    #[test]
    fn a_slot_goes_to_whoever_rested_longest() {
        let mut pacer = pacer(Pace::Slots { concurrency: count(1), next: Next::InTurn }, 3, 1);
        let joined: Vec<Vec<u32>> = (0..3).map(|worker| told(|starts| pacer.joined(worker, starts))).collect();
        assert_eq!(joined, [vec![0], vec![], vec![]]);
        assert_eq!(told(|starts| pacer.done(0, false, starts)), [1]);
        assert_eq!(told(|starts| pacer.done(1, false, starts)), [2]);
        assert_eq!(told(|starts| pacer.done(2, false, starts)), [0]);
    }

    #[test]
    fn tasks_are_spread_at_the_start_and_routed_by_shares() {
        let shares = vec![NonNegative::new(0.0).unwrap(), NonNegative::new(2.0).unwrap()];
        let party = Party { classes: vec![0, 0, 1], gradients_per_step: 1, version: 0, streams: Streams::new(1, 0) };
        let mut pacer = Pacer::new(&Pace::Routed { tasks: count(4), shares, unbiased: false }, party);
        let joined: Vec<Vec<u32>> = (0..3).map(|worker| told(|starts| pacer.joined(worker, starts))).collect();
        assert_eq!(joined, [vec![0, 0], vec![1], vec![2]]);
        for _ in 0..50 {
            assert_eq!(told(|starts| pacer.done(0, false, starts)), [2]);
        }
    }

    #[test]
    fn a_budget_grows_by_batches_and_refunds() {
        let mut pacer = pacer(Pace::Budget { eta: NonNegative::new(0.5).unwrap(), batch: count(2) }, 5, 2);
        let joined: Vec<u32> = (0..5).flat_map(|worker| told(|starts| pacer.joined(worker, starts))).collect();
        assert_eq!(joined, [0, 1, 2], "(0.5 + 0 + 1) · 2");
        assert_eq!(told(|starts| pacer.refund(starts)), [3]);
        assert_eq!(told(|starts| pacer.done(0, true, starts)), NOBODY);
        assert_eq!(told(|starts| pacer.stepped(1, 1, starts)), [4, 0]);
    }

    #[test]
    fn a_token_whose_gradient_is_not_used_after_all_is_there_again() {
        let mut pacer = pacer(Pace::Tokens, 1, 1);
        assert_eq!(told(|starts| pacer.done(0, false, starts)), [0]);
        assert_eq!(told(|starts| pacer.done(0, false, starts)), NOBODY);
        assert_eq!(told(|starts| pacer.unused(0, false, starts)), NOBODY);
        assert_eq!(told(|starts| pacer.unused(0, true, starts)), [0]);
    }

    #[test]
    fn tokens_carry_the_version_of_the_step_that_made_them() {
        let mut pacer = pacer(Pace::Tokens, 2, 1);
        assert_eq!(
            told(|starts| pacer.done(0, false, starts)),
            [0],
            "one token at the start, as a step takes one gradient"
        );
        assert_eq!(told(|starts| pacer.done(0, false, starts)), NOBODY);
        assert_eq!(told(|starts| pacer.stepped(1, 1, starts)), [0]);
        assert_eq!((pacer.base(0, 9), pacer.base(1, 9)), (1, 0));
        assert_eq!(told(|starts| pacer.done(1, true, starts)), [1], "two tokens a step, as there are two workers");
    }
}
