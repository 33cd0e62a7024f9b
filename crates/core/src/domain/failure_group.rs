//! Failures that are one failure: by destination, outcome and reason without its particulars.
//!
//! Guarantees: two reasons that differ in numbers, ids, addresses or quoted words only are one.
//! Does not: understand them; it is for a person's first look.

use std::collections::BTreeMap;

use super::time::Micros;

/// The most groups that are kept; the rest is counted as [`OTHERS`].
pub const GROUPS_MAX: usize = 1000;
/// The reason of what found no place among the groups.
pub const OTHERS: &str = "(other reasons)";
/// A normalised reason is cut to so many characters.
const CHARS_MAX: usize = 160;

/// What many commands have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureGroup {
    /// How many commands.
    pub count: u64,
    /// When the first was recorded.
    pub first: Micros,
    /// When the last was recorded.
    pub last: Micros,
    /// One of them, so that a person can look at it.
    pub example: String,
}

/// The key of a group: destination, outcome or state, normalised reason.
pub type GroupKey = (String, String, String);

/// Groups that grow as commands are added, in any order.
#[derive(Clone, Debug, Default)]
pub struct FailureGroups(BTreeMap<GroupKey, FailureGroup>);

impl FailureGroups {
    /// Adds one command, recorded at `at`.
    pub fn add(&mut self, id: &str, destination: &str, outcome: &str, reason: &str, at: Micros) {
        let mut key = (destination.to_owned(), outcome.to_owned(), normalised(reason));
        if self.0.len() >= GROUPS_MAX && !self.0.contains_key(&key) {
            key.2 = OTHERS.into();
        }
        let fresh = || FailureGroup { count: 0, first: at, last: at, example: id.to_owned() };
        let group = self.0.entry(key).or_insert_with(fresh);
        group.count += 1;
        group.first = group.first.min(at);
        group.last = group.last.max(at);
    }

    /// The groups, largest first.
    #[must_use]
    pub fn largest_first(self) -> Vec<(GroupKey, FailureGroup)> {
        let mut all: Vec<_> = self.0.into_iter().collect();
        all.sort_by_key(|(_, group)| std::cmp::Reverse(group.count));
        all
    }
}

/// A reason without its particulars: words that hold a digit, an `@` or a `://` become `#`, quoted
/// text `"…"`.
///
/// A status such as `HTTP 503` is kept: a number of three digits after `HTTP` says what happened.
#[must_use]
pub fn normalised(reason: &str) -> String {
    let mut out = String::with_capacity(reason.len().min(CHARS_MAX));
    let mut is_status = false;
    let mut quoted = false;
    for word in reason.split_whitespace().take(CHARS_MAX) {
        let closes =
            word.len() > 1 && word.trim_end_matches([',', ';', ':', '.', ')']).ends_with('"');
        if quoted {
            quoted = !closes;
            continue;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        let opens = word.trim_start_matches('(').starts_with('"');
        if opens {
            out.push_str("\"…\"");
            quoted = !closes;
        } else if is_status || !is_particular(word) {
            out.push_str(word);
        } else {
            out.push('#');
        }
        is_status = word == "HTTP";
    }
    match out.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => out[..end].to_owned(),
        None => out,
    }
}

/// Numbers, ids and most addresses hold a digit; a URL or a mail address may do without.
fn is_particular(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit() || c == '@') || word.contains("://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn particulars_go_and_statuses_stay() {
        let one = normalised("unknown: HTTP 503: upstream 10.0.0.7:8080 is down");
        let other = normalised("unknown: HTTP 503: upstream 10.0.0.12:8080 is down");
        assert_eq!(one, "unknown: HTTP 503: upstream # is down");
        assert_eq!(one, other);
        assert_ne!(one, normalised("unknown: HTTP 502: upstream 10.0.0.7:8080 is down"));
        assert_eq!(
            normalised("rejected: HTTP 400: no article \"blue shoe 7\" in stock"),
            "rejected: HTTP 400: no article \"…\" in stock"
        );
        assert_eq!(
            normalised("no answer from https://shop.example/orders for ann@shop.example"),
            "no answer from # for #"
        );
        assert_eq!(normalised(""), "");
        assert!(normalised(&"long ".repeat(1000)).chars().count() <= CHARS_MAX);
    }

    #[test]
    fn groups_count_and_date_and_are_bounded() {
        let at = |secs: i64| Micros::EARLIEST.plus(super::super::time::Span::from_secs(secs));
        let mut groups = FailureGroups::default();
        groups.add("b", "shop", "dead", "no article 7", at(5));
        groups.add("a", "shop", "dead", "no article 8", at(2));
        groups.add("c", "shop", "uncertain", "reset", at(3));
        let all = groups.clone().largest_first();
        assert_eq!(all.len(), 2);
        let (_, group) = &all[0];
        assert_eq!((group.count, group.first, group.last), (2, at(2), at(5)));
        assert_eq!(group.example, "b");
        let word = |n: usize| {
            let letters = |c: char| char::from(b'a' + c.to_digit(10).unwrap_or(0) as u8);
            n.to_string().chars().map(letters).collect::<String>()
        };
        for n in 0..2 * GROUPS_MAX {
            groups.add("x", "shop", "dead", &word(n), at(9));
        }
        assert!(groups.largest_first().len() <= GROUPS_MAX + 2);
    }
}
