//! Commands that expire, as strangers and as the library record them, and what ends them.

use counterfoil_core::audit::{AuditOptions, audit};
use counterfoil_core::domain::{
    Asking, Command, Contract, Event, Idempotent, Micros, Outcome, Span, Stream,
};
use counterfoil_core::port::Store as _;
use counterfoil_core::port::store::{Append, Swept};
use counterfoil_sqlite::{Outbox as _, SqliteStore, open_own};
use rusqlite::{Connection, params};

use crate::guards::{Fixture, VERBS};
use crate::store::{claim, command, declare, fresh, settle_all, shipping};

/// Long past, and a plausible time.
const PAST: Micros = Micros::new(1_764_421_200_000_000);

fn expiring(id: &str) -> Command {
    Command { expires_at: Some(PAST), ..command(id) }
}

/// What stands in the delivery beside what stands in the outbox, by id.
fn expiries(connection: &Connection) -> Vec<(String, Option<i64>, Option<i64>)> {
    let sql = "SELECT command_id, o.expires_at, d.expires_at FROM counterfoil_outbox o \
               JOIN counterfoil_delivery d ON d.n = o.n ORDER BY o.n";
    let mut query = connection.prepare(sql).unwrap();
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

async fn is_sound(store: &SqliteStore) {
    let report = audit(store, AuditOptions::default()).await.unwrap();
    assert_eq!(report.violations, []);
}

#[tokio::test]
async fn by_every_door_the_delivery_gets_the_commands_expiry() {
    let (folder, store) = fresh();
    let stranger = Connection::open(folder.path().join("s.db")).unwrap();
    let insert = "INSERT INTO counterfoil_outbox(command_id, destination, kind, body, expires_at) \
                  VALUES ('plain', 'shipping', 'k', 'b', ?1)";
    stranger.execute(insert, [PAST.get()]).unwrap();
    store.enqueue(vec![expiring("library"), command("for ever")]).await.unwrap();
    let decision = |stream: &str| Append {
        stream: Stream::new(stream).unwrap(),
        expected_seq: 0,
        events: vec![Event::json("paid", &1).unwrap()],
        commands: vec![Command { id: None, ..expiring("x") }],
    };
    store.append(decision("o-1")).await.unwrap().unwrap();
    stranger.execute_batch("BEGIN IMMEDIATE").unwrap();
    stranger.enqueue(&expiring("user")).unwrap();
    stranger.append(&decision("o-2")).unwrap();
    stranger.execute_batch("COMMIT").unwrap();
    let at = Some(PAST.get());
    let expected = [
        ("plain", at),
        ("library", at),
        ("for ever", None),
        ("o-1:1:0", at),
        ("user", at),
        ("o-2:1:0", at),
    ];
    let expected: Vec<_> = expected.map(|(id, at)| (id.to_owned(), at, at)).into();
    assert_eq!(expiries(&stranger), expected);
    declare(&store).await;
    let swept = store.sweep(100, None).await.unwrap();
    let ended: Vec<_> = swept.expired.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ended, ["plain", "library", "o-1:1:0", "user", "o-2:1:0"]);
    assert_eq!(store.exchange(claim(9)).await.unwrap().claimed.len(), 1);
    is_sound(&store).await;
}

#[test]
fn no_stranger_forges_or_moves_an_expiry() {
    let fixture = Fixture::with_states();
    for verb in VERBS {
        let forged = format!(
            "{verb} counterfoil_delivery(n, destination, state, available_at, expires_at) \
             VALUES (99, 'd', 'pending', 1764421200000000, 1764421200000000)"
        );
        fixture.refused(&forged, "CF0120");
        let again = forged.replace("(99,", "(1,");
        fixture.refused(&again, "CF0120");
    }
    fixture.refused("UPDATE counterfoil_delivery SET expires_at = 1764421200000000", "CF0120");
    fixture.refused("UPDATE counterfoil_outbox SET expires_at = 1764421200000000", "CF0110");
    fixture.refused("UPDATE OR REPLACE counterfoil_outbox SET expires_at = NULL", "CF0110");
    // The same intent with another expiry is the same intent: times are not compared.
    fixture.ignored(
        "INSERT INTO counterfoil_outbox(command_id, destination, kind, body, expires_at) \
         VALUES ('pending-1', 'd', 'k', 'b', 1764421200000000)",
    );
}

#[tokio::test]
async fn what_expired_stands_for_ever_and_is_no_longer_reported() {
    let (folder, store) = fresh();
    store.enqueue(vec![expiring("a")]).await.unwrap();
    assert_eq!(store.sweep(9, None).await.unwrap().expired.len(), 1);
    let repeated = store.enqueue(vec![expiring("a")]).await.unwrap();
    assert_eq!(repeated, [Ok(counterfoil_core::port::store::Recorded::Repeated)]);
    let stranger = Connection::open(folder.path().join("s.db")).unwrap();
    let say = "INSERT INTO counterfoil_report(command_id, outcome) VALUES ('a', 'completed')";
    stranger.execute(say, []).unwrap();
    let story = store.show("a").await.unwrap().unwrap();
    assert_eq!((story.listed.state.as_str(), story.receipts.len()), ("expired", 1));
    assert_eq!(story.tries[0].what, "contradiction", "a receiver that did it after all is kept");
}

