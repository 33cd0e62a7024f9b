//! A time on the command line: RFC 3339, or so long before now.
//!
//! Guarantees: `2h` and `2026-12-01T09:00:00Z` are both taken. Does not: guess a time zone.

use counterfoil_core::domain::Micros;

use crate::config::duration;
use crate::exit::Failure;
use crate::output::time;

/// Reads the value of `flag`.
///
/// # Errors
/// It is neither a time nor a length of time.
pub(crate) fn parse(flag: &str, text: &str, now: Micros) -> Result<Micros, Failure> {
    if let Ok(span) = duration::parse(text) {
        return Ok(Micros::new(now.get().saturating_sub(span.as_micros())));
    }
    time::parse(text).map_err(|why| {
        Failure::could_not_run(format!("{flag} {why}")).help("or write how long ago, such as 2h")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_taken() {
        let now = Micros::new(1_764_421_200_000_000);
        assert_eq!(parse("--since", "1s", now).unwrap().get(), 1_764_421_199_000_000);
        assert_eq!(parse("--since", "2025-11-29T13:00:00Z", now).unwrap(), now);
        assert!(parse("--since", "noon", now).unwrap_err().whole().contains("--since \"noon\""));
    }
}
