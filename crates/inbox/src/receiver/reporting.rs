//! Where a receiver may report receipts, and with which right.
//!
//! Guarantees: a URL that a request names is called only below a prefix that the receiver's owner
//! named; scheme, host and port are compared whole, the path by its segments. Otherwise whoever
//! can send a command could have the receiver call any address that it can reach (server-side
//! request forgery), and show its token there. Does not: post; see `reporter`. Does not speak TLS.

use std::fmt;

use axum::http::header::AUTHORIZATION;
use axum::http::uri::{Authority, Scheme};
use axum::http::{HeaderMap, HeaderValue, Uri};

use crate::source::Source;

/// The header that says where to report.
const RECEIPT_URL: &str = "counterfoil-receipt-url";

/// Where to report receipts, and the token to show there.
#[derive(Clone)]
pub struct Reporting {
    prefix: Uri,
    authorization: Option<HeaderValue>,
    source: Option<Source>,
}

/// Why receipts cannot be reported like this. Neither shows the token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReportingRefused {
    /// It is no prefix of URLs.
    #[error(
        "{prefix:?} is no prefix to report to: write scheme, host, port and the beginning of the \
         path, such as http://127.0.0.1:7070/v1/, without user, query or dot segments"
    )]
    Prefix {
        /// What was given.
        prefix: String,
    },
    /// This receiver speaks no TLS.
    #[error(
        "receipts cannot be reported to {prefix:?}: this receiver speaks no TLS, so its token \
         would have no protection; use http on a private network, or a proxy beside it that \
         speaks TLS"
    )]
    Https {
        /// What was given.
        prefix: String,
    },
    /// The token cannot stand in a header.
    #[error(
        "the token to report with is empty, or has a space or a character that no header can \
         carry: give the token alone"
    )]
    Token,
}

impl ReportingRefused {
    /// The stable code of this refusal.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Prefix { .. } => "CF0721",
            Self::Https { .. } => "CF0722",
            Self::Token => "CF0723",
        }
    }
}

impl Reporting {
    /// Reports to URLs below `prefix`, with this bearer token; `None` shows none, for an API that
    /// asks for none.
    ///
    /// The prefix is compared by whole segments of the path: `http://a:1/v1` allows
    /// `http://a:1/v1/receipts`, but neither `http://a:1/v10` nor `http://a:10/v1`.
    ///
    /// # Errors
    /// [`ReportingRefused`].
    pub fn new(prefix: &str, token: Option<&str>) -> Result<Self, ReportingRefused> {
        let refused = || ReportingRefused::Prefix { prefix: prefix.into() };
        let uri: Uri = prefix.parse().map_err(|_| refused())?;
        if uri.scheme() == Some(&Scheme::HTTPS) {
            return Err(ReportingRefused::Https { prefix: prefix.into() });
        }
        if !is_plain(&uri) || uri.query().is_some() || prefix.contains('#') {
            return Err(refused());
        }
        let authorization = token.map(bearer).transpose()?;
        Ok(Self { prefix: uri, authorization, source: None })
    }

    /// Reports commands of this sender alone.
    ///
    /// A receiver of several senders needs it: the token vouches for the receiver, and a sender
    /// could else have it report commands of another one.
    #[must_use]
    pub fn only_of(mut self, source: Source) -> Self {
        self.source = Some(source);
        self
    }

    pub(super) const fn names_source(&self) -> bool {
        self.source.is_some()
    }

    /// Where a request of `source` with these headers wants its receipt, if that may be called.
    pub(super) fn wanted(&self, source: &Source, headers: &HeaderMap) -> Option<Uri> {
        let mut values = headers.get_all(RECEIPT_URL).iter();
        let value = values.next()?;
        let text = value.to_str().ok().filter(|_| values.next().is_none());
        let uri = text.and_then(|text| text.parse().ok()).filter(|uri| self.allows(uri));
        if uri.is_none() || self.source.as_ref().is_some_and(|only| only != source) {
            tracing::warn!(
                url = ?value,
                %source,
                "a Counterfoil-Receipt-Url is outside what this receiver may report to, and is \
                 not called: the request is answered with its result"
            );
            return None;
        }
        uri
    }

    /// What a post to an allowed URL shows.
    pub(super) fn authorize(&self, headers: &mut HeaderMap) {
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
    }

    fn allows(&self, uri: &Uri) -> bool {
        let port = |uri: &Uri| uri.port_u16().unwrap_or(80);
        let host = |uri: &Uri| uri.host().map(str::to_ascii_lowercase);
        is_plain(uri)
            && host(uri) == host(&self.prefix)
            && port(uri) == port(&self.prefix)
            && is_below(uri.path(), self.prefix.path())
    }
}

