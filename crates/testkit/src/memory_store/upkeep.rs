//! What keeps a store's book beside claims and settles: the sweep, pauses, and the act after a
//! restore.
//!
//! Guarantees: what is past its expiry is ended by the state machine, paused destination or not;
//! who paused or restored is recorded. Does not: purge or archive.

use std::collections::BTreeMap;

use counterfoil_core::domain::{
    CommandId, Contract, Destination, Idempotent, Input, Micros, Position, ReceiptOutcome, State,
    Terms, transition,
};
use counterfoil_core::port::Announce;
use counterfoil_core::port::act::restored_reason;
use counterfoil_core::port::store::{CONTROL_RANGE, ParkedNow, Swept};

use super::rows::{ActionEntry, Beside, Change, DeliveryEntry, ReceiptEntry, Rows};

impl Rows {
    /// What a sweep did, and whether it wrote anything.
    pub(super) fn sweep(
        &mut self,
        limit: usize,
        announce: Option<&Announce>,
        now: Micros,
    ) -> (Swept, bool) {
        let mut swept = Swept::default();
        let due = self.past_expiry(now);
        swept.more = due.len() > limit;
        let mut wrote = false;
        for (expires_at, n) in due.into_iter().take(limit) {
            let Some(position) = self.position(n) else { continue };
            let terms = self.terms_at(n);
            let next = transition(&position, Input::Swept { expires_at }, &terms, now);
            match self.apply(n, next, Beside { now, ..Beside::default() }) {
                Change::Ended(_) => swept.expired.push(self.named(n)),
                Change::Open(State::Asking) => swept.asking += 1,
                Change::Open(_) => {
                    let Position::Open(before) = &position else { continue };
                    let reason = ParkedNow::swept_reason(before);
                    let parked = self.parked_now(n, now);
                    swept.parked.extend(parked.map(|parked| ParkedNow { reason, ..parked }));
                }
                Change::Contradicted | Change::Ignored(_) | Change::Refused(_) => continue,
            }
            wrote = true;
        }
        swept.promoted = self.sweep_lanes(now);
        wrote |= swept.promoted > 0;
        self.alert(announce, &swept.parked, now);
        (swept, wrote)
    }

    /// Whether a sweep would find something.
    #[must_use]
    pub fn has_expired(&self, now: Micros) -> bool {
        !self.past_expiry(now).is_empty()
    }

    /// Pending commands past their expiry, the longest overdue first.
    fn past_expiry(&self, now: Micros) -> Vec<(Micros, i64)> {
        let past = |(n, entry): (&i64, &DeliveryEntry)| {
            let row = self.outbox.get(n)?.row.as_ref().ok()?;
            let at = row.expires_at.filter(|at| *at <= now)?;
            let pending = entry.delivery.state == State::Pending && entry.strange_state.is_none();
            // In doubt behind another of its lane, it waits for its turn.
            let waits = entry.delivery.in_doubt && entry.delivery.available_at.is_none();
            (pending && !waits).then_some((at, *n))
        };
        let mut found: Vec<_> = self.deliveries.iter().filter_map(past).collect();
        found.sort_unstable();
        found
    }

    /// The terms by the stored contract; without one nobody can be asked.
    pub(super) fn terms_at(&self, n: i64) -> Terms {
        let named = self.outbox.get(&n).and_then(|it| self.destinations.get(it.destination()));
        let stored = named.and_then(|entry| entry.contract.clone());
        Terms::new(stored.unwrap_or_else(|| Contract::new(Idempotent::No)))
    }

    /// A command's id and destination, for people.
    fn named(&self, n: i64) -> (String, String) {
        self.outbox.get(&n).map_or_else(
            || (format!("n={n}"), String::new()),
            |entry| (entry.id_text(), entry.destination().to_owned()),
        )
    }

    pub(super) fn newest_completed(
        &self,
        destination: &Destination,
        except: &CommandId,
    ) -> Option<CommandId> {
        let mut newest: Vec<&ReceiptEntry> = self.receipts.values().collect();
        newest.sort_by_key(|entry| std::cmp::Reverse(entry.receipt.recorded_at));
        newest.into_iter().take(CONTROL_RANGE).find_map(|entry| {
            let row = self.outbox.get(&entry.receipt.n)?.row.as_ref().ok()?;
            // What a person says proves nothing about a URL.
            let by_receiver = entry.receipt.outcome == ReceiptOutcome::Completed
                && !entry.receipt.source.starts_with("operator ");
            let fits = by_receiver
                && entry.destination == destination.as_str()
                && row.command_id != *except;
            fits.then(|| row.command_id.clone())
        })
    }

    /// Whether the destination was not paused before.
    pub(super) fn pause(
        &mut self,
        destination: &Destination,
        actor: &str,
        reason: &str,
        now: Micros,
    ) -> bool {
        let entry = self.destinations.entry(destination.to_string()).or_default();
        if entry.paused.is_some() {
            return false;
        }
        entry.paused = Some(reason.to_owned());
        entry.paused_by = Some((now, actor.to_owned()));
        self.record_act(("pause", destination.as_str()), ("running", "paused"), actor, reason, now);
        true
    }

    /// Lets a paused destination go on.
    pub(super) fn resume(
        &mut self,
        destination: &Destination,
        actor: &str,
        reason: &str,
        now: Micros,
    ) -> bool {
        let entry = self.destinations.entry(destination.to_string()).or_default();
        if entry.paused.take().is_none() {
            return false;
        }
        let name = destination.as_str();
        self.record_act(("resume", name), ("paused", "running"), actor, reason, now);
        true
    }

    pub(super) fn contracts(&self) -> BTreeMap<String, Option<Contract>> {
        let declared = |(name, entry): (&String, &super::rows::DestinationEntry)| {
            Some((name.clone(), Some(entry.contract.clone()?)))
        };
        self.destinations.iter().filter_map(declared).collect()
    }

    /// How many deliveries were open.
    pub(super) fn restored(&mut self, at: Micros, actor: &str, now: Micros) -> u64 {
        let open: Vec<i64> = self.deliveries.keys().copied().collect();
        let mut count = 0;
        for n in open {
            let Some(position) = self.position(n) else { continue };
            let terms = self.terms_at(n);
            let next = transition(&position, Input::Restored { at }, &terms, now);
            let change = self.apply(n, next, Beside { now, ..Beside::default() });
            count += u64::from(matches!(change, Change::Open(_)));
        }
        let reason = restored_reason(at);
        self.record_act(("restored", "store"), ("", "in doubt"), actor, &reason, now);
        count
    }

    pub(super) fn record_act(
        &mut self,
        (verb, about): (&str, &str),
        (before, after): (&str, &str),
        actor: &str,
        reason: &str,
        now: Micros,
    ) {
        self.actions.push(ActionEntry {
            verb: verb.to_owned(),
            about: about.to_owned(),
            before: before.to_owned(),
            after: after.to_owned(),
            actor: actor.to_owned(),
            reason: reason.to_owned(),
            recorded_at: now,
        });
    }
}
