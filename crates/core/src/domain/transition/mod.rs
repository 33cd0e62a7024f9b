//! The state machine: one total function that answers every pair of position and input.
//!
//! Guarantees: every pair is applied, ignored with a reason, or refused with a reason; only the
//! newest token changes a delivery; a receipt ends a command from every state that has not ended.
//! Does not: persist; stores write what it says, production, simulator and checker alike.

mod due;
mod report;
mod settle;
mod verb;

use super::backoff::Seed;
use super::contract::Terms;
use super::delivery::Delivery;
use super::lease::Token;
use super::outcome::{Answer, Outcome};
use super::receipt::{Receipt, ReceiptOutcome};
use super::time::Micros;

/// Where a command stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    /// Not ended.
    Open(Delivery),
    /// Ended by its newest receipt.
    Ended(Receipt),
}

/// A receiver's report, however it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// `Completed` or `Rejected`.
    pub outcome: ReceiptOutcome,
    /// The receiver's result.
    pub result: Option<Vec<u8>>,
    /// By what it is known.
    pub evidence: Option<String>,
    /// Who says so.
    pub source: String,
    /// Fences the report: it counts only while this is the newest token of an open command.
    pub token: Option<Token>,
    /// It equals the receipt of an earlier round in outcome, result and evidence.
    pub equals_earlier: bool,
}

/// What a person found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was done.
    Completed {
        /// The result.
        result: Option<Vec<u8>>,
    },
    /// It was refused.
    Rejected,
    /// It was not done: the doubt is cleared.
    NotDone,
}

/// What can happen to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Input {
    /// A relay looks at a due delivery: a claim, a takeover, or a time-out.
    Due {
        /// Who claims.
        owner: String,
        /// The command's expiry.
        expires_at: Option<Micros>,
        /// Jitter.
        seed: Seed,
    },
    /// An attempt ended.
    Settled {
        /// The attempt's token.
        token: Token,
        /// The attempt's round.
        round: u32,
        /// What the receipt of that round says, where one stands: a redelivery began since.
        ended_as: Option<ReceiptOutcome>,
        /// What was learned.
        outcome: Outcome,
        /// Whether it counts as an attempt of its round; a probe of a breaker does not.
        burns: bool,
        /// Jitter.
        seed: Seed,
    },
    /// A question ended.
    Answered {
        /// The question's token.
        token: Token,
        /// What was learned.
        answer: Answer,
        /// Jitter.
        seed: Seed,
    },
    /// An attempt or question was never begun: nothing left this process.
    HandedBack {
        /// Its token.
        token: Token,
    },
    /// A handler in this process is still at work.
    Renewed {
        /// Its token.
        token: Token,
    },
    /// A receiver reports.
    Reported(Report),
    /// The row cannot be read or breaks a limit: it parks itself alone.
    Unreadable {
        /// What is wrong with it.
        reason: String,
    },
    /// The sweep looks for pending commands past their expiry.
    Swept {
        /// The command's expiry.
        expires_at: Micros,
    },
    /// A person wants a parked command tried again.
    Retry {
        /// It may act twice, and the person says so.
        may_act_twice: bool,
        /// The command's expiry.
        expires_at: Option<Micros>,
    },
    /// A person says what became of it.
    Resolve {
        /// What became of it.
        verdict: Verdict,
        /// By what it is known.
        evidence: String,
        /// Who says so.
        actor: String,
    },
    /// A person withdraws it.
    Cancel {
        /// Who.
        actor: String,
        /// Why.
        reason: String,
    },
    /// A person wants an ended command delivered again.
    Redeliver {
        /// It may act twice, and the person says so.
        may_act_twice: bool,
        /// The command's expiry.
        expires_at: Option<Micros>,
    },
    /// The store was restored from a backup taken at that time.
    Restored {
        /// When the backup was taken.
        at: Micros,
    },
}

/// Why an input changed nothing, or is not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// Its time has not come, or no machine owns it.
    #[error("not due")]
    NotDue,
    /// The lease went to another attempt.
    #[error("the token is not the newest")]
    StaleToken,
    /// It has ended.
    #[error("it has ended; `redeliver` sends an ended command again")]
    Ended,
    /// It has not ended.
    #[error("it has not ended yet; `show` says what comes next")]
    NotEnded,
    /// The same was said before.
    #[error("it stands so already")]
    Repeated,
    /// Only parked commands are tried again.
    #[error("it is not parked; `show` says what it waits for")]
    NotParked,
    /// An attempt may have acted, or did, and the receiver may not know its key any more.
    #[error(
        "a repeat could act twice: find out at the receiver first, then `resolve` what is in \
         doubt, or say --may-act-twice with a --reason"
    )]
    MayActTwice,
    /// It is being sent or asked about.
    #[error("it is being sent or asked about; wait until its lease ends")]
    InFlight,
    /// It may have acted.
    #[error("it is in doubt; `resolve` it instead")]
    InDoubt,
    /// Pending and not in doubt: nothing to resolve.
    #[error("it was never sent, so there is nothing to resolve; `cancel` withdraws it")]
    NeverSent,
    /// Past its expiry.
    #[error("it is past its expiry; a new intent needs a new id")]
    Expired,
    /// What was erased cannot be sent.
    #[error("its content was erased, so there is nothing left to send")]
    Erased,
    /// A published command cannot be withdrawn.
    #[error("it was accepted by its receiver; `resolve` it instead")]
    Published,
    /// A receiver reports only that it did or that it refused.
    #[error("a report says completed or rejected, nothing else")]
    NotReportable,
}

