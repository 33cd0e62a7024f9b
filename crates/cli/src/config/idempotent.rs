//! The one key without a default: what a destination does with a key that it has seen before.
//!
//! Guarantees: one of three values, else a refusal that explains all three. Does not: guess.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use toml::Spanned;

use super::text::{Text, end_of_table};

/// What each value means, for people.
pub(crate) const MEANINGS: [&str; 3] = [
    "idempotent = { key_ttl = \"24h\" }: a repeat of a key acts only once, as long as the \
     receiver keeps the key; nothing is resent after that",
    "idempotent = \"forever\": a repeat never acts again, for instance because the key is a \
     primary key of the receiver's own table",
    "idempotent = false: the receiver knows no keys; what may have acted is never resent, but \
     waits as uncertain for a person",
];

/// `idempotent` as written.
#[derive(Clone, Debug)]
pub(crate) enum Repeats {
    /// `false`, or `true`, which says too little.
    Flag(bool),
    /// `"forever"`.
    Word(Text),
    /// `{ key_ttl = "…" }`.
    Window(Spanned<Text>),
}

impl<'de> Deserialize<'de> for Repeats {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Seen;

        impl<'de> Visitor<'de> for Seen {
            type Value = Repeats;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("{ key_ttl = \"24h\" }, \"forever\" or false")
            }

            fn visit_bool<E: de::Error>(self, flag: bool) -> Result<Repeats, E> {
                Ok(Repeats::Flag(flag))
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<Repeats, E> {
                Ok(Repeats::Word(Text::Plain(word.to_owned())))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Repeats, A::Error> {
                let repeats = match map.next_key::<String>()?.as_deref() {
                    Some("key_ttl") => Repeats::Window(map.next_value()?),
                    Some(key) => match Text::from_entry(key, &mut map)? {
                        Some(text) => Repeats::Word(text),
                        None => return Err(unknown(key)),
                    },
                    None => {
                        return Err(de::Error::custom(
                            "the table is empty: give `key_ttl`, such as \"24h\"",
                        ));
                    }
                };
                end_of_table(&mut map)?;
                Ok(repeats)
            }
        }

        fn unknown<E: de::Error>(key: &str) -> E {
            E::custom(format!("unknown field `{key}`, expected `key_ttl`, such as \"24h\""))
        }

        deserializer.deserialize_any(Seen)
    }
}
