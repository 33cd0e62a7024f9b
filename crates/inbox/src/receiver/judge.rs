//! What one request comes to, inside a page of the receiver's book.
//!
//! Guarantees: a request that fails takes back only itself; whatever comes of a command is written
//! into `calls` too, in the same transaction. Does not: begin or commit.

use std::collections::BTreeSet;

use counterfoil_core::domain::Span;
use counterfoil_core::port::{Call, Job, Page};

use super::options::{Keys, Options};
use super::writer::{Delivered, Failed, Question, Told, nothing_done};
use crate::guard::{Begun, InboxError, Stored, begin};
use crate::http::Reply;

/// The outcome of a call that made an effect.
const DONE: &str = "done";
/// The outcome of a call that was judged and refused.
const REFUSED: &str = "refused";

/// The rules of one receiver.
pub(super) struct Judge {
    keys: Keys,
    retention: Span,
    refused_kinds: BTreeSet<String>,
}

type Answer<P> = Result<(Reply, &'static str), InboxError<P>>;

impl Judge {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            keys: options.keys,
            retention: options.retention,
            refused_kinds: options.refused_kinds.clone(),
        }
    }

    /// Answers one request behind a mark, and counts it if it was an effect.
    ///
    /// The outer error says that the page itself is lost; the inner one concerns this request.
    pub(super) fn marked<P: Page>(
        &self,
        page: &mut P,
        question: &Question,
        effects: &mut u64,
    ) -> Result<Result<Told, Failed>, Failed> {
        page.mark().map_err(|error| nothing_done(&error))?;
        match self.answer(page, question) {
            Ok((reply, is_effect)) => {
                page.keep().map_err(|error| nothing_done(&error))?;
                *effects += u64::from(is_effect);
                Ok(Ok(Told { reply, effect: is_effect.then_some(*effects) }))
            }
            Err(error) => {
                page.undo().map_err(|error| nothing_done(&error))?;
                Ok(Err(nothing_done(&error)))
            }
        }
    }

    fn answer<P: Page>(
        &self,
        page: &mut P,
        question: &Question,
    ) -> Result<(Option<Reply>, bool), InboxError<P::Error>> {
        match question {
            Question::Take(delivered) => {
                let (reply, outcome) = match self.keys {
                    Keys::Fold => self.fold(page, delivered)?,
                    Keys::Ignore => self.act(page, delivered)?,
                };
                let call = Call {
                    key: delivered.key.as_str(),
                    attempt: delivered.attempt,
                    token: delivered.token,
                    outcome,
                };
                page.call(&call).map_err(InboxError::Rows)?;
                Ok((Some(reply), outcome == DONE))
            }
            Question::Look(source, key) => {
                let (source, key) = (source.as_str(), key.as_str());
                let reply = match self.keys {
                    Keys::Fold => {
                        let entry = page.look(source, key).map_err(InboxError::Rows)?;
                        entry.map(|entry| Stored::of(entry).map_or(Reply::Unfinished, Into::into))
                    }
                    Keys::Ignore => {
                        let job = page.first_job(source, key).map_err(InboxError::Rows)?;
                        job.map(Reply::Completed)
                    }
                };
                Ok((reply, false))
            }
        }
    }

    fn fold<P: Page>(&self, page: &mut P, delivered: &Delivered) -> Answer<P::Error> {
        let (source, key) = (delivered.source.as_str(), delivered.key.as_str());
        match begin(&mut *page, source, key, delivered.digest, self.retention)? {
            Begun::First(mut first) => match self.refusal(delivered) {
                Some(reason) => {
                    first.finish_rejected(&reason)?;
                    Ok((Reply::Rejected(reason), REFUSED))
                }
                None => {
                    let result = first.rows().job(&job(delivered)).map_err(InboxError::Rows)?;
                    first.finish(&result)?;
                    Ok((Reply::Completed(result), DONE))
                }
            },
            Begun::Repeat(stored) => Ok((stored.into(), "repeated")),
            Begun::Unfinished { .. } => Ok((Reply::Unfinished, "unfinished")),
            Begun::Conflict => Ok((Reply::Conflict, "conflict")),
            Begun::Busy => Ok((Reply::Busy, "busy")),
        }
    }

    /// As a service does that knows no keys.
    fn act<P: Page>(&self, page: &mut P, delivered: &Delivered) -> Answer<P::Error> {
        if let Some(reason) = self.refusal(delivered) {
            return Ok((Reply::Rejected(reason), REFUSED));
        }
        let result = page.job(&job(delivered)).map_err(InboxError::Rows)?;
        Ok((Reply::Completed(result), DONE))
    }

    fn refusal(&self, delivered: &Delivered) -> Option<Vec<u8>> {
        let kind = delivered.kind.as_ref().filter(|kind| self.refused_kinds.contains(*kind))?;
        Some(format!("this receiver refuses {kind}").into_bytes())
    }
}

fn job(delivered: &Delivered) -> Job<'_> {
    Job {
        source: delivered.source.as_str(),
        key: delivered.key.as_str(),
        kind: delivered.kind.as_deref(),
        body: &delivered.body,
    }
}
