//! What lies between a relay and a receiver, and what becomes of a request on its way.
//!
//! Guarantees: a request acts only while it may live by its contract; an answer of a gateway means
//! that the receiver has not seen the request. Does not: carry questions; see `question`.

use counterfoil_core::domain::{Judge, Outcome, ResultBody, Span};
use tokio::sync::oneshot;

use super::plan::Folds;
use super::receiver::Word;
use super::request::Sending;
use super::site::Kind;
use super::spell::Wrong;
use super::world::{Event, World};

/// A request on its way to a receiver.
#[derive(Debug)]
pub(super) struct Flight {
    site: usize,
    id: String,
    token: i64,
    /// `None` for the second of two that the network made of one.
    reply: Option<oneshot::Sender<Outcome>>,
}

impl Flight {
    pub(super) fn is_for(&self, site: usize, id: &str) -> bool {
        self.site == site && self.id == id
    }
}

/// Something that a receiver took on and will do.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) site: usize,
    pub(super) id: String,
    /// Of the attempt that brought it.
    pub(super) token: i64,
}

impl World<'_> {
    /// The first byte of an attempt leaves.
    pub(super) fn leaves(&mut self, slot: usize, pid: u64, sending: Sending) {
        self.coverage.count("sends");
        let token = sending.token.get();
        let id = sending.id.clone();
        self.trace.line(self.now_ms, format_args!("relay {pid} sends {id}, token {token}"));
        if let Err(broken) = self.judge_first_byte(&sending) {
            return self.breaks(broken);
        }
        self.sent.entry(id.clone()).or_default().insert(token);
        self.endanger(slot, pid, 500);
        self.report_stale(&id, token);
        let Sending { site, reply, .. } = sending;
        let is_lost = self.is_stopped_on_the_way(site, &id);
        let outcome = if is_lost { None } else { self.gateway(site, &id) };
        let may_act = match &outcome {
            None | Some(Outcome::Unknown { .. } | Outcome::Ask { .. }) => true,
            Some(_) => false,
        };
        if may_act {
            self.puts_down(site, &id, token);
        }
        if is_lost {
            self.limbo_or_break(site, reply);
            return;
        }
        match outcome {
            Some(outcome) => {
                let ms = self.dice.delay(500);
                self.trace.line(self.now_ms, format_args!("  no way for {id}: {}", outcome.name()));
                self.later(ms, Event::Reply(reply, outcome));
            }
            None => self.flies(site, id, token, reply),
        }
    }

    fn flies(&mut self, site: usize, id: String, token: i64, reply: oneshot::Sender<Outcome>) {
        let life = self.plan.sites[site].life_ms;
        // No sender can keep a receiver without keys from acting on both of two.
        let folds = self.plan.sites[site].folds != Folds::No;
        let slow = self.plan.rates.slow;
        let ms = self.travel(slow, life);
        if folds && self.fails(self.plan.rates.twice) {
            self.coverage.count("requests delivered twice");
            let second = self.travel(500, life);
            let twin = Flight { site, id: id.clone(), token, reply: None };
            self.later(second, Event::Arrive(twin));
        }
        self.later(ms, Event::Arrive(Flight { site, id, token, reply: Some(reply) }));
    }

    /// How long something is on its way.
    pub(super) fn travel(&mut self, slow: u64, longest: u64) -> u64 {
        if self.fails(slow) {
            self.coverage.count("delays");
            self.dice.between(0, longest)
        } else {
            self.dice.delay(200)
        }
    }

    fn is_stopped_on_the_way(&mut self, site: usize, id: &str) -> bool {
        let lost =
            self.plan.sites[site].timeout_ms.is_some() && self.fails(self.plan.rates.request_lost);
        if lost {
            self.coverage.count("requests lost");
            self.trace.line(self.now_ms, format_args!("  the request for {id} is lost"));
        }
        lost
    }

    /// No answer comes: the connection is silent, or breaks.
    fn limbo_or_break(&mut self, site: usize, reply: oneshot::Sender<Outcome>) {
        if self.plan.sites[site].timeout_ms.is_some() && self.dice.chance(600) {
            self.limbo.push(reply);
        }
    }

    /// What a gateway, or nobody at all, says in place of the receiver.
    fn gateway(&mut self, place: usize, id: &str) -> Option<Outcome> {
        if let Some(outcome) = self.spelled(place) {
            return Some(outcome);
        }
        if self.watch.meant(id).is_some_and(|meant| meant.is_poison) {
            self.coverage.count("sends of poison");
            return Some(Outcome::unknown("HTTP 500"));
        }
        let rates = self.plan.rates.clone();
        let is_webhook = self.plan.sites[place].kind == Kind::Webhook;
        let is_asked = self.plan.sites[place].asked.is_some();
        if self.fails(rates.refused) {
            self.coverage.count("receivers that are down");
            return Some(Outcome::not_sent("connection refused"));
        }
        if self.fails(rates.conflict) {
            self.coverage.count("answers of conflict");
            return Some(Outcome::Conflict { reason: "HTTP 422".into() });
        }
        if is_webhook && self.fails(rates.gone) {
            self.coverage.count("answers of gone");
            return Some(Outcome::Gone { reason: "HTTP 410".into() });
        }
        if !self.fails(rates.gateway) {
            return None;
        }
        self.coverage.count("answers of a gateway");
        let misconfigured = |status: &str| {
            let (reason, misconfigured) = (format!("HTTP {status}"), true);
            Outcome::NotSent { reason, retry_after: None, misconfigured }
        };
        let status = |status: &str| {
            let reason = format!("HTTP {status}");
            if is_webhook {
                return Outcome::not_sent(reason);
            }
            Outcome::Rejected { reason, by: Judge::Status }
        };
        let wait = Some(Span::from_secs(3));
        Some(match self.dice.place(9) {
            0 => misconfigured("404"),
            1 => misconfigured("401"),
            2 => misconfigured("403"),
            3 => misconfigured("308"),
            4 => status("400"),
            5 => status("413"),
            6 => {
                let reason = "HTTP 429".into();
                Outcome::NotSent { reason, retry_after: wait, misconfigured: false }
            }
            7 if is_asked => Outcome::Ask { reason: "HTTP 409, said to mean ask".into() },
            7 => Outcome::Unknown { reason: "HTTP 503".into(), retry_after: wait },
            _ => Outcome::unknown("HTTP 502"),
        })
    }

    /// A request arrives at its receiver.
    pub(super) fn arrives(&mut self, flight: Flight) {
        let Flight { site: place, id, token, reply } = flight;
        self.judge_arrival(place, &id, token);
        if self.fails(self.plan.rates.busy) {
            self.coverage.count("answers of busy");
            let retry_after = Some(Span::from_secs(1));
            let busy = Outcome::Unknown { reason: "HTTP 409".into(), retry_after };
            if let Some(reply) = reply {
                self.later(1, Event::Reply(reply, busy));
            }
            return;
        }
        let is_refused = self.watch.meant(&id).is_some_and(|meant| meant.is_refused);
        let before = self.receivers[place].count(&id);
        let word = self.receivers[place].arrive(&id, is_refused, self.now_ms);
        if self.receivers[place].count(&id) > before {
            self.acted(place, &id, token);
        }
        self.trace.line(self.now_ms, format_args!("  {id} arrives: {word:?}"));
        match word {
            Word::TakenOn { begins: true } => {
                let ms = self.dice.delay(8_000);
                self.later(ms, Event::Work(Job { site: place, id: id.clone(), token }));
            }
            Word::TakenOn { begins: false } if self.receivers[place].count(&id) > 0 => {
                self.send_receipt(&id);
            }
            Word::TakenOn { .. } | Word::Done | Word::Refused => {}
        }
        let Some(reply) = reply else { return };
        self.replies(place, word, &id, reply);
    }

    fn replies(&mut self, place: usize, word: Word, id: &str, reply: oneshot::Sender<Outcome>) {
        let rates = self.plan.rates.clone();
        if self.fails(rates.answer_lost) {
            self.coverage.count("answers lost");
            self.trace.line(self.now_ms, format_args!("  the answer for {id} is lost"));
            return self.limbo_or_break(place, reply);
        }
        if self.fails(rates.broken) {
            self.coverage.count("connections broken");
            return;
        }
        let outcome = self.outcome(place, word, id);
        let site = &self.plan.sites[place];
        let longest = 2 * site.timeout_ms.unwrap_or(2 * site.lease_ms);
        let mut ms = self.travel(rates.slow, longest);
        if self.spell(place) == Some(Wrong::Slow) {
            self.coverage.count("answers in a spell: slow");
            ms += longest;
        }
        self.later(ms, Event::Reply(reply, outcome));
    }

    fn outcome(&self, place: usize, word: Word, id: &str) -> Outcome {
        match word {
            Word::Done => {
                let result = ResultBody::whole(self.said_of(id, "done"));
                Outcome::Completed { result, evidence: "HTTP 200".into() }
            }
            Word::TakenOn { .. } => Outcome::Accepted { evidence: "HTTP 202".into() },
            Word::Refused if self.plan.sites[place].kind == Kind::Webhook => {
                Outcome::not_sent("HTTP 400")
            }
            Word::Refused => {
                Outcome::Rejected { reason: self.why_refused(id), by: Judge::Receiver }
            }
        }
    }

    /// What the receiver says of a command, else this word about it.
    pub(super) fn said_of(&self, id: &str, word: &str) -> Vec<u8> {
        let says = self.watch.meant(id).and_then(|meant| meant.says.clone());
        says.unwrap_or_else(|| format!("{word} {id}").into_bytes())
    }

    /// Why the receiver refuses a command.
    pub(super) fn why_refused(&self, id: &str) -> String {
        let says = self.watch.meant(id).and_then(|meant| meant.says.as_deref());
        says.map_or_else(|| "refused".into(), |says| String::from_utf8_lossy(says).into_owned())
    }
}
