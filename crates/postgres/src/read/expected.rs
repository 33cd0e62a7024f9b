//! The answers of the user's own query, and which ids the store knows.
//!
//! Guarantees: the query runs in a transaction that cannot write and that ends with it; a statement
//! that would write, or several at once, are refused by the server. Does not: judge the answers;
//! the audit does.

use std::collections::HashSet;

use tokio_postgres::Row;

use crate::failure::Failure;
use crate::param::Param;
use crate::row::{flag, string, text};
use crate::statement::{Statement, statement};
use crate::tx::Tx;

use super::asked;

const CLOCK: Statement = statement!("clock");
const KNOWN: Statement = statement!("known");

/// Our own sessions plan for our own statements; the user's query is planned as usual.
const PLAIN_PLANS: &str = "SELECT set_config('enable_seqscan', 'on', true), \
    set_config('enable_hashjoin', 'on', true), set_config('enable_mergejoin', 'on', true), \
    set_config('max_parallel_workers_per_gather', '2', true), \
    set_config('plan_cache_mode', 'auto', true)";

/// SQLSTATE of a write in a transaction that only reads, as it stands in the server's words.
const READ_ONLY: &str = "(25006)";

/// The first column as text, at most `limit` rows after skipping `offset`.
pub(crate) async fn expected(
    tx: &Tx<'_>,
    sql: &str,
    offset: u64,
    limit: usize,
) -> Result<Vec<String>, Failure> {
    let told = ask(tx, sql, &format!("OFFSET {offset} LIMIT {limit}"), &[]).await?;
    Ok(told.iter().map(|row| string(row, 0).unwrap_or_default()).collect())
}

/// Which of these ids are in the first column, in one reading of the answer at most.
pub(crate) async fn expected_has(
    tx: &Tx<'_>,
    sql: &str,
    ids: &[String],
) -> Result<Vec<bool>, Failure> {
    let wanted: Vec<&str> = ids.iter().map(|id| asked(id)).collect();
    let told = ask(tx, sql, "WHERE q.first::text = ANY($1)", &[&wanted]).await?;
    let found: HashSet<&str> = told.iter().filter_map(|row| text(row, 0)).collect();
    Ok(ids.iter().map(|id| found.contains(id.as_str())).collect())
}

/// The rows of the query that `rest` chooses, in a transaction that this begins.
async fn ask(
    tx: &Tx<'_>,
    sql: &str,
    rest: &str,
    params: &[&dyn Param],
) -> Result<Vec<Row>, Failure> {
    tx.execute(CLOCK, &[]).await?;
    tx.query_text(PLAIN_PLANS, &[]).await?;
    tx.query_text(&of(sql, rest), params).await.map_err(|failure| {
        let told = |why| format!("the query {sql:?}: {why}");
        match failure {
            // A function that writes: here it is the transaction that is read-only, not the server.
            Failure::Unavailable(why) if why.contains(READ_ONLY) => Failure::Broken(told(why)),
            Failure::Broken(why) => Failure::Broken(told(why)),
            Failure::Again(why) => Failure::Again(told(why)),
            Failure::Unavailable(why) => Failure::Unavailable(told(why)),
            Failure::NotKnown(why) => Failure::NotKnown(told(why)),
        }
    })
}

/// A part of the query. It stands in lines of its own, so that a comment ends with it.
fn of(sql: &str, rest: &str) -> String {
    let sql = sql.trim_end().trim_end_matches(';');
    format!("SELECT q.first::text FROM (\n{sql}\n) AS q(first) {rest}")
}

/// Which of these ids are in the outbox or archived.
pub(crate) async fn known(tx: &Tx<'_>, ids: &[String]) -> Result<Vec<bool>, Failure> {
    let ids: Vec<&str> = ids.iter().map(|id| asked(id)).collect();
    let rows = tx.query(KNOWN, &[&ids]).await?;
    Ok(rows.iter().map(|row| flag(row, 0)).collect())
}
