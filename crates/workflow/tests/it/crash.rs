//! A runner that is killed at any statement of its transactions on PostgreSQL.
//!
//! It reaches the server through a proxy, which counts its statements and kills it before the one
//! that is asked for goes on. This test program runs itself as the process that dies. On a file the
//! store's own tests do the same.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use counterfoil_postgres::PostgresStore;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

use super::crash_scene as scene;
use super::server::{Schema, url};

const URL: &str = "COUNTERFOIL_TEST_CRASH_URL";
const SCHEMA: &str = "COUNTERFOIL_TEST_CRASH_SCHEMA";
const OPEN: &str = "the store is open";

/// The child's part; it does nothing where it is run as a test.
#[tokio::test]
async fn plays_a_runner() {
    let (Ok(url), Ok(schema)) = (std::env::var(URL), std::env::var(SCHEMA)) else { return };
    let mut options = counterfoil_postgres::Options::default();
    options.schema = schema;
    let store = PostgresStore::open(&url, options).await.unwrap();
    // The statements are counted from here.
    println!("\n{OPEN}");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    scene::play(store).await;
}

/// Who dies, and how many statements later.
#[derive(Default)]
struct Victim {
    child: Option<Child>,
    left: u32,
}

impl Victim {
    /// Whether the statement goes on; the victim is dead where it does not.
    fn passes(&mut self) -> bool {
        let Some(child) = &mut self.child else { return true };
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            child.kill().unwrap();
        }
        self.left > 0
    }
}

/// A proxy that counts statements.
struct Proxy {
    port: u16,
    victim: Arc<Mutex<Victim>>,
}

impl Proxy {
    async fn new() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let victim = Arc::new(Mutex::new(Victim::default()));
        let of = Arc::clone(&victim);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(server()).await.unwrap();
                // Else each message waits for the answer to the one before.
                client.set_nodelay(true).unwrap();
                server.set_nodelay(true).unwrap();
                let ((from, mut to), (mut back, forth)) =
                    (client.into_split(), server.into_split());
                tokio::spawn(counted(from, forth, Arc::clone(&of)));
                tokio::spawn(async move { tokio::io::copy(&mut back, &mut to).await });
            }
        });
        Self { port, victim }
    }

    fn url(&self) -> String {
        url().replacen(&server(), &format!("127.0.0.1:{}", self.port), 1)
    }

    /// Whether a runner was killed before its statement of this number; else it came to its end.
    fn is_killed_at(&self, schema: &str, point: u32) -> bool {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "crash::plays_a_runner", "--nocapture"]);
        child.env(URL, self.url()).env(SCHEMA, schema);
        child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = child.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == OPEN), "it does not open the store");
        let mut go_on = child.stdin.take().unwrap();
        *self.victim.lock().unwrap() = Victim { child: Some(child), left: point };
        go_on.write_all(b"\n").unwrap();
        // Until it has ended, or is dead.
        lines.for_each(drop);
        let mut child = self.victim.lock().unwrap().child.take().unwrap();
        let status = child.wait().unwrap();
        let killed = status.signal() == Some(9);
        assert!(killed || status.success(), "{status:?}");
        killed
    }
}

/// Host and port of the server.
fn server() -> String {
    let url = url();
    let at = url.rsplit_once('@').map_or(url.as_str(), |(_, at)| at);
    at.split(['/', '?']).next().unwrap().to_owned()
}

/// Hands on message by message, the first of which has no kind, until the victim is dead.
async fn counted(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, victim: Arc<Mutex<Victim>>) {
    let (mut text, mut has_begun) = (Vec::new(), false);
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        text.extend_from_slice(&buffer[..count]);
        while let Some((kind, size)) = message(&text, has_begun) {
            let is_statement = matches!(kind, b'E' | b'Q');
            if is_statement && !victim.lock().unwrap().passes() {
                return;
            }
            let message: Vec<u8> = text.drain(..size).collect();
            if to.write_all(&message).await.is_err() {
                return;
            }
            has_begun = true;
        }
    }
}

/// The kind and the size of the first message, if all of it is there.
fn message(text: &[u8], has_begun: bool) -> Option<(u8, usize)> {
    let head = usize::from(has_begun);
    let length: [u8; 4] = text.get(head..head + 4)?.try_into().ok()?;
    let size = head + u32::from_be_bytes(length) as usize;
    (text.len() >= size).then(|| (if has_begun { text[0] } else { 0 }, size))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_runner_that_is_killed_at_any_statement_does_each_input_once() {
    let proxy = Proxy::new().await;
    let schema = Schema::new().await;
    let open = || async { PostgresStore::open(&url(), schema.options()).await.unwrap() };
    let other = Schema::new().await;
    let undisturbed = PostgresStore::open(&url(), other.options()).await.unwrap();
    let wanted = scene::undisturbed(&undisturbed).await;
    let store = open().await;
    let run = async |point| proxy.is_killed_at(&schema.0, point);
    let deaths = scene::killed_at_every_point(&store, run).await;
    assert!(deaths > 100, "{deaths} points");
    assert_eq!(scene::history(&open().await).await, wanted, "after {deaths} deaths");
}
