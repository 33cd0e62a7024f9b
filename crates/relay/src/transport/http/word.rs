//! The receiver's own word for a key: the header `Counterfoil-Outcome`.
//!
//! Guarantees: five words, in any case; anything else is no word, and is noted. Does not: say what
//! follows; see `answer` and `asking`.

use hyper::HeaderMap;

use super::excerpt::excerpt;

const HEADER: &str = "counterfoil-outcome";

/// One of the five words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Completed,
    Accepted,
    Rejected,
    Conflict,
    Unknown,
}

impl Word {
    /// Every word, by its name.
    pub(super) const ALL: [(&'static str, Self); 5] = [
        ("completed", Self::Completed),
        ("accepted", Self::Accepted),
        ("rejected", Self::Rejected),
        ("conflict", Self::Conflict),
        ("unknown", Self::Unknown),
    ];

    /// The name, as the header has it.
    pub(super) fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, word)| *word == self).map_or("", |(name, _)| name)
    }

    fn from_name(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|(word, _)| name.eq_ignore_ascii_case(word)).map(|(_, word)| word)
    }
}

/// What the header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// The header is not there.
    Nothing,
    /// One word.
    Word(Word),
    /// Something that is none of the words, or two that differ.
    Unreadable(String),
}

/// Reads the header.
pub(super) fn said(headers: &HeaderMap) -> Said {
    let mut word = None;
    for value in headers.get_all(HEADER) {
        let name = String::from_utf8_lossy(value.as_bytes());
        match (Word::from_name(name.trim()), word) {
            (None, _) => {
                let name = excerpt(value.as_bytes());
                return Said::Unreadable(format!("Counterfoil-Outcome {name:?} is no outcome"));
            }
            (Some(other), Some(one)) if other != one => {
                let (one, other) = (one.name(), other.name());
                return Said::Unreadable(format!("Counterfoil-Outcome says {one} and {other}"));
            }
            (some, _) => word = some,
        }
    }
    word.map_or(Said::Nothing, Said::Word)
}
