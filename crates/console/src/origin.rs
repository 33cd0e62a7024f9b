//! Keeps browsers out where there are no tokens.
//!
//! Guarantees: a page of the web can neither report nor read through a browser on this machine:
//! not by a form or script of its own (such a request has `Origin`), nor under a name of its own
//! that it points at this machine (then `Host` is that name). Does not: keep out programs of this
//! machine; that is what tokens are for.

use std::net::IpAddr;

use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, Uri};

use crate::problem::Problem;

/// Refuses what a browser could have been made to send.
pub(crate) fn check(headers: &HeaderMap, uri: &Uri) -> Result<(), Problem> {
    if headers.contains_key(ORIGIN) {
        return Err(refused("the request has Origin, so a page in a browser sent it"));
    }
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return Err(refused("the request must have Host, once"));
    };
    let host = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
    let target = uri.authority().is_none_or(is_this_machine);
    if host.as_ref().is_some_and(is_this_machine) && target {
        return Ok(());
    }
    Err(refused("Host is neither localhost nor a loopback address"))
}

fn is_this_machine(authority: &Authority) -> bool {
    let host = authority.host();
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let is_loopback = |ip: IpAddr| ip.to_canonical().is_loopback();
    let is_plain = !authority.as_str().contains('@');
    is_plain && (host.eq_ignore_ascii_case("localhost") || bare.parse().is_ok_and(is_loopback))
}

fn refused(what: &str) -> Problem {
    let detail = format!(
        "{what}; this API has no tokens and answers programs of its own machine only: call it as \
         http://127.0.0.1, or set tokens"
    );
    let title = "a browser or another machine could have sent this";
    Problem::new(StatusCode::FORBIDDEN, "CF1003", title, detail)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn is_let_in(headers: &[(&'static str, &str)], uri: &str) -> bool {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_str(value).unwrap());
        }
        check(&map, &uri.parse().unwrap()).is_ok()
    }

    #[test]
    fn only_names_of_this_machine_are_let_in() {
        for host in
            ["localhost", "LocalHost:7070", "127.0.0.1:7070", "127.9.9.9", "[::1]:7070", "[::1]"]
        {
            assert!(is_let_in(&[("host", host)], "/"), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:7070",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "evil@localhost",
            "10.0.0.1",
            "0.0.0.0",
            "[::]",
            "",
            "local host",
        ] {
            assert!(!is_let_in(&[("host", host)], "/"), "{host}");
        }
        assert!(is_let_in(&[("host", "[::ffff:127.0.0.1]")], "/"));
        assert!(!is_let_in(&[], "/"));
        assert!(!is_let_in(&[("host", "localhost"), ("host", "evil.example")], "/"));
        assert!(!is_let_in(&[("host", "localhost")], "http://evil.example/v1/status"));
        assert!(is_let_in(&[("host", "localhost")], "http://localhost:7070/v1/status"));
    }

    #[test]
    fn any_origin_is_refused() {
        for origin in ["http://evil.example", "http://localhost:3000", "null", ""] {
            let headers = [("host", "localhost"), ("origin", origin)];
            assert!(!is_let_in(&headers, "/"), "{origin}");
        }
    }
}
