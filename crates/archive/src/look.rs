//! Finds one command in its file.
//!
//! Guarantees: what it gives is what its own digests say, and beside it stands whether the file is
//! what its manifest says. Does not: compare with the tombstone, or look at other lines; `verify`
//! does.

use counterfoil_core::port::archive::Entry;

use crate::error::ArchiveError;
use crate::folder::Folder;
use crate::line::decode;
use crate::lines::Lines;
use crate::manifest::Manifest;
use crate::name::LINES;
use crate::rewrite::{contains, needle};
use crate::sum;

/// How a file stands to its manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compared {
    /// Its bytes are those that the manifest says.
    Same,
    /// They are not.
    Differs,
    /// It could not be compared, and why.
    Not(String),
}

/// A command as its file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked {
    /// The command; `None`: the file does not hold it, or cannot be read up to there, as `why`
    /// says.
    pub entry: Option<Entry>,
    /// Why the file cannot be read.
    pub why: Option<String>,
    /// Whether the file is what was written. Without that, nothing speaks for receipts, attempts
    /// and acts but the line itself.
    pub compared: Compared,
}

/// The command in the file of this name; `None` if the file is not in the folder. It reads the file
/// twice: whole for its sum, and up to the command.
///
/// # Errors
/// [`ArchiveError`] if the file cannot be read. One that is damaged is told.
pub fn look(folder: &Folder, file: &str, command_id: &str) -> Result<Option<Looked>, ArchiveError> {
    if !folder.has(file) {
        return Ok(None);
    }
    let compared = compare(folder, file)?;
    let (entry, why) = match find(folder, file, command_id) {
        Ok(entry) => (entry, None),
        Err(error @ ArchiveError::Damaged { .. }) => (None, Some(error.to_string())),
        Err(error) => return Err(error),
    };
    Ok(Some(Looked { entry, why, compared }))
}

fn compare(folder: &Folder, file: &str) -> Result<Compared, ArchiveError> {
    let stem = file.strip_suffix(LINES).unwrap_or(file);
    let manifest = match Manifest::of(folder, stem) {
        Ok(Some(manifest)) => manifest,
        Ok(None) => return Ok(Compared::Not("it has no manifest".into())),
        Err(error) => return Ok(Compared::Not(error.to_string())),
    };
    let is_same = manifest.file == file && sum::of_file(&folder.at(file))? == manifest.compressed;
    Ok(if is_same { Compared::Same } else { Compared::Differs })
}

fn find(folder: &Folder, file: &str, command_id: &str) -> Result<Option<Entry>, ArchiveError> {
    let path = folder.at(file);
    let (mut lines, needle) = (Lines::open(&path)?, needle(command_id));
    while let Some(line) = lines.line()? {
        if contains(&line, &needle) {
            let entry = decode(&line).map_err(|why| ArchiveError::damaged(&path, why))?;
            if entry.outbox.command_id.as_str() == command_id {
                return Ok(Some(entry));
            }
        }
    }
    Ok(None)
}
