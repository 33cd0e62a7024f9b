//! The rows that a relay leaves behind, made in bulk.
//!
//! Guarantees: ids, times, digests and tallies are as if each command had been recorded, sent once
//! and completed. Does not: write; each store has its own way.

use anyhow::Result;
use counterfoil::Digest;
use counterfoil::port::store::Store;
use counterfoil::{Micros, OutboxRow};

use crate::load::{Ids, body};

/// When the first one was recorded: 2026-01-01.
const BEGAN: i64 = 1_767_225_600_000_000;

/// The destination of all.
pub(crate) const DESTINATION: &str = "shipping";
/// Their kind.
pub(crate) const KIND: &str = "order.paid";

/// Command number `n` as it stands in the outbox.
pub(crate) fn row(n: u64) -> Result<OutboxRow> {
    Ok(OutboxRow {
        n: i64::try_from(n)?,
        command_id: Ids::Orders.id(n).try_into()?,
        stream: None,
        seq: None,
        idx: None,
        destination: DESTINATION.try_into()?,
        kind: KIND.try_into()?,
        ordering_key: None,
        body: body(),
        content_type: "application/json".into(),
        headers: None,
        core_digest: None,
        not_before: None,
        expires_at: None,
        recorded_at: Micros::new(BEGAN + i64::try_from(n)? * 10),
    })
}

/// When it was claimed, which is its token, too; and when its receipt was written.
pub(crate) fn times(row: &OutboxRow) -> (i64, i64) {
    (row.recorded_at.get() + 1_000, row.recorded_at.get() + 3_000)
}

/// SHA-256 of the body and of the row.
pub(crate) fn digests(row: &OutboxRow) -> (Digest, Digest) {
    let digest = Digest::of(&row.body);
    (digest, row.row_digest(digest))
}

/// Declares the contract under which all is delivered.
pub(crate) async fn declare(store: &impl Store) -> Result<()> {
    let contract = counterfoil::Contract::new(counterfoil::Idempotent::Forever);
    store.declare(&DESTINATION.try_into()?, &contract, false).await?;
    Ok(())
}
