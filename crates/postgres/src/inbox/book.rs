//! The reference receiver's book in a PostgreSQL schema: `jobs` and `calls` beside the inbox.
//!
//! Guarantees: a page is one transaction, on the server's disk when `commit` returns; a page that
//! is dropped is rolled back; a connection that broke, or gave no answer in time, is made again for
//! the next page; a schema whose `jobs` or `calls` is somebody else's is refused, and they stay as
//! they are. Does not: prevent a second job of one key by itself: only the inbox does, so a broken
//! guard would show.

use std::cell::Cell;
use std::time::Duration;

use counterfoil_core::domain::{Digest, Micros, ReceiptOutcome};
use counterfoil_core::port::{Book, Call, InboxEntry, InboxRows, Job, Page};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, Row};

use super::driver::On;
use super::keys::{self, Keep, Key, Keys as _};
use super::{InboxSql, InboxTxError as Error};
use crate::failure::Failure;
use crate::options::Options;
use crate::pool::ANSWER_TIMEOUT_MIN;
use crate::schema::{self, SchemaError};
use crate::statement::{Statement, Texts, statement};
use crate::store::{MIGRATION_MAX, OpenError, within};
use crate::url::{self, Target};

/// The columns that make a table ours.
const COLUMNS: [(&str, &str); 2] = [
    ("jobs", "n,received_at,source,key,kind,body,result"),
    ("calls", "n,attempt,token,at,key,outcome"),
];

const COLUMNS_OF: Statement = statement!("book/columns");
const TABLES: Statement = statement!("book/tables");
const JOB: Statement = statement!("book/job");
const FIRST_JOB: Statement = statement!("book/first_job");
const CALL: Statement = statement!("book/call");

/// What each connection is told: what is answered is on the disk.
const SESSION: &str = "SET synchronous_commit = on; SET default_transaction_isolation = \
     'read committed'; SET lock_timeout = '10s'";

/// Why a database cannot hold a receiver's book.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BookRefused {
    /// It cannot be opened as a store.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A table of that name belongs to somebody else.
    #[error(
        "the schema `{schema}` has a table `{table}` of other columns, which the receiver must not \
         touch: give the receiver a schema of its own"
    )]
    ForeignTable {
        /// The schema.
        schema: String,
        /// The table.
        table: &'static str,
    },
    /// The operating system gives no runtime.
    #[error("the book's runtime cannot be started: {0}; allow this user more threads or files")]
    Runtime(std::io::Error),
}

impl BookRefused {
    /// The stable code of this refusal.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Open(refusal) => refusal.code(),
            Self::ForeignTable { .. } => "CF0720",
            Self::Runtime(_) => "CF0524",
        }
    }
}

impl From<tokio_postgres::Error> for BookRefused {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Open(OpenError::Schema(SchemaError::from(error)))
    }
}

impl From<SchemaError> for BookRefused {
    fn from(error: SchemaError) -> Self {
        Self::Open(error.into())
    }
}

/// A receiver's book in a schema of its own.
pub struct InboxBook {
    runtime: Runtime,
    target: Target,
    client: Client,
    /// Ends with the book; aborted where the server says nothing.
    connection: AbortOnDrop,
    /// The server gave no answer in time: its connection is not used again.
    silent: Cell<bool>,
    answer_timeout: Duration,
    connect_timeout: Duration,
    sql: InboxSql,
    texts: Texts,
}

impl std::fmt::Debug for InboxBook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InboxBook").field("schema", &self.texts.schema()).finish_non_exhaustive()
    }
}

impl InboxBook {
    /// Opens the schema, and creates it and its tables where they are missing. Blocking, and not
    /// to be called from async code; the book is used by one thread.
    ///
    /// # Errors
    /// [`BookRefused`].
    pub fn open(url: &str, options: &Options) -> Result<Self, BookRefused> {
        Self::start(url::read(url)?, options)
    }

    /// The same where `config` says, such as with a password from elsewhere.
    ///
    /// # Errors
    /// [`BookRefused`].
    pub fn open_at(config: &Config, options: &Options) -> Result<Self, BookRefused> {
        Self::start(Target::at(config, &options.tls)?, options)
    }

