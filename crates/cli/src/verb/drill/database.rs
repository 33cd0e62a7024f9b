//! The sender's database of a drill, as a user's own program has it: a file or a server.
//!
//! Guarantees: plain SQL, sharing no code with what is drilled; a server that is restarted is
//! waited for. Does not: know what is asked.

use std::path::Path;
use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, params_from_iter};
use tokio_postgres::types::{ToSql, Type};

use super::server::Server;
use crate::config::store_url::StoreUrl;
use crate::exit::Failure;

/// How long the drill waits for the other writers of its files.
const PATIENCE: Duration = Duration::from_secs(30);

/// A question, as each database understands it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Query {
    /// For SQLite.
    pub(super) sqlite: &'static str,
    /// For PostgreSQL, where `cf.` stands for the schema.
    pub(super) postgres: &'static str,
}

/// The files of this name.
macro_rules! query {
    ($name:literal) => {
        $crate::verb::drill::database::Query {
            sqlite: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/src/verb/drill/sql/",
                $name,
                ".sql"
            )),
            postgres: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/src/verb/drill/sql/postgres/",
                $name,
                ".sql"
            )),
        }
    };
}
pub(super) use query;

/// A connection.
pub(super) enum Database {
    /// To a file.
    Sqlite(Connection),
    /// To a server.
    Postgres(Box<Server>),
}

/// One row of an answer.
pub(super) struct Answer(Vec<Value>);

impl Database {
    /// Opens it to write.
    ///
    /// # Errors
    /// What the database says.
    pub(super) fn open(url: &StoreUrl) -> Result<Self, Failure> {
        match url {
            StoreUrl::Sqlite(path) => {
                let connection = Connection::open(path).map_err(sqlite)?;
                connection.busy_timeout(PATIENCE).map_err(sqlite)?;
                Ok(Self::Sqlite(connection))
            }
            StoreUrl::Postgres(url) => Server::new(url).map(Box::new).map(Self::Postgres),
        }
    }

    /// Opens it to read.
    ///
    /// # Errors
    /// What the database says.
    pub(super) fn look(url: &StoreUrl) -> Result<Self, Failure> {
        match url {
            StoreUrl::Sqlite(path) => look(path).map(Self::Sqlite),
            StoreUrl::Postgres(_) => Self::open(url),
        }
    }

    /// All rows.
    ///
    /// # Errors
    /// What the database says.
    pub(super) fn rows(&mut self, query: Query, params: &[&str]) -> Result<Vec<Answer>, Failure> {
        match self {
            Self::Sqlite(connection) => {
                let mut query = connection.prepare_cached(query.sqlite).map_err(sqlite)?;
                let columns = query.column_count();
                let rows = query.query_map(params_from_iter(params), |row| {
                    let values = (0..columns).map(|column| row.get(column));
                    values.collect::<Result<_, _>>().map(Answer)
                });
                rows.and_then(Iterator::collect).map_err(sqlite)
            }
            Self::Postgres(server) => {
                let params: Vec<_> = params.iter().map(|it| it as &(dyn ToSql + Sync)).collect();
                let sql = server.sql(query.postgres);
                server.patiently(async |client| {
                    client.query(&sql, &params).await?.iter().map(answer).collect()
                })
            }
        }
    }

    /// The only row.
    ///
    /// # Errors
    /// What the database says, or there is none.
    pub(super) fn row(&mut self, query: Query, params: &[&str]) -> Result<Answer, Failure> {
        let first = self.rows(query, params)?.into_iter().next();
        first.ok_or_else(|| Failure::could_not_run("the drill's own query has no answer"))
    }

    /// The only number.
    ///
    /// # Errors
    /// As [`Database::row`].
    pub(super) fn number(&mut self, query: Query) -> Result<i64, Failure> {
        Ok(self.row(query, &[])?.int(0))
    }
}

impl Answer {
    /// A number, or a truth as 0 or 1; 0 for NULL.
    pub(super) fn int(&self, column: usize) -> i64 {
        match self.0.get(column) {
            Some(Value::Integer(int)) => *int,
            _ => 0,
        }
    }

    /// A text; `None` for NULL.
    pub(super) fn text(&self, column: usize) -> Option<String> {
        match self.0.get(column) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        }
    }
}

fn answer(row: &tokio_postgres::Row) -> Result<Answer, tokio_postgres::Error> {
    let value = |column: usize| {
        let kind = row.columns().get(column).map(|column| column.type_().clone());
        let int = |int: Option<i64>| int.map_or(Value::Null, Value::Integer);
        Ok(match kind {
            Some(Type::INT8) => int(row.try_get(column)?),
            Some(Type::INT4) => int(row.try_get::<_, Option<i32>>(column)?.map(i64::from)),
            Some(Type::BOOL) => int(row.try_get::<_, Option<bool>>(column)?.map(i64::from)),
            _ => row.try_get::<_, Option<String>>(column)?.map_or(Value::Null, Value::Text),
        })
    };
    (0..row.len()).map(value).collect::<Result<_, _>>().map(Answer)
}

/// A connection to a file that only reads.
///
/// # Errors
/// What SQLite says.
pub(super) fn look(path: &Path) -> Result<Connection, Failure> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let connection = connection.map_err(sqlite)?;
    connection.busy_timeout(PATIENCE).map_err(sqlite)?;
    Ok(connection)
}

/// What SQLite said in a drill.
#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
pub(super) fn sqlite(error: rusqlite::Error) -> Failure {
    Failure::could_not_run(format!("the drill's own connection: SQLite says: {error}"))
}
