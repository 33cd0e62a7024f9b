//! The laws of workflows: their rows, what waits for them, and how their events are built.
//!
//! Guarantees: each law looks at one workflow, one input or one decision. Does not: run a program;
//! `verify` decides a history again.

use super::{Violation, law};
use crate::domain::event::EventRow;
use crate::domain::workflow::{Decided, InputKind, Status};

/// What stands about one workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowFacts {
    /// Its stream.
    pub stream: String,
    /// The stored name of its status.
    pub status: String,
    /// The seq of its newest event, as its row says.
    pub head: i64,
    /// The seq of the newest event that stands; 0: there is none.
    pub newest: i64,
    /// What the newest decision that ended it said: the column `decided` of its event. Of a running
    /// one the newest hundred events are looked at.
    pub end: Option<String>,
}

/// What stands about one input that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputFacts {
    /// Its stream.
    pub stream: String,
    /// Its id.
    pub id: String,
    /// The stored name of its kind.
    pub kind: String,
    /// An event stands that it caused.
    pub is_decided: bool,
    /// A command of its stream stands that it is named after, and has a receipt.
    pub has_receipt: bool,
    /// For whom it waits; `None`: it is set aside.
    pub waits_for: Option<String>,
    /// For whom it would wait if it were written now.
    pub serves: Option<String>,
}

/// What is wrong with one workflow.
#[must_use]
pub fn of_flow(flow: &FlowFacts) -> Vec<Violation> {
    let FlowFacts { stream, status, head, newest, end } = flow;
    let mut violations = Vec::new();
    let mut breaks = |law, found: &str| {
        violations.push(Violation::of(law, vec![stream.clone()], found));
    };
    if head != newest {
        let found = format!("workflow {stream} is at {head}, and its newest event is {newest}");
        breaks(&law::FLOW_HEAD, &found);
    }
    let ended = end.as_deref().and_then(|text| Decided::from_text(Some(text)).ok()?.end);
    let ended = ended.map(|end| end.status());
    let agrees = match Status::from_name(status) {
        Some(Status::Running) => end.is_none(),
        Some(Status::Quarantined) => true,
        said => said.is_some() && said == ended,
    };
    if !agrees {
        let decided = ended.map_or("that it goes on", Status::name);
        let found = format!("workflow {stream} is {status:?}, and its decisions say {decided}");
        breaks(&law::FLOW_STATUS, &found);
    }
    violations
}

/// What is wrong with one input that waits.
#[must_use]
pub fn of_input(input: &InputFacts) -> Vec<Violation> {
    let InputFacts { stream, id, kind, .. } = input;
    let mut violations = Vec::new();
    let mut breaks = |law, found: &str| {
        let ids = vec![stream.clone(), id.clone()];
        let found = format!("input {id} of workflow {stream} {found}");
        violations.push(Violation::of(law, ids, &found));
    };
    if input.is_decided {
        breaks(&law::INPUT_DECIDED, "waits, and was decided");
    }
    let kind = InputKind::from_name(kind);
    if kind.is_none() {
        breaks(&law::INPUT_KIND, &format!("is of the kind {:?}", input.kind));
    }
    let own = id.split_once(':').and_then(|(kind, _)| InputKind::from_name(kind));
    let [own, is] = [own, kind].map(|kind| kind.filter(|kind| !kind.is_open_to_strangers()));
    if kind.is_some() && own != is {
        breaks(&law::INPUT_KIND, &format!("is of the kind {:?}, not as its id says", input.kind));
    }
    if kind == Some(InputKind::Receipt) && !input.has_receipt {
        breaks(&law::POINTER, "points to a receipt that does not stand");
    }
    // Set aside, it is adopted by the upkeep of inputs.
    if input.waits_for.is_some() && input.waits_for != input.serves {
        let serves = input.serves.as_deref().unwrap_or("nobody");
        let found = format!("waits for {:?}, and is for {serves}", input.waits_for);
        breaks(&law::INPUT_SERVED, &found);
    }
    violations
}

/// Reads the events of workflows in order, and how each decision is built.
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    stream: String,
    /// How many events of the program are still to come.
    left: u32,
    /// How many commands they end with.
    commands: usize,
    has_ended: bool,
    /// Of a history that is broken once, the rest would only be an echo.
    is_told: bool,
}

