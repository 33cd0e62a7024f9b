//! Times as people and JSON see them: RFC 3339, UTC.
//!
//! Guarantees: microseconds are kept. Does not: show local time.

use counterfoil_core::domain::{Micros, Span};
use jiff::Timestamp;

/// `2026-12-01T09:00:00.000001Z`.
pub(crate) fn show(time: Micros) -> String {
    counterfoil_console::json::time(time)
}

/// Reads RFC 3339 with an offset.
///
/// # Errors
/// What is wrong with it and how to write it.
pub(crate) fn parse(text: &str) -> Result<Micros, String> {
    let read = text.trim().parse::<Timestamp>();
    read.map(|timestamp| Micros::new(timestamp.as_microsecond())).map_err(|_| {
        format!("{text:?} is no time: write RFC 3339 with an offset, such as 2026-12-01T09:00:00Z")
    })
}

/// A length of time for people, in its two largest units at most.
pub(crate) fn about(span: Span) -> String {
    let secs = span.as_micros() / 1_000_000;
    match secs {
        0 => format!("{} ms", span.as_micros() / 1_000),
        1..60 => format!("{secs} s"),
        60..3600 => format!("{} min {} s", secs / 60, secs % 60),
        3600..86_400 => format!("{} h {} min", secs / 3600, secs % 3600 / 60),
        _ => format!("{} d {} h", secs / 86_400, secs % 86_400 / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_and_read_back_to_the_microsecond() {
        let time = Micros::new(1_764_421_200_000_001);
        assert_eq!(show(time), "2025-11-29T13:00:00.000001Z");
        assert_eq!(parse(&show(time)), Ok(time));
        assert_eq!(parse("2025-11-29T14:00:00+01:00").unwrap().get(), 1_764_421_200_000_000);
        for text in ["", "tomorrow", "2025-11-29", "1764421200"] {
            assert!(parse(text).unwrap_err().contains("RFC 3339"), "{text}");
        }
    }

    #[test]
    fn a_span_is_shown_in_words() {
        assert_eq!(about(Span::from_millis(20)), "20 ms");
        assert_eq!(about(Span::from_secs(61)), "1 min 1 s");
        assert_eq!(about(Span::from_secs(90_000)), "1 d 1 h");
    }
}
