//! What is delivered to the reference receiver, once and again.
//!
//! Guarantees: each row of the receiver's table of answers. Does not: kill anything; see `crash`.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::Digest;
use counterfoil_inbox::Source;
use counterfoil_inbox::receiver::{Callers, Hold, Options};
use counterfoil_sqlite::InboxBook;
use rusqlite::Connection;

use crate::client::{Serving, count, deliver, get, post};

#[test]
fn a_repeat_gets_the_stored_result_and_other_content_a_conflict() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shipping.db");
    let serving = Serving::start(&path, Options::default());
    let first = deliver(serving.at, "a-1", b"{}");
    assert_eq!((first.status, first.text()), (200, r#"{"job":1}"#));
    assert_eq!(first.header("counterfoil-outcome"), Some("completed"));
    assert_eq!(first.header("content-type"), Some("application/json"));
    let second = deliver(serving.at, "a-1", b"{}");
    assert_eq!((second.status, &second.body), (200, &first.body));
    let other = deliver(serving.at, "a-1", b"{ }");
    assert_eq!((other.status, other.header("counterfoil-outcome")), (422, Some("conflict")));
    assert_eq!(other.header("content-type"), Some("application/problem+json"));
    assert_eq!(get(serving.at, "/commands/a-1").text(), r#"{"job":1}"#);
    assert_eq!(get(serving.at, "/livez").status, 200);
    serving.stop();
    assert_eq!(count(&path, "SELECT count(*) FROM jobs"), 1);
    assert_eq!(count(&path, "SELECT count(*) FROM calls WHERE outcome = 'repeated'"), 1);
}

#[test]
fn a_refusal_is_stored_and_repeated_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shipping.db");
    let mut options = Options::default();
    options.refused_kinds.insert("order.lost".into());
    let serving = Serving::start(&path, options);
    let headers = "Idempotency-Key: \"a-1\"\nce-type: order.lost";
    let first = post(serving.at, headers, b"{}");
    assert_eq!((first.status, first.header("counterfoil-outcome")), (400, Some("rejected")));
    assert!(first.text().contains("refuses order.lost"), "{}", first.text());
    let second = post(serving.at, headers, b"{}");
    assert_eq!((second.status, &second.body), (400, &first.body));
    let asked = get(serving.at, "/commands/a-1");
    assert_eq!((asked.status, asked.header("counterfoil-outcome")), (400, Some("rejected")));
    serving.stop();
    assert_eq!(count(&path, "SELECT count(*) FROM jobs"), 0);
}

#[test]
fn what_was_sent_is_written_down_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shipping.db");
    let serving = Serving::start(&path, Options::default());
    let headers = "Idempotency-Key: \"%E8%AE%A2%E5%8D%95%2F1\"\nce-type: order%20paid\n\
                   ce-source: urn:shop\nCounterfoil-Attempt: 3\n\
                   Counterfoil-Token: 1764421200000001";
    assert_eq!(post(serving.at, headers, b"\xff\0\xfe").status, 200);
    // The same key without the source is another sender's.
    assert_eq!(get(serving.at, "/commands/%E8%AE%A2%E5%8D%95%2F1").status, 404);
    serving.stop();
    let job = "SELECT count(*) FROM jobs WHERE source = 'urn:shop' AND key = '订单/1'
               AND kind = 'order paid' AND body = x'FF00FE' AND result = '{\"job\":1}'";
    assert_eq!(count(&path, job), 1);
    let call = "SELECT count(*) FROM calls WHERE key = '订单/1' AND attempt = 3
                AND token = 1764421200000001 AND outcome = 'done' AND at > 1000000000000000";
    assert_eq!(count(&path, call), 1);
}

