//! Every statement of the store is served by the indexes that its first lines name.
//!
//! Planned as our sessions do, on empty tables and on tables with a history: a plan that only the
//! one of them has would change while a store grows.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::server::{Stranger, TestSchema};

/// As each session of the store is told.
const SESSION: &str = "SET enable_hashjoin = off; SET enable_mergejoin = off; \
    SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan; SET jit = off; \
    SET max_parallel_workers_per_gather = 0";

/// A history: most commands have ended, some are due, in lanes, or parked.
const HISTORY: &str = "
    INSERT INTO cf.outbox(command_id, destination, kind, ordering_key, body)
      SELECT 'c-' || i, 'd-' || i % 3, 'k', CASE WHEN i % 5 = 0 THEN 'key-' || i % 70 END, 'b'
      FROM generate_series(1, 6000) i;
    INSERT INTO cf.receipt(n, round, token, recorded_at, attempts, outcome, source, destination)
      SELECT n, 1, n, n, 1, 'completed', 'answer', destination FROM cf.outbox WHERE n <= 5000;
    INSERT INTO cf.delivery(n, destination, state, available_at, ordering_key, key_seq, turn,
        expires_at)
      SELECT n, destination, CASE WHEN n % 50 = 1 THEN 'dead' ELSE 'pending' END,
        CASE WHEN ordering_key IS NULL AND n % 50 <> 1 THEN n END, ordering_key,
        CASE WHEN ordering_key IS NOT NULL THEN n END, NULL, CASE WHEN n % 9 = 0 THEN n END
      FROM cf.outbox WHERE n > 5000;
    INSERT INTO cf.lane(destination, ordering_key, last)
      SELECT destination, ordering_key, max(n) FROM cf.outbox WHERE ordering_key IS NOT NULL
      GROUP BY destination, ordering_key;
    INSERT INTO cf.event(stream, seq, kind, body, cause, commands, recorded_at)
      SELECT 's-' || i % 400, i / 400 + 1, 'k', 'b', 'cause-' || i, 0, i
      FROM generate_series(400, 4399) i;
    INSERT INTO cf.attempt(n, token, ended_at, round, purpose, outcome)
      SELECT i, 1, i, 1, 'send', 'unknown' FROM generate_series(1, 3000) i;
    INSERT INTO cf.archived(rounds, command_id, destination, kind, outcome, file, digest)
      SELECT 1, 'a-' || i, 'd-1', 'k', 'completed', 'f', sha256('b')
      FROM generate_series(1, 3000) i;
    INSERT INTO cf.tally(destination, outcome, count) SELECT 'd-' || i % 3, 'completed', 1
      FROM generate_series(1, 500) i;
    INSERT INTO cf.stream(stream, workflow, version, status, head)
      SELECT 's-' || i, 'w', 1, CASE WHEN i % 9 = 0 THEN 'running' WHEN i % 50 = 0 THEN
        'quarantined' ELSE 'completed' END, 10 FROM generate_series(1, 3000) i;
    INSERT INTO cf.input(stream, id, kind, name, due_at, workflow, recorded_at)
      SELECT 's-' || i % 500, 'i-' || i, CASE WHEN i % 10 = 0 THEN 'timer' ELSE 'signal' END, 'n',
        CASE WHEN i % 10 = 0 THEN i END, CASE WHEN i % 7 > 0 THEN 'w/1' END, i
      FROM generate_series(1, 3000) i;
    INSERT INTO cf.snapshot(stream, name, version, seq, state, recorded_at)
      SELECT 's-' || i, 'w', 1, 1, '', i FROM generate_series(1, 1000) i;
    ANALYZE cf.stream, cf.input, cf.snapshot, cf.outbox, cf.receipt, cf.delivery, cf.lane,
      cf.event, cf.attempt, cf.archived, cf.tally";

/// One statement: its file, what its comment says, and what the server plans.
struct Planned {
    file: String,
    says: String,
    plan: Vec<String>,
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sql/postgres");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|end| end == "sql")).collect();
    files.sort();
    files
}

/// The plans of all statements, on empty tables and on tables with a history.
async fn all() -> Vec<Planned> {
    let schema = TestSchema::new().await;
    let store = schema.forger().await;
    store.run(SESSION).await.unwrap();
    let mut all = Vec::new();
    for path in files() {
        all.push(plan(&store, &path).await);
    }
    store.run("DEALLOCATE ALL").await.unwrap();
    store.run(HISTORY).await.unwrap();
    for path in files() {
        let planned = plan(&store, &path).await;
        all.push(Planned { file: format!("{} with a history", planned.file), ..planned });
    }
    all
}

async fn plan(store: &Stranger, path: &Path) -> Planned {
    let text = fs::read_to_string(path).unwrap();
    let file: String = path.file_name().unwrap().to_str().unwrap().into();
    let says = text.lines().take_while(|line| line.starts_with("--"));
    let says = says.map(|line| line.trim_start_matches('-').trim()).collect::<Vec<_>>().join(" ");
    let name = file.trim_end_matches(".sql");
    let prepare = format!("PREPARE {name} AS {text}");
    store.run(&prepare).await.unwrap_or_else(|error| panic!("{file}: {error:?}"));
    let params = (1..=99).rev().find(|at| text.contains(&format!("${at}"))).unwrap_or(0);
    let nulls = vec!["NULL"; params].join(", ");
    let call = if params == 0 { name.to_owned() } else { format!("{name}({nulls})") };
    let rows = store.query(&format!("EXPLAIN (COSTS OFF) EXECUTE {call}"), &[]).await.unwrap();
    let plan = rows.iter().map(|row| row.get::<_, String>(0).trim().to_owned()).collect();
    Planned { file, says, plan }
}

