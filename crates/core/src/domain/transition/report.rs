//! What a receiver's report does.
//!
//! Guarantees: the first one ends the command, from every state that has not ended; another
//! outcome later is kept as a contradiction; a fenced one counts only for the newest token.
//! Does not: believe more than `completed` and `rejected`.

use super::super::lease::Token;
use super::super::receipt::ReceiptOutcome;
use super::super::time::Micros;
use super::{Next, Position, Reason, Report, Transition, receipt};

pub(super) fn reported(position: &Position, report: Report, now: Micros) -> Transition {
    if !matches!(report.outcome, ReceiptOutcome::Completed | ReceiptOutcome::Rejected) {
        return Transition::Refused(Reason::NotReportable);
    }
    match position {
        Position::Open(open) => {
            // What was never claimed has no token that a receiver could have seen.
            let fenced_off = |token| token == Token::NONE || token != open.token;
            if report.token.is_some_and(fenced_off) {
                return Transition::Refused(Reason::StaleToken);
            }
            if report.equals_earlier && report.token.is_none() {
                return Transition::ignored(Reason::Repeated);
            }
            let Report { outcome, result, evidence, source, .. } = report;
            Transition::to(Next::Ended(receipt(open, outcome, result, evidence, &source, now)))
        }
        Position::Ended(_) if report.token.is_some() => Transition::Refused(Reason::Ended),
        Position::Ended(_) if report.equals_earlier => Transition::ignored(Reason::Repeated),
        Position::Ended(ended) => after_the_end(ended.outcome, report),
    }
}

/// A report about a round that has its receipt: a repeat, or a contradiction.
pub(super) fn after_the_end(stands: ReceiptOutcome, report: Report) -> Transition {
    if says_the_same(stands, report.outcome) {
        Transition::ignored(Reason::Repeated)
    } else {
        Transition::to(Next::Contradicted(report))
    }
}

/// Completed after accepted is no contradiction: the broker took it, and it was done.
pub(super) fn says_the_same(stands: ReceiptOutcome, said: ReceiptOutcome) -> bool {
    stands == said || (stands == ReceiptOutcome::Accepted && said == ReceiptOutcome::Completed)
}
