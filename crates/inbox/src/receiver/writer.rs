//! The one thread that writes a receiver's book.
//!
//! Guarantees: every answer is given after COMMIT, so what is answered is on the disk; requests
//! that came together share one transaction, each behind a savepoint of its own, so that one that
//! fails takes back only itself. Does not: run on a thread of the async runtime, since SQLite's
//! busy handler blocks it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use counterfoil_core::domain::{CommandId, Digest, Span};
use counterfoil_core::port::{Book, Call, InboxRows as _, Job, Page};
use tokio::sync::{mpsc, oneshot};

use super::options::{Faults, Options};
use crate::guard::{Begun, InboxError, Stored, begin};
use crate::http::Reply;
use crate::source::Source;

/// Requests in one transaction.
const GROUP_MAX: usize = 256;
/// Bytes of bodies after which a group takes no further request.
const GROUP_BYTES: usize = 4 * 1024 * 1024;
/// How often expired keys are looked for, while there are requests.
const PURGE_EVERY: Duration = Duration::from_secs(10);
/// Expired keys that one transaction removes.
const PURGE_MAX: usize = 500;

/// A command that came in.
#[derive(Debug)]
pub(super) struct Delivered {
    pub(super) source: Source,
    pub(super) key: CommandId,
    pub(super) kind: Option<String>,
    pub(super) attempt: Option<i64>,
    pub(super) token: Option<i64>,
    pub(super) digest: Digest,
    pub(super) body: Vec<u8>,
}

/// What the writer is asked.
#[derive(Debug)]
pub(super) enum Question {
    /// Take a command on.
    Take(Delivered),
    /// What became of a key.
    Look(Source, CommandId),
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub(super) enum Failed {
    /// Nothing was written.
    NothingDone(String),
    /// COMMIT failed.
    NotKnown(String),
}

/// What the writer says, after COMMIT.
#[derive(Clone, Debug)]
pub(super) struct Told {
    /// `None`: no such key.
    pub(super) reply: Option<Reply>,
    /// Which effect it was, counted from 1; `None` if it was none.
    pub(super) effect: Option<u64>,
}

pub(super) type Asked = (Question, oneshot::Sender<Result<Told, Failed>>);

/// The thread's state.
pub(super) struct Writer<B: Book> {
    book: B,
    asked: mpsc::Receiver<Asked>,
    retention: Span,
    refused_kinds: BTreeSet<String>,
    faults: Faults,
    /// Effects committed since the start.
    effects: u64,
    purged_at: Option<Instant>,
}

impl<B: Book> Writer<B> {
    pub(super) fn new(book: B, asked: mpsc::Receiver<Asked>, options: &Options) -> Self {
        Self {
            book,
            asked,
            retention: options.retention,
            refused_kinds: options.refused_kinds.clone(),
            faults: options.faults.clone(),
            effects: 0,
            purged_at: None,
        }
    }

    /// Works until nobody can ask any more.
    pub(super) fn run(mut self) {
        while let Some(first) = self.asked.blocking_recv() {
            let group = self.group(first);
            let (questions, answers): (Vec<_>, Vec<_>) = group.into_iter().unzip();
            // Whoever no longer listens asks again, and gets the stored answer.
            match self.write(&questions) {
                Ok(told) => answers.into_iter().zip(told).for_each(|(answer, told)| {
                    let _ = answer.send(told);
                }),
                Err(failed) => answers.into_iter().for_each(|answer| {
                    let _ = answer.send(Err(failed.clone()));
                }),
            }
        }
    }

    fn group(&mut self, first: Asked) -> Vec<Asked> {
        let size = |(question, _): &Asked| match question {
            Question::Take(delivered) => delivered.body.len(),
            Question::Look(..) => 0,
        };
        let mut bytes = size(&first);
        let mut group = vec![first];
        while group.len() < GROUP_MAX && bytes < GROUP_BYTES {
            let Ok(next) = self.asked.try_recv() else { break };
            bytes += size(&next);
            group.push(next);
        }
        group
    }

    /// One transaction; the error is for all of the group.
    fn write(&mut self, group: &[Question]) -> Result<Vec<Result<Told, Failed>>, Failed> {
        let judge = Judge { retention: self.retention, refused_kinds: &self.refused_kinds };
        let mut page = match self.book.page() {
            Ok(page) => page,
            Err(error) if B::Page::is_busy(&error) => {
                let busy = Told { reply: Some(Reply::Busy), effect: None };
                return Ok(vec![Ok(busy); group.len()]);
            }
            Err(error) => return Err(nothing_done(&error)),
        };
        let mut effects = self.effects;
        let mut told = Vec::with_capacity(group.len());
        for question in group {
            told.push(judge.marked(&mut page, question, &mut effects)?);
        }
        if self.purged_at.is_none_or(|at| at.elapsed() >= PURGE_EVERY) {
            self.purged_at = Some(Instant::now());
            page.purge(PURGE_MAX).map_err(|error| nothing_done(&error))?;
        }
        let reached = |at: Option<u64>| at.is_some_and(|at| self.effects < at && at <= effects);
        if reached(self.faults.die_before_commit_at) {
            std::process::abort();
        }
        page.commit().map_err(|error| {
            tracing::error!(%error, "a receiver's commit failed");
            Failed::NotKnown(error.to_string())
        })?;
        if reached(self.faults.die_after_commit_at) {
            std::process::abort();
        }
        self.effects = effects;
        Ok(told)
    }
}

fn nothing_done(error: &dyn std::error::Error) -> Failed {
    tracing::error!(%error, "a receiver's transaction was rolled back");
    Failed::NothingDone(error.to_string())
}

/// What one request comes to, inside a page.
struct Judge<'a> {
    retention: Span,
    refused_kinds: &'a BTreeSet<String>,
}

impl Judge<'_> {
    /// The outer error says that the page itself is lost; the inner one concerns this request.
    fn marked<P: Page>(
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
                let (reply, outcome) = self.take(page, delivered)?;
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
                let entry = page.look(source.as_str(), key.as_str()).map_err(InboxError::Rows)?;
                let reply =
                    entry.map(|entry| Stored::of(entry).map_or(Reply::Unfinished, Into::into));
                Ok((reply, false))
            }
        }
    }

    fn take<P: Page>(
        &self,
        page: &mut P,
        delivered: &Delivered,
    ) -> Result<(Reply, &'static str), InboxError<P::Error>> {
        let Delivered { source, key, kind, digest, body, .. } = delivered;
        let (source, key, kind) = (source.as_str(), key.as_str(), kind.as_deref());
        match begin(&mut *page, source, key, *digest, self.retention)? {
            Begun::First(first) if kind.is_some_and(|kind| self.refused_kinds.contains(kind)) => {
                let reason = format!("this receiver refuses {}", kind.unwrap_or_default());
                first.finish_rejected(reason.as_bytes())?;
                Ok((Reply::Rejected(reason.into_bytes()), "refused"))
            }
            Begun::First(mut first) => {
                let job = Job { source, key, kind, body };
                let result = first.rows().job(&job).map_err(InboxError::Rows)?;
                first.finish(&result)?;
                Ok((Reply::Completed(result), DONE))
            }
            Begun::Repeat(stored) => Ok((stored.into(), "repeated")),
            Begun::Unfinished { .. } => Ok((Reply::Unfinished, "unfinished")),
            Begun::Conflict => Ok((Reply::Conflict, "conflict")),
            Begun::Busy => Ok((Reply::Busy, "busy")),
        }
    }
}

/// The outcome of a call that made an effect.
const DONE: &str = "done";
