//! The laws of conservation, as functions over rows.
//!
//! Guarantees: each law is local to one command, event, stream or destination, so it can be
//! checked range by range. Does not: read a store; the rows come in as values.

mod body;
mod book;
mod command;
mod decisions;
mod delivery;
mod doubt;
mod flow;
mod input;
mod receipt;
mod told;

pub use body::BodyFacts;
pub use book::{LAWS, Law, law};
pub use command::{of_command, of_digested};
pub use decisions::Decisions;
pub use flow::{FlowFacts, TimerFacts, of_flow};
pub use input::{InputFacts, of_input};

use super::command::OutboxRow;
use super::delivery::Delivery;
use super::digest::Digest;
use super::receipt::Receipt;
use super::time::Micros;

/// A law that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// A stable code, `CF08xx`; see `docs/laws.md`.
    pub code: &'static str,
    /// The commands, events or streams concerned.
    pub ids: Vec<String>,
    /// What is wrong and what to do, for people.
    pub text: String,
}

impl Violation {
    /// `law` is broken by `ids`; `found` says how.
    #[must_use]
    pub fn of(law: &Law, ids: Vec<String>, found: &str) -> Self {
        Self { code: law.code, ids, text: format!("{found}; {}", law.remedy) }
    }
}

/// What stands about one command, as read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandFacts {
    /// The internal key.
    pub n: i64,
    /// The command's id for people; lossy where it is no UTF-8, `n=…` where the outbox row lacks.
    pub id: String,
    /// The outbox row; `None` if it is missing or cannot be decoded.
    pub outbox: Option<OutboxRow>,
    /// The outbox row stands, decodable or not.
    pub has_outbox: bool,
    /// What is known of an outbox row that cannot be decoded.
    pub unreadable: Option<UnreadableFacts>,
    /// Its body was erased on request.
    pub erased: bool,
    /// It is on record that a person erased it.
    pub has_erase: bool,
    /// The open delivery.
    pub delivery: Option<DeliveryFacts>,
    /// Receipts, oldest round first.
    pub receipts: Vec<ReceiptFacts>,
    /// Outcome columns of its receipts that name none.
    pub strange_outcomes: Vec<String>,
    /// Attempts that did not go plainly well, oldest first.
    pub attempts: Vec<AttemptFacts>,
    /// When a person said "not done": it clears what the attempts before it say.
    pub cleared_at: Vec<Micros>,
    /// How many rounds a person began that follow no receipt: by a retry, or by "not done".
    pub begun: usize,
    /// What each redelivery on record reopened, oldest first: the outcome that stood.
    pub reopened: Vec<String>,
    /// The restores of the store, oldest first.
    pub restores: Vec<RestoreFacts>,
    /// A tombstone of the same id stands.
    pub archived: bool,
    /// The event that its stream and seq name stands, and issued a command of its index.
    pub has_event: bool,
    /// It is a workflow's and has a receipt, and neither waits the input that points to it nor was
    /// one decided.
    pub unheard: bool,
    /// Reports that came after the end and said otherwise.
    pub contradictions: Vec<ContradictionFacts>,
    /// When somebody last said, of the ended command, what is true: it answers the contradictions
    /// before it.
    pub acknowledged_at: Option<Micros>,
}

/// What is known of an outbox row that cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableFacts {
    /// Why it cannot.
    pub why: String,
    /// Its destination; lossy where it is no UTF-8.
    pub destination: String,
    /// The digest of its body; `None` where it has none that is bytes.
    pub body: Option<Digest>,
}

/// The digests of an outbox row as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digests {
    /// Of its body.
    pub body: Digest,
    /// Of its columns.
    pub row: Digest,
}

impl CommandFacts {
    /// The digests of the outbox row as it stands; `None` where none can be read.
    #[must_use]
    pub fn digests(&self) -> Option<Digests> {
        self.outbox.as_ref().map(|row| {
            let body = Digest::of(&row.body);
            Digests { body, row: row.row_digest(body) }
        })
    }

    /// The destination of the outbox row, decodable or not.
    #[must_use]
    pub fn destination(&self) -> Option<&str> {
        let decoded = self.outbox.as_ref().map(|row| row.destination.as_str());
        decoded.or_else(|| self.unreadable.as_ref().map(|row| row.destination.as_str()))
    }

