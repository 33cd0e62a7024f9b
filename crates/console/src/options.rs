//! How an API behaves.
//!
//! Guarantees: everything that a client can make it wait for, hold or read is bounded here. Does
//! not: read a configuration file.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::audit::Expect;

use crate::board::Board;
use crate::caller::Token;
use crate::error::ApiError;
use crate::metrics::Counters;

/// The most that `body_bytes_max` may be: a result of 16 MiB, and its wrapping.
pub(crate) const BODY_BYTES_MOST: usize = 32 * 1024 * 1024;
/// The most that `connections_max` may be.
const CONNECTIONS_MOST: usize = 65_536;
/// The longest that any wait may be.
const WAIT_MOST: Duration = Duration::from_secs(3600);

/// How an API behaves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApiOptions {
    /// Who may call. Default: none, which allows every program of this machine everything, and
    /// no listener but a loopback one.
    pub tokens: Vec<Token>,
    /// The destinations that are served, by which `/v1/status` tells what is unserved. Default:
    /// `None`, not known, so nothing is called unserved.
    pub served: Option<Vec<String>>,
    /// Queries of the user's own, which `/v1/audit` checks beside the laws. Default: none.
    pub expect: Vec<Expect>,
    /// What the relay of this process counts, for `/metrics` and `/v1/status`. Default: `None`, no
    /// relay here.
    pub counters: Option<Arc<Counters>>,
    /// How the relay of this process stands, for the same. Default: `None`.
    pub board: Option<Arc<dyn Board>>,
    /// The most bytes a request's body may have; more is 413. Default: 1 MiB; at most 32 MiB.
    pub body_bytes_max: usize,
    /// How long a client may take for a request's head, and again for its body; an idle
    /// connection is closed after it too. Default: 10 s.
    pub read_timeout: Duration,
    /// How long a client may take no byte of its answer before it is cut. Default: 10 s.
    pub write_timeout: Duration,
    /// How long the store may take for one request; then it is 503, and a report is not known to
    /// have been taken. Default: 15 s, longer than SQLite waits for a busy file.
    pub store_timeout: Duration,
    /// How long the store may take to be called ready. Default: 2 s.
    pub ready_timeout: Duration,
    /// How long an audit may take; then it is 503. Default: 60 s.
    pub audit_timeout: Duration,
    /// How long a stop waits for requests that are being answered. Default: 10 s; zero cuts them.
    pub drain: Duration,
    /// The most connections at once; more wait to be accepted. Default: 512; at most 65,536.
    pub connections_max: usize,
}

impl Default for ApiOptions {
    fn default() -> Self {
        Self {
            tokens: Vec::new(),
            served: None,
            expect: Vec::new(),
            counters: None,
            board: None,
            body_bytes_max: 1024 * 1024,
            read_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(10),
            store_timeout: Duration::from_secs(15),
            ready_timeout: Duration::from_secs(2),
            audit_timeout: Duration::from_secs(60),
            drain: Duration::from_secs(10),
            connections_max: 512,
        }
    }
}

impl ApiOptions {
    pub(crate) fn check(&self) -> Result<(), ApiError> {
        let within = |option, value: usize, most: usize| {
            let (value, most) = (value as u64, most as u64);
            let bad = || ApiError::OutOfBounds { option, value, least: 1, most };
            if (1..=most).contains(&value) { Ok(()) } else { Err(bad()) }
        };
        within("body_bytes_max", self.body_bytes_max, BODY_BYTES_MOST)?;
        within("connections_max", self.connections_max, CONNECTIONS_MOST)?;
        for (option, wait, least) in [
            ("read_timeout in ms", self.read_timeout, 1),
            ("write_timeout in ms", self.write_timeout, 1),
            ("store_timeout in ms", self.store_timeout, 1),
            ("ready_timeout in ms", self.ready_timeout, 1),
            ("audit_timeout in ms", self.audit_timeout, 1),
            ("drain in ms", self.drain, 0),
        ] {
            let (value, most) = (millis(wait), millis(WAIT_MOST));
            if !(least..=most).contains(&value) {
                return Err(ApiError::OutOfBounds { option, value, least, most });
            }
        }
        self.tokens_differ()
    }

    fn tokens_differ(&self) -> Result<(), ApiError> {
        for (at, one) in self.tokens.iter().enumerate() {
            for other in &self.tokens[at + 1..] {
                if one.same_secret(other) {
                    let (one, other) = (one.name().to_owned(), other.name().to_owned());
                    return Err(ApiError::SameSecret { one, other });
                }
                if one.name() == other.name() && one.role() != other.role() {
                    return Err(ApiError::TwoRoles { name: one.name().to_owned() });
                }
            }
        }
        Ok(())
    }
}

fn millis(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::Role;

    fn code(change: impl FnOnce(&mut ApiOptions)) -> Option<&'static str> {
        let mut options = ApiOptions::default();
        change(&mut options);
        options.check().err().map(|error| error.code())
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        assert_eq!(code(|_| {}), None);
        assert_eq!(code(|options| options.drain = Duration::ZERO), None);
        assert_eq!(code(|options| options.body_bytes_max = 0), Some("CF1023"));
        assert_eq!(code(|options| options.body_bytes_max = BODY_BYTES_MOST + 1), Some("CF1023"));
        assert_eq!(code(|options| options.connections_max = 0), Some("CF1023"));
        assert_eq!(code(|options| options.read_timeout = Duration::ZERO), Some("CF1023"));
        assert_eq!(code(|options| options.store_timeout = Duration::MAX), Some("CF1023"));
    }

    #[test]
    fn tokens_must_differ_and_a_name_has_one_role() {
        let tokens = |pairs: &[(&str, Role, &str)]| {
            let token = |(name, role, secret): &(&str, Role, &str)| {
                Token::new(*name, *role, secret).unwrap()
            };
            let tokens = pairs.iter().map(token).collect();
            code(|options| options.tokens = tokens)
        };
        use Role::{Operator, Read};
        assert_eq!(tokens(&[("a", Read, "x"), ("b", Read, "y")]), None);
        assert_eq!(tokens(&[("a", Read, "x"), ("a", Read, "y")]), None, "a secret is changed");
        assert_eq!(tokens(&[("a", Read, "x"), ("b", Operator, "x")]), Some("CF1022"));
        assert_eq!(tokens(&[("a", Read, "x"), ("a", Operator, "y")]), Some("CF1022"));
    }
}
