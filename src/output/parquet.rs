//! Parquet, by polars. Equal tables give equal bytes: one row group at a time, fixed sizes, nothing of host or hour.

use super::stamp::Stamp;
use super::table::{Table, Values};
use crate::error::{Error, Result};
use polars::io::parquet::write::{BatchedWriter, KeyValueMetadata};
use polars::polars_utils::compression::ZstdLevel;
use polars::prelude::{
    Column, CompatLevel, DataFrame, NamedFrom, ParquetCompression, ParquetWriter, Schema, SchemaExt, Series,
};
use polars_parquet::write::schema_to_metadata_key;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// How hard zstd tries: the instants of gradients hardly shrink by more.
const ZSTD: i32 = 1;

/// Rows that are written at a time; memory is bounded by these.
pub const ROW_GROUP: usize = 1 << 17;

/// A Parquet file that is being written, a batch at a time.
pub struct Writer {
    path: std::path::PathBuf,
    batches: BatchedWriter<Witnessed>,
    failure: Failure,
}

/// What the operating system said when writing failed: polars passes it on as a fault of the format.
type Failure = Arc<Mutex<Option<io::Error>>>;

/// A file whose first failure is remembered.
struct Witnessed {
    file: BufWriter<File>,
    failure: Failure,
}

impl Witnessed {
    fn note<T>(&self, done: io::Result<T>) -> io::Result<T> {
        done.map_err(|error| {
            let kind = error.kind();
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            kind.into()
        })
    }
}

impl Write for Witnessed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.file.write(bytes);
        self.note(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.file.flush();
        self.note(done)
    }
}

fn refuse(path: &Path, error: impl std::fmt::Display) -> Error {
    Error::Table { path: path.to_owned(), reason: error.to_string() }
}

fn frame(path: &Path, table: &Table) -> Result<DataFrame> {
    let column = |column: &super::table::Column| -> Column {
        let name = column.name.as_str().into();
        match &column.values {
            Values::Whole(values) => Series::new(name, values).into(),
            Values::Signed(values) => Series::new(name, values).into(),
            Values::MaybeWhole(values) => Series::new(name, values).into(),
            Values::Number(values) => Series::new(name, values).into(),
            Values::Text(values) => Series::new(name, values).into(),
        }
    };
    DataFrame::new_infer_height(table.columns.iter().map(column).collect()).map_err(|error| refuse(path, error))
}

impl Writer {
    /// Begins a file at `path` with the columns of `table`.
    pub fn create(path: &Path, table: &Table, stamp: &Stamp) -> Result<Writer> {
        let file = File::create(path).map_err(|source| Error::io(path, source))?;
        let schema: Schema = frame(path, table)?.schema().as_ref().clone();
        let mut pairs = stamp.pairs(&table.units());
        // Readers are told that text is plain text: polars' own default, views, is a type that few of them compute with.
        let arrow = schema_to_metadata_key(&schema.to_arrow(CompatLevel::oldest()));
        pairs.extend(arrow.value.map(|schema| (arrow.key, schema)));
        let metadata = KeyValueMetadata::from_static(pairs);
        let failure = Failure::default();
        let file = Witnessed { file: BufWriter::new(file), failure: Arc::clone(&failure) };
        let batches = ParquetWriter::new(file)
            .with_compression(ParquetCompression::Zstd(ZstdLevel::try_new(ZSTD).ok()))
            .with_row_group_size(Some(ROW_GROUP))
            .with_key_value_metadata(Some(metadata))
            .set_parallel(false)
            .batched(&schema)
            .map_err(|error| refuse(path, error))?;
        Ok(Writer { path: path.to_owned(), batches, failure })
    }

    /// Writes the rows of `table` as one row group.
    pub fn write(&mut self, table: &Table) -> Result<()> {
        let frame = frame(&self.path, table)?;
        self.batches.write_batch(&frame).map_err(|error| self.refuse(error))
    }

    /// Writes the footer.
    pub fn finish(self) -> Result<()> {
        self.batches.finish().map(|_| ()).map_err(|error| self.refuse(error))
    }

    /// The operating system's word, if it had one.
    fn refuse(&self, error: impl std::fmt::Display) -> Error {
        match self.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(source) => Error::io(&self.path, source),
            None => refuse(&self.path, error),
        }
    }
}

/// Writes a whole table.
pub fn write(path: &Path, table: &Table, stamp: &Stamp) -> Result<()> {
    let mut writer = Writer::create(path, table, stamp)?;
    writer.write(table)?;
    writer.finish()
}
