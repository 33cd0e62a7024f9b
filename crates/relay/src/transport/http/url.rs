//! The URL of a destination, taken apart once.
//!
//! Guarantees: `http` or `https` and a host; what is shown of a URL has no credentials and no
//! query. Does not: look the host up.

use hyper::Uri;
use hyper::header::HeaderValue;

use super::refused::HttpRefused;

/// Where a destination is.
#[derive(Debug)]
pub(super) struct Url {
    /// Scheme, host and port: where to connect.
    pub(super) origin: Uri,
    /// Path and query: what a request line names, where no proxy reads it.
    pub(super) path: Uri,
    /// The value of `Host`: with the port if it is not the scheme's own.
    pub(super) host: HeaderValue,
    /// Whether it is `https`.
    pub(super) is_tls: bool,
}

impl Url {
    /// Takes apart what stands in the option `what`.
    pub(super) fn new(what: &'static str, text: &str) -> Result<Self, HttpRefused> {
        let refused = |why| HttpRefused::Url { what, url: shown(text), why };
        if shown_authority(text).is_some_and(|(_, authority, _)| authority.contains('@')) {
            return Err(HttpRefused::Credentials { what, url: shown(text) });
        }
        if !text.bytes().all(|byte| matches!(byte, 0x21..=0x7e)) {
            return Err(refused(
                "has a character that must be percent-encoded (in a host: punycode)",
            ));
        }
        if text.contains('#') {
            return Err(refused("has a fragment, which is never sent; leave it out"));
        }
        let uri: Uri =
            text.parse().map_err(|_| refused("is no URL; give http://host:port/path"))?;
        let is_tls = match uri.scheme_str() {
            Some(scheme) if scheme.eq_ignore_ascii_case("http") => false,
            Some(scheme) if scheme.eq_ignore_ascii_case("https") => true,
            _ => {
                return Err(refused(
                    "is neither http:// nor https://; other schemes are not sent to",
                ));
            }
        };
        let host = uri.host().filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| refused("names no host; give http://host:port/path"))?;
        let port = port(&uri, host).map_err(refused)?;
        let named = match port {
            Some(port) if port != if is_tls { 443 } else { 80 } => format!("{host}:{port}"),
            _ => host.to_owned(),
        };
        let no_url = |_| refused("is no URL; give http://host:port/path");
        let scheme = if is_tls { "https" } else { "http" };
        Ok(Self {
            origin: format!("{scheme}://{named}/").parse().map_err(no_url)?,
            path: path(&uri).parse().map_err(no_url)?,
            host: HeaderValue::from_str(&named).map_err(|_| refused("names no host"))?,
            is_tls,
        })
    }
}

/// `path` as a request line names it: behind scheme and host where a proxy reads it.
///
/// # Errors
/// `None` where the two make no URL.
pub(super) fn target(origin: &Uri, path: Uri, forwarded: bool) -> Option<Uri> {
    if !forwarded {
        return Some(path);
    }
    let mut parts = origin.clone().into_parts();
    parts.path_and_query = path.into_parts().path_and_query;
    Uri::from_parts(parts).ok()
}

/// A path is never empty on a request line.
fn path(uri: &Uri) -> String {
    match uri.path_and_query().map_or("", |path| path.as_str()) {
        path if path.starts_with('/') => path.to_owned(),
        query => format!("/{query}"),
    }
}

fn port(uri: &Uri, host: &str) -> Result<Option<u16>, &'static str> {
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    match authority.strip_prefix(host).unwrap_or_default() {
        "" => Ok(None),
        colon => match colon.strip_prefix(':').and_then(|port| port.parse().ok()) {
            Some(port) if port > 0 => Ok(Some(port)),
            _ => {
                Err("has no port from 1 to 65535 after the colon; give one, or leave the colon out")
            }
        },
    }
}

/// Scheme with `://`, authority and the rest, however wrong the URL is.
fn shown_authority(text: &str) -> Option<(&str, &str, &str)> {
    let at = text.find("://")? + 3;
    let rest = &text[at..];
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    Some((&text[..at], &rest[..end], &rest[end..]))
}

/// A URL as it may be shown: without credentials, query and fragment.
pub(super) fn shown(text: &str) -> String {
    let without_query = |text: &str| text.split(['?', '#']).next().unwrap_or_default().to_owned();
    match shown_authority(text) {
        Some((scheme, authority, rest)) => {
            let host = authority.rsplit('@').next().unwrap_or_default();
            format!("{scheme}{host}{}", without_query(rest))
        }
        None => without_query(text.rsplit('@').next().unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart() {
        let url = Url::new("url", "HTTP://Example.org:8080/commands?a=b").unwrap();
        assert_eq!(url.origin, "http://Example.org:8080/");
        assert_eq!(url.path, "/commands?a=b");
        assert_eq!(url.host, "Example.org:8080");
        assert!(!url.is_tls);
        let url = Url::new("url", "https://[::1]:443").unwrap();
        assert_eq!((url.path.to_string().as_str(), url.is_tls), ("/", true));
        assert_eq!(url.host, "[::1]");
        assert_eq!(Url::new("url", "http://h?x").unwrap().path, "/?x");
        assert_eq!(Url::new("url", "http://h:443/").unwrap().host, "h:443");
    }

    #[test]
    fn what_cannot_be_sent_to_is_refused_by_its_rule() {
        for (bad, rule) in [
            ("", "no URL"),
            ("/commands", "neither http"),
            ("127.0.0.1:8080", "neither http"),
            ("ftp://h/", "neither http"),
            ("file:///etc/passwd", ""),
            ("http://", "no URL"),
            ("http:///path", ""),
            ("http://h:99999/", "port"),
            ("http://h:0/", "port"),
            ("http://h:/", "port"),
            ("http://h/a b", "percent-encoded"),
            ("http://商店.cn/", "punycode"),
            ("http://h/a\r\nX: y", "percent-encoded"),
            ("http://h/#part", "fragment"),
        ] {
            let refused = Url::new("url", bad).unwrap_err();
            assert_eq!(refused.code(), "CF0601", "{bad:?}");
            assert!(refused.to_string().contains(rule), "{bad:?}: {refused}");
        }
    }

    #[test]
    fn credentials_are_refused_and_never_shown() {
        for bad in [
            "http://user:hunter2@h/p?q",
            "https://hunter2@h",
            "http://user:hunt er2@h/",
            "ftp://a:hunter2@b@h/",
            "http://:hunter2@h:80/#x",
        ] {
            let refused = Url::new("url", bad).unwrap_err();
            assert_eq!(refused.code(), "CF0602", "{bad}");
            assert!(!refused.to_string().contains("er2"), "{refused}");
        }
        assert!(Url::new("url", "http://h/@user").is_ok());
        let refused = Url::new("url", "ftp://h/p?token=hunter2").unwrap_err();
        assert!(!refused.to_string().contains("hunter2"), "{refused}");
    }
}
