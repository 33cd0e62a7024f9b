//! The reference receiver's book in a SQLite file: `jobs` and `calls` beside the inbox.
//!
//! Guarantees: a page is one `BEGIN IMMEDIATE` transaction, on the disk when `commit` returns; a
//! file whose `jobs` or `calls` is somebody else's is refused unchanged. Does not: prevent a
//! second job of one key by itself: only the inbox does, so a broken guard would show.

use std::path::{Path, PathBuf};

use counterfoil_core::domain::{Digest, Micros, ReceiptOutcome};
use counterfoil_core::port::{Book, Call, InboxEntry, InboxRows, Job, Page};
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

use super::{InboxTx, InboxTxError};
use crate::connection::init;
use crate::open_error::OpenError;

const TABLES: &str = include_str!("../../../../sql/sqlite/inbox/book.sql");
const INDEX: &str = include_str!("../../../../sql/sqlite/inbox/book_index.sql");
const LAST_JOB: &str = include_str!("../../../../sql/sqlite/inbox/last_job.sql");
const JOB: &str = include_str!("../../../../sql/sqlite/inbox/job.sql");
const FIRST_JOB: &str = include_str!("../../../../sql/sqlite/inbox/first_job.sql");
const CALL: &str = include_str!("../../../../sql/sqlite/inbox/call.sql");

/// The columns that make a table ours.
const COLUMNS: [(&str, &str); 2] = [
    ("jobs", "n,source,key,kind,body,received_at,result"),
    ("calls", "n,key,attempt,token,outcome,at"),
];

/// Why a file cannot be a receiver's book.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BookRefused {
    /// It cannot be opened as a store.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A table of that name belongs to somebody else.
    #[error(
        "{path}: it has a table `{table}` of other columns, which the receiver must not touch: \
         give the receiver a file of its own"
    )]
    ForeignTable {
        /// The file.
        path: PathBuf,
        /// The table.
        table: &'static str,
    },
    /// SQLite failed otherwise.
    #[error("{path}: SQLite says: {}", crate::failure::said(source))]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What it says.
        source: rusqlite::Error,
    },
}

impl BookRefused {
    /// The stable code of this refusal.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Open(refusal) => refusal.code(),
            Self::ForeignTable { .. } => "CF0720",
            Self::Sqlite { .. } => "CF0515",
        }
    }
}

/// A receiver's book in a file of its own.
#[derive(Debug)]
pub struct InboxBook {
    connection: Connection,
}

impl InboxBook {
    /// Opens the file, and creates it, its schema and its tables where they are missing. Blocking.
    ///
    /// # Errors
    /// [`BookRefused`].
    pub fn open(path: &Path) -> Result<Self, BookRefused> {
        let (mut connection, _) = init(path, None)?;
        match make_tables(&mut connection) {
            Ok(None) => Ok(Self { connection }),
            Ok(Some(table)) => Err(BookRefused::ForeignTable { path: path.into(), table }),
            Err(source) => Err(BookRefused::Sqlite { path: path.into(), source }),
        }
    }
}

/// Makes the tables, or names the first one that is not ours.
fn make_tables(connection: &mut Connection) -> rusqlite::Result<Option<&'static str>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(TABLES)?;
    for (table, columns) in COLUMNS {
        let names = "SELECT group_concat(name) FROM pragma_table_info(?1)";
        let found: Option<String> = transaction.query_row(names, [table], |row| row.get(0))?;
        if found.as_deref() != Some(columns) {
            return Ok(Some(table));
        }
    }
    transaction.execute_batch(INDEX)?;
    transaction.commit()?;
    Ok(None)
}

impl Book for InboxBook {
    type Error = InboxTxError;
    type Page<'book> = BookPage<'book>;

    fn page(&mut self) -> Result<BookPage<'_>, InboxTxError> {
        let immediate = TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(immediate)?;
        Ok(BookPage { rows: InboxTx::new(transaction) })
    }
}

/// One open write transaction of an [`InboxBook`].
#[derive(Debug)]
pub struct BookPage<'book> {
    rows: InboxTx<Transaction<'book>>,
}

impl BookPage<'_> {
    fn run(&self, statement: &str) -> Result<(), InboxTxError> {
        self.rows.prepare_cached(statement)?.execute([])?;
        Ok(())
    }
}

impl InboxRows for BookPage<'_> {
    type Error = InboxTxError;

    fn now(&mut self) -> Result<Micros, InboxTxError> {
        self.rows.now()
    }

    fn insert(
        &mut self,
        source: &str,
        key: &str,
        digest: Digest,
        expires_at: Micros,
    ) -> Result<Option<InboxEntry>, InboxTxError> {
        self.rows.insert(source, key, digest, expires_at)
    }

    fn finish(
        &mut self,
        source: &str,
        key: &str,
        outcome: ReceiptOutcome,
        result: &[u8],
    ) -> Result<(), InboxTxError> {
        self.rows.finish(source, key, outcome, result)
    }

    fn is_busy(error: &InboxTxError) -> bool {
        InboxTx::<Transaction<'_>>::is_busy(error)
    }
}

impl Page for BookPage<'_> {
    fn mark(&mut self) -> Result<(), InboxTxError> {
        self.run("SAVEPOINT counterfoil_request")
    }

    fn keep(&mut self) -> Result<(), InboxTxError> {
        self.run("RELEASE counterfoil_request")
    }

    fn undo(&mut self) -> Result<(), InboxTxError> {
        self.run("ROLLBACK TO counterfoil_request")?;
        self.run("RELEASE counterfoil_request")
    }

    fn look(&mut self, source: &str, key: &str) -> Result<Option<InboxEntry>, InboxTxError> {
        self.rows.look(source, key)
    }

    fn job(&mut self, job: &Job<'_>) -> Result<Vec<u8>, InboxTxError> {
        let last: i64 = self.rows.prepare_cached(LAST_JOB)?.query_row([], |row| row.get(0))?;
        let n = last + 1;
        let result = format!("{{\"job\":{n}}}");
        let mut insert = self.rows.prepare_cached(JOB)?;
        insert.execute(params![n, job.source, job.key, job.kind, job.body, result])?;
        Ok(result.into_bytes())
    }

    fn first_job(&mut self, source: &str, key: &str) -> Result<Option<Vec<u8>>, InboxTxError> {
        let mut first = self.rows.prepare_cached(FIRST_JOB)?;
        let result = first.query_row([key, source], |row| row.get::<_, String>(0)).optional()?;
        Ok(result.map(String::into_bytes))
    }

    fn call(&mut self, call: &Call<'_>) -> Result<(), InboxTxError> {
        let mut insert = self.rows.prepare_cached(CALL)?;
        insert.execute(params![call.key, call.attempt, call.token, call.outcome])?;
        Ok(())
    }

    fn purge(&mut self, limit: usize) -> Result<usize, InboxTxError> {
        self.rows.purge(limit)
    }

    fn commit(self) -> Result<(), InboxTxError> {
        Ok(self.rows.into_inner().commit()?)
    }
}
