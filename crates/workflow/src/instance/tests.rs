//! The engine without a store: what is folded is what was decided, and rules hold.

use std::sync::Arc;

use counterfoil_core::domain::workflow::{receipt_input, timer_input};
use counterfoil_core::domain::{CommandId, Destination, Kind, ReceiptOutcome, Span};
use counterfoil_core::port::workflow::ReceiptRead;
use proptest::prelude::*;

use super::*;
use crate::decision::Unnamed;
use crate::programs::Programs;
use crate::verify::Replay;
use crate::{Input, What, Workflow, decision, limits};

const AT: Micros = Micros::new(1_767_225_600_000_000);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Heard {
    count: u64,
    last: Option<String>,
}

#[derive(Serialize, Deserialize)]
enum Event {
    Unit,
    New(u64),
    Named { text: Option<String> },
}

/// Does what the signal's body says, so that a test can ask for anything.
struct Puppet;

impl Workflow for Puppet {
    type State = Heard;
    type Event = Event;

    fn name(&self) -> &str {
        "puppet"
    }

    fn evolve(&self, mut state: Heard, event: &Event) -> Heard {
        state.count += 1;
        match event {
            Event::Unit => state.last = None,
            Event::New(number) => state.last = Some(number.to_string()),
            Event::Named { text } if text.as_deref() == Some("evolve panics") => panic!("no"),
            Event::Named { text } => state.last.clone_from(text),
        }
        state
    }

    fn decide(&self, state: &Heard, input: &Input) -> decision::Decision<Event> {
        let mut said = decision::Decision::none();
        let What::Signal { body, .. } = &input.what else {
            return said.event(Event::New(state.count));
        };
        for word in String::from_utf8_lossy(body).split_whitespace() {
            let (verb, name) = word.split_once('=').unwrap_or((word, ""));
            said = match verb {
                "panic" => panic!("asked to"),
                "event" => said.event(Event::Named { text: Some(name.into()) }),
                "none" => said.event(Event::Named { text: None }).event(Event::Unit),
                "evolve" => said.event(Event::Named { text: Some("evolve panics".into()) }),
                "ask" => said.command(ask(name)),
                "named" => {
                    let mut one = ask("x");
                    one.command.id = CommandId::new("mine").ok();
                    said.command(one)
                }
                "set" => said.timer_after(name, Span::from_secs(5)),
                "far" => said.timer_after(name, Span::from_secs(i64::MAX)),
                "unset" => said.unset(name),
                "cancel" => said.cancel(name),
                "many" => (0..=limits::COMMANDS_MAX)
                    .fold(said, |said, n| said.command(ask(&n.to_string()))),
                "large" => said.complete("x".repeat(limits::DECIDED_BYTES_MAX)),
                "end" => said.complete(7),
                _ => said,
            };
        }
        said
    }
}

fn ask(label: &str) -> Unnamed {
    Unnamed::json("bank", "pay", &7).unwrap().labelled(label)
}

fn begin() -> Instance {
    let program = Program::new("puppet", 1).unwrap();
    Instance::begin(Stream::new("p-1").unwrap(), program, Arc::new(Puppet)).unwrap()
}

fn given(kind: InputKind, id: &str, name: &str, body: &str) -> DueInput {
    DueInput {
        stream: Stream::new("p-1").unwrap(),
        id: id.into(),
        kind,
        name: name.into(),
        body: body.into(),
        standing: None,
        receipt: None,
    }
}

fn told(id: &str, body: &str) -> DueInput {
    given(InputKind::Signal, id, "do", body)
}

fn receipt(seq: i64, idx: usize) -> DueInput {
    let id = receipt_input(seq, i64::try_from(idx).unwrap());
    let mut given = given(InputKind::Receipt, &id, "completed", "");
    given.receipt = Some(ReceiptRead {
        command_id: CommandId::new(format!("p-1:{seq}:{idx}")).unwrap(),
        destination: Destination::new("bank").unwrap(),
        kind: Kind::new("pay").unwrap(),
        outcome: ReceiptOutcome::Completed,
        result: Some(vec![0xff, 1]),
        evidence: Some("201".into()),
    });
    given
}

fn ignored(decision: &Decision) -> Option<String> {
    Decided::from_text(decision.decided.as_deref()).unwrap().ignored
}

fn reason(body: &str) -> String {
    let mut instance = begin();
    instance.decide(&told("0", "ask=open"), AT).unwrap();
    instance.decide(&told("1", body), AT).unwrap_err().to_string()
}

