//! A receiver without keys: what a sender meets where nothing folds its repeats.
//!
//! Guarantees: every request acts and shows as one more row, whatever came before. Does not: say
//! what a sender makes of it.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_inbox::receiver::{Hold, Keys, Options};

use crate::client::{Serving, count, deliver, get, post};

fn without_keys() -> Options {
    let mut options = Options::default();
    options.keys = Keys::Ignore;
    options
}

#[test]
fn every_request_acts_and_leaves_no_key() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shipping.db");
    let serving = Serving::start(&path, without_keys());
    assert_eq!(deliver(serving.at, "a", b"{}").text(), r#"{"job":1}"#);
    assert_eq!(deliver(serving.at, "a", b"{}").text(), r#"{"job":2}"#);
    // Other content under the same key is no conflict to it.
    assert_eq!(deliver(serving.at, "a", b"{ }").text(), r#"{"job":3}"#);
    assert_eq!(deliver(serving.at, "b", b"{}").text(), r#"{"job":4}"#);
    serving.stop();
    assert_eq!(count(&path, "SELECT count(*) FROM counterfoil_inbox"), 0);
    assert_eq!(count(&path, "SELECT count(*) FROM calls WHERE outcome = 'done'"), 4);
    let twice = "SELECT sum(n - 1) FROM (SELECT count(*) AS n FROM jobs GROUP BY source, key)";
    assert_eq!(count(&path, twice), 2);
}

#[test]
fn it_can_be_asked_and_tells_the_first_job_of_the_key() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shipping.db");
    let serving = Serving::start(&path, without_keys());
    let absent = get(serving.at, "/commands/a%2F1");
    assert_eq!(absent.status, 404);
    assert!(absent.text().contains(r#""error":"no_such_key""#), "{}", absent.text());
    let of_b = "Idempotency-Key: \"a%2F1\"\nce-source: urn:b";
    assert_eq!(post(serving.at, of_b, b"{}").text(), r#"{"job":1}"#);
    for _ in 0..2 {
        assert_eq!(deliver(serving.at, "a/1", b"{}").status, 200);
    }
    let asked = get(serving.at, "/commands/a%2F1");
    assert_eq!((asked.status, asked.text()), (200, r#"{"job":2}"#));
    assert_eq!(asked.header("counterfoil-outcome"), Some("completed"));
    serving.stop();
}

#[test]
fn one_that_cannot_be_asked_says_no_more_than_a_plain_service() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shipping.db");
    let mut options = without_keys();
    options.is_askable = false;
    let serving = Serving::start(&path, options);
    assert_eq!(deliver(serving.at, "a", b"{}").status, 200);
    for key in ["a", "b"] {
        let asked = get(serving.at, &format!("/commands/{key}"));
        assert_eq!((asked.status, asked.header("counterfoil-outcome")), (404, None));
        assert!(!asked.text().contains("no_such_key"), "{}", asked.text());
    }
    assert_eq!(get(serving.at, "/livez").status, 200);
    serving.stop();
}

#[test]
fn a_refusal_is_judged_anew_each_time_and_is_no_effect() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shipping.db");
    let mut options = without_keys();
    options.refused_kinds.insert("order.lost".into());
    let serving = Serving::start(&path, options);
    for _ in 0..2 {
        let refused = post(serving.at, "Idempotency-Key: \"a\"\nce-type: order.lost", b"{}");
        assert_eq!(
            (refused.status, refused.header("counterfoil-outcome")),
            (400, Some("rejected"))
        );
    }
    assert_eq!(get(serving.at, "/commands/a").status, 404);
    serving.stop();
    assert_eq!(count(&path, "SELECT count(*) FROM jobs"), 0);
    assert_eq!(count(&path, "SELECT count(*) FROM calls WHERE outcome = 'refused'"), 2);
}

#[test]
fn an_answer_is_held_back_after_the_commit_and_the_repeat_acts_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shipping.db");
    let (tell, told) = std::sync::mpsc::channel();
    let mut options = without_keys();
    options.faults.hold = Some(Hold {
        effects: [1].into(),
        lasts: Duration::from_millis(300),
        announce: Arc::new(move |key| tell.send(key.to_owned()).unwrap()),
    });
    let serving = Serving::start(&path, options);
    let at = serving.at;
    let held = std::thread::spawn(move || deliver(at, "a", b"{}"));
    assert_eq!(told.recv().unwrap(), "a");
    assert_eq!(get(at, "/commands/a").text(), r#"{"job":1}"#);
    assert_eq!(deliver(at, "a", b"{}").text(), r#"{"job":2}"#);
    assert_eq!(held.join().unwrap().text(), r#"{"job":1}"#);
    serving.stop();
    assert_eq!(count(&path, "SELECT count(*) FROM jobs WHERE key = 'a'"), 2);
}
