//! The recipes of `docs/recipes.md`, each block as it stands there, against a server that behaves
//! as the recipe says.
//!
//! Guarantees: only the host of a URL is replaced, and the folder of a file. Does not: run a relay;
//! what follows from each outcome is tested with the decision table.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use counterfoil_core::domain::{Answer, Completion, Judge, Outcome};
use counterfoil_relay::transport::http::{AskOptions, HttpOptions, HttpTransport};
use serde_json::{Value, json};

use super::receiver::{Receiver, Request, answer, ask, send};
use super::tls_server::{TlsServer, certificate};

const PAGE: &str = include_str!("../../../../../docs/recipes.md");

/// The whole configuration in which this destination stands.
fn block(destination: &str) -> Value {
    let head = format!("[destination.{destination}]");
    let mut blocks = PAGE.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let block = blocks.find(|block| block.contains(&head)).expect("a recipe");
    serde_json::to_value(toml::from_str::<toml::Table>(block).unwrap()).unwrap()
}

/// The destination's options, at `host` instead of its own.
fn options(destination: &str, host: &str) -> HttpOptions {
    let block = block(destination);
    let table = block["destination"][destination].as_object().unwrap();
    let at = |url: &Value| {
        let (_, path) = url.as_str().unwrap().split_once(".example/").unwrap();
        format!("{host}/{path}")
    };
    let mut options = HttpOptions::new(at(&table["url"]));
    let mut habits = serde_json::Map::new();
    for (name, value) in table {
        match name.as_str() {
            "answers" | "success" | "profile" | "key" => {
                habits.insert(name.clone(), value.clone());
            }
            "outcome" => {
                let mut of = value.as_object().unwrap().clone();
                let json = of.remove("json");
                habits.insert(name.clone(), json!({"json": json, "of": of}));
            }
            "ask" => {
                let mut ask = AskOptions::new(at(&value["url"]));
                ask.not_there = serde_json::from_value(value["not_there"].clone()).unwrap();
                options.ask = Some(ask);
            }
            "headers" => options.headers.push(("Authorization".into(), "Bearer x".into())),
            "secrets" => {
                let secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
                options.secrets.push(secret.into());
            }
            "completion" => options.completion = serde_json::from_value(value.clone()).unwrap(),
            "tls" => {
                let file = |name: &str| Some(certificate(value[name].as_str().unwrap()));
                options.tls.ca = file("ca");
                options.tls.cert = file("cert");
                options.tls.key = file("key");
            }
            "idempotent" => options.fresh_connections = *value == json!(false),
            "transport" | "url" | "request_timeout" | "retry" | "on_refusal"
            | "receipt_timeout" => {}
            other => panic!("{other} is tested by nothing"),
        }
    }
    options.habits = serde_json::from_value(Value::Object(habits)).unwrap();
    if let Some(url) = block["api"]["public_url"].as_str() {
        options.receipt_url = Some(format!("{url}/v1/receipts"));
    }
    options
}

/// A server that remembers keys, and a transport to it by the recipe. An empty answer closes the
/// connection.
async fn served(
    destination: &str,
    serve: impl Fn(&Request, &mut BTreeSet<String>) -> String + Send + Sync + 'static,
) -> (Receiver, HttpTransport) {
    let (keys, serve) = (Arc::<Mutex<BTreeSet<String>>>::default(), Arc::new(serve));
    let receiver = Receiver::start(move |mut peer| {
        let (keys, serve) = (Arc::clone(&keys), Arc::clone(&serve));
        async move {
            while let Some(request) = peer.request().await {
                let answer = serve(&request, &mut keys.lock().unwrap());
                if answer.is_empty() {
                    return;
                }
                peer.write(answer).await;
            }
        }
    })
    .await;
    let options = options(destination, &format!("http://{}", receiver.address));
    let transport = HttpTransport::new(options).unwrap();
    (receiver, transport)
}

fn is_get(request: &Request) -> bool {
    request.line.starts_with("GET ")
}

