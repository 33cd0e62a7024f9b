//! How one destination is reached over HTTP.
//!
//! Guarantees: a refusal names the option, the rule and the way out, and shows no credential and
//! no secret; nothing was sent. Does not: try the destination; what is wrong there shows when the
//! first command is sent.

use std::fmt;
use std::path::PathBuf;

use counterfoil_core::domain::{Completion, Habits, NotThere, Span};

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
    /// What the receiver does in its own way: how answers are read, how the key is sent. Default:
    /// the contract's own way.
    pub habits: Habits,
    /// How the receiver can be asked about a command. Default: it cannot be.
    pub ask: Option<AskOptions>,
    /// Where receivers report, sent as `Counterfoil-Receipt-Url` where `completion` is `Receipt`;
    /// `http` or `https`, without credentials. Default: none is sent.
    pub receipt_url: Option<String>,
    /// Certificates and keys in files. Default: the system's roots, no client certificate.
    pub tls: TlsOptions,
    /// Whether requests go through a proxy. Default: none, whatever the environment says.
    pub proxy: Proxy,
}

/// How a receiver can be asked what became of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AskOptions {
    /// Where to ask, by GET: `http` or `https`, without credentials, with `{command_id}` or
    /// `{key}` (the key as it is sent, without quotes) in its path or query; each is
    /// percent-encoded there. The destination's `headers` travel with it, also to another host.
    pub url: String,
    /// How the receiver says that it never acted on a key. Default: by a bare 404, which is
    /// believed after a control question only.
    pub not_there: Option<NotThere>,
}

impl AskOptions {
    /// Asks at `url`; a bare 404 says "not there".
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), not_there: None }
    }
}

/// Certificates and keys in PEM files, read once, when the transport is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsOptions {
    /// Whom to trust, *instead of* the system's roots: a file that names a private authority
    /// means that one, and no other.
    pub ca: Option<PathBuf>,
    /// The client's certificate, its chain behind it; needs `key`.
    pub cert: Option<PathBuf>,
    /// The client's private key, not encrypted: PKCS#8, PKCS#1 or SEC1; needs `cert`. It may be
    /// the same file.
    pub key: Option<PathBuf>,
}

impl TlsOptions {
    /// Whether any file is named.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.ca.is_some() || self.cert.is_some() || self.key.is_some()
    }
}

/// Through which proxy requests go.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Proxy {
    /// None, whatever the environment says.
    #[default]
    None,
    /// As `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` say when the transport is made,
    /// in lower or upper case, the lower case first.
    Env,
    /// This one, for every host: `http://host:port`, with `user:password@` where it asks for them.
    Url(String),
}

/// Without credentials.
impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Env => f.write_str("Env"),
            Self::Url(url) => f.debug_tuple("Url").field(&super::url::shown(url)).finish(),
        }
    }
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
            habits: Habits::default(),
            ask: None,
            receipt_url: None,
            tls: TlsOptions::default(),
            proxy: Proxy::None,
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
            .field("habits", &self.habits)
            .field("ask", &self.ask.as_ref().map(|ask| super::url::shown(&ask.url)))
            .field("receipt_url", &self.receipt_url.as_deref().map(super::url::shown))
            .field("tls", &self.tls)
            .field("proxy", &self.proxy)
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

/// Certificates and keys are for `https`.
pub(super) fn check_tls(options: &HttpOptions, is_tls: bool) -> Result<(), HttpRefused> {
    if options.tls.is_given() && !is_tls {
        return Err(HttpRefused::Value {
            what: "tls",
            why: "is given, but nothing is reached by https://; correct the url or leave it out",
        });
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
        hyper::Method::GET | hyper::Method::HEAD | hyper::Method::OPTIONS => Err(refused(
            "only reads, so that caches may answer it and proxies repeat it, and a command acts; \
             POST is the usual one",
        )),
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
        for bad in ["", "post", "PO ST", "POST\r\n", "CONNECT", "TRACE", "GET", "HEAD", "提交"] {
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
