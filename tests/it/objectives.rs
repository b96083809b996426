//! Every objective: gradients against finite differences, minima, curvature bounds; and the noise apart.

use laggard::data::Files;
use laggard::kernel::{Purpose, Streams};
use laggard::objective::{CATALOGUE, Data, Noise, Objective, Spec, Spectrum};

const ALL: &[&str] = &[
    "Quadratic(curvature: 2.0, minimum: 0.5)",
    "Diagonal(curvatures: Values([0.5, 1.0, 4.0]), minimum: -1.0)",
    "Diagonal(curvatures: Evenly(from: 0.1, to: 1.0, dimension: 19))",
    "Diagonal(curvatures: Geometrically(from: 0.01, to: 1.0, dimension: 5))",
    "Tridiagonal(dimension: 1)",
    "Tridiagonal(dimension: 30)",
    "Shifted(classes: [(curvature: 1.0, minimum: -1.0), (curvature: 3.0, minimum: 2.0)])",
    "LeastSquares(data: Generated(examples: 60, features: 4, noise: 0.3), regularisation: 0.1)",
    "Logistic(data: Generated(examples: 80, features: 3, noise: 2.0), regularisation: 0.01)",
    "Softmax(data: Generated(examples: 80, features: 3, noise: 1.0), classes: 4, regularisation: 0.05)",
    "Classic(function: Ackley, dimension: 3)",
    "Classic(function: Beale)",
    "Classic(function: Booth)",
    "Classic(function: Himmelblau)",
    "Classic(function: Levy, dimension: 3)",
    "Classic(function: Matyas)",
    "Classic(function: Rastrigin, dimension: 4)",
    "Classic(function: Rosenbrock, dimension: 5)",
    "Classic(function: StyblinskiTang, dimension: 2)",
];

