//! The store that a URL names, whichever database it is in.
//!
//! Guarantees: every verb works on each of them alike. Does not: know anything of either but how it
//! is opened; what only one database has, `doctor` looks at by itself.

mod archive;
mod bodies;
mod books;
mod workflow;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::laws::{EventFacts, LaneFacts, Totals};
use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::{
    Command, CommandId, Contract, Destination, EventRow, Micros, Stream,
};
use counterfoil_core::port::read::{Facts, FactsFrom, Filter, Listed, Status, Story};
use counterfoil_core::port::store::{
    Append, Appended, Declared, Exchange, Exchanged, Recorded, Remaining, Reported, StoreError,
    Swept, WriteRefused,
};
use counterfoil_core::port::{Acted, Actor, Announce, Deed, Patience, Store};
use counterfoil_postgres::{OpenError, PostgresStore};
use counterfoil_sqlite::SqliteStore;

use crate::config::postgres_url::PostgresUrl;
use crate::config::store_url::StoreUrl;
use crate::exit::Failure;

/// An open store.
#[derive(Clone, Debug)]
pub(crate) enum OpenStore {
    /// In a SQLite file.
    Sqlite(SqliteStore),
    /// In a PostgreSQL database.
    Postgres(PostgresStore),
}

impl OpenStore {
    /// Opens what is there; bodies of more than `body_bytes_max` bytes are refused.
    ///
    /// # Errors
    /// It cannot be reached, or is no store of this version.
    pub(crate) async fn open(
        url: &StoreUrl,
        body_bytes_max: Option<usize>,
    ) -> Result<Self, Failure> {
        match url {
            StoreUrl::Sqlite(path) => {
                let options = counterfoil_sqlite::Options::default();
                let options = match body_bytes_max {
                    Some(most) => options.body_bytes_max(most),
                    None => options,
                };
                let store = SqliteStore::open(path, options).map_err(Failure::could_not_run)?;
                Ok(Self::Sqlite(store))
            }
            StoreUrl::Postgres(url) => {
                let mut options = url.options.clone();
                options.body_bytes_max = body_bytes_max.unwrap_or(options.body_bytes_max);
                let store = PostgresStore::open_at(&url.config, options).await;
                store.map(Self::Postgres).map_err(|error| no_server(url, &error))
            }
        }
    }

    /// Creates it, or upgrades its schema.
    ///
    /// # Errors
    /// It cannot be reached, or somebody else's things stand there.
    pub(crate) async fn init(url: &StoreUrl, source: Option<&str>) -> Result<Self, Failure> {
        match url {
            StoreUrl::Sqlite(path) => {
                let store = SqliteStore::init(path, source).map_err(Failure::could_not_run)?;
                Ok(Self::Sqlite(store))
            }
            StoreUrl::Postgres(url) => {
                let store = PostgresStore::init_at(&url.config, url.options.clone(), source).await;
                store.map(Self::Postgres).map_err(|error| not_made(url, &error))
            }
        }
    }
}

/// What the server says, or why it does not.
pub(crate) fn words(error: &tokio_postgres::Error) -> String {
    match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(said), _) => format!("{} ({})", said.message(), said.code().code()),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}

/// The server's code for a right that the user lacks.
const NO_RIGHT: &str = "42501";
/// The way out of it.
const LACKS_ROLE: &str = "this user lacks a role: `counterfoil init --roles` prints the roles and \
    their rights as SQL; grant it the one that it needs";

/// The way out of what the store said, where there is one.
pub(crate) fn way_out_of(said: &str) -> Option<&'static str> {
    lacks_right(said).then_some(LACKS_ROLE)
}

/// Whether the server refused for want of a right.
pub(crate) fn lacks_right(said: &str) -> bool {
    has_code(said, &[NO_RIGHT])
}

/// Whether the server's answer ends so; its words go by its locale, its code does not.
fn has_code(why: &str, codes: &[&str]) -> bool {
    codes.iter().any(|code| why.contains(&format!("({code})")))
}

