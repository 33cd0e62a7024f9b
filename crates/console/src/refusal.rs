//! What an operator hears whose deed a rule refuses.
//!
//! Guarantees: each reason of the state machine has a code of its own, and says the way out. Does
//! not: decide what is refused.

use axum::http::StatusCode;
use counterfoil_core::domain::Reason;

use crate::problem::Problem;

/// The refusal of a verb, for this reason.
pub(crate) fn of(reason: Reason) -> Problem {
    match while_open(reason).or_else(|| by_its_end(reason)) {
        Some((code, title, detail)) => Problem::new(
            StatusCode::CONFLICT,
            code,
            title,
            format!("{detail}; nothing was changed"),
        ),
        // No verb is answered so; who adds one sees it named.
        None => Problem::new(
            StatusCode::CONFLICT,
            "CF1040",
            "a rule refuses this",
            format!("{reason}: look at the command's story"),
        ),
    }
}

/// Code, title and way out.
type Words = (&'static str, &'static str, &'static str);

/// What an open command refuses.
const fn while_open(reason: Reason) -> Option<Words> {
    Some(match reason {
        Reason::NotParked => (
            "CF1030",
            "the command is not parked",
            "a machine still works on it, or it waits for its turn or its destination, so there is \
             nothing to retry: its story says which; retry is for dead, uncertain and conflict",
        ),
        Reason::MayActTwice => (
            "CF1031",
            "a repeat could act twice",
            "an attempt may have acted, and the receiver may no longer know its key: find out \
             there, then resolve what is in doubt, or send may_act_twice with a reason",
        ),
        Reason::InFlight => (
            "CF1032",
            "the command is in flight",
            "it is being sent or asked about: wait until that has ended, at the latest with its \
             lease; what is known to be done can be resolved as completed now",
        ),
        Reason::InDoubt => (
            "CF1033",
            "the command is in doubt",
            "an attempt may have acted, so it cannot be withdrawn: find out at the receiver, and \
             resolve it",
        ),
        Reason::NeverSent => (
            "CF1034",
            "the command was never sent",
            "nothing is in doubt, so there is nothing to find out: leave it to its relay, or \
             cancel it",
        ),
        Reason::Published => (
            "CF1035",
            "the receiver has the command",
            "it was handed over and cannot be withdrawn: wait for its receipt, or resolve it",
        ),
        _ => return None,
    })
}

/// What has ended refuses, or what must not be sent any more.
const fn by_its_end(reason: Reason) -> Option<Words> {
    Some(match reason {
        Reason::Ended => (
            "CF1036",
            "the command has ended",
            "its receipt stands; redeliver sends an ended command again",
        ),
        Reason::NotEnded => (
            "CF1037",
            "the command has not ended",
            "redeliver is for what has ended: leave it to its relay; retry a parked one",
        ),
        Reason::Expired => (
            "CF1038",
            "the command is past its expiry",
            "it must not be sent any more: a new intent needs a new id",
        ),
        Reason::Erased => (
            "CF1039",
            "the command's content was erased",
            "there is nothing left to send: a new intent needs a new id",
        ),
        _ => return None,
    })
}

/// Nothing reaches an archived command.
pub(crate) fn archived() -> Problem {
    let detail = "it can be looked at, and resolved where a late report contradicts it that nobody \
                  has looked into; a new intent needs a new id";
    Problem::new(StatusCode::CONFLICT, "CF1041", "the command is archived", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_of_a_verb_has_a_code_of_its_own() {
        let mut codes = [
            Reason::NotParked,
            Reason::MayActTwice,
            Reason::InFlight,
            Reason::InDoubt,
            Reason::NeverSent,
            Reason::Published,
            Reason::Ended,
            Reason::NotEnded,
            Reason::Expired,
            Reason::Erased,
            Reason::Repeated,
        ]
        .map(|reason| of(reason).seen().1);
        codes.sort_unstable();
        assert!(codes.windows(2).all(|two| two[0] != two[1]), "{codes:?}");
    }
}
