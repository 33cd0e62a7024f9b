//! What the body of an answer says: codes in it, and whether a success is shown.
//!
//! Guarantees: pure; bounded by [`JUDGED_BYTES_MAX`]; a body that was cut, is too long, or is no
//! JSON shows nothing, so a success is not taken for granted. Values are compared as JSON: `0` is
//! not `"0"`. Does not: repeat more of a body than the value that was looked for.
//!
//! Codes come first, since they are the more precise; then `success`. Where the codes say what
//! *completes* and no `success` is given, they are the definition of success: a 2xx with a code
//! that is not listed shows none.

use counterfoil_core::domain::{Codes, Habits, Meaning, NotThere, Success};
use serde_json::Value;

use super::body::{Body, End};
use super::excerpt::excerpt;

/// A body longer than this is not looked into, where `result_bytes_max` is no longer: 64 KiB.
pub(super) const JUDGED_BYTES_MAX: usize = 65_536;
/// How much of a code a reason holds, in bytes.
const CODE_SHOWN_BYTES: usize = 60;

/// What a body says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// A code of that meaning stands there; how it was read.
    Code(Meaning, String),
    /// A success is shown; by what.
    Success(String),
    /// A success should have been shown, and was not; why.
    NotShown(String),
    /// It was not asked.
    Silent,
}

/// Whether the body of an answer to a send is looked into at all.
pub(super) fn looks_into(habits: &Habits, is_2xx: bool) -> bool {
    habits.outcome.is_some() || (is_2xx && habits.success.is_some())
}

/// Judges a body. Only a 2xx has a success to show.
pub(super) fn judged(habits: &Habits, is_2xx: bool, body: &Body) -> Judged {
    if !looks_into(habits, is_2xx) {
        return Judged::Silent;
    }
    let json = if habits.outcome.is_some() || matches!(habits.success, Some(Success::Json { .. })) {
        json_of(body)
    } else {
        Ok(Value::Null)
    };
    if let (Some(codes), Ok(json)) = (&habits.outcome, &json)
        && let Some(judged) = by_code(codes, json)
    {
        return judged;
    }
    if !is_2xx {
        return Judged::Silent;
    }
    match (&habits.success, json) {
        (Some(Success::Text { text }), _) => by_text(text, body),
        (_, Err(why)) => Judged::NotShown(why),
        (Some(Success::Json { json: pointer, one_of }), Ok(json)) => {
            let found = shown_at(&json, pointer);
            match json.pointer(pointer) {
                Some(value) if one_of.contains(value) => Judged::Success(found),
                _ => Judged::NotShown(found),
            }
        }
        (None, Ok(json)) => {
            let codes = habits.outcome.as_ref();
            let defines = codes.filter(|codes| codes.of.contains_key(&Meaning::Completed));
            defines.map_or(Judged::Silent, |codes| Judged::NotShown(shown_at(&json, &codes.json)))
        }
    }
}

fn by_code(codes: &Codes, json: &Value) -> Option<Judged> {
    let value = json.pointer(&codes.json)?;
    let (meaning, _) = codes.of.iter().find(|(_, values)| values.contains(value))?;
    let read = format!("{}; outcome: {}", shown_at(json, &codes.json), meaning.name());
    Some(Judged::Code(*meaning, read))
}

fn by_text(text: &str, body: &Body) -> Judged {
    match whole(body) {
        Ok(bytes) if bytes.trim_ascii() == text.as_bytes() => {
            Judged::Success("the body is success.text".into())
        }
        Ok(_) => Judged::NotShown("the body is not success.text".into()),
        Err(why) => Judged::NotShown(why),
    }
}

/// Whether the answer says in so many words that the key never acted; `Err` says why not.
pub(super) fn is_not_there(words: &NotThere, status: u16, body: &Body) -> Result<String, String> {
    if status != words.status {
        return Err(format!("not_there is answered by {}", words.status));
    }
    let Some(pointer) = &words.json else { return Ok("not_there".into()) };
    let json = json_of(body).map_err(|why| format!("not not_there: {why}"))?;
    let found = shown_at(&json, pointer);
    match json.pointer(pointer) {
        Some(value) if words.one_of.contains(value) => Ok(format!("not_there: {found}")),
        _ => Err(format!("not not_there: {found}")),
    }
}

/// The body, if all of it is here.
fn whole(body: &Body) -> Result<&[u8], String> {
    match &body.end {
        End::Broken(why) => Err(format!("its body broke off: {why}")),
        End::Whole | End::ByClose if body.result.full_digest.is_none() => Ok(&body.result.bytes),
        _ => Err(format!("its body is longer than {} bytes", body.result.bytes.len())),
    }
}

fn json_of(body: &Body) -> Result<Value, String> {
    serde_json::from_slice(whole(body)?).map_err(|_| "its body is no JSON".into())
}

fn shown_at(json: &Value, pointer: &str) -> String {
    let at = if pointer.is_empty() { "the body" } else { pointer };
    match json.pointer(pointer) {
        None => format!("nothing stands at {at}"),
        Some(Value::Object(_)) => format!("{at} is an object"),
        Some(Value::Array(_)) => format!("{at} is a list"),
        Some(value) => {
            let mut text = value.to_string();
            if text.len() > CODE_SHOWN_BYTES {
                let end = (0..=CODE_SHOWN_BYTES).rev().find(|at| text.is_char_boundary(*at));
                text.truncate(end.unwrap_or(0));
                text.push('…');
            }
            format!("{at} is {}", excerpt(text.as_bytes()))
        }
    }
}

#[cfg(test)]
#[path = "judging_tests.rs"]
mod tests;
