//! Receipts that the reference receiver reports: after the commit, again for a repeat, and to no
//! address that its owner did not allow.
//!
//! Guarantees: a sender's API on a real port, whose answers are scripted. Does not: run a relay.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use axum::response::{IntoResponse, Response};
use counterfoil_inbox::Source;
use counterfoil_inbox::receiver::{Callers, Keys, Options, Receiver as Reference, Reporting};
use counterfoil_sqlite::InboxBook;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::client::{Answered, Serving, count, deliver, get, post};

/// The longest wait for a receipt.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a receipt that must not come is waited for.
const SILENCE: Duration = Duration::from_millis(300);

/// What came in at the sender's API: path, authorization and body.
type Reported = (String, Option<String>, Value);

/// A sender's API.
struct Api {
    at: SocketAddr,
    reported: Receiver<Reported>,
    _runtime: tokio::runtime::Runtime,
}

#[derive(Clone)]
struct Script {
    tell: std::sync::mpsc::Sender<Reported>,
    answers: std::sync::Arc<std::sync::Mutex<Vec<u16>>>,
}

async fn take(State(script): State<Script>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let text = |name| Some(parts.headers.get(name)?.to_str().unwrap().to_owned());
    assert_eq!(text(CONTENT_TYPE).as_deref(), Some("application/json"));
    let (path, authorization) = (parts.uri.path().to_owned(), text(AUTHORIZATION));
    let body = axum::body::to_bytes(body, 1_000_000).await.unwrap();
    let status = script.answers.lock().unwrap().pop().unwrap_or(200);
    let _ = script.tell.send((path, authorization, serde_json::from_slice(&body).unwrap()));
    let status = StatusCode::from_u16(status).unwrap();
    (status, [(LOCATION, "/elsewhere")], "{}").into_response()
}

impl Api {
    /// One that answers so, last first, then 200.
    fn answering(answers: &[u16]) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let at = listener.local_addr().unwrap();
        let (tell, reported) = channel();
        let answers = std::sync::Arc::new(std::sync::Mutex::new(answers.to_vec()));
        let app = axum::Router::new().fallback(take).with_state(Script { tell, answers });
        runtime.spawn(async { axum::serve(listener, app).await });
        Self { at, reported, _runtime: runtime }
    }

    fn prefix(&self) -> String {
        format!("http://{}/v1", self.at)
    }

    fn next(&self) -> Reported {
        self.reported.recv_timeout(PATIENCE).expect("a receipt")
    }

    fn is_silent(&self) -> bool {
        self.reported.recv_timeout(SILENCE).is_err()
    }
}

struct Fixture {
    api: Api,
    serving: Serving,
    path: PathBuf,
    _dir: tempfile::TempDir,
}

fn fixture(api: Api, change: impl FnOnce(&mut Options)) -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shipping.db");
    let mut options = Options::default();
    options.report_to = Some(Reporting::new(&api.prefix(), Some("s3cret")).unwrap());
    change(&mut options);
    Fixture { serving: Serving::start(&path, options), api, path, _dir: dir }
}

impl Fixture {
    /// A command that wants its receipt here.
    fn order(&self, key: &str, more: &str) -> Answered {
        let url = format!("{}/receipts", self.api.prefix());
        let headers = format!("Idempotency-Key: \"{key}\"\nCounterfoil-Receipt-Url: {url}\n{more}");
        post(self.serving.at, &headers, b"{}")
    }
}

fn word(answered: &Answered) -> (u16, Option<&str>) {
    (answered.status, answered.header("counterfoil-outcome"))
}

