//! What policies make of a stale gradient. A fresh gradient has lag 0.

/// (1 + lag)^(−a), what FedAsync's polynomial lets it count for (Xie, Koyejo and Gupta, 2019). With a = ½, FedBuff's weight (Nguyen and others,
/// 2022); with a = 1, learning rate / (1 + lag).
pub fn polynomial(lag: u64, a: f64) -> f64 {
    (lag as f64 + 1.0).powf(-a)
}

/// 1 up to the lag b, then 1 / (a (lag − b) + 1): FedAsync's hinge.
pub fn hinge(lag: u64, a: f64, b: u64) -> f64 {
    if lag <= b { 1.0 } else { 1.0 / (a * (lag - b) as f64 + 1.0) }
}

/// 1 / max(1, lag), staleness-aware asynchronous SGD (Zhang, Gupta, Lian and Liu, 2016).
pub fn inverse_lag(lag: u64) -> f64 {
    1.0 / lag.max(1) as f64
}

/// 1 up to the lag `bound`, then nothing.
pub fn cutoff(lag: u64, bound: u64) -> f64 {
    f64::from(u8::from(lag <= bound))
}

/// The parameter after a step with a gradient that counts for `weight`.
pub fn step(w: f64, gradient: f64, learning_rate: f64, weight: f64) -> f64 {
    w - learning_rate * weight * gradient
}

/// The learning rate up to which a step does not increase f(w) = h w²/2, whatever the gradient's age: 2 w / gradient, for one that points away from
/// the minimum; beyond the minimum on the other side w is as far off as before.
pub fn neutral_learning_rate(w: f64, gradient: f64) -> f64 {
    2.0 * w / gradient
}

/// The parameter after a model is mixed in with the share `mixing` × `weight`: (1 − share) w + share × model (FedAsync).
pub fn mix(w: f64, model: f64, mixing: f64, weight: f64) -> f64 {
    w + mixing * weight * (model - w)
}

/// A gradient compensated for what happened since it was read, g + λ g² (w − read) (DC-ASGD: Zheng and others, 2017).
pub fn compensated(gradient: f64, now: f64, read: f64, lambda: f64) -> f64 {
    gradient + lambda * gradient * gradient * (now - read)
}

/// The λ with which that is the fresh gradient, for curvature h: h / g². It depends on where the gradient was read: none is right all along a run.
pub fn exact_compensation(curvature: f64, gradient: f64) -> f64 {
    curvature / (gradient * gradient)
}

/// The mean square and the λ of the first step of the adaptive kind (DC-ASGD-a): λ₀ / √(mean square + 10⁻⁷), the mean square being (1 − m) g² as it
/// begins at 0.
pub fn first_adaptive_compensation(gradient: f64, lambda: f64, memory: f64) -> (f64, f64) {
    let square = (1.0 - memory) * gradient * gradient;
    (square, lambda / (square + 1e-7).sqrt())
}

/// w after each step, from w(0) = 1 on, where a step takes the mean of gradients of the lags that it is given, with α = learning rate × curvature:
/// w(v + 1) = w(v) − α × the mean of w(v − lag).
pub fn buffered_iterates(alpha: f64, lags: &[Vec<usize>]) -> Vec<f64> {
    let mut w = vec![1.0];
    for (version, lags) in lags.iter().enumerate() {
        let read: f64 = lags.iter().map(|lag| w[version - lag]).sum();
        w.push(w[version] - alpha * read / lags.len() as f64);
    }
    w
}
