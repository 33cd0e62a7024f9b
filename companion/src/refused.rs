//! Why nothing was recorded or reported.
//!
//! Guarantees: says what the door on `rusqlite` says. Does not: hold the body.

use counterfoil_core::domain::{CommandId, Token};
use counterfoil_core::port::store::WriteRefused;

/// Why nothing was recorded or reported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnqueueError {
    /// A rule of the store; the transaction is usable.
    #[error(transparent)]
    Refused(#[from] WriteRefused),
    /// A report about a command that this store never recorded.
    #[error(
        "no such command: this store never heard of {id}; check the id, and check that the \
         connection is to the sender's own file"
    )]
    NoSuchCommand {
        /// The id.
        id: String,
    },
    /// The token of a report is not the newest of an open command: another attempt owns it, or it
    /// has ended. Roll the transaction back, so that nothing is done twice.
    #[error(
        "the token {token} is not the newest of command {id}, or the command has ended: another \
         attempt owns it; roll the transaction back"
    )]
    StaleToken {
        /// The command.
        id: String,
        /// The token of the report.
        token: i64,
    },
    /// The connection is not in a transaction that `sqlx` began.
    #[error(
        "there is no transaction: a command is recorded, and reported, beside the rows that it \
         belongs to, so begin one first, best with begin_with(\"BEGIN IMMEDIATE\")"
    )]
    NoTransaction,
    /// The database failed; look at the transaction before you go on.
    #[error("SQLite says: {0}")]
    Sqlx(#[from] sqlx::Error),
}

/// Whether a guard refused by one of these codes.
pub(crate) fn says(error: &sqlx::Error, codes: &[&str]) -> bool {
    let said = error.as_database_error().map(sqlx::error::DatabaseError::message);
    said.is_some_and(|said| codes.iter().any(|code| said.starts_with(code)))
}

/// What the guards refuse a report by is told by name.
pub(crate) fn of_report(error: sqlx::Error, id: &CommandId, token: Option<Token>) -> EnqueueError {
    let id = id.to_string();
    if says(&error, &["CF0202"]) {
        EnqueueError::NoSuchCommand { id }
    } else if says(&error, &["CF0203"]) {
        EnqueueError::StaleToken { id, token: token.map_or(0, Token::get) }
    } else {
        error.into()
    }
}
