//! A string of the configuration: in plain, from the environment, or from a file.
//!
//! Guarantees: what is missing is named, with the key that asks for it; one line end at the end
//! of a file is left away. Does not: show a value in any message.

use std::fmt;
use std::path::PathBuf;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

/// A string, or where to read it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Text {
    /// As written.
    Plain(String),
    /// `{ env = "X" }`.
    Env(String),
    /// `{ file = "…" }`, relative to the current directory.
    File(PathBuf),
}

/// A secret may hide in it: only where it comes from is shown.
impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(_) => f.write_str("Plain(…)"),
            Self::Env(name) => write!(f, "Env({name})"),
            Self::File(path) => write!(f, "File({})", path.display()),
        }
    }
}

impl Text {
    /// The string itself.
    ///
    /// # Errors
    /// The variable or file that is missing or no UTF-8.
    pub(crate) fn read(&self) -> Result<String, String> {
        match self {
            Self::Plain(text) => Ok(text.clone()),
            Self::Env(name) => std::env::var(name).map_err(|error| match error {
                std::env::VarError::NotPresent => {
                    format!("the environment variable {name} is not set: set it")
                }
                std::env::VarError::NotUnicode(_) => {
                    format!("the environment variable {name} is not UTF-8: set it as text")
                }
            }),
            Self::File(path) => {
                let text = std::fs::read_to_string(path).map_err(|error| {
                    format!("the file {} cannot be read as text: {error}", path.display())
                })?;
                let line = text.strip_suffix('\n').unwrap_or(&text);
                Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
            }
        }
    }

    /// Whether it stands in the configuration itself.
    pub(crate) const fn is_plain(&self) -> bool {
        matches!(self, Self::Plain(_))
    }

    /// From the first key of a table, `env` or `file`; `None` for another key.
    pub(crate) fn from_entry<'de, A: MapAccess<'de>>(
        key: &str,
        map: &mut A,
    ) -> Result<Option<Self>, A::Error> {
        match key {
            "env" => Ok(Some(Self::Env(map.next_value()?))),
            "file" => Ok(Some(Self::File(map.next_value::<String>()?.into()))),
            _ => Ok(None),
        }
    }
}

/// Refuses a second key beside `env` or `file`.
pub(crate) fn end_of_table<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    match map.next_key::<String>()? {
        None => Ok(()),
        Some(key) => Err(de::Error::custom(format!(
            "unknown field `{key}`: there is room for one key in this table"
        ))),
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Seen;

        impl<'de> Visitor<'de> for Seen {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, { env = \"NAME\" } or { file = \"PATH\" }")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text::Plain(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text, A::Error> {
                let Some(key) = map.next_key::<String>()? else {
                    return Err(de::Error::custom("the table is empty: give env or file"));
                };
                let Some(text) = Text::from_entry(&key, &mut map)? else {
                    return Err(de::Error::custom(format!(
                        "unknown field `{key}`, expected `env` or `file`"
                    )));
                };
                end_of_table(&mut map)?;
                Ok(text)
            }
        }

        deserializer.deserialize_any(Seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct One {
        a: Text,
    }

    fn read(toml: &str) -> Result<Text, String> {
        toml::from_str::<One>(toml).map(|one| one.a).map_err(|error| error.to_string())
    }

    #[test]
    fn a_string_comes_from_three_places() {
        assert_eq!(read("a = 'x'"), Ok(Text::Plain("x".into())));
        assert_eq!(read("a = { env = 'X' }"), Ok(Text::Env("X".into())));
        assert_eq!(read("a = { file = 'f' }"), Ok(Text::File("f".into())));
        assert!(read("a = 1").unwrap_err().contains("{ env = \"NAME\" }"));
        assert!(read("a = { envv = 'X' }").unwrap_err().contains("`envv`"));
        assert!(read("a = { env = 'X', file = 'f' }").unwrap_err().contains("`file`"));
        assert!(read("a = {}").unwrap_err().contains("empty"));
    }

    #[test]
    fn what_is_missing_is_named_and_no_value_is_shown() {
        let missing = Text::Env("COUNTERFOIL_SURELY_UNSET".into()).read().unwrap_err();
        assert!(missing.contains("COUNTERFOIL_SURELY_UNSET is not set"), "{missing}");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        assert!(Text::File(path.clone()).read().unwrap_err().contains("secret"));
        std::fs::write(&path, "s3cret\r\n").unwrap();
        assert_eq!(Text::File(path).read().unwrap(), "s3cret");
        assert_eq!(format!("{:?}", Text::Plain("s3cret".into())), "Plain(…)");
    }
}
