//! Tables, indexes and guards of the schema: those that this program would create must be there,
//! whole and switched on.
//!
//! Guarantees: compares names with the script of `init --sql`. Does not: compare the texts of
//! functions.

use std::collections::{BTreeMap, BTreeSet};

use super::super::check::Check;
use super::script::{Columns, INDEXES, TRIGGERS, columns, keyed, made, script};
use super::{Look, at};
use crate::exit::Failure;

/// An index of the schema.
struct Index {
    name: String,
    table: String,
    is_whole: bool,
    is_primary: bool,
    /// Unique over one column and all rows.
    is_plain_unique: bool,
    /// Its first column.
    column: String,
}

/// A trigger of the schema.
struct Trigger {
    name: String,
    table: String,
    enabled: String,
}

/// What stands of the schema.
struct Standing {
    columns: Columns,
    indexes: Vec<Index>,
    triggers: Vec<Trigger>,
}

impl Standing {
    async fn of(look: &Look<'_>) -> Result<Self, Failure> {
        let failed = |error: tokio_postgres::Error| look.failed(&error);
        let schema = &[look.schema()];
        let rows = look.rows(include_str!("../sql/postgres/columns.sql"), schema).await?;
        let mut columns = Columns::new();
        for row in &rows {
            let (table, column) = (at(row, 0).map_err(failed)?, at(row, 1).map_err(failed)?);
            columns.entry(table).or_default().insert(column);
        }
        let rows = look.rows(include_str!("../sql/postgres/indexes.sql"), schema).await?;
        let read = |row| {
            Ok(Index {
                name: at(row, 0)?,
                table: at(row, 1)?,
                is_whole: at(row, 2)?,
                is_primary: at(row, 3)?,
                is_plain_unique: at(row, 4)?,
                column: at(row, 5)?,
            })
        };
        let indexes = rows.iter().map(read).collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let rows = look.rows(include_str!("../sql/postgres/triggers.sql"), schema).await?;
        let read =
            |row| Ok(Trigger { name: at(row, 0)?, table: at(row, 1)?, enabled: at(row, 2)? });
        let triggers = rows.iter().map(read).collect::<Result<Vec<_>, _>>().map_err(failed)?;
        Ok(Self { columns, indexes, triggers })
    }
}

/// Looks at tables, indexes and triggers.
pub(super) async fn checks(look: &Look<'_>) -> Result<Vec<Check>, Failure> {
    let (script, there) = (script()?, Standing::of(look).await?);
    let mut checks = tables(&there.columns, &script);
    checks.extend(indexes(&there.indexes, &script));
    checks.extend(triggers(&there.triggers, &script, look.schema()));
    Ok(checks)
}

/// What is missing of the schema; what is others', or comes and goes, is left out.
pub(super) async fn whole(look: &Look<'_>) -> Result<Vec<Check>, Failure> {
    let (script, there) = (script()?, Standing::of(look).await?);
    let mut checks = tables(&there.columns, &script);
    checks.extend(missing_indexes(&there.indexes, &script));
    checks.extend(guards(&there.triggers, &made(&script, &TRIGGERS), look.schema()));
    Ok(checks)
}

fn tables(there: &Columns, script: &str) -> Vec<Check> {
    let wanted = columns(script);
    let help = "bring the store back from a backup: what stood there stands nowhere else";
    let wrong = |text: String| Check::wrong("table", text, help);
    let mut checks = Vec::new();
    for (table, columns) in &wanted {
        let Some(there) = there.get(table) else {
            checks.push(wrong(format!("table {table} is missing")));
            continue;
        };
        let missing = columns.difference(there);
        checks
            .extend(missing.map(|column| wrong(format!("column {column} of {table} is missing"))));
    }
    if checks.is_empty() {
        let all: usize = wanted.values().map(BTreeSet::len).sum();
        let text = format!("{} tables are there, with their {all} columns", wanted.len());
        checks.push(Check::well("table", text));
    }
    checks
}

/// The way out of an index that is not there or not whole.
const INDEX: &str = "take it from `counterfoil init --sql`; REINDEX or DROP an invalid one first";

fn indexes(there: &[Index], script: &str) -> Vec<Check> {
    let mut checks = missing_indexes(there, script);
    for index in there.iter().filter(|index| !index.is_whole) {
        let Index { name, table, .. } = index;
        let text = format!("index {name} on {table} is invalid: it serves nobody");
        checks.push(Check::wrong("index", text, INDEX));
    }
    if checks.is_empty() {
        let count = made(script, &INDEXES).len() + keyed(script).len() + 1;
        checks.push(Check::well("index", format!("{count} indexes are there and valid")));
    }
    checks
}

