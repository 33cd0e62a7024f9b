//! schemathesis reads the OpenAPI document of a running relay, and tries to catch it lying.
//!
//! Guarantees: hundreds of requests, good and bad, without one answer that the document does not
//! name, and without one 500. Does not: run without Python; it is installed below `target` once.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::api::{configure, port_of};
use crate::program::Desk;

/// The version whose checks the document is held to.
const SCHEMATHESIS: &str = "schemathesis==4.32.5";

/// What the document cannot say: one parameter that is never given without another.
const CONFIGURATION: &str = "[[operations]]
include-path = \"/v1/orphans\"
[operations.checks.positive_data_acceptance]
expected-statuses = [\"2xx\", \"400\"]
";

/// The program, installed from PyPI if it is not there yet.
fn schemathesis() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let venv = target.join(SCHEMATHESIS.replace("==", "-"));
    let program = venv.join("bin/schemathesis");
    if program.exists() {
        return program;
    }
    // Made beside it, so that one that was interrupted is not taken for whole.
    let made = tempfile::tempdir_in(target).unwrap();
    let python = Command::new("python3").args(["-m", "venv"]).arg(made.path()).output();
    let python = python.expect("this test needs Python 3 with venv: install python3-venv");
    assert!(python.status.success(), "this test needs Python 3 with venv: install python3-venv");
    let pip = Command::new(made.path().join("bin/pip"))
        .args(["install", "--quiet", "--disable-pip-version-check", SCHEMATHESIS])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&pip.stderr);
    let said = said.lines().last().unwrap_or_default();
    assert!(pip.status.success(), "this test needs {SCHEMATHESIS} from PyPI once: {said}");
    // The paths inside a venv are absolute: what is kept is a link to it.
    let made = made.keep();
    let _ = std::os::unix::fs::symlink(&made, &venv);
    made.join("bin/schemathesis")
}

#[test]
fn schemathesis_finds_no_violation_against_a_running_relay() {
    let program = schemathesis();
    let desk = Desk::new();
    desk.write("secret", "a-secret-of-32-characters-at-least\n");
    let token = "{ name = \"ops\", role = \"operator\", value = { file = \"secret\" } }";
    let api = format!("listen = \"127.0.0.1:0\"\ntokens = [{token}]");
    let (_receiver, receiver) = desk.receiver(&[]);
    configure(&desk, receiver, "", &api);
    // The ids that the document's examples name, and some to list.
    for id in ["order.paid:A-001", "a", "b"] {
        desk.enqueue(id);
    }
    let relay = desk.start(&["relay"]);
    let port = port_of(&relay);
    desk.write("schemathesis.toml", CONFIGURATION);
    let bearer = "Authorization: Bearer a-secret-of-32-characters-at-least";
    let url = format!("http://127.0.0.1:{port}");
    let said = Command::new(program)
        .current_dir(desk.path(""))
        .args(["run", &format!("{url}/openapi.json"), "--url", &url])
        .args(["--header", bearer, "--checks", "all", "--phases", "examples,coverage,fuzzing"])
        .args(["--max-examples", "20", "--seed", "4", "--no-color", "--workers", "1"])
        .args(["--suppress-health-check", "all", "--generation-database", "none"])
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    assert!(said.status.success(), "{out}\n{err}");
    // All of the document but the one that serves it.
    assert!(out.contains("Selected: 23/23"), "not every operation was tried: {out}");
    assert!(out.contains("Tested: 23"), "not every operation was tried: {out}");
    // Reports that contradict each other are what it made; nothing else is amiss.
    let audit = desk.run(&["audit", "--json", "--store", "sqlite:orders.db"]).out;
    let audit: serde_json::Value = serde_json::from_str(&audit).unwrap();
    let violations = audit["violations"].as_array().unwrap();
    assert!(violations.iter().all(|one| one["code"] == "CF0822"), "{audit}");
    drop(relay);
}
