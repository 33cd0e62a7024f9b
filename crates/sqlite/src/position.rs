//! Reads where a command stands, and writes what the state machine says becomes of it.
//!
//! Guarantees: writes count only for the state and token that were read; a receipt, its delivery's
//! end and its count are one write. Does not: decide; see `domain::transition`.

use counterfoil_core::domain::contract::OnParked;
use counterfoil_core::domain::{
    Attempted, Delivery, Digest, Micros, Next, Position, Reason, Receipt, State, Transition,
    transition::Report,
};
use rusqlite::{OptionalExtension as _, Row, params};

use crate::group::Group;
use crate::lane::{self, Lane};
use crate::row::{self, Bytes32, Shown, micros};
use crate::sql::Sql;
use crate::workflow::input;

/// The command that a write is about.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) n: i64,
    pub(crate) command_id: &'a str,
    pub(crate) destination: &'a str,
    /// SHA-256 of body and row, where they are known.
    pub(crate) digests: Option<(Digest, Digest)>,
    /// When the attempt began.
    pub(crate) started_at: Option<Micros>,
    /// The lane, if it has an ordering key, and what a parked one does to it, where that is known.
    pub(crate) lane: Option<(Lane<'a>, Option<OnParked>)>,
    /// Whether a decision of a stream issued it, which may be a workflow's that waits for it.
    pub(crate) is_of_stream: bool,
}

impl<'a> Subject<'a> {
    /// A command without digests, of no lane and no stream.
    pub(crate) const fn new(n: i64, command_id: &'a str, destination: &'a str) -> Self {
        let (digests, started_at, lane) = (None, None, None);
        Self { n, command_id, destination, digests, started_at, lane, is_of_stream: false }
    }
}

