//! What a destination guarantees, and how this relay paces itself towards it.
//!
//! Guarantees: a [`Terms`] that passes [`Terms::check`] cannot resend a key that the receiver has
//! forgotten. Does not: hold urls, secrets or limits; those are each relay's own.

use serde::{Deserialize, Serialize};

use super::backoff::Pace;
use super::difference::{self, Difference};
use super::habits::{Habits, Meaning, NotThere, is_default};
use super::time::{Micros, Span};
use super::window;

pub use super::window::Idempotent;

/// What makes a command complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// The answer to the send (default for HTTP and in-process handlers).
    Response,
    /// A receipt that the receiver reports later.
    Receipt,
    /// The broker's confirmation (default for brokers; refused for HTTP).
    Accepted,
}

/// What to do with a refusal read from a status, not in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnRefusal {
    /// It ends the command.
    Reject,
    /// It waits for a person as dead.
    Park,
    /// It ends a command whose workflow waits for it, which decides what follows; any other waits
    /// for a person (default).
    ByAsker,
}

/// What a parked command does to those behind it in its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnParked {
    /// They wait (default).
    Block,
    /// They go on.
    Skip,
}

/// How the receiver can be asked about a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asking {
    /// How long after the last lease "not there" counts: longer than a request can live.
    pub quiet: Span,
    /// Questions before a person is asked instead. Default 20.
    pub max_asks: u32,
    /// How the receiver says that it never acted on a key; `None`: by a bare 404, which is believed
    /// after a control question only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_there: Option<NotThere>,
}

/// The default of `max_asks`.
pub const MAX_ASKS: u32 = 20;

impl Asking {
    /// Asking with defaults but for `quiet`, which has none.
    #[must_use]
    pub const fn new(quiet: Span) -> Self {
        Self { quiet, max_asks: MAX_ASKS, not_there: None }
    }
}

/// What a destination guarantees; stored with it, so that verbs and other relays know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contract {
    /// Whether repeats fold into one effect.
    pub idempotent: Idempotent,
    /// How it can be asked, if it can.
    pub ask: Option<Asking>,
    /// What makes a command complete.
    pub completion: Completion,
    /// How long a published command waits for its receipt.
    pub receipt_timeout: Span,
    /// How long one round may last, from its first claim.
    pub give_up_after: Span,
    /// What a refusal read from a status does.
    pub on_refusal: OnRefusal,
    /// What a parked command does to its lane.
    pub on_parked: OnParked,
    /// What the receiver does in its own way.
    #[serde(default, skip_serializing_if = "is_default")]
    pub habits: Habits,
}

/// The default of `give_up_after`: 20 hours.
pub const GIVE_UP_AFTER: Span = Span::from_secs(20 * 3600);

impl Contract {
    /// A contract with all defaults but the one that has none.
    #[must_use]
    pub fn new(idempotent: Idempotent) -> Self {
        Self {
            idempotent,
            ask: None,
            completion: Completion::Response,
            receipt_timeout: GIVE_UP_AFTER.times(1, 10),
            give_up_after: GIVE_UP_AFTER,
            on_refusal: OnRefusal::ByAsker,
            on_parked: OnParked::Block,
            habits: Habits::default(),
        }
    }

    /// The names of what a stored contract says otherwise, such as `receipt_timeout`; empty where
    /// they agree.
    #[must_use]
    pub fn differing(&self, stored: &[u8]) -> Vec<String> {
        self.differences(stored).into_iter().map(|one| one.name).collect()
    }

    /// What a stored contract says otherwise, with both values; empty where they agree.
    #[must_use]
    pub fn differences(&self, stored: &[u8]) -> Vec<Difference> {
        difference::between(self, stored)
    }
}

/// Why terms cannot be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TermsRefused {
    /// Retries would outlast the receiver's memory.
    #[error(
        "give_up_after + lease is {sum} s, but only 95 % of key_ttl, {used} s, may be used: \
         a retry after that could act twice; shorten retry.give_up_after, or raise key_ttl if the \
         receiver really keeps its keys longer"
    )]
    OutlivesKeys {
        /// `give_up_after + lease`, in seconds.
        sum: i64,
        /// 0.95 × `key_ttl`, in seconds.
        used: i64,
    },
    /// A meaning that needs a receiver that can be asked.
    #[error(
        "answers.{status} is \"ask\", but the destination cannot be asked: \
         add ask = {{ url, quiet }}, or let the answer mean \"unknown\""
    )]
    CannotAsk {
        /// The status.
        status: u16,
    },
    /// A value that would stop everything.
    #[error("{what} is zero; give a positive value")]
    Zero {
        /// Which value.
        what: &'static str,
    },
}