fn build(text: &str) -> Box<dyn Objective> {
    let spec: Spec = ron::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    spec.build(&[3, 1], Streams::new(1, 0), &Files::default()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Points spread over (−2, 2), the same ones every time.
fn points(dimension: usize, count: u64) -> Vec<Vec<f64>> {
    use rand::Rng;
    let stream = Streams::new(2, 0).stream(Purpose(9), dimension as u64);
    let coordinate = |random: &mut laggard::kernel::Generator| 4.0 * (random.next_u64() as f64 / 2f64.powi(64)) - 2.0;
    (0..count)
        .map(|point| {
            let mut random = stream.draw(point);
            (0..dimension).map(|_| coordinate(&mut random)).collect()
        })
        .collect()
}

fn gradient(objective: &dyn Objective, w: &[f64]) -> Vec<f64> {
    let mut gradient = vec![f64::NAN; w.len()];
    objective.gradient(w, &mut gradient);
    gradient
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[test]
fn gradients_are_those_of_finite_differences() {
    for text in ALL {
        let objective = build(text);
        for w in points(objective.dimension(), 50) {
            let exact = gradient(objective.as_ref(), &w);
            for i in 0..w.len() {
                let mut moved = w.clone();
                let step = 1e-5;
                moved[i] = w[i] + step;
                let above = objective.loss(&moved);
                moved[i] = w[i] - step;
                let difference = (above - objective.loss(&moved)) / (2.0 * step);
                // Central differences err by step² times a third derivative, and by rounding of the losses.
                let scale = 1.0 + norm(&exact) + objective.loss(&w).abs();
                assert!((difference - exact[i]).abs() < 1e-6 * scale, "{text} at {w:?}: {difference} for {}", exact[i]);
            }
        }
    }
}

#[test]
fn minima_are_stationary_and_least() {
    for text in ALL {
        let objective = build(text);
        let best = objective.minimiser().unwrap_or_else(|| panic!("{text} has no minimiser")).to_vec();
        let slope = norm(&gradient(objective.as_ref(), &best));
        // Ackley's gradient is 0/0 at its minimum, and its library gives 0 or NaN by the way that rounding goes.
        assert!(slope < 1e-7 || text.contains("Ackley"), "{text}: slope {slope} at {best:?}");
        let least = objective.minimum().unwrap();
        assert!((least - objective.loss(&best)).abs() < 1e-12, "{text}");
        for w in points(objective.dimension(), 200) {
            assert!(objective.loss(&w) >= least - 1e-12, "{text}: {w:?} is lower");
        }
    }
}

/// ‖∇f(a) − ∇f(b)‖ lies between μ‖a − b‖ and L‖a − b‖ for a convex function.
#[test]
fn gradients_differ_by_no_more_and_no_less_than_the_curvature_allows() {
    for text in ALL {
        let objective = build(text);
        let Some((least, greatest)) = objective.curvature() else {
            assert!(text.contains("Classic"), "{text} has no curvature bounds");
            continue;
        };
        let points = points(objective.dimension(), 100);
        for pair in points.windows(2) {
            let apart = norm(&pair[0].iter().zip(&pair[1]).map(|(a, b)| a - b).collect::<Vec<f64>>());
            let (a, b) = (gradient(objective.as_ref(), &pair[0]), gradient(objective.as_ref(), &pair[1]));
            let change = norm(&a.iter().zip(&b).map(|(a, b)| a - b).collect::<Vec<f64>>());
            let (low, high) = (least * apart * (1.0 - 1e-12), greatest * apart * (1.0 + 1e-12));
            assert!(low <= change && change <= high, "{text}: {low} ≤ {change} ≤ {high}");
        }
    }
}

#[test]
fn the_tridiagonal_minimum_is_the_published_one() {
    let objective = build("Tridiagonal(dimension: 1729)");
    let best = objective.minimiser().unwrap();
    assert!((objective.minimum().unwrap() - objective.loss(best)).abs() < 1e-12);
    assert!((objective.minimum().unwrap() + 1729.0 / (8.0 * 1730.0)).abs() < 1e-15);
}

#[test]
fn classes_see_their_own_part_of_a_shifted_objective() {
    let objective = build("Shifted(classes: [(curvature: 1.0, minimum: -1.0), (curvature: 3.0, minimum: 2.0)])");
    let (mut first, mut second, mut all) = ([0.0], [0.0], [0.0]);
    objective.local_gradient(0, &[0.5], &mut first);
    objective.local_gradient(1, &[0.5], &mut second);
    objective.gradient(&[0.5], &mut all);
    assert_eq!((first, second), ([1.5], [-4.5]));
    // Three workers of the first class, one of the second.
    assert_eq!(all, [0.75 * 1.5 + 0.25 * -4.5]);
    assert_eq!(objective.minimiser().unwrap(), [(0.25 * 6.0 - 0.75) / 1.5]);
}

#[test]
fn the_average_of_example_gradients_is_the_gradient() {
    for text in ALL.iter().filter(|text| text.contains("Generated")) {
        let objective = build(text);
        let count = objective.examples().unwrap();
        let w = &points(objective.dimension(), 1)[0];
        let mut sum = vec![0.0; w.len()];
        (0..count).for_each(|example| objective.add_example_gradient(example, 1.0 / count as f64, w, &mut sum));
        let exact = gradient(objective.as_ref(), w);
        assert!(sum.iter().zip(&exact).all(|(a, b)| (a - b).abs() < 1e-12), "{text}");
    }
}

/// Mean and covariance of noisy gradients over 200,000 draws, within five standard errors.
#[test]
fn noise_has_the_moments_that_it_claims() {
    const DRAWS: u64 = 200_000;
    let objective = build("Diagonal(curvatures: Values([1.0, 2.0]))");
    let w = [1.0, -0.5];
    let exact = gradient(objective.as_ref(), &w);
    let cases = [
        ("Gaussian(sd: 0.6, batch: 9)", [0.04, 0.04]),
        ("Multiplicative(sd: 0.5)", [0.25 * exact[0].powi(2), 0.25 * exact[1].powi(2)]),
    ];
    let stream = Streams::new(1, 0).stream(Purpose(5), 0);
    for (text, variance) in cases {
        let noise: Noise = ron::from_str(text).unwrap();
        let source = Noise::build(Some(noise), objective.as_ref()).unwrap();
        let (mut sum, mut squares, mut product) = ([0.0; 2], [0.0; 2], 0.0);
        for index in 0..DRAWS {
            let mut noisy = [0.0; 2];
            source.gradient(objective.as_ref(), 0, &w, || stream.draw(index), &mut noisy);
            let off = [noisy[0] - exact[0], noisy[1] - exact[1]];
            (0..2).for_each(|i| (sum[i], squares[i]) = (sum[i] + off[i], squares[i] + off[i] * off[i]));
            product += off[0] * off[1];
        }
        let n = DRAWS as f64;
        for i in 0..2 {
            assert!((sum[i] / n).abs() < 5.0 * (variance[i] / n).sqrt(), "{text}: mean");
            assert!((squares[i] / n - variance[i]).abs() < 5.0 * variance[i] * (2.0 / n).sqrt(), "{text}: variance");
        }
        assert!((product / n).abs() < 5.0 * (variance[0] * variance[1] / n).sqrt(), "{text}: covariance");
    }
}

#[test]
fn mini_batches_are_unbiased_and_their_variance_falls_with_their_size() {
    const DRAWS: u64 = 20_000;
    let objective = build("LeastSquares(data: Generated(examples: 60, features: 1, noise: 0.3))");
    let exact = gradient(objective.as_ref(), &[0.0])[0];
    let stream = Streams::new(1, 0).stream(Purpose(5), 0);
    let moments = |size: u64| {
        let noise = Noise::MiniBatch { size: laggard::units::Count::new(size).unwrap() };
        let source = Noise::build(Some(noise), objective.as_ref()).unwrap();
        let draw = |index: u64| {
            let mut noisy = [0.0];
            source.gradient(objective.as_ref(), 0, &[0.0], || stream.draw(index), &mut noisy);
            noisy[0]
        };
        let values: Vec<f64> = (0..DRAWS).map(draw).collect();
        let mean = values.iter().sum::<f64>() / DRAWS as f64;
        (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / DRAWS as f64)
    };
    let ((mean, one), (_, sixteen)) = (moments(1), moments(16));
    assert!((mean - exact).abs() < 5.0 * (one / DRAWS as f64).sqrt(), "{mean} {exact}");
    // A ratio of two variances of 20,000 draws each, of kurtosis below 10, is known to 5 %.
    assert!((one / sixteen / 16.0 - 1.0).abs() < 0.15, "{one} {sixteen}");
}

#[test]
fn impossible_objectives_are_refused_with_the_reason() {
    let cases = [
        ("Diagonal(curvatures: Values([]))", "at least one curvature"),
        ("Classic(function: Beale, dimension: 3)", "exactly 2"),
        ("Classic(function: Rosenbrock, dimension: 1)", "at least 2"),
        ("Softmax(data: Generated(examples: 9, features: 1), classes: 1)", "2 to 64"),
        ("Softmax(data: Generated(examples: 9, features: 1), classes: 1000)", "2 to 64"),
        ("Shifted(classes: [(curvature: 1.0, minimum: 0.0)])", "give one for each"),
        ("Tridiagonal(dimension: 99999999999)", "more than the"),
        ("LeastSquares(data: Generated(examples: 9999999, features: 9999999))", "more than the"),
        ("LeastSquares(data: File(file: \"no.csv\", features: [\"x\"], target: \"y\"))", "No such file"),
    ];
    for (text, reason) in cases {
        let spec: Spec = ron::from_str(text).unwrap();
        let error = spec.build(&[3, 1], Streams::new(1, 0), &Files::default()).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
}

#[test]
fn data_can_come_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("line.csv"), "x,one,y\n0,1,1\n1,1,3\n2,1,5\n").unwrap();
    let files = Files::beside(folder.path());
    let text = "LeastSquares(data: File(file: \"line.csv\", features: [\"x\", \"one\"], target: \"y\"))";
    let objective = ron::from_str::<Spec>(text).unwrap().build(&[1], Streams::new(1, 0), &files).unwrap();
    let best = objective.minimiser().unwrap();
    assert!((best[0] - 2.0).abs() < 1e-8 && (best[1] - 1.0).abs() < 1e-8, "y = 2x + 1, found {best:?}");
    let classes = text.replace("LeastSquares", "Logistic");
    let error =
        ron::from_str::<Spec>(&classes).unwrap().build(&[1], Streams::new(1, 0), &files).unwrap_err().to_string();
    assert!(error.contains("row 2: expected a class from 0 to 1, got 3"), "{error}");
}

#[test]
fn the_catalogues_have_every_objective_and_noise() {
    crate::support::check_catalogue::<Spec>(CATALOGUE);
    crate::support::check_catalogue::<Noise>(Noise::CATALOGUE);
    crate::support::check_catalogue::<Spectrum>(Spectrum::CATALOGUE);
    crate::support::check_catalogue::<Data>(Data::CATALOGUE);
}