#[test]
fn it_is_accepted_after_the_commit_and_its_receipt_follows() {
    let at = fixture(Api::answering(&[]), |_| ());
    let accepted = at.order("%E8%AE%A2", "ce-id: order.paid:%E8%AE%A2");
    assert_eq!((word(&accepted), accepted.text()), ((202, Some("accepted")), ""));
    assert_eq!(count(&at.path, "SELECT count(*) FROM jobs WHERE key = '订'"), 1);
    let (path, authorization, body) = at.api.next();
    assert_eq!((path.as_str(), authorization.as_deref()), ("/v1/receipts", Some("Bearer s3cret")));
    assert_eq!(body["command_id"], "order.paid:订");
    assert_eq!(body["outcome"], "completed");
    assert_eq!(body["result"], serde_json::json!({"job": 1}));
    assert!(body["evidence"].as_str().is_some_and(|evidence| !evidence.is_empty()));
    assert_eq!(body.as_object().unwrap().len(), 4);
    assert!(at.api.is_silent());
    at.serving.stop();
}

#[test]
fn a_repeat_is_accepted_too_and_brings_the_same_receipt_again() {
    let at = fixture(Api::answering(&[]), |_| ());
    assert_eq!(at.order("a", "").status, 202);
    let first = at.api.next();
    assert_eq!(word(&at.order("a", "")), (202, Some("accepted")));
    assert_eq!(at.api.next(), first);
    // Who asks gets the result itself, and who wants no receipt too.
    assert_eq!(get(at.serving.at, "/commands/a").text(), r#"{"job":1}"#);
    assert_eq!(deliver(at.serving.at, "a", b"{}").text(), r#"{"job":1}"#);
    assert!(at.api.is_silent());
    at.serving.stop();
    assert_eq!(count(&at.path, "SELECT count(*) FROM jobs"), 1);
}

#[test]
fn a_repeat_after_a_restart_brings_the_receipt_that_was_lost_with_the_process() {
    let at = fixture(Api::answering(&[]), |options| options.faults.drop_receipts = 1);
    assert_eq!(at.order("a", "").status, 202);
    at.serving.stop();
    let mut options = Options::default();
    options.report_to = Some(Reporting::new(&at.api.prefix(), Some("s3cret")).unwrap());
    let serving = Serving::start(&at.path, options);
    let again = Fixture { serving, ..at };
    assert_eq!(again.order("a", "").status, 202);
    assert_eq!(again.api.next().2["result"], serde_json::json!({"job": 1}));
    again.serving.stop();
}

#[test]
fn as_many_receipts_are_lost_as_the_fault_says() {
    let at = fixture(Api::answering(&[]), |options| options.faults.drop_receipts = 2);
    for key in ["a", "b", "a", "b"] {
        assert_eq!(word(&at.order(key, "")), (202, Some("accepted")), "{key}");
    }
    let mut ids = [at.api.next(), at.api.next()].map(|(_, _, body)| body["command_id"].clone());
    ids.sort_by_key(ToString::to_string);
    assert_eq!(ids, ["a", "b"]);
    assert!(at.api.is_silent());
    at.serving.stop();
    assert_eq!(count(&at.path, "SELECT count(*) FROM jobs"), 2);
}

#[test]
fn a_refusal_is_accepted_and_reported_as_rejected() {
    let at = fixture(Api::answering(&[]), |options| {
        options.refused_kinds.insert("order.lost".into());
    });
    for _ in 0..2 {
        assert_eq!(word(&at.order("a", "ce-type: order.lost")), (202, Some("accepted")));
        let (_, _, body) = at.api.next();
        assert_eq!((&body["outcome"], &body["command_id"]), (&"rejected".into(), &"a".into()));
        assert_eq!(body["result"], "this receiver refuses order.lost");
    }
    at.serving.stop();
    assert_eq!(count(&at.path, "SELECT count(*) FROM jobs"), 0);
}

#[test]
fn a_conflict_is_answered_and_not_reported() {
    let at = fixture(Api::answering(&[]), |_| ());
    assert_eq!(deliver(at.serving.at, "a", b"other").status, 200);
    assert_eq!(word(&at.order("a", "")), (422, Some("conflict")));
    assert!(at.api.is_silent());
    at.serving.stop();
}

#[test]
fn a_url_outside_the_prefix_is_never_called_and_the_answer_is_the_result() {
    let at = fixture(Api::answering(&[]), |_| ());
    let port = at.api.at.port();
    for (n, url) in [
        format!("http://127.0.0.1:{port}/admin"),
        format!("http://127.0.0.1:{port}/v10/receipts"),
        format!("http://127.0.0.1:{port}/v1/../admin"),
        format!("http://u@127.0.0.1:{port}/v1/receipts"),
        format!("http://localhost:{port}/v1/receipts"),
        "rubbish".into(),
    ]
    .iter()
    .enumerate()
    {
        let headers = format!("Idempotency-Key: \"k{n}\"\nCounterfoil-Receipt-Url: {url}");
        let answered = post(at.serving.at, &headers, b"{}");
        assert_eq!(word(&answered), (200, Some("completed")), "{url}");
    }
    assert!(at.api.is_silent());
    at.serving.stop();
}

#[test]
fn an_api_that_fails_is_tried_again_and_one_that_refuses_or_redirects_is_not() {
    let at = fixture(Api::answering(&[503, 429]), |_| ());
    assert_eq!(at.order("a", "").status, 202);
    let tries = [at.api.next(), at.api.next(), at.api.next()];
    assert!(tries.iter().all(|one| *one == tries[0]), "{tries:?}");
    assert!(at.api.is_silent());
    at.serving.stop();
    for refusal in [401, 404, 409, 307] {
        let at = fixture(Api::answering(&[refusal]), |_| ());
        assert_eq!(at.order("a", "").status, 202);
        at.api.next();
        assert!(at.api.is_silent(), "{refusal}");
        at.serving.stop();
    }
}

#[test]
fn a_stop_posts_what_waits_and_a_dead_api_does_not_hold_it() {
    let at = fixture(Api::answering(&[503]), |_| ());
    assert_eq!(at.order("a", "").status, 202);
    at.serving.stop();
    assert_eq!(
        [at.api.next(), at.api.next()].map(|(_, _, body)| body["outcome"].clone()),
        ["completed"; 2]
    );
    let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let prefix = format!("http://{}/v1", dead.local_addr().unwrap());
    let at = fixture(Api::answering(&[]), |options| {
        options.drain = Duration::from_millis(100);
        options.report_to = Some(Reporting::new(&prefix, None).unwrap());
    });
    let headers = format!("Idempotency-Key: \"a\"\nCounterfoil-Receipt-Url: {prefix}/receipts");
    assert_eq!(post(at.serving.at, &headers, b"{}").status, 202);
    at.serving.stop();
}

#[test]
fn without_keys_each_act_has_a_receipt_of_its_own() {
    let at = fixture(Api::answering(&[]), |options| options.keys = Keys::Ignore);
    for job in 1..=2 {
        assert_eq!(word(&at.order("a", "")), (202, Some("accepted")));
        assert_eq!(at.api.next().2["result"], serde_json::json!({ "job": job }));
    }
    at.serving.stop();
}

#[test]
fn of_several_senders_only_the_named_one_is_reported() {
    let source = |name| Source::new(name).unwrap();
    let several = || Callers::by_token([("ta", source("urn:a")), ("tb", source("urn:b"))]);
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.callers = several();
    options.report_to = Some(Reporting::new("http://127.0.0.1:9", None).unwrap());
    let book = InboxBook::open(&dir.path().join("r.db")).unwrap();
    let refused = Reference::open(book, options).map(drop).unwrap_err();
    assert!(refused.to_string().contains("only_of"), "{refused}");
    let at = fixture(Api::answering(&[]), |options| {
        options.callers = several();
        let reporting = options.report_to.take().unwrap();
        options.report_to = Some(reporting.only_of(source("urn:a")));
    });
    assert_eq!(at.order("a", "Authorization: Bearer tb").status, 200);
    assert!(at.api.is_silent());
    assert_eq!(at.order("a", "Authorization: Bearer ta").status, 202);
    at.api.next();
    at.serving.stop();
}
