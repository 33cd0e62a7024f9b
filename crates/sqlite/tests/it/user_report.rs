//! A worker that says in its own transaction what became of a command.

use std::time::Duration;

use counterfoil_core::audit::{AuditOptions, audit};
use counterfoil_core::domain::{CommandId, Reason, Token};
use counterfoil_core::port::Store as _;
use counterfoil_core::port::store::{Claimed, Exchange, Reported, Settled};
use counterfoil_sqlite::{EnqueueError, Outbox as _, SqliteStore, open_own};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tempfile::TempDir;

use crate::store::{claim, command, completed, declare, fresh, settle};

/// A store, and a worker's own connection to the same file with a table of its own.
async fn shared() -> (TempDir, SqliteStore, Connection) {
    let (folder, store) = fresh();
    declare(&store).await;
    let worker = Connection::open(folder.path().join("s.db")).unwrap();
    worker.busy_timeout(Duration::from_secs(10)).unwrap();
    worker.execute_batch("CREATE TABLE labels(id TEXT)").unwrap();
    (folder, store, worker)
}

fn begin(worker: &mut Connection) -> Transaction<'_> {
    let work = worker.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    work.execute("INSERT INTO labels VALUES ('one')", []).unwrap();
    work
}

fn id(id: &str) -> CommandId {
    CommandId::new(id).unwrap()
}

async fn claimed(store: &SqliteStore, name: &str) -> Claimed {
    store.enqueue(vec![command(name)]).await.unwrap()[0].clone().unwrap();
    let mut claimed = store.exchange(claim(1)).await.unwrap().claimed;
    claimed.remove(0)
}

async fn settled(store: &SqliteStore, claimed: &Claimed) -> Settled {
    let settles = vec![settle(claimed, completed())];
    let mut done = store.exchange(Exchange { settles, ..Exchange::default() }).await.unwrap();
    done.settled.remove(0)
}

async fn is_sound(store: &SqliteStore) {
    let report = audit(store, AuditOptions::default()).await.unwrap();
    assert_eq!(report.violations, []);
}

