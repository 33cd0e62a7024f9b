//! The table of answers, row by row.

use super::*;
use counterfoil_core::domain::{Digest, Span};

fn body(bytes: &[u8], end: End) -> Body {
    Body { result: ResultBody::whole(bytes), end }
}

fn head(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(*name, value.parse().unwrap());
    }
    headers
}

fn of(status: u16, pairs: &[(&'static str, &str)], text: &str) -> Outcome {
    let status = StatusCode::from_u16(status).unwrap();
    let body = body(text.as_bytes(), End::Whole);
    outcome_of(status, &head(pairs), body, Completion::Response, Micros::new(0))
}

/// The contract's table, written once more by hand.
fn expected(status: u16) -> &'static str {
    match status {
        202 => "accepted",
        200..=299 => "completed",
        300..=399 | 401 | 403 | 404 | 405 | 407 => "not_sent, misconfigured",
        421 | 429 => "not_sent",
        409 | 408 | 425 => "unknown",
        422 => "conflict",
        400..=499 => "rejected",
        _ => "unknown",
    }
}

#[test]
fn every_status_has_its_outcome() {
    for status in 100..=999 {
        let outcome = of(status, &[], "");
        let misconfigured = matches!(outcome, Outcome::NotSent { misconfigured: true, .. });
        let suffix = if misconfigured { ", misconfigured" } else { "" };
        assert_eq!(format!("{}{suffix}", outcome.name()), expected(status), "{status}");
        assert!(outcome.reason().starts_with(&format!("HTTP {status}")), "{outcome:?}");
        if let Outcome::Rejected { by, .. } = outcome {
            assert_eq!(by, Judge::Status, "{status}");
        }
    }
}

#[test]
fn the_receivers_own_word_overrides_every_status() {
    for status in [200, 202, 308, 401, 404, 409, 422, 429, 500, 503] {
        for (name, word) in Word::ALL {
            let shouted = format!(" {} ", name.to_uppercase());
            let outcome = of(status, &[("counterfoil-outcome", &shouted)], "because");
            assert_eq!(outcome.name(), name, "{status}");
            let evidence = format!("HTTP {status}; Counterfoil-Outcome: {name}");
            assert!(outcome.reason().starts_with(&evidence), "{outcome:?}");
            if word == Word::Rejected {
                let reason = format!("{evidence}: because");
                assert_eq!(outcome, Outcome::Rejected { reason, by: Judge::Receiver });
            }
        }
    }
}

#[test]
fn a_word_that_is_none_is_ignored_and_noted() {
    let outcome = of(200, &[("counterfoil-outcome", "done")], "");
    assert_eq!(outcome.name(), "completed");
    assert_eq!(outcome.reason(), "HTTP 200; Counterfoil-Outcome \"done\" is no outcome, ignored");
    let two = [("counterfoil-outcome", "completed"), ("counterfoil-outcome", "rejected")];
    let outcome = of(404, &two, "");
    assert_eq!(outcome.name(), "not_sent");
    assert!(outcome.reason().contains("says completed and rejected, ignored"), "{outcome:?}");
    let same = [("counterfoil-outcome", "completed"), ("counterfoil-outcome", "Completed")];
    assert_eq!(of(404, &same, "").name(), "completed");
}

#[test]
fn a_wait_travels_with_what_may_be_tried_again() {
    for status in [409, 429, 503, 307] {
        let outcome = of(status, &[("retry-after", "7")], "");
        let (Outcome::NotSent { retry_after, .. } | Outcome::Unknown { retry_after, .. }) = outcome
        else {
            panic!("{outcome:?}");
        };
        assert_eq!(retry_after, Some(Span::from_secs(7)), "{status}");
    }
}

#[test]
fn with_receipts_a_2xx_is_a_promise() {
    let of = |status, pairs: &[(&'static str, &str)], end| {
        let status = StatusCode::from_u16(status).unwrap();
        let body = body(b"x", end);
        outcome_of(status, &head(pairs), body, Completion::Receipt, Micros::new(0)).name()
    };
    assert_eq!(of(200, &[], End::Whole), "accepted");
    assert_eq!(of(204, &[], End::Whole), "accepted");
    assert_eq!(of(500, &[], End::Whole), "unknown");
    assert_eq!(of(200, &[], End::Broken("cut".into())), "unknown");
    assert_eq!(of(200, &[("counterfoil-outcome", "completed")], End::Whole), "completed");
}

#[test]
fn a_body_that_breaks_off_makes_a_2xx_unknown_and_nothing_else() {
    let of = |status, pairs: &[(&'static str, &str)]| {
        let status = StatusCode::from_u16(status).unwrap();
        let body = body(b"half", End::Broken("connection reset".into()));
        outcome_of(status, &head(pairs), body, Completion::Response, Micros::new(0))
    };
    let outcome = of(200, &[]);
    assert_eq!(outcome.name(), "unknown");
    assert_eq!(outcome.reason(), "HTTP 200, but its body broke off: connection reset");
    assert_eq!(of(400, &[]).name(), "rejected");
    assert_eq!(of(401, &[]).name(), "not_sent");
    assert_eq!(of(202, &[]).name(), "accepted");
    let outcome = of(200, &[("counterfoil-outcome", "completed")]);
    assert_eq!(outcome.name(), "completed");
    assert!(outcome.reason().contains("the result is not whole"), "{outcome:?}");
}

#[test]
fn a_result_that_was_cut_says_so() {
    let result =
        ResultBody { bytes: b"abc".into(), full_len: 7, full_digest: Some(Digest::of(b"abcdefg")) };
    let body = Body { result: result.clone(), end: End::Whole };
    let now = Micros::new(0);
    let outcome = outcome_of(StatusCode::OK, &head(&[]), body, Completion::Response, now);
    let evidence = "HTTP 200; the first 3 of 7 bytes are kept".to_owned();
    assert_eq!(outcome, Outcome::Completed { result, evidence });
}

#[test]
fn only_a_result_is_read_to_its_end() {
    let wanted = |status, pairs: &[(&'static str, &str)]| {
        wanted(StatusCode::from_u16(status).unwrap(), &head(pairs), 9)
    };
    assert!(wanted(200, &[]).is_result);
    assert!(!wanted(202, &[]).is_result);
    assert!(!wanted(500, &[]).is_result);
    assert!(wanted(409, &[("counterfoil-outcome", "completed")]).is_result);
    assert!(!wanted(200, &[("counterfoil-outcome", "rejected")]).is_result);
    assert!(wanted(204, &[]).is_framed && !wanted(200, &[]).is_framed);
    assert!(wanted(200, &[("content-length", "0")]).is_framed);
}

#[test]
fn an_excerpt_is_one_short_line_of_text() {
    assert_eq!(excerpt(b""), "");
    assert_eq!(excerpt(b"  no\r\n\tsuch \x00\x1b[31m order \n"), "no such [31m order");
    assert_eq!(excerpt(b"a\xff\xfeb"), "a\u{fffd}\u{fffd}b");
    for text in ["x".repeat(999), "单".repeat(999), "a ".repeat(999), "\u{85}".repeat(999)] {
        let line = excerpt(text.as_bytes());
        assert!(line.len() <= EXCERPT_BYTES && !line.chars().any(char::is_control), "{line}");
    }
    assert_eq!(excerpt("单".repeat(999).as_bytes()).chars().filter(|c| *c == '单').count(), 66);
    assert!(excerpt(&[0xff; 999]).len() <= EXCERPT_BYTES);
}