fn missing_indexes(there: &[Index], script: &str) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut missing = |what: String| {
        let text = format!("{what} is missing: what it served is a scan, or a rule unguarded");
        checks.push(Check::wrong("index", text, INDEX));
    };
    for (name, table) in &made(script, &INDEXES) {
        if !there.iter().any(|index| index.name == *name && index.table == *table) {
            missing(format!("index {name} on {table}"));
        }
    }
    for table in &keyed(script) {
        if !there.iter().any(|index| index.is_primary && index.table == *table) {
            missing(format!("the primary key of {table}"));
        }
    }
    let is_of_ids = |index: &Index| index.is_plain_unique && index.column == "command_id";
    if !there.iter().any(|index| index.table == "outbox" && is_of_ids(index)) {
        missing("the unique index on outbox.command_id".to_owned());
    }
    checks
}

fn triggers(there: &[Trigger], script: &str, schema: &str) -> Vec<Check> {
    let wanted = made(script, &TRIGGERS);
    let mut checks = guards(there, &wanted, schema);
    let is_ours = |there: &&Trigger| wanted.get(&there.name).is_some_and(|it| *it == there.table);
    for Trigger { name, table, .. } in there.iter().filter(|there| !is_ours(there)) {
        checks.push(Check::wrong(
            "trigger",
            format!(
                "trigger {name} on {table} is not Counterfoil's: it runs inside the transactions \
                 of relays and library, and can slow them or make them fail"
            ),
            format!(
                "DROP TRIGGER \"{name}\" ON \"{schema}\".{table}; put it on your own table, or \
                 read receipt"
            ),
        ));
    }
    if checks.is_empty() {
        let text = format!("{} guards are there and on, and no others", wanted.len());
        checks.push(Check::well("trigger", text));
    }
    checks
}

/// Guards that are missing or off.
fn guards(there: &[Trigger], wanted: &BTreeMap<String, String>, schema: &str) -> Vec<Check> {
    let mut checks = Vec::new();
    for (name, table) in wanted {
        let found = there.iter().find(|there| there.name == *name && there.table == *table);
        let how = match found.map(|there| there.enabled.as_str()) {
            Some("O" | "A") => continue,
            Some(_) => "is disabled",
            None => "is missing",
        };
        let help = if found.is_some() {
            format!("ALTER TABLE \"{schema}\".{table} ENABLE TRIGGER {name}, then run the audit")
        } else {
            "take it from `counterfoil init --sql`, then run `counterfoil audit`".to_owned()
        };
        let text = format!("the guard {name} on {table} {how}: plain SQL may break a rule unseen");
        checks.push(Check::wrong("trigger", text, help));
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::super::super::check::Verdict;
    use super::super::script::NAME;
    use super::*;

    fn script() -> String {
        counterfoil_postgres::schema_sql(NAME, None).unwrap()
    }

    #[test]
    fn a_table_or_column_that_is_missing_is_wrong() {
        let wanted = columns(&script());
        assert_eq!(tables(&wanted, &script())[0].verdict, Verdict::Well);
        for (table, column) in [("seal", "seal"), ("stream", "input"), ("input", "workflow")] {
            assert!(wanted[table].contains(column), "{column} of {table}");
            let mut there = wanted.clone();
            there.get_mut(table).unwrap().remove(column);
            let told = tables(&there, &script());
            assert_eq!((told.len(), told[0].verdict), (1, Verdict::Wrong));
            assert_eq!(told[0].text, format!("column {column} of {table} is missing"));
        }
        let mut there = wanted;
        there.remove("receipt");
        assert_eq!(tables(&there, &script())[0].text, "table receipt is missing");
    }

    #[test]
    fn a_trigger_that_is_off_or_strange_is_wrong() {
        let all = || {
            let all = made(&script(), &TRIGGERS).into_iter();
            all.map(|(name, table)| Trigger { name, table, enabled: "O".into() })
                .collect::<Vec<_>>()
        };
        let judged = |there: &[Trigger]| {
            let checks = triggers(there, &script(), "cf");
            (checks.len(), checks[0].verdict, checks[0].text.clone())
        };
        assert_eq!(judged(&all()).1, Verdict::Well);
        for enabled in ["D", "R"] {
            let mut there = all();
            there[0].enabled = enabled.into();
            let (_, verdict, text) = judged(&there);
            assert!(verdict == Verdict::Wrong && text.contains("is disabled"), "{text}");
        }
        let mut there = all();
        there.push(Trigger { name: "mine".into(), table: "outbox".into(), enabled: "O".into() });
        assert!(judged(&there).2.contains("mine on outbox is not Counterfoil's"));
        assert!(judged(&all()[1..]).2.contains("is missing"));
    }
}
