//! Moving ended commands out of the rows in memory, and erasing the content of one.
//!
//! Guarantees: what is buried stands exactly as it was read; digests stay after an erasure. Does
//! not: write files.

use std::sync::Arc;

use counterfoil_core::audit::keep;
use counterfoil_core::domain::{Digest, Micros, OutboxRow, Stream};
use counterfoil_core::port::Actor;
use counterfoil_core::port::archive::{
    ActionRow, Archive, Buried, EndedPage, Entry, Erased, Kept, SealChange, Tombstone,
};
use counterfoil_core::port::bodies::RECALL_VERB;
use counterfoil_core::port::store::StoreError;
use counterfoil_core::port::workflow::{
    DROP_VERB, END_VERB, EXPIRE_VERB, RETRY_VERB, SET_ASIDE_VERB,
};

use super::MemoryStore;
use super::rows::{self, Rows};

/// What is done to others, which may be called like a command: destinations, the store, workflows.
const ELSEWHERE: [&str; 10] = [
    "pause",
    "resume",
    "restored",
    "reseal",
    RETRY_VERB,
    END_VERB,
    EXPIRE_VERB,
    SET_ASIDE_VERB,
    DROP_VERB,
    RECALL_VERB,
];
/// How many rows a page looks at for each that it may hold.
const LOOKS: usize = 4;

impl MemoryStore {
    /// Moves one of the commands away that [`Rows::leaving`] names, as an archive beside does.
    pub(super) async fn archive_beside(&self) -> Result<(), StoreError> {
        let Some(id) = self.write(|rows, _| (rows.leaving.pop(), false))? else { return Ok(()) };
        let entries: Vec<Entry> = self.entry(&id).await?.into_iter().collect();
        let seal = keep::burying(self, &entries).await;
        let seal = seal.map_err(|error| StoreError::Broken(error.to_string()))?;
        self.bury("beside", entries, seal).await.map(drop)
    }
}

impl Archive for MemoryStore {
    async fn ended(
        &self,
        before: Micros,
        after: i64,
        limit: usize,
    ) -> Result<EndedPage, StoreError> {
        self.read(|rows, _| rows.ended(before, after, limit))
    }

    async fn bury(
        &self,
        file: &str,
        entries: Vec<Entry>,
        seal: Option<SealChange>,
    ) -> Result<Buried, StoreError> {
        self.write(|rows, _| {
            // With a seal it is all or nothing.
            let stand = |entry: &Entry| rows.may_be_buried(entry);
            let is_left = seal.is_some() && !entries.iter().all(stand);
            if !rows.follows_seal(seal.as_ref()) {
                return (Buried::SealMoved, false);
            }
            if is_left {
                return (Buried::Done(vec![false; entries.len()]), false);
            }
            rows.turn_seal(seal);
            let buried: Vec<bool> = entries.iter().map(|entry| rows.bury(file, entry)).collect();
            let changed = buried.contains(&true);
            (Buried::Done(buried), changed)
        })
    }

    async fn entry(&self, command_id: &str) -> Result<Option<Entry>, StoreError> {
        self.read(|rows, _| rows.n_of(command_id).and_then(|n| rows.entry(n)))
    }

    async fn tombstones_of(
        &self,
        command_ids: &[String],
    ) -> Result<Vec<Option<Tombstone>>, StoreError> {
        self.read(|rows, _| command_ids.iter().map(|id| rows.tombstone_of(id)).collect())
    }

    async fn tombstones(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Tombstone>, StoreError> {
        self.read(|rows, _| {
            let ids =
                rows.archived.keys().filter(|id| after.is_none_or(|after| id.as_str() > after));
            ids.take(limit).filter_map(|id| rows.tombstone_of(id)).collect()
        })
    }

    async fn erased(&self, command_ids: &[String]) -> Result<Vec<bool>, StoreError> {
        self.read(|rows, _| command_ids.iter().map(|id| rows.is_erased(id)).collect())
    }

    async fn erase(
        &self,
        command_id: &str,
        actor: Actor,
        reason: &str,
        seal: Option<SealChange>,
    ) -> Result<Erased, StoreError> {
        self.write(|rows, now| {
            let erased = rows.erase(command_id, &actor, reason, seal, now);
            let changed = matches!(erased, Erased::Done | Erased::Archived(_));
            (erased, changed)
        })
    }
}

impl Rows {
    /// Whether the seal is the one that the change follows; then it is changed.
    fn turn_seal(&mut self, change: Option<SealChange>) -> bool {
        if !self.follows_seal(change.as_ref()) {
            return false;
        }
        if let Some(SealChange { version, seal }) = change {
            self.seal = Some((version + 1, seal));
        }
        true
    }

