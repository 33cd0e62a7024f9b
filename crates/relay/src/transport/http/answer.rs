//! What an answer means: the table of HTTP answers, row by row.
//!
//! Guarantees: pure; every answer has one outcome; the receiver's own word for the key, the header
//! `Counterfoil-Outcome`, overrides its status; what is not known is Unknown. Does not: send, wait
//! or ask. Reasons hold at most [`EXCERPT_BYTES`] of the answer's text and nothing of the command.
//!
//! Where a body breaks off: a 2xx is Unknown, since its result is what was asked for. Any other
//! status has said all it has to say in its first line, and counts. So does the receiver's own
//! word: the outcome stands, and the evidence says that the result is not whole.

use counterfoil_core::domain::{Completion, Judge, Micros, Outcome, ResultBody};
use hyper::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use hyper::{HeaderMap, StatusCode};

use super::body::{Body, End, Wanted};
use super::retry_after::retry_after;

/// How much of an answer's text a reason holds at most, in bytes.
pub(super) const EXCERPT_BYTES: usize = 200;
/// How much of a body that is no result is read, so that its connection can be used again.
const ASIDE_BYTES: usize = 16_384;
const WORD: &str = "counterfoil-outcome";

/// The receiver's own word for the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Completed,
    Accepted,
    Rejected,
    Conflict,
    Unknown,
}

impl Word {
    const ALL: [(&'static str, Self); 5] = [
        ("completed", Self::Completed),
        ("accepted", Self::Accepted),
        ("rejected", Self::Rejected),
        ("conflict", Self::Conflict),
        ("unknown", Self::Unknown),
    ];

    fn from_name(name: &str) -> Option<(&'static str, Self)> {
        Self::ALL.into_iter().find(|(word, _)| name.eq_ignore_ascii_case(word))
    }
}

/// What a status means, without a word of the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    Completed,
    Accepted,
    Conflict,
    NotSent,
    Misconfigured,
    Rejected,
    Unknown,
}

/// The table. The second value explains the row to people.
const fn row_of(status: u16) -> (Row, &'static str) {
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
        429 => (Row::NotSent, "too many requests"),
        408 | 425 => (Row::Unknown, ""),
        400..=499 => (Row::Rejected, ""),
        100..=199 => (Row::Unknown, "an interim answer, where a final one was due"),
        500..=599 => (Row::Unknown, ""),
        _ => (Row::Unknown, "no status of HTTP"),
    }
}

/// How much of the body of an answer with this head is wanted.
pub(super) fn wanted(status: StatusCode, headers: &HeaderMap, result_bytes_max: usize) -> Wanted {
    let is_result = match said(headers).0 {
        Some((_, word)) => word == Word::Completed,
        None => row_of(status.as_u16()).0 == Row::Completed,
    };
    let framed = [CONTENT_LENGTH, TRANSFER_ENCODING].iter().any(|name| headers.contains_key(name));
    Wanted {
        kept: if is_result { result_bytes_max } else { ASIDE_BYTES },
        is_result,
        is_framed: framed || matches!(status.as_u16(), 100..=199 | 204 | 304),
    }
}

/// What the answer means. `now` is the attempt's time.
pub(super) fn outcome_of(
    status: StatusCode,
    headers: &HeaderMap,
    body: Body,
    completion: Completion,
    now: Micros,
) -> Outcome {
    let (word, note) = said(headers);
    let mut text = format!("HTTP {}", status.as_u16());
    if let Some((name, _)) = word {
        text.push_str("; Counterfoil-Outcome: ");
        text.push_str(name);
    }
    text.push_str(&note);
    let retry_after = retry_after(headers, now);
    match word {
        Some((_, word)) => by_word(word, text, body, retry_after),
        None => by_status(status, text, body, completion, retry_after),
    }
}

type Wait = Option<counterfoil_core::domain::Span>;

