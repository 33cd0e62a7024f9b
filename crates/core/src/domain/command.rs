//! What is asked of one destination, before and after it is recorded.
//!
//! Guarantees: a [`Command`] that is built keeps every rule of the SQL guards; an [`OutboxRow`]
//! has a digest that changes with any of its immutable columns. Does not: write anything.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::digest::{Digest, FieldDigest};
use super::id::{CommandId, Destination, IdRefused, Kind, OrderingKey, Stream};
use super::json;
use super::time::Micros;
use super::trace_context;

/// The most bytes a body may have by the guard: 16 MiB. Library and relay refuse more than
/// `body_bytes_max`, 1 MiB by default.
pub const BODY_BYTES_LIMIT: usize = 16 * 1024 * 1024;
/// The default of `body_bytes_max`.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;
/// The most bytes that the stored headers may have as JSON.
pub const HEADERS_BYTES_LIMIT: usize = 65_536;

/// What a time must be; see [`Micros::is_plausible`].
const TIME_RULE: &str =
    "must lie between 2001-09-09 and 2286-11-20, in microseconds since 1970, UTC";

/// Headers that Counterfoil or the connection owns; a command may not set them.
const OWN_HEADERS: &[&str] = &[
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "host",
    "idempotency-key",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "traceparent",
    "transfer-encoding",
    "upgrade",
    "webhook-id",
    "webhook-signature",
    "webhook-timestamp",
];

/// Whether a stored header of this name may travel.
#[must_use]
pub fn header_may_travel(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let ours = name.starts_with("counterfoil-") || name.starts_with("ce-");
    name == "ce-traceparent" || !(ours || OWN_HEADERS.contains(&name.as_str()))
}

/// Why a command cannot be recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommandRefused {
    /// A name breaks its rule.
    #[error(transparent)]
    Id(#[from] IdRefused),
    /// The body is too long.
    #[error(
        "the body of command {id} has {len} bytes; at most {max} are allowed: \
         store it elsewhere and send a reference, or raise body_bytes_max (up to 16 MiB)"
    )]
    BodyTooLong {
        /// The command.
        id: String,
        /// How many bytes the body has.
        len: usize,
        /// The most it may have.
        max: usize,
    },
    /// A header that may not travel, or is malformed.
    #[error("header {name:?} of command {id} {why}")]
    Header {
        /// The command.
        id: String,
        /// The header's name.
        name: String,
        /// What is wrong and the way out.
        why: &'static str,
    },
    /// A value that JSON cannot carry, or an impossible time.
    #[error("{what} of command {id}: {why}")]
    Value {
        /// The command.
        id: String,
        /// Which value.
        what: &'static str,
        /// What is wrong and the way out.
        why: String,
    },
}

/// A command to be recorded: immutable once built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its id; in a decision `None`, and made from stream, seq and index.
    pub id: Option<CommandId>,
    /// To whom.
    pub destination: Destination,
    /// What kind.
    pub kind: Kind,
    /// Its lane; refused by the stores until lanes are built.
    pub ordering_key: Option<OrderingKey>,
    /// The bytes that will travel, unchanged.
    pub body: Vec<u8>,
    /// Whether the body is stored as text (so that SQL shows it) or as bytes.
    pub body_is_text: bool,
    /// Its media type. Default `application/json`.
    pub content_type: String,
    /// Extra headers.
    pub headers: BTreeMap<String, String>,
    /// Digest of the core fields: where both rows have one, it is compared instead of the body.
    pub core_digest: Option<Digest>,
    /// Not to be sent before.
    pub not_before: Option<Micros>,
    /// Not to be sent after; refused by the stores until expiry is built.
    pub expires_at: Option<Micros>,
}

impl Command {
    /// A command with a business id and a body of JSON text.
    ///
    /// # Errors
    /// [`CommandRefused`] when a name breaks its rule or the value is no JSON.
    ///
    /// # Example
    /// ```
    /// use counterfoil_core::domain::Command;
    /// let body = serde_json::json!({"order_id": "A-001"});
    /// let command = Command::json("order.paid:A-001", "shipping", "order.paid", &body)?;
    /// assert_eq!(command.body, br#"{"order_id":"A-001"}"#);
    /// # Ok::<(), counterfoil_core::domain::CommandRefused>(())
    /// ```
    pub fn json(
        id: impl Into<String>,
        destination: impl Into<String>,
        kind: impl Into<String>,
        body: &impl Serialize,
    ) -> Result<Self, CommandRefused> {
        let id = CommandId::new(id)?;
        let mut command = Self::unnamed(destination, kind, body)?;
        command.id = Some(id);
        Ok(command)
    }

    /// A command of a decision: its id is made from stream, seq and index when it is appended.
    ///
    /// # Errors
    /// [`CommandRefused`] when a name breaks its rule or the value is no JSON.
    pub fn unnamed(
        destination: impl Into<String>,
        kind: impl Into<String>,
        body: &impl Serialize,
    ) -> Result<Self, CommandRefused> {
        let body = json::to_sorted_vec(body).map_err(|error| CommandRefused::Value {
            id: "(not yet named)".into(),
            what: "body",
            why: format!("no JSON: {error}"),
        })?;
        let mut command = Self::bytes_unnamed(destination, kind, body)?;
        command.body_is_text = true;
        Ok(command)
    }

