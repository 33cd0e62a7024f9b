//! `[audit] expect`: queries over the user's own tables that say which commands must stand.
//!
//! Guarantees: a plain string, or a table of `sql` and `kind`. Does not: run anything.

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use std::fmt;
use toml::Spanned;

use super::text::Text;

/// One query as written.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    /// It answers with command ids in its first column.
    pub(crate) sql: Spanned<Text>,
    /// Each command of this kind must be in the answer too.
    pub(crate) kind: Option<Spanned<Text>>,
}

impl<'de> Deserialize<'de> for Query {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Seen;

        impl<'de> Visitor<'de> for Seen {
            type Value = Query;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a query, or { sql = \"SELECT …\", kind = \"…\" }")
            }

            fn visit_str<E: de::Error>(self, sql: &str) -> Result<Query, E> {
                let sql = Spanned::new(0..0, Text::Plain(sql.to_owned()));
                Ok(Query { sql, kind: None })
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Query, A::Error> {
                let (mut sql, mut kind) = (None, None);
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "sql" => sql = Some(map.next_value()?),
                        "kind" => kind = Some(map.next_value()?),
                        other => match Text::from_entry(other, &mut map)? {
                            Some(text) => sql = Some(Spanned::new(0..0, text)),
                            None => return Err(unknown(other)),
                        },
                    }
                }
                let sql = sql.ok_or_else(|| {
                    de::Error::custom("`sql` is missing: give a query that answers with ids")
                })?;
                Ok(Query { sql, kind })
            }
        }

        fn unknown<E: de::Error>(key: &str) -> E {
            E::custom(format!("unknown field `{key}`, expected `sql` or `kind`"))
        }

        deserializer.deserialize_any(Seen)
    }
}
