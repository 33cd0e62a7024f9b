//! Inputs in memory: who writes them, which are due, and which nobody waits for.
//!
//! Guarantees: the first receipt of a workflow's command becomes one input; an id that stands is
//! never another input. Does not: decide.

use counterfoil_core::domain::workflow::{InputKind, Program, Status, pointed_to, receipt_input};
use counterfoil_core::domain::{Digest, Event, EventRow, Micros, Span, Stream};
use counterfoil_core::port::read::StillWorkflows;
use counterfoil_core::port::store::Recorded;
use counterfoil_core::port::workflow::{
    Behind, DUE_BYTES, DueFrom, DueInput, DueLists, EXPIRE_ACTOR, EXPIRE_VERB, InputRefused, Kept,
    NewInput, Placed, ReceiptRead, WaitingInput, ended_max, expire_reason,
};

use super::rows::{InputEntry, InputId, Rows, StreamEntry};

impl Rows {
    pub(super) fn send_inputs(
        &mut self,
        inputs: Vec<NewInput>,
        now: Micros,
    ) -> (Vec<Result<Recorded, InputRefused>>, bool) {
        let sent: Vec<_> = inputs.into_iter().map(|input| self.send_input(input, now)).collect();
        let changed = sent.iter().any(|one| matches!(one, Ok(Recorded::Recorded)));
        (sent, changed)
    }

    fn send_input(&mut self, input: NewInput, now: Micros) -> Result<Recorded, InputRefused> {
        input.check()?;
        if let Some(same) = self.is_same_input(&input) {
            let (stream, id) = (input.stream.to_string(), input.id);
            return if same {
                Ok(Recorded::Repeated)
            } else {
                Err(InputRefused::Conflict { stream, id })
            };
        }
        let NewInput { stream, id, kind, name, body } = input;
        self.put_input(stream.as_str(), id, kind, name, (body, None), now);
        Ok(Recorded::Recorded)
    }

    /// Whether what stands under this id, waiting or decided, is the same; `None`: nothing does.
    fn is_same_input(&self, input: &NewInput) -> Option<bool> {
        let at = (input.stream.to_string(), input.id.clone());
        if let Some(waits) = self.inputs.get(&at) {
            let same =
                (waits.kind, &waits.name, &waits.body) == (input.kind, &input.name, &input.body);
            return Some(same);
        }
        let decided = self.caused_by(&at.0, &at.1)?;
        let body = input.body.as_deref().unwrap_or_default();
        let kind = input.kind.event_kind(&input.name);
        let same = match &decided.archived {
            Some(archived) => archived.digest == Some(Digest::of(body)),
            None => decided.body == body,
        };
        Some(decided.kind.as_str() == kind && same)
    }

    /// The event that an input became.
    pub(super) fn caused_by(&self, stream: &str, input: &str) -> Option<&EventRow> {
        self.events_of(stream).find(|event| event.cause.as_deref() == Some(input))
    }

    /// The events of a stream, in order.
    pub(super) fn events_of(&self, stream: &str) -> impl DoubleEndedIterator<Item = &EventRow> {
        let all = (stream.to_owned(), i64::MIN)..=(stream.to_owned(), i64::MAX);
        self.events.range(all).map(|(_, event)| event)
    }

    /// The waiting inputs of a stream.
    pub(super) fn inputs_of(&self, stream: &str) -> impl Iterator<Item = (&InputId, &InputEntry)> {
        let from = (stream.to_owned(), String::new());
        let stream = stream.to_owned();
        self.inputs.range(from..).take_while(move |((of, _), _)| *of == stream)
    }

    /// Writes an input, for whom the stream says.
    pub fn put_input(
        &mut self,
        stream: &str,
        id: String,
        kind: InputKind,
        name: String,
        (body, due_at): (Option<Vec<u8>>, Option<Micros>),
        now: Micros,
    ) {
        self.arrivals += 1;
        let mut entry = InputEntry {
            kind,
            name,
            body,
            due_at,
            workflow: None,
            recorded_at: now,
            arrival: self.arrivals,
        };
        entry.workflow = self.served_by(stream, &entry);
        self.inputs.insert((stream.to_owned(), id), entry);
    }

