//! Reads where a command stands, and writes what the state machine says becomes of it.
//!
//! Guarantees: what is read is held until the transaction ends, delivery first, then receipt;
//! writes count only for the state and token that were read; a receipt, its delivery's end and its
//! count are one transaction. Does not: decide; see `domain::transition`.

use counterfoil_core::domain::contract::OnParked;
use counterfoil_core::domain::{
    Attempted, Delivery, Digest, Micros, Next, Position, Reason, Receipt, State, Transition,
    transition::Report,
};
use tokio_postgres::Row;

use crate::failure::Failure;
use crate::group::Group;
use crate::lane::{self, Lane};
use crate::row::{self, micros};
use crate::statement::{Statement, statement};
use crate::workflow::input;

const DELIVERY_ROW: Statement = statement!("delivery_row");
const DELIVERY_ROWS: Statement = statement!("delivery_rows");
const DELIVERY_STAND: Statement = statement!("delivery_stand");
const DELIVERY_UPDATE: Statement = statement!("delivery_update");
const DELIVERY_PARK: Statement = statement!("delivery_park");
const DELIVERY_END: Statement = statement!("delivery_end");
const RECEIPT_NEWEST: Statement = statement!("receipt_newest");
const RECEIPT_INSERT: Statement = statement!("receipt_insert");
const RECEIPT_OF_COMMAND: Statement = statement!("receipt_of_command");
const CONTRADICTION_OF_COMMAND: Statement = statement!("contradiction_of_command");
const CONTRADICTION_INSERT: Statement = statement!("contradiction_insert");
const ATTEMPT_INSERT: Statement = statement!("attempt_insert");

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
    /// The ordering key, while it is open.
    pub(crate) ordering_key: Option<String>,
}

impl Stands {
    fn open(row: &Row) -> Self {
        let position = Position::Open(row::delivery(row, 0).0);
        Self { ordering_key: row::string(row, 18), ..Self::at(row, position, 15) }
    }

    /// Destination and both digests stand in three columns from `at`.
    fn at(row: &Row, position: Position, at: usize) -> Self {
        let destination = row::string(row, at).unwrap_or_default();
        let digests = row::digest(row, at + 1).zip(row::digest(row, at + 2));
        Self { position, destination, digests, ordering_key: None }
    }
}

/// Where the command stands; `None` where neither delivery nor receipt does. Waits for others.
pub(crate) async fn read(group: &Group<'_>, n: i64) -> Result<Option<Stands>, Failure> {
    if let Some(open) = group.tx.query_opt(DELIVERY_ROW, &[&n]).await? {
        return Ok(Some(Stands::open(&open)));
    }
    let Some(ended) = read_ended(group, n).await? else { return Ok(None) };
    // Who waited for the receipt may have waited for a redelivery.
    match group.tx.query_opt(DELIVERY_ROW, &[&n]).await? {
        Some(open) => Ok(Some(Stands::open(&open))),
        None => Ok(Some(ended)),
    }
}

/// The newest receipt.
pub(crate) async fn read_ended(group: &Group<'_>, n: i64) -> Result<Option<Stands>, Failure> {
    let ended = group.tx.query_opt(RECEIPT_NEWEST, &[&n]).await?;
    Ok(ended.map(|row| Stands::at(&row, Position::Ended(row::receipt(&row, 0)), 11)))
}

/// Where an open command stands, told without waiting.
pub(crate) enum Held {
    /// It is ours until the transaction ends.
    Ours(Box<Stands>),
    /// Another transaction holds it.
    Others,
    /// It is not open.
    NotOpen,
}

/// Where these commands stand, in their order, without waiting for anybody.
pub(crate) async fn read_free(group: &Group<'_>, numbers: &[i64]) -> Result<Vec<Held>, Failure> {
    let all = numbers.to_vec();
    let rows = group.tx.query(DELIVERY_ROWS, &[&all]).await?;
    let mut free: Vec<(i64, Stands)> =
        rows.iter().map(|row| (row::int(row, 0).unwrap_or(0), Stands::open(row))).collect();
    let mut standing = Vec::new();
    if free.len() < numbers.len() {
        let rows = group.tx.query(DELIVERY_STAND, &[&all]).await?;
        standing = rows.iter().filter_map(|row| row::int(row, 0)).collect();
    }
    Ok(numbers
        .iter()
        .map(|n| match free.iter().position(|(free, _)| free == n) {
            Some(at) => Held::Ours(Box::new(free.swap_remove(at).1)),
            None if standing.contains(n) => Held::Others,
            None => Held::NotOpen,
        })
        .collect())
}

