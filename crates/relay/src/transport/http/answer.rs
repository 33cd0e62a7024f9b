//! What an answer to a send means.
//!
//! Guarantees: pure; every answer has one outcome; what is not known is Unknown. The first of
//! these that speaks decides: the receiver's own word for the key (`Counterfoil-Outcome`), a row
//! of `answers`, a code of `outcome`, `success` (for a 2xx), the table. Does not: send, wait or
//! ask. Reasons hold a short line of the answer's text and nothing of the command.
//!
//! Where a body breaks off, a completion read from a status is Unknown, since the result is what
//! was asked for. Any other status has said all it has to say in its first line, and counts. So
//! does the receiver's own word: the outcome stands, and the evidence says that the result is not
//! whole.
//!
//! A word that cannot be read is no word, so the rest decides; but whatever it would call done,
//! taken on, refused or not processed is Unknown then: the receiver has seen this key and said
//! something that was not understood, so it is not proven that it did nothing.

use counterfoil_core::domain::{Completion, Habits, Judge, Micros, Outcome, ResultBody};
use hyper::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use hyper::{HeaderMap, StatusCode};

use super::body::{Body, End, Wanted};
use super::excerpt::with_excerpt;
use super::judging::{self, JUDGED_BYTES_MAX, Judged};
use super::retry_after::retry_after;
use super::table::{Row, row_of};
use super::word::{Said, Word, said};

/// How much of a body that is no result is read, so that its connection can be used again.
const ASIDE_BYTES: usize = 16_384;

/// How one destination's answers are read.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) habits: Habits,
    pub(super) completion: Completion,
    pub(super) result_bytes_max: usize,
}

/// Who says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Word,
    Answers,
    Code,
    Table,
}

/// What an answer comes to, and by what.
struct Verdict {
    row: Row,
    by: By,
    text: String,
}

type Wait = Option<counterfoil_core::domain::Span>;

impl Reading {
    /// How much of the body of an answer with this head is wanted.
    pub(super) fn wanted(&self, status: StatusCode, headers: &HeaderMap) -> Wanted {
        let answered = self.habits.answers.get(&status.as_u16());
        let (is_result, is_judged) = match (said(headers), answered) {
            (Said::Word(word), _) => (word == Word::Completed, false),
            (_, Some(meaning)) => (Row::from(*meaning) == Row::Completed, false),
            _ => {
                let row = row_of(status.as_u16(), self.habits.profile).0;
                let is_judged = judging::looks_into(&self.habits, status.is_success());
                (row == Row::Completed, is_judged)
            }
        };
        let judged = if is_judged { self.result_bytes_max.max(JUDGED_BYTES_MAX) } else { 0 };
        Wanted {
            kept: judged.max(if is_result { self.result_bytes_max } else { ASIDE_BYTES }),
            is_result,
            is_framed: is_framed(status, headers),
        }
    }

    /// What the answer means. `now` is the attempt's time.
    pub(super) fn outcome(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        body: Body,
        now: Micros,
    ) -> Outcome {
        let verdict = match said(headers) {
            Said::Word(word) => by_word(status, word),
            Said::Nothing => self.without_word(status, &body),
            Said::Unreadable(note) => self.without_word(status, &body).doubted(&note),
        };
        self.concluded(verdict, body, retry_after(headers, now))
    }

    fn without_word(&self, status: StatusCode, body: &Body) -> Verdict {
        let mut text = format!("HTTP {}", status.as_u16());
        if let Some(meaning) = self.habits.answers.get(&status.as_u16()) {
            text.push_str(&format!(" (answers: {})", meaning.name()));
            return Verdict { row: (*meaning).into(), by: By::Answers, text };
        }
        let (row, explained) = row_of(status.as_u16(), self.habits.profile);
        let row = match judging::judged(&self.habits, status.is_success(), body) {
            Judged::Code(meaning, read) => {
                text.push_str(&format!(" ({read})"));
                return Verdict { row: meaning.into(), by: By::Code, text };
            }
            Judged::NotShown(why) => {
                text.push_str(&format!(", but no success is shown: {why}"));
                Row::Unknown
            }
            Judged::Success(read) => {
                text.push_str(&format!(" (success: {read})"));
                row
            }
            Judged::Silent => row,
        };
        if !explained.is_empty() {
            text.push_str(&format!(" ({explained})"));
        }
        Verdict { row, by: By::Table, text }
    }

    fn concluded(&self, verdict: Verdict, body: Body, retry_after: Wait) -> Outcome {
        let Verdict { row, by, text } = verdict;
        let excerpted = |text| with_excerpt(text, &body.result.bytes);
        match row {
            Row::Completed => self.completed(by, text, body, retry_after),
            Row::Accepted => Outcome::Accepted { evidence: text },
            Row::Conflict => Outcome::Conflict { reason: excerpted(text) },
            Row::NotSent | Row::Misconfigured => {
                let misconfigured = row == Row::Misconfigured;
                Outcome::NotSent { reason: excerpted(text), retry_after, misconfigured }
            }
            Row::Busy => Outcome::Busy { reason: excerpted(text), retry_after },
            Row::Gone => Outcome::Gone { reason: excerpted(text) },
            Row::Rejected => {
                let by = if by == By::Word { Judge::Receiver } else { Judge::Status };
                Outcome::Rejected { reason: excerpted(text), by }
            }
            Row::Unknown => Outcome::Unknown { reason: excerpted(text), retry_after },
            Row::Ask => Outcome::Ask { reason: excerpted(text) },
        }
    }

    fn completed(&self, by: By, text: String, mut body: Body, retry_after: Wait) -> Outcome {
        match &body.end {
            End::Broken(why) if by != By::Word => {
                let reason = format!("{text}, but its body broke off: {why}");
                Outcome::Unknown { reason, retry_after }
            }
            _ if by == By::Table && self.completion == Completion::Receipt => {
                Outcome::Accepted { evidence: text }
            }
            _ => {
                body.cut(self.result_bytes_max);
                let evidence = evidence(text, &body);
                Outcome::Completed { result: body.result, evidence }
            }
        }
    }
}

/// Whether the head says where the body ends.
pub(super) fn is_framed(status: StatusCode, headers: &HeaderMap) -> bool {
    let says = [CONTENT_LENGTH, TRANSFER_ENCODING].iter().any(|name| headers.contains_key(name));
    says || matches!(status.as_u16(), 100..=199 | 204 | 304)
}

fn by_word(status: StatusCode, word: Word) -> Verdict {
    let row = match word {
        Word::Completed => Row::Completed,
        Word::Accepted => Row::Accepted,
        Word::Rejected => Row::Rejected,
        Word::Conflict => Row::Conflict,
        Word::Unknown => Row::Unknown,
    };
    let text = format!("HTTP {}; Counterfoil-Outcome: {}", status.as_u16(), word.name());
    Verdict { row, by: By::Word, text }
}

impl Verdict {
    /// What is left of it where the receiver's word could not be read.
    fn doubted(mut self, note: &str) -> Self {
        self.text.push_str("; ");
        self.text.push_str(note);
        self.row = match self.row {
            Row::Conflict => Row::Conflict,
            Row::Ask => Row::Ask,
            Row::Completed
            | Row::Accepted
            | Row::NotSent
            | Row::Busy
            | Row::Misconfigured
            | Row::Gone
            | Row::Rejected
            | Row::Unknown => Row::Unknown,
        };
        self
    }
}

/// The evidence of a completion, and what its result lacks.
pub(super) fn evidence(mut text: String, body: &Body) -> String {
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
    text
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
