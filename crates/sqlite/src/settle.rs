//! Settles what attempts came to, and renews leases.
//!
//! Guarantees: a settle counts while state and token are its own, even after the lease; a stale
//! one changes nothing and is recorded. Plain success, the common case, touches no row but the
//! delivery's end and the receipt. Does not: claim.

use counterfoil_core::domain::{
    Delivery, Input, Next, Outcome, Position, Reason, ReceiptOutcome, State, Transition, transition,
};
use counterfoil_core::port::store::{Claimed, Ended, Renew, Reported, Settle, Settled};

use crate::group::Group;
use crate::lane::Lane;
use crate::position::{self, Stands, Subject, Written};
use crate::report::Reporting;
use crate::row;
use crate::sql::Sql;

/// Settles one attempt.
pub(crate) fn settle(group: &mut Group<'_>, settle: &Settle) -> rusqlite::Result<Settled> {
    let claimed = &settle.claimed;
    let subject = Subject {
        n: claimed.delivery.n,
        command_id: claimed.command.command_id.as_str(),
        destination: claimed.command.destination.as_str(),
        digests: Some((claimed.digest, claimed.row_digest)),
        started_at: Some(settle.started_at),
        lane: claimed.command.ordering_key.as_ref().map(|key| {
            let destination = claimed.command.destination.as_str();
            (Lane::of(destination, key.as_str()), Some(settle.terms.contract.on_parked))
        }),
        is_of_stream: claimed.command.stream.is_some(),
    };
    if let Some(settled) = settle_success(group, settle, subject)? {
        return Ok(settled);
    }
    let Some(Stands { position: before, digests: stored, .. }) = position::read(group, subject.n)?
    else {
        return settle_archived(group, settle);
    };
    let input = input(settle, ended_as(group, claimed, &before)?);
    // The attempt of another lease proves nothing about the row as it stands now.
    let is_own = matches!(&before, Position::Open(open) if open.token == claimed.delivery.token);
    // A late one tells of the newest attempt's row only where that one left nothing.
    let digests = if is_own { subject.digests.or(stored) } else { stored.or(subject.digests) };
    let subject = Subject { digests, ..subject };
    let next = if settle.depends_on_who_asked() && is_waited_for(group, claimed)? {
        transition(&before, input, &settle.terms.for_workflow(), group.now)
    } else {
        transition(&before, input, &settle.terms, group.now)
    };
    Ok(match position::write(group, subject, &before, next)? {
        Written::Open(state) => Settled::Open(state),
        Written::Ended(outcome) => Settled::Ended(outcome),
        Written::Contradicted => Settled::Contradicted,
        Written::Ignored(reason) | Written::Refused(reason) => Settled::Ignored(reason),
    })
}

/// Whether the stream that issued the command is a workflow's.
fn is_waited_for(group: &mut Group<'_>, claimed: &Claimed) -> rusqlite::Result<bool> {
    let Some(stream) = &claimed.command.stream else { return Ok(false) };
    group.sql(Sql::StreamRow)?.exists([stream.as_str()])
}

/// A settle so late that nothing but a tombstone is left: `Completed` is the receiver's own word,
/// and kept beside it where it says otherwise.
fn settle_archived(group: &mut Group<'_>, settle: &Settle) -> rusqlite::Result<Settled> {
    let ignored = Settled::Ignored(Reason::Ended);
    let Some(report) = settle.late_report() else { return Ok(ignored) };
    let command_id = settle.claimed.command.command_id.clone();
    let reported = Reporting { command_id, report }.report_archived(group)?;
    Ok(if reported == Reported::Contradiction { Settled::Contradicted } else { ignored })
}

fn input(settle: &Settle, ended_as: Option<ReceiptOutcome>) -> Input {
    let (token, round) = (settle.claimed.delivery.token, settle.claimed.delivery.round);
    let (burns, seed) = (settle.burns, settle.seed);
    match &settle.ended {
        Ended::Outcome(outcome) => {
            let outcome = outcome.clone();
            Input::Settled { token, round, ended_as, outcome, burns, seed }
        }
        Ended::Answer(answer) => Input::Answered { token, answer: answer.clone(), seed },
        Ended::HandedBack => Input::HandedBack { token },
    }
}

/// Completed under its own lease: judged from memory, since whatever else the row may say, its
/// token and state decide, and the removal compares them. `None`: look at the row.
fn settle_success(
    group: &mut Group<'_>,
    settle: &Settle,
    subject: Subject<'_>,
) -> rusqlite::Result<Option<Settled>> {
    let claimed = &settle.claimed.delivery;
    let plain = matches!(settle.ended, Ended::Outcome(Outcome::Completed { .. }))
        && claimed.state == State::Sending;
    if !plain {
        return Ok(None);
    }
    let before = Position::Open(without_words(claimed));
    let judged = transition(&before, input(settle, None), &settle.terms, group.now);
    let Transition::Applied { next: Next::Ended(receipt), attempted: None } = judged else {
        return Ok(None);
    };
    if !position::end(group, claimed)? {
        return Ok(None);
    }
    position::insert_receipt(group, subject, &receipt)?;
    position::give_turn(group, subject)?;
    Ok(Some(Settled::Ended(receipt.outcome.name())))
}

/// The delivery without its texts, which a receipt does not take over.
fn without_words(delivery: &Delivery) -> Delivery {
    Delivery {
        n: delivery.n,
        state: delivery.state,
        round: delivery.round,
        round_since: delivery.round_since,
        attempts: delivery.attempts,
        asks: delivery.asks,
        in_doubt: delivery.in_doubt,
        available_at: delivery.available_at,
        token: delivery.token,
        lease_until: delivery.lease_until,
        lease_owner: None,
        first_sent_at: delivery.first_sent_at,
        last_lease_until: delivery.last_lease_until,
        last_outcome: None,
        key_seq: delivery.key_seq,
    }
}

/// What the receipt of the attempt's own round says, where another round began since.
fn ended_as(
    group: &mut Group<'_>,
    claimed: &Claimed,
    before: &Position,
) -> rusqlite::Result<Option<ReceiptOutcome>> {
    let round = claimed.delivery.round;
    let stands = match before {
        Position::Open(open) => open.round,
        Position::Ended(ended) => ended.round,
    };
    if stands <= round {
        return Ok(None);
    }
    let mut rows = group.sql(Sql::ReceiptOfCommand)?.query([claimed.delivery.n])?;
    while let Some(found) = rows.next()? {
        let receipt = row::receipt(found, 0)?;
        if receipt.round == round {
            return Ok(Some(receipt.outcome));
        }
    }
    Ok(None)
}

/// Renews one lease; whether it is still its own.
pub(crate) fn renew(group: &mut Group<'_>, renew: &Renew) -> rusqlite::Result<bool> {
    let Some(stands) = position::read(group, renew.n)? else { return Ok(false) };
    let before = stands.position;
    let next = transition(&before, Input::Renewed { token: renew.token }, &renew.terms, group.now);
    let subject = Subject::new(renew.n, "", "");
    Ok(matches!(position::write(group, subject, &before, next)?, Written::Open(_)))
}
