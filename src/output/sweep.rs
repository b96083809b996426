//! Tables of many runs, streamed to their files a row group at a time.

use super::folder::Folder;
use super::stamp::Stamp;
use super::table::Table;
use crate::error::Result;

/// A results folder whose tables grow run by run.
#[derive(Debug)]
pub struct SweepFolder<'a> {
    folder: &'a Folder,
    files: files::Files,
}

impl SweepFolder<'_> {
    /// Around a folder that is being filled.
    pub fn new(folder: &Folder) -> SweepFolder<'_> {
        SweepFolder { folder, files: files::Files::default() }
    }

    /// Adds rows to the file that the table names.
    ///
    /// # Errors
    /// If they cannot be written, or have other columns than those before.
    pub fn append(&mut self, table: Table, stamp: &Stamp) -> Result<()> {
        self.files.append(self.folder, table, stamp)
    }

    /// Completes all files.
    ///
    /// # Errors
    /// If one cannot be written.
    pub fn finish(self) -> Result<()> {
        self.files.finish()
    }
}

#[cfg(feature = "parquet")]
mod files {
    use super::{Folder, Result, Stamp, Table};
    use crate::output::parquet::{ROW_GROUP, Writer};
    use std::collections::BTreeMap;

    /// Files by name, each with the rows that are not yet a row group.
    #[derive(Default)]
    pub struct Files(BTreeMap<String, (Writer, Table)>);

    impl std::fmt::Debug for Files {
        fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.debug_list().entries(self.0.keys()).finish()
        }
    }

    impl Files {
        pub fn append(&mut self, folder: &Folder, table: Table, stamp: &Stamp) -> Result<()> {
            if !self.0.contains_key(&*table.file) {
                let writer = Writer::create(&folder.staged(&table.file), &table.cleared(), stamp)?;
                self.0.insert(table.file.to_string(), (writer, table.cleared()));
            }
            let Some((writer, rows)) = self.0.get_mut(&*table.file) else { return Ok(()) };
            rows.append(table)?;
            if rows.rows() >= ROW_GROUP {
                let full = std::mem::replace(rows, rows.cleared());
                writer.write(&full)?;
            }
            Ok(())
        }

        pub fn finish(self) -> Result<()> {
            for (mut writer, rows) in self.0.into_values() {
                writer.write(&rows)?;
                writer.finish()?;
            }
            Ok(())
        }
    }
}

#[cfg(not(feature = "parquet"))]
mod files {
    use super::{Folder, Result, Stamp, Table};

    /// There is nothing to write them with.
    #[derive(Debug, Default)]
    pub struct Files;

    impl Files {
        pub fn append(&mut self, folder: &Folder, table: Table, stamp: &Stamp) -> Result<()> {
            folder.write(&table, stamp)
        }

        pub fn finish(self) -> Result<()> {
            Ok(())
        }
    }
}
