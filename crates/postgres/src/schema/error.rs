//! Why a database has no schema that this program can use, or does not get one.
//!
//! Guarantees: each refusal has a stable code and says the way out. Does not: say anything that
//! was not looked at.

use super::{NAME_BYTES_MAX, SCHEMA_VERSION, SOURCE_BYTES_MAX};
use crate::failure::{Failure, words};

/// Why a database has no schema that this program can use, or does not get one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The database has no tables of Counterfoil.
    #[error("there is no Counterfoil schema `{schema}` in this database: run `counterfoil init`")]
    Missing {
        /// Its name.
        schema: String,
    },
    /// The tables come from a newer program.
    #[error(
        "its schema has version {found}, this program knows {SCHEMA_VERSION}: use the newer \
         program; a schema never goes back"
    )]
    Newer {
        /// The version in the database.
        found: i32,
    },
    /// The tables come from an older program.
    #[error(
        "its schema has version {found}, this program needs {SCHEMA_VERSION}: run `counterfoil \
         init` once, which upgrades it"
    )]
    Older {
        /// The version in the database.
        found: i32,
    },
    /// Somebody else's schema has that name.
    #[error(
        "the schema `{schema}` is not Counterfoil's: it holds `{holds}`; give another name, or an \
         empty schema"
    )]
    Foreign {
        /// Its name.
        schema: String,
        /// A table, function or type that it holds.
        holds: String,
    },
    /// The name cannot be used.
    #[error(
        "the schema's name {asked:?} is none of 1 to {NAME_BYTES_MAX} bytes of letters, digits, \
         `_` and `-` that does not begin with `pg_`: take one such as counterfoil"
    )]
    Name {
        /// What was asked for.
        asked: String,
    },
    /// Text is not stored as UTF-8.
    #[error(
        "its text encoding is {encoding}, and ids and bodies are compared as UTF-8: put the \
         outbox and its business tables into a UTF8 database"
    )]
    Encoding {
        /// What the server says.
        encoding: String,
    },
    /// The server is too old.
    #[error("the server is PostgreSQL {version}, and Counterfoil needs 14 or newer: upgrade it")]
    Server {
        /// What the server says.
        version: String,
    },
    /// The source cannot stand in a header.
    #[error(
        "the source {asked:?} is no URI reference of 1 to {SOURCE_BYTES_MAX} printable ASCII \
         characters: take one such as urn:example:orders"
    )]
    Source {
        /// What was asked for.
        asked: String,
    },
    /// The store has another name.
    #[error(
        "its source is `{stored}`, not `{asked}`: receivers know the store by it, so it stays; \
         leave the source out or give the stored one"
    )]
    OtherSource {
        /// What the store is called.
        stored: String,
        /// What was asked for.
        asked: String,
    },
    /// The server failed, or refused for a reason of its own, such as a missing right.
    #[error("PostgreSQL says: {said}")]
    Postgres {
        /// Its words.
        said: String,
        /// Whether another try later may go through.
        may_pass: bool,
    },
}

impl SchemaError {
    /// The stable code of this refusal.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Encoding { .. } => "CF0505",
            Self::Missing { .. } => "CF0507",
            Self::Newer { .. } => "CF0508",
            Self::Older { .. } => "CF0509",
            Self::OtherSource { .. } => "CF0512",
            Self::Source { .. } => "CF0513",
            Self::Server { .. } => "CF0517",
            Self::Foreign { .. } => "CF0518",
            Self::Name { .. } => "CF0519",
            Self::Postgres { .. } => "CF0520",
        }
    }
}

impl From<tokio_postgres::Error> for SchemaError {
    fn from(error: tokio_postgres::Error) -> Self {
        let said = words(&error);
        let may_pass = !matches!(Failure::from(error), Failure::Broken(_));
        Self::Postgres { said, may_pass }
    }
}
