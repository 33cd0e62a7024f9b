//! Why a relay did not start, or stopped by itself.
//!
//! Guarantees: each names the destination, the rule and the way out, and has a stable code. Does
//! not: cover what happens to single commands; that is settled and announced.

use counterfoil_core::domain::contract::TermsRefused;
use counterfoil_core::domain::store_clock::ClockJumped;
use counterfoil_core::port::store::StoreError;

use crate::options::{MARGIN, WORKERS, WORKERS_MAX};

/// Why a relay did not start, or stopped by itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RelayError {
    /// Nothing to serve.
    #[error("no destination is given; a relay serves at least one")]
    NoDestination,
    /// It could never start an attempt, or far too many.
    #[error(
        "workers is {workers}; give at least 1 and at most {WORKERS_MAX} ({WORKERS} is the default)"
    )]
    Workers {
        /// How many were asked for.
        workers: usize,
    },
    /// A destination is given twice.
    #[error("destination {destination} is given twice; name each destination once")]
    DuplicateDestination {
        /// The destination.
        destination: String,
    },
    /// Its terms cannot be kept.
    #[error("destination {destination}: {why}")]
    Terms {
        /// The destination.
        destination: String,
        /// Which numbers do not fit.
        #[source]
        why: TermsRefused,
    },
    /// A send could outlive its lease.
    #[error(
        "destination {destination}: a lease of {lease_ms} ms is too short for a request_timeout \
         of {request_timeout_ms} ms; it must be longer than request_timeout and {margin} s more: \
         raise lease or lower request_timeout",
        margin = MARGIN.as_micros() / 1_000_000
    )]
    LeaseTooShort {
        /// The destination.
        destination: String,
        /// Its lease, in milliseconds.
        lease_ms: i64,
        /// Its request timeout, in milliseconds; 0 for a handler in this process.
        request_timeout_ms: i64,
    },
    /// Another contract is stored.
    #[error(
        "destination {destination}: the store holds another contract, by which other relays and \
         verbs go; it says otherwise about {}: restore the old values, or run once with \
         --replace-contract",
        differences.join(", ")
    )]
    ContractDiffers {
        /// The destination.
        destination: String,
        /// What the stored contract says otherwise, as configured: `receipt_timeout`, `ask.quiet`.
        names: Vec<String>,
        /// The same for people, with what is stored and what is given.
        differences: Vec<String>,
    },
    /// While the relay ran, all its contracts were replaced.
    #[error(
        "the stored contract of every destination was replaced while this relay ran; \
         start it again with the new contracts"
    )]
    NothingLeftToServe,
    /// The store could not do its work, and trying again does not help.
    #[error("{doing}: {why}")]
    Store {
        /// What the relay was about.
        doing: &'static str,
        /// What the store said.
        #[source]
        why: StoreError,
    },
    /// The machine's clock jumped.
    #[error(transparent)]
    Clock(ClockJumped),
}

impl RelayError {
    pub(crate) fn store(doing: &'static str, why: StoreError) -> Self {
        match why {
            StoreError::Clock(jumped) => Self::Clock(jumped),
            why => Self::Store { doing, why },
        }
    }

    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoDestination => "CF0901",
            Self::Workers { .. } => "CF0902",
            Self::DuplicateDestination { .. } => "CF0903",
            Self::Terms { .. } => "CF0904",
            Self::LeaseTooShort { .. } => "CF0905",
            Self::ContractDiffers { .. } => "CF0906",
            Self::NothingLeftToServe => "CF0907",
            Self::Store { .. } => "CF0908",
            Self::Clock(_) => "CF0909",
        }
    }
}
