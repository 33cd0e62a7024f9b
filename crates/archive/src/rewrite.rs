//! Rewrites a file without the content of one command, and its manifest with it.
//!
//! Guarantees: a crash leaves the old pair or the new pair, or what makes one of them whole again;
//! all other lines stay byte for byte. Does not: change what the tombstone says.

use std::path::Path;

use counterfoil_core::domain::{Digest, Micros};
use counterfoil_core::port::archive::Entry;

use crate::error::ArchiveError;
use crate::folder::Folder;
use crate::line::{decode, digests, encode};
use crate::lines::Lines;
use crate::manifest::Manifest;
use crate::name::{LINES, MANIFEST, NEXT, PART};
use crate::work::Watch;
use crate::write::LineWriter;
use crate::{durable, sum};

/// Takes the content of `id` out of the file of `stem`. `false`: it holds none.
pub(crate) fn without_content(
    folder: &Folder,
    stem: &str,
    (id, at): (&str, Micros),
    watch: &dyn Watch,
) -> Result<bool, ArchiveError> {
    let Some(manifest) = Manifest::of(folder, stem)? else { return Ok(false) };
    check(folder, &manifest)?;
    let path = folder.at(&manifest.file);
    let part = format!("{stem}{LINES}{PART}");
    let mut writer = LineWriter::create(folder.at(&part))?;
    let mut lines = Lines::open(&path)?;
    let (needle, mut changed) = (needle(id), false);
    while let Some(mut line) = lines.line()? {
        line.push(b'\n');
        if contains(&line, &needle) {
            let entry = decode(&line).map_err(|why| ArchiveError::damaged(&path, why))?;
            if entry.outbox.command_id.as_str() == id && holds_content(&entry) {
                line = encode(&erased(entry, at));
                changed = true;
            }
        }
        writer.add(&line)?;
    }
    if !changed {
        drop(writer);
        durable::remove(folder, &part, watch)?;
        return Ok(false);
    }
    let (compressed, lines) = writer.finish(watch)?;
    let next = Manifest { compressed, lines, ..manifest };
    next.put(folder, (stem, NEXT), watch)?;
    durable::rename(folder, &part, &next.file, watch)?;
    durable::rename(folder, &format!("{stem}{NEXT}"), &format!("{stem}{MANIFEST}"), watch)?;
    Ok(true)
}

/// Whether a line of the file holds the content of the command.
pub(crate) fn holds_content_of(path: &Path, id: &str) -> Result<bool, ArchiveError> {
    let (mut lines, needle) = (Lines::open(path)?, needle(id));
    while let Some(line) = lines.line()? {
        if contains(&line, &needle) {
            let entry = decode(&line).map_err(|why| ArchiveError::damaged(path, why))?;
            if entry.outbox.command_id.as_str() == id && holds_content(&entry) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Whether the file is what its manifest says.
pub(crate) fn check(folder: &Folder, manifest: &Manifest) -> Result<(), ArchiveError> {
    let path = folder.at(&manifest.file);
    if sum::of_file(&path)? == manifest.compressed {
        return Ok(());
    }
    Err(ArchiveError::damaged(&path, "it is not what its manifest says"))
}

/// Makes a pair whole that a crash has left between the old and the new form.
pub(crate) fn settle(folder: &Folder, stem: &str, watch: &dyn Watch) -> Result<(), ArchiveError> {
    let next = format!("{stem}{NEXT}");
    let Some(manifest) = Manifest::read(folder, &next)? else { return Ok(()) };
    let file = folder.at(&manifest.file);
    if !folder.has(&manifest.file) || sum::of_file(&file)? != manifest.compressed {
        // The old pair stands; what was asked begins again.
        return durable::remove(folder, &next, watch);
    }
    durable::rename(folder, &next, &format!("{stem}{MANIFEST}"), watch)
}

/// How the id stands in its line.
pub(crate) fn needle(id: &str) -> Vec<u8> {
    let id = serde_json::to_string(id).unwrap_or_default();
    format!("\"command_id\":{id}").into_bytes()
}

pub(crate) fn contains(line: &[u8], needle: &[u8]) -> bool {
    line.windows(needle.len()).any(|window| window == needle)
}

fn holds_content(entry: &Entry) -> bool {
    let mut bare = entry.clone();
    clear(&mut bare);
    entry.erased_at.is_none() || bare != *entry
}

/// The entry without its content; its digests stay, in its newest receipt.
fn erased(mut entry: Entry, at: Micros) -> Entry {
    let digests: Option<(Digest, Digest)> = digests(&entry);
    entry.erased_at = entry.erased_at.or(Some(at));
    if let Some(newest) = entry.receipts.iter_mut().max_by_key(|facts| facts.receipt.round) {
        newest.digest = newest.digest.or(digests.map(|(body, _)| body));
        newest.row_digest = newest.row_digest.or(digests.map(|(_, row)| row));
    }
    clear(&mut entry);
    entry
}

fn clear(entry: &mut Entry) {
    (entry.outbox.body, entry.outbox.headers) = (Vec::new(), None);
    for facts in &mut entry.receipts {
        (facts.receipt.result, facts.receipt.evidence) = (None, None);
    }
    for attempt in &mut entry.attempts {
        attempt.reason = None;
    }
    for said in &mut entry.contradictions {
        (said.result, said.evidence) = (None, None);
    }
    // Why it was erased may be told.
    for act in entry.actions.iter_mut().filter(|act| act.verb != "erase") {
        act.reason = None;
    }
}