#[test]
fn a_decision_is_named_by_its_last_event_and_its_receipt_by_the_label() {
    let mut instance = begin();
    let decision = instance.decide(&told("a", "event=x none ask=one ask=two"), AT).unwrap();
    assert_eq!((instance.head, decision.events.len()), (4, 3));
    assert_eq!(decision.event.cause.as_deref(), Some("a"));
    assert_eq!(decision.event.kind.as_str(), "signal:do");
    assert_eq!(instance.running.label_of(4, 1), Some("two"));

    let heard = instance.decide(&receipt(4, 1), AT).unwrap();
    let body: serde_json::Value = serde_json::from_slice(&heard.event.body).unwrap();
    assert_eq!((&body["label"], &body["result_base64"]), (&"two".into(), &"/wE=".into()));
    assert_eq!(instance.running.label_of(4, 1), None);
    assert_eq!(instance.running.open.len(), 1);
    // A second pointer to the same command, and pointers to none.
    assert!(ignored(&instance.decide(&receipt(4, 1), AT).unwrap()).is_some());
    assert!(ignored(&instance.decide(&receipt(9, 0), AT).unwrap()).is_some());
    let mut forged = receipt(4, 0);
    forged.receipt = None;
    assert!(ignored(&instance.decide(&forged, AT).unwrap()).is_some());
    assert_eq!(instance.running.label_of(4, 0), Some("one"), "a forged pointer ends nothing");
}

#[test]
fn a_timer_of_a_name_is_replaced_and_an_old_one_ignored() {
    let mut instance = begin();
    let first = instance.decide(&told("a", "set=late"), AT).unwrap();
    let due = AT.plus(Span::from_secs(5));
    assert_eq!(first.timers, [(timer_input(1, "late"), "late".to_owned(), due)]);
    let second = instance.decide(&told("b", "set=late set=late"), AT).unwrap();
    assert_eq!(second.unset, [timer_input(1, "late")]);
    assert_eq!(second.timers.len(), 1, "of one name the last counts");
    let old = given(InputKind::Timer, &timer_input(1, "late"), "late", "");
    assert!(ignored(&instance.decide(&old, AT).unwrap()).is_some());
    let new = given(InputKind::Timer, &timer_input(2, "late"), "late", "");
    assert_eq!(ignored(&instance.decide(&new, AT).unwrap()), None);
    assert!(instance.running.timers.is_empty());
    let none = instance.decide(&told("c", "unset=late cancel=nothing"), AT).unwrap();
    assert!(none.unset.is_empty() && none.cancel.is_empty() && none.decided.is_none());
}

#[test]
fn a_second_start_and_what_comes_after_the_end_are_consumed_as_ignored() {
    let mut instance = begin();
    let start = |id| given(InputKind::Start, id, "puppet", "{}");
    assert_eq!(ignored(&instance.decide(&start("s"), AT).unwrap()), None);
    assert!(ignored(&instance.decide(&start("t"), AT).unwrap()).is_some());
    let end = instance.decide(&told("e", "end set=late ask=one"), AT).unwrap();
    assert!(end.timers.is_empty(), "an ended workflow waits for nothing");
    assert_eq!(instance.status(), Status::Completed);
    let count = instance.state().unwrap().get().to_owned();
    for late in [receipt(instance.head, 0), told("f", "panic"), start("u")] {
        let decision = instance.decide(&late, AT).unwrap();
        assert_eq!(ignored(&decision).as_deref(), Some("the workflow has ended"));
    }
    assert_eq!(instance.state().unwrap().get(), count);
}

#[test]
fn a_cancel_names_the_open_command_of_the_label() {
    let mut instance = begin();
    instance.decide(&told("a", "ask=one"), AT).unwrap();
    let decision = instance.decide(&told("b", "cancel=one cancel=one"), AT).unwrap();
    assert_eq!(decision.cancel, [CommandId::new("p-1:1:0").unwrap()]);
}

#[test]
fn what_breaks_a_rule_says_which() {
    for (body, words) in [
        ("panic", "panic in decide: asked to"),
        ("evolve", "panic in evolve: no"),
        ("ask=open", "labelled \"open\" is open already"),
        ("ask=a ask=a", "labelled \"a\" is open already"),
        ("ask=", "label \"\" must have 1 to 255 bytes"),
        ("set=", "timer \"\" must have 1 to 200 bytes"),
        ("named", "has the id mine"),
        ("far=x", "no column may hold"),
        ("many", "1001 commands; at most 1000"),
        ("large", "at most 1048576"),
    ] {
        let reason = reason(body);
        assert!(reason.contains(words), "{body}: {reason}");
    }
}