    /// For whom an input is, as things stand.
    pub(super) fn served_by(&self, stream: &str, input: &InputEntry) -> Option<String> {
        match self.streams.get(stream) {
            Some(row) if row.status == Status::Quarantined => None,
            Some(row) => Some(row.program.to_string()),
            None => (input.kind == InputKind::Start).then(|| input.name.clone()),
        }
    }

    /// Says anew for whom the inputs of a stream are; how many changed.
    pub(super) fn serve(&mut self, stream: &str) -> usize {
        let of_stream = self.inputs_of(stream);
        let served = of_stream.map(|(at, input)| (at.clone(), self.served_by(stream, input)));
        let mut count = 0;
        for (at, workflow) in served.collect::<Vec<_>>() {
            if let Some(input) = self.inputs.get_mut(&at) {
                count += usize::from(input.workflow != workflow);
                input.workflow = workflow;
            }
        }
        count
    }

    /// The first receipt of a workflow's command becomes an input.
    pub(super) fn point_to_receipt(&mut self, n: i64, now: Micros) {
        let Some(Ok(row)) = self.outbox.get(&n).map(|entry| entry.row.clone()) else { return };
        let (Some(stream), Some(seq), Some(idx)) = (&row.stream, row.seq, row.idx) else { return };
        let mut receipts = self.receipts_of(n);
        let (Some(first), None) = (receipts.next(), receipts.next()) else { return };
        let (name, id) = (first.receipt.outcome.name().to_owned(), receipt_input(seq, idx));
        let at = (stream.to_string(), id.clone());
        let stands = self.inputs.contains_key(&at) || self.caused_by(&at.0, &id).is_some();
        drop(receipts);
        if self.streams.contains_key(stream.as_str()) && !stands {
            self.put_input(stream.as_str(), id, InputKind::Receipt, name, (None, None), now);
        }
    }

    /// What points to receipts of a stream that is no workflow goes.
    pub(super) fn forget_pointers(&mut self, stream: &str) {
        self.inputs.retain(|at, input| at.0 != stream || input.kind != InputKind::Receipt);
    }

    pub(super) fn due_inputs(&self, from: &DueFrom, now: Micros) -> Vec<DueInput> {
        let is_held = |row: &StreamEntry| {
            row.lease.as_ref().is_some_and(|(owner, until)| *until > now && *owner != from.owner)
        };
        let mut due: Vec<_> = self
            .inputs
            .iter()
            .filter(|(_, input)| input.due_at.is_none_or(|at| at <= now))
            .filter(|(_, input)| is_of(input, &from.programs))
            .filter(|(at, _)| !self.streams.get(&at.0).is_some_and(is_held))
            .collect();
        due.sort_by_key(|(_, input)| (input.due_at, input.arrival));
        let placed = |(at, input): &(&InputId, &InputEntry)| {
            let (due_at, arrival) = (input.due_at, input.arrival);
            let input = self.due_input(at, input)?;
            let at = due_at.unwrap_or(self.inputs[*at].recorded_at);
            Some(Placed { at, arrival, input })
        };
        let (at_once, timed): (Vec<_>, Vec<_>) =
            due.iter().partition(|(_, input)| input.due_at.is_none());
        let first = |of: &[(&InputId, &InputEntry)]| {
            // As a database reads: no more than a page.
            let count = of.iter().take(from.limit).take_while(fits(DUE_BYTES)).count();
            let placed = of.iter().take(count).filter_map(placed);
            (placed.collect(), of.len() > count)
        };
        let ended = self.due_at_ended(from);
        let limit = from.limit.saturating_sub(ended.len());
        let lists = DueLists::new(first(&at_once), first(&timed), limit);
        let behind: Vec<bool> =
            lists.questions().iter().map(|asked| stands_behind(&at_once, &timed, asked)).collect();
        let mut page = lists.page(&behind);
        page.extend(ended);
        page
    }

