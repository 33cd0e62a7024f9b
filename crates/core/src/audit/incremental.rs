//! An incremental audit: what came since the seal, and all that is open.
//!
//! Guarantees: its cost goes by what is new and what is open, not by what has ended. Does not: look
//! at ended commands, events and lanes that nothing has touched since; a full audit does.

use std::collections::{BTreeMap, BTreeSet};

use super::page::{Pages, just_before};
use super::reading::Reading;
use super::seal::{Seal, Table, tell};
use super::totals::{self, Between, Recorded};
use crate::domain::lane::is_in_flight;
use crate::domain::laws::{
    CommandFacts, LaneFacts, Violation, law, of_digested, of_event, of_lane,
};
use crate::port::read::{Facts, FactsFrom};
use crate::port::seal::Arrived;
use crate::port::store::StoreError;
use crate::port::{Archive, Audited};

/// After every receipt of one time of arrival.
const WHOLE_TIME: (i64, u32) = (i64::MAX, i32::MAX.unsigned_abs());

impl<S: Audited + Archive> Reading<'_, S> {
    /// Reads what came since `seal`, and what is open.
    pub(super) async fn incremental(&mut self, seal: &Seal) -> Result<(), StoreError> {
        let mut lanes = Lanes::default();
        let mut counted = Recorded::new();
        self.new_commands(seal, &mut counted, &mut lanes).await?;
        let seen = self.ended(seal).await?;
        self.open(seal, seen, &mut lanes).await?;
        self.lanes(lanes).await?;
        self.open_flows().await?;
        self.inputs().await?;
        self.new_contradictions(seal.horizon.contradiction).await?;
        self.actions(seal.horizon.action).await?;
        self.recorded = totals::sum(std::mem::take(&mut self.recorded), &seal.recorded);
        self.kinds = std::mem::take(&mut self.kinds).and(&seal.kinds);
        self.totals(seal, &counted).await?;
        self.buried(seal).await
    }

    fn judge(&mut self, command: &CommandFacts, lanes: &mut Lanes) {
        let digests = command.digests();
        self.findings.checked.commands += 1;
        self.findings.checked.acknowledged += command.acknowledged().0 as u64;
        self.findings.add(of_digested(command, digests));
        self.fresh.outbox(command, digests.map(|digests| digests.row));
        lanes.meet(command);
    }

    async fn new_commands(
        &mut self,
        seal: &Seal,
        counted: &mut Recorded,
        lanes: &mut Lanes,
    ) -> Result<(), StoreError> {
        let from = FactsFrom { n: seal.horizon.n.saturating_add(1), open_only: false };
        let mut pages = Pages::new(self.store, from, self.page);
        while let Some(facts) = pages.next().await? {
            for command in &facts.commands {
                self.judge(command, lanes);
                totals::record(counted, command);
                if command.n <= self.fresh.window.to.n {
                    totals::record(&mut self.recorded, command);
                    self.kinds.command(command);
                }
            }
            self.events_of(&facts).await?;
            self.expected_back(&facts).await?;
        }
        self.expected_rest().await
    }

    /// The events that issued commands of this page, those between, and the one before.
    async fn events_of(&mut self, facts: &Facts) -> Result<(), StoreError> {
        let mut streams: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
        for row in facts.commands.iter().filter_map(|facts| facts.outbox.as_ref()) {
            let (Some(stream), Some(seq)) = (&row.stream, row.seq) else { continue };
            let (first, last) = streams.entry(stream.as_str()).or_insert((seq, seq));
            (*first, *last) = (seq.min(*first), seq.max(*last));
        }
        for (stream, (first, last)) in streams {
            let after = Some((stream.to_owned(), first.saturating_sub(2)));
            let wanted = last.saturating_sub(first).saturating_add(2);
            let wanted = usize::try_from(wanted).unwrap_or(self.page).min(self.page);
            let events = self.store.event_facts(after, wanted).await?;
            for event in events.iter().filter(|event| event.stream == stream && event.seq <= last) {
                self.findings.checked.events += 1;
                self.findings.add(of_event(event));
            }
        }
        Ok(())
    }

    /// Commands whose receipts arrived since; up to where they were read.
    async fn ended(&mut self, seal: &Seal) -> Result<Arrived, StoreError> {
        let (n, round) = WHOLE_TIME;
        let mut after = Arrived { arrival: seal.horizon.receipt, n, round };
        let mut seen = after;
        loop {
            let (facts, next) = self.store.ended_since(after, self.page).await?;
            let mut met = BTreeSet::new();
            for command in facts.commands.iter().filter(|command| met.insert(command.n)) {
                // Those above the horizon are new, and were looked at.
                if command.n <= seal.horizon.n {
                    self.judge(command, &mut Lanes::default());
                }
                // Each receipt lies in one page, even if its command comes in several.
                self.fresh.receipts(command, |entry| {
                    let at = (entry.arrival, command.n, entry.receipt.round);
                    place(after) < at && at <= place(next)
                });
            }
            if place(next) <= place(after) || facts.last {
                return Ok(if place(next) > place(seen) { next } else { seen });
            }
            (seen, after) = (next, next);
        }
    }

    async fn open(
        &mut self,
        seal: &Seal,
        seen: Arrived,
        lanes: &mut Lanes,
    ) -> Result<(), StoreError> {
        let from = FactsFrom { open_only: true, ..FactsFrom::default() };
        let mut pages = Pages::new(self.store, from, self.page);
        while let Some(facts) = pages.next().await? {
            for command in &facts.commands {
                if command.n > seal.horizon.n {
                    // New, and looked at; so are all that follow.
                    return Ok(());
                }
                let ended_before = command.receipts.iter().any(|entry| {
                    let at = (entry.arrival, command.n, entry.receipt.round);
                    entry.arrival > seal.horizon.receipt && at <= place(seen)
                });
                if ended_before {
                    lanes.meet(command);
                } else {
                    self.judge(command, lanes);
                }
            }
        }
        Ok(())
    }

    /// Lanes in which something looked strange are read whole, each in one snapshot: pages were
    /// read one after the other.
    async fn lanes(&mut self, lanes: Lanes) -> Result<(), StoreError> {
        for (destination, key) in lanes.strange {
            self.findings.checked.lanes += 1;
            let before = (destination.clone(), just_before(&key));
            let found = self.store.lane_facts(Some(before), 1).await?;
            let is_it =
                |lane: &&LaneFacts| lane.destination == destination && lane.ordering_key == key;
            for lane in found.iter().filter(is_it) {
                self.findings.add(of_lane(lane));
            }
        }
        Ok(())
    }

    /// Open and ended commands are those that were recorded: up to the seal, and since.
    async fn totals(&mut self, seal: &Seal, counted: &Recorded) -> Result<(), StoreError> {
        let status = self.store.status().await?;
        let least = totals::sum(counted.clone(), &seal.recorded);
        self.findings.checked.destinations += status.destinations.len() as u64;
        let still = Between { status: &status, least: &least, most: &least };
        if still.violations().is_empty() {
            return Ok(());
        }
        // Something may have been recorded between the counting and the status.
        let from = FactsFrom { n: seal.horizon.n.saturating_add(1), open_only: false };
        let mut pages = Pages::new(self.store, from, self.page);
        let mut after = Recorded::new();
        while let Some(facts) = pages.next().await? {
            facts.commands.iter().for_each(|command| totals::record(&mut after, command));
        }
        let most = totals::sum(after, &seal.recorded);
        self.totals = Between { status: &status, least: &least, most: &most }.violations();
        Ok(())
    }

    /// As many tombstones stand as the seal knows of: each burial counts its own in.
    async fn buried(&mut self, seal: &Seal) -> Result<(), StoreError> {
        let (were, are) = (seal.sums.of(Table::Archived).rows(), self.store.archived().await?);
        if were != are {
            let found = tell(Table::Archived, (were, are), &[]);
            let ids = vec![Table::Archived.name().to_owned()];
            self.totals.push(Violation::of(&law::SEALED, ids, &found));
        }
        Ok(())
    }
}

