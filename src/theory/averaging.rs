//! Models of workers that are averaged or pulled together: local SGD, and elastic averaging.

use super::linear::{Matrix, spectral_radius, zeros};

/// A round of local SGD, w → fixed point + contraction × (w − fixed point).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    /// By which factor a round multiplies the distance.
    pub contraction: f64,
    /// Where it ends.
    pub fixed_point: f64,
}

/// H local steps of workers with objectives aᵢ (w − bᵢ)²/2, and then the mean of their models: with qᵢ = (1 − learning rate × aᵢ)^H the contraction
/// is the mean of the qᵢ, and the fixed point the mean of the bᵢ weighted by 1 − qᵢ. H = 1 leads to the minimum of the mean, H → ∞ to the mean of
/// the minima (one line: worker i comes to bᵢ + qᵢ (w − bᵢ)).
pub fn local_sgd(curvatures: &[f64], minima: &[f64], learning_rate: f64, local_steps: u64) -> Round {
    let kept: Vec<f64> = curvatures.iter().map(|a| (1.0 - learning_rate * a).powf(local_steps as f64)).collect();
    let gone: f64 = kept.iter().map(|q| 1.0 - q).sum();
    let pull: f64 = kept.iter().zip(minima).map(|(q, b)| (1.0 - q) * b).sum();
    Round { contraction: kept.iter().sum::<f64>() / kept.len() as f64, fixed_point: pull / gone }
}

/// The variance of the averaged model in the long run for n equal workers, in units of (learning rate × deviation of the noise)², with α =
/// learning rate × curvature: 1 / (n α (2 − α)), whatever H, as averaging and steps commute.
pub fn local_sgd_variance(alpha: f64, workers: u64) -> f64 {
    1.0 / (workers as f64 * alpha * (2.0 - alpha))
}

/// How elastic averaging behaves on x²/2 where all workers exchange at once: xᵢ ← xᵢ − η xᵢ − α (xᵢ − x̃), x̃ ← x̃ + α Σ (xᵢ − x̃), old values on the
/// right (Zhang, Choromanska and LeCun, 2015). What the workers have in common and the centre are one system, with two rates; what they
/// differ in, another. Rates are eigenvalues, the greater modulus first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elastic {
    /// The eigenvalues of the common mode, where they are real.
    pub common: Option<(f64, f64)>,
    /// The eigenvalue of differences between workers, 1 − η − α.
    pub difference: f64,
    /// Up to which β = n α the common mode is stable for this α, β being counted on its own: 2 − 2 α / (2 − η).
    pub centre_edge: f64,
}

/// That, for n workers.
pub fn elastic(workers: u64, learning_rate: f64, alpha: f64) -> Elastic {
    let beta = workers as f64 * alpha;
    let (own, centre) = (1.0 - learning_rate - alpha, 1.0 - beta);
    let (middle, product) = ((own + centre) / 2.0, own * centre - alpha * beta);
    let root = middle * middle - product;
    let common = (root >= 0.0).then(|| {
        // The greater without cancellation, the other from their product.
        let greater = middle + root.sqrt().copysign(middle);
        (greater, if greater == 0.0 { 0.0 } else { product / greater })
    });
    Elastic { common, difference: own, centre_edge: 2.0 - 2.0 * alpha / (2.0 - learning_rate) }
}

/// Up to which α workers that exchange in turn are stable for certain, and exactly so if there is one: (4 − 2 η) / (4 − η) (Zhang, Choromanska and
/// LeCun, 2015).
pub fn elastic_bound(learning_rate: f64) -> f64 {
    (4.0 - 2.0 * learning_rate) / (4.0 - learning_rate)
}

/// Up to which α n workers that exchange in turn are stable: where the greatest eigenvalue of a round reaches modulus 1, beyond that bound, found
/// by halving. For 0 < η < 2.
pub fn elastic_edge(workers: usize, learning_rate: f64) -> f64 {
    let stable = |alpha: f64| spectral_radius(&round(workers, learning_rate, alpha)) < 1.0;
    let bound = elastic_bound(learning_rate);
    let (mut low, mut high) = (bound * (1.0 - 1e-3), bound);
    while stable(high) {
        (low, high) = (high, high * 1.001);
    }
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if stable(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// What a round does to the workers and, last, the centre.
fn round(workers: usize, learning_rate: f64, alpha: f64) -> Matrix {
    let mut all = zeros(workers + 1);
    for (at, row) in all.iter_mut().enumerate() {
        row[at] = 1.0;
    }
    for worker in 0..workers {
        let (models, centre) = all.split_at_mut(workers);
        for (own, centre) in models[worker].iter_mut().zip(&mut centre[0]) {
            let apart = *own - *centre;
            *own -= learning_rate * *own + alpha * apart;
            *centre += alpha * apart;
        }
    }
    all
}
