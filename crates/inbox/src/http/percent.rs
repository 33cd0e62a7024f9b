//! Percent-decoding, of keys, sources and paths.
//!
//! Guarantees: a `%` that is not followed by two hexadecimal digits is an error, never taken as it
//! stands, so that two texts cannot mean one key by accident. Does not: judge the bytes.

/// Decodes each `%XX`.
///
/// # Errors
/// At which byte a `%` stands without two hexadecimal digits.
pub(crate) fn decode(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        if byte == b'%' {
            let digits = text.get(at + 1).zip(text.get(at + 2));
            let pair = digits.and_then(|(high, low)| Some(value(*high)? << 4 | value(*low)?));
            decoded.push(pair.ok_or(at)?);
            at += 3;
        } else {
            decoded.push(byte);
            at += 1;
        }
    }
    Ok(decoded)
}

fn value(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_decoded_and_anything_else_is_an_error() {
        assert_eq!(decode(b"a%20%e8%AE%A2%25"), Ok("a 订%".into()));
        assert_eq!(decode(b"%FF%00"), Ok(vec![0xff, 0]));
        for (bad, at) in [(b"a%".as_slice(), 1), (b"%4", 0), (b"ab%g0", 2), (b"%+1", 0)] {
            assert_eq!(decode(bad), Err(at));
        }
    }
}