fn labels(worker: &Connection) -> i64 {
    worker.query_row("SELECT count(*) FROM labels", [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn a_receipt_before_the_settle_makes_the_settle_a_repeat() {
    let (_folder, store, mut worker) = shared().await;
    let claimed = claimed(&store, "a").await;
    let token = Some(claimed.delivery.token);
    let work = begin(&mut worker);
    let reported = work.complete(&id("a"), Some(b"label 7"), "printed", token).unwrap();
    assert_eq!(reported, Reported::Recorded);
    work.commit().unwrap();
    assert_eq!(settled(&store, &claimed).await, Settled::Ignored(Reason::Repeated));
    let story = store.show("a").await.unwrap().unwrap();
    assert_eq!((story.listed.state.as_str(), story.tries.len()), ("completed", 0));
    let receipt = &story.receipts[0];
    assert_eq!(receipt.result.as_deref(), Some(&b"label 7"[..]), "the worker's word stands");
    assert_eq!((receipt.source.as_deref(), receipt.attempts), (Some("report"), 1));
    assert_eq!(receipt.evidence.as_deref(), Some("printed"));
    assert_eq!(receipt.token, claimed.delivery.token.get());
    assert_eq!(labels(&worker), 1);
    is_sound(&store).await;
}

#[tokio::test]
async fn said_twice_it_is_a_repeat_and_otherwise_a_contradiction() {
    let (_folder, store, mut worker) = shared().await;
    store.enqueue(vec![command("a"), command("b")]).await.unwrap();
    let work = begin(&mut worker);
    let say = |name: &str, result: Option<&[u8]>| work.complete(&id(name), result, "e", None);
    let refuse = |name: &str| work.reject(&id(name), None, "", None);
    assert_eq!(say("a", None).unwrap(), Reported::Recorded);
    assert_eq!(say("a", None).unwrap(), Reported::Repeated);
    assert_eq!(say("a", Some(b"other")).unwrap(), Reported::Repeated, "the outcome counts");
    assert_eq!(refuse("a").unwrap(), Reported::Contradiction);
    assert_eq!(refuse("a").unwrap(), Reported::Contradiction, "the same word again");
    assert_eq!(refuse("b").unwrap(), Reported::Recorded);
    assert_eq!(refuse("b").unwrap(), Reported::Repeated);
    assert_eq!(say("b", Some(&[0, 255])).unwrap(), Reported::Contradiction);
    work.commit().unwrap();
    let story = store.show("b").await.unwrap().unwrap();
    assert_eq!(story.listed.state, "rejected");
    let evidence = story.receipts[0].evidence.as_deref();
    assert_eq!(evidence, Some("reported through counterfoil_report"), "an empty one is filled in");
    let count = "SELECT count(*) FROM counterfoil_contradiction";
    assert_eq!(worker.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap(), 2);
}

#[tokio::test]
async fn a_report_for_nobody_is_refused_and_the_transaction_goes_on() {
    let (_folder, store, mut worker) = shared().await;
    store.enqueue(vec![command("a")]).await.unwrap();
    let work = begin(&mut worker);
    let refused = work.complete(&id("nobody"), None, "e", None).unwrap_err();
    assert!(matches!(&refused, EnqueueError::NoSuchCommand { id } if id == "nobody"));
    assert!(refused.to_string().contains("never heard of nobody"), "{refused}");
    let long = "x".repeat(65_537);
    let refused = work.complete(&id("a"), None, &long, None).unwrap_err().to_string();
    assert!(refused.contains("CF0204"), "{refused}");
    let zero = work.complete(&id("a"), None, "e", Some(Token::NONE)).unwrap_err().to_string();
    assert!(zero.contains("CF0205"), "{zero}");
    assert_eq!(work.complete(&id("a"), None, "e", None).unwrap(), Reported::Recorded);
    work.commit().unwrap();
    assert_eq!(store.show("a").await.unwrap().unwrap().listed.state, "completed");
    is_sound(&store).await;
}

/// The story: a worker slept past its lease, another attempt began, and both printed a label.
#[tokio::test]
async fn a_stale_token_rolls_the_workers_transaction_back() {
    let (_folder, store, mut worker) = shared().await;
    let claimed = claimed(&store, "a").await;
    let stale = Token::new(claimed.delivery.token.get() - 1);
    for (token, word) in [(stale, "another attempt owns it"), (Token::new(1), "roll the")] {
        let work = begin(&mut worker);
        let refused = work.complete(&id("a"), None, "e", Some(token)).unwrap_err();
        assert!(refused.to_string().contains(word), "{refused}");
        let EnqueueError::StaleToken { id, token: told } = refused else { panic!("{refused}") };
        assert_eq!((id.as_str(), told), ("a", token.get()));
        drop(work);
    }
    assert_eq!((labels(&worker), state(&store, "a").await.as_str()), (0, "sending"));
    assert_eq!(settled(&store, &claimed).await, Settled::Ended("completed"));
    let work = begin(&mut worker);
    let ended = work.reject(&id("a"), None, "e", Some(claimed.delivery.token)).unwrap_err();
    assert!(matches!(ended, EnqueueError::StaleToken { .. }), "it has ended: {ended}");
    drop(work);
    assert_eq!(labels(&worker), 0);
    is_sound(&store).await;
}

async fn state(store: &SqliteStore, name: &str) -> String {
    store.show(name).await.unwrap().unwrap().listed.state
}

#[tokio::test]
async fn what_is_rolled_back_was_never_said() {
    let (_folder, store, mut worker) = shared().await;
    let claimed = claimed(&store, "a").await;
    let work = begin(&mut worker);
    work.complete(&id("a"), None, "e", Some(claimed.delivery.token)).unwrap();
    drop(work);
    assert_eq!((labels(&worker), state(&store, "a").await.as_str()), (0, "sending"));
    assert_eq!(settled(&store, &claimed).await, Settled::Ended("completed"));
    is_sound(&store).await;
}

#[tokio::test]
async fn after_a_redelivery_an_earlier_rounds_word_changes_nothing() {
    let (folder, store, mut worker) = shared().await;
    let claimed = claimed(&store, "a").await;
    let work = begin(&mut worker);
    let say = |token| work.complete(&id("a"), Some(b"r"), "e", token).unwrap();
    assert_eq!(say(Some(claimed.delivery.token)), Reported::Recorded);
    work.commit().unwrap();
    redeliver(&folder);
    let work = begin(&mut worker);
    let say = |result: &[u8]| work.complete(&id("a"), Some(result), "e", None).unwrap();
    assert_eq!(say(b"r"), Reported::Repeated, "it is the report of round 1, come late");
    assert_eq!(say(b"again"), Reported::Recorded, "this one is not");
    work.commit().unwrap();
    assert_eq!(store.show("a").await.unwrap().unwrap().receipts.len(), 2);
}

/// The word that contradicted round 1 ends round 2, and is a repeat from then on.
#[tokio::test]
async fn a_contradiction_of_an_earlier_round_is_none_of_this_one() {
    let (folder, store, mut worker) = shared().await;
    store.enqueue(vec![command("a")]).await.unwrap();
    let work = begin(&mut worker);
    assert_eq!(work.complete(&id("a"), None, "e", None).unwrap(), Reported::Recorded);
    assert_eq!(work.reject(&id("a"), None, "e", None).unwrap(), Reported::Contradiction);
    work.commit().unwrap();
    redeliver(&folder);
    let work = begin(&mut worker);
    assert_eq!(work.reject(&id("a"), None, "e", None).unwrap(), Reported::Recorded);
    assert_eq!(work.reject(&id("a"), None, "e", None).unwrap(), Reported::Repeated);
}

/// Delivers the only command again, as a person's verb would.
fn redeliver(folder: &TempDir) {
    let (own, _) = open_own(&folder.path().join("s.db")).unwrap();
    own.execute_batch(
        "BEGIN; UPDATE counterfoil_tally SET count = 0;
         INSERT INTO counterfoil_delivery(n, destination, state, round, token, available_at)
         SELECT n, destination, 'pending', 2, token, 1764421200000000 FROM counterfoil_receipt;
         COMMIT;",
    )
    .unwrap();
}

#[tokio::test]
async fn an_archived_command_is_compared_by_its_outcome() {
    let (folder, _store, mut worker) = shared().await;
    let (own, _) = open_own(&folder.path().join("s.db")).unwrap();
    let archived = "INSERT INTO counterfoil_archived(command_id, destination, kind, ordering_key, \
                    digest, outcome, rounds, file) VALUES \
                    ('a', 'shipping', 'k', NULL, zeroblob(32), 'completed', 2, 'f')";
    own.execute(archived, []).unwrap();
    let work = begin(&mut worker);
    assert_eq!(work.complete(&id("a"), None, "e", None).unwrap(), Reported::Repeated);
    assert_eq!(work.reject(&id("a"), None, "e", None).unwrap(), Reported::Contradiction);
    let fenced = work.complete(&id("a"), None, "e", Some(Token::new(5))).unwrap_err();
    assert!(matches!(fenced, EnqueueError::StaleToken { .. }), "{fenced}");
}

#[tokio::test]
async fn without_a_transaction_or_triggers_nothing_is_said() {
    let (folder, store, worker) = shared().await;
    store.enqueue(vec![command("a")]).await.unwrap();
    let outside = worker.complete(&id("a"), None, "e", None).unwrap_err();
    assert!(matches!(outside, EnqueueError::NoTransaction), "{outside}");
    let (own, _) = open_own(&folder.path().join("s.db")).unwrap();
    own.execute_batch("BEGIN").unwrap();
    let off = own.reject(&id("a"), None, "e", None).unwrap_err();
    assert!(matches!(off, EnqueueError::TriggersOff), "{off}");
    assert_eq!(state(&store, "a").await, "pending");
}
