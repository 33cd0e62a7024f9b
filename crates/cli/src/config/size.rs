//! Sizes as people write them: `"64KiB"`, `"1MiB"`, `"4096B"`.
//!
//! Guarantees: one whole number and one binary unit, else a refusal with an example. Does not:
//! take `KB` or `MB`, which mean two things.

const UNITS: [(&str, usize); 4] = [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

/// Reads a size in bytes.
///
/// # Errors
/// What is wrong with it and how to write one.
pub(crate) fn parse(text: &str) -> Result<usize, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = UNITS.iter().find(|(name, _)| *name == unit.trim_start());
    match (number.parse::<usize>(), scale) {
        (Ok(number), Some((_, scale))) => {
            number.checked_mul(*scale).ok_or_else(|| format!("{text:?} is too large"))
        }
        _ => Err(format!(
            "{text:?} is no size: write a whole number and a unit (B, KiB, MiB, GiB), \
             such as \"64KiB\", \"1MiB\""
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_binary_and_have_a_unit() {
        assert_eq!(parse("64KiB"), Ok(65_536));
        assert_eq!(parse("1 MiB"), Ok(1_048_576));
        assert_eq!(parse("10B"), Ok(10));
        for text in ["", "10", "1MB", "-1KiB", "99999999999GiB"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
