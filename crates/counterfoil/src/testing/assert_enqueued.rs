//! Whether a command stands in the outbox, as the user's own open transaction sees it.
//!
//! Guarantees: reads through the connection that is given, so it sees what that transaction has
//! written and nobody has committed; a failure names what came nearest and what differs. Does not:
//! write. For another database the same words are made by [`enqueued`](super::enqueued) from rows
//! that its driver reads.

use counterfoil_testkit::enqueued::{self, Enqueued, Wanted};
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::{fail, must};

/// The newest commands are looked through, at most so many.
pub const ENQUEUED_MAX: u32 = 10_000;

/// Asserts that a command stands in the outbox, and gives it, so that its body may be asserted on.
///
/// `wanted` is an id, or a [`Wanted`] that says what stands in it; of several the first recorded
/// is given. A command that has ended stands there too; see [`Wanted::state`].
///
/// # Panics
/// There is none; the message shows the commands that come nearest, and what differs.
///
/// # Example
/// ```
/// use counterfoil::Command;
/// use counterfoil::sqlite::Outbox as _;
/// use counterfoil::testing::{TempStore, Wanted, assert_enqueued};
/// use serde_json::json;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = TempStore::new();
/// let mut orders = store.connect();
/// let tx = orders.transaction()?;
/// tx.enqueue(&Command::json("order.paid:A-1", "shipping", "order.paid", &json!({"n": 2}))?)?;
///
/// let command = assert_enqueued(&tx, "order.paid:A-1");
/// assert_eq!(command.json::<serde_json::Value>()["n"], 2);
/// assert_enqueued(&tx, Wanted::to("shipping").kind("order.paid").body(json!({"n": 2})));
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn assert_enqueued(tx: &Connection, wanted: impl Into<Wanted>) -> Enqueued {
    let (rows, wanted) = (rows(tx), wanted.into());
    match enqueued::find(&rows, &wanted) {
        Ok(found) => found,
        Err(words) => fail(words + only_the_newest(&rows)),
    }
}

/// Asserts that exactly one command is as `wanted`, and gives it.
///
/// # Panics
/// There is none, or there are several; the message shows them.
#[track_caller]
pub fn assert_enqueued_once(tx: &Connection, wanted: impl Into<Wanted>) -> Enqueued {
    let wanted = wanted.into();
    let found = assert_enqueued(tx, wanted.clone());
    let all = all_enqueued(tx, wanted.clone());
    if all.len() > 1 {
        let list: Vec<_> = all.iter().map(|one| format!("\n  - {one}")).collect();
        fail(format_args!("{wanted} is enqueued {} times:{}", all.len(), list.concat()));
    }
    found
}

/// Asserts that no command is as `wanted`.
///
/// # Panics
/// There is one; the message shows it.
#[track_caller]
pub fn refute_enqueued(tx: &Connection, wanted: impl Into<Wanted>) {
    if let Err(words) = enqueued::refute(&rows(tx), &wanted.into()) {
        fail(words);
    }
}

/// All commands that are as `wanted`, in the order of recording.
///
/// # Panics
/// The outbox cannot be read.
#[must_use]
#[track_caller]
pub fn all_enqueued(tx: &Connection, wanted: impl Into<Wanted>) -> Vec<Enqueued> {
    enqueued::all(&rows(tx), &wanted.into())
}

const fn only_the_newest(rows: &[Enqueued]) -> &'static str {
    if rows.len() < ENQUEUED_MAX as usize {
        ""
    } else {
        "\nonly the newest 10,000 commands were looked at"
    }
}

/// The newest commands, in the order of recording.
#[track_caller]
fn rows(tx: &Connection) -> Vec<Enqueued> {
    let mut rows = must(read(tx), "reading the outbox (has `counterfoil init` run on this file?)");
    rows.reverse();
    rows
}

fn read(tx: &Connection) -> rusqlite::Result<Vec<Enqueued>> {
    let mut statement = tx.prepare_cached(include_str!("enqueued.sql"))?;
    let rows = statement.query_map([ENQUEUED_MAX], |row| {
        let body = match row.get_ref(4)? {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.to_vec(),
            _ => Vec::new(),
        };
        Ok(Enqueued {
            id: row.get(0)?,
            destination: row.get(1)?,
            kind: row.get(2)?,
            ordering_key: row.get(3)?,
            body,
            content_type: row.get(5)?,
            state: row.get(6)?,
        })
    })?;
    rows.collect()
}
