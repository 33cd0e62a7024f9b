//! Hearing of other processes' commits.

use std::time::{Duration, Instant};

use counterfoil_core::domain::workflow::InputKind;
use counterfoil_core::domain::{Command, Span};
use counterfoil_core::port::{Act, Actor, Deed, Store as _};
use counterfoil_postgres::{Options, PostgresStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::fault::scene::{AtWork, Book, KEYS, command};
use crate::lanes::{completed, declare, exchange, in_lane, terms};
use crate::server::{Stranger, TestSchema};
use crate::workflow;

/// Longer than any test: whoever is woken was told.
const POLL: Duration = Duration::from_secs(3_600);
const PATIENCE: Duration = Duration::from_secs(120);

fn listening(schema: &TestSchema) -> Options {
    let mut options = schema.options();
    options.listen = true;
    options
}

/// A process of its own, as far as a store can tell, which has begun to wait.
async fn process(schema: &TestSchema) -> PostgresStore {
    let store = PostgresStore::open(schema.url(), listening(schema)).await.unwrap();
    store.changed(Duration::ZERO).await;
    store
}

async fn hears(store: &PostgresStore) {
    let heard = tokio::time::timeout(PATIENCE, store.changed(POLL)).await;
    assert!(heard.is_ok(), "it heard nothing");
}

/// Waits until it hears nothing more of what was told before; a listener looks again after a
/// second.
async fn quiet(store: &PostgresStore) {
    const LONGER: Duration = Duration::from_millis(1_400);
    loop {
        let began = Instant::now();
        store.changed(LONGER).await;
        if began.elapsed() >= LONGER {
            return;
        }
    }
}

/// The process id of the session that listens for the schema.
async fn listener(stranger: &Stranger) -> i64 {
    let sql = format!(
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'counterfoil listener' \
         AND query = 'LISTEN \"{}_wake\"' ORDER BY backend_start DESC LIMIT 1",
        stranger.sql("cf.").trim_end_matches('.')
    );
    stranger.number(&sql).await
}

async fn listens(stranger: &Stranger, other_than: i64) -> i64 {
    let began = Instant::now();
    loop {
        let pid = listener(stranger).await;
        if pid != 0 && pid != other_than {
            return pid;
        }
        assert!(began.elapsed() < PATIENCE, "nobody listens");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_commit_of_another_process_is_heard_of() {
    let schema = TestSchema::new().await;
    let (relay, writer) = (process(&schema).await, process(&schema).await);
    let stranger = schema.stranger().await;
    listens(&stranger, 0).await;
    quiet(&relay).await;
    let command = |id| Command::bytes(id, "shop", "k", "body").unwrap();
    writer.enqueue(vec![command("a")]).await.unwrap();
    hears(&relay).await;
    quiet(&relay).await;
    // A writer of plain SQL says so where it wants to; else polling finds it.
    stranger.run("SELECT cf.enqueue('b', 'shop', 'k', ''), cf.wake(), cf.wake()").await.unwrap();
    hears(&relay).await;
    quiet(&relay).await;
    stranger.run("SELECT cf.enqueue('c', 'shop', 'k', '')").await.unwrap();
    let heard = tokio::time::timeout(Duration::from_millis(500), relay.changed(POLL)).await;
    assert!(heard.is_err(), "who told it?");
}

/// A receipt and a signal are what a runner of workflows waits for.
#[tokio::test]
async fn an_input_from_another_process_is_heard_of() {
    let schema = TestSchema::new().await;
    let (runner, writer) = (process(&schema).await, process(&schema).await);
    workflow::booked(&writer, "t").await;
    listens(&schema.stranger().await, 0).await;
    quiet(&runner).await;
    workflow::send(&writer, "t", "a", InputKind::Signal).await;
    hears(&runner).await;
    quiet(&runner).await;
    let deed = Deed { command_id: "t:1:0".into(), act: Act::Cancel, by_filter: false };
    let actor = Actor { name: "ann".into(), reason: String::new() };
    writer.act(vec![deed], actor).await.unwrap();
    hears(&runner).await;
    assert_eq!(workflow::due(&runner).await, ["t a", "t receipt:1:0"]);
}

/// A process that only writes would hold a connection for nothing; and through a pooler that shares
/// connections nothing is heard.
#[tokio::test]
async fn who_does_not_wait_has_no_listener() {
    let schema = TestSchema::new().await;
    let stranger = schema.stranger().await;
    let writer = PostgresStore::open(schema.url(), listening(&schema)).await.unwrap();
    writer.enqueue(vec![Command::bytes("a", "shop", "k", "body").unwrap()]).await.unwrap();
    assert_eq!(listener(&stranger).await, 0);
    let mut options = listening(&schema);
    options.pooler = true;
    let pooled = PostgresStore::open(schema.url(), options).await.unwrap();
    pooled.changed(Duration::from_millis(500)).await;
    assert_eq!(listener(&stranger).await, 0);
    // It tells all the same.
    let relay = process(&schema).await;
    listens(&stranger, 0).await;
    quiet(&relay).await;
    pooled.enqueue(vec![Command::bytes("b", "shop", "k", "body").unwrap()]).await.unwrap();
    hears(&relay).await;
}

/// Once a claim that was told of it began to look behind it, and it lay there until the next poll:
/// a transaction that was open for long commits what is due before all that was claimed meanwhile.
#[tokio::test]
async fn what_was_due_long_before_its_commit_is_found_however_rare_the_poll() {
    let schema = TestSchema::new().await;
    let (relay, writer) = (process(&schema).await, process(&schema).await);
    let stranger = schema.stranger().await;
    listens(&stranger, 0).await;
    let book = Book::default();
    // Nor is anything to be renewed for long, which would look, too.
    let served = vec![book.serves(KEYS, Duration::ZERO, Span::from_secs(6 * 3_600))];
    let options = counterfoil_relay::Options::default().poll(POLL);
    let at_work = AtWork::start(&relay, served, options);
    let delivered = |id: &'static str| {
        let book = book.clone();
        async move {
            let began = Instant::now();
            while !book.times().contains_key(id) {
                assert!(began.elapsed() < PATIENCE, "{id} was not delivered");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    };
    let slow = format!("BEGIN; SELECT cf.enqueue('slow', '{KEYS}', 'k', '{{}}'), cf.wake()");
    stranger.run(&slow).await.unwrap();
    tokio::time::sleep(Duration::from_millis(400)).await;
    writer.enqueue(vec![command(KEYS, "fast")]).await.unwrap();
    delivered("fast").await;
    stranger.run("COMMIT").await.unwrap();
    delivered("slow").await;
    at_work.stop().await;
}

/// What a relay frees and claims in one write is news to others, not to itself.
#[tokio::test]
async fn a_relay_is_not_woken_by_what_it_told_itself() {
    let schema = TestSchema::new().await;
    let (relay, other) = (process(&schema).await, process(&schema).await);
    listens(&schema.stranger().await, 0).await;
    let terms = terms();
    declare(&relay, &terms).await;
    relay.enqueue(["a", "b"].map(|id| in_lane(id, "K")).to_vec()).await.unwrap();
    let claimed = exchange(&relay, &terms, Vec::new(), 9).await.claimed.remove(0);
    quiet(&relay).await;
    quiet(&other).await;
    let done = exchange(&relay, &terms, vec![completed(claimed, &terms)], 9).await;
    assert_eq!(done.claimed[0].command.command_id.as_str(), "b");
    hears(&other).await;
    let heard = tokio::time::timeout(Duration::from_millis(500), relay.changed(POLL)).await;
    assert!(heard.is_err(), "it was told by itself");
}

#[tokio::test]
async fn a_listener_that_was_ended_is_replaced() {
    let schema = TestSchema::new().await;
    let (relay, stranger) = (process(&schema).await, schema.stranger().await);
    let first = listens(&stranger, 0).await;
    quiet(&relay).await;
    stranger.run(&format!("SELECT pg_terminate_backend({first})")).await.unwrap();
    // It looks, since it may have missed something; and then it hears again.
    hears(&relay).await;
    listens(&stranger, first).await;
    quiet(&relay).await;
    stranger.run("SELECT cf.wake()").await.unwrap();
    hears(&relay).await;
}

/// Between a listener and the server; it can swallow all that is said, as a cut cable does.
pub(crate) async fn cable(server: String, cut: watch::Receiver<bool>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let far = TcpStream::connect(&server).await.unwrap();
            let ((near_read, near_write), (far_read, far_write)) =
                (near.into_split(), far.into_split());
            let is_old = !*cut.borrow();
            for (mut from, mut to) in [(near_read, far_write), (far_read, near_write)] {
                let cut = cut.clone();
                tokio::spawn(async move {
                    let mut bytes = [0; 4096];
                    while let Ok(count @ 1..) = from.read(&mut bytes).await {
                        // A connection that was made before the cut goes nowhere since.
                        if !(is_old && *cut.borrow())
                            && to.write_all(&bytes[..count]).await.is_err()
                        {
                            return;
                        }
                    }
                });
            }
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_half_open_connection_is_noticed() {
    let schema = TestSchema::new().await;
    let server = schema.url().split('@').nth(1).unwrap().split('/').next().unwrap().to_owned();
    let (cut, is_cut) = watch::channel(false);
    let port = cable(server.clone(), is_cut).await;
    let mut options = listening(&schema);
    options.heartbeat = Duration::from_secs(1);
    let url = schema.url().replace(&server, &format!("127.0.0.1:{port}"));
    let relay = PostgresStore::open(&url, options).await.unwrap();
    relay.changed(Duration::ZERO).await;
    let stranger = schema.stranger().await;
    listens(&stranger, 0).await;
    quiet(&relay).await;
    cut.send(true).unwrap();
    // Another connection is made, and looks.
    hears(&relay).await;
    quiet(&relay).await;
    stranger.run("SELECT cf.wake()").await.unwrap();
    hears(&relay).await;
}
