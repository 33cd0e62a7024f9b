//! What goes wrong between this process and the server, and whether trying again may help.
//!
//! Guarantees: whatever fails before COMMIT was asked for has written nothing. Does not: try again;
//! see `transact`.

use counterfoil_core::port::store::StoreError;
use tokio_postgres::error::SqlState;

/// Why a statement or transaction did not go through.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Another transaction was in the way; nothing was written, and trying again helps.
    Again(String),
    /// The server cannot be reached or cannot work now; nothing was written.
    Unavailable(String),
    /// COMMIT was asked for, and no answer came.
    NotKnown(String),
    /// Trying again will not help.
    Broken(String),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Again(why) | Self::Unavailable(why) | Self::NotKnown(why) | Self::Broken(why) => {
                f.write_str(why)
            }
        }
    }
}

impl Failure {
    /// The server's own code, where it answered with one.
    pub(crate) fn broken(what: impl Into<String>) -> Self {
        Self::Broken(what.into())
    }
}

/// The server's words: message, detail and hint, or the connection's.
pub(crate) fn words(error: &tokio_postgres::Error) -> String {
    let Some(said) = error.as_db_error() else {
        return match std::error::Error::source(error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        };
    };
    let mut words = format!("{} ({})", said.message(), said.code().code());
    for more in [said.detail(), said.hint()].into_iter().flatten() {
        words.push_str("; ");
        words.push_str(more);
    }
    words
}

/// Whether the server answers so because it cannot work now.
fn is_unavailable(code: &SqlState) -> bool {
    let class = code.code().get(..2).unwrap_or_default();
    // 08 connections, 53 resources, 57P0x shutdown and crash, 25006 a standby, 3D000 no database.
    class == "08" || class == "53" || code.code().starts_with("57P") || code.code() == "25006"
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        let said = words(&error);
        match error.code() {
            Some(code) => match code.code() {
                "40001" | "40P01" => Self::Again(said),
                // Two gave the turn of a lane, and one of them from an older look.
                "23505" if is_turn(&error) => Self::Again(said),
                "55P03" => Self::Unavailable(format!(
                    "another transaction holds a row that this needs: end it \
                     (pg_blocking_pids tells whose it is), or try again later: {said}"
                )),
                // A statement that took too long or was cancelled by a person; a session that stood
                // still in its transaction.
                "57014" | "25P03" => Self::Unavailable(said),
                _ if is_unavailable(code) => Self::Unavailable(said),
                _ => Self::Broken(said),
            },
            None if error.is_closed() || is_io(&error) => Self::Unavailable(said),
            None => Self::Broken(said),
        }
    }
}

fn is_turn(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().and_then(|said| said.constraint()) == Some("delivery_turn")
}

fn is_io(error: &tokio_postgres::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        if inner.is::<std::io::Error>() {
            return true;
        }
        source = inner.source();
    }
    error.to_string().contains("error connecting")
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Again(why) | Failure::Unavailable(why) => Self::Unavailable(why),
            Failure::NotKnown(why) => Self::NotKnown(why),
            Failure::Broken(why) => Self::Broken(why),
        }
    }
}

/// The server's SQLSTATE and words as `sqlx` tells them, or the connection's.
#[cfg(feature = "sqlx")]
pub(crate) fn sqlx_words(error: &sqlx::Error) -> (Option<String>, String) {
    use sqlx::postgres::PgDatabaseError;

    let said =
        error.as_database_error().and_then(|said| said.try_downcast_ref::<PgDatabaseError>());
    let Some(said) = said else { return (None, error.to_string()) };
    let mut words = format!("{} ({})", said.message(), said.code());
    for more in [said.detail(), said.hint()].into_iter().flatten() {
        words.push_str("; ");
        words.push_str(more);
    }
    (Some(said.code().to_owned()), words)
}
