//! What a store shows to people and to the audit.
//!
//! Guarantees: plain data, decoded per row, so that a bad id spoils only itself. Does not: carry
//! bodies unless a story is asked for.

use std::collections::BTreeMap;

use super::act::{LaneStatus, restored_from};
use crate::domain::laws::CommandFacts;
use crate::domain::{Delivery, Micros, Span, State};

/// Counts of one store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The store's time.
    pub now: Micros,
    /// By destination: state or outcome name → commands.
    pub destinations: BTreeMap<String, BTreeMap<String, u64>>,
    /// By destination: how long the oldest due command has been due.
    pub oldest_due: BTreeMap<String, Span>,
    /// Destinations with a stored contract.
    pub declared: Vec<String>,
    /// Paused destinations and why.
    pub paused: BTreeMap<String, String>,
    /// Paused destinations: since when, and by whom.
    pub paused_by: BTreeMap<String, (Micros, String)>,
    /// By destination: pending commands that have an expiry.
    pub expiring: BTreeMap<String, Expiring>,
    /// Lanes where a parked command blocks others, most waiting first, at most [`BLOCKED_MAX`].
    pub blocked: Vec<LaneStatus>,
    /// What of workflows stands still.
    pub workflows: StillWorkflows,
}

/// What of workflows stands still.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StillWorkflows {
    /// Workflows that are quarantined: each waits for a person.
    pub quarantined: u64,
    /// Starts that no runner has decided: of a program that nobody has they wait for ever.
    pub starts: u64,
    /// How long the oldest of them has waited; `None` if there is none.
    pub oldest_start: Option<Span>,
    /// Signals and cancels whose workflow was never started.
    pub orphans: u64,
}

/// Pending commands of one destination that have an expiry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expiring {
    /// How many.
    pub count: u64,
    /// The earliest expiry among them.
    pub first: Micros,
}

/// The most blocked lanes that a status names.
pub const BLOCKED_MAX: usize = 100;
/// The most commands ahead in its lane that a story names.
pub const AHEAD_MAX: usize = 5;

/// Where an open command stands in its lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanePlace {
    /// The ordering key.
    pub ordering_key: String,
    /// Its place, in commit order from 1.
    pub place: i64,
    /// How many open ones were committed before it.
    pub ahead: u64,
    /// The first of them with their states, at most [`AHEAD_MAX`].
    pub first: Vec<(String, String)>,
    /// Who has the turn, it itself or another, and in which state; `None`: nobody.
    pub turn: Option<(String, String)>,
    /// How many wait behind it.
    pub behind: u64,
}

/// Which commands to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// A state, an outcome, or `parked`.
    pub state: Option<String>,
    /// The destination.
    pub destination: Option<String>,
    /// The kind.
    pub kind: Option<String>,
    /// The stream.
    pub stream: Option<String>,
    /// A text that the last outcome contains.
    pub reason: Option<String>,
    /// Recorded at or after.
    pub since: Option<Micros>,
    /// Recorded before.
    pub until: Option<Micros>,
    /// At most so many; 0 counts as 100.
    pub limit: usize,
    /// Those after this command id, in the order of recording.
    pub after: Option<String>,
}

/// One command in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its id, lossy where it is no UTF-8.
    pub command_id: String,
    /// Its destination.
    pub destination: String,
    /// Its kind.
    pub kind: String,
    /// Its state, or the outcome that ended it.
    pub state: String,
    /// Its round.
    pub round: u32,
    /// Attempts of the round.
    pub attempts: u32,
    /// Whether an attempt may have acted.
    pub in_doubt: bool,
    /// When a machine looks at it next.
    pub available_at: Option<Micros>,
    /// Its newest token.
    pub token: i64,
    /// When it was recorded.
    pub recorded_at: Micros,
    /// The last outcome, for people.
    pub last_outcome: Option<String>,
    /// Ends unsent after this time.
    pub expires_at: Option<Micros>,
    /// The first send of its round that may have acted.
    pub first_sent_at: Option<Micros>,
    /// Its content was erased on request.
    pub is_erased: bool,
}

/// A receipt in a story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiptStory {
    /// The round it ended.
    pub round: u32,
    /// How.
    pub outcome: String,
    /// The receiver's result.
    pub result: Option<Vec<u8>>,
    /// By what it is known.
    pub evidence: Option<String>,
    /// Who said so.
    pub source: Option<String>,
    /// Attempts of the round.
    pub attempts: u32,
    /// The newest token.
    pub token: i64,
    /// The first send of the round that may have acted.
    pub first_sent_at: Option<Micros>,
    /// The body's digest.
    pub digest: Option<String>,
    /// When.
    pub recorded_at: Micros,
}

