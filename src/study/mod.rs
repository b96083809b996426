//! What turns scenarios into results. So far: one run.

mod run;

pub use run::{Change, Check, Outcome, Prepared, quantities, run};
