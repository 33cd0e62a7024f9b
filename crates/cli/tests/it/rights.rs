//! What somebody hears who may read a store and not write it.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use rusqlite::Connection;

use crate::program::{Desk, Said, run};
use crate::server::{Plain, Server, is_root};

fn mode(file: &Path, mode: u32) {
    set_permissions(file, Permissions::from_mode(mode)).unwrap();
}

/// Runs as a user whom rights stop: root may do everything, so nobody stands in for it, with a copy
/// of the program that everybody can reach.
fn stopped_by_rights(desk: &Desk, args: &[&str]) -> Said {
    let own = desk.command(args);
    if !is_root() {
        return run(own);
    }
    let program = desk.path("program");
    if !program.exists() {
        std::fs::copy(env!("CARGO_BIN_EXE_counterfoil"), &program).unwrap();
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program).args(args);
    let folder = program_folder(desk);
    command.current_dir(&folder).env("HOME", &folder).env_remove("COUNTERFOIL_STORE");
    run(command)
}

fn program_folder(desk: &Desk) -> std::path::PathBuf {
    desk.path("orders.db").parent().unwrap().to_owned()
}

/// The story: a relay ran as root once. Its user could read what root had left beside the database,
/// `doctor` called the store well, and no commit went through.
#[test]
fn a_file_beside_the_database_that_may_not_be_written_is_named() {
    let desk = Desk::new();
    // Open, so that what SQLite keeps beside the file stands.
    let open = Connection::open(desk.path("orders.db")).unwrap();
    open.query_row("SELECT count(*) FROM counterfoil_outbox", [], |row| row.get::<_, i64>(0))
        .unwrap();
    mode(&program_folder(&desk), 0o777);
    let store = ["--store", "sqlite:orders.db"];
    let enqueue = ["enqueue", "a", "--to", "b", "--kind", "k", "--body", "{}"];
    for name in ["orders.db", "orders.db-wal", "orders.db-shm"] {
        mode(&desk.path(name), 0o666);
    }
    let well = stopped_by_rights(&desk, &[&["doctor"][..], &store].concat());
    well.is_done();
    for name in ["orders.db-wal", "orders.db-shm"] {
        for (rights, words) in [(0o444, "give this user the right to write"), (0o000, "its rights")]
        {
            mode(&desk.path(name), rights);
            let file = format!("{name}: ");
            let told = stopped_by_rights(&desk, &[&["doctor"][..], &store].concat());
            assert_eq!(told.code, Some(2), "{name} {rights:o}: {told:?}");
            for said in [&told.out, &told.err] {
                assert!(
                    said.contains(&file) && said.contains(words),
                    "{name} {rights:o}: {told:?}"
                );
            }
            assert!(told.out.contains("wrong  store"), "{told:?}");
            let written = stopped_by_rights(&desk, &[&enqueue[..], &store].concat());
            written.refuses(2, &[&file, words]);
        }
        mode(&desk.path(name), 0o666);
    }
    stopped_by_rights(&desk, &[&enqueue[..], &store].concat()).is_done();
}

/// The story: an auditor was told that the store is broken, and called for help.
#[test]
fn an_auditor_who_may_not_write_is_told_which_role_may() {
    let (server, desk) = (Server::start(""), Desk::empty());
    let store = server.database() + "?schema=shop";
    desk.run(&["init", "--store", &store]).is_done();
    let roles = desk.run(&["init", "--roles", "--store", &store]);
    let plain = Plain::open(&store.replace("?schema=shop", ""));
    plain.run(&roles.is_done().out);
    plain.run("CREATE ROLE seer LOGIN IN ROLE shop_auditor");
    let seer = store.replace("postgres@", "seer@");
    let audit = |more: &[&str]| desk.run(&[&["audit", "--store", &seer][..], more].concat());
    audit(&[]).is_done();
    let reseal = audit(&["--reseal", "--reason", "looked into"]);
    assert_eq!(reseal.code, Some(2), "{reseal:?}");
    for said in [&reseal.out, &reseal.err] {
        assert!(said.contains("(42501)") && said.contains("shop_operator"), "{reseal:?}");
        assert!(!said.contains("broken"), "{reseal:?}");
    }
    plain.run("REVOKE INSERT, UPDATE ON shop.seal FROM shop_auditor");
    let unsealed = audit(&["--full"]);
    assert!(unsealed.is_done().out.contains("the seal was not written: "), "{unsealed:?}");
    assert!(unsealed.out.contains("it needs the role shop_auditor"), "{unsealed:?}");
    plain.run(
        "INSERT INTO shop.outbox(command_id, destination, kind, body) VALUES ('x', 'a', 'k', 'b');
         SET session_replication_role = replica; DELETE FROM shop.delivery",
    );
    let mend = audit(&["--mend"]);
    assert_eq!(mend.code, Some(2), "{mend:?}");
    assert!(mend.err.contains("(42501)") && mend.err.contains("shop_operator"), "{mend:?}");
}
