//! The results folder: everything is written under a temporary name in it, synced, and only then given its final name.

use super::stamp::Stamp;
use super::table::Table;
use super::{GRADIENTS, SCENARIO};
use crate::error::{Error, Result};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Every name that a run may write; what a run before left under one of these is replaced or removed.
const NAMES: [&str; 11] = [
    "lag_histogram.parquet",
    "lag_joint.parquet",
    "lag_causes.parquet",
    "participation.parquet",
    "trajectory.parquet",
    "incidents.parquet",
    GRADIENTS,
    SCENARIO,
    "cells.parquet",
    "tune.parquet",
    // Last, so that a summary is never newer than what it sums up.
    "summary.parquet",
];

/// How the name of a folder begins in which files are written for now.
const STAGING: &str = ".laggard-";

/// A results folder that is being filled. Dropped before [`Folder::publish`], it leaves things as they were.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    staging: Option<TempDir>,
    /// The outermost folder that did not exist before.
    created: Option<PathBuf>,
}

impl Folder {
    /// Prepares `path`, so that what cannot be written is known before the run begins. None of `inputs`, the files that
    /// the run was made from, may be one that the results would replace.
    ///
    /// # Errors
    /// If the folder can be neither made nor written to, or holds an input or a folder under the name of a result.
    pub fn create(path: &Path, inputs: &[PathBuf]) -> Result<Folder> {
        for target in NAMES.map(|name| path.join(name)).iter().filter(|target| target.exists()) {
            let same = |input: &PathBuf| input.canonicalize().ok() == target.canonicalize().ok();
            if inputs.iter().any(same) {
                let reason = "is read by this run, and its results would replace it; choose another --out";
                return Err(Error::Table { path: target.clone(), reason: reason.to_owned() });
            }
            if target.is_dir() {
                let reason = "is a folder, where a result file is to be; choose another --out";
                return Err(Error::Table { path: target.clone(), reason: reason.to_owned() });
            }
        }
        let missing = path.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists()).last();
        let created = missing.map(Path::to_owned);
        // Made first, so that what was created is removed again if the rest fails.
        let mut folder = Folder { path: path.to_owned(), staging: None, created };
        fs::create_dir_all(path).map_err(|source| Error::io(path, source))?;
        let staging = tempfile::Builder::new().prefix(STAGING).tempdir_in(path);
        folder.staging = Some(staging.map_err(|source| Error::io(path, source))?);
        Ok(folder)
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether files are, or were, written for now at `path`.
    pub fn is_staging(path: &Path) -> bool {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(STAGING))
    }

    /// The folder in which files are written for now.
    pub fn staging(&self) -> &Path {
        self.staging.as_ref().map_or(&*self.path, |staging| staging.path())
    }

    /// Where the file called `name` is written for now.
    pub fn staged(&self, name: &str) -> PathBuf {
        self.staging().join(name)
    }

    /// Writes a table.
    ///
    /// # Errors
    /// If it cannot be written.
    #[cfg(feature = "parquet")]
    pub fn write(&self, table: &Table, stamp: &Stamp) -> Result<()> {
        super::parquet::write(&self.staged(&table.file), table, stamp)
    }

    /// Without Parquet there is nothing to write tables with.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(feature = "parquet"))]
    pub fn write(&self, table: &Table, _: &Stamp) -> Result<()> {
        let reason = "this laggard was built without Parquet; build it with the feature `parquet`, or use --json";
        Err(Error::Table { path: self.path.join(&*table.file), reason: reason.to_owned() })
    }

    /// Writes a text file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_text(&self, name: &str, text: &str) -> Result<()> {
        let path = self.staged(name);
        fs::write(&path, text).map_err(|source| Error::io(&path, source))
    }

    /// Gives every staged file its final name, in place of what a run before left.
    ///
    /// # Errors
    /// If a file cannot be synced or renamed.
    pub fn publish(mut self) -> Result<()> {
        let Some(staging) = self.staging.take() else { return Ok(()) };
        for name in NAMES {
            let (from, to) = (staging.path().join(name), self.path.join(name));
            if from.exists() {
                File::open(&from).and_then(|file| file.sync_all()).map_err(|source| Error::io(&from, source))?;
                fs::rename(&from, &to).map_err(|source| Error::io(&to, source))?;
            } else if to.exists() {
                fs::remove_file(&to).map_err(|source| Error::io(&to, source))?;
            }
        }
        self.created = None;
        staging.close().map_err(|source| Error::io(&self.path, source))?;
        // Renames last once the folder itself is on the disk; not every platform lets a folder be synced.
        File::open(&self.path).and_then(|folder| folder.sync_all()).or(Ok(()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(self.staging.take());
        if let Some(outermost) = &self.created {
            // Only folders that are still empty go: from the inside out, as far as the first that this run made.
            let own = self.path.ancestors().take_while(|folder| folder.starts_with(outermost));
            for folder in own {
                let _ = fs::remove_dir(folder);
            }
        }
    }
}
