//! The `ce-` headers: a command as a `CloudEvent` 1.0 in binary mode.
//!
//! Guarantees: values are encoded as the HTTP binding of CloudEvents 1.0.2 says (section 3.1.3.2):
//! space, `"`, `%` and all outside printable ASCII; a time is RFC 3339 in UTC with microseconds.
//! Does not: write `ce-traceparent`, which travels as a stored header.

use bytes::Bytes;
use counterfoil_core::domain::Micros;
use hyper::header::{HeaderName, HeaderValue, InvalidHeaderValue};

use super::key;

/// `ce-specversion`; its value is always `1.0`.
pub(super) static SPEC_VERSION: HeaderName = HeaderName::from_static("ce-specversion");
/// `ce-id`: the command's id.
pub(super) static ID: HeaderName = HeaderName::from_static("ce-id");
/// `ce-type`: the command's kind.
pub(super) static TYPE: HeaderName = HeaderName::from_static("ce-type");
/// `ce-source`: the store's source.
pub(super) static SOURCE: HeaderName = HeaderName::from_static("ce-source");
/// `ce-time`: when the command was recorded.
pub(super) static TIME: HeaderName = HeaderName::from_static("ce-time");

/// A text as the value of a `ce-` header.
pub(super) fn value(text: &str) -> Result<HeaderValue, InvalidHeaderValue> {
    let is_plain = |byte| matches!(byte, 0x21..=0x7e) && !matches!(byte, b'"' | b'%');
    let mut value = Vec::with_capacity(text.len());
    key::encode(text, is_plain, &mut value);
    HeaderValue::from_maybe_shared(Bytes::from(value))
}

/// A time as the value of `ce-time`, such as `2026-11-29T15:33:00.123456Z`.
pub(super) fn time(at: Micros) -> Result<HeaderValue, InvalidHeaderValue> {
    HeaderValue::from_maybe_shared(Bytes::from(rfc3339(at)))
}

fn rfc3339(at: Micros) -> String {
    const DAY: i64 = 86_400_000_000;
    let (year, month, day) = civil(at.get().div_euclid(DAY));
    let micros = at.get().rem_euclid(DAY);
    let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// Year, month and day of the Gregorian calendar, from days since 1970-01-01. Years are counted
/// from March, so that the leap day is a year's last day.
const fn civil(days: i64) -> (i64, i64, i64) {
    const ERA: i64 = 146_097; // days in 400 years
    let days = days + 719_468; // since 0000-03-01
    let era = days.div_euclid(ERA);
    let of_era = days.rem_euclid(ERA);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year + era * 400;
    (if month <= 2 { year + 1 } else { year }, month, day)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_have_six_digits_and_a_z() {
        let of = |micros| rfc3339(Micros::new(micros));
        assert_eq!(of(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(of(951_782_400_000_001), "2000-02-29T00:00:00.000001Z");
        assert_eq!(of(Micros::LATEST.get()), "2286-11-20T17:46:39.999999Z");
        assert_eq!(of(-1), "1969-12-31T23:59:59.999999Z");
    }

    #[test]
    fn values_are_encoded_as_the_binding_says() {
        assert_eq!(value("Euro € 😀").unwrap(), "Euro%20%E2%82%AC%20%F0%9F%98%80");
        assert_eq!(value(r#"a"%\b"#).unwrap(), r"a%22%25\b");
        assert_eq!(value("urn:example:orders").unwrap(), "urn:example:orders");
    }

    proptest! {
        /// Steps day by day from a known day, without the closed formula.
        #[test]
        fn the_calendar_steps_day_by_day(days in -200_000_i64..3_000_000) {
            let (year, month, day) = civil(days);
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => if leap { 29 } else { 28 },
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            let next = if day < length {
                (year, month, day + 1)
            } else if month < 12 {
                (year, month + 1, 1)
            } else {
                (year + 1, 1, 1)
            };
            prop_assert!((1..=12).contains(&month) && (1..=length).contains(&day));
            prop_assert_eq!(civil(days + 1), next);
        }
    }
}
