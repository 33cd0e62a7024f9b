//! Who calls, and what their role lets them do.
//!
//! Guarantees: a secret is kept as its SHA-256 only, and compared with all tokens in the same
//! time whatever it is; without tokens only this machine's programs are let in. Does not: limit
//! how often somebody may guess: give secrets that cannot be guessed.

use std::fmt;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use counterfoil_core::domain::{Digest, IdRefused, Kind};

use crate::error::ApiError;
use crate::origin;
use crate::problem::Problem;

/// The most bytes a name may have: with `api ` before it, it is an actor of at most 255.
const NAME_BYTES_MAX: usize = 251;
/// The most bytes a secret may have.
const SECRET_BYTES_MAX: usize = 4096;
/// A secret that is shorter is warned about.
const SECRET_BYTES_SHORT: usize = 16;

/// What a token allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// To report receipts, and nothing else.
    Receipt,
    /// To look, and nothing else.
    Read,
    /// All.
    Operator,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 3] = [Self::Receipt, Self::Read, Self::Operator];

    /// The name, as configured.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Receipt => "receipt",
            Self::Read => "read",
            Self::Operator => "operator",
        }
    }

    /// The role of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// A bearer token: a name for the books, a role, and the digest of its secret.
#[derive(Clone)]
pub struct Token {
    name: Arc<str>,
    role: Role,
    secret: Digest,
}

impl Token {
    /// A token. Its name stands in receipts as `api <name>`.
    ///
    /// # Errors
    /// [`ApiError::Name`] for a name that is not 1 to 251 bytes without control characters,
    /// [`ApiError::Secret`] for a secret that is not 1 to 4096 printable ASCII characters without
    /// spaces.
    pub fn new(
        name: impl Into<String>,
        role: Role,
        secret: impl AsRef<str>,
    ) -> Result<Self, ApiError> {
        let name = checked(name.into()).map_err(|why| ApiError::Name { why })?;
        let (what, len, max) = ("it", name.len(), NAME_BYTES_MAX);
        if len > max {
            return Err(ApiError::Name { why: IdRefused::TooLong { what, len, max } });
        }
        let secret = secret.as_ref();
        let fits = (1..=SECRET_BYTES_MAX).contains(&secret.len());
        if !fits || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ApiError::Secret { name });
        }
        if secret.len() < SECRET_BYTES_SHORT {
            tracing::warn!(token = name, "its secret is short; take 32 random bytes in base64");
        }
        Ok(Self { name: name.into(), role, secret: Digest::of(secret.as_bytes()) })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its role.
    #[must_use]
    pub const fn role(&self) -> Role {
        self.role
    }

    pub(crate) fn same_secret(&self, other: &Self) -> bool {
        same(&self.secret, &other.secret)
    }
}