impl Decisions {
    /// What is wrong with the next event of a workflow, or with the end of the stream before.
    pub fn meet(&mut self, event: &EventRow, flow: &FlowFacts) -> Vec<Violation> {
        let mut violations = Vec::new();
        if event.stream.as_str() != self.stream {
            violations.extend(self.finish());
            *self = Self { stream: event.stream.to_string(), ..Self::default() };
            let begins = event.kind.as_str().starts_with("start:") && event.cause.is_some();
            let is_aside = flow.status == Status::Quarantined.name();
            // A stream of others to which somebody sent a start.
            self.is_told = !begins && (is_aside || event.decided.is_none());
        }
        if !self.is_told
            && let Err(found) = self.next(event)
        {
            self.is_told = true;
            let found = format!("event {} of workflow {} {found}", event.seq, self.stream);
            let ids = vec![format!("{}:{}", self.stream, event.seq)];
            violations.push(Violation::of(&law::FLOW_EVENTS, ids, &found));
        }
        violations
    }

    /// What is missing at the end of the last stream.
    pub fn finish(&mut self) -> Option<Violation> {
        let left = std::mem::take(&mut self.left);
        let found = format!("the last decision of workflow {} lacks {left} events", self.stream);
        let is_short = left > 0 && !self.is_told;
        is_short.then(|| Violation::of(&law::FLOW_EVENTS, vec![self.stream.clone()], &found))
    }

    fn next(&mut self, event: &EventRow) -> Result<(), String> {
        if self.left > 0 {
            if event.cause.is_some() || event.decided.is_some() {
                return Err("is an input's, where one of the program was to come".into());
            }
            self.left -= 1;
        } else {
            self.begin(event)?;
        }
        let commands = if self.left == 0 { self.commands } else { 0 };
        if i64::try_from(commands).ok() != Some(event.commands) {
            return Err(format!("issued {} commands, and was to issue {commands}", event.commands));
        }
        Ok(())
    }

    /// The event of an input.
    fn begin(&mut self, event: &EventRow) -> Result<(), String> {
        if event.cause.is_none() {
            return Err("has no cause, where the one of an input was to come".into());
        }
        let kind = event.kind.as_str().split_once(':').map(|(kind, _)| kind);
        let kind = kind.and_then(InputKind::from_name);
        if kind.is_none() || (event.seq == 1 && kind != Some(InputKind::Start)) {
            return Err(format!("is of the kind {}", event.kind));
        }
        let decided = Decided::from_text(event.decided.as_deref());
        let decided = decided.map_err(|error| format!("cannot be read: {error}"))?;
        if self.has_ended && decided.ignored.is_none() {
            return Err("was decided after the end".into());
        }
        (self.left, self.commands) = (decided.events, decided.labels.len());
        self.has_ended |= decided.end.is_some();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::workflow::End;
    use crate::domain::{Kind, Micros, Stream};

    fn codes(violations: impl IntoIterator<Item = Violation>) -> Vec<&'static str> {
        violations.into_iter().map(|violation| violation.code).collect()
    }

    #[test]
    fn a_row_agrees_with_its_events() {
        let end = |end| Decided { end: Some(end), ..Decided::default() }.to_text();
        let runs = FlowFacts {
            stream: "trip-1".into(),
            status: "running".into(),
            head: 3,
            newest: 3,
            end: None,
        };
        assert_eq!(of_flow(&runs), []);
        assert_eq!(codes(of_flow(&FlowFacts { head: 4, ..runs.clone() })), [law::FLOW_HEAD.code]);
        let failed = FlowFacts { end: end(End::Failed("x".into())), ..runs.clone() };
        for (status, sound) in
            [("running", false), ("completed", false), ("failed", true), ("x", false)]
        {
            let flow = FlowFacts { status: status.into(), ..failed.clone() };
            assert_eq!(of_flow(&flow).is_empty(), sound, "{status}");
        }
        let endless = FlowFacts { status: "completed".into(), ..runs.clone() };
        assert_eq!(codes(of_flow(&endless)), [law::FLOW_STATUS.code]);
        assert_eq!(of_flow(&FlowFacts { status: "quarantined".into(), ..runs }), []);
    }

