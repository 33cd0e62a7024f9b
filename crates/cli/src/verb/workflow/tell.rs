//! How the story of a workflow reads.
//!
//! Guarantees: what waits for a person is said with the way out. Does not: read the store.

use counterfoil_console::json::Fate;
use counterfoil_console::{StuckUndo, WorkflowTold};
use counterfoil_core::domain::workflow::{InputKind, Status};
use counterfoil_core::domain::{EventRow, Micros};
use counterfoil_core::port::workflow::{ListedWorkflow, WaitingInput};

use crate::output::table::cell;
use crate::output::time;

/// How many characters of a body are shown to people.
const SHOWN_CHARS: usize = 120;

/// The whole story; `at`: the seq that was asked for.
pub(super) fn story(shown: &WorkflowTold, at: Option<i64>, now: Micros) -> String {
    let row = &shown.row;
    let stream = cell(&row.stream);
    let mut lines = vec![head(row)];
    match row.status {
        Some(Status::Quarantined) => {
            let why = row.reason.as_deref().map(cell).unwrap_or_default();
            let input = row.input.as_deref().filter(|input| !input.is_empty()).map(cell);
            let on = input.map(|input| format!(" on input {input}")).unwrap_or_default();
            lines.push(format!("quarantined{on}: {why}"));
            lines.push(next(row, &shown.waiting));
        }
        None if !row.is_waiting() && !shown.waiting.is_empty() => lines.push(format!(
            "what waits for it is taken away after a week, unless it is started: \
             counterfoil workflow start {stream} --workflow NAME"
        )),
        _ => {}
    }
    lines.extend(shown.stuck().map(|stuck| undo(&stream, &stuck)));
    lines.extend(events(shown, &stream, at));
    if !shown.fates.is_empty() || shown.earlier {
        lines.push("\ncommands".into());
        if shown.earlier {
            lines.push(format!("  earlier ones: counterfoil list --stream {stream}"));
        }
        lines.extend(shown.fates.iter().flat_map(fate));
        lines.extend(
            shown.commands_after.as_ref().map(|id| {
                format!("  more: counterfoil list --stream {stream} --after {}", cell(id))
            }),
        );
    }
    if !shown.waiting.is_empty() {
        lines.push("\nwaiting inputs".into());
        lines.extend(shown.waiting.iter().map(|input| waiting(input, now)));
        lines.extend(shown.inputs_after.as_ref().map(|id| {
            format!("  more: counterfoil workflow show {stream} --inputs-after {}", cell(id))
        }));
    }
    lines.join("\n")
}

fn head(row: &ListedWorkflow) -> String {
    let (stream, since) = (cell(&row.stream), row.changed_at.map(time::show));
    let since = since.map(|at| format!(" since {at}")).unwrap_or_default();
    let status = match row.status {
        Some(status) => status.name(),
        None if row.is_waiting() => "waits for its start to be decided",
        None => return format!("{stream} · never started as a workflow"),
    };
    format!("{stream} · {} · {status}{since}", cell(&row.program))
}

/// The events, and which are left out.
fn events(shown: &WorkflowTold, stream: &str, at: Option<i64>) -> Vec<String> {
    let head = shown.row.head;
    let mut lines = Vec::new();
    match at {
        Some(at) if at > head => {
            lines.push(format!("\nthere is no event {at} yet: the newest is {head}"));
        }
        Some(at) if at < head => {
            lines.push(format!("\nevents and commands up to {at} alone: the newest is {head}"));
        }
        _ if shown.events.is_empty() => {}
        _ => lines.push(String::new()),
    }
    lines.extend(
        shown
            .earlier_at
            .map(|at| format!("  earlier ones: counterfoil workflow show {stream} --at {at}")),
    );
    lines.extend(shown.events.iter().map(event));
    lines
}

/// What a person can do about a quarantined one.
fn next(row: &ListedWorkflow, waiting: &[WaitingInput]) -> String {
    let stream = cell(&row.stream);
    let begins = |one: &&WaitingInput| one.kind == InputKind::Start.name();
    let may_go = |one: &&WaitingInput| {
        let kind = InputKind::from_name(&one.kind);
        let is_it = Some(one.id.as_str()) == row.input.as_deref();
        is_it && kind.is_some_and(InputKind::is_open_to_strangers)
    };
    let drop = |one: &WaitingInput| {
        format!("counterfoil workflow drop {stream} --input {} --reason …", cell(&one.id))
    };
    let retry = format!("counterfoil workflow retry {stream}");
    let mut lines = vec![format!("next: mend the program, then {retry}")];
    // One that never began has no end: its start can go.
    if row.head == 0 {
        let start = waiting.iter().find(begins);
        lines.extend(start.map(|one| format!("  or give it up: {}, then {retry}", drop(one))));
    } else {
        let bad = waiting.iter().find(may_go);
        lines.extend(bad.map(|one| format!("  or take the input away: {}", drop(one))));
        lines.push(format!("  or give it up: counterfoil workflow end {stream} --reason …"));
    }
    lines.join("\n")
}

/// What a person can do about a saga whose undo was refused.
fn undo(stream: &str, stuck: &StuckUndo) -> String {
    let StuckUndo { seq, step, reason } = stuck;
    let body = serde_json::json!({ "step": step }).to_string().replace('\'', "'\\''");
    let signal = |name: &str| {
        format!("counterfoil workflow signal {stream} {name} --id {name}-{seq} --body '{body}'")
    };
    format!(
        "it waits for a person: the undo of {} was refused: {}\n  done by hand: {}\n  ask once \
         more: {}",
        cell(step),
        brief(reason),
        cell(&signal("undone")),
        cell(&signal("undo_again"))
    )
}

fn event(event: &EventRow) -> String {
    let decided = event.decided.as_deref().map(|said| format!(" → {}", brief(said)));
    format!(
        "{:>6}  {}  {}  {}{}",
        event.seq,
        time::show(event.recorded_at),
        cell(event.kind.as_str()),
        body(event),
        decided.unwrap_or_default()
    )
}

fn body(event: &EventRow) -> String {
    match &event.archived {
        None => brief(&String::from_utf8_lossy(&event.body)),
        Some(archived) => {
            format!("(its body is in {}: name its folder by --archive DIR)", cell(&archived.file))
        }
    }
}

fn fate(fate: &Fate) -> Vec<String> {
    let id = cell(&fate.command_id);
    let state = fate.listed.as_ref().map_or("archived", |row| row.state.as_str());
    let (kind, to) = (cell(&fate.issued.kind), cell(&fate.issued.destination));
    let mut lines = vec![format!("  {id}  {kind} to {to}  {state}")];
    let Some(row) = &fate.listed else { return lines };
    if fate.is_parked() {
        let why = row.last_outcome.as_deref().map(cell).unwrap_or_default();
        lines.push(format!("    the workflow waits for it; {why}"));
        lines.push(format!("    next: counterfoil show {id}, then retry or resolve it"));
    }
    lines
}

fn waiting(input: &WaitingInput, now: Micros) -> String {
    let when = match input.due_at {
        Some(due) if due > now => format!("due {}", time::show(due)),
        _ if input.is_served => format!("due since {}", age(input.recorded_at, now)),
        _ => format!("set aside, {} old", age(input.recorded_at, now)),
    };
    format!("  {}  {}:{}  {when}", cell(&input.id), cell(&input.kind), cell(&input.name))
}

/// How long ago, for people.
pub(super) fn age(from: Micros, now: Micros) -> String {
    time::about(now.since(from))
}

fn brief(text: &str) -> String {
    let text = cell(text);
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