    /// Whether the command stands with neither a delivery nor a receipt.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        self.has_outbox && self.delivery.is_none() && self.receipts.is_empty()
    }

    /// How many contradictions somebody has looked into, and how many nobody.
    #[must_use]
    pub fn acknowledged(&self) -> (usize, usize) {
        let looked = self.contradictions.iter().filter(|said| self.is_acknowledged(said)).count();
        (looked, self.contradictions.len() - looked)
    }

    fn is_acknowledged(&self, said: &ContradictionFacts) -> bool {
        self.acknowledged_at.is_some_and(|at| at >= said.recorded_at)
    }
}

/// A restore of the whole store, which put every open delivery in doubt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestoreFacts {
    /// When the backup was taken.
    pub taken_at: Micros,
    /// When it was said.
    pub recorded_at: Micros,
}

/// A report that came after the end and said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContradictionFacts {
    /// Rises with each contradiction that arrives.
    pub arrival: i64,
    /// The result that it brought.
    pub result: Option<Vec<u8>>,
    /// By what it is known.
    pub evidence: Option<String>,
    /// Who said so.
    pub source: String,
    /// The round of the receipt that it contradicts.
    pub round: u32,
    /// What it said.
    pub outcome: String,
    /// When it came.
    pub recorded_at: Micros,
}

/// An open delivery and its digests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryFacts {
    /// The delivery.
    pub delivery: Delivery,
    /// The stored name of its state, should it be none that is known.
    pub state_name: String,
    /// Its destination column.
    pub destination: String,
    /// Its ordering key column.
    pub ordering_key: Option<String>,
    /// Its expiry column.
    pub expires_at: Option<Micros>,
    /// It has the turn of its lane; `Some(false)`: what it has is no turn of that lane.
    pub turn: Option<bool>,
    /// The body's digest, once an attempt ended.
    pub digest: Option<Digest>,
    /// The row's digest, once an attempt ended.
    pub row_digest: Option<Digest>,
}

/// A receipt and its digests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiptFacts {
    /// Rises with each receipt that arrives; some may share one.
    pub arrival: i64,
    /// The receipt.
    pub receipt: Receipt,
    /// Its destination column.
    pub destination: String,
    /// The body's digest, where an attempt preceded it.
    pub digest: Option<Digest>,
    /// The row's digest, where an attempt preceded it.
    pub row_digest: Option<Digest>,
}

/// An attempt row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttemptFacts {
    /// Rises with each attempt that arrives.
    pub arrival: i64,
    /// Its token.
    pub token: i64,
    /// When it began.
    pub started_at: Option<Micros>,
    /// Why it ended so.
    pub reason: Option<String>,
    /// The round.
    pub round: u32,
    /// What it was about.
    pub purpose: String,
    /// The outcome's name.
    pub outcome: String,
    /// When it ended.
    pub ended_at: Micros,
}

/// What stands about one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFacts {
    /// The stream.
    pub stream: String,
    /// The seq.
    pub seq: i64,
    /// The seq before it in its stream, 0 for the first.
    pub seq_before: i64,
    /// How many commands it says it issued.
    pub commands: i64,
    /// How many outbox and archived rows carry its stream and seq.
    pub found: i64,
    /// What its row says of where its body lies.
    pub body: BodyFacts,
}

/// What stands about one lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaneFacts {
    /// Its destination.
    pub destination: String,
    /// Its ordering key.
    pub ordering_key: String,
    /// The last place that was given; `None`: the lane has no row.
    pub last: Option<i64>,
    /// How many different places its deliveries and receipts hold.
    pub places: i64,
    /// How many of its commands stand in the outbox.
    pub commands: i64,
    /// The largest place that is held.
    pub newest: i64,
    /// How many are in flight.
    pub in_flight: i64,
    /// One of its commands was archived, so places may be missing.
    pub archived: bool,
}

/// The totals of one destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Totals {
    /// The destination.
    pub destination: String,
    /// Rows of the outbox.
    pub outbox: i64,
    /// Tombstones.
    pub archived: i64,
    /// Open deliveries.
    pub open: i64,
    /// By outcome: what `tally` says, and the commands whose newest receipt says so.
    pub tally: Vec<(String, i64, i64)>,
}

