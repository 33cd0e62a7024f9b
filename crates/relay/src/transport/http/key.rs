//! A command's key: its id in the form that the receiver wants.
//!
//! Guarantees: the value is printable ASCII and the same on every attempt. Quoted and bare, it
//! decodes to the same id and to no other; as a UUID, two ids collide as rarely as SHA-256 does in
//! 122 bits. Does not: hide the id, or shorten it, unless as a UUID.
//!
//! The forms percent-encode prefix and id as UTF-8. The quoted form is a string of RFC 9651, as the
//! IETF draft of `Idempotency-Key` asks: space, `"`, `%`, `\` and all outside printable ASCII are
//! encoded, so nothing within the quotes is ever escaped. `webhook-id` is the same without quotes,
//! and `.` is encoded too, since Standard Webhooks joins id, time and body by dots.
//!
//! A UUID is of version 8 (RFC 9562): the first 128 bits of SHA-256 over the store's source, a zero
//! byte and the id, with the bits of version and variant set.

use bytes::Bytes;
use counterfoil_core::domain::command::header_may_travel;
use counterfoil_core::domain::{Key, KeyForm};
use hyper::header::{HeaderName, HeaderValue, InvalidHeaderValue};
use sha2::{Digest as _, Sha256};

use super::refused::HttpRefused;

const HEX: &[u8; 16] = b"0123456789ABCDEF";
const DEFAULT: &str = "idempotency-key";

/// Writes the keys of one destination.
pub(super) struct Keys {
    header: HeaderName,
    form: KeyForm,
    prefix: Vec<u8>,
}

impl Keys {
    /// # Errors
    /// [`HttpRefused::Habit`] where the header belongs to another purpose.
    pub(super) fn new(key: &Key) -> Result<Self, HttpRefused> {
        let refused = |why: &str| HttpRefused::Habit {
            what: format!("key.header {:?}", key.header),
            why: why.into(),
        };
        let header = HeaderName::from_bytes(key.header.as_bytes())
            .map_err(|_| refused("is no header name; use letters, digits and hyphens"))?;
        if header != DEFAULT && (!header_may_travel(header.as_str()) || header == "ce-traceparent")
        {
            return Err(refused(
                "is set by Counterfoil or by the connection; take the header that the receiver \
                 reads its key from",
            ));
        }
        let mut prefix = Vec::with_capacity(key.prefix.len());
        encode(&key.prefix, is_plain, &mut prefix);
        Ok(Self { header, form: key.form, prefix })
    }

    /// The header's name.
    pub(super) const fn header(&self) -> &HeaderName {
        &self.header
    }

    /// The header's value.
    pub(super) fn value(&self, source: &str, id: &str) -> Result<HeaderValue, InvalidHeaderValue> {
        let quoted = self.form == KeyForm::Quoted;
        let mut value = Vec::with_capacity(self.prefix.len() + id.len() + 36);
        if quoted {
            value.push(b'"');
        }
        self.append(source, id, &mut value);
        if quoted {
            value.push(b'"');
        }
        HeaderValue::from_maybe_shared(Bytes::from(value))
    }

    /// The key itself, without quotes.
    pub(super) fn plain(&self, source: &str, id: &str) -> Vec<u8> {
        let mut key = Vec::new();
        self.append(source, id, &mut key);
        key
    }

    fn append(&self, source: &str, id: &str, key: &mut Vec<u8>) {
        key.extend_from_slice(&self.prefix);
        match self.form {
            KeyForm::Quoted | KeyForm::Bare => encode(id, is_plain, key),
            KeyForm::Uuid => key.extend_from_slice(uuid(source, id).as_bytes()),
        }
    }
}

/// The UUID of a command.
fn uuid(source: &str, id: &str) -> String {
    let digest = Sha256::new().chain_update(source).chain_update([0]).chain_update(id).finalize();
    let mut first = [0; 16];
    first.copy_from_slice(&digest[..16]);
    let bits = u128::from_be_bytes(first);
    let bits = bits & !(0xf << 76) | 0x8 << 76;
    let bits = bits & !(0x3 << 62) | 0x2 << 62;
    let hex = format!("{bits:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
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

    fn quoted(id: &str) -> Result<HeaderValue, InvalidHeaderValue> {
        Keys::new(&Key::default()).unwrap().value("urn:s", id)
    }

    fn keys(header: &str, form: KeyForm, prefix: &str) -> Result<Keys, HttpRefused> {
        Keys::new(&Key { header: header.into(), form, prefix: prefix.into() })
    }

    #[test]
    fn a_key_has_the_form_that_the_receiver_wants() {
        let bare = keys("X-Key", KeyForm::Bare, "shop ").unwrap();
        assert_eq!(bare.header(), "x-key");
        assert_eq!(bare.value("urn:s", "a b").unwrap(), "shop%20a%20b");
        let quoted = keys("X-Key", KeyForm::Quoted, "shop-").unwrap();
        assert_eq!(quoted.value("urn:s", "a b").unwrap(), r#""shop-a%20b""#);
        assert_eq!(quoted.plain("urn:s", "a b"), b"shop-a%20b");
    }

    /// By Python's hashlib and uuid, over b'urn:example:orders\0order.paid:A-001'.
    #[test]
    fn a_uuid_is_made_of_source_and_id() {
        let of = keys("X-Key", KeyForm::Uuid, "").unwrap();
        let one = of.value("urn:example:orders", "order.paid:A-001").unwrap();
        assert_eq!(one, "9e8dcaab-7470-8393-878a-0b3ed6729f07");
        assert_ne!(one, of.value("urn:example:order", "sorder.paid:A-001").unwrap());
        assert_ne!(one, of.value("urn:example:orders", "order.paid:A-002").unwrap());
        let prefixed = keys("X-Key", KeyForm::Uuid, "p-").unwrap();
        assert!(prefixed.value("urn:s", "a").unwrap().to_str().unwrap().starts_with("p-"));
    }

    #[test]
    fn a_header_of_another_purpose_cannot_carry_the_key() {
        for bad in ["Host", "authorization", "ce-id", "ce-traceparent", "webhook-id", "a b", ""] {
            let refused = keys(bad, KeyForm::Bare, "").map(|_| ()).unwrap_err();
            assert_eq!(refused.code(), "CF0608", "{bad}");
            assert!(refused.to_string().contains("key.header"), "{refused}");
        }
        assert!(keys("IDEMPOTENCY-KEY", KeyForm::Bare, "").is_ok());
    }

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
