//! A burial removes what stands exactly as it was read, and leaves its tombstone.

use counterfoil_core::domain::transition::Verdict;
use counterfoil_core::domain::{Digest, Event, Stream};
use counterfoil_core::port::archive::{Archive as _, Buried, SealChange};
use counterfoil_core::port::seal::Audited as _;
use counterfoil_core::port::store::Append;
use counterfoil_core::port::{Act, Acted, Store as _};

use super::scene::{AGAIN, Books, FILE, command, ids, in_lane};

#[tokio::test]
async fn a_tombstone_stays_and_the_books_still_balance() {
    let books = Books::new().await;
    books.sent(vec![in_lane("a"), in_lane("b"), command("c")]).await;
    books.act("c", AGAIN).await;
    books.drained().await;
    let append = Append {
        stream: Stream::new("o-1").unwrap(),
        expected_seq: 0,
        events: vec![Event::json("placed", &1).unwrap()],
        commands: vec![counterfoil_core::domain::Command { id: None, ..command("x") }],
    };
    books.store.append(append).await.unwrap().unwrap();
    books.drained().await;
    books.enqueue(in_lane("next")).await;
    books
        .sql
        .run("INSERT INTO cf.outbox(command_id, destination, kind, body) VALUES ('z','q','k','')")
        .await
        .unwrap();
    books.is_sound().await;
    let entries = books.page(0, 99).await.entries;
    assert_eq!(ids(&entries), ["a", "b", "c", "o-1:1:0"]);
    assert_eq!(books.bury(entries).await, [true; 4]);
    assert_eq!((books.count("outbox").await, books.count("receipt").await), (2, 0));
    books.is_sound().await;
    let tomb = books.tombstone("a").await.unwrap();
    assert_eq!((&*tomb.destination, &*tomb.kind, &*tomb.file), ("shop", "order.paid", FILE));
    assert_eq!(tomb.ordering_key.as_deref(), Some("K"));
    assert_eq!((&*tomb.outcome, tomb.rounds), ("completed", 1));
    assert_eq!(tomb.digest, Digest::of(b"body of a"));
    assert_eq!(tomb.row_digest, Some(tomb.row_digest()));
    assert_eq!(books.tombstone("c").await.unwrap().rounds, 2);
    let story = books.store.show("a").await.unwrap().unwrap();
    assert!(story.archived && story.listed.state == "completed");
    assert_eq!(books.store.entry("a").await.unwrap(), None);
    // Its lane goes on.
    books.drained().await;
    books.is_sound().await;
}

#[tokio::test]
async fn attempts_go_with_it() {
    let books = Books::new().await;
    books.reported(&["a", "b"]).await;
    let n = books.entry("a").await.outbox.n;
    let attempt = |n: i64| {
        format!(
            "INSERT INTO cf.attempt(n, round, token, purpose, outcome, reason, ended_at)
             VALUES ({n}, 1, 7, 'send', 'unknown', 'reset', 1764421200000000)"
        )
    };
    let forger = books.schema.forger().await;
    forger.run(&attempt(n)).await.unwrap();
    forger.run(&attempt(n + 1)).await.unwrap();
    let entry = books.entry("a").await;
    assert_eq!(entry.attempts[0].reason.as_deref(), Some("reset"));
    // One that came since it was read: what is written to the file would not be all.
    forger.run(&attempt(n)).await.unwrap();
    assert_eq!(books.bury(vec![entry]).await, [false]);
    books.buried("a").await;
    assert_eq!(books.sql.number("SELECT count(*) FROM cf.attempt").await, 1);
}

#[tokio::test]
async fn what_is_not_as_it_was_read_is_left() {
    let books = Books::new().await;
    let all = ["again", "contradicted", "acted-on", "other-body", "erased", "same", "gone"];
    books.reported(&all).await;
    let mut entries = books.page(0, 99).await.entries;
    assert_eq!(ids(&entries), all);
    books.act("again", AGAIN).await;
    assert_eq!(books.store.entry("again").await.unwrap(), None, "it is open");
    books.sql.run("SELECT cf.reject('contradicted', 'no'::text)").await.unwrap();
    books.sql.run("SELECT cf.reject('acted-on', 'no'::text)").await.unwrap();
    entries[2] = books.entry("acted-on").await;
    books.act("acted-on", Act::Resolve(Verdict::Completed { result: None })).await;
    entries[3].outbox.body = b"another".to_vec();
    books.store.erase("erased", super::scene::ann(), "asked", None).await.unwrap();
    books.buried("gone").await;
    entries.push(entries[5].clone());
    let buried = books.bury(entries.clone()).await;
    assert_eq!(buried, [false, false, false, false, false, true, false, false]);
    assert_eq!(books.count("archived").await, 2);
    assert_eq!(books.count("outbox").await, 5);
    books.drained().await;
    assert_eq!(books.bury(entries).await, [false; 8], "it has another receipt now");
    for id in ["again", "contradicted", "acted-on", "other-body", "erased"] {
        assert_eq!(books.tombstone(id).await, None, "{id}");
    }
}

