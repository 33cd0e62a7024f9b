//! The laws of histories: how the events of workflows are built, and what their decisions left.
//!
//! Guarantees: the events of one workflow at a time are followed. Does not: run a program; `verify`
//! decides a history again.

use std::collections::BTreeMap;

use super::{FlowFacts, TimerFacts, Violation, law};
use crate::domain::event::EventRow;
use crate::domain::time::Micros;
use crate::domain::workflow::{Decided, InputKind, Status, timer_input, timer_name};

/// Reads the events of workflows in order: how each decision is built, and which timers it leaves.
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    stream: String,
    /// How many events of the program are still to come.
    left: u32,
    /// What they belong to.
    decided: Decided,
    has_ended: bool,
    /// Of a history that is broken once, the rest would only be an echo.
    is_told: bool,
    timers: Timers,
}

impl Decisions {
    /// What is wrong with the next event of a workflow, or with the stream before, which ends.
    pub fn meet(&mut self, event: &EventRow, flow: &FlowFacts) -> Vec<Violation> {
        let mut violations = Vec::new();
        if event.stream.as_str() != self.stream {
            violations = self.finish();
            let begins = event.kind.as_str().starts_with("start:") && event.cause.is_some();
            let is_aside = flow.status == Status::Quarantined.name();
            *self = Self {
                stream: event.stream.to_string(),
                // A stream of others to which somebody sent a start.
                is_told: !begins && (is_aside || event.decided.is_none()),
                timers: Timers::of(flow),
                ..Self::default()
            };
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

    /// What is missing at the end of the last stream, and which timers are others than it left.
    pub fn finish(&mut self) -> Vec<Violation> {
        if std::mem::replace(&mut self.is_told, true) || self.stream.is_empty() {
            return Vec::new();
        }
        if self.left > 0 {
            let (stream, left) = (&self.stream, self.left);
            let found = format!("the last decision of workflow {stream} lacks {left} events");
            return vec![Violation::of(&law::FLOW_EVENTS, vec![stream.clone()], &found)];
        }
        let differing = self.timers.differing();
        let told = |(id, found): (String, String)| {
            let found = format!("timer {id} of workflow {} {found}", self.stream);
            Violation::of(&law::TIMER, vec![self.stream.clone(), id], &found)
        };
        differing.into_iter().map(told).collect()
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
        let is_last = self.left == 0;
        let commands = if is_last { self.decided.labels.len() } else { 0 };
        if i64::try_from(commands).ok() != Some(event.commands) {
            return Err(format!("issued {} commands, and was to issue {commands}", event.commands));
        }
        if is_last {
            self.timers.follow(event.seq, &std::mem::take(&mut self.decided));
        }
        Ok(())
    }

    /// The event of an input.
    fn begin(&mut self, event: &EventRow) -> Result<(), String> {
        let Some(cause) = &event.cause else {
            return Err("has no cause, where the one of an input was to come".into());
        };
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
        self.timers.hear(event.seq, cause);
        self.has_ended |= decided.end.is_some();
        (self.left, self.decided) = (decided.events, decided);
        Ok(())
    }
}

/// The timers of one workflow: those that its decisions left, and those that wait.
#[derive(Clone, Debug, Default)]
struct Timers {
    /// Where the workflow was when those that wait were read; what was decided later is not told.
    head: i64,
    /// By name: the decision that set it, and when it is due.
    left: BTreeMap<String, (i64, Micros)>,
    waiting: Vec<TimerFacts>,
}

impl Timers {
    fn of(flow: &FlowFacts) -> Self {
        Self { head: flow.head, left: BTreeMap::new(), waiting: flow.timers.clone() }
    }

    /// An input became the event `seq`.
    fn hear(&mut self, seq: i64, input: &str) {
        let Some(name) = timer_name(input).filter(|_| seq <= self.head) else { return };
        if self.left.get(name).is_some_and(|(seq, _)| timer_input(*seq, name) == input) {
            self.left.remove(name);
        }
    }

    /// The decision whose last event is `seq` said this.
    fn follow(&mut self, seq: i64, decided: &Decided) {
        if seq > self.head {
            return;
        }
        for name in &decided.unset {
            self.left.remove(name);
        }
        for timer in &decided.set {
            self.left.insert(timer.name.clone(), (seq, timer.due_at));
        }
        if decided.end.is_some() {
            self.left.clear();
        }
    }

    /// The timers that are others than was decided, and how.
    fn differing(&self) -> Vec<(String, String)> {
        let left = self.left.iter().map(|(name, (seq, due_at))| (timer_input(*seq, name), *due_at));
        let mut left: BTreeMap<String, Micros> = left.collect();
        let mut differing = Vec::new();
        for TimerFacts { id, due_at } in &self.waiting {
            let found = match (left.remove(id), due_at) {
                (None, _) => "waits, and no decision left it".to_owned(),
                (Some(set), Some(due_at)) if set == *due_at => continue,
                (Some(set), due_at) => {
                    let due_at = due_at.map_or_else(|| "once".into(), |at| at.get().to_string());
                    format!("is due at {due_at}, and was set to {}", set.get())
                }
            };
            differing.push((id.clone(), found));
        }
        let gone = |(id, _): (String, Micros)| (id, "was set, and does not wait".to_owned());
        differing.extend(left.into_iter().map(gone));
        differing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::workflow::{End, SetTimer};
    use crate::domain::{Kind, Stream};

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
            archived: None,
        }
    }

    /// What is found in a history.
    fn read(events: &[EventRow]) -> Vec<String> {
        let mut decisions = Decisions::default();
        let flow = FlowFacts { status: "running".into(), ..FlowFacts::default() };
        let found = events.iter().flat_map(|event| decisions.meet(event, &flow));
        let mut found: Vec<_> = found.map(|one| one.text).collect();
        found.extend(decisions.finish().into_iter().map(|one| one.text));
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

    /// Sets `late`, sets it anew, hears `early`, takes `never` back.
    fn timed() -> Vec<EventRow> {
        let set = |names: &[&str], due_at: i64| Decided {
            set: names
                .iter()
                .map(|name| SetTimer { name: (*name).into(), due_at: Micros::new(due_at) })
                .collect(),
            ..Decided::default()
        };
        let unset = Decided { unset: vec!["never".into()], ..set(&["late"], 9) };
        vec![
            event(1, "start:trip", Some("start"), &set(&["late", "early", "never"], 7)),
            event(2, "timer:early", Some("timer:1:early"), &Decided::default()),
            event(3, "signal:approve", Some("a"), &unset),
        ]
    }

    fn told(events: &[EventRow], head: i64, waiting: &[(&str, i64)]) -> Vec<String> {
        let timer = |(id, due_at): &(&str, i64)| TimerFacts {
            id: (*id).into(),
            due_at: Some(Micros::new(*due_at)),
        };
        let timers = waiting.iter().map(timer).collect();
        let flow = FlowFacts { status: "running".into(), head, timers, ..FlowFacts::default() };
        let mut decisions = Decisions::default();
        let mut found: Vec<_> =
            events.iter().flat_map(|event| decisions.meet(event, &flow)).collect();
        found.extend(decisions.finish());
        assert!(found.iter().all(|one| one.code == law::TIMER.code), "{found:?}");
        found.into_iter().map(|one| one.text).collect()
    }

    #[test]
    fn the_timers_that_wait_are_those_that_decisions_left() {
        assert_eq!(told(&timed(), 3, &[("timer:3:late", 9)]), [""; 0]);
        let gone = told(&timed(), 3, &[]);
        assert!(gone[0].contains("timer:3:late of workflow trip-1 was set, and does not wait"));
        let late = told(&timed(), 3, &[("timer:3:late", 8)]);
        assert!(late[0].contains("is due at 8, and was set to 9"));
        let forged = told(&timed(), 3, &[("timer:3:late", 9), ("timer:1:never", 7)]);
        assert!(forged[0].contains("timer:1:never"), "{forged:?}");
        assert_eq!((gone.len(), late.len(), forged.len()), (1, 1, 1));
    }

    #[test]
    fn what_was_decided_after_the_row_was_read_is_not_told() {
        let all = [("timer:1:early", 7), ("timer:1:late", 7), ("timer:1:never", 7)];
        assert_eq!(told(&timed(), 1, &all), [""; 0]);
        assert_eq!(told(&timed(), 2, &all[1..]), [""; 0]);
    }

    #[test]
    fn the_end_takes_the_timers_along() {
        let mut events = timed();
        let end = Decided { end: Some(End::Completed(1.into())), ..Decided::default() };
        events.push(event(4, "signal:end", Some("b"), &end));
        assert_eq!(told(&events, 4, &[]), [""; 0]);
        assert_eq!(told(&events, 4, &[("timer:3:late", 9)]).len(), 1);
    }
}
