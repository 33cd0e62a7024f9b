//! Recording what is meant: bare commands, decisions, contracts.
//!
//! Guarantees: the same id with the same content is `Repeated`, with other content refused; a
//! decision is written whole or not at all. Does not: deliver.

use std::sync::Arc;

use counterfoil_core::domain::event::EVENT_PAGE_BYTES;
use counterfoil_core::domain::workflow::Status;
use counterfoil_core::domain::{
    Command, CommandId, CommandRefused, Contract, Destination, Digest, Event, EventRow, IdRefused,
    Micros, OrderingKey, OutboxRow, Stream,
};
use counterfoil_core::port::store::{Append, Appended, Declared, Recorded, WriteRefused};

use super::input::event_row;
use super::rows::{OutboxEntry, Rows};

/// Stream, seq and index of a command in its decision.
type Place = Option<(Stream, i64, i64)>;

impl Rows {
    pub(super) fn record(
        &mut self,
        command: Command,
        max: usize,
        now: Micros,
    ) -> Result<Recorded, WriteRefused> {
        let missing = IdRefused::Empty { what: "command id", max: CommandId::MAX_BYTES };
        let id = command.id.clone().ok_or(CommandRefused::Id(missing))?;
        command.check(max)?;
        if let Some(same) = self.stands_same(&id, &command) {
            let conflict = WriteRefused::Conflict { id: id.to_string() };
            return if same { Ok(Recorded::Repeated) } else { Err(conflict) };
        }
        self.insert(id, command, None, now);
        Ok(Recorded::Recorded)
    }

    /// Whether what stands under this id is the same intent; `None` if nothing stands.
    fn stands_same(&self, id: &CommandId, command: &Command) -> Option<bool> {
        if let Some(tomb) = self.archived.get(id.as_str()) {
            let same = tomb.digest == Digest::of(&command.body)
                && tomb.destination == command.destination.as_str()
                && tomb.kind == command.kind.as_str()
                && tomb.ordering_key.as_deref()
                    == command.ordering_key.as_ref().map(OrderingKey::as_str);
            return Some(same);
        }
        let entry = self.outbox.get(&self.n_of(id.as_str())?)?;
        let same = |row: &Arc<OutboxRow>| !entry.is_erased() && row.is_same_intent(command);
        Some(entry.row.as_ref().is_ok_and(same))
    }

    pub(super) fn insert(&mut self, id: CommandId, command: Command, place: Place, now: Micros) {
        let n = self.next_n();
        self.ids.insert(id.as_str().as_bytes().to_vec(), n);
        let headers = command.headers_json();
        let (stream, seq, idx) = place
            .map_or((None, None, None), |(stream, seq, idx)| (Some(stream), Some(seq), Some(idx)));
        let row = OutboxRow {
            n,
            command_id: id,
            stream,
            seq,
            idx,
            destination: command.destination,
            kind: command.kind,
            ordering_key: command.ordering_key,
            body: command.body,
            content_type: command.content_type,
            headers,
            core_digest: command.core_digest.map(|digest| digest.to_hex()),
            not_before: command.not_before,
            expires_at: command.expires_at,
            recorded_at: now,
        };
        let (destination, due) = (row.destination.clone(), row.not_before.unwrap_or(now));
        self.outbox.insert(n, OutboxEntry { row: Ok(Arc::new(row)), erased_at: None });
        self.put_delivery(n, destination.as_str(), due);
    }

    pub(super) fn head(&self, stream: &str) -> i64 {
        self.events_of(stream).next_back().map_or(0, |event| event.seq)
    }

    /// Whether its events are a workflow's own to decide. A stream that was a service's before a
    /// start came stays its.
    fn decides_itself(&self, stream: &str) -> bool {
        self.streams.get(stream).is_some_and(|row| {
            let is_service = self.head(stream) > 0 && !self.is_begun(stream);
            row.status != Status::Quarantined || !is_service
        })
    }

    /// Whether its first event is a start that was an input.
    pub(super) fn is_begun(&self, stream: &str) -> bool {
        self.events_of(stream).next().is_some_and(|first| {
            first.seq == 1 && first.kind.as_str().starts_with("start:") && first.cause.is_some()
        })
    }

