//! How long an answer asks to wait.
//!
//! Guarantees: takes both forms of RFC 9110, section 10.2.3; what cannot be read is no wait. A
//! date is measured against the answer's own `Date`, so that two clocks are never compared, or
//! against the attempt's time where that is missing. Does not: cap the wait; the pace does.

use counterfoil_core::domain::{Micros, Span};
use hyper::HeaderMap;
use hyper::header::{DATE, RETRY_AFTER};

/// The wait that `Retry-After` asks for; a date that has passed is no time at all.
pub(super) fn retry_after(headers: &HeaderMap, now: Micros) -> Option<Span> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // Digits only, so the one way to fail is a number too large.
        return Some(Span::from_secs(text.parse().unwrap_or(i64::MAX)));
    }
    let until = date(text)?;
    Some(until.since(sent_at(headers).unwrap_or(now)))
}

fn sent_at(headers: &HeaderMap) -> Option<Micros> {
    date(headers.get(DATE)?.to_str().ok()?)
}

fn date(text: &str) -> Option<Micros> {
    let since = httpdate::parse_http_date(text).ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(Micros::new(0).plus(Span::from_std(since)))
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderName;

    use super::*;

    fn of(pairs: &[(HeaderName, &'static str)], now: i64) -> Option<Span> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(name, value.parse().unwrap());
        }
        retry_after(&headers, Micros::new(now))
    }

    #[test]
    fn seconds_and_dates_are_read_and_rubbish_is_no_wait() {
        assert_eq!(of(&[], 0), None);
        assert_eq!(of(&[(RETRY_AFTER, "120")], 0), Some(Span::from_secs(120)));
        assert_eq!(of(&[(RETRY_AFTER, "0")], 0), Some(Span::ZERO));
        let long = of(&[(RETRY_AFTER, "99999999999999999999999")], 0);
        assert_eq!(long, Some(Span::from_secs(i64::MAX)));
        for rubbish in ["", "-1", "1.5", "soon", "Sun, 99 Nov 1994 08:49:37 GMT"] {
            assert_eq!(of(&[(RETRY_AFTER, rubbish)], 0), None, "{rubbish}");
        }
    }

    #[test]
    fn a_date_is_measured_by_the_answers_own_clock() {
        let until = (RETRY_AFTER, "Sun, 06 Nov 1994 08:49:37 GMT");
        let sent = (DATE, "Sun, 06 Nov 1994 08:49:07 GMT");
        assert_eq!(of(&[until.clone(), sent], 0), Some(Span::from_secs(30)));
        let at = 784_111_777_000_000;
        assert_eq!(of(std::slice::from_ref(&until), at - 5_000_000), Some(Span::from_secs(5)));
        assert_eq!(of(&[until], at + 1), Some(Span::ZERO));
    }
}
