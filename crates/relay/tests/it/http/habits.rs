//! Habits on a real socket: bodies that are cut, long or no JSON, and headers that depend on them.

use counterfoil_core::domain::{Completion, Digest, Habits, Judge, Outcome};
use counterfoil_relay::transport::http::{HttpOptions, HttpTransport};

use super::receiver::{Receiver, answer, send};

async fn outcome_by(habits: &str, bytes: impl Into<Vec<u8>>) -> Outcome {
    let receiver = Receiver::answering_once(bytes).await;
    let mut options = receiver.options();
    options.habits = serde_json::from_str::<Habits>(habits).unwrap();
    options.result_bytes_max = 8;
    let outcome = send(&HttpTransport::new(options).unwrap(), "a").await;
    assert_eq!(receiver.requests().len(), 1, "{outcome:?}");
    outcome
}

const SUCCESS: &str = r#"{"success":{"json":"/code","in":[0]}}"#;

#[tokio::test]
async fn a_success_is_shown_or_it_is_unknown() {
    let of = |bytes: String| outcome_by(SUCCESS, bytes);
    let shown = of(answer("200 OK", "", r#"{"code":0,"id":7}"#)).await;
    let Outcome::Completed { result, evidence } = shown else { panic!("{shown:?}") };
    assert_eq!((result.bytes.as_slice(), result.full_len), (&br#"{"code":"#[..], 17));
    assert_eq!(result.full_digest, Some(Digest::of(br#"{"code":0,"id":7}"#)));
    let kept = "; the first 8 of 17 bytes are kept";
    assert_eq!(evidence, format!("HTTP 200 (success: /code is 0){kept}"));
    let fill = " ".repeat(70_000);
    for (bytes, why) in [
        (answer("200 OK", "", r#"{"code":1}"#), "/code is 1"),
        (answer("201 Created", "", "<html>"), "no JSON"),
        (answer("204 No Content", "", ""), "no JSON"),
        (answer("202 Accepted", "", r#"{"code":1}"#), "/code is 1"),
        (answer("200 OK", "", &format!("{fill}{{\"code\":0}}")), "longer than 65536 bytes"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"code\":0}".into(), "broke off"),
        ("HTTP/1.1 202 OK\r\nContent-Length: 99\r\n\r\n{\"code\":0}".into(), "broke off"),
    ] {
        let outcome = of(bytes).await;
        assert_eq!(outcome.name(), "unknown", "{why}: {outcome:?}");
        assert!(outcome.reason().contains(why), "{why}: {outcome:?}");
    }
    assert_eq!(of(answer("202 Accepted", "", r#"{"code":0}"#)).await.name(), "accepted");
    assert_eq!(of(answer("400 Bad", "", r#"{"code":0}"#)).await.name(), "rejected");
}

#[tokio::test]
async fn reasons_name_what_was_matched_and_nothing_of_the_command() {
    let codes = r#"{"outcome":{"json":"/code","of":{"rejected":["A-33"],"unknown":[21]}}}"#;
    let outcome = outcome_by(codes, answer("400 Bad", "", r#"{"code":"A-33"}"#)).await;
    let read = "HTTP 400 (/code is \"A-33\"; outcome: rejected)";
    let reason = format!("{read}: {{\"code\":\"A-33\"}}");
    let rejected = Outcome::Rejected { reason, by: Judge::Status };
    assert_eq!(outcome, rejected, "a gateway may have made it");
    let outcome = outcome_by(r#"{"answers":{"409":"ask"}}"#, answer("409 No", "", "busy")).await;
    assert_eq!(outcome, Outcome::Ask { reason: "HTTP 409 (answers: ask): busy".into() });
    assert!(!outcome.reason().contains("A-001") && !outcome.reason().contains("order_id"));
}

#[tokio::test]
async fn a_connection_is_used_again_after_a_body_that_was_judged() {
    let receiver = Receiver::answering(answer("200 OK", "", r#"{"code":0}"#)).await;
    let mut options = receiver.options();
    options.habits = serde_json::from_str::<Habits>(SUCCESS).unwrap();
    let transport = HttpTransport::new(options).unwrap();
    for id in ["a", "b", "c"] {
        assert_eq!(send(&transport, id).await.name(), "completed");
    }
    assert_eq!(receiver.connections(), 1);
}

#[tokio::test]
async fn where_to_report_is_said_where_a_report_completes() {
    let receiver = Receiver::answering(answer("200 OK", "", "")).await;
    let url = "https://cf.example/v1/receipts";
    let sent = |completion, receipt_url: Option<&str>| {
        let mut options = receiver.options();
        options.completion = completion;
        options.receipt_url = receipt_url.map(Into::into);
        HttpTransport::new(options).unwrap()
    };
    assert_eq!(send(&sent(Completion::Receipt, Some(url)), "a").await.name(), "accepted");
    assert_eq!(send(&sent(Completion::Receipt, None), "a").await.name(), "accepted");
    assert_eq!(send(&sent(Completion::Response, Some(url)), "a").await.name(), "completed");
    let requests = receiver.requests();
    assert_eq!(requests[0].header("counterfoil-receipt-url"), url);
    assert!(!requests[1].has("counterfoil-receipt-url"));
    assert!(!requests[2].has("counterfoil-receipt-url"));
    for bad in ["cf.example/v1", "https://u:geheim@cf.example/", "https://cf.example/ x"] {
        let mut options = HttpOptions::new("http://h/");
        options.receipt_url = Some(bad.into());
        let said = HttpTransport::new(options).unwrap_err().to_string();
        assert!(said.contains("receipt_url") && !said.contains("geheim"), "{said}");
    }
}
