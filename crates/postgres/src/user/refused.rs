//! Why nothing was recorded or reported, told alike by each driver.
//!
//! Guarantees: says whether the transaction is usable, and whether to run it again. Does not: hold
//! a driver's own error.

use counterfoil_core::domain::{CommandId, Token};
use counterfoil_core::port::store::WriteRefused;

use crate::failure::words;

/// Why nothing was recorded or reported.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnqueueError {
    /// A rule of the store; the transaction is usable.
    #[error(transparent)]
    Refused(#[from] WriteRefused),
    /// A report about a command that this store never recorded. The transaction is aborted.
    #[error(
        "no such command: this store never heard of {id}; check the id, and check that the \
         connection is to the sender's own database and schema"
    )]
    NoSuchCommand {
        /// The id.
        id: String,
    },
    /// The token of a report is not the newest of an open command: another attempt owns it, or it
    /// has ended. The transaction is aborted: roll it back, so that nothing is done twice.
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
    /// The connection is not in a transaction.
    #[error(
        "there is no transaction: a command is recorded, and reported, beside the rows that it \
         belongs to, so begin one first"
    )]
    NoTransaction,
    /// The server refused otherwise; the transaction is aborted, or the connection is gone.
    #[error("PostgreSQL says: {said}")]
    Server {
        /// The SQLSTATE, if the server answered.
        code: Option<String>,
        /// Its words.
        said: String,
    },
}

impl EnqueueError {
    /// Whether the whole transaction, rolled back and run again, may go through: another one was
    /// in the way.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        let Self::Server { code: Some(code), .. } = self else { return false };
        matches!(code.as_str(), "40001" | "40P01" | "55P03")
    }

    /// What the guards refuse a report by is told by name.
    pub(super) fn of_report(self, id: &CommandId, token: Option<Token>) -> Self {
        let Self::Server { said, .. } = &self else { return self };
        if said.starts_with("CF0202") {
            return Self::NoSuchCommand { id: id.to_string() };
        }
        match token {
            Some(token) if said.starts_with("CF0203") => {
                Self::StaleToken { id: id.to_string(), token: token.get() }
            }
            _ => self,
        }
    }
}

impl From<tokio_postgres::Error> for EnqueueError {
    fn from(error: tokio_postgres::Error) -> Self {
        let code = error.code().map(|code| code.code().to_owned());
        Self::Server { code, said: words(&error) }
    }
}
