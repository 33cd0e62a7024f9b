//! Reaching a PostgreSQL store: passwords, and servers and schemas that cannot be used.

use std::time::Instant;

use crate::program::{Desk, PATIENCE, Said, run};
use crate::server::{Schema, Server, certificate};

/// Text that must never be seen.
const SECRET: &str = "pässword";

fn hides(said: &Said) -> &Said {
    for text in [&said.out, &said.err] {
        assert!(!text.contains(SECRET) && !text.contains("p%C3%A4ssword"), "{said:?}");
    }
    said
}

#[cfg(unix)]
fn mode(desk: &Desk, name: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(desk.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(unix)]
#[test]
fn a_password_comes_from_a_file_or_the_environment_and_is_never_shown() {
    let (server, desk) = (Server::with_passwords(), Desk::empty());
    let (store, port) = (server.url("postgres"), server.port());
    let init = ["init", "--store", &store];
    let with = |args: &[&str], name: &str, value: &str| {
        let mut command = desk.command(args);
        command.env(name, value);
        run(command)
    };
    let file = desk.path("pgpass");
    let file = file.to_str().unwrap();

    let none = desk.run(&init);
    none.refuses(2, &["cannot be used", "PGPASSFILE"]);
    let wrong = with(&init, "PGPASSWORD", "no");
    wrong.refuses(2, &["(28P01)", "PGPASSFILE"]);

    desk.write("pgpass", &format!("# ours\n127.0.0.1:{port}:postgres:*:{SECRET}\\:1\n"));
    mode(&desk, "pgpass", 0o644);
    let open = with(&init, "PGPASSFILE", file);
    assert_eq!(open.code, Some(2), "{open:?}");
    assert!(open.err.contains("others can read it: chmod 600"), "{open:?}");
    mode(&desk, "pgpass", 0o600);
    hides(&with(&init, "PGPASSFILE", file)).is_done();
    hides(&with(&["status", "--store", &store], "PGPASSWORD", "pässword:1")).is_done();

    // Whole, in a variable; in the flag and in the file itself it is refused.
    let whole = store.replace("postgres@", "postgres:p%C3%A4ssword%3A1@");
    hides(&with(&["status", "-vv"], "COUNTERFOIL_STORE", &whole)).is_done();
    let missing = with(&["show", "a"], "COUNTERFOIL_STORE", &whole);
    hides(&missing).refuses(1, &["postgres://postgres@127.0.0.1"]);
    hides(&desk.run(&["status", "--store", &whole])).refuses(2, &["--store", "holds a password"]);
    let inbox = ["audit", "--store", "sqlite:a.db", "--inbox", &whole];
    hides(&desk.run(&inbox)).refuses(2, &["--inbox", "holds a password"]);
    desk.write("counterfoil.toml", "[store]\nurl = { env = \"CF_STORE\" }\n");
    hides(&with(&["status"], "CF_STORE", &whole)).is_done();
    desk.write("counterfoil.toml", &format!("[store]\nurl = \"{whole}\"\n"));
    hides(&desk.run(&["status"])).refuses(2, &["counterfoil.toml:2:7", "credentials", "env"]);
}

/// As libpq has it: `require` trusts any certificate, `verify-ca` any name, `verify-full` neither.
#[test]
fn a_servers_certificate_is_judged_as_sslmode_says() {
    let (server, desk) = (Server::with_tls(), Desk::empty());
    let (ours, others) = (certificate("ca.pem"), certificate("stranger.pem"));
    let (ours, others) = (ours.display(), others.display());
    let named = server.url("postgres").replace("127.0.0.1", "localhost");
    let numbered = server.url("postgres");
    // A name that is the server's address and not in its certificate.
    let unnamed = numbered.replace("127.0.0.1", "elsewhere") + "?hostaddr=127.0.0.1&";
    desk.run(&["init", "--store", &format!("{named}?sslmode=require")]).is_done();
    for (store, works) in [
        (format!("{named}?sslmode=disable"), true),
        (format!("{unnamed}sslmode=prefer"), true),
        (format!("{named}?sslmode=verify-full&sslrootcert={ours}"), true),
        (format!("{unnamed}sslmode=verify-ca&sslrootcert={ours}"), true),
        (format!("{unnamed}sslmode=require&sslrootcert={ours}"), true),
        (format!("{unnamed}sslmode=verify-full&sslrootcert={ours}"), false),
        (format!("{named}?sslmode=verify-full&sslrootcert={others}"), false),
        (format!("{named}?sslmode=verify-ca&sslrootcert={others}"), false),
        (format!("{named}?sslmode=require&sslrootcert={others}"), false),
    ] {
        let said = desk.run(&["status", "--store", &store]);
        if works {
            said.is_done();
        } else {
            said.refuses(2, &["cannot be used", "sslmode"]);
        }
    }
    let missing = format!("{named}?sslmode=verify-full&sslrootcert=none.pem");
    let said = desk.run(&["status", "--store", &missing]);
    said.refuses(2, &["sslrootcert", "none.pem", "cannot be read"]);
}

#[test]
fn a_server_that_is_down_is_told_within_seconds() {
    let desk = Desk::empty();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let store = format!("postgres://me@127.0.0.1:{port}/shop");
    desk.write("counterfoil.toml", "[destination.a]\ntransport = \"log\"\n");
    for verb in [
        &["init"][..],
        &["status"],
        &["show", "a"],
        &["audit"],
        &["retry", "a"],
        &["pause", "a", "--reason", "x"],
        &["relay"],
        &["drill", "--orders", "1"],
    ] {
        let began = Instant::now();
        let said = desk.run(&[verb, &["--store", &store]].concat());
        assert_eq!(said.code, Some(2), "{verb:?}: {said:?}");
        for word in ["postgres://me@127.0.0.1", "onnection refused", "psql"] {
            assert!(said.err.contains(word), "{verb:?} {word}: {said:?}");
        }
        assert!(began.elapsed() < PATIENCE, "{verb:?}");
    }
    let doctor = desk.run(&["doctor", "--store", &store]);
    assert_eq!(doctor.code, Some(2), "{doctor:?}");
    assert!(doctor.out.contains("wrong  store"), "{doctor:?}");
}

#[test]
fn a_schema_that_cannot_be_used_is_told_with_the_way_out() {
    let (desk, schema) = (Desk::empty(), Schema::unmade());
    let store = schema.store();
    let status = || desk.run(&["status", "--store", &store]);
    status().refuses(2, &["no Counterfoil schema", &schema.name, "run `counterfoil init`"]);
    desk.run(&["init", "--store", &store]).is_done();
    let pretend = |version: i32| {
        schema.run(&format!("SET counterfoil.own = on; UPDATE cf.meta SET version = {version}"));
    };
    pretend(999);
    status().refuses(2, &["version 999", "newer program"]);
    desk.run(&["init", "--store", &store]).refuses(2, &["version 999"]);
    pretend(1);
    status().refuses(2, &["version 1", "counterfoil init"]);
    let elsewhere = store.replace("/postgres?", "/surely_none?");
    desk.run(&["init", "--store", &elsewhere]).refuses(2, &["(3D000)", "createdb"]);
    let odd = format!("{store}&colour=red");
    desk.run(&["status", "--store", &odd]).refuses(2, &["unknown option `colour`", "pooler"]);
    let named = store.replace(&schema.name, "pg_x");
    desk.run(&["init", "--store", &named]).refuses(2, &["pg_x", "take one such as"]);
}
