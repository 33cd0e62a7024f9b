//! What the audit finds in a PostgreSQL store of which one row was removed, repeated or altered.

use counterfoil_core::port::BoxFuture;
use counterfoil_testkit::corrupted::{
    Column, Hand, Holds, Part, Placed, Sealed, audit, corrupt, fill, fill_flows, holds_page,
    joined, table, unexplained, without_seal,
};
use counterfoil_testkit::exercise_store::Hands as _;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::server::{connect_to, refusal};
use crate::suite::make;

/// A session without triggers, in one schema.
struct PostgresHand {
    client: Client,
    schema: String,
}

impl PostgresHand {
    async fn rows(&self, sql: &str) -> Result<Vec<Vec<String>>, String> {
        let told = self.client.simple_query(sql).await.map_err(|error| refusal(&error))?;
        let row = |message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|at| row.get(at).unwrap_or("NULL").to_owned()).collect())
            }
            _ => None,
        };
        Ok(told.into_iter().filter_map(row).collect())
    }
}

impl Hand for PostgresHand {
    fn table(&self, name: &str) -> String {
        format!("{}.{name}", self.schema)
    }

    fn columns(&self, table: &str) -> BoxFuture<'_, Vec<Column>> {
        let (schema, table) = table.split_once('.').unwrap();
        let sql = format!(
            "SELECT column_name, data_type, is_nullable FROM information_schema.columns
             WHERE table_schema = '{schema}' AND table_name = '{table}' ORDER BY ordinal_position"
        );
        Box::pin(async move {
            let column = |row: Vec<String>| Column {
                name: row[0].clone(),
                holds: match row[1].as_str() {
                    "bigint" | "integer" => Holds::Integer,
                    "bytea" => Holds::Bytes,
                    _ => Holds::Text,
                },
                nullable: row[2] == "YES",
            };
            self.rows(&sql).await.unwrap().into_iter().map(column).collect()
        })
    }

    fn literal(&self, column: &Column) -> String {
        let name = &column.name;
        match column.holds {
            Holds::Integer => format!("t.{name}::text"),
            Holds::Text => format!("quote_literal(t.{name})"),
            Holds::Bytes => format!("quote_literal(encode(t.{name}, 'hex'))"),
        }
    }

    fn value(&self, column: &Column, literal: &str) -> String {
        match column.holds {
            Holds::Bytes if literal != "NULL" => format!("decode({literal}, 'hex')"),
            _ => literal.to_owned(),
        }
    }

    fn no_text(&self) -> Option<&'static str> {
        None
    }

    fn place(&self, _: &str) -> Option<&'static str> {
        Some("ctid")
    }

    fn place_is_kept(&self) -> bool {
        false
    }

    fn query(&self, sql: &str) -> BoxFuture<'_, Vec<Vec<String>>> {
        let sql = sql.to_owned();
        Box::pin(
            async move { self.rows(&sql).await.unwrap_or_else(|error| panic!("{error}: {sql}")) },
        )
    }

    fn write(&self, sql: &str) -> BoxFuture<'_, Result<Vec<Vec<String>>, String>> {
        let sql = sql.to_owned();
        Box::pin(async move { self.rows(&sql).await })
    }

    fn overriding(&self) -> &'static str {
        "OVERRIDING SYSTEM VALUE"
    }
}

/// In so many stores at once: an audit waits for its server more than it works.
const PARTS: usize = 4;

/// What is found in a part of the rows.
async fn found(part: Part) -> Vec<Placed> {
    let hands = make().await;
    fill_flows(&hands).await;
    fill(&hands).await;
    let client = connect_to(hands.schema.url()).await;
    let plain = "SET session_replication_role = replica; SET synchronous_commit = off";
    client.batch_execute(plain).await.unwrap();
    let hand = PostgresHand { client, schema: hands.schema.name().to_owned() };
    let store = hands.store();
    corrupt(&hand, Sealed::Before, part, &|| {
        let store = store.clone();
        Box::pin(async move { Box::pin(audit(&store)).await })
    })
    .await
}

/// An audit here is a hundred questions to a server: a part of the rows is corrupted in a store of
/// its own beside the other, and what an audit without a seal finds follows from what one with a
/// seal tells, as the same test of SQLite holds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_audit_finds_in_a_corrupted_store() {
    let all = (0..PARTS).map(|at| tokio::spawn(found(Part { at, of: PARTS })));
    let mut parts = Vec::new();
    for part in all.collect::<Vec<_>>() {
        parts.push(part.await.unwrap());
    }
    let with = joined(parts);
    assert_eq!(unexplained("postgres", &with), [""; 0]);
    holds_page("postgres", &table(&without_seal(&with), &with));
}
