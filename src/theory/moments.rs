//! Asynchronous SGD with workers of unequal speeds and objectives, exactly: worker i has exponential compute times, makes the share pᵢ of the
//! steps, and its own objective aᵢ (w − bᵢ)²/2; its gradient is a step of its own, at what it holds, after which it reads again. Network and
//! server take no time. As the next to push is drawn anew each time, the moments of w and of what the workers hold close among themselves
//! (derived; for equal workers that is the implicit momentum of Mitliagkas, Zhang, Hadjis and Ré, 2016).

use super::linear::{Matrix, solve, spectral_radius, zeros};

/// Such workers, and the server's learning rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Memoryless {
    /// Which share of the pushes is whose: rates over their sum.
    pub shares: Vec<f64>,
    /// aᵢ.
    pub curvatures: Vec<f64>,
    /// bᵢ.
    pub minima: Vec<f64>,
    /// The learning rate.
    pub learning_rate: f64,
}

impl Memoryless {
    /// E w(t) for t from 0 to `steps`, all beginning at `start`.
    pub fn mean(&self, start: f64, steps: usize) -> Vec<f64> {
        let (mut now, mut held) = (start, vec![start; self.shares.len()]);
        let mut mean = vec![start];
        for _ in 0..steps {
            let after: Vec<f64> = (0..held.len())
                .map(|i| now - self.learning_rate * self.curvatures[i] * (held[i] - self.minima[i]))
                .collect();
            now = self.shares.iter().zip(&after).map(|(share, after)| share * after).sum();
            for ((held, after), share) in held.iter_mut().zip(&after).zip(&self.shares) {
                *held += share * (after - *held);
            }
            mean.push(now);
        }
        mean
    }

    /// E w in the long run: Σ pᵢ cᵢ bᵢ / Σ pᵢ cᵢ with cᵢ = aᵢ / (1 + learning rate × aᵢ), at any learning rate that is stable. Derived here: a
    /// worker's own step is in what it reads next.
    pub fn stationary_mean(&self) -> f64 {
        let weight = |i: usize| self.shares[i] * self.curvatures[i] / (1.0 + self.learning_rate * self.curvatures[i]);
        weighted(&self.minima, weight)
    }

    /// The limit of that for small learning rates, Σ pᵢ aᵢ bᵢ / Σ pᵢ aᵢ: every worker's objective counts as often as it pushes. With shares of
    /// what is applied it says where a protocol that drops gradients goes, for small learning rates.
    pub fn small_step_mean(&self) -> f64 {
        weighted(&self.minima, |i| self.shares[i] * self.curvatures[i])
    }

    /// The minimum of the mean of the objectives, Σ aᵢ bᵢ / Σ aᵢ, which the others miss.
    pub fn minimiser(&self) -> f64 {
        weighted(&self.minima, |i| self.curvatures[i])
    }

    /// The variance of w in the long run for equal minima, in units of (learning rate × deviation of the gradients' noise)²: the solution of
    /// S = Σ pᵢ (Mᵢ S Mᵢᵀ + qᵢ qᵢᵀ), where Mᵢ is the push of worker i, and qᵢ where its noise goes. `None` where [`Memoryless::square_rate`]
    /// is 1 or more. For up to about ten workers: it is a linear system of (n + 1)² equations.
    pub fn variance(&self) -> Option<f64> {
        if self.square_rate() >= 1.0 {
            return None;
        }
        let size = self.shares.len() + 1;
        let mut system = self.pairs();
        for (row, entries) in system.iter_mut().enumerate() {
            for (column, entry) in entries.iter_mut().enumerate() {
                *entry = f64::from(u8::from(row == column)) - *entry;
            }
        }
        let mut noise = vec![0.0; size * size];
        for (i, share) in self.shares.iter().enumerate() {
            // The noise of worker i's gradient is in w, and in what worker i reads.
            for place in [0, i + 1, (i + 1) * size, (i + 1) * size + i + 1] {
                noise[place] += share;
            }
        }
        Some(solve(system, noise)[0])
    }

    /// By which factor a push multiplies E (w − limit)² in the long run.
    pub fn square_rate(&self) -> f64 {
        spectral_radius(&self.pairs())
    }

    /// Σ pᵢ Mᵢ ⊗ Mᵢ on (w, r₁ … rₙ).
    fn pairs(&self) -> Matrix {
        let size = self.shares.len() + 1;
        let mut sum = zeros(size * size);
        for (i, share) in self.shares.iter().enumerate() {
            // Each row of Mᵢ as the few entries that are not 0.
            let step = vec![(0, 1.0), (i + 1, -self.learning_rate * self.curvatures[i])];
            let row = |at: usize| if at == 0 || at == i + 1 { step.clone() } else { vec![(at, 1.0)] };
            for first in 0..size {
                for second in 0..size {
                    for &(left, a) in &row(first) {
                        for &(right, b) in &row(second) {
                            sum[first * size + second][left * size + right] += share * a * b;
                        }
                    }
                }
            }
        }
        sum
    }
}

fn weighted(values: &[f64], weight: impl Fn(usize) -> f64) -> f64 {
    let all: f64 = (0..values.len()).map(&weight).sum();
    values.iter().enumerate().map(|(i, value)| weight(i) * value).sum::<f64>() / all
}

/// The w after each push of a period, in the long run, where the pushes of `workers`, with the lags `lags`, come again and again: constant
/// compute times, whose period is their least common multiple. The solution of w(t) = w(t − 1) − learning rate × aᵢ (w(t − 1 − lag) − bᵢ), in
/// which t goes round.
pub fn periodic_orbit(
    workers: &[usize],
    lags: &[usize],
    curvatures: &[f64],
    minima: &[f64],
    learning_rate: f64,
) -> Vec<f64> {
    let period = workers.len();
    let (mut system, mut right) = (zeros(period), vec![0.0; period]);
    for (t, (&worker, &lag)) in workers.iter().zip(lags).enumerate() {
        let step = learning_rate * curvatures[worker];
        system[t][t] += 1.0;
        system[t][(t + period - 1) % period] -= 1.0;
        system[t][(t + (lag / period + 2) * period - 1 - lag) % period] += step;
        right[t] = step * minima[worker];
    }
    solve(system, right)
}
