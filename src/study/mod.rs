//! What turns scenarios into results: one run, or many with statistics.

mod batch;
mod cells;
mod compare;
mod diff;
mod journal;
mod run;
pub mod statistics;
mod sweep;

pub use batch::{Progress, execute};
pub use cells::{CellFigures, Figure, tabulate};
pub use compare::{Comparison, Contrast, compare};
pub use diff::{Parting, diff};
pub use journal::Journal;
pub use run::{Base, Change, Check, Outcome, Prepared, quantities, run};
pub use sweep::{Axis, Cell, Kept, Plan, Replications, Sweep};
