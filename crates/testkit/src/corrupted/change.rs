//! The changes of one row: removed, repeated, or one column altered, each way that its type allows.
//!
//! Guarantees: an altered value differs from the one before. Does not: know whether the table's
//! own constraints refuse it.

use super::hand::{Column, Hand, Holds};

/// What is done to one row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// It is removed.
    Delete,
    /// It stands a second time, under a fresh key where the key forbids it.
    Duplicate,
    /// One column is another value.
    Alter {
        /// The column.
        column: String,
        /// How.
        how: How,
        /// The new value as an SQL literal.
        to: String,
    },
}

/// How a value is altered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// One less, or one microsecond earlier.
    Less,
    /// One more, or one microsecond later.
    More,
    /// A day earlier.
    DayEarlier,
    /// A day later.
    DayLater,
    /// Below every number that a store gives: zero.
    Zero,
    /// Below every number that a store gives: less than zero.
    Negative,
    /// Another text or other bytes.
    Other,
    /// No text at all.
    Empty,
    /// Bytes that are no UTF-8, where a text may be so.
    NoText,
    /// With a control character in it.
    Control,
    /// Longer than any name may be.
    TooLong,
    /// Another name of the same list, such as another state.
    Name,
    /// NULL in place of a value.
    Null,
    /// A value in place of NULL.
    Value,
}

impl How {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Less => "one less",
            Self::More => "one more",
            Self::DayEarlier => "a day earlier",
            Self::DayLater => "a day later",
            Self::Zero => "zero",
            Self::Negative => "less than zero",
            Self::Other => "other bytes",
            Self::Empty => "an empty text",
            Self::NoText => "bytes that are no UTF-8",
            Self::Control => "a control character in it",
            Self::TooLong => "too long a text",
            Self::Name => "another name",
            Self::Null => "NULL",
            Self::Value => "a value for NULL",
        }
    }
}

/// Beyond every number of the store.
const FAR: i64 = 500_000;
const DAY: i64 = 86_400_000_000;
/// A time that stands for none: 2026-01-01 00:00 UTC.
const TIME: &str = "1767225600000000";

/// Names that are checked when a row is read; by some of them rows are found, page by page.
const CHECKED: &[&str] = &["command_id", "stream", "ordering_key", "about", "destination", "kind"];

const STATES: &[&str] =
    &["pending", "sending", "asking", "published", "dead", "uncertain", "conflict", "strange"];
const OUTCOMES: &[&str] = &["completed", "accepted", "rejected", "cancelled", "expired", "strange"];
const ATTEMPTS: &[&str] =
    &["unknown", "expired", "not_sent", "conflict", "rejected", "not_there", "unclear"];
const DESTINATIONS: &[&str] = &["shop", "bank"];

/// The names among which a column's value is one.
fn names(table: &str, column: &str) -> &'static [&'static str] {
    match (table, column) {
        ("delivery", "state") => STATES,
        ("attempt", "outcome") => ATTEMPTS,
        ("attempt", "purpose") => &["send", "ask", "receipt", "late"],
        (_, "outcome") => OUTCOMES,
        (_, "destination") => DESTINATIONS,
        ("receipt", "source") => &["relay", "report", "question", "sweep", "operator ann"],
        ("stream", "status") => &["running", "completed", "failed", "quarantined", "strange"],
        ("input", "kind") => &["start", "signal", "cancel", "timer", "receipt", "strange"],
        ("operator_action", "verb") => &["retry", "resolve", "cancel", "redeliver", "restored"],
        _ => &[],
    }
}

fn is_time(column: &str) -> bool {
    ["_at", "_until", "_since", "not_before"].iter().any(|end| column.ends_with(end))
        || column == "clock"
}

/// Every other value that a column of this value is given.
pub(super) fn alterations(
    hand: &dyn Hand,
    table: &str,
    column: &Column,
    value: &str,
) -> Vec<(How, String)> {
    let mut all = if value == "NULL" {
        vec![(How::Value, value_for_null(table, column))]
    } else {
        match column.holds {
            Holds::Integer => integers(&column.name, value),
            Holds::Text => texts(hand, table, &column.name, value),
            Holds::Bytes => vec![(How::Other, other_bytes(value))],
        }
    };
    if column.nullable && value != "NULL" {
        all.push((How::Null, "NULL".into()));
    }
    all
}

fn integers(column: &str, value: &str) -> Vec<(How, String)> {
    let number: i64 = value.parse().unwrap();
    if ["n", "id", "k", "arrival"].contains(&column) {
        let mut all = vec![(How::More, (number + FAR).to_string())];
        all.extend([(How::Zero, "0".into()), (How::Negative, "-1".into())]);
        all.retain(|(_, to)| to != value);
        return all;
    }
    let mut steps = vec![(How::Less, -1), (How::More, 1)];
    if is_time(column) {
        steps.extend([(How::DayEarlier, -DAY), (How::DayLater, DAY)]);
    }
    steps.into_iter().map(|(how, step)| (how, (number + step).to_string())).collect()
}

fn texts(hand: &dyn Hand, table: &str, column: &str, value: &str) -> Vec<(How, String)> {
    let with = |more: &str| format!("{}{more}'", value.strip_suffix('\'').unwrap());
    let mut all = vec![(How::Other, with("x"))];
    all.extend(hand.no_text().map(|bytes| (How::NoText, bytes.to_owned())));
    if CHECKED.contains(&column) && value != "''" {
        all.push((How::Empty, "''".into()));
        all.push((How::Control, with("\u{2}")));
        all.push((How::TooLong, with(&"x".repeat(300))));
    }
    let names = names(table, column).iter().map(|name| format!("'{name}'"));
    all.extend(names.filter(|name| name != value).map(|name| (How::Name, name)));
    all
}

/// The last digit of a literal's bytes is another one; nothing becomes one byte.
fn other_bytes(value: &str) -> String {
    let within = value.strip_suffix('\'').unwrap();
    match within.chars().last() {
        Some('\'' | 'x') => format!("{within}00'"),
        Some('0') => format!("{}1'", &within[..within.len() - 1]),
        _ => format!("{}0'", &within[..within.len() - 1]),
    }
}

fn value_for_null(table: &str, column: &Column) -> String {
    let bytes = "'abababababababababababababababababababababababababababababababab'";
    match column.holds {
        Holds::Integer if is_time(&column.name) => TIME.into(),
        Holds::Integer => "1".into(),
        Holds::Text if (table, column.name.as_str()) == ("outbox", "core_digest") => {
            format!("'{}'", "ab".repeat(32))
        }
        Holds::Text if column.name == "headers" => "'{\"x\":\"y\"}'".into(),
        Holds::Text => "'x'".into(),
        Holds::Bytes => bytes.into(),
    }
}
