//! Corrupted stores: what an audit finds when one row is removed, repeated or altered by hand.
//!
//! Guarantees: every row of every table of a store that real operations made is corrupted in every
//! way, one corruption at a time, and the store is sound again before the next. Does not: corrupt
//! two rows at once, since a hand that knows every law can write a whole other history.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a suite tells what is wrong by a panic, as tests do"
)]

mod change;
mod flows;
mod hand;
mod reasons;
mod scene;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use counterfoil_core::audit::{AuditOptions, How as HowMuch, audit_sealed};
use counterfoil_core::port::{Archive, Audited, BoxFuture};

pub use change::{Change, How};
pub use hand::{Column, Hand, Holds};
pub use table::{holds_page, table, unexplained, without_seal};

use crate::exercise_store::{Hands, WorkflowHands};

/// The tables of the design, in its order; and how a row of each is called.
const TABLES: &[(&str, &str)] = &[
    ("outbox", "command_id"),
    ("delivery", "#id"),
    ("receipt", "#id || ' in round ' || t.round"),
    ("attempt", "#id || ': ' || t.purpose || ' ' || t.outcome"),
    ("contradiction", "command_id"),
    ("event", "stream || ':' || t.seq"),
    ("stream", "stream"),
    ("snapshot", "stream || ' ' || t.name"),
    ("input", "stream || ' ' || t.id"),
    ("lane", "ordering_key"),
    ("tally", "destination || ' ' || t.outcome"),
    ("archived", "command_id"),
    ("operator_action", "verb || ' ' || t.about"),
    ("destination", "name"),
    ("inbox", "key"),
    ("meta", "'the store'"),
];

/// A corruption of one row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case {
    /// The table, by its name in the design.
    pub table: &'static str,
    /// Which row.
    pub row: String,
    /// What was done to it.
    pub change: Change,
}

/// A corruption and the codes under which the audit tells it; none: it was not found.
pub type Found = (Case, BTreeSet<&'static str>);

/// A row: its values as literals, by column.
#[derive(Clone, Debug)]
struct Row {
    label: String,
    values: Vec<String>,
    place: String,
}

/// Fills an empty store with every kind of row.
pub async fn fill<H: Hands>(hands: &H)
where
    H::Store: Archive,
{
    scene::fill(hands).await;
}

/// Adds workflows in every state, and inputs of every kind; before [`fill`].
pub async fn fill_flows<H: WorkflowHands>(hands: &H) {
    flows::fill(hands).await;
}

/// What stands for an audit that could not be made.
const REFUSED: &str = "refused";

/// Everything that an audit tells; one that cannot be made is told as `refused`. It writes the
/// seal, as audits do.
pub async fn audit<S: Audited + Archive>(store: &S) -> BTreeSet<&'static str> {
    match audit_sealed(store, AuditOptions::default(), HowMuch::default().full()).await {
        Ok(report) => report.violations.iter().map(|violation| violation.code).collect(),
        Err(_) => BTreeSet::from([REFUSED]),
    }
}

/// Which of the corruptions are tried: those of every `of`-th row, from the row `at` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Less than `of`.
    pub at: usize,
    /// In how many parts the work is done.
    pub of: usize,
}

impl Part {
    /// All of them.
    pub const ALL: Self = Self { at: 0, of: 1 };
}

/// What was found of a corruption, with its place among all: table, row and change.
pub type Placed = ((usize, usize, usize), Found);

/// The parts of one work as one.
#[must_use]
pub fn joined(parts: Vec<Vec<Placed>>) -> Vec<Found> {
    let mut all: Vec<Placed> = parts.into_iter().flatten().collect();
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, found)| found).collect()
}

/// Whether the audit has a seal to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sealed {
    /// None was ever made.
    No,
    /// An audit held right before the corruption.
    Before,
}

/// Corrupts each row of a part in every way; `audit` answers the codes that it tells.
///
/// # Panics
/// If the store is not sound to begin with, or not the same again at the end.
pub async fn corrupt(
    hand: &dyn Hand,
    sealed: Sealed,
    part: Part,
    audit: &(dyn Fn() -> BoxFuture<'static, BTreeSet<&'static str>> + Sync),
) -> Vec<Placed> {
    put_key(hand).await;
    let seal = Seal::of(hand, sealed, audit).await;
    let mut all = Vec::new();
    for (of, (table, label)) in TABLES.iter().enumerate() {
        let columns = hand.columns(&hand.table(table)).await;
        let mut before = rows(hand, table, label, &columns).await;
        for (which, row) in before.iter_mut().enumerate().skip(part.at).step_by(part.of) {
            for (at, change) in changes(hand, table, &columns, row).into_iter().enumerate() {
                let Some(undo) = apply(hand, table, &columns, row, &change).await else {
                    continue;
                };
                let codes = audit().await;
                if let Some(place) = undone(hand, table, &undo).await {
                    row.place = place;
                }
                seal.put_back(hand).await;
                let case = Case { table, row: row.label.clone(), change };
                all.push(((of, which, at), (case, codes)));
            }
        }
        let after = rows(hand, table, label, &columns).await;
        assert_eq!(values(&before), values(&after), "{table} is as it was");
    }
    let found = audit().await;
    assert!(found.is_empty(), "it is sound again: {found:?}");
    seal.put_back(hand).await;
    all
}

