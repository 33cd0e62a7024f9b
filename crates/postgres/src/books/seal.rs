//! The seal of the newest audit that held.
//!
//! Guarantees: it is written over the version that was read, and over no other; its version rises
//! with each write. Does not: read what it says.

use counterfoil_core::port::Actor;
use counterfoil_core::port::archive::SealChange;
use counterfoil_core::port::seal::Sealed;
use counterfoil_core::port::store::StoreError;

use crate::act;
use crate::failure::Failure;
use crate::group::Group;
use crate::pause::{Action, insert_action};
use crate::row::{int, string, time};
use crate::statement::{Statement, statement};
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;

const ROW: Statement = statement!("seal_row");
const INSERT: Statement = statement!("seal_insert");
const UPDATE: Statement = statement!("seal_update");
const RECOUNT: Statement = statement!("tally_recount");

/// The seal that stands.
pub(crate) async fn sealed(tx: &Tx<'_>) -> Result<Option<Sealed>, Failure> {
    let row = tx.query_opt(ROW, &[]).await?;
    Ok(row.map(|row| Sealed {
        version: int(&row, 0).unwrap_or(0),
        seal: string(&row, 1).unwrap_or_default(),
        recorded_at: time(&row, 2).unwrap_or_default(),
    }))
}

/// Writes the seal over the one that it follows; whether that stood. Without a change: whether none
/// stands.
pub(crate) async fn turn(tx: &Tx<'_>, change: Option<&SealChange>) -> Result<bool, Failure> {
    let Some(SealChange { version, seal }) = change else {
        return Ok(sealed(tx).await?.is_none());
    };
    let written = match version {
        0 => tx.query(INSERT, &[seal]).await?,
        version => tx.query(UPDATE, &[version, seal]).await?,
    };
    Ok(!written.is_empty())
}

/// Whether this very change stands; without a change: no.
pub(crate) async fn is_turned(tx: &Tx<'_>, change: Option<&SealChange>) -> Result<bool, Failure> {
    let Some(change) = change else { return Ok(false) };
    let stands = sealed(tx).await?;
    let follows = |stands: Sealed| stands.version == change.version + 1;
    Ok(stands.is_some_and(|stands| stands.seal == change.seal && follows(stands)))
}

/// A seal to be written by itself, or with the record of who gave up the one before.
pub(super) struct SaveSeal<'a> {
    store: &'a Inner,
    change: SealChange,
    reseal: Option<Actor>,
    /// With every tally as receipts and tombstones say.
    recount: bool,
}

impl<'a> SaveSeal<'a> {
    pub(super) fn new(store: &'a Inner, version: i64, seal: &str) -> Self {
        let change = SealChange { version, seal: seal.to_owned() };
        Self { store, change, reseal: None, recount: false }
    }

    pub(super) fn by(self, actor: Actor, recount: bool) -> Result<Self, StoreError> {
        act::check(&actor)?;
        Ok(Self { reseal: Some(actor), recount, ..self })
    }
}

impl Work for SaveSeal<'_> {
    /// Whether it was written.
    type Answer = bool;

    async fn run(&self, tx: &Tx<'_>) -> Result<bool, Failure> {
        let written = turn(tx, Some(&self.change)).await?;
        if let Some(actor) = self.reseal.as_ref().filter(|_| written) {
            let group = Group::begin(tx, self.store).await?;
            let action = Action { verb: "reseal", about: "store", actor: &actor.name };
            let reason = (!actor.reason.is_empty()).then_some(actor.reason.as_str());
            insert_action(&group, &action, reason, (Some("sealed"), "sealed anew")).await?;
        }
        if self.recount && written {
            tx.execute(RECOUNT, &[]).await?;
        }
        Ok(written)
    }

    async fn look_again(&self, tx: &Tx<'_>) -> Result<Option<bool>, Failure> {
        if is_turned(tx, Some(&self.change)).await? {
            return Ok(Some(true));
        }
        self.run(tx).await.map(Some)
    }
}
