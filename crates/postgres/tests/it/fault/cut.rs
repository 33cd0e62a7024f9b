//! Relays that are cut off from the server for longer than their leases.
//!
//! Each relay is a process of its own: this test, started again. As root each lives in a network of
//! its own, whose link goes down; else behind a proxy that falls silent.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use counterfoil_core::domain::Span;
use counterfoil_core::port::{Attempt, Notice, Observer, Store};
use counterfoil_postgres::{Options, PostgresStore};
use counterfoil_relay::Relay;
use counterfoil_relay::transport::handler::{HandlerError, handler};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::scene::{Book, KEYLESS, KEYS, SCHEMA, command, prepared, promise, served};
use super::scene::{prove, wait_for_the_end};
use crate::private::{PrivateServer, is_root};
use crate::server::{connect_to, random_name};

/// What a child is told, and where it writes what it does.
const URL: &str = "COUNTERFOIL_CUT_URL";
const LOG: &str = "COUNTERFOIL_CUT_LOG";

const LEASE: Span = Span::from_secs(4);

/// A file to which each line is added at once.
#[derive(Clone)]
struct Lines(Arc<Mutex<File>>);

impl Lines {
    fn add(&self, line: &str) {
        self.0.lock().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }
}

impl Observer for Lines {
    fn notice(&self, notice: &Notice) {
        match notice {
            Notice::Claimed { taken_over, .. } if *taken_over > 0 => self.add("taken over"),
            Notice::Settled { command, now: "ignored", .. } | Notice::Late { command, .. } => {
                self.add(&format!("late {command}"));
            }
            _ => {}
        }
    }
}

/// The child: a relay that runs until it is killed.
async fn relay(url: &str, log: &str) {
    let lines = Lines(Arc::new(Mutex::new(OpenOptions::new().append(true).open(log).unwrap())));
    let mut options = Options::default();
    options.statement_timeout = Duration::from_secs(3);
    options.connect_timeout = Duration::from_secs(3);
    let store = PostgresStore::open(url, options).await.unwrap();
    let serve = |name: &str| {
        let lines = lines.clone();
        let transport = handler(move |attempt: Attempt| {
            let id = attempt.command.command_id.to_string();
            lines.add(&format!("call {id}"));
            // What is at work when the link goes down: its lease is renewed until then.
            let is_long = id.starts_with("long") && attempt.number == 1;
            async move {
                let took = if is_long { 20_000 } else { 200 };
                tokio::time::sleep(Duration::from_millis(took)).await;
                Ok::<_, HandlerError>("done")
            }
        });
        served(name, promise(name), LEASE, transport)
    };
    let options = counterfoil_relay::Options::default().workers(8);
    let relay = Relay::new(store, vec![serve(KEYS), serve(KEYLESS)], options, lines.clone());
    let ended = relay.run(std::future::pending()).await;
    lines.add(&format!("ended {ended:?}"));
}

/// A running child.
struct Other {
    child: Child,
    log: PathBuf,
}

