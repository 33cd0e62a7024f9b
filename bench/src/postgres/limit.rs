//! The raw limits on PostgreSQL: bare tables, statements held prepared, no rules.
//!
//! Guarantees: the bodies and ids of ours, one text index. Does not: keep a state that survives a
//! dead worker, or a receipt.

use std::time::Instant;

use anyhow::Result;
use tokio_postgres::Client;

use super::server::Server;
use crate::load::{Ids, body};

/// The bare tables.
const TABLES: &str = "
CREATE TABLE orders(id text COLLATE \"C\" PRIMARY KEY, paid int NOT NULL, body bytea NOT NULL);
CREATE TABLE bare(
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  command_id text COLLATE \"C\" NOT NULL UNIQUE,
  destination text NOT NULL, kind text NOT NULL, body bytea NOT NULL,
  state int NOT NULL DEFAULT 0, attempts int NOT NULL DEFAULT 0,
  due_at timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE INDEX bare_due ON bare(due_at, n) WHERE state = 0;";

const CLAIM: &str = "
WITH c AS MATERIALIZED (
  SELECT n FROM bare WHERE state = 0 AND due_at <= now()
  ORDER BY due_at, n LIMIT $1 FOR UPDATE SKIP LOCKED)
UPDATE bare b SET due_at = now() + interval '30 s', attempts = attempts + 1
FROM c WHERE b.n = c.n RETURNING b.n, b.command_id, b.body";

/// Makes the bare tables.
pub(crate) async fn create(client: &Client) -> Result<()> {
    Ok(client.batch_execute(TABLES).await?)
}

/// Fills `bare` with so many.
pub(crate) async fn fill(client: &Client, ids: Ids, items: usize) -> Result<()> {
    let insert = "INSERT INTO bare(command_id, destination, kind, body) \
                  SELECT id, 'shipping', 'order.paid', $2 FROM unnest($1::text[]) id";
    let numbers: Vec<u64> = (0..items as u64).collect();
    for chunk in numbers.chunks(5_000) {
        let ids: Vec<String> = chunk.iter().map(|i| ids.id(*i)).collect();
        client.execute(insert, &[&ids, &body()]).await?;
    }
    client.batch_execute("VACUUM (ANALYZE) bare").await?;
    Ok(())
}

/// Claims and marks done in batches until nothing is left; items a second.
pub(crate) async fn drain(
    server: &Server,
    database: &str,
    batch: i64,
    items: usize,
) -> Result<f64> {
    let client = server.connect(database).await?;
    client.batch_execute("SET enable_hashjoin = off; SET enable_mergejoin = off").await?;
    let claim = client.prepare(CLAIM).await?;
    let done = client.prepare("UPDATE bare SET state = 2 WHERE n = ANY($1)").await?;
    let begun = Instant::now();
    loop {
        let claimed = client.query(&claim, &[&batch]).await?;
        if claimed.is_empty() {
            break;
        }
        let numbers: Vec<i64> = claimed.iter().map(|row| row.get(0)).collect();
        client.execute(&done, &[&numbers]).await?;
    }
    Ok(items as f64 / begun.elapsed().as_secs_f64())
}