    /// A command with a business id and a body of any bytes; set `content_type` to say which.
    ///
    /// # Errors
    /// [`CommandRefused`] when a name breaks its rule.
    pub fn bytes(
        id: impl Into<String>,
        destination: impl Into<String>,
        kind: impl Into<String>,
        body: impl Into<Vec<u8>>,
    ) -> Result<Self, CommandRefused> {
        let id = CommandId::new(id)?;
        let mut command = Self::bytes_unnamed(destination, kind, body.into())?;
        command.id = Some(id);
        Ok(command)
    }

    fn bytes_unnamed(
        destination: impl Into<String>,
        kind: impl Into<String>,
        body: Vec<u8>,
    ) -> Result<Self, CommandRefused> {
        Ok(Self {
            id: None,
            destination: Destination::new(destination)?,
            kind: Kind::new(kind)?,
            ordering_key: None,
            body,
            body_is_text: false,
            content_type: "application/json".into(),
            headers: BTreeMap::new(),
            core_digest: None,
            not_before: None,
            expires_at: None,
        })
    }

    /// Names the core of the intent: a repeat with the same core values is the same command, even
    /// if its body has a new timestamp or trace id.
    ///
    /// # Errors
    /// A number that JSON cannot carry.
    pub fn core(mut self, values: &[Value]) -> Result<Self, CommandRefused> {
        self.core_digest = Some(Digest::of_core(values).map_err(|error| {
            CommandRefused::Value { id: self.name(), what: "core fields", why: error.to_string() }
        })?);
        Ok(self)
    }

    /// Adds a header; see [`header_may_travel`].
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// Stores the context in which the command is recorded, a `traceparent` of W3C Trace Context:
    /// each attempt's span links to it, and it travels as `ce-traceparent`. What is no such value
    /// is stored and travels too, and nothing links to it.
    ///
    /// # Example
    /// ```
    /// use counterfoil_core::domain::Command;
    /// let context = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    /// let command = Command::json("a", "shipping", "order.paid", &())?.traceparent(context);
    /// assert_eq!(command.headers["ce-traceparent"], context);
    /// # Ok::<(), counterfoil_core::domain::CommandRefused>(())
    /// ```
    #[must_use]
    pub fn traceparent(self, traceparent: impl Into<String>) -> Self {
        self.header(trace_context::STORED_HEADER, traceparent)
    }

    /// Sets the media type.
    #[must_use]
    pub fn content_type(mut self, content_type: impl Into<String>) -> Self {
        self.content_type = content_type.into();
        self
    }

    /// Not to be sent before `time`.
    #[must_use]
    pub fn not_before(mut self, time: Micros) -> Self {
        self.not_before = Some(time);
        self
    }

    /// Puts the command into a lane.
    #[must_use]
    pub fn ordering_key(mut self, key: OrderingKey) -> Self {
        self.ordering_key = Some(key);
        self
    }

    fn name(&self) -> String {
        self.id.as_ref().map_or_else(|| "(not yet named)".into(), ToString::to_string)
    }

    /// The stored form of the headers: a JSON object, or `None` when there are none.
    #[must_use]
    pub fn headers_json(&self) -> Option<String> {
        if self.headers.is_empty() { None } else { serde_json::to_string(&self.headers).ok() }
    }

    /// Checks every rule that can be checked without a store.
    ///
    /// # Errors
    /// [`CommandRefused`] names the first rule that is broken.
    pub fn check(&self, body_bytes_max: usize) -> Result<(), CommandRefused> {
        let max = body_bytes_max.min(BODY_BYTES_LIMIT);
        if self.body.len() > max {
            return Err(CommandRefused::BodyTooLong { id: self.name(), len: self.body.len(), max });
        }
        self.check_headers()?;
        if self.body_is_text && std::str::from_utf8(&self.body).is_err() {
            return Err(self.refused("body", "text must be UTF-8; give it as bytes"));
        }
        let plausible = |time: Option<Micros>| time.is_none_or(Micros::is_plausible);
        if !plausible(self.not_before) {
            return Err(self.refused("not_before", TIME_RULE));
        }
        if !plausible(self.expires_at) {
            return Err(self.refused("expires_at", TIME_RULE));
        }
        Ok(())
    }

    fn refused(&self, what: &'static str, why: &str) -> CommandRefused {
        CommandRefused::Value { id: self.name(), what, why: why.into() }
    }

