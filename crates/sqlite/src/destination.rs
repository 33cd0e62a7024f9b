//! What a destination's row says: its contract, and whether it is paused.
//!
//! Guarantees: a relay whose contract is no longer the stored one claims nothing there. Does not:
//! pause or resume; people do.

use counterfoil_core::domain::{Contract, Destination, Micros};
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
        if says(stored.as_bytes(), &self.contract) { Declared::Agreed } else { Declared::Differs }
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
        let declared = stored.map(|stored| self.compare(&stored));
        if declared == Some(Declared::Agreed) || (declared.is_some() && !self.replace) {
            return Ok(declared.unwrap_or(Declared::Differs));
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

/// Whether the stored JSON says `contract`, in whatever order. A contract with a rule that this
/// version does not know is another one.
fn says(stored: &[u8], contract: &Contract) -> bool {
    let (stored, given) = (serde_json::from_slice(stored), serde_json::to_value(contract));
    matches!((stored, given), (Ok::<serde_json::Value, _>(stored), Ok(given)) if stored == given)
}
