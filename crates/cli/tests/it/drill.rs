//! `drill`: small runs with a seed, and what it refuses.

use crate::program::{Desk, Running, wait_until};

#[test]
fn a_small_drill_ends_0_and_prints_moments_books_and_audit() {
    let desk = Desk::empty();
    let said = desk.run(&["drill", "--orders", "40", "--seed", "7"]);
    let out = &said.is_done().out;
    let words = [
        "pending; never sent; no receipt",
        "sending; no answer noted; no receipt",
        "the end",
        "orders paid",
        "effects (jobs)",
        "killed with SIGKILL",
        "the audit holds: 40 commands, 0 events, 40 expected ids, 40 keys",
        "every order has exactly one effect",
        "and is killed before it answers",
        "1 receiver died before a commit",
    ];
    for word in words {
        assert!(out.contains(word), "{word}: {said:?}");
    }
    assert!(std::fs::read_dir(desk.path(".")).unwrap().next().is_none(), "it left files");
}

#[test]
fn one_order_and_one_relay_are_enough() {
    let desk = Desk::empty();
    desk.run(&["drill", "--orders", "1", "--relays", "1"]).is_done();
}

#[test]
fn a_given_store_stays_and_must_have_no_orders() {
    let desk = Desk::empty();
    let drill = ["drill", "--orders", "15", "--store", "sqlite:d.db"];
    desk.run(&drill).is_done();
    let status = desk.run(&["status", "--json", "--store", "sqlite:d.db"]).json();
    assert_eq!(status["destinations"]["shipping"]["completed"], 15);
    let again = desk.run(&drill);
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(again.err.contains("from another drill"), "{again:?}");
    let other = desk.path("own.db");
    let own = rusqlite::Connection::open(&other).unwrap();
    own.execute_batch("CREATE TABLE orders(id TEXT, mine TEXT)").unwrap();
    drop(own);
    let said = desk.run(&["drill", "--orders", "5", "--store", "sqlite:own.db"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("without a table `orders`"), "{said:?}");
}

#[test]
fn the_store_of_the_environment_is_never_drilled() {
    let desk = Desk::new();
    let mut command = desk.command(&["drill", "--orders", "3"]);
    let output = command.env("COUNTERFOIL_STORE", "sqlite:orders.db").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(desk.orders("SELECT count(*) FROM counterfoil_outbox"), 0);
}

#[test]
fn a_contract_that_is_none_is_refused_by_name() {
    let desk = Desk::empty();
    let known = ["--contract", "idempotent", "askable", "none"];
    desk.run(&["drill", "--contract", "x"]).refuses(2, &known);
    assert_eq!(desk.run(&["drill", "--orders", "0"]).code, Some(2));
}

/// The shop's process: aborted between the business write and the commit, nothing of either.
#[test]
fn a_process_killed_before_its_commit_leaves_neither_order_nor_command() {
    let desk = Desk::new();
    let connection = rusqlite::Connection::open(desk.path("orders.db")).unwrap();
    let orders = "CREATE TABLE orders(id TEXT PRIMARY KEY, paid INTEGER NOT NULL DEFAULT 0);
                  INSERT INTO orders(id) VALUES ('A-000001'), ('A-000002')";
    connection.execute_batch(orders).unwrap();
    let pay = |hold: &str| {
        let args = ["drill", "--part", "pay", "--store", "sqlite:orders.db", "--first", "1"];
        let mut command = desk.command(&[&args[..], &["--orders", "2", "--hold", hold]].concat());
        command.stdin(std::process::Stdio::piped());
        Running::start(command)
    };
    let paid = || desk.orders("SELECT sum(paid) FROM orders");
    let commands = || desk.orders("SELECT count(*) FROM counterfoil_outbox");
    let payer = pay("before-commit");
    payer.hear("written A-000002");
    payer.kill();
    assert_eq!((paid(), commands()), (1, 1), "the second of two was killed");
    let payer = pay("after-commit");
    payer.hear("paid A-000002");
    payer.kill();
    assert_eq!((paid(), commands()), (2, 2));
}

/// A drill that works below `desk`, so that its files can be watched.
fn watched(desk: &Desk) -> Running {
    let mut command = desk.command(&["drill", "--orders", "500"]);
    command.env("TMPDIR", desk.path("."));
    Running::start(command)
}

/// The log of the first relay, once it runs.
fn log_of_relay(desk: &Desk) -> std::path::PathBuf {
    let mut found = None;
    wait_until("a relay runs", || {
        let folders = std::fs::read_dir(desk.path(".")).unwrap().flatten();
        found = folders.map(|folder| folder.path().join("relay-1.log")).find(|log| log.exists());
        let said = found.as_ref().and_then(|log| std::fs::read_to_string(log).ok());
        said.is_some_and(|said| said.matches("relay started").count() > 1)
    });
    found.unwrap()
}

#[test]
fn an_interrupted_drill_ends_its_processes_and_leaves_no_files() {
    let desk = Desk::empty();
    let mut drill = watched(&desk);
    log_of_relay(&desk);
    drill.signal("INT");
    assert_eq!(drill.end(), Some(2));
    assert!(std::fs::read_dir(desk.path(".")).unwrap().next().is_none(), "it left files");
}

#[test]
fn the_processes_of_a_killed_drill_end_by_themselves() {
    let desk = Desk::empty();
    let drill = watched(&desk);
    let log = log_of_relay(&desk);
    drill.kill();
    wait_until("the relay ends", || {
        let said = std::fs::read_to_string(&log).unwrap();
        // Only a relay that ends by itself says so, and then what it did.
        said.lines().any(|line| line.contains("relay stopped"))
    });
}

/// Somebody does a job a second time behind the drill's back: it must not end well.
#[test]
fn a_second_effect_makes_a_drill_exit_1() {
    let desk = Desk::empty();
    let mut drill = desk.start(&["drill", "--orders", "100", "--store", "sqlite:d.db"]);
    let double = "INSERT INTO jobs(n, source, key, body, result)
                  SELECT n + 1000000, source, key, body, result FROM jobs WHERE n = 1";
    wait_until("there is a job", || {
        let shipping = desk.path("d.shipping.db");
        let opened = rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE;
        let shipping = rusqlite::Connection::open_with_flags(shipping, opened);
        shipping.and_then(|shipping| shipping.execute(double, [])).is_ok_and(|rows| rows == 1)
    });
    drill.hear("differs: command order.paid:A-000001 has 2 effects");
    assert_eq!(drill.end(), Some(1));
}
