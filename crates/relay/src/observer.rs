//! An observer that logs with `tracing`.
//!
//! Guarantees: what a person must look at is a warning, a failing store an error; what went well
//! is told at debug level. Does not: log bodies; notices carry none.

use std::fmt;

use counterfoil_core::domain::{Destination, Micros, TraceContext};
use counterfoil_core::port::{Notice, Observer};
use tracing::field::{Value, display};
use tracing::{debug, error, info, warn};

/// Logs every notice, as the table in `docs/observer.md` says.
#[derive(Clone, Copy, Debug, Default)]
pub struct TracingObserver;

impl Observer for TracingObserver {
    fn notice(&self, notice: &Notice) {
        match notice {
            Notice::Started { owner, destinations } => {
                let served: Vec<_> = destinations.iter().map(Destination::as_str).collect();
                info!(owner, destinations = ?served, "relay started");
            }
            Notice::Stopped { owner, abandoned: 0 } => info!(owner, "relay stopped"),
            Notice::Stopped { owner, abandoned } => {
                warn!(owner, abandoned, "relay stopped before all attempts were settled");
            }
            Notice::Claimed { count, taken_over: 0 } => debug!(count, "claimed"),
            Notice::Claimed { count, taken_over } => {
                info!(count, taken_over, "claimed, some from leases that ran out");
            }
            Notice::Settled { .. } => settled(notice),
            Notice::Parked { .. } => parked(notice),
            Notice::Late { .. } => late(notice),
            Notice::LeaseLost { command, destination } => {
                warn!(%command, %destination, "lease lost while the handler is at work");
            }
            Notice::HandedBack { command, reason } => info!(%command, reason, "handed back"),
            Notice::Misconfigured { destination, reason } => {
                warn!(%destination, reason, "destination says that it is set up wrongly");
            }
            Notice::Unserved { destination, open } => {
                warn!(destination, open, "commands for a destination that is not served here");
            }
            Notice::BreakerOpened { destination, reason } => {
                warn!(%destination, reason, "it does not work: claims stop, but for one probe");
            }
            Notice::BreakerClosed { destination } => {
                info!(%destination, "it works again: claims go on");
            }
            Notice::Expired { command, destination } => {
                info!(command, destination, "expired unsent");
            }
            Notice::Paused { destination, reason } => {
                warn!(%destination, reason, "paused for all relays: it says that it is gone");
            }
            Notice::ContractDiffers { destination } => {
                warn!(%destination, "its stored contract was replaced: nothing is claimed there");
            }
            Notice::StoreFailed { reason, retry_in } => {
                error!(reason, retry_in = ?retry_in.to_std(), "store failed");
            }
            Notice::Idle { next_due } => debug!(next_due = next_due.map(Micros::get), "idle"),
            other => info!(notice = ?other, "relay"),
        }
    }
}

fn settled(notice: &Notice) {
    let Notice::Settled { command, destination, outcome, reason, now, attempt, took, trace } =
        notice
    else {
        return;
    };
    let (took, (trace_id, span_id)) = (took.to_std(), ids(*trace));
    macro_rules! tell {
        ($level:ident) => {
            $level!(
                %command, %destination, outcome, reason, now, attempt, ?took, trace_id, span_id,
                "settled"
            )
        };
    }
    match *outcome {
        "completed" | "accepted" | "done" => tell!(debug),
        "unknown" | "conflict" => tell!(warn),
        _ => tell!(info),
    }
}

fn parked(notice: &Notice) {
    let Notice::Parked { command, destination, state, reason, trace } = notice else { return };
    let (state, (trace_id, span_id)) = (state.name(), ids(*trace));
    warn!(command, destination, state, reason, trace_id, span_id, "parked, waits for a person");
}

fn late(notice: &Notice) {
    let Notice::Late { command, outcome, counted, trace } = notice else { return };
    let (trace_id, span_id) = ids(*trace);
    warn!(
        %command, outcome, counted, trace_id, span_id,
        "settled after its lease had gone to another"
    );
}

/// The ids of a span as fields, which are left out where there is none.
fn ids(trace: Option<TraceContext>) -> (Option<impl Value>, Option<impl Value>) {
    let hex = |trace: TraceContext| {
        let (trace_id, span_id) = (trace.trace_id(), trace.span_id());
        (display(Hex::<32>(trace_id)), display(Hex::<16>(span_id.into())))
    };
    trace.map(hex).unzip()
}

/// So many hexadecimal digits; written only if the line is.
struct Hex<const DIGITS: usize>(u128);

impl<const DIGITS: usize> fmt::Display for Hex<DIGITS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0DIGITS$x}", self.0)
    }
}
