//! How the command ends: what it says on stderr, and its exit code.
//!
//! Guarantees: 0 is done or holds, 1 is refused by a rule of the store, not found or violated,
//! 2 is could not run; an error is one line and its ways out. Does not: print a backtrace.

use std::io::Write;
use std::process::ExitCode;

use serde_json::json;

use crate::args::LogFormat;

/// How a verb ended that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done, or it holds.
    Done,
    /// Refused by a rule of the store, not found, or violated.
    Refused,
}

impl Exit {
    /// Done only where both are.
    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        if self == Self::Done { other } else { self }
    }
}

/// Says on stderr what was refused of many, and goes on.
pub(crate) fn complain(text: &str, format: LogFormat) {
    Failure::refused(text).say(format);
}

/// What every verb returns.
pub(crate) type Ended = Result<Exit, Failure>;

/// How a verb ends that gives a verdict: one that was not told is none, so never exit 0.
pub(crate) fn verdict(ended: Ended) -> Ended {
    ended.map_err(|failure| match failure.code {
        0 => Failure::could_not_run("the output was not read to its end: no verdict was given")
            .help("run it again and read all of it; where the exit code is enough, `> /dev/null`"),
        _ => failure,
    })
}

/// Why a verb ended without doing its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    code: u8,
    text: String,
    help: Vec<String>,
}

#[expect(clippy::needless_pass_by_value, reason = "they are given to map_err")]
impl Failure {
    /// A rule of the store refused it, or it was not found: exit 1.
    pub(crate) fn refused(text: impl ToString) -> Self {
        Self { code: 1, text: text.to_string(), help: Vec::new() }
    }

    /// Bad flags or configuration, or a store that cannot be reached: exit 2.
    pub(crate) fn could_not_run(text: impl ToString) -> Self {
        Self { code: 2, text: text.to_string(), help: Vec::new() }
    }

    /// Adds a way out.
    #[must_use]
    pub(crate) fn help(mut self, line: impl ToString) -> Self {
        self.help.push(line.to_string());
        self
    }

    /// What happened, without the ways out.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The ways out; empty where there is none.
    pub(crate) fn ways_out(&self) -> String {
        self.help.join("; ")
    }

    /// Says it on stderr; the exit code.
    pub(crate) fn say(&self, format: LogFormat) -> ExitCode {
        let mut err = std::io::stderr().lock();
        let said = match format {
            _ if self.text.is_empty() => Ok(()),
            LogFormat::Text => writeln!(err, "error: {}", self.text)
                .and_then(|()| self.help.iter().try_for_each(|line| writeln!(err, "help: {line}"))),
            LogFormat::Json => {
                let now = jiff::Timestamp::now().to_string();
                let (message, help) = (&self.text, &self.help);
                let line = json!({
                    "timestamp": now, "level": "ERROR", "message": message, "help": help,
                });
                writeln!(err, "{line}")
            }
        };
        // Where stderr is gone, the exit code must do.
        drop(said);
        ExitCode::from(self.code)
    }

    #[cfg(test)]
    pub(crate) fn whole(&self) -> String {
        let help: Vec<_> = self.help.iter().map(|line| format!("help: {line}")).collect();
        format!("[{}] {}\n{}", self.code, self.text, help.join("\n"))
    }
}

/// Output that could not be written. A reader that went away is no error of ours: quiet, exit 0,
/// but for a [`verdict`].
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self { code: 0, text: String::new(), help: Vec::new() };
        }
        Self::could_not_run(format!("the output cannot be written: {error}"))
    }
}

impl From<counterfoil_core::port::store::StoreError> for Failure {
    fn from(error: counterfoil_core::port::store::StoreError) -> Self {
        let failure = Self::could_not_run(error);
        match crate::store::way_out_of(&failure.text) {
            Some(way_out) => failure.help(way_out),
            None => failure,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Done => Self::from(0),
            Exit::Refused => Self::from(1),
        }
    }
}
