//! Why an API does not serve.
//!
//! Guarantees: each names the option, the rule and the way out, and has a stable code. Does not:
//! show a secret.

use std::net::SocketAddr;

use counterfoil_core::domain::IdRefused;

/// Why an API does not serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApiError {
    /// Without tokens, strangers could report.
    #[error(
        "the API has no tokens and {address} is no loopback address, so that anybody who reaches \
         it could end commands: set tokens, or listen on 127.0.0.1 or ::1"
    )]
    NotLoopback {
        /// Where the listener is.
        address: SocketAddr,
    },
    /// A token's name is none.
    #[error("the name of a token: {why}")]
    Name {
        /// Which rule is broken.
        #[source]
        why: IdRefused,
    },
    /// A secret that no header can carry.
    #[error(
        "the secret of token {name} is empty, or has a character that a header cannot carry: give \
         1 to 4096 printable ASCII characters without spaces, such as 32 random bytes in base64"
    )]
    Secret {
        /// The token.
        name: String,
    },
    /// Two tokens that a request cannot tell apart.
    #[error("tokens {one} and {other} have the same secret; give each its own")]
    SameSecret {
        /// One of them.
        one: String,
        /// The other.
        other: String,
    },
    /// One name with two roles.
    #[error(
        "token {name} is given twice with different roles; while a secret is changed the same \
         name may stand twice, with one role"
    )]
    TwoRoles {
        /// The name.
        name: String,
    },
    /// A number out of its bounds.
    #[error("{option} is {value}; give {least} to {most}")]
    OutOfBounds {
        /// Which option.
        option: &'static str,
        /// What it is.
        value: u64,
        /// The least it may be.
        least: u64,
        /// The most it may be.
        most: u64,
    },
    /// The listener has no address.
    #[error("the API's listener failed: {0}")]
    Listener(#[source] std::io::Error),
}

impl ApiError {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotLoopback { .. } => "CF1020",
            Self::Name { .. } | Self::Secret { .. } => "CF1021",
            Self::SameSecret { .. } | Self::TwoRoles { .. } => "CF1022",
            Self::OutOfBounds { .. } => "CF1023",
            Self::Listener(_) => "CF1024",
        }
    }
}
