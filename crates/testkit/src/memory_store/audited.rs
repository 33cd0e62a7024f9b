//! What an incremental audit asks of the rows in memory.
//!
//! Guarantees: what arrives at the time of a horizon or later is above it. Does not: wait for
//! anybody; nobody leaves a transaction open here.

use std::collections::BTreeSet;

use counterfoil_core::domain::laws::{ContradictionFacts, FlowFacts};
use counterfoil_core::domain::{Delivery, Digest, Micros, Span, State, Token};
use counterfoil_core::port::Actor;
use counterfoil_core::port::archive::ActionRow;
use counterfoil_core::port::read::Facts;
use counterfoil_core::port::seal::{
    Arrived, Audited, EventRead, FlowsFrom, Horizon, InputPage, Sealed,
};
use counterfoil_core::port::store::StoreError;

use super::MemoryStore;
use super::rows::{DeliveryEntry, Rows};

/// Clocks of several writers differ.
const EVENTS_BEHIND: Span = Span::from_secs(3600);

impl Audited for MemoryStore {
    async fn horizon(&self) -> Result<Option<Horizon>, StoreError> {
        self.archive_beside().await?;
        self.read(|rows, now| (!rows.left_open).then(|| rows.horizon(now)))
    }

    async fn ended_since(
        &self,
        after: Arrived,
        limit: usize,
    ) -> Result<(Facts, Arrived), StoreError> {
        self.read(|rows, now| rows.ended_since(after, limit, now))
    }

    async fn events(
        &self,
        after: Option<(String, i64)>,
        limit: usize,
    ) -> Result<Vec<EventRead>, StoreError> {
        self.read(|rows, _| {
            let later =
                rows.events.iter().filter(|(at, _)| after.as_ref().is_none_or(|it| *at > it));
            later.take(limit).map(|(_, event)| Ok(event.clone())).collect()
        })
    }

    async fn flow_facts(
        &self,
        from: FlowsFrom,
        limit: usize,
    ) -> Result<Vec<FlowFacts>, StoreError> {
        self.read(|rows, _| rows.flow_facts(&from, limit))
    }

    async fn input_facts(
        &self,
        from: Option<String>,
        limit: usize,
    ) -> Result<InputPage, StoreError> {
        self.read(|rows, _| rows.input_facts(from.as_ref(), limit))
    }

    async fn actions(&self, after: i64, limit: usize) -> Result<Vec<ActionRow>, StoreError> {
        self.read(|rows, _| {
            let acts = (1..).zip(&rows.actions).filter(|(arrival, _)| *arrival > after);
            acts.take(limit).map(|(arrival, act)| act.row(arrival)).collect()
        })
    }

    async fn contradictions(
        &self,
        after: i64,
        limit: usize,
    ) -> Result<Vec<(String, ContradictionFacts)>, StoreError> {
        self.read(|rows, _| {
            let said = (1..).zip(&rows.contradictions).filter(|(arrival, _)| *arrival > after);
            let told = |(arrival, entry): (i64, &super::rows::ContradictionEntry)| {
                (entry.command_id.clone(), entry.facts(arrival))
            };
            said.take(limit).map(told).collect()
        })
    }

    async fn numbers(&self, command_ids: &[String]) -> Result<Vec<Option<i64>>, StoreError> {
        self.read(|rows, _| {
            let archived = |id: &String| rows.archived.contains_key(id).then_some(0);
            command_ids.iter().map(|id| rows.n_of(id).or_else(|| archived(id))).collect()
        })
    }

    async fn archived(&self) -> Result<i64, StoreError> {
        self.read(|rows, _| i64::try_from(rows.archived.len()).unwrap_or(i64::MAX))
    }

    async fn sealed(&self) -> Result<Option<Sealed>, StoreError> {
        self.read(|rows, _| {
            let (version, seal) = rows.seal.clone()?;
            Some(Sealed { version, seal, recorded_at: rows.sealed_at })
        })
    }

    async fn save_seal(&self, version: i64, seal: &str) -> Result<bool, StoreError> {
        self.write(|rows, now| {
            let written = rows.save_seal(version, seal, now);
            (written, written)
        })
    }

    async fn reseal(
        &self,
        version: i64,
        seal: &str,
        actor: Actor,
        recount: bool,
    ) -> Result<bool, StoreError> {
        self.write(|rows, now| {
            let written = rows.save_seal(version, seal, now);
            if written {
                if recount {
                    rows.recount();
                }
                let change = ("sealed", "sealed anew");
                rows.record_act(("reseal", "store"), change, &actor.name, &actor.reason, now);
            }
            (written, written)
        })
    }

