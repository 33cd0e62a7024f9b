//! Whether what is said about a receiver's habits can be kept.
//!
//! Guarantees: a rule that could never match, or that says two things at once, is refused by its
//! name. Does not: know whether the receiver really behaves so.

use std::collections::BTreeSet;

use counterfoil_core::domain::{Codes, Completion, Meaning, NotThere, Profile, Success};
use serde_json::Value;

use super::options::HttpOptions;
use super::refused::HttpRefused;

/// Checks `answers`, `success`, `outcome` and `profile`; `key` and `ask` are checked where they
/// are used.
///
/// # Errors
/// [`HttpRefused::Habit`].
pub(super) fn check(options: &HttpOptions) -> Result<(), HttpRefused> {
    let habits = &options.habits;
    if let Some(status) = habits.answers.keys().find(|status| !matches!(status, 200..=599)) {
        return refused(
            format!("answers.{status}"),
            "is no status that ends a request; give one from 200 to 599",
        );
    }
    match &habits.success {
        Some(Success::Json { json, one_of }) => {
            check_pointer("success.json", json)?;
            if one_of.is_empty() {
                return refused("success.in", "is empty, so nothing would ever be a success");
            }
        }
        Some(Success::Text { text }) if text.trim_ascii() != text => {
            return refused(
                "success.text",
                "has white space around it, which is not compared; leave it out",
            );
        }
        _ => {}
    }
    if let Some(codes) = &habits.outcome {
        check_codes(codes)?;
        if codes.of.contains_key(&Meaning::Ask) && options.ask.is_none() {
            return refused(
                "outcome.ask",
                "has codes, but the destination cannot be asked: add ask = { url, quiet }, \
                 or list the codes as unknown",
            );
        }
    }
    if habits.profile == Profile::Webhook && options.completion == Completion::Receipt {
        return refused(
            "profile",
            "is \"webhook\", where any 2xx completes, so that completion = \"receipt\" would never \
             wait for one; leave one of the two out",
        );
    }
    Ok(())
}

fn check_codes(codes: &Codes) -> Result<(), HttpRefused> {
    check_pointer("outcome.json", &codes.json)?;
    if codes.of.values().all(Vec::is_empty) {
        return refused("outcome", "lists no codes; give some, such as rejected = [33]");
    }
    let mut seen = BTreeSet::new();
    for code in codes.of.values().flatten().map(Value::to_string) {
        if !seen.insert(code.clone()) {
            return refused(
                "outcome",
                format!("lists the code {code} twice; it can mean one thing only"),
            );
        }
    }
    Ok(())
}

/// Checks `ask.not_there`.
pub(super) fn check_not_there(words: &NotThere) -> Result<(), HttpRefused> {
    if !matches!(words.status, 200..=599) {
        return refused("ask.not_there.status", "is no status that ends a request");
    }
    if matches!(words.status, 200..=299) && words.json.is_none() {
        return refused(
            "ask.not_there.status",
            "is a 2xx alone, which says that something is there; name the words by json and in",
        );
    }
    match (&words.json, words.one_of.is_empty()) {
        (Some(json), false) => check_pointer("ask.not_there.json", json),
        (None, true) => Ok(()),
        (Some(_), true) => refused(
            "ask.not_there.in",
            "is empty, so nothing would ever be believed; give the values that say so",
        ),
        (None, false) => refused(
            "ask.not_there.in",
            "needs ask.not_there.json, the pointer to the value, such as \"/error\"",
        ),
    }
}

/// RFC 6901, section 3.
fn check_pointer(what: &str, pointer: &str) -> Result<(), HttpRefused> {
    let escapes = pointer.split('~').skip(1);
    let is_pointer = (pointer.is_empty() || pointer.starts_with('/'))
        && escapes.into_iter().all(|rest| rest.starts_with(['0', '1']));
    if is_pointer {
        return Ok(());
    }
    refused(
        format!("{what} {pointer:?}"),
        "is no JSON pointer (RFC 6901); it begins with a slash, such as \"/error/code\"",
    )
}

fn refused(what: impl Into<String>, why: impl Into<String>) -> Result<(), HttpRefused> {
    Err(HttpRefused::Habit { what: what.into(), why: why.into() })
}

#[cfg(test)]
mod tests {
    use counterfoil_core::domain::Habits;

    use super::*;
    use crate::transport::http::AskOptions;

    fn said(habits: &str) -> String {
        let mut options = HttpOptions::new("http://h/");
        options.habits = serde_json::from_str::<Habits>(habits).unwrap();
        options.completion = Completion::Receipt;
        check(&options).map_or_else(|refused| refused.to_string(), |()| "kept".into())
    }

    #[test]
    fn a_habit_that_could_never_be_met_is_refused_by_its_name() {
        for (bad, name) in [
            (r#"{"answers":{"100":"completed"}}"#, "answers.100"),
            (r#"{"success":{"json":"code","in":[0]}}"#, "success.json"),
            (r#"{"success":{"json":"/a~2","in":[0]}}"#, "success.json"),
            (r#"{"success":{"json":"/code","in":[]}}"#, "success.in"),
            (r#"{"success":{"text":" ok"}}"#, "success.text"),
            (r#"{"outcome":{"json":"/code","of":{}}}"#, "outcome lists no"),
            (r#"{"outcome":{"json":"/c","of":{"unknown":[1],"rejected":[1]}}}"#, "code 1 twice"),
            (r#"{"outcome":{"json":"/c","of":{"ask":[1]}}}"#, "outcome.ask"),
            (r#"{"profile":"webhook"}"#, "webhook"),
        ] {
            let said = said(bad);
            assert!(said.contains(name), "{bad}: {said}");
        }
        let good = r#"{"answers":{"409":"completed"},"success":{"json":"/a~1b~0","in":[0,"0"]},
            "outcome":{"json":"","of":{"unknown":[1],"rejected":["1"]}}}"#;
        assert_eq!(said(good), "kept");
    }

    #[test]
    fn a_not_there_that_could_never_be_met_is_refused() {
        let of = |status, json: Option<&str>, one_of: &[&str]| {
            let one_of = one_of.iter().map(|word| Value::from(*word)).collect();
            let mut options = HttpOptions::new("http://h/");
            let mut ask = AskOptions::new("http://h/{key}");
            ask.not_there = Some(NotThere { status, json: json.map(Into::into), one_of });
            options.ask = Some(ask);
            crate::transport::http::HttpTransport::new(options).map(|_| ())
        };
        assert_eq!(of(404, Some("/error"), &["no_such_key"]), Ok(()));
        assert_eq!(of(404, None, &[]), Ok(()));
        assert_eq!(of(200, Some("/code"), &["none"]), Ok(()));
        assert!(of(200, None, &[]).unwrap_err().to_string().contains("2xx alone"));
        assert!(of(404, Some("/error"), &[]).unwrap_err().to_string().contains("not_there.in"));
        assert!(of(404, None, &["x"]).unwrap_err().to_string().contains("not_there.json"));
        assert!(of(404, Some("error"), &["x"]).unwrap_err().to_string().contains("pointer"));
        assert_eq!(of(99, None, &[]).unwrap_err().code(), "CF0608");
    }
}
