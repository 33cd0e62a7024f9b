//! Receivers' reports.
//!
//! Guarantees: the first one ends a command; another outcome later is kept beside it. Does not:
//! decide; the state machine does.

use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::{
    CommandId, Contract, Idempotent, Input, Micros, Position, Reason, ReceiptOutcome, Terms,
    transition,
};
use counterfoil_core::port::store::Reported;

use super::rows::{Beside, Change, Rows};

impl Rows {
    pub(super) fn report(
        &mut self,
        command_id: &CommandId,
        report: Report,
        now: Micros,
    ) -> (Reported, bool) {
        let known = self.n_of(command_id.as_str());
        let Some((n, position)) = known.and_then(|n| Some((n, self.position(n)?))) else {
            return self.report_archived(command_id, report, now);
        };
        let round = match &position {
            Position::Open(open) => open.round,
            Position::Ended(ended) => ended.round,
        };
        let equals_earlier = self.receipts_of(n).map(|entry| &entry.receipt).any(|earlier| {
            earlier.round < round
                && earlier.outcome == report.outcome
                && earlier.result == report.result
                && earlier.evidence == report.evidence
        });
        let input = Input::Reported(Report { equals_earlier, ..report });
        // A report is judged by evidence alone, whatever the terms.
        let terms = Terms::new(Contract::new(Idempotent::No));
        let next = transition(&position, input, &terms, now);
        match self.apply(n, next, Beside { now, ..Beside::default() }) {
            Change::Open(_) | Change::Ended(_) => (Reported::Recorded, true),
            Change::Contradicted => (Reported::Contradiction, true),
            Change::Ignored(_) => (Reported::Repeated, false),
            Change::Refused(reason) => (Reported::Refused(reason), false),
        }
    }

    pub(super) fn report_archived(
        &mut self,
        command_id: &CommandId,
        report: Report,
        now: Micros,
    ) -> (Reported, bool) {
        let Some(tomb) = self.archived.get(command_id.as_str()) else {
            return (Reported::Unknown, false);
        };
        if report.token.is_some() {
            return (Reported::Refused(Reason::Ended), false);
        }
        let accepted = ReceiptOutcome::Accepted.name();
        let said = report.outcome;
        if tomb.outcome == said.name()
            || (tomb.outcome == accepted && said == ReceiptOutcome::Completed)
        {
            return (Reported::Repeated, false);
        }
        let rounds = tomb.rounds;
        self.contradict_id(command_id.to_string(), rounds, report, now);
        (Reported::Contradiction, true)
    }
}
