//! Columns of numbers from a CSV or Parquet file: measured durations, and the data of data-driven objectives.

use crate::error::{Error, Result};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Columns of numbers, or series of one: cheap to hand around.
pub type Columns = Arc<[Arc<[f64]>]>;

/// The data files of one scenario: read once, found beside the scenario file.
#[derive(Debug, Default)]
pub struct Files {
    folder: PathBuf,
    read: RefCell<BTreeMap<String, Columns>>,
    series: RefCell<BTreeMap<String, Columns>>,
}

impl Files {
    /// Relative paths are looked up in `folder`.
    pub fn beside(folder: &Path) -> Files {
        Files { folder: folder.to_owned(), ..Files::default() }
    }

    /// As [`columns`], from a file that the scenario calls `file`.
    ///
    /// # Errors
    /// As [`columns`].
    pub fn columns(&self, file: &str, names: &[&str]) -> Result<Columns> {
        self.labelled(file, names, None)
    }

    /// The same; the column called `label` may have text, which is numbered by when it first appears.
    fn labelled(&self, file: &str, names: &[&str], label: Option<&str>) -> Result<Columns> {
        let key = format!("{file}\n{}", names.join("\n"));
        if let Some(known) = self.read.borrow().get(&key) {
            return Ok(Arc::clone(known));
        }
        let columns = columns(&self.folder.join(file), names, label)?;
        let fresh: Columns = columns.into_iter().map(Arc::from).collect();
        self.read.borrow_mut().insert(key, Arc::clone(&fresh));
        Ok(fresh)
    }

    /// The values of `column` by series: the rows that share a value of the column `by`, in the order in which these first
    /// appear.
    ///
    /// # Errors
    /// As [`columns`].
    pub fn series(&self, file: &str, column: &str, by: &str) -> Result<Columns> {
        let key = format!("{file}\n{column}\n{by}");
        if let Some(known) = self.series.borrow().get(&key) {
            return Ok(Arc::clone(known));
        }
        let columns = self.labelled(file, &[column, by], Some(by))?;
        let mut places: BTreeMap<u64, usize> = BTreeMap::new();
        let mut series: Vec<Vec<f64>> = Vec::new();
        for (value, key) in columns[0].iter().zip(columns[1].iter()) {
            let place = *places.entry(key.to_bits()).or_insert(series.len());
            if place == series.len() {
                series.push(Vec::new());
            }
            series[place].push(*value);
        }
        let fresh: Columns = series.into_iter().map(Arc::from).collect();
        self.series.borrow_mut().insert(key, Arc::clone(&fresh));
        Ok(fresh)
    }

    /// The paths of the files read so far.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.read.borrow().keys().filter_map(|key| key.lines().next()).map(|file| self.folder.join(file)).collect()
    }

    /// A hash of every number read so far: results depend on these as they depend on the scenario's text.
    pub fn digest(&self) -> u64 {
        let mut hasher = xxhash_rust::xxh3::Xxh3::new();
        for (key, columns) in self.read.borrow().iter() {
            hasher.update(key.as_bytes());
            columns
                .iter()
                .flat_map(|column| column.iter())
                .for_each(|value| hasher.update(&value.to_bits().to_le_bytes()));
        }
        hasher.digest()
    }
}

/// Reads the named columns of `path`, a `.csv` or `.parquet` file with a header, one `Vec` a column in the order asked. That called
/// `label` may have text, which is numbered by when it first appears.
///
/// # Errors
/// If the file cannot be read, has no such column, is empty, or a value is missing or not a finite number; the message
/// names file, column and row.
pub fn columns(path: &Path, names: &[&str], label: Option<&str>) -> Result<Vec<Vec<f64>>> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    if !["csv", "parquet"].contains(&extension) {
        return Err(refuse(path, "expected a file that ends in .csv or .parquet"));
    }
    // A pipe or device may never end.
    if !std::fs::metadata(path).map_err(|source| Error::io(path, source))?.is_file() {
        return Err(refuse(path, "is no regular file"));
    }
    let columns =
        if extension == "csv" { csv_columns(path, names, label)? } else { parquet_columns(path, names, label)? };
    for (name, column) in names.iter().zip(&columns) {
        if column.is_empty() {
            return Err(refuse(path, format!("column `{name}` has no rows")));
        }
        if let Some(row) = column.iter().position(|value| !value.is_finite()) {
            return Err(refuse(path, format!("column `{name}`, row {}: {} is not finite", row + 1, column[row])));
        }
    }
    Ok(columns)
}

