//! Puts every open delivery in doubt, after the store was restored from a backup.
//!
//! Guarantees: all of them and the record of it are one transaction; what the state machine says of
//! each is what stands. Does not: judge whether a resend is safe; the next claim does.

use counterfoil_core::domain::{
    Contract, Delivery, Idempotent, Input, Micros, Next, Position, Terms, Transition, transition,
};

use counterfoil_core::port::act::restored_reason;

use crate::failure::Failure;
use crate::group::Group;
use crate::lane;
use crate::pause::{Action, insert_action};
use crate::row::{self, micros};
use crate::statement::{Statement, statement};
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;

const PAGE_OF: Statement = statement!("delivery_page");
const DOUBT: Statement = statement!("delivery_doubt");

/// How many deliveries are held in memory at once.
const PAGE: i64 = 1000;

/// One restore.
pub(crate) struct Restored<'a> {
    pub(crate) store: &'a Inner,
    pub(crate) at: Micros,
    pub(crate) actor: String,
}

impl Work for Restored<'_> {
    /// How many there were.
    type Answer = u64;

    async fn run(&self, tx: &Tx<'_>) -> Result<u64, Failure> {
        let group = Group::begin(tx, self.store).await?;
        let (mut count, mut after) = (0, 0);
        loop {
            let rows = tx.query(PAGE_OF, &[&after, &PAGE]).await?;
            let Some(last) = rows.last() else { break };
            after = row::int(last, 0).unwrap_or(i64::MAX);
            let page = rows.iter().map(|row| row::delivery(row, 0).0);
            let doubted: Vec<_> = page.filter_map(|open| self.doubt(&open, group.now)).collect();
            count += doubted.len() as u64;
            write(&group, &doubted).await?;
        }
        tx.made_due_anywhere();
        let action = Action { verb: "restored", about: "store", actor: &self.actor };
        let reason = restored_reason(self.at);
        let after = format!("{count} open deliveries in doubt");
        insert_action(&group, &action, Some(&reason), (None, &after)).await?;
        Ok(count)
    }

    /// A doubt makes what waits a relay's to judge.
    fn wakes(&self, count: &u64) -> bool {
        *count > 0
    }
}

impl Restored<'_> {
    /// What becomes of an open one.
    fn doubt(&self, before: &Delivery, now: Micros) -> Option<Delivery> {
        // No rule about a restore reads the terms.
        let terms = Terms::new(Contract::new(Idempotent::No));
        let position = Position::Open(before.clone());
        match transition(&position, Input::Restored { at: self.at }, &terms, now) {
            Transition::Applied { next: Next::Open(next), .. } => {
                Some(lane::without_turn(Some(before), next))
            }
            _ => None,
        }
    }
}

async fn write(group: &Group<'_>, all: &[Delivery]) -> Result<(), Failure> {
    let numbers: Vec<i64> = all.iter().map(|one| one.n).collect();
    let states: Vec<&str> = all.iter().map(|one| one.state.name()).collect();
    let doubts: Vec<i32> = all.iter().map(|one| i32::from(one.in_doubt)).collect();
    let due: Vec<Option<i64>> = all.iter().map(|one| micros(one.available_at)).collect();
    let tokens: Vec<i64> = all.iter().map(|one| one.token.get()).collect();
    let leases: Vec<Option<i64>> = all.iter().map(|one| micros(one.lease_until)).collect();
    let sent: Vec<Option<i64>> = all.iter().map(|one| micros(one.first_sent_at)).collect();
    let last: Vec<Option<i64>> = all.iter().map(|one| micros(one.last_lease_until)).collect();
    let words: Vec<Option<&str>> = all.iter().map(|one| one.last_outcome.as_deref()).collect();
    let columns: [&dyn crate::param::Param; 9] =
        [&numbers, &states, &doubts, &due, &tokens, &leases, &sent, &last, &words];
    group.tx.execute(DOUBT, &columns).await
}
