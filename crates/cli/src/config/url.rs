//! URLs of the configuration: `http` or `https`, without credentials.
//!
//! Guarantees: a URL that holds a password is refused, and neither it nor its line is shown. Does
//! not: parse the rest; the transport does.

use super::Page;
use super::file::Value;
use crate::exit::Failure;

/// A URL as far as the configuration must know it.
pub(super) struct Parts<'u> {
    /// Host and port.
    pub(super) authority: &'u str,
    /// Path, query and fragment.
    pub(super) rest: &'u str,
}

/// Takes a URL apart.
pub(super) fn parts(url: &str) -> Parts<'_> {
    let after = url.split_once("://").map_or("", |(_, after)| after);
    let (authority, rest) = after.split_at(after.find(['/', '?', '#']).unwrap_or(after.len()));
    Parts { authority, rest }
}

impl Page {
    /// A URL of `http` or `https`; `instead` says where credentials go.
    pub(super) fn http_url(
        &self,
        key: &str,
        value: &Value,
        instead: &str,
    ) -> Result<String, Failure> {
        let url = self.text(key, value)?;
        // A word before the scheme's end is looked at too: `me:pw@host/` has no scheme at all.
        let Parts { authority, .. } = parts(&url);
        let unschemed = url.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') || unschemed.contains('@') {
            let at = self.at(&value.span());
            let text = format!("{at}: `{key}`: the URL holds credentials, which end up in logs");
            return Err(Failure::could_not_run(text).help(instead));
        }
        let is_http = url.starts_with("http://") || url.starts_with("https://");
        if is_http && !authority.is_empty() {
            return Ok(url);
        }
        Err(self.refuse_value(key, value, "is no URL of the form http://… or https://…"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart_at_its_path() {
        let whole = parts("http://a:1/b?c#d");
        assert_eq!((whole.authority, whole.rest), ("a:1", "/b?c#d"));
        assert_eq!(parts("http://a?b").rest, "?b");
        assert_eq!(parts("a").authority, "");
    }
}
