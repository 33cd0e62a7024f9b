//! `pooler=transaction` in a store's URL: every step by a real PgBouncer.

use std::net::TcpStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::program::{Desk, Said, configuration, wait_until};
use crate::server::{Server, give_to_postgres, is_root};

/// A pooler before a server: two connections for all, so that what one leaves, another meets.
struct Pooler {
    child: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Pooler {
    fn start(server: &Server) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        let users = folder.path().join("users.txt");
        std::fs::write(&users, "\"postgres\" \"\"\n").unwrap();
        let says = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = trust\nauth_file = {}\n\
             pool_mode = transaction\ndefault_pool_size = 2\nserver_check_delay = 0\n\
             logfile = {}\n",
            server.port(),
            users.display(),
            folder.path().join("log").display(),
        );
        let configuration = folder.path().join("pgbouncer.ini");
        std::fs::write(&configuration, says).unwrap();
        give_to_postgres(folder.path());
        let program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].map(Path::new);
        let program = program.into_iter().find(|path| path.exists());
        let mut command = Command::new(program.unwrap_or(Path::new("pgbouncer")));
        if is_root() {
            // It refuses to run as root.
            let id = |what: &str| {
                let said = Command::new("id").args([what, "postgres"]).output().unwrap();
                String::from_utf8(said.stdout).unwrap().trim().parse().unwrap()
            };
            command.uid(id("-u")).gid(id("-g"));
        }
        command.arg("-q").arg(&configuration).current_dir("/").stdin(Stdio::null());
        drop(free);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.expect("no pgbouncer: install it (Debian: apt-get install pgbouncer)");
        let pooler = Self { child, port, _folder: folder };
        wait_until("pgbouncer", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        pooler
    }

    /// A store in a schema of its own, so that its name is written everywhere.
    fn store(&self, more: &str) -> String {
        format!(
            "postgres://postgres@127.0.0.1:{}/postgres?sslmode=disable&schema=shop{more}",
            self.port
        )
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn every_verb_goes_by_a_pooler_in_transaction_mode() {
    let server = Server::start("");
    let (pooler, desk) = (Pooler::start(&server), Desk::empty());
    let store = pooler.store("&pooler=transaction");
    let run = |args: &[&str]| -> Said { desk.run(&[args, &["--store", &store]].concat()) };
    let first = run(&["init", "--source", "urn:pooled"]);
    assert!(first.is_done().out.contains("its source is urn:pooled"), "{first:?}");
    run(&["init"]).is_done();
    // It reads only, and leaves no setting and no statement with whoever comes next.
    run(&["doctor"]).is_done();

    let line = |n: u32| {
        format!("{{\"id\":\"f-{n}\",\"to\":\"shipping\",\"kind\":\"k\",\"body\":\"{n}\"}}\n")
    };
    desk.write("all.jsonl", &(0..300).map(line).collect::<String>());
    run(&["enqueue", "--from", "all.jsonl"]).is_done();
    let enqueue = ["enqueue", "a", "--to", "shipping", "--kind", "k", "--body", "{}"];
    let in_lane = [&enqueue[..], &["--ordering-key", "A"]].concat();
    assert_eq!(run(&in_lane).is_done().out, "recorded\n");
    assert_eq!(run(&in_lane).is_done().out, "repeated\n");
    run(&enqueue).refuses(1, &["stands with other content"]);

    let (_receiver, port) = desk.receiver(&[]);
    let text = configuration(port, "\"forever\"", "").replace("sqlite:orders.db", &store);
    desk.write("counterfoil.toml", &text);
    // Two at once share the pooler's two connections.
    let mut other = desk.start(&["relay", "--until-idle"]);
    desk.run(&["relay", "--until-idle"]).is_done();
    assert_eq!(other.end(), Some(0));
    let status = run(&["status", "--json"]).json();
    assert_eq!(status["destinations"]["shipping"]["completed"], 301, "{status}");
    assert_eq!(run(&["list", "--state", "completed", "--limit", "400"]).is_done().code, Some(0));
    assert_eq!(run(&["show", "f-7", "--json"]).json()["state"], "completed");
    let held = desk.run(&["audit", "--inbox", "sqlite:shipping.db"]);
    assert!(held.is_done().out.contains("the audit holds: 301 commands"), "{held:?}");
    let again = ["redeliver", "a", "--reason", "to see it folded", "--may-act-twice"];
    run(&again).is_done();
    run(&["pause", "shipping", "--reason", "they move"]).is_done();
    run(&["resume", "shipping"]).is_done();
    desk.run(&["relay", "--until-idle"]).is_done();
    assert_eq!(desk.shipping("SELECT count(*) FROM jobs"), 301);
}

/// A relay that would wait for what it can never hear says so at its start; writers may say both.
#[test]
fn what_a_pooler_cannot_do_is_refused_by_name() {
    let server = Server::start("");
    let (pooler, desk) = (Pooler::start(&server), Desk::empty());
    let both = pooler.store("&pooler=transaction&listen=true");
    desk.run(&["init", "--store", &both]).is_done();
    let enqueue = ["enqueue", "a", "--to", "shipping", "--kind", "k", "--body", "{}"];
    desk.run(&[&enqueue[..], &["--store", &both]].concat()).is_done();
    desk.write("counterfoil.toml", &configuration(1, "\"forever\"", ""));
    let relay = desk.run(&["relay", "--until-idle", "--store", &both]);
    relay.refuses(2, &["listen=true", "pooler=transaction", "the server itself"]);
    let unnamed = desk.run(&["status", "--store", &pooler.store("")]);
    unnamed.refuses(2, &["a pooler stands between"]);
}