/// Whether a server that refuses so will refuse so again.
pub(crate) fn is_refused_for_good(error: &OpenError) -> bool {
    match error {
        OpenError::Server(why) => {
            has_code(why, &["28P01", "28000", "3D000"]) || why.contains("password missing")
        }
        _ => true,
    }
}

/// Why a server cannot be used, and the way out.
pub(crate) fn no_server(url: &PostgresUrl, error: &OpenError) -> Failure {
    let failure = Failure::could_not_run(format!("{url}: {error}"));
    if let Some(way_out) = way_out_of(failure.text()) {
        return failure.help(way_out);
    }
    // A refusal of ours says its own way out.
    let OpenError::Server(why) = error else { return failure };
    let said = |codes: &[&str]| has_code(why, codes);
    failure.help(if said(&["28P01", "28000"]) || why.contains("password missing") {
        "the user or the password is wrong, or none was given: passwords come from PGPASSFILE \
         (lines of host:port:database:user:password, readable by you alone), from PGPASSWORD, or \
         with the whole URL by [store] url = { env = \"NAME\" }"
    } else if said(&["3D000"]) {
        "create the database first, UTF8, such as: createdb --encoding UTF8 NAME"
    } else if said(&["53300"]) {
        "the server's max_connections are used up: allow more, or fewer here by ?connections=N"
    } else if why.contains("TLS") || why.contains("certificate") {
        "say by sslmode and sslrootcert how the server's certificate is judged; sslmode=disable \
         encrypts nothing"
    } else {
        "look whether PostgreSQL runs there and takes connections from here (psql with the same \
         URL), and whether host and port are right"
    })
}

/// Why a store cannot be made or upgraded there, and the way out: no role of a store may do that.
fn not_made(url: &PostgresUrl, error: &OpenError) -> Failure {
    let text = format!("{url}: {error}");
    if !has_code(&text, &[NO_RIGHT]) {
        return no_server(url, error);
    }
    Failure::could_not_run(text).help(
        "`init` needs the right to create a schema (GRANT CREATE ON DATABASE … TO …), and to \
         upgrade one it must be the owner's",
    )
}

/// The same for each.
macro_rules! each {
    ($store:expr, $open:ident => $work:expr) => {
        match $store {
            OpenStore::Sqlite($open) => $work,
            OpenStore::Postgres($open) => $work,
        }
    };
}

pub(crate) use each;

impl Store for OpenStore {
    fn source(&self) -> Arc<str> {
        each!(self, open => open.source())
    }

    fn rows_max(&self) -> usize {
        each!(self, open => open.rows_max())
    }

    fn now(&self) -> Result<Micros, StoreError> {
        each!(self, open => open.now())
    }

    async fn enqueue(
        &self,
        commands: Vec<Command>,
    ) -> Result<Vec<Result<Recorded, WriteRefused>>, StoreError> {
        each!(self, open => open.enqueue(commands).await)
    }

    async fn append(&self, append: Append) -> Result<Result<Appended, WriteRefused>, StoreError> {
        each!(self, open => open.append(append).await)
    }

    async fn load(
        &self,
        stream: &Stream,
        after: i64,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        each!(self, open => open.load(stream, after, limit).await)
    }

    async fn declare(
        &self,
        destination: &Destination,
        contract: &Contract,
        replace: bool,
    ) -> Result<Declared, StoreError> {
        each!(self, open => open.declare(destination, contract, replace).await)
    }

    async fn exchange(&self, exchange: Exchange) -> Result<Exchanged, StoreError> {
        each!(self, open => open.exchange(exchange).await)
    }

    fn is_patient(&self) -> bool {
        each!(self, open => open.is_patient())
    }

    async fn claim_when_due(
        &self,
        exchange: Exchange,
        patience: Patience,
    ) -> Result<Exchanged, StoreError> {
        each!(self, open => open.claim_when_due(exchange, patience).await)
    }

