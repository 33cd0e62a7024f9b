//! The headers of a request: every row of the contract's table.
//!
//! Guarantees: what Counterfoil owns is never overwritten by a stored header; what may not travel
//! is dropped with a warning that names command and header, never sent in another form.
//! `Content-Length` is always there. Values travel byte for byte: text outside ASCII as its UTF-8.
//! Does not: write `Counterfoil-Receipt-Url`, which needs a receipt endpoint, nor a `traceparent`
//! of the hop, which needs tracing; both come with those.

use bytes::Bytes;
use counterfoil_core::domain::command::header_may_travel;
use counterfoil_core::port::Attempt;
use hyper::HeaderMap;
use hyper::header::{self, HeaderName, HeaderValue, InvalidHeaderValue};

use super::options::HttpOptions;
use super::refused::HttpRefused;
use super::signature::Signer;
use super::{cloud_events, key};

static IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
static ATTEMPT: HeaderName = HeaderName::from_static("counterfoil-attempt");
static TOKEN: HeaderName = HeaderName::from_static("counterfoil-token");

const USER_AGENT: &str = concat!("counterfoil/", env!("CARGO_PKG_VERSION"));
/// Names that `header_may_travel` keeps from commands, and that an operator may set.
const CREDENTIALS: &[&str] = &["authorization", "cookie", "proxy-authorization"];
/// How many headers an attempt adds to the fixed ones.
const OF_ATTEMPT: usize = 16;

/// Writes the headers of one destination's requests.
pub(super) struct Headers {
    /// The same in every request.
    fixed: HeaderMap,
    /// Those that the operator gave: they win over stored ones.
    configured: HeaderMap,
    signer: Signer,
}

impl Headers {
    pub(super) fn new(options: HttpOptions, host: HeaderValue) -> Result<Self, HttpRefused> {
        let mut configured = HeaderMap::new();
        for (name, value) in options.headers {
            let (name, value) = checked(&name, &value)?;
            configured.append(name, value);
        }
        let mut fixed = HeaderMap::new();
        fixed.insert(header::HOST, host);
        fixed.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        if options.fresh_connections {
            fixed.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        fixed.insert(&cloud_events::SPEC_VERSION, HeaderValue::from_static("1.0"));
        for (name, value) in &configured {
            // The first of a name replaces the default, the next ones stand beside it.
            if fixed.get(name).is_some_and(|value| value == USER_AGENT) {
                fixed.insert(name, value.clone());
            } else {
                fixed.append(name, value.clone());
            }
        }
        Ok(Self { fixed, configured, signer: Signer::new(&options.secrets)? })
    }

    /// The headers of this attempt.
    ///
    /// # Errors
    /// A stored value that no header can carry; the guards keep such values out.
    pub(super) fn of(&self, attempt: &Attempt) -> Result<HeaderMap, InvalidHeaderValue> {
        let command = &attempt.command;
        let id = command.command_id.as_str();
        let mut headers = self.fixed.clone();
        headers.reserve(OF_ATTEMPT);
        if let Some(json) = &command.headers {
            self.add_stored(&mut headers, id, json);
        }
        let content_type = HeaderValue::from_bytes(command.content_type.as_bytes())?;
        headers.insert(header::CONTENT_TYPE, content_type);
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(command.body.len()));
        headers.insert(&IDEMPOTENCY_KEY, key::quoted(id)?);
        headers.insert(&cloud_events::ID, cloud_events::value(id)?);
        headers.insert(&cloud_events::TYPE, cloud_events::value(command.kind.as_str())?);
        headers.insert(&cloud_events::SOURCE, cloud_events::value(&attempt.source)?);
        headers.insert(&cloud_events::TIME, cloud_events::time(command.recorded_at)?);
        headers.insert(&ATTEMPT, HeaderValue::from(attempt.number));
        headers.insert(&TOKEN, HeaderValue::from(attempt.token.get()));
        self.signer.sign(&mut headers, id, attempt.now, &command.body)?;
        Ok(headers)
    }

    fn add_stored(&self, headers: &mut HeaderMap, command: &str, json: &str) {
        let stored = match serde_json::from_str::<serde_json::Map<_, _>>(json) {
            Ok(stored) => stored,
            Err(error) => {
                tracing::warn!(command, %error, "stored headers are no JSON object; all dropped");
                return;
            }
        };
        for (name, value) in stored {
            match self.travelling(&name, &value) {
                Ok((name, value)) => {
                    headers.insert(name, value);
                }
                Err(why) => tracing::warn!(command, header = name, why, "stored header dropped"),
            }
        }
    }

    fn travelling(
        &self,
        name: &str,
        value: &serde_json::Value,
    ) -> Result<(HeaderName, HeaderValue), &'static str> {
        if !header_may_travel(name) {
            return Err("it is set by Counterfoil or by the connection");
        }
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| "it is no header name")?;
        if self.configured.contains_key(&name) {
            return Err("the destination's `headers` set it");
        }
        let value = value.as_str().ok_or("its value is no string")?;
        let value = HeaderValue::from_maybe_shared(Bytes::copy_from_slice(value.as_bytes()));
        Ok((name, value.map_err(|_| "its value has a control character")?))
    }
}

fn checked(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), HttpRefused> {
    let refused = |why| HttpRefused::Header { name: name.into(), why };
    let parsed = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| refused("is no header name; use letters, digits and hyphens"))?;
    let is_credential = CREDENTIALS.contains(&parsed.as_str());
    if parsed == "ce-traceparent" || !(is_credential || header_may_travel(parsed.as_str())) {
        return Err(refused("is set by Counterfoil or by the connection; leave it out"));
    }
    let mut value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| {
        refused("has a control character in its value, perhaps a line's end; remove it")
    })?;
    value.set_sensitive(true);
    Ok((parsed, value))
}
