//! A writer in Python that only knows SQL: each order that is paid has its command, byte for byte.
//!
//! psycopg is installed from PyPI once, below `target`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::server::TestSchema;

const PSYCOPG: &str = "psycopg[binary]==3.3.9";

/// Python with psycopg, made if it is not there yet.
fn python() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let venv = target.join("psycopg-3.3.9");
    let program = venv.join("bin/python");
    if program.exists() {
        return program;
    }
    // Made beside it, so that one that was interrupted is not taken for whole.
    let made = tempfile::tempdir_in(target).unwrap();
    let python = Command::new("python3").args(["-m", "venv"]).arg(made.path()).output();
    let python = python.expect("this test needs Python 3 with venv: install python3-venv");
    assert!(python.status.success(), "this test needs Python 3 with venv: install python3-venv");
    let pip = Command::new(made.path().join("bin/pip"))
        .args(["install", "--quiet", "--disable-pip-version-check", PSYCOPG])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&pip.stderr);
    assert!(pip.status.success(), "this test needs {PSYCOPG} from PyPI once: {said}");
    // The paths inside a venv are absolute: what is kept is a link to it.
    let made = made.keep();
    let _ = std::os::unix::fs::symlink(&made, &venv);
    made.join("bin/python")
}

#[tokio::test]
async fn each_order_paid_in_python_has_its_command() {
    const ORDERS: i64 = 60;
    let python = tokio::task::spawn_blocking(python).await.unwrap();
    let schema = TestSchema::new().await;
    let owner = schema.stranger().await;
    owner.run("CREATE TABLE cf.orders(id text PRIMARY KEY)").await.unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/pay_orders.py");
    let writers: Vec<_> = (0..2)
        .map(|writer| {
            let first = (1 + writer * ORDERS).to_string();
            let args = [script, schema.url(), schema.name(), &first, &ORDERS.to_string()];
            let mut command = Command::new(&python);
            command.args(args).stdout(std::process::Stdio::piped());
            command.stderr(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for writer in writers {
        let output =
            tokio::task::spawn_blocking(|| writer.wait_with_output().unwrap()).await.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(said["paid"], ORDERS);
        assert_eq!(said["rolled_back"], ORDERS / 5);
        assert_eq!(said["repeated"], ORDERS / 3);
    }
    let whole = r#"SELECT count(*) FROM cf.orders p JOIN cf.outbox o
        ON o.command_id = 'order.paid:' || p.id JOIN cf.delivery d USING (n)
        WHERE convert_from(o.body, 'UTF8') = '{"order_id": "' || p.id
          || '", "path": "C:\\x\\0", "note": "两件，易碎 📦"}'"#;
    assert_eq!(owner.number(whole).await, 2 * ORDERS);
    assert_eq!(owner.number("SELECT count(*) FROM cf.outbox").await, 2 * ORDERS);
}
