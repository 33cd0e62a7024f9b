//! A full audit: every row of every table, and the sums of those that were sealed.
//!
//! Guarantees: each row is judged and summed in one reading of it. Does not: write, except what it
//! is asked to mend.

use super::contradicted::check_archived;
use super::flows::Flows;
use super::page::{Pages, goes_on};
use super::reading::Reading;
use super::report::Findings;
use super::seal::{Seal, Table, Tables, tell};
use super::totals::{self, Counts};
use crate::domain::laws::{
    ContradictionFacts, EventFacts, Violation, law, of_action, of_arrival, of_digested, of_event,
    of_lane, of_tombstone, of_unreadable_event,
};
use crate::port::act::Actor;
use crate::port::read::{Facts, FactsFrom};
use crate::port::seal::UnreadableEvent;
use crate::port::store::StoreError;
use crate::port::{Archive, Audited, Store};

impl<S: Audited + Archive> Reading<'_, S> {
    /// Reads everything, and mends in the name of `mend`, if somebody is named.
    pub(super) async fn full(&mut self, mend: Option<&Actor>) -> Result<(), StoreError> {
        let mut counts = Counts::default();
        self.all_commands(mend, &mut counts).await?;
        self.tombstones(&mut counts).await?;
        check_events(self.store, self.page, &mut self.findings).await?;
        self.all_events().await?;
        self.inputs().await?;
        check_lanes(self.store, self.page, &mut self.findings).await?;
        self.contradictions(i64::MIN).await?;
        self.actions(i64::MIN).await?;
        totals::of_all(self.store, &counts, &mut self.findings).await
    }

    async fn all_commands(
        &mut self,
        mend: Option<&Actor>,
        counts: &mut Counts,
    ) -> Result<(), StoreError> {
        let mut pages = Pages::new(self.store, FactsFrom::default(), self.page);
        let mut from = FactsFrom::default();
        while let Some(mut facts) = pages.next().await? {
            if let Some(actor) = mend {
                facts = self.mended(actor, from, facts).await?;
            }
            from.n = facts.commands.last().map_or(from.n, |last| last.n.saturating_add(1));
            for command in &facts.commands {
                let digests = command.digests();
                self.findings.checked.commands += 1;
                self.findings.checked.acknowledged += command.acknowledged().0 as u64;
                self.findings.add(of_digested(command, digests));
                let row = digests.map(|digests| digests.row);
                for summing in [&mut self.old, &mut self.fresh] {
                    summing.outbox(command, row);
                    summing.receipts(command, |_| true);
                    summing.attempts(command);
                }
                counts.command(command);
                if command.n <= self.fresh.window.to.n {
                    totals::record(&mut self.recorded, command);
                    self.kinds.command(command);
                }
            }
            self.expected_back(&facts).await?;
        }
        self.expected_rest().await
    }

    /// Makes what is lost uncertain; what stands then.
    async fn mended(
        &mut self,
        actor: &Actor,
        from: FactsFrom,
        facts: Facts,
    ) -> Result<Facts, StoreError> {
        let lost = facts.commands.iter().filter(|facts| facts.is_lost());
        let lost: Vec<String> = lost.map(|facts| facts.id.clone()).collect();
        if lost.is_empty() || self.store.mend(&lost, actor.clone()).await? == 0 {
            return Ok(facts);
        }
        let again = self.store.facts(from, facts.commands.len()).await?;
        let is_open = |id: &&String| {
            again.commands.iter().any(|facts| facts.id == **id && facts.delivery.is_some())
        };
        self.findings.mend(lost.iter().filter(is_open).cloned().collect());
        Ok(again)
    }

    async fn tombstones(&mut self, counts: &mut Counts) -> Result<(), StoreError> {
        let mut after: Option<String> = None;
        loop {
            let tombstones = self.store.tombstones(after.as_deref(), self.page).await?;
            for tombstone in &tombstones {
                self.findings.checked.archived += 1;
                let (id, kept) = (&tombstone.command_id, tombstone.row_digest);
                self.findings.add(of_tombstone(id, kept, tombstone.row_digest()));
                self.old.tombstone(tombstone);
                counts.tombstone(tombstone);
                *self.recorded.entry(tombstone.destination.clone()).or_default() += 1;
                self.kinds.add(&tombstone.kind, &tombstone.command_id);
            }
            let Some(last) = tombstones.last() else { return Ok(()) };
            after = goes_on(&after, Some(last.command_id.clone()))?;
        }
    }

    /// The events' own rows, for the sums, and how those of workflows are built.
    async fn all_events(&mut self) -> Result<(), StoreError> {
        let mut flows = Flows::default();
        let mut after: Option<(String, i64)> = None;
        loop {
            let events = self.store.events(after.clone(), self.page).await?;
            for event in &events {
                match event {
                    Ok(event) => {
                        self.old.event(event);
                        self.fresh.event(event);
                        flows.meet(self, event).await?;
                    }
                    Err(UnreadableEvent { stream, seq, why }) => {
                        self.findings.add([of_unreadable_event(stream, *seq, why)]);
                    }
                }
            }
            let last = match events.last() {
                None => return flows.finish(self).await,
                Some(Ok(event)) => (event.stream.to_string(), event.seq),
                Some(Err(event)) => (event.stream.clone(), event.seq),
            };
            after = goes_on(&after, Some(last))?;
        }
    }

    /// All contradictions: their sums, and whether anybody has looked into those of archived
    /// commands; the others are judged with their commands.
    async fn contradictions(&mut self, mut after: i64) -> Result<(), StoreError> {
        loop {
            let said = self.store.contradictions(after, self.page).await?;
            self.sum(&said);
            check_archived(self.store, &said, &mut self.findings).await?;
            let Some((_, last)) = said.last() else { return Ok(()) };
            after = goes_on(&after, last.arrival)?;
        }
    }

    pub(super) fn sum(&mut self, said: &[(String, ContradictionFacts)]) {
        for (id, said) in said {
            self.findings.add(of_arrival(said.arrival, id, "a contradiction"));
            self.old.contradiction(id, said);
            self.fresh.contradiction(id, said);
        }
    }

    /// The acts of people after `after`: their sums, and whether their commands stand.
    pub(super) async fn actions(&mut self, mut after: i64) -> Result<(), StoreError> {
        loop {
            let acts = self.store.actions(after, self.page).await?;
            let about: Vec<String> = acts.iter().map(|act| act.about.clone()).collect();
            let known = self.store.known(&about).await?;
            for (act, is_known) in acts.iter().zip(known) {
                self.old.action(act);
                self.fresh.action(act);
                let what = format!("`{}`", act.verb);
                self.findings.add(of_arrival(act.arrival, &act.about, &what));
                self.findings.add(of_action(&act.verb, &act.about, is_known));
            }
            let Some(last) = acts.last() else { return Ok(()) };
            after = goes_on(&after, last.arrival)?;
        }
    }

    pub(super) async fn expected_back(&mut self, facts: &Facts) -> Result<(), StoreError> {
        for back in &mut self.back {
            back.add(self.store, &facts.commands, &mut self.findings).await?;
        }
        Ok(())
    }

    /// Looks for what [`Reading::expected_back`] has gathered.
    pub(super) async fn expected_rest(&mut self) -> Result<(), StoreError> {
        for back in &mut self.back {
            back.look(self.store, &mut self.findings).await?;
        }
        Ok(())
    }
}

