//! `[relay]`: how this relay works, whatever the destination.
//!
//! Guarantees: every value is inside its bounds. Does not: belong to a contract; each relay may
//! have its own.

use counterfoil_core::domain::Span;
use counterfoil_core::domain::command::{BODY_BYTES_LIMIT, BODY_BYTES_MAX};

use super::Config;
use crate::exit::Failure;

/// The most sends in flight that may be asked for.
const WORKERS_MAX: u32 = 10_000;

/// The settings of `[relay]`, with defaults filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RelaySettings {
    /// Sends in flight. Default 64.
    pub(crate) workers: u32,
    /// The length of a lease. Default 30 s.
    pub(crate) lease: Span,
    /// How long a missed wake-up may cost. Default 50 ms.
    pub(crate) poll: Span,
    /// How long a shutdown waits for sends in flight. Default 10 s.
    pub(crate) drain: Span,
    /// The longest body, in bytes. Default 1 MiB.
    pub(crate) body_bytes_max: usize,
}

impl Default for RelaySettings {
    fn default() -> Self {
        Self {
            workers: 64,
            lease: Span::from_secs(30),
            poll: Span::from_millis(50),
            drain: Span::from_secs(10),
            body_bytes_max: BODY_BYTES_MAX,
        }
    }
}

impl Config {
    /// `[relay]`.
    ///
    /// # Errors
    /// A value is no length of time or size, or outside its bounds.
    pub(crate) fn relay(&self) -> Result<RelaySettings, Failure> {
        let (page, table) = (&self.page, &self.file.relay);
        let default = RelaySettings::default();
        let workers = table.workers.as_ref().map_or(default.workers, |value| *value.get_ref());
        if let Some(value) = &table.workers
            && !(1..=WORKERS_MAX).contains(&workers)
        {
            return Err(page.refuse(&value.span(), "`relay.workers`: give 1 to 10000"));
        }
        let limit = table.body_bytes_max.as_ref();
        let body_bytes_max = page.size("relay.body_bytes_max", limit, default.body_bytes_max)?;
        if let Some(value) = limit
            && !(1..=BODY_BYTES_LIMIT).contains(&body_bytes_max)
        {
            let why = "the guard of the store takes at most 16MiB: give 1B to 16MiB";
            return Err(page.refuse_value("relay.body_bytes_max", value, why));
        }
        Ok(RelaySettings {
            workers,
            lease: page.span("relay.lease", table.lease.as_ref(), default.lease)?,
            poll: page.span("relay.poll", table.poll.as_ref(), default.poll)?,
            drain: page.span("relay.drain", table.drain.as_ref(), default.drain)?,
            body_bytes_max,
        })
    }
}
