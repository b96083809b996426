//! Parquet, by the writer of polars. Equal tables give equal bytes: one row group at a time, fixed sizes, nothing of host or hour.

use super::stamp::Stamp;
use super::table::{Column, Table, Values};
use crate::error::{Error, Result};
use polars::prelude::PolarsResult;
use polars_arrow::array::{Array, DictionaryArray, PrimitiveArray, Utf8Array};
use polars_arrow::datatypes::{ArrowDataType, ArrowSchema, Field};
use polars_arrow::types::NativeType;
use polars_parquet::parquet::error::ParquetError;
use polars_parquet::write::{
    CompressionOptions, Compressor, DynIter, DynStreamingIterator, Encoding, FallibleStreamingIterator, FileWriter,
    KeyValue, ParquetType, StatisticsOptions, Version, WriteOptions, ZstdLevel, array_to_columns,
    schema_to_metadata_key,
};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// How hard zstd tries: the instants of gradients hardly shrink by more.
const ZSTD: i32 = 1;

/// Rows that are written at a time; memory is bounded by these.
pub const ROW_GROUP: usize = 1 << 15;

/// A Parquet file that is being written, a batch at a time.
pub struct Writer {
    path: std::path::PathBuf,
    file: FileWriter<Witnessed>,
    footer: Vec<KeyValue>,
    failure: Failure,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Writer").field("path", &self.path).finish_non_exhaustive()
    }
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

/// How a column is described to readers: text is plain text, as polars' own default, views, is a type that few of them compute with.
fn field(column: &Column) -> Field {
    let kind = match &column.values {
        Values::Whole(_) | Values::MaybeWhole(_) => ArrowDataType::UInt64,
        Values::Signed(_) => ArrowDataType::Int64,
        Values::Number(_) => ArrowDataType::Float64,
        Values::Text(_) | Values::Choice(..) => ArrowDataType::LargeUtf8,
    };
    let may_miss = !matches!(column.values, Values::Whole(_) | Values::Signed(_));
    Field::new(column.name.as_str().into(), kind, may_miss)
}

/// The values as the writer takes them, and how it is to encode them: whole numbers by their differences, few different
/// values by their numbers in a dictionary.
fn array(values: &Values) -> PolarsResult<(Box<dyn Array>, Encoding)> {
    Ok(match values {
        Values::Whole(values) => (PrimitiveArray::from_slice(values).boxed(), Encoding::DeltaBinaryPacked),
        Values::Signed(values) => (PrimitiveArray::from_slice(values).boxed(), Encoding::DeltaBinaryPacked),
        Values::MaybeWhole(values) => (some(values), Encoding::DeltaBinaryPacked),
        Values::Number(values) => match values.first() {
            Some(&Some(first))
                if values.iter().all(|value| value.is_some_and(|value| value.to_bits() == first.to_bits())) =>
            {
                dictionary(PrimitiveArray::from_vec(vec![first]).boxed(), vec![0; values.len()])?
            }
            _ => (some(values), Encoding::Plain),
        },
        Values::Text(values) => (Utf8Array::<i64>::from_slice(values).boxed(), Encoding::Plain),
        Values::Choice(texts, values) => dictionary(Utf8Array::<i64>::from_slice(texts).boxed(), values.clone())?,
    })
}

/// Values that may be missing. Most often none is.
fn some<T: NativeType>(values: &[Option<T>]) -> Box<dyn Array> {
    if values.iter().all(Option::is_some) {
        return PrimitiveArray::from_vec(values.iter().map(|value| value.unwrap_or_default()).collect()).boxed();
    }
    PrimitiveArray::from(values).boxed()
}

fn dictionary(values: Box<dyn Array>, keys: Vec<u32>) -> PolarsResult<(Box<dyn Array>, Encoding)> {
    let array = DictionaryArray::try_from_keys(PrimitiveArray::from_vec(keys), values, false)?;
    Ok((array.boxed(), Encoding::RleDictionary))
}

fn zstd() -> CompressionOptions {
    CompressionOptions::Zstd(ZstdLevel::try_new(ZSTD).ok())
}

/// How values of that kind are written. Differences of whole numbers are as short as they are.
fn options(encoding: Encoding) -> WriteOptions {
    let compression = if encoding == Encoding::DeltaBinaryPacked { CompressionOptions::Uncompressed } else { zstd() };
    WriteOptions { statistics: StatisticsOptions::default(), version: Version::V1, compression, data_page_size: None }
}

impl Writer {
    /// Begins a file at `path` with the columns of `table`.
    pub fn create(path: &Path, table: &Table, stamp: &Stamp) -> Result<Writer> {
        let file = File::create(path).map_err(|source| Error::io(path, source))?;
        let schema: ArrowSchema = table.columns.iter().map(field).collect();
        let pair = |(key, value)| KeyValue { key, value: Some(value) };
        let mut footer: Vec<KeyValue> = stamp.pairs(&table.units()).into_iter().map(pair).collect();
        footer.push(schema_to_metadata_key(&schema));
        let failure = Failure::default();
        let file = Witnessed { file: BufWriter::new(file), failure: Arc::clone(&failure) };
        let file = FileWriter::try_new(file, schema, options(Encoding::Plain)).map_err(|error| refuse(path, error))?;
        Ok(Writer { path: path.to_owned(), file, footer, failure })
    }

    /// Writes the rows of `table` as one row group.
    pub fn write(&mut self, table: &Table) -> Result<()> {
        let types: Vec<ParquetType> = self.file.parquet_schema().fields().to_vec();
        // One column after the other, so that they take turns in the same memory.
        let columns = table.columns.iter().zip(types).map(|(column, of)| {
            let (array, encoding) = array(&column.values)?;
            let options = options(encoding);
            let pages = array_to_columns(array, of, options, &[encoding])?.pop();
            let pages = pages
                .into_iter()
                .flatten()
                .map(|page| page.map_err(|error| ParquetError::OutOfSpec(error.to_string())));
            let pages = Compressor::new(DynIter::new(pages), options.compression, Vec::new());
            Ok(DynStreamingIterator::new(pages.map_err(|error: ParquetError| error.into())))
        });
        let done = self.file.write(table.rows() as u64, DynIter::new(columns));
        done.map_err(|error| self.refuse(error))
    }

    /// Writes the footer.
    pub fn finish(mut self) -> Result<()> {
        let footer = std::mem::take(&mut self.footer);
        self.file.end(Some(footer)).map(|_| ()).map_err(|error| self.refuse(error))
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
