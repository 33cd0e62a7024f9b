//! What goes to stdout: tables for people; the JSON for machines is the console's.
//!
//! Guarantees: a reader that goes away ends the command quietly. Does not: talk; that is stderr.

pub(crate) mod table;
pub(crate) mod time;

use std::io::Write;

use crate::exit::Failure;

/// Writes `text` and a line end to stdout.
///
/// # Errors
/// Stdout is gone, quietly, or cannot be written.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// So many of what is named: `1 command`, `2 commands`.
pub(crate) fn counted(n: u64, one: &str) -> String {
    format!("{n} {one}{}", if n == 1 { "" } else { "s" })
}

/// Writes `bytes` to stdout as they are.
///
/// # Errors
/// Stdout is gone, quietly, or cannot be written.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)?;
    Ok(out.flush()?)
}
