//! Runs the command, and watches the files that it writes.
//!
//! Guarantees: a process that a test forgot is killed. Does not: read any variable of the machine
//! that could change what the command does.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tempfile::TempDir;

/// The longest wait for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What a finished command said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// Fails unless the exit code is `code` and each of `words` stands in stderr.
    pub(crate) fn refuses(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.err.starts_with("error: "), "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "no {word:?} in {self:?}");
        }
        assert!(self.out.is_empty(), "{self:?}");
        assert!(!self.err.contains("panicked") && !self.err.contains("RUST_BACKTRACE"), "{self:?}");
    }

    /// Fails unless the exit code is 0.
    pub(crate) fn is_done(&self) -> &Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        self.is_done();
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A folder with a store, from which commands are run.
pub(crate) struct Desk {
    folder: TempDir,
}

impl Desk {
    /// An empty folder.
    pub(crate) fn empty() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    /// A folder with the store `orders.db`.
    pub(crate) fn new() -> Self {
        let desk = Self::empty();
        desk.run(&["init", "--store", "sqlite:orders.db", "--source", "urn:test"]).is_done();
        desk
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Writes `counterfoil.toml`: the store and one destination at `port`.
    pub(crate) fn configure(&self, port: u16, idempotent: &str, more: &str) {
        self.write("counterfoil.toml", &configuration(port, idempotent, more));
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_counterfoil"));
        command.args(args).current_dir(self.folder.path());
        command.env_remove("COUNTERFOIL_STORE").env_remove("COUNTERFOIL_LOG");
        let others = std::env::vars()
            .filter(|(name, _)| name.starts_with("OTEL_") || name.starts_with("PG"));
        for (name, _) in others {
            command.env_remove(name);
        }
        // No password file of the machine's.
        command.env("HOME", self.folder.path()).env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    /// Runs to the end.
    pub(crate) fn run(&self, args: &[&str]) -> Said {
        run(self.command(args))
    }

    /// Runs to the end with `input` on standard input.
    pub(crate) fn run_with(&self, args: &[&str], input: &[u8]) -> Said {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        text(output)
    }

    /// Records a command for `shipping` in `orders.db`.
    pub(crate) fn enqueue(&self, id: &str) {
        let store = ["--store", "sqlite:orders.db"];
        let what = ["enqueue", id, "--to", "shipping", "--kind", "order.paid", "--body", "{}"];
        let said = self.run(&[&what[..], &store[..]].concat());
        assert_eq!(said.is_done().out, "recorded\n");
    }

    /// Starts a command that runs on.
    pub(crate) fn start(&self, args: &[&str]) -> Running {
        Running::start(self.command(args))
    }

    /// Starts a receiver with `shipping.db` on a free port; its port.
    pub(crate) fn receiver(&self, more: &[&str]) -> (Running, u16) {
        self.receiver_at(0, more)
    }

    /// Starts a receiver at `port`.
    pub(crate) fn receiver_at(&self, port: u16, more: &[&str]) -> (Running, u16) {
        let listen = format!("127.0.0.1:{port}");
        let args = ["receiver", "--store", "sqlite:shipping.db", "--listen", &listen];
        let running = self.start(&[&args[..], more].concat());
        let line = running.hear("listening on ");
        let port = line.rsplit(':').next().unwrap().parse().unwrap();
        (running, port)
    }

    /// One number from `orders.db`.
    pub(crate) fn orders(&self, query: &str) -> i64 {
        number(&self.path("orders.db"), query)
    }

    /// One number from `shipping.db`.
    pub(crate) fn shipping(&self, query: &str) -> i64 {
        number(&self.path("shipping.db"), query)
    }

    /// The object of `show --json`.
    pub(crate) fn show(&self, id: &str) -> serde_json::Value {
        self.run(&["show", id, "--json", "--store", "sqlite:orders.db"]).json()
    }
}

/// The store and one destination at `port`, with short leases.
pub(crate) fn configuration(port: u16, idempotent: &str, more: &str) -> String {
    format!(
        "[store]\nurl = \"sqlite:orders.db\"\n\
         [relay]\nworkers = 4\nlease = \"3200ms\"\npoll = \"20ms\"\ndrain = \"2s\"\n\
         [destination.shipping]\ntransport = \"http\"\n\
         url = \"http://127.0.0.1:{port}/commands\"\nrequest_timeout = \"1s\"\n\
         idempotent = {idempotent}\nretry = {{ initial = \"20ms\", max = \"200ms\" }}\n{more}\n"
    )
}

/// Runs a command to its end.
pub(crate) fn run(mut command: Command) -> Said {
    text(command.output().unwrap())
}

fn text(output: std::process::Output) -> Said {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// One number from a file.
pub(crate) fn number(path: &Path, query: &str) -> i64 {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(PATIENCE).unwrap();
    connection.query_row(query, [], |row| row.get(0)).unwrap()
}

/// Waits until `is` holds; fails with `what` after a generous time.
pub(crate) fn wait_until(what: &str, mut is: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is() {
        assert!(Instant::now() < end, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A command that runs on.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (say, lines) = channel();
        let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let own = say.clone();
        std::thread::spawn(move || forward(out, &own));
        std::thread::spawn(move || forward(err, &say));
        Self { child, lines }
    }

    /// Waits for a line, of stdout or stderr, that holds `word`.
    pub(crate) fn hear(&self, word: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("it never said {word:?}"));
            if line.contains(word) {
                return line;
            }
        }
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }

    /// SIGKILL, and waits for the end.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for the end; the exit code.
    pub(crate) fn end(&mut self) -> Option<i32> {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < end, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn forward(from: impl std::io::Read, to: &std::sync::mpsc::Sender<String>) {
    for line in BufReader::new(from).lines().map_while(Result::ok) {
        if to.send(line).is_err() {
            break;
        }
    }
}
