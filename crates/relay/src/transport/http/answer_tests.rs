//! The table of answers, row by row.

use counterfoil_core::domain::breaker::Health;
use counterfoil_core::domain::{Digest, Profile, Span};

use super::*;

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

fn reading(habits: &str, completion: Completion) -> Reading {
    Reading { habits: serde_json::from_str(habits).unwrap(), completion, result_bytes_max: 9 }
}

fn of(status: u16, pairs: &[(&'static str, &str)], text: &str) -> Outcome {
    by("{}", status, pairs, text)
}

/// What an answer comes to, by these habits.
fn by(habits: &str, status: u16, pairs: &[(&'static str, &str)], text: &str) -> Outcome {
    let status = StatusCode::from_u16(status).unwrap();
    let body = body(text.as_bytes(), End::Whole);
    let reading = reading(habits, Completion::Response);
    reading.outcome(status, &head(pairs), body, Micros::new(0))
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
fn a_word_that_is_none_leaves_nothing_done() {
    let outcome = of(200, &[("counterfoil-outcome", "done")], "");
    assert_eq!(outcome.name(), "unknown");
    assert_eq!(outcome.reason(), "HTTP 200; Counterfoil-Outcome \"done\" is no outcome");
    assert_eq!(of(202, &[("counterfoil-outcome", "")], "").name(), "unknown");
    let two = [("counterfoil-outcome", "completed"), ("counterfoil-outcome", "rejected")];
    let outcome = of(404, &two, "");
    assert_eq!(outcome.name(), "unknown", "it was seen, so not sending it again is not proven");
    assert!(outcome.reason().contains("says completed and rejected"), "{outcome:?}");
    let same = [("counterfoil-outcome", "completed"), ("counterfoil-outcome", "Completed")];
    assert_eq!(of(404, &same, "").name(), "completed");
    let mapped = r#"{"answers":{"404":"completed"}}"#;
    assert_eq!(by(mapped, 404, &two, "").name(), "unknown");
    for status in [302, 400, 404, 410, 421, 429] {
        assert_eq!(of(status, &two, "").name(), "unknown", "{status}");
    }
    assert_eq!(by(r#"{"profile":"webhook"}"#, 410, &two, "").name(), "unknown");
    assert_eq!(of(422, &two, "").name(), "conflict");
}

#[test]
fn a_wait_travels_with_what_may_be_tried_again() {
    for status in [409, 429, 503, 307] {
        let outcome = of(status, &[("retry-after", "7")], "");
        assert_eq!(outcome.retry_after(), Some(Span::from_secs(7)), "{status}");
    }
}

/// A receiver with too much to do works: no breaker opens on it, whatever its profile.
#[test]
fn too_many_requests_is_busy_and_no_failure() {
    for habits in ["{}", r#"{"profile":"webhook"}"#] {
        let outcome = by(habits, 429, &[("retry-after", "7")], "slow down");
        let Outcome::Busy { reason, retry_after } = &outcome else { panic!("{outcome:?}") };
        assert!(reason.contains("HTTP 429 (too many requests)"), "{reason}");
        assert_eq!(*retry_after, Some(Span::from_secs(7)));
        assert_eq!(outcome.health(), Health::Busy);
    }
    let mapped = by(r#"{"answers":{"429":"not_sent"}}"#, 429, &[], "");
    assert_eq!(mapped.health(), Health::Fails, "the destination's own word about its statuses");
}

#[test]
fn with_receipts_a_2xx_is_a_promise() {
    let of = |status, pairs: &[(&'static str, &str)], end| {
        let status = StatusCode::from_u16(status).unwrap();
        let body = body(b"x", end);
        let reading = reading("{}", Completion::Receipt);
        reading.outcome(status, &head(pairs), body, Micros::new(0)).name()
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
        let reading = reading("{}", Completion::Response);
        reading.outcome(status, &head(pairs), body, Micros::new(0))
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
    let reading = reading("{}", Completion::Response);
    let outcome = reading.outcome(StatusCode::OK, &head(&[]), body, now);
    let evidence = "HTTP 200; the first 3 of 7 bytes are kept".to_owned();
    assert_eq!(outcome, Outcome::Completed { result, evidence });
}

#[test]
fn only_a_result_is_read_to_its_end() {
    let wanted = |status, pairs: &[(&'static str, &str)]| {
        let reading = reading("{}", Completion::Response);
        reading.wanted(StatusCode::from_u16(status).unwrap(), &head(pairs))
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
fn a_body_that_is_judged_is_read_as_far_as_it_is_judged() {
    let kept = |habits: &str, status| {
        let reading = reading(habits, Completion::Response);
        reading.wanted(StatusCode::from_u16(status).unwrap(), &head(&[])).kept
    };
    let success = r#"{"success":{"text":"ok"}}"#;
    assert_eq!((kept("{}", 200), kept("{}", 400)), (9, ASIDE_BYTES));
    assert_eq!((kept(success, 200), kept(success, 400)), (JUDGED_BYTES_MAX, ASIDE_BYTES));
    let codes = r#"{"outcome":{"json":"/c","of":{"rejected":[1]}}}"#;
    assert_eq!((kept(codes, 202), kept(codes, 400)), (JUDGED_BYTES_MAX, JUDGED_BYTES_MAX));
    let both = r#"{"answers":{"200":"rejected","400":"completed"},"success":{"text":"ok"}}"#;
    assert_eq!((kept(both, 200), kept(both, 400)), (ASIDE_BYTES, 9));
}

#[test]
fn answers_override_a_row() {
    let names = [
        ("completed", "completed"),
        ("accepted", "accepted"),
        ("rejected", "rejected"),
        ("conflict", "conflict"),
        ("not_sent", "not_sent"),
        ("unknown", "unknown"),
        ("ask", "unknown"),
    ];
    for status in [200, 202, 302, 404, 409, 410, 500] {
        for (meaning, name) in names {
            for profile in ["plain", "webhook"] {
                let habits =
                    format!(r#"{{"answers":{{"{status}":"{meaning}"}},"profile":"{profile}"}}"#);
                let outcome = by(&habits, status, &[("retry-after", "7")], "why");
                assert_eq!(outcome.name(), name, "{status}");
                let said = format!("HTTP {status} (answers: {meaning})");
                assert!(outcome.reason().starts_with(&said), "{outcome:?}");
                assert_eq!(matches!(outcome, Outcome::Ask { .. }), meaning == "ask");
                let is_misconfigured =
                    matches!(outcome, Outcome::NotSent { misconfigured, .. } if misconfigured);
                assert!(!is_misconfigured);
            }
        }
    }
    let outcome = by(r#"{"answers":{"409":"completed"}}"#, 409, &[], "0123456789");
    let Outcome::Completed { result, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!((result.bytes.as_slice(), result.full_len), (&b"012345678"[..], 10));
    assert_eq!(result.full_digest, Some(Digest::of(b"0123456789")));
    let rejected = by(r#"{"answers":{"404":"rejected"}}"#, 404, &[], "");
    assert!(matches!(rejected, Outcome::Rejected { by: Judge::Status, .. }), "{rejected:?}");
}

#[test]
fn a_row_of_answers_completes_without_waiting_for_a_receipt_but_not_without_its_body() {
    let reading = reading(r#"{"answers":{"409":"completed"}}"#, Completion::Receipt);
    let of = |end| {
        let body = body(b"x", end);
        reading.outcome(StatusCode::CONFLICT, &head(&[]), body, Micros::new(0))
    };
    assert_eq!(of(End::Whole).name(), "completed");
    let broken = of(End::Broken("reset".into()));
    assert_eq!(broken.reason(), "HTTP 409 (answers: completed), but its body broke off: reset");
}

#[test]
fn the_first_that_speaks_decides() {
    let all = r#"{"answers":{"201":"rejected"},"profile":"webhook",
        "outcome":{"json":"/c","of":{"accepted":[1],"conflict":[2]}},
        "success":{"json":"/c","in":[0,1]}}"#;
    let of = |status, word: &str, text| {
        let pairs = [("counterfoil-outcome", word)];
        by(all, status, if word.is_empty() { &[] } else { &pairs }, text)
    };
    assert_eq!(of(201, "completed", r#"{"c":2}"#).name(), "completed", "the word");
    assert_eq!(of(400, "conflict", "").name(), "conflict", "the word, for a webhook too");
    assert_eq!(of(201, "", r#"{"c":2}"#).name(), "rejected", "answers");
    assert_eq!(of(200, "", r#"{"c":1}"#).name(), "accepted", "codes");
    assert_eq!(of(400, "", r#"{"c":2}"#).name(), "conflict", "codes, of any status");
    assert_eq!(of(200, "", r#"{"c":0}"#).name(), "completed", "success");
    assert_eq!(of(202, "", r#"{"c":3}"#).name(), "unknown", "no success");
    assert_eq!(of(202, "", r#"{"c":0}"#).name(), "completed", "the table of webhooks");
    assert_eq!(of(400, "", r#"{"c":0}"#).name(), "not_sent", "the table of webhooks");
}

#[test]
fn a_webhook_that_refuses_burns_an_attempt_and_one_that_is_gone_says_so() {
    let webhook = |status| by(r#"{"profile":"webhook"}"#, status, &[("retry-after", "7")], "");
    assert_eq!(webhook(202).name(), "completed");
    for status in [301, 400, 401, 404, 422] {
        let outcome = webhook(status);
        let wait = Some(Span::from_secs(7));
        assert!(
            matches!(&outcome, Outcome::NotSent { misconfigured: false, retry_after, .. }
                if *retry_after == wait),
            "{outcome:?}"
        );
    }
    assert!(matches!(webhook(410), Outcome::Gone { .. }));
    assert_eq!(webhook(500).name(), "unknown");
    assert_eq!(Profile::default(), Profile::Plain);
}
