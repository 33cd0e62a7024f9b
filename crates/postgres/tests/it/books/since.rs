//! What came since: receipts by arrival, events, acts of people; and the seal.

use counterfoil_core::domain::Micros;
use counterfoil_core::port::read::FactsFrom;
use counterfoil_core::port::seal::{Arrived, Audited as _};
use counterfoil_core::port::{Act, Store as _};

use super::scene::{AGAIN, Books, command};

/// Receipts at these times, of commands that were reported: at one moment, and years apart.
const TIMES: [(&str, i64); 6] = [
    ("c", 1_764_421_200_000_000),
    ("a", 1_764_421_200_000_000),
    ("b", 1_764_421_200_000_001),
    ("e", 1_764_421_201_500_000),
    ("d", 1_795_000_000_000_000),
    ("f", 1_900_000_000_000_000),
];

async fn arrived() -> Books {
    let books = Books::new().await;
    books.reported(&["a", "b", "c", "d", "e", "f"]).await;
    books.enqueue(command("open")).await;
    let forger = books.schema.forger().await;
    for (id, at) in TIMES {
        let sql = format!(
            "UPDATE cf.receipt SET recorded_at = {at}
             WHERE n = (SELECT n FROM cf.outbox WHERE command_id = '{id}')"
        );
        forger.run(&sql).await.unwrap();
    }
    books
}

#[tokio::test]
async fn receipts_come_in_the_order_of_arrival() {
    let books = arrived().await;
    // In one moment by n.
    let wanted = ["a", "c", "b", "e", "d", "f"];
    for limit in [1, 2, 3, 99] {
        let (mut told, mut after) = (Vec::new(), Arrived::default());
        loop {
            let (facts, next) = books.store.ended_since(after, limit).await.unwrap();
            assert!(facts.commands.len() <= limit);
            told.extend(facts.commands.into_iter().map(|facts| facts.id));
            assert!(facts.last || next != after);
            after = next;
            if facts.last {
                break;
            }
        }
        assert_eq!(told, wanted, "in pages of {limit}");
        assert_eq!(after, Arrived { arrival: TIMES[5].1, n: 6, round: 1 });
        let (facts, next) = books.store.ended_since(after, limit).await.unwrap();
        assert_eq!((facts.commands.len(), facts.last, next), (0, true, after));
    }
    let from = Arrived { arrival: TIMES[2].1, ..Arrived::default() };
    let (facts, _) = books.store.ended_since(from, 99).await.unwrap();
    assert_eq!(facts.commands[0].id, "b");
    assert_eq!(facts.commands.len(), 4);
}

/// Whole, as any audit reads them: also a receipt whose command is gone, and one that is open
/// again.
#[tokio::test]
async fn what_arrived_is_told_whole() {
    let books = Books::new().await;
    books.sent(vec![command("a"), command("lost")]).await;
    books.act("a", AGAIN).await;
    books.drained().await;
    books.act("a", AGAIN).await;
    books
        .schema
        .forger()
        .await
        .run("DELETE FROM cf.outbox WHERE command_id = 'lost'")
        .await
        .unwrap();
    let (facts, next) = books.store.ended_since(Arrived::default(), 99).await.unwrap();
    let mut all = books.store.facts(FactsFrom::default(), 99).await.unwrap().commands;
    assert_eq!(facts.commands.len(), 2, "the second receipt of a command brings it no second time");
    all.sort_by_key(|one| one.receipts[0].arrival);
    let mut told = facts.commands;
    told.sort_by_key(|one| one.receipts[0].arrival);
    assert_eq!(told, all);
    assert_eq!(next.round, 2);
    let (again, _) = books.store.ended_since(Arrived { round: 1, ..next }, 99).await.unwrap();
    assert_eq!(again.commands.len(), 1, "one that arrived in a later page comes again");
}

#[tokio::test]
async fn events_and_acts_come_in_pages() {
    let books = Books::new().await;
    let forger = books.schema.forger().await;
    forger
        .run(
            "INSERT INTO cf.event(stream, seq, kind, body, cause, commands, recorded_at)
             SELECT s, i, 'placed', convert_to('body ' || i, 'UTF8'), 'cause-' || i, i,
               1764421200000000
             FROM (VALUES ('b'), ('a'), ('ä')) t(s), generate_series(1, 3) i",
        )
        .await
        .unwrap();
    for limit in [1, 2, 99] {
        let mut told: Vec<(String, i64)> = Vec::new();
        loop {
            let page = books.store.events(told.last().cloned(), limit).await.unwrap();
            if page.is_empty() {
                break;
            }
            for event in page.into_iter().map(Result::unwrap) {
                assert_eq!(event.body, format!("body {}", event.seq).as_bytes());
                assert_eq!(event.cause, Some(format!("cause-{}", event.seq)));
                assert_eq!((event.kind.as_str(), event.commands), ("placed", event.seq));
                assert_eq!(event.recorded_at, Micros::new(1_764_421_200_000_000));
                told.push((event.stream.to_string(), event.seq));
            }
        }
        let wanted = ["a", "b", "ä"].map(|stream| (1..4).map(move |seq| (stream.to_owned(), seq)));
        assert_eq!(told, wanted.into_iter().flatten().collect::<Vec<_>>());
    }
    books.reported(&["one", "two"]).await;
    for id in ["one", "two"] {
        books.act(id, AGAIN).await;
        books.act(id, Act::Cancel).await;
    }
    let (mut told, mut after) = (Vec::new(), 0);
    while let Some(act) = books.store.actions(after, 1).await.unwrap().pop() {
        assert!(act.arrival > after && act.actor == "ann");
        after = act.arrival;
        told.push(format!("{} {}", act.verb, act.about));
    }
    assert_eq!(told, ["redeliver one", "cancel one", "redeliver two", "cancel two"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_seal_is_written_over_the_one_that_was_read() {
    let books = Books::new().await;
    assert_eq!(books.store.sealed().await.unwrap(), None);
    assert!(!books.store.save_seal(1, "x").await.unwrap());
    let save = |version, seal: String| {
        let store = books.store.clone();
        tokio::spawn(async move { store.save_seal(version, &seal).await.unwrap() })
    };
    for version in 0..4 {
        let savers: Vec<_> =
            (0..6).map(|saver| save(version, format!("{version} {saver}"))).collect();
        let mut written = Vec::new();
        for (saver, saving) in savers.into_iter().enumerate() {
            if saving.await.unwrap() {
                written.push(format!("{version} {saver}"));
            }
        }
        assert_eq!(written.len(), 1, "{written:?}");
        let stands = books.store.sealed().await.unwrap().unwrap();
        assert_eq!((stands.version, stands.seal), (version + 1, written.remove(0)));
        assert!(stands.recorded_at > Micros::EARLIEST);
    }
    assert_eq!(books.count("seal").await, 1);
}