fn values(rows: &[Row]) -> Vec<&Vec<String>> {
    let mut values: Vec<_> = rows.iter().map(|row| &row.values).collect();
    values.sort();
    values
}

/// The seal that each audit begins with.
struct Seal(Vec<String>);

impl Seal {
    async fn of(
        hand: &dyn Hand,
        sealed: Sealed,
        audit: &(dyn Fn() -> BoxFuture<'static, BTreeSet<&'static str>> + Sync),
    ) -> Self {
        let found = audit().await;
        assert!(found.is_empty(), "it is sound: {found:?}");
        let name = hand.table("seal");
        let columns = hand.columns(&name).await;
        let mut put_back = vec![format!("DELETE FROM {name}")];
        if sealed == Sealed::Before {
            let stands = rows(hand, "seal", "'the seal'", &columns).await;
            put_back.extend(stands.iter().map(|row| insert(hand, &name, &columns, row)));
        }
        let seal = Self(put_back);
        seal.put_back(hand).await;
        seal
    }

    async fn put_back(&self, hand: &dyn Hand) {
        undone(hand, "seal", &self.0).await;
    }
}

async fn rows(hand: &dyn Hand, table: &str, label: &str, columns: &[Column]) -> Vec<Row> {
    let name = hand.table(table);
    // A mark stands for what an archive took, under no command.
    let outbox = hand.table("outbox");
    let id = format!("coalesce((SELECT o.command_id FROM {outbox} o WHERE o.n = t.n), 'a mark')");
    let label = match label.strip_prefix("#id") {
        Some(rest) => format!("{id}{rest}"),
        None if label.starts_with('\'') => label.to_owned(),
        None => format!("t.{label}"),
    };
    let literals = columns.iter().map(|column| hand.literal(column));
    let place = hand.place(&name).map(|place| format!("CAST(t.{place} AS text)"));
    let place = place.unwrap_or_else(|| "''".into());
    let selected: Vec<_> = [label, place].into_iter().chain(literals).collect();
    let sql = format!("SELECT {} FROM {name} t", selected.join(", "));
    let mut rows: Vec<Row> = hand
        .query(&sql)
        .await
        .into_iter()
        .map(|mut row| {
            let values = row.split_off(2);
            let place = match hand.place(&name) {
                Some(place) => format!("{place} = '{}'", row[1]),
                None => by_all(hand, columns, &values),
            };
            Row { label: row[0].clone(), values, place }
        })
        .collect();
    rows.sort_by(|a, b| (&a.label, &a.values).cmp(&(&b.label, &b.values)));
    number_repeats(&mut rows);
    rows
}

/// Rows of one name get numbers.
fn number_repeats(rows: &mut [Row]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows {
        let count = seen.entry(row.label.clone()).or_default();
        *count += 1;
        if *count > 1 {
            row.label = format!("{} ({count})", row.label);
        }
    }
}

/// The row of these values.
fn by_all(hand: &dyn Hand, columns: &[Column], values: &[String]) -> String {
    let each = columns.iter().zip(values).map(|(column, value)| match value.as_str() {
        "NULL" => format!("{} IS NULL", column.name),
        value => format!("{} = {}", column.name, hand.value(column, value)),
    });
    each.collect::<Vec<_>>().join(" AND ")
}

fn changes(hand: &dyn Hand, table: &str, columns: &[Column], row: &Row) -> Vec<Change> {
    let mut all = vec![Change::Delete, Change::Duplicate];
    for (column, value) in columns.iter().zip(&row.values) {
        let altered = change::alterations(hand, table, column, value);
        all.extend(altered.into_iter().map(|(how, to)| {
            let column = column.name.clone();
            Change::Alter { column, how, to }
        }));
    }
    all
}

/// Statements that take a change back.
type Undo = Vec<String>;

