//! How one destination is reached over HTTP.
//!
//! Guarantees: a refusal names the option, the rule and the way out, and shows no credential and
//! no secret; nothing was sent. Does not: try the destination; what is wrong there shows when the
//! first command is sent.

use std::fmt;

use counterfoil_core::domain::{Completion, Span};

use super::refused::HttpRefused;

/// The default of `result_bytes_max`: 64 KiB.
pub const RESULT_BYTES_MAX: usize = 65_536;
/// The most that `result_bytes_max` may be, since a receipt holds no more: 16 MiB.
pub const RESULT_BYTES_LIMIT: usize = 16 * 1024 * 1024;

/// How one destination is reached.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpOptions {
    /// Where to: `http` or `https`, without credentials. It has no default.
    pub url: String,
    /// The method, in upper case. Default `POST`.
    pub method: String,
    /// How long a send may take, from looking up the name to the last byte of the answer.
    /// Default 10 s. A lease must be longer by 2 s at least.
    pub request_timeout: Span,
    /// What completes a command: `Response` (default) or `Receipt`.
    pub completion: Completion,
    /// A new connection for every send, closed after it. Default `false`; set it where the
    /// receiver does not know repeats, so that no send meets a connection that is just closing.
    pub fresh_connections: bool,
    /// Headers of every request, such as `Authorization`. They win over stored headers.
    pub headers: Vec<(String, String)>,
    /// Secrets of the form `whsec_<base64>`; each signs every request. Default: none.
    pub secrets: Vec<String>,
    /// How much of an answer's body is kept as the result. Default 64 KiB, at most 16 MiB.
    pub result_bytes_max: usize,
    /// How many idle connections are kept at most. Default 64, the relay's default of `workers`:
    /// more are never in use at once.
    pub idle_connections_max: usize,
}

impl HttpOptions {
    /// Options for `url`, everything else by default.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            method: "POST".into(),
            request_timeout: Span::from_secs(10),
            completion: Completion::Response,
            fresh_connections: false,
            headers: Vec::new(),
            secrets: Vec::new(),
            result_bytes_max: RESULT_BYTES_MAX,
            idle_connections_max: 64,
        }
    }
}

/// Without credentials: header values and secrets are left out, and what a URL may hide.
impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("HttpOptions")
            .field("url", &super::url::shown(&self.url))
            .field("method", &self.method)
            .field("request_timeout", &self.request_timeout)
            .field("completion", &self.completion)
            .field("fresh_connections", &self.fresh_connections)
            .field("headers", &names)
            .field("secrets", &self.secrets.len())
            .field("result_bytes_max", &self.result_bytes_max)
            .field("idle_connections_max", &self.idle_connections_max)
            .finish()
    }
}

/// Checks the choices that stand for themselves.
pub(super) fn check(options: &HttpOptions) -> Result<(), HttpRefused> {
    let refused = |what, why| Err(HttpRefused::Value { what, why });
    if options.completion == Completion::Accepted {
        return refused(
            "completion",
            "is \"accepted\", which a broker can promise and an HTTP answer cannot: \
             use \"response\", or \"receipt\" where the receiver reports later",
        );
    }
    if options.request_timeout == Span::ZERO {
        return refused("request_timeout", "is zero; give a positive time, such as 10s");
    }
    if options.result_bytes_max > RESULT_BYTES_LIMIT {
        return refused("result_bytes_max", "is more than 16 MiB, which no receipt holds");
    }
    Ok(())
}

/// The method, if it is one.
pub(super) fn method(text: &str) -> Result<hyper::Method, HttpRefused> {
    let refused = |why| HttpRefused::Method { method: text.into(), why };
    let method = hyper::Method::from_bytes(text.as_bytes())
        .map_err(|_| refused("is no method; POST is the usual one"))?;
    if text.bytes().any(|byte| byte.is_ascii_lowercase()) {
        return Err(refused("has lower-case letters, which no server knows; write it as POST"));
    }
    match method {
        hyper::Method::CONNECT | hyper::Method::TRACE => {
            Err(refused("carries no body; POST is the usual one"))
        }
        method => Ok(method),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_tokens_in_upper_case() {
        assert_eq!(method("POST"), Ok(hyper::Method::POST));
        assert_eq!(method("PUT"), Ok(hyper::Method::PUT));
        assert!(method("MKCOL").is_ok());
        for bad in ["", "post", "PO ST", "POST\r\n", "CONNECT", "TRACE", "提交"] {
            assert!(matches!(method(bad), Err(HttpRefused::Method { .. })), "{bad:?}");
        }
    }

    #[test]
    fn options_show_no_secret() {
        let mut options = HttpOptions::new("http://u:pw1@h/p?key=pw2");
        options.headers.push(("Authorization".into(), "pw3".into()));
        options.secrets.push("pw4".into());
        let text = format!("{options:?}");
        assert!(!text.contains("pw") && text.contains("Authorization"), "{text}");
    }

    #[test]
    fn values_are_checked() {
        let mut options = HttpOptions::new("http://h");
        assert_eq!(check(&options), Ok(()));
        options.completion = Completion::Accepted;
        assert!(check(&options).unwrap_err().to_string().contains("\"receipt\""));
        options.completion = Completion::Receipt;
        options.request_timeout = Span::ZERO;
        assert_eq!(check(&options).unwrap_err().code(), "CF0606");
        options.request_timeout = Span::from_secs(1);
        options.result_bytes_max = RESULT_BYTES_LIMIT + 1;
        assert!(matches!(check(&options), Err(HttpRefused::Value { .. })));
    }
}