/// A contract and this relay's pace towards the destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// What the destination guarantees.
    pub contract: Contract,
    /// How this relay paces itself.
    pub pace: Pace,
}

impl Terms {
    /// Terms with the default pace.
    #[must_use]
    pub fn new(contract: Contract) -> Self {
        Self { contract, pace: Pace::default() }
    }

    /// The same for a command whose workflow waits for it.
    #[must_use]
    pub fn for_workflow(&self) -> Self {
        let mut terms = self.clone();
        if terms.contract.on_refusal == OnRefusal::ByAsker {
            terms.contract.on_refusal = OnRefusal::Reject;
        }
        terms
    }

    /// Whether a resend that starts `now` cannot act twice.
    #[must_use]
    pub fn is_safe_to_repeat(&self, first_sent_at: Option<Micros>, now: Micros) -> bool {
        window::is_inside(&self.contract.idempotent, first_sent_at, now, self.pace.lease)
    }

    /// Checks that the numbers fit together.
    ///
    /// # Errors
    /// [`TermsRefused`] names the numbers and the way out.
    pub fn check(&self) -> Result<(), TermsRefused> {
        let zero = |span: Span| span == Span::ZERO;
        let zeros = [
            ("lease", zero(self.pace.lease)),
            ("retry.initial", zero(self.pace.initial)),
            ("retry.max", zero(self.pace.max)),
            ("retry.max_attempts", self.pace.max_attempts == 0),
            ("retry.give_up_after", zero(self.contract.give_up_after)),
            ("receipt_timeout", zero(self.contract.receipt_timeout)),
            ("ask.max_asks", self.contract.ask.as_ref().is_some_and(|ask| ask.max_asks == 0)),
            ("ask.quiet", self.contract.ask.as_ref().is_some_and(|ask| zero(ask.quiet))),
        ];
        if let Some((what, _)) = zeros.into_iter().find(|(_, zero)| *zero) {
            return Err(TermsRefused::Zero { what });
        }
        let habits = &self.contract.habits;
        let asks = habits.answers.iter().find(|(_, meaning)| **meaning == Meaning::Ask);
        if let (Some((status, _)), None) = (asks, &self.contract.ask) {
            return Err(TermsRefused::CannotAsk { status: *status });
        }
        if let Idempotent::Window { key_ttl } = &self.contract.idempotent {
            let used = key_ttl.times(window::USED.0, window::USED.1);
            let sum = self.contract.give_up_after.plus(self.pace.lease);
            if sum > used {
                let secs = |span: Span| span.as_micros() / 1_000_000;
                return Err(TermsRefused::OutlivesKeys { sum: secs(sum), used: secs(used) });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_asks_needs_a_receiver_that_can_be_asked() {
        let mut terms = Terms::new(Contract::new(Idempotent::Forever));
        terms.contract.habits.answers.insert(500, Meaning::Ask);
        assert_eq!(terms.check(), Err(TermsRefused::CannotAsk { status: 500 }));
        terms.contract.ask = Some(Asking::new(Span::from_secs(60)));
        assert_eq!(terms.check(), Ok(()));
    }

    #[test]
    fn retries_that_outlive_the_keys_are_refused() {
        let hours = |hours: i64| Span::from_secs(hours * 3600);
        let mut terms = Terms::new(Contract::new(Idempotent::Window { key_ttl: hours(24) }));
        assert_eq!(terms.check(), Ok(()));
        terms.contract.give_up_after = hours(23);
        assert!(matches!(terms.check(), Err(TermsRefused::OutlivesKeys { .. })));
        terms.contract.idempotent = Idempotent::Forever;
        assert_eq!(terms.check(), Ok(()));
        terms.pace.max_attempts = 0;
        assert_eq!(terms.check(), Err(TermsRefused::Zero { what: "retry.max_attempts" }));
    }
}
