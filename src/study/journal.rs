//! What is kept of every finished run of a sweep: one small file, which is there whole or not at all.

use super::sweep::{Kept, Plan};
use crate::error::{Error, Result};
use crate::output::{Column, Folder, Table, Values};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

/// The folder of the runs, in that of the sweep.
const RUNS: &str = "runs";
/// What the folder belongs to.
const IDENTITY: &str = "sweep.json";

/// A finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its combination, by number.
    pub cell: usize,
    /// Which repeat of it.
    pub replication: u64,
    /// The hash of its resolved scenario and of the data that it reads.
    pub scenario_hash: u64,
    /// Why there can be no interval for its figures in seconds, if so.
    pub infinite_variance: bool,
    /// Its summary, and the tables that are kept.
    pub tables: Vec<Table>,
}

impl Entry {
    /// What it came to: of many runs, no more than that is kept in memory. `names` are those of the numbers of a summary, in the order of
    /// the first run that was looked at.
    pub fn brief(&self, names: &mut Vec<String>) -> Brief {
        let columns = self.tables.first().map_or(&[][..], |table| &table.columns);
        let number = |column: &Column| match &column.values {
            Values::Whole(values) => Some(values.first().map(|&value| value as f64)),
            Values::Number(values) => Some(values.first().copied().flatten()),
            Values::Signed(_) | Values::MaybeWhole(_) | Values::Text(_) | Values::Choice(..) => None,
        };
        if names.is_empty() {
            names.extend(columns.iter().filter(|column| number(column).is_some()).map(|column| column.name.clone()));
        }
        let find = |name: &String| columns.iter().find(|column| column.name == *name).and_then(number).flatten();
        let ended = columns.iter().find(|column| column.name == "ended").map(|column| &column.values);
        Brief {
            replication: self.replication,
            scenario_hash: self.scenario_hash,
            infinite_variance: self.infinite_variance,
            ended: if let Some(Values::Text(values)) = ended { values.concat() } else { String::new() },
            figures: names.iter().map(find).collect(),
        }
    }
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Brief {
    /// Which repeat it is.
    pub replication: u64,
    /// See [`Entry::scenario_hash`].
    pub scenario_hash: u64,
    /// See [`Entry::infinite_variance`].
    pub infinite_variance: bool,
    /// Why it ended.
    pub ended: String,
    /// The numbers of its summary.
    figures: Vec<Option<f64>>,
}

/// The runs of a combination.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Runs {
    /// The names of the numbers of a summary.
    pub names: Vec<String>,
    /// What each came to, in the order of replications.
    pub runs: Vec<Brief>,
}

impl Runs {
    /// A number of all summaries, where they have it.
    pub fn figure(&self, quantity: &str) -> impl Iterator<Item = Option<f64>> + '_ {
        let place = self.names.iter().position(|name| name == quantity);
        self.runs.iter().map(move |run| place.and_then(|place| run.figures[place]))
    }

    /// Whether the variance of some delay of one of them is infinite.
    pub fn infinite_variance(&self) -> bool {
        self.runs.iter().any(|run| run.infinite_variance)
    }
}

/// The identity of a sweep whose runs a folder holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Identity {
    hash: u64,
    version: String,
}

