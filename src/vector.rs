//! Sums over vectors in one fixed order: eight lanes, added up pairwise at the end. The compiler vectorises the lanes,
//! and the order, and so every bit of the result, is the same on every machine and at any optimisation.

const LANES: usize = 8;

/// Σ `term(aᵢ, bᵢ)` over two vectors of equal length.
#[inline]
fn sum_of(a: &[f64], b: &[f64], term: impl Fn(f64, f64) -> f64) -> f64 {
    let mut lanes = [0.0; LANES];
    let (a_whole, a_rest) = a.as_chunks::<LANES>();
    let (b_whole, b_rest) = b.as_chunks::<LANES>();
    for (x, y) in a_whole.iter().zip(b_whole) {
        for lane in 0..LANES {
            lanes[lane] += term(x[lane], y[lane]);
        }
    }
    for (lane, (x, y)) in a_rest.iter().zip(b_rest).enumerate() {
        lanes[lane] += term(*x, *y);
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (b + f)) + ((c + g) + (d + h))
}

/// The inner product.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    sum_of(a, b, |x, y| x * y)
}

/// The Euclidean norm.
pub fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// The Euclidean distance.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    sum_of(a, b, |x, y| (x - y) * (x - y)).sqrt()
}

/// `a` += `factor` · `b`.
pub fn add_scaled(a: &mut [f64], factor: f64, b: &[f64]) {
    for (x, y) in a.iter_mut().zip(b) {
        *x += factor * y;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_take_in_every_element_at_any_length() {
        for length in 0..40 {
            let ones = vec![1.0; length];
            let index: Vec<f64> = (0..length).map(|i| i as f64).collect();
            assert_eq!(dot(&ones, &index), (length * length.saturating_sub(1) / 2) as f64);
            assert_eq!(norm(&ones), (length as f64).sqrt());
            assert_eq!(distance(&ones, &vec![3.0; length]), 2.0 * (length as f64).sqrt());
        }
    }
}
