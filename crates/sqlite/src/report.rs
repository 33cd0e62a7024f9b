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
use rusqlite::OptionalExtension as _;

use crate::group::Group;
use crate::lane::Lane;
use crate::member::Work;
use crate::position::{self, Stands, Subject, Written};
use crate::row;
use crate::sql::Sql;

/// One report.
pub(crate) struct Reporting {
    pub(crate) command_id: CommandId,
    pub(crate) report: Report,
}

impl Work for Reporting {
    type Answer = Reported;

    fn size(&self) -> usize {
        2
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<Reported> {
        let id = self.command_id.as_str();
        let found =
            group.sql(Sql::OutboxReport)?.query_row([id], |row| Ok((row.get(0)?, row.get(1)?)));
        let Some((n, is_of_stream)) = found.optional()? else { return self.report_archived(group) };
        let Some(stands) = position::read(group, n)? else {
            return Ok(Reported::Refused(Reason::Ended));
        };
        let digests = digests_of(group, n, &stands)?;
        let Stands { position: before, destination, ordering_key, .. } = stands;
        let equals_earlier = self.equals_earlier(group, n, &before)?;
        if equals_earlier && matches!(before, Position::Ended(_)) && self.report.token.is_none() {
            return Ok(Reported::Repeated);
        }
        let lane = |key| (Lane { destination: destination.as_bytes(), key }, None);
        let lane = ordering_key.as_deref().map(lane);
        let subject = Subject::new(n, id, &destination);
        let subject = Subject { digests, lane, is_of_stream, ..subject };
        let report = Report { equals_earlier, ..self.report.clone() };
        // No rule about reports reads the terms.
        let terms = Terms::new(Contract::new(Idempotent::No));
        let next = transition(&before, Input::Reported(report), &terms, group.now);
        Ok(match position::write(group, subject, &before, next)? {
            Written::Open(_) | Written::Ended(_) => Reported::Recorded,
            Written::Contradicted => Reported::Contradiction,
            Written::Ignored(_) => Reported::Repeated,
            Written::Refused(reason) => Reported::Refused(reason),
        })
    }
}

impl Reporting {
    /// The command's tombstone alone stands, or nothing.
    pub(crate) fn report_archived(&self, group: &mut Group<'_>) -> rusqlite::Result<Reported> {
        let id = self.command_id.as_str();
        let archived = group.sql(Sql::ArchivedRow)?.query_row([id], |row| {
            Ok((row::lossy(row, 4)?.unwrap_or_default(), row::count(row, 5)?))
        });
        let Some((outcome, rounds)) = archived.optional()? else { return Ok(Reported::Unknown) };
        if self.report.token.is_some() {
            return Ok(Reported::Refused(Reason::Ended));
        }
        let said = self.report.outcome;
        let accepted = ReceiptOutcome::Accepted.name();
        if outcome == said.name() || (outcome == accepted && said == ReceiptOutcome::Completed) {
            return Ok(Reported::Repeated);
        }
        position::insert_contradiction(group, id, rounds, &self.report)?;
        Ok(Reported::Contradiction)
    }

    /// Whether it repeats the receipt of an earlier round word for word.
    fn equals_earlier(
        &self,
        group: &mut Group<'_>,
        n: i64,
        before: &Position,
    ) -> rusqlite::Result<bool> {
        let round = match before {
            Position::Open(open) => open.round,
            Position::Ended(ended) => ended.round,
        };
        if round <= 1 {
            return Ok(false);
        }
        let mut rows = group.sql(Sql::ReceiptOfCommand)?.query([n])?;
        while let Some(found) = rows.next()? {
            let receipt = row::receipt(found, 0)?;
            let same = receipt.round < round
                && receipt.outcome == self.report.outcome
                && receipt.result == self.report.result
                && receipt.evidence == self.report.evidence;
            if same {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The digests that a receipt of what stands carries: whatever ends an attempt writes them in
/// place of its settle, and what was never sent has none.
pub(crate) fn digests_of(
    group: &mut Group<'_>,
    n: i64,
    stands: &Stands,
) -> rusqlite::Result<Option<(Digest, Digest)>> {
    match &stands.position {
        Position::Open(open) if open.attempts > 0 && stands.digests.is_none() => of_row(group, n),
        Position::Open(_) | Position::Ended(_) => Ok(stands.digests),
    }
}

fn of_row(group: &mut Group<'_>, n: i64) -> rusqlite::Result<Option<(Digest, Digest)>> {
    let command = group.sql(Sql::OutboxRow)?.query_row([n], |row| row::outbox(row, 0, usize::MAX));
    let command = command.optional()?.and_then(Result::ok);
    Ok(command.map(|command| {
        let digest = Digest::of(&command.body);
        (digest, command.row_digest(digest))
    }))
}
