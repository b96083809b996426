//! Every law of delay against its own distribution function and moments.

use laggard::data::Files;
use laggard::delay::{CATALOGUE, Context, Delay, Law};
use laggard::kernel::{Purpose, Streams};
use std::cell::Cell;

fn context(files: &Files, entity: u64) -> Context<'_> {
    Context { files, streams: Streams::new(11, 0), purpose: Purpose(1), entity, member: entity, factors: Cell::new(0) }
}

fn parse(text: &str) -> Law {
    let options = ron::Options::default().with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME);
    options.from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn build(text: &str) -> Box<dyn Delay> {
    parse(text).build(&context(&Files::default(), 0)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn draws(delay: &mut dyn Delay, entity: u64, count: u64) -> Vec<f64> {
    let stream = Streams::new(11, 0).stream(Purpose(1), entity);
    (0..count).map(|index| delay.sample(index, &mut stream.draw(index))).collect()
}

/// The laws with a distribution function, several parameter sets each, heavy tails among them.
const WITH_CDF: &[&str] = &[
    "Uniform(low: 0.0, high: 2.0)",
    "Uniform(low: 3.0, high: 3.5)",
    "Exponential(mean: 0.05)",
    "Exponential(mean: 7.0)",
    "ShiftedExponential(shift: 0.5, mean: 0.5)",
    "Erlang(shape: 1, mean: 2.0)",
    "Erlang(shape: 16, mean: 1.0)",
    "Gamma(mean: 5.0, cv: 0.9)",
    "Gamma(mean: 1.0, cv: 3.0)",
    "Gamma(shape: 0.3, scale: 2.0)",
    "TruncatedNormal(mean: 1.0, sd: 0.2)",
    "TruncatedNormal(mean: 0.0, sd: 1.0)",
    "TruncatedNormal(mean: -2.0, sd: 1.0)",
    "HalfNormal(scale: 2.0)",
    "HalfNormal(shift: 1.0, scale: 0.5)",
    "LogNormal(median: 2.0, sigma: 0.5)",
    "LogNormal(mean: 1.0, cv: 2.0)",
    "Weibull(shape: 0.6, scale: 1.0)",
    "Weibull(shape: 3.0, scale: 2.0)",
    "Pareto(minimum: 1.0, shape: 0.8)",
    "Pareto(minimum: 0.5, shape: 2.5)",
    "Hyperexponential(branches: [(weight: 0.9, mean: 0.5), (weight: 0.1, mean: 5.0)])",
    "Mixture(parts: [(weight: 3.0, law: Uniform(low: 0.0, high: 1.0)), (weight: 1.0, law: Exponential(mean: 4.0))])",
    "Scaled(factor: 3.0, law: Weibull(shape: 0.8, scale: 1.0))",
    "Slowest(count: 8, law: Exponential(mean: 1.0))",
    "Slowest(count: 3, law: Pareto(minimum: 0.5, shape: 2.5))",
    "Slowest(count: 5, law: Uniform(low: 1.0, high: 2.0))",
];

/// Kolmogorov and Smirnov's test on a million draws at α = 0.001: the largest gap between the empirical and the claimed
/// distribution function is below 1.95/√n.
#[test]
fn draws_follow_the_distribution_function() {
    const DRAWS: u64 = 1_000_000;
    for text in WITH_CDF {
        let mut delay = build(text);
        let mut values = draws(delay.as_mut(), 0, DRAWS);
        values.sort_by(f64::total_cmp);
        let n = values.len() as f64;
        let gap = |(rank, value): (usize, &f64)| {
            let p = delay.cdf(*value).expect("these laws have a distribution function");
            (p - rank as f64 / n).abs().max((p - (rank + 1) as f64 / n).abs())
        };
        let largest = values.iter().enumerate().map(gap).fold(0.0, f64::max);
        assert!(largest < 1.95 / n.sqrt(), "{text}: {largest}");
    }
}

/// Means within four standard errors, variances too where the fourth moment is mild, and all draws within the support.
#[test]
fn draws_have_the_moments_and_the_support_that_are_claimed() {
    const DRAWS: u64 = 400_000;
    let more = [
        "Constant(4.0)",
        "Empirical(values: [0.9, 1.0, 1.4])",
        "Empirical(values: [0.9, 1.0, 1.4, 2.0], draw: Replay)",
        "Sum(laws: [Constant(0.1), Exponential(mean: 1.0), Uniform(low: 0.0, high: 1.0)])",
        "Autoregressive(correlation: 0.5, law: LogNormal(mean: 1.0, cv: 0.1))",
    ];
    for text in WITH_CDF.iter().chain(&more) {
        let mut delay = build(text);
        let values = draws(delay.as_mut(), 0, DRAWS);
        let (low, high) = delay.support();
        assert!(values.iter().all(|value| (low..=high).contains(value)), "{text}: a draw outside {low} to {high}");
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
        if delay.variance().is_finite() {
            // Correlation of ρ = 0.5 in time triples the variance of a mean.
            let inflation = if text.starts_with("Auto") { 3f64.sqrt() } else { 1.0 };
            let error = 4.0 * inflation * (delay.variance() / n).sqrt() + 1e-12;
            assert!((mean - delay.mean()).abs() <= error, "{text}: mean {mean}, claimed {}", delay.mean());
        }
        let fourth = values.iter().map(|value| (value - mean).powi(4)).sum::<f64>() / n;
        let mild = fourth < 100.0 * variance * variance;
        if delay.variance().is_finite() && mild {
            let error = 5.0 * ((fourth - variance * variance).max(0.0) / n).sqrt() * 2.0 + 1e-9;
            assert!(
                (variance - delay.variance()).abs() <= error,
                "{text}: variance {variance}, claimed {}",
                delay.variance()
            );
        }
    }
}

#[test]
fn infinite_moments_are_said_to_be_infinite() {
    let moments = |text: &str| (build(text).mean(), build(text).variance());
    assert_eq!(moments("Pareto(minimum: 1.0, shape: 1.0)"), (f64::INFINITY, f64::INFINITY));
    assert_eq!(moments("Pareto(minimum: 1.0, shape: 2.0)"), (2.0, f64::INFINITY));
    assert!(moments("Pareto(minimum: 1.0, shape: 2.1)").1.is_finite());
    let mixed =
        "Mixture(parts: [(weight: 1.0, law: Constant(1.0)), (weight: 1.0, law: Pareto(minimum: 1.0, shape: 0.9))])";
    assert_eq!(moments(mixed), (f64::INFINITY, f64::INFINITY));
    assert_eq!(build("Scaled(factor: 0.0, law: Pareto(minimum: 1.0, shape: 0.9))").mean(), 0.0);
}

#[test]
fn quantiles_invert_the_distribution_function() {
    for text in WITH_CDF {
        let delay = build(text);
        for p in [0.001, 0.1, 0.5, 0.9, 0.999] {
            let x = delay.quantile(p).unwrap();
            let back = delay.cdf(x).unwrap();
            assert!((back - p).abs() < 1e-6, "{text}: the {p}-quantile {x} has probability {back}");
        }
    }
}

#[test]
fn replayed_values_come_in_their_order_over_and_over() {
    let mut delay = build("Empirical(values: [3.0, 1.0, 2.0], draw: Replay)");
    assert_eq!(draws(delay.as_mut(), 0, 7), [3.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
}

#[test]
fn autoregressive_draws_are_correlated_in_time_and_keep_their_law() {
    let mut delay = build("Autoregressive(correlation: 0.7, law: LogNormal(median: 1.0, sigma: 0.1))");
    let logs: Vec<f64> = draws(delay.as_mut(), 3, 200_000).iter().map(|value| value.ln() / 0.1).collect();
    let n = logs.len() as f64;
    // The logarithms are the AR(1) process itself: mean 0, variance 1, correlation 0.7ᵏ at distance k. Correlation makes
    // 200,000 values worth about 35,000 independent ones.
    let within = 4.0 / 35_000f64.sqrt();
    let mean = logs.iter().sum::<f64>() / n;
    let variance = logs.iter().map(|z| z * z).sum::<f64>() / n;
    assert!(mean.abs() < within && (variance - 1.0).abs() < 2.0 * within, "{mean} {variance}");
    for (distance, expected) in [(1, 0.7), (2, 0.49), (5, 0.7f64.powi(5))] {
        let products = logs.iter().zip(&logs[distance..]).map(|(a, b)| a * b).sum::<f64>();
        assert!((products / n - expected).abs() < 2.0 * within, "distance {distance}: {}", products / n);
    }
}

#[test]
fn each_worker_keeps_the_factor_that_it_drew() {
    let law = parse("PerWorker(factor: LogNormal(median: 1.0, sigma: 0.5), law: Constant(2.0))");
    let files = Files::default();
    let factors: Vec<f64> = (0..20_000)
        .map(|worker| {
            let mut delay = law.build(&context(&files, worker)).unwrap();
            let values = draws(delay.as_mut(), worker, 3);
            assert!(values.iter().all(|value| *value == values[0]), "{values:?}");
            values[0] / 2.0
        })
        .collect();
    let logs: Vec<f64> = factors.iter().map(|factor| factor.ln() / 0.5).collect();
    let n = logs.len() as f64;
    let (mean, variance) = (logs.iter().sum::<f64>() / n, logs.iter().map(|z| z * z).sum::<f64>() / n);
    assert!(mean.abs() < 4.0 / n.sqrt() && (variance - 1.0).abs() < 4.0 * (2.0 / n).sqrt(), "{mean} {variance}");
    let delay = law.build(&context(&files, 0)).unwrap();
    let expected = 2.0 * (0.125f64).exp();
    assert!((delay.mean() - expected).abs() < 1e-12, "{}", delay.mean());
}

/// Ten series of three rows, as csv or Parquet, each worker replaying its own.
#[test]
fn measured_times_are_read_by_worker() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..30).map(|row| format!("{row},{},{}\n", row % 10, 100 * (row % 10) + row / 10)).collect();
    std::fs::write(folder.path().join("times.csv"), format!(",worker,ms\n{rows}")).unwrap();
    let law = parse("Measured(file: \"times.csv\", column: \"ms\", by: \"worker\", scale: 0.001, draw: Replay)");
    let files = Files::beside(folder.path());
    for worker in 0..10 {
        let mut delay = law.build(&context(&files, worker)).unwrap();
        let base = 0.1 * worker as f64;
        let expected: Vec<f64> = [0.0, 0.001, 0.002, 0.0].iter().map(|offset| base + offset).collect();
        for (value, expected) in draws(delay.as_mut(), worker, 4).iter().zip(expected) {
            assert!((value - expected).abs() < 1e-12, "worker {worker}: {value}");
        }
    }
    let error = law.build(&context(&files, 10)).unwrap_err().to_string();
    assert!(error.contains("tells 10 series apart") && error.contains("lower the class's count"), "{error}");
}

#[cfg(feature = "parquet")]
#[test]
fn measured_times_can_come_from_parquet() {
    use polars::prelude::{DataFrame, NamedFrom, ParquetWriter, Series};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("times.parquet");
    let columns = vec![
        Series::new("worker".into(), [0i64, 1, 0, 1]).into(),
        Series::new("seconds".into(), [1.5f64, 2.5, 3.5, 4.5]).into(),
    ];
    let mut frame = DataFrame::new_infer_height(columns).unwrap();
    ParquetWriter::new(std::fs::File::create(&path).unwrap()).finish(&mut frame).unwrap();
    let files = Files::beside(folder.path());
    let law = parse("Measured(file: \"times.parquet\", column: \"seconds\", by: \"worker\", draw: Replay)");
    let mut delay = law.build(&context(&files, 1)).unwrap();
    assert_eq!(draws(delay.as_mut(), 1, 3), [2.5, 4.5, 2.5]);
    let all = parse("Measured(file: \"times.parquet\", column: \"seconds\")").build(&context(&files, 0)).unwrap();
    assert_eq!((all.mean(), all.support()), (3.0, (1.5, 4.5)));
}

#[test]
fn files_that_are_no_measurements_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("empty.csv", "seconds\n");
    write("text.csv", "seconds\n1.0\nfast\n");
    write("negative.csv", "seconds\n1.0\n-2.0\n");
    write("nan.csv", "seconds\n1.0\nNaN\n");
    write("ragged.csv", "seconds,other\n1.0\n");
    write("times.txt", "seconds\n1.0\n");
    write("broken.parquet", "this is no Parquet");
    std::fs::create_dir(folder.path().join("folder.csv")).unwrap();
    let files = Files::beside(folder.path());
    let cases = [
        ("empty.csv", "has no rows"),
        ("text.csv", "row 2: expected a number, got `fast`"),
        ("negative.csv", "-2 s in row 2"),
        ("nan.csv", "row 2: NaN is not finite"),
        ("ragged.csv", "found record with 1 field"),
        ("times.txt", "ends in .csv or .parquet"),
        ("folder.csv", "is no regular file"),
        ("missing.csv", "No such file"),
        ("broken.parquet", "broken.parquet"),
    ];
    for (name, reason) in cases {
        let law = parse(&format!("Measured(file: \"{name}\", column: \"seconds\")"));
        let error = law.build(&context(&files, 0)).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(reason) && error.contains(name), "{name}: {error}");
    }
    let law = parse("Measured(file: \"text.csv\", column: \"minutes\")");
    let error = law.build(&context(&files, 0)).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("has no column `minutes`; it has: seconds"), "{error}");
}

