//! Habits of receivers that do not speak the contract's own HTTP: how their answers are read and
//! how they want the key.
//!
//! Guarantees: plain data, stored with the contract, so that every relay reads an answer alike.
//! Does not: read answers; the transport does.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What an answer means, where a receiver says so in its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Meaning {
    /// Done.
    Completed,
    /// Taken on, to be done later.
    Accepted,
    /// Refused; as a status read by this table it is not believed while in doubt.
    Rejected,
    /// The key is known with other content.
    Conflict,
    /// Provably not processed.
    NotSent,
    /// It may have been processed.
    Unknown,
    /// It may have been processed, and a repeat would hear the same again: ask instead.
    Ask,
}

impl Meaning {
    /// Every meaning, by its name in a configuration.
    pub const ALL: [(&'static str, Self); 7] = [
        ("completed", Self::Completed),
        ("accepted", Self::Accepted),
        ("rejected", Self::Rejected),
        ("conflict", Self::Conflict),
        ("not_sent", Self::NotSent),
        ("unknown", Self::Unknown),
        ("ask", Self::Ask),
    ];

    /// The meaning of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, meaning)| meaning)
    }

    /// The name, as configured and stored.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, meaning)| *meaning == self).map_or("", |(name, _)| name)
    }
}

/// When a 2xx really is a success. What does not match is Unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Success {
    /// The value at a JSON pointer (RFC 6901) of the body is one of these.
    Json {
        /// The pointer, such as `/code`.
        json: String,
        /// The values, compared as JSON: `0` is not `"0"`.
        #[serde(rename = "in")]
        one_of: Vec<Value>,
    },
    /// The body, without white space around it, is this text.
    Text {
        /// The text, compared byte for byte.
        text: String,
    },
}

/// Codes in the body of an answer. A body without one of them is read as if there were no codes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Codes {
    /// The JSON pointer (RFC 6901) of the code, such as `/code`.
    pub json: String,
    /// The codes of each meaning, compared as JSON.
    pub of: BTreeMap<Meaning, Vec<Value>>,
}

/// How a destination's answers are read at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// By the contract's table.
    #[default]
    Plain,
    /// As Standard Webhooks consumers expect: any 2xx completes, what would be refused, in
    /// conflict or misconfigured is tried again and burns an attempt, 410 pauses the destination.
    Webhook,
}

/// The form of the key in its header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyForm {
    /// A quoted string (RFC 9651), as the IETF draft has it.
    #[default]
    Quoted,
    /// The same without quotes.
    Bare,
    /// A UUID made of the store's source and the command id.
    Uuid,
}

/// How a receiver wants the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Key {
    /// The header's name. Default `Idempotency-Key`.
    pub header: String,
    /// The form. Default quoted.
    pub form: KeyForm,
    /// What stands before the id, inside the quotes. Default nothing.
    pub prefix: String,
}

impl Default for Key {
    fn default() -> Self {
        Self { header: "Idempotency-Key".into(), form: KeyForm::default(), prefix: String::new() }
    }
}

/// What a receiver does in its own way. The default is the contract's own way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Habits {
    /// Statuses that mean something else than the table says.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<u16, Meaning>,
    /// When a 2xx really is a success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success: Option<Success>,
    /// Codes in the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Codes>,
    /// How answers are read at all.
    #[serde(skip_serializing_if = "is_default")]
    pub profile: Profile,
    /// How the key is sent.
    #[serde(skip_serializing_if = "is_default")]
    pub key: Key,
}

pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// How a receiver says that it never acted on a key, in so many words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotThere {
    /// The status of the answer, such as 404.
    pub status: u16,
    /// The JSON pointer (RFC 6901) of the words in its body; `None`: the status alone says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<String>,
    /// The words, compared as JSON.
    #[serde(default, rename = "in", skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<Value>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn habits_by_default_are_not_stored() {
        assert_eq!(serde_json::to_string(&Habits::default()).unwrap(), "{}");
    }

    #[test]
    fn habits_are_stored_as_they_are_configured() {
        let said = r#"{
            "answers": { "404": "rejected", "500": "ask" },
            "success": { "json": "/code", "in": [0] },
            "outcome": { "json": "/code", "of": { "rejected": [33] } },
            "profile": "webhook",
            "key": { "header": "X-Key", "form": "uuid", "prefix": "" }
        }"#;
        let habits: Habits = serde_json::from_str(said).unwrap();
        assert_eq!(habits.answers[&404], Meaning::Rejected);
        assert_eq!(habits.key.form, KeyForm::Uuid);
        let stored = serde_json::to_value(&habits).unwrap();
        assert_eq!(stored, serde_json::from_str::<Value>(said).unwrap());
        for (name, meaning) in Meaning::ALL {
            assert_eq!((Meaning::from_name(name), meaning.name()), (Some(meaning), name));
        }
    }
}
