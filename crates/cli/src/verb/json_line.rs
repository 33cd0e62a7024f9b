//! What is wrong with a line of a file of JSON lines, in words for the person who wrote it.
//!
//! Guarantees: one line number at most stands in a message, that of the file. Does not: know it;
//! the caller puts it in front.

/// Why a line cannot be read. To the parser each line is line 1, which would only confuse.
pub(super) fn unread(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match said.strip_suffix(&place) {
        Some(why) if error.line() == 1 => format!("{why} at column {}", error.column()),
        Some(why) => why.to_owned(),
        None => said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_column_is_left() {
        let unread = |text: &str| unread(&serde_json::from_str::<[u8; 2]>(text).unwrap_err());
        assert_eq!(unread("[1,x]"), "expected value at column 4");
        // The end of the file's line is no second line.
        assert_eq!(unread("[1,\n"), "EOF while parsing a value");
    }
}
