//! Ended commands leave by proof: what is read, what stays, and what a tombstone answers.

use counterfoil_core::audit::{AuditOptions, audit};
use counterfoil_core::domain::transition::{Report, Verdict};
use counterfoil_core::domain::{
    Command, CommandId, Digest, Event, Micros, OrderingKey, Outcome, ReceiptOutcome, Span, Stream,
};
use counterfoil_core::port::archive::{
    Archive as _, Buried, EndedPage, Entry, Kept, SealChange, Tombstone,
};
use counterfoil_core::port::read::{FactsFrom, Filter};
use counterfoil_core::port::store::{Append, Reported};
use counterfoil_core::port::{Act, Acted, Actor, Audited as _, Deed, Store as _};
use counterfoil_sqlite::{SqliteStore, open_own};
use tempfile::TempDir;

use crate::store::{claim, command, completed, declare, fresh, settle_all};

/// A store with a known destination.
pub(crate) async fn shop() -> (TempDir, SqliteStore) {
    let (folder, store) = fresh();
    declare(&store).await;
    (folder, store)
}

/// Claims all that is due, which then ends so; on a slow machine in several steps.
pub(crate) async fn end_as(store: &SqliteStore, outcome: Outcome) {
    let mut more = true;
    while more {
        let exchanged = store.exchange(claim(10_000)).await.unwrap();
        more = exchanged.more;
        settle_all(store, &exchanged.claimed, outcome.clone()).await;
    }
}

/// Commands that are recorded and completed.
pub(crate) async fn complete(store: &SqliteStore, ids: &[&str]) {
    let commands = ids.iter().map(|id| command(id)).collect();
    for recorded in store.enqueue(commands).await.unwrap() {
        recorded.unwrap();
    }
    end_as(store, completed()).await;
}

/// Some of each kind, and one that is open, so that none of them is the newest.
pub(crate) async fn completed_shop(ids: &[&str]) -> (TempDir, SqliteStore) {
    let (folder, store) = shop().await;
    complete(&store, ids).await;
    store.enqueue(vec![command("open")]).await.unwrap();
    (folder, store)
}

pub(crate) fn later(store: &SqliteStore) -> Micros {
    store.now().unwrap().plus(Span::from_secs(1))
}

pub(crate) async fn page(store: &SqliteStore) -> EndedPage {
    store.ended(later(store), 0, 1000).await.unwrap()
}

pub(crate) fn ids(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.outbox.command_id.as_str()).collect()
}

/// Buries what may go; how many went.
pub(crate) async fn bury(store: &SqliteStore) -> usize {
    let entries = page(store).await.entries;
    let Buried::Done(buried) = store.bury("a.zst", entries, None).await.unwrap() else {
        panic!("no seal is asked for");
    };
    buried.into_iter().filter(|gone| *gone).count()
}

/// The codes of the laws that do not hold.
pub(crate) async fn broken(store: &SqliteStore) -> Vec<&'static str> {
    let report = audit(store, AuditOptions::default()).await.unwrap();
    report.violations.iter().map(|violation| violation.code).collect()
}

pub(crate) fn rejected(evidence: &str) -> Report {
    Report {
        outcome: ReceiptOutcome::Rejected,
        result: None,
        evidence: Some(evidence.into()),
        source: "report".into(),
        token: None,
        equals_earlier: false,
    }
}

pub(crate) fn id(id: &str) -> CommandId {
    CommandId::new(id).unwrap()
}

pub(crate) fn ann() -> Actor {
    Actor { name: "ann".into(), reason: "on request".into() }
}

pub(crate) async fn act(store: &SqliteStore, id: &str, act: Act) -> Acted {
    let deed = Deed { command_id: id.into(), act, by_filter: false };
    store.act(vec![deed], ann()).await.unwrap().remove(0)
}

pub(crate) const REDELIVER: Act = Act::Redeliver { may_act_twice: true };