const fn place(arrived: Arrived) -> (i64, i64, u32) {
    (arrived.arrival, arrived.n, arrived.round)
}

/// How many lanes are remembered while an audit reads what is new and what is open.
const LANES_MAX: usize = 100_000;
/// How many strange lanes are read whole.
const STRANGE_MAX: usize = 1000;

/// The lanes of which something was read.
#[derive(Default)]
struct Lanes {
    /// Which place is in flight, by lane.
    flying: BTreeMap<(String, String), i64>,
    /// Lanes in which two were seen in flight.
    strange: BTreeSet<(String, String)>,
}

impl Lanes {
    fn meet(&mut self, facts: &CommandFacts) {
        let Some(open) = &facts.delivery else { return };
        let row = facts.outbox.as_ref();
        let Some(key) = row.and_then(|row| row.ordering_key.as_ref()) else { return };
        if !is_in_flight(open.delivery.state) {
            return;
        }
        let lane = (open.destination.clone(), key.to_string());
        match self.flying.get(&lane) {
            Some(other) if *other != facts.n && self.strange.len() < STRANGE_MAX => {
                self.strange.insert(lane);
            }
            Some(_) => {}
            None if self.flying.len() < LANES_MAX => {
                self.flying.insert(lane, facts.n);
            }
            None => {}
        }
    }
}
