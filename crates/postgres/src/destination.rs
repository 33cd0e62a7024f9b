//! What a destination's row says: its contract, and whether it is paused.
//!
//! Guarantees: a relay whose contract is no longer the stored one claims nothing there. Does not:
//! pause; see `pause`.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use counterfoil_core::domain::{Contract, Destination, Idempotent};
use counterfoil_core::port::store::{Declared, StoreError};

use crate::failure::Failure;
use crate::group::Group;
use crate::row;
use crate::statement::{Statement, statement};
use crate::tx::Tx;
use crate::work::Work;

const ROW: Statement = statement!("destination_row");
const DECLARE: Statement = statement!("destination_declare");
const CONTRACTS: Statement = statement!("destination_contracts");

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

    fn compare(&self, stored: &str) -> Declared {
        let names = self.contract.differing(stored.as_bytes());
        if names.is_empty() { Declared::Agreed } else { Declared::Differs(names) }
    }
}

impl Work for Declare {
    type Answer = Declared;

    async fn run(&self, tx: &Tx<'_>) -> Result<Declared, Failure> {
        let name = self.destination.as_str();
        let row = tx.query_opt(ROW, &[&name]).await?;
        let stored = row.and_then(|row| row::string(&row, 0));
        match stored.as_deref().map(|stored| self.compare(stored)) {
            Some(Declared::Agreed) => return Ok(Declared::Agreed),
            Some(differs) if !self.replace => return Ok(differs),
            Some(_) | None => {}
        }
        if tx.query(DECLARE, &[&name, &self.json, &stored]).await?.is_empty() {
            return Err(Failure::Again(format!("the contract of {name} was declared meanwhile")));
        }
        Ok(Declared::Agreed)
    }
}

/// The stored contract of a destination; where none is stored, or none that can be read, one that
/// allows nothing.
pub(crate) async fn stored(group: &Group<'_>, destination: &str) -> Result<Contract, Failure> {
    let row = group.tx.query_opt(ROW, &[&destination]).await?;
    let stored = row.as_ref().and_then(|row| row::text(row, 0)).and_then(contract);
    Ok(stored.unwrap_or_else(|| Contract::new(Idempotent::No)))
}

/// Whether the stored JSON says `contract`. One with a rule that this version does not know says
/// something else.
fn says(stored: &str, contract: &Contract) -> bool {
    serde_json::to_string(contract).is_ok_and(|given| given == stored)
        || contract.differing(stored.as_bytes()).is_empty()
}

/// The stored contract; `None` where it is none that this version reads whole.
pub(crate) fn contract(stored: &str) -> Option<Contract> {
    serde_json::from_str(stored).ok().filter(|contract| says(stored, contract))
}

/// The stored contract of each destination that has one.
pub(crate) async fn contracts(tx: &Tx<'_>) -> Result<BTreeMap<String, Option<Contract>>, Failure> {
    let rows = tx.query(CONTRACTS, &[]).await?;
    let read = |row| {
        let name = row::string(row, 0).unwrap_or_default();
        (name, row::text(row, 1).and_then(contract))
    };
    Ok(rows.iter().map(read).collect())
}

/// The texts of stored contracts that were found to say what ours say, by destination: a claim
/// compares texts, so that the server can.
#[derive(Debug, Default)]
pub(crate) struct Agreed(Mutex<HashMap<String, String>>);

impl Agreed {
    /// The text that the stored contract is expected to have.
    pub(crate) fn text(&self, destination: &Destination, contract: &Contract) -> String {
        let ours = || serde_json::to_string(contract).unwrap_or_default();
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get(destination.as_str()).filter(|known| says(known, contract));
        known.cloned().unwrap_or_else(ours)
    }

    /// Another text is stored: whether it says the same. Then it is the one to compare with.
    pub(crate) fn learn(
        &self,
        destination: &Destination,
        contract: &Contract,
        stored: &str,
    ) -> bool {
        let agrees = says(stored, contract);
        if agrees {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(destination.to_string(), stored.to_owned());
        }
        agrees
    }
}
