//! Where claims begin to look.
//!
//! Guarantees: what this process makes due is found at once; anything else within a second. Does
//! not: know what other processes make due.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use counterfoil_core::domain::Micros;

/// How long a claim begins to look where the last one ended, in µs of the boot clock; then one
/// looks from the beginning, for what was committed late.
pub(crate) const FLOOR_LASTS: i64 = 1_000_000;
/// How far before the last claimed due time the next claim begins to look, in µs: transactions
/// commit in another order than they began.
pub(crate) const FLOOR_MARGIN: i64 = 100_000;

/// Where claims begin to look, by destination. While an old transaction keeps dead rows from being
/// removed, each claim would walk all that were claimed since.
#[derive(Debug, Default)]
pub(crate) struct Floors(Mutex<HashMap<String, Floor>>);

#[derive(Clone, Copy, Debug)]
struct Floor {
    due: i64,
    /// When one last looked from the beginning.
    looked: Micros,
}

impl Floors {
    /// The due time from which to look.
    pub(crate) fn of(&self, destination: &str, now: Micros) -> i64 {
        let mut floors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let beginning = Floor { due: i64::MIN, looked: now };
        let floor = floors.entry(destination.to_owned()).or_insert(beginning);
        if now.since(floor.looked).as_micros() >= FLOOR_LASTS {
            *floor = beginning;
        }
        floor.due
    }

    /// Something with that due time was claimed.
    pub(crate) fn raise(&self, destination: &str, due: i64) {
        let mut floors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(floor) = floors.get_mut(destination) {
            floor.due = floor.due.max(due.saturating_sub(FLOOR_MARGIN));
        }
    }

    /// What is committed now may be due before the floor.
    pub(crate) fn forget(&self, destination: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(destination);
    }

    /// The same, anywhere.
    pub(crate) fn forget_all(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
