//! What answers on a real socket come to, well-formed and not.

use counterfoil_core::domain::{Completion, Digest, Judge, Outcome, Span};
use counterfoil_relay::transport::http::HttpTransport;

use super::receiver::{Receiver, answer, send};

async fn outcome_of(bytes: impl Into<Vec<u8>>) -> Outcome {
    let receiver = Receiver::answering_once(bytes).await;
    let outcome = send(&receiver.transport_within(5_000), "a").await;
    assert_eq!(receiver.requests().len(), 1, "{outcome:?}");
    outcome
}

#[tokio::test]
async fn plain_answers() {
    for (status, expected) in [
        ("200 OK", "completed"),
        ("201 Created", "completed"),
        ("202 Accepted", "accepted"),
        ("204 No Content", "completed"),
        ("308 Permanent Redirect", "not_sent"),
        ("401 Unauthorized", "not_sent"),
        ("404 Not Found", "not_sent"),
        ("409 Conflict", "unknown"),
        ("422 Unprocessable Content", "conflict"),
        ("429 Too Many Requests", "not_sent"),
        ("400 Bad Request", "rejected"),
        ("410 Gone", "rejected"),
        ("500 Internal Server Error", "unknown"),
        ("503 Service Unavailable", "unknown"),
    ] {
        let outcome = outcome_of(answer(status, "", "")).await;
        assert_eq!(outcome.name(), expected, "{status}: {outcome:?}");
    }
}

#[tokio::test]
async fn the_body_of_a_success_is_the_result() {
    let Outcome::Completed { result, evidence } =
        outcome_of(answer("200 OK", "", "{\"job\":7}")).await
    else {
        panic!("not completed");
    };
    assert_eq!((result.bytes.as_slice(), result.full_len), (&b"{\"job\":7}"[..], 9));
    assert_eq!((result.full_digest, evidence.as_str()), (None, "HTTP 200"));
}

#[tokio::test]
async fn a_long_result_is_cut_counted_and_digested() {
    let body = "x".repeat(3_000_000);
    let receiver = Receiver::answering(answer("200 OK", "", &body)).await;
    let mut options = receiver.options();
    options.result_bytes_max = 1_000;
    let transport = HttpTransport::new(options).unwrap();
    for id in ["a", "b"] {
        let Outcome::Completed { result, evidence } = send(&transport, id).await else {
            panic!("not completed");
        };
        assert_eq!((result.bytes.len(), result.full_len), (1_000, 3_000_000));
        assert_eq!(result.full_digest, Some(Digest::of(body.as_bytes())));
        assert_eq!(evidence, "HTTP 200; the first 1000 of 3000000 bytes are kept");
    }
    assert_eq!(receiver.connections(), 1, "a body that was read to its end costs no connection");
}

#[tokio::test]
async fn the_receivers_own_word_overrides_the_status() {
    let word = |status, word| answer(status, &format!("Counterfoil-Outcome: {word}\r\n"), "why");
    assert_eq!(outcome_of(word("404 Not Found", "Completed")).await.name(), "completed");
    assert_eq!(outcome_of(word("200 OK", "ACCEPTED")).await.name(), "accepted");
    assert_eq!(outcome_of(word("200 OK", "conflict")).await.name(), "conflict");
    assert_eq!(outcome_of(word("200 OK", "unknown")).await.name(), "unknown");
    let reason = "HTTP 503; Counterfoil-Outcome: rejected: why".to_owned();
    let rejected = Outcome::Rejected { reason, by: Judge::Receiver };
    assert_eq!(outcome_of(word("503 Service Unavailable", "rejected")).await, rejected);
    let unread = outcome_of(word("200 OK", "perhaps")).await;
    assert_eq!(unread.name(), "unknown");
    assert!(unread.reason().contains("\"perhaps\" is no outcome"), "{unread:?}");
    assert_eq!(outcome_of(word("404 Not Found", "perhaps")).await.name(), "unknown");
}

#[tokio::test]
async fn both_forms_of_retry_after_are_honoured() {
    let wait = |outcome: Outcome| outcome.retry_after();
    let busy = "429 Too Many Requests";
    let seconds = answer(busy, "Retry-After: 17\r\n", "");
    assert_eq!(wait(outcome_of(seconds).await), Some(Span::from_secs(17)));
    let date =
        "Date: Sat, 29 Nov 2025 15:33:00 GMT\r\nRetry-After: Sat, 29 Nov 2025 15:34:30 GMT\r\n";
    assert_eq!(wait(outcome_of(answer(busy, date, "")).await), Some(Span::from_secs(90)));
    // Without a Date it is measured against the attempt's time, 1.5 s after 15:33.
    let date = "Retry-After: Sat, 29 Nov 2025 15:33:31 GMT\r\n";
    assert_eq!(wait(outcome_of(answer(busy, date, "")).await), Some(Span::from_micros(29_500_000)));
    let working = answer("409 Conflict", "Retry-After: 3\r\n", "");
    assert_eq!(wait(outcome_of(working).await), Some(Span::from_secs(3)));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let there = Receiver::answering(answer("200 OK", "", "")).await;
    let location = format!("Location: http://{}/\r\n", there.address);
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"] {
        let outcome = outcome_of(answer(status, &location, "")).await;
        assert!(matches!(outcome, Outcome::NotSent { misconfigured: true, .. }), "{outcome:?}");
    }
    assert_eq!(there.connections(), 0);
}

