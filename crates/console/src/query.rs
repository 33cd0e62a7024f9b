//! Reads the query of a request: which parameters, each at most once, and what they say.
//!
//! Guarantees: a parameter that is not known, stands twice, is empty or is no percent-encoded UTF-8
//! is refused by its name. Does not: know what the values mean.

use axum::http::StatusCode;

use crate::problem::Problem;

/// The parameters of one request.
#[derive(Debug)]
pub(crate) struct Query {
    pairs: Vec<(&'static str, String)>,
}

impl Query {
    /// Reads `query` where only `known` parameters may stand.
    pub(crate) fn read(query: Option<&str>, known: &[&'static str]) -> Result<Self, Problem> {
        let mut pairs: Vec<(&'static str, String)> = Vec::new();
        let given = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        for pair in given {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decoded(name).unwrap_or_else(|| name.to_owned());
            let Some(name) = known.iter().copied().find(|known| *known == name) else {
                let shown: String = name.chars().take(64).collect();
                let names = match known {
                    [] => "here is none".to_owned(),
                    known => format!("known are {}", known.join(", ")),
                };
                return Err(refused(&shown, &format!("is no parameter of this path; {names}")));
            };
            if pairs.iter().any(|(given, _)| *given == name) {
                return Err(refused(name, "stands twice; give it once"));
            }
            let value = decoded(value)
                .ok_or_else(|| refused(name, "is no UTF-8, percent-encoded: encode it"))?;
            if value.is_empty() {
                return Err(refused(name, "is empty; leave it out"));
            }
            pairs.push((name, value));
        }
        Ok(Self { pairs })
    }

    /// Takes the value of a parameter.
    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        let at = self.pairs.iter().position(|(given, _)| *given == name)?;
        Some(self.pairs.swap_remove(at).1)
    }
}

/// 400 that names the parameter.
pub(crate) fn refused(name: &str, rule: &str) -> Problem {
    let title = "a parameter of the query breaks its rule";
    let detail = format!("{name} {rule}");
    Problem::new(StatusCode::BAD_REQUEST, "CF1026", title, detail).field(name)
}

/// As forms and browsers write it: `+` is a space, `%2B` a plus.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut left = text.bytes();
    while let Some(byte) = left.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => hex(left.next()?)? * 16 + hex(left.next()?)?,
            plain => plain,
        });
    }
    String::from_utf8(bytes).ok()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 2] = ["state", "limit"];

    fn no(query: &str) -> String {
        let problem = Query::read(Some(query), &KNOWN).unwrap_err();
        let (status, code, field) = problem.seen();
        assert_eq!((status, code), (400, "CF1026"), "{query}");
        field.unwrap_or_default().to_owned()
    }

    #[test]
    fn values_are_decoded() {
        let mut query = Query::read(Some("limit=%C3%A9+%2B&&state=a=b"), &KNOWN).unwrap();
        assert_eq!(query.take("limit").as_deref(), Some("é +"));
        assert_eq!(query.take("state").as_deref(), Some("a=b"));
        assert_eq!(query.take("state"), None);
        assert!(Query::read(None, &KNOWN).unwrap().take("state").is_none());
    }

    #[test]
    fn what_is_not_known_twice_empty_or_malformed_is_refused_by_name() {
        for (query, name) in [
            ("State=dead", "State"),
            ("stat%65s=dead", "states"),
            ("=1", ""),
            ("limit=1&limit=1", "limit"),
            ("limit=", "limit"),
            ("limit", "limit"),
            ("state=%F", "state"),
            ("state=%GG", "state"),
            ("state=%FF", "state"),
        ] {
            assert_eq!(no(query), name, "{query}");
        }
    }
}