/// All receipts of a command, oldest round first.
pub(crate) async fn receipts(group: &Group<'_>, n: i64) -> Result<Vec<Receipt>, Failure> {
    let rows = group.tx.query(RECEIPT_OF_COMMAND, &[&n]).await?;
    Ok(rows.iter().map(|row| row::receipt(row, 0)).collect())
}

/// Writes what becomes of the command.
pub(crate) async fn write(
    group: &mut Group<'_>,
    subject: Subject<'_>,
    before: &Position,
    transition: Transition,
) -> Result<Written, Failure> {
    let (written, attempted) = match transition {
        Transition::Applied { next, attempted } => {
            let round = attempted.as_ref().map(|attempted| attempted.round);
            (write_next(group, subject, (before, round), next).await?, attempted)
        }
        Transition::Ignored { reason, attempted } => (Written::Ignored(reason), attempted),
        Transition::Refused(reason) => (Written::Refused(reason), None),
    };
    if matches!(written, Written::Open(_) | Written::Ended(_)) {
        give_turn(group, subject).await?;
    }
    if let Some(attempted) = attempted {
        insert_attempt(group, subject, &attempted).await?;
    }
    Ok(written)
}

async fn write_next(
    group: &mut Group<'_>,
    subject: Subject<'_>,
    (before, attempted_round): (&Position, Option<u32>),
    next: Next,
) -> Result<Written, Failure> {
    match (before, next) {
        (Position::Open(open), Next::Open(next)) => {
            let is_own = update(group, subject, open, &next).await?;
            let state = Written::Open(next.state);
            Ok(if is_own { state } else { Written::Ignored(Reason::StaleToken) })
        }
        (Position::Open(open), Next::Ended(receipt)) => {
            if !end(group, open).await? {
                return Ok(Written::Ignored(Reason::StaleToken));
            }
            insert_receipt(group, subject, &receipt).await?;
            Ok(Written::Ended(receipt.outcome.name()))
        }
        (Position::Ended(ended), Next::Contradicted(report)) => {
            insert_contradiction(group, subject.command_id, ended.round, &report).await?;
            Ok(Written::Contradicted)
        }
        // It speaks of the round of its own attempt, which ended before this one began.
        (Position::Open(open), Next::Contradicted(report)) => {
            let round = attempted_round.unwrap_or(open.round);
            insert_contradiction(group, subject.command_id, round, &report).await?;
            Ok(Written::Contradicted)
        }
        // A redelivery, which no relay and no report begins.
        (Position::Ended(_), Next::Open(_) | Next::Ended(_)) => Ok(Written::Ignored(Reason::Ended)),
    }
}

/// Gives the turn of its lane on, if it has one.
pub(crate) async fn give_turn(group: &Group<'_>, subject: Subject<'_>) -> Result<(), Failure> {
    match subject.lane {
        Some((lane, on_parked)) => lane::turn(group, lane, on_parked).await.map(drop),
        None => Ok(()),
    }
}

