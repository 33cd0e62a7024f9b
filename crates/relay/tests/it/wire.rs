//! A destination whose answers are a function of the command and of the time.
//!
//! Guarantees: it notes when each send began and how many were under way at once. Does not: act,
//! or end a send before its time; a request time-out is the relay's affair.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use counterfoil_core::domain::{Answer, Outcome, ResultBody, Span};
use counterfoil_core::port::{Attempt, BoxFuture, Question, Transport};
use tokio::time::Instant;

/// What a send comes to, and after how long.
pub(crate) type Said = (Duration, Outcome);

type Say = Box<dyn Fn(&str, Duration) -> Said + Send + Sync>;

/// A send as it began.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) id: String,
    /// Since the wire was made.
    pub(crate) at: Duration,
}

#[derive(Default)]
struct Book {
    sends: Vec<Sent>,
    questions: Vec<Sent>,
    now: usize,
    most: usize,
}

/// The destination.
pub(crate) struct Wire {
    say: Say,
    began: Instant,
    timeout: Option<Span>,
    book: Mutex<Book>,
}

impl Wire {
    /// One that says what `say` makes of the command's id and of the time since now.
    pub(crate) fn new(say: impl Fn(&str, Duration) -> Said + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self::with(Some(Span::from_secs(10)), say))
    }

    /// As a handler in this process: nothing ends its sends.
    pub(crate) fn in_process(
        say: impl Fn(&str, Duration) -> Said + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self::with(None, say))
    }

    fn with(
        timeout: Option<Span>,
        say: impl Fn(&str, Duration) -> Said + Send + Sync + 'static,
    ) -> Self {
        Self { say: Box::new(say), began: Instant::now(), timeout, book: Mutex::default() }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap()
    }

    /// All sends, in the order they began.
    pub(crate) fn sends(&self) -> Vec<Sent> {
        self.book().sends.clone()
    }

    /// All questions.
    pub(crate) fn questions(&self) -> Vec<Sent> {
        self.book().questions.clone()
    }

    /// The sends between two times, by id.
    pub(crate) fn between(&self, from: f64, to: f64) -> Vec<String> {
        let inside = |send: &Sent| (from..to).contains(&send.at.as_secs_f64());
        self.sends().into_iter().filter(inside).map(|send| send.id).collect()
    }

    /// The most that were under way at once.
    pub(crate) fn most(&self) -> usize {
        self.book().most
    }

    /// The most that began in any span of a length.
    pub(crate) fn most_within(&self, span: Duration) -> usize {
        let sends = self.sends();
        let from = |first: usize| {
            let inside = |send: &&Sent| send.at < sends[first].at + span;
            sends[first..].iter().take_while(inside).count()
        };
        (0..sends.len()).map(from).max().unwrap_or(0)
    }
}

impl Transport for Wire {
    fn send<'a>(&'a self, attempt: &'a Attempt) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            if attempt.gate.begin().is_err() {
                return Outcome::not_sent("withdrawn");
            }
            let (id, at) = (attempt.command.command_id.to_string(), self.began.elapsed());
            let (wait, outcome) = (self.say)(&id, at);
            {
                let mut book = self.book();
                book.sends.push(Sent { id, at });
                book.now += 1;
                book.most = book.most.max(book.now);
            }
            tokio::time::sleep(wait).await;
            self.book().now -= 1;
            outcome
        })
    }

    /// It says of no command that it is there.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        let (id, at) = (question.command_id.to_string(), self.began.elapsed());
        self.book().questions.push(Sent { id, at });
        Box::pin(async { Answer::NotThere { believed: true, reason: "no such key".into() } })
    }

    fn request_timeout(&self) -> Option<Span> {
        self.timeout
    }
}

/// It is done after so many milliseconds.
pub(crate) fn done(millis: u64) -> Said {
    let result = ResultBody::default();
    (Duration::from_millis(millis), Outcome::Completed { result, evidence: "HTTP 200".into() })
}

/// Nothing listens.
pub(crate) fn down() -> Said {
    (Duration::from_millis(1), Outcome::not_sent("connection refused"))
}

/// The address is wrong.
pub(crate) fn not_found() -> Said {
    let (reason, retry_after, misconfigured) = ("HTTP 404".into(), None, true);
    (Duration::from_millis(1), Outcome::NotSent { reason, retry_after, misconfigured })
}

/// Too much to do.
pub(crate) fn busy() -> Said {
    let (reason, retry_after) = ("HTTP 429".into(), None);
    (Duration::from_millis(1), Outcome::Busy { reason, retry_after })
}