fn by_word(word: Word, text: String, body: Body, retry_after: Wait) -> Outcome {
    let reason = |text: String| with_excerpt(text, &body.result.bytes);
    match word {
        Word::Completed => completed(text, body),
        Word::Accepted => Outcome::Accepted { evidence: text },
        Word::Rejected => Outcome::Rejected { reason: reason(text), by: Judge::Receiver },
        Word::Conflict => Outcome::Conflict { reason: reason(text) },
        Word::Unknown => Outcome::Unknown { reason: reason(text), retry_after },
    }
}

fn by_status(
    status: StatusCode,
    mut text: String,
    body: Body,
    completion: Completion,
    retry_after: Wait,
) -> Outcome {
    let (row, explained) = row_of(status.as_u16());
    if !explained.is_empty() {
        text.push_str(" (");
        text.push_str(explained);
        text.push(')');
    }
    let reason = |text: String| with_excerpt(text, &body.result.bytes);
    match row {
        Row::Completed => match (&body.end, completion) {
            (End::Broken(why), _) => {
                let reason = format!("{text}, but its body broke off: {why}");
                Outcome::Unknown { reason, retry_after }
            }
            (_, Completion::Receipt) => Outcome::Accepted { evidence: text },
            (_, Completion::Response | Completion::Accepted) => completed(text, body),
        },
        Row::Accepted => Outcome::Accepted { evidence: text },
        Row::Conflict => Outcome::Conflict { reason: reason(text) },
        Row::NotSent => {
            Outcome::NotSent { reason: reason(text), retry_after, misconfigured: false }
        }
        Row::Misconfigured => {
            Outcome::NotSent { reason: reason(text), retry_after, misconfigured: true }
        }
        Row::Rejected => Outcome::Rejected { reason: reason(text), by: Judge::Status },
        Row::Unknown => Outcome::Unknown { reason: reason(text), retry_after },
    }
}

fn completed(mut text: String, body: Body) -> Outcome {
    let ResultBody { bytes, full_len, .. } = &body.result;
    match &body.end {
        End::Broken(why) => {
            text.push_str("; the result is not whole, its body broke off: ");
            text.push_str(why);
        }
        End::ByClose if *full_len > 0 => {
            text.push_str("; the result ended with the connection, so a cut would not show");
        }
        _ => {}
    }
    if body.result.full_digest.is_some() {
        text.push_str(&format!("; the first {} of {full_len} bytes are kept", bytes.len()));
    }
    Outcome::Completed { result: body.result, evidence: text }
}

/// The receiver's word, and a note where it said something that is none.
fn said(headers: &HeaderMap) -> (Option<(&'static str, Word)>, String) {
    let mut word: Option<(&'static str, Word)> = None;
    for value in headers.get_all(WORD) {
        let name = String::from_utf8_lossy(value.as_bytes());
        match (Word::from_name(name.trim()), word) {
            (None, _) => {
                let name = excerpt(value.as_bytes());
                return (None, format!("; Counterfoil-Outcome {name:?} is no outcome, ignored"));
            }
            (Some(other), Some(one)) if other != one => {
                let (one, other) = (one.0, other.0);
                return (None, format!("; Counterfoil-Outcome says {one} and {other}, ignored"));
            }
            (some, _) => word = some,
        }
    }
    (word, String::new())
}

fn with_excerpt(mut text: String, bytes: &[u8]) -> String {
    let excerpt = excerpt(bytes);
    if !excerpt.is_empty() {
        text.push_str(": ");
        text.push_str(&excerpt);
    }
    text
}

/// The first bytes of an answer as a line of text.
fn excerpt(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(EXCERPT_BYTES)]);
    let mut line = String::with_capacity(EXCERPT_BYTES);
    for word in text.split(|c: char| c.is_control() || c.is_whitespace()) {
        let space = usize::from(!line.is_empty());
        if word.is_empty() || line.len() + space >= EXCERPT_BYTES {
            continue;
        }
        line.push_str(&" "[..space]);
        let room = EXCERPT_BYTES - line.len();
        let fits = word.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|n| *n <= room);
        line.push_str(&word[..fits.last().unwrap_or(0)]);
    }
    line
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
