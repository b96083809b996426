//! Linear algebra on small dense matrices, as far as closed forms need it. A matrix is a list of rows.

pub(super) type Matrix = Vec<Vec<f64>>;

/// A matrix of zeros.
pub(super) fn zeros(size: usize) -> Matrix {
    vec![vec![0.0; size]; size]
}

/// The x with a x = b, by elimination with pivots. `a` must not be singular.
pub(super) fn solve(mut a: Matrix, mut b: Vec<f64>) -> Vec<f64> {
    let size = b.len();
    for column in 0..size {
        let pivot = (column..size).max_by(|&i, &j| a[i][column].abs().total_cmp(&a[j][column].abs())).unwrap_or(column);
        a.swap(column, pivot);
        b.swap(column, pivot);
        let (above, below) = a.split_at_mut(column + 1);
        let top = &above[column];
        for (row, rest) in below.iter_mut().enumerate() {
            let factor = rest[column] / top[column];
            if factor != 0.0 {
                for (to, from) in rest[column..].iter_mut().zip(&top[column..]) {
                    *to -= factor * from;
                }
                b[column + 1 + row] -= factor * b[column];
            }
        }
    }
    for row in (0..size).rev() {
        let known: f64 = (row + 1..size).map(|column| a[row][column] * b[column]).sum();
        b[row] = (b[row] - known) / a[row][row];
    }
    b
}

/// The greatest modulus of an eigenvalue, lim ‖aᵏ‖^(1/k) (Gelfand), with k doubled by squaring: what rounding does to a late square counts
/// for little, and complex eigenvalues need no care.
pub(super) fn spectral_radius(a: &Matrix) -> f64 {
    let (mut power, mut log, mut weight) = (a.clone(), 0.0, 1.0);
    for _ in 0..60 {
        let norm = power.iter().flatten().fold(0.0f64, |most, entry| most.max(entry.abs()));
        if norm == 0.0 {
            // Either a power of its size is 0, or a double eigenvalue has rounded away, late.
            if weight * 2.0 * a.len() as f64 >= 1.0 {
                return 0.0;
            }
            break;
        }
        log += weight * norm.ln();
        power.iter_mut().flatten().for_each(|entry| *entry /= norm);
        power = product(&power, &power);
        weight /= 2.0;
    }
    log.exp()
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut result = zeros(a.len());
    for (row, left) in result.iter_mut().zip(a) {
        for (factor, right) in left.iter().zip(b) {
            if *factor != 0.0 {
                row.iter_mut().zip(right).for_each(|(to, from)| *to += factor * from);
            }
        }
    }
    result
}

/// The greatest modulus of a root of zⁿ + c(n−1) zⁿ⁻¹ + … + c(0), with the coefficients from c(0) on.
pub(super) fn largest_root(coefficients: &[f64]) -> f64 {
    let mut companion = zeros(coefficients.len());
    for (row, coefficient) in coefficients.iter().enumerate() {
        companion[row][coefficients.len() - 1] = -coefficient;
        if row > 0 {
            companion[row][row - 1] = 1.0;
        }
    }
    spectral_radius(&companion)
}

/// The stationary probabilities of a chain that can get from any state to any other, from what leads from row to column: rates, or
/// probabilities; the diagonal is not read. Elimination without subtractions (Grassmann, Taksar and Heyman, 1985), so that the smallest
/// have as many right digits as the greatest.
pub(super) fn stationary(mut rates: Matrix) -> Vec<f64> {
    let size = rates.len();
    for last in (1..size).rev() {
        let out: f64 = rates[last][..last].iter().sum();
        let (above, below) = rates.split_at_mut(last);
        for row in above.iter_mut() {
            row[last] /= out;
            let share = row[last];
            if share != 0.0 {
                row[..last].iter_mut().zip(&below[0][..last]).for_each(|(to, from)| *to += share * from);
            }
        }
    }
    let mut probabilities = vec![1.0];
    for state in 1..size {
        let flow = probabilities.iter().zip(&rates).map(|(probability, row)| probability * row[state]).sum();
        probabilities.push(flow);
    }
    let all: f64 = probabilities.iter().sum();
    probabilities.iter().map(|probability| probability / all).collect()
}
