//! Whose keys they are: two senders may use one key without meaning one intent.
//!
//! Guarantees: a [`Source`] is 1–255 bytes of UTF-8 without control characters, the same rule as
//! the SQL guards. Does not: authenticate anybody; take it from the caller that you authenticated,
//! not from what a request says about itself.

use std::fmt;

/// The most bytes a source may have.
const SOURCE_BYTES_MAX: usize = 255;

/// The name of a sender, by which its keys are kept apart from those of others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source(String);

/// Why a text is no source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the source has {len} bytes or a control character; it is 1 to {SOURCE_BYTES_MAX} bytes of \
     UTF-8 without control characters: take the name of the authenticated caller"
)]
pub struct SourceRefused {
    /// How many bytes it has.
    pub len: usize,
}

impl Source {
    /// Takes `text` if it keeps the rule.
    ///
    /// # Errors
    /// [`SourceRefused`].
    pub fn new(text: impl Into<String>) -> Result<Self, SourceRefused> {
        let text = text.into();
        check(&text)?;
        Ok(Self(text))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub(crate) fn check(text: &str) -> Result<(), SourceRefused> {
    let fits = (1..=SOURCE_BYTES_MAX).contains(&text.len());
    if fits && !text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
        Ok(())
    } else {
        Err(SourceRefused { len: text.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_is_that_of_ids() {
        assert!(Source::new("urn:例:订单").is_ok());
        assert!(Source::new("s".repeat(255)).is_ok());
        for bad in ["", "a\nb", "a\u{7f}", &"s".repeat(256)] {
            assert_eq!(Source::new(bad), Err(SourceRefused { len: bad.len() }));
        }
    }
}