#[tokio::test]
async fn what_has_ended_is_read_whole_and_in_order() {
    let (_folder, store) = shop().await;
    store.enqueue(vec![command("a"), command("b")]).await.unwrap();
    end_as(&store, Outcome::unknown("reset")).await;
    let claimed = loop {
        let claimed = store.exchange(claim(9)).await.unwrap().claimed;
        if !claimed.is_empty() {
            break claimed;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    };
    settle_all(&store, &claimed, completed()).await;
    end_as(&store, completed()).await;
    store.enqueue(vec![command("open")]).await.unwrap();
    act(&store, "a", REDELIVER).await;
    end_as(&store, completed()).await;
    let page = page(&store).await;
    let a = page.entries.iter().find(|entry| entry.outbox.command_id.as_str() == "a").unwrap();
    assert_eq!(a.outbox.body, br#"{"order":"a"}"#);
    assert_eq!(a.receipts.iter().map(|one| one.receipt.round).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(a.attempts[0].reason.as_deref(), Some("reset"));
    assert_eq!(a.actions.iter().map(|act| act.verb.as_str()).collect::<Vec<_>>(), ["redeliver"]);
    assert_eq!(store.entry("a").await.unwrap().as_ref(), Some(a));
    assert_eq!(store.entry("never").await.unwrap(), None);
    assert!(page.entries.is_sorted_by_key(|entry| entry.outbox.n));
}

#[tokio::test]
async fn what_must_stay_is_counted_by_why() {
    let (folder, store) = shop().await;
    complete(&store, &["said-two", "looked-into", "odd", "fine", "young"]).await;
    for contradicted in ["said-two", "looked-into"] {
        let said = store.report(&id(contradicted), rejected("no")).await.unwrap();
        assert_eq!(said, Reported::Contradiction);
    }
    let verdict = Verdict::Completed { result: None };
    assert!(matches!(act(&store, "looked-into", Act::Resolve(verdict)).await, Acted::Done { .. }));
    let stream = Stream::new("trip").unwrap();
    let events = vec![Event::json("paid", &1).unwrap()];
    let commands = vec![Command::unnamed("shipping", "k", &1).unwrap()];
    let decision = Append { stream, expected_seq: 0, events, commands };
    store.append(decision).await.unwrap().unwrap();
    complete(&store, &["newest"]).await;
    let (own, _) = open_own(&folder.path().join("s.db")).unwrap();
    let young = later(&store).get() * 2;
    own.execute_batch(&format!(
        "INSERT INTO counterfoil_stream(stream, workflow, version, status, head)
           VALUES ('trip', 'trip', 1, 'running', 1);
         UPDATE counterfoil_receipt SET evidence = CAST(x'ff' AS TEXT) WHERE n = 3;
         UPDATE counterfoil_receipt SET recorded_at = {young} WHERE n = 5;"
    ))
    .unwrap();
    let found = page(&store).await;
    assert_eq!(ids(&found.entries), ["looked-into", "fine"]);
    let kept = Kept { contradicted: 1, of_workflow: 1, unreadable: 1, newest: 1 };
    assert_eq!((found.kept, found.looked_at, found.last), (kept, 7, true));
    let unread = store.entry("odd").await.unwrap_err();
    assert!(unread.to_string().contains("command odd cannot be read whole"), "{unread}");
    // By no door: these are not what `ended` gave, or not what was sent.
    own.execute_batch("UPDATE counterfoil_outbox SET body = 'forged' WHERE n = 4").unwrap();
    let stay = ["said-two", "trip:1:0", "newest", "fine"];
    for kept in stay {
        let entry = store.entry(kept).await.unwrap().unwrap();
        let buried = store.bury("f", vec![entry], None).await.unwrap();
        assert_eq!(buried, Buried::Done(vec![false]), "{kept}");
    }
}

#[tokio::test]
async fn a_page_is_bounded_in_rows_and_bytes() {
    let (_folder, store) = shop().await;
    let many = (0..4100).map(|i| command(&format!("open-{i}"))).collect();
    store.enqueue(many).await.unwrap();
    let long = |i| Command::bytes(format!("long-{i}"), "shipping", "k", vec![7; 1 << 20]).unwrap();
    for i in 0..12 {
        store.enqueue(vec![long(i)]).await.unwrap();
        store.report(&id(&format!("long-{i}")), rejected("no")).await.unwrap();
    }
    store.enqueue(vec![command("open")]).await.unwrap();
    let first = page(&store).await;
    assert_eq!((first.entries.len(), first.looked_at, first.last), (0, 4096, false));
    let second = store.ended(later(&store), first.looked_at, 100).await.unwrap();
    assert_eq!((second.entries.len(), second.last), (8, false));
    let third = store.ended(later(&store), second.looked_at, 100).await.unwrap();
    assert_eq!((third.entries.len(), third.last), (4, true));
    let two = store.ended(later(&store), first.looked_at, 2).await.unwrap();
    assert_eq!((two.entries.len(), two.looked_at, two.last), (2, 4102, false));
}

/// Lanes, decisions, redeliveries and every outcome: all laws hold after, and people see the same.
#[tokio::test]
async fn a_burial_leaves_tombstones_and_every_law_holds() {
    let (folder, store) = shop().await;
    let key = || OrderingKey::new("A").unwrap();
    let lane: Vec<_> = (0..3).map(|i| command(&format!("lane-{i}")).ordering_key(key())).collect();
    store.enqueue(lane).await.unwrap();
    end_as(&store, completed()).await;
    end_as(&store, completed()).await;
    let stream = Stream::new("o-1").unwrap();
    let events = vec![Event::json("paid", &1).unwrap()];
    let commands = vec![Command::unnamed("shipping", "k", &1).unwrap(); 2];
    store.append(Append { stream, expected_seq: 0, events, commands }).await.unwrap().unwrap();
    // It looks like a third command of that event, and is none.
    store.enqueue(vec![command("o-1:1:2"), command("o-1:1:01")]).await.unwrap();
    store.enqueue(vec![command("never-sent")]).await.unwrap();
    store.report(&id("never-sent"), rejected("no")).await.unwrap();
    end_as(&store, completed()).await;
    act(&store, "o-1:1:0", REDELIVER).await;
    end_as(&store, completed()).await;
    store.enqueue(vec![command("open").ordering_key(key())]).await.unwrap();
    assert_eq!(broken(&store).await, [""; 0]);
    let before = store.status().await.unwrap().destinations;

    let entries = page(&store).await.entries;
    let done = entries.clone();
    assert_eq!(bury(&store).await, 8);
    assert_eq!(broken(&store).await, [""; 0]);
    assert_eq!(store.status().await.unwrap().destinations, before, "people see the same");
    assert_eq!(store.list(Filter::default()).await.unwrap().len(), 1);
    let facts = store.facts(FactsFrom::default(), 100).await.unwrap();
    assert_eq!(facts.commands.len(), 1, "nothing of them is left: {facts:?}");
    for entry in done {
        let newest = entry.newest().unwrap();
        let name = entry.outbox.command_id.as_str();
        let expected = Tombstone {
            command_id: name.into(),
            destination: "shipping".into(),
            kind: entry.outbox.kind.to_string(),
            ordering_key: entry.outbox.ordering_key.as_ref().map(ToString::to_string),
            digest: Digest::of(&entry.outbox.body),
            outcome: newest.receipt.outcome.name().into(),
            rounds: newest.receipt.round,
            file: "a.zst".into(),
            row_digest: None,
        };
        let expected = Tombstone { row_digest: Some(expected.row_digest()), ..expected };
        let found = store.tombstones_of(&[name.to_owned()]).await.unwrap();
        assert_eq!(found, [Some(expected)]);
        assert!(store.show(name).await.unwrap().unwrap().archived);
        assert_eq!(store.entry(name).await.unwrap(), None);
    }
    // The next of the lane goes on where the last one was.
    end_as(&store, completed()).await;
    assert_eq!(broken(&store).await, [""; 0]);
    let (own, _) = open_own(&folder.path().join("s.db")).unwrap();
    let place = "SELECT key_seq FROM counterfoil_receipt WHERE n > 0";
    assert_eq!(own.query_row(place, [], |row| row.get::<_, i64>(0)).unwrap(), 4);
}

#[tokio::test]
async fn what_has_changed_since_it_was_read_is_left() {
    let names = ["again", "contradicted", "erased", "twice", "same"];
    let (folder, store) = completed_shop(&names).await;
    let mut entries = page(&store).await.entries;
    entries.push(entries[3].clone());
    act(&store, "again", REDELIVER).await;
    store.report(&id("contradicted"), rejected("no")).await.unwrap();
    store.erase("erased", ann(), "", None).await.unwrap();
    let buried = store.bury("f", entries.clone(), None).await.unwrap();
    assert_eq!(buried, Buried::Done(vec![false, false, false, true, true, false]));
    assert_eq!(store.bury("f", entries, None).await.unwrap(), Buried::Done(vec![false; 6]));
    assert_eq!(store.tombstones(None, 9).await.unwrap().len(), 2);
    // A tombstone that stands is not written over, nor its command removed.
    let entries = page(&store).await.entries;
    assert_eq!(ids(&entries), ["erased"]);
    let (own, _) = open_own(&folder.path().join("s.db")).unwrap();
    let stands = "INSERT INTO counterfoil_archived SELECT 'erased', destination, kind, NULL, \
                  digest, outcome, rounds, 'other', NULL FROM counterfoil_archived LIMIT 1";
    own.execute(stands, []).unwrap();
    assert_eq!(store.bury("f", entries, None).await.unwrap(), Buried::Done(vec![false]));
    assert_eq!(store.known(&["erased".into()]).await.unwrap(), [true]);
    assert_eq!(broken(&store).await, ["CF0822", "CF0807", "CF0820", "CF0821"]);
}

#[tokio::test]
async fn a_seal_goes_with_the_burial_or_nothing_is_done() {
    let (_folder, store) = completed_shop(&["a", "b"]).await;
    let entries = page(&store).await.entries;
    let change = |version| Some(SealChange { version, seal: format!("after {version}") });
    for stale in [1, -1] {
        let moved = store.bury("f", entries.clone(), change(stale)).await.unwrap();
        assert_eq!(moved, Buried::SealMoved);
    }
    assert_eq!((store.sealed().await.unwrap(), page(&store).await.entries.len()), (None, 2));
    let done = store.bury("f", entries, change(0)).await.unwrap();
    assert_eq!(done, Buried::Done(vec![true, true]));
    let sealed = store.sealed().await.unwrap().unwrap();
    assert_eq!((sealed.version, sealed.seal.as_str()), (1, "after 0"));
    assert_eq!(store.bury("f", Vec::new(), change(1)).await.unwrap(), Buried::Done(Vec::new()));
    assert_eq!(store.sealed().await.unwrap().unwrap().version, 2);
}
