//! A transport whose process dies at a chosen point.
//!
//! Guarantees: what is after the point never runs; the relay hears nothing of the attempt. Does
//! not: end the relay; whoever runs it does when it hears of the death.

use std::future::{pending, poll_fn};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use counterfoil_core::domain::{Answer, CommandId, Outcome, Span};
use counterfoil_core::port::{Attempt, BoxFuture, Notice, Question, Transport};
use tokio::sync::Notify;

use super::crash_point::{CrashPoint, Strike};

/// What is known of a run: how many attempts there were, and whether the crash has come.
#[derive(Default)]
pub(super) struct Life {
    strike: Option<Strike>,
    /// The process dies for real.
    aborts: bool,
    seen: Mutex<Seen>,
    is_dead: AtomicBool,
    death: Notify,
}

#[derive(Default)]
struct Seen {
    /// How often each attempt waited.
    waits: Vec<u32>,
    /// The crash has come.
    has_struck: bool,
    /// The crash comes when this attempt is settled.
    at_settle_of: Option<(CommandId, u32)>,
}

impl Life {
    pub(super) fn new(strike: Option<Strike>) -> Self {
        Self { strike, ..Self::default() }
    }

    /// A life that ends with its process.
    pub(super) fn aborting(strike: Strike) -> Self {
        Self { aborts: true, ..Self::new(Some(strike)) }
    }

    pub(super) const fn strike(&self) -> Option<Strike> {
        self.strike
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often each attempt so far waited.
    pub(super) fn waits(&self) -> Vec<u32> {
        self.seen().waits.clone()
    }

    pub(super) fn has_struck(&self) -> bool {
        self.seen().has_struck
    }

    /// Ready when the process has died.
    pub(super) async fn died(&self) {
        while !self.is_dead() {
            self.death.notified().await;
        }
    }

    /// A new process begins; the crash comes once.
    pub(super) fn revive(&self) {
        self.is_dead.store(false, Ordering::Release);
    }

    /// The relay's task hears of a death only in its turn: until then nothing else goes on.
    fn is_dead(&self) -> bool {
        self.is_dead.load(Ordering::Acquire)
    }

    fn die(&self) {
        if self.aborts {
            std::process::abort();
        }
        self.seen().has_struck = true;
        self.is_dead.store(true, Ordering::Release);
        self.death.notify_one();
    }

    /// The settle of the chosen attempt is committed.
    pub(super) fn hear(&self, notice: &Notice) {
        let Notice::Settled { command, attempt, .. } = notice else { return };
        let chosen = self.seen().at_settle_of.take_if(|it| it.0 == *command && it.1 == *attempt);
        if chosen.is_some() {
            self.die();
        }
    }

    /// Where the attempt that begins is to be cut, and which it is.
    fn begin(&self) -> (usize, Option<CrashPoint>) {
        let mut seen = self.seen();
        seen.waits.push(0);
        let number = seen.waits.len();
        let is_chosen = |strike: &Strike| strike.attempt as usize == number && !seen.has_struck;
        let point = self.strike.filter(is_chosen).map(|strike| strike.point);
        (number - 1, point)
    }
}

/// A transport that dies with its process.
pub(super) struct Fragile {
    pub(super) inner: Arc<dyn Transport>,
    pub(super) life: Arc<Life>,
}

impl Fragile {
    async fn play(&self, attempt: &Attempt) -> Outcome {
        if self.life.is_dead() {
            return pending().await;
        }
        let (place, point) = self.life.begin();
        if point == Some(CrashPoint::BeforeHandler) {
            return self.die().await;
        }
        let mut sending = self.inner.send(attempt);
        let outcome = poll_fn(|cx| {
            if self.life.is_dead() {
                return Poll::Pending;
            }
            let polled = sending.as_mut().poll(cx);
            let Poll::Pending = polled else { return polled.map(Some) };
            let mut seen = self.life.seen();
            seen.waits[place] += 1;
            let is_here = point == Some(CrashPoint::AtWait(seen.waits[place]));
            if is_here { Poll::Ready(None) } else { Poll::Pending }
        });
        let Some(outcome) = outcome.await else { return self.die().await };
        match point {
            Some(CrashPoint::AfterHandler) => self.die().await,
            Some(CrashPoint::AfterSettle) => {
                let settled = (attempt.command.command_id.clone(), attempt.number);
                self.life.seen().at_settle_of = Some(settled);
                outcome
            }
            _ => outcome,
        }
    }

    /// The end of the process: nothing is after it.
    async fn die(&self) -> Outcome {
        self.life.die();
        pending().await
    }
}

impl Transport for Fragile {
    fn send<'a>(&'a self, attempt: &'a Attempt) -> BoxFuture<'a, Outcome> {
        Box::pin(self.play(attempt))
    }

    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        self.inner.ask(question)
    }

    fn request_timeout(&self) -> Option<Span> {
        self.inner.request_timeout()
    }
}
