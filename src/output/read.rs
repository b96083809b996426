//! Results that were written before, read back as tables.

use super::table::{Column, Table, Values};
use crate::error::{Error, Result};
use polars::prelude::{AnyValue, Column as Read, DataType, ParquetReader, SerReader};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A folder with the results of a run, a sweep or a tuning.
#[derive(Debug)]
pub struct Results {
    path: PathBuf,
    /// What stands in the footer of the summary, without `laggard.`.
    footer: BTreeMap<String, String>,
}

impl Results {
    /// Opens the folder at `path`.
    ///
    /// # Errors
    /// If there is no folder, or nothing in it that this program wrote.
    pub fn open(path: &Path) -> Result<Results> {
        let summary = path.join("summary.parquet");
        if !path.is_dir() {
            let remedy = "is no folder; results are made by `laggard run SCENARIO --out FOLDER`, or `sweep`";
            return Err(Error::Invalid(format!("{}: {remedy}", path.display())));
        }
        if !summary.is_file() {
            let remedy = match path.join("runs").is_dir() {
                true => {
                    "is of a sweep that is not over; the same command goes on with it, and makes its tables at the end"
                }
                false => {
                    "has no summary.parquet; a folder of results is made by `laggard run SCENARIO --out FOLDER`, or `sweep`"
                }
            };
            return Err(Error::Invalid(format!("{}: {remedy}", path.display())));
        }
        let mut reader = ParquetReader::new(open(&summary)?);
        let pairs = reader.get_metadata().map_err(|error| refuse(&summary, error))?.key_value_metadata().clone();
        let own = |key: &str| key.strip_prefix("laggard.").map(str::to_owned);
        let footer: BTreeMap<String, String> =
            pairs.into_iter().flatten().filter_map(|pair| Some((own(&pair.key)?, pair.value?.to_string()))).collect();
        if !footer.contains_key("schema_version") {
            return Err(refuse(&summary, "was not written by laggard"));
        }
        Ok(Results { path: path.to_owned(), footer })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the summary's footer says under `laggard.` and this name, or nothing.
    pub fn footer(&self, name: &str) -> &str {
        self.footer.get(name).map_or("", String::as_str)
    }

    /// The table in the file of that name, which must have these columns; `None` if there is no such file.
    ///
    /// # Errors
    /// If it cannot be read, or has not all of them.
    pub fn table_with(&self, file: &'static str, columns: &[&str]) -> Result<Option<Table>> {
        let Some(table) = self.table(file)? else { return Ok(None) };
        match columns.iter().find(|name| !table.columns.iter().any(|column| column.name == **name)) {
            Some(name) => Err(refuse(&self.path.join(file), format!("has no column `{name}`; make the results again"))),
            None => Ok(Some(table)),
        }
    }

    /// The table in the file of that name; `None` if there is no such file.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn table(&self, file: &'static str) -> Result<Option<Table>> {
        let path = self.path.join(file);
        if !path.exists() {
            return Ok(None);
        }
        let frame = ParquetReader::new(open(&path)?).finish().map_err(|error| refuse(&path, error))?;
        let columns = frame.columns().iter().map(|column| self::column(&path, column)).collect::<Result<_>>()?;
        Ok(Some(Table { file: file.into(), columns }))
    }
}

fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|source| Error::io(path, source))
}

fn refuse(path: &Path, error: impl std::fmt::Display) -> Error {
    Error::Table { path: path.to_owned(), reason: error.to_string() }
}

/// Numbers of any kind are read as numbers.
fn column(path: &Path, column: &Read) -> Result<Column> {
    let name = column.name().to_string();
    let values = if column.dtype() == &DataType::String {
        let text = column.str().map_err(|error| refuse(path, error))?;
        Values::Text(text.iter().map(|text| text.unwrap_or_default().to_owned()).collect())
    } else {
        let numbers = column.cast(&DataType::Float64).map_err(|error| refuse(path, error))?;
        let number = |row| match numbers.get(row) {
            Ok(AnyValue::Float64(value)) => Some(value),
            _ => None,
        };
        Values::Number((0..column.len()).map(number).collect())
    };
    Ok(Column { name, unit: "".into(), values })
}
