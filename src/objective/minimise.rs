//! The minimum of a smooth convex function, by Newton's method with conjugate gradients (Nocedal and Wright, *Numerical
//! Optimization*, 2006, algorithms 5.2 and 3.1): data objectives have no formula for theirs.

use super::Objective;
use crate::vector::{add_scaled, dot, norm};

/// An objective whose Hessian can be applied to a vector.
pub trait Smooth: Objective {
    /// Writes ∇²f(`w`) · `direction` to `out`.
    fn hessian_times(&self, w: &[f64], direction: &[f64], out: &mut [f64]);
}

/// Gradients below this, relative to 1 + |f|, count as zero.
const TOLERANCE: f64 = 1e-10;

/// A minimiser, starting from `w`, or `None` if there seems to be none (separable classes without regularisation), or
/// none is found with `budget` evaluations of gradient or Hessian.
pub fn minimise(f: &impl Smooth, mut w: Vec<f64>, mut budget: usize) -> Option<Vec<f64>> {
    let mut gradient = vec![0.0; w.len()];
    for _ in 0..100 {
        f.gradient(&w, &mut gradient);
        budget = budget.saturating_sub(1);
        let loss = f.loss(&w);
        if norm(&gradient) <= TOLERANCE * (1.0 + loss.abs()) {
            return Some(w);
        }
        if budget == 0 {
            return None;
        }
        let step = newton_step(f, &w, &gradient, &mut budget);
        let slope = dot(&gradient, &step);
        let mut length = 1.0;
        let next = loop {
            let mut candidate = w.clone();
            add_scaled(&mut candidate, length, &step);
            // Near the minimum rounding hides the descent; a full step that does not climb is then good enough.
            let allowed = loss + 1e-4 * length * slope + 1e-14 * loss.abs();
            if f.loss(&candidate) <= allowed {
                break candidate;
            }
            length /= 2.0;
            budget = budget.saturating_sub(1);
            if length < 1e-12 || budget == 0 {
                return None;
            }
        };
        w = next;
    }
    None
}

/// Solves ∇²f · step = −gradient.
fn newton_step(f: &impl Smooth, w: &[f64], gradient: &[f64], budget: &mut usize) -> Vec<f64> {
    let mut step = vec![0.0; w.len()];
    let mut residual: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut direction = residual.clone();
    let mut curved = vec![0.0; w.len()];
    let mut square = dot(&residual, &residual);
    let target = square * 1e-24;
    for _ in 0..2 * w.len() + 10 {
        if *budget == 0 {
            break;
        }
        *budget -= 1;
        f.hessian_times(w, &direction, &mut curved);
        let curvature = dot(&direction, &curved);
        if curvature <= 1e-300 || square <= target {
            break;
        }
        let length = square / curvature;
        add_scaled(&mut step, length, &direction);
        add_scaled(&mut residual, -length, &curved);
        let next = dot(&residual, &residual);
        let ratio = next / square;
        direction.iter_mut().zip(&residual).for_each(|(d, r)| *d = r + ratio * *d);
        square = next;
    }
    step
}
