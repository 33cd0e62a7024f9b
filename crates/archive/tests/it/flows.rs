//! Workflows with long events, whose bodies are worth a line.

use std::collections::BTreeSet;

use counterfoil_archive::{BodyReader, Lines};
use counterfoil_core::domain::workflow::{Decided, End, InputKind, Program, Status};
use counterfoil_core::domain::{Event, EventRow, Kind, Span, Stream};
use counterfoil_core::port::archive::Archive;
use counterfoil_core::port::workflow::{Aside, Decision, NewInput, Quarantine, Snapshot, Step};
use counterfoil_core::port::{Bodies, Workflows};

use crate::scene::Site;

pub(crate) fn stream(name: &str) -> Stream {
    Stream::new(name).unwrap()
}

fn program() -> Program {
    Program::new("trip", 1).unwrap()
}

/// The body of an input of this id.
pub(crate) fn long(of: &str) -> Vec<u8> {
    format!("{{\"said\":\"{of:x<150}\"}}").into_bytes()
}

/// What an event is called here.
pub(crate) fn place(event: &EventRow) -> String {
    format!("{}:{}", event.stream, event.seq)
}

impl<S: Archive + Bodies + Workflows> Site<S> {
    /// One that ended after four events, one that runs with a snapshot of three and one event
    /// behind it, and time.
    pub(crate) async fn with_flows(self) -> Self {
        self.chat("done", 4, None, Some(End::Completed(1.into()))).await;
        self.chat("runs", 3, Some(3), None).await;
        self.chat("runs", 1, None, None).await;
        self.clock.advance(Span::from_secs(60));
        self
    }

    /// So many inputs more, decided one by one; the one that becomes `saved` saves the state.
    pub(crate) async fn chat(&self, of: &str, inputs: i64, saved: Option<i64>, end: Option<End>) {
        let row = self.store.workflow(of).await.unwrap();
        let head = row.map_or(0, |row| row.head);
        for seq in head + 1..=head + inputs {
            let (id, is_last) = (format!("{of}-{seq}"), seq == head + inputs);
            let kind = if seq == 1 { InputKind::Start } else { InputKind::Signal };
            let name = if seq == 1 { "trip" } else { "say" };
            let body = Some(long(&id));
            let input =
                NewInput { stream: stream(of), id: id.clone(), kind, name: name.into(), body };
            self.store.send_inputs(vec![input]).await.unwrap().remove(0).unwrap();
            let end = end.clone().filter(|_| is_last);
            let status = end.as_ref().map_or(Status::Running, End::status);
            let kind = Kind::new(kind.event_kind(name)).unwrap();
            let decision = Decision {
                input: id.clone(),
                event: Event { kind, body: long(&id), cause: Some(id) },
                decided: Decided { end, ..Decided::default() }.to_text(),
                events: Vec::new(),
                commands: Vec::new(),
                timers: Vec::new(),
                unset: Vec::new(),
                cancel: Vec::new(),
            };
            let state = || Snapshot { program: program(), seq, state: b"{}".to_vec() };
            let step = Step {
                stream: stream(of),
                program: program(),
                expected_seq: seq - 1,
                at: self.store.now().unwrap(),
                decisions: vec![decision],
                status,
                snapshot: (saved == Some(seq)).then(state),
                owner: "runner".into(),
                lease: Span::ZERO,
            };
            assert_eq!(self.store.steps(vec![step]).await.unwrap(), [Ok(())]);
        }
    }

    pub(crate) async fn set_aside(&self, of: &str, head: i64) {
        let (reason, input) = ("it panicked".into(), String::new());
        let aside = Quarantine {
            stream: stream(of),
            program: program(),
            expected_seq: head,
            reason,
            input,
        };
        assert_eq!(self.store.quarantine(aside).await.unwrap(), Aside::Workflow);
    }

    /// Every event of both.
    pub(crate) async fn events(&self) -> Vec<EventRow> {
        let mut all = Vec::new();
        for of in ["done", "runs"] {
            all.extend(self.store.load(&stream(of), 0, 1000).await.unwrap());
        }
        all
    }

    /// The places of those that are archived.
    pub(crate) async fn taken(&self) -> BTreeSet<String> {
        let events = self.events().await;
        events.iter().filter(|event| event.archived.is_some()).map(place).collect()
    }

    /// The lines of all files of events.
    pub(crate) fn event_lines(&self) -> Vec<EventRow> {
        let mut all = Vec::new();
        for name in self.files(".events.jsonl.zst") {
            let mut lines = Lines::open(&self.path(&name)).unwrap();
            while let Some(event) = lines.event().unwrap() {
                all.push(event);
            }
        }
        all
    }

    /// Each event has its body, in its row or in the file that it names.
    pub(crate) async fn each_has_its_body(&self) {
        let mut events = self.events().await;
        let mut reader = BodyReader::new(vec![self.folder()]);
        reader.fill(&mut events).unwrap();
        for event in &events {
            let id = event.cause.clone().unwrap();
            assert_eq!((&event.body, &event.archived), (&long(&id), &None), "{}", place(event));
        }
    }
}

/// What may leave of [`Site::with_flows`].
pub(crate) fn all() -> BTreeSet<String> {
    let done = (1..=4).map(|seq| format!("done:{seq}"));
    done.chain((1..=3).map(|seq| format!("runs:{seq}"))).collect()
}
