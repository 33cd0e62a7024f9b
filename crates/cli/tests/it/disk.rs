//! A disk that is full, or may not be written: nothing that was acknowledged is lost.
//!
//! Each runs in a mount namespace of its own. Where the system allows none, the test fails and says
//! what it needs: a skip would look like a pass.

use std::process::Command;

use crate::program::Desk;

/// Runs a shell script where it may mount.
pub(crate) fn where_mounting_is_allowed(desk: &Desk, script: &str) -> String {
    let program = env!("CARGO_BIN_EXE_counterfoil");
    for flags in [&["-m"][..], &["-Urm"]] {
        let unshare = |script: &str| {
            let mut command = Command::new("unshare");
            command.args(flags).args(["sh", "-ec", script, "sh", program]);
            command.current_dir(desk.path(".")).env_remove("COUNTERFOIL_STORE").output()
        };
        let probe = unshare("mkdir -p probe && mount -t tmpfs none probe");
        if probe.is_ok_and(|output| output.status.success()) {
            let output = unshare(script).unwrap();
            assert!(output.status.success(), "{output:?}");
            return String::from_utf8(output.stdout).unwrap();
        }
    }
    panic!(
        "no mount namespace: run as root, or allow user namespaces (needs util-linux's unshare)"
    );
}

#[test]
fn a_full_disk_refuses_and_loses_nothing() {
    let desk = Desk::empty();
    let script = r#"
        mkdir full; mount -t tmpfs -o size=1m none full; cd full
        "$1" init --store sqlite:o.db >init.log
        n=0
        while [ $n -lt 500 ] && head -c 9000 /dev/zero | tr '\0' x |
            "$1" enqueue c-$n - --to a --kind k --store sqlite:o.db >../said 2>../refused
        do n=$((n+1)); done
        echo "acknowledged $n"
        set +e
        echo x | "$1" enqueue again - --to a --kind k --store sqlite:o.db >/dev/null 2>&1
        "$1" status --json --store sqlite:o.db >../status; echo "status $?"
        "$1" audit --store sqlite:o.db >/dev/null; echo "audit $?"
    "#;
    let out = where_mounting_is_allowed(&desk, script);
    let lines: Vec<_> = out.lines().collect();
    let acknowledged = lines[0].rsplit(' ').next().unwrap().parse::<i64>().unwrap();
    assert!((1..500).contains(&acknowledged), "{out}");
    assert_eq!(&lines[1..], ["status 0", "audit 0"], "{out}");
    let refused = std::fs::read_to_string(desk.path("refused")).unwrap();
    assert!(refused.starts_with("error: ") && !refused.contains("panicked"), "{refused}");
    assert!(refused.contains("full"), "{refused}");
    let status = std::fs::read(desk.path("status")).unwrap();
    let status: serde_json::Value = serde_json::from_slice(&status).unwrap();
    let pending = status["destinations"]["a"]["pending"].as_i64().unwrap();
    // The last one, a small one, may have found room.
    assert!(pending == acknowledged || pending == acknowledged + 1, "{status} {acknowledged}");
}

#[test]
fn a_store_on_a_read_only_disk_is_named() {
    let desk = Desk::empty();
    let script = r#"
        mkdir fixed; "$1" init --store sqlite:fixed/o.db >/dev/null
        mount --bind fixed fixed; mount -o remount,ro,bind fixed
        set +e
        "$1" enqueue a --to a --kind k --body 1 --store sqlite:fixed/o.db 2>said; echo "enqueue $?"
        "$1" init --store sqlite:fixed/new.db 2>>said; echo "init $?"
    "#;
    let out = where_mounting_is_allowed(&desk, script);
    assert_eq!(out, "enqueue 2\ninit 2\n");
    let said = std::fs::read_to_string(desk.path("said")).unwrap();
    let lines: Vec<_> = said.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(lines.len(), 2, "{said}");
    assert!(lines[0].contains("fixed/o.db") && lines[0].contains("rights"), "{said}");
    assert!(lines[1].contains("fixed/new.db"), "{said}");
}
