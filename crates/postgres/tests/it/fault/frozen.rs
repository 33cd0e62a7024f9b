//! A backend that stands still in the middle of a transaction.

use std::time::Duration;

use counterfoil_core::domain::Span;
use counterfoil_core::port::Store;
use counterfoil_postgres::{Options, PostgresStore};
use tokio_postgres::Client;

use super::scene::{AtWork, Book, KEYS, SCHEMA, command, prepared, prove, wait_for_the_end};
use crate::private::{PrivateServer, signal};
use crate::server::connect_to;

const FIRST: &str = "the_first_relay";

/// Records so many, named after what they are for.
async fn enqueue(store: &PostgresStore, about: &str, count: usize) -> Vec<String> {
    let ids: Vec<String> = (0..count).map(|n| format!("{about}-{n}")).collect();
    for page in ids.chunks(100) {
        let commands = page.iter().map(|id| command(KEYS, id)).collect();
        assert!(store.enqueue(commands).await.unwrap().iter().all(Result::is_ok));
    }
    ids
}

async fn wait_for_all(book: &Book, ids: &[String]) {
    for _ in 0..6_000 {
        let times = book.times();
        if ids.iter().all(|id| times.contains_key(id)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not all were delivered within a minute");
}

/// Stops a backend of the first relay when it holds rows, and waits for the relay's next statement.
async fn freeze(admin: &Client) -> u32 {
    let mut random = super::scene::Random::new();
    let backends = format!(
        "SELECT pid, state = 'idle in transaction' AND EXISTS (
           SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.mode = 'RowExclusiveLock')
         FROM pg_stat_activity a WHERE application_name = '{FIRST}' AND state <> 'idle'"
    );
    for _ in 0..20_000 {
        let rows = admin.query(&backends, &[]).await.unwrap();
        if let Some(row) = rows.first() {
            let pid = u32::try_from(row.get::<_, i32>(0)).unwrap();
            signal("STOP", pid);
            let stands = admin.query(&backends, &[]).await.unwrap();
            // Elsewhere it may hold a lock of the server's own, and all would stand still.
            let holds = stands.iter().any(|row| {
                u32::try_from(row.get::<_, i32>(0)).unwrap() == pid && row.get::<_, bool>(1)
            });
            if holds {
                return pid;
            }
            signal("CONT", pid);
        }
        tokio::time::sleep(Duration::from_micros(random.below(3_000))).await;
    }
    panic!("it was never seen between two statements");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_frozen_backend_holds_up_its_own_relay_and_no_other() {
    let server = PrivateServer::start(&[]);
    let url = server.url();
    prepared(&url).await;
    let admin = connect_to(&url).await;
    let own = format!("{url}&application_name={FIRST}");
    let mut options = Options::default();
    options.statement_timeout = Duration::from_secs(2);
    let first = PostgresStore::open(&own, options).await.unwrap();
    let store = PostgresStore::open(&url, Options::default()).await.unwrap();
    let book = Book::default();
    let served = || vec![book.serves(KEYS, Duration::from_millis(2), Span::from_secs(4))];
    let workers = || counterfoil_relay::Options::default().workers(8);
    let relays = [&first, &store].map(|store| AtWork::start(store, served(), workers()));

    let mut ids = enqueue(&store, "before", 5_000).await;
    let pid = freeze(&admin).await;
    let meanwhile = enqueue(&store, "meanwhile", 50).await;
    wait_for_all(&book, &meanwhile).await;
    // Whatever it has locked is passed over; all else ends, also what it had claimed before.
    let held = format!(
        "SELECT count(*) FROM {SCHEMA}.delivery d WHERE d.n IN (
           SELECT n FROM {SCHEMA}.delivery FOR UPDATE SKIP LOCKED)"
    );
    let mut free = i64::MAX;
    for _ in 0..1_200 {
        free = admin.query_one(&held, &[]).await.unwrap().get(0);
        if free == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(free, 0, "what nobody holds was not delivered");
    let locked = format!("SELECT count(*) FROM {SCHEMA}.delivery");
    let locked: i64 = admin.query_one(&locked, &[]).await.unwrap().get(0);
    assert!(locked > 0, "the frozen backend held nothing, so nothing is proved");
    signal("CONT", pid);
    ids.extend(meanwhile);
    wait_for_the_end(&url, SCHEMA).await;

    // The first goes on by itself.
    let [one, other] = relays;
    other.stop().await;
    let after = enqueue(&store, "after", 50).await;
    wait_for_all(&book, &after).await;
    ids.extend(after);
    wait_for_the_end(&url, SCHEMA).await;
    one.stop().await;
    prove(&store, &url, SCHEMA, &book, &ids).await;
}
