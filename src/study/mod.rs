//! What turns scenarios into results: one run, or many with statistics.

mod batch;
mod cells;
mod check_sweep;
mod compare;
mod diff;
mod journal;
mod predict;
mod replications;
mod run;
pub mod statistics;
mod sweep;
mod tune;

pub use batch::{Progress, execute, threads};
pub use cells::{CellFigures, Figure, tabulate};
pub use compare::{Comparison, Contrast, Verdict, compare};
pub use diff::{Parting, diff};
pub use journal::Journal;
pub use predict::{Forecast, Prediction, predict, warnings};
pub use replications::{Replications, Standing};
pub use run::{Base, Change, Check, Outcome, Prepared, quantities, run};
pub use sweep::{Axis, Cell, Kept, Plan, Sweep};
pub use tune::{Candidate, Choice, Goal, Rank};
