//! The headers of a request: every row of the contract's table.
//!
//! Guarantees: what Counterfoil owns is never overwritten by a stored header; what may not travel
//! is dropped with a warning that names command and header, never sent in another form.
//! `Content-Length` is always there. Values travel byte for byte: text outside ASCII as its UTF-8.
//! `traceparent` is that of the attempt's own span, and is left out where nothing is traced: the
//! stored one is another's, and would make the receiver its child.
//! Does not: write `tracestate`; a stored one travels like any other header.

use bytes::Bytes;
use counterfoil_core::domain::command::header_may_travel;
use counterfoil_core::domain::{Completion, TraceContext};
use counterfoil_core::port::Attempt;
use hyper::HeaderMap;
use hyper::header::{self, HeaderName, HeaderValue, InvalidHeaderValue};

use super::cloud_events;
use super::key::Keys;
use super::options::HttpOptions;
use super::proxy::Through;
use super::refused::HttpRefused;
use super::signature::Signer;
use super::url::Url;

static ATTEMPT: HeaderName = HeaderName::from_static("counterfoil-attempt");
static TOKEN: HeaderName = HeaderName::from_static("counterfoil-token");
static TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
static RECEIPT_URL: HeaderName = HeaderName::from_static("counterfoil-receipt-url");

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
    keys: Keys,
    signer: Signer,
}

impl Headers {
    pub(super) fn new(
        options: &HttpOptions,
        url: &Url,
        forwarder: Option<&Through>,
    ) -> Result<Self, HttpRefused> {
        let configured = configured(options)?;
        let keys = Keys::new(&options.habits.key)?;
        if configured.contains_key(keys.header()) {
            return Err(HttpRefused::Header {
                name: keys.header().to_string(),
                why: "carries the key (`key.header`), which is another for each command; \
                      leave it out",
            });
        }
        let mut fixed = every_time(url, &configured, forwarder);
        if options.fresh_connections {
            fixed.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        fixed.insert(&cloud_events::SPEC_VERSION, HeaderValue::from_static("1.0"));
        if let Some(url) = receipt_url(options)? {
            fixed.insert(&RECEIPT_URL, url);
        }
        Ok(Self { fixed, configured, keys, signer: Signer::new(&options.secrets)? })
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
        headers.insert(self.keys.header(), self.keys.value(&attempt.source, id)?);
        headers.insert(&cloud_events::ID, cloud_events::value(id)?);
        headers.insert(&cloud_events::TYPE, cloud_events::value(command.kind.as_str())?);
        headers.insert(&cloud_events::SOURCE, cloud_events::value(&attempt.source)?);
        headers.insert(&cloud_events::TIME, cloud_events::time(command.recorded_at)?);
        headers.insert(&ATTEMPT, HeaderValue::from(attempt.number));
        headers.insert(&TOKEN, HeaderValue::from(attempt.token.get()));
        add_trace(&mut headers, attempt.trace)?;
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
        if name.eq_ignore_ascii_case("traceparent") {
            return Err("the request has its own; store yours as ce-traceparent");
        }
        if !header_may_travel(name) {
            return Err("it is set by Counterfoil or by the connection");
        }
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| "it is no header name")?;
        if name == self.keys.header() {
            return Err("it carries the key");
        }
        if self.configured.contains_key(&name) {
            return Err("the destination's `headers` set it");
        }
        let value = value.as_str().ok_or("its value is no string")?;
        let value = HeaderValue::from_maybe_shared(Bytes::copy_from_slice(value.as_bytes()));
        Ok((name, value.map_err(|_| "its value has a control character")?))
    }
}

/// The span of which this request is the hop, if there is one.
pub(super) fn add_trace(
    headers: &mut HeaderMap,
    trace: Option<TraceContext>,
) -> Result<(), InvalidHeaderValue> {
    if let Some(trace) = trace {
        headers.insert(&TRACEPARENT, HeaderValue::from_maybe_shared(trace.to_string())?);
    }
    Ok(())
}

/// The headers of every request to `url`, whatever it is about.
pub(super) fn every_time(
    url: &Url,
    configured: &HeaderMap,
    forwarder: Option<&Through>,
) -> HeaderMap {
    let mut fixed = HeaderMap::new();
    fixed.insert(header::HOST, url.host.clone());
    fixed.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
    if let Some(authorization) = forwarder.and_then(|proxy| proxy.authorization.as_ref()) {
        fixed.insert(header::PROXY_AUTHORIZATION, authorization.clone());
    }
    // The first of a name replaces the default, the next ones stand beside it.
    for name in configured.keys() {
        fixed.remove(name);
        for value in configured.get_all(name) {
            fixed.append(name, value.clone());
        }
    }
    fixed
}

/// The destination's `headers`.
///
/// # Errors
/// [`HttpRefused::Header`].
pub(super) fn configured(options: &HttpOptions) -> Result<HeaderMap, HttpRefused> {
    let mut configured = HeaderMap::new();
    for (name, value) in &options.headers {
        let (name, value) = checked(name, value)?;
        configured.append(name, value);
    }
    Ok(configured)
}

/// Where the receiver reports, if it is to.
fn receipt_url(options: &HttpOptions) -> Result<Option<HeaderValue>, HttpRefused> {
    const WHAT: &str = "receipt_url";
    let Some(url) = options.receipt_url.as_deref() else { return Ok(None) };
    Url::new(WHAT, url)?;
    let refused = |_| HttpRefused::Url {
        what: WHAT,
        url: super::url::shown(url),
        why: "does not go into a header",
    };
    let value = HeaderValue::from_str(url).map_err(refused)?;
    Ok((options.completion == Completion::Receipt).then_some(value))
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
