//! Content that is erased on request: gone from every row, and no law the worse for it.

use counterfoil_core::domain::Digest;
use counterfoil_core::domain::Outcome;
use counterfoil_core::port::archive::{Archive as _, Erased, SealChange};
use counterfoil_core::port::store::WriteRefused;
use counterfoil_core::port::{Act, Acted, Actor, Audited as _, Store as _};
use counterfoil_sqlite::{Outbox as _, SqliteStore, open_own};
use rusqlite::Connection;

use crate::archive::{
    REDELIVER, act, ann, broken, bury, completed_shop, end_as, id, rejected, shop,
};
use crate::store::{command, completed};

async fn erase(store: &SqliteStore, id: &str) -> Erased {
    store.erase(id, ann(), "GDPR request 7", None).await.unwrap()
}

#[tokio::test]
async fn every_row_of_it_loses_its_content_and_keeps_its_digests() {
    let (_folder, store) = shop().await;
    store.enqueue(vec![command("a").header("x-name", "Ann"), command("b")]).await.unwrap();
    end_as(&store, Outcome::unknown("a name")).await;
    assert_eq!(erase(&store, "a").await, Erased::Open);
    for ended in ["a", "b"] {
        let done = counterfoil_core::domain::transition::Report {
            outcome: counterfoil_core::domain::ReceiptOutcome::Completed,
            result: Some(b"a name".to_vec()),
            ..rejected("a name")
        };
        store.report(&id(ended), done).await.unwrap();
        store.report(&id(ended), rejected("a name")).await.unwrap();
        let verdict = counterfoil_core::domain::transition::Verdict::Rejected;
        act(&store, ended, Act::Resolve(verdict)).await;
    }
    let before = store.entry("a").await.unwrap().unwrap();
    let other = store.entry("b").await.unwrap();
    assert_eq!(erase(&store, "a").await, Erased::Done);
    let after = store.entry("a").await.unwrap().unwrap();
    assert!(after.erased_at.is_some());
    assert_eq!((after.outbox.body.len(), &after.outbox.headers), (0, &None));
    for receipt in &after.receipts {
        assert_eq!((&receipt.receipt.result, &receipt.receipt.evidence), (&None, &None));
        assert_eq!(receipt.digest, Some(Digest::of(&before.outbox.body)));
        assert_eq!(receipt.row_digest, before.receipts[0].row_digest);
    }
    assert!(before.attempts.len() == 1 && after.attempts[0].reason.is_none());
    assert_eq!(
        (&after.contradictions[0].result, &after.contradictions[0].evidence),
        (&None, &None)
    );
    assert_eq!(after.contradictions[0].outcome, "rejected");
    let verbs: Vec<_> =
        after.actions.iter().map(|act| (act.verb.as_str(), act.reason.as_deref())).collect();
    assert_eq!(verbs, [("resolve", None), ("erase", Some("GDPR request 7"))]);
    let erased = after.actions.last().unwrap();
    assert_eq!(
        (erased.before.as_deref(), erased.after.as_deref()),
        (Some("completed"), Some("erased"))
    );
    assert_eq!(store.entry("b").await.unwrap(), other, "no other is touched");
    assert_eq!(broken(&store).await, [""; 0]);
    assert_eq!(erase(&store, "a").await, Erased::Repeated);
    assert_eq!(store.actions(0, 9).await.unwrap().len(), 3, "a repeat is not recorded");
    assert_eq!(erase(&store, "never").await, Erased::Unknown);
}

/// What ended before its first claim has no digests yet, and a tombstone needs one.
#[tokio::test]
async fn what_was_never_claimed_gets_its_digests_first() {
    let (_folder, store) = shop().await;
    store.enqueue(vec![command("a"), command("open")]).await.unwrap();
    store.report(&id("a"), rejected("no")).await.unwrap();
    let before = store.entry("a").await.unwrap().unwrap();
    assert_eq!(before.receipts[0].digest, None);
    assert_eq!(erase(&store, "a").await, Erased::Done);
    let after = store.entry("a").await.unwrap().unwrap();
    let body = Digest::of(&before.outbox.body);
    assert_eq!(after.receipts[0].digest, Some(body));
    assert_eq!(after.receipts[0].row_digest, Some(before.outbox.row_digest(body)));
    assert_eq!(broken(&store).await, [""; 0]);
    assert_eq!(bury(&store).await, 1);
    let tombstone = store.tombstones_of(&["a".into()]).await.unwrap().remove(0).unwrap();
    assert_eq!(tombstone.digest, body);
    assert_eq!(broken(&store).await, [""; 0]);
}

