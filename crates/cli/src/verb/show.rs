//! `show`: the whole story of one command.
//!
//! Guarantees: what happened, in order, and what comes next as the state machine has it. Does
//! not: change anything.

use counterfoil_console::json;
use counterfoil_core::domain::State;
use counterfoil_core::port::Store;
use counterfoil_core::port::read::{ReceiptStory, Story, Told};

use super::{Found, block_on};
use crate::args::{Shared, Show};
use crate::exit::{Ended, Exit, Failure};
use crate::output::table::cell;
use crate::output::{self, time};

/// How many characters of a body or result are shown to people.
const SHOWN_CHARS: usize = 200;

/// Does `show`.
///
/// # Errors
/// There is no such command, or the store cannot be read.
pub(crate) fn run(shared: &Shared, args: &Show) -> Ended {
    let found = Found::new(shared)?;
    let store = found.open()?;
    let Some(story) = block_on(async { Ok(store.show(&args.id).await?) })? else {
        let text = format!("{}: no command {:?} was ever recorded", found.path.display(), args.id);
        return Err(Failure::refused(text).help("look it up with `counterfoil list`"));
    };
    if args.json {
        output::line(&json::story(&story).to_string())?;
    } else {
        output::line(tell(&story).trim_end())?;
    }
    Ok(Exit::Done)
}

fn tell(story: &Story) -> String {
    let row = &story.listed;
    let mut lines = vec![
        format!("{} · {} · to {}", cell(&row.command_id), cell(&row.kind), cell(&row.destination)),
        state_line(story),
    ];
    if let Some((stream, seq, idx)) = &story.decision {
        lines.push(format!("decided in stream {} at {seq}, command {idx}", cell(stream)));
    }
    lines.push(format!("body ({}): {}", cell(&story.content_type), brief(story.body.as_deref())));
    if let Some(headers) = &story.headers {
        lines.push(format!("headers: {}", cell(headers)));
    }
    lines.push(String::new());
    lines.push(format!("{}  recorded", time::show(row.recorded_at)));
    if let Some(first) = story.first_sent_at {
        lines.push(format!("{}  first sent", time::show(first)));
    }
    lines.extend(story.tries.iter().map(told));
    lines.extend(story.actions.iter().map(told));
    lines.extend(story.receipts.iter().map(receipt));
    lines.push(String::new());
    lines.push(next(story));
    lines.join("\n")
}

fn state_line(story: &Story) -> String {
    let row = &story.listed;
    let doubt = if row.in_doubt { ", in doubt: an attempt may have acted" } else { "" };
    let attempts = if row.attempts == 1 { "attempt" } else { "attempts" };
    format!("{}{doubt} · round {}, {} {attempts}", row.state, row.round, row.attempts)
}

fn told(told: &Told) -> String {
    let (at, what) = (time::show(told.at), cell(&told.what));
    format!("{at}  {what}: {}: {}", cell(&told.outcome), cell(&told.reason))
}

fn receipt(receipt: &ReceiptStory) -> String {
    let evidence = receipt.evidence.as_deref().map(cell).unwrap_or_default();
    let by = receipt.source.as_deref().map(cell).unwrap_or_default();
    let at = time::show(receipt.recorded_at);
    let result = receipt.result.as_deref();
    let result = result.map(|bytes| format!(", result {}", brief(Some(bytes)))).unwrap_or_default();
    format!(
        "{at}  receipt of round {}: {} ({evidence}, by {by}){result}",
        receipt.round, receipt.outcome
    )
}

/// What a machine or a person does next.
fn next(story: &Story) -> String {
    let row = &story.listed;
    let at = row.available_at.map(time::show).unwrap_or_default();
    match story.state() {
        None => "next: nothing, it has ended".to_owned(),
        Some(State::Pending) => format!("next: a relay sends it, not before {at}"),
        Some(State::Sending) => {
            let owner = story.lease.as_ref().map(|(_, owner)| cell(owner)).unwrap_or_default();
            format!("next: {owner} settles it; its lease ends {at}, then another relay takes over")
        }
        Some(State::Asking) => format!("next: the receiver is asked what became of it, at {at}"),
        Some(State::Published) => format!("next: its receipt comes; overdue at {at}"),
        Some(State::Dead) => "next: a person; it surely was not done".to_owned(),
        Some(State::Uncertain) => {
            "next: a person looks at the receiver whether it was done".to_owned()
        }
        Some(State::Conflict) => {
            "next: a person; the receiver knows this key with other content (or refuses the \
             content with the same status)"
                .to_owned()
        }
    }
}

fn brief(bytes: Option<&[u8]>) -> String {
    let Some(bytes) = bytes else { return "none".to_owned() };
    let Ok(text) = std::str::from_utf8(bytes) else { return format!("{} bytes", bytes.len()) };
    let mut shown: String = cell(text).chars().take(SHOWN_CHARS).collect();
    if text.chars().count() > SHOWN_CHARS {
        shown.push('…');
    }
    format!("{shown} ({} bytes)", bytes.len())
}