/// What an attempt row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A send.
    Send,
    /// A question.
    Ask,
    /// A send that ended after its lease had gone to another: recorded, changes nothing.
    Late,
    /// A published command whose receipt did not come.
    Receipt,
}

impl Purpose {
    /// The name, as stored and shown.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Ask => "ask",
            Self::Late => "late",
            Self::Receipt => "receipt",
        }
    }
}

/// A row for an attempt that did not go plainly well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempted {
    /// The round.
    pub round: u32,
    /// The attempt's token.
    pub token: Token,
    /// What it was about.
    pub purpose: Purpose,
    /// The outcome's name; `expired` where a lease ran out.
    pub outcome: &'static str,
    /// Why, for people.
    pub reason: String,
}

/// What becomes of the position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// It stays or becomes open, as given.
    Open(Delivery),
    /// This receipt ends it.
    Ended(Receipt),
    /// It stays ended; this contradicts its receipt and is kept beside it.
    Contradicted(Report),
}

/// The answer of [`transition`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transition {
    /// It changes something.
    Applied {
        /// What.
        next: Next,
        /// The row to keep about the attempt.
        attempted: Option<Attempted>,
    },
    /// It changes nothing, which is no error.
    Ignored {
        /// Why.
        reason: Reason,
        /// The row to keep about the attempt.
        attempted: Option<Attempted>,
    },
    /// It is not allowed.
    Refused(Reason),
}

impl Transition {
    const fn to(next: Next) -> Self {
        Self::Applied { next, attempted: None }
    }

    const fn ignored(reason: Reason) -> Self {
        Self::Ignored { reason, attempted: None }
    }

    fn open(delivery: Delivery, attempted: Option<Attempted>) -> Self {
        Self::Applied { next: Next::Open(delivery), attempted }
    }
}

/// What `input` does to a command at `position`, at `now`, under `terms`.
#[must_use]
pub fn transition(position: &Position, input: Input, terms: &Terms, now: Micros) -> Transition {
    match input {
        Input::Due { owner, expires_at, seed } => match position {
            Position::Open(open) => due::due(open, owner, expires_at, terms, now, seed),
            Position::Ended(_) => Transition::ignored(Reason::Ended),
        },
        Input::Swept { expires_at } => match position {
            Position::Open(open) => due::swept(open, expires_at, terms, now),
            Position::Ended(_) => Transition::ignored(Reason::Ended),
        },
        Input::Unreadable { reason } => match position {
            Position::Open(open) => due::unreadable(open, &reason, now),
            Position::Ended(_) => Transition::ignored(Reason::Ended),
        },
        Input::Settled { token, round, ended_as, outcome, burns, seed } => {
            let attempt = settle::Attempt { token, round, ended_as, burns };
            settle::settled(position, attempt, outcome, terms, now, seed)
        }
        Input::Answered { token, answer, seed } => {
            settle::answered(position, token, answer, terms, now, seed)
        }
        Input::HandedBack { token } => settle::handed_back(position, token, terms, now),
        Input::Renewed { token } => settle::renewed(position, token, terms, now),
        Input::Reported(report) => report::reported(position, report, now),
        Input::Retry { may_act_twice, expires_at } => {
            verb::retry(position, may_act_twice, expires_at, terms, now)
        }
        Input::Resolve { verdict, evidence, actor } => {
            verb::resolve(position, verdict, evidence, &actor, now)
        }
        Input::Cancel { actor, reason } => verb::cancel(position, &actor, reason, now),
        Input::Redeliver { may_act_twice, expires_at } => {
            verb::redeliver(position, may_act_twice, expires_at, terms, now)
        }
        Input::Restored { at } => verb::restored(position, at, now),
    }
}

/// The receipt that ends `open` with `outcome`.
fn receipt(
    open: &Delivery,
    outcome: ReceiptOutcome,
    result: Option<Vec<u8>>,
    evidence: Option<String>,
    source: &str,
    now: Micros,
) -> Receipt {
    Receipt {
        n: open.n,
        round: open.round,
        outcome,
        result,
        evidence,
        source: source.into(),
        attempts: open.attempts,
        token: open.token,
        first_sent_at: open.first_sent_at,
        recorded_at: now,
        key_seq: open.key_seq,
    }
}