/// The names in a sentence.
fn words(says: &str) -> BTreeSet<&str> {
    says.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).collect()
}

/// The index of a step of a plan: as read, or as what a conflict is told by.
fn index(step: &str) -> Option<&str> {
    let behind = ["Scan using ", "Scan Backward using ", "Bitmap Index Scan on ", "Indexes: "];
    let rest = behind.iter().find_map(|word| Some(step.split_once(word)?.1))?;
    rest.split([' ', ',']).next()
}

/// The table that a step of a plan walks from end to end, or the index.
fn scanned(step: &str) -> Option<&str> {
    step.split_once("Seq Scan on ")?.1.split(' ').next()
}

#[test]
fn each_file_says_by_what_it_is_served() {
    let files = files();
    assert!(files.len() > 50);
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let first = text.lines().next().unwrap_or_default();
        assert!(first.starts_with("-- by "), "{path:?}: {first:?} names no index");
        let says: Vec<_> = text.lines().take_while(|line| line.starts_with("--")).collect();
        assert!(says.last().unwrap().ends_with('.'), "{path:?} begins with no sentence");
    }
}

#[tokio::test]
async fn an_index_is_named_and_a_scan_is_confessed() {
    let mut wrong = Vec::new();
    for Planned { file, says, plan } in all().await {
        let said = words(&says);
        for step in &plan {
            if let Some(index) = index(step).filter(|index| !said.contains(index)) {
                wrong.push(format!("{file}: {step}, but it does not name {index}"));
            }
            if let Some(table) = scanned(step)
                && !says.contains(&format!("scan of {table}"))
            {
                wrong.push(format!("{file}: {step}, not confessed"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn what_is_named_is_used() {
    let schema = TestSchema::new().await;
    let known = format!("SELECT indexname FROM pg_indexes WHERE schemaname = '{}'", schema.name());
    let known = schema.stranger().await.query(&known, &[]).await.unwrap();
    let known: BTreeSet<String> = known.iter().map(|row| row.get(0)).collect();
    assert!(known.contains("delivery_due"));
    let mut wrong = Vec::new();
    for Planned { file, says, plan } in all().await {
        let used: BTreeSet<&str> = plan.iter().filter_map(|step| index(step)).collect();
        // What a function does has no plan here; it names what it uses inside.
        let inside = says.contains("inside the function");
        for word in words(&says).into_iter().filter(|_| !inside) {
            if known.contains(word) && !used.contains(word) {
                wrong.push(format!("{file} names {word}, but uses {used:?}"));
            }
        }
        if says.contains("scan of ") && !plan.iter().any(|step| step.contains("Scan ")) {
            wrong.push(format!("{file} confesses a scan that is none"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What a long history and a long backlog must not slow down.
#[tokio::test]
async fn the_hot_path_never_scans() {
    let hot = [
        "outbox_insert",
        "event_insert",
        "event_head",
        "delivery_due",
        "delivery_claim",
        "delivery_claim_alike",
        "settle_completed",
        "receipt_insert",
        "list_all",
        "list_open",
        "list_parked",
        "delivery_awaiting",
        "delivery_next_due",
        "lane_arrive",
        "lane_turn",
        "input_due_now",
        "input_next",
        "input_of_receipt",
        "input_send",
        "input_take",
        "stream_begin",
        "stream_go_on",
        "step_events",
    ];
    for Planned { file, plan, .. } in all().await {
        if hot.iter().any(|name| file.starts_with(&format!("{name}.sql"))) {
            let slow: Vec<_> = plan.iter().filter(|step| step.contains("Seq Scan")).collect();
            assert!(slow.is_empty(), "{file}: {slow:?}");
        }
    }
}

/// A batch is not compared row by row with a list, nor with the whole of an index, whatever the
/// statistics say: sessions keep a plan that was made when the table was empty.
#[tokio::test]
async fn a_batch_is_looked_up_by_keys() {
    let batches = ["delivery_due", "delivery_claim_alike", "settle_completed"];
    let of_batch = |file: &str| batches.iter().any(|name| file.starts_with(&format!("{name}.sql")));
    let mut looked_up = 0;
    for Planned { file, plan, .. } in all().await.into_iter().filter(|one| of_batch(&one.file)) {
        let compared = plan.iter().filter(|step| step.starts_with("Join Filter")).count();
        assert_eq!(compared, 0, "{file}: {plan:#?}");
        for (at, step) in plan.iter().enumerate() {
            if index(step).is_some() {
                let by = plan.get(at + 1).is_some_and(|next| next.starts_with("Index Cond"));
                assert!(by, "{file}: {step} walks it from end to end");
                looked_up += 1;
            }
        }
    }
    assert!(looked_up >= 2 * batches.len(), "{looked_up}");
}

/// Nothing that workflows meet grows dearer with what stands beside it: each batch is looked up key
/// by key, also by a session whose plan was made when the tables were empty.
#[tokio::test]
async fn workflows_are_looked_up_by_keys() {
    let of_workflows = ["input_", "stream_", "step_", "snapshot_"];
    let mut looked_up = 0;
    for Planned { file, plan, .. } in all().await {
        if !of_workflows.iter().any(|name| file.starts_with(name)) {
            continue;
        }
        let compared = plan.iter().filter(|step| step.starts_with("Join Filter")).count();
        assert_eq!(compared, 0, "{file}: {plan:#?}");
        for (step, next) in plan.iter().zip(plan.iter().skip(1)) {
            if index(step).is_some() && !step.starts_with("Conflict") {
                let by = next.starts_with("Index Cond");
                assert!(by, "{file}: {step} walks it from end to end");
                looked_up += 1;
            }
        }
    }
    assert!(looked_up > 60, "{looked_up}");
}
