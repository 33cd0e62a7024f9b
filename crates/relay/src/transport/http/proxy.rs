//! Through which proxy a destination is reached, if any.
//!
//! Guarantees: none unless `proxy` says so; a proxy that cannot be used is refused by name and
//! never silently passed by; its password shows nowhere. `no_proxy` is read as curl reads it, by
//! hyper-util. Does not: speak SOCKS, or TLS to the proxy itself; both are refused.
//!
//! To an `http` destination requests are forwarded: the proxy reads them, and its own answers
//! (407, 502, 504) cannot be told from the receiver's; the table of answers reads 502 and 504 as
//! Unknown, which is right for both. To an `https` destination the proxy gives a tunnel
//! (CONNECT), and whatever it answers but 200 comes before the first byte of a command.

use hyper::Uri;
use hyper::header::HeaderValue;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

use super::options::Proxy;
use super::refused::HttpRefused;
use super::url::Url;

/// How a destination is reached.
#[derive(Clone, Debug)]
pub(super) enum Route {
    /// By itself.
    Direct,
    /// Requests are given to the proxy.
    Forward(Through),
    /// The proxy connects to the destination and hands bytes on.
    Tunnel(Through),
}

/// A proxy.
#[derive(Clone, Debug)]
pub(super) struct Through {
    /// Where it is.
    pub(super) uri: Uri,
    /// What it asks for, as `Proxy-Authorization`.
    pub(super) authorization: Option<HeaderValue>,
}

impl Route {
    /// The route to `url`.
    ///
    /// # Errors
    /// [`HttpRefused::Proxy`] names what names the proxy, and why it cannot be used.
    pub(super) fn new(proxy: &Proxy, url: &Url) -> Result<Self, HttpRefused> {
        let through = match proxy {
            Proxy::None => None,
            Proxy::Url(proxy) => through("proxy", proxy, "", url)?,
            Proxy::Env => by_environment(url, |name| {
                std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
            })?,
        };
        Ok(match through {
            None => Self::Direct,
            Some(through) if url.is_tls => Self::Tunnel(through),
            Some(through) => Self::Forward(through),
        })
    }

    /// The proxy that reads requests, if one does.
    pub(super) const fn forwarder(&self) -> Option<&Through> {
        match self {
            Self::Forward(through) => Some(through),
            Self::Direct | Self::Tunnel(_) => None,
        }
    }

    /// The proxy, for people.
    pub(super) fn shown(&self) -> Option<&str> {
        match self {
            Self::Direct => None,
            Self::Forward(through) | Self::Tunnel(through) => {
                through.uri.authority().map(hyper::http::uri::Authority::as_str)
            }
        }
    }
}

fn by_environment(
    url: &Url,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Through>, HttpRefused> {
    let first = |names: &[&'static str]| {
        let mut values = names.iter().filter_map(|name| Some((*name, variable(name)?)));
        values.find(|(_, value)| !value.is_empty())
    };
    let names: &[_] = if url.is_tls {
        &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
    } else if variable("REQUEST_METHOD").is_some() {
        // In a CGI program a caller chooses HTTP_PROXY, by the header `Proxy` (CVE-2016-5385).
        &["http_proxy", "all_proxy", "ALL_PROXY"]
    } else {
        &["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
    };
    let Some((name, value)) = first(names) else { return Ok(None) };
    let except = first(&["no_proxy", "NO_PROXY"]).map_or(String::new(), |(_, value)| value);
    through(name, &value, &except, url)
}

fn through(
    named_by: &str,
    proxy: &str,
    except: &str,
    url: &Url,
) -> Result<Option<Through>, HttpRefused> {
    let refused = |why| HttpRefused::Proxy { named_by: named_by.into(), why };
    let intercepted = |except: &str| -> Option<Intercept> {
        Matcher::builder().all(proxy).no(except).build().intercept(&url.origin)
    };
    let any = intercepted("").ok_or_else(|| refused("is none: give http://host:port"))?;
    if any.uri().scheme_str() != Some("http") {
        return Err(refused("is not reached by http://, and other proxies are not spoken to"));
    }
    Ok(intercepted(except).map(|proxy| Through {
        uri: proxy.uri().clone(),
        authorization: proxy.basic_auth().cloned(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(url: &str, variables: &[(&str, &str)]) -> Result<Option<String>, String> {
        let url = Url::new("url", url).unwrap();
        let variable = |name: &str| {
            let found = variables.iter().find(|(one, _)| *one == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let through = by_environment(&url, variable).map_err(|refused| refused.to_string())?;
        Ok(through.map(|through| through.uri.authority().unwrap().to_string()))
    }

    #[test]
    fn the_environment_names_a_proxy_by_scheme() {
        let some = |text: &str| Ok(Some(text.to_owned()));
        let both = [("HTTP_PROXY", "http://p:1"), ("HTTPS_PROXY", "p:2")];
        assert_eq!(by("http://h/", &both), some("p:1"));
        assert_eq!(by("https://h/", &both), some("p:2"));
        assert_eq!(by("https://h/", &both[..1]), Ok(None));
        assert_eq!(by("https://h/", &[("all_proxy", "http://p:3")]), some("p:3"));
        let cases = [("http_proxy", "http://low:1"), ("HTTP_PROXY", "http://up:1")];
        assert_eq!(by("http://h/", &cases), some("low:1"));
        assert_eq!(by("http://h/", &[("http_proxy", ""), cases[1]]), some("up:1"));
        assert_eq!(by("http://h/", &[]), Ok(None));
        assert_eq!(by("http://h/", &[cases[1], ("REQUEST_METHOD", "GET")]), Ok(None));
    }

    #[test]
    fn no_proxy_is_passed_by() {
        let with = |except| [("http_proxy", "http://p:1"), ("no_proxy", except)];
        for (except, url) in [
            ("*", "http://h/"),
            ("example.org", "http://api.example.org/"),
            (".example.org", "http://api.example.org:8080/"),
            ("a, 10.0.0.0/8", "http://10.1.2.3/"),
            ("::1", "http://[::1]:80/"),
        ] {
            assert_eq!(by(url, &with(except)), Ok(None), "{except}");
        }
        assert!(by("http://notexample.org/", &with("example.org")).unwrap().is_some());
    }

    #[test]
    fn what_is_no_proxy_is_refused_and_not_passed_by() {
        for bad in ["socks5://u:geheim@p:1", "https://u:geheim@p:1", "http://", "ftp://p", "a b"] {
            let said = by("http://h/", &[("HTTP_PROXY", bad), ("NO_PROXY", "*")]).unwrap_err();
            assert!(said.contains("HTTP_PROXY") && !said.contains("geheim"), "{said}");
        }
    }
}
