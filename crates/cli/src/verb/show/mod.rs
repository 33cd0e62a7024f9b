//! `show`: the whole story of one command.
//!
//! Guarantees: what happened, in order, and what comes next as the state machine has it. Does
//! not: change anything.

mod archived;

use counterfoil_archive::Compared;
use counterfoil_console::json;
use counterfoil_core::domain::{Micros, Pace};
use counterfoil_core::port::Store;
use counterfoil_core::port::act::restored_from;
use counterfoil_core::port::read::{LanePlace, ReceiptStory, Story, Told};

use archived::Place;

use super::archive::folder;
use super::next::Ahead;
use super::pause::paused;
use super::{Found, block_on};
use crate::args::{Shared, Show};
use crate::exit::{Ended, Exit, Failure};
use crate::output::counted;
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
    let folder = folder(found.archive(args.archive.as_deref())?.as_deref())?;
    let store = found.open()?;
    let looked = block_on(async {
        let Some(mut story) = store.show(&args.id).await? else { return Ok(None) };
        let destination = &story.listed.destination;
        let contract = store.contracts().await?.remove(destination).flatten();
        let paused = paused(&store.status().await?, destination);
        let held = paused.map(|why| format!("its destination is paused: {why}"));
        let held = held.or_else(|| unserved(&found, destination));
        let pace = pace(&found, destination);
        let place = archived::add(&store, folder.as_ref(), &mut story).await?;
        Ok(Some((Ahead::new(contract, pace, held, store.now()?), story, place)))
    })?;
    let Some((ahead, story, place)) = looked else {
        let text = format!("{}: no command {:?} was ever recorded", found.url, args.id);
        return Err(Failure::refused(text).help(
            "an id is whole, such as order.paid:A-17: look it up with `counterfoil list`, or by a \
             part of it as docs/operations.md says",
        ));
    };
    let differs = place.as_ref().is_some_and(Place::differs);
    if args.json {
        let mut object = json::story(&story);
        object["archive_compared"] = place.as_ref().and_then(Place::word).into();
        object["archive_file"] = place.map(|place| place.file).into();
        output::line(&object.to_string())?;
    } else {
        output::line(tell(&story, &ahead, place.as_ref()).trim_end())?;
    }
    Ok(if differs { Exit::Refused } else { Exit::Done })
}

/// The configuration at hand does not name the destination.
fn unserved(found: &Found, destination: &str) -> Option<String> {
    let config = found.config.as_ref()?;
    let names = config.destination_names();
    let is_unserved = !names.is_empty() && !names.iter().any(|name| name == destination);
    is_unserved.then(|| format!("{} has no [destination.{destination}]", config.name()))
}

/// As the configuration at hand has it, or the defaults.
fn pace(found: &Found, destination: &str) -> Pace {
    let pace = || {
        let relay = found.relay().ok()?;
        let all = found.config.as_ref()?.destinations(&relay, &[]).ok()?;
        Some(all.into_iter().find(|one| one.name.as_str() == destination)?.terms.pace)
    };
    // A secret that only the relay is given is no reason to tell nothing.
    pace().unwrap_or_default()
}

fn tell(story: &Story, ahead: &Ahead, place: Option<&Place>) -> String {
    let row = &story.listed;
    let mut lines = vec![
        format!("{} · {} · to {}", cell(&row.command_id), cell(&row.kind), cell(&row.destination)),
        state_line(story, place.is_none_or(|place| place.is_whole)),
    ];
    if let Some((stream, seq, idx)) = &story.decision {
        lines.push(format!("decided in stream {} at {seq}, command {idx}", cell(stream)));
    }
    if let Some(lane) = &story.lane {
        let LanePlace { place, ahead, behind, .. } = lane;
        let key = cell(&lane.ordering_key);
        lines.push(format!("lane {key}, place {place}: {ahead} before it, {behind} behind it"));
        let named = |(id, state): &(String, String)| format!("{} ({state})", cell(id));
        let first: Vec<_> = lane.first.iter().map(named).collect();
        if !first.is_empty() {
            let more = if *ahead > first.len() as u64 { ", …" } else { "" };
            lines.push(format!("before it: {}{more}", first.join(", ")));
        }
    }
    if let Some(place) = place {
        lines.push(lies_in(place));
        lines.extend(doubted(place));
    }
    if row.is_erased {
        lines.push("its content was erased: body, headers, results and evidences".to_owned());
    } else if place.is_none_or(|place| place.is_whole) {
        let body = brief(story.body.as_deref());
        lines.push(format!("body ({}): {body}", cell(&story.content_type)));
    }
    if let Some(headers) = &story.headers {
        lines.push(format!("headers: {}", cell(headers)));
    }
    if let Some(expires_at) = story.expires_at {
        lines.push(format!("its expiry: {}", time::show(expires_at)));
    }
    let happened = happened(story, ahead);
    if !happened.is_empty() {
        lines.push(String::new());
        lines.extend(happened);
    }
    lines.push(String::new());
    lines.extend(ahead.tell(story));
    lines.join("\n")
}

