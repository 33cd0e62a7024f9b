//! A line of a history in a file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use counterfoil_core::domain::{Digest, EventRow, Kind, Micros, OrderingKey, Stream};
use counterfoil_core::port::workflow::Issued;
use serde::{Deserialize, Serialize};

/// One line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Line {
    /// A workflow begins; what follows is its.
    Workflow { stream: String, program: String },
    /// One of its events.
    Event(EventLine),
    /// A command that was issued with the event before.
    Command(CommandLine),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventLine {
    seq: i64,
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body_base64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decided: Option<String>,
    commands: i64,
    recorded_at: Micros,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommandLine {
    seq: i64,
    idx: i64,
    destination: String,
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ordering_key: Option<OrderingKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

impl From<&EventRow> for EventLine {
    /// Its body must be at hand: a line cannot say where else it lies.
    fn from(row: &EventRow) -> Self {
        let text = std::str::from_utf8(&row.body).ok().map(str::to_owned);
        Self {
            seq: row.seq,
            kind: row.kind.to_string(),
            cause: row.cause.clone(),
            body_base64: text.is_none().then(|| STANDARD.encode(&row.body)),
            body: text,
            decided: row.decided.clone(),
            commands: row.commands,
            recorded_at: row.recorded_at,
        }
    }
}

impl EventLine {
    pub(crate) fn into_row(self, stream: &Stream) -> Option<EventRow> {
        let body = match (self.body, self.body_base64) {
            (Some(text), _) => text.into_bytes(),
            (None, Some(encoded)) => STANDARD.decode(encoded).ok()?,
            (None, None) => Vec::new(),
        };
        Some(EventRow {
            stream: stream.clone(),
            seq: self.seq,
            kind: Kind::new(self.kind).ok()?,
            body,
            cause: self.cause,
            commands: self.commands,
            recorded_at: self.recorded_at,
            decided: self.decided,
            archived: None,
        })
    }
}

impl From<&Issued> for CommandLine {
    fn from(issued: &Issued) -> Self {
        Self {
            seq: issued.seq,
            idx: issued.idx,
            destination: issued.destination.clone(),
            kind: issued.kind.clone(),
            ordering_key: issued.ordering_key.clone(),
            digest: issued.digest.map(|digest| digest.to_hex()),
        }
    }
}

impl CommandLine {
    pub(crate) fn into_issued(self) -> Option<Issued> {
        let digest = match self.digest {
            None => None,
            Some(hex) => Some(Digest::from_hex(&hex)?),
        };
        Some(Issued {
            seq: self.seq,
            idx: self.idx,
            destination: self.destination,
            kind: self.kind,
            ordering_key: self.ordering_key,
            digest,
        })
    }
}
