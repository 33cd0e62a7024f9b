//! Why a runner did not start, or stopped by itself.

use counterfoil_core::domain::store_clock::ClockJumped;
use counterfoil_core::port::store::StoreError;

use crate::programs::ProgramsRefused;

/// Why a runner did not start, or stopped by itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunnerError {
    /// Nothing to decide by.
    #[error("no workflow is given; a runner has at least one: `.workflow(…)`")]
    NoWorkflow,
    /// A program was not taken.
    #[error(transparent)]
    Programs(ProgramsRefused),
    /// An option breaks its rule.
    #[error("{option} is {is}; give {min} to {max}")]
    Option {
        /// Which.
        option: &'static str,
        /// What was given.
        is: u64,
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
    /// The store could not do its work, and trying again does not help.
    #[error("{doing}: {why}")]
    Store {
        /// What the runner was about.
        doing: &'static str,
        /// What the store said.
        #[source]
        why: StoreError,
    },
    /// The machine's clock jumped.
    #[error(transparent)]
    Clock(ClockJumped),
}

impl RunnerError {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoWorkflow => "CF1201",
            Self::Programs(_) => "CF1202",
            Self::Option { .. } => "CF1203",
            Self::Store { .. } => "CF1204",
            Self::Clock(_) => "CF1205",
        }
    }
}
