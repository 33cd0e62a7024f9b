//! Moving the bodies of events out of the rows in memory, and back.
//!
//! Guarantees: what is taken stands exactly as it was read; what comes back is what was taken. Does
//! not: write files.

use counterfoil_core::domain::laws::BodyFacts;
use counterfoil_core::domain::workflow::Status;
use counterfoil_core::domain::{ArchivedBody, Digest, EventRow, Micros, Stream};
use counterfoil_core::port::Actor;
use counterfoil_core::port::bodies::{
    BODY_BYTES_MIN, Bodies, BodyPage, KeptBodies, Place, RECALL_VERB,
};
use counterfoil_core::port::store::StoreError;

use super::MemoryStore;
use super::rows::{Rows, StreamEntry};

impl Bodies for MemoryStore {
    async fn old_bodies(
        &self,
        before: Micros,
        after: Option<Place>,
        limit: usize,
    ) -> Result<BodyPage, StoreError> {
        self.read(|rows, _| rows.old_bodies(before, after.as_ref(), limit))
    }

    async fn take_bodies(
        &self,
        file: &str,
        events: Vec<EventRow>,
    ) -> Result<Vec<bool>, StoreError> {
        self.write(|rows, _| {
            let taken: Vec<bool> = events.iter().map(|event| rows.take_body(file, event)).collect();
            let changed = taken.contains(&true);
            (taken, changed)
        })
    }

    async fn events_at(&self, places: &[Place]) -> Result<Vec<Option<EventRow>>, StoreError> {
        self.read(|rows, _| places.iter().map(|place| rows.events.get(place).cloned()).collect())
    }

    async fn archived_bodies(
        &self,
        after: Option<Place>,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        self.read(|rows, _| {
            let later = |at: &Place| after.as_ref().is_none_or(|after| at > after);
            let all = rows.events.iter().filter(|(at, _)| later(at)).map(|(_, event)| event);
            all.filter(|event| event.archived.is_some()).take(limit).cloned().collect()
        })
    }

    async fn archived_before(
        &self,
        stream: &Stream,
        before: i64,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        self.read(|rows, _| {
            let all = rows.events_of(stream.as_str()).rev();
            let older = all.filter(|event| event.seq < before && event.archived.is_some());
            older.take(limit).cloned().collect()
        })
    }

    async fn put_back(
        &self,
        stream: &Stream,
        events: Vec<EventRow>,
        actor: Actor,
    ) -> Result<Vec<bool>, StoreError> {
        self.write(|rows, now| {
            let back = |event: EventRow| event.stream == *stream && rows.put_back(event);
            let back: Vec<bool> = events.into_iter().map(back).collect();
            let changed = back.contains(&true);
            if changed {
                let about = (RECALL_VERB, stream.as_str());
                let change = ("archived", "here");
                rows.record_act(about, change, &actor.name, &actor.reason, now);
            }
            (back, changed)
        })
    }
}

/// Which bodies of a workflow may leave.
enum May {
    /// Those up to this seq; `None`: all.
    Go(Option<i64>),
    Stay(fn(&mut KeptBodies) -> &mut u64),
}

impl Rows {
    fn old_bodies(&self, before: Micros, after: Option<&Place>, limit: usize) -> BodyPage {
        let mut page = BodyPage::default();
        let first = after.map_or("", |(stream, _)| stream.as_str());
        for (stream, row) in self.streams.range(first.to_owned()..) {
            let last = self.events_of(stream).next_back().map(|event| event.recorded_at);
            let is_old = last.is_some_and(|at| at < before);
            let until = match self.may_leave(stream, row) {
                May::Go(None) if !is_old => continue,
                May::Go(until) => until.unwrap_or(i64::MAX),
                May::Stay(why) => {
                    let is_first = after.is_none_or(|(of, _)| of != stream);
                    *why(&mut page.kept) += u64::from(is_old && is_first);
                    continue;
                }
            };
            for event in self.events_of(stream).filter(|event| event.seq <= until) {
                let place = (stream.clone(), event.seq);
                let is_worth = event.archived.is_none() && event.body.len() >= BODY_BYTES_MIN;
                let is_before = after.is_some_and(|after| place <= *after);
                if is_before || !is_worth || event.recorded_at >= before {
                    continue;
                }
                if page.events.len() >= limit {
                    page.next = page.events.last().map(|last| (stream_of(last), last.seq));
                    return page;
                }
                page.events.push(event.clone());
            }
        }
        page
    }

    fn may_leave(&self, stream: &str, row: &StreamEntry) -> May {
        if !self.is_begun(stream) || row.status == Status::Quarantined {
            return May::Stay(|kept| &mut kept.quarantined);
        }
        if row.status.has_ended() {
            return May::Go(None);
        }
        match self.snapshots.get(&(stream.to_owned(), row.program.to_string())) {
            Some(snapshot) => May::Go(Some(snapshot.seq)),
            None => May::Stay(|kept| &mut kept.without_snapshot),
        }
    }

    fn take_body(&mut self, file: &str, event: &EventRow) -> bool {
        let stream = event.stream.as_str();
        let Some(row) = self.streams.get(stream) else { return false };
        let may = match self.may_leave(stream, row) {
            May::Go(until) => until.is_none_or(|until| event.seq <= until),
            May::Stay(_) => false,
        };
        let place = (stream.to_owned(), event.seq);
        let stands = self.events.get_mut(&place).filter(|row| may && *row == event);
        let Some(row) = stands.filter(|row| row.archived.is_none()) else { return false };
        let digest = Some(Digest::of(&row.body));
        row.archived = Some(ArchivedBody { file: file.to_owned(), digest });
        row.body.clear();
        true
    }

    fn put_back(&mut self, event: EventRow) -> bool {
        let Some(row) = self.events.get_mut(&(stream_of(&event), event.seq)) else { return false };
        let digest = row.archived.as_ref().and_then(|archived| archived.digest);
        if event.archived.is_some() || digest != Some(Digest::of(&event.body)) {
            return false;
        }
        (row.body, row.archived) = (event.body, None);
        true
    }

    /// What an event says of where its body lies.
    pub(super) fn body_facts(&self, event: &EventRow) -> BodyFacts {
        let Some(archived) = &event.archived else { return BodyFacts::default() };
        BodyFacts {
            file: Some(archived.file.clone()),
            digest_bytes: archived.digest.map(|_| 32),
            bytes: i64::try_from(event.body.len()).unwrap_or(i64::MAX),
            is_workflows: self.streams.contains_key(event.stream.as_str()),
        }
    }
}

fn stream_of(event: &EventRow) -> String {
    event.stream.to_string()
}