/// The names that RON offers for a law are those of the catalogue, in order, and every example is what it says.
#[test]
fn the_catalogue_has_every_law() {
    crate::support::check_catalogue::<Law>(CATALOGUE);
    for law in CATALOGUE.iter().filter(|entry| entry.name != "Measured") {
        build(law.example);
    }
}

/// The sampler's short way for exponential laws gives the very numbers of the long one.
#[test]
fn the_short_way_to_exponential_draws_is_the_long_one() {
    let stream = Streams::new(5, 1).stream(Purpose(1), 4);
    let mut long = build("Exponential(mean: 0.3)");
    let mut short = laggard::delay::Sampler::new(build("Exponential(mean: 0.3)"));
    for index in 0..10_000 {
        assert_eq!(long.sample(index, &mut stream.draw(index)), short.sample(index, stream.draw(index)));
    }
}

/// H₈ = 2.717…, 1 + 5/6 and the like: the moments of a maximum are known for these (Dutta et al., 2018, lemma 1).
#[test]
fn the_slowest_has_the_moments_of_order_statistics() {
    let harmonic: f64 = (1..=8).map(|k| 1.0 / f64::from(k)).sum();
    let squares: f64 = (1..=8).map(|k| 1.0 / f64::from(k * k)).sum();
    let cases = [
        ("Slowest(count: 8, law: Exponential(mean: 1.0))", harmonic, squares),
        ("Slowest(count: 8, law: ShiftedExponential(shift: 3.0, mean: 1.0))", 3.0 + harmonic, squares),
        ("Slowest(count: 5, law: Uniform(low: 1.0, high: 2.0))", 1.0 + 5.0 / 6.0, 5.0 / 252.0),
        ("Slowest(count: 4, law: Constant(2.0))", 2.0, 0.0),
        ("Slowest(count: 2, law: Empirical(values: [0.0, 3.0]))", 2.25, 27.0 / 16.0),
        ("Slowest(count: 1, law: Pareto(minimum: 1.0, shape: 3.0))", 1.5, 0.75),
    ];
    for (text, mean, variance) in cases {
        let delay = build(text);
        assert!((delay.mean() - mean).abs() < 1e-7 * mean, "{text}: {}", delay.mean());
        assert!((delay.variance() - variance).abs() < 1e-5, "{text}: {}", delay.variance());
    }
    let heavy = build("Slowest(count: 3, law: Pareto(minimum: 1.0, shape: 1.5))");
    assert!(heavy.mean().is_finite() && heavy.variance().is_infinite());
    assert!(parse("Slowest(count: 2, law: Sum(laws: [Constant(1.0)]))").build(&context(&Files::default(), 0)).is_err());
}
