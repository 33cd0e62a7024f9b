//! The reference receiver with its book on PostgreSQL: the same answers as on SQLite.

use std::sync::Barrier;

use counterfoil_inbox::receiver::{Keys, Options};
use counterfoil_postgres::InboxBook;

use crate::client::{Serving, deliver, get};
use crate::postgres::{Schema, connect, url};

const TWINS: usize = 32;

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

pub(crate) fn open(schema: &Schema) -> InboxBook {
    let mut options = counterfoil_postgres::Options::default();
    options.schema.clone_from(&schema.0);
    InboxBook::open(&url(), &options).unwrap()
}

pub(crate) fn number(schema: &Schema, sql: &str) -> i64 {
    runtime().block_on(schema.number(sql))
}

#[test]
fn of_32_twins_over_http_one_acts_and_all_get_its_result() {
    let schema = Schema::unmade();
    let serving = Serving::of(open(&schema), Options::default());
    let barrier = Barrier::new(TWINS);
    std::thread::scope(|scope| {
        for _ in 0..TWINS {
            scope.spawn(|| {
                barrier.wait();
                let answered = deliver(serving.at, "twin", b"{}");
                assert_eq!((answered.status, answered.text()), (200, r#"{"job":1}"#));
            });
        }
    });
    assert_eq!(deliver(serving.at, "twin", b"other").status, 422);
    assert_eq!(get(serving.at, "/commands/twin").text(), r#"{"job":1}"#);
    assert_eq!(get(serving.at, "/commands/none").status, 404);
    serving.stop();
    assert_eq!(number(&schema, "SELECT count(*) FROM cf.jobs"), 1);
    assert_eq!(number(&schema, "SELECT count(*) FROM cf.calls WHERE outcome = 'done'"), 1);
    let repeated = "SELECT count(*) FROM cf.calls WHERE outcome = 'repeated'";
    assert_eq!(number(&schema, repeated), TWINS as i64 - 1);
}

/// A connection that broke is made again; a page that it took down left nothing.
#[test]
fn a_receiver_outlives_its_connection() {
    let schema = Schema::unmade();
    let serving = Serving::of(open(&schema), Options::default());
    assert_eq!(deliver(serving.at, "a", b"{}").status, 200);
    let name = format!("counterfoil receiver {}", schema.0);
    let end = "SELECT count(pg_terminate_backend(pid, 60000)) FROM pg_stat_activity
        WHERE application_name = left($1, 63)";
    let ended: i64 = runtime()
        .block_on(async { connect().await.query_one(end, &[&name]).await.unwrap().get(0) });
    assert_eq!(ended, 1);
    for (key, job) in [("a", r#"{"job":1}"#), ("b", r#"{"job":2}"#)] {
        let answered = deliver(serving.at, key, b"{}");
        assert_eq!((answered.status, answered.text()), (200, job), "{key}");
    }
    serving.stop();
    assert_eq!(number(&schema, "SELECT count(*) FROM cf.jobs"), 2);
}

#[test]
fn without_keys_every_request_acts_and_the_first_job_answers() {
    let schema = Schema::unmade();
    let mut options = Options::default();
    options.keys = Keys::Ignore;
    let serving = Serving::of(open(&schema), options);
    for _ in 0..2 {
        assert_eq!(deliver(serving.at, "a", b"{}").status, 200);
    }
    assert_eq!(get(serving.at, "/commands/a").text(), r#"{"job":1}"#);
    serving.stop();
    // Opened again, it goes on.
    let serving = Serving::of(open(&schema), Options::default());
    assert_eq!(deliver(serving.at, "b", b"{}").text(), r#"{"job":3}"#);
    serving.stop();
    assert_eq!(number(&schema, "SELECT count(*) FROM cf.jobs"), 3);
    assert_eq!(number(&schema, "SELECT count(*) FROM cf.inbox"), 1);
}
