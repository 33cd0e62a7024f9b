//! What SQLite reports, as the port says it: try again, or do not.
//!
//! Guarantees: names SQLite's own words. Does not: say whether a COMMIT took effect; see `group`.

use counterfoil_core::port::store::StoreError;
use rusqlite::ErrorCode;

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
        ) => StoreError::Unavailable(error.to_string()),
        _ => StoreError::Broken(error.to_string()),
    }
}