    /// What came to workflows that have ended, by programs that the caller does not have.
    fn due_at_ended(&self, from: &DueFrom) -> Vec<DueInput> {
        let mut ended: Vec<_> = self.at_ended().collect();
        ended.retain(|(_, input)| !is_of(input, &from.programs));
        ended.sort_by_key(|(_, input)| input.arrival);
        let some = ended.iter().take(ended_max(from.limit)).take_while(fits(DUE_BYTES));
        some.filter_map(|(at, input)| self.due_input(at, input)).collect()
    }

    /// What waits for a program at workflows that have ended.
    fn at_ended(&self) -> impl Iterator<Item = (&InputId, &InputEntry)> {
        let has_ended = |row: &StreamEntry| row.status.has_ended();
        self.inputs.iter().filter(move |(at, input)| {
            let waits = input.workflow.is_some() && input.due_at.is_none();
            waits && self.streams.get(&at.0).is_some_and(has_ended)
        })
    }

    fn due_input(&self, (stream, id): &InputId, input: &InputEntry) -> Option<DueInput> {
        let stream = Stream::new(stream.as_str()).ok()?;
        let receipt = (input.kind == InputKind::Receipt).then(|| self.pointed_to(&stream, id));
        Some(DueInput {
            standing: self.streams.get(stream.as_str()).map(StreamEntry::standing),
            receipt: receipt.flatten(),
            id: id.clone(),
            kind: input.kind,
            name: input.name.clone(),
            body: input.body.clone().unwrap_or_default(),
            stream,
        })
    }

    /// The first receipt of the command of `stream` to which an input points.
    pub(super) fn pointed_to(&self, stream: &Stream, id: &str) -> Option<ReceiptRead> {
        let (command_id, seq, idx) = pointed_to(stream, id)?;
        let n = self.n_of(command_id.as_str())?;
        let row = self.outbox.get(&n)?.row.as_ref().ok()?;
        let is_it = row.stream.as_ref() == Some(stream)
            && row.seq == Some(seq)
            && row.idx == i64::try_from(idx).ok();
        let first = &self.receipts_of(n).next().filter(|_| is_it)?.receipt;
        Some(ReceiptRead {
            command_id,
            destination: row.destination.clone(),
            kind: row.kind.clone(),
            outcome: first.outcome,
            result: first.result.clone(),
            evidence: first.evidence.clone(),
        })
    }

    pub(super) fn next_input(&self, programs: &[Program]) -> Option<Micros> {
        let of = self.inputs.values().filter(|input| is_of(input, programs));
        of.map(|input| input.due_at.unwrap_or(input.recorded_at)).min()
    }

    pub(super) fn keep_inputs(
        &mut self,
        limit: usize,
        orphans_after: Span,
        now: Micros,
    ) -> (Kept, bool) {
        let mut kept = Kept::default();
        let after = self.kept_to.take();
        let mut aside = self
            .inputs
            .iter()
            .filter(|(at, input)| {
                input.workflow.is_none() && after.as_ref().is_none_or(|it| *at > it)
            })
            .map(|(at, _)| at.clone());
        let page: Vec<InputId> = aside.by_ref().take(limit).collect();
        kept.more = aside.next().is_some();
        drop(aside);
        self.kept_to = page.last().filter(|_| kept.more).cloned();
        for at in page {
            let Some(input) = self.inputs.get(&at) else { continue };
            if let Some(workflow) = self.served_by(&at.0, input) {
                kept.adopted += 1;
                self.inputs.entry(at).and_modify(|input| input.workflow = Some(workflow));
            } else if self.is_orphan(&at.0) && input.recorded_at.plus(orphans_after) <= now {
                let reason = expire_reason(&at.1, input.kind.name(), &input.name);
                let about = (EXPIRE_VERB, at.0.as_str());
                self.record_act(about, ("waiting", "gone"), EXPIRE_ACTOR, &reason, now);
                self.inputs.remove(&at);
                kept.expired += 1;
            }
        }
        kept.ended = self.at_ended().take(limit).count();
        (kept, kept.adopted + kept.expired > 0)
    }

