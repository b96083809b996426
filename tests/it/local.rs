//! Local steps, elastic averaging and model mixing, against exact recursions.

use crate::support::{quadratic, watch};

/// The server's parameters after every step.
fn path(text: &str) -> Vec<f64> {
    let mut path: Vec<f64> = Vec::new();
    let mut last = 0;
    watch(text, |_, step| {
        if step.updates != last {
            last = step.updates;
            path.push(step.after[0]);
        }
    });
    path
}

fn outer(text: &str) -> String {
    text.replace("0.001", "1.0")
}

/// One local step, sent as it is, is an asynchronous gradient step.
#[test]
fn one_local_step_is_a_gradient() {
    let workers = "(count: 3, compute: Exponential(mean: 1.0))";
    let noise = "noise: Gaussian(sd: 0.5), stop: (updates: 200)";
    let plain = path(&quadratic(workers, noise).replace("0.001", "0.125"));
    let protocol = "protocol: AsyncLocalSgd(local: (steps: 1, learning_rate: 0.125))";
    let local = path(&outer(&quadratic(workers, &format!("{protocol}, {noise}"))));
    for (a, b) in plain.iter().zip(&local) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }
}

/// Work in proportion to speed: everyone takes about as long, the fastest all of its steps.
#[test]
fn slower_workers_take_fewer_local_steps() {
    let protocol = "AsyncLocalSgd(local: (steps: 8, learning_rate: 0.1), by_speed: true)";
    let workers = "(compute: Constant(1.0)), (compute: Constant(2.0)), (compute: Constant(100.0))";
    let rest = format!("protocol: {protocol}, stop: (time_s: 100.0)");
    let mut cycles = std::collections::BTreeMap::new();
    watch(&outer(&quadratic(workers, &rest)), |gradient, _| {
        cycles.insert(gradient.worker, gradient.causes.compute.seconds());
    });
    assert_eq!(cycles.into_iter().collect::<Vec<_>>(), [(0, 8.0), (1, 8.0), (2, 100.0)]);
}
