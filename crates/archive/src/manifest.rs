//! The manifest of a file: what it holds, its sums, and what became of it.
//!
//! Guarantees: written only once its file is whole; a newer format is refused, not guessed. Does
//! not: hold content.

use std::io::ErrorKind;

use counterfoil_core::domain::Micros;
use counterfoil_core::port::archive::Entry;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::ArchiveError;
use crate::folder::Folder;
use crate::sum::Sum;
use crate::work::Watch;
use crate::{durable, name};

/// The format that this version writes, and the newest that it reads.
const FORMAT: u32 = 1;

/// How far a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// It is whole and was read back; its commands may still be in the store.
    Written,
    /// Its commands are not in the store, but those that are named as left.
    Buried,
}

/// What stands in `NAME.manifest.json`; times are microseconds since 1970, UTC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The format: 1.
    pub format: u32,
    /// The name of the file with the lines, without folder.
    pub file: String,
    /// The source of the store.
    pub source: String,
    /// How far it is.
    pub stage: Stage,
    /// When it was written.
    pub written_at: Micros,
    /// How many commands it holds, a line each.
    pub commands: u64,
    /// The smallest `n`.
    pub first_n: i64,
    /// The largest `n`.
    pub last_n: i64,
    /// When the earliest newest receipt was recorded.
    pub earliest_receipt: Micros,
    /// When the latest newest receipt was recorded.
    pub latest_receipt: Micros,
    /// The sum of the file as it lies there, compressed.
    pub compressed: Sum,
    /// The sum of the lines.
    pub lines: Sum,
    /// Its lines that do not count, by id: their commands had changed meanwhile and were left in
    /// the store, or were archived from elsewhere.
    pub left: Vec<String>,
}

/// All that is read of a manifest of another version.
#[derive(Deserialize)]
struct Format {
    format: u32,
}

/// Reads a manifest of either kind; `None` if there is none.
pub(crate) fn read<T: DeserializeOwned>(
    folder: &Folder,
    name: &str,
    known: u32,
) -> Result<Option<T>, ArchiveError> {
    let path = folder.at(name);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        // In the place of one manifest: no reason to say nothing of the other files.
        Err(_) if path.is_dir() => return Err(ArchiveError::damaged(&path, "it is a folder")),
        Err(error) => return Err(ArchiveError::read(&path, error)),
    };
    let damaged = |error: serde_json::Error| ArchiveError::damaged(&path, error.to_string());
    // A newer one may have other keys, so its format is read by itself.
    let Format { format } = serde_json::from_slice(&bytes).map_err(damaged)?;
    if format == known {
        return serde_json::from_slice(&bytes).map(Some).map_err(damaged);
    }
    if format > known {
        return Err(ArchiveError::Newer { path, format, known });
    }
    Err(ArchiveError::damaged(&path, format!("there is no format {format}")))
}

/// What a manifest says of its lines, counted while they pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) commands: u64,
    pub(crate) range: Option<(i64, i64)>,
    pub(crate) receipts: Option<(Micros, Micros)>,
    /// Each line's `n` is larger than the one before.
    pub(crate) is_sorted: bool,
}

impl Counted {
    pub(crate) fn new() -> Self {
        Self { is_sorted: true, ..Self::default() }
    }

    pub(crate) fn add(&mut self, entry: &Entry) {
        let n = entry.outbox.n;
        self.commands += 1;
        self.is_sorted &= self.range.is_none_or(|(_, last)| last < n);
        self.range = Some(self.range.map_or((n, n), |(first, last)| (first.min(n), last.max(n))));
        if let Some(newest) = entry.newest() {
            let at = newest.receipt.recorded_at;
            let both =
                self.receipts.map_or((at, at), |(first, last)| (first.min(at), last.max(at)));
            self.receipts = Some(both);
        }
    }
}

impl Manifest {
    /// The manifest of a file that is whole.
    pub(crate) fn new(
        (file, source): (&str, &str),
        written_at: Micros,
        counted: &Counted,
        (compressed, lines): (Sum, Sum),
    ) -> Self {
        let (first_n, last_n) = counted.range.unwrap_or_default();
        let (earliest_receipt, latest_receipt) = counted.receipts.unwrap_or_default();
        Self {
            format: FORMAT,
            file: file.to_owned(),
            source: source.to_owned(),
            stage: Stage::Written,
            written_at,
            commands: counted.commands,
            first_n,
            last_n,
            earliest_receipt,
            latest_receipt,
            compressed,
            lines,
            left: Vec::new(),
        }
    }

    /// Whether it says of its lines what was counted.
    pub(crate) fn agrees(&self, counted: &Counted, lines: &Sum) -> bool {
        let range = (self.first_n, self.last_n);
        let receipts = (self.earliest_receipt, self.latest_receipt);
        counted.is_sorted
            && self.commands == counted.commands
            && counted.range.unwrap_or_default() == range
            && counted.receipts.unwrap_or_default() == receipts
            && self.lines == *lines
    }

    /// Reads a file of this name; `None` if there is none.
    pub(crate) fn read(folder: &Folder, name: &str) -> Result<Option<Self>, ArchiveError> {
        read(folder, name, FORMAT)
    }

    /// The manifest of a stem, if there is one.
    pub(crate) fn of(folder: &Folder, stem: &str) -> Result<Option<Self>, ArchiveError> {
        Self::read(folder, &format!("{stem}{}", name::MANIFEST))
    }

    /// Writes it under its stem and `end`.
    pub(crate) fn put(
        &self,
        folder: &Folder,
        (stem, end): (&str, &str),
        watch: &dyn Watch,
    ) -> Result<(), ArchiveError> {
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        durable::put(folder, &format!("{stem}{end}"), &bytes, watch)
    }
}
