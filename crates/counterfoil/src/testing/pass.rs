//! One relay, run until nothing is due at one destination.
//!
//! Guarantees: one attempt at a time, the oldest due first; ends as soon as nothing is due, also
//! where a retry is due later. Does not: let time pass.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use counterfoil_core::domain::{Answer, Outcome, Span};
use counterfoil_core::port::{Attempt, BoxFuture, Notice, Observer, Question, Store, Transport};
use counterfoil_relay::{Limits, Options, Relay, RelayError, Served};
use tokio::sync::Notify;

use super::delivered::Delivered;

/// Hears the notices of a pass.
pub(super) type Hook = Arc<dyn Fn(&Notice) + Send + Sync>;

/// What all passes of one delivery share.
#[derive(Clone)]
pub(super) struct Book(Arc<Mutex<Pages>>);

struct Pages {
    delivered: Delivered,
    /// The attempt that is under way.
    current: Option<String>,
    attempts_max: usize,
    hook: Option<Hook>,
}

impl Book {
    pub(super) fn new(attempts_max: usize, hook: Option<Hook>) -> Self {
        let delivered = Delivered::default();
        Self(Arc::new(Mutex::new(Pages { delivered, current: None, attempts_max, hook })))
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How much has happened so far.
    pub(super) fn len(&self) -> usize {
        let pages = self.pages();
        pages.delivered.tries.len() + pages.delivered.expired.len()
    }

    pub(super) fn is_full(&self) -> bool {
        let pages = self.pages();
        pages.delivered.tries.len() >= pages.attempts_max
    }

    /// The attempt that is under way, for people.
    pub(super) fn current(&self) -> String {
        self.pages().current.clone().unwrap_or_else(|| "no attempt".into())
    }

    pub(super) fn take(&self) -> Delivered {
        std::mem::take(&mut self.pages().delivered)
    }
}

/// Runs one relay of one destination.
pub(super) async fn pass<S: Store>(
    store: S,
    served: &Served,
    book: &Book,
    seed: u64,
) -> Result<(), RelayError> {
    let transport = Named { inner: Arc::clone(&served.transport), book: book.clone() };
    let mut served = served.clone().limits(Limits::default());
    served.transport = Arc::new(transport);
    let stop = Arc::new(Notify::new());
    let observer = Ear { book: book.clone(), stop: Arc::clone(&stop) };
    let options =
        Options::default().workers(1).owner("deliver_all_inline").until_idle(true).seed(seed);
    let relay = Relay::new(store, vec![served], options, observer);
    Box::pin(relay.run(async move { stop.notified().await })).await.map(drop)
}

/// Writes down what is told, and says when it is enough.
struct Ear {
    book: Book,
    stop: Arc<Notify>,
}

impl Observer for Ear {
    fn notice(&self, notice: &Notice) {
        let hook = {
            let mut pages = self.book.pages();
            pages.delivered.hear(notice);
            pages.hook.clone()
        };
        if let Some(hook) = hook {
            hook(notice);
        }
        let is_enough = match notice {
            // A fresh relay has a fresh breaker: a test means each attempt that is due.
            Notice::Idle { .. } | Notice::BreakerOpened { .. } => true,
            Notice::Settled { .. } => self.book.is_full(),
            _ => false,
        };
        if is_enough {
            self.stop.notify_one();
        }
    }
}

/// Notes which attempt is under way.
struct Named {
    inner: Arc<dyn Transport>,
    book: Book,
}

impl Transport for Named {
    fn send<'a>(&'a self, attempt: &'a Attempt) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let (command, number) = (&attempt.command, attempt.number);
            let (id, destination) = (&command.command_id, &command.destination);
            self.book.pages().current = Some(format!("attempt {number} at {id} to {destination}"));
            let outcome = self.inner.send(attempt).await;
            self.book.pages().current = None;
            outcome
        })
    }

    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        self.inner.ask(question)
    }

    fn request_timeout(&self) -> Option<Span> {
        self.inner.request_timeout()
    }
}
