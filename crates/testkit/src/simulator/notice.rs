//! What relays tell, as lines of the trace and counts.
//!
//! Guarantees: total; what is not counted is not told. Does not: judge; see `watch`.

use counterfoil_core::port::Notice;

use super::Coverage;

/// Counts a notice; what to write into the trace.
pub(super) fn told(notice: &Notice, coverage: &mut Coverage) -> Option<String> {
    match notice {
        Notice::Parked { command, state, reason, .. } => {
            Some(format!("parked {command} {}: {reason}", state.name()))
        }
        Notice::Late { command, outcome, counted, .. } => {
            coverage.count("late settles");
            Some(format!("late {command} {outcome}, counted: {counted}"))
        }
        Notice::HandedBack { command, reason } => {
            coverage.count("handed back");
            Some(format!("handed back {command}: {reason}"))
        }
        Notice::Expired { command, .. } => {
            coverage.count("expired");
            Some(format!("expired {command}"))
        }
        Notice::Paused { destination, reason } => {
            coverage.count("destinations paused");
            Some(format!("paused {destination}: {reason}"))
        }
        Notice::Claimed { count, taken_over } => {
            (0..*taken_over).for_each(|_| coverage.count("takeovers claimed again"));
            Some(format!("claimed {count}, taken over {taken_over}"))
        }
        Notice::Settled { command, outcome, reason, now, .. } => {
            Some(format!("settled {command} {outcome} -> {now}: {reason}"))
        }
        Notice::StoreFailed { reason, .. } => Some(format!("the store failed: {reason}")),
        Notice::LeaseLost { command, .. } => {
            coverage.count("leases lost under a handler");
            Some(format!("lease lost {command}"))
        }
        Notice::BreakerOpened { destination, reason } => {
            coverage.count("breakers opened");
            Some(format!("no longer claims at {destination}: {reason}"))
        }
        Notice::BreakerClosed { destination } => {
            coverage.count("breakers closed");
            Some(format!("claims at {destination} again"))
        }
        _ => None,
    }
}