    async fn mend(&self, command_ids: &[String], actor: Actor) -> Result<u64, StoreError> {
        self.write(|rows, now| {
            let mended = command_ids.iter().filter(|id| rows.mend(id, &actor, now)).count();
            (mended as u64, mended > 0)
        })
    }
}

impl Rows {
    fn horizon(&self, now: Micros) -> Horizon {
        let count = |of: usize| i64::try_from(of).unwrap_or(i64::MAX);
        Horizon {
            n: self.outbox.keys().next_back().copied().unwrap_or(0),
            receipt: now.get() - 1,
            attempt: now.get() - 1,
            contradiction: count(self.contradictions.len()),
            action: count(self.actions.len()),
            event: Micros::new(now.get() - EVENTS_BEHIND.as_micros()),
        }
    }

    fn save_seal(&mut self, version: i64, seal: &str, now: Micros) -> bool {
        let stands = self.seal.as_ref().map_or(0, |(version, _)| *version);
        if stands == version {
            self.seal = Some((version + 1, seal.to_owned()));
            self.sealed_at = now;
        }
        stands == version
    }

    /// Every tally becomes what receipts and tombstones say.
    fn recount(&mut self) {
        for totals in self.totals() {
            for (outcome, _, found) in totals.tally {
                self.tally.insert((totals.destination.clone(), outcome), found);
            }
        }
    }

    fn ended_since(&self, after: Arrived, limit: usize, now: Micros) -> (Facts, Arrived) {
        let place = |arrived: &Arrived| (arrived.arrival, arrived.n, arrived.round);
        let arrived = self.receipts.iter().map(|((n, round), entry)| Arrived {
            arrival: entry.receipt.recorded_at.get(),
            n: *n,
            round: *round,
        });
        let mut arrived: Vec<Arrived> =
            arrived.filter(|arrived| place(arrived) > place(&after)).collect();
        arrived.sort_unstable_by_key(place);
        let last = arrived.len() <= limit;
        arrived.truncate(limit);
        let next = arrived.last().copied().unwrap_or(after);
        let commands = arrived.iter().map(|arrived| self.facts_of(arrived.n)).collect();
        (Facts { now, commands, last }, next)
    }

    fn mend(&mut self, id: &str, actor: &Actor, now: Micros) -> bool {
        let lost = self
            .n_of(id)
            .filter(|n| !self.deliveries.contains_key(n) && self.receipts_of(*n).next().is_none());
        let Some(n) = lost else { return false };
        let Some(outbox) = self.outbox.get(&n) else { return false };
        let (recorded_at, destination) = (outbox.recorded_at(), outbox.destination().to_owned());
        let attempts = self.attempts.get(&n).into_iter().flatten();
        let token = attempts.map(|entry| entry.attempted.token).max().unwrap_or(Token::new(0));
        let digests = outbox.row.as_ref().ok().map(|row| {
            let digest = Digest::of(&row.body);
            (digest, row.row_digest(digest))
        });
        // Whoever still holds a lease of it settles late, and its first send comes before.
        let token = token.next(now);
        let begun = self.facts_of(n).begun;
        let delivery = Delivery {
            state: State::Uncertain,
            round: u32::try_from(begun + 1).unwrap_or(u32::MAX),
            in_doubt: true,
            available_at: None,
            token,
            first_sent_at: Some(recorded_at),
            last_lease_until: Some(now),
            key_seq: self.lane_of(n).map(|lane| self.free_place(&lane)),
            last_outcome: Some("mended: its delivery was lost".into()),
            ..Delivery::new(n, now)
        };
        let entry = DeliveryEntry { delivery, destination, strange_state: None, digests };
        self.deliveries.insert(n, entry);
        let about = ("mend", id);
        self.record_act(
            about,
            ("missing", State::Uncertain.name()),
            &actor.name,
            &actor.reason,
            now,
        );
        true
    }

    /// The first place of a lane that nobody holds, else a new one.
    fn free_place(&mut self, lane: &(String, String)) -> i64 {
        let open = self.deliveries.iter().map(|(n, entry)| (*n, entry.delivery.key_seq));
        let ended = self.receipts.iter().map(|((n, _), entry)| (*n, entry.receipt.key_seq));
        let held = open.chain(ended).filter(|(n, _)| self.lane_of(*n).as_ref() == Some(lane));
        let held: BTreeSet<i64> = held.filter_map(|(_, place)| place).collect();
        let last = self.lanes.get(lane).copied().unwrap_or(0);
        let free = (1..=last).find(|place| !held.contains(place));
        free.unwrap_or_else(|| self.draw_place(lane.clone()))
    }
}