/// The last segment of a question's path, or the value of its query.
fn asked(request: &Request) -> String {
    let path = request.line.split(' ').nth(1).unwrap();
    path.rsplit(['/', '=']).next().unwrap().to_owned()
}

#[tokio::test]
async fn a_gateway_that_answers_200_to_everything() {
    let (receiver, transport) = served("payments", |request, keys| {
        let code = |code: u16| answer("200 OK", "", &json!({"code": code}).to_string());
        if is_get(request) {
            return code(if keys.contains(&asked(request)) { 0 } else { 40 });
        }
        let key = request.header("x-request-id");
        match key.as_str() {
            "busy" => code(21),
            "poor" => code(33),
            "odd" => code(99),
            "proxy" => answer("200 OK", "", "<html>we will be back</html>"),
            _ if keys.insert(key.clone()) => code(0),
            _ => code(31),
        }
    })
    .await;
    for _ in 0..2 {
        assert_eq!(send(&transport, "A-1").await.name(), "completed");
    }
    for (id, name) in
        [("busy", "unknown"), ("poor", "rejected"), ("odd", "unknown"), ("proxy", "unknown")]
    {
        let outcome = send(&transport, id).await;
        assert_eq!(outcome.name(), name, "{id}: {outcome:?}");
    }
    assert!(matches!(ask(&transport, "A-1").await, Answer::Done { .. }));
    assert!(matches!(ask(&transport, "A-2").await, Answer::NotThere { believed: true, .. }));
    assert!(receiver.requests().iter().all(|request| request.has("authorization")));
}