    fn check_headers(&self) -> Result<(), CommandRefused> {
        let printable = |text: &str| text.bytes().all(|b| b == b'\t' || (b >= 0x20 && b != 0x7f));
        if self.content_type.is_empty() || !printable(&self.content_type) {
            return Err(self.refused("content_type", "must be a media type of printable text"));
        }
        for (name, value) in &self.headers {
            let refused = |why| CommandRefused::Header { id: self.name(), name: name.clone(), why };
            if name.is_empty() || !name.bytes().all(is_token_byte) {
                return Err(refused("is no header name; use letters, digits and hyphens"));
            }
            if name.eq_ignore_ascii_case("traceparent") {
                return Err(refused(
                    "is that of the request, which has a span of its own; store yours as \
                     ce-traceparent, to which that span links",
                ));
            }
            if !header_may_travel(name) {
                return Err(refused(
                    "is set by Counterfoil or by the connection; use another name, or the \
                     destination's `headers` for credentials",
                ));
            }
            if !printable(value) {
                return Err(refused("has a control character in its value; remove it"));
            }
        }
        if self.headers_json().is_some_and(|json| json.len() > HEADERS_BYTES_LIMIT) {
            return Err(self.refused("headers", "more than 65,536 bytes; move them to the body"));
        }
        Ok(())
    }
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// A row of the outbox: immutable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxRow {
    /// The internal key that joins the tables.
    pub n: i64,
    /// The command's id.
    pub command_id: CommandId,
    /// The decision's stream; `None` for a bare command.
    pub stream: Option<Stream>,
    /// The seq of the decision's last event.
    pub seq: Option<i64>,
    /// The command's place in its decision, from 0.
    pub idx: Option<i64>,
    /// To whom.
    pub destination: Destination,
    /// What kind.
    pub kind: Kind,
    /// Its lane.
    pub ordering_key: Option<OrderingKey>,
    /// The bytes that travel.
    pub body: Vec<u8>,
    /// Its media type.
    pub content_type: String,
    /// Extra headers, as the stored JSON.
    pub headers: Option<String>,
    /// Digest of the core fields, as stored: 64 hexadecimal digits.
    pub core_digest: Option<String>,
    /// Not to be sent before.
    pub not_before: Option<Micros>,
    /// Not to be sent after.
    pub expires_at: Option<Micros>,
    /// When it was recorded.
    pub recorded_at: Micros,
}

impl OutboxRow {
    /// SHA-256 over all immutable columns, each length-prefixed, the body by its digest.
    #[must_use]
    pub fn row_digest(&self, body: Digest) -> Digest {
        let text = |field: Option<&str>| field.map(|text| text.as_bytes().to_vec());
        FieldDigest::default()
            .integer(Some(self.n))
            .bytes(Some(self.command_id.as_str().as_bytes()))
            .bytes(text(self.stream.as_ref().map(Stream::as_str)).as_deref())
            .integer(self.seq)
            .integer(self.idx)
            .bytes(Some(self.destination.as_str().as_bytes()))
            .bytes(Some(self.kind.as_str().as_bytes()))
            .bytes(text(self.ordering_key.as_ref().map(OrderingKey::as_str)).as_deref())
            .bytes(Some(body.as_bytes()))
            .bytes(Some(self.content_type.as_bytes()))
            .bytes(text(self.headers.as_deref()).as_deref())
            .bytes(text(self.core_digest.as_deref()).as_deref())
            .integer(self.not_before.map(Micros::get))
            .integer(self.expires_at.map(Micros::get))
            .integer(Some(self.recorded_at.get()))
            .finish()
    }

    /// Whether `command` is the same intent: destination, kind, ordering key, and core digest
    /// where both have one, else body. Headers and times are not compared.
    #[must_use]
    pub fn is_same_intent(&self, command: &Command) -> bool {
        let content = match (&self.core_digest, &command.core_digest) {
            (Some(stored), Some(given)) => *stored == given.to_hex(),
            _ => self.body == command.body,
        };
        content
            && self.destination == command.destination
            && self.kind == command.kind
            && self.ordering_key == command.ordering_key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owned_headers_are_refused_and_others_travel() {
        for name in ["Authorization", "HOST", "Counterfoil-Token", "ce-id", "webhook-id", "TE"] {
            assert!(!header_may_travel(name), "{name}");
        }
        for name in ["X-Shop", "ce-traceparent", "Accept-Language"] {
            assert!(header_may_travel(name), "{name}");
        }
        let command = Command::bytes("a", "d", "k", "b").unwrap();
        let refused = command.header("Host", "x").check(BODY_BYTES_MAX).unwrap_err();
        assert!(refused.to_string().contains("use another name"), "{refused}");
    }

    /// The story: `--in 99999999d` was answered with the unit of a column.
    #[test]
    fn a_time_out_of_bounds_is_refused_with_its_bounds() {
        let late = Micros::new(Micros::LATEST.get() + 1);
        let command = Command::bytes("a", "d", "k", "b").unwrap().not_before(late);
        let refused = command.check(BODY_BYTES_MAX).unwrap_err().to_string();
        assert!(refused.contains("not_before") && refused.contains("2286-11-20"), "{refused}");
    }

    #[test]
    fn a_body_over_the_limit_is_refused_with_the_way_out() {
        let command = Command::bytes("a", "d", "k", vec![0; 11]).unwrap();
        let refused = command.check(10).unwrap_err();
        assert!(refused.to_string().contains("body_bytes_max"), "{refused}");
    }
}
