//! Lengths of time as people write them: `"500ms"`, `"10s"`, `"5m"`, `"2h"`, `"1d"`.
//!
//! Guarantees: one whole number and one unit, else a refusal with an example. Does not: take a
//! bare number, whose unit would be a guess.

use counterfoil_core::domain::Span;

/// The way to write one.
pub(crate) const FORM: &str =
    "write a whole number and a unit (us, ms, s, m, h, d), such as \"500ms\", \"10s\", \"2h\"";

const UNITS: [(&str, i64); 6] = [
    ("us", 1),
    ("ms", 1_000),
    ("s", 1_000_000),
    ("m", 60_000_000),
    ("h", 3_600_000_000),
    ("d", 86_400_000_000),
];

/// Reads a length of time.
///
/// # Errors
/// What is wrong with it and how to write one.
pub(crate) fn parse(text: &str) -> Result<Span, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = UNITS.iter().find(|(name, _)| *name == unit.trim_start());
    let (Ok(number), Some((_, scale))) = (number.parse::<i64>(), scale) else {
        return Err(format!("{text:?} is no length of time: {FORM}"));
    };
    let Some(micros) = number.checked_mul(*scale) else {
        return Err(format!("{text:?} is too long: write at most 100000000d"));
    };
    Ok(Span::from_micros(micros))
}

/// The shortest way to write `span` whole.
pub(crate) fn show(span: Span) -> String {
    let micros = span.as_micros();
    let fits = |scale: i64| micros >= scale && micros % scale == 0;
    let (name, scale) =
        UNITS.iter().rev().find(|(_, scale)| fits(*scale)).copied().unwrap_or(("s", 1_000_000));
    format!("{}{name}", micros / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_a_unit_are_read() {
        assert_eq!(parse("500ms"), Ok(Span::from_millis(500)));
        assert_eq!(parse("10s"), Ok(Span::from_secs(10)));
        assert_eq!(parse(" 2 h"), Ok(Span::from_secs(7200)));
        assert_eq!(parse("1d"), Ok(Span::from_secs(86_400)));
        assert_eq!(parse("7us"), Ok(Span::from_micros(7)));
    }

    #[test]
    fn anything_else_is_refused_with_the_form() {
        for text in ["", "10", "ms", "-1s", "1.5s", "10 sec", "1h30m", "9223372036854775807d"] {
            let refused = parse(text).unwrap_err();
            assert!(refused.contains("write"), "{text}: {refused}");
        }
    }

    #[test]
    fn a_span_is_shown_in_its_largest_whole_unit() {
        assert_eq!(show(Span::from_secs(7200)), "2h");
        assert_eq!(show(Span::from_millis(1500)), "1500ms");
        assert_eq!(show(Span::ZERO), "0s");
    }
}
