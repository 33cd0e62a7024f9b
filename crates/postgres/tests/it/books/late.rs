//! What comes after a command was archived finds its tombstone.

use counterfoil_core::domain::{Event, OrderingKey, ReceiptOutcome, Stream};
use counterfoil_core::port::store::{Append, Recorded, Reported, WriteRefused};
use counterfoil_core::port::{Act, Acted, Store as _};

use super::scene::{AGAIN, Books, command, report};
use crate::server::refusal;

#[tokio::test]
async fn a_late_report_is_judged_by_the_tombstone() {
    let books = Books::new().await;
    books.sent(vec![command("a"), command("b")]).await;
    for id in ["a", "b"] {
        books.buried(id).await;
    }
    let said = async |id, outcome, token| report(&books.store, id, outcome, token).await;
    assert_eq!(said("a", ReceiptOutcome::Completed, None).await, Reported::Repeated);
    assert!(matches!(said("a", ReceiptOutcome::Completed, Some(7)).await, Reported::Refused(_)));
    assert_eq!(books.count("contradiction").await, 0);
    assert_eq!(said("a", ReceiptOutcome::Rejected, None).await, Reported::Contradiction);
    let sql = async |call: &str| match books.sql.query(&format!("SELECT cf.{call}"), &[]).await {
        Ok(rows) => rows[0].get::<_, String>(0),
        Err(error) => refusal(&error),
    };
    for (call, wanted) in [
        ("complete('b')", "repeated"),
        ("complete('b', 'another'::text)", "repeated"),
        ("complete('b', token => 7)", "CF0203"),
        ("reject('b', 'no'::text)", "contradiction"),
        ("reject('b', 'no'::text)", "contradiction"),
        ("complete('never')", "CF0202"),
    ] {
        assert_eq!(sql(call).await, wanted, "{call}");
    }
    // Each once, in the round that the tombstone tells.
    let kept =
        "SELECT string_agg(command_id || round, ' ' ORDER BY command_id) FROM cf.contradiction";
    assert_eq!(books.sql.text(kept).await.as_deref(), Some("a1 b1"));
    assert_eq!(books.tombstone("a").await.unwrap().outcome, "completed");
    let story = books.store.show("a").await.unwrap().unwrap();
    assert!(story.contradicted && story.archived);
}

#[tokio::test]
async fn nobody_sends_an_archived_one_again() {
    let books = Books::new().await;
    books.reported(&["a"]).await;
    books.buried("a").await;
    for act in [AGAIN, Act::Retry { may_act_twice: true }, Act::Cancel] {
        assert_eq!(books.act("a", act).await, Acted::Archived);
    }
    assert_eq!((books.count("delivery").await, books.count("operator_action").await), (0, 0));
}

#[tokio::test]
async fn its_id_is_never_another_intent() {
    let books = Books::new().await;
    books.reported(&["a", "o-1:1:0"]).await;
    for id in ["a", "o-1:1:0"] {
        books.buried(id).await;
    }
    let key = OrderingKey::new("K").unwrap();
    let mut other = command("a");
    other.body = b"another".to_vec();
    let conflict = |id: &str| WriteRefused::Conflict { id: id.into() };
    for (again, wanted) in [
        (command("a"), Ok(Recorded::Repeated)),
        (other, Err(conflict("a"))),
        (command("a").ordering_key(key), Err(conflict("a"))),
    ] {
        assert_eq!(books.store.enqueue(vec![again]).await.unwrap(), [wanted]);
    }
    let append = Append {
        stream: Stream::new("o-1").unwrap(),
        expected_seq: 0,
        events: vec![Event::json("placed", &1).unwrap()],
        commands: vec![counterfoil_core::domain::Command { id: None, ..command("x") }],
    };
    assert_eq!(books.store.append(append).await.unwrap(), Err(conflict("o-1:1:0")));
    let run = async |sql: &str| match books.sql.query(sql, &[]).await {
        Ok(rows) => rows.first().map_or_else(String::new, |row| row.get(0)),
        Err(error) => refusal(&error),
    };
    let insert = "INSERT INTO cf.outbox(command_id, destination, kind, body)
        VALUES ('a', 'shop', 'order.paid', 'body of a')";
    let record = |body: &str| {
        format!(
            "SELECT cf.record('a', 'shop', 'order.paid', '{body}'::bytea, NULL, 'application/json',
             NULL, NULL, NULL, NULL)"
        )
    };
    for (sql, wanted) in [
        ("SELECT cf.enqueue('a', 'shop', 'order.paid', 'body of a')".to_owned(), "repeated"),
        ("SELECT cf.enqueue('a', 'shop', 'order.paid', 'another')".to_owned(), "CF0104"),
        (record("body of a"), "repeated"),
        (record("another"), "conflict"),
        (insert.to_owned(), "CF0103"),
        (format!("{insert} ON CONFLICT DO NOTHING"), "CF0103"),
        (insert.replace("body of a", "another"), "CF0103"),
    ] {
        assert_eq!(run(&sql).await, wanted, "{sql}");
    }
    assert_eq!(books.count("outbox").await, 0);
    books.is_sound().await;
}
