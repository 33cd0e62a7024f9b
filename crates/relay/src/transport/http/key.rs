//! A command's id as a header value.
//!
//! Guarantees: the value is printable ASCII, decodes to the same id and to no other, and is the
//! same on every attempt. Does not: hide the id, or shorten it.
//!
//! Both forms percent-encode the id's UTF-8. The quoted form is a string of RFC 9651, as the IETF
//! draft of `Idempotency-Key` asks: space, `"`, `%`, `\` and all outside printable ASCII are
//! encoded, so nothing within the quotes is ever escaped. `webhook-id` is the same without quotes,
//! and `.` is encoded too, since Standard Webhooks joins id, time and body by dots.

use hyper::header::{HeaderValue, InvalidHeaderValue};

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// The value of `Idempotency-Key`.
pub(super) fn quoted(id: &str) -> Result<HeaderValue, InvalidHeaderValue> {
    let mut value = Vec::with_capacity(id.len() + 2);
    value.push(b'"');
    encode(id, is_plain, &mut value);
    value.push(b'"');
    HeaderValue::from_maybe_shared(bytes::Bytes::from(value))
}

/// The value of `webhook-id`.
pub(super) fn of_webhook(id: &str) -> Vec<u8> {
    let mut value = Vec::with_capacity(id.len());
    encode(id, |byte| is_plain(byte) && byte != b'.', &mut value);
    value
}

const fn is_plain(byte: u8) -> bool {
    matches!(byte, 0x21..=0x7e) && !matches!(byte, b'"' | b'%' | b'\\')
}

/// Appends `text`, each byte that is not plain as `%` and two upper-case hexadecimal digits.
pub(super) fn encode(text: &str, is_plain: impl Fn(u8) -> bool, value: &mut Vec<u8>) {
    for byte in text.bytes() {
        if is_plain(byte) {
            value.push(byte);
        } else {
            let digit = |half: u8| HEX[usize::from(half & 0x0f)];
            value.extend([b'%', digit(byte >> 4), digit(byte)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decoded(value: &[u8]) -> String {
        let mut bytes = Vec::new();
        let mut rest = value.iter();
        while let Some(byte) = rest.next() {
            if *byte == b'%' {
                let digits = [*rest.next().unwrap(), *rest.next().unwrap()];
                let digits = std::str::from_utf8(&digits).unwrap();
                bytes.push(u8::from_str_radix(digits, 16).unwrap());
            } else {
                bytes.push(*byte);
            }
        }
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn plain_ids_travel_as_they_are() {
        assert_eq!(quoted("order.paid:A-001").unwrap(), r#""order.paid:A-001""#);
        assert_eq!(of_webhook("order.paid:A-001"), b"order%2Epaid:A-001");
    }

    #[test]
    fn what_would_break_the_string_is_encoded() {
        assert_eq!(quoted(r#"a b"c%d\e"#).unwrap(), r#""a%20b%22c%25d%5Ce""#);
        assert_eq!(quoted("订单").unwrap(), r#""%E8%AE%A2%E5%8D%95""#);
        assert_eq!(of_webhook("📦.1"), b"%F0%9F%93%A6%2E1");
    }

    proptest! {
        #[test]
        fn it_decodes_to_the_same_id(id in "\\PC{1,80}|[ -~]{1,120}") {
            let quoted = quoted(&id).unwrap();
            let quoted = quoted.as_bytes();
            let inner = &quoted[1..quoted.len() - 1];
            prop_assert!(quoted.iter().all(|byte| matches!(byte, 0x21..=0x7e)));
            prop_assert!(!inner.contains(&b'"') && !inner.contains(&b'\\'));
            prop_assert_eq!(decoded(inner), id.clone());
            let webhook = of_webhook(&id);
            prop_assert!(webhook.iter().all(|byte| matches!(byte, 0x21..=0x7e)));
            prop_assert!(!webhook.contains(&b'.'));
            prop_assert_eq!(decoded(&webhook), id);
        }
    }
}