/// Does it; `None` if a constraint of the table refuses it.
async fn apply(
    hand: &dyn Hand,
    table: &str,
    columns: &[Column],
    row: &Row,
    change: &Change,
) -> Option<Undo> {
    let name = hand.table(table);
    let values = match change {
        Change::Delete => {
            let sql = format!("DELETE FROM {name} WHERE {} RETURNING '1'", row.place);
            assert_eq!(hand.write(&sql).await.unwrap().len(), 1, "{sql}");
            return Some(vec![insert(hand, &name, columns, row)]);
        }
        Change::Duplicate => duplicate(table, columns, row),
        Change::Alter { column, to, .. } => {
            let new = |(at, value): (&Column, &String)| {
                if at.name == *column { to.clone() } else { value.clone() }
            };
            columns.iter().zip(&row.values).map(new).collect()
        }
    };
    let place = hand.place(&name).map(|place| format!("CAST({place} AS text)"));
    let returning = place.unwrap_or_else(|| "'1'".into());
    let sql = if let Change::Alter { column, to, .. } = change {
        let to = columns.iter().find(|one| one.name == *column).map(|one| hand.value(one, to))?;
        format!("UPDATE {name} SET {column} = {to} WHERE {} RETURNING {returning}", row.place)
    } else {
        let row = Row { values: values.clone(), label: String::new(), place: String::new() };
        format!("{} RETURNING {returning}", insert(hand, &name, columns, &row))
    };
    let written = hand.write(&sql).await.ok()?;
    assert_eq!(written.len(), 1, "{sql}");
    let made = match hand.place(&name) {
        Some(place) => format!("{place} = '{}'", written[0][0]),
        None => by_all(hand, columns, &values),
    };
    let mut undo = vec![format!("DELETE FROM {name} WHERE {made}")];
    if matches!(change, Change::Alter { .. }) {
        undo.push(insert(hand, &name, columns, row));
    }
    Some(undo)
}

fn insert(hand: &dyn Hand, name: &str, columns: &[Column], row: &Row) -> String {
    let mut names: Vec<_> = columns.iter().map(|column| column.name.clone()).collect();
    let values = columns.iter().zip(&row.values);
    let mut values: Vec<_> = values.map(|(column, value)| hand.value(column, value)).collect();
    if let (Some(place), true, Some((_, number))) =
        (hand.place(name), hand.place_is_kept(), row.place.split_once(" = "))
        && !names.iter().any(|column| column == place)
    {
        names.push(place.into());
        values.push(number.trim_matches('\'').into());
    }
    let overriding = hand.overriding();
    format!("INSERT INTO {name}({}) {overriding} VALUES ({})", names.join(", "), values.join(", "))
}

/// The row again, under a fresh key.
fn duplicate(table: &str, columns: &[Column], row: &Row) -> Vec<String> {
    let fresh = |(column, value): (&Column, &String)| match (table, column.name.as_str()) {
        ("outbox" | "delivery", "n") | ("attempt" | "contradiction" | "operator_action", "id") => {
            "100000".into()
        }
        ("delivery", "turn") | ("lane", "n") => "NULL".into(),
        ("input", "arrival") => (value.parse::<i64>().unwrap() + 1000).to_string(),
        ("delivery", "key_seq") if value != "NULL" => "100000".into(),
        ("receipt", "round") | ("meta", "k") | ("event", "seq") | ("snapshot", "version") => {
            (value.parse::<i64>().unwrap() + 10).to_string()
        }
        ("outbox" | "archived", "command_id")
        | ("event", "cause")
        | ("lane", "ordering_key")
        | ("destination", "name")
        | ("inbox", "key")
        | ("stream", "stream")
        | ("input", "id")
            if value != "NULL" =>
        {
            format!("{}-copy'", value.strip_suffix('\'').unwrap())
        }
        _ => value.clone(),
    };
    columns.iter().zip(&row.values).map(fresh).collect()
}

/// Takes a change back; where the row stands then, if it was written anew.
async fn undone(hand: &dyn Hand, table: &str, undo: &Undo) -> Option<String> {
    let mut place = None;
    for sql in undo {
        let is_insert = sql.starts_with("INSERT");
        let column = hand.place(&hand.table(table)).filter(|_| is_insert);
        let sql = match column {
            Some(column) => format!("{sql} RETURNING CAST({column} AS text)"),
            None => sql.clone(),
        };
        let rows = hand.write(&sql).await.unwrap_or_else(|error| panic!("{error}: {sql}"));
        place = column.map(|column| format!("{column} = '{}'", rows[0][0]));
    }
    place
}

/// A key of the receiver's book, which is no operation of a store.
async fn put_key(hand: &dyn Hand) {
    let name = hand.table("inbox");
    let values = [
        ("source", "'urn:shop'"),
        ("key", "'order-1'"),
        ("digest", "'abababababababababababababababababababababababababababababababab'"),
        ("outcome", "'completed'"),
        ("result", "'abababababababababababababababababababababababababababababababab'"),
        ("received_at", "1767225600000000"),
        ("expires_at", "1798761600000000"),
    ];
    let columns = hand.columns(&name).await;
    let value = |(column, literal): &(&str, &str)| {
        let column = columns.iter().find(|one| one.name == *column).unwrap();
        hand.value(column, literal)
    };
    let names = values.map(|(column, _)| column).join(", ");
    let values: Vec<_> = values.iter().map(value).collect();
    let sql = format!("INSERT INTO {name}({names}) VALUES ({})", values.join(", "));
    hand.write(&sql).await.unwrap_or_else(|error| panic!("{error}: {sql}"));
}
