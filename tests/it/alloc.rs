//! The engine allocates nothing per event once it runs.

use crate::support::{quadratic, source};
use laggard::cluster::Simulation;
use laggard::output::NoRows;
use laggard::record::Recorder;
use laggard::study::Prepared;

/// Allocations of `events` events after a long warm-up, everything recorded.
fn allocations(text: &str, events: u64) -> u64 {
    let prepared = Prepared::new(&source(text), None, None).unwrap();
    let spec = prepared.scenario.record.clone();
    let mut simulation = Simulation::new(prepared.model);
    let mut recorder = Recorder::new(&spec, &simulation, NoRows);
    assert_eq!(simulation.advance(200_000, &mut recorder).unwrap(), None);
    let counted = allocation_counter::measure(|| {
        assert_eq!(simulation.advance(events, &mut recorder).unwrap(), None);
    });
    counted.count_total
}

#[test]
fn a_running_simulation_allocates_nothing() {
    let network = "network: (download: Exponential(mean: 0.05), upload: LogNormal(median: 0.05, sigma: 1.0))";
    let workers = "(count: 16, compute: Exponential(mean: 1.0)), (count: 4, compute: Gamma(mean: 1.0, cv: 0.5))";
    let texts = [
        quadratic(workers, &format!("{network}, stop: (updates: 10000000)")),
        quadratic(
            workers,
            &format!("{network}, server: (service: Exponential(mean: 0.04)), stop: (updates: 10000000)"),
        ),
        quadratic(
            workers,
            &format!(
                "{network}, server: (shards: (each: [(service: Exponential(mean: 0.03))])), stop: (updates: 10000000)"
            ),
        ),
        quadratic(workers, "noise: Gaussian(sd: 0.1), stop: (updates: 10000000)"),
        quadratic(workers, "record: (gradients: Every(100)), stop: (updates: 10000000)"),
    ];
    for text in texts {
        // A histogram grows when a value beyond all before is met: a few times in a run, never per event.
        let count = allocations(&text, 200_000);
        assert!(count <= 4, "{count} allocations in 200,000 events of {text}");
    }
}

/// Ten times the steps, the same memory, but for the range of the lags: the clocks of workers drift apart as √steps.
#[test]
fn memory_does_not_grow_with_the_number_of_steps() {
    let peak = |updates: u64| {
        let workers = "(count: 32, compute: Exponential(mean: 1.0))";
        let text = quadratic(workers, &format!("stop: (updates: {updates})"));
        let counted = allocation_counter::measure(|| {
            crate::support::run_into(&text, NoRows);
        });
        counted.bytes_max
    };
    let (short, long) = (peak(100_000), peak(1_000_000));
    assert!(long < short + (256 << 10), "{short} bytes for 100,000 steps, {long} for 1,000,000");
}
