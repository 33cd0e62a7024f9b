//! A code that an answer's body may hold: a string, a number or a boolean.
//!
//! Guarantees: written as TOML, compared as JSON, so `0` is not `"0"`. Does not: take dates,
//! arrays or tables, but `{ env }` and `{ file }` for a string.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value as Json;

use super::text::{Text, end_of_table};

/// One code as written.
#[derive(Clone, Debug)]
pub(crate) enum Code {
    /// A number or a boolean.
    Plain(Json),
    /// A string.
    Text(Text),
}

impl Code {
    /// The code itself.
    ///
    /// # Errors
    /// The variable or file that is missing or no UTF-8.
    pub(crate) fn read(&self) -> Result<Json, String> {
        match self {
            Self::Plain(json) => Ok(json.clone()),
            Self::Text(text) => text.read().map(Json::String),
        }
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Seen;

        impl<'de> Visitor<'de> for Seen {
            type Value = Code;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a number or a boolean")
            }

            fn visit_bool<E: de::Error>(self, flag: bool) -> Result<Code, E> {
                Ok(Code::Plain(flag.into()))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Code, E> {
                Ok(Code::Plain(number.into()))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Code, E> {
                Ok(Code::Plain(number.into()))
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Code, E> {
                let json = serde_json::Number::from_f64(number).map(Json::Number);
                json.map(Code::Plain).ok_or_else(|| E::custom("JSON has no such number"))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Code, E> {
                Ok(Code::Text(Text::Plain(text.to_owned())))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Code, A::Error> {
                let key = map.next_key::<String>()?.unwrap_or_default();
                let Some(text) = Text::from_entry(&key, &mut map)? else {
                    return Err(de::Error::custom(
                        "a code is a string, a number or a boolean, no table and no date",
                    ));
                };
                end_of_table(&mut map)?;
                Ok(Code::Text(text))
            }
        }

        deserializer.deserialize_any(Seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Many {
        a: Vec<Code>,
    }

    fn read(toml: &str) -> Result<Vec<Json>, String> {
        let many = toml::from_str::<Many>(toml).map_err(|error| error.to_string())?;
        many.a.iter().map(Code::read).collect()
    }

    #[test]
    fn codes_are_compared_as_json() {
        let codes = read("a = [0, '0', true, 1.5, -7]").unwrap();
        let wanted: Vec<Json> = serde_json::from_str("[0, \"0\", true, 1.5, -7]").unwrap();
        assert_eq!(codes, wanted);
        for toml in ["a = [2026-12-01]", "a = [[1]]", "a = [{ b = 1 }]", "a = [nan]", "a = [{}]"] {
            assert!(read(toml).is_err(), "{toml}");
        }
    }
}
