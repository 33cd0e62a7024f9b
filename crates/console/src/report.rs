//! Reads a report from the JSON of `POST /v1/receipts`.
//!
//! Guarantees: the rules are those of `counterfoil_report` in SQL; each refusal names the member
//! and the rule; the result is the text that the client sent for it, byte for byte. Does not:
//! show a value back.

use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::{CommandId, IdRefused, ReceiptOutcome, Token};

use crate::members::{self, refused, string, words};
use crate::problem::Problem;

/// The evidence of a report that names none.
const EVIDENCE: &str = "reported over HTTP";

/// Reads the report of a caller known as `source`.
pub(crate) fn read(body: &[u8], source: &str) -> Result<(CommandId, Report), Problem> {
    let [id, outcome, result, evidence, token] = members::read(body, NAMES, SHAPE)?;
    let command_id = read_id(id)?;
    let report = Report {
        outcome: read_outcome(outcome)?,
        result: members::result(result)?,
        evidence: Some(read_evidence(evidence)?),
        source: source.to_owned(),
        token: token.map(read_token).transpose()?,
        equals_earlier: false,
    };
    Ok((command_id, report))
}

const NAMES: [&str; 5] = ["command_id", "outcome", "result", "evidence", "token"];
const SHAPE: &str = "{\"command_id\": …, \"outcome\": …}";

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

fn read_evidence(text: Option<&str>) -> Result<String, Problem> {
    let rule = "is a string that says by what the outcome is known, or is left out";
    Ok(words("evidence", text, rule)?.unwrap_or_else(|| EVIDENCE.to_owned()))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::members::RESULT_BYTES_MAX;

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
