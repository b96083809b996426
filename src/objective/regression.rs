//! The losses of the classic regressions, as functions of the scores xᵀw.

use super::data_fit::Loss;

/// (score − y)² / 2.
#[derive(Debug)]
pub struct Squares;

impl Loss for Squares {
    fn scores(&self) -> usize {
        1
    }
    fn value(&self, scores: &[f64], y: f64) -> f64 {
        (scores[0] - y) * (scores[0] - y) / 2.0
    }
    fn derivative(&self, scores: &mut [f64], y: f64) {
        scores[0] -= y;
    }
    fn curve(&self, _: &[f64], _: &mut [f64]) {}
    fn curvature(&self) -> f64 {
        1.0
    }
}

/// ln(1 + eˢ) − y·s for y in {0, 1}, written so that no exponential overflows.
#[derive(Debug)]
pub struct Logistic;

fn sigmoid(score: f64) -> f64 {
    if score >= 0.0 { 1.0 / (1.0 + (-score).exp()) } else { score.exp() / (1.0 + score.exp()) }
}

impl Loss for Logistic {
    fn scores(&self) -> usize {
        1
    }
    fn value(&self, scores: &[f64], y: f64) -> f64 {
        let score = scores[0];
        score.max(0.0) - y * score + (-score.abs()).exp().ln_1p()
    }
    fn derivative(&self, scores: &mut [f64], y: f64) {
        scores[0] = sigmoid(scores[0]) - y;
    }
    fn curve(&self, scores: &[f64], direction: &mut [f64]) {
        let p = sigmoid(scores[0]);
        direction[0] *= p * (1.0 - p);
    }
    fn curvature(&self) -> f64 {
        0.25
    }
}

/// ln Σ exp(sⱼ) − s_y.
#[derive(Debug)]
pub struct Softmax {
    /// Of the targets.
    pub classes: usize,
}

/// Replaces scores by probabilities; returns ln Σ exp(score).
fn normalise(scores: &mut [f64]) -> f64 {
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    scores.iter_mut().for_each(|score| *score = (*score - top).exp());
    let total: f64 = scores.iter().sum();
    scores.iter_mut().for_each(|score| *score /= total);
    top + total.ln()
}

impl Loss for Softmax {
    fn scores(&self) -> usize {
        self.classes
    }
    fn value(&self, scores: &[f64], y: f64) -> f64 {
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = scores.iter().map(|score| (score - top).exp()).sum();
        top + total.ln() - scores[y as usize]
    }
    fn derivative(&self, scores: &mut [f64], y: f64) {
        normalise(scores);
        scores[y as usize] -= 1.0;
    }
    fn curve(&self, scores: &[f64], direction: &mut [f64]) {
        let mut p = [0.0; super::data_fit::MAX_CLASSES];
        let p = &mut p[..scores.len()];
        p.copy_from_slice(scores);
        normalise(p);
        let mean: f64 = p.iter().zip(direction.iter()).map(|(p, d)| p * d).sum();
        direction.iter_mut().zip(p).for_each(|(d, p)| *d = *p * (*d - mean));
    }
    fn curvature(&self) -> f64 {
        // Böhning (1992): diag(p) − ppᵀ has no eigenvalue above ½.
        0.5
    }
}