/// A tombstone that stands beside its command is a violation to be looked into, and stops nobody.
#[tokio::test]
async fn a_command_that_has_a_tombstone_already_stays() {
    let books = Books::new().await;
    books.reported(&["a", "b"]).await;
    let forger = books.schema.forger().await;
    forger
        .run(
            "INSERT INTO cf.archived(command_id, destination, kind, digest, outcome, rounds, file)
             VALUES ('a', 'shop', 'order.paid', '', 'completed', 1, 'old')",
        )
        .await
        .unwrap();
    let entries = books.page(0, 9).await.entries;
    assert_eq!(books.bury(entries).await, [false, true]);
    assert_eq!(books.tombstone("a").await.unwrap().file, "old");
    assert_eq!(books.count("outbox").await, 1);
}

/// Whoever holds a row is not waited for.
#[tokio::test]
async fn what_another_transaction_holds_is_left() {
    let books = Books::new().await;
    books.reported(&["a", "b", "c"]).await;
    let entries = books.page(0, 9).await.entries;
    let holder = books.schema.forger().await;
    holder
        .run(
            "BEGIN; SELECT FROM cf.receipt WHERE n = (SELECT min(n) FROM cf.outbox) FOR UPDATE;
             SELECT FROM cf.outbox WHERE command_id = 'c' FOR UPDATE",
        )
        .await
        .unwrap();
    assert_eq!(books.bury(entries.clone()).await, [false, true, false]);
    holder.run("COMMIT").await.unwrap();
    assert_eq!(books.bury(entries).await, [true, false, true]);
    books.is_sound().await;
}

#[tokio::test]
async fn a_seal_and_a_burial_are_one_transaction() {
    let books = Books::new().await;
    books.reported(&["a", "b"]).await;
    let bury = async |id: &str, version: i64| {
        let seal = Some(SealChange { version, seal: format!("{{\"without\":\"{id}\"}}") });
        books.store.bury(FILE, vec![books.entry(id).await], seal).await.unwrap()
    };
    assert_eq!(bury("a", 3).await, Buried::SealMoved);
    assert!(books.store.sealed().await.unwrap().is_none());
    assert_eq!(books.count("outbox").await, 2);
    assert_eq!(bury("a", 0).await, Buried::Done(vec![true]));
    assert_eq!(bury("b", 0).await, Buried::SealMoved);
    assert_eq!(bury("b", 2).await, Buried::SealMoved);
    assert_eq!(bury("b", 1).await, Buried::Done(vec![true]));
    let seal = books.store.sealed().await.unwrap().unwrap();
    assert_eq!((seal.version, &*seal.seal), (2, "{\"without\":\"b\"}"));
    assert!(matches!(books.act("a", AGAIN).await, Acted::Archived));
}

#[tokio::test]
async fn tombstones_come_by_the_bytes_of_their_ids() {
    let books = Books::new().await;
    let names = ["b", "订单", "a", "Z", "a:1", "ä"];
    books.reported(&names).await;
    let entries = books.page(0, 9).await.entries;
    assert_eq!(books.bury(entries).await, [true; 6]);
    let mut sorted = names;
    sorted.sort_unstable();
    for limit in [1, 4, 99] {
        let mut told: Vec<String> = Vec::new();
        loop {
            let after = told.last().map(String::as_str);
            let page = books.store.tombstones(after, limit).await.unwrap();
            if page.is_empty() {
                break;
            }
            assert!(page.len() <= limit);
            told.extend(page.into_iter().map(|tomb| tomb.command_id));
        }
        assert_eq!(told, sorted, "in pages of {limit}");
    }
    let asked = ["a", "a\0", "none", "", "订单", "a"].map(String::from);
    let told = books.store.tombstones_of(&asked).await.unwrap();
    let told: Vec<_> = told.iter().map(|it| it.as_ref().map(|it| it.command_id.as_str())).collect();
    assert_eq!(told, [Some("a"), None, None, None, Some("订单"), Some("a")]);
}

/// Whatever stands about an open one otherwise.
#[tokio::test]
async fn what_has_a_delivery_is_left() {
    let books = Books::new().await;
    books.reported(&["a"]).await;
    let entry = books.entry("a").await;
    let reopen = "INSERT INTO cf.delivery(n, destination, state, round, available_at)
        SELECT n, destination, 'pending', 2, 1 FROM cf.outbox";
    books.schema.forger().await.run(reopen).await.unwrap();
    assert_eq!(books.bury(vec![entry]).await, [false]);
    assert_eq!(books.page(0, 9).await.entries, []);
    assert_eq!((books.count("outbox").await, books.count("receipt").await), (1, 1));
}