    fn start(mut target: Target, options: &Options) -> Result<Self, BookRefused> {
        let config = &mut target.config;
        config.connect_timeout(options.connect_timeout);
        if config.get_application_name().is_none() {
            config.application_name(format!("counterfoil receiver {}", options.schema));
        }
        let runtime =
            Builder::new_current_thread().enable_all().build().map_err(BookRefused::Runtime)?;
        let (schema, texts) = (&options.schema, Texts::new(&options.schema));
        let answer_timeout = options.answer_timeout.max(ANSWER_TIMEOUT_MIN);
        let (client, connection) = runtime.block_on(async {
            let mut connected = connect(&target, options.connect_timeout).await?;
            let client = &mut connected.0;
            within(MIGRATION_MAX, schema::migrate(client, schema, None)).await??;
            let tables = within(answer_timeout, make_tables(client, schema, &texts));
            tables.await??;
            Ok::<_, BookRefused>(connected)
        })?;
        let (silent, sql) = (Cell::new(false), InboxSql::of_schema(schema));
        let connect_timeout = options.connect_timeout;
        Ok(Self {
            runtime,
            target,
            client,
            connection,
            silent,
            answer_timeout,
            connect_timeout,
            sql,
            texts,
        })
    }

    /// The answer to what is asked, or that none came in time.
    fn wait<T, E: Into<Error>>(
        &self,
        asked: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Error> {
        let unsaid = || Error::Server {
            code: None,
            said: format!("the server gave no answer within {:?}", self.answer_timeout),
        };
        if self.silent.get() {
            return Err(unsaid());
        }
        // A time-out needs the runtime when it is made.
        let asked = async { tokio::time::timeout(self.answer_timeout, asked).await };
        let Ok(answer) = self.runtime.block_on(asked) else {
            self.silent.set(true);
            return Err(unsaid());
        };
        answer.map_err(Into::into)
    }
}

/// A task that ends when this is dropped.
struct AbortOnDrop(JoinHandle<Result<(), tokio_postgres::Error>>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Creates the receiver's tables, unless they are there.
async fn make_tables(client: &Client, schema: &str, texts: &Texts) -> Result<(), BookRefused> {
    let names = COLUMNS.map(|(name, _)| name).to_vec();
    let params: [(&(dyn ToSql + Sync), Type); 2] =
        [(&schema, Type::TEXT), (&names, Type::TEXT_ARRAY)];
    for row in client.query_typed(&texts.of(COLUMNS_OF), &params).await? {
        let (found, columns): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
        let foreign = COLUMNS.iter().find(|(name, ours)| *name == found && *ours != columns);
        if let Some((table, _)) = foreign {
            return Err(BookRefused::ForeignTable { schema: schema.into(), table });
        }
    }
    Ok(client.batch_execute(&texts.of(TABLES)).await?)
}

async fn connect(target: &Target, limit: Duration) -> Result<(Client, AbortOnDrop), OpenError> {
    let refused = |error| OpenError::from(Failure::from(error));
    let connecting = within(limit, target.config.connect(target.tls.clone())).await?;
    let (client, connection) = connecting.map_err(refused)?;
    let connection = AbortOnDrop(tokio::spawn(connection));
    within(limit, client.batch_execute(SESSION)).await?.map_err(refused)?;
    Ok((client, connection))
}

impl Book for InboxBook {
    type Error = Error;
    type Page<'book> = BookPage<'book>;

    fn page(&mut self) -> Result<BookPage<'_>, Error> {
        if let Err(error) = self.wait(self.client.batch_execute("BEGIN")) {
            let is_said = matches!(error, Error::Server { code: Some(_), .. });
            if is_said && !self.client.is_closed() {
                return Err(error);
            }
            let unreachable =
                |error: OpenError| Error::Server { code: None, said: error.to_string() };
            let connecting = connect(&self.target, self.connect_timeout);
            let connected = self.runtime.block_on(connecting).map_err(unreachable)?;
            (self.client, self.connection) = connected;
            self.silent.set(false);
            self.wait(self.client.batch_execute("BEGIN"))?;
        }
        Ok(BookPage { book: self, is_open: true })
    }
}

/// One open transaction of an [`InboxBook`].
#[derive(Debug)]
pub struct BookPage<'book> {
    book: &'book InboxBook,
    is_open: bool,
}

