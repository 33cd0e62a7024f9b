//! Clears the content of one ended command.
//!
//! Guarantees: digests stand in the newest receipt before the body goes; it and the record of who
//! did it are one transaction. Does not: touch what is open, nor files of an archive.

use std::collections::BTreeSet;

use counterfoil_core::domain::Digest;
use counterfoil_core::port::Actor;
use counterfoil_core::port::archive::{Erased, SealChange, Tombstone};
use counterfoil_core::port::store::StoreError;

use super::tombstone;
use crate::act;
use crate::books::seal;
use crate::failure::Failure;
use crate::group::Group;
use crate::pause::{Action, insert_action};
use crate::position::int;
use crate::read::asked;
use crate::row;
use crate::statement::{Statement, statement};
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;

const NUMBER: Statement = statement!("outbox_number");
const DELIVERY: Statement = statement!("delivery_row");
const RECEIPTS: Statement = statement!("erase_receipts");
const OUTBOX: Statement = statement!("erase_outbox");
const ROWS: Statement = statement!("erase_rows");
const LOCK: Statement = statement!("archived_lock");
const AGAIN: Statement = statement!("erase_again");
const ERASED: Statement = statement!("archive_erased");
const SAYINGS: Statement = statement!("erase_sayings");

/// One erasure.
pub(super) struct Erase<'a> {
    store: &'a Inner,
    command_id: String,
    actor: Actor,
    reason: String,
    seal: Option<SealChange>,
}

/// Whether somebody erased each of these.
pub(super) async fn erased(tx: &Tx<'_>, ids: &[String]) -> Result<Vec<bool>, Failure> {
    let known: Vec<&str> = ids.iter().map(|id| asked(id)).collect();
    let rows = tx.query(ERASED, &[&known]).await?;
    let about: BTreeSet<&str> = rows.iter().filter_map(|row| row::text(row, 0)).collect();
    Ok(ids.iter().map(|id| about.contains(id.as_str())).collect())
}

/// The command as it stands, held until the transaction ends.
enum Stands {
    /// It has ended.
    Ended { n: i64, round: u32, outcome: String, digests: (Digest, Option<Digest>) },
    /// There is nothing to do.
    Told(Erased),
    /// Its rows are gone, or were never there.
    Gone,
}

impl<'a> Erase<'a> {
    pub(super) fn new(
        store: &'a Inner,
        command_id: &str,
        actor: Actor,
        reason: &str,
        seal: Option<SealChange>,
    ) -> Result<Self, StoreError> {
        act::check(&actor)?;
        let (command_id, reason) = (command_id.to_owned(), reason.to_owned());
        Ok(Self { store, command_id, actor, reason, seal })
    }

    /// Reads and locks: a redelivery or a burial at once is waited for, and seen.
    async fn stands(&self, tx: &Tx<'_>) -> Result<Stands, Failure> {
        let id = asked(&self.command_id);
        let number = tx.query_opt(NUMBER, &[&id]).await?;
        let Some(n) = number.and_then(|row| row::int(&row, 0)) else { return Ok(Stands::Gone) };
        let open = Ok(Stands::Told(Erased::Open));
        if tx.query_opt(DELIVERY, &[&n]).await?.is_some() {
            return open;
        }
        let receipts = tx.query(RECEIPTS, &[&n]).await?;
        // Who waited for a receipt may have waited for a redelivery.
        if tx.query_opt(DELIVERY, &[&n]).await?.is_some() {
            return open;
        }
        let Some(row) = tx.query_opt(OUTBOX, &[&n]).await? else { return Ok(Stands::Gone) };
        if row::flag(&row, 15) {
            return Ok(Stands::Told(Erased::Repeated));
        }
        let Some(newest) = receipts.last() else { return open };
        let digest = Digest::of(row::bytes(&row, 8).unwrap_or_default());
        let whole = row::outbox(&row, 0, usize::MAX).ok().map(|row| row.row_digest(digest));
        let (round, outcome) = (row::count(newest, 0), row::string(newest, 1).unwrap_or_default());
        Ok(Stands::Ended { n, round, outcome, digests: (digest, whole) })
    }

    async fn record(&self, group: &Group<'_>, before: &str) -> Result<(), Failure> {
        let action = Action { verb: "erase", about: &self.command_id, actor: &self.actor.name };
        let reason = (!self.reason.is_empty()).then_some(self.reason.as_str());
        insert_action(group, &action, reason, (Some(before), "erased")).await
    }

    /// It is archived, or nobody ever heard of it.
    async fn erase_archived(&self, group: &Group<'_>) -> Result<Erased, Failure> {
        // A report and an erasure at once wait for each other.
        let id = asked(&self.command_id);
        if group.tx.query_opt(LOCK, &[&id]).await?.is_none() {
            return Ok(Erased::Unknown);
        }
        let tombstone: Option<Tombstone> = tombstone::of_one(group.tx, &self.command_id).await?;
        let Some(tombstone) = tombstone else { return Ok(Erased::Unknown) };
        let is_repeat = group.tx.query_opt(AGAIN, &[&id]).await?;
        if is_repeat.is_some_and(|row| row::flag(&row, 0)) {
            return Ok(Erased::Repeated);
        }
        if !seal::turn(group.tx, self.seal.as_ref()).await? {
            return Ok(Erased::SealMoved);
        }
        group.tx.execute(SAYINGS, &[&self.command_id]).await?;
        self.record(group, &tombstone.outcome).await?;
        Ok(Erased::Archived(tombstone))
    }
}

impl Work for Erase<'_> {
    type Answer = Erased;

    async fn run(&self, tx: &Tx<'_>) -> Result<Erased, Failure> {
        let group = Group::begin(tx, self.store).await?;
        let (n, round, outcome, (digest, whole)) = match self.stands(tx).await? {
            Stands::Told(erased) => return Ok(erased),
            Stands::Gone => return self.erase_archived(&group).await,
            Stands::Ended { n, round, outcome, digests } => (n, round, outcome, digests),
        };
        if !seal::turn(tx, self.seal.as_ref()).await? {
            return Ok(Erased::SealMoved);
        }
        let digest = digest.as_bytes().to_vec();
        let whole = whole.map(|digest| digest.as_bytes().to_vec());
        let now = group.now.get();
        tx.execute(ROWS, &[&n, &int(round), &digest, &whole, &now]).await?;
        tx.execute(SAYINGS, &[&self.command_id]).await?;
        self.record(&group, &outcome).await?;
        Ok(Erased::Done)
    }
}
