//! The script that creates the schema, read for what it makes.
//!
//! Guarantees: knows the forms in which the script is written, which a test of a new store holds it
//! to. Does not: know SQL.

use std::collections::{BTreeMap, BTreeSet};

use crate::exit::Failure;

/// Stands for the schema in the script that is read here.
pub(super) const NAME: &str = "cf";

/// How the script makes triggers.
pub(super) const TRIGGERS: [&str; 2] = ["CREATE TRIGGER ", "CREATE CONSTRAINT TRIGGER "];

/// How it makes indexes.
pub(super) const INDEXES: [&str; 2] = ["CREATE INDEX ", "CREATE UNIQUE INDEX "];

/// By table.
pub(super) type Columns = BTreeMap<String, BTreeSet<String>>;

/// The script.
pub(super) fn script() -> Result<String, Failure> {
    counterfoil_postgres::schema_sql(NAME, None).map_err(Failure::could_not_run)
}

/// What a script creates by these words, each with its table or view.
pub(super) fn made(script: &str, words: &[&str]) -> BTreeMap<String, String> {
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
pub(super) fn keyed(script: &str) -> Vec<String> {
    let begin = format!("CREATE TABLE {NAME}.");
    let tables = script.split(&begin).skip(1);
    let keyed = tables.filter_map(|text| {
        let (name, rest) = text.split_once('(')?;
        let body = rest.split("\n)").next()?;
        body.contains("PRIMARY KEY").then(|| name.to_owned())
    });
    keyed.collect()
}

/// The columns of each table that a script makes, each on a line of its own, and of those that it
/// adds later.
pub(super) fn columns(script: &str) -> Columns {
    let is_name = |word: &&str| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    let name_of = |text: &str| text.split_whitespace().next().filter(is_name).map(str::to_owned);
    let mut columns = Columns::new();
    for text in script.split(&format!("CREATE TABLE {NAME}.")).skip(1) {
        let Some((table, rest)) = text.split_once('(') else { continue };
        let body = rest.split("\n)").next().unwrap_or_default();
        columns.entry(table.to_owned()).or_default().extend(body.lines().filter_map(name_of));
    }
    for text in script.split(&format!("ALTER TABLE {NAME}.")).skip(1) {
        let statement = text.split(';').next().unwrap_or_default();
        let Some(table) = name_of(statement) else { continue };
        let added = statement.split("ADD COLUMN ").skip(1).filter_map(name_of);
        columns.entry(table).or_default().extend(added);
    }
    columns
}

#[cfg(test)]
mod tests {
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
        let indexes = made(&script(), &INDEXES);
        assert_eq!(indexes.get("delivery_due").map(String::as_str), Some("delivery"));
        assert_eq!(indexes.get("delivery_turn").map(String::as_str), Some("delivery"));
        let keyed = keyed(&script());
        for table in ["outbox", "delivery", "receipt", "meta", "inbox", "lane"] {
            assert!(keyed.iter().any(|name| name == table), "{table} in {keyed:?}");
        }
        assert!(!keyed.iter().any(|name| name == "tally"), "{keyed:?}");
    }
}