impl Identity {
    fn of(plan: &Plan) -> Identity {
        Identity { hash: plan.hash, version: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

/// A folder of finished runs.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    /// The file of the identity, locked against other processes as long as this one may write.
    _lock: Option<File>,
}

impl Journal {
    /// Opens `folder` for the runs of `plan`, alone: what a process that was killed left half written there is removed.
    ///
    /// # Errors
    /// If it cannot be written to, holds the runs of another sweep, or another process works on it.
    pub fn open(folder: &Folder, plan: &Plan) -> Result<Journal> {
        let path = folder.path();
        let runs = path.join(RUNS);
        fs::create_dir_all(&runs).map_err(|source| Error::io(&runs, source))?;
        let file = path.join(IDENTITY);
        let io = |source| Error::io(&file, source);
        let mut identity =
            File::options().read(true).write(true).create(true).truncate(false).open(&file).map_err(io)?;
        // Not every file system has locks; without, care is left to the user.
        if matches!(identity.try_lock(), Err(TryLockError::WouldBlock)) {
            let reason = "another process works on this folder; wait for it, or choose another --out";
            return Err(Error::Invalid(format!("{}: {reason}", path.display())));
        }
        let own = Identity::of(plan);
        let mut bytes = Vec::new();
        identity.read_to_end(&mut bytes).map_err(io)?;
        if bytes.is_empty() {
            identity.rewind().map_err(io)?;
            identity.write_all(&to_json(&own)?).and_then(|()| identity.sync_all()).map_err(io)?;
        } else if !serde_json::from_slice::<Identity>(&bytes).is_ok_and(|other| other == own) {
            return Err(other_sweep(&file));
        }
        remove_leftovers(folder, &runs);
        Ok(Journal { path: path.to_owned(), _lock: Some(identity) })
    }

    /// Opens the folder `path`, which must be there and hold runs of `plan`; nothing in it is changed.
    ///
    /// # Errors
    /// If it is not there, or holds the runs of another sweep.
    pub fn existing(path: &Path, plan: &Plan) -> Result<Journal> {
        let file = path.join(IDENTITY);
        let bytes = fs::read(&file).map_err(|_| {
            Error::Invalid(format!("{}: is no folder of a sweep; name one that `sweep --out` has made", path.display()))
        })?;
        if !serde_json::from_slice::<Identity>(&bytes).is_ok_and(|other| other == Identity::of(plan)) {
            return Err(other_sweep(&file));
        }
        Ok(Journal { path: path.to_owned(), _lock: None })
    }

    fn file(&self, id: &str, replication: u64) -> PathBuf {
        self.path.join(RUNS).join(format!("cell-{id}-{replication:06}.json"))
    }

    /// The finished run of a combination of `plan`, if it is there: of the scenario with this hash, where one is given.
    ///
    /// # Errors
    /// If it is there, but of another scenario: the data that it reads, say, were changed since.
    pub fn read(&self, plan: &Plan, cell: usize, replication: u64, hash: Option<u64>) -> Result<Option<Entry>> {
        let file = self.file(&plan.cells[cell].id, replication);
        let Ok(bytes) = fs::read(&file) else { return Ok(None) };
        // A file that cannot be understood is made again.
        let Ok(entry) = serde_json::from_slice::<Entry>(&bytes) else { return Ok(None) };
        if hash.is_some_and(|hash| hash != entry.scenario_hash) {
            let reason = "is a run of another scenario, or of other data; choose another --out";
            return Err(Error::Invalid(format!("{}: {reason}", file.display())));
        }
        Ok(Some(Entry { cell, ..entry }))
    }

    /// Keeps a finished run of `plan`.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, plan: &Plan, entry: &Entry) -> Result<()> {
        replace(&self.file(&plan.cells[entry.cell].id, entry.replication), &to_json(entry)?)
    }

    /// The combinations of `plan` of which there are finished runs.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn begun(&self, plan: &Plan) -> Result<Vec<usize>> {
        let ids: BTreeMap<&str, usize> =
            plan.cells.iter().enumerate().map(|(cell, known)| (known.id.as_str(), cell)).collect();
        let id = |name: String| Some(name.strip_prefix("cell-")?.strip_suffix(".json")?.rsplit_once('-')?.0.to_owned());
        let found: BTreeSet<usize> =
            self.names()?.into_iter().filter_map(id).filter_map(|id| ids.get(&*id).copied()).collect();
        Ok(found.into_iter().collect())
    }

    /// The names of all files of runs.
    fn names(&self) -> Result<Vec<String>> {
        let runs = self.path.join(RUNS);
        let entries = fs::read_dir(&runs).map_err(|source| Error::io(&runs, source))?.flatten();
        Ok(entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
    }

    /// Takes over the finished runs of another folder of the same sweep.
    ///
    /// # Errors
    /// If one cannot be copied.
    pub fn take_over(&self, other: &Journal) -> Result<()> {
        for name in other.names()?.iter().filter(|name| name.ends_with(".json")) {
            let (from, to) = (other.path.join(RUNS).join(name), self.path.join(RUNS).join(name));
            if !to.exists() {
                let bytes = fs::read(&from).map_err(|source| Error::io(&from, source))?;
                replace(&to, &bytes)?;
            }
        }
        Ok(())
    }
}

fn other_sweep(file: &Path) -> Error {
    let reason = "belongs to another sweep, or to one that was changed since; choose another folder";
    Error::Invalid(format!("{}: {reason}", file.display()))
}

/// Of the tables of a run, those that are kept: the summary first.
pub fn kept(tables: Vec<Table>, wanted: &[Kept]) -> Vec<Table> {
    let wanted = |table: &Table| table.file == "summary.parquet" || wanted.iter().any(|kept| kept.file() == table.file);
    tables.into_iter().filter(wanted).collect()
}

fn to_json(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|error| Error::Broken(format!("a run cannot be written as JSON: {error}")))
}

/// Writes a file under another name, and gives it its own when it is whole.
fn replace(file: &Path, bytes: &[u8]) -> Result<()> {
    let half = file.with_extension("tmp");
    let written = fs::write(&half, bytes).and_then(|()| fs::rename(&half, file));
    written.map_err(|source| {
        // On a full disk, its room is what the next run needs.
        let _ = fs::remove_file(&half);
        Error::io(file, source)
    })
}

/// Removes what processes that were killed left: files half written, and tables that never got their names.
fn remove_leftovers(folder: &Folder, runs: &Path) {
    let entries = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    for half in entries(runs).filter(|path| path.extension().is_some_and(|extension| extension == "tmp")) {
        let _ = fs::remove_file(half);
    }
    let own = folder.staging().file_name();
    for staging in entries(folder.path()).filter(|path| Folder::is_staging(path) && path.file_name() != own) {
        let _ = fs::remove_dir_all(staging);
    }
}
