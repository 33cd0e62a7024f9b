//! The URL of a question: a template with the command's id or key in it.
//!
//! Guarantees: what is put in is percent-encoded down to letters, digits, `-`, `_`, `.` and `~`, so
//! no id can leave its place in the path; a template without a place is refused. An id that is `.`
//! or `..` has no question: servers resolve such a segment, however it is encoded, and would
//! answer about something else. Does not: ask.

use super::key::encode;
use super::refused::HttpRefused;
use super::url::{Url, shown};

const WHAT: &str = "ask.url";
const COMMAND_ID: &str = "{command_id}";
const KEY: &str = "{key}";

/// Path and query of questions.
#[derive(Debug)]
pub(super) struct AskUrl {
    path: String,
}

impl AskUrl {
    /// Takes a template apart; the second value says where to ask.
    ///
    /// # Errors
    /// [`HttpRefused::Url`] and [`HttpRefused::Credentials`], naming `ask.url`.
    pub(super) fn new(text: &str) -> Result<(Self, Url), HttpRefused> {
        let refused = |why| HttpRefused::Url { what: WHAT, url: shown(text), why };
        let filled = text.replace(COMMAND_ID, "x").replace(KEY, "x");
        let has_place = filled != text;
        if filled.contains(['{', '}']) {
            return Err(refused("has a place of another name; {command_id} and {key} are known"));
        }
        let url = Url::new(WHAT, &filled)?;
        if !has_place {
            return Err(refused(
                "names no command, so every question would be the same: \
                 put {command_id} or {key} where the id belongs",
            ));
        }
        let after = text.find("://").map_or("", |at| &text[at + 3..]);
        let at = after.find(['/', '?']).unwrap_or(after.len());
        if after[..at].contains('{') {
            return Err(refused("has the id in its host; put it into the path or the query"));
        }
        let path = match &after[at..] {
            path if path.starts_with('/') => path.to_owned(),
            query => format!("/{query}"),
        };
        Ok((Self { path }, url))
    }

    /// Path and query of the question about this command; `None` where no URL can name it.
    pub(super) fn path(&self, command_id: &str, key: &[u8]) -> Option<String> {
        let key = encoded(&String::from_utf8_lossy(key));
        if [command_id, key.as_str()].iter().any(|value| matches!(*value, "." | "..")) {
            return None;
        }
        let mut path = String::with_capacity(self.path.len() + 64);
        let mut rest = self.path.as_str();
        while let Some(at) = rest.find('{') {
            path.push_str(&rest[..at]);
            let (place, value) = if rest[at..].starts_with(KEY) {
                (KEY, key.clone())
            } else {
                (COMMAND_ID, encoded(command_id))
            };
            path.push_str(&value);
            rest = rest.get(at + place.len()..).unwrap_or_default();
        }
        path.push_str(rest);
        Some(path)
    }
}

fn encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let mut value = Vec::with_capacity(text.len());
    encode(text, is_plain, &mut value);
    String::from_utf8_lossy(&value).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_cannot_leave_its_place() {
        let (template, url) =
            AskUrl::new("http://h:8/orders/{command_id}/state?k={key}&a=b").unwrap();
        assert_eq!(url.origin, "http://h:8/");
        let path = template.path("a/../b?c#d {key}%2F", b"k&1{command_id}");
        let expected = "/orders/a%2F..%2Fb%3Fc%23d%20%7Bkey%7D%252F/state\
                        ?k=k%261%7Bcommand_id%7D&a=b";
        assert_eq!(path.unwrap(), expected);
        for id in [".", ".."] {
            assert_eq!(template.path(id, b"k"), None);
            assert_eq!(template.path("a", id.as_bytes()), None);
        }
        let (template, _) = AskUrl::new("http://h?id={command_id}").unwrap();
        assert_eq!(template.path("订", b"").unwrap(), "/?id=%E8%AE%A2");
    }

    #[test]
    fn a_template_that_asks_nothing_is_refused() {
        for (bad, rule) in [
            ("http://h/commands", "names no command"),
            ("http://h/{id}", "another name"),
            ("http://h/{command_id}/}", "another name"),
            ("http://{command_id}.h/", "its host"),
            ("http://u:geheim@h/{key}", "credentials"),
            ("/commands/{key}", "neither http"),
        ] {
            let said = AskUrl::new(bad).unwrap_err().to_string();
            assert!(said.contains(rule) && said.contains("ask.url"), "{bad}: {said}");
            assert!(!said.contains("geheim"), "{said}");
        }
    }
}
