//! Questions on a real socket, and what their answers come to.

use std::time::Duration;

use counterfoil_core::domain::{Answer, Digest, Habits, NotThere, ResultBody, Span};
use counterfoil_relay::transport::http::{AskOptions, HttpTransport};
use serde_json::json;

use super::receiver::{Receiver, answer, ask, send};

const NO_SUCH_KEY: &str = r#"{"error":"no_such_key"}"#;

fn not_there() -> Option<NotThere> {
    Some(NotThere {
        status: 404,
        json: Some("/error".into()),
        one_of: vec![json!("no_such_key"), json!(7)],
    })
}

/// What an answer with these bytes comes to, by these habits, with and without a predicate.
async fn answered_by(bytes: String, habits: &str, not_there: Option<NotThere>) -> Answer {
    let receiver = Receiver::answering_once(bytes).await;
    let mut options = receiver.askable();
    options.ask.as_mut().unwrap().not_there = not_there;
    options.habits = serde_json::from_str::<Habits>(habits).unwrap();
    options.request_timeout = Span::from_secs(5);
    let answer = ask(&HttpTransport::new(options).unwrap(), "a").await;
    assert_eq!(receiver.requests().len(), 1, "{answer:?}");
    answer
}

async fn answered(status: &str, headers: &str, body: &str) -> Answer {
    answered_by(answer(status, headers, body), "{}", None).await
}

#[tokio::test]
async fn a_question_is_a_get_without_a_body_and_carries_the_destinations_headers() {
    let receiver = Receiver::answering(answer("200 OK", "", "{}")).await;
    let mut options = receiver.askable();
    options.headers.push(("Authorization".into(), "Bearer geheim".into()));
    options.headers.push(("User-Agent".into(), "shop/2".into()));
    options.secrets.push("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=".into());
    options.method = "PUT".into();
    let transport = HttpTransport::new(options).unwrap();
    for id in ["order.paid:A-001", "a/../b?c#d%2F 订"] {
        assert_eq!(ask(&transport, id).await.name(), "done");
    }
    let requests = receiver.requests();
    assert_eq!(requests[0].line, "GET /commands/order.paid%3AA-001 HTTP/1.1");
    let escaped = "GET /commands/a%2F..%2Fb%3Fc%23d%252F%20%E8%AE%A2 HTTP/1.1";
    assert_eq!(requests[1].line, escaped);
    let mut names: Vec<_> = requests[0].headers.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["authorization", "ce-source", "host", "user-agent"]);
    assert_eq!(requests[0].header("authorization"), "Bearer geheim");
    assert_eq!(requests[0].header("user-agent"), "shop/2");
    assert_eq!(requests[0].header("ce-source"), "urn:example:orders");
    assert_eq!(requests[0].header("host"), receiver.address.to_string());
    assert_eq!(receiver.connections(), 1, "connections are kept");
}