/// What a transition came to.
pub(crate) enum Written {
    Open(State),
    Ended(&'static str),
    Contradicted,
    Ignored(Reason),
    Refused(Reason),
}

/// A command as its rows say it.
pub(crate) struct Stands {
    pub(crate) position: Position,
    /// The destination column of its delivery or of its newest receipt.
    pub(crate) destination: String,
    /// SHA-256 of body and row, once an attempt has ended.
    pub(crate) digests: Option<(Digest, Digest)>,
    /// The ordering key as it is stored, while it is open.
    pub(crate) ordering_key: Option<Vec<u8>>,
}

/// Where the command stands; `None` where neither delivery nor receipt does.
pub(crate) fn read(group: &mut Group<'_>, n: i64) -> rusqlite::Result<Option<Stands>> {
    let open = group.sql(Sql::DeliveryRow)?.query_row([n], |row| {
        let position = Position::Open(row::delivery(row, 0)?.0);
        Ok(Stands { ordering_key: row::stored(row, 18)?, ..stands(row, position, 15)? })
    });
    if let Some(open) = open.optional()? {
        return Ok(Some(open));
    }
    let ended = group.sql(Sql::ReceiptNewest)?.query_row([n], |row| {
        let position = Position::Ended(row::receipt(row, 0)?);
        stands(row, position, 11)
    });
    ended.optional()
}

/// Destination and both digests stand in three columns from `at`.
fn stands(row: &Row<'_>, position: Position, at: usize) -> rusqlite::Result<Stands> {
    let destination = row::lossy(row, at)?.unwrap_or_default();
    let digests = row::digest(row, at + 1)?.zip(row::digest(row, at + 2)?);
    Ok(Stands { position, destination, digests, ordering_key: None })
}

/// Writes what becomes of the command.
pub(crate) fn write(
    group: &mut Group<'_>,
    subject: Subject<'_>,
    before: &Position,
    transition: Transition,
) -> rusqlite::Result<Written> {
    let (written, attempted) = match transition {
        Transition::Applied { next, attempted } => {
            let round = attempted.as_ref().map(|attempted| attempted.round);
            (write_next(group, subject, (before, round), next)?, attempted)
        }
        Transition::Ignored { reason, attempted } => (Written::Ignored(reason), attempted),
        Transition::Refused(reason) => (Written::Refused(reason), None),
    };
    if matches!(written, Written::Open(_) | Written::Ended(_)) {
        give_turn(group, subject)?;
    }
    if let Some(attempted) = attempted {
        insert_attempt(group, subject, &attempted)?;
    }
    Ok(written)
}

fn write_next(
    group: &mut Group<'_>,
    subject: Subject<'_>,
    (before, attempted_round): (&Position, Option<u32>),
    next: Next,
) -> rusqlite::Result<Written> {
    match (before, next) {
        (Position::Open(open), Next::Open(next)) => {
            let is_own = update(group, subject, open, &next)?;
            let state = Written::Open(next.state);
            Ok(if is_own { state } else { Written::Ignored(Reason::StaleToken) })
        }
        (Position::Open(open), Next::Ended(receipt)) => {
            if !end(group, open)? {
                return Ok(Written::Ignored(Reason::StaleToken));
            }
            insert_receipt(group, subject, &receipt)?;
            Ok(Written::Ended(receipt.outcome.name()))
        }
        (Position::Ended(ended), Next::Contradicted(report)) => {
            insert_contradiction(group, subject.command_id, ended.round, &report)?;
            Ok(Written::Contradicted)
        }
        // It speaks of the round of its own attempt, which ended before this one began.
        (Position::Open(open), Next::Contradicted(report)) => {
            let round = attempted_round.unwrap_or(open.round);
            insert_contradiction(group, subject.command_id, round, &report)?;
            Ok(Written::Contradicted)
        }
        // A redelivery, which no relay and no report begins.
        (Position::Ended(_), Next::Open(_) | Next::Ended(_)) => Ok(Written::Ignored(Reason::Ended)),
    }
}

/// Gives the turn of its lane on, if it has one.
pub(crate) fn give_turn(group: &mut Group<'_>, subject: Subject<'_>) -> rusqlite::Result<()> {
    match subject.lane {
        Some((lane, on_parked)) => lane::turn(group, lane, on_parked).map(drop),
        None => Ok(()),
    }
}

/// Writes the delivery whole; whether it was still as read.
pub(crate) fn update(
    group: &mut Group<'_>,
    subject: Subject<'_>,
    before: &Delivery,
    next: &Delivery,
) -> rusqlite::Result<bool> {
    let (digest, row_digest) = subject.digests.unzip();
    let next = &lane::without_turn(Some(before), next.clone());
    let changed = group.sql(Sql::DeliveryUpdate)?.execute(params![
        before.n,
        before.token.get(),
        before.state.name(),
        next.state.name(),
        next.round,
        micros(next.round_since),
        next.attempts,
        next.asks,
        next.in_doubt,
        micros(next.available_at),
        next.token.get(),
        micros(next.lease_until),
        next.lease_owner,
        micros(next.first_sent_at),
        micros(next.last_lease_until),
        next.last_outcome,
        Bytes32(digest),
        Bytes32(row_digest),
    ])?;
    Ok(changed == 1)
}

/// Parks a delivery that cannot be read, whatever its state column says.
pub(crate) fn park(group: &mut Group<'_>, next: &Delivery) -> rusqlite::Result<()> {
    let Delivery { n, state, in_doubt, last_outcome, .. } = next;
    let park = group.sql(Sql::DeliveryPark)?;
    park.execute(params![n, state.name(), in_doubt, last_outcome]).map(drop)
}

/// Removes the delivery; whether it was still as read.
pub(crate) fn end(group: &mut Group<'_>, open: &Delivery) -> rusqlite::Result<bool> {
    let of = params![open.n, open.token.get(), open.state.name()];
    Ok(group.sql(Sql::DeliveryEnd)?.execute(of)? == 1)
}

/// Inserts the receipt and counts it; the first of a workflow's command becomes its input.
pub(crate) fn insert_receipt(
    group: &mut Group<'_>,
    subject: Subject<'_>,
    receipt: &Receipt,
) -> rusqlite::Result<()> {
    let (digest, row_digest) = subject.digests.unzip();
    group.sql(Sql::ReceiptInsert)?.execute(params![
        receipt.n,
        receipt.round,
        receipt.outcome.name(),
        receipt.result.as_deref().map(Shown),
        receipt.evidence,
        receipt.source,
        subject.destination,
        receipt.attempts,
        receipt.token.get(),
        micros(receipt.first_sent_at),
        Bytes32(digest),
        Bytes32(row_digest),
        receipt.recorded_at.get(),
        receipt.key_seq,
    ])?;
    group.count(subject.destination, receipt.outcome);
    if subject.is_of_stream { input::of_receipt(group, receipt) } else { Ok(()) }
}

/// Keeps what said otherwise after the end; the same word twice is kept once.
pub(crate) fn insert_contradiction(
    group: &mut Group<'_>,
    command_id: &str,
    round: u32,
    report: &Report,
) -> rusqlite::Result<()> {
    let known = group.sql(Sql::ContradictionOfCommand)?;
    let mut rows = known.query([command_id])?;
    while let Some(row) = rows.next()? {
        let same = row::count(row, 0)? == round
            && row::bytes(row, 1)? == Some(report.outcome.name().as_bytes())
            && row::bytes(row, 2)? == report.result.as_deref()
            && row::bytes(row, 3)? == report.evidence.as_deref().map(str::as_bytes);
        if same {
            return Ok(());
        }
    }
    drop(rows);
    let now = group.now.get();
    group.sql(Sql::ContradictionInsert)?.execute(params![
        command_id,
        round,
        report.outcome.name(),
        report.result.as_deref().map(Shown),
        report.evidence,
        report.source,
        now,
    ])?;
    Ok(())
}

/// Keeps the row of an attempt that did not go plainly well.
pub(crate) fn insert_attempt(
    group: &mut Group<'_>,
    subject: Subject<'_>,
    attempted: &Attempted,
) -> rusqlite::Result<()> {
    let now = group.now.get();
    group.sql(Sql::AttemptInsert)?.execute(params![
        subject.n,
        attempted.round,
        attempted.token.get(),
        attempted.purpose.name(),
        attempted.outcome,
        attempted.reason,
        micros(subject.started_at),
        now,
    ])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use counterfoil_core::domain::{Command, CommandId};

    use super::*;

    /// The state machine compares the token too, in the same transaction: this is the second lock.
    #[test]
    fn a_write_counts_only_for_the_token_and_state_that_were_read() {
        let folder = tempfile::tempdir().unwrap();
        let (own, _) = crate::connection::init(&folder.path().join("s.db"), None).unwrap();
        let now = Micros::EARLIEST;
        let mut group = Group::new(&own, now);
        let id = CommandId::new("a").unwrap();
        let command = Command::json("a", "shipping", "k", &1).unwrap();
        let n = crate::enqueue::insert(&mut group, &id, None, &command).unwrap().unwrap();
        let Some(Position::Open(read)) = read(&mut group, n).unwrap().map(|found| found.position)
        else {
            panic!("it is open");
        };
        let subject = Subject::new(n, "a", "shipping");
        let newer = Delivery { token: read.token.next(now), ..read.clone() };
        assert!(update(&mut group, subject, &read, &newer).unwrap());
        let elsewhere = Delivery { state: State::Sending, ..newer.clone() };
        for stale in [read, elsewhere] {
            assert!(!update(&mut group, subject, &stale, &newer).unwrap(), "{stale:?}");
            assert!(!end(&mut group, &stale).unwrap(), "{stale:?}");
        }
        assert!(end(&mut group, &newer).unwrap());
    }
}
