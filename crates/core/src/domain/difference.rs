//! What two contracts say otherwise, by name and value.
//!
//! Guarantees: every difference is named, habits by their own names. Does not: judge them.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

use super::contract::Contract;

/// How much of a value is shown, in characters.
const SHOWN_CHARS: usize = 120;
/// What contracts keep in microseconds, and people write with a unit.
const SPANS: [&str; 4] = ["receipt_timeout", "give_up_after", "ask.quiet", "key_ttl"];
/// The units, longest first, each with its microseconds.
const UNITS: [(&str, i64); 5] =
    [("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000), ("us", 1)];

/// One thing that a stored contract says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its name, such as `receipt_timeout` or `ask.quiet`.
    pub name: String,
    /// What is stored, for people.
    pub stored: String,
    /// What is configured, for people.
    pub given: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (stored: {}, here: {})", self.name, self.stored, self.given)
    }
}

/// What `stored`, as it stands in a store, says otherwise than `given`.
pub(super) fn between(given: &Contract, stored: &[u8]) -> Vec<Difference> {
    let whole = |name: &str, stored: &str| {
        let (name, stored) = (name.to_owned(), stored.to_owned());
        vec![Difference { name, stored, given: "a contract".into() }]
    };
    let Ok(stored) = serde_json::from_slice::<Value>(stored) else {
        return whole("everything: the stored one is no JSON", "no JSON");
    };
    let Ok(given) = serde_json::to_value(given) else { return whole("everything", "another") };
    let mut found = Vec::new();
    compare("", &stored, &given, &mut found);
    found
}

/// Adds the names under which two contracts differ; habits are told apart by their own names.
fn compare(name: &str, stored: &Value, given: &Value, found: &mut Vec<Difference>) {
    let both = (stored.as_object(), given.as_object());
    let is_nested = matches!(name, "" | "habits" | "ask");
    let (Some(one), Some(other), true) = (both.0, both.1, is_nested) else {
        if stored != given {
            let (stored, given) = (said(name, stored), said(name, given));
            found.push(Difference { name: name.into(), stored, given });
        }
        return;
    };
    let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    for key in keys {
        let inner = if name == "ask" { format!("ask.{key}") } else { key.clone() };
        let empty = if key == "habits" { Value::Object(Map::new()) } else { Value::Null };
        let of = |map: &Map<String, Value>| map.get(key).unwrap_or(&empty).clone();
        compare(&inner, &of(one), &of(other), found);
    }
}

/// A value for people: short, and near to how it is configured.
fn said(name: &str, value: &Value) -> String {
    match value {
        Value::Null => "none".into(),
        Value::String(word) => shortened(word),
        Value::Number(number) if SPANS.contains(&name) => {
            number.as_i64().map_or_else(|| number.to_string(), span)
        }
        Value::Object(members) => {
            let one = |(key, value): (&String, &Value)| {
                let name = if name == "ask" { format!("ask.{key}") } else { key.clone() };
                format!("{key} {}", said(&name, value))
            };
            shortened(&members.iter().map(one).collect::<Vec<_>>().join(", "))
        }
        other => shortened(&other.to_string()),
    }
}

fn span(micros: i64) -> String {
    let fits = |scale: i64| micros >= scale && micros % scale == 0;
    let (unit, scale) = UNITS.into_iter().find(|(_, scale)| fits(*scale)).unwrap_or(("us", 1));
    format!("{}{unit}", micros / scale)
}

fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
    if text.chars().count() > SHOWN_CHARS {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Asking, Completion, Habits, Idempotent, Meaning, Span};

    #[test]
    fn a_differing_contract_names_what_differs() {
        let mut contract = Contract::new(Idempotent::Forever);
        let stored = serde_json::to_vec(&contract).unwrap();
        assert!(contract.differing(&stored).is_empty());
        contract.ask = Some(Asking::new(Span::from_secs(60)));
        let asking = serde_json::to_vec(&contract).unwrap();
        assert_eq!(contract.differing(&stored), ["ask"]);
        contract.ask = Some(Asking { max_asks: 3, ..Asking::new(Span::from_secs(60)) });
        contract.habits.answers.insert(409, Meaning::Completed);
        contract.completion = Completion::Receipt;
        assert_eq!(contract.differing(&asking), ["ask.max_asks", "completion", "answers"]);
        assert_eq!(contract.differing(b"?").len(), 1);
        assert_eq!(serde_json::from_slice::<Contract>(&asking).unwrap().habits, Habits::default());
    }

    /// A relay that did not start named what differs, and nobody saw which value was which.
    #[test]
    fn both_values_are_said_as_people_write_them() {
        let mut given = Contract::new(Idempotent::Window { key_ttl: Span::from_secs(86_400) });
        given.give_up_after = Span::from_secs(90);
        given.ask = Some(Asking::new(Span::from_millis(1_500)));
        let stored = serde_json::to_vec(&Contract::new(Idempotent::No)).unwrap();
        let said: Vec<_> = given.differences(&stored).iter().map(ToString::to_string).collect();
        let expected = [
            "ask (stored: none, here: max_asks 20, quiet 1500ms)",
            "give_up_after (stored: 20h, here: 90s)",
            "idempotent (stored: no, here: window key_ttl 24h)",
        ];
        assert_eq!(said, expected);
        assert_eq!(given.differences(b"?")[0].name, "everything: the stored one is no JSON");
    }
}
