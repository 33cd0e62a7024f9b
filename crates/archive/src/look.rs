//! Finds one command in its file.
//!
//! Guarantees: what it gives is what its own digests say. Does not: look at the manifest; `verify`
//! does.

use counterfoil_core::port::archive::Entry;

use crate::error::ArchiveError;
use crate::folder::Folder;
use crate::line::decode;
use crate::lines::Lines;
use crate::rewrite::{contains, needle};

/// The command in the file of this name; `None` if the file is not in the folder, or does not hold
/// it. It reads the file up to there.
///
/// # Errors
/// [`ArchiveError`] if the file cannot be read, or is damaged up to there.
pub fn look(folder: &Folder, file: &str, command_id: &str) -> Result<Option<Entry>, ArchiveError> {
    if !folder.has(file) {
        return Ok(None);
    }
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
