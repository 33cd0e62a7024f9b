//! The answers of the user's own query, and which ids the store knows.
//!
//! Guarantees: the query runs in a transaction that cannot write and that ends with it; a statement
//! that would write, or several at once, are refused by the server. Does not: judge the answers;
//! the audit does.

use crate::failure::Failure;
use crate::row::{flag, string};
use crate::statement::{Statement, statement};
use crate::tx::Tx;

use super::asked;

const CLOCK: Statement = statement!("clock");
const KNOWN: Statement = statement!("known");

/// Our own sessions plan for our own statements; the user's query is planned as usual.
const PLAIN_PLANS: &str = "SELECT set_config('enable_seqscan', 'on', true), \
    set_config('enable_hashjoin', 'on', true), set_config('enable_mergejoin', 'on', true), \
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
    // It begins the transaction.
    tx.execute(CLOCK, &[]).await?;
    tx.query_text(PLAIN_PLANS).await?;
    let told = tx.query_text(&page_of(sql, offset, limit)).await.map_err(|failure| {
        let told = |why| format!("the query {sql:?}: {why}");
        match failure {
            // A function that writes: here it is the transaction that is read-only, not the server.
            Failure::Unavailable(why) if why.contains(READ_ONLY) => Failure::Broken(told(why)),
            Failure::Broken(why) => Failure::Broken(told(why)),
            Failure::Again(why) => Failure::Again(told(why)),
            Failure::Unavailable(why) => Failure::Unavailable(told(why)),
            Failure::NotKnown(why) => Failure::NotKnown(told(why)),
        }
    })?;
    Ok(told.iter().map(|row| string(row, 0).unwrap_or_default()).collect())
}

/// One page of the query. It stands in lines of its own, so that a comment ends with it.
fn page_of(sql: &str, offset: u64, limit: usize) -> String {
    let sql = sql.trim_end().trim_end_matches(';');
    format!("SELECT q.first::text FROM (\n{sql}\n) AS q(first) OFFSET {offset} LIMIT {limit}")
}

/// Which of these ids are in the outbox or archived.
pub(crate) async fn known(tx: &Tx<'_>, ids: &[String]) -> Result<Vec<bool>, Failure> {
    let ids: Vec<&str> = ids.iter().map(|id| asked(id)).collect();
    let rows = tx.query(KNOWN, &[&ids]).await?;
    Ok(rows.iter().map(|row| flag(row, 0)).collect())
}
