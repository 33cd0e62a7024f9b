//! What is delivered to the reference receiver, once and again.
//!
//! Guarantees: each row of the receiver's table of answers. Does not: kill anything; see `crash`.

use counterfoil_inbox::receiver::Options;

use crate::client::{Serving, count, deliver, get};

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
