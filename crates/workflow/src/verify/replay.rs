//! Decides a history again, decision by decision, and stops at the first that differs.

use std::collections::VecDeque;
use std::sync::Arc;

use counterfoil_core::domain::workflow::{Decided, Program};
use counterfoil_core::domain::{Digest, Event, EventRow, Micros, Stream};
use counterfoil_core::port::workflow::{Carried, Decision, Issued, Snapshot};

use super::{Archived, Mismatch, Verified, saved};
use crate::broken::Broken;
use crate::instance::Instance;
use crate::live::AnyProgram;
use crate::programs::Programs;
use crate::record;

/// How often each decision is decided, each time in a state of its own.
const TIMES: usize = 4;
/// How many decisions in a row one state is saved and read back after each; then after each
/// hundredth, since saving a large state costs.
const SAVED_EACH: u64 = 100;
/// The most characters of a value that are shown.
const SHOWN_CHARS_MAX: usize = 400;

/// A history on its way through its program.
pub(crate) struct Replay {
    code: Arc<dyn AnyProgram>,
    /// The first one is saved and read back.
    states: Vec<Instance>,
    stream: Stream,
    program: Program,
    rows: VecDeque<EventRow>,
    issued: VecDeque<Issued>,
    /// A state that was saved, until the replay has come to its event.
    saved: Option<Snapshot>,
    decisions: u64,
    mismatch: Option<Mismatch>,
    archived: Option<Archived>,
}

impl Replay {
    /// Before the first event; `None` where the program is not given.
    pub(crate) fn begin(programs: &Programs, program: &Program, stream: &Stream) -> Option<Self> {
        let code = programs.get(program)?;
        let mut replay = Self {
            code: Arc::clone(&code),
            states: Vec::with_capacity(TIMES),
            stream: stream.clone(),
            program: program.clone(),
            rows: VecDeque::new(),
            issued: VecDeque::new(),
            saved: None,
            decisions: 0,
            mismatch: None,
            archived: None,
        };
        for _ in 0..TIMES {
            match Instance::begin(stream.clone(), program.clone(), Arc::clone(&code)) {
                Ok(instance) => replay.states.push(instance),
                Err(why) => replay.differs((0, ""), "state", "a workflow", &why.to_string()),
            }
        }
        Some(replay)
    }

    /// A runner goes on from this state: it must be the one that the events lead to.
    pub(crate) fn must_come_to(&mut self, saved: Snapshot) {
        self.saved = Some(saved);
    }

    /// Takes the next events and at least the commands that were issued with them. Whether it
    /// wants more: not after a mismatch, nor after an event whose body is not there.
    pub(crate) fn take(&mut self, rows: Vec<EventRow>, issued: Vec<Issued>) -> bool {
        self.archived = self.archived.take().or_else(|| Archived::among(&rows));
        if self.archived.is_some() {
            return false;
        }
        self.rows.extend(rows);
        self.issued.extend(issued);
        while self.mismatch.is_none() {
            let Some(first) = self.rows.front() else { break };
            let (seq, cause) = (first.seq, first.cause.clone().unwrap_or_default());
            let length = match record::decided(first) {
                Ok(decided) => 1 + decided.events as usize,
                Err(why) => {
                    self.differs((seq, &cause), "history", "an event", &why.to_string());
                    break;
                }
            };
            if self.rows.len() < length {
                break;
            }
            let rows: Vec<_> = self.rows.drain(..length).collect();
            let count = rows.iter().map(|row| row.commands).sum::<i64>();
            let count = usize::try_from(count).unwrap_or(0).min(self.issued.len());
            let issued: Vec<_> = self.issued.drain(..count).collect();
            self.decide(&rows, &issued);
        }
        self.mismatch.is_none()
    }

    /// What it came to.
    pub(crate) fn end(mut self) -> Verified {
        if let (None, None, Some(row)) = (&self.mismatch, &self.archived, self.rows.front()) {
            let (seq, left) = (row.seq, self.rows.len());
            let says = format!("a decision of more than {left} events");
            self.differs((seq, ""), "history", &says, "the history ends within it");
        }
        Verified {
            workflow: self.stream.to_string(),
            program: self.program.to_string(),
            decisions: self.decisions,
            mismatch: self.mismatch,
            is_unknown: false,
            archived: self.archived,
        }
    }

    fn decide(&mut self, rows: &[EventRow], issued: &[Issued]) {
        let seq = rows[0].seq;
        let given = match record::read(&rows[0]) {
            Ok(given) => given,
            Err(why) => return self.differs((seq, ""), "history", "an event", &why.to_string()),
        };
        for place in 0..self.states.len() {
            let state = &mut self.states[place];
            let found = if is_by_hand(rows) {
                None
            } else {
                match state.foresee(&given, rows[0].recorded_at) {
                    Ok((decision, decided)) => compared(rows, issued, &decision, &decided),
                    Err(why) => Some(("decision".into(), "a decision".into(), why.to_string())),
                }
            };
            let found = found.or_else(|| {
                let folded = fold(state, rows);
                folded.err().map(|why| ("history".into(), "an event".into(), why.to_string()))
            });
            if let Some((what, recorded, decided)) = found {
                return self.differs((seq, &given.id), &what, &recorded, &decided);
            }
        }
        self.decisions += 1;
        if let Some((recorded, decided)) = self.differs_from_saved() {
            return self.differs((seq, &given.id), "saved state", &recorded, &decided);
        }
        let saves = self.decisions <= SAVED_EACH || self.decisions.is_multiple_of(SAVED_EACH);
        if let Some(Err(why)) = saves.then(|| self.save_and_restore()) {
            self.differs((seq, &given.id), "state", "a state", &why.to_string());
        }
    }

