//! What the docs tell people to type works, and they show the code that is tested.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use tokio_postgres::types::{ToSql, Type};

use crate::server::{Stranger, TestSchema};

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

/// The statements of all blocks of SQL that name the schema, without their comments.
fn statements(page: &str) -> Vec<String> {
    let blocks = page.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let text: String = blocks.filter(|block| block.contains("counterfoil.")).collect();
    let lines = text.lines().map(|line| line.split("--").next().unwrap());
    let text = lines.collect::<Vec<_>>().join(" ");
    let all = text.split(';').map(str::trim).filter(|sql| !sql.is_empty());
    all.map(str::to_owned).collect()
}

/// What a statement of the page binds, by what it does; `id` is new each time.
fn bound(sql: &str, id: &str) -> Vec<(Box<dyn ToSql + Sync + Send>, Type)> {
    let text = |value: &str| -> (Box<dyn ToSql + Sync + Send>, Type) {
        (Box::new(value.to_owned()), Type::TEXT)
    };
    let number =
        |value: i64| -> (Box<dyn ToSql + Sync + Send>, Type) { (Box::new(value), Type::INT8) };
    let bytes = |value: &[u8]| -> (Box<dyn ToSql + Sync + Send>, Type) {
        (Box::new(value.to_vec()), Type::BYTEA)
    };
    let json = |value: serde_json::Value| -> (Box<dyn ToSql + Sync + Send>, Type) {
        (Box::new(value.to_string()), Type::TEXT)
    };
    let body = || json(serde_json::json!({"order_id": "A-001"}));
    match sql {
        _ if sql.contains("enqueue($1, $2") || sql.contains("INTO counterfoil.outbox") => {
            vec![text(id), text("shipping"), text("order.paid"), body()]
        }
        _ if sql.contains("enqueue($1,") => vec![text(id), body()],
        _ if sql.contains("complete($1") => vec![text("claimed"), body(), number(7)],
        _ if sql.contains("reject($1") => vec![text("reported-1"), body()],
        _ if sql.contains("INTO counterfoil.report") => {
            let token: Option<i64> = None;
            let token: (Box<dyn ToSql + Sync + Send>, Type) = (Box::new(token), Type::INT8);
            vec![text("reported-2"), bytes(b"7"), text("it is printed"), token]
        }
        _ if sql.contains("INTO counterfoil.inbox") => {
            vec![text("urn:x"), text("k"), bytes(&[0; 32]), number(9_000_000_000_000_000)]
        }
        _ if sql.contains("UPDATE counterfoil.inbox") => {
            vec![bytes(b"7"), text("urn:x"), text("k")]
        }
        _ => Vec::new(),
    }
}

/// Commands that the page's statements report about.
async fn scene() -> (TestSchema, Stranger) {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    for id in ["claimed", "reported-1", "reported-2"] {
        stranger.run(&format!("SELECT cf.enqueue('{id}', 'd', 'k', '{{}}'::json)")).await.unwrap();
    }
    let forger = schema.forger().await;
    let claim = "UPDATE cf.delivery SET state = 'sending', token = 7, attempts = 1,
         lease_until = available_at
         WHERE n = (SELECT n FROM cf.outbox WHERE command_id = 'claimed')";
    forger.run(claim).await.unwrap();
    (schema, stranger)
}

#[tokio::test]
async fn each_statement_of_the_pages_runs() {
    let mut verbs = BTreeSet::new();
    for page in ["docs/sql.md", "docs/postgres.md", "docs/drivers.md"] {
        let (_schema, stranger) = scene().await;
        let all = statements(&read(page));
        assert!(!all.is_empty(), "{page} has none");
        for (at, sql) in all.iter().enumerate() {
            if sql.starts_with("CREATE ROLE") {
                continue;
            }
            let text = stranger.sql(&sql.replace("counterfoil.", "cf."));
            let owned = bound(sql, &format!("page-{at}"));
            let params: Vec<_> = owned
                .iter()
                .map(|(value, of)| (&**value as &(dyn ToSql + Sync), of.clone()))
                .collect();
            let ran = stranger.client.query_typed(&text, &params).await;
            ran.unwrap_or_else(|error| panic!("{page}: {sql}: {error:?}"));
            verbs.insert(sql.split(['(', '$']).next().unwrap().to_owned());
        }
    }
    assert!(verbs.len() >= 6, "{verbs:?}");
}

/// What the SQLSTATEs of the page are said to mean.
#[tokio::test]
async fn refusals_have_the_sqlstates_of_the_page() {
    let (_schema, stranger) = scene().await;
    let page = read("docs/sql.md");
    for (sql, state, code) in [
        ("SELECT cf.enqueue('claimed', 'd', 'other', '{}'::json)", "23505", "CF0104"),
        ("SELECT cf.enqueue('', 'd', 'k', '{}'::json)", "23514", "CF0102"),
        ("SELECT cf.complete('never')", "23514", "CF0202"),
        ("SELECT cf.complete('claimed', token => 6)", "23514", "CF0203"),
        ("SELECT cf.no_such_function()", "42883", ""),
        ("INSERT INTO cf.no_such_table VALUES (1)", "42P01", ""),
    ] {
        let error = stranger.run(sql).await.unwrap_err();
        let said = error.as_db_error().unwrap();
        assert_eq!(said.code().code(), state, "{sql}: {said:?}");
        assert!(said.message().starts_with(code), "{sql}: {said:?}");
        assert!(page.contains(state), "{state} has no row");
    }
}

/// The examples of other people's ORMs are compiled elsewhere, since nothing here needs them.
#[test]
fn the_page_of_drivers_shows_what_is_compiled() {
    let page = read("docs/drivers.md");
    for name in ["sea_orm_postgres", "sea_orm_sqlite", "diesel_postgres"] {
        let file = read(&format!("companion-orms/src/{name}.rs"));
        let (_, code) = file.split_once("\n\n").unwrap();
        let block = format!("```rust,ignore\n{code}```\n");
        assert!(page.contains(&block), "docs/drivers.md does not show src/{name}.rs:\n{code}");
    }
}
