//! Content goes, digests and receipts stay.

use counterfoil_core::domain::{Digest, Judge, Outcome, Reason};
use counterfoil_core::port::archive::{Archive as _, Erased, SealChange};
use counterfoil_core::port::seal::Audited as _;
use counterfoil_core::port::store::{Ended, WriteRefused};
use counterfoil_core::port::{Act, Acted, Store as _};

use super::scene::{AGAIN, Books, ann, command};
use crate::lanes::{completed, exchange, terms};
use crate::server::refusal;

const SECRET: &str = "s3cret";

/// Every table, as one text.
async fn all_text(books: &Books) -> String {
    let mut all = String::new();
    for table in ["outbox", "receipt", "attempt", "contradiction", "operator_action", "archived"] {
        let sql = format!(
            "SELECT coalesce(string_agg(encode(convert_to(t::text, 'UTF8'), 'escape'), ' '), '')
             FROM cf.{table} t"
        );
        let text = books.sql.text(&sql).await.unwrap();
        all.push_str(&text);
        // Bytes are printed as hex digits.
        let hex: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
        all = all.replace(&hex, SECRET);
    }
    all
}

/// A command with the secret in each place that content has: an attempt, a refusal, a
/// contradiction, two rounds.
async fn told_everywhere(books: &Books) {
    let mut told = command("a").header("X-Secret", SECRET);
    told.body = SECRET.into();
    books.enqueue(told).await;
    let terms = terms();
    for outcome in
        [Outcome::unknown(SECRET), Outcome::Rejected { reason: SECRET.into(), by: Judge::Receiver }]
    {
        books.schema.forger().await.run("UPDATE cf.delivery SET available_at = 1").await.unwrap();
        let claimed = exchange(&books.schema.store().await, &terms, vec![], 9).await.claimed;
        let mut settle = completed(claimed.into_iter().next().unwrap(), &terms);
        settle.ended = Ended::Outcome(outcome);
        exchange(&books.store, &terms, vec![settle], 0).await;
    }
    books.sql.run("SELECT cf.complete('a', 's3cret'::text, 's3cret')").await.unwrap();
    let actor = counterfoil_core::port::Actor { name: "bob".into(), reason: SECRET.into() };
    let resolved = Act::Resolve(counterfoil_core::domain::transition::Verdict::Rejected);
    let deeds = |act| vec![super::scene::deed("a", act)];
    books.store.act(deeds(resolved), actor.clone()).await.unwrap();
    assert!(matches!(books.store.act(deeds(AGAIN), actor).await.unwrap()[0], Acted::Done { .. }));
    books.sql.run("SELECT cf.complete('a', 's3cret'::text, 's3cret again')").await.unwrap();
}

#[tokio::test]
async fn content_goes_and_digests_stay() {
    let books = Books::new().await;
    told_everywhere(&books).await;
    books.is_sound().await;
    let before = books.entry("a").await;
    assert_eq!((before.receipts.len(), before.attempts.len()), (2, 1));
    assert_eq!((before.contradictions.len(), before.actions.len()), (1, 2));
    assert!(all_text(&books).await.matches(SECRET).count() > 8);
    assert!(before.newest().unwrap().digest.is_none(), "a report in SQL has no digest");
    assert_eq!(books.store.erase("a", ann(), "the customer asked", None).await, Ok(Erased::Done));
    let all = all_text(&books).await;
    assert!(!all.contains(SECRET), "{all}");
    let after = books.entry("a").await;
    assert!(after.erased_at.is_some() && after.outbox.body.is_empty());
    let digest = Digest::of(SECRET.as_bytes());
    let newest = after.newest().unwrap();
    assert_eq!(newest.digest, Some(digest));
    assert_eq!(newest.row_digest, Some(before.outbox.row_digest(digest)));
    assert_eq!(after.receipts[0].digest, before.receipts[0].digest, "as it was sent");
    let act = after.actions.last().unwrap();
    assert_eq!((&*act.verb, &*act.actor), ("erase", "ann"));
    assert_eq!(act.reason.as_deref(), Some("the customer asked"));
    assert_eq!((act.before.as_deref(), act.after.as_deref()), (Some("completed"), Some("erased")));
    books.is_sound().await;
    // Again: nothing changes.
    assert_eq!(books.store.erase("a", ann(), "again", None).await, Ok(Erased::Repeated));
    assert_eq!(books.entry("a").await, after);
}