fn refuse(path: &Path, reason: impl Into<String>) -> Error {
    Error::Table { path: path.to_owned(), reason: reason.into() }
}

fn no_such_column(path: &Path, name: &str, present: &[&str]) -> Error {
    refuse(path, format!("has no column `{name}`; it has: {}", present.join(", ")))
}

/// The number of a label: how many others came before it.
fn number_of(labels: &mut BTreeMap<String, usize>, label: &str) -> f64 {
    let next = labels.len();
    *labels.entry(label.to_owned()).or_insert(next) as f64
}

fn csv_columns(path: &Path, names: &[&str], label: Option<&str>) -> Result<Vec<Vec<f64>>> {
    let file = std::fs::File::open(path).map_err(|source| Error::io(path, source))?;
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(file);
    let headers = reader.headers().map_err(|error| refuse(path, error.to_string()))?.clone();
    let place = |name: &&str| {
        let present: Vec<&str> = headers.iter().filter(|header| !header.is_empty()).collect();
        headers.iter().position(|header| header == *name).ok_or_else(|| no_such_column(path, name, &present))
    };
    let places: Vec<usize> = names.iter().map(place).collect::<Result<_>>()?;
    let mut columns = vec![Vec::new(); names.len()];
    let mut labels = BTreeMap::new();
    for (row, record) in reader.records().enumerate() {
        let record = record.map_err(|error| refuse(path, error.to_string()))?;
        for ((column, &place), name) in columns.iter_mut().zip(&places).zip(names) {
            let text = record.get(place).unwrap_or_default();
            let number = || {
                text.parse::<f64>().map_err(|_| {
                    refuse(path, format!("column `{name}`, row {}: expected a number, got `{text}`", row + 1))
                })
            };
            column.push(if label == Some(*name) { number_of(&mut labels, text) } else { number()? });
        }
    }
    Ok(columns)
}

#[cfg(feature = "parquet")]
fn parquet_columns(path: &Path, names: &[&str], label: Option<&str>) -> Result<Vec<Vec<f64>>> {
    use polars::prelude::{DataType, ParquetReader, SerReader};
    let file = std::fs::File::open(path).map_err(|source| Error::io(path, source))?;
    let frame = ParquetReader::new(file).finish().map_err(|error| refuse(path, error.to_string()))?;
    let read = |name: &&str| -> Result<Vec<f64>> {
        let present: Vec<&str> = frame.get_column_names().iter().map(|name| name.as_str()).collect();
        let column = frame.column(name).map_err(|_| no_such_column(path, name, &present))?;
        if label == Some(*name) {
            let text = column.cast(&DataType::String).map_err(|error| refuse(path, error.to_string()))?;
            let text = text.str().map_err(|error| refuse(path, error.to_string()))?;
            let mut labels = BTreeMap::new();
            return Ok(text.iter().map(|label| number_of(&mut labels, label.unwrap_or_default())).collect());
        }
        let cast = column.cast(&DataType::Float64).map_err(|error| refuse(path, error.to_string()))?;
        let values = cast.f64().map_err(|error| refuse(path, error.to_string()))?;
        let missing = |row: usize| refuse(path, format!("column `{name}`, row {}: expected a number", row + 1));
        values.iter().enumerate().map(|(row, value)| value.ok_or_else(|| missing(row))).collect()
    };
    names.iter().map(read).collect()
}

#[cfg(not(feature = "parquet"))]
fn parquet_columns(path: &Path, _: &[&str], _: Option<&str>) -> Result<Vec<Vec<f64>>> {
    Err(refuse(path, "this laggard was built without Parquet: convert it to .csv, or build with the feature `parquet`"))
}
