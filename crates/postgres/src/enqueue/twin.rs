//! What stands under an id that is asked for again.
//!
//! Guarantees: an outbox row is compared by its content, a tombstone by its digest. Does not: read;
//! see the parent.

use counterfoil_core::domain::{Command, Digest};
use counterfoil_core::port::intent::{Address, Standing, Tombstone};
use tokio_postgres::Row;

use crate::row;

/// What stands under an id.
pub(super) struct Twin {
    pub(super) id: String,
    row: Row,
}

impl Twin {
    pub(super) fn of(row: Row) -> Option<Self> {
        Some(Self { id: row::string(&row, 0)?, row })
    }

    /// Whether `command` is the same intent.
    pub(super) fn is_same(&self, command: &Command) -> bool {
        let name = |at| row::text(&self.row, at).unwrap_or_default().as_bytes();
        let address = Address {
            destination: name(2),
            kind: name(3),
            ordering_key: row::text(&self.row, 4).map(str::as_bytes),
        };
        if row::flag(&self.row, 1) {
            let digest: Option<Digest> = row::digest(&self.row, 8);
            return Tombstone { address, digest }.is_same(command);
        }
        let body = row::bytes(&self.row, 5).unwrap_or_default();
        let core_digest = row::text(&self.row, 6).map(str::as_bytes);
        let erased = row::flag(&self.row, 7);
        Standing { address, body, core_digest, erased }.is_same(command)
    }
}
