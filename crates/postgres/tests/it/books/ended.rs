//! Which commands may be archived, page by page.

use counterfoil_core::domain::Micros;
use counterfoil_core::domain::transition::Verdict;
use counterfoil_core::port::archive::Archive as _;
use counterfoil_core::port::{Act, Acted};

use super::scene::{AGAIN, Books, command, ids, in_lane};

#[tokio::test]
async fn what_ended_comes_whole_and_what_stays_is_counted() {
    let books = Books::new().await;
    books.sent(vec![command("one"), in_lane("two")]).await;
    books.reported(&["of-workflow", "plain-stream", "contradicted", "bad", "again"]).await;
    books.enqueue(command("open")).await;
    books.sql.run("SELECT cf.reject('contradicted', 'no'::text)").await.unwrap();
    assert!(matches!(books.act("again", AGAIN).await, Acted::Done { .. }));
    let forger = books.schema.forger().await;
    forger
        .run(
            "UPDATE cf.outbox SET stream = command_id, seq = 1, idx = 0
             WHERE command_id IN ('of-workflow', 'plain-stream');
             INSERT INTO cf.stream(stream, head, workflow) VALUES ('of-workflow', 1, 'trip');
             INSERT INTO cf.stream(stream, head) VALUES ('plain-stream', 1);
             UPDATE cf.outbox SET command_id = E'bad\\x01' WHERE command_id = 'bad'",
        )
        .await
        .unwrap();
    for limit in [1, 2, 99] {
        let (mut all, mut after) = (Vec::new(), 0);
        let mut kept = (0, 0, 0, 0);
        loop {
            let page = books.page(after, limit).await;
            assert!(page.entries.len() <= limit && (page.last || page.looked_at > after));
            let k = page.kept;
            kept = (
                kept.0 + k.of_workflow,
                kept.1 + k.contradicted,
                kept.2 + k.unreadable,
                kept.3 + k.newest,
            );
            all.extend(page.entries);
            after = page.looked_at;
            if page.last {
                break;
            }
        }
        assert_eq!(ids(&all), ["one", "two", "plain-stream"], "in pages of {limit}");
        assert_eq!(kept, (1, 1, 1, 0), "in pages of {limit}");
        assert!(all.windows(2).all(|pair| pair[0].outbox.n < pair[1].outbox.n));
    }
    // Who looked into a contradiction lets it go.
    let verdict = Verdict::Completed { result: None };
    books.act("contradicted", Act::Resolve(verdict)).await;
    let page = books.page(0, 99).await;
    assert_eq!((page.entries.len(), page.kept.contradicted), (4, 0));
    let whole = page.entries.iter().find(|entry| !entry.actions.is_empty()).unwrap();
    assert_eq!(whole.outbox.command_id.as_str(), "contradicted");
    assert_eq!(whole.contradictions[0].outcome, "rejected");
    assert_eq!((whole.actions[0].verb.as_str(), &*whole.actions[0].actor), ("resolve", "ann"));
    assert_eq!(*whole, books.entry("contradicted").await);
    // And who is contradicted again waits again.
    books.sql.run("SELECT cf.reject('contradicted', 'never'::text)").await.unwrap();
    assert_eq!(books.page(0, 99).await.kept.contradicted, 1);
}

/// The newest receipt counts.
#[tokio::test]
async fn what_ended_at_the_time_or_later_is_young() {
    let books = Books::new().await;
    books.reported(&["a"]).await;
    let at = books.entry("a").await.newest().unwrap().receipt.recorded_at;
    let next = Micros::new(at.get() + 1);
    let before = async |time| books.store.ended(time, 0, 9).await.unwrap().entries.len();
    assert_eq!((before(at).await, before(next).await), (0, 1));
    books.act("a", AGAIN).await;
    assert_eq!(before(Micros::LATEST).await, 0, "open again");
    books.drained().await;
    assert_eq!((before(next).await, before(Micros::LATEST).await), (0, 1));
}

/// However many rows a page may hold, it holds bodies that fit into memory.
#[tokio::test]
async fn a_page_is_bounded_in_bytes() {
    let books = Books::new().await;
    for id in ["a", "b", "c"] {
        let sql = format!(
            "SELECT cf.enqueue('{id}', 'shop', 'k', repeat('x', 16 << 20));
             SELECT cf.complete('{id}')"
        );
        books.sql.run(&sql).await.unwrap();
    }
    let page = books.page(0, 99).await;
    assert_eq!((ids(&page.entries), page.last), (vec!["a", "b"], false));
    let page = books.page(page.looked_at, 99).await;
    assert_eq!((ids(&page.entries), page.last), (vec!["c"], true));
}

/// A page looks at a bounded number of rows: among many that are open it may be empty.
#[tokio::test]
async fn an_empty_page_need_not_be_the_last() {
    let books = Books::new().await;
    books
        .sql
        .run(
            "INSERT INTO cf.outbox(command_id, destination, kind, body)
             SELECT 'open-' || i, 'elsewhere', 'k', '' FROM generate_series(1, 300) i",
        )
        .await
        .unwrap();
    books.reported(&["ended"]).await;
    let page = books.page(0, 3).await;
    assert_eq!((page.entries.len(), page.looked_at, page.last), (0, 256, false));
    let page = books.page(page.looked_at, 3).await;
    assert_eq!((ids(&page.entries), page.last), (vec!["ended"], true));
}
