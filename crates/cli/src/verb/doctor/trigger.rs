//! Triggers on Counterfoil's tables: the guards must be there, and nobody else's should be.
//!
//! Guarantees: compares with the schema that this program would create. Does not: see temporary
//! triggers of other connections.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::Look;
use super::check::Check;
use crate::exit::Failure;

/// By name: the table, and the text of the trigger.
type Triggers = BTreeMap<String, (String, String)>;

/// Looks at the triggers of the file.
pub(super) fn checks(look: &Look<'_>) -> Result<Vec<Check>, Failure> {
    let there = triggers(&look.connection).map_err(|error| look.failed(&error))?;
    let wanted = fresh(triggers)?;
    let mut checks = strangers(&there, &wanted);
    checks.extend(broken(&there, &wanted));
    if checks.is_empty() {
        let text = format!("{} guards are there, and no others", wanted.len());
        checks.push(Check::well("trigger", text));
    }
    Ok(checks)
}

/// The guards of the file that are missing or were changed.
pub(super) fn guards(look: &Look<'_>) -> Result<Vec<Check>, Failure> {
    let there = triggers(&look.connection).map_err(|error| look.failed(&error))?;
    Ok(broken(&there, &fresh(triggers)?))
}

fn strangers(there: &Triggers, wanted: &Triggers) -> Vec<Check> {
    let mut checks = Vec::new();
    for (name, (table, _)) in there.iter().filter(|(name, _)| !wanted.contains_key(*name)) {
        checks.push(Check::wrong(
            "trigger",
            format!(
                "trigger {name} on {table} is not Counterfoil's: it does not fire for the writes \
                 of relay and library, and can make other programs' fail"
            ),
            format!("DROP TRIGGER {name}; put it on your own table, or read counterfoil_receipt"),
        ));
    }
    checks
}

fn broken(there: &Triggers, wanted: &Triggers) -> Vec<Check> {
    let mut checks = Vec::new();
    let differs =
        |name: &str, text: &str| there.get(name).is_none_or(|(_, there)| !same(there, text));
    for (name, (table, _)) in wanted.iter().filter(|(name, (_, text))| differs(name, text)) {
        let how = if there.contains_key(name) { "was changed" } else { "is missing" };
        checks.push(Check::wrong(
            "trigger",
            format!("the guard {name} on {table} {how}: plain SQL may break a rule unseen"),
            "take it from `counterfoil init --sql`, then run `counterfoil audit`",
        ));
    }
    checks
}

fn triggers(connection: &Connection) -> rusqlite::Result<Triggers> {
    let mut statement = connection.prepare(include_str!("sql/triggers.sql"))?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
    rows.collect()
}

/// What is read of a store that is just made.
pub(super) fn fresh<T>(read: impl Fn(&Connection) -> rusqlite::Result<T>) -> Result<T, Failure> {
    let failed = |why: String| Failure::could_not_run(format!("a schema in memory: {why}"));
    let mut memory = Connection::open_in_memory().map_err(|error| failed(error.to_string()))?;
    counterfoil_sqlite::migrate(&mut memory, None).map_err(|error| failed(error.to_string()))?;
    read(&memory).map_err(|error| failed(error.to_string()))
}

/// Tools that migrate may lay white space out anew.
pub(super) fn same(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}