/// Story: `GET /commands/..` is `GET /` to most servers, and a home page answers 200.
#[tokio::test]
async fn an_id_that_a_server_would_resolve_away_is_not_asked_about() {
    let receiver = Receiver::answering(answer("200 OK", "", "welcome")).await;
    let transport = HttpTransport::new(receiver.askable()).unwrap();
    for id in [".", ".."] {
        let answer = ask(&transport, id).await;
        assert!(answer.name() == "unclear" && answer.reason().contains("no URL"), "{answer:?}");
    }
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn the_key_is_asked_for_in_its_form_without_quotes() {
    let receiver = Receiver::answering(answer("200 OK", "", "{}")).await;
    let asked = |key: serde_json::Value| {
        let mut options = receiver.options();
        let url = format!("http://{}/state?key={{key}}", receiver.address);
        options.ask = Some(AskOptions::new(url));
        options.habits.key = serde_json::from_value(key).unwrap();
        HttpTransport::new(options).unwrap()
    };
    for (key, path) in [
        (json!({}), "/state?key=a%2520b"),
        (json!({"form":"bare","prefix":"shop-"}), "/state?key=shop-a%2520b"),
        (json!({"form":"uuid"}), "/state?key=1d3333ef-86e2-8480-8a05-5b2e5dedd405"),
    ] {
        assert_eq!(ask(&asked(key), "a b").await.name(), "done");
        assert_eq!(receiver.requests().pop().unwrap().line, format!("GET {path} HTTP/1.1"));
    }
}

#[tokio::test]
async fn a_200_is_done_with_its_result() {
    let done = answered("200 OK", "", "{\"job\":7}").await;
    let result = ResultBody::whole("{\"job\":7}");
    assert_eq!(done, Answer::Done { result, evidence: "HTTP 200".into() });
    let receiver = Receiver::answering(answer("200 OK", "", &"x".repeat(99))).await;
    let mut options = receiver.askable();
    options.result_bytes_max = 3;
    let Answer::Done { result, .. } = ask(&HttpTransport::new(options).unwrap(), "a").await else {
        panic!("not done");
    };
    assert_eq!((result.bytes.as_slice(), result.full_len), (&b"xxx"[..], 99));
    assert_eq!(result.full_digest, Some(Digest::of("x".repeat(99).as_bytes())));
}

#[tokio::test]
async fn every_other_status_is_in_progress_or_unclear_and_never_an_end() {
    for (status, expected) in [
        ("202 Accepted", "in_progress"),
        ("409 Conflict", "in_progress"),
        ("201 Created", "unclear"),
        ("204 No Content", "unclear"),
        ("302 Found", "unclear"),
        ("400 Bad Request", "unclear"),
        ("401 Unauthorized", "unclear"),
        ("403 Forbidden", "unclear"),
        ("410 Gone", "unclear"),
        ("422 Unprocessable Content", "unclear"),
        ("429 Too Many Requests", "unclear"),
        ("500 Internal Server Error", "unclear"),
        ("503 Service Unavailable", "unclear"),
    ] {
        let answer = answered(status, "", "").await;
        assert_eq!(answer.name(), expected, "{status}: {answer:?}");
        if expected == "unclear" {
            assert_eq!(answer.reason(), format!("HTTP {}", &status[..3]));
        }
    }
    let wait = answered("409 Conflict", "Retry-After: 7\r\n", "").await;
    assert_eq!(wait, Answer::InProgress { retry_after: Some(Span::from_secs(7)) });
}

#[tokio::test]
async fn the_receivers_own_word_overrides_every_status_and_every_predicate() {
    for (word, expected) in [
        ("completed", "done"),
        ("accepted", "in_progress"),
        ("rejected", "refused"),
        ("conflict", "unclear"),
        ("unknown", "unclear"),
        ("perhaps", "unclear"),
    ] {
        for status in ["200 OK", "404 Not Found", "500 Internal Server Error"] {
            let said = answer(status, &format!("Counterfoil-Outcome: {word}\r\n"), NO_SUCH_KEY);
            let answer = answered_by(said, "{}", not_there()).await;
            assert_eq!(answer.name(), expected, "{status}, {word}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn a_bare_404_is_not_believed_and_a_predicate_is() {
    let bare = answered("404 Not Found", "", NO_SUCH_KEY).await;
    assert!(matches!(bare, Answer::NotThere { believed: false, .. }), "{bare:?}");
    let said = |status: &str, body: &str| answered_by(answer(status, "", body), "{}", not_there());
    for body in [NO_SUCH_KEY, r#"{"error":7}"#] {
        let there = said("404 Not Found", body).await;
        assert!(matches!(there, Answer::NotThere { believed: true, .. }), "{there:?}");
        assert!(there.reason().contains("not_there: /error is"), "{there:?}");
    }
    for (status, body) in [
        ("404 Not Found", ""),
        ("404 Not Found", "<html>no_such_key</html>"),
        ("404 Not Found", r#"{"error":"no_such_route"}"#),
        ("404 Not Found", r#"{"error":"7"}"#),
        ("404 Not Found", r#"["no_such_key"]"#),
        ("410 Gone", NO_SUCH_KEY),
    ] {
        let answer = said(status, body).await;
        assert_eq!(answer.name(), "unclear", "{status} {body}: {answer:?}");
    }
    assert_eq!(said("200 OK", "{}").await.name(), "done");
    let cut = "HTTP/1.1 404 Not Found\r\nContent-Length: 100\r\n\r\n{\"error\":\"no_such_key\"}";
    let cut = answered_by(cut.into(), "{}", not_there()).await;
    assert_eq!(cut.name(), "unclear", "{cut:?}");
}

#[tokio::test]
async fn a_200_of_a_gateway_is_judged_by_its_body() {
    let habits = r#"{"success":{"json":"/code","in":[0]},
        "outcome":{"json":"/code","of":{"unknown":[21],"rejected":[33],"accepted":[9],
            "not_sent":[40]}}}"#;
    let of = |status: &str, body: &str| answered_by(answer(status, "", body), habits, not_there());
    for (body, expected) in [
        (r#"{"code":0}"#, "done"),
        (r#"{"code":33}"#, "refused"),
        (r#"{"code":9}"#, "in_progress"),
        (r#"{"code":21}"#, "unclear"),
        (r#"{"code":40}"#, "unclear"),
        (r#"{"code":99}"#, "unclear"),
        ("<html>", "unclear"),
        ("", "unclear"),
    ] {
        let answer = of("200 OK", body).await;
        assert_eq!(answer.name(), expected, "{body}: {answer:?}");
    }
    // Codes speak in a 200 only: an error page is no answer to a question.
    assert_eq!(of("500 No", r#"{"code":33}"#).await.name(), "unclear");
    assert_eq!(of("404 No", NO_SUCH_KEY).await.name(), "not_there");
}

#[tokio::test]
async fn answers_to_sends_say_nothing_about_questions() {
    let habits = r#"{"answers":{"404":"rejected","500":"completed","200":"unknown"}}"#;
    let of = |status: &str| answered_by(answer(status, "", ""), habits, None);
    assert_eq!(of("404 Not Found").await.name(), "not_there");
    assert_eq!(of("500 No").await.name(), "unclear");
    assert_eq!(of("200 OK").await.name(), "done");
}

#[tokio::test]
async fn a_question_that_fails_is_unclear_and_acts_on_nothing() {
    let cut = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf";
    let broken = answered_by(cut.into(), "{}", None).await;
    assert!(broken.name() == "unclear" && broken.reason().contains("broke off"), "{broken:?}");
    assert_eq!(answered_by(String::new(), "{}", None).await.name(), "unclear");
    assert_eq!(answered_by("SSH-2.0\r\n".into(), "{}", None).await.name(), "unclear");
    let hanging = Receiver::start(|peer| async move { peer.hang().await }).await;
    let mut options = hanging.askable();
    options.request_timeout = Span::from_millis(300);
    let hung = ask(&HttpTransport::new(options).unwrap(), "a").await;
    assert!(hung.reason().contains("no answer within 0.3 s"), "{hung:?}");
    let gone = Receiver::answering("").await;
    gone.close();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let nobody = ask(&HttpTransport::new(gone.askable()).unwrap(), "a").await;
    assert!(nobody.reason().contains("no connection to"), "{nobody:?}");
    let none = ask(&hanging.transport(), "a").await;
    assert_eq!(none, Answer::Unclear { reason: "the destination has no ask.url".into() });
}

#[tokio::test]
async fn a_redirect_of_a_question_is_not_followed() {
    let there = Receiver::answering(answer("200 OK", "", "")).await;
    let location = format!("Location: http://{}/\r\n", there.address);
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"] {
        assert_eq!(answered(status, &location, "").await.name(), "unclear");
    }
    assert_eq!(there.connections(), 0);
}

/// Story: many services take commands at one host and tell about them at another.
#[tokio::test]
async fn another_host_may_be_asked() {
    let takes = Receiver::answering(answer("201 Created", "", "")).await;
    let tells = Receiver::answering(answer("404 Not Found", "", "")).await;
    let mut options = takes.options();
    options.fresh_connections = true;
    options.ask = tells.askable().ask;
    let transport = HttpTransport::new(options).unwrap();
    assert_eq!(send(&transport, "a").await.name(), "completed");
    assert_eq!(ask(&transport, "a").await.name(), "not_there");
    assert_eq!((takes.requests().len(), tells.requests().len()), (1, 1));
    assert_eq!(tells.requests()[0].header("host"), tells.address.to_string());
}

#[tokio::test]
async fn a_url_that_asks_nothing_is_refused_at_the_start() {
    let receiver = Receiver::answering("").await;
    for bad in ["http://h/commands", "http://h/{id}", "http://u:geheim@h/{key}", "ftp://h/{key}"] {
        let mut options = receiver.options();
        options.ask = Some(AskOptions::new(bad));
        let refused = HttpTransport::new(options).unwrap_err();
        let said = refused.to_string();
        assert!(said.contains("ask.url") && !said.contains("geheim"), "{said}");
    }
}