#[tokio::test]
async fn with_receipts_a_success_is_accepted() {
    let receiver = Receiver::answering(answer("200 OK", "", "{}")).await;
    let mut options = receiver.options();
    options.completion = Completion::Receipt;
    let outcome = send(&HttpTransport::new(options).unwrap(), "a").await;
    assert_eq!(outcome, Outcome::Accepted { evidence: "HTTP 200".into() });
}

#[tokio::test]
async fn reasons_hold_a_short_line_of_the_answer_and_none_of_the_command() {
    let text = format!("no \r\n\x1b such \0 order {}", "!".repeat(5_000));
    let outcome = outcome_of(answer("400 Bad Request", "", &text)).await;
    let excerpt = outcome.reason().strip_prefix("HTTP 400: ").unwrap();
    assert!(excerpt.starts_with("no such order !!!") && excerpt.len() <= 200, "{excerpt}");
    assert!(!outcome.reason().contains("A-001"));
}

#[tokio::test]
async fn a_body_that_breaks_off_makes_a_success_unknown() {
    for cut in [
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
        "HTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
        "HTTP/1.0 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
    ] {
        let outcome = outcome_of(cut).await;
        assert_eq!(outcome.name(), "unknown", "{cut:?}: {outcome:?}");
        assert!(outcome.reason().contains("broke off"), "{cut:?}: {outcome:?}");
    }
    let refused = "HTTP/1.1 400 Bad Request\r\nContent-Length: 100\r\n\r\nhalf";
    assert_eq!(outcome_of(refused).await.name(), "rejected");
    let moved = "HTTP/1.1 404 Not Found\r\nContent-Length: 100\r\n\r\n";
    assert_eq!(outcome_of(moved).await.name(), "not_sent");
}

#[tokio::test]
async fn http_1_0_with_and_without_a_length() {
    let with = outcome_of("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    assert!(matches!(&with, Outcome::Completed { evidence, .. } if evidence == "HTTP 200"));
    let without = outcome_of("HTTP/1.0 200 OK\r\n\r\nok").await;
    let Outcome::Completed { result, evidence } = without else { panic!("{without:?}") };
    assert_eq!(result.bytes, b"ok");
    assert!(evidence.contains("a cut would not show"), "{evidence}");
}

#[tokio::test]
async fn what_is_no_http_is_unknown() {
    for garbage in [
        "",
        "SSH-2.0-OpenSSH_9.2\r\n",
        "\0\u{1}\u{2}\u{3}",
        "HTTP/1.1 two hundred OK\r\n\r\n",
        "HTTP/1.1 200",
        "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n",
    ] {
        let outcome = outcome_of(garbage).await;
        assert_eq!(outcome.name(), "unknown", "{garbage:?}: {outcome:?}");
    }
    let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(2_000_000));
    assert_eq!(outcome_of(endless).await.name(), "unknown");
}

#[tokio::test]
async fn an_interim_answer_is_not_the_answer() {
    let two = format!("HTTP/1.1 100 Continue\r\n\r\n{}", answer("200 OK", "", "ok"));
    assert_eq!(outcome_of(two).await.name(), "completed");
}

#[tokio::test]
async fn an_endless_body_ends_with_the_request_timeout() {
    let endless = |head: &'static str| {
        Receiver::start(move |mut peer| async move {
            peer.request().await;
            peer.write(head).await;
            while peer.stream.writable().await.is_ok() {
                peer.write("4\r\nmore\r\n").await;
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        })
    };
    let receiver = endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await;
    let outcome = send(&receiver.transport_within(300), "a").await;
    assert_eq!(outcome.name(), "unknown", "{outcome:?}");
    assert!(outcome.reason().contains("within request_timeout"), "{outcome:?}");
    // A status that is no success has said what it says; its body is not worth the wait.
    let receiver = endless("HTTP/1.1 401 No\r\nTransfer-Encoding: chunked\r\n\r\n").await;
    assert_eq!(send(&receiver.transport_within(300), "a").await.name(), "not_sent");
}

#[tokio::test]
async fn a_flood_is_not_kept_in_memory_and_ends() {
    let receiver = Receiver::start(|mut peer| async move {
        peer.request().await;
        peer.write("HTTP/1.0 200 OK\r\n\r\n").await;
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..80 {
            peer.write(&piece).await;
        }
    })
    .await;
    let outcome = send(&receiver.transport_within(60_000), "a").await;
    assert_eq!(outcome.name(), "unknown", "{outcome:?}");
    assert!(outcome.reason().contains("longer than 64 MiB"), "{outcome:?}");
}