/// By the rule of names that travel.
fn checked(name: String) -> Result<String, IdRefused> {
    Kind::new(name).map(Into::into).map_err(|why| match why {
        IdRefused::Empty { max, .. } => IdRefused::Empty { what: "it", max },
        IdRefused::TooLong { len, max, .. } => IdRefused::TooLong { what: "it", len, max },
        IdRefused::Control { code, at, .. } => IdRefused::Control { what: "it", code, at },
        other => other,
    })
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("name", &self.name)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

/// All 32 bytes are looked at, wherever the first difference is.
fn same(one: &Digest, other: &Digest) -> bool {
    let pairs = one.as_bytes().iter().zip(other.as_bytes());
    pairs.fold(0, |differs, (one, other)| differs | (one ^ other)) == 0
}

/// Who was let in: the `source` of what they report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caller(pub(crate) Arc<str>);

/// Who may call.
pub(crate) struct Callers {
    tokens: Vec<Token>,
}

impl Callers {
    pub(crate) const fn new(tokens: Vec<Token>) -> Self {
        Self { tokens }
    }

    fn admit(&self, request: &Request, roles: &[Role]) -> Result<Caller, Problem> {
        if self.tokens.is_empty() {
            origin::check(request.headers(), request.uri())?;
            return Ok(Caller("api".into()));
        }
        let said = bearer(request.headers()).ok_or_else(unauthorized)?;
        let said = Digest::of(said.as_bytes());
        // Every token is compared, found or not.
        let found = self.tokens.iter().fold(None, |found, token| {
            if same(&token.secret, &said) { Some(token) } else { found }
        });
        let token = found.ok_or_else(unauthorized)?;
        if roles.contains(&token.role) {
            Ok(Caller(format!("api {}", token.name).into()))
        } else {
            Err(forbidden(token.role, roles))
        }
    }
}

/// Lets a request on if its caller has one of these roles.
pub(crate) async fn admit(
    State((callers, roles)): State<(Arc<Callers>, &'static [Role])>,
    mut request: Request,
    next: Next,
) -> Response {
    match callers.admit(&request, roles) {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn unauthorized() -> Problem {
    Problem::new(
        StatusCode::UNAUTHORIZED,
        "CF1001",
        "the caller is not known",
        "send Authorization: Bearer, once, with a token that this API knows",
    )
    .header(WWW_AUTHENTICATE, "Bearer")
}

fn forbidden(role: Role, roles: &[Role]) -> Problem {
    let names: Vec<_> = roles.iter().map(|role| role.name()).collect();
    let names = names.join(" or ");
    let detail = format!("this needs role {names}; the token has role {}", role.name());
    Problem::new(StatusCode::FORBIDDEN, "CF1002", "the role does not allow this", detail)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn request(headers: &[(&str, &str)]) -> Request {
        let builder = Request::builder().uri("/v1/status");
        let builder = headers.iter().fold(builder, |all, (name, value)| all.header(*name, *value));
        builder.body(Body::empty()).unwrap()
    }

    fn callers() -> Callers {
        let token = |name, role, secret| Token::new(name, role, secret).unwrap();
        Callers::new(vec![
            token("shop", Role::Receipt, "secret-of-shop"),
            token("ops", Role::Operator, "secret-of-ops"),
        ])
    }

    #[test]
    fn a_token_says_who_it_is_and_what_it_may() {
        let callers = callers();
        let admit = |headers: &[_], roles: &[Role]| {
            callers.admit(&request(headers), roles).map_err(|problem| problem.seen().1)
        };
        let both = [Role::Receipt, Role::Operator];
        let shop = ("authorization", "Bearer secret-of-shop");
        assert_eq!(admit(&[shop], &both), Ok(Caller("api shop".into())));
        let lower = ("authorization", "bearer  secret-of-shop ");
        assert_eq!(admit(&[lower], &both), Ok(Caller("api shop".into())));
        assert_eq!(admit(&[shop], &[Role::Read, Role::Operator]), Err("CF1002"));
        assert_eq!(admit(&[shop, shop], &both), Err("CF1001"), "which of the two?");
        for bad in [
            "Bearer secret-of-sho",
            "Bearer secret-of-shop-2",
            "Bearer Secret-of-shop",
            "Bearer ",
            "Bearer",
            "secret-of-shop",
            "Basic secret-of-shop",
            "",
        ] {
            assert_eq!(admit(&[("authorization", bad)], &both), Err("CF1001"), "{bad}");
        }
        assert_eq!(admit(&[], &both), Err("CF1001"));
    }

    #[test]
    fn digests_are_the_same_only_if_every_byte_is() {
        let one = Digest::of(b"a");
        assert!(same(&one, &one));
        for at in 0..32 {
            let mut bytes = *one.as_bytes();
            bytes[at] ^= 1;
            assert!(!same(&one, &Digest::from_bytes(&bytes).unwrap()), "byte {at}");
        }
    }

    #[test]
    fn a_secret_is_nowhere_to_be_seen() {
        let token = Token::new("ops", Role::Operator, "hunter2-hunter2-hunter2").unwrap();
        let digest = Digest::of(b"hunter2-hunter2-hunter2").to_hex();
        let shown = format!("{token:?}");
        assert!(!shown.contains("hunter2") && !shown.contains(&digest), "{shown}");
        let refused = Token::new("ops", Role::Operator, "hunter 2").unwrap_err();
        let shown = format!("{refused} {refused:?}");
        assert!(!shown.contains("hunter"), "{shown}");
        assert_eq!(refused.code(), "CF1021");
    }

    #[test]
    fn names_and_secrets_keep_their_rules() {
        let code = |name: &str, secret: &str| {
            Token::new(name, Role::Read, secret).err().map(|error| error.code())
        };
        assert_eq!(code("发货", "s"), None);
        for (name, secret) in [("", "s"), ("a\nb", "s"), ("a", ""), ("a", "a b"), ("a", "秘")] {
            assert_eq!(code(name, secret), Some("CF1021"), "{name:?} {secret:?}");
        }
        assert_eq!(code("a", &"s".repeat(4097)), Some("CF1021"));
    }

    #[test]
    fn roles_have_the_names_of_the_configuration() {
        for role in Role::ALL {
            assert_eq!(Role::from_name(role.name()), Some(role));
        }
        assert_eq!(Role::from_name("admin"), None);
    }
}
