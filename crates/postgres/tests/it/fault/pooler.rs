//! PgBouncer in transaction mode between the store and the server.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use counterfoil_core::audit::{AuditOptions, audit};
use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::{CommandId, Destination, Event, ReceiptOutcome, Span, Stream};
use counterfoil_core::port::Store;
use counterfoil_core::port::act::{Act, Acted, Actor, Deed};
use counterfoil_core::port::read::Filter;
use counterfoil_core::port::store::{Append, Recorded, Reported};
use counterfoil_postgres::{Options, PostgresStore};

use super::scene::{AtWork, Book, KEYS, SCHEMA, command, prepared, prove, wait_for_the_end};
use crate::private::{PrivateServer, free_port, give_away, unprivileged};
use crate::server::connect_to;

/// A pooler before a server; it ends with the test.
struct Pooler {
    child: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Pooler {
    /// With these lines more in its configuration.
    fn start(server: &PrivateServer, more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        let users = folder.path().join("users.txt");
        fs::write(&users, "\"postgres\" \"\"\n").unwrap();
        // Two connections for all: what one client leaves behind, another meets.
        let says = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = trust\nauth_file = {}\n\
             pool_mode = transaction\ndefault_pool_size = 2\nmax_client_conn = 200\n\
             server_check_delay = 0\nlogfile = {}\n{more}\n",
            server.port(),
            users.display(),
            folder.path().join("log").display(),
        );
        let configuration = folder.path().join("pgbouncer.ini");
        fs::write(&configuration, says).unwrap();
        [&users, &configuration].into_iter().for_each(|path| give_away(path));
        give_away(folder.path());
        let program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].map(Path::new);
        let program = program.into_iter().find(|path| path.exists());
        let program = program.unwrap_or(Path::new("pgbouncer"));
        let mut command: Command = unprivileged(program);
        command.arg("-q").arg(&configuration).current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let mut pooler = Self { child, port, _folder: folder };
        let began = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = pooler.child.try_wait().unwrap();
            assert!(
                ended.is_none() && began.elapsed() < Duration::from_secs(60),
                "no pgbouncer: install it (Debian: apt-get install pgbouncer)"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        pooler
    }

    fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres?sslmode=disable", self.port)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn pooled() -> Options {
    let mut options = Options::default();
    options.pooler = true;
    options
}

/// Two relays, writers in between, reports, people, sweeps and lists: all by two connections.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_whole_path_goes_through_a_pooler_in_transaction_mode() {
    let server = PrivateServer::start(&[]);
    prepared(&server.url()).await;
    let pooler = Pooler::start(&server, "");
    let url = pooler.url();
    let store = PostgresStore::open(&url, pooled()).await.unwrap();
    let book = Book::default();
    let mut relays = Vec::new();
    for _ in 0..2 {
        let store = PostgresStore::open(&url, pooled()).await.unwrap();
        let served = vec![book.serves(KEYS, Duration::ZERO, Span::from_secs(120))];
        relays.push(AtWork::start(&store, served, counterfoil_relay::Options::default()));
    }
    let mut ids = Vec::new();
    let mut writers = Vec::new();
    for writer in 0..8 {
        let store = store.clone();
        writers.push(tokio::spawn(async move {
            let ids: Vec<String> = (0..25).map(|n| format!("{writer}-{n}")).collect();
            for page in ids.chunks(5) {
                for wanted in [Recorded::Recorded, Recorded::Repeated] {
                    let commands = page.iter().map(|id| command(KEYS, id)).collect();
                    let told = store.enqueue(commands).await.unwrap();
                    assert!(told.iter().all(|one| one == &Ok(wanted)), "{told:?}");
                }
                store.list(Filter::default()).await.unwrap();
                store.sweep(100, None).await.unwrap();
            }
            ids
        }));
    }
    for writer in writers {
        ids.extend(writer.await.unwrap());
    }
    let stream = Stream::new("order").unwrap();
    let events = vec![Event::json("paid", &1).unwrap()];
    let append = Append { stream: stream.clone(), expected_seq: 0, events, commands: Vec::new() };
    assert_eq!(store.append(append).await.unwrap().unwrap().seq, 1);
    assert_eq!(store.load(&stream, 0, 10).await.unwrap().len(), 1);
    wait_for_the_end(&server.url(), SCHEMA).await;
    for relay in relays {
        relay.stop().await;
    }

    prove(&store, &server.url(), SCHEMA, &book, &ids).await;

    // What no relay serves is for reports and people.
    for id in ["reported", "cancelled"] {
        store.enqueue(vec![command("elsewhere", id)]).await.unwrap();
    }
    let report = Report {
        outcome: ReceiptOutcome::Completed,
        result: None,
        evidence: None,
        source: "worker".into(),
        token: None,
        equals_earlier: false,
    };
    let reported = store.report(&CommandId::new("reported").unwrap(), report).await.unwrap();
    assert_eq!(reported, Reported::Recorded);
    let actor = Actor { name: "ann".into(), reason: "not wanted".into() };
    let deed = Deed { command_id: "cancelled".into(), act: Act::Cancel, by_filter: false };
    let acted = store.act(vec![deed], actor).await.unwrap();
    assert_eq!(acted, [Acted::Done { before: "pending", after: "cancelled" }]);
    let elsewhere = Destination::new("elsewhere").unwrap();
    assert!(store.pause(&elsewhere, "ann", "closed").await.unwrap());
    let states = |id: &'static str| {
        let store = store.clone();
        async move { store.show(id).await.unwrap().unwrap().listed.state }
    };
    assert_eq!(states("reported").await, "completed");
    assert_eq!(states("cancelled").await, "cancelled");
    let report = audit(&store, AuditOptions::default()).await.unwrap();
    assert!(report.holds, "{report:?}");
    // None of the server's sessions was left with a setting or a prepared statement of ours.
    let direct = connect_to(&url).await;
    for left in [
        "SELECT count(*) FROM pg_prepared_statements",
        "SELECT count(*) WHERE current_setting('counterfoil.own', true) = 'on'",
    ] {
        let row = &direct.simple_query(left).await.unwrap()[1];
        let tokio_postgres::SimpleQueryMessage::Row(row) = row else { panic!("{row:?}") };
        assert_eq!(row.get(0), Some("0"), "{left}");
    }
}

/// Without `pooler` our settings would be lost, and so would prepared statements: it is refused at
/// the door, whether the pooler refuses the settings or drops them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_that_nobody_named_is_refused_with_the_way_out() {
    let server = PrivateServer::start(&[]);
    prepared(&server.url()).await;
    for more in ["", "ignore_startup_parameters = options"] {
        let pooler = Pooler::start(&server, more);
        let opened = PostgresStore::open(&pooler.url(), Options::default()).await;
        let Err(error) = opened else { panic!("opened, with {more:?}") };
        let said = error.to_string();
        assert!(said.contains("pooler = true"), "{more:?}: {said}");
        PostgresStore::open(&pooler.url(), pooled()).await.unwrap();
    }
}
