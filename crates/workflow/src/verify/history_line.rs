//! A line of a history in a file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use counterfoil_core::domain::{Digest, EventRow, Kind, Micros, OrderingKey, Stream};
use counterfoil_core::port::workflow::{Carried, Issued};
use serde::{Deserialize, Serialize};

/// One line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Line {
    /// A workflow begins; what follows is its, up to the event `head`.
    Workflow { stream: String, program: String, head: i64 },
    /// Its state as it was saved after event `seq`.
    Snapshot { seq: i64, state: String },
    /// One of its events.
    Event(EventLine),
    /// A command that was issued with the event before.
    Command(CommandLine),
    /// So many workflows stand before this line, since the one before that is such a line.
    End { workflows: u64 },
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    carried: Option<CarriedLine>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CarriedLine {
    content_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    headers: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    core_digest: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_before: Option<Micros>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<Micros>,
}

impl From<&Carried> for CarriedLine {
    fn from(carried: &Carried) -> Self {
        let Carried { content_type, headers, core_digest, not_before, expires_at } =
            carried.clone();
        Self { content_type, headers, core_digest, not_before, expires_at }
    }
}

impl From<CarriedLine> for Carried {
    fn from(line: CarriedLine) -> Self {
        let CarriedLine { content_type, headers, core_digest, not_before, expires_at } = line;
        Self { content_type, headers, core_digest, not_before, expires_at }
    }
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
            carried: issued.carried.as_ref().map(Into::into),
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
            carried: self.carried.map(Into::into),
        })
    }
}
