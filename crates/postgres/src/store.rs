//! The store of commands in a PostgreSQL database.
//!
//! Guarantees: what the `Store` port asks; clones share connections. Does not: keep anything in
//! memory that a crash could lose.

mod flows;
mod port;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use counterfoil_core::domain::Micros;
use counterfoil_core::port::{Clock, SystemClock};
use tokio_postgres::{Client, Config};

use crate::destination::Agreed;
use crate::failure::Failure;
use crate::lane::LaneCursor;
use crate::listen::Ear;
use crate::options::Options;
use crate::pool::Pool;
use crate::pooled;
use crate::schema::{self, SchemaError};
use crate::time::ServerTime;
use crate::tx::Tx;
use crate::url::{self, Target};
use crate::wake::Wake;
use crate::workflow::keep::InputCursor;

/// The longest that a migration may take, and wait for another one: it walks whole tables.
pub(crate) const MIGRATION_MAX: Duration = Duration::from_secs(3_600);

/// One read in a snapshot of its own.
pub(crate) use port::snapshot;

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The URL cannot be read.
    #[error("the URL of the store cannot be read: {0}")]
    Url(String),
    /// What the URL says about TLS cannot be done.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
    /// The server cannot be reached or refuses us.
    #[error("the server cannot be used: {0}")]
    Server(String),
    /// The schema is not ours, or not of this version.
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

impl OpenError {
    /// The stable code of this refusal.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Url(_) => "CF0521",
            Self::Tls(_) => "CF0522",
            Self::Server(_) => "CF0523",
            Self::Schema(refusal) => refusal.code(),
        }
    }
}

impl From<Failure> for OpenError {
    fn from(failure: Failure) -> Self {
        Self::Server(pooled::explained(failure.to_string()))
    }
}

/// A store in a PostgreSQL database; clones share its connections.
///
/// A clone remembers for itself which commits [`Store::changed`] has told it of: give each relay
/// its own.
///
/// [`Store::changed`]: counterfoil_core::port::Store::changed
pub struct PostgresStore {
    pub(crate) inner: Arc<Inner>,
    seen: AtomicU64,
}

/// What clones share.
pub(crate) struct Inner {
    pub(crate) source: Arc<str>,
    pub(crate) pool: Pool,
    pub(crate) wake: Arc<Wake>,
    /// Wakes who waits of what others tell, if that is asked for.
    pub(crate) ear: Option<Ear>,
    /// Stored contracts that were read and found to be ours.
    pub(crate) agreed: Agreed,
    /// Where sweeps are among the lanes.
    pub(crate) lanes: LaneCursor,
    /// Where the upkeep is among the inputs of workflows.
    pub(crate) inputs: InputCursor,
    time: ServerTime,
    clock: Arc<dyn Clock>,
}

impl Inner {
    /// The server told its time just now.
    pub(crate) fn told(&self, time: Micros) {
        self.time.told(time, &*self.clock);
    }

    /// The server's time, as far as is known without asking.
    pub(crate) fn now(&self) -> Micros {
        self.time.now(&*self.clock)
    }

    pub(crate) fn body_bytes_max(&self) -> usize {
        self.pool.settings.options.body_bytes_max
    }
}

impl PostgresStore {
    /// Opens an existing store.
    ///
    /// # Errors
    /// [`OpenError`]: no server there, no schema of this version.
    pub async fn open(url: &str, options: Options) -> Result<Self, OpenError> {
        Self::open_with_clock(url, options, Arc::new(SystemClock)).await
    }

    /// Opens an existing store whose boot clock is `clock`'s; for tests.
    ///
    /// # Errors
    /// As [`PostgresStore::open`].
    pub async fn open_with_clock(
        url: &str,
        options: Options,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        Self::start(&url::read(url)?, options, clock).await
    }

    /// Opens an existing store where `config` says, such as with a password from elsewhere.
    ///
    /// # Errors
    /// As [`PostgresStore::open`].
    pub async fn open_at(config: &Config, options: Options) -> Result<Self, OpenError> {
        Self::start(&Target::at(config, &options.tls)?, options, Arc::new(SystemClock)).await
    }

