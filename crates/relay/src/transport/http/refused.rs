//! Why a destination's HTTP settings are refused.
//!
//! Guarantees: each names the option, the rule and the way out, and has a stable code; a secret is
//! never shown. Does not: cover answers; those are outcomes.

use std::path::PathBuf;

/// Why options are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpRefused {
    /// The URL breaks a rule.
    #[error("{what} {url:?} {why}")]
    Url {
        /// Which option.
        what: &'static str,
        /// The URL, without credentials and query.
        url: String,
        /// What is wrong and the way out.
        why: &'static str,
    },
    /// The URL carries a user or a password.
    #[error(
        "{what} {url:?} carries credentials, which would show in logs: \
         take them out and give an Authorization header by `headers`"
    )]
    Credentials {
        /// Which option.
        what: &'static str,
        /// The URL without them.
        url: String,
    },
    /// The method breaks a rule.
    #[error("method {method:?} {why}")]
    Method {
        /// The method.
        method: String,
        /// What is wrong and the way out.
        why: &'static str,
    },
    /// A configured header breaks a rule; its value is not shown.
    #[error("header {name:?} in `headers` {why}")]
    Header {
        /// The header's name.
        name: String,
        /// What is wrong and the way out.
        why: &'static str,
    },
    /// A secret breaks a rule; it is not shown.
    #[error(
        "secret {place} of `secrets` {why}: give whsec_ and the base64 of 24 to 64 random bytes"
    )]
    Secret {
        /// Which one, from 1.
        place: usize,
        /// What is wrong.
        why: &'static str,
    },
    /// A number or choice breaks a rule.
    #[error("{what} {why}")]
    Value {
        /// Which option.
        what: &'static str,
        /// What is wrong and the way out.
        why: &'static str,
    },
    /// What is said about the receiver's habits breaks a rule.
    #[error("{what} {why}")]
    Habit {
        /// Which option.
        what: String,
        /// What is wrong and the way out.
        why: String,
    },
    /// A certificate or key file cannot be used.
    #[error("{what} {file:?} {why}")]
    TlsFile {
        /// Which option.
        what: &'static str,
        /// The file.
        file: PathBuf,
        /// What is wrong and the way out.
        why: String,
    },
    /// The proxy cannot be used; its password is not shown.
    #[error("the proxy that {named_by} names {why}")]
    Proxy {
        /// What names it: `proxy`, or a variable of the environment.
        named_by: String,
        /// What is wrong and the way out.
        why: &'static str,
    },
    /// TLS cannot be set up on this machine.
    #[error("no TLS for {host:?}: {why}")]
    Tls {
        /// The host.
        host: String,
        /// What is wrong and the way out.
        why: String,
    },
}

impl HttpRefused {
    /// The stable code of this refusal.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Url { .. } => "CF0601",
            Self::Credentials { .. } => "CF0602",
            Self::Method { .. } => "CF0603",
            Self::Header { .. } => "CF0604",
            Self::Secret { .. } => "CF0605",
            Self::Value { .. } => "CF0606",
            Self::Tls { .. } => "CF0607",
            Self::Habit { .. } => "CF0608",
            Self::TlsFile { .. } => "CF0609",
            Self::Proxy { .. } => "CF0610",
        }
    }
}
