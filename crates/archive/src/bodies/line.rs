//! A line: one event whole, as a JSON object.
//!
//! Guarantees: what is decoded from what was encoded is exactly the same event, by the digest of
//! its body. Does not: hold commands; those have lines of their own.

use counterfoil_core::domain::{Digest, EventRow, Kind, Micros, Stream};
use serde::{Deserialize, Serialize};

use crate::line::{Bytes, parse};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    stream: String,
    seq: i64,
    kind: String,
    cause: Option<String>,
    commands: i64,
    recorded_at: i64,
    decided: Option<String>,
    body: Bytes,
    digest: String,
}

/// The line of an event that has its body, with its line end.
pub(crate) fn encode(event: &EventRow) -> Vec<u8> {
    let line = Line {
        stream: event.stream.to_string(),
        seq: event.seq,
        kind: event.kind.to_string(),
        cause: event.cause.clone(),
        commands: event.commands,
        recorded_at: event.recorded_at.get(),
        decided: event.decided.clone(),
        body: Bytes::of(&event.body),
        digest: Digest::of(&event.body).to_hex(),
    };
    // Strings and integers are always JSON.
    let mut bytes = serde_json::to_vec(&line).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// The event of a line, with or without its line end.
///
/// # Errors
/// What is wrong with it, without its content; also if the body is not what its digest says.
pub(crate) fn decode(line: &[u8]) -> Result<EventRow, String> {
    let Line { stream, seq, kind, cause, commands, recorded_at, decided, body, digest } =
        parse(line)?;
    let body = body.read()?;
    if Digest::of(&body).to_hex() != digest {
        return Err(format!("event {stream}:{seq}: its body is not what its digest says"));
    }
    Ok(EventRow {
        stream: Stream::new(stream).map_err(|error| error.to_string())?,
        seq,
        kind: Kind::new(kind).map_err(|error| error.to_string())?,
        body,
        cause,
        commands,
        recorded_at: Micros::new(recorded_at),
        decided,
        archived: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_reads_back_and_one_that_was_changed_does_not() {
        for body in [&b"{\"to\":\"Rome\"}"[..], b"\xff\x00", b""] {
            let event = EventRow {
                stream: Stream::new("trip-1").unwrap(),
                seq: 3,
                kind: Kind::new("receipt:completed").unwrap(),
                body: body.to_vec(),
                cause: Some("receipt:1:0".into()),
                commands: 2,
                recorded_at: Micros::new(7),
                decided: Some("{}".into()),
                archived: None,
            };
            let line = encode(&event);
            assert_eq!(decode(&line), Ok(event));
        }
        let line = r#"{"stream":"t","seq":1,"kind":"k","cause":null,"commands":0,"recorded_at":1,
            "decided":null,"body":"secret","digest":"00"}"#;
        let why = decode(line.as_bytes()).unwrap_err();
        assert!(why.contains("event t:1: its body is not what its digest says"), "{why}");
        assert!(!decode(b"{\"secret\":1}").unwrap_err().contains("secret"));
    }
}
