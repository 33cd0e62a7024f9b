//! The contract of a destination as it is configured, and this relay's pace towards it.
//!
//! Guarantees: the numbers fit together, and the key without a default is asked for with an
//! explanation. Does not: compare with the stored contract; a relay's start does.

use counterfoil_core::domain::{
    Asking, Completion, Contract, Idempotent, OnParked, OnRefusal, Pace, Span, Terms,
};

use super::RelaySettings;
use super::destination::{Reading, Way};
use super::duration;
use super::file::Value;
use super::idempotent::{MEANINGS, Repeats};
use crate::exit::Failure;

impl Reading<'_> {
    /// The contract, and this relay's pace.
    pub(super) fn terms(
        &self,
        relay: &RelaySettings,
        asking: Option<Asking>,
    ) -> Result<Terms, Failure> {
        let (table, retry) = (self.table(), &self.table().retry);
        let mut contract = Contract::new(self.idempotent()?);
        let default = Pace::default();
        let span = |key, value: &Option<Value>, default| self.span(key, value.as_ref(), default);
        contract.give_up_after =
            span("retry.give_up_after", &retry.give_up_after, contract.give_up_after)?;
        // A lost receipt leaves time for a resend.
        let tenth = contract.give_up_after.times(1, 10);
        contract.receipt_timeout = span("receipt_timeout", &table.receipt_timeout, tenth)?;
        contract.completion = self.completion()?;
        contract.on_refusal = self.on_refusal()?;
        contract.on_parked = self.on_parked()?;
        contract.habits = self.habits(asking.as_ref(), contract.completion)?;
        contract.ask = asking;
        let attempts = retry.max_attempts.as_ref();
        let pace = Pace {
            initial: span("retry.initial", &retry.initial, default.initial)?,
            max: span("retry.max", &retry.max, default.max)?,
            max_attempts: attempts.map_or(default.max_attempts, |value| *value.get_ref()),
            lease: relay.lease,
        };
        if let Some(value) = retry.initial.as_ref().filter(|_| pace.initial > pace.max) {
            let why = format!(
                "the first wait is longer than retry.max, {}, the longest one: shorten it, or \
                 lengthen retry.max",
                duration::show(pace.max)
            );
            return Err(self.refuse_value("retry.initial", value, &why));
        }
        if let Some(value) = retry.max.as_ref().filter(|_| pace.initial > pace.max) {
            let why = format!(
                "the longest wait is shorter than retry.initial, {}, the first one: lengthen it, \
                 or shorten retry.initial",
                duration::show(pace.initial)
            );
            return Err(self.refuse_value("retry.max", value, &why));
        }
        let terms = Terms { contract, pace };
        terms.check().map_err(|why| self.refuse(&why.to_string()))?;
        Ok(terms)
    }

    fn idempotent(&self) -> Result<Idempotent, Failure> {
        let explained = |failure: Failure| MEANINGS.into_iter().fold(failure, Failure::help);
        let Some(value) = &self.table().idempotent else {
            if matches!(self.way()?, Way::Log { .. }) {
                // A line that stands there twice is no second effect.
                return Ok(Idempotent::Forever);
            }
            return Err(explained(self.refuse(
                "`idempotent` is missing: say what the receiver does with a key that it has seen",
            )));
        };
        match value.get_ref() {
            Repeats::Flag(false) => Ok(Idempotent::No),
            Repeats::Flag(true) => Err(explained(self.page.refuse(
                &value.span(),
                "`idempotent = true` says too little: for how long does it keep its keys?",
            ))),
            Repeats::Window(ttl) => {
                let key_ttl = self.span("idempotent.key_ttl", Some(ttl), Span::ZERO)?;
                Ok(Idempotent::Window { key_ttl })
            }
            Repeats::Word(word) => match word.read() {
                Ok(word) if word == "forever" => Ok(Idempotent::Forever),
                Ok(_) => Err(explained(
                    self.page.refuse(&value.span(), "`idempotent` has no such value"),
                )),
                Err(why) => Err(self.page.refuse(&value.span(), &why)),
            },
        }
    }

    fn completion(&self) -> Result<Completion, Failure> {
        let Some(value) = &self.table().completion else { return Ok(Completion::Response) };
        match self.text("completion", value)?.as_str() {
            "response" => Ok(Completion::Response),
            "receipt" => Ok(Completion::Receipt),
            "accepted" => Err(self.refuse_value(
                "completion",
                value,
                "\"accepted\" is for brokers: over http a 202 says only that somebody may do it; \
                 write \"response\" or \"receipt\"",
            )),
            _ => Err(self.refuse_value(
                "completion",
                value,
                "write \"response\" (the answer completes it) or \"receipt\" (a later report does)",
            )),
        }
    }

    fn on_parked(&self) -> Result<OnParked, Failure> {
        let Some(value) = &self.table().on_parked else { return Ok(OnParked::Block) };
        match self.text("on_parked", value)?.as_str() {
            "block" => Ok(OnParked::Block),
            "skip" => Ok(OnParked::Skip),
            _ => Err(self.refuse_value(
                "on_parked",
                value,
                "write \"block\" (those behind a parked command of their lane wait) or \"skip\" \
                 (they go on, and it comes later)",
            )),
        }
    }

    fn on_refusal(&self) -> Result<OnRefusal, Failure> {
        let Some(value) = &self.table().on_refusal else {
            return Ok(OnRefusal::ByAsker);
        };
        match self.text("on_refusal", value)?.as_str() {
            "park" => Ok(OnRefusal::Park),
            "reject" => Ok(OnRefusal::Reject),
            _ => Err(self.refuse_value(
                "on_refusal",
                value,
                "write \"park\" (a refused command waits for a person) or \"reject\" (it ends)",
            )),
        }
    }
}
