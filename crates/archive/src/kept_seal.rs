//! The seal of the audit, while the archive takes rows away and an erasure clears them.
//!
//! Guarantees: each change follows the seal that was read. Does not: write it; the store does, in
//! the transaction of the rows.

use counterfoil_core::audit::{AuditError, keep};
use counterfoil_core::port::archive::{Entry, SealChange};
use counterfoil_core::port::store::StoreError;
use counterfoil_core::port::{Archive, Audited, BoxFuture};

use crate::work::Seals;

/// Keeps the seal of this store.
#[derive(Clone, Copy, Debug)]
pub struct KeptSeal<'s, S>(pub &'s S);

impl<S: Archive + Audited> Seals for KeptSeal<'_, S> {
    fn burying<'a>(
        &'a self,
        _: &'a str,
        entries: &'a [Entry],
    ) -> BoxFuture<'a, Result<Option<SealChange>, StoreError>> {
        Box::pin(async { keep::burying(self.0, entries).await.map_err(unkept) })
    }

    fn erasing<'a>(
        &'a self,
        command_id: &'a str,
    ) -> BoxFuture<'a, Result<Option<SealChange>, StoreError>> {
        Box::pin(async { keep::erasing(self.0, command_id).await.map_err(unkept) })
    }
}

fn unkept(error: AuditError) -> StoreError {
    match error {
        AuditError::Store(error) => error,
        other => {
            let way_out = "counterfoil audit --full begins a new one, and then this can go on";
            StoreError::Broken(format!("{other}: {way_out}"))
        }
    }
}