    /// The saved state, read back as a runner reads it, and the replayed one, where they differ.
    fn differs_from_saved(&mut self) -> Option<(String, String)> {
        let replayed = self.states.last()?;
        let saved = self.saved.take_if(|saved| saved.seq <= replayed.head)?;
        if saved.seq != replayed.head {
            return None;
        }
        saved::difference(&self.code, &saved, replayed)
    }

    fn save_and_restore(&mut self) -> Result<(), Broken> {
        let Some(state) = self.states.first_mut() else { return Ok(()) };
        if let Some(snapshot) = state.save()? {
            *state = Instance::restore(self.stream.clone(), Arc::clone(&self.code), &snapshot)?;
        }
        Ok(())
    }

    fn differs(&mut self, (seq, input): (i64, &str), what: &str, recorded: &str, decided: &str) {
        let shown = |text: &str| text.chars().take(SHOWN_CHARS_MAX).collect();
        self.mismatch.get_or_insert_with(|| Mismatch {
            workflow: self.stream.to_string(),
            seq,
            input: input.to_owned(),
            what: what.to_owned(),
            recorded: shown(recorded),
            decided: shown(decided),
        });
    }
}

/// Whether a person ended the workflow so: no program decided it.
fn is_by_hand(rows: &[EventRow]) -> bool {
    record::decided(&rows[0]).is_ok_and(|decided| decided.is_by_hand())
}

fn fold(state: &mut Instance, rows: &[EventRow]) -> Result<(), Broken> {
    rows.iter().try_for_each(|row| state.fold(row))?;
    state.must_be_whole()
}

/// What differs, as recorded, as decided.
type Difference = (String, String, String);

fn compared(
    rows: &[EventRow],
    issued: &[Issued],
    decision: &Decision,
    decided: &Decided,
) -> Option<Difference> {
    let differs = |what: String, recorded: String, now: String| Some((what, recorded, now));
    let recorded = record::decided(&rows[0]).ok()?;
    let own = (rows[0].kind.as_str(), rows[0].body.as_slice());
    if own != (decision.event.kind.as_str(), decision.event.body.as_slice()) {
        let now = event_text(decision.event.kind.as_str(), &decision.event.body);
        return differs("event of the input".into(), event_text(own.0, own.1), now);
    }
    // The program's own events and commands before the summary: they say more.
    let now: Vec<&Event> = decision.events.iter().collect();
    for place in 0..now.len().max(rows.len() - 1) {
        let was = rows.get(place + 1).map(|row| (row.kind.as_str(), row.body.as_slice()));
        let is = now.get(place).map(|event| (event.kind.as_str(), event.body.as_slice()));
        if was != is {
            let text = |one: Option<(&str, &[u8])>| {
                one.map_or_else(|| "nothing".into(), |(kind, body)| event_text(kind, body))
            };
            return differs(format!("event {}", place + 1), text(was), text(is));
        }
    }
    if let Some(found) = commands(rows, issued, decision) {
        return Some(found);
    }
    if recorded != *decided {
        let text = |one: &Decided| one.to_text().unwrap_or_else(|| "nothing".into());
        return differs("decided".into(), text(&recorded), text(decided));
    }
    None
}

fn commands(rows: &[EventRow], issued: &[Issued], decision: &Decision) -> Option<Difference> {
    let last = rows.last().map_or(0, |row| row.seq);
    for place in 0..issued.len().max(decision.commands.len()) {
        let was = issued.get(place);
        let is = decision.commands.get(place);
        let was_text = was.map_or_else(
            || "nothing".into(),
            |was| {
                let key = was.ordering_key.as_ref().map(AsRef::as_ref);
                let place = (was.seq, was.idx);
                let text = command_text(place, (&was.destination, &was.kind, key), was.digest);
                text + &carried_text(was.carried.as_ref())
            },
        );
        let is_text = is.map_or_else(
            || "nothing".into(),
            |is| {
                let key = is.ordering_key.as_ref().map(AsRef::as_ref);
                let idx = i64::try_from(place).unwrap_or(i64::MAX);
                // An erased body has no digest to compare with.
                let is_erased = was.is_some_and(|was| was.digest.is_none());
                let digest = (!is_erased).then(|| Digest::of(&is.body));
                let names = (is.destination.as_str(), is.kind.as_str(), key);
                // Of an archived one this is not known.
                let is_whole = was.is_none_or(|was| was.carried.is_some());
                let carried = is_whole.then(|| Carried::from(is));
                command_text((last, idx), names, digest) + &carried_text(carried.as_ref())
            },
        );
        if was_text != is_text {
            return Some((format!("command {place}"), was_text, is_text));
        }
    }
    None
}

fn command_text(
    (seq, idx): (i64, i64),
    (destination, kind, key): (&str, &str, Option<&str>),
    digest: Option<Digest>,
) -> String {
    let key = key.map(|key| format!(" key {key}")).unwrap_or_default();
    let digest = digest.map_or_else(|| "(erased)".into(), |digest| digest.to_hex());
    format!("{seq}:{idx} {destination} {kind}{key} {digest}")
}

/// What is carried beside the body, as far as it is not what a command carries by itself.
fn carried_text(carried: Option<&Carried>) -> String {
    let Some(carried) = carried else { return String::new() };
    let time = |time: Option<Micros>| time.map(|time| time.get().to_string());
    let said = [
        ("content_type", Some(carried.content_type.clone())),
        ("headers", carried.headers.clone()),
        ("core", carried.core_digest.clone()),
        ("not_before", time(carried.not_before)),
        ("expires_at", time(carried.expires_at)),
    ];
    said.into_iter().filter_map(|(name, said)| Some(format!(" {name} {}", said?))).collect()
}

fn event_text(kind: &str, body: &[u8]) -> String {
    format!("{kind} {}", String::from_utf8_lossy(body))
}
