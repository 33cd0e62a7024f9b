//! Reasons and evidence, made fit to be stored and shown.
//!
//! Guarantees: at most [`REASON_BYTES_MAX`] bytes of UTF-8 without control characters. Does not:
//! touch results; those are the receiver's own bytes.

use std::any::Any;

use counterfoil_core::domain::{Answer, Outcome};
use counterfoil_core::port::store::Ended;

/// The most bytes that a reason keeps.
pub(crate) const REASON_BYTES_MAX: usize = 500;

/// The same end of an attempt, with words that can be stored.
pub(crate) fn made_fit(mut ended: Ended) -> Ended {
    if let Some(words) = words(&mut ended) {
        fit(words);
    }
    ended
}

/// What a panic said.
pub(crate) fn of_panic(who: &str, panic: &(dyn Any + Send)) -> String {
    let words = panic.downcast_ref::<&str>().copied();
    let words = words.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the {who} panicked: {}", words.unwrap_or("it said nothing"))
}

fn words(ended: &mut Ended) -> Option<&mut String> {
    match ended {
        Ended::Outcome(outcome) => match outcome {
            Outcome::Completed { evidence, .. } | Outcome::Accepted { evidence } => Some(evidence),
            Outcome::Rejected { reason, .. }
            | Outcome::NotSent { reason, .. }
            | Outcome::Gone { reason }
            | Outcome::Ask { reason }
            | Outcome::Unknown { reason, .. }
            | Outcome::Conflict { reason } => Some(reason),
            _ => None,
        },
        Ended::Answer(answer) => match answer {
            Answer::Done { evidence, .. } => Some(evidence),
            Answer::Refused { reason }
            | Answer::NotThere { reason, .. }
            | Answer::Unclear { reason } => Some(reason),
            _ => None,
        },
        Ended::HandedBack => None,
    }
}

fn fit(words: &mut String) {
    if words.len() > REASON_BYTES_MAX {
        let ellipsis = '…';
        let most = REASON_BYTES_MAX - ellipsis.len_utf8();
        let end = (0..=most).rev().find(|at| words.is_char_boundary(*at));
        words.truncate(end.unwrap_or(0));
        words.push(ellipsis);
    }
    if words.contains(char::is_control) {
        *words = words.replace(char::is_control, " ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(reason: &str) -> String {
        match made_fit(Ended::Outcome(Outcome::unknown(reason))) {
            Ended::Outcome(outcome) => outcome.reason().into(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        for pad in 0..4 {
            let reason = format!("{}{}", "x".repeat(pad), "钟".repeat(300));
            let fitted = fitted(&reason);
            assert!(fitted.len() <= REASON_BYTES_MAX, "{}", fitted.len());
            assert!(fitted.len() > REASON_BYTES_MAX - 8 && fitted.ends_with('…'));
        }
        assert_eq!(fitted(&"y".repeat(REASON_BYTES_MAX)), "y".repeat(REASON_BYTES_MAX));
    }

    #[test]
    fn control_characters_do_not_reach_logs() {
        assert_eq!(fitted("a\u{1b}[31m\nb\u{0}c\u{85}"), "a [31m b c ");
    }
}
