//! Guards and indexes of the schema: those that this program would create must be there, whole and
//! switched on.
//!
//! Guarantees: compares names with the script of `init --sql`. Does not: compare the texts of
//! functions.

use std::collections::BTreeMap;

use super::super::check::Check;
use super::{Look, at};
use crate::exit::Failure;

/// Stands for the schema in the script that is read here.
const NAME: &str = "cf";

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

/// How the script makes triggers.
const TRIGGERS: [&str; 2] = ["CREATE TRIGGER ", "CREATE CONSTRAINT TRIGGER "];

/// Looks at indexes and triggers.
pub(super) async fn checks(look: &Look<'_>) -> Result<Vec<Check>, Failure> {
    let failed = |error: tokio_postgres::Error| look.failed(&error);
    let script = counterfoil_postgres::schema_sql(NAME, None).map_err(Failure::could_not_run)?;
    let schema = &[&look.schema() as &(dyn tokio_postgres::types::ToSql + Sync)];
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
    let there = rows.iter().map(read).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let mut checks = indexes(&there, &script);
    let rows = look.rows(include_str!("../sql/postgres/triggers.sql"), schema).await?;
    let read = |row| Ok(Trigger { name: at(row, 0)?, table: at(row, 1)?, enabled: at(row, 2)? });
    let there = rows.iter().map(read).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    checks.extend(triggers(&there, &script, look.schema()));
    Ok(checks)
}

fn indexes(there: &[Index], script: &str) -> Vec<Check> {
    let named = made(script, &["CREATE INDEX ", "CREATE UNIQUE INDEX "]);
    let help = "take it from `counterfoil init --sql`; REINDEX or DROP an invalid one first";
    let mut checks = Vec::new();
    let mut missing = |what: String| {
        let text = format!("{what} is missing: what it served is a scan, or a rule unguarded");
        checks.push(Check::wrong("index", text, help));
    };
    for (name, table) in &named {
        if !there.iter().any(|index| index.name == *name && index.table == *table) {
            missing(format!("index {name} on {table}"));
        }
    }
    let keyed = keyed(script);
    for table in &keyed {
        if !there.iter().any(|index| index.is_primary && index.table == *table) {
            missing(format!("the primary key of {table}"));
        }
    }
    let is_of_ids = |index: &Index| index.is_plain_unique && index.column == "command_id";
    if !there.iter().any(|index| index.table == "outbox" && is_of_ids(index)) {
        missing("the unique index on outbox.command_id".to_owned());
    }
    for index in there.iter().filter(|index| !index.is_whole) {
        let Index { name, table, .. } = index;
        let text = format!("index {name} on {table} is invalid: it serves nobody");
        checks.push(Check::wrong("index", text, help));
    }
    if checks.is_empty() {
        let text = format!("{} indexes are there and valid", named.len() + keyed.len() + 1);
        checks.push(Check::well("index", text));
    }
    checks
}

fn triggers(there: &[Trigger], script: &str, schema: &str) -> Vec<Check> {
    let wanted = made(script, &TRIGGERS);
    let mut checks = Vec::new();
    for (name, table) in &wanted {
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

/// What a script creates by these words, each with its table or view.
fn made(script: &str, words: &[&str]) -> BTreeMap<String, String> {
    let begins = |line: &str| words.iter().any(|word| line.starts_with(word));
    let lines: Vec<&str> = script.lines().collect();
    let found = lines.iter().enumerate().filter(|(_, line)| begins(line));
    let named = found.filter_map(|(at, line)| {
        let name = words.iter().find_map(|word| line.strip_prefix(word))?;
        let name = name.split(' ').next()?;
        // The table may stand on the next line.
        let rest = [*line, lines.get(at + 1).copied().unwrap_or_default()].join(" ");
        let (_, table) = rest.split_once(&format!(" ON {NAME}."))?;
        let end = table.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(table.len());
        Some((name.to_owned(), table[..end].to_owned()))
    });
    let mut named: BTreeMap<_, _> = named.collect();
    // What a later file drops and does not make again.
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = line.strip_prefix("DROP TRIGGER ").and_then(|rest| rest.split(' ').next())
        else {
            continue;
        };
        let makes = |line: &&str| {
            begins(line) && words.iter().any(|word| line.starts_with(&format!("{word}{name} ")))
        };
        if !lines[at..].iter().any(makes) {
            named.remove(name);
        }
    }
    named
}

/// The tables that a script gives a primary key.
fn keyed(script: &str) -> Vec<String> {
    let begin = format!("CREATE TABLE {NAME}.");
    let tables = script.split(&begin).skip(1);
    let keyed = tables.filter_map(|text| {
        let (name, rest) = text.split_once('(')?;
        let body = rest.split("\n)").next()?;
        body.contains("PRIMARY KEY").then(|| name.to_owned())
    });
    keyed.collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::check::Verdict;
    use super::*;

    fn script() -> String {
        counterfoil_postgres::schema_sql(NAME, None).unwrap()
    }

    #[test]
    fn the_script_names_its_guards_indexes_and_keys() {
        let triggers = made(&script(), &TRIGGERS);
        assert_eq!(triggers.get("outbox_guard").map(String::as_str), Some("outbox"));
        let count = |words: &&str| script().matches(words).count();
        let dropped = script().matches("DROP TRIGGER ").count();
        assert_eq!(triggers.len() + dropped, TRIGGERS.iter().map(count).sum::<usize>());
        assert!(!triggers.contains_key("outbox_arrived"), "it was dropped for good");
        let indexes = made(&script(), &["CREATE INDEX ", "CREATE UNIQUE INDEX "]);
        assert_eq!(indexes.get("delivery_due").map(String::as_str), Some("delivery"));
        assert_eq!(indexes.get("delivery_turn").map(String::as_str), Some("delivery"));
        let keyed = keyed(&script());
        for table in ["outbox", "delivery", "receipt", "meta", "inbox", "lane"] {
            assert!(keyed.iter().any(|name| name == table), "{table} in {keyed:?}");
        }
        assert!(!keyed.iter().any(|name| name == "tally"), "{keyed:?}");
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
