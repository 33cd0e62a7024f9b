//! The law of bodies: each lies in one place, in its row or in a file.
//!
//! Guarantees: what a row says by itself is judged. Does not: look into a file; `archive --verify`
//! does.

/// What the row of an event says of where its body lies; all is nothing where it is in the row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BodyFacts {
    /// The file that it names.
    pub file: Option<String>,
    /// How many bytes the digest has that it keeps.
    pub digest_bytes: Option<i64>,
    /// How many bytes stand in the row; 0 where it says nothing of a file or a digest.
    pub bytes: i64,
    /// The stream is a workflow's; `false` where it says nothing of a file or a digest.
    pub is_workflows: bool,
}

impl BodyFacts {
    /// What is wrong with it, if anything is.
    pub(super) fn astray(&self) -> Option<&'static str> {
        match (self.file.as_deref(), self.digest_bytes) {
            (None, None) => None,
            (None, Some(_)) => Some("keeps the digest of an archived body, and names no file"),
            (Some(_), None) => Some("names a file for its body, and keeps no digest of it"),
            (Some(file), Some(bytes)) if file.is_empty() || bytes != DIGEST_BYTES => {
                Some("names no file, or keeps no SHA-256")
            }
            (Some(_), Some(_)) if self.bytes > 0 => {
                Some("names a file for its body, and has one in its row")
            }
            (Some(_), Some(_)) if !self.is_workflows => {
                Some("is archived, and its stream is no workflow's")
            }
            (Some(_), Some(_)) => None,
        }
    }
}

/// How long a SHA-256 is.
const DIGEST_BYTES: i64 = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::laws::{EventFacts, law, of_event};

    #[test]
    fn a_body_lies_in_one_place() {
        let astray = |body: BodyFacts| {
            let facts = EventFacts {
                stream: "trip-1".into(),
                seq: 1,
                seq_before: 0,
                commands: 0,
                found: 0,
                body,
            };
            of_event(&facts).into_iter().map(|violation| violation.code).collect::<Vec<_>>()
        };
        let archived = BodyFacts {
            file: Some("f.events.jsonl.zst".into()),
            digest_bytes: Some(32),
            bytes: 0,
            is_workflows: true,
        };
        assert_eq!(astray(archived.clone()), [""; 0]);
        for spoiled in [
            BodyFacts { file: None, ..archived.clone() },
            BodyFacts { file: Some(String::new()), ..archived.clone() },
            BodyFacts { digest_bytes: None, ..archived.clone() },
            BodyFacts { digest_bytes: Some(31), ..archived.clone() },
            BodyFacts { bytes: 1, ..archived.clone() },
            BodyFacts { is_workflows: false, ..archived },
        ] {
            assert_eq!(astray(spoiled.clone()), [law::BODY_PLACE.code], "{spoiled:?}");
        }
    }
}
