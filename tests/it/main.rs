//! All integration tests in one binary, so that polars is linked once.

mod alloc;
mod bad_scenarios;
mod cli;
mod delays;
mod determinism;
mod lags;
mod objectives;
mod optimisers;
mod protocols;
mod queueing;
mod results;
mod scenarios;
mod support;
mod tidy;
mod timelines;
