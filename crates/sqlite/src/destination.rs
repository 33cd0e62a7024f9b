//! What a destination's row says: its contract, and whether it is paused.
//!
//! Guarantees: a relay whose contract is no longer the stored one claims nothing there. Does not:
//! pause; see `pause`.

use std::collections::BTreeMap;

use counterfoil_core::domain::contract::OnParked;
use counterfoil_core::domain::{Contract, Destination, Idempotent, Micros};
use counterfoil_core::port::store::{Declared, StoreError};
use rusqlite::{CachedStatement, Connection, OptionalExtension as _, params};

use crate::group::Group;
use crate::member::Work;
use crate::row::{bytes, lossy};
use crate::sql::Sql;

/// Stores a contract, or compares it with the stored one.
pub(crate) struct Declare {
    destination: Destination,
    contract: Contract,
    json: String,
    replace: bool,
}

impl Declare {
    pub(crate) fn new(
        destination: &Destination,
        contract: &Contract,
        replace: bool,
    ) -> Result<Self, StoreError> {
        let (destination, contract) = (destination.clone(), contract.clone());
        let json = serde_json::to_string(&contract).map_err(|error| {
            StoreError::Broken(format!("the contract of {destination} is no JSON: {error}"))
        })?;
        Ok(Self { destination, contract, json, replace })
    }

    fn stored(&self, statement: &mut CachedStatement<'_>) -> rusqlite::Result<Option<String>> {
        let stored = statement.query_row([self.destination.as_str()], |row| lossy(row, 0));
        Ok(stored.optional()?.flatten())
    }

    fn compare(&self, stored: &str) -> Declared {
        let names = self.contract.differing(stored.as_bytes());
        if names.is_empty() { Declared::Agreed } else { Declared::Differs(names) }
    }
}

impl Work for Declare {
    type Answer = Declared;

    fn size(&self) -> usize {
        1
    }

    /// What stands already needs no write.
    fn peek(&self, store: &Connection, _: Micros) -> rusqlite::Result<Option<Declared>> {
        let stored = self.stored(&mut store.prepare_cached(Sql::DestinationRow.text())?)?;
        let declared = stored.map(|stored| self.compare(&stored));
        Ok(declared.filter(|declared| *declared == Declared::Agreed || !self.replace))
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<Declared> {
        let stored = self.stored(group.sql(Sql::DestinationRow)?)?;
        match stored.map(|stored| self.compare(&stored)) {
            Some(Declared::Agreed) => return Ok(Declared::Agreed),
            Some(differs) if !self.replace => return Ok(differs),
            Some(_) | None => {}
        }
        let declare = group.sql(Sql::DestinationDeclare)?;
        declare.execute(params![self.destination.as_str(), self.json])?;
        Ok(Declared::Agreed)
    }
}

/// Whether a relay may claim at a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    Open,
    Paused,
    /// Another contract is stored, or none.
    Differs,
}

/// Reads the destination's row with [`Sql::DestinationRow`] and judges it.
pub(crate) fn admission(
    statement: &mut CachedStatement<'_>,
    destination: &Destination,
    contract: &Contract,
) -> rusqlite::Result<Admission> {
    let judged = statement.query_row([destination.as_str()], |row| {
        let agreed = bytes(row, 0)?.is_some_and(|stored| says(stored, contract));
        let paused: bool = row.get(1)?;
        Ok(match (agreed, paused) {
            (false, _) => Admission::Differs,
            (true, true) => Admission::Paused,
            (true, false) => Admission::Open,
        })
    });
    Ok(judged.optional()?.unwrap_or(Admission::Differs))
}

/// The stored contract of a destination; where none is stored, or none that can be read, one that
/// allows nothing.
pub(crate) fn stored(group: &mut Group<'_>, destination: &str) -> rusqlite::Result<Contract> {
    let mut rows = group.sql(Sql::DestinationRow)?.query([destination])?;
    let stored = match rows.next()? {
        Some(row) => contract(bytes(row, 0)?.unwrap_or_default()),
        None => None,
    };
    Ok(stored.unwrap_or_else(|| Contract::new(Idempotent::No)))
}

/// What a parked command does to its lane there.
pub(crate) fn on_parked(group: &mut Group<'_>, destination: &str) -> rusqlite::Result<OnParked> {
    Ok(stored(group, destination)?.on_parked)
}

/// Whether the stored JSON says `contract`. One with a rule that this version does not know says
/// something else. Most often it is what this version wrote, byte for byte.
fn says(stored: &[u8], contract: &Contract) -> bool {
    serde_json::to_vec(contract).is_ok_and(|given| given == stored)
        || contract.differing(stored).is_empty()
}

/// The stored contract; `None` where it is none that this version reads whole.
pub(crate) fn contract(stored: &[u8]) -> Option<Contract> {
    serde_json::from_slice(stored).ok().filter(|contract| says(stored, contract))
}

/// The stored contract of each destination that has one.
pub(crate) fn contracts(
    store: &Connection,
) -> rusqlite::Result<BTreeMap<String, Option<Contract>>> {
    let mut statement = store.prepare_cached(Sql::DestinationContracts.text())?;
    let mut rows = statement.query([])?;
    let mut all = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let contract = contract(bytes(row, 1)?.unwrap_or_default());
        all.insert(lossy(row, 0)?.unwrap_or_default(), contract);
    }
    Ok(all)
}
