//! All integration tests in one binary, so that polars is linked once.

mod admission;
mod alloc;
mod bad_scenarios;
mod barriers;
mod cli;
mod conformance;
mod delays;
mod determinism;
mod failures;
mod lags;
mod local;
mod momentum;
mod objectives;
mod optimisers;
mod participation;
mod protocols;
mod queueing;
mod results;
mod routing;
mod scenarios;
mod studies;
mod support;
mod theory;
mod tidy;
mod timelines;
mod tuning;
