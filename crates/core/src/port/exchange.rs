//! A relay's one short durable write: what goes in, and what comes back.
//!
//! Guarantees: plain data. Does not: write; see [`super::Store::exchange`].

use std::sync::Arc;

use super::announce::Announce;
use crate::domain::transition::Report;
use crate::domain::{
    Answer, Delivery, Destination, Digest, Micros, OnRefusal, OutboxRow, Outcome, Reason,
    ReceiptOutcome, Seed, State, Terms,
};

/// A claimed command: everything an attempt needs, and everything its settle needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// The command.
    pub command: Arc<OutboxRow>,
    /// The delivery as the claim left it: `Sending`, or `Asking` under a lease.
    pub delivery: Delivery,
    /// SHA-256 of the body.
    pub digest: Digest,
    /// SHA-256 of the row.
    pub row_digest: Digest,
    /// It was taken over from a lease that ran out.
    pub taken_over: bool,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With an outcome.
    Outcome(Outcome),
    /// With an answer to a question.
    Answer(Answer),
    /// It was never begun.
    HandedBack,
}

/// The settle of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settle {
    /// What was claimed.
    pub claimed: Claimed,
    /// How it ended.
    pub ended: Ended,
    /// When the attempt began, in the store's time.
    pub started_at: Micros,
    /// Whether it counts as an attempt of its round; a probe of a breaker that fails does not.
    pub burns: bool,
    /// Jitter.
    pub seed: Seed,
    /// The terms it is judged by.
    pub terms: Arc<Terms>,
}

impl Settle {
    /// Whether it matters if a workflow waits for the command, so that a store looks only then: it
    /// was issued by a stream and refused, and the contract leaves it to who asked. The terms are
    /// [`Terms::for_workflow`] where one does.
    #[must_use]
    pub fn depends_on_who_asked(&self) -> bool {
        matches!(&self.ended, Ended::Outcome(Outcome::Rejected { .. }))
            && self.terms.contract.on_refusal == OnRefusal::ByAsker
            && self.claimed.command.stream.is_some()
    }

    /// What it says of a command that is archived by now: `Completed` is the receiver's own word,
    /// and a report like any other; nothing else counts so late.
    #[must_use]
    pub fn late_report(&self) -> Option<Report> {
        let Ended::Outcome(Outcome::Completed { result, evidence }) = &self.ended else {
            return None;
        };
        Some(Report {
            outcome: ReceiptOutcome::Completed,
            result: Some(result.bytes.clone()),
            evidence: Some(evidence.clone()),
            source: "late attempt".into(),
            token: None,
            equals_earlier: false,
        })
    }
}

/// The renewal of one lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renew {
    /// Which delivery.
    pub n: i64,
    /// Its token.
    pub token: crate::domain::Token,
    /// The terms, for the length of the lease.
    pub terms: Arc<Terms>,
}

/// Where to claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimFrom {
    /// The destination.
    pub destination: Destination,
    /// At most so many there.
    pub limit: usize,
    /// The terms; their contract must be the stored one.
    pub terms: Arc<Terms>,
}

/// What a relay wants done in one short durable write: settles first, then renewals, then claims.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    /// Attempts that ended.
    pub settles: Vec<Settle>,
    /// Leases to renew.
    pub renewals: Vec<Renew>,
    /// Where to claim, in this order.
    pub claim_from: Vec<ClaimFrom>,
    /// At most so many claims in all.
    pub claim_limit: usize,
    /// Who claims; shown to people.
    pub owner: String,
    /// Jitter for what takeovers and time-outs decide.
    pub seed: u64,
    /// What is parked here becomes a command of its own, in the same transaction, once a round; an
    /// alert never alerts. Default: nothing is announced.
    pub announce: Option<Announce>,
}

/// What a settle came to, in the order of the settles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The delivery is in this state now.
    Open(State),
    /// A receipt ended it, with this outcome's name.
    Ended(&'static str),
    /// A contradiction was recorded.
    Contradicted,
    /// It changed nothing.
    Ignored(Reason),
    /// Another open transaction holds the delivery, a worker's report perhaps; nothing was written,
    /// and the settle is to be given again. Only stores with more than one writer say so.
    Held,
}

/// A command that was parked by an exchange, beside those of its settles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParkedNow {
    /// The command's id, lossy where it is no UTF-8.
    pub command: String,
    /// Its destination.
    pub destination: String,
    /// Its kind, lossy like its id.
    pub kind: String,
    /// Its round.
    pub round: u32,
    /// Whether a send of it may have acted, nobody knows.
    pub in_doubt: bool,
    /// Its state.
    pub state: State,
    /// Why.
    pub reason: String,
}

impl ParkedNow {
    /// Why a due command is parked, for people: by its last outcome, else by what ran out.
    #[must_use]
    pub fn due_reason(parked: &Delivery, expires_at: Option<Micros>, now: Micros) -> String {
        let is_expired = expires_at.is_some_and(|at| at <= now);
        let why =
            if is_expired { "it is past its expiry, and in doubt" } else { "its window is over" };
        parked.last_outcome.clone().unwrap_or_else(|| why.into())
    }

    /// Why a sweep parks a command, for people, by how it stood before.
    #[must_use]
    pub fn swept_reason(before: &Delivery) -> String {
        let last = before.last_outcome.as_deref().unwrap_or("an attempt may have acted");
        format!("past its expiry, and in doubt: {last}")
    }
}

/// What an exchange did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exchanged {
    /// One answer a settle.
    pub settled: Vec<Settled>,
    /// Leases that could not be renewed, by n: the attempt is no longer the newest.
    pub lost: Vec<i64>,
    /// What was claimed.
    pub claimed: Vec<Claimed>,
    /// What was parked while looking for claims.
    pub parked: Vec<ParkedNow>,
    /// What was found past its expiry while looking for claims and ended `expired`, with its
    /// destination.
    pub expired: Vec<(String, String)>,
    /// Destinations whose stored contract is no longer the given one: nothing was claimed there.
    pub differing: Vec<Destination>,
    /// Something more is due now beyond the limit.
    pub more: bool,
    /// Somewhere enough others claim at this moment, so that nothing was looked for there: it is
    /// worth coming back, a little later.
    pub crowded: bool,
}

/// What keeps a relay that runs until idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remaining {
    /// Commands that a relay of these destinations will still work on by itself: sending, asking,
    /// or pending for any reason but `not_before` ahead or a pause.
    pub busy: u64,
    /// Commands that wait for a person.
    pub parked: u64,
    /// Open commands of destinations that are not served.
    pub unserved: u64,
    /// Open commands of paused destinations.
    pub paused: u64,
}