/// A count as stored; what does not fit becomes the largest.
pub(crate) fn int(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// A digest as stored.
pub(crate) fn bytes(digest: Option<Digest>) -> Option<Vec<u8>> {
    digest.map(|digest| digest.as_bytes().to_vec())
}

/// Writes the delivery whole; whether it was still as read.
pub(crate) async fn update(
    group: &Group<'_>,
    subject: Subject<'_>,
    before: &Delivery,
    next: &Delivery,
) -> Result<bool, Failure> {
    let (digest, row_digest) = subject.digests.unzip();
    let next = &lane::without_turn(Some(before), next.clone());
    let (from, to) = (before.state.name(), next.state.name());
    let changed = group
        .tx
        .query(
            DELIVERY_UPDATE,
            &[
                &before.n,
                &before.token.get(),
                &from,
                &to,
                &int(next.round),
                &micros(next.round_since),
                &int(next.attempts),
                &int(next.asks),
                &i32::from(next.in_doubt),
                &micros(next.available_at),
                &next.token.get(),
                &micros(next.lease_until),
                &next.lease_owner,
                &micros(next.first_sent_at),
                &micros(next.last_lease_until),
                &next.last_outcome,
                &bytes(digest),
                &bytes(row_digest),
            ],
        )
        .await?;
    if let Some(at) = next.available_at {
        group.tx.made_due(subject.destination, at, group.now);
    }
    Ok(!changed.is_empty())
}

/// Parks a delivery that cannot be read, whatever its state column says.
pub(crate) async fn park(group: &Group<'_>, next: &Delivery) -> Result<(), Failure> {
    let Delivery { n, state, in_doubt, last_outcome, .. } = next;
    let (name, in_doubt) = (state.name(), i32::from(*in_doubt));
    group.tx.execute(DELIVERY_PARK, &[n, &name, &in_doubt, last_outcome]).await
}

/// Removes the delivery; whether it was still as read.
pub(crate) async fn end(group: &Group<'_>, open: &Delivery) -> Result<bool, Failure> {
    let (token, state) = (open.token.get(), open.state.name());
    Ok(!group.tx.query(DELIVERY_END, &[&open.n, &token, &state]).await?.is_empty())
}

/// Inserts the receipt, at the server's time, and counts it; the first of a workflow's command
/// becomes its input.
pub(crate) async fn insert_receipt(
    group: &mut Group<'_>,
    subject: Subject<'_>,
    receipt: &Receipt,
) -> Result<(), Failure> {
    let (digest, row_digest) = subject.digests.unzip();
    let outcome = receipt.outcome.name();
    group
        .tx
        .execute(
            RECEIPT_INSERT,
            &[
                &receipt.n,
                &int(receipt.round),
                &outcome,
                &receipt.result.as_deref(),
                &receipt.evidence,
                &receipt.source,
                &subject.destination,
                &int(receipt.attempts),
                &receipt.token.get(),
                &micros(receipt.first_sent_at),
                &bytes(digest),
                &bytes(row_digest),
                &receipt.key_seq,
            ],
        )
        .await?;
    group.count(subject.destination, receipt.outcome);
    if subject.is_of_stream {
        input::of_receipts(group.tx, &vec![receipt.n], &vec![int(receipt.round)]).await?;
    }
    Ok(())
}

/// Keeps what said otherwise after the end; the same word twice is kept once.
pub(crate) async fn insert_contradiction(
    group: &Group<'_>,
    command_id: &str,
    round: u32,
    report: &Report,
) -> Result<(), Failure> {
    let known = group.tx.query(CONTRADICTION_OF_COMMAND, &[&command_id]).await?;
    let is_known = known.iter().any(|row| {
        row::count(row, 0) == round
            && row::text(row, 1) == Some(report.outcome.name())
            && row::bytes(row, 2) == report.result.as_deref()
            && row::text(row, 3) == report.evidence.as_deref()
    });
    if is_known {
        return Ok(());
    }
    let outcome = report.outcome.name();
    group
        .tx
        .execute(
            CONTRADICTION_INSERT,
            &[
                &command_id,
                &int(round),
                &outcome,
                &report.result.as_deref(),
                &report.evidence,
                &report.source,
                &group.now.get(),
            ],
        )
        .await
}

/// Keeps the row of an attempt that did not go plainly well.
pub(crate) async fn insert_attempt(
    group: &Group<'_>,
    subject: Subject<'_>,
    attempted: &Attempted,
) -> Result<(), Failure> {
    let purpose = attempted.purpose.name();
    group
        .tx
        .execute(
            ATTEMPT_INSERT,
            &[
                &subject.n,
                &int(attempted.round),
                &attempted.token.get(),
                &purpose,
                &attempted.outcome,
                &attempted.reason,
                &micros(subject.started_at),
                &group.now.get(),
            ],
        )
        .await
}