/// An attempt, a contradiction or a person's act in a story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// When it ended.
    pub at: Micros,
    /// `send`, `ask`, `late`, `receipt`, `contradiction`, or a verb.
    pub what: String,
    /// The outcome's name, or the actor.
    pub outcome: String,
    /// Why.
    pub reason: String,
    /// The round, 0 where there is none.
    pub round: u32,
    /// The token, 0 where there is none.
    pub token: i64,
}

/// All that stands about one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    /// The line of the list.
    pub listed: Listed,
    /// The decision: stream, seq, index.
    pub decision: Option<(String, i64, i64)>,
    /// The body; `None` if erased.
    pub body: Option<Vec<u8>>,
    /// Its media type.
    pub content_type: String,
    /// Stored headers as JSON.
    pub headers: Option<String>,
    /// Not to be sent before.
    pub not_before: Option<Micros>,
    /// Ends unsent after this time.
    pub expires_at: Option<Micros>,
    /// The first send of its round that may have acted: what the receiver's memory is counted from.
    /// See [`Story::sends`] for all rounds.
    pub first_sent_at: Option<Micros>,
    /// How far it is, whole, if it is open: what comes next follows from it.
    pub delivery: Option<Delivery>,
    /// Until when the lease lasts, and who holds it.
    pub lease: Option<(Micros, String)>,
    /// Where it stands in its lane, if it is open and has an ordering key.
    pub lane: Option<LanePlace>,
    /// Receipts, oldest round first.
    pub receipts: Vec<ReceiptStory>,
    /// Attempts that did not go plainly well, contradictions, oldest first.
    pub tries: Vec<Told>,
    /// What people did, oldest first; a restore that found it open is among it.
    pub actions: Vec<Told>,
    /// A report says otherwise than its receipt, and nobody has looked into that since.
    pub contradicted: bool,
    /// It is archived: only the tombstone stands here.
    pub archived: bool,
}

impl Story {
    /// The command's state, if it is open.
    #[must_use]
    pub fn state(&self) -> Option<State> {
        State::from_name(&self.listed.state)
    }

    /// When it was first sent, of all rounds, and when last, as far as the rows tell; sends that
    /// surely did not leave are none.
    ///
    /// A token is drawn from the clock at the claim, so it tells when its attempt began.
    #[must_use]
    pub fn sends(&self) -> Option<(Micros, Micros)> {
        let backups = || self.actions.iter().filter(|told| told.what == "restored");
        let is_mended = self.actions.iter().any(|told| told.what == "mend");
        // A restore dates what it doubts by the backup, sent or not, and mending what was lost by
        // its recording: it may have been sent since.
        let is_assumed = |at: &Micros| {
            backups().any(|told| restored_from(&told.reason) == Some(*at))
                || (is_mended && *at == self.listed.recorded_at)
        };
        let is_real = |at: &Micros| !is_assumed(at);
        let rounds = self.receipts.iter().map(|receipt| receipt.first_sent_at);
        let firsts = rounds.chain([self.first_sent_at]).flatten().filter(is_real);
        let left = |told: &&Told| {
            matches!(told.what.as_str(), "send" | "late") && told.outcome != "not_sent"
        };
        let tries = self.tries.iter().filter(left).map(|told| told.token);
        let by_relay = |receipt: &&ReceiptStory| receipt.source.as_deref() == Some("relay");
        let ended = self.receipts.iter().filter(by_relay).map(|receipt| receipt.token);
        let under_way = |open: &&Delivery| matches!(open.state, State::Sending | State::Published);
        let open = self.delivery.iter().filter(under_way).map(|open| open.token.get());
        let tokens = tries.chain(ended).chain(open).map(Micros::new);
        let sends = firsts.chain(tokens.filter(|at| *at >= self.listed.recorded_at));
        sends.fold(None, |both, at| match both {
            None => Some((at, at)),
            Some((first, last)) => Some((at.min(first), at.max(last))),
        })
    }

    /// Whether it was open at that time: each receipt ends it, each redelivery opens it again.
    #[must_use]
    pub fn was_open_at(&self, at: Micros) -> bool {
        let began = self.actions.iter().filter(|told| told.what == "redeliver" && told.at <= at);
        let ended = self.receipts.iter().filter(|receipt| receipt.recorded_at <= at);
        !self.archived && self.listed.recorded_at <= at && ended.count() <= began.count()
    }
}

/// Where a page of facts begins; by default before everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FactsFrom {
    /// Commands with this `n` or a larger one only. Of what no hand has changed none is below 1.
    pub n: i64,
    /// Open deliveries only.
    pub open_only: bool,
}

impl Default for FactsFrom {
    fn default() -> Self {
        Self { n: i64::MIN, open_only: false }
    }
}

/// A page of facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The store's time of the snapshot.
    pub now: Micros,
    /// The facts, by rising `n`.
    pub commands: Vec<CommandFacts>,
    /// Nothing follows.
    pub last: bool,
}
