//! What the page about SQL tells people to type works.

use std::fs;
use std::path::Path;

use rusqlite::types::Value;

use crate::guards::Fixture;

/// The statements of all blocks that name SQLite's tables, without their comments.
fn statements(page: &str) -> Vec<String> {
    let blocks = page.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let text: String = blocks.filter(|block| block.contains("counterfoil_")).collect();
    let lines = text.lines().map(|line| line.split("--").next().unwrap());
    let text = lines.collect::<Vec<_>>().join(" ");
    let all = text.split(';').map(str::trim).filter(|sql| !sql.is_empty());
    all.map(str::to_owned).collect()
}

/// What a statement of the page binds, by what it does.
fn bound(sql: &str) -> Vec<Value> {
    let text = |value: &str| Value::Text(value.to_owned());
    match sql {
        _ if sql.contains("INTO counterfoil_outbox") => {
            vec![text("order.paid:A-001"), text("d"), text("k"), text("{}")]
        }
        _ if sql.contains("INTO counterfoil_report") => {
            vec![text("sending-1"), text("7"), text("it is printed"), Value::Integer(92)]
        }
        _ if sql.contains("INTO counterfoil_inbox") => {
            let expires = Value::Integer(9_000_000_000_000_000);
            vec![text("urn:page"), text("k"), Value::Blob(vec![0; 32]), expires]
        }
        _ if sql.contains("UPDATE counterfoil_inbox") => {
            vec![text("7"), text("urn:page"), text("k")]
        }
        _ => Vec::new(),
    }
}

#[test]
fn each_statement_of_the_page_runs() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sql.md");
    let all = statements(&fs::read_to_string(page).unwrap());
    let fixture = Fixture::with_states();
    for sql in &all {
        let params = rusqlite::params_from_iter(bound(sql));
        let ran = fixture.stranger.execute(sql, params);
        ran.unwrap_or_else(|error| panic!("{error}: {sql}"));
    }
    assert!(all.len() >= 6, "{all:#?}");
    let done = "SELECT (SELECT count(*) FROM counterfoil_outbox WHERE command_id LIKE 'order.%')
        || (SELECT count(*) FROM counterfoil_receipt WHERE evidence = 'it is printed')
        || (SELECT count(*) FROM counterfoil_inbox WHERE source = 'urn:page' AND result = '7')";
    assert_eq!(fixture.text(done), "111");
}
