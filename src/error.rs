//! Everything that can go wrong, in one enum. Its kinds are the exit codes of the command line.

use std::path::{Path, PathBuf};

/// The result of anything in laggard that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong. All of these end the run that met them; none leaves a file with a final name half written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The scenario cannot be run: the problems, rendered with file, line, column and remedy. Exit code 2.
    #[error("{0}")]
    Scenario(String),
    /// A part of a scenario cannot be built from these values; says what to change. Exit code 2.
    #[error("{0}")]
    Invalid(String),
    /// A file or folder could not be read or written. Exit code 3.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// The operating system's word.
        source: std::io::Error,
    },
    /// A Parquet or CSV file could not be read or written. Exit code 3.
    #[error("{path}: {reason}", path = path.display())]
    Table {
        /// Which.
        path: PathBuf,
        /// What the reader or writer said.
        reason: String,
    },
    /// A drawn duration or a sum of them does not fit the virtual clock. Exit code 2: the scenario's laws allow it.
    #[error("{message}")]
    Clock {
        /// What happened.
        message: String,
        /// The field of the scenario to look at, as in `workers.0`.
        field: String,
    },
    /// A law that must hold in every run was broken: a fault of laggard itself, never of the scenario. Exit code 3.
    #[error("a law of the simulation was broken, which is a bug in laggard: {0}")]
    Broken(String),
}

impl Error {
    /// An I/O error with the path that it concerns.
    pub fn io(path: &Path, source: std::io::Error) -> Error {
        Error::Io { path: path.to_owned(), source }
    }

    /// The exit code of a command that ends with this error.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Scenario(_) | Error::Invalid(_) | Error::Clock { .. } => 2,
            Error::Io { .. } | Error::Table { .. } | Error::Broken(_) => 3,
        }
    }
}
