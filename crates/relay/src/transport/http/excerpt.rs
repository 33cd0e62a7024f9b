//! The beginning of an answer, as people may read it in a reason.
//!
//! Guarantees: one line, at most [`EXCERPT_BYTES`], no control character. Does not: hold anything
//! of the command, unless the receiver sent it back.

/// How much of an answer's text a reason holds at most, in bytes.
pub(super) const EXCERPT_BYTES: usize = 200;

/// The first bytes of an answer as a line of text.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(EXCERPT_BYTES)]);
    let mut line = String::with_capacity(EXCERPT_BYTES);
    for word in text.split(|c: char| c.is_control() || c.is_whitespace()) {
        let space = usize::from(!line.is_empty());
        if word.is_empty() || line.len() + space >= EXCERPT_BYTES {
            continue;
        }
        line.push_str(&" "[..space]);
        let room = EXCERPT_BYTES - line.len();
        let fits = word.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|n| *n <= room);
        line.push_str(&word[..fits.last().unwrap_or(0)]);
    }
    line
}

/// `text`, and the excerpt behind it if there is any.
pub(super) fn with_excerpt(mut text: String, bytes: &[u8]) -> String {
    let excerpt = excerpt(bytes);
    if !excerpt.is_empty() {
        text.push_str(": ");
        text.push_str(&excerpt);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_one_short_line_of_text() {
        assert_eq!(excerpt(b""), "");
        assert_eq!(excerpt(b"  no\r\n\tsuch \x00\x1b[31m order \n"), "no such [31m order");
        assert_eq!(excerpt(b"a\xff\xfeb"), "a\u{fffd}\u{fffd}b");
        for text in ["x".repeat(999), "单".repeat(999), "a ".repeat(999), "\u{85}".repeat(999)] {
            let line = excerpt(text.as_bytes());
            let is_plain = !line.chars().any(char::is_control);
            assert!(line.len() <= EXCERPT_BYTES && is_plain, "{line}");
        }
        assert_eq!(excerpt("单".repeat(999).as_bytes()).chars().filter(|c| *c == '单').count(), 66);
        assert!(excerpt(&[0xff; 999]).len() <= EXCERPT_BYTES);
    }
}
