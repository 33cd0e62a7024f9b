//! The connections of one process to one store.
//!
//! Guarantees: bounded in number, each with Counterfoil's own settings; a broken one is replaced.
//! Does not: hold one while nothing is asked.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Object, RecyclingMethod, Runtime};
use tokio_postgres::Config;

use crate::crowd::Crowd;
use crate::failure::Failure;
use crate::floors::Floors;
use crate::options::Options;
use crate::statement::Texts;
use crate::tx::Tx;
use crate::url::Target;

/// What every session of ours is told. `own`: the guards trust us, who keep the rules in Rust.
/// Hash joins and scans lose against nested loops for the batches we write. A page of a large table
/// is read sooner than a parallel worker is started: 0.1 against 17 ms. A user's role may commit
/// asynchronously; a claim must be durable before the first byte leaves.
const SESSION: [(&str, &str); 9] = [
    ("counterfoil.own", "on"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("enable_seqscan", "off"),
    ("plan_cache_mode", "force_generic_plan"),
    ("jit", "off"),
    ("max_parallel_workers_per_gather", "0"),
    ("default_transaction_isolation", "read\\ committed"),
    ("synchronous_commit", "on"),
];

/// The shortest wait for an answer: less would take each pause of a busy server for its end.
pub(crate) const ANSWER_TIMEOUT_MIN: Duration = Duration::from_secs(1);

/// What each transaction needs to know.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) options: Options,
    pub(crate) texts: Texts,
    /// By which those that listen hear of commits. A name has 63 bytes at most, a schema's 54.
    pub(crate) channel: String,
    /// By which a listener knows what it was told by its own store.
    pub(crate) name: String,
    begin: String,
    begin_snapshot: String,
}

impl Settings {
    pub(crate) fn new(options: Options) -> Self {
        let (texts, channel) = (Texts::new(&options.schema), format!("{}_wake", options.schema));
        let mut local = String::new();
        if options.pooler {
            for (name, value) in SESSION.iter().filter(|(name, _)| !name.starts_with("default_")) {
                local.push_str(&format!("; SET LOCAL {name} = '{value}'"));
            }
            for (name, limit) in limits(&options) {
                local.push_str(&format!("; SET LOCAL {name} = {}", limit.as_millis()));
            }
        }
        let begin = format!("BEGIN ISOLATION LEVEL READ COMMITTED{local}");
        let begin_snapshot = format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY{local}");
        Self { options, texts, channel, name: random_name(), begin, begin_snapshot }
    }

    /// How long the server may say nothing where it was asked something.
    pub(crate) fn answer_timeout(&self) -> Duration {
        self.options.answer_timeout.max(ANSWER_TIMEOUT_MIN)
    }

    /// The text that begins a transaction.
    pub(crate) fn begin(&self, is_snapshot: bool) -> &str {
        if is_snapshot { &self.begin_snapshot } else { &self.begin }
    }
}

/// Connections to one store.
#[derive(Debug)]
pub(crate) struct Pool {
    pool: deadpool_postgres::Pool,
    pub(crate) settings: Settings,
    /// Where claims begin to look, by destination.
    pub(crate) floors: Floors,
    /// Where claims were not let in.
    pub(crate) crowd: Crowd,
    jitter: AtomicU64,
}

impl Pool {
    /// A pool that has not connected yet.
    pub(crate) fn new(target: &Target, options: Options) -> Result<Self, Failure> {
        let Target { mut config, tls } = target.clone();
        prepare(&mut config, &options);
        if !options.pooler {
            config.options(session_options(&config, &options));
        }
        let recycling_method = RecyclingMethod::Fast;
        let manager = Manager::from_config(config, tls, ManagerConfig { recycling_method });
        let pool = deadpool_postgres::Pool::builder(manager)
            .max_size(options.connections.max(2))
            .wait_timeout(Some(options.connect_timeout))
            .create_timeout(Some(options.connect_timeout))
            .recycle_timeout(Some(options.connect_timeout))
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| Failure::broken(error.to_string()))?;
        let (floors, crowd) = (Floors::default(), Crowd::default());
        let settings = Settings::new(options);
        Ok(Self { pool, settings, floors, crowd, jitter: AtomicU64::new(1) })
    }

    /// A transaction; it reaches the server with its first statement.
    pub(crate) async fn begin(&self) -> Result<Tx<'_>, Failure> {
        Ok(Tx::new(self.client().await?, &self.settings, false))
    }

    /// A transaction that only reads, and sees one moment.
    pub(crate) async fn snapshot(&self) -> Result<Tx<'_>, Failure> {
        Ok(Tx::new(self.client().await?, &self.settings, true))
    }

    /// One statement that reads.
    pub(crate) async fn glance(&self) -> Result<Tx<'_>, Failure> {
        Ok(Tx::glance(self.client().await?, &self.settings))
    }

    /// A connection by itself.
    pub(crate) async fn client(&self) -> Result<Object, Failure> {
        use deadpool_postgres::{PoolError, TimeoutType};

        self.pool.get().await.map_err(|error| match error {
            PoolError::Backend(error) => match Failure::from(error) {
                // A password or a database that is wrong is wrong tomorrow, too; but a server that
                // is not there yet may come.
                Failure::Broken(why) => Failure::Broken(why),
                failure => failure,
            },
            PoolError::Timeout(TimeoutType::Wait) => Failure::Unavailable(
                "no connection became free in time; allow more, or look for what holds them".into(),
            ),
            PoolError::Timeout(_) => {
                let limit = self.settings.options.connect_timeout;
                Failure::Unavailable(format!("the server let nobody in within {limit:?}"))
            }
            error => Failure::Unavailable(error.to_string()),
        })
    }

    /// A part of `of`, another one each time; no more random than it must be.
    pub(crate) fn jitter(&self, of: Duration) -> Duration {
        let seed = self.jitter.fetch_add(1, Ordering::Relaxed) ^ u64::from(std::process::id());
        let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
        of * u32::try_from(mixed).unwrap_or(0) / 256
    }
}

/// A name that no other store has, in any process.
fn random_name() -> String {
    format!("{:x}", RandomState::new().build_hasher().finish())
}

/// What all our connections have: a name, and an end where the other side is gone.
pub(crate) fn prepare(config: &mut Config, options: &Options) {
    config.connect_timeout(options.connect_timeout);
    config.keepalives_idle(Duration::from_secs(15));
    config.keepalives_interval(Duration::from_secs(5));
    config.keepalives_retries(3);
    config.tcp_user_timeout(Duration::from_secs(30));
    if config.get_application_name().is_none() {
        config.application_name("counterfoil");
    }
}

/// The `options` of a session, behind those that the URL gives.
fn session_options(config: &Config, options: &Options) -> String {
    let mut words: Vec<String> = config.get_options().map(str::to_owned).into_iter().collect();
    words.extend(SESSION.iter().map(|(name, value)| format!("-c {name}={value}")));
    let limit = |(name, limit): (&str, Duration)| format!("-c {name}={}", limit.as_millis());
    words.extend(limits(options).map(limit));
    words.join(" ")
}

/// How long the server lets a session of ours take, wait for somebody else, or keep others waiting
/// while it is frozen.
fn limits(options: &Options) -> [(&'static str, Duration); 3] {
    [
        ("statement_timeout", options.statement_timeout),
        ("lock_timeout", options.lock_timeout),
        ("idle_in_transaction_session_timeout", options.idle_timeout),
    ]
}
