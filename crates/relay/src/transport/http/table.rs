//! What a status means: the contract's table of answers, row by row.
//!
//! Guarantees: total; pure. Does not: know the receiver's own word, or what the destination's
//! configuration says otherwise; see `answer`.

use counterfoil_core::domain::{Meaning, Profile};

/// What an answer means, before its body is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    Completed,
    Accepted,
    Conflict,
    NotSent,
    Busy,
    Misconfigured,
    Gone,
    Rejected,
    Unknown,
    Ask,
}

impl From<Meaning> for Row {
    fn from(meaning: Meaning) -> Self {
        match meaning {
            Meaning::Completed => Self::Completed,
            Meaning::Accepted => Self::Accepted,
            Meaning::Rejected => Self::Rejected,
            Meaning::Conflict => Self::Conflict,
            Meaning::NotSent => Self::NotSent,
            Meaning::Unknown => Self::Unknown,
            Meaning::Ask => Self::Ask,
        }
    }
}

/// The table. The second value explains the row to people.
pub(super) const fn row_of(status: u16, profile: Profile) -> (Row, &'static str) {
    match profile {
        Profile::Plain => plain(status),
        Profile::Webhook => webhook(status),
    }
}

const fn plain(status: u16) -> (Row, &'static str) {
    match status {
        202 => (Row::Accepted, ""),
        200..=299 => (Row::Completed, ""),
        300..=399 => (
            Row::Misconfigured,
            "redirects are never followed: set the destination's url to where it points",
        ),
        401 | 403 | 407 => {
            (Row::Misconfigured, "check the credentials in the destination's headers")
        }
        404 | 405 => (Row::Misconfigured, "check the destination's url and method"),
        409 => (Row::Unknown, "the key is being worked on"),
        421 => (Row::NotSent, "this server does not serve the url's host"),
        422 => (
            Row::Conflict,
            "the key is known with other content; \
             but many frameworks answer 422 to any body they find invalid",
        ),
        429 => (Row::Busy, "too many requests"),
        408 | 425 => (Row::Unknown, ""),
        400..=499 => (Row::Rejected, ""),
        100..=199 => (Row::Unknown, "an interim answer, where a final one was due"),
        500..=599 => (Row::Unknown, ""),
        _ => (Row::Unknown, "no status of HTTP"),
    }
}

/// As consumers of Standard Webhooks mean it: a refusal is a fault that may be mended, so it is
/// tried again and burns an attempt.
const fn webhook(status: u16) -> (Row, &'static str) {
    match (status, plain(status)) {
        (200..=299, _) => (Row::Completed, ""),
        (410, _) => (Row::Gone, "the consumer wants nothing any more"),
        (422, _) => (Row::NotSent, ""),
        (_, (Row::Rejected | Row::Conflict | Row::Misconfigured, why)) => (Row::NotSent, why),
        (_, plain) => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The contract's table, written once more by hand.
    #[test]
    fn every_status_has_its_row() {
        for status in 100..=999 {
            let expected = match status {
                202 => Row::Accepted,
                200..=299 => Row::Completed,
                300..=399 | 401 | 403 | 404 | 405 | 407 => Row::Misconfigured,
                421 => Row::NotSent,
                429 => Row::Busy,
                409 | 408 | 425 => Row::Unknown,
                422 => Row::Conflict,
                400..=499 => Row::Rejected,
                _ => Row::Unknown,
            };
            assert_eq!(row_of(status, Profile::Plain).0, expected, "{status}");
        }
    }

    #[test]
    fn for_a_webhook_every_refusal_is_tried_again() {
        for status in 100..=999 {
            let expected = match status {
                200..=299 => Row::Completed,
                410 => Row::Gone,
                408 | 409 | 425 => Row::Unknown,
                429 => Row::Busy,
                300..=499 => Row::NotSent,
                _ => Row::Unknown,
            };
            assert_eq!(row_of(status, Profile::Webhook).0, expected, "{status}");
        }
    }
}