    /// Whether the seal that stands is the one that the change follows.
    fn follows_seal(&self, change: Option<&SealChange>) -> bool {
        let stands = self.seal.as_ref().map_or(0, |(version, _)| *version);
        change.map_or(0, |change| change.version) == stands
    }

    fn ended(&self, before: Micros, after: i64, limit: usize) -> EndedPage {
        let mut page = EndedPage { looked_at: after, ..EndedPage::default() };
        let newest = self.outbox.keys().next_back().copied();
        let mut rows = self.outbox.range(after.saturating_add(1)..);
        for _ in 0..limit.saturating_mul(LOOKS) {
            if page.entries.len() >= limit {
                break;
            }
            let Some((n, row)) = rows.next() else {
                page.last = true;
                return page;
            };
            page.looked_at = *n;
            let ended = self.receipts_of(*n).next_back().map(|entry| entry.receipt.recorded_at);
            let is_old = ended.is_some_and(|at| at < before);
            if self.deliveries.contains_key(n) || !is_old {
                continue;
            }
            let kept: fn(&mut Kept) -> &mut u64 = if self.is_of_workflow(row) {
                |kept| &mut kept.of_workflow
            } else if row.row.is_err() {
                |kept| &mut kept.unreadable
            } else if self.is_contradicted(&row.id_text()) {
                |kept| &mut kept.contradicted
            } else if Some(*n) == newest {
                |kept| &mut kept.newest
            } else {
                page.entries.extend(self.entry(*n));
                continue;
            };
            *kept(&mut page.kept) += 1;
        }
        page.last = rows.next().is_none();
        page
    }

    /// All that stands about a command that has ended.
    fn entry(&self, n: i64) -> Option<Entry> {
        if self.deliveries.contains_key(&n) {
            return None;
        }
        let outbox = self.outbox.get(&n)?;
        let row = outbox.row.as_ref().ok()?;
        let id = row.command_id.as_str();
        Some(Entry {
            outbox: OutboxRow::clone(row),
            erased_at: outbox.erased_at,
            receipts: self.receipt_facts(n),
            attempts: self.attempt_facts(n),
            contradictions: self.contradiction_facts(id),
            actions: self.action_rows(id),
        })
    }

    /// Whether a workflow may still look at it: one that has not ended, or that an input waits for.
    fn is_of_workflow(&self, entry: &rows::OutboxEntry) -> bool {
        let Ok(row) = &entry.row else { return false };
        let Some(stream) = row.stream.as_ref().map(Stream::as_str) else { return false };
        let Some(workflow) = self.streams.get(stream) else { return false };
        !workflow.status.has_ended() || self.inputs_of(stream).next().is_some()
    }

    fn action_rows(&self, id: &str) -> Vec<ActionRow> {
        let about = self.actions.iter().zip(1..);
        let about =
            about.filter(|(act, _)| act.about == id && !ELSEWHERE.contains(&act.verb.as_str()));
        about.map(|(act, arrival)| act.row(arrival)).collect()
    }

    /// Whether it still stands exactly as it was read, and may go.
    fn may_be_buried(&self, entry: &Entry) -> bool {
        let n = entry.outbox.n;
        let must_stay = self.outbox.get(&n).is_some_and(|row| self.is_of_workflow(row));
        !must_stay && self.entry(n).as_ref() == Some(entry)
    }

    fn bury(&mut self, file: &str, entry: &Entry) -> bool {
        let n = entry.outbox.n;
        let id = entry.outbox.command_id.as_str();
        let Some(newest) = entry.newest() else { return false };
        let stands = self.may_be_buried(entry);
        let digest = match entry.erased_at {
            Some(_) => newest.digest,
            None => Some(Digest::of(&entry.outbox.body)),
        };
        let Some(digest) = digest.filter(|_| stands && !self.archived.contains_key(id)) else {
            return false;
        };
        let tombstone = rows::Tombstone {
            destination: entry.outbox.destination.to_string(),
            kind: entry.outbox.kind.to_string(),
            ordering_key: entry.outbox.ordering_key.as_ref().map(ToString::to_string),
            digest,
            outcome: newest.receipt.outcome.name().into(),
            rounds: newest.receipt.round,
            file: file.to_owned(),
        };
        self.archived.insert(id.to_owned(), tombstone);
        self.outbox.remove(&n);
        self.ids.remove(id.as_bytes());
        self.receipts.retain(|(of, _), _| *of != n);
        self.attempts.remove(&n);
        true
    }