#[test]
fn a_history_that_is_none_of_the_program_is_named() {
    let mut instance = begin();
    let decision = instance.decide(&told("a", "event=x"), AT).unwrap();
    let (rows, _) = record::rows(&instance.stream, 0, &decision, AT);
    let folded = |rows: &[EventRow]| {
        let mut fresh = begin();
        let done = rows.iter().try_for_each(|row| fresh.fold(row));
        done.and_then(|()| fresh.must_be_whole()).map_err(|why| why.to_string())
    };
    assert_eq!(folded(&rows), Ok(()));
    let broken = |change: &dyn Fn(&mut Vec<EventRow>)| {
        let mut rows = rows.clone();
        change(&mut rows);
        folded(&rows).unwrap_err()
    };
    assert!(broken(&|rows| rows[1].seq = 3).contains("event 2 is missing, 3 follows"));
    assert!(broken(&|rows| drop(rows.pop())).contains("1 of the decision are missing"));
    assert!(broken(&|rows| rows[1].cause = Some("b".into())).contains("is an input's"));
    assert!(broken(&|rows| rows[0].cause = None).contains("has no cause"));
    assert!(broken(&|rows| rows[1].kind = Kind::new("Other").unwrap()).contains("\"Other\""));
    assert!(broken(&|rows| rows[1].commands = 1).contains("issued 1 commands"));
    assert!(broken(&|rows| rows[0].decided = Some("{".into())).contains("`decided`"));
}

fn words() -> impl Strategy<Value = String> {
    let name = prop_oneof!["a", "b", "c"];
    let verb = prop_oneof!["event", "none", "ask", "set", "unset", "cancel"];
    let word = (verb, name).prop_map(|(verb, name)| format!("{verb}={name}"));
    proptest::collection::vec(word, 0..5).prop_map(|words| words.join(" "))
}

proptest! {
    /// Whatever is decided, in whatever order things come: folding what was written, by any pages
    /// and from a snapshot anywhere, gives the same; so does deciding it again.
    #[test]
    fn a_replay_is_where_the_decisions_led(
        signals in proptest::collection::vec((words(), any::<prop::sample::Index>()), 1..30),
        ended in any::<bool>(),
    ) {
        let mut live = begin();
        let (mut rows, mut issued) = (Vec::<EventRow>::new(), Vec::new());
        let mut snapshots = Vec::<Snapshot>::new();
        let mut take = |live: &mut Instance, given: &DueInput| {
            let head = live.head;
            match live.decide(given, AT) {
                Ok(decision) => {
                    let more = record::rows(&live.stream, head, &decision, AT);
                    rows.extend(more.0);
                    issued.extend(more.1);
                    snapshots.push(live.save().unwrap().unwrap());
                    true
                }
                Err(_) => false,
            }
        };
        let mut is_broken = false;
        for (number, (body, pick)) in signals.iter().enumerate() {
            let open: Vec<_> = live.running.open.values().copied().collect();
            if let Some((seq, idx)) = open.get(pick.index(3)).copied() {
                prop_assert!(take(&mut live, &receipt(seq, idx)));
            }
            // A broken rule ends this workflow; what was decided before must replay.
            if !take(&mut live, &told(&number.to_string(), body)) {
                is_broken = true;
                break;
            }
        }
        if ended && !is_broken {
            take(&mut live, &told("end", "end"));
        }
        let wanted = snapshots.last().cloned();
        for snapshot in &snapshots {
            let code = Arc::new(Puppet);
            let stream = live.stream.clone();
            let mut again = Instance::restore(stream, code, snapshot).unwrap();
            let tail = usize::try_from(snapshot.seq).unwrap();
            rows[tail..].iter().try_for_each(|row| again.fold(row)).unwrap();
            again.must_be_whole().unwrap();
            prop_assert_eq!(again.save().unwrap(), wanted.clone());
        }
        let mut fresh = begin();
        rows.iter().try_for_each(|row| fresh.fold(row)).unwrap();
        if let Some(wanted) = wanted {
            prop_assert_eq!(fresh.save().unwrap(), Some(wanted));
        }
        let programs = Programs::new().with(Puppet).unwrap();
        let mut replay = Replay::begin(&programs, &fresh.program, &fresh.stream).unwrap();
        replay.take(rows, issued);
        let verified = replay.end();
        prop_assert!(verified.holds(), "{verified:?}");
    }
}
