//! Reads the lines of an archived file, one after the other.
//!
//! Guarantees: bounded memory; a broken frame or an endless line is an error, never a short file.
//! Does not: compare with the manifest; who reads to the end gets the sum to compare.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use counterfoil_core::domain::EventRow;
use counterfoil_core::port::archive::Entry;

use crate::bodies::line::decode as event;
use crate::error::ArchiveError;
use crate::line::decode;
use crate::sum::{Sum, Summing};

/// The longest line: a body and results of 16 MiB each, many times over.
const LINE_BYTES_MAX: u64 = 1 << 30;

/// The lines of a file.
pub struct Lines {
    path: PathBuf,
    from: BufReader<zstd::Decoder<'static, BufReader<File>>>,
    lines: Summing<()>,
    count: u64,
}

impl Lines {
    /// Opens a file.
    ///
    /// # Errors
    /// [`ArchiveError`] if it cannot be read.
    pub fn open(path: &Path) -> Result<Self, ArchiveError> {
        let denied = |error| ArchiveError::read(path, error);
        let decoder = zstd::Decoder::new(File::open(path).map_err(denied)?).map_err(denied)?;
        let from = BufReader::new(decoder);
        Ok(Self { path: path.to_owned(), from, lines: Summing::new(()), count: 0 })
    }

    /// The next line, without its line end; `None` at the end.
    ///
    /// # Errors
    /// [`ArchiveError::Damaged`] if the file breaks off or is no such file.
    pub fn line(&mut self) -> Result<Option<Vec<u8>>, ArchiveError> {
        let mut line = Vec::new();
        let read = self.from.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        read.map_err(|error| self.broken(&format!("it breaks off or is changed: {error}")))?;
        if line.is_empty() {
            return Ok(None);
        }
        self.lines.pass(&line);
        self.count += 1;
        if line.pop() != Some(b'\n') {
            return Err(self.broken("its last line has no end"));
        }
        Ok(Some(line))
    }

    /// The next command; `None` at the end.
    ///
    /// # Errors
    /// As [`line`](Self::line), and if the line is no command.
    pub fn entry(&mut self) -> Result<Option<Entry>, ArchiveError> {
        let Some(line) = self.line()? else { return Ok(None) };
        let entry = decode(&line).map_err(|why| self.broken(&format!("{}: {why}", self.at())))?;
        Ok(Some(entry))
    }

    /// The next event; `None` at the end.
    ///
    /// # Errors
    /// As [`line`](Self::line), and if the line is no event.
    pub fn event(&mut self) -> Result<Option<EventRow>, ArchiveError> {
        let Some(line) = self.line()? else { return Ok(None) };
        let event = event(&line).map_err(|why| self.broken(&format!("{}: {why}", self.at())))?;
        Ok(Some(event))
    }

    /// Which line was read last, for people.
    pub(crate) fn at(&self) -> String {
        format!("line {}", self.count)
    }

    /// How many lines were read, and their sum.
    #[must_use]
    pub fn read_so_far(&self) -> (u64, Sum) {
        (self.count, self.lines.sum())
    }

    fn broken(&self, why: &str) -> ArchiveError {
        ArchiveError::damaged(&self.path, why)
    }
}
