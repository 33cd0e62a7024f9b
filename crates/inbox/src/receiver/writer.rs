//! The one thread that writes a receiver's book.
//!
//! Guarantees: every answer is given after COMMIT, so what is answered is on the disk; requests
//! that came together share one transaction, each behind a savepoint of its own, so that one that
//! fails takes back only itself. Does not: run on a thread of the async runtime, since SQLite's
//! busy handler blocks it.

use std::time::Duration;

use counterfoil_core::domain::{CommandId, Digest};
use counterfoil_core::port::{Book, InboxRows as _, Page};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{mpsc, oneshot};

use super::judge::Judge;
use super::options::{Faults, Options};
use crate::http::Reply;
use crate::source::Source;

/// Requests in one transaction.
const GROUP_MAX: usize = 256;
/// Bytes of bodies after which a group takes no further request.
const GROUP_BYTES: usize = 4 * 1024 * 1024;
/// Expired keys that one transaction removes.
const PURGE_MAX: usize = 500;
/// How long the database is left alone between two of these, so that other programs get at it.
const PURGE_PAUSE: Duration = Duration::from_millis(1);

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

impl Question {
    fn bytes(&self) -> usize {
        match self {
            Self::Take(delivered) => delivered.body.len(),
            Self::Look(..) => 0,
        }
    }
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

/// What the writer is sent.
pub(super) enum Asked {
    /// A request, and who waits for its answer.
    Request(Question, oneshot::Sender<Result<Told, Failed>>),
    /// Remove the keys whose retention is over.
    Purge,
}

type Group = Vec<(Question, oneshot::Sender<Result<Told, Failed>>)>;

/// The thread's state.
pub(super) struct Writer<B: Book> {
    book: B,
    asked: mpsc::Receiver<Asked>,
    judge: Judge,
    faults: Faults,
    /// Effects committed since the start.
    effects: u64,
    /// Whether expired keys are left to remove.
    is_purging: bool,
}

impl<B: Book> Writer<B> {
    pub(super) fn new(book: B, asked: mpsc::Receiver<Asked>, options: &Options) -> Self {
        Self {
            book,
            asked,
            judge: Judge::new(options),
            faults: options.faults.clone(),
            effects: 0,
            is_purging: false,
        }
    }

    /// Works until nobody can ask any more.
    pub(super) fn run(mut self) {
        while let Some(group) = self.group() {
            if !group.is_empty() {
                self.serve(group);
            }
            // After the answers: nobody waits for it, and nobody fails with it.
            if self.is_purging {
                self.purge();
            }
        }
    }

    fn serve(&mut self, group: Group) {
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

    /// What came in: waits for the first, unless there is work without it. `None` at the end.
    fn group(&mut self) -> Option<Group> {
        let mut group = Group::new();
        let mut bytes = 0;
        let mut next = if self.is_purging {
            match self.asked.try_recv() {
                Ok(asked) => Some(asked),
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Disconnected) => return None,
            }
        } else {
            Some(self.asked.blocking_recv()?)
        };
        while let Some(asked) = next.take() {
            match asked {
                Asked::Purge => self.is_purging = true,
                Asked::Request(question, answer) => {
                    bytes += question.bytes();
                    group.push((question, answer));
                }
            }
            if group.len() < GROUP_MAX && bytes < GROUP_BYTES {
                next = self.asked.try_recv().ok();
            }
        }
        Some(group)
    }

    /// One batch, in a transaction of its own.
    fn purge(&mut self) {
        let purged = self.book.page().and_then(|mut page| {
            let purged = page.purge(PURGE_MAX)?;
            page.commit()?;
            Ok(purged)
        });
        self.is_purging = match purged {
            Ok(purged) => purged >= PURGE_MAX,
            Err(error) => {
                tracing::warn!(%error, "expired keys were not removed; they are next time");
                false
            }
        };
        if self.is_purging {
            std::thread::sleep(PURGE_PAUSE);
        }
    }

    /// One transaction; the error is for all of the group.
    fn write(&mut self, group: &[Question]) -> Result<Vec<Result<Told, Failed>>, Failed> {
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
            told.push(self.judge.marked(&mut page, question, &mut effects)?);
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

/// The refusal of requests whose transaction was rolled back.
pub(super) fn nothing_done(error: &dyn std::error::Error) -> Failed {
    tracing::error!(%error, "a receiver's transaction was rolled back");
    Failed::NothingDone(error.to_string())
}
