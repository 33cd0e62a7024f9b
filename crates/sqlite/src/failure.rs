//! What SQLite reports, as the port says it: try again, or do not.
//!
//! Guarantees: SQLite's own words, without our statements. Does not: say whether a COMMIT took
//! effect; see `group`.

use counterfoil_core::port::store::StoreError;
use rusqlite::ErrorCode;

/// What SQLite says, without the statement: it is long, and no matter of people's.
pub(crate) fn said(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    }
}

/// The same of a statement of ours, and the way out.
pub(crate) fn words(error: &rusqlite::Error) -> String {
    let said = said(error);
    // Our statements are right as they stand, so what one names is not as this program made it.
    let is_about_schema = said.starts_with("no such ") || said.ends_with(" already exists");
    let way_out = if is_about_schema || matches!(error, rusqlite::Error::SqlInputError { .. }) {
        ": the schema is not whole; `counterfoil doctor` names what is missing, and a backup has it"
    } else if error.sqlite_error_code() == Some(ErrorCode::ReadOnly) {
        ": give this user the right to write the file, and its -wal and -shm beside it"
    } else {
        ""
    };
    format!("{said}{way_out}")
}

/// Says `error` in the words of the port; nothing was written.
pub(crate) fn store_error(error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::ReadOnly
            | ErrorCode::OutOfMemory
            | ErrorCode::OperationInterrupted,
        ) => StoreError::Unavailable(words(error)),
        _ => StoreError::Broken(words(error)),
    }
}
