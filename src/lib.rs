//! A discrete-event simulator of staleness in distributed optimisation.
//!
//! A scenario describes a cluster, a protocol and an objective; laggard plays it on a virtual clock and tells how stale
//! every gradient was — in server versions, in seconds and in the workers' own clocks —, why, and what that did to the
//! loss. The path of a run is the order of the modules that a reader meets:
//!
//! 1. *Describe.* A [`scenario::Scenario`] is one RON document of [`objective`], [`optimiser`], [`protocol`], and
//!    [`delay`] laws. [`scenario::Source`] reads it and shows every mistake with its place and remedy.
//! 2. *Run.* [`study::Prepared`] checks and builds it, [`study::run`] plays it: a [`cluster::Simulation`] on the
//!    [`kernel`]'s clock, queue and random streams.
//! 3. *Read the results.* A [`record::Recorder`] has seen the run; [`output`] writes tables, [`report`] text.
//!
//! ```
//! use laggard::{output::NoRows, scenario::Source, study};
//!
//! let text = r#"Scenario(
//!     objective: Quadratic(curvature: 1.0),
//!     start: [1.0],
//!     optimiser: [Sgd(learning_rate: 0.1)],
//!     workers: [(count: 4, compute: Exponential(mean: 1.0))],
//!     stop: (updates: 10_000),
//! )"#;
//! let source = Source { path: "example.ron".into(), text: text.to_owned(), colour: false };
//! let outcome = study::run(study::Prepared::new(&source, None, None)?, NoRows, |_| true)?;
//! // Four workers that are always busy: the mean lag is 4 − 1 versions, whatever the law of their delays.
//! let mean = outcome.summary.lag_versions.mean.unwrap();
//! assert!((mean - 3.0).abs() < 0.01);
//! # Ok::<(), laggard::error::Error>(())
//! ```

pub mod catalogue;
pub mod cli;
pub mod cluster;
pub mod data;
pub mod delay;
pub mod error;
pub mod failure;
pub mod kernel;
pub mod objective;
pub mod optimiser;
pub mod output;
pub mod protocol;
pub mod record;
pub mod report;
pub mod scenario;
pub mod study;
pub mod theory;
pub mod units;
pub mod vector;
pub mod verify;
