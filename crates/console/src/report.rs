//! Reads a report from the JSON of `POST /v1/receipts`.
//!
//! Guarantees: the rules are those of `counterfoil_report` in SQL; each refusal names the member
//! and the rule; the result is the text that the client sent for it, byte for byte. Does not:
//! show a value back.

use std::fmt;

use axum::http::StatusCode;
use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::{CommandId, IdRefused, ReceiptOutcome, Token};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::problem::Problem;

/// The most bytes a result may have.
const RESULT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The most bytes that evidence may have.
const EVIDENCE_BYTES_MAX: usize = 64 * 1024;
/// The evidence of a report that names none.
const EVIDENCE: &str = "reported over HTTP";

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

/// Reads the report of a caller known as `source`.
pub(crate) fn read(body: &[u8], source: &str) -> Result<(CommandId, Report), Problem> {
    let Members(members) = serde_json::from_slice(body).map_err(|error| no_object(&error))?;
    let mut texts: [Option<&str>; NAMES.len()] = [None; NAMES.len()];
    for (name, value) in members {
        let Some(at) = NAMES.iter().position(|known| *known == name) else {
            let rule = format!("is not known here; known are {}", NAMES.join(", "));
            return Err(refused(&shortened(&name), &rule));
        };
        if texts[at].replace(value.get()).is_some() {
            return Err(refused(NAMES[at], "stands twice"));
        }
    }
    // For whoever always writes all members.
    let [id, outcome, result, evidence, token] =
        texts.map(|text| text.filter(|text| *text != "null"));
    let command_id = read_id(id)?;
    let report = Report {
        outcome: read_outcome(outcome)?,
        result: read_result(result)?,
        evidence: Some(read_evidence(evidence)?),
        source: source.to_owned(),
        token: token.map(read_token).transpose()?,
        equals_earlier: false,
    };
    Ok((command_id, report))
}

const NAMES: [&str; 5] = ["command_id", "outcome", "result", "evidence", "token"];

fn read_id(text: Option<&str>) -> Result<CommandId, Problem> {
    let rule = "is a string, the id of the command, and must be given";
    let id = text.and_then(string).ok_or_else(|| refused("command_id", rule))?;
    CommandId::new(id).map_err(|why| {
        let rule = match why {
            IdRefused::Empty { max, .. } => format!("is empty; give 1 to {max} bytes of UTF-8"),
            IdRefused::TooLong { len, max, .. } => {
                format!("has {len} bytes of UTF-8; at most {max} are allowed")
            }
            IdRefused::Control { code, at, .. } => {
                format!("has the control character U+{code:04X} at byte {at}; no id has one")
            }
            _ => "is no UTF-8".to_owned(),
        };
        refused("command_id", &rule)
    })
}

fn read_outcome(text: Option<&str>) -> Result<ReceiptOutcome, Problem> {
    match text.and_then(string).as_deref() {
        Some("completed") => Ok(ReceiptOutcome::Completed),
        Some("rejected") => Ok(ReceiptOutcome::Rejected),
        _ => Err(refused("outcome", "is \"completed\" or \"rejected\": report only what is known")),
    }
}

fn read_result(text: Option<&str>) -> Result<Option<Vec<u8>>, Problem> {
    if text.is_some_and(|text| text.len() > RESULT_BYTES_MAX) {
        let rule = "has more than 16 MiB of JSON: store it and report a reference";
        return Err(refused("result", rule));
    }
    Ok(text.map(|text| text.as_bytes().to_vec()))
}

fn read_evidence(text: Option<&str>) -> Result<String, Problem> {
    let Some(text) = text else { return Ok(EVIDENCE.to_owned()) };
    let rule = "is a string that says by what the outcome is known, or is left out";
    let evidence = string(text).ok_or_else(|| refused("evidence", rule))?;
    if evidence.len() > EVIDENCE_BYTES_MAX {
        return Err(refused("evidence", "has more than 64 KiB of UTF-8; shorten it"));
    }
    // Not every database can store it as text.
    if evidence.contains('\0') {
        return Err(refused("evidence", "has the character U+0000; remove it"));
    }
    Ok(if evidence.is_empty() { EVIDENCE.to_owned() } else { evidence })
}

fn read_token(text: &str) -> Result<Token, Problem> {
    let digits = string(text).unwrap_or_else(|| text.to_owned());
    let number = digits.parse().ok().filter(|number: &i64| *number > 0);
    // Not 007, +7, 7.0 or 7e0: what Counterfoil-Token never says.
    let number = number.filter(|number| number.to_string() == digits);
    let rule = "is the number in Counterfoil-Token, as a number or as a string of its digits; \
                leave it out for a report without a fence";
    number.map(Token::new).ok_or_else(|| refused("token", rule))
}

fn string(text: &str) -> Option<String> {
    serde_json::from_str(text).ok()
}

/// A name of a stranger's making, short enough for an answer.
fn shortened(name: &str) -> String {
    name.chars().take(64).collect()
}

fn refused(field: &str, rule: &str) -> Problem {
    let title = "a member of the report breaks its rule";
    let detail = format!("{field} {rule}");
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "CF1011", title, detail).field(field)
}

