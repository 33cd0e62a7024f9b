//! What a relay tells the world, as data; logs, metrics and pages are mere subscribers.
//!
//! Guarantees: every notice names the command or destination it is about. Does not: carry bodies.

use crate::domain::{CommandId, Destination, Micros, Span, State, TraceContext};

/// Something that happened. Documented as a table in `docs/observer.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A relay began.
    Started {
        /// Its name.
        owner: String,
        /// The destinations it serves.
        destinations: Vec<Destination>,
    },
    /// A relay ended; nothing of its own is in flight.
    Stopped {
        /// Its name.
        owner: String,
        /// Sends that did not end within the drain; their leases run out by themselves.
        abandoned: usize,
    },
    /// Commands were claimed in one durable write.
    Claimed {
        /// How many.
        count: usize,
        /// How many of them were taken over from a lease that ran out.
        taken_over: usize,
    },
    /// An attempt ended and was settled.
    Settled {
        /// The command.
        command: CommandId,
        /// Its destination.
        destination: Destination,
        /// The outcome's name.
        outcome: &'static str,
        /// The outcome's reason or evidence.
        reason: String,
        /// The state or receipt it led to.
        now: &'static str,
        /// Which attempt of the round.
        attempt: u32,
        /// How long the send took.
        took: Span,
        /// The attempt's span; `None` where nothing is traced.
        trace: Option<TraceContext>,
    },
    /// A command now waits for a person.
    Parked {
        /// The command's id, lossy where it is no UTF-8.
        command: String,
        /// Its destination.
        destination: String,
        /// `Dead`, `Uncertain` or `Conflict`.
        state: State,
        /// Why.
        reason: String,
        /// The span of the attempt that led to it; `None` where none did or nothing is traced.
        trace: Option<TraceContext>,
    },
    /// A settle came after its lease had gone to another; recorded, changes no state.
    Late {
        /// The command.
        command: CommandId,
        /// The outcome's name.
        outcome: &'static str,
        /// Its evidence ended the command, or contradicts its receipt.
        counted: bool,
        /// The attempt's span; `None` where nothing is traced.
        trace: Option<TraceContext>,
    },
    /// The lease of a handler in this process went to another while it is at work; it is left to
    /// run, and its settle will come late.
    LeaseLost {
        /// The command.
        command: CommandId,
        /// Its destination.
        destination: Destination,
    },
    /// A command was given back unsent.
    HandedBack {
        /// The command.
        command: CommandId,
        /// Why.
        reason: &'static str,
    },
    /// A destination answered that it is set up wrongly.
    Misconfigured {
        /// The destination.
        destination: Destination,
        /// What it answered.
        reason: String,
    },
    /// The outbox has commands for a destination that this relay does not know.
    Unserved {
        /// The destination.
        destination: String,
        /// How many are open.
        open: u64,
    },
    /// This relay claims no more at a destination that does not work, but for one probe at a time.
    BreakerOpened {
        /// The destination.
        destination: Destination,
        /// What the attempt that opened it came to.
        reason: String,
    },
    /// A destination works again, and is claimed from as before.
    BreakerClosed {
        /// The destination.
        destination: Destination,
    },
    /// A command ended `expired`, unsent.
    Expired {
        /// The command's id.
        command: String,
        /// Its destination.
        destination: String,
    },
    /// A destination was paused for all relays, because it said that it is gone.
    Paused {
        /// The destination.
        destination: Destination,
        /// What it said.
        reason: String,
    },
    /// The stored contract is no longer this relay's: it claims no more there.
    ContractDiffers {
        /// The destination.
        destination: Destination,
    },
    /// The store could not be reached or refused; the relay tries again.
    StoreFailed {
        /// What it said.
        reason: String,
        /// When the relay tries again, from now.
        retry_in: Span,
    },
    /// Nothing is due before this time, as far as is known.
    Idle {
        /// The next due time, if any.
        next_due: Option<Micros>,
    },
}

/// Hears notices. It must not block: a slow subscriber slows its relay.
pub trait Observer: Send + Sync + 'static {
    /// Takes a notice.
    fn notice(&self, notice: &Notice);
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Observer for Quiet {
    fn notice(&self, _notice: &Notice) {}
}

impl<O: Observer + ?Sized> Observer for std::sync::Arc<O> {
    fn notice(&self, notice: &Notice) {
        (**self).notice(notice);
    }
}
