//! Receivers in other languages: the SQL of the public contract and the guard see one inbox.
//!
//! Guarantees: each direction, with digests as bytes and as hexadecimal text, through Python's own
//! SQLite library. Does not: need Python packages.

use std::path::Path;
use std::process::Command;

use counterfoil_core::domain::Digest;
use counterfoil_inbox::{Begun, RETENTION, begin};
use counterfoil_sqlite::InboxTx;

use crate::client::count;
use crate::guard::{connect, immediate, shop};

/// A receiver as the contract tells it, in Python: its answer is its only line.
const PYTHON: &str = r#"
import hashlib, sqlite3, sys, time
path, key, body, form = sys.argv[1:]
db = sqlite3.connect(path, timeout=30, isolation_level=None)
sha = hashlib.sha256(body.encode())
mine = sha.digest() if form == "blob" else sha.hexdigest()
db.execute("BEGIN IMMEDIATE")
try:
    db.execute(
        "INSERT INTO counterfoil_inbox(source, key, digest, expires_at) VALUES (?, ?, ?, ?)",
        ("urn:shop", key, mine, int(time.time() * 1e6) + 86400 * 10**6))
except sqlite3.IntegrityError:
    digest, result = db.execute(
        "SELECT digest, result FROM counterfoil_inbox WHERE source = ? AND key = ?",
        ("urn:shop", key)).fetchone()
    stored = digest if isinstance(digest, bytes) else bytes.fromhex(digest)
    print("repeat " + result if stored == sha.digest() else "conflict")
    db.execute("ROLLBACK")
    sys.exit()
db.execute("INSERT INTO shipment VALUES (?)", (key,))
db.execute("UPDATE counterfoil_inbox SET outcome = 'completed', result = ?"
           " WHERE source = ? AND key = ?", ('{"by":"python"}', "urn:shop", key))
db.execute("COMMIT")
print("first")
"#;

fn python(path: &Path, key: &str, body: &str, form: &str) -> String {
    let mut command = Command::new("python3");
    let output = command.args(["-c", PYTHON]).arg(path).args([key, body, form]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    said.trim().into()
}

fn guard(path: &Path, key: &str, body: &str) -> String {
    let mut db = connect(path);
    let rows = InboxTx::new(immediate(&mut db));
    match begin(rows, "urn:shop", key, Digest::of(body.as_bytes()), RETENTION).unwrap() {
        Begun::First(mut first) => {
            first.rows().execute("INSERT INTO shipment VALUES (?1)", [key]).unwrap();
            let result = br#"{"by":"rust"}"#;
            first.finish(result).unwrap().into_inner().commit().unwrap();
            "first".into()
        }
        Begun::Repeat(stored) => format!("repeat {}", String::from_utf8(stored.result).unwrap()),
        Begun::Conflict => "conflict".into(),
        Begun::Unfinished { .. } => "unfinished".into(),
        Begun::Busy => "busy".into(),
    }
}

#[test]
fn a_key_taken_by_python_is_seen_by_the_guard() {
    let dir = tempfile::tempdir().unwrap();
    let path = shop(dir.path());
    for form in ["blob", "hex"] {
        let key = format!("订单-{form}");
        assert_eq!(python(&path, &key, "{}", form), "first");
        assert_eq!(guard(&path, &key, "{}"), r#"repeat {"by":"python"}"#, "{form}");
        assert_eq!(guard(&path, &key, "{1}"), "conflict", "{form}");
    }
    assert_eq!(count(&path, "SELECT count(*) FROM shipment"), 2);
}

#[test]
fn a_key_taken_by_the_guard_is_seen_by_python() {
    let dir = tempfile::tempdir().unwrap();
    let path = shop(dir.path());
    assert_eq!(guard(&path, "订单", "{}"), "first");
    for form in ["blob", "hex"] {
        assert_eq!(python(&path, "订单", "{}", form), r#"repeat {"by":"rust"}"#, "{form}");
        assert_eq!(python(&path, "订单", "{1}", form), "conflict", "{form}");
    }
    assert_eq!(count(&path, "SELECT count(*) FROM shipment"), 1);
}

/// The function of `docs/inbox.md`, and around it no more than its arguments and its answer.
fn page(path: &Path, key: &str, body: &str) -> String {
    let page = include_str!("../../../../docs/inbox.md");
    let code = page.split_once("```python\n").unwrap().1.split_once("```").unwrap().0;
    let call = "import sys\n\
                db = sqlite3.connect(sys.argv[1], timeout=30, isolation_level=None)\n\
                print(*ship(db, 'urn:shop', sys.argv[2], sys.argv[3].encode()))\n";
    let mut command = Command::new("python3");
    command.args(["-c", &format!("{code}\n{call}")]).arg(path).args([key, body]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().into()
}

#[test]
fn the_page_s_python_does_what_the_page_says() {
    let dir = tempfile::tempdir().unwrap();
    let path = shop(dir.path());
    for _ in 0..2 {
        assert_eq!(page(&path, "a", "{}"), r#"200 completed {"by":"python"}"#);
    }
    assert_eq!(page(&path, "a", "{1}"), "422 conflict");
    assert_eq!(guard(&path, "a", "{}"), r#"repeat {"by":"python"}"#);
    assert_eq!(guard(&path, "b", "{}"), "first");
    assert_eq!(page(&path, "b", "{}"), r#"200 completed {"by":"rust"}"#);
    let refused = "INSERT INTO counterfoil_inbox(source, key, digest, outcome, result)
                   VALUES ('urn:shop', ?1, ?2, ?3, ?4)";
    let digest = Digest::of(b"{}").to_hex();
    let db = connect(&path);
    db.execute(refused, ("c", &digest, Some("rejected"), Some("sold out"))).unwrap();
    db.execute(refused, ("d", &digest, None::<&str>, None::<&str>)).unwrap();
    assert_eq!(page(&path, "c", "{}"), "400 rejected sold out");
    assert_eq!(page(&path, "d", "{}"), "409 unknown");
    assert_eq!(count(&path, "SELECT count(*) FROM shipment"), 2);
}

#[test]
fn half_a_work_of_a_stranger_is_unfinished() {
    let dir = tempfile::tempdir().unwrap();
    let path = shop(dir.path());
    let half = "INSERT INTO counterfoil_inbox(source, key, digest) VALUES ('urn:shop', 'k', ?1)";
    let digest = Digest::of(b"{}").to_hex().to_uppercase();
    connect(&path).execute(half, [digest]).unwrap();
    assert_eq!(guard(&path, "k", "{}"), "unfinished");
}
