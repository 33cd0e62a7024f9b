//! Every statement of the store is served by the index that its first line names.

use std::fs;
use std::path::Path;

use counterfoil_sqlite::migrate;
use rusqlite::Connection;

/// One statement: its file, what its comment says, and what SQLite plans.
struct Planned {
    file: String,
    says: String,
    plan: Vec<String>,
}

fn all() -> Vec<Planned> {
    let mut store = Connection::open_in_memory().unwrap();
    migrate(&mut store, None).unwrap();
    store.execute_batch("CREATE TEMP TABLE counterfoil_pass(id INTEGER PRIMARY KEY)").unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sql/sqlite");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "sql"));
    files.map(|path| plan(&store, &path)).collect()
}

fn plan(store: &Connection, path: &Path) -> Planned {
    let text = fs::read_to_string(path).unwrap();
    let says = text.lines().take_while(|line| line.starts_with("--"));
    let says = says.collect::<Vec<_>>().join(" ");
    let mut statement = store.prepare(&format!("EXPLAIN QUERY PLAN {text}")).unwrap();
    // Raw: a plan does not need the parameters.
    let mut rows = statement.raw_query();
    let mut plan = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        plan.push(row.get(3).unwrap());
    }
    drop(rows);
    Planned { file: path.file_name().unwrap().to_str().unwrap().into(), says, plan }
}

#[test]
fn each_file_says_by_what_it_is_served() {
    let all = all();
    assert!(all.len() > 50);
    for Planned { file, says, .. } in all {
        assert!(says.starts_with("-- by "), "{file}: {says:?} names no index");
        assert!(says.ends_with('.'), "{file}: {says:?} is no sentence");
    }
}

#[test]
fn a_search_uses_what_is_named_and_a_scan_is_confessed() {
    for Planned { file, says, plan } in all() {
        for step in &plan {
            let word = |before: &str| {
                let rest = step.split_once(before)?.1;
                rest.split([' ', '(']).find(|word| !word.is_empty())
            };
            if let Some(index) = word("INDEX ") {
                assert!(says.contains(index), "{file}: {step}, but it says {says:?}");
            } else if step.contains("USING INTEGER PRIMARY KEY") {
                assert!(says.contains("rowid"), "{file}: {step}, but it says {says:?}");
            } else if step.contains("USING PRIMARY KEY") {
                assert!(says.contains("primary key"), "{file}: {step}, but it says {says:?}");
            }
            // Of a subquery or of a row of constants, no scan of a table.
            let of_rows = step.starts_with("SCAN ")
                && !step.contains("(subquery")
                && !step.contains("CONSTANT ROW");
            assert!(!of_rows || says.contains("by scan of"), "{file}: {step}, not said");
        }
    }
}

#[test]
fn what_is_named_is_used() {
    for Planned { file, says, plan } in all() {
        let plan = plan.join("\n");
        for word in says.split([' ', ',', '.', ':']) {
            if word.starts_with("sqlite_autoindex") || word.starts_with("counterfoil_delivery_due")
            {
                assert!(plan.contains(word), "{file} says {word}, but SQLite plans:\n{plan}");
            }
        }
        let confessed = says.contains("by scan of");
        assert!(!confessed || plan.contains("SCAN "), "{file} says a scan that is none:\n{plan}");
    }
}

/// The claim and the settle, which a long history and a long backlog must not slow down.
#[test]
fn the_hot_path_never_sorts_and_never_scans() {
    for Planned { file, plan, .. } in all() {
        let is_hot = ["delivery_", "outbox_", "receipt_insert", "event_insert", "event_head"];
        if is_hot.iter().any(|hot| file.starts_with(hot)) && file != "delivery_left.sql" {
            let plan = plan.join("\n");
            let slow = plan.contains("TEMP B-TREE") || plan.contains("SCAN counterfoil");
            assert!(!slow, "{file}:\n{plan}");
        }
    }
}

/// A year of ended commands costs neither people nor relays anything; only the audit counts them.
#[test]
fn what_is_asked_often_walks_nothing_that_has_ended() {
    let asked = ["status_", "delivery_", "lane_blocked", "tally_", "destination_", "list_open"];
    let asked = |file: &str| asked.iter().any(|asked| file.starts_with(asked));
    let mut seen = 0;
    for Planned { file, plan, .. } in all() {
        if !asked(&file) {
            continue;
        }
        seen += 1;
        for step in plan.iter().filter(|step| step.starts_with("SCAN ")) {
            // Outbox, receipts and tombstones by their names, or as these statements call them.
            let ended = ["outbox", "receipt", "archived"];
            let walks = ended.iter().any(|name| step.contains(&format!("SCAN counterfoil_{name}")))
                || ["SCAN o", "SCAN r"].iter().any(|alias| step == alias);
            assert!(!walks, "{file}: {step}");
        }
    }
    assert!(seen > 20, "{seen}");
}
