//! SHA-256 over what must not change: a body, its core fields, a row.
//!
//! Guarantees: equal content, equal digest; fields are length-prefixed, so no two rows run
//! together. Does not: hide anything; a digest is a witness, no secret.

use std::fmt;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// A digest as stored: exactly 32 bytes, else `None`.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// A digest from 64 hexadecimal digits, else `None`.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(at * 2..at * 2 + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// 64 lower-case hexadecimal digits.
    #[must_use]
    pub fn to_hex(&self) -> String {
        self.to_string()
    }

    /// The digest of the core values of an intent: SHA-256 of the RFC 8785 form of their JSON
    /// array, in the order given.
    ///
    /// # Errors
    /// A number that JSON cannot carry.
    pub fn of_core(values: &[Value]) -> Result<Self, serde_json::Error> {
        serde_json_canonicalizer::to_vec(&values).map(|bytes| Self::of(&bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A digest over several fields, each with its type and length before it.
#[derive(Default)]
pub struct FieldDigest(Sha256);

impl FieldDigest {
    /// Adds bytes, or their absence.
    #[must_use]
    pub fn bytes(mut self, field: Option<&[u8]>) -> Self {
        match field {
            None => self.0.update([0]),
            Some(bytes) => {
                self.0.update([1]);
                self.0.update((bytes.len() as u64).to_be_bytes());
                self.0.update(bytes);
            }
        }
        self
    }

    /// Adds an integer, or its absence.
    #[must_use]
    pub fn integer(mut self, field: Option<i64>) -> Self {
        match field {
            None => self.0.update([0]),
            Some(number) => {
                self.0.update([2]);
                self.0.update(number.to_be_bytes());
            }
        }
        self
    }

    /// The digest of all fields so far.
    #[must_use]
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hex_round_trips_and_rejects_rubbish() {
        let digest = Digest::of(b"abc");
        assert_eq!(
            digest.to_hex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(Digest::from_hex(&digest.to_hex()), Some(digest));
        assert_eq!(Digest::from_hex("zz"), None);
        assert_eq!(Digest::from_hex(&"é".repeat(32)), None);
    }

    #[test]
    fn core_values_are_canonical() {
        let one = Digest::of_core(&[json!({"b": 1, "a": 1.0}), json!("x")]).unwrap();
        let other = Digest::of_core(&[json!({"a": 1, "b": 1}), json!("x")]).unwrap();
        assert_eq!(one, other);
        assert_eq!(one, Digest::of(br#"[{"a":1,"b":1},"x"]"#));
    }

    #[test]
    fn fields_do_not_run_together() {
        let one = FieldDigest::default().bytes(Some(b"ab")).bytes(Some(b"c")).finish();
        let other = FieldDigest::default().bytes(Some(b"a")).bytes(Some(b"bc")).finish();
        assert_ne!(one, other);
        let none = FieldDigest::default().bytes(None).finish();
        assert_ne!(none, FieldDigest::default().bytes(Some(b"")).finish());
    }
}