#[tokio::test]
async fn a_service_whose_409_means_done() {
    let (_receiver, transport) = served("accounts", |request, keys| {
        if keys.insert(request.header("idempotency-key")) {
            return answer("201 Created", "", r#"{"user":7}"#);
        }
        answer("409 Conflict", "", r#"{"error":"already exists","user":7}"#)
    })
    .await;
    assert_eq!(send(&transport, "a").await.name(), "completed");
    let repeat = send(&transport, "a").await;
    let Outcome::Completed { result, evidence } = repeat else { panic!("{repeat:?}") };
    assert_eq!(result.bytes, br#"{"error":"already exists","user":7}"#);
    assert_eq!(evidence, "HTTP 409 (answers: completed)");
}

#[tokio::test]
async fn a_service_that_replays_its_500() {
    let missing = r#"{"error":{"code":"resource_missing"}}"#;
    let (receiver, transport) = served("charges", move |request, keys| {
        if is_get(request) {
            return match keys.contains(&asked(request)) {
                true => answer("200 OK", "", r#"{"id":"ch_1"}"#),
                false => answer("404 Not Found", "", missing),
            };
        }
        if request.header("idempotency-key") == "other" {
            let other = r#"{"error":{"type":"idempotency_error"}}"#;
            return answer("400 Bad Request", "", other);
        }
        keys.insert(request.header("idempotency-key"));
        answer("500 Internal Server Error", "", r#"{"error":{"type":"api_error"}}"#)
    })
    .await;
    for _ in 0..2 {
        assert!(matches!(send(&transport, "a").await, Outcome::Ask { .. }));
    }
    assert!(matches!(ask(&transport, "a").await, Answer::Done { .. }));
    assert!(matches!(ask(&transport, "b").await, Answer::NotThere { believed: true, .. }));
    assert_eq!(send(&transport, "other").await.name(), "conflict");
    assert_eq!(receiver.requests()[0].header("idempotency-key"), "a");
}

#[tokio::test]
async fn a_service_whose_422_means_an_invalid_body() {
    let (_receiver, transport) = served("invoices", |_, _| {
        answer("422 Unprocessable Content", "", r#"{"detail":"total is missing"}"#)
    })
    .await;
    let outcome = send(&transport, "a").await;
    assert!(matches!(outcome, Outcome::Rejected { by: Judge::Status, .. }), "{outcome:?}");
    assert!(outcome.reason().contains("total is missing"));
}

#[tokio::test]
async fn a_webhook_consumer() {
    let (receiver, transport) = served("partner", |request, _| {
        let id = request.header("webhook-id");
        answer(&format!("{id} Whatever"), "", "")
    })
    .await;
    for (status, name) in [("200", "completed"), ("202", "completed"), ("204", "completed")] {
        assert_eq!(send(&transport, status).await.name(), name);
    }
    for status in ["302", "400", "401", "404", "422"] {
        let outcome = send(&transport, status).await;
        assert!(matches!(outcome, Outcome::NotSent { misconfigured: false, .. }), "{outcome:?}");
    }
    assert!(matches!(send(&transport, "410").await, Outcome::Gone { .. }));
    assert_eq!(send(&transport, "500").await.name(), "unknown");
    assert!(receiver.requests().iter().all(|request| request.has("webhook-signature")));
}

#[tokio::test]
async fn a_receiver_without_keys_that_can_be_asked() {
    let (receiver, transport) = served("parcels", |request, keys| {
        if !is_get(request) {
            // It acts, and the answer is lost on its way.
            keys.insert(request.header("ce-id"));
            return String::new();
        }
        match asked(request).as_str() {
            "by-a-gateway" => answer("404 Not Found", "", "<html>no such route</html>"),
            id if keys.contains(id) => answer("200 OK", "", r#"{"label":"L1"}"#),
            _ => answer("404 Not Found", "", r#"{"error":"no_such_reference"}"#),
        }
    })
    .await;
    assert_eq!(send(&transport, "a").await.name(), "unknown");
    let done = ask(&transport, "a").await;
    let Answer::Done { result, .. } = done else { panic!("{done:?}") };
    assert_eq!(result.bytes, br#"{"label":"L1"}"#);
    assert!(matches!(ask(&transport, "b").await, Answer::NotThere { believed: true, .. }));
    assert_eq!(ask(&transport, "by-a-gateway").await.name(), "unclear");
    assert_eq!(send(&transport, "c").await.name(), "unknown");
    assert_eq!(receiver.requests().iter().filter(|request| !is_get(request)).count(), 2);
}

#[tokio::test]
async fn a_receiver_that_takes_only_uuids_as_keys() {
    let (receiver, transport) = served("ledger", |request, _| {
        let key = request.header("x-idempotency-key");
        let groups: Vec<_> = key.split('-').map(str::len).collect();
        let is_uuid = groups == [8, 4, 4, 4, 12] && key.as_bytes()[14] == b'8';
        answer(if is_uuid { "201 Created" } else { "400 Bad Request" }, "", "")
    })
    .await;
    for id in ["order.paid:A-001", "order.paid:A-001", "订单", "a b"] {
        assert_eq!(send(&transport, id).await.name(), "completed", "{id}");
    }
    let requests = receiver.requests();
    let keys: Vec<_> = requests.iter().map(|request| request.header("x-idempotency-key")).collect();
    assert_eq!(keys[0], keys[1]);
    assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), 3);
}

#[tokio::test]
async fn a_receiver_behind_mutual_tls() {
    let server = TlsServer::for_clients_of("clients.pem", tokio_rustls::rustls::ALL_VERSIONS).await;
    let options = options("bank", &format!("https://localhost:{}", server.port));
    let outcome = send(&HttpTransport::new(options).unwrap(), "a").await;
    assert_eq!(outcome.name(), "completed", "{outcome:?}");
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn a_receiver_that_works_later_and_reports() {
    let (receiver, transport) = served("warehouse", |_, _| answer("202 Accepted", "", "")).await;
    let outcome = send(&transport, "a").await;
    assert_eq!(outcome, Outcome::Accepted { evidence: "HTTP 202".into() });
    let url = receiver.requests()[0].header("counterfoil-receipt-url");
    assert_eq!(url, "https://cf.example/v1/receipts");
    assert_eq!(options("warehouse", "http://h").completion, Completion::Receipt);
}
