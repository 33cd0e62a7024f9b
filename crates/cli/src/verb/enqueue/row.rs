//! One line of `enqueue --from`: what is written there, as a command.
//!
//! Guarantees: an unknown member is an error; a body of text or bytes is taken as it is, one of
//! JSON with the bytes that stand in the file. Does not: record.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use counterfoil_core::domain::command::CommandRefused;
use counterfoil_core::domain::{Command, Micros, OrderingKey};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::config::duration;
use crate::output::time;
use crate::verb::json_line::unread;

/// A line as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    id: String,
    to: String,
    kind: String,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
    body_base64: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    ordering_key: Option<String>,
    at: Option<String>,
    expires: Option<String>,
    content_type: Option<String>,
}

/// Why a line gives no command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoCommand {
    /// It cannot be read, so whatever comes after it may be broken, too.
    Broken(String),
    /// It can be read, and a rule refuses it.
    Refused(String),
}

impl From<CommandRefused> for NoCommand {
    fn from(refused: CommandRefused) -> Self {
        Self::Refused(refused.to_string())
    }
}

/// Reads one line.
///
/// # Errors
/// It is broken, or a rule refuses it.
pub(super) fn command(line: &[u8], now: Micros) -> Result<Command, NoCommand> {
    let broken = |why: String| NoCommand::Broken(why);
    let line: Line<'_> = serde_json::from_slice(line).map_err(|error| broken(unread(&error)))?;
    let (body, is_text) = match (line.body, line.body_base64) {
        (Some(raw), None) => (body(raw)?, true),
        (None, Some(text)) => {
            let bytes = STANDARD.decode(text);
            (bytes.map_err(|error| broken(format!("\"body_base64\": {error}")))?, false)
        }
        (None, None) => return Err(broken("give \"body\" or \"body_base64\"".into())),
        (Some(_), Some(_)) => {
            return Err(broken("give \"body\" or \"body_base64\", not both".into()));
        }
    };
    let mut command = Command::bytes(line.id, line.to, line.kind, body)?;
    command.body_is_text = is_text && !command.body.contains(&0);
    if let Some(content_type) = line.content_type {
        command.content_type = content_type;
    }
    command.headers = line.headers;
    if let Some(key) = line.ordering_key {
        let key = OrderingKey::new(key).map_err(CommandRefused::from)?;
        command.ordering_key = Some(key);
    }
    let at = line.at.map(|text| time::parse(&text).map_err(|why| broken(format!("\"at\" {why}"))));
    command.not_before = at.transpose()?;
    let expires = line.expires.map(|text| match duration::parse(&text) {
        Ok(span) => Ok(now.plus(span)),
        Err(_) => time::parse(&text).map_err(|why| broken(format!("\"expires\" {why}"))),
    });
    command.expires_at = expires.transpose()?;
    let first = command.not_before.map_or(now, |at| at.max(now));
    if command.expires_at.is_some_and(|expires| expires <= first) {
        let why = "\"expires\" is not after now and \"at\", so it could never be sent";
        return Err(NoCommand::Refused(why.into()));
    }
    Ok(command)
}

/// A string is the text itself; an object or array the bytes that stand there.
fn body(raw: &RawValue) -> Result<Vec<u8>, NoCommand> {
    let text = raw.get();
    match text.as_bytes().first() {
        Some(b'"') => serde_json::from_str::<String>(text)
            .map(String::into_bytes)
            .map_err(|error| NoCommand::Broken(format!("\"body\": {error}"))),
        Some(b'{' | b'[') => Ok(text.as_bytes().to_vec()),
        _ => Err(NoCommand::Broken("\"body\" is a string, an object or an array".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Micros = Micros::new(2_000_000_000_000_000);

    fn read(more: &str) -> Result<Command, NoCommand> {
        let line = format!("{{\"id\":\"a\",\"to\":\"shop\",\"kind\":\"k\"{more}}}");
        command(line.as_bytes(), NOW)
    }

    #[test]
    fn a_body_is_text_bytes_or_json_as_it_stands() {
        let body = |more: &str| {
            let command = read(more).unwrap();
            (String::from_utf8_lossy(&command.body).into_owned(), command.body_is_text)
        };
        assert_eq!(body(",\"body\":\"两件\\n\""), ("两件\n".into(), true));
        assert_eq!(body(",\"body\":{\"b\": 1.0,\"a\":2}"), ("{\"b\": 1.0,\"a\":2}".into(), true));
        assert_eq!(body(",\"body_base64\":\"aGk=\""), ("hi".into(), false));
        assert!(!read(",\"body\":\"a\\u0000\"").unwrap().body_is_text, "SQL would cut it there");
        for more in
            ["", ",\"body\":1", ",\"body\":\"\",\"body_base64\":\"\"", ",\"body_base64\":\"?\""]
        {
            assert!(matches!(read(more), Err(NoCommand::Broken(_))), "{more}");
        }
    }

    #[test]
    fn what_breaks_a_rule_is_refused_and_what_cannot_be_read_is_broken() {
        let with = |more: &str| read(&format!(",\"body\":\"\"{more}"));
        let whole = with(
            ",\"headers\":{\"a\":\"b\"},\"ordering_key\":\"k\",\"content_type\":\"text/plain\",\
             \"at\":\"2034-01-01T00:00:00Z\",\"expires\":\"2035-01-01T00:00:00Z\"",
        );
        let whole = whole.unwrap();
        assert_eq!(whole.headers["a"], "b");
        assert_eq!(
            (whole.content_type.as_str(), whole.ordering_key.is_some()),
            ("text/plain", true)
        );
        assert!(whole.not_before < whole.expires_at);
        assert!(matches!(with(",\"ordering_key\":\"\""), Err(NoCommand::Refused(_))));
        assert!(matches!(
            with(",\"expires\":\"2001-01-01T00:00:00Z\""),
            Err(NoCommand::Refused(_))
        ));
        for more in
            [",\"order_key\":\"k\"", ",\"at\":\"noon\"", ",\"expires\":7", ",\"headers\":[]"]
        {
            assert!(matches!(with(more), Err(NoCommand::Broken(_))), "{more}");
        }
    }
}