    pub(super) fn tombstone_of(&self, id: &str) -> Option<Tombstone> {
        let tomb = self.archived.get(id)?;
        let tombstone = Tombstone {
            command_id: id.to_owned(),
            destination: tomb.destination.clone(),
            kind: tomb.kind.clone(),
            ordering_key: tomb.ordering_key.clone(),
            digest: tomb.digest,
            outcome: tomb.outcome.clone(),
            rounds: tomb.rounds,
            file: tomb.file.clone(),
            row_digest: None,
        };
        Some(Tombstone { row_digest: Some(tombstone.row_digest()), ..tombstone })
    }

    fn erase(
        &mut self,
        id: &str,
        actor: &Actor,
        reason: &str,
        seal: Option<SealChange>,
        now: Micros,
    ) -> Erased {
        let tombstone = self.tombstone_of(id);
        let n = self.n_of(id);
        let entry = n.and_then(|n| self.outbox.get(&n));
        let outcome = match (&tombstone, n, entry) {
            (Some(_), _, _) if self.is_erased(id) && !self.says_more(id) => {
                return Erased::Repeated;
            }
            (Some(tombstone), _, _) => tombstone.outcome.clone(),
            (None, Some(n), Some(entry)) => {
                if entry.is_erased() {
                    return Erased::Repeated;
                }
                let newest = self.receipts_of(n).next_back();
                let ended = newest.filter(|_| !self.deliveries.contains_key(&n));
                let Some(ended) = ended else { return Erased::Open };
                ended.receipt.outcome.name().to_owned()
            }
            (None, ..) => return Erased::Unknown,
        };
        if !self.turn_seal(seal) {
            return Erased::SealMoved;
        }
        if let Some(n) = n {
            self.clear_rows(n, now);
        }
        self.clear_beside(id);
        self.record_act(("erase", id), (&outcome, "erased"), &actor.name, reason, now);
        tombstone.map_or(Erased::Done, Erased::Archived)
    }

    /// Clears the content of an outbox row and what hangs on it; the digests stay.
    fn clear_rows(&mut self, n: i64, now: Micros) {
        let Some(outbox) = self.outbox.get_mut(&n) else { return };
        outbox.erased_at = Some(now);
        let mut digests = None;
        if let Ok(row) = &mut outbox.row {
            let digest = Digest::of(&row.body);
            digests = Some((digest, row.row_digest(digest)));
            let row = Arc::make_mut(row);
            (row.body, row.headers) = (Vec::new(), None);
        }
        let mut receipts = self.receipts.range_mut((n, 0)..=(n, u32::MAX)).map(|(_, it)| it);
        let cleared = |entry: &mut rows::ReceiptEntry| {
            (entry.receipt.result, entry.receipt.evidence) = (None, None);
        };
        if let Some(newest) = receipts.next_back() {
            newest.digests = newest.digests.or(digests);
            cleared(newest);
        }
        receipts.for_each(cleared);
        for attempt in self.attempts.get_mut(&n).into_iter().flatten() {
            attempt.attempted.reason.clear();
        }
    }

    fn is_erased(&self, id: &str) -> bool {
        self.actions.iter().any(|act| act.verb == "erase" && act.about == id)
    }

    /// Whether a report or a person has said something of it that an erasure clears.
    fn says_more(&self, id: &str) -> bool {
        let mut said = self.contradictions.iter().filter(|said| said.command_id == id);
        let mut done = self.actions.iter().filter(|act| is_cleared(act, id));
        said.any(|said| said.report.result.is_some() || said.report.evidence.is_some())
            || done.any(|act| !act.reason.is_empty())
    }

    /// Clears what was said of a command by reports and by people.
    fn clear_beside(&mut self, id: &str) {
        for said in self.contradictions.iter_mut().filter(|said| said.command_id == id) {
            (said.report.result, said.report.evidence) = (None, None);
        }
        for act in self.actions.iter_mut().filter(|act| is_cleared(act, id)) {
            act.reason.clear();
        }
    }
}

/// Why it was erased may be told.
fn is_cleared(act: &rows::ActionEntry, id: &str) -> bool {
    act.about == id && act.verb != "erase" && !ELSEWHERE.contains(&act.verb.as_str())
}

impl rows::ActionEntry {
    pub(super) fn row(&self, arrival: i64) -> ActionRow {
        ActionRow {
            arrival,
            verb: self.verb.clone(),
            about: self.about.clone(),
            actor: self.actor.clone(),
            reason: Some(self.reason.clone()),
            before: Some(self.before.clone()),
            after: Some(self.after.clone()),
            recorded_at: self.recorded_at,
        }
    }
}
