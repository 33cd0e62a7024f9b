//! One thing that was looked at: what it is, how it is, and the way out.
//!
//! Guarantees: what is wrong has a way out. Does not: look.

use serde_json::{Value, json};

use crate::output::table::cell;

/// How a thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// As it should be.
    Well,
    /// Allowed, and worth a word.
    Note,
    /// Something must be done.
    Wrong,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Check {
    /// The kind of check, a stable word.
    pub(super) check: &'static str,
    /// The destination it is about, if it is about one.
    pub(super) destination: Option<String>,
    /// How it is.
    pub(super) verdict: Verdict,
    /// What was seen.
    pub(super) text: String,
    /// The way out; empty where none is needed.
    pub(super) help: String,
}

impl Check {
    /// It is as it should be.
    pub(super) fn well(check: &'static str, text: impl Into<String>) -> Self {
        let (text, help) = (text.into(), String::new());
        Self { check, destination: None, verdict: Verdict::Well, text, help }
    }

    /// It is allowed, and worth a word.
    pub(super) fn note(check: &'static str, text: impl Into<String>) -> Self {
        Self { verdict: Verdict::Note, ..Self::well(check, text) }
    }

    /// What a person may do about it.
    pub(super) fn help(self, help: impl Into<String>) -> Self {
        Self { help: help.into(), ..self }
    }

    /// Something must be done: `help`.
    pub(super) fn wrong(
        check: &'static str,
        text: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { verdict: Verdict::Wrong, help: help.into(), ..Self::well(check, text) }
    }

    /// It is about this destination.
    pub(super) fn of(self, destination: &str) -> Self {
        Self { destination: Some(destination.to_owned()), ..self }
    }

    /// For people: one line, and one for the way out.
    pub(super) fn tell(&self) -> String {
        let verdict = self.verdict.name();
        let about = self.destination.as_deref().map(|name| format!("{}: ", cell(name)));
        let (about, text) = (about.unwrap_or_default(), cell(&self.text));
        let line = format!("{verdict:<5}  {:<11}  {about}{text}", self.check);
        if self.help.is_empty() {
            return line;
        }
        format!("{line}\n       help: {}", cell(&self.help))
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        json!({
            "check": self.check,
            "destination": self.destination,
            "verdict": self.verdict.name(),
            "text": self.text,
            "help": if self.help.is_empty() { None } else { Some(&self.help) },
        })
    }
}

impl Verdict {
    const fn name(self) -> &'static str {
        match self {
            Self::Well => "ok",
            Self::Note => "note",
            Self::Wrong => "wrong",
        }
    }
}