/// Where the rest of an archived command lies.
fn lies_in(place: &Place) -> String {
    let file = cell(&place.file);
    if place.is_whole {
        return format!("archived in {file}");
    }
    let why = match &place.why {
        Some(why) => format!(": {}", cell(why)),
        None => "; to have it told, name its folder: --archive DIR, or [archive] dir".to_owned(),
    };
    format!("archived: only its tombstone is told here; the rest is in {file}{why}")
}

/// What speaks against what is told from a file: its receipts, attempts and acts have no witness
/// but the manifest beside it.
fn doubted(place: &Place) -> Option<String> {
    match place.compared.as_ref()? {
        Compared::Same => None,
        Compared::Differs => Some(
            "THIS FILE IS NOT WHAT ITS MANIFEST SAYS: what is told from it may have been changed; \
             run `counterfoil archive --verify`, and bring it back from a backup"
                .to_owned(),
        ),
        Compared::Not(why) => Some(format!(
            "the file was not compared with its manifest ({}): nothing but itself speaks for it; \
             run `counterfoil archive --verify`",
            cell(why)
        )),
    }
}

/// What happened, in the order of time.
fn happened(story: &Story, ahead: &Ahead) -> Vec<String> {
    let mut all = Vec::new();
    // Of an archived command whose file is not at hand, nobody knows when.
    if story.listed.recorded_at != Micros::default() {
        all.push((story.listed.recorded_at, "recorded".to_owned()));
    }
    if let Some((first, last)) = story.sends() {
        all.push((first, "first sent".to_owned()));
        let again = (last > first).then(|| (last, "sent again, the newest time".to_owned()));
        all.extend(again);
    }
    all.extend(ahead.accepted(story));
    all.extend(story.tries.iter().chain(&story.actions).map(told));
    all.extend(story.receipts.iter().map(receipt));
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(at, what)| format!("{}  {what}", time::show(at))).collect()
}

/// Attempts are counted where the story is whole: a tombstone does not have them.
fn state_line(story: &Story, is_whole: bool) -> String {
    let row = &story.listed;
    let doubt = if row.in_doubt { ", in doubt: an attempt may have acted" } else { "" };
    let mut line = format!("{}{doubt} · round {}", row.state, row.round);
    if is_whole {
        line.push_str(&format!(", {}", counted(row.attempts.into(), "attempt")));
    }
    let asks = story.delivery.as_ref().map_or(0, |open| open.asks);
    if asks > 0 {
        line.push_str(&format!(", {}", counted(asks.into(), "question")));
    }
    line
}

fn told(told: &Told) -> (Micros, String) {
    let what = cell(&told.what);
    if let ("restored", Some(at)) = (told.what.as_str(), restored_from(&told.reason)) {
        let (by, at) = (cell(&told.outcome), time::show(at));
        let said = format!(
            "restored: {by}: from a backup taken at {at}; it is in doubt since, as if sent by then"
        );
        return (told.at, said);
    }
    let mut said = format!("{what}: {}", cell(&told.outcome));
    if told.what == "mend" {
        said.push_str(
            ": its delivery was lost; nobody knows whether and when it was sent, and the \
             receiver's memory is counted from its recording",
        );
        return (told.at, said);
    }
    if !told.reason.is_empty() {
        said.push_str(": ");
        said.push_str(&cell(&told.reason));
    }
    (told.at, said)
}

fn receipt(receipt: &ReceiptStory) -> (Micros, String) {
    let by = receipt.source.as_deref().map(cell).unwrap_or_default();
    let evidence = receipt.evidence.as_deref().map(|evidence| format!("{}, ", cell(evidence)));
    let evidence = evidence.unwrap_or_default();
    let result = receipt.result.as_deref();
    let result = result.map(|bytes| format!(", result {}", brief(Some(bytes)))).unwrap_or_default();
    let (round, outcome) = (receipt.round, &receipt.outcome);
    let said = format!("receipt of round {round}: {outcome} ({evidence}by {by}){result}");
    (receipt.recorded_at, said)
}

fn brief(bytes: Option<&[u8]>) -> String {
    let Some(bytes) = bytes else { return "none".to_owned() };
    let size = counted(bytes.len() as u64, "byte");
    let Ok(text) = std::str::from_utf8(bytes) else { return size };
    let mut shown: String = cell(text).chars().take(SHOWN_CHARS).collect();
    if text.chars().count() > SHOWN_CHARS {
        shown.push('…');
    }
    format!("{shown} ({size})")
}
