//! What stays of archived commands.
//!
//! Guarantees: as stored, digests too. Does not: check them; the audit does.

use std::collections::HashMap;

use counterfoil_core::domain::Digest;
use counterfoil_core::port::archive::Tombstone;
use tokio_postgres::Row;

use crate::failure::Failure;
use crate::read::asked;
use crate::row::{self, count, string};
use crate::statement::{Statement, statement};
use crate::tx::Tx;

const OF: Statement = statement!("archive_tombstones");
const PAGE: Statement = statement!("archive_tombstone_page");

/// The tombstone of each of these commands, in their order.
pub(super) async fn of(tx: &Tx<'_>, ids: &[String]) -> Result<Vec<Option<Tombstone>>, Failure> {
    let known: Vec<&str> = ids.iter().map(|id| asked(id)).collect();
    let rows = tx.query(OF, &[&known]).await?;
    let rows =
        rows.iter().map(tombstone).map(|tombstone| (tombstone.command_id.clone(), tombstone));
    let rows: HashMap<String, Tombstone> = rows.collect();
    Ok(ids.iter().map(|id| rows.get(id).cloned()).collect())
}

/// The tombstone of one command.
pub(super) async fn of_one(tx: &Tx<'_>, id: &str) -> Result<Option<Tombstone>, Failure> {
    Ok(tx.query_opt(OF, &[&vec![asked(id)]]).await?.as_ref().map(tombstone))
}

/// The tombstones with a larger id, by bytes.
pub(super) async fn page(
    tx: &Tx<'_>,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<Tombstone>, Failure> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = tx.query(PAGE, &[&after.map(asked), &limit]).await?;
    Ok(rows.iter().map(tombstone).collect())
}

fn tombstone(row: &Row) -> Tombstone {
    let text = |at| string(row, at).unwrap_or_default();
    Tombstone {
        command_id: text(0),
        destination: text(1),
        kind: text(2),
        ordering_key: string(row, 3),
        // A digest of another length was written by hand; none of ours is the digest of this.
        digest: row::digest(row, 4).unwrap_or_else(|| Digest::of(b"no digest")),
        outcome: text(5),
        rounds: count(row, 6),
        file: text(7),
        row_digest: row::digest(row, 8),
    }
}