#[tokio::test]
async fn what_was_erased_is_neither_sent_nor_repeated() {
    let books = Books::new().await;
    books.reported(&["a"]).await;
    books.store.erase("a", ann(), "", None).await.unwrap();
    assert_eq!(books.act("a", AGAIN).await, Acted::Refused(Reason::Erased));
    let mut empty = command("a");
    empty.body = Vec::new();
    for again in [command("a"), empty] {
        let answers = books.store.enqueue(vec![again]).await.unwrap();
        assert_eq!(answers, [Err(WriteRefused::Conflict { id: "a".into() })]);
    }
    let said = "SELECT cf.enqueue('a', 'shop', 'order.paid', '')";
    assert_eq!(refusal(&books.sql.run(said).await.unwrap_err()), "CF0112");
    books.buried("a").await;
    assert_eq!(books.tombstone("a").await.unwrap().digest, Digest::of(b"body of a"));
    // By its tombstone it can be compared again.
    let said = "SELECT cf.enqueue('a', 'shop', 'order.paid', 'body of a')";
    assert_eq!(books.sql.text(&said.replace("SELECT ", "")).await.as_deref(), Some("repeated"));
    books.is_sound().await;
}

#[tokio::test]
async fn only_what_has_ended_is_erased() {
    let books = Books::new().await;
    books.reported(&["again", "lost"]).await;
    books.act("again", AGAIN).await;
    books.enqueue(command("open")).await;
    let lose =
        "DELETE FROM cf.receipt WHERE n = (SELECT n FROM cf.outbox WHERE command_id = 'lost')";
    books.schema.forger().await.run(lose).await.unwrap();
    for open in ["open", "again", "lost"] {
        assert_eq!(books.store.erase(open, ann(), "", None).await, Ok(Erased::Open), "{open}");
    }
    for unknown in ["never", "", "a\0"] {
        assert_eq!(books.store.erase(unknown, ann(), "", None).await, Ok(Erased::Unknown));
    }
    let nobody = counterfoil_core::port::Actor { name: String::new(), reason: String::new() };
    assert!(books.store.erase("open", nobody, "", None).await.is_err());
    assert_eq!(books.sql.number("SELECT count(*) FROM cf.outbox WHERE erased_at IS NULL").await, 3);
    let acts = "SELECT count(*) FROM cf.operator_action WHERE verb = 'erase'";
    assert_eq!(books.sql.number(acts).await, 0);
}

#[tokio::test]
async fn of_an_archived_one_what_was_said_goes() {
    let books = Books::new().await;
    books.reported(&["a"]).await;
    books.buried("a").await;
    books.sql.run("SELECT cf.reject('a', 's3cret'::text, 's3cret')").await.unwrap();
    let tombstone = books.tombstone("a").await.unwrap();
    let erased = books.store.erase("a", ann(), "asked", None).await.unwrap();
    assert_eq!(erased, Erased::Archived(tombstone.clone()));
    assert!(!all_text(&books).await.contains(SECRET));
    assert_eq!(books.tombstone("a").await, Some(tombstone));
    let acts = "SELECT string_agg(verb || before || after, ' ') FROM cf.operator_action";
    assert_eq!(books.sql.text(acts).await.as_deref(), Some("erasecompletederased"));
}

#[tokio::test]
async fn a_seal_and_an_erasure_are_one_transaction() {
    let books = Books::new().await;
    books.reported(&["a", "b"]).await;
    books.buried("b").await;
    let erase = async |id: &str, version| {
        let seal = Some(SealChange { version, seal: "{}".into() });
        books.store.erase(id, ann(), "", seal).await.unwrap()
    };
    for id in ["a", "b"] {
        assert_eq!(erase(id, 3).await, Erased::SealMoved);
    }
    assert_eq!(books.entry("a").await.erased_at, None);
    assert_eq!(books.count("operator_action").await, 0);
    assert_eq!(erase("a", 0).await, Erased::Done);
    assert!(matches!(erase("b", 1).await, Erased::Archived(_)));
    assert_eq!(erase("a", 7).await, Erased::Repeated);
    assert_eq!(erase("never", 7).await, Erased::Unknown);
    assert_eq!(books.store.sealed().await.unwrap().unwrap().version, 2);
}
