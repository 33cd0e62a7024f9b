//! Who calls, and so whose keys theirs are.
//!
//! Guarantees: where tokens are set, the source comes from the token alone and a request without a
//! known one is 401. Does not: believe `ce-source` then; without tokens anybody may claim to be
//! anybody, so such a receiver belongs on a private network only.

use std::collections::BTreeMap;

use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use counterfoil_core::domain::Digest;

use crate::http::{Problem, decode};
use crate::source::{Source, SourceRefused};

/// The source of a request that names none where nobody is authenticated.
pub const UNNAMED: &str = "unnamed";

/// Who may call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Callers {
    /// Anybody, by what the header `ce-source` says, else [`UNNAMED`]. It is no identity: for
    /// drills, tests and networks where every sender is trusted.
    #[default]
    AsTheySay,
    /// Anybody, and all keys are of this one source.
    One(Source),
    /// Holders of a bearer token; build it with [`Callers::by_token`].
    ByToken(BTreeMap<Digest, Source>),
}

impl Callers {
    /// Callers with `Authorization: Bearer <token>`, each with its source.
    #[must_use]
    pub fn by_token<T: AsRef<str>>(tokens: impl IntoIterator<Item = (T, Source)>) -> Self {
        // By digest: the look-up takes no longer for a token that begins right.
        let digest = |token: T| Digest::of(token.as_ref().as_bytes());
        Self::ByToken(tokens.into_iter().map(|(token, source)| (digest(token), source)).collect())
    }

    /// Whether they are known to be several senders. Those who only say who they are are trusted.
    pub(super) fn are_several(&self) -> bool {
        match self {
            Self::AsTheySay | Self::One(_) => false,
            Self::ByToken(known) => {
                known.values().any(|source| known.values().any(|other| other != source))
            }
        }
    }

    /// The source of a request with these headers.
    ///
    /// # Errors
    /// A 401 or 400, ready to be answered.
    pub fn source(&self, headers: &HeaderMap) -> Result<Source, Problem> {
        match self {
            Self::AsTheySay => said(headers),
            Self::One(source) => Ok(source.clone()),
            Self::ByToken(known) => {
                let token = bearer(headers).map(|token| Digest::of(token.as_bytes()));
                token.and_then(|token| known.get(&token).cloned()).ok_or_else(unauthorized)
            }
        }
    }
}

fn said(headers: &HeaderMap) -> Result<Source, Problem> {
    let mut values = headers.get_all("ce-source").iter();
    let said = match (values.next(), values.next()) {
        (None, _) => Source::new(UNNAMED),
        (Some(value), None) => {
            let decoded = decode(value.as_bytes()).ok();
            let text = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
            Source::new(text.unwrap_or_default())
        }
        (Some(_), Some(_)) => Err(SourceRefused { len: 0 }),
    };
    said.map_err(|_| {
        Problem::new(
            StatusCode::BAD_REQUEST,
            "CF0707",
            "ce-source is malformed",
            "the header ce-source is a URI reference of 1 to 255 bytes, once, in which space, \", \
             % and all but printable ASCII stand as %XX of their UTF-8",
        )
    })
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn unauthorized() -> Problem {
    Problem::new(
        StatusCode::UNAUTHORIZED,
        "CF0706",
        "the caller is not known",
        "send Authorization: Bearer with a token that this receiver knows",
    )
    .header(WWW_AUTHENTICATE, "Bearer")
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (axum::http::HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        let mut headers = HeaderMap::new();
        pairs.iter().map(pair).for_each(|(name, value)| {
            headers.append(name, value);
        });
        headers
    }

    #[test]
    fn a_token_says_whose_keys_they_are_and_ce_source_does_not() {
        let shop = Source::new("urn:shop").unwrap();
        let callers = Callers::by_token([("secret", shop.clone())]);
        let source = |pairs: &[_]| callers.source(&headers(pairs)).map_err(|no| no.code());
        let claim = ("ce-source", "urn:other");
        assert_eq!(source(&[("authorization", "Bearer secret"), claim]), Ok(shop.clone()));
        assert_eq!(source(&[("authorization", "bearer secret")]), Ok(shop));
        for bad in ["Bearer wrong", "Bearer ", "secret", "Basic secret", ""] {
            assert_eq!(source(&[("authorization", bad), claim]), Err("CF0706"), "{bad}");
        }
        assert_eq!(source(&[claim]), Err("CF0706"));
    }

    #[test]
    fn without_tokens_the_sender_names_itself() {
        let source = |pairs: &[_]| {
            let said = Callers::AsTheySay.source(&headers(pairs));
            said.map(|source| source.to_string()).map_err(|no| no.code())
        };
        assert_eq!(source(&[("ce-source", "urn:%E8%AE%A2")]), Ok("urn:订".into()));
        assert_eq!(source(&[]), Ok(UNNAMED.into()));
        for bad in ["", "%", "%FF", "a%0Ab"] {
            assert_eq!(source(&[("ce-source", bad)]), Err("CF0707"), "{bad}");
        }
        assert_eq!(source(&[("ce-source", "a"), ("ce-source", "a")]), Err("CF0707"));
    }
}