#[test]
fn a_key_can_be_asked_about() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shipping.db");
    let serving = Serving::start(&path, Options::default());
    let absent = get(serving.at, "/commands/a%2F1");
    assert_eq!(absent.status, 404);
    assert!(absent.text().contains(r#""error":"no_such_key""#), "{}", absent.text());
    assert_eq!(deliver(serving.at, "a/1", b"{}").status, 200);
    let asked = get(serving.at, "/commands/a%2F1");
    assert_eq!((asked.status, asked.text()), (200, r#"{"job":1}"#));
    assert_eq!(asked.header("counterfoil-outcome"), Some("completed"));
    for (path, status) in [("/commands/%", 400), ("/commands/", 400), ("/commands/a/b", 404)] {
        assert_eq!(get(serving.at, path).status, status, "{path}");
    }
    serving.stop();
    assert_eq!(count(&path, "SELECT count(*) FROM calls"), 1);
}

#[test]
fn a_half_work_of_somebody_else_is_answered_as_not_known() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shipping.db");
    let serving = Serving::start(&path, Options::default());
    let half = "INSERT INTO counterfoil_inbox(source, key, digest) VALUES ('unnamed', 'k', ?1)";
    let digest = Digest::of(b"{}").to_hex();
    Connection::open(&path).unwrap().execute(half, [digest]).unwrap();
    for answered in [deliver(serving.at, "k", b"{}"), get(serving.at, "/commands/k")] {
        let outcome = answered.header("counterfoil-outcome");
        assert_eq!((answered.status, outcome), (409, Some("unknown")));
    }
    // A digest of another form spoils only its own request.
    let odd = "INSERT INTO counterfoil_inbox(source, key, digest) VALUES ('unnamed', 'm', 'md5')";
    Connection::open(&path).unwrap().execute(odd, []).unwrap();
    assert_eq!(deliver(serving.at, "m", b"{}").status, 503);
    assert_eq!(deliver(serving.at, "n", b"{}").status, 200);
    serving.stop();
    assert_eq!(count(&path, "SELECT count(*) FROM jobs"), 1);
}

#[test]
fn tokens_say_whose_keys_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shipping.db");
    let source = |name| Source::new(name).unwrap();
    let mut options = Options::default();
    options.callers = Callers::by_token([("ta", source("urn:a")), ("tb", source("urn:b"))]);
    let serving = Serving::start(&path, options);
    let with = |token: &str| {
        let key = "Idempotency-Key: \"k\"\nce-source: urn:a";
        post(serving.at, &format!("{key}\nAuthorization: Bearer {token}"), b"{}").status
    };
    assert_eq!([with("ta"), with("tb"), with("ta"), with("tc")], [200, 200, 200, 401]);
    assert_eq!(deliver(serving.at, "k", b"{}").status, 401);
    assert_eq!(get(serving.at, "/livez").status, 200);
    assert_eq!(get(serving.at, "/commands/k").status, 401);
    serving.stop();
    assert_eq!(count(&path, "SELECT count(DISTINCT source) FROM jobs"), 2);
    assert_eq!(count(&path, "SELECT count(*) FROM calls"), 3);
}

#[test]
fn a_stop_lets_a_request_be_answered_and_the_book_be_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shipping.db");
    let (tell, told) = std::sync::mpsc::channel();
    let mut options = Options::default();
    options.faults.hold = Some(Hold {
        effects: [2].into(),
        lasts: Duration::from_millis(300),
        announce: Arc::new(move |key| tell.send(key.to_owned()).unwrap()),
    });
    let serving = Serving::start(&path, options);
    let at = serving.at;
    assert_eq!(deliver(at, "a", b"{}").status, 200);
    let held = std::thread::spawn(move || deliver(at, "b", b"{}"));
    assert_eq!(told.recv().unwrap(), "b");
    // Announced after the commit and before the answer.
    assert_eq!(count(&path, "SELECT count(*) FROM jobs WHERE key = 'b'"), 1);
    serving.stop();
    assert_eq!(held.join().unwrap().text(), r#"{"job":2}"#);
    assert!(told.try_recv().is_err());
    assert!(std::net::TcpStream::connect(at).is_err());
    let serving = Serving::start(&path, Options::default());
    assert_eq!(deliver(serving.at, "b", b"{}").text(), r#"{"job":2}"#);
    serving.stop();
}

#[test]
fn a_file_with_tables_of_somebody_else_is_refused_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shop.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE jobs(title TEXT)").unwrap();
    let refused = InboxBook::open(&path).unwrap_err();
    assert_eq!(refused.code(), "CF0720", "{refused}");
    assert_eq!(count(&path, "SELECT count(*) FROM sqlite_schema WHERE name = 'calls'"), 0);
}
