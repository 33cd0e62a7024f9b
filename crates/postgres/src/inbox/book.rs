//! The reference receiver's book in a PostgreSQL schema: `jobs` and `calls` beside the inbox.
//!
//! Guarantees: a page is one transaction, on the server's disk when `commit` returns; a page that
//! is dropped is rolled back; a connection that broke is made again for the next page. Does not:
//! prevent a second job of one key by itself: only the inbox does, so a broken guard would show.

use counterfoil_core::domain::{Digest, Micros, ReceiptOutcome};
use counterfoil_core::port::{Book, Call, InboxEntry, InboxRows, Job, Page};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, Row};

use super::driver::On;
use super::keys::{self, Keep, Key, Keys as _};
use super::{InboxSql, InboxTxError as Error};
use crate::options::Options;
use crate::schema::{self, SchemaError};
use crate::statement::{Statement, Texts, statement};
use crate::store::OpenError;
use crate::url::{self, Target};

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
    /// The operating system gives no runtime.
    #[error("the book's runtime cannot be started: {0}")]
    Runtime(std::io::Error),
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
        let client = runtime.block_on(async {
            let mut client = connect(&target).await?;
            schema::migrate(&mut client, schema, None).await?;
            client.batch_execute(&texts.of(TABLES)).await?;
            Ok::<_, BookRefused>(client)
        })?;
        let sql = InboxSql::of_schema(schema);
        Ok(Self { runtime, target, client, sql, texts })
    }
}

async fn connect(target: &Target) -> Result<Client, OpenError> {
    let refused = |error| OpenError::Schema(SchemaError::from(error));
    let (client, connection) = target.config.connect(target.tls.clone()).await.map_err(refused)?;
    tokio::spawn(connection);
    client.batch_execute(SESSION).await.map_err(refused)?;
    Ok(client)
}

impl Book for InboxBook {
    type Error = Error;
    type Page<'book> = BookPage<'book>;

    fn page(&mut self) -> Result<BookPage<'_>, Error> {
        let begun = self.runtime.block_on(self.client.batch_execute("BEGIN"));
        if let Err(error) = begun {
            if error.as_db_error().is_some() && !self.client.is_closed() {
                return Err(error.into());
            }
            let unreachable =
                |error: OpenError| Error::Server { code: None, said: error.to_string() };
            self.client = self.runtime.block_on(connect(&self.target)).map_err(unreachable)?;
            self.runtime.block_on(self.client.batch_execute("BEGIN"))?;
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
        Ok(self.book.runtime.block_on(self.book.client.batch_execute(sql))?)
    }

    fn first(
        &self,
        statement: Statement,
        params: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Option<Row>, Error> {
        let text = self.book.texts.of(statement);
        let rows = self.book.runtime.block_on(self.book.client.query_typed(&text, params))?;
        Ok(rows.into_iter().next())
    }
}

impl InboxRows for BookPage<'_> {
    type Error = Error;

    fn now(&mut self) -> Result<Micros, Error> {
        let text = self.book.texts.of(statement!("clock"));
        let rows = self.book.runtime.block_on(self.book.client.query_typed(&text, &[]))?;
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
        self.book.runtime.block_on(keys::insert(&mut self.keys(), key, digest, keep))
    }

    fn finish(
        &mut self,
        source: &str,
        key: &str,
        outcome: ReceiptOutcome,
        result: &[u8],
    ) -> Result<(), Error> {
        let key = Key { source, key };
        self.book.runtime.block_on(keys::finish(&mut self.keys(), key, outcome, result))
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
        self.book.runtime.block_on(keys::look(&mut self.keys(), key))
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
        self.book.runtime.block_on(self.keys().purge(limit))
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