impl fmt::Debug for Reporting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reporting")
            .field("prefix", &self.prefix)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

/// HTTP, a host, no user, and a path that means what it says.
fn is_plain(uri: &Uri) -> bool {
    let authority = uri.authority().map(Authority::as_str);
    let segment_is_dots = |segment: &str| {
        let segment = segment.to_ascii_lowercase().replace("%2e", ".");
        segment == "." || segment == ".."
    };
    uri.scheme() == Some(&Scheme::HTTP)
        && authority.is_some_and(|authority| !authority.contains('@'))
        && uri.host().is_some_and(|host| !host.is_empty())
        && !uri.path().contains('\\')
        && !uri.path().split('/').any(segment_is_dots)
}

fn is_below(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix)
        .is_some_and(|rest| prefix.ends_with('/') || rest.is_empty() || rest.starts_with('/'))
}

fn bearer(token: &str) -> Result<HeaderValue, ReportingRefused> {
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(ReportingRefused::Token);
    }
    let value = HeaderValue::from_str(&format!("Bearer {token}"));
    let mut value = value.map_err(|_| ReportingRefused::Token)?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(prefix: &str, url: &str) -> bool {
        let reporting = Reporting::new(prefix, None).unwrap();
        url.parse().is_ok_and(|uri| reporting.allows(&uri))
    }

    #[test]
    fn what_is_below_the_prefix_is_allowed() {
        for (prefix, url) in [
            ("http://a:1", "http://a:1/v1/receipts"),
            ("http://a:1/", "http://A:1/v1/receipts?x=1"),
            ("http://a:1/v1", "http://a:1/v1"),
            ("http://a:1/v1", "http://a:1/v1/receipts"),
            ("http://a:1/v1/", "http://a:1/v1/receipts"),
            ("http://a/v1/receipts", "http://a:80/v1/receipts"),
            ("http://[::1]:1/", "http://[::1]:1/v1/receipts"),
        ] {
            assert!(allows(prefix, url), "{prefix} {url}");
        }
    }

    #[test]
    fn what_only_looks_like_it_is_not() {
        for (prefix, url) in [
            ("http://a:1", "http://a:10/"),
            ("http://a:1", "http://a:1@evil/"),
            ("http://a:1", "http://a.evil:1/"),
            ("http://a", "http://a.evil/"),
            ("http://a:1", "https://a:1/"),
            ("http://a:1", "http://user@a:1/"),
            ("http://a:1", "/v1/receipts"),
            ("http://a:1", "ftp://a:1/"),
            ("http://a:1/v1", "http://a:1/v10"),
            ("http://a:1/v1", "http://a:1/"),
            ("http://a:1/v1/", "http://a:1/v1/../admin"),
            ("http://a:1/v1/", "http://a:1/v1/%2E%2e/admin"),
            ("http://a:1/v1/", "http://a:1/v1/./x"),
            ("http://a:1/v1/", ""),
        ] {
            assert!(!allows(prefix, url), "{prefix} {url}");
        }
    }

    #[test]
    fn a_bad_prefix_or_token_is_refused_with_the_way_out_and_never_shown() {
        let code = |prefix, token| Reporting::new(prefix, token).map(drop).unwrap_err().code();
        for prefix in
            ["", "a", "/v1", "ftp://a", "http://", "http://u:p@a/", "http://a/?x", "http://a/../"]
        {
            assert_eq!(code(prefix, None), "CF0721", "{prefix}");
        }
        assert_eq!(code("https://a/", None), "CF0722");
        for token in ["", "a b", "a\n", "订"] {
            assert_eq!(code("http://a/", Some(token)), "CF0723", "{token:?}");
        }
        let reporting = Reporting::new("http://a/", Some("s3cret")).unwrap();
        assert!(!format!("{reporting:?}").contains("s3cret"));
    }

    #[test]
    fn a_url_of_another_sender_or_one_that_stands_twice_is_not_wanted() {
        let source = |name| Source::new(name).unwrap();
        let reporting = Reporting::new("http://a/", None).unwrap().only_of(source("urn:a"));
        let mut headers = HeaderMap::new();
        assert_eq!(reporting.wanted(&source("urn:a"), &headers), None);
        headers.append(RECEIPT_URL, HeaderValue::from_static("http://a/r"));
        assert!(reporting.wanted(&source("urn:a"), &headers).is_some());
        assert_eq!(reporting.wanted(&source("urn:b"), &headers), None);
        headers.append(RECEIPT_URL, HeaderValue::from_static("http://a/r"));
        assert_eq!(reporting.wanted(&source("urn:a"), &headers), None);
    }
}
