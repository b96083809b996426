//! From what was recorded to files: tables, Parquet, JSON; all or nothing.

#[cfg(feature = "parquet")]
mod beside;
mod folder;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
mod read;
mod rows;
mod stamp;
mod sweep;
mod table;
mod tables;

pub use folder::Folder;
#[cfg(feature = "parquet")]
pub use read::Results;
pub use rows::{GradientFile, NoRows};
pub use stamp::Stamp;
pub use sweep::SweepFolder;
pub use table::{Column, Table, Values};
pub use tables::{summary_numbers, summary_table, tables};

/// The file of single gradients, one row each.
pub const GRADIENTS: &str = "gradients.parquet";
/// The resolved scenario, beside the results.
pub const SCENARIO: &str = "scenario.ron";
