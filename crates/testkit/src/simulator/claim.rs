//! What a relay claims, held against its breakers and against what is due.
//!
//! Guarantees: looked at when it asks and when the store grants. Does not: know the rules of
//! breakers; see `breaker`.

use counterfoil_core::domain::{Delivery, Outcome, State};
use counterfoil_core::port::Store;
use counterfoil_core::port::store::{Claimed, Ended, Exchanged, Settle, Settled, StoreError};

use super::Broken;
use super::breaker::{judge_oldest, judge_wait};
use super::request::{Issued, Write, Written};
use super::world::World;

impl World<'_> {
    /// A process asks the store for something.
    pub(super) fn judge_asked(&mut self, pid: u64, write: &Write, issued: &Issued) {
        let Write::Exchange(exchange) = write else { return };
        let watch = &self.watch;
        let claimed_ms = |settle: &Settle| {
            watch.granted_to(settle.claimed.delivery.n, settle.claimed.delivery.token.get())
        };
        let open = (&issued.opened, &issued.closed);
        let judged = self.breakers.asked(pid, exchange, open, &claimed_ms, &mut self.coverage);
        if let Err(broken) = judged {
            self.breaks(broken);
        }
    }

    /// The store did what was asked; `is_not_known`: the process will not hear of it.
    pub(super) fn judge_granted(
        &mut self,
        (slot, pid): (usize, u64),
        write: &Write,
        issued: &Issued,
        result: &Result<Written, StoreError>,
        is_not_known: bool,
    ) {
        let (Write::Exchange(exchange), Ok(Written::Exchange(done))) = (write, result) else {
            return;
        };
        let mut judged = Ok(());
        if !is_not_known {
            let opened = &issued.opened;
            let coverage = &mut self.coverage;
            judged = self.breakers.granted(pid, issued.at_ms, opened, done, coverage);
        }
        let judged = judged.and_then(|()| self.judge_due(slot, done)).and_then(|()| {
            let settles = exchange.settles.iter().zip(&done.settled);
            settles.filter(|(it, _)| !it.burns).try_for_each(|(it, settled)| {
                let (Settled::Open(State::Pending), Ended::Outcome(outcome)) = (settled, &it.ended)
                else {
                    return Ok(());
                };
                self.judge_unburnt(slot, it.claimed.delivery.n, outcome)
            })
        });
        if let Err(broken) = judged {
            self.breaks(broken);
        }
    }

    /// A probe that failed is due again when the next may go.
    fn judge_unburnt(&self, slot: usize, n: i64, outcome: &Outcome) -> Result<(), Broken> {
        let Some(process) = &self.slots[slot] else { return Ok(()) };
        let Ok(now) = process.store.now() else { return Ok(()) };
        let after = process.store.look(|rows| {
            let row = rows.deliveries.get(&n)?;
            Some((rows.outbox.get(&n)?.id_text(), row.delivery.clone()))
        });
        after.map_or(Ok(()), |(id, after)| judge_wait(&id, &after, outcome, now))
    }

    /// Of what was due, the oldest was claimed.
    fn judge_due(&self, slot: usize, done: &Exchanged) -> Result<(), Broken> {
        let Some(process) = &self.slots[slot] else { return Ok(()) };
        let Ok(now) = process.store.now() else { return Ok(()) };
        let claimed: Vec<i64> = done.claimed.iter().map(|it| it.delivery.n).collect();
        for site in &self.plan.sites {
            let here = |it: &&Claimed| it.command.destination == site.name;
            if !done.claimed.iter().any(|it| here(&it)) {
                continue;
            }
            if process.store.look(|rows| rows.is_paused(site.name.as_str())) {
                let rule = "nothing is claimed at a paused destination";
                return Err(Broken::new(rule, site.name.to_string()));
            }
            let before: Vec<(&Delivery, bool)> = process.store.look(|rows| {
                let of = |n: &i64| {
                    rows.outbox.get(n).is_some_and(|row| row.destination() == site.name.as_str())
                };
                let is_changed = |one: &Delivery| {
                    rows.deliveries.get(&one.n).is_none_or(|row| row.delivery != *one)
                };
                let open = self.watch.all().filter_map(|(_, open)| open);
                open.filter(|one| of(&one.n)).map(|one| (one, is_changed(one))).collect()
            });
            judge_oldest(site.name.as_str(), &before, &claimed, now)?;
        }
        Ok(())
    }
}