impl Other {
    fn start(before: &[&str], test: &str, url: &str, folder: &Path, name: &str) -> Self {
        let log = folder.join(name);
        File::create(&log).unwrap();
        let this = std::env::current_exe().unwrap();
        let mut words: Vec<&str> = before.to_vec();
        words.push(this.to_str().unwrap());
        words.extend(["--exact", test, "--nocapture"]);
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).args(words);
        command.env(URL, url).env(LOG, &log).stdin(Stdio::null());
        Self { child: command.spawn().unwrap(), log }
    }

    fn lines(&self) -> Vec<String> {
        let mut text = String::new();
        File::open(&self.log).unwrap().read_to_string(&mut text).unwrap();
        text.lines().map(Into::into).collect()
    }

    async fn wait_for(&self, what: impl Fn(&[String]) -> bool) {
        for _ in 0..6_000 {
            if what(&self.lines()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("not within a minute: {:?}", self.lines());
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// How a relay reaches the server, and how it is kept from it.
trait Way {
    /// The words before the child's program.
    fn before(&self) -> Vec<String>;
    fn url(&self) -> String;
    fn cut(&self, is_cut: bool);
}

/// A network of its own.
struct Network {
    name: String,
    subnet: String,
    port: u16,
}

fn ip(words: &str) {
    let done = Command::new("ip").args(words.split(' ')).output();
    let done = done.unwrap_or_else(|error| panic!("no ip: {error}; install iproute2"));
    assert!(done.status.success(), "ip {words}: {}", String::from_utf8_lossy(&done.stderr));
}

impl Network {
    fn new(port: u16) -> Self {
        let mixed = random_name().bytes().fold(5_381_u64, |sum, byte| {
            sum.wrapping_mul(33).wrapping_add(u64::from(byte)) & 0xffff_ffff
        });
        let name = format!("cf{mixed:x}");
        // Of 198.18.0.0/15, which is for such tests.
        let subnet = format!("198.18.{}", mixed % 250);
        let network = Self { name, subnet, port };
        let Self { name, subnet, .. } = &network;
        ip(&format!("netns add {name}"));
        ip(&format!("link add {name} type veth peer name {name}i"));
        ip(&format!("link set {name}i netns {name}"));
        ip(&format!("addr add {subnet}.1/30 dev {name}"));
        ip(&format!("link set {name} up"));
        ip(&format!("-n {name} addr add {subnet}.2/30 dev {name}i"));
        ip(&format!("-n {name} link set {name}i up"));
        network
    }
}

impl Way for Network {
    fn before(&self) -> Vec<String> {
        ["ip", "netns", "exec", &self.name].map(Into::into).to_vec()
    }

    fn url(&self) -> String {
        format!("postgres://postgres@{}.1:{}/postgres?sslmode=disable", self.subnet, self.port)
    }

    fn cut(&self, is_cut: bool) {
        ip(&format!("link set {} {}", self.name, if is_cut { "down" } else { "up" }));
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for words in [["link", "del", &self.name], ["netns", "del", &self.name]] {
            drop(Command::new("ip").args(words).status());
        }
    }
}

/// A proxy that takes all and hands on nothing while it is silent.
struct Proxy {
    port: u16,
    silent: Arc<AtomicBool>,
}

impl Proxy {
    async fn new(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let silent = Arc::new(AtomicBool::new(false));
        let is_silent = Arc::clone(&silent);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)).await else { continue };
                let ((from, to), (back, forth)) = (client.into_split(), server.into_split());
                tokio::spawn(pump(from, forth, Arc::clone(&is_silent)));
                tokio::spawn(pump(back, to, Arc::clone(&is_silent)));
            }
        });
        Self { port, silent }
    }
}

/// Hands on what comes; while it is silent nothing goes on, and nothing is lost.
async fn pump(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    is_silent: Arc<AtomicBool>,
) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        while is_silent.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        if to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}

impl Way for Proxy {
    fn before(&self) -> Vec<String> {
        Vec::new()
    }

    fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres?sslmode=disable", self.port)
    }

    fn cut(&self, is_cut: bool) {
        self.silent.store(is_cut, Ordering::SeqCst);
    }
}

