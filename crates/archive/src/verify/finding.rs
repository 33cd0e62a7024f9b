//! What a verification finds, each kind with its code.
//!
//! Guarantees: all findings are counted, a bounded number is kept. Does not: tell content.

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// A stable code, `CF11xx`; see `docs/errors.md`.
    pub code: &'static str,
    /// The name of the file.
    pub file: String,
    /// The commands concerned, or the events, as `stream:seq`.
    pub ids: Vec<String>,
    /// What is wrong and what to do, for people.
    pub text: String,
}

/// The kinds.
pub(super) mod code {
    /// A manifest whose file is gone.
    pub(crate) const MISSING: &str = "CF1121";
    /// A file that is shorter than it was.
    pub(crate) const TRUNCATED: &str = "CF1122";
    /// A file with other bytes than it had.
    pub(crate) const CHANGED: &str = "CF1123";
    /// A file under the name of another one.
    pub(crate) const SWAPPED: &str = "CF1124";
    /// A file of another store, or under no name of ours.
    pub(crate) const FOREIGN: &str = "CF1125";
    /// A file without a manifest, or with one that cannot be read.
    pub(crate) const NO_MANIFEST: &str = "CF1126";
    /// What a run that was cut short left.
    pub(crate) const UNFINISHED: &str = "CF1127";
    /// A manifest that counts otherwise than its lines.
    pub(crate) const COUNTS: &str = "CF1128";
    /// A line that is no command, or no event, or not what its digests say.
    pub(crate) const LINE: &str = "CF1129";
    /// A line whose command has no tombstone, though it is not named as left.
    pub(crate) const NO_TOMBSTONE: &str = "CF1130";
    /// A tombstone that its file has no line for.
    pub(crate) const NO_LINE: &str = "CF1131";
    /// A line and its tombstone say different things.
    pub(crate) const DIFFERS: &str = "CF1132";
    /// Tombstones that name a file of no folder that was given.
    pub(crate) const ELSEWHERE: &str = "CF1133";
    /// A line with the content of a command that was erased.
    pub(crate) const ERASED: &str = "CF1134";
    /// A line whose event is not in the store.
    pub(crate) const EVENT_GONE: &str = "CF1135";
    /// A line and the row of its event say different things.
    pub(crate) const EVENT_DIFFERS: &str = "CF1136";
    /// Events that name a file which has no line with their bodies.
    pub(crate) const EVENT_NO_LINE: &str = "CF1137";
    /// Events that name a file of no folder that was given.
    pub(crate) const EVENT_ELSEWHERE: &str = "CF1138";
}

/// Findings while they are made.
pub(super) struct Findings {
    keep: usize,
    found: u64,
    kept: Vec<Finding>,
}

impl Findings {
    pub(super) const fn new(keep: usize) -> Self {
        Self { keep, found: 0, kept: Vec::new() }
    }

    pub(super) fn add(&mut self, code: &'static str, file: &str, ids: Vec<String>, found: &str) {
        self.found += 1;
        if self.kept.len() < self.keep {
            let text = format!("{file}: {found}");
            self.kept.push(Finding { code, file: file.to_owned(), ids, text });
        }
    }

    pub(super) fn into_parts(self) -> (u64, Vec<Finding>) {
        (self.found, self.kept)
    }
}
