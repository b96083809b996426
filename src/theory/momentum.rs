//! Heavy-ball momentum under lag, on a quadratic f(w) = h w²/2 with α = learning rate × h: v ← μ v − α w(t − lag), w ← w + v.

use super::linear::largest_root;
use super::stability::{constant_lag_fastest, implicit_momentum};
use std::f64::consts::PI;

/// Up to which α that converges under a constant lag, for −1 < μ < 1: the least of α = |z − 1| |z − μ| over the z = e^(iθ) on the unit circle at
/// which α is real and positive. The phase of (z − 1) (z − μ) z^(lag − 1) there grows with θ, so that each is found by halving. Without lag it
/// is 2 (1 + μ). Derived from the characteristic equation (z − 1) (z − μ) z^(lag − 1) + α = 0.
pub fn heavy_ball_edge(momentum: f64, lag: u64) -> f64 {
    if lag == 0 {
        return 2.0 * (1.0 + momentum);
    }
    let phase =
        |theta: f64| (PI + theta) / 2.0 + theta.sin().atan2(theta.cos() - momentum) + (lag as f64 - 1.0) * theta;
    let crossing = |turns: u64| {
        let (mut low, mut high) = (0.0, PI);
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            if phase(middle) < (2 * turns + 1) as f64 * PI {
                low = middle;
            } else {
                high = middle;
            }
        }
        let theta = (low + high) / 2.0;
        2.0 * (theta / 2.0).sin() * theta.sin().hypot(theta.cos() - momentum)
    };
    // The phase ends at (lag + 1) π: at an odd multiple of π only for an even lag, where the last crossing is z = −1.
    let inner = (0..lag.div_ceil(2)).map(crossing).fold(f64::INFINITY, f64::min);
    if lag.is_multiple_of(2) { inner.min(2.0 * (1.0 + momentum)) } else { inner }
}

/// By which factor a step multiplies the error in the long run under a constant lag, above 1 beyond the edge: the greatest modulus of a root
/// of that equation. For lags up to about a hundred; without
/// momentum, see [`super::stability::constant_lag_rate`].
pub fn heavy_ball_rate(alpha: f64, momentum: f64, lag: u64) -> f64 {
    if lag == 0 {
        return largest_root(&[momentum, alpha - 1.0 - momentum]);
    }
    let mut coefficients = vec![0.0; lag as usize + 1];
    coefficients[lag as usize] = -(1.0 + momentum);
    coefficients[lag as usize - 1] = momentum;
    coefficients[0] += alpha;
    largest_root(&coefficients)
}

/// A momentum, a step and how fast they converge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeavyBall {
    /// μ.
    pub momentum: f64,
    /// α, the learning rate times the curvature.
    pub alpha: f64,
    /// By which factor a step multiplies the error in the long run.
    pub rate: f64,
}

/// The momentum and the α that converge fastest under a constant lag, for one curvature. Momentum is best negative. For an even lag the roots
/// ρ, ρ and −ρ have one modulus, where μ = −ρ², α = (1 − ρ²) ρ^lag and lag ρ² + 2 ρ = lag; for an odd one μ = −1, which leaves the recursion
/// of every other version, with lag (lag − 1)/2: for lag 1, it is done in two steps. Derived here.
pub fn heavy_ball_fastest(lag: u64) -> HeavyBall {
    if lag == 0 {
        return HeavyBall { momentum: 0.0, alpha: 1.0, rate: 0.0 };
    }
    if lag.is_multiple_of(2) {
        let tau = lag as f64;
        let rate = tau / (1.0 + (1.0 + tau * tau).sqrt());
        return HeavyBall { momentum: -rate * rate, alpha: (1.0 - rate * rate) * rate.powf(tau), rate };
    }
    let (alpha, rate) = constant_lag_fastest((lag - 1) / 2);
    HeavyBall { momentum: -1.0, alpha, rate: rate.sqrt() }
}

/// By which factor a step multiplies E w in the long run where the server has momentum β and n equal workers with exponential compute times
/// add theirs, 1 − 1/n: the greatest modulus of a root of (z − 1) (z − β) (z − μ) + α (1 − μ) z² = 0. Derived from the recursion of the mean
/// (Mitliagkas, Zhang, Hadjis and Ré, 2016).
pub fn total_rate(alpha: f64, momentum: f64, workers: u64) -> f64 {
    let mu = implicit_momentum(workers, 1);
    let square = alpha * (1.0 - mu) - 1.0 - momentum - mu;
    largest_root(&[-momentum * mu, momentum + mu + momentum * mu, square])
}
