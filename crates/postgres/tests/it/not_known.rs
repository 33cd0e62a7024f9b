//! No answer to COMMIT: what was written is found by its ids, or it is told that it is not known.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use counterfoil_core::domain::workflow::InputKind;
use counterfoil_core::domain::{Command, Destination, Event, Micros, OrderingKey, Stream};
use counterfoil_core::port::archive::{Archive as _, Buried, SealChange};
use counterfoil_core::port::seal::Audited as _;
use counterfoil_core::port::store::{Append, StoreError, WriteRefused};
use counterfoil_core::port::workflow::{Decision, StepRefused};
use counterfoil_core::port::{Store as _, Workflows as _};
use counterfoil_postgres::PostgresStore;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::server::{TestSchema, url};
use crate::workflow;

const PASS: u8 = 0;
/// The next COMMIT does not reach the server.
const CUT_BEFORE: u8 = 1;
/// The answer to the next COMMIT does not reach the client.
const CUT_AFTER: u8 = 2;
/// As the two before, but the network says nothing any more, and the connection stays.
const STALL_BEFORE: u8 = 3;
const STALL_AFTER: u8 = 4;
const ALL: [u8; 4] = [CUT_BEFORE, CUT_AFTER, STALL_BEFORE, STALL_AFTER];

/// A network between store and server that breaks at a COMMIT, once.
struct Network {
    url: String,
    mode: Arc<AtomicU8>,
}

impl Network {
    async fn new() -> Self {
        let server: Config = url().parse().unwrap();
        let host = match server.get_hosts() {
            [Host::Tcp(host), ..] => host.clone(),
            _ => "127.0.0.1".into(),
        };
        let address = (host, server.get_ports().first().copied().unwrap_or(5432));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mode = Arc::new(AtomicU8::new(PASS));
        let shared = Arc::clone(&mode);
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let server = TcpStream::connect(&address).await.unwrap();
                tokio::spawn(carry(client, server, Arc::clone(&shared)));
            }
        });
        let user = server.get_user().unwrap_or("postgres");
        let database = server.get_dbname().unwrap_or("postgres");
        let mut url =
            format!("host=127.0.0.1 port={port} user={user} dbname={database} sslmode=disable");
        if let Some(password) = server.get_password() {
            url.push_str(&format!(" password='{}'", String::from_utf8_lossy(password)));
        }
        Self { url, mode }
    }

    fn cut(&self, mode: u8) {
        self.mode.store(mode, Ordering::SeqCst);
    }

    fn has_cut(&self) -> bool {
        self.mode.load(Ordering::SeqCst) == PASS
    }
}

