//! How an input stands as the event of its decision, and how it is read back.
//!
//! Guarantees: what is read back is what the program was told, receipts too, without another
//! table. Does not: judge a body; that is the program's.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use counterfoil_core::domain::workflow::{Decided, InputKind};
use counterfoil_core::domain::{
    CommandId, Destination, Digest, Event, EventRow, Kind, Micros, ReceiptOutcome, Stream, json,
};
use counterfoil_core::port::workflow::{Carried, Decision, DueInput, Issued, ReceiptRead};
use serde::{Deserialize, Serialize};

use crate::broken::Broken;
use crate::input::{Input, Receipt, What};

/// The body of a receipt's event.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    command_id: String,
    destination: String,
    kind: String,
    label: String,
    outcome: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<String>,
}

/// The event of an input; `label` is the command's, for a receipt.
pub(crate) fn event(given: &DueInput, label: Option<&str>) -> Result<Event, Broken> {
    let refused = |why: String| Broken::Rule(format!("input {:?}: {why}", given.id));
    let kind = given.kind.event_kind(&given.name);
    let kind = Kind::new(kind).map_err(|why| refused(why.to_string()))?;
    let body = match (&given.receipt, given.kind) {
        (Some(read), InputKind::Receipt) => told(read, label.unwrap_or_default())
            .map_err(|why| refused(format!("its receipt cannot be written: {why}")))?,
        (_, InputKind::Receipt) => Vec::new(),
        _ => given.body.clone(),
    };
    Ok(Event { kind, body, cause: Some(given.id.clone()) })
}

fn told(read: &ReceiptRead, label: &str) -> Result<Vec<u8>, serde_json::Error> {
    let text = read.result.as_deref().map(std::str::from_utf8);
    let (result, result_base64) = match (text, &read.result) {
        (Some(Ok(text)), _) => (Some(text.to_owned()), None),
        (Some(Err(_)), Some(bytes)) => (None, Some(STANDARD.encode(bytes))),
        _ => (None, None),
    };
    json::to_sorted_vec(&Told {
        command_id: read.command_id.to_string(),
        destination: read.destination.to_string(),
        kind: read.kind.to_string(),
        label: label.to_owned(),
        outcome: read.outcome.name().to_owned(),
        result,
        result_base64,
        evidence: read.evidence.clone(),
    })
}

/// What the program is told; `label` is the command's, for a receipt.
pub(crate) fn input(given: &DueInput, label: Option<&str>, at: Micros) -> Input {
    let what = match (given.kind, &given.receipt) {
        (InputKind::Start, _) => What::Start { body: given.body.clone() },
        (InputKind::Timer, _) => What::Timer { name: given.name.clone() },
        (InputKind::Cancel, _) => What::Cancel { reason: reason(given) },
        (InputKind::Receipt, Some(read)) => What::Receipt(Receipt {
            command_id: read.command_id.to_string(),
            label: label.unwrap_or_default().to_owned(),
            kind: read.kind.to_string(),
            destination: read.destination.to_string(),
            outcome: read.outcome,
            result: read.result.clone(),
            evidence: read.evidence.clone(),
        }),
        _ => What::Signal { name: given.name.clone(), body: given.body.clone() },
    };
    Input::new(given.id.clone(), at, what)
}

/// The body of a cancel, else its name.
fn reason(given: &DueInput) -> String {
    if given.body.is_empty() {
        given.name.clone()
    } else {
        String::from_utf8_lossy(&given.body).into_owned()
    }
}

/// The input of which `row` is the event.
pub(crate) fn read(row: &EventRow) -> Result<DueInput, Broken> {
    let wrong = |why: &str| Broken::History(format!("event {} {why}", row.seq));
    let cause = row.cause.clone().ok_or_else(|| wrong("has no cause, and follows no input"))?;
    let (kind, name) = row.kind.as_str().split_once(':').ok_or_else(|| wrong("is no input's"))?;
    let kind = InputKind::from_name(kind).ok_or_else(|| wrong("is of an unknown kind of input"))?;
    let is_pointer = kind == InputKind::Receipt;
    let receipt = if is_pointer && !row.body.is_empty() {
        let told = serde_json::from_slice(&row.body).ok().and_then(untold);
        Some(told.ok_or_else(|| wrong("holds no receipt as it should"))?)
    } else {
        None
    };
    Ok(DueInput {
        stream: row.stream.clone(),
        id: cause,
        kind,
        name: name.to_owned(),
        body: if is_pointer { Vec::new() } else { row.body.clone() },
        standing: None,
        receipt,
    })
}

fn untold(told: Told) -> Option<ReceiptRead> {
    let result = match (told.result, told.result_base64) {
        (Some(text), _) => Some(text.into_bytes()),
        (None, Some(encoded)) => Some(STANDARD.decode(encoded).ok()?),
        (None, None) => None,
    };
    Some(ReceiptRead {
        command_id: CommandId::new(told.command_id).ok()?,
        destination: Destination::new(told.destination).ok()?,
        kind: Kind::new(told.kind).ok()?,
        outcome: ReceiptOutcome::from_name(&told.outcome)?,
        result,
        evidence: told.evidence,
    })
}

/// What the decision of this event said beside its events.
pub(crate) fn decided(row: &EventRow) -> Result<Decided, Broken> {
    Decided::from_text(row.decided.as_deref()).map_err(|why| {
        Broken::History(format!("event {}: `decided` does not read: {why}", row.seq))
    })
}

/// A decision as it stands once it is written after `head`: its events, and what it issued.
pub(crate) fn rows(
    stream: &Stream,
    head: i64,
    decision: &Decision,
    at: Micros,
) -> (Vec<EventRow>, Vec<Issued>) {
    let row = |(place, event): (i64, &Event)| EventRow {
        stream: stream.clone(),
        seq: head + place,
        kind: event.kind.clone(),
        body: event.body.clone(),
        cause: event.cause.clone(),
        commands: 0,
        recorded_at: at,
        decided: None,
        archived: None,
    };
    let events = std::iter::once(&decision.event).chain(&decision.events);
    let mut rows: Vec<_> = (1..).zip(events).map(row).collect();
    rows[0].decided.clone_from(&decision.decided);
    let last = head + 1 + i64::try_from(decision.events.len()).unwrap_or(i64::MAX);
    if let Some(row) = rows.last_mut() {
        row.commands = i64::try_from(decision.commands.len()).unwrap_or(i64::MAX);
    }
    let issued = (0..).zip(&decision.commands).map(|(idx, command)| Issued {
        seq: last,
        idx,
        destination: command.destination.to_string(),
        kind: command.kind.to_string(),
        ordering_key: command.ordering_key.clone(),
        digest: Some(Digest::of(&command.body)),
        carried: Some(Carried::from(command)),
    });
    (rows, issued.collect())
}
