//! What receivers report later: once, twice, late, out of date, or two things at once.
//!
//! Guarantees: the first thing that a receiver says is true. Does not: fence true reports; only
//! those of older tokens.

use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::{CommandId, Delivery, ReceiptOutcome, Token};
use counterfoil_core::port::Store;
use counterfoil_core::port::store::Reported;

use super::Broken;
use super::judge::Scene;
use super::network::Job;
use super::world::{Event, World};
use super::write::at_once;

/// A report on its way.
#[derive(Debug)]
pub(super) struct Posting {
    id: String,
    outcome: ReceiptOutcome,
    /// It is fenced by an older token.
    token: Option<Token>,
    /// It says otherwise than the true one before it.
    contradicts: bool,
}

impl World<'_> {
    /// A job that was taken on is done.
    pub(super) fn works(&mut self, job: &Job) {
        let Job { site, id, token } = job;
        self.receivers[*site].work(id, self.now_ms);
        self.trace.line(self.now_ms, format_args!("  {id} is done"));
        self.acted(*site, id, *token);
        self.send_receipt(id);
    }

    pub(super) fn send_receipt(&mut self, id: &str) {
        let rates = self.plan.rates.clone();
        if self.fails(rates.receipt_lost) {
            self.coverage.count("receipts lost");
            return;
        }
        let late = self.fails(rates.slow);
        let copies = if self.fails(rates.receipt_twice) { 2 } else { 1 };
        for _ in 0..copies {
            let ms = if late { self.dice.between(0, 60_000) } else { self.dice.delay(2_000) };
            let outcome = ReceiptOutcome::Completed;
            let (id, token, contradicts) = (id.to_owned(), None, false);
            self.later(ms, Event::Post(Posting { id, outcome, token, contradicts }));
        }
    }

    /// At times a worker of an older attempt reports under its old token.
    pub(super) fn report_stale(&mut self, id: &str, token: i64) {
        let older = self.sent.get(id).and_then(|sent| sent.range(..token).next_back().copied());
        let Some(older) = older else { return };
        if !self.fails(self.plan.rates.stale_report) {
            return;
        }
        let completes = self.dice.chance(500);
        let outcome = if completes { ReceiptOutcome::Completed } else { ReceiptOutcome::Rejected };
        let ms = self.dice.delay(20_000);
        let (id, token) = (id.to_owned(), Some(Token::new(older)));
        self.later(ms, Event::Post(Posting { id, outcome, token, contradicts: false }));
    }

    /// A report arrives at the store.
    pub(super) fn posted(&mut self, posting: Posting) {
        let Posting { id, outcome, token, contradicts } = posting;
        let Ok(command_id) = CommandId::new(id.as_str()) else { return };
        // A receiver that says two things is not drawn where a person began a round in between.
        if contradicts && !self.watch.has_ended(&id) {
            return;
        }
        let report = Report {
            outcome,
            result: Some(self.said_of(&id, "done")),
            evidence: Some("the job said so".into()),
            source: "report".into(),
            token,
            equals_earlier: false,
        };
        if contradicts {
            self.watch.contradicted.insert(id.clone());
        }
        let reported = at_once(self.app.report(&command_id, report)).and_then(Result::ok);
        let said = outcome.name();
        self.trace.line(self.now_ms, format_args!("  report {id} {said}: {reported:?}"));
        let Some(reported) = reported else { return };
        let by_person = self.watch.said.is_touched(&id);
        if reported == Reported::Contradiction && by_person {
            self.watch.contradicted.insert(id.clone());
        }
        let n = self.watch.n_of(&id);
        self.judge_app(&|changed, _| Some(changed) == n);
        self.judge_histories();
        let fits = match reported {
            Reported::Recorded => token.is_none() && !contradicts,
            Reported::Repeated => token.is_none(),
            Reported::Contradiction => contradicts || by_person,
            Reported::Refused(_) => token.is_some(),
            Reported::Unknown => false,
        };
        self.coverage.count(match (token, contradicts) {
            (Some(_), _) => "reports of an older token",
            (None, true) => "contradictions",
            (None, false) => "receipts",
        });
        if !fits {
            let what = format!("{id} {said}, token {token:?}: {reported:?}");
            return self.breaks(Broken::new("a true report counts, an older one does not", what));
        }
        if reported != Reported::Contradiction && token.is_none() {
            self.hint();
            if self.fails(self.plan.rates.contradiction) {
                let ms = self.dice.delay(5_000);
                let outcome = ReceiptOutcome::Rejected;
                let token = None;
                self.later(ms, Event::Post(Posting { id, outcome, token, contradicts: true }));
            }
        }
    }

    /// Judges what the user's own process changed.
    pub(super) fn judge_app(&mut self, allowed: &dyn Fn(i64, Option<&Delivery>) -> bool) {
        let store = self.app.clone();
        let Ok(now) = store.now() else { return };
        let scene = Scene {
            store: &store,
            sites: &self.plan.sites,
            receivers: &self.receivers,
            now_ms: self.now_ms,
            now,
            allowed,
        };
        if let Err(broken) = self.watch.written(&scene, &mut self.trace, &mut self.coverage) {
            self.breaks(broken);
        }
    }
}
