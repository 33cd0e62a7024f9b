//! One place in the tree where a rule is broken or nearly so.
//!
//! Guarantees: prints as one line that an editor can jump to.
//! Does not: know the rules.

use std::fmt;

/// Whether a finding fails the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// The rule is broken.
    Broken,
    /// Worth a look; nothing fails.
    Note,
}

/// What a rule found.
#[derive(Debug)]
pub(crate) struct Finding {
    /// The file, from the root of the tree.
    pub(crate) path: String,
    /// The line, from 1.
    pub(crate) line: usize,
    /// The name of the rule.
    pub(crate) rule: &'static str,
    /// What is wrong, and after a colon or semicolon the way out.
    pub(crate) says: String,
    /// Whether it fails the run.
    pub(crate) weight: Weight,
}

impl Finding {
    /// A broken rule.
    pub(crate) fn broken(rule: &'static str, place: (&str, usize), says: String) -> Self {
        let (path, line) = (place.0.to_owned(), place.1);
        Self { path, line, rule, says, weight: Weight::Broken }
    }

    /// A remark that fails nothing.
    pub(crate) fn note(rule: &'static str, place: (&str, usize), says: String) -> Self {
        Self { weight: Weight::Note, ..Self::broken(rule, place, says) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, rule, says, weight } = self;
        let weight = if *weight == Weight::Note { "note: " } else { "" };
        write!(f, "{path}:{line}: {weight}[{rule}] {says}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_one_line_that_an_editor_can_jump_to() {
        let broken = Finding::broken("line-length", ("a/b.rs", 7), "too long; break it".to_owned());
        assert_eq!(broken.to_string(), "a/b.rs:7: [line-length] too long; break it");
        let note = Finding::note("file-length", ("b.rs", 1), "long".to_owned());
        assert_eq!(note.to_string(), "b.rs:1: note: [file-length] long");
    }
}
