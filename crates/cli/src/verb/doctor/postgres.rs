//! What only a PostgreSQL store has: its server's settings, time, connections and vacuum.
//!
//! Guarantees: reads only, in sessions of its own; what this user may not see is said. Does not:
//! check the rows; `audit` does.

mod number;
mod schema;
mod script;
mod vacuum;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use counterfoil_core::domain::Micros;
use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{Client, Row};

use super::super::audit::Kept;
use super::Seen;
use super::check::Check;
use super::destination::Stored;
use super::file::named;
use super::table::is_whole;
use crate::config::postgres_url::PostgresUrl;
use crate::exit::Failure;
use crate::output::time;
use crate::store::{no_server, words};

/// The two clocks may differ by so much; receivers of webhooks allow minutes.
const SKEW_MAX: Duration = Duration::from_secs(60);
/// Of the server's connections, so many percent in use are worth a word.
const USED_PERCENT_NOTE: i64 = 75;
/// And so many are too near to the end.
const USED_PERCENT_MAX: i64 = 95;

/// Looks at the server and the schema; `source` is the configuration's, `stored` the store's.
///
/// # Errors
/// The server cannot be reached, or a catalog cannot be read.
pub(super) async fn look(
    url: &PostgresUrl,
    source: Option<&str>,
    stored: &str,
) -> Result<Seen, Failure> {
    let look = Look::new(url).await?;
    let began = (SystemTime::now(), Instant::now());
    let row = look.rows(include_str!("sql/postgres/server.sql"), &[]).await?;
    let took = began.1.elapsed();
    let row = row.first().ok_or_else(|| Failure::could_not_run("the server said nothing"))?;
    let server = Server::of(row).map_err(|error| look.failed(&error))?;
    let here = began.0.duration_since(UNIX_EPOCH).unwrap_or_default() + took / 2;
    let here = Micros::new(i64::try_from(here.as_micros()).unwrap_or(i64::MAX));
    let mut checks = vec![
        server.version(url),
        server.durability(),
        named(source, stored),
        server.clock(here),
        server.connections(),
    ];
    checks.extend(server.sight());
    checks.extend(schema::checks(&look).await?);
    if !is_whole(&checks) {
        return Ok(Seen { checks, stored: Vec::new(), own: Vec::new() });
    }
    checks.extend(vacuum::checks(&look, server.autovacuum == "on").await?);
    checks.extend(number::checks(&look).await?);
    let rows = look.rows(include_str!("sql/postgres/destinations.sql"), &[]).await?;
    let destinations = rows.iter().map(|row| {
        let paused = (at(row, 2)?, at(row, 3)?, at(row, 4)?);
        Ok(Stored::new(at(row, 0)?, at(row, 1)?, paused))
    });
    let destinations =
        destinations.collect::<Result<_, _>>().map_err(|error| look.failed(&error))?;
    let rows = look.rows(include_str!("sql/postgres/own_inbox.sql"), &[stored]).await?;
    let own =
        rows.iter().map(|row| Ok((at(row, 0)?, Kept::new(at(row, 1)?, at(row, 2)?, at(row, 3)?))));
    let own = own.collect::<Result<_, _>>().map_err(|error| look.failed(&error))?;
    Ok(Seen { checks, stored: destinations, own })
}

/// Looks at the schema alone: what is missing of it.
///
/// # Errors
/// The server cannot be reached, or a catalog cannot be read.
pub(super) async fn schema_of(url: &PostgresUrl) -> Result<Vec<Check>, Failure> {
    schema::whole(&Look::new(url).await?).await
}

/// A connection to look through.
struct Look<'u> {
    url: &'u PostgresUrl,
    client: Client,
}

impl<'u> Look<'u> {
    async fn new(url: &'u PostgresUrl) -> Result<Self, Failure> {
        let client = counterfoil_postgres::connect(&url.config, &url.options).await;
        let client = client.map_err(|error| no_server(url, &error))?;
        let look = Self { url, client };
        // A setting of the session would stay with the next one behind a pooler.
        let read_only = "BEGIN TRANSACTION READ ONLY";
        let set = url.within(look.client.batch_execute(read_only)).await;
        set.map_err(|why| look.silent(&why))?.map_err(|error| look.failed(&error))?;
        Ok(look)
    }

    /// The schema's name.
    fn schema(&self) -> &str {
        &self.url.options.schema
    }

    /// The rows of a statement that is given texts; unnamed, as a pooler wants it.
    async fn rows(&self, sql: &str, texts: &[&str]) -> Result<Vec<Row>, Failure> {
        let sql = self.url.in_schema(sql);
        let params: Vec<(&(dyn ToSql + Sync), Type)> =
            texts.iter().map(|text| (text as &(dyn ToSql + Sync), Type::TEXT)).collect();
        let rows = self.url.within(self.client.query_typed(&sql, &params)).await;
        rows.map_err(|why| self.silent(&why))?.map_err(|error| self.failed(&error))
    }

    fn silent(&self, why: &str) -> Failure {
        Failure::could_not_run(format!("{}: {why}", self.url))
    }

    fn failed(&self, error: &tokio_postgres::Error) -> Failure {
        Failure::could_not_run(format!("{}: PostgreSQL says: {}", self.url, words(error)))
    }
}

