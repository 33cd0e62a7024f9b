//! Keys as text that is read back as the same bytes, so that a page goes on after any row.
//!
//! Guarantees: every name that Counterfoil lets in is spelled as itself. Does not: say which name
//! was meant by bytes that are none.

use rusqlite::Row;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};

use crate::row::bytes;

/// Stands before each byte that no text has. A control character: no name has one.
const ESCAPE: char = '\u{1a}';

/// Bytes as text: UTF-8 is itself, what is none has its bytes in hexadecimal.
pub(crate) fn spelled(name: &[u8]) -> String {
    let mut text = String::new();
    let hex = |text: &mut String, bytes: &[u8]| {
        bytes.iter().for_each(|byte| text.push_str(&format!("{ESCAPE}{byte:02x}")));
    };
    for chunk in name.utf8_chunks() {
        for char in chunk.valid().chars() {
            if char == ESCAPE { hex(&mut text, &[0x1a]) } else { text.push(char) }
        }
        hex(&mut text, chunk.invalid());
    }
    text
}

/// The bytes that were spelled so.
pub(crate) fn unspelled(text: &str) -> Vec<u8> {
    let mut parts = text.split(ESCAPE);
    let mut name = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let byte = part.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match byte {
            Some(byte) => {
                name.push(byte);
                name.extend(&part.as_bytes()[2..]);
            }
            None => name.extend(part.as_bytes()),
        }
    }
    name
}

/// A text column, spelled.
pub(crate) fn column(row: &Row<'_>, at: usize) -> rusqlite::Result<String> {
    Ok(spelled(bytes(row, at)?.unwrap_or_default()))
}

/// What was spelled, as SQL compares it.
pub(crate) struct Unspelled(Vec<u8>);

impl Unspelled {
    pub(crate) fn of(text: &str) -> Self {
        Self(unspelled(text))
    }
}

impl ToSql for Unspelled {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(&self.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spelled_is_read_back() {
        for name in ["o-1", "订单", "Fa\u{fffd}ade", "a\u{1a}41", "\u{1}", ""] {
            assert_eq!(unspelled(&spelled(name.as_bytes())), name.as_bytes(), "{name:?}");
        }
        for name in ["o-1", "订单", "Fa\u{fffd}ade"] {
            assert_eq!(spelled(name.as_bytes()), name, "a name is itself");
        }
        for bytes in [&b"\xff"[..], b"\xffA", b"a\xf0\x9fb", b"\x1a\x80"] {
            assert_eq!(unspelled(&spelled(bytes)), bytes, "{bytes:?}");
            assert!(spelled(bytes) != String::from_utf8_lossy(bytes));
        }
    }
}
