//! What the attempt rows of one round tell.
//!
//! Guarantees: late settles are left out, since they change nothing. Does not: know attempts that
//! went plainly well, which leave no row.

use super::{AttemptFacts, CommandFacts};
use crate::domain::Delivery;

/// The attempts of one round that changed something.
pub(super) struct Told<'a> {
    rows: Vec<&'a AttemptFacts>,
}

impl<'a> Told<'a> {
    pub(super) fn of_round(facts: &'a CommandFacts, round: u32) -> Self {
        let own = |row: &&AttemptFacts| row.round == round && row.purpose != "late";
        Self { rows: facts.attempts.iter().filter(own).collect() }
    }

    pub(super) fn newest(&self) -> Option<&'a AttemptFacts> {
        self.rows.last().copied()
    }

    /// One that is told of twice.
    pub(super) fn repeated(&self) -> Option<&'a AttemptFacts> {
        let same =
            |a: &AttemptFacts, b: &AttemptFacts| (a.token, &a.purpose) == (b.token, &b.purpose);
        let mut rows = self.rows.iter().enumerate();
        rows.find(|(at, row)| self.rows[..*at].iter().any(|other| same(row, other)))
            .map(|(_, row)| *row)
    }

    pub(super) fn count(&self, purpose: &str) -> usize {
        self.rows.iter().filter(|row| row.purpose == purpose).count()
    }

    /// Sends that ended, those included whose receipt did not come: of each a row stands, unless
    /// it is published still, or ended the command.
    pub(super) fn sends(&self) -> usize {
        self.count("send") + self.count("receipt")
    }

    pub(super) fn any(&self, is: impl Fn(&AttemptFacts) -> bool) -> bool {
        self.rows.iter().any(|row| is(row))
    }
}

/// Whether it was parked or put back by something that leaves no attempt row.
pub(super) fn is_set_apart(open: &Delivery) -> bool {
    let words = open.last_outcome.as_deref().unwrap_or_default();
    words.starts_with("unreadable: ") || words.starts_with("mended: ")
}

/// Whether its last words are those of an answer that a receipt is still to follow.
pub(super) fn is_accepted(open: &Delivery) -> bool {
    open.last_outcome.as_deref().is_some_and(|words| words.starts_with("accepted: "))
}
