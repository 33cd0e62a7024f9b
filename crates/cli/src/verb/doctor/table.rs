//! Tables, views and indexes of the file: those that this program would create must be there.
//!
//! Guarantees: compares names, columns and the texts of views and indexes with a schema that is
//! just made. Does not: look at rows, or mind what else stands in the file.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::Look;
use super::check::{Check, Verdict};
use super::trigger::{fresh, same};
use crate::exit::Failure;

/// A table, view or index.
#[derive(Default)]
struct Thing {
    /// `table`, `view` or `index`.
    what: String,
    /// Its table.
    of: String,
    text: String,
    /// Of a table: its columns, each with type, NOT NULL and place in the primary key.
    columns: BTreeMap<String, String>,
}

/// By name.
type Things = BTreeMap<String, Thing>;

/// Looks at the schema of the file.
pub(super) fn checks(look: &Look<'_>) -> Result<Vec<Check>, Failure> {
    let there = things(&look.connection).map_err(|error| look.failed(&error))?;
    let wanted = fresh(things)?;
    let checks: Vec<Check> =
        wanted.iter().flat_map(|(name, thing)| lacks(name, thing, there.get(name))).collect();
    if !checks.is_empty() {
        return Ok(checks);
    }
    let count = |what: &str| wanted.values().filter(|thing| thing.what == what).count();
    let (tables, indexes) = (count("table"), count("index"));
    let text = format!("{tables} tables with their columns, and {indexes} indexes are there");
    Ok(vec![Check::well("table", text)])
}

/// Whether no table is missing among these checks of a store.
pub(super) fn is_whole(checks: &[Check]) -> bool {
    !checks.iter().any(|check| check.check == "table" && check.verdict == Verdict::Wrong)
}

/// What is missing of one thing, or of its columns.
fn lacks(name: &str, wanted: &Thing, there: Option<&Thing>) -> Vec<Check> {
    let Thing { what, of, .. } = wanted;
    let is_table = what == "table";
    let wrong = |text: String| {
        let help = if is_table {
            "bring the store back from a backup: what stood there stands nowhere else"
        } else {
            "take it from `counterfoil init --sql`"
        };
        Check::wrong("table", text, help)
    };
    let Some(there) = there.filter(|there| there.what == *what) else {
        let place = if *what == "index" { format!(" on {of}") } else { String::new() };
        return vec![wrong(format!("{what} {name}{place} is missing"))];
    };
    if !is_table {
        let differs = !same(&there.text, &wanted.text);
        return differs.then(|| wrong(format!("{what} {name} was changed"))).into_iter().collect();
    }
    let differs = |(column, shape): &(&String, &String)| there.columns.get(*column) != Some(*shape);
    let broken = wanted.columns.iter().filter(differs).map(|(column, _)| {
        let how = if there.columns.contains_key(column) { "is another one" } else { "is missing" };
        wrong(format!("column {column} of {name} {how}"))
    });
    broken.collect()
}

fn things(connection: &Connection) -> rusqlite::Result<Things> {
    let mut statement = connection.prepare(include_str!("sql/tables.sql"))?;
    let mut rows = statement.query([])?;
    let mut things = Things::new();
    while let Some(row) = rows.next()? {
        let thing = things.entry(row.get(1)?).or_default();
        (thing.what, thing.of, thing.text) = (row.get(0)?, row.get(2)?, row.get(3)?);
        thing.columns.insert(row.get(4)?, row.get(5)?);
    }
    Ok(things)
}
