//! All integration tests in one binary, so that polars is linked once.

mod admission;
mod alloc;
mod bad_scenarios;
mod cli;
mod conformance;
mod delays;
mod determinism;
mod failures;
mod lags;
mod local;
mod objectives;
mod optimisers;
mod participation;
mod predictions;
mod protocols;
#[cfg(feature = "parquet")]
mod reports;
mod results;
mod scenarios;
mod shards;
mod studies;
mod support;
mod theory;
mod tidy;
mod timelines;
mod tuning;
mod verify;
