//! Receivers that are killed: before the commit, after it, before the answer.
//!
//! Guarantees: real processes, SIGKILL and abort, and the file they leave. Does not: cut power.
//!
//! The test program starts itself again as the child; `child` does nothing unless told to.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::Digest;
use counterfoil_inbox::receiver::{Hold, Keys, Options};
use counterfoil_inbox::{Begun, RETENTION, begin};
use counterfoil_sqlite::InboxTx;

use crate::client::{Serving, count, deliver};
use crate::guard::{connect, immediate, shop};

const ROLE: &str = "COUNTERFOIL_TEST_ROLE";
const FILE: &str = "COUNTERFOIL_TEST_FILE";
/// Longer than any parent lives.
const LONG: Duration = Duration::from_secs(60);

#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let path = std::path::PathBuf::from(std::env::var_os(FILE).unwrap());
    let mut options = Options::default();
    match role.as_str() {
        "guard" => hold_a_transaction_open(&path),
        "die before" => options.faults.die_before_commit_at = Some(2),
        "die after" => options.faults.die_after_commit_at = Some(2),
        "die before, without keys" => {
            options.keys = Keys::Ignore;
            options.faults.die_before_commit_at = Some(2);
        }
        "die after, without keys" => {
            options.keys = Keys::Ignore;
            options.faults.die_after_commit_at = Some(2);
        }
        "hold" => {
            let announce = Arc::new(|key: &str| eprintln!("committed {key}"));
            options.faults.hold = Some(Hold { effects: [2].into(), lasts: LONG, announce });
        }
        other => panic!("no role {other}"),
    }
    let serving = Serving::start(&path, options);
    eprintln!("listening {}", serving.at);
    std::thread::sleep(LONG);
}

fn hold_a_transaction_open(path: &Path) {
    let mut db = connect(path);
    let rows = InboxTx::new(immediate(&mut db));
    let begun = begin(rows, "s", "k", Digest::of(b"{}"), RETENTION).unwrap();
    let Begun::First(mut first) = begun else { panic!("not first") };
    first.rows().execute("INSERT INTO shipment VALUES ('half')", []).unwrap();
    let finished = first.finish(b"shipped").unwrap();
    eprintln!("finished");
    std::thread::sleep(LONG);
    drop(finished);
}

struct Killed {
    child: Child,
    said: BufReader<ChildStderr>,
}

impl Killed {
    fn start(role: &str, path: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::child", "--nocapture"])
            .env(ROLE, role)
            .env(FILE, path)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        Self { child, said }
    }

    /// The rest of the next line that begins so.
    fn says(&mut self, begin: &str) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.said.read_line(&mut line).unwrap(), 0, "it ended without {begin:?}");
            if let Some(rest) = line.strip_prefix(begin) {
                return rest.trim().into();
            }
        }
    }

    fn address(&mut self) -> SocketAddr {
        self.says("listening ").parse().unwrap()
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Without keys the repeat of a command acts again, whether or not it acted before the crash.
#[test]
fn without_keys_a_crash_after_the_commit_ends_in_two_effects() {
    for (role, jobs) in [("die before, without keys", 1), ("die after, without keys", 2)] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("shipping.db");
        let mut killed = Killed::start(role, &path);
        let at = killed.address();
        assert_eq!(deliver(at, "a", b"{}").status, 200);
        assert_eq!(deliver(at, "b", b"{}").status, 0, "{role}");
        drop(killed);
        let mut options = Options::default();
        options.keys = Keys::Ignore;
        let serving = Serving::start(&path, options);
        assert_eq!(deliver(serving.at, "b", b"{}").status, 200);
        serving.stop();
        assert_eq!(count(&path, "SELECT count(*) FROM jobs WHERE key = 'b'"), jobs, "{role}");
    }
}

/// After the crash: what a fresh receiver answers, and how many jobs stand.
fn again(path: &Path, key: &str) -> (String, i64) {
    let serving = Serving::start(path, Options::default());
    let answered = deliver(serving.at, key, b"{}");
    assert_eq!(answered.status, 200);
    serving.stop();
    let jobs = format!("SELECT count(*) FROM jobs WHERE key = '{key}'");
    (answered.text().into(), count(path, &jobs))
}

#[test]
fn killed_inside_the_transaction_it_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = shop(dir.path());
    let mut killed = Killed::start("guard", &path);
    killed.says("finished");
    drop(killed);
    assert_eq!(count(&path, "SELECT count(*) FROM counterfoil_inbox"), 0);
    assert_eq!(count(&path, "SELECT count(*) FROM shipment"), 0);
    let mut db = connect(&path);
    let rows = InboxTx::new(immediate(&mut db));
    let begun = begin(rows, "s", "k", Digest::of(b"{}"), RETENTION).unwrap();
    assert!(matches!(begun, Begun::First(_)));
}

#[test]
fn dead_before_the_commit_nothing_was_done_and_the_repeat_does_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shipping.db");
    let mut killed = Killed::start("die before", &path);
    let at = killed.address();
    assert_eq!(deliver(at, "a", b"{}").status, 200);
    assert_eq!(deliver(at, "b", b"{}").status, 0);
    drop(killed);
    assert_eq!(count(&path, "SELECT count(*) FROM counterfoil_inbox"), 1);
    assert_eq!(count(&path, "SELECT count(*) FROM calls"), 1);
    assert_eq!(again(&path, "b"), (r#"{"job":2}"#.into(), 1));
    assert_eq!(count(&path, "SELECT count(*) FROM calls WHERE outcome = 'done'"), 2);
}

#[test]
fn dead_after_the_commit_the_repeat_gets_the_stored_result() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shipping.db");
    let mut killed = Killed::start("die after", &path);
    let at = killed.address();
    assert_eq!(deliver(at, "a", b"{}").status, 200);
    assert_eq!(deliver(at, "b", b"{}").status, 0);
    drop(killed);
    assert_eq!(count(&path, "SELECT count(*) FROM jobs WHERE key = 'b'"), 1);
    assert_eq!(again(&path, "b"), (r#"{"job":2}"#.into(), 1));
    assert_eq!(count(&path, "SELECT count(*) FROM calls WHERE outcome = 'repeated'"), 1);
}

#[test]
fn killed_while_it_holds_an_answer_back_the_repeat_gets_the_stored_result() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shipping.db");
    let mut killed = Killed::start("hold", &path);
    let at = killed.address();
    assert_eq!(deliver(at, "a", b"{}").status, 200);
    let waiting = std::thread::spawn(move || deliver(at, "b", b"{}").status);
    assert_eq!(killed.says("committed "), "b");
    // Others are answered meanwhile.
    assert_eq!(deliver(at, "c", b"{}").text(), r#"{"job":3}"#);
    drop(killed);
    assert_eq!(waiting.join().unwrap(), 0);
    assert_eq!(again(&path, "b"), (r#"{"job":2}"#.into(), 1));
}