/// One of two relays is cut off while it works; the other ends what it had, and it settles nothing
/// of that once it is back.
async fn cut_off(test: &str, server: PrivateServer, ways: [&dyn Way; 2]) {
    let url = server.url();
    prepared(&url).await;
    let store = PostgresStore::open(&url, Options::default()).await.unwrap();
    let enqueue = async |ids: &[String]| {
        let names = [KEYS, KEYLESS].into_iter().cycle();
        let commands = ids.iter().zip(names).map(|(id, name)| command(name, id)).collect();
        assert!(store.enqueue(commands).await.unwrap().iter().all(Result::is_ok));
    };
    let named = |name: &str, count: usize| -> Vec<String> {
        (0..count).map(|n| format!("{name}-{n}")).collect()
    };
    let folder = tempfile::tempdir().unwrap();
    let start = |at: usize| {
        let before = ways[at].before();
        let before: Vec<&str> = before.iter().map(String::as_str).collect();
        Other::start(&before, test, &ways[at].url(), folder.path(), &format!("relay-{at}"))
    };
    let calls = |lines: &[String]| lines.iter().filter(|line| line.starts_with("call ")).count();
    let mut ids = named("long", 4);
    enqueue(&ids).await;
    let cut = start(0);
    cut.wait_for(|lines| calls(lines) == 4).await;
    let other = start(1);
    let many = named("c", 120);
    enqueue(&many).await;
    ids.extend(many);
    cut.wait_for(|lines| calls(lines) >= 20).await;
    ways[0].cut(true);
    // Longer than a lease: the other has ended all by itself then.
    other.wait_for(|lines| lines.iter().any(|line| line == "taken over")).await;
    wait_for_the_end(&url, SCHEMA).await;
    let admin = connect_to(&url).await;
    let receipts = format!(
        "SELECT string_agg(r::text, ' ' ORDER BY n) FROM {SCHEMA}.receipt r
         JOIN {SCHEMA}.outbox o USING (n) WHERE r.destination = '{KEYS}' AND command_id ~ '^long'"
    );
    let before: String = admin.query_one(&receipts, &[]).await.unwrap().get(0);
    ways[0].cut(false);
    let is_late = |lines: &[String]| {
        ["late long-0", "late long-2"].iter().all(|late| lines.iter().any(|line| line == late))
    };
    cut.wait_for(is_late).await;
    let after: String = admin.query_one(&receipts, &[]).await.unwrap().get(0);
    assert_eq!(after, before, "the relay that was cut off has settled what was not its own");

    // It goes on by itself.
    drop(other);
    let more = named("more", 40);
    enqueue(&more).await;
    cut.wait_for(|lines| more.iter().all(|id| lines.contains(&format!("call {id}")))).await;
    ids.extend(more);
    wait_for_the_end(&url, SCHEMA).await;
    let book = Book::default();
    for log in ["relay-0", "relay-1"] {
        let mut text = String::new();
        File::open(folder.path().join(log)).unwrap().read_to_string(&mut text).unwrap();
        for id in text.lines().filter_map(|line| line.strip_prefix("call ")) {
            book.note_id(id);
        }
    }
    drop(cut);
    let ends = prove(&store, &url, SCHEMA, &book, &ids).await;
    let contradictions = format!("SELECT count(*) FROM {SCHEMA}.contradiction");
    let contradictions: i64 = admin.query_one(&contradictions, &[]).await.unwrap().get(0);
    assert_eq!(contradictions, 0);
    eprintln!("{ends:?}");
}

/// The child's part, where this process is the child.
async fn is_child() -> bool {
    let (Ok(url), Ok(log)) = (std::env::var(URL), std::env::var(LOG)) else { return false };
    relay(&url, &log).await;
    true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_whose_link_is_down_settles_nothing_twice() {
    if is_child().await {
        return;
    }
    let test = "fault::cut::a_relay_whose_link_is_down_settles_nothing_twice";
    if !is_root() {
        eprintln!("not root, who may make networks: a proxy falls silent instead");
        return behind_proxies(test).await;
    }
    let server = PrivateServer::start(&[("listen_addresses", "*")]);
    server.allow("198.18.0.0/15");
    let ways = [Network::new(server.port()), Network::new(server.port())];
    cut_off(test, server, [&ways[0], &ways[1]]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_behind_a_silent_proxy_settles_nothing_twice() {
    if is_child().await {
        return;
    }
    behind_proxies("fault::cut::a_relay_behind_a_silent_proxy_settles_nothing_twice").await;
}

async fn behind_proxies(test: &str) {
    let server = PrivateServer::start(&[]);
    let ways = [Proxy::new(server.port()).await, Proxy::new(server.port()).await];
    cut_off(test, server, [&ways[0], &ways[1]]).await;
}
