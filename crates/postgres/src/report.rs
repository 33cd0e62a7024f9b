//! Takes a receiver's report.
//!
//! Guarantees: the first one ends the command; the same again changes nothing, also after the
//! archive; another outcome is kept as a contradiction. Does not: end what was never recorded.

use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::{
    CommandId, Contract, Digest, Idempotent, Input, Position, Reason, ReceiptOutcome, Terms,
    transition,
};
use counterfoil_core::port::store::Reported;

use crate::failure::Failure;
use crate::group::Group;
use crate::lane::Lane;
use crate::position::{self, Stands, Subject, Written};
use crate::row;
use crate::statement::{Statement, statement};
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;

const OUTBOX_REPORT: Statement = statement!("outbox_report");
const OUTBOX_ROW: Statement = statement!("outbox_row");
const ARCHIVED_LOCK: Statement = statement!("archived_lock");

/// One report.
pub(crate) struct Reporting<'a> {
    pub(crate) store: &'a Inner,
    pub(crate) command_id: CommandId,
    pub(crate) report: Report,
}

impl Work for Reporting<'_> {
    type Answer = Reported;

    async fn run(&self, tx: &Tx<'_>) -> Result<Reported, Failure> {
        let mut group = Group::begin(tx, self.store).await?;
        let reported = self.take(&mut group).await?;
        group.flush().await?;
        Ok(reported)
    }

    /// What waits behind it in its lane may go on.
    fn wakes(&self, reported: &Reported) -> bool {
        *reported == Reported::Recorded
    }
}

impl Reporting<'_> {
    async fn take(&self, group: &mut Group<'_>) -> Result<Reported, Failure> {
        let id = self.command_id.as_str();
        let known = group.tx.query_opt(OUTBOX_REPORT, &[&id]).await?;
        let known = known.and_then(|row| Some((row::int(&row, 0)?, row::flag(&row, 1))));
        let Some((n, is_of_stream)) = known else { return self.take_archived(group).await };
        let Some(stands) = position::read(group, n).await? else {
            // Archived while it was looked for; else its rows were lost.
            return Ok(match self.take_archived(group).await? {
                Reported::Unknown => Reported::Refused(Reason::Ended),
                taken => taken,
            });
        };
        let digests = digests_of(group, n, &stands).await?;
        let Stands { position: before, destination, ordering_key, .. } = stands;
        let equals_earlier = self.equals_earlier(group, n, &before).await?;
        if equals_earlier && matches!(before, Position::Ended(_)) && self.report.token.is_none() {
            return Ok(Reported::Repeated);
        }
        let lane = |key| (Lane { destination: &destination, key }, None);
        let lane = ordering_key.as_deref().map(lane);
        let subject = Subject::new(n, id, &destination);
        let subject = Subject { digests, lane, is_of_stream, ..subject };
        let report = Report { equals_earlier, ..self.report.clone() };
        // No rule about reports reads the terms.
        let terms = Terms::new(Contract::new(Idempotent::No));
        let next = transition(&before, Input::Reported(report), &terms, group.now);
        Ok(match position::write(group, subject, &before, next).await? {
            Written::Open(_) | Written::Ended(_) => Reported::Recorded,
            Written::Contradicted => Reported::Contradiction,
            Written::Ignored(_) => Reported::Repeated,
            Written::Refused(reason) => Reported::Refused(reason),
        })
    }

    /// The command's tombstone alone stands, or nothing.
    pub(crate) async fn take_archived(&self, group: &Group<'_>) -> Result<Reported, Failure> {
        let id = self.command_id.as_str();
        let archived = group.tx.query_opt(ARCHIVED_LOCK, &[&id]).await?;
        let Some(archived) = archived else { return Ok(Reported::Unknown) };
        if self.report.token.is_some() {
            return Ok(Reported::Refused(Reason::Ended));
        }
        let outcome = row::text(&archived, 0).unwrap_or_default();
        let said = self.report.outcome;
        let accepted = ReceiptOutcome::Accepted.name();
        if outcome == said.name() || (outcome == accepted && said == ReceiptOutcome::Completed) {
            return Ok(Reported::Repeated);
        }
        let rounds = row::count(&archived, 1);
        position::insert_contradiction(group, id, rounds, &self.report).await?;
        Ok(Reported::Contradiction)
    }

    /// Whether it repeats the receipt of an earlier round word for word.
    async fn equals_earlier(
        &self,
        group: &Group<'_>,
        n: i64,
        before: &Position,
    ) -> Result<bool, Failure> {
        let round = match before {
            Position::Open(open) => open.round,
            Position::Ended(ended) => ended.round,
        };
        if round <= 1 {
            return Ok(false);
        }
        let report = &self.report;
        Ok(position::receipts(group, n).await?.iter().any(|receipt| {
            receipt.round < round
                && receipt.outcome == report.outcome
                && receipt.result == report.result
                && receipt.evidence == report.evidence
        }))
    }
}

/// The digests that a receipt of what stands carries: whatever ends an attempt writes them in
/// place of its settle, and what was never sent has none.
pub(crate) async fn digests_of(
    group: &Group<'_>,
    n: i64,
    stands: &Stands,
) -> Result<Option<(Digest, Digest)>, Failure> {
    match &stands.position {
        Position::Open(open) if open.attempts > 0 && stands.digests.is_none() => {
            of_row(group, n).await
        }
        Position::Open(_) | Position::Ended(_) => Ok(stands.digests),
    }
}

async fn of_row(group: &Group<'_>, n: i64) -> Result<Option<(Digest, Digest)>, Failure> {
    let row = group.tx.query_opt(OUTBOX_ROW, &[&n]).await?;
    let command = row.and_then(|row| row::outbox(&row, 0, usize::MAX).ok());
    Ok(command.map(|command| {
        let digest = Digest::of(&command.body);
        (digest, command.row_digest(digest))
    }))
}