    pub(super) fn append(
        &mut self,
        append: Append,
        max: usize,
        now: Micros,
    ) -> Result<Appended, WriteRefused> {
        let Append { stream, expected_seq, events, commands } = append;
        if self.decides_itself(stream.as_str()) {
            return Err(WriteRefused::WorkflowStream { stream: stream.to_string() });
        }
        let actual = self.head(stream.as_str());
        if actual != expected_seq {
            let (stream, expected) = (stream.to_string(), expected_seq);
            return Err(WriteRefused::VersionConflict { stream, expected, actual });
        }
        if events.is_empty() {
            return Err(WriteRefused::NoEvent { stream: stream.to_string() });
        }
        self.check_causes(&stream, &events)?;
        let last = actual + i64::try_from(events.len()).unwrap_or(i64::MAX);
        let mut ids = Vec::with_capacity(commands.len());
        for (at, command) in commands.iter().enumerate() {
            let id = self.generated_id(&stream, last, at, command)?;
            command.check(max)?;
            ids.push(id);
        }
        let issued = i64::try_from(commands.len()).unwrap_or(i64::MAX);
        for (seq, event) in (actual + 1..).zip(events) {
            let commands = if seq == last { issued } else { 0 };
            let row = EventRow { commands, ..event_row(&stream, seq, event, None, now) };
            self.events.insert((stream.to_string(), seq), row);
        }
        for ((command, id), idx) in commands.into_iter().zip(&ids).zip(0..) {
            self.insert(id.clone(), command, Some((stream.clone(), last, idx)), now);
        }
        Ok(Appended { seq: last, command_ids: ids })
    }

    fn generated_id(
        &self,
        stream: &Stream,
        seq: i64,
        at: usize,
        command: &Command,
    ) -> Result<CommandId, WriteRefused> {
        let id = CommandId::of_decision(stream, seq, at).map_err(CommandRefused::Id)?;
        if command.id.as_ref().is_some_and(|given| *given != id) {
            let why = format!("a decision's commands are named {stream}:seq:index; leave it out");
            return Err(CommandRefused::Value { id: id.to_string(), what: "id", why }.into());
        }
        if self.stands_same(&id, command).is_some() {
            return Err(WriteRefused::Conflict { id: id.to_string() });
        }
        Ok(id)
    }

    fn check_causes(&self, stream: &Stream, events: &[Event]) -> Result<(), WriteRefused> {
        let stands = |cause: &String| self.caused_by(stream.as_str(), cause).is_some();
        for (at, event) in events.iter().enumerate() {
            let Some(cause) = &event.cause else { continue };
            let twice = events[..at].iter().any(|other| other.cause.as_ref() == Some(cause));
            if twice || stands(cause) {
                let (stream, cause) = (stream.to_string(), cause.clone());
                return Err(WriteRefused::CauseTaken { stream, cause });
            }
        }
        Ok(())
    }

    pub(super) fn load(&self, stream: &Stream, after: i64, limit: usize) -> Vec<EventRow> {
        let from = (stream.to_string(), after.saturating_add(1));
        let all = from..=(stream.to_string(), i64::MAX);
        self.events.range(all).take(limit).map(|(_, event)| event.clone()).collect()
    }

    pub(super) fn load_page(&self, stream: &Stream, after: i64, limit: usize) -> Vec<EventRow> {
        let mut held = 0;
        let mut page = self.load(stream, after, limit);
        page.retain(|event| {
            let fits = held < EVENT_PAGE_BYTES;
            held += event.bytes();
            fits
        });
        page
    }

    pub(super) fn declare(
        &mut self,
        destination: &Destination,
        contract: &Contract,
        replace: bool,
    ) -> (Declared, bool) {
        let entry = self.destinations.entry(destination.to_string()).or_default();
        match &entry.contract {
            Some(stored) if stored == contract => (Declared::Agreed, false),
            Some(stored) if !replace => {
                let stored = serde_json::to_vec(stored).unwrap_or_default();
                (Declared::Differs(contract.differing(&stored)), false)
            }
            Some(_) | None => {
                entry.contract = Some(contract.clone());
                (Declared::Agreed, true)
            }
        }
    }
}
