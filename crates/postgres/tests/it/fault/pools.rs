//! More is asked at once than there are connections.

use std::time::{Duration, Instant};

use counterfoil_core::domain::{CommandId, Destination, Span};
use counterfoil_core::port::Store;
use counterfoil_core::port::read::Filter;
use counterfoil_core::port::store::StoreError;
use counterfoil_postgres::PostgresStore;

use super::scene::{AtWork, Book, KEYS, command, prove, wait_for_the_end};
use crate::server::TestSchema;

async fn store_of(schema: &TestSchema, connections: usize, wait: Duration) -> PostgresStore {
    let mut options = schema.options();
    (options.connections, options.connect_timeout) = (connections, wait);
    PostgresStore::open(schema.url(), options).await.unwrap()
}

/// A relay and sixty-four others, by two connections: nobody needs a second one to give back the
/// first.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_connections_serve_a_relay_and_sixty_four_others() {
    let schema = TestSchema::new().await;
    let store = store_of(&schema, 2, Duration::from_secs(120)).await;
    let book = Book::default();
    let served = vec![book.serves(KEYS, Duration::ZERO, Span::from_secs(120))];
    let relay = AtWork::start(&store, served, counterfoil_relay::Options::default());
    let mut asking = Vec::new();
    for at in 0..64 {
        let store = store.clone();
        asking.push(tokio::spawn(async move {
            let destination = Destination::new(KEYS).unwrap();
            let mut ids = Vec::new();
            for round in 0..5 {
                let id = format!("{at}-{round}");
                assert!(store.enqueue(vec![command(KEYS, &id)]).await.unwrap()[0].is_ok());
                match at % 5 {
                    0 => drop(store.list(Filter::default()).await.unwrap()),
                    1 => drop(store.status().await.unwrap()),
                    2 => drop(store.sweep(10, None).await.unwrap()),
                    3 => drop(store.show(&id).await.unwrap().unwrap()),
                    _ => {
                        let except = CommandId::new(&*id).unwrap();
                        store.newest_completed(&destination, &except).await.unwrap();
                    }
                }
                ids.push(id);
            }
            ids
        }));
    }
    let mut ids = Vec::new();
    for one in asking {
        ids.extend(one.await.unwrap());
    }
    wait_for_the_end(schema.url(), schema.name()).await;
    relay.stop().await;
    prove(&store, schema.url(), schema.name(), &book, &ids).await;
}

/// Both connections wait for a stranger's lock: the others are told so in time, and nothing of
/// theirs was written.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn who_finds_no_connection_is_told_in_time() {
    let schema = TestSchema::new().await;
    let store = store_of(&schema, 2, Duration::from_millis(500)).await;
    let holder = schema.stranger().await;
    holder.run("BEGIN; LOCK TABLE cf.outbox IN EXCLUSIVE MODE").await.unwrap();
    let enqueue = |id: String| {
        let store = store.clone();
        tokio::spawn(async move { store.enqueue(vec![command(KEYS, &id)]).await })
    };
    let waiting: Vec<_> = (0..2).map(|n| enqueue(format!("waits-{n}"))).collect();
    // By another: within one transaction this view stands still.
    let watcher = schema.stranger().await;
    let pid = holder.number("SELECT pg_backend_pid()").await;
    let waits =
        format!("SELECT count(*) FROM pg_stat_activity WHERE {pid} = ANY(pg_blocking_pids(pid))");
    for _ in 0..2_000 {
        if watcher.number(&waits).await == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let began = Instant::now();
    let refused: Vec<_> = (0..30).map(|n| enqueue(format!("refused-{n}"))).collect();
    for one in refused {
        match one.await.unwrap() {
            Err(StoreError::Unavailable(why)) => {
                assert!(why.contains("no connection became free in time"), "{why}");
            }
            other => panic!("{other:?}"),
        }
    }
    // All waited at the same time, some of them twice.
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert!(began.elapsed() >= Duration::from_millis(500), "{:?}", began.elapsed());
    holder.run("COMMIT").await.unwrap();
    for one in waiting {
        assert!(one.await.unwrap().unwrap()[0].is_ok());
    }
    assert!(enqueue("after".into()).await.unwrap().unwrap()[0].is_ok());
    assert_eq!(holder.number("SELECT count(*) FROM cf.outbox").await, 3);
}