    #[test]
    fn an_input_waits_once_and_for_who_it_is_for() {
        let sound = InputFacts {
            stream: "trip-1".into(),
            id: "receipt:1:0".into(),
            kind: "receipt".into(),
            has_receipt: true,
            waits_for: Some("trip/1".into()),
            serves: Some("trip/1".into()),
            ..InputFacts::default()
        };
        assert_eq!(of_input(&sound), []);
        let decided = InputFacts { is_decided: true, ..sound.clone() };
        assert_eq!(codes(of_input(&decided)), [law::INPUT_DECIDED.code]);
        let forged = InputFacts { has_receipt: false, ..sound.clone() };
        assert_eq!(codes(of_input(&forged)), [law::POINTER.code]);
        assert_eq!(of_input(&InputFacts { waits_for: None, ..sound.clone() }), []);
        let lost = InputFacts { serves: Some("trip/2".into()), ..sound.clone() };
        assert_eq!(codes(of_input(&lost)), [law::INPUT_SERVED.code]);
        for kind in ["signal", "timer", "strange"] {
            let strange = InputFacts { kind: kind.into(), ..sound.clone() };
            assert_eq!(codes(of_input(&strange)), [law::INPUT_KIND.code], "{kind}");
        }
        for id in ["a:b", "timer", "start:1"] {
            let kind = "signal".to_owned();
            assert_eq!(of_input(&InputFacts { id: id.into(), kind, ..sound.clone() }), [], "{id}");
        }
        let timer = InputFacts { id: "late".into(), kind: "timer".into(), ..sound };
        assert_eq!(codes(of_input(&timer)), [law::INPUT_KIND.code]);
    }

    fn event(seq: i64, kind: &str, cause: Option<&str>, decided: &Decided) -> EventRow {
        EventRow {
            stream: Stream::new("trip-1").unwrap(),
            seq,
            kind: Kind::new(kind).unwrap(),
            body: Vec::new(),
            cause: cause.map(Into::into),
            commands: 0,
            recorded_at: Micros::new(1),
            decided: decided.to_text(),
        }
    }

    /// What is found in a history.
    fn read(events: &[EventRow]) -> Vec<String> {
        let mut decisions = Decisions::default();
        let flow = FlowFacts { status: "running".into(), ..FlowFacts::default() };
        let found = events.iter().flat_map(|event| decisions.meet(event, &flow));
        let mut found: Vec<_> = found.map(|one| one.text).collect();
        found.extend(decisions.finish().map(|one| one.text));
        found
    }

    fn history() -> Vec<EventRow> {
        let bare = Decided::default();
        let two = Decided { events: 2, labels: vec!["flight".into()], ..bare.clone() };
        let end = Decided { end: Some(End::Completed(1.into())), ..bare.clone() };
        let late = Decided { ignored: Some("it has ended".into()), ..bare.clone() };
        let mut last = event(3, "noted", None, &bare);
        last.commands = 1;
        vec![
            event(1, "start:trip", Some("start"), &two),
            event(2, "planned", None, &bare),
            last,
            event(4, "signal:approve", Some("a"), &end),
            event(5, "receipt:completed", Some("receipt:3:0"), &late),
        ]
    }

    #[test]
    fn a_decision_is_an_input_and_what_follows() {
        assert_eq!(read(&history()), [""; 0]);
        let spoiled = |spoil: fn(&mut Vec<EventRow>)| {
            let mut events = history();
            spoil(&mut events);
            let found = read(&events);
            assert_eq!(found.len(), 1, "{found:?}");
            found[0].clone()
        };
        assert!(spoiled(|it| it[0].kind = Kind::new("started").unwrap()).contains("event 1 "));
        assert!(spoiled(|it| it[0].cause = None).contains("has no cause"));
        assert!(spoiled(|it| it[0].decided = None).contains("event 2 "));
        assert!(spoiled(|it| it[1].cause = Some("x".into())).contains("event 2 "));
        assert!(spoiled(|it| it[2].commands = 2).contains("issued 2 commands"));
        assert!(spoiled(|it| it[3].kind = Kind::new("other:x").unwrap()).contains("event 4 "));
        assert!(spoiled(|it| it[4].decided = None).contains("after the end"));
        assert!(spoiled(|it| it[3].decided = Some("{".into())).contains("cannot be read"));
        assert!(spoiled(|it| it.truncate(2)).contains("lacks 1 events"));
    }

    #[test]
    fn a_stream_of_others_that_is_set_aside_is_none() {
        let mut decisions = Decisions::default();
        let flow = FlowFacts { status: "quarantined".into(), ..FlowFacts::default() };
        let placed = event(1, "placed", None, &Decided::default());
        assert_eq!(decisions.meet(&placed, &flow), []);
    }
}
