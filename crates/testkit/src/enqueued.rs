//! What a test wants to find in an outbox, and how to say that it is not there.
//!
//! Guarantees: pure; the same words for every database. Does not: read one; who holds the
//! transaction reads the rows, and hands them in.

mod difference;
mod wanted;

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

pub use wanted::Wanted;

/// How many of the commands that came nearest a message shows.
const SHOWN_MAX: usize = 5;
/// How much of a body a message shows, in characters.
const BODY_CHARS_MAX: usize = 200;

/// A command as it stands in the outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enqueued {
    /// Its id.
    pub id: String,
    /// To whom.
    pub destination: String,
    /// What kind.
    pub kind: String,
    /// Its lane.
    pub ordering_key: Option<String>,
    /// The bytes that travel.
    pub body: Vec<u8>,
    /// Their media type.
    pub content_type: String,
    /// Its state, or the outcome that ended it.
    pub state: String,
}

impl Enqueued {
    /// The body as JSON.
    ///
    /// # Panics
    /// It is no JSON, or not of this shape; the message names the command and shows the body.
    #[must_use]
    #[track_caller]
    pub fn json<T: DeserializeOwned>(&self) -> T {
        match serde_json::from_slice(&self.body) {
            Ok(value) => value,
            #[expect(clippy::panic, reason = "it is for tests, and says so")]
            Err(why) => {
                panic!("the body of command {}: {why}\nits body: {}", self.id, shown(&self.body))
            }
        }
    }

    fn value(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }
}

impl fmt::Display for Enqueued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, destination, kind, state, body, .. } = self;
        write!(f, "{id} ({kind} to {destination}, {state}): {}", shown(body))
    }
}

/// A body for people: text as it is, other bytes by their number; cut where it is long.
fn shown(body: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(body) else { return format!("{} bytes", body.len()) };
    match text.char_indices().nth(BODY_CHARS_MAX) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], body.len()),
        None => text.to_owned(),
    }
}

/// The one command among `rows` that is wanted: the first of them.
///
/// # Errors
/// None is; the words for the test's failure, with those that came nearest and what differs.
pub fn find(rows: &[Enqueued], wanted: &Wanted) -> Result<Enqueued, String> {
    match rows.iter().find(|row| wanted.differences(row).is_empty()) {
        Some(row) => Ok(row.clone()),
        None => Err(missing(rows, wanted)),
    }
}

/// That none among `rows` is wanted.
///
/// # Errors
/// Some are; the words for the test's failure, with the commands.
pub fn refute(rows: &[Enqueued], wanted: &Wanted) -> Result<(), String> {
    let found: Vec<_> = all(rows, wanted);
    if found.is_empty() {
        return Ok(());
    }
    let mut words = format!("{wanted} should not be enqueued, and {} is:", found.len());
    list(&mut words, found.iter().map(ToString::to_string));
    Err(words)
}

/// Those among `rows` that are wanted, in the order of recording.
#[must_use]
pub fn all(rows: &[Enqueued], wanted: &Wanted) -> Vec<Enqueued> {
    rows.iter().filter(|row| wanted.differences(row).is_empty()).cloned().collect()
}

fn missing(rows: &[Enqueued], wanted: &Wanted) -> String {
    let mut words = format!("{wanted} is not enqueued");
    if rows.is_empty() {
        words.push_str(
            "\nthe outbox is empty, as this connection sees it: was the code under test run, and \
             in this transaction, or was its transaction rolled back?",
        );
        return words;
    }
    let mut near: Vec<_> = rows.iter().map(|row| (wanted.distance(row), row)).collect();
    near.sort_by_key(|(distance, _)| *distance);
    words.push_str("\nthose that come nearest:");
    let lines = near.iter().take(SHOWN_MAX).map(|(_, row)| {
        let mut line = row.to_string();
        for difference in wanted.differences(row) {
            line.push_str("\n      ");
            line.push_str(&difference);
        }
        line
    });
    list(&mut words, lines);
    if rows.len() > SHOWN_MAX {
        let more = format!("\n  and {} more stand there", rows.len() - SHOWN_MAX);
        words.push_str(&more);
    }
    words
}

fn list(words: &mut String, lines: impl Iterator<Item = String>) {
    for line in lines {
        words.push_str("\n  - ");
        words.push_str(&line);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(id: &str, kind: &str, body: &Value) -> Enqueued {
        Enqueued {
            id: id.into(),
            destination: "shipping".into(),
            kind: kind.into(),
            ordering_key: None,
            body: body.to_string().into_bytes(),
            content_type: "application/json".into(),
            state: "pending".into(),
        }
    }

    #[test]
    fn what_is_wanted_is_found_by_any_part() {
        let rows = [row("a:1", "a", &json!({"n": 1})), row("b:1", "b", &json!({"n": 2, "m": 3}))];
        assert_eq!(find(&rows, &"b:1".into()).unwrap().id, "b:1");
        let wanted = Wanted::to("shipping").kind("b").body(json!({"n": 2}));
        assert_eq!(all(&rows, &wanted).len(), 1);
        assert_eq!(all(&rows, &Wanted::to("shipping")).len(), 2);
        assert_eq!(find(&rows, &wanted).unwrap().json::<Value>()["m"], 3);
    }

    #[test]
    fn a_missing_one_is_told_with_what_differs() {
        let rows = [
            row("order.paid:A-01", "order.paid", &json!({"order": {"total": 10}})),
            row("mail:7", "mail", &json!({})),
        ];
        let words = find(&rows, &"order.paid:A-001".into()).unwrap_err();
        let mut lines = words.lines();
        assert_eq!(lines.next(), Some("command order.paid:A-001 is not enqueued"));
        assert_eq!(lines.next(), Some("those that come nearest:"));
        assert!(
            lines.next().unwrap().contains("order.paid:A-01 (order.paid to shipping, pending)")
        );
        let wanted = Wanted::to("shipping").body(json!({"order": {"total": 12}}));
        let words = find(&rows[..1], &wanted).unwrap_err();
        assert!(words.contains("body.order.total is 10, not 12"), "{words}");
        let words = find(&[], &wanted).unwrap_err();
        assert!(words.contains("the outbox is empty"), "{words}");
    }

    #[test]
    fn what_should_not_stand_is_named() {
        let rows = [row("a:1", "a", &json!({}))];
        assert_eq!(refute(&rows, &Wanted::to("mail")), Ok(()));
        let words = refute(&rows, &Wanted::to("shipping")).unwrap_err();
        assert!(words.contains("should not be enqueued") && words.contains("a:1"), "{words}");
    }

    #[test]
    fn a_long_body_is_cut_and_bytes_are_counted() {
        assert_eq!(shown(&[0xff, 0xfe]), "2 bytes");
        let long = "ä".repeat(300);
        assert!(shown(long.as_bytes()).ends_with("… (600 bytes)"));
    }
}
