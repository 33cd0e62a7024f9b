//! Puts every open delivery in doubt, after the store was restored from a backup.
//!
//! Guarantees: all of them and the record of it are one write; what the state machine says of each
//! is what stands. Does not: judge whether a resend is safe; the next claim does.

use counterfoil_core::domain::{Contract, Idempotent, Input, Micros, Position, Terms, transition};
use counterfoil_core::port::act::restored_reason;
use rusqlite::params;

use crate::group::Group;
use crate::member::Work;
use crate::pause::{Action, insert_action};
use crate::position::{self, Subject, Written};
use crate::row;
use crate::sql::Sql;

/// How many deliveries are held in memory at once.
const PAGE: u16 = 1000;

/// One restore.
pub(crate) struct Restored {
    pub(crate) at: Micros,
    pub(crate) actor: String,
}

impl Work for Restored {
    /// How many there were.
    type Answer = u64;

    fn size(&self) -> usize {
        usize::from(PAGE)
    }

    fn run(&self, group: &mut Group<'_>) -> rusqlite::Result<u64> {
        let mut count = 0;
        let mut after = 0;
        loop {
            let page = read_page(group, after)?;
            let Some(last) = page.last() else { break };
            after = number(last);
            for open in &page {
                count += u64::from(doubt(group, open, self.at)?);
            }
        }
        let action = Action { verb: "restored", about: "store", actor: &self.actor };
        let reason = restored_reason(self.at);
        let after = format!("{count} open deliveries in doubt");
        insert_action(group, &action, Some(&reason), (None, &after))?;
        Ok(count)
    }

    /// A doubt makes what waits a relay's to judge.
    fn wakes(&self, count: &u64) -> bool {
        *count > 0
    }
}

fn read_page(group: &mut Group<'_>, after: i64) -> rusqlite::Result<Vec<Position>> {
    let mut rows = group.sql(Sql::DeliveryPage)?.query(params![after, PAGE])?;
    let mut page = Vec::with_capacity(usize::from(PAGE));
    while let Some(row) = rows.next()? {
        page.push(Position::Open(row::delivery(row, 0)?.0));
    }
    Ok(page)
}

fn number(position: &Position) -> i64 {
    match position {
        Position::Open(open) => open.n,
        Position::Ended(ended) => ended.n,
    }
}

/// Whether it was as read; a state that is none stays, and parks in doubt by itself when due.
fn doubt(group: &mut Group<'_>, before: &Position, at: Micros) -> rusqlite::Result<bool> {
    // No rule about a restore reads the terms.
    let terms = Terms::new(Contract::new(Idempotent::No));
    let next = transition(before, Input::Restored { at }, &terms, group.now);
    let n = number(before);
    let subject = Subject::new(n, "", "");
    Ok(matches!(position::write(group, subject, before, next)?, Written::Open(_)))
}