    async fn next_due(&self, destinations: &[Destination]) -> Result<Option<Micros>, StoreError> {
        each!(self, open => open.next_due(destinations).await)
    }

    async fn awaiting(&self) -> Result<Vec<String>, StoreError> {
        each!(self, open => open.awaiting().await)
    }

    async fn changed(&self, at_most: Duration) {
        each!(self, open => open.changed(at_most).await);
    }

    async fn remaining(&self, destinations: &[Destination]) -> Result<Remaining, StoreError> {
        each!(self, open => open.remaining(destinations).await)
    }

    async fn is_busy(&self, destinations: &[Destination]) -> Result<bool, StoreError> {
        each!(self, open => open.is_busy(destinations).await)
    }

    async fn report(&self, command_id: &CommandId, report: Report) -> Result<Reported, StoreError> {
        each!(self, open => open.report(command_id, report).await)
    }

    async fn sweep(&self, limit: usize, announce: Option<Announce>) -> Result<Swept, StoreError> {
        each!(self, open => open.sweep(limit, announce).await)
    }

    async fn newest_completed(
        &self,
        destination: &Destination,
        except: &CommandId,
    ) -> Result<Option<CommandId>, StoreError> {
        each!(self, open => open.newest_completed(destination, except).await)
    }

    async fn act(&self, deeds: Vec<Deed>, actor: Actor) -> Result<Vec<Acted>, StoreError> {
        each!(self, open => open.act(deeds, actor).await)
    }

    async fn resume(
        &self,
        destination: &Destination,
        actor: &str,
        reason: &str,
    ) -> Result<bool, StoreError> {
        each!(self, open => open.resume(destination, actor, reason).await)
    }

    async fn lane_facts(
        &self,
        after: Option<(String, String)>,
        limit: usize,
    ) -> Result<Vec<LaneFacts>, StoreError> {
        each!(self, open => open.lane_facts(after, limit).await)
    }

    async fn pause(
        &self,
        destination: &Destination,
        actor: &str,
        reason: &str,
    ) -> Result<bool, StoreError> {
        each!(self, open => open.pause(destination, actor, reason).await)
    }

    async fn contracts(&self) -> Result<BTreeMap<String, Option<Contract>>, StoreError> {
        each!(self, open => open.contracts().await)
    }

    async fn restored(&self, at: Micros, actor: &str) -> Result<u64, StoreError> {
        each!(self, open => open.restored(at, actor).await)
    }

    async fn status(&self) -> Result<Status, StoreError> {
        each!(self, open => open.status().await)
    }

    async fn list(&self, filter: Filter) -> Result<Vec<Listed>, StoreError> {
        each!(self, open => open.list(filter).await)
    }

    async fn show(&self, command_id: &str) -> Result<Option<Story>, StoreError> {
        each!(self, open => open.show(command_id).await)
    }

    async fn facts(&self, from: FactsFrom, limit: usize) -> Result<Facts, StoreError> {
        each!(self, open => open.facts(from, limit).await)
    }

    async fn event_facts(
        &self,
        after: Option<(String, i64)>,
        limit: usize,
    ) -> Result<Vec<EventFacts>, StoreError> {
        each!(self, open => open.event_facts(after, limit).await)
    }

    async fn totals(&self) -> Result<Vec<Totals>, StoreError> {
        each!(self, open => open.totals().await)
    }

    async fn expected(
        &self,
        sql: &str,
        offset: u64,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        each!(self, open => open.expected(sql, offset, limit).await)
    }

    async fn expected_has(&self, sql: &str, ids: &[String]) -> Result<Vec<bool>, StoreError> {
        each!(self, open => open.expected_has(sql, ids).await)
    }

    async fn known(&self, ids: &[String]) -> Result<Vec<bool>, StoreError> {
        each!(self, open => open.known(ids).await)
    }
}