/// A contract of a later version, or one that is spoiled, says nothing that may be relied upon.
#[tokio::test]
async fn a_contract_that_cannot_be_read_whole_leaves_a_doubt_to_a_person() {
    let mut askable = Contract::new(Idempotent::No);
    askable.ask = Some(Asking::new(Span::from_secs(60)));
    let known = serde_json::to_string(&askable).unwrap();
    let newer = known.replace("{\"idempotent\"", "{\"new_rule\":true,\"idempotent\"");
    for (stored, asking, readable) in [(known, 1, true), (newer, 0, false), ("{".into(), 0, false)]
    {
        let (folder, store) = fresh();
        let (own, _) = open_own(&folder.path().join("s.db")).unwrap();
        let put = "INSERT INTO counterfoil_destination(name, contract) VALUES ('shipping', ?1)";
        own.execute(put, params![stored]).unwrap();
        store.enqueue(vec![expiring("a")]).await.unwrap();
        store.restored(PAST, "ada").await.unwrap();
        let swept = store.sweep(9, None).await.unwrap();
        assert_eq!((swept.asking, swept.parked.len()), (asking, 1 - asking), "{stored}");
        let told = store.contracts().await.unwrap();
        assert_eq!(told["shipping"].is_some(), readable, "{stored}");
        is_sound(&store).await;
    }
}

/// A relay that has nothing to sweep, and a pause that stands, wait for no writer.
#[tokio::test]
async fn what_needs_no_write_does_not_wait_for_the_lock() {
    let (folder, store) = fresh();
    store.pause(&shipping(), "ada", "maintenance").await.unwrap();
    store.enqueue(vec![command("for ever")]).await.unwrap();
    let writer = Connection::open(folder.path().join("s.db")).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let patience = std::time::Duration::from_secs(10);
    let swept = tokio::time::timeout(patience, store.sweep(10, None)).await.expect("it waits");
    assert_eq!(swept.unwrap(), Swept::default());
    let to = shipping();
    let pausing = store.pause(&to, "ada", "again");
    assert!(!tokio::time::timeout(patience, pausing).await.expect("it waits").unwrap());
}

/// A delivery whose command is gone is the audit's to tell; a sweep neither ends nor turns on it.
#[tokio::test]
async fn a_delivery_without_its_command_stops_no_sweep() {
    let (folder, store) = fresh();
    store.enqueue(vec![expiring("orphan"), expiring("a")]).await.unwrap();
    let (own, _) = open_own(&folder.path().join("s.db")).unwrap();
    own.execute("DELETE FROM counterfoil_outbox WHERE command_id = 'orphan'", []).unwrap();
    let swept = store.sweep(1, None).await.unwrap();
    assert_eq!((swept.expired.len(), swept.more), (1, false));
    let writer = Connection::open(folder.path().join("s.db")).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let patience = std::time::Duration::from_secs(10);
    let swept =
        tokio::time::timeout(patience, store.sweep(1, None)).await.expect("it waits to write");
    assert_eq!(swept.unwrap(), Swept::default());
    let left = "SELECT count(*) FROM counterfoil_delivery";
    assert_eq!(own.query_row(left, [], |row| row.get::<_, i64>(0)).unwrap(), 1);
}

/// A long pile of expired commands is ended in short writes, each of which says that more is left.
#[tokio::test]
async fn a_long_pile_is_swept_in_parts_and_the_laws_hold() {
    const PILE: usize = 6_000;
    let (_folder, store) = fresh();
    declare(&store).await;
    let pile = (0..PILE).map(|at| expiring(&format!("c-{at}"))).collect();
    store.enqueue(pile).await.unwrap();
    let mut sizes = Vec::new();
    loop {
        let swept = store.sweep(usize::MAX, None).await.unwrap();
        sizes.push(swept.expired.len());
        if !swept.more {
            break;
        }
    }
    assert_eq!(sizes.iter().sum::<usize>(), PILE);
    assert!(sizes.len() > 1, "one write held the lock for all of it");
    let counted = &store.status().await.unwrap().destinations["shipping"];
    assert_eq!(counted.get("expired"), Some(&(PILE as u64)));
    is_sound(&store).await;
}

/// Tried in vain, then expired by a claim or by a sweep: both receipts say what had been sent.
#[tokio::test]
async fn an_expired_receipt_has_the_digests_of_what_was_tried() {
    for by_claim in [false, true] {
        let (folder, store) = fresh();
        declare(&store).await;
        let now = store.now().unwrap();
        let soon = Command { expires_at: Some(now.plus(Span::from_millis(400))), ..command("a") };
        store.enqueue(vec![soon]).await.unwrap();
        let claimed = store.exchange(claim(1)).await.unwrap().claimed;
        settle_all(&store, &claimed, Outcome::not_sent("refused")).await;
        tokio::time::sleep(std::time::Duration::from_millis(900)).await;
        if by_claim {
            assert_eq!(store.exchange(claim(1)).await.unwrap().expired.len(), 1);
        } else {
            assert_eq!(store.sweep(1, None).await.unwrap().expired.len(), 1);
        }
        let kept = Connection::open(folder.path().join("s.db")).unwrap();
        let digests = "SELECT digest, row_digest FROM counterfoil_receipt WHERE attempts = 1";
        let digests: (Vec<u8>, Vec<u8>) =
            kept.query_row(digests, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let expected = (claimed[0].digest, claimed[0].row_digest);
        assert_eq!(digests, (expected.0.as_bytes().to_vec(), expected.1.as_bytes().to_vec()));
        is_sound(&store).await;
    }
}
