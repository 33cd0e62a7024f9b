//! Reads the members of a body that is one JSON object.
//!
//! Guarantees: a member that is not known or stands twice is refused by its name; each member is
//! the text that was sent for it, byte for byte. Does not: show a value back.

use std::fmt;

use axum::http::StatusCode;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::problem::Problem;

/// The most bytes a result may have.
pub(crate) const RESULT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The most bytes that evidence or a reason may have.
const WORDS_BYTES_MAX: usize = 64 * 1024;

/// The members, each as the text that stands in the body.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Object).map(Self)
    }
}

/// The texts of the members with these names, `null` as if left out; `shape` is how such a body
/// looks.
pub(crate) fn read<'a, const N: usize>(
    body: &'a [u8],
    names: [&'static str; N],
    shape: &str,
) -> Result<[Option<&'a str>; N], Problem> {
    let Members(members) =
        serde_json::from_slice(body).map_err(|error| no_object(&error, shape))?;
    let mut texts: [Option<&str>; N] = [None; N];
    for (name, value) in members {
        let Some(at) = names.iter().position(|known| *known == name) else {
            let rule = match names.len() {
                0 => "is not known here; nothing is".to_owned(),
                _ => format!("is not known here; known are {}", names.join(", ")),
            };
            return Err(refused(&shortened(&name), &rule));
        };
        if texts[at].replace(value.get()).is_some() {
            return Err(refused(names[at], "stands twice"));
        }
    }
    // For whoever always writes all members.
    Ok(texts.map(|text| text.filter(|text| *text != "null")))
}

/// The string that stands there, if it is one.
pub(crate) fn string(text: &str) -> Option<String> {
    serde_json::from_str(text).ok()
}

/// Words for people; `None` where they are left out or empty. `rule` says what they are.
pub(crate) fn words(
    name: &'static str,
    text: Option<&str>,
    rule: &str,
) -> Result<Option<String>, Problem> {
    let Some(text) = text else { return Ok(None) };
    let words = string(text).ok_or_else(|| refused(name, rule))?;
    if words.len() > WORDS_BYTES_MAX {
        return Err(refused(name, "has more than 64 KiB of UTF-8; shorten it"));
    }
    // Not every database can store it as text.
    if words.contains('\0') {
        return Err(refused(name, "has the character U+0000; remove it"));
    }
    Ok(Some(words).filter(|words| !words.is_empty()))
}

/// A result: any JSON, as it was sent.
pub(crate) fn result(text: Option<&str>) -> Result<Option<Vec<u8>>, Problem> {
    if text.is_some_and(|text| text.len() > RESULT_BYTES_MAX) {
        let rule = "has more than 16 MiB of JSON: store it and report a reference";
        return Err(refused("result", rule));
    }
    Ok(text.map(|text| text.as_bytes().to_vec()))
}

/// A name of a stranger's making, short enough for an answer.
fn shortened(name: &str) -> String {
    name.chars().take(64).collect()
}

/// 422 that names the member.
pub(crate) fn refused(field: &str, rule: &str) -> Problem {
    let title = "a member of the body breaks its rule";
    let detail = format!("{field} {rule}");
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "CF1011", title, detail).field(field)
}

fn no_object(error: &serde_json::Error, shape: &str) -> Problem {
    let detail = if error.is_data() {
        format!("the body is JSON, but no object: {shape}")
    } else {
        let (line, column) = (error.line(), error.column());
        format!("the body is no JSON in UTF-8: see line {line}, column {column}")
    };
    Problem::new(StatusCode::BAD_REQUEST, "CF1010", "the body is no JSON object", detail)
}
