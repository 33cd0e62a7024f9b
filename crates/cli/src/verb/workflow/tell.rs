//! How the story of a workflow reads.
//!
//! Guarantees: what waits for a person is said with the way out. Does not: read the store.

use counterfoil_console::WorkflowTold;
use counterfoil_console::json::Fate;
use counterfoil_core::domain::workflow::{InputKind, Status};
use counterfoil_core::domain::{EventRow, Micros};
use counterfoil_core::port::workflow::WaitingInput;

use crate::output::table::cell;
use crate::output::time;

/// How many characters of a body are shown to people.
const SHOWN_CHARS: usize = 120;

/// The whole story.
pub(super) fn story(shown: &WorkflowTold, now: Micros) -> String {
    let row = &shown.row;
    let status = row.status.map_or("waits for its start to be decided", |status| status.name());
    let since = row.changed_at.map(|at| format!(" since {}", time::show(at))).unwrap_or_default();
    let mut lines =
        vec![format!("{} · {} · {status}{since}", cell(&row.stream), cell(&row.program))];
    if row.status == Some(Status::Quarantined) {
        let why = row.reason.as_deref().map(cell).unwrap_or_default();
        let input = row.input.as_deref().filter(|input| !input.is_empty()).map(cell);
        let on = input.map(|input| format!(" on input {input}")).unwrap_or_default();
        lines.push(format!("quarantined{on}: {why}"));
        lines.push(next(&cell(&row.stream), row.input.as_deref(), &shown.waiting));
    }
    if !shown.events.is_empty() {
        lines.push(String::new());
        lines.extend(shown.events.iter().map(event));
    }
    let stream = cell(&row.stream);
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
        lines.extend(shown.inputs_after.as_ref().map(|id| format!("  more behind {}", cell(id))));
    }
    lines.join("\n")
}

/// What a person can do about it.
fn next(stream: &str, input: Option<&str>, waiting: &[WaitingInput]) -> String {
    let may_go = |one: &&WaitingInput| {
        let kind = InputKind::from_name(&one.kind);
        Some(one.id.as_str()) == input && kind.is_some_and(InputKind::is_open_to_strangers)
    };
    let drop = waiting.iter().find(may_go).map(|one| {
        let id = cell(&one.id);
        format!(
            "\n  or take the input away: counterfoil workflow drop {stream} --input {id} --reason …"
        )
    });
    format!(
        "next: mend the program, then counterfoil workflow retry {stream}{}\n  or give it up: \
         counterfoil workflow end {stream} --reason …",
        drop.unwrap_or_default()
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
