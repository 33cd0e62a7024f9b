//! The `Idempotency-Key` of a request: a quoted string of the IETF draft, percent-decoded.
//!
//! Guarantees: what is taken is an id by Counterfoil's rule, and what is no string of RFC 9651, or
//! stands twice, is refused, never guessed at: two spellings of one key would act twice. Does not:
//! take bare tokens, as some services do; the draft says string, so a bare one is refused by name.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use counterfoil_core::domain::{CommandId, IdRefused};

use super::problem::Problem;

const NAME: &str = "idempotency-key";

/// The key of a request; an extractor, whose rejection is a 400 that names header and rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey(pub CommandId);

/// Why a request has no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyRefused {
    /// There is none.
    #[error("the header Idempotency-Key is missing: send the command's id as a quoted string")]
    Missing,
    /// There are several.
    #[error("the header Idempotency-Key stands {count} times: send it once")]
    Several {
        /// How many.
        count: usize,
    },
    /// It does not begin and end with a quotation mark.
    #[error(
        "the header Idempotency-Key is no quoted string (RFC 9651): put its value between double \
         quotes, with nothing before or after them"
    )]
    NotQuoted,
    /// A byte that a quoted string cannot hold.
    #[error(
        "the header Idempotency-Key holds at byte {at} what a quoted string (RFC 9651) cannot: \
         write space, \", %, \\ and all but printable ASCII as %XX of their UTF-8"
    )]
    Byte {
        /// At which byte of the header's value.
        at: usize,
    },
    /// A `%` without two digits.
    #[error(
        "the header Idempotency-Key has at byte {at} of its string a % without two hexadecimal \
         digits: write % itself as %25"
    )]
    Percent {
        /// At which byte of the string.
        at: usize,
    },
    /// It is no id.
    #[error("the header Idempotency-Key is no id once decoded: {0}")]
    Id(#[from] IdRefused),
}

impl KeyRefused {
    /// The stable code of this refusal.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Missing => "CF0701",
            Self::Several { .. } => "CF0702",
            Self::NotQuoted | Self::Byte { .. } | Self::Percent { .. } => "CF0703",
            Self::Id(_) => "CF0704",
        }
    }
}

impl IdempotencyKey {
    /// The key of these headers.
    ///
    /// # Errors
    /// [`KeyRefused`].
    pub fn of(headers: &HeaderMap) -> Result<Self, KeyRefused> {
        let mut values = headers.get_all(NAME).iter();
        let value = values.next().ok_or(KeyRefused::Missing)?;
        match values.count() {
            0 => Self::parse(value.as_bytes()),
            more => Err(KeyRefused::Several { count: more + 1 }),
        }
    }

    /// The key from a header's value.
    ///
    /// # Errors
    /// [`KeyRefused`], all but `Missing` and `Several`.
    pub fn parse(value: &[u8]) -> Result<Self, KeyRefused> {
        let string = unquote(value)?;
        let decoded = super::decode(&string).map_err(|at| KeyRefused::Percent { at })?;
        Ok(Self(CommandId::from_bytes(&decoded)?))
    }
}

/// The inside of a string of RFC 9651, its escapes resolved.
fn unquote(value: &[u8]) -> Result<Vec<u8>, KeyRefused> {
    let Some(inside) = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) else {
        return Err(KeyRefused::NotQuoted);
    };
    let mut string = Vec::with_capacity(inside.len());
    let mut bytes = inside.iter().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => match bytes.next() {
                Some((_, escaped @ (b'"' | b'\\'))) => string.push(*escaped),
                _ => return Err(KeyRefused::Byte { at: at + 1 }),
            },
            b'"' => return Err(KeyRefused::Byte { at: at + 1 }),
            0x20..0x7f => string.push(*byte),
            _ => return Err(KeyRefused::Byte { at: at + 1 }),
        }
    }
    Ok(string)
}

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Self::of(&parts.headers).map_err(Problem::from)
    }
}

impl From<KeyRefused> for Problem {
    fn from(refused: KeyRefused) -> Self {
        let title = "Idempotency-Key is missing or malformed";
        Self::new(StatusCode::BAD_REQUEST, refused.code(), title, refused.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(value: impl AsRef<[u8]>) -> Result<String, KeyRefused> {
        IdempotencyKey::parse(value.as_ref()).map(|key| key.0.into())
    }

    #[test]
    fn a_quoted_string_is_unescaped_and_decoded() {
        assert_eq!(key(r#""order.paid:A-1""#), Ok("order.paid:A-1".into()));
        assert_eq!(key(r#""%E8%AE%A2%E5%8D%95%20%22%25%5C""#), Ok("订单 \"%\\".into()));
        assert_eq!(key(r#""a b\"\\""#), Ok("a b\"\\".into()));
    }

    #[test]
    fn what_is_no_string_of_the_draft_is_refused() {
        for bare in ["", "abc", "\"", "\"a", "a\"", "\"a\";p=1", " \"a\"", "'a'"] {
            assert_eq!(key(bare), Err(KeyRefused::NotQuoted), "{bare}");
        }
        assert_eq!(key(r#""a"b""#), Err(KeyRefused::Byte { at: 2 }));
        assert_eq!(key(r#""a\b""#), Err(KeyRefused::Byte { at: 2 }));
        assert_eq!(key(r#""ab\""#), Err(KeyRefused::Byte { at: 3 }));
        assert_eq!(key("\"订\""), Err(KeyRefused::Byte { at: 1 }));
        assert_eq!(key("\"a\tb\""), Err(KeyRefused::Byte { at: 2 }));
        assert_eq!(key(r#""a%2""#), Err(KeyRefused::Percent { at: 1 }));
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for bad in [r#""""#, r#""%00""#, r#""a%0Ab""#, r#""%FF""#, r#""%ED%A0%80""#] {
            assert!(matches!(key(bad), Err(KeyRefused::Id(_))), "{bad}");
        }
        let long = |len| format!("\"{}\"", "%41".repeat(len));
        assert!(key(long(255)).is_ok());
        assert!(matches!(key(long(256)), Err(KeyRefused::Id(_))));
    }
}
