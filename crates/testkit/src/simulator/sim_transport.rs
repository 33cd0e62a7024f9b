//! The way from one process to one receiver: the gate, then a request into the world.
//!
//! Guarantees: one send is one request; nothing leaves before the gate is passed. Does not: know
//! what becomes of it; the network does.

use std::sync::Arc;
use std::time::Duration;

use counterfoil_core::domain::{Answer, Outcome, Span};
use counterfoil_core::port::{Attempt, BoxFuture, Question, Transport};
use tokio::sync::oneshot;

use super::plan::Site;
use super::request::{Asking, Mailbox, Request, Sending};

/// A transport of one process.
pub(super) struct SimTransport {
    pub(super) place: usize,
    pub(super) site: Arc<Site>,
    pub(super) mailbox: Arc<Mailbox>,
}

/// An attempt that is under way.
struct UnderWay<'a>(&'a SimTransport);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.mailbox.gauge(|gauges| gauges.ends(self.0.place));
    }
}

impl SimTransport {
    /// An attempt or a question is under way until what this gives is dropped.
    fn under_way(&self) -> UnderWay<'_> {
        self.mailbox.gauge(|gauges| gauges.begins(self.place, self.site.concurrency));
        UnderWay(self)
    }

    async fn play(&self, attempt: &Attempt) -> Outcome {
        let _under_way = self.under_way();
        if let Some(rate) = self.site.rate {
            let now_ms = self.mailbox.clock.now_ms();
            self.mailbox.gauge(|gauges| gauges.sends(self.place, rate, now_ms));
        }
        if self.mailbox.fails(self.site.slow_start) {
            let longest = self.site.lease_ms;
            pause(self.mailbox.draw(|dice| dice.between(1, longest))).await;
        }
        if attempt.gate.begin().is_err() {
            return Outcome::not_sent("withdrawn before the first byte");
        }
        // Between gate and first byte no program can look again; only receivers that fold keys
        // bear what a process does that is stopped right there.
        if self.site.has_gap && self.mailbox.fails(200) {
            pause(self.mailbox.draw(|dice| dice.between(1, 20))).await;
        }
        let (reply, hear) = oneshot::channel();
        self.mailbox.post(Request::Send(Sending {
            site: self.place,
            id: attempt.command.command_id.to_string(),
            body: attempt.command.body.clone(),
            token: attempt.token,
            not_before: attempt.command.not_before,
            began: attempt.now,
            reply,
        }));
        hear.await.unwrap_or_else(|_| Outcome::unknown("the connection broke"))
    }

    async fn question(&self, question: &Question) -> Answer {
        let _under_way = self.under_way();
        let (reply, hear) = oneshot::channel();
        let id = question.command_id.to_string();
        self.mailbox.post(Request::Ask(Asking { site: self.place, id, reply }));
        let broke = |_| Answer::Unclear { reason: "the connection broke".into() };
        hear.await.unwrap_or_else(broke)
    }
}

async fn pause(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

impl Transport for SimTransport {
    fn send<'a>(&'a self, attempt: &'a Attempt) -> BoxFuture<'a, Outcome> {
        Box::pin(self.play(attempt))
    }

    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        Box::pin(self.question(question))
    }

    fn request_timeout(&self) -> Option<Span> {
        self.site.timeout_ms.map(|ms| Span::from_millis(i64::try_from(ms).unwrap_or(i64::MAX)))
    }
}
