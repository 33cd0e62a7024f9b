//! Both programs are killed at random moments until they end by themselves: all of each trip and
//! transfer, or none of it; the money balances; the audit holds. On both stores.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use counterfoil::audit::{AuditOptions, AuditReport, audit};
use counterfoil::postgres::PostgresStore;
use counterfoil::sqlite::SqliteStore;
use workflows::Ledger;

/// How many sites each program is tried on, on each store.
const SEEDS: u64 = 20;
/// How many workflows a site has.
const COUNT: i64 = 8;
/// How often a program is killed before it may end.
const KILLS: u32 = 3;
const SERVER: &str = "postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable";

/// A site's next random number.
fn draw(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 27)) % 1000
}

/// Starts the program and kills it, a few times, then lets it end.
fn run(program: &str, store: &str, ledger: &Path, seed: u64) {
    let mut random = seed;
    for round in 0..=KILLS {
        let mut child = Command::new(program)
            .args([store, ledger.to_str().unwrap(), &format!("s{seed}"), &COUNT.to_string()])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        if round < KILLS {
            std::thread::sleep(Duration::from_millis(20 + draw(&mut random) / 3));
            child.kill().unwrap();
            child.wait().unwrap();
        } else {
            assert!(child.wait().unwrap().success(), "{program}, seed {seed}");
        }
    }
}

/// Of eight transfers of 10 two credit nobody; of eight trips of 100 two can go well.
fn check(program: &str, ledger: &Path, seed: u64) {
    let ledger = Ledger::open(ledger).unwrap();
    let is = |account: &str| ledger.cents(account).unwrap();
    if program.ends_with("transfer") {
        assert_eq!((is("ann"), is("bob"), is("transit")), (1000 - 60, 60, 0), "seed {seed}");
        return;
    }
    let all = ["ann", "budget", "airline", "hotel", "agency"].map(is);
    // A kill can hold a trip up past the deadline of its approval: then it is undone.
    let trips = is("agency") / 10;
    assert!(trips <= 2, "seed {seed}: {trips}");
    let whole = [10_000 - 100 * trips, 0, 60 * trips, 30 * trips, 10 * trips];
    assert_eq!(all, whole, "seed {seed}: a part of a trip stands");
}

fn must_hold(report: &AuditReport) {
    assert!(report.holds, "{:?}", report.violations);
    assert!(report.checked.commands > 0);
}

fn on_sqlite(program: &str) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for seed in 0..SEEDS {
        let folder = tempfile::tempdir().unwrap();
        let (store, ledger) = (folder.path().join("app.db"), folder.path().join("ledger.db"));
        run(program, &format!("sqlite:{}", store.display()), &ledger, seed);
        check(program, &ledger, seed);
        let store = SqliteStore::open(&store, counterfoil::sqlite::Options::default()).unwrap();
        must_hold(&runtime.block_on(audit(&store, AuditOptions::default())).unwrap());
    }
}

fn on_postgres(program: &str, name: &str) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = format!("test_cf_{name}_{}", std::process::id());
    let server = std::env::var("COUNTERFOIL_TEST_POSTGRES").unwrap_or_else(|_| SERVER.into());
    let say = |sql: String| {
        runtime.block_on(async {
            let connected = tokio_postgres::connect(&server, tokio_postgres::NoTls).await;
            let (client, connection) = connected.expect("this test needs PostgreSQL");
            tokio::spawn(connection);
            client.batch_execute(&sql).await.unwrap();
        });
    };
    say(format!("CREATE DATABASE {database}"));
    let store = server.replacen("/postgres?", &format!("/{database}?"), 1);
    for seed in 0..SEEDS {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("ledger.db");
        run(program, &store, &ledger, seed);
        check(program, &ledger, seed);
    }
    runtime.block_on(async {
        let options = counterfoil::postgres::Options::default();
        let store = PostgresStore::open(&store, options).await.unwrap();
        must_hold(&audit(&store, AuditOptions::default()).await.unwrap());
    });
    say(format!("DROP DATABASE {database} WITH (FORCE)"));
}

#[test]
fn trips_on_sqlite() {
    on_sqlite(env!("CARGO_BIN_EXE_trip"));
}

#[test]
fn transfers_on_sqlite() {
    on_sqlite(env!("CARGO_BIN_EXE_transfer"));
}

#[test]
fn trips_on_postgres() {
    on_postgres(env!("CARGO_BIN_EXE_trip"), "trip");
}

#[test]
fn transfers_on_postgres() {
    on_postgres(env!("CARGO_BIN_EXE_transfer"), "transfer");
}