#[tokio::test]
async fn an_erased_command_is_not_sent_again_and_its_id_is_taken() {
    let (folder, store) = completed_shop(&["a"]).await;
    erase(&store, "a").await;
    let refused = act(&store, "a", REDELIVER).await;
    assert!(matches!(refused, Acted::Refused(_)), "{refused:?}");
    let conflict = WriteRefused::Conflict { id: "a".into() };
    assert_eq!(store.enqueue(vec![command("a")]).await.unwrap(), [Err(conflict)]);
    let user = Connection::open(folder.path().join("s.db")).unwrap();
    user.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(user.enqueue(&command("a")).is_err());
    let sql = "INSERT INTO counterfoil_outbox(command_id, destination, kind, body) \
               VALUES ('a', 'shipping', 'order.paid', '')";
    let refused = user.execute(sql, []).unwrap_err();
    assert!(refused.to_string().contains("CF0112"), "{refused}");
}

#[tokio::test]
async fn of_an_archived_one_the_file_is_named_and_words_are_cleared() {
    let (_folder, store) = completed_shop(&["a"]).await;
    assert_eq!(bury(&store).await, 1);
    store.report(&id("a"), rejected("a name")).await.unwrap();
    let Erased::Archived(tombstone) = erase(&store, "a").await else { panic!("it is archived") };
    assert_eq!((tombstone.command_id.as_str(), tombstone.file.as_str()), ("a", "a.zst"));
    let story = store.show("a").await.unwrap().unwrap();
    assert_eq!(story.tries[0].reason, "");
    assert_eq!(story.actions[0].what, "erase");
    assert_eq!(broken(&store).await, [""; 0]);
}

#[tokio::test]
async fn a_seal_goes_with_the_erasure_or_nothing_is_done() {
    let (_folder, store) = completed_shop(&["a", "b"]).await;
    let seal = |version| Some(SealChange { version, seal: "erased".into() });
    let before = store.entry("a").await.unwrap();
    assert_eq!(store.erase("a", ann(), "", seal(3)).await.unwrap(), Erased::SealMoved);
    assert_eq!(store.entry("a").await.unwrap(), before);
    assert_eq!(store.erase("a", ann(), "", seal(0)).await.unwrap(), Erased::Done);
    assert_eq!(store.sealed().await.unwrap().unwrap().version, 1);
    let act = store.actions(0, 9).await.unwrap().remove(0);
    assert_eq!((act.actor.as_str(), act.reason.as_deref()), ("ann", Some("on request")));
    for other in ["a", "open", "never"] {
        store.erase(other, ann(), "", seal(1)).await.unwrap();
    }
    assert_eq!(store.sealed().await.unwrap().unwrap().version, 1, "nothing was done");
    let nobody = Actor { name: String::new(), reason: String::new() };
    assert!(store.erase("b", nobody, "", None).await.is_err());
}

/// A cleared column alone leaves its bytes in the free parts of pages.
#[tokio::test]
async fn the_bytes_themselves_are_overwritten_in_the_file() {
    let (folder, store) = shop().await;
    let secret = |at: u8| [b"SECRET-".to_vec(), vec![at; 9_000]].concat();
    for (id, at) in [("a", b'a'), ("b", b'b')] {
        let command =
            counterfoil_core::domain::Command::bytes(id, "shipping", "k", secret(at)).unwrap();
        store.enqueue(vec![command]).await.unwrap();
    }
    end_as(&store, completed()).await;
    erase(&store, "a").await;
    drop(store);
    let path = folder.path().join("s.db");
    open_own(&path).unwrap().0.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let file = std::fs::read(&path).unwrap();
    let holds = |bytes: &[u8]| file.windows(bytes.len()).any(|window| window == bytes);
    assert!(holds(b"SECRET-bbbb") && holds(&[b'b'; 200]), "it stands uncompressed");
    assert!(!holds(b"SECRET-aaaa") && !holds(&[b'a'; 200]), "its bytes are left");
}

/// What is archived is erased in its file: nothing of it may be left in the free parts of pages.
#[tokio::test]
async fn the_bytes_of_what_is_archived_are_overwritten_in_the_file() {
    let (folder, store) = shop().await;
    for (id, fill) in [("a", "k"), ("b", "small"), ("c", "stays")] {
        let long = fill.repeat(if id == "a" { 9_000 } else { 20 });
        let body = format!("SECRET-{id}-{long}").into_bytes();
        let command = counterfoil_core::domain::Command::bytes(id, "shipping", "k", body).unwrap();
        store.enqueue(vec![command]).await.unwrap();
    }
    end_as(
        &store,
        Outcome::Completed {
            result: counterfoil_core::domain::ResultBody::whole("RESULT-of-it"),
            evidence: "EVIDENCE-of-it".into(),
        },
    )
    .await;
    assert_eq!(bury(&store).await, 2);
    drop(store);
    let path = folder.path().join("s.db");
    open_own(&path).unwrap().0.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let file = std::fs::read(&path).unwrap();
    let count = |bytes: &[u8]| file.windows(bytes.len()).filter(|window| window == &bytes).count();
    assert_eq!((count(b"SECRET-c"), count(b"RESULT-of-it")), (1, 1), "it stands uncompressed");
    for gone in ["SECRET-a", "kkkkkkkk", "SECRET-b"] {
        assert_eq!(count(gone.as_bytes()), 0, "{gone}");
    }
}