/// What was sealed and is not as it was.
pub(super) fn unsealed(seal: &Seal, now: &Tables) -> Vec<Violation> {
    let of_table = |table: Table| {
        let (were, are) = (seal.sums.of(table), now.of(table));
        let differing = were.differing(&are);
        let found = tell(table, (were.rows(), are.rows()), &differing);
        let violation = || Violation::of(&law::SEALED, vec![table.name().to_owned()], &found);
        (!differing.is_empty()).then(violation)
    };
    Table::ALL.into_iter().filter_map(of_table).collect()
}

pub(super) async fn check_lanes<S: Store>(
    store: &S,
    page: usize,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let mut after: Option<(String, String)> = None;
    loop {
        let lanes = store.lane_facts(after.clone(), page).await?;
        for lane in &lanes {
            findings.checked.lanes += 1;
            findings.add(of_lane(lane));
        }
        let Some(last) = lanes.last() else { return Ok(()) };
        after = goes_on(&after, Some((last.destination.clone(), last.ordering_key.clone())))?;
    }
}

pub(super) async fn check_events<S: Store>(
    store: &S,
    page: usize,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let mut after: Option<(String, i64)> = None;
    loop {
        let events = store.event_facts(after.clone(), page).await?;
        for event in &events {
            findings.checked.events += 1;
            findings.add(of_event(event));
        }
        let Some(EventFacts { stream, seq, .. }) = events.last() else { return Ok(()) };
        after = goes_on(&after, Some((stream.clone(), *seq)))?;
    }
}
