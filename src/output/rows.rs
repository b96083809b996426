//! Single gradients, streamed to their file a batch at a time, so that memory stays flat however many there are.

use super::table::{Column, Table, Values};
use crate::cluster::{CAUSES, FATES};
use crate::error::Result;
use crate::record::{GradientRow, RowSink};

/// Takes no rows: for runs without a results folder.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRows;

impl RowSink for NoRows {
    fn row(&mut self, _: &GradientRow) -> Result<()> {
        Ok(())
    }
}

/// A batch of rows as columns. In-flight gradients have instants that did not come yet: those are missing.
fn batch(rows: &[GradientRow], classes: &[String]) -> Table {
    let whole = |of: fn(&GradientRow) -> u64| rows.iter().map(of).collect::<Vec<u64>>();
    let seconds = |of: fn(&GradientRow) -> f64| rows.iter().map(of).collect::<Vec<f64>>();
    let instant = |of: fn(&GradientRow) -> crate::kernel::Time| -> Vec<Option<u64>> {
        rows.iter()
            .map(|row| Some(of(row)).filter(|&time| time <= row.gradient.ended).map(|time| time.nanos()))
            .collect()
    };
    let applied: Vec<Option<u64>> = rows.iter().map(|row| row.drift.map(|_| row.gradient.ended.nanos())).collect();
    let instants = [
        ("read_s", "read_ns", instant(|row| row.gradient.read)),
        ("received_s", "received_ns", instant(|row| row.gradient.received)),
        ("computed_s", "computed_ns", instant(|row| row.gradient.computed)),
        ("arrived_s", "arrived_ns", instant(|row| row.gradient.arrived)),
        ("applied_s", "applied_ns", applied),
    ];
    let mut columns = vec![
        Column::whole("run", "number", vec![0; rows.len()]),
        Column::whole("worker", "number", whole(|row| u64::from(row.gradient.worker))),
        Column::choice("class", classes.to_vec(), rows.iter().map(|row| row.gradient.class).collect()),
        Column::whole("version_read", "version", whole(|row| row.gradient.version_read)),
        Column::whole("version_applied", "version", whole(|row| row.gradient.version_applied)),
        Column {
            name: "lag_versions".to_owned(),
            unit: "versions".into(),
            values: Values::Signed(rows.iter().map(|row| row.gradient.lag_versions()).collect()),
        },
        Column::number("lag_s", "s", seconds(|row| row.gradient.lag().seconds())),
        Column::whole("lag_clocks", "clocks", whole(|row| row.gradient.lag_clocks)),
    ];
    for (name, _, nanos) in &instants {
        columns.push(Column::maybe(
            *name,
            "s",
            nanos.iter().map(|nanos| nanos.map(|nanos| nanos as f64 / 1e9)).collect(),
        ));
    }
    for (place, cause) in CAUSES.iter().enumerate() {
        let spans = rows.iter().map(|row| row.gradient.causes.parts()[place].seconds());
        columns.push(Column::number(format!("{cause}_s"), "s", spans.collect()));
    }
    columns.extend([
        Column::maybe("drift", "norm of parameters", rows.iter().map(|row| row.drift).collect()),
        Column::maybe("gradient_error", "norm of gradient", rows.iter().map(|row| row.gradient_error).collect()),
        Column::number("weight", "factor", seconds(|row| row.gradient.weight)),
        Column::whole("multiplicity", "gradients", whole(|row| u64::from(row.gradient.multiplicity))),
        Column::choice(
            "fate",
            FATES.iter().map(|(_, name)| (*name).to_owned()).collect(),
            rows.iter().map(|row| row.gradient.fate as u32).collect(),
        ),
    ]);
    for (_, name, nanos) in instants {
        columns.push(Column { name: name.to_owned(), unit: "ns".into(), values: Values::MaybeWhole(nanos) });
    }
    columns.push(Column::whole("shard", "number", whole(|row| u64::from(row.gradient.shard))));
    Table { file: super::GRADIENTS.into(), columns }
}

#[cfg(feature = "parquet")]
pub use file::GradientFile;

#[cfg(feature = "parquet")]
mod file {
    use super::super::beside::Beside;
    use super::super::folder::Folder;
    use super::super::parquet::{ROW_GROUP, Writer};
    use super::super::stamp::Stamp;
    use super::super::table::Table;
    use super::{GradientRow, Result, RowSink, batch};

    /// So many rows become columns at a time: as many as stay near the processor.
    const NEAR: usize = 512;

    /// `gradients.parquet`, being written.
    pub struct GradientFile {
        classes: Vec<String>,
        /// Rows that are not in columns yet, and columns that are not in the file.
        rows: Vec<GradientRow>,
        columns: Table,
        file: Beside,
    }

    impl GradientFile {
        /// Begins the file in `folder`; `classes` are the names of the classes of workers.
        ///
        /// # Errors
        /// If it cannot be written.
        pub fn create(folder: &Folder, classes: Vec<String>, stamp: &Stamp) -> Result<GradientFile> {
            let columns = batch(&[], &classes);
            let writer = Writer::create(&folder.staged(super::super::GRADIENTS), &columns, stamp)?;
            Ok(GradientFile { classes, rows: Vec::with_capacity(NEAR), columns, file: Beside::new(writer) })
        }

        fn gather(&mut self) -> Result<()> {
            self.columns.append(batch(&self.rows, &self.classes))?;
            self.rows.clear();
            Ok(())
        }

        fn flush(&mut self) -> Result<()> {
            self.gather()?;
            self.columns = self.file.write(std::mem::take(&mut self.columns))?;
            Ok(())
        }

        /// Writes what is left, and the footer.
        ///
        /// # Errors
        /// If it cannot be written.
        pub fn finish(mut self) -> Result<()> {
            self.flush()?;
            self.file.finish()
        }
    }

    impl RowSink for GradientFile {
        fn row(&mut self, row: &GradientRow) -> Result<()> {
            self.rows.push(*row);
            if self.rows.len() < NEAR {
                return Ok(());
            }
            if self.columns.rows() + NEAR < ROW_GROUP { self.gather() } else { self.flush() }
        }
    }
}

#[cfg(not(feature = "parquet"))]
pub use without::GradientFile;

#[cfg(not(feature = "parquet"))]
mod without {
    use super::super::folder::Folder;
    use super::super::stamp::Stamp;
    use super::{GradientRow, Result, RowSink, batch};

    /// Cannot be written without Parquet.
    #[derive(Debug)]
    pub enum GradientFile {}

    impl GradientFile {
        /// # Errors
        /// Always.
        pub fn create(folder: &Folder, classes: Vec<String>, stamp: &Stamp) -> Result<GradientFile> {
            folder.write(&batch(&[], &classes), stamp).map(|()| unreachable!("there is no Parquet"))
        }

        /// # Errors
        /// Never: there is no such file.
        pub fn finish(self) -> Result<()> {
            match self {}
        }
    }

    impl RowSink for GradientFile {
        fn row(&mut self, _: &GradientRow) -> Result<()> {
            match *self {}
        }
    }
}
