//! Dumped while relays work, restored into another cluster, declared restored, and gone on with.

use std::fs::File;
use std::io::Seek as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use counterfoil_core::domain::{Micros, Span};
use counterfoil_core::port::Store;
use counterfoil_postgres::{Options, PostgresStore};

use super::scene::wait_for_the_end;
use super::scene::{AtWork, Book, KEYLESS, KEYS, SCHEMA, command, prepared, prove};
use crate::private::{PrivateServer, program};
use crate::server::connect_to;

const COMMANDS: usize = 400;

/// A script of what stands in the database, by `pg_dump` with these words.
fn dump(url: &str, words: &[&str]) -> File {
    let script = tempfile::tempfile().unwrap();
    let mut command = Command::new(program("pg_dump"));
    command.args(words).args(["-d", url]).stdout(script.try_clone().unwrap());
    let done = command.stderr(Stdio::piped()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    script
}

fn load(url: &str, mut script: File) {
    script.rewind().unwrap();
    let mut command = Command::new(program("psql"));
    command.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", url]).stdin(script);
    let done = command.stdout(Stdio::null()).stderr(Stdio::piped()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// `whole`: the dump brings the tables; else `init` has made them where it is loaded.
async fn moved(whole: bool) {
    let server = PrivateServer::start(&[]);
    let url = server.url();
    prepared(&url).await;
    let store = PostgresStore::open(&url, Options::default()).await.unwrap();
    let ids: Vec<String> = (0..COMMANDS).map(|n| format!("c-{n}")).collect();
    let names = [KEYS, KEYLESS].into_iter().cycle();
    let commands = ids.iter().zip(names).map(|(id, name)| command(name, id)).collect();
    assert!(store.enqueue(commands).await.unwrap().iter().all(Result::is_ok));
    let book = Book::default();
    let start = |store: &PostgresStore| {
        let served = book.both(Duration::from_millis(20), Span::from_secs(4));
        AtWork::start(store, served, counterfoil_relay::Options::default().workers(8))
    };
    let relay = start(&store);
    let called = async |count: usize| {
        while book.calls().len() < count {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    called(COMMANDS / 4).await;
    let asked = format!("SELECT {SCHEMA}.micros()");
    let at: i64 = connect_to(&url).await.query_one(&asked, &[]).await.unwrap().get(0);
    let script = dump(&url, if whole { &[] } else { &["--data-only"] });
    // What happens from here on the backup does not know, but the receivers do.
    let at_dump = book.calls().len();
    called((at_dump + 40).min(COMMANDS)).await;
    relay.stop().await;
    drop((store, server));
    let before = book.calls().len();
    assert!(at_dump < COMMANDS, "all was done before the dump had ended");

    let other = PrivateServer::start(&[]);
    let url = other.url();
    if !whole {
        prepared(&url).await;
    }
    load(&url, script);
    let store = PostgresStore::open(&url, Options::default()).await.unwrap();
    let doubted = store.restored(Micros::new(at), "ann").await.unwrap();
    assert!(doubted > 0, "nothing was open in the backup");
    let relay = start(&store);
    wait_for_the_end(&url, SCHEMA).await;
    relay.stop().await;
    let ends = prove(&store, &url, SCHEMA, &book, &ids).await;
    assert_eq!(ends.completed + ends.uncertain, COMMANDS);
    // Each of the keyless that was open is for a person now, and was not sent again.
    let again = book.calls().split_off(before);
    assert!(again.iter().any(|(name, _)| name == KEYS), "nothing was sent again");
    assert!(again.iter().all(|(name, _)| name == KEYS), "{again:?}");
    assert_eq!(ends.uncertain as u64 + again.len() as u64, doubted);

    // It goes on: what is new is in no doubt.
    let relay = start(&store);
    store.enqueue(vec![command(KEYLESS, "fresh")]).await.unwrap();
    wait_for_the_end(&url, SCHEMA).await;
    relay.stop().await;
    assert_eq!(store.show("fresh").await.unwrap().unwrap().listed.state, "completed");
    assert_eq!(book.times()["fresh"], 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_whole_dump_in_another_cluster_goes_on_and_sends_nothing_doubtful() {
    moved(true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_data_only_dump_in_another_cluster_goes_on_and_sends_nothing_doubtful() {
    moved(false).await;
}