impl BookPage<'_> {
    fn keys(&self) -> On<'_, Client> {
        On { client: &self.book.client, sql: &self.book.sql }
    }

    fn run(&self, sql: &str) -> Result<(), Error> {
        self.book.wait(self.book.client.batch_execute(sql))
    }

    fn first(
        &self,
        statement: Statement,
        params: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Option<Row>, Error> {
        let text = self.book.texts.of(statement);
        let rows = self.book.wait(self.book.client.query_typed(&text, params))?;
        Ok(rows.into_iter().next())
    }
}

impl InboxRows for BookPage<'_> {
    type Error = Error;

    fn now(&mut self) -> Result<Micros, Error> {
        let text = self.book.texts.of(statement!("clock"));
        let rows = self.book.wait(self.book.client.query_typed(&text, &[]))?;
        let row = rows.first().map(|row| row.try_get(0)).transpose()?;
        Ok(Micros::new(row.unwrap_or_default()))
    }

    fn insert(
        &mut self,
        source: &str,
        key: &str,
        digest: Digest,
        expires_at: Micros,
    ) -> Result<Option<InboxEntry>, Error> {
        let (key, keep) = (Key { source, key }, Keep::Until(expires_at));
        self.book.wait(keys::insert(&mut self.keys(), key, digest, keep))
    }

    fn finish(
        &mut self,
        source: &str,
        key: &str,
        outcome: ReceiptOutcome,
        result: &[u8],
    ) -> Result<(), Error> {
        let key = Key { source, key };
        self.book.wait(keys::finish(&mut self.keys(), key, outcome, result))
    }

    fn is_busy(error: &Error) -> bool {
        error.is_busy()
    }
}

impl Page for BookPage<'_> {
    fn mark(&mut self) -> Result<(), Error> {
        self.run("SAVEPOINT counterfoil_request")
    }

    fn keep(&mut self) -> Result<(), Error> {
        self.run("RELEASE SAVEPOINT counterfoil_request")
    }

    fn undo(&mut self) -> Result<(), Error> {
        self.run("ROLLBACK TO SAVEPOINT counterfoil_request")?;
        self.run("RELEASE SAVEPOINT counterfoil_request")
    }

    fn look(&mut self, source: &str, key: &str) -> Result<Option<InboxEntry>, Error> {
        let key = Key { source, key };
        self.book.wait(keys::look(&mut self.keys(), key))
    }

    fn job(&mut self, job: &Job<'_>) -> Result<Vec<u8>, Error> {
        let row = self.first(
            JOB,
            &[
                (&job.source, Type::TEXT),
                (&job.key, Type::TEXT),
                (&job.kind, Type::TEXT),
                (&job.body, Type::BYTEA),
            ],
        )?;
        let result = row.map(|row| row.try_get::<_, String>(0)).transpose()?;
        Ok(result.unwrap_or_default().into_bytes())
    }

    fn first_job(&mut self, source: &str, key: &str) -> Result<Option<Vec<u8>>, Error> {
        let row = self.first(FIRST_JOB, &[(&key, Type::TEXT), (&source, Type::TEXT)])?;
        let result = row.map(|row| row.try_get::<_, String>(0)).transpose()?;
        Ok(result.map(String::into_bytes))
    }

    fn call(&mut self, call: &Call<'_>) -> Result<(), Error> {
        let params: [(&(dyn ToSql + Sync), Type); 4] = [
            (&call.key, Type::TEXT),
            (&call.attempt, Type::INT8),
            (&call.token, Type::INT8),
            (&call.outcome, Type::TEXT),
        ];
        self.first(CALL, &params).map(drop)
    }

    fn purge(&mut self, limit: usize) -> Result<usize, Error> {
        self.book.wait(self.keys().purge(limit))
    }

    fn commit(mut self) -> Result<(), Error> {
        self.is_open = false;
        self.run("COMMIT")
    }
}

impl Drop for BookPage<'_> {
    fn drop(&mut self) {
        if self.is_open {
            // A connection that is gone has rolled back by itself.
            drop(self.run("ROLLBACK"));
        }
    }
}
