//! A file that is written beside the run: encoding and compressing go on in a thread of their own while the engine makes the next rows.

use super::parquet::Writer;
use super::table::Table;
use crate::error::{Error, Result};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{JoinHandle, spawn};

/// A Parquet file whose batches are written one behind the run. Three tables go round between the two, so that memory
/// stays flat; if the file is slower than the run, the run waits.
#[derive(Debug)]
pub struct Beside {
    full: Option<SyncSender<Table>>,
    empty: Receiver<Table>,
    thread: Option<JoinHandle<Result<Writer>>>,
}

impl Beside {
    /// Takes over a file that has been begun.
    pub fn new(mut writer: Writer) -> Beside {
        let (full, batches) = sync_channel::<Table>(1);
        let (give_back, empty) = sync_channel(2);
        let thread = spawn(move || {
            for mut batch in batches {
                writer.write(&batch)?;
                batch.clear();
                // Nobody waits for it at the end.
                let _ = give_back.try_send(batch);
            }
            Ok(writer)
        });
        Beside { full: Some(full), empty, thread: Some(thread) }
    }

    /// Lets the rows of `table` be written as one row group, and gives a table without rows in exchange.
    ///
    /// # Errors
    /// If those before could not be written.
    pub fn write(&mut self, table: Table) -> Result<Table> {
        let next = self.empty.try_recv().unwrap_or_else(|_| table.cleared());
        match self.full.as_ref().map(|full| full.send(table)) {
            Some(Ok(())) => Ok(next),
            // Nobody takes it any more: the thread has ended, and knows why.
            _ => self.end().and_then(|_| Err(Error::Broken("a file was written after its end".to_owned()))),
        }
    }

    /// Waits for all batches, and writes the footer.
    ///
    /// # Errors
    /// If anything could not be written.
    pub fn finish(mut self) -> Result<()> {
        self.end()?.finish()
    }

    fn end(&mut self) -> Result<Writer> {
        self.full = None;
        let broken = || Error::Broken("the writer of a file is no longer there".to_owned());
        self.thread.take().ok_or_else(broken)?.join().map_err(|_| broken())?
    }
}

/// A run that failed leaves nothing behind that still writes.
impl Drop for Beside {
    fn drop(&mut self) {
        if self.thread.is_some() {
            let _ = self.end();
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::output::stamp::Stamp;
    use crate::output::table::Column;
    use std::path::Path;

    /// A full disk is told by the run, with the system's own words, whether at the next batch or at the end.
    #[test]
    fn what_cannot_be_written_is_told() {
        let stamp = Stamp { scenario: String::new(), scenario_hash: 0, seed: 1, replication: 0, fingerprint: None };
        let numbers = (0..100_000).map(|number| f64::from(number).sqrt()).collect();
        let table = Table { file: "full".into(), columns: vec![Column::number("a", "s", numbers)] };
        let mut file = Beside::new(Writer::create(Path::new("/dev/full"), &table, &stamp).unwrap());
        let error = (0..5).find_map(|_| file.write(table.clone()).err()).or_else(|| file.finish().err());
        let error = error.unwrap().to_string();
        assert!(error.contains("No space left on device"), "{error}");
    }
}
