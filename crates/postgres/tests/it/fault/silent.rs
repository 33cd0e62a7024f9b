//! A server or a network that says nothing any more, while its connections stay.

use std::time::Duration;

use counterfoil_core::domain::{Destination, Digest, Event, Micros, ReceiptOutcome, Span, Stream};
use counterfoil_core::port::read::Filter;
use counterfoil_core::port::store::{Append, StoreError};
use counterfoil_core::port::{Book as _, InboxRows as _, Page as _, Store};
use counterfoil_postgres::{InboxBook, OpenError, Options, PostgresStore};
use futures_util::future::join_all;
use tokio::sync::watch;

use super::scene::{AtWork, Book, KEYS, SCHEMA, command, prepared, prove, wait_for_the_end};
use crate::listen::cable;
use crate::private::PrivateServer;
use crate::server::connect_to;

/// Longer than any bound that is tried here; whatever ends later hangs.
const PATIENCE: Duration = Duration::from_secs(120);

fn impatient() -> Options {
    let mut options = Options::default();
    options.answer_timeout = Duration::from_secs(1);
    options.connect_timeout = Duration::from_secs(1);
    options
}

/// Ends in time, and says that the store cannot be used now or that the end is not known.
async fn ends<T: std::fmt::Debug>(
    what: &str,
    call: impl Future<Output = Result<T, StoreError>>,
) -> StoreError {
    let ended = tokio::time::timeout(PATIENCE, call).await;
    match ended.unwrap_or_else(|_| panic!("{what} hangs")) {
        Err(error @ (StoreError::Unavailable(_) | StoreError::NotKnown(_))) => error,
        other => panic!("{what}: {other:?}"),
    }
}

async fn enqueue(store: &PostgresStore, about: &str) -> Vec<String> {
    let ids: Vec<String> = (0..20).map(|n| format!("{about}-{n}")).collect();
    let commands = ids.iter().map(|id| command(KEYS, id)).collect();
    assert!(store.enqueue(commands).await.unwrap().iter().all(Result::is_ok));
    ids
}

/// Each kind of call ends by itself, a relay goes on afterwards, and nothing is lost or done twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_frozen_server_is_not_waited_for_without_end() {
    let server = PrivateServer::start(&[]);
    let url = server.url();
    prepared(&url).await;
    let store = PostgresStore::open(&url, impatient()).await.unwrap();
    let own = PostgresStore::open(&url, impatient()).await.unwrap();
    let book = Book::default();
    let served = vec![book.serves(KEYS, Duration::from_millis(2), Span::from_secs(60))];
    let relay = AtWork::start(&own, served, counterfoil_relay::Options::default());
    let mut ids = enqueue(&store, "before").await;
    wait_for_the_end(&url, SCHEMA).await;
    let shop = Destination::new(KEYS).unwrap();
    // Connections that wait in the pool, so that it is these that say nothing.
    join_all((0..6).map(|_| store.status())).await;

    server.freeze();
    let why = ends("enqueue", store.enqueue(vec![command(KEYS, "meanwhile")])).await;
    assert!(why.to_string().contains("within 1s"), "{why}");
    ends("next_due", store.next_due(std::slice::from_ref(&shop))).await;
    ends("status", store.status()).await;
    ends("list", store.list(Filter::default())).await;
    ends("show", store.show("before-1")).await;
    ends("sweep", store.sweep(10, None)).await;
    let stream = Stream::new("order").unwrap();
    ends("load", store.load(&stream, 0, 10)).await;
    let events = vec![Event::json("paid", &1).unwrap()];
    let append = Append { stream, expected_seq: 0, events, commands: Vec::new() };
    ends("append", store.append(append)).await;
    let opened = tokio::time::timeout(PATIENCE, PostgresStore::open(&url, impatient())).await;
    assert!(matches!(opened, Ok(Err(OpenError::Server(_)))), "{opened:?}");
    server.thaw();

    // What was asked of it may be done now, its COMMIT too: it is the same intent.
    let again = store.enqueue(vec![command(KEYS, "meanwhile")]).await.unwrap();
    assert!(again[0].is_ok(), "{again:?}");
    ids.push("meanwhile".into());
    ids.extend(enqueue(&store, "after").await);
    ids.extend(enqueue(&store, "later").await);
    wait_for_the_end(&url, SCHEMA).await;
    relay.stop().await;
    prove(&store, &url, SCHEMA, &book, &ids).await;
}

/// The network has forgotten all connections, as a firewall does after a night: the first that is
/// found silent takes the others with it, and the call goes through on a fresh one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_the_network_forgot_cost_one_wait() {
    let server = PrivateServer::start(&[]);
    prepared(&server.url()).await;
    let (cut, is_cut) = watch::channel(false);
    let port = cable(format!("127.0.0.1:{}", server.port()), is_cut).await;
    let url = server.url().replace(&server.port().to_string(), &port.to_string());
    let store = PostgresStore::open(&url, impatient()).await.unwrap();
    let waiting = join_all((0..6).map(|_| store.status())).await;
    assert!(waiting.iter().all(Result::is_ok), "{waiting:?}");
    cut.send(true).unwrap();
    let recorded = store.enqueue(vec![command(KEYS, "a")]).await.unwrap();
    assert!(recorded[0].is_ok(), "{recorded:?}");
    assert!(store.show("a").await.unwrap().is_some());
}

/// A receiver's book: a page that was under way fails in time, and the next one is on a fresh
/// connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_book_whose_connection_went_silent_goes_on_with_another() {
    let server = PrivateServer::start(&[]);
    let (cut, is_cut) = watch::channel(false);
    let port = cable(format!("127.0.0.1:{}", server.port()), is_cut).await;
    let url = server.url().replace(&server.port().to_string(), &port.to_string());
    let done = tokio::task::spawn_blocking(move || {
        let mut book = InboxBook::open(&url, &impatient()).unwrap();
        let mut page = book.page().unwrap();
        page.insert("urn:x", "first", Digest::of(b"1"), Micros::LATEST).unwrap();
        cut.send(true).unwrap();
        let refused = page.commit().unwrap_err().to_string();
        assert!(refused.contains("no answer within 1s"), "{refused}");
        // The server may still hold the first one's row: it is another key's turn.
        let mut page = book.page().unwrap();
        page.insert("urn:x", "second", Digest::of(b"2"), Micros::LATEST).unwrap();
        page.finish("urn:x", "second", ReceiptOutcome::Completed, b"7").unwrap();
        page.commit().unwrap();
    });
    tokio::time::timeout(PATIENCE, done).await.expect("the book hangs").unwrap();
    let client = connect_to(&server.url()).await;
    let keys = format!("SELECT count(*) FROM {SCHEMA}.inbox WHERE outcome = 'completed'");
    assert_eq!(client.query_one(&keys, &[]).await.unwrap().get::<_, i64>(0), 1);
}