    /// Creates the schema, or upgrades it, and opens the store.
    ///
    /// `source` names it to receivers for ever; `None` takes a URN with its random id.
    ///
    /// # Errors
    /// [`OpenError`]; a schema that is refused is not changed.
    pub async fn init(
        url: &str,
        options: Options,
        source: Option<&str>,
    ) -> Result<Self, OpenError> {
        Self::init_in(&url::read(url)?, options, source).await
    }

    /// Creates the schema, or upgrades it, where `config` says, and opens the store.
    ///
    /// # Errors
    /// As [`PostgresStore::init`].
    pub async fn init_at(
        config: &Config,
        options: Options,
        source: Option<&str>,
    ) -> Result<Self, OpenError> {
        Self::init_in(&Target::at(config, &options.tls)?, options, source).await
    }

    async fn init_in(
        target: &Target,
        options: Options,
        source: Option<&str>,
    ) -> Result<Self, OpenError> {
        let pool = Pool::new(target, options.clone())?;
        let mut client = pool.client().await?;
        let made = schema::migrate(&mut client, &options.schema, source);
        within(MIGRATION_MAX, made).await??;
        drop(client);
        Self::start(target, options, Arc::new(SystemClock)).await
    }

    async fn start(
        target: &Target,
        options: Options,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        let pool = Pool::new(target, options.clone())?;
        let client = pool.client().await?;
        let found = within(pool.settings.answer_timeout(), async {
            if !options.pooler {
                pooled::check(&client).await?;
            }
            Ok::<_, OpenError>(schema::read(&client, &options.schema).await?)
        });
        let found = found.await??;
        drop(client);
        let time = ServerTime::default();
        time.told(found.now, &*clock);
        let wake = Arc::new(Wake::default());
        // A pooler would share the connection with others, and drop what it is told.
        let hears = options.listen && !options.pooler;
        let ear = hears.then(|| Ear::new(target, &pool.settings, Arc::clone(&wake)));
        let inner = Inner {
            source: found.source.into(),
            pool,
            wake,
            ear,
            agreed: Agreed::default(),
            lanes: LaneCursor::default(),
            inputs: InputCursor::default(),
            time,
            clock,
        };
        Ok(Self { seen: AtomicU64::new(0), inner: Arc::new(inner) })
    }

    /// A transaction of reads that sees one moment.
    pub(crate) async fn snapshot(&self) -> Result<Tx<'_>, Failure> {
        self.inner.pool.snapshot().await
    }
}

/// The answer of a server, or that it did not give one in time.
pub(crate) async fn within<T>(
    limit: Duration,
    asked: impl Future<Output = T>,
) -> Result<T, OpenError> {
    let answered = tokio::time::timeout(limit, asked).await;
    answered.map_err(|_| OpenError::Server(format!("it gave no answer within {limit:?}")))
}

/// A connection of the caller's own, with none of a store's settings; a task of this runtime drives
/// it to its end.
///
/// # Errors
/// [`OpenError`]: no server there, or it refuses us.
pub async fn connect(config: &Config, options: &Options) -> Result<Client, OpenError> {
    let mut target = Target::at(config, &options.tls)?;
    target.config.connect_timeout(options.connect_timeout);
    let connecting = target.config.connect(target.tls);
    // The time-out of the configuration bounds the socket alone, not the server's answer.
    let connected = tokio::time::timeout(options.connect_timeout, connecting).await;
    let connected = connected.map_err(|_| OpenError::Server("it did not answer in time".into()))?;
    let (client, connection) = connected.map_err(Failure::from)?;
    tokio::spawn(connection);
    Ok(client)
}

impl Clone for PostgresStore {
    fn clone(&self) -> Self {
        let seen = AtomicU64::new(self.seen.load(Ordering::Relaxed));
        Self { inner: Arc::clone(&self.inner), seen }
    }
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresStore").field("source", &self.inner.source).finish_non_exhaustive()
    }
}