    /// Whether a stream has neither a row of a workflow nor a start that waits.
    fn is_orphan(&self, stream: &str) -> bool {
        let is_start =
            |input: &InputEntry| input.kind == InputKind::Start && input.workflow.is_some();
        let starts = || self.inputs_of(stream).any(|(_, input)| is_start(input));
        !self.streams.contains_key(stream) && !starts()
    }

    /// What of workflows stands still.
    pub(super) fn still_workflows(&self, now: Micros) -> StillWorkflows {
        let is_quarantined = |row: &&StreamEntry| row.status == Status::Quarantined;
        // What waits for a name alone is a start.
        let waits = |input: &&InputEntry| {
            input.workflow.as_ref().is_some_and(|of| !of.contains('/')) && input.due_at.is_none()
        };
        let starts = || self.inputs.values().filter(waits);
        let is_orphan = |(at, input): &(&InputId, &InputEntry)| {
            input.workflow.is_none() && self.is_orphan(&at.0)
        };
        StillWorkflows {
            quarantined: self.streams.values().filter(is_quarantined).count() as u64,
            starts: starts().count() as u64,
            oldest_start: starts().map(|it| it.recorded_at).min().map(|at| now.since(at)),
            orphans: self.inputs.iter().filter(is_orphan).count() as u64,
        }
    }

    pub(super) fn waiting_inputs(
        &self,
        stream: Option<&str>,
        after: Option<&InputId>,
        limit: usize,
    ) -> Vec<WaitingInput> {
        let fits = |of: &str| stream.map_or_else(|| self.is_orphan(of), |stream| of == stream);
        let told = |(at, input): (&InputId, &InputEntry)| WaitingInput {
            stream: at.0.clone(),
            id: at.1.clone(),
            kind: input.kind.name().into(),
            name: input.name.clone(),
            due_at: input.due_at,
            recorded_at: input.recorded_at,
            is_served: input.workflow.is_some(),
        };
        let waiting = self.inputs.iter().filter(|(at, _)| after.is_none_or(|after| *at > after));
        waiting.filter(|(at, _)| fits(&at.0)).take(limit).map(told).collect()
    }
}

/// Whether an input that was to come before another one is behind what was read.
fn stands_behind(
    at_once: &[(&InputId, &InputEntry)],
    timed: &[(&InputId, &InputEntry)],
    asked: &Behind,
) -> bool {
    let list = if asked.is_timed { timed } else { at_once };
    list.iter().any(|(at, input)| {
        let is_behind = match input.due_at {
            Some(due) => (due, input.arrival) > asked.after && due < asked.before,
            None => input.arrival > asked.after.1 && input.recorded_at <= asked.before,
        };
        at.0 == asked.stream.as_str() && is_behind
    })
}

/// Whether the bodies before an input, and it alone beyond them, fit into so many bytes.
fn fits(bytes: usize) -> impl FnMut(&&(&InputId, &InputEntry)) -> bool {
    let mut held = 0;
    move |(_, input)| {
        let fits = held <= bytes;
        held += input.body.as_deref().map_or(0, <[u8]>::len);
        fits
    }
}

fn is_of(input: &InputEntry, programs: &[Program]) -> bool {
    let Some(of) = &input.workflow else { return false };
    programs.iter().any(|program| of == program.name() || *of == program.to_string())
}

/// The row of an event of a decision.
pub(super) fn event_row(
    stream: &Stream,
    seq: i64,
    event: Event,
    decided: Option<String>,
    at: Micros,
) -> EventRow {
    let Event { kind, body, cause } = event;
    EventRow {
        stream: stream.clone(),
        seq,
        kind,
        body,
        cause,
        commands: 0,
        recorded_at: at,
        decided,
        archived: None,
    }
}
