//! What the settle of an attempt is announced as.
//!
//! Guarantees: each settle gives one notice of its own, and each parking one more. Does not:
//! repeat itself; a parked command is announced by the settle that parked it.

use counterfoil_core::domain::{Reason, State};
use counterfoil_core::port::store::{Ended, ParkedNow, Settled};
use counterfoil_core::port::{Notice, Observer};

use crate::settler::Unsettled;

/// Announces what `unsettled` came to.
pub(crate) fn settled(observer: &impl Observer, unsettled: Unsettled, settled: &Settled) {
    let Unsettled { settle, took, lost, back, trace, .. } = unsettled;
    let row = &settle.claimed.command;
    let command = row.command_id.clone();
    let Some((outcome, reason)) = words(settle.ended) else {
        return observer.notice(&Notice::HandedBack { command, reason: back });
    };
    if let Some(counted) = late(settled, lost) {
        return observer.notice(&Notice::Late { command, outcome, counted, trace });
    }
    let (now, parked) = match settled {
        Settled::Open(state) => (state.name(), Some(*state).filter(|state| state.is_parked())),
        Settled::Ended(name) => (*name, None),
        Settled::Contradicted => ("contradicted", None),
        // What is held is settled again, and announced then.
        Settled::Ignored(_) | Settled::Held => ("ignored", None),
    };
    let delivery = &settle.claimed.delivery;
    let is_question = delivery.state == State::Asking;
    let attempt = if is_question { delivery.asks } else { delivery.attempts };
    let destination = row.destination.clone();
    let why = parked.map(|_| reason.clone());
    observer.notice(&Notice::Settled {
        command,
        destination,
        outcome,
        reason,
        now,
        attempt,
        took,
        trace,
    });
    if let (Some(state), Some(reason)) = (parked, why) {
        let (command, destination) = (row.command_id.to_string(), row.destination.to_string());
        observer.notice(&Notice::Parked { command, destination, state, reason, trace });
    }
}

/// What a command that was parked by the store is announced as.
pub(crate) fn parked(parked: ParkedNow) -> Notice {
    let ParkedNow { command, destination, state, reason, .. } = parked;
    Notice::Parked { command, destination, state, reason, trace: None }
}

/// The outcome's name and words; `None` for what was handed back.
fn words(ended: Ended) -> Option<(&'static str, String)> {
    match ended {
        Ended::Outcome(outcome) => Some((outcome.name(), outcome.reason().to_owned())),
        Ended::Answer(answer) => Some((answer.name(), answer.reason().to_owned())),
        Ended::HandedBack => None,
    }
}

/// Whether it came after its lease had gone to another, and if so whether its evidence counted.
fn late(settled: &Settled, lost: bool) -> Option<bool> {
    match settled {
        Settled::Ignored(Reason::StaleToken) => Some(false),
        Settled::Ignored(_) if lost => Some(false),
        Settled::Contradicted => Some(true),
        Settled::Ended(_) if lost => Some(true),
        Settled::Open(_) | Settled::Ended(_) | Settled::Ignored(_) | Settled::Held => None,
    }
}
