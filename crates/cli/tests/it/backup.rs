//! The guide of docs/backup.md: its commands, run as they stand there, around real processes.
//!
//! A shop with two destinations, one whose receiver keeps keys and one whose receiver acts at
//! every request. A backup is taken while both receivers are down and the relay runs; then all is
//! delivered, and the file is restored.

use std::path::Path;
use std::process::Command;
use std::sync::mpsc::RecvTimeoutError;

use rusqlite::Connection;

use crate::program::{Desk, PATIENCE, Running, Said, number, wait_until};

/// The commands that are open in the backup, by their orders.
const OPEN: [u32; 3] = [4, 5, 6];
/// Orders that are paid in all, each with one command for each destination.
const ORDERS: u32 = 6;

/// The lines of the guide's blocks of shell.
fn guide() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/backup.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.flat_map(|block| block.lines().map(str::to_owned)).collect()
}

/// The line of the guide that holds `word`.
fn line(word: &str) -> String {
    let lines = guide();
    let found = lines.iter().find(|line| line.contains(word));
    found.unwrap_or_else(|| panic!("the guide has no {word:?}")).clone()
}

/// Runs a line of the guide in the desk's folder, with the build under test on the PATH.
fn run(desk: &Desk, line: &str) -> Said {
    let built = Path::new(env!("CARGO_BIN_EXE_counterfoil")).parent().unwrap();
    let path = format!("{}:{}", built.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(desk.path(".")).env("PATH", path);
    command.env_remove("COUNTERFOIL_STORE").env_remove("COUNTERFOIL_LOG").env("NO_COLOR", "1");
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Takes the backup as the guide says. Its SQL is run by the SQLite that is linked here, since
/// not every machine has the shell.
fn back_up(desk: &Desk) {
    run(desk, &line("date -u")).is_done();
    let sql = line("VACUUM INTO");
    let sql = sql.strip_prefix("sqlite3 orders.db \"").unwrap().strip_suffix('"').unwrap();
    let sql = sql.replace("'orders.backup.db'", "?1");
    let target = desk.path("orders.backup.db").display().to_string();
    open(desk).execute(&sql, [target]).unwrap();
}

/// Puts the backup back and restores by the guide, the given lines left out.
fn restore(desk: &Desk, without: Option<&str>, at: Option<&str>) {
    for word in ["rm -f", "cp orders.backup.db", "counterfoil restored"] {
        let mut line = line(word);
        if without == Some(word) {
            continue;
        }
        if let Some(at) = at {
            line = line.replace("\"$(cat orders.backup.time)\"", at);
        }
        run(desk, &line).is_done();
    }
}

fn open(desk: &Desk) -> Connection {
    let connection = Connection::open(desk.path("orders.db")).unwrap();
    connection.busy_timeout(PATIENCE).unwrap();
    connection
}

/// Pays an order: the row and both commands in one transaction, as any program would.
fn pay(connection: &Connection, order: u32) {
    pay_ago(connection, order, "-0 days");
}

fn pay_ago(connection: &Connection, order: u32, ago: &str) {
    let at = format!("CAST((julianday('now', '{ago}') - 2440587.5) * 86400000000 AS INTEGER)");
    let paid = format!(
        "BEGIN IMMEDIATE;
         INSERT INTO orders VALUES ('{order}', 1);
         INSERT INTO counterfoil_outbox(command_id, destination, kind, body, recorded_at)
         VALUES
           ('ship:{order}', 'shipping', 'order.ship', '{{}}', {at}),
           ('mail:{order}', 'mail', 'order.mail', '{{}}', {at});
         COMMIT"
    );
    connection.execute_batch(&paid).unwrap();
}

/// The keyless receiver, with `mail.db`.
fn mailer(desk: &Desk, port: u16) -> (Running, u16) {
    let listen = format!("127.0.0.1:{port}");
    let args = ["receiver", "--store", "sqlite:mail.db", "--no-keys", "--no-asking", "--listen"];
    let running = desk.start(&[&args[..], &[&listen]].concat());
    let said = running.hear("listening on ");
    let port = said.rsplit(':').next().unwrap().parse().unwrap();
    (running, port)
}

fn configure(desk: &Desk, shipping: u16, mail: u16) {
    let expect = |kind| {
        let sql = format!("SELECT '{kind}:' || id FROM orders WHERE paid = 1");
        format!("{{ sql = \"{sql}\", kind = \"order.{kind}\" }}")
    };
    let destination = |name, port, idempotent| {
        format!(
            "[destination.{name}]\ntransport = \"http\"\nrequest_timeout = \"1s\"\n\
             url = \"http://127.0.0.1:{port}/commands\"\nidempotent = {idempotent}\n\
             retry = {{ initial = \"20ms\", max = \"200ms\" }}\n"
        )
    };
    let text = format!(
        "[store]\nurl = \"sqlite:orders.db\"\n\
         [relay]\nworkers = 4\nlease = \"3200ms\"\npoll = \"20ms\"\ndrain = \"2s\"\n\
         [audit]\nexpect = [{}, {}]\n{}{}",
        expect("ship"),
        expect("mail"),
        destination("shipping", shipping, "{ key_ttl = \"24h\" }"),
        destination("mail", mail, "false"),
    );
    desk.write("counterfoil.toml", &text);
}

fn completed(desk: &Desk, destination: &str) -> i64 {
    let count = "SELECT count(*) FROM counterfoil_receipt WHERE outcome = 'completed'";
    desk.orders(&format!("{count} AND destination = '{destination}'"))
}

fn uncertain(desk: &Desk, destination: &str) -> i64 {
    let count = "SELECT count(*) FROM counterfoil_delivery WHERE state = 'uncertain'";
    desk.orders(&format!("{count} AND in_doubt = 1 AND destination = '{destination}'"))
}

fn jobs(desk: &Desk, file: &str, key: &str) -> i64 {
    number(&desk.path(file), &format!("SELECT count(*) FROM jobs WHERE key GLOB '{key}'"))
}

/// A desk whose backup has the commands of `OPEN` pending, all of which were done after it; and
/// the receivers, which run on.
fn done_after_the_backup() -> (Desk, [Running; 2]) {
    let desk = Desk::new();
    let shop = open(&desk);
    shop.execute_batch("CREATE TABLE orders(id TEXT PRIMARY KEY, paid INTEGER)").unwrap();
    let ((shipping, at), (mail, mail_at)) = (desk.receiver(&[]), mailer(&desk, 0));
    configure(&desk, at, mail_at);
    let mut relay = desk.start(&["relay"]);
    // No backup is older than the store: this one has stood for a while.
    (1..4).for_each(|order| pay_ago(&shop, order, "-4 days"));
    let all_done = |count| {
        wait_until("both have done it", || {
            completed(&desk, "shipping") == count && completed(&desk, "mail") == count
        });
    };
    all_done(3);
    shipping.kill();
    mail.kill();
    OPEN.iter().for_each(|order| pay(&shop, *order));
    // While the relay runs, and tries in vain; a try that is under way is one too many.
    let pending = "SELECT count(*) FROM counterfoil_delivery WHERE state = 'pending'
                   AND in_doubt = 0 AND first_sent_at IS NULL";
    wait_until("a backup with nothing on its way", || {
        let _ = std::fs::remove_file(desk.path("orders.backup.db"));
        back_up(&desk);
        number(&desk.path("orders.backup.db"), pending) == 6
    });
    let receivers = [desk.receiver_at(at, &[]).0, mailer(&desk, mail_at).0];
    all_done(i64::from(ORDERS));
    relay.signal("TERM");
    assert_eq!(relay.end(), Some(0));
    assert_eq!((jobs(&desk, "shipping.db", "*"), jobs(&desk, "mail.db", "*")), (6, 6));
    (desk, receivers)
}

#[test]
fn after_restored_nothing_acts_twice_and_what_is_unknown_is_listed() {
    let (desk, _receivers) = done_after_the_backup();
    restore(&desk, None, None);
    let acted = "SELECT count(*) FROM counterfoil_operator_action WHERE verb = 'restored'";
    assert_eq!(desk.orders(acted), 1);
    let relayed = run(&desk, &line("relay --until-idle"));
    assert_eq!(relayed.code, Some(1), "something waits for a person: {relayed:?}");
    // With keys: all were repeats, and all are completed.
    assert_eq!((completed(&desk, "shipping"), jobs(&desk, "shipping.db", "*")), (6, 6));
    let repeats = "SELECT count(*) FROM calls WHERE outcome = 'repeated'";
    assert_eq!(number(&desk.path("shipping.db"), repeats), 3);
    run(&desk, &line("audit --inbox")).is_done();
    // Without: what was open in the backup waits for a person, and was not sent.
    assert_eq!((completed(&desk, "mail"), uncertain(&desk, "mail")), (3, 3));
    assert_eq!(jobs(&desk, "mail.db", "*"), 6, "nothing was sent");
    let listed = run(&desk, &line("list --state uncertain"));
    let rows = listed.is_done().out.lines().filter(|row| row.contains("uncertain, in doubt"));
    assert_eq!(rows.count(), 3, "{listed:?}");
    for order in OPEN {
        assert!(listed.out.contains(&format!("mail:{order}")), "{listed:?}");
    }
    // A person has looked, and says so as the guide does.
    let report = include_str!("../../../../docs/backup.md").split("```sql\n").nth(1).unwrap();
    let report = report.split("```").next().unwrap();
    for order in OPEN {
        let report = report.replace("mail:4", &format!("mail:{order}"));
        open(&desk).execute_batch(&report).unwrap();
    }
    run(&desk, &line("relay --until-idle")).is_done();
    assert_eq!((completed(&desk, "mail"), jobs(&desk, "mail.db", "*")), (6, 6));
}

/// What the verb is for: the same without it.
#[test]
fn without_restored_a_receiver_without_keys_acts_twice() {
    let (desk, _receivers) = done_after_the_backup();
    restore(&desk, Some("counterfoil restored"), None);
    run(&desk, &line("relay --until-idle")).is_done();
    for order in OPEN {
        assert_eq!(jobs(&desk, "mail.db", &format!("mail:{order}")), 2, "mail:{order}");
        assert_eq!(jobs(&desk, "shipping.db", &format!("ship:{order}")), 1, "ship:{order}");
    }
    assert_eq!(uncertain(&desk, "mail"), 0, "and nobody was told");
}

/// A backup older than the receiver's keys: a repeat might find them forgotten.
#[test]
fn a_backup_older_than_the_keys_leaves_all_that_was_open_uncertain() {
    let (desk, _receivers) = done_after_the_backup();
    restore(&desk, None, Some("3d"));
    assert_eq!(run(&desk, &line("relay --until-idle")).code, Some(1));
    assert_eq!((uncertain(&desk, "shipping"), uncertain(&desk, "mail")), (3, 3));
    let calls = "SELECT count(*) FROM calls";
    assert_eq!(number(&desk.path("shipping.db"), calls), 6, "none was sent again");
}

/// What was paid after the backup is gone here, and the receiver's book still names it.
#[test]
fn what_was_lost_is_named_by_the_audit_and_entered_again_without_a_second_effect() {
    let (desk, _receivers) = done_after_the_backup();
    pay(&open(&desk), 7);
    desk.run(&["relay", "--until-idle"]).is_done();
    restore(&desk, None, None);
    assert_eq!(run(&desk, &line("relay --until-idle")).code, Some(1));
    let audited = run(&desk, &line("audit --inbox"));
    assert_eq!(audited.code, Some(1), "{audited:?}");
    assert!(audited.out.contains("ship:7"), "{audited:?}");
    pay(&open(&desk), 7);
    desk.run(&["relay", "--until-idle", "--only", "shipping"]).is_done();
    run(&desk, &line("audit --inbox")).is_done();
    assert_eq!(jobs(&desk, "shipping.db", "ship:7"), 1);
}

/// Both ways of the guide, while a shop pays and a relay delivers without a pause.
#[test]
fn an_online_backup_is_whole_while_everybody_writes() {
    let desk = Desk::new();
    let shop = open(&desk);
    shop.execute_batch("CREATE TABLE orders(id TEXT PRIMARY KEY, paid INTEGER)").unwrap();
    let ((_shipping, at), (_mail, mail_at)) = (desk.receiver(&[]), mailer(&desk, 0));
    configure(&desk, at, mail_at);
    let _relay = desk.start(&["relay"]);
    let (over, is_over) = std::sync::mpsc::channel::<()>();
    let paying = std::thread::spawn(move || {
        let pause = std::time::Duration::from_millis(1);
        // A test that fails hangs up too.
        (1..)
            .take_while(|_| is_over.recv_timeout(pause) == Err(RecvTimeoutError::Timeout))
            .for_each(|order| pay(&shop, order));
    });
    copies_hold(&desk);
    drop(over);
    paying.join().unwrap();
}

fn copies_hold(desk: &Desk) {
    let backup = "import sqlite3, sys; sqlite3.connect('orders.db', timeout=60)\
                  .backup(sqlite3.connect('orders.backup.db'))";
    let mut seen = 0;
    for turn in 0..6 {
        let before = completed(desk, "shipping");
        wait_until("it delivers", || completed(desk, "shipping") > before + 3);
        let copy = desk.path("orders.backup.db");
        let _ = std::fs::remove_file(&copy);
        if turn % 2 == 0 {
            back_up(desk);
        } else {
            run(desk, &format!("python3 -c \"{backup}\"")).is_done();
        }
        let orders = number(&copy, "SELECT count(*) FROM orders");
        assert!(orders > seen, "{orders} orders, {seen} in the copy before");
        seen = orders;
        run(desk, &line("audit --store")).is_done();
        let check = "SELECT integrity_check = 'ok' FROM pragma_integrity_check";
        assert_eq!(number(&copy, check), 1);
    }
}

/// Why the guide forbids it: the newest commits are not in the file.
#[test]
fn a_copy_of_the_live_file_alone_lacks_what_was_committed() {
    let desk = Desk::new();
    let shop = open(&desk);
    shop.execute_batch("CREATE TABLE orders(id TEXT PRIMARY KEY, paid INTEGER)").unwrap();
    let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
    shop.query_row(checkpoint, [], |_| Ok(())).unwrap();
    pay(&shop, 1);
    std::fs::copy(desk.path("orders.db"), desk.path("live.db")).unwrap();
    back_up(&desk);
    let orders = |file| number(&desk.path(file), "SELECT count(*) FROM orders");
    assert_eq!((orders("live.db"), orders("orders.backup.db")), (0, 1));
}
