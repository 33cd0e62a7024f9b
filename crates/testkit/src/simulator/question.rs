//! Questions on their way to a receiver, and its answers.
//!
//! Guarantees: who answers has looked into its book; an address that is wrong is wrong from the
//! beginning to the end. Does not: make a single "not there" where the receiver would answer
//! otherwise; no control question could tell.

use counterfoil_core::domain::{Answer, ResultBody};
use tokio::sync::oneshot;

use super::Broken;
use super::receiver::Told;
use super::request::Asking;
use super::world::{Event, World};

/// A question on its way to a receiver.
#[derive(Debug)]
pub(super) struct Inquiry {
    site: usize,
    id: String,
    reply: oneshot::Sender<Answer>,
}

impl World<'_> {
    /// A question leaves.
    pub(super) fn asks(&mut self, slot: usize, pid: u64, asking: Asking) {
        self.coverage.count("questions");
        let Asking { site: place, id, reply } = asking;
        self.trace.line(self.now_ms, format_args!("relay {pid} asks about {id}"));
        if self.watch.has_ended(&id) {
            self.coverage.count("control questions");
        }
        let site = &self.plan.sites[place];
        let (Some(asked), life) = (site.asked, site.life_ms) else {
            let what = format!("{id} at {:?}", site.kind);
            return self.breaks(Broken::new("only who can be asked is asked", what));
        };
        self.endanger(slot, pid, 500);
        let rates = self.plan.rates.clone();
        if self.fails(rates.request_lost) {
            if self.dice.chance(600) {
                self.limbo_told.push(reply);
            }
            return;
        }
        let ms = self.travel(rates.slow, life);
        if asked.is_misrouted {
            self.coverage.count("questions to a wrong address");
            let answer = if asked.in_words {
                Answer::Unclear { reason: "HTTP 404 without the words".into() }
            } else {
                Answer::NotThere { believed: false, reason: "HTTP 404".into() }
            };
            return self.later(ms, Event::Tell(reply, answer));
        }
        if self.fails(rates.gateway) {
            let answer = Answer::Unclear { reason: "HTTP 502".into() };
            return self.later(ms, Event::Tell(reply, answer));
        }
        self.later(ms, Event::Inquire(Inquiry { site: place, id, reply }));
    }

    /// A question arrives at its receiver.
    pub(super) fn inquired(&mut self, inquiry: Inquiry) {
        let Inquiry { site: place, id, reply } = inquiry;
        let told = self.receivers[place].tell(&id);
        self.trace.line(self.now_ms, format_args!("  asked about {id}: {told:?}"));
        let believed = self.plan.sites[place].asked.is_some_and(|asked| asked.in_words);
        let answer = match told {
            Told::Done => Answer::Done {
                result: ResultBody::whole(self.said_of(&id, "done")),
                evidence: "HTTP 200".into(),
            },
            Told::Refused => Answer::Refused { reason: self.why_refused(&id) },
            Told::InProgress => Answer::InProgress { retry_after: None },
            Told::NotThere => Answer::NotThere { believed, reason: "no such key".into() },
        };
        if self.fails(self.plan.rates.answer_lost) {
            self.limbo_told.push(reply);
            return;
        }
        let slow = self.plan.rates.slow;
        let ms = self.travel(slow, 5_000);
        self.later(ms, Event::Tell(reply, answer));
    }
}
