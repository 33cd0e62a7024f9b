//! Turns what a program said into what the store is asked to write, if it keeps the rules.
//!
//! Guarantees: a decision that passes has names and sizes that the store takes, one open command a
//! label and one waiting timer a name. Does not: look at ids of other streams; the store does.

use std::collections::BTreeSet;

use counterfoil_core::domain::command::BODY_BYTES_LIMIT;
use counterfoil_core::domain::workflow::{Decided, End, SetTimer, timer_input};
use counterfoil_core::domain::{Event, Micros, Stream};
use counterfoil_core::port::workflow::Decision;

use crate::broken::Broken;
use crate::decision::{self, Due, Timer, Unnamed};
use crate::limits::{
    COMMANDS_MAX, DECIDED_BYTES_MAX, EVENTS_MAX, LABEL_BYTES_MAX, OPEN_MAX, TIMER_NAME_BYTES_MAX,
    TIMERS_MAX, WAITING_MAX, clipped,
};
use crate::running::Running;

/// Where the workflow stands: its stream, what is open, and the seq of its newest event.
type Standing<'a> = (&'a Stream, &'a Running, i64);

/// Takes what a program said into `decision`, whose input's event is there already.
pub(crate) fn take(
    decision: &mut Decision,
    said: decision::Decision<Event>,
    (stream, running, head): Standing<'_>,
    at: Micros,
) -> Result<Decided, Broken> {
    count("events", said.events.len(), EVENTS_MAX)?;
    count("commands", said.commands.len(), COMMANDS_MAX)?;
    count("timers set", said.timers.len(), TIMERS_MAX)?;
    count("timers taken back", said.unset.len(), TIMERS_MAX)?;
    count("commands to cancel", said.cancel.len(), OPEN_MAX)?;
    count("open commands", running.open.len() + said.commands.len(), OPEN_MAX)?;
    let events = u32::try_from(said.events.len()).unwrap_or(u32::MAX);
    let mut decided = Decided { events, ..Decided::default() };
    for event in &said.events {
        if event.body.len() > BODY_BYTES_LIMIT {
            let (kind, len) = (&event.kind, event.body.len());
            return rule(format!("event {kind} has {len} bytes; at most {BODY_BYTES_LIMIT}"));
        }
    }
    decision.events = said.events;
    let last = head + 1 + i64::from(decided.events);
    commands(decision, &mut decided, said.commands, running)?;
    if said.end.is_none() {
        timers(decision, &mut decided, (said.timers, said.unset), (running, last), at)?;
    }
    for label in said.cancel {
        let Some(id) = running.command(stream, &label) else { continue };
        if !decision.cancel.contains(&id) {
            decided.cancel.push(id.to_string());
            decision.cancel.push(id);
        }
    }
    decided.end = said.end.map(|end| match end {
        End::Failed(reason) => End::Failed(clipped(reason)),
        completed @ End::Completed(_) => completed,
    });
    let bytes = decided.to_text().map_or(0, |text| text.len());
    if bytes > DECIDED_BYTES_MAX {
        return rule(format!(
            "labels, timers and the end have {bytes} bytes; at most {DECIDED_BYTES_MAX}"
        ));
    }
    Ok(decided)
}

fn commands(
    decision: &mut Decision,
    decided: &mut Decided,
    said: Vec<Unnamed>,
    running: &Running,
) -> Result<(), Broken> {
    let mut labels = BTreeSet::new();
    decision.commands.reserve_exact(said.len());
    for one in said {
        let label = one.label().to_owned();
        name("label", &label, LABEL_BYTES_MAX)?;
        if running.open.contains_key(&label) || !labels.insert(label.clone()) {
            return rule(format!(
                "a command labelled {label:?} is open already; give this one a label of its own, \
                 or wait for the other's receipt"
            ));
        }
        if let Some(id) = &one.command.id {
            return rule(format!(
                "the command labelled {label:?} has the id {id}; a workflow's commands are named \
                 by their decision"
            ));
        }
        one.command
            .check(BODY_BYTES_LIMIT)
            .map_err(|why| Broken::Rule(format!("the command labelled {label:?}: {why}")))?;
        decision.commands.push(one.command);
        decided.labels.push(label);
    }
    Ok(())
}

fn timers(
    decision: &mut Decision,
    decided: &mut Decided,
    (set, unset): (Vec<Timer>, Vec<String>),
    (running, last): (&Running, i64),
    at: Micros,
) -> Result<(), Broken> {
    for name in unset {
        let Some(id) = running.timer(&name) else { continue };
        if !decision.unset.contains(&id) {
            decision.unset.push(id);
            decided.unset.push(name);
        }
    }
    for Timer { name: timer, due } in set {
        name("timer", &timer, TIMER_NAME_BYTES_MAX)?;
        let due_at = match due {
            Due::After(span) => at.plus(span),
            Due::At(time) => time,
        };
        if !due_at.is_plausible() {
            return rule(format!(
                "timer {timer:?} is due at {} µs, which no column may hold: give a time between \
                 2001-09-09 and 2286-11-20",
                due_at.get()
            ));
        }
        // Of one name the last counts, in one decision too.
        decided.set.retain(|other| other.name != timer);
        if let Some(id) = running.timer(&timer).filter(|id| !decision.unset.contains(id)) {
            decision.unset.push(id);
        }
        decided.set.push(SetTimer { name: timer, due_at });
    }
    count("waiting timers", running.timers.len() + decided.set.len(), WAITING_MAX)?;
    let input =
        |timer: &SetTimer| (timer_input(last, &timer.name), timer.name.clone(), timer.due_at);
    decision.timers = decided.set.iter().map(input).collect();
    Ok(())
}

fn name(what: &str, text: &str, max: usize) -> Result<(), Broken> {
    let is_control = |byte: u8| byte < 0x20 || byte == 0x7f;
    if (1..=max).contains(&text.len()) && !text.bytes().any(is_control) {
        return Ok(());
    }
    rule(format!("{what} {text:?} must have 1 to {max} bytes without control characters"))
}

fn count(what: &str, found: usize, max: usize) -> Result<(), Broken> {
    if found <= max { Ok(()) } else { rule(format!("{found} {what}; at most {max} are allowed")) }
}

fn rule<T>(says: String) -> Result<T, Broken> {
    Err(Broken::Rule(says))
}
