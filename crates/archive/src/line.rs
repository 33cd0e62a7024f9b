//! A line: all that stands about one command, as one JSON object.
//!
//! Guarantees: what is decoded from what was encoded is exactly the same entry. Does not: hold
//! anything that is not in the tables.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use counterfoil_core::domain::laws::{AttemptFacts, ContradictionFacts, ReceiptFacts};
use counterfoil_core::domain::{
    CommandId, Destination, Digest, Kind, Micros, OrderingKey, OutboxRow, Receipt, ReceiptOutcome,
    Stream, Token,
};
use counterfoil_core::port::archive::{ActionRow, Entry};
use serde::{Deserialize, Serialize};

/// Bytes: a string where they are UTF-8, else an object.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Bytes {
    Text(String),
    Other { base64: String },
}

impl Bytes {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Other { base64: BASE64.encode(bytes) },
        }
    }

    pub(crate) fn read(self) -> Result<Vec<u8>, String> {
        match self {
            Self::Text(text) => Ok(text.into_bytes()),
            Self::Other { base64 } => {
                BASE64.decode(base64).map_err(|error| format!("base64: {error}"))
            }
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    n: i64,
    command_id: String,
    stream: Option<String>,
    seq: Option<i64>,
    idx: Option<i64>,
    destination: String,
    kind: String,
    ordering_key: Option<String>,
    body: Bytes,
    content_type: String,
    headers: Option<String>,
    core_digest: Option<String>,
    not_before: Option<i64>,
    expires_at: Option<i64>,
    recorded_at: i64,
    erased_at: Option<i64>,
    digest: Option<String>,
    row_digest: Option<String>,
    receipts: Vec<ReceiptLine>,
    attempts: Vec<AttemptLine>,
    contradictions: Vec<ContradictionLine>,
    actions: Vec<ActionLine>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReceiptLine {
    arrival: i64,
    round: u32,
    outcome: String,
    result: Option<Bytes>,
    evidence: Option<String>,
    source: String,
    destination: String,
    attempts: u32,
    token: i64,
    first_sent_at: Option<i64>,
    key_seq: Option<i64>,
    digest: Option<String>,
    row_digest: Option<String>,
    recorded_at: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AttemptLine {
    arrival: i64,
    round: u32,
    token: i64,
    purpose: String,
    outcome: String,
    reason: Option<String>,
    started_at: Option<i64>,
    ended_at: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ContradictionLine {
    arrival: i64,
    round: u32,
    outcome: String,
    result: Option<Bytes>,
    evidence: Option<String>,
    source: String,
    recorded_at: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ActionLine {
    arrival: i64,
    verb: String,
    about: String,
    actor: String,
    reason: Option<String>,
    before: Option<String>,
    after: Option<String>,
    recorded_at: i64,
}

/// SHA-256 of the body and of the row; of an erased one, as its newest receipt keeps them.
pub(crate) fn digests(entry: &Entry) -> Option<(Digest, Digest)> {
    if entry.erased_at.is_some() {
        let newest = entry.newest()?;
        return newest.digest.zip(newest.row_digest);
    }
    let body = Digest::of(&entry.outbox.body);
    Some((body, entry.outbox.row_digest(body)))
}

/// The line of an entry, with its line end.
#[must_use]
pub fn encode(entry: &Entry) -> Vec<u8> {
    let (row, digests) = (&entry.outbox, digests(entry));
    let line = Line {
        n: row.n,
        command_id: row.command_id.to_string(),
        stream: row.stream.as_ref().map(ToString::to_string),
        seq: row.seq,
        idx: row.idx,
        destination: row.destination.to_string(),
        kind: row.kind.to_string(),
        ordering_key: row.ordering_key.as_ref().map(ToString::to_string),
        body: Bytes::of(&row.body),
        content_type: row.content_type.clone(),
        headers: row.headers.clone(),
        core_digest: row.core_digest.clone(),
        not_before: row.not_before.map(Micros::get),
        expires_at: row.expires_at.map(Micros::get),
        recorded_at: row.recorded_at.get(),
        erased_at: entry.erased_at.map(Micros::get),
        digest: digests.map(|(body, _)| body.to_hex()),
        row_digest: digests.map(|(_, row)| row.to_hex()),
        receipts: entry.receipts.iter().map(receipt_line).collect(),
        attempts: entry.attempts.iter().map(attempt_line).collect(),
        contradictions: entry.contradictions.iter().map(contradiction_line).collect(),
        actions: entry.actions.iter().map(action_line).collect(),
    };
    // Strings, integers and lists of these are always JSON.
    let mut bytes = serde_json::to_vec(&line).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// The entry of a line, with or without its line end.
///
/// # Errors
/// What is wrong with it, without its content; also if it is not what its own digests say.
pub fn decode(line: &[u8]) -> Result<Entry, String> {
    let line: Line = parse(line)?;
    let (n, said) = (line.n, (line.digest.clone(), line.row_digest.clone()));
    let named = |error: &dyn std::fmt::Display| error.to_string();
    let outbox = OutboxRow {
        n,
        command_id: CommandId::new(line.command_id).map_err(|it| named(&it))?,
        stream: line.stream.map(Stream::new).transpose().map_err(|it| named(&it))?,
        seq: line.seq,
        idx: line.idx,
        destination: Destination::new(line.destination).map_err(|it| named(&it))?,
        kind: Kind::new(line.kind).map_err(|it| named(&it))?,
        ordering_key: line
            .ordering_key
            .map(OrderingKey::new)
            .transpose()
            .map_err(|it| named(&it))?,
        body: line.body.read()?,
        content_type: line.content_type,
        headers: line.headers,
        core_digest: line.core_digest,
        not_before: line.not_before.map(Micros::new),
        expires_at: line.expires_at.map(Micros::new),
        recorded_at: Micros::new(line.recorded_at),
    };
    let receipts = line.receipts.into_iter().map(|it| receipt(n, it)).collect::<Result<_, _>>()?;
    let told = line.contradictions.into_iter().map(contradiction).collect::<Result<_, _>>()?;
    let entry = Entry {
        outbox,
        erased_at: line.erased_at.map(Micros::new),
        receipts,
        attempts: line.attempts.into_iter().map(attempt).collect(),
        contradictions: told,
        actions: line.actions.into_iter().map(action).collect(),
    };
    let digests = digests(&entry);
    let stands = (digests.map(|it| it.0.to_hex()), digests.map(|it| it.1.to_hex()));
    if stands != said {
        return Err(format!("command {}: it is not what its digests say", entry.outbox.command_id));
    }
    Ok(entry)
}

/// The fields of a line.
pub(crate) fn parse<T: for<'l> Deserialize<'l>>(line: &[u8]) -> Result<T, String> {
    serde_json::from_slice(line).map_err(|error| {
        // The words of the parser may hold content; its place does not.
        format!("no line of this format ({:?}, column {})", error.classify(), error.column())
    })
}

fn receipt_line(facts: &ReceiptFacts) -> ReceiptLine {
    let receipt = &facts.receipt;
    ReceiptLine {
        arrival: facts.arrival,
        round: receipt.round,
        outcome: receipt.outcome.name().into(),
        result: receipt.result.as_deref().map(Bytes::of),
        evidence: receipt.evidence.clone(),
        source: receipt.source.clone(),
        destination: facts.destination.clone(),
        attempts: receipt.attempts,
        token: receipt.token.get(),
        first_sent_at: receipt.first_sent_at.map(Micros::get),
        key_seq: receipt.key_seq,
        digest: facts.digest.map(|digest| digest.to_hex()),
        row_digest: facts.row_digest.map(|digest| digest.to_hex()),
        recorded_at: receipt.recorded_at.get(),
    }
}

fn receipt(n: i64, line: ReceiptLine) -> Result<ReceiptFacts, String> {
    let digest = |text: Option<String>| {
        let read = text.map(|text| Digest::from_hex(&text).ok_or("a digest is no digest"));
        read.transpose()
    };
    let outcome = ReceiptOutcome::from_name(&line.outcome);
    Ok(ReceiptFacts {
        arrival: line.arrival,
        destination: line.destination,
        digest: digest(line.digest)?,
        row_digest: digest(line.row_digest)?,
        receipt: Receipt {
            n,
            round: line.round,
            outcome: outcome.ok_or("a receipt has an outcome that is none")?,
            result: line.result.map(Bytes::read).transpose()?,
            evidence: line.evidence,
            source: line.source,
            attempts: line.attempts,
            token: Token::new(line.token),
            first_sent_at: line.first_sent_at.map(Micros::new),
            recorded_at: Micros::new(line.recorded_at),
            key_seq: line.key_seq,
        },
    })
}

fn attempt_line(facts: &AttemptFacts) -> AttemptLine {
    AttemptLine {
        arrival: facts.arrival,
        round: facts.round,
        token: facts.token,
        purpose: facts.purpose.clone(),
        outcome: facts.outcome.clone(),
        reason: facts.reason.clone(),
        started_at: facts.started_at.map(Micros::get),
        ended_at: facts.ended_at.get(),
    }
}

fn attempt(line: AttemptLine) -> AttemptFacts {
    AttemptFacts {
        arrival: line.arrival,
        token: line.token,
        started_at: line.started_at.map(Micros::new),
        reason: line.reason,
        round: line.round,
        purpose: line.purpose,
        outcome: line.outcome,
        ended_at: Micros::new(line.ended_at),
    }
}

fn contradiction_line(facts: &ContradictionFacts) -> ContradictionLine {
    ContradictionLine {
        arrival: facts.arrival,
        round: facts.round,
        outcome: facts.outcome.clone(),
        result: facts.result.as_deref().map(Bytes::of),
        evidence: facts.evidence.clone(),
        source: facts.source.clone(),
        recorded_at: facts.recorded_at.get(),
    }
}

fn contradiction(line: ContradictionLine) -> Result<ContradictionFacts, String> {
    Ok(ContradictionFacts {
        arrival: line.arrival,
        result: line.result.map(Bytes::read).transpose()?,
        evidence: line.evidence,
        source: line.source,
        round: line.round,
        outcome: line.outcome,
        recorded_at: Micros::new(line.recorded_at),
    })
}

fn action_line(row: &ActionRow) -> ActionLine {
    let row = row.clone();
    ActionLine {
        arrival: row.arrival,
        verb: row.verb,
        about: row.about,
        actor: row.actor,
        reason: row.reason,
        before: row.before,
        after: row.after,
        recorded_at: row.recorded_at.get(),
    }
}

fn action(line: ActionLine) -> ActionRow {
    ActionRow {
        arrival: line.arrival,
        verb: line.verb,
        about: line.about,
        actor: line.actor,
        reason: line.reason,
        before: line.before,
        after: line.after,
        recorded_at: Micros::new(line.recorded_at),
    }
}