/// Carries bytes both ways until either side ends, or a COMMIT comes upon a cut.
async fn carry(mut client: TcpStream, mut server: TcpStream, mode: Arc<AtomicU8>) {
    let (mut asked, mut told) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let is_commit = |bytes: &[u8]| bytes.windows(7).any(|window| window == b"COMMIT\0");
    let (mut is_cut, mut is_stalled) = (false, false);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(len @ 1..) = read else { return };
                if is_commit(&asked[..len]) {
                    let cut = mode.swap(PASS, Ordering::SeqCst);
                    match cut {
                        CUT_BEFORE => return,
                        STALL_BEFORE => return stall(client).await,
                        _ => is_cut |= cut != PASS,
                    }
                    is_stalled |= cut == STALL_AFTER;
                }
                if server.write_all(&asked[..len]).await.is_err() {
                    return;
                }
            }
            read = server.read(&mut told) => {
                let Ok(len @ 1..) = read else { return };
                if is_cut {
                    // The server has committed once it says so.
                    if is_commit(&told[..len]) {
                        return if is_stalled { stall(client).await };
                    }
                } else if client.write_all(&told[..len]).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Until the client gives it up.
async fn stall(mut client: TcpStream) {
    let mut asked = [0; 1 << 10];
    while let Ok(1..) = client.read(&mut asked).await {}
}

async fn store(schema: &TestSchema, network: &Network) -> PostgresStore {
    let mut options = schema.options();
    options.answer_timeout = Duration::from_secs(1);
    PostgresStore::open(&network.url, options).await.unwrap()
}

fn command(id: &str) -> Command {
    Command::bytes(id, "shop", "order.paid", format!("body of {id}")).unwrap()
}

async fn count(schema: &TestSchema, table: &str) -> i64 {
    schema.stranger().await.number(&format!("SELECT count(*) FROM cf.{table}")).await
}

#[tokio::test]
async fn a_command_is_found_by_its_id() {
    for cut in ALL {
        let (schema, network) = (TestSchema::new().await, Network::new().await);
        let store = store(&schema, &network).await;
        let in_lane =
            Command { ordering_key: Some(OrderingKey::new("k").unwrap()), ..command("b") };
        for batch in [vec![command("a")], vec![in_lane, command("c")]] {
            network.cut(cut);
            let answers = store.enqueue(batch.clone()).await.unwrap();
            assert!(network.has_cut() && answers.iter().all(Result::is_ok), "{cut}: {answers:?}");
        }
        assert_eq!((count(&schema, "outbox").await, count(&schema, "delivery").await), (3, 3));
    }
}

#[tokio::test]
async fn a_decision_is_found_by_its_event_and_ids() {
    for cut in ALL {
        let (schema, network) = (TestSchema::new().await, Network::new().await);
        let store = store(&schema, &network).await;
        for expected_seq in [0, 1] {
            let append = Append {
                stream: Stream::new("o-1").unwrap(),
                expected_seq,
                events: vec![Event::json("placed", &expected_seq).unwrap()],
                commands: vec![Command { id: None, ..command("x") }],
            };
            network.cut(cut);
            let appended = store.append(append).await.unwrap().unwrap();
            assert!(network.has_cut(), "{cut}");
            assert_eq!(appended.seq, expected_seq + 1, "{cut}");
        }
        assert_eq!((count(&schema, "event").await, count(&schema, "outbox").await), (2, 2));
    }
}

#[tokio::test]
async fn a_step_is_found_by_its_events() {
    for cut in ALL {
        let (schema, network) = (TestSchema::new().await, Network::new().await);
        let store = store(&schema, &network).await;
        let of = ["t", "u"];
        for stream in of {
            workflow::send(&store, stream, "start", InputKind::Start).await;
        }
        let decision = Decision { commands: vec![workflow::book()], ..workflow::started() };
        let steps = of.map(|of| workflow::step(&store, of, 0, vec![decision.clone()]));
        network.cut(cut);
        assert_eq!(store.steps(steps.to_vec()).await.unwrap(), [Ok(()), Ok(())], "{cut}");
        assert!(network.has_cut(), "{cut}");
        assert_eq!((count(&schema, "event").await, count(&schema, "outbox").await), (2, 2));
        // What another runner has decided is not taken for the own.
        let mut theirs = workflow::step(&store, "t", 0, vec![workflow::started()]);
        theirs.decisions[0].event.body = b"theirs".to_vec();
        network.cut(CUT_BEFORE);
        let moved = StepRefused::Moved { stream: "t".into(), expected: 0, actual: 1 };
        assert_eq!(store.steps(vec![theirs]).await.unwrap(), [Err(moved)], "{cut}");
        network.cut(PASS);
    }
}

/// Another decision that came first is not taken for the own one.
#[tokio::test]
async fn anothers_decision_is_a_conflict() {
    let (schema, network) = (TestSchema::new().await, Network::new().await);
    let store = store(&schema, &network).await;
    let append = |body: &str| Append {
        stream: Stream::new("o-1").unwrap(),
        expected_seq: 0,
        events: vec![Event::json("placed", &body).unwrap()],
        commands: Vec::new(),
    };
    schema.store().await.append(append("theirs")).await.unwrap().unwrap();
    network.cut(CUT_BEFORE);
    let refused = store.append(append("ours")).await.unwrap();
    assert!(network.has_cut());
    let stream = "o-1".to_owned();
    assert_eq!(refused, Err(WriteRefused::VersionConflict { stream, expected: 0, actual: 1 }));
}

/// A burial is found by its tombstones, a seal by its version and words.
#[tokio::test]
async fn a_burial_and_a_seal_are_found() {
    for cut in [CUT_BEFORE, CUT_AFTER] {
        let (schema, network) = (TestSchema::new().await, Network::new().await);
        let (store, stranger) = (store(&schema, &network).await, schema.stranger().await);
        let ended = "SELECT cf.enqueue('a', 'd', 'k', 'x'), cf.complete('a'),
            cf.enqueue('b', 'd', 'k', 'x'), cf.complete('b')";
        stranger.run(ended).await.unwrap();
        let entries = store.ended(Micros::LATEST, 0, 9).await.unwrap().entries;
        let again = entries.clone();
        network.cut(cut);
        let seal = Some(SealChange { version: 0, seal: "one".into() });
        let buried = store.bury("file", entries, seal).await.unwrap();
        assert!(network.has_cut(), "{cut}");
        assert_eq!(buried, Buried::Done(vec![true, true]), "{cut}");
        assert_eq!((count(&schema, "outbox").await, count(&schema, "archived").await), (0, 2));
        network.cut(cut);
        assert!(store.save_seal(1, "two").await.unwrap() && network.has_cut(), "{cut}");
        let sealed = store.sealed().await.unwrap().unwrap();
        assert_eq!((sealed.version, sealed.seal.as_str()), (2, "two"), "{cut}");
        // What others did is not taken for the own.
        network.cut(CUT_BEFORE);
        assert!(!store.save_seal(1, "three").await.unwrap());
        network.cut(PASS);
        let seal = Some(SealChange { version: 2, seal: "four".into() });
        let buried = store.bury("another file", again, seal).await.unwrap();
        assert_eq!(buried, Buried::Done(vec![false, false]));
    }
}

#[tokio::test]
async fn what_has_no_id_is_not_known() {
    for cut in [CUT_AFTER, STALL_AFTER] {
        let (schema, network) = (TestSchema::new().await, Network::new().await);
        let store = store(&schema, &network).await;
        network.cut(cut);
        let shop = Destination::new("shop").unwrap();
        let paused = store.pause(&shop, "ada", "why").await;
        assert!(matches!(paused, Err(StoreError::NotKnown(_))), "{cut}: {paused:?}");
        assert!(!store.pause(&shop, "ada", "why").await.unwrap(), "it was committed");
    }
}