fn no_object(error: &serde_json::Error) -> Problem {
    let detail = if error.is_data() {
        "the body is JSON, but no object: {\"command_id\": …, \"outcome\": …}".to_owned()
    } else {
        let (line, column) = (error.line(), error.column());
        format!("the body is no JSON in UTF-8: see line {line}, column {column}")
    };
    Problem::new(StatusCode::BAD_REQUEST, "CF1010", "the body is no JSON object", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no(body: &str) -> (u16, &'static str, Option<String>) {
        let problem = read(body.as_bytes(), "api").unwrap_err();
        let (status, code, field) = problem.seen();
        (status, code, field.map(ToOwned::to_owned))
    }

    fn with(more: &str) -> String {
        format!(r#"{{"command_id":"a","outcome":"completed"{more}}}"#)
    }

    fn yes(more: &str) -> Report {
        read(with(more).as_bytes(), "api shop").unwrap().1
    }

    #[test]
    fn what_is_left_out_or_null_has_a_default() {
        for more in ["", r#","result":null,"evidence":null,"token":null"#, r#","evidence":"""#] {
            let report = yes(more);
            assert_eq!(report.outcome, ReceiptOutcome::Completed);
            assert_eq!((report.result, report.token), (None, None));
            assert_eq!(report.evidence.as_deref(), Some("reported over HTTP"));
            assert_eq!(report.source, "api shop");
        }
    }

    #[test]
    fn a_result_is_the_text_that_was_sent() {
        for text in [
            r#"{"b" : 1.50,"a":[ 1e2, 18446744073709551616 ] }"#,
            r#""job 7\u00e9é""#,
            "7",
            "false",
            "\"null\"",
            "[]",
        ] {
            let report = yes(&format!(",\"result\" :\n {text} "));
            assert_eq!(report.result.as_deref(), Some(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_token_is_a_number_or_its_digits() {
        let token = |text: &str| yes(&format!(",\"token\":{text}")).token.map(Token::get);
        assert_eq!(token("1764421200000001"), Some(1_764_421_200_000_001));
        assert_eq!(token("\"1764421200000001\""), Some(1_764_421_200_000_001));
        for bad in [
            "0",
            "-1",
            "1.0",
            "1e3",
            "\"007\"",
            "\"+7\"",
            "\" 7\"",
            "\"\"",
            "true",
            "[7]",
            "{}",
            "9223372036854775808",
        ] {
            let said = no(&with(&format!(",\"token\":{bad}")));
            assert_eq!(said, (422, "CF1011", Some("token".into())), "{bad}");
        }
    }

    #[test]
    fn what_is_no_object_is_400() {
        for body in ["", "{", "nonsense", "[]", "7", "null", "{}x", "{\"a\":}", "{'a':1}"] {
            assert_eq!(no(body), (400, "CF1010", None), "{body}");
        }
        let latin = read(b"{\"command_id\":\"\xff\"}", "api").unwrap_err();
        assert_eq!(latin.seen().1, "CF1010");
    }

    #[test]
    fn each_member_keeps_its_rule() {
        let long = "a".repeat(256);
        for (body, field) in [
            ("{}".to_owned(), "command_id"),
            (r#"{"command_id":7,"outcome":"completed"}"#.into(), "command_id"),
            (r#"{"command_id":"","outcome":"completed"}"#.into(), "command_id"),
            (r#"{"command_id":"a\n","outcome":"completed"}"#.into(), "command_id"),
            (r#"{"command_id":"\ud800","outcome":"completed"}"#.into(), "command_id"),
            (format!(r#"{{"command_id":"{long}","outcome":"completed"}}"#), "command_id"),
            (r#"{"command_id":"a"}"#.into(), "outcome"),
            (r#"{"command_id":"a","outcome":"accepted"}"#.into(), "outcome"),
            (r#"{"command_id":"a","outcome":"Completed"}"#.into(), "outcome"),
            (r#"{"command_id":"a","outcome":["completed"]}"#.into(), "outcome"),
            (with(r#","evidence":7"#), "evidence"),
            (with(r#","evidence":"a\u0000b""#), "evidence"),
            (with(&format!(r#","evidence":"{}""#, "é".repeat(32_769))), "evidence"),
            (with(r#","outcome":"completed""#), "outcome"),
            (with(r#","result":1,"result":1"#), "result"),
            (with(r#","Result":1"#), "Result"),
            (with(r#","source":"operator""#), "source"),
        ] {
            assert_eq!(no(&body), (422, "CF1011", Some(field.into())), "{body:.99}");
        }
        let longest = yes(&format!(r#","evidence":"{}""#, "é".repeat(32_768)));
        assert_eq!(longest.evidence.map(|evidence| evidence.len()), Some(65_536));
    }

    #[test]
    fn a_result_has_at_most_16_mib() {
        let text = format!("\"{}\"", "x".repeat(RESULT_BYTES_MAX - 2));
        assert!(yes(&format!(",\"result\":{text}")).result.is_some());
        let text = format!("\"{}\"", "x".repeat(RESULT_BYTES_MAX - 1));
        let said = no(&with(&format!(",\"result\":{text}")));
        assert_eq!(said, (422, "CF1011", Some("result".into())));
    }
}
