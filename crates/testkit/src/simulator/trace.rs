//! What happened in a run, line by line, in virtual time.
//!
//! Guarantees: the same seed gives the same bytes. Does not: hold a real time, an address or
//! anything else of the machine.

use std::fmt::{Arguments, Write};

use counterfoil_core::domain::Digest;

/// How many lines a failure shows.
const LAST: usize = 40;

/// The lines of one run.
#[derive(Debug, Default)]
pub(super) struct Trace {
    text: String,
    pub(super) lines: u64,
}

impl Trace {
    /// Adds a line at `at` milliseconds.
    pub(super) fn line(&mut self, at: u64, what: Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{:>7}.{:03} {what}", at / 1000, at % 1000);
        self.lines += 1;
    }

    /// SHA-256 of all lines.
    pub(super) fn digest(&self) -> Digest {
        Digest::of(self.text.as_bytes())
    }

    /// The last lines.
    pub(super) fn last(&self) -> String {
        let begin = self.text.rmatch_indices('\n').nth(LAST).map_or(0, |(at, _)| at + 1);
        self.text[begin..].to_owned()
    }

    /// All lines.
    pub(super) fn into_text(self) -> String {
        self.text
    }
}
