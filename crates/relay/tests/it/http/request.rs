//! What a request looks like on the wire.

use counterfoil_core::port::Transport as _;
use counterfoil_relay::transport::http::{HttpOptions, HttpRefused, HttpTransport};

use super::receiver::{Receiver, Request, answer, attempt_at, percent_decoded, row, send};
use super::warning::warnings_of;

async fn sent(change: impl FnOnce(&mut HttpOptions)) -> Request {
    sent_with(change, None).await
}

async fn sent_with(change: impl FnOnce(&mut HttpOptions), stored: Option<&str>) -> Request {
    let receiver = Receiver::answering(answer("204 No Content", "", "")).await;
    let mut options = receiver.options();
    change(&mut options);
    let transport = HttpTransport::new(options).unwrap();
    let mut row = row("order.paid:A-001", r#"{"order_id":"A-001"}"#);
    row.headers = stored.map(Into::into);
    let outcome = transport.send(&attempt_at(row)).await;
    assert_eq!(outcome.name(), "completed", "{outcome:?}");
    receiver.requests().remove(0)
}

#[tokio::test]
async fn every_header_of_the_table_stands_there_and_no_other() {
    let request = sent(|_| {}).await;
    assert_eq!(request.line, "POST /commands HTTP/1.1");
    let host = request.header("host");
    let mut headers: Vec<_> = request.headers.iter().map(|(name, _)| name.as_str()).collect();
    headers.sort_unstable();
    let values: Vec<_> =
        headers.iter().map(|name| format!("{name}: {}", request.header(name))).collect();
    let host = format!("host: {host}");
    let agent = concat!("user-agent: counterfoil/", env!("CARGO_PKG_VERSION"));
    assert_eq!(
        values,
        [
            "ce-id: order.paid:A-001",
            "ce-source: urn:example:orders",
            "ce-specversion: 1.0",
            "ce-time: 2025-11-29T15:33:00.123456Z",
            "ce-type: order.paid",
            "content-length: 20",
            "content-type: application/json",
            "counterfoil-attempt: 2",
            "counterfoil-token: 1764430381500000",
            &host,
            r#"idempotency-key: "order.paid:A-001""#,
            agent,
        ]
    );
    assert_eq!(request.body, br#"{"order_id":"A-001"}"#);
}

#[tokio::test]
async fn bodies_arrive_byte_for_byte_with_their_length() {
    let receiver = Receiver::answering(answer("200 OK", "", "")).await;
    let transport = receiver.transport();
    let every_byte: Vec<u8> =
        (0..1_048_576_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let bodies = [b"".to_vec(), b"a\0b\0".to_vec(), vec![0xff, 0xfe, 0xc3, 0x28], every_byte];
    for body in &bodies {
        let mut row = row("a", body.clone());
        row.content_type = "application/octet-stream".into();
        let outcome = transport.send(&attempt_at(row)).await;
        assert_eq!(outcome.name(), "completed", "{outcome:?}");
    }
    let requests = receiver.requests();
    assert_eq!(requests.len(), bodies.len());
    for (request, body) in requests.iter().zip(&bodies) {
        assert!(request.body == *body, "{} bytes came, not {}", request.body.len(), body.len());
        assert_eq!(request.header("content-length"), body.len().to_string());
        assert_eq!(request.header("content-type"), "application/octet-stream");
        assert!(!request.has("transfer-encoding"));
    }
    assert_eq!(receiver.connections(), 1);
}

#[tokio::test]
async fn ids_in_any_script_decode_back() {
    let receiver = Receiver::answering(answer("200 OK", "", "")).await;
    let mut options = receiver.options();
    options.secrets.push("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=".into());
    let transport = HttpTransport::new(options).unwrap();
    let ids = ["订单.已付:甲-1", "📦🚚 🙂", r#"a "quoted" 100% \ id"#, "é", "a.b.c:1:0"];
    for id in ids {
        assert_eq!(send(&transport, id).await.name(), "completed");
    }
    for (request, id) in receiver.requests().iter().zip(ids) {
        let key = request.header("idempotency-key");
        let inner = key.strip_prefix('"').and_then(|key| key.strip_suffix('"')).unwrap();
        assert!(inner.bytes().all(|b| b.is_ascii_graphic() && b != b'"' && b != b'\\'), "{key}");
        assert_eq!(percent_decoded(inner), id);
        assert_eq!(percent_decoded(&request.header("ce-id")), id);
        let webhook = request.header("webhook-id");
        assert_eq!(percent_decoded(&webhook), id);
        assert!(!webhook.contains('.'), "{webhook}");
    }
}

#[tokio::test]
async fn method_path_and_host_are_the_urls() {
    let receiver = Receiver::answering(answer("200 OK", "", "")).await;
    let mut options =
        HttpOptions::new(format!("http://localhost:{}/a%20b?c=d", receiver.address.port()));
    options.method = "PUT".into();
    let outcome = send(&HttpTransport::new(options).unwrap(), "a").await;
    assert_eq!(outcome.name(), "completed", "{outcome:?}");
    let request = receiver.requests().remove(0);
    assert_eq!(request.line, "PUT /a%20b?c=d HTTP/1.1");
    assert_eq!(request.header("host"), format!("localhost:{}", receiver.address.port()));
}

#[tokio::test]
async fn configured_headers_travel_and_win() {
    let stored = r#"{"x-tenant":"stored","User-Agent":"stored"}"#;
    let (warnings, request) = warnings_of(sent_with(
        |options| {
            options.headers.push(("Authorization".into(), "Bearer geheim".into()));
            options.headers.push(("X-Tenant".into(), "configured".into()));
            options.headers.push(("User-Agent".into(), "shop/2".into()));
        },
        Some(stored),
    ))
    .await;
    assert_eq!(request.header("authorization"), "Bearer geheim");
    assert_eq!(request.header("x-tenant"), "configured");
    assert_eq!(request.header("user-agent"), "shop/2");
    assert!(warnings.contains("x-tenant") && !warnings.contains("geheim"), "{warnings}");
}

#[tokio::test]
async fn stored_headers_travel_unless_they_are_owned() {
    let stored = r#"{"X-Shop":"münchen 店","ce-traceparent":"00-ab-cd-01","accept-language":"de",
        "Host":"evil","Authorization":"no","idempotency-key":"no","Counterfoil-Token":"9",
        "ce-id":"no","webhook-signature":"no","Transfer-Encoding":"chunked","cookie":"no",
        "bad name":"x","x-split":"a\r\nX-Injected: 1","x-number":7}"#;
    let (warnings, request) = warnings_of(sent_with(|_| {}, Some(stored))).await;
    assert_eq!(request.header("x-shop"), "münchen 店");
    assert_eq!(request.header("ce-traceparent"), "00-ab-cd-01");
    assert_eq!(request.header("accept-language"), "de");
    assert_eq!(request.header("idempotency-key"), r#""order.paid:A-001""#);
    assert_eq!(request.header("counterfoil-token"), "1764430381500000");
    assert_ne!(request.header("host"), "evil");
    for name in ["authorization", "cookie", "webhook-signature", "transfer-encoding"] {
        assert!(!request.has(name), "{name}");
    }
    for name in ["x-split", "x-injected", "x-number", "bad name"] {
        assert!(!request.has(name), "{name}");
    }
    for name in ["Host", "Authorization", "bad name", "x-split", "x-number"] {
        let warned = warnings
            .lines()
            .any(|line| line.contains("order.paid:A-001") && line.contains(&format!("{name:?}")));
        assert!(warned, "no warning names {name}: {warnings}");
    }
}

#[tokio::test]
async fn stored_headers_that_cannot_be_read_are_dropped_with_a_warning() {
    for stored in ["[1]", "{", "7", ""] {
        let (warnings, request) = warnings_of(sent_with(|_| {}, Some(stored))).await;
        assert_eq!(request.body, br#"{"order_id":"A-001"}"#);
        assert!(warnings.contains("order.paid:A-001"), "{stored}: {warnings}");
    }
}

#[tokio::test]
async fn each_secret_signs_at_the_time_of_the_attempt() {
    let request = sent(|options| {
        options.secrets.push("whsec_Q291bnRlcmZvaWwgc2lnbnMgd2l0aCB0aGlzIGtleSE=".into());
        options.secrets.push("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=".into());
    })
    .await;
    assert_eq!(request.header("webhook-id"), "order%2Epaid:A-001");
    assert_eq!(request.header("webhook-timestamp"), "1764430381");
    // By Python's hmac and base64, over b'order%2Epaid:A-001.1764430381.{"order_id":"A-001"}'.
    let one = "v1,lWbWpDgpJTDJZuSt8Fg0BeSwiRfNE3kT8OfAJe2ULLI=";
    let two = "v1,Vw8ygKMBrxYP05d7uXFYbNeIN3eVQQoCEI6DDBaIwWA=";
    assert_eq!(request.header("webhook-signature"), format!("{one} {two}"));
}

#[test]
fn what_cannot_be_sent_is_refused_before_anything_is() {
    let refused = |change: fn(&mut HttpOptions)| {
        let mut options = HttpOptions::new("http://127.0.0.1:9/commands");
        change(&mut options);
        HttpTransport::new(options).unwrap_err()
    };
    let credentials = refused(|options| options.url = "http://user:geheim@h/".into());
    assert!(matches!(&credentials, HttpRefused::Credentials { url, .. } if url == "http://h/"));
    assert_eq!(refused(|options| options.url = "ftp://h/".into()).code(), "CF0601");
    assert_eq!(refused(|options| options.method = "post".into()).code(), "CF0603");
    for name in ["Host", "Content-Length", "ce-id", "webhook-id", "bad name", "Counterfoil-Token"] {
        let mut options = HttpOptions::new("http://h/");
        options.headers.push((name.into(), "x".into()));
        let refused = HttpTransport::new(options).unwrap_err();
        assert_eq!(refused.code(), "CF0604", "{name}");
        assert!(refused.to_string().contains(name), "{refused}");
    }
    let split =
        refused(|options| options.headers.push(("Authorization".into(), "geheim\n".into())));
    assert!(split.to_string().contains("line's end") && !split.to_string().contains("geheim"));
    assert_eq!(refused(|options| options.secrets.push("geheim".into())).code(), "CF0605");
}
