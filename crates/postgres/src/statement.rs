//! The statements of the store, each in its own file under `sql/postgres`.
//!
//! Guarantees: `cf.` in a file becomes the configured schema, once a statement. Does not: run
//! anything; a test asserts the plan of each file.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// One statement, as its file says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Statement(pub(crate) &'static str);

/// The statement in `sql/postgres/<name>.sql`.
macro_rules! statement {
    ($name:literal) => {
        $crate::statement::Statement(include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../sql/postgres/",
            $name,
            ".sql"
        )))
    };
}
pub(crate) use statement;

/// The texts of all statements for one schema.
#[derive(Debug)]
pub(crate) struct Texts {
    /// The schema, quoted where it must be.
    schema: String,
    known: RwLock<HashMap<&'static str, Arc<str>>>,
}

impl Texts {
    pub(crate) fn new(schema: &str) -> Self {
        Self { schema: quoted(schema), known: RwLock::default() }
    }

    /// The schema's name, quoted where it must be.
    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }

    /// The text of a statement for this schema.
    pub(crate) fn of(&self, statement: Statement) -> Arc<str> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = known.get(statement.0) {
            return Arc::clone(text);
        }
        drop(known);
        let text: Arc<str> = in_schema(statement.0, &self.schema).into();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(statement.0).or_insert(text))
    }
}

/// Words that name nothing unless they are quoted, by `pg_get_keywords`, of PostgreSQL 14 to 18.
const RESERVED: &str = "all analyse analyze and any array as asc asymmetric authorization binary \
     both case cast check collate collation column concurrently constraint create cross \
     current_catalog current_date current_role current_schema current_time current_timestamp \
     current_user default deferrable desc distinct do else end except false fetch for foreign \
     freeze from full grant group having ilike in initially inner intersect into is isnull join \
     lateral leading left like limit localtime localtimestamp natural not notnull null offset on \
     only or order outer overlaps placing primary references returning right select session_user \
     similar some symmetric system_user table tablesample then to trailing true union unique user \
     using variadic verbose when where window with";

/// `name` as an identifier of SQL.
pub(crate) fn quoted(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let begins_well = name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
    let is_reserved = RESERVED.split(' ').any(|word| word == name);
    if begins_well && !is_reserved && name.bytes().all(is_plain) {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Writes the schema for each `cf.` that begins a word.
pub(crate) fn in_schema(text: &str, schema: &str) -> String {
    let mut out = String::with_capacity(text.len() + 256);
    let mut rest = text;
    while let Some(at) = rest.find("cf.") {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        if before.chars().next_back().is_some_and(is_word) {
            out.push_str("cf.");
        } else {
            out.push_str(schema);
            out.push('.');
        }
        rest = &after[3..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_stands_where_a_name_begins() {
        let text = "SELECT cf.micros(), xcf.y FROM cf.outbox o JOIN cf.delivery USING (n)";
        let said = "SELECT s.micros(), xcf.y FROM s.outbox o JOIN s.delivery USING (n)";
        assert_eq!(in_schema(text, "s"), said);
    }

    #[test]
    fn a_name_is_quoted_where_it_must_be() {
        assert_eq!(quoted("counterfoil"), "counterfoil");
        assert_eq!(quoted("Orders"), "\"Orders\"");
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
        assert_eq!(quoted("1a"), "\"1a\"");
        assert_eq!(quoted("order"), "\"order\"");
        assert_eq!(quoted("orders"), "orders");
    }
}