/// What is wrong with one event: a gap before it, commands that are not there, or a body that lies
/// nowhere or twice.
#[must_use]
pub fn of_event(event: &EventFacts) -> Vec<Violation> {
    let EventFacts { stream, seq, seq_before, commands, found, body } = event;
    let mut violations = Vec::new();
    if *seq != seq_before + 1 {
        let found = format!("event {seq} of stream {stream} follows event {seq_before}");
        violations.push(Violation::of(&law::EVENT_GAP, vec![stream.clone()], &found));
    }
    if commands != found {
        let ids = vec![format!("{stream}:{seq}")];
        let said = format!("event {seq} of stream {stream} issued {commands} commands");
        let found = format!("{said}, but {found} stand");
        violations.push(Violation::of(&law::EVENT_COMMANDS, ids, &found));
    }
    if let Some(astray) = body.astray() {
        let found = format!("event {seq} of stream {stream} {astray}");
        let ids = vec![format!("{stream}:{seq}")];
        violations.push(Violation::of(&law::BODY_PLACE, ids, &found));
    }
    violations
}

/// What is wrong with an event of which nothing can be made; `why` says why.
#[must_use]
pub fn of_unreadable_event(stream: &str, seq: i64, why: &str) -> Violation {
    let found = format!("event {seq} of stream {stream} cannot be read: {why}");
    Violation::of(&law::EVENT_UNREADABLE, vec![format!("{stream}:{seq}")], &found)
}

/// What is wrong with one lane.
#[must_use]
pub fn of_lane(lane: &LaneFacts) -> Vec<Violation> {
    let LaneFacts { destination, ordering_key, places, commands, newest, .. } = lane;
    let name = format!("lane {ordering_key} of destination {destination}");
    let ids = || vec![destination.clone(), ordering_key.clone()];
    let mut violations = Vec::new();
    let last = lane.last.unwrap_or(0);
    let missing = !lane.archived && *places != last;
    if places != commands || *newest > last || missing {
        let found = format!(
            "{name} gave {last} places; its {commands} commands hold {places}, the newest {newest}"
        );
        violations.push(Violation::of(&law::LANE_ORDER, ids(), &found));
    }
    if lane.in_flight > 1 {
        let found = format!("{name} has {} commands in flight", lane.in_flight);
        violations.push(Violation::of(&law::LANE_IN_FLIGHT, ids(), &found));
    }
    violations
}

/// What is wrong with the totals of one destination.
#[must_use]
pub fn of_totals(totals: &Totals) -> Vec<Violation> {
    let Totals { destination, outbox, archived, open, tally } = totals;
    let mut violations = Vec::new();
    let ids = || vec![destination.clone()];
    let ended: i64 = tally.iter().map(|(_, count, _)| count).sum();
    if open + ended != outbox + archived {
        let found = format!(
            "destination {destination} has {open} open and {ended} ended commands by its tally, \
             but {outbox} in the outbox and {archived} archived"
        );
        violations.push(Violation::of(&law::TOTALS, ids(), &found));
    }
    for (outcome, count, receipts) in tally.iter().filter(|(_, count, found)| count != found) {
        let found = format!(
            "destination {destination} counts {count} as {outcome}, but {receipts} newest receipts \
             say so"
        );
        violations.push(Violation::of(&law::TALLY, ids(), &found));
    }
    violations
}

/// What is wrong with what stays of an archived command: it `kept` one digest of its columns, and
/// has another.
#[must_use]
pub fn of_tombstone(id: &str, kept: Option<Digest>, has: Digest) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut breaks = |law, found: &str| {
        let found = format!("command {id} is archived, and its tombstone {found}");
        violations.push(Violation::of(law, vec![id.to_owned()], &found));
    };
    if id.is_empty() {
        breaks(&law::NUMBER, "has an empty id");
    }
    match kept {
        Some(kept) if kept == has => {}
        Some(_) => breaks(&law::TOMBSTONE_CHANGED, "is not what was written"),
        None => breaks(&law::TOMBSTONE_CHANGED, "has no digest"),
    }
    violations
}

/// What is wrong with the number that a row got when it came; `what` says about what it is.
#[must_use]
pub fn of_arrival(arrival: i64, about: &str, what: &str) -> Option<Violation> {
    let found = format!("{what} about {about} has the number {arrival}");
    (arrival < 1).then(|| Violation::of(&law::NUMBER, vec![about.to_owned()], &found))
}

/// The verbs that people do to commands.
const VERBS: [&str; 6] = ["retry", "resolve", "cancel", "redeliver", "erase", "mend"];

/// What is wrong with an act of a person: it is about a command that is not `known`.
#[must_use]
pub fn of_action(verb: &str, about: &str, is_known: bool) -> Vec<Violation> {
    if is_known || !VERBS.contains(&verb) {
        return Vec::new();
    }
    let found = format!("somebody did `{verb}` to command {about}, which does not stand");
    vec![Violation::of(&law::ORPHAN_ACTION, vec![about.to_owned()], &found)]
}

#[cfg(test)]
mod tests;
