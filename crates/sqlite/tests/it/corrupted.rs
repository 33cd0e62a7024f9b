//! What the audit finds in a SQLite file of which one row was removed, repeated or altered.

use std::sync::Mutex;

use counterfoil_core::port::BoxFuture;
use counterfoil_testkit::corrupted::{
    Column, Found, Hand, Holds, Part, Sealed, audit, corrupt, fill, fill_flows, holds_page, joined,
    table, unexplained, without_seal,
};
use rusqlite::Connection;

use crate::suite::make_in;

/// A connection without triggers.
struct SqliteHand(Mutex<Connection>);

impl SqliteHand {
    fn rows(&self, sql: &str) -> rusqlite::Result<Vec<Vec<String>>> {
        let hand = self.0.lock().unwrap();
        let mut statement = hand.prepare_cached(sql)?;
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| (0..columns).map(|at| row.get(at)).collect())?;
        rows.collect()
    }
}

impl Hand for SqliteHand {
    fn table(&self, name: &str) -> String {
        format!("counterfoil_{name}")
    }

    fn columns(&self, table: &str) -> BoxFuture<'_, Vec<Column>> {
        let sql = format!(
            "SELECT name, type, CAST(\"notnull\" OR pk > 0 AS text) \
                           FROM pragma_table_info('{table}')"
        );
        let column = |row: Vec<String>| Column {
            name: row[0].clone(),
            holds: match row[1].as_str() {
                "INTEGER" => Holds::Integer,
                "TEXT" => Holds::Text,
                _ => Holds::Bytes,
            },
            nullable: row[2] == "0",
        };
        let columns = self.rows(&sql).unwrap().into_iter().map(column).collect();
        Box::pin(async { columns })
    }

    fn literal(&self, column: &Column) -> String {
        format!("quote(t.{})", column.name)
    }

    fn value(&self, column: &Column, literal: &str) -> String {
        let is_hex = literal.len() == 66 && literal.starts_with("'ab");
        let prefix = if column.holds == Holds::Bytes && is_hex { "X" } else { "" };
        format!("{prefix}{literal}")
    }

    fn no_text(&self) -> Option<&'static str> {
        Some("CAST(X'ff41' AS TEXT)")
    }

    fn place(&self, table: &str) -> Option<&'static str> {
        match table.strip_prefix("counterfoil_").unwrap() {
            "outbox" | "delivery" => Some("n"),
            "meta" | "seal" => Some("k"),
            "operator_action" => Some("id"),
            "receipt" | "attempt" | "contradiction" | "input" => Some("rowid"),
            _ => None,
        }
    }

    fn place_is_kept(&self) -> bool {
        true
    }

    fn query(&self, sql: &str) -> BoxFuture<'_, Vec<Vec<String>>> {
        let rows = self.rows(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
        Box::pin(async { rows })
    }

    fn write(&self, sql: &str) -> BoxFuture<'_, Result<Vec<Vec<String>>, String>> {
        let rows = self.rows(sql).map_err(|error| error.to_string());
        Box::pin(async { rows })
    }

    fn overriding(&self) -> &'static str {
        ""
    }
}

async fn found(sealed: Sealed) -> Vec<Found> {
    // In memory where the system has such files: thousands of audits write a seal each.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let hands = make_in(folder);
    fill_flows(&hands).await;
    fill(&hands).await;
    let own = hands.own();
    own.pragma_update(None, "synchronous", "off").unwrap();
    let hand = SqliteHand(Mutex::new(own));
    let store = counterfoil_testkit::exercise_store::Hands::store(&hands);
    let found = corrupt(&hand, sealed, Part::ALL, &|| {
        let store = store.clone();
        Box::pin(async move { Box::pin(audit(&store)).await })
    })
    .await;
    joined(vec![found])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_audit_finds_in_a_corrupted_file() {
    let without = tokio::spawn(found(Sealed::No));
    let with = found(Sealed::Before).await;
    let without = without.await.unwrap();
    assert_eq!(unexplained("sqlite", &with), [""; 0]);
    // Which is why the other store is asked once.
    let codes = |all: Vec<Found>| all.into_iter().map(|(_, codes)| codes).collect::<Vec<_>>();
    assert_eq!(codes(without_seal(&with)), codes(without.clone()));
    holds_page("sqlite", &table(&without, &with));
}