fn at<'r, T: FromSql<'r>>(row: &'r Row, column: usize) -> Result<T, tokio_postgres::Error> {
    row.try_get(column)
}

/// What the server says about itself.
struct Server {
    version: String,
    schema: i32,
    now: Micros,
    fsync: String,
    full_page_writes: String,
    synchronous_commit: String,
    autovacuum: String,
    connections_max: i64,
    connections: i64,
    is_standby: bool,
    sees_all: bool,
}

impl Server {
    fn of(row: &Row) -> Result<Self, tokio_postgres::Error> {
        Ok(Self {
            version: at(row, 0)?,
            schema: at(row, 1)?,
            now: Micros::new(at(row, 2)?),
            fsync: at(row, 3)?,
            full_page_writes: at(row, 4)?,
            synchronous_commit: at(row, 5)?,
            autovacuum: at(row, 6)?,
            connections_max: at(row, 7)?,
            connections: at(row, 8)?,
            is_standby: at(row, 9)?,
            sees_all: at(row, 10)?,
        })
    }

    fn version(&self, url: &PostgresUrl) -> Check {
        let Self { version, schema, .. } = self;
        let seen = format!("{url}: PostgreSQL {version}; the schema has version {schema}");
        if self.is_standby {
            let help = "name the primary, or ?target_session_attrs=read-write among several hosts";
            return Check::wrong("store", format!("{seen}; it is a standby: it only reads"), help);
        }
        Check::well("store", seen)
    }

    fn durability(&self) -> Check {
        let Self { fsync, full_page_writes, synchronous_commit, .. } = self;
        let seen = format!(
            "fsync {fsync}, full_page_writes {full_page_writes}, synchronous_commit \
             {synchronous_commit}"
        );
        if fsync == "off" || full_page_writes == "off" {
            let text = format!("{seen}: a crash of the machine could lose or break what stands");
            return Check::wrong("durability", text, "set both on, and restart the server");
        }
        if synchronous_commit == "off" {
            return Check::note("durability", seen).help(
                "Counterfoil's own sessions commit with on; with off a crash can take your \
                 programs' last commits, each with its command",
            );
        }
        Check::well("durability", seen)
    }

    fn clock(&self, here: Micros) -> Check {
        let (skew, how) = if self.now > here {
            (self.now.since(here), "ahead of")
        } else {
            (here.since(self.now), "behind")
        };
        let seen = format!("the server's clock is {} {how} this machine's", time::about(skew));
        if skew.to_std() <= SKEW_MAX {
            return Check::well("clock", seen);
        }
        Check::wrong(
            "clock",
            seen,
            "all times in the store are the server's: due times, leases, the timestamps that \
             webhooks are signed with; set the clock right that is wrong",
        )
    }

    fn connections(&self) -> Check {
        let (used, most) = (self.connections, self.connections_max.max(1));
        let seen = format!("{used} of {most} connections of the server are in use");
        let help = "allow more by max_connections, give each process fewer by ?connections=N, or \
                    put a pooler between, with ?pooler=transaction";
        let percent = used * 100 / most;
        if percent < USED_PERCENT_NOTE {
            Check::well("connections", seen)
        } else if percent < USED_PERCENT_MAX {
            Check::note("connections", seen).help(help)
        } else {
            Check::wrong("connections", seen, help)
        }
    }

    /// A user without rights sees no other user's transactions.
    fn sight(&self) -> Option<Check> {
        let text = "this user sees its own sessions only: old transactions of others stay unseen";
        let help = "GRANT pg_read_all_stats to it";
        (!self.sees_all).then(|| Check::note("oldest", text).help(help))
    }
}

#[cfg(test)]
mod tests {
    use counterfoil_core::domain::Span;

    use super::super::check::Verdict;
    use super::*;

    fn server() -> Server {
        Server {
            version: "15.1".into(),
            schema: 6,
            now: Micros::new(1_764_421_200_000_000),
            fsync: "on".into(),
            full_page_writes: "on".into(),
            synchronous_commit: "on".into(),
            autovacuum: "on".into(),
            connections_max: 97,
            connections: 3,
            is_standby: false,
            sees_all: true,
        }
    }

    #[test]
    fn a_server_that_can_lose_commits_is_wrong() {
        assert_eq!(server().durability().verdict, Verdict::Well);
        for broken in [
            Server { fsync: "off".into(), ..server() },
            Server { full_page_writes: "off".into(), ..server() },
        ] {
            assert_eq!(broken.durability().verdict, Verdict::Wrong);
        }
        let lazy = Server { synchronous_commit: "off".into(), ..server() };
        assert_eq!(lazy.durability().verdict, Verdict::Note);
    }

    #[test]
    fn clocks_that_differ_are_wrong_either_way() {
        let now = server().now;
        assert_eq!(server().clock(now.plus(Span::from_secs(59))).verdict, Verdict::Well);
        for here in [now.plus(Span::from_secs(61)), Micros::new(now.get() - 61_000_000)] {
            assert_eq!(server().clock(here).verdict, Verdict::Wrong);
        }
    }

    #[test]
    fn few_free_connections_are_worth_a_word_and_none_are_wrong() {
        for (used, verdict) in [(3, Verdict::Well), (80, Verdict::Note), (96, Verdict::Wrong)] {
            let server = Server { connections: used, ..server() };
            assert_eq!(server.connections().verdict, verdict, "{used}");
        }
    }
}
