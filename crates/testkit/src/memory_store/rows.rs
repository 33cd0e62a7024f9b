//! The tables in memory: the same names and columns as in a database.
//!
//! Guarantees: `Rows::apply` is the only way from a transition to rows. Does not: guard; a test
//! may put any row it likes, which is how broken stores are made.

use std::collections::BTreeMap;
use std::sync::Arc;

use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::{
    Attempted, CommandId, Contract, Delivery, Digest, EventRow, Micros, Next, OutboxRow, Position,
    Reason, Receipt, State, Transition,
};
use counterfoil_core::port::workflow::Snapshot;

pub use super::flow_rows::{InputEntry, InputId, StreamEntry};

use super::lane::without_turn;

/// An outbox row.
#[derive(Clone, Debug)]
pub struct OutboxEntry {
    /// The row; `Err` says why it cannot be decoded.
    pub row: Result<Arc<OutboxRow>, Unreadable>,
    /// When its content was erased on request.
    pub erased_at: Option<Micros>,
}

/// An outbox row that no reader can decode, as foreign SQL may write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The id's bytes.
    pub command_id: Vec<u8>,
    /// Its destination.
    pub destination: String,
    /// Its body.
    pub body: Vec<u8>,
    /// What is wrong with it.
    pub why: String,
    /// When it was recorded.
    pub recorded_at: Micros,
}

impl OutboxEntry {
    /// Its content was erased on request.
    #[must_use]
    pub const fn is_erased(&self) -> bool {
        self.erased_at.is_some()
    }

    /// The id's bytes.
    #[must_use]
    pub fn id_bytes(&self) -> &[u8] {
        match &self.row {
            Ok(row) => row.command_id.as_str().as_bytes(),
            Err(unreadable) => &unreadable.command_id,
        }
    }

    /// The id for people, lossy where it is no UTF-8.
    #[must_use]
    pub fn id_text(&self) -> String {
        String::from_utf8_lossy(self.id_bytes()).into_owned()
    }

    /// The destination.
    #[must_use]
    pub fn destination(&self) -> &str {
        match &self.row {
            Ok(row) => row.destination.as_str(),
            Err(unreadable) => &unreadable.destination,
        }
    }

    /// The kind for people; nothing where the row cannot be decoded.
    #[must_use]
    pub fn kind_text(&self) -> String {
        self.row.as_ref().map_or_else(|_| String::new(), |row| row.kind.to_string())
    }

    /// Until when it may be sent, if it says so.
    #[must_use]
    pub fn expires_at(&self) -> Option<Micros> {
        self.row.as_ref().ok()?.expires_at
    }

    /// Before when it is not sent, if it says so.
    #[must_use]
    pub fn not_before(&self) -> Option<Micros> {
        self.row.as_ref().ok()?.not_before
    }

    /// When it was recorded.
    #[must_use]
    pub fn recorded_at(&self) -> Micros {
        match &self.row {
            Ok(row) => row.recorded_at,
            Err(unreadable) => unreadable.recorded_at,
        }
    }
}

/// A delivery row.
#[derive(Clone, Debug)]
pub struct DeliveryEntry {
    /// The delivery.
    pub delivery: Delivery,
    /// Its destination column.
    pub destination: String,
    /// A state name that is none; as foreign SQL may write it.
    pub strange_state: Option<String>,
    /// The digests of body and row, once an attempt ended.
    pub digests: Option<(Digest, Digest)>,
}

/// A receipt row.
#[derive(Clone, Debug)]
pub struct ReceiptEntry {
    /// The receipt.
    pub receipt: Receipt,
    /// Its destination column.
    pub destination: String,
    /// The digests of body and row, where an attempt preceded it.
    pub digests: Option<(Digest, Digest)>,
}

/// An attempt row.
#[derive(Clone, Debug)]
pub struct AttemptEntry {
    /// What is kept.
    pub attempted: Attempted,
    /// When it began, where that is known.
    pub started_at: Option<Micros>,
    /// When it ended.
    pub ended_at: Micros,
}

/// A contradiction row.
#[derive(Clone, Debug)]
pub struct ContradictionEntry {
    /// The command.
    pub command_id: String,
    /// The round whose receipt it contradicts.
    pub round: u32,
    /// What was said.
    pub report: Report,
    /// When.
    pub recorded_at: Micros,
}

/// A destination row.
#[derive(Clone, Debug, Default)]
pub struct DestinationEntry {
    /// The stored contract.
    pub contract: Option<Contract>,
    /// Why it is paused, if it is.
    pub paused: Option<String>,
    /// Since when it is, and by whom.
    pub paused_by: Option<(Micros, String)>,
}

/// The tombstone of an archived command.
#[derive(Clone, Debug)]
pub struct Tombstone {
    /// Its destination.
    pub destination: String,
    /// Its kind.
    pub kind: String,
    /// Its ordering key.
    pub ordering_key: Option<String>,
    /// The body's digest.
    pub digest: Digest,
    /// The outcome of its newest round.
    pub outcome: String,
    /// How many rounds it had.
    pub rounds: u32,
    /// The name of its file.
    pub file: String,
}

/// What a person did.
#[derive(Clone, Debug)]
pub struct ActionEntry {
    /// The verb, such as `resolve`.
    pub verb: String,
    /// The command or destination.
    pub about: String,
    /// The state or outcome before, where that is one thing; else empty.
    pub before: String,
    /// The state or outcome that it came to.
    pub after: String,
    /// Who.
    pub actor: String,
    /// Why.
    pub reason: String,
    /// When.
    pub recorded_at: Micros,
}

/// All tables of one store.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// By `n`.
    pub outbox: BTreeMap<i64, OutboxEntry>,
    /// From the id's bytes to `n`.
    pub ids: BTreeMap<Vec<u8>, i64>,
    /// By `n`.
    pub deliveries: BTreeMap<i64, DeliveryEntry>,
    /// By `n` and round.
    pub receipts: BTreeMap<(i64, u32), ReceiptEntry>,
    /// By `n`, oldest first.
    pub attempts: BTreeMap<i64, Vec<AttemptEntry>>,
    /// Oldest first.
    pub contradictions: Vec<ContradictionEntry>,
    /// By stream and seq.
    pub events: BTreeMap<(String, i64), EventRow>,
    /// Inputs that wait, by stream and id.
    pub inputs: BTreeMap<InputId, InputEntry>,
    /// The arrival of the newest input ever written.
    pub arrivals: i64,
    /// Where the upkeep of inputs goes on.
    pub kept_to: Option<InputId>,
    /// Workflows, by stream.
    pub streams: BTreeMap<String, StreamEntry>,
    /// By stream and program, as `name/version`.
    pub snapshots: BTreeMap<(String, String), Snapshot>,
    /// By name.
    pub destinations: BTreeMap<String, DestinationEntry>,
    /// By destination and outcome.
    pub tally: BTreeMap<(String, String), i64>,
    /// By destination and ordering key: the last place that was given.
    pub lanes: BTreeMap<(String, String), i64>,
    /// By command id.
    pub archived: BTreeMap<String, Tombstone>,
    /// Oldest first.
    pub actions: Vec<ActionEntry>,
    /// The seal of the newest audit that held, and its version.
    pub seal: Option<(i64, String)>,
    /// When an audit wrote it.
    pub sealed_at: Micros,
    /// Somebody left a transaction open, so there is no horizon.
    pub left_open: bool,
    /// What an archive beside moves away, one each time that the horizon is read.
    pub leaving: Vec<String>,
    /// What `expected` answers, by query.
    pub expected: BTreeMap<String, Vec<String>>,
    /// The largest `n` ever given.
    pub newest: i64,
    /// The store's clock, as last saved.
    pub clock: Micros,
}

/// What a transition came to once it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Open(State),
    Ended(&'static str),
    Contradicted,
    Ignored(Reason),
    Refused(Reason),
}

/// What the writer of a transition knows beside it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beside {
    pub(super) digests: Option<(Digest, Digest)>,
    pub(super) started_at: Option<Micros>,
    pub(super) now: Micros,
    /// The lane's turn is not given anew.
    pub(super) keeps_turn: bool,
}

impl Rows {
    /// The `n` of a command.
    #[must_use]
    pub fn n_of(&self, command_id: &str) -> Option<i64> {
        self.ids.get(command_id.as_bytes()).copied()
    }

    /// The open delivery of a command, for tests to look at and to spoil.
    pub fn delivery_mut(&mut self, command_id: &str) -> Option<&mut DeliveryEntry> {
        let n = self.n_of(command_id)?;
        self.deliveries.get_mut(&n)
    }

    /// The receipts of a command, oldest round first.
    pub fn receipts_of(&self, n: i64) -> impl DoubleEndedIterator<Item = &ReceiptEntry> {
        self.receipts.range((n, 0)..=(n, u32::MAX)).map(|(_, entry)| entry)
    }

    /// Whether a destination is paused.
    #[must_use]
    pub fn is_paused(&self, destination: &str) -> bool {
        self.destinations.get(destination).is_some_and(|entry| entry.paused.is_some())
    }

    pub(super) fn next_n(&mut self) -> i64 {
        self.newest += 1;
        self.newest
    }

    pub(super) fn position(&self, n: i64) -> Option<Position> {
        match self.deliveries.get(&n) {
            Some(entry) => Some(Position::Open(entry.delivery.clone())),
            None => {
                self.receipts_of(n).next_back().map(|entry| Position::Ended(entry.receipt.clone()))
            }
        }
    }

    /// Writes what a transition says.
    pub(super) fn apply(&mut self, n: i64, transition: Transition, beside: Beside) -> Change {
        match transition {
            Transition::Applied { next, attempted } => {
                let round = attempted.as_ref().map(|attempted| attempted.round);
                // Whatever ends an attempt keeps the digests of what was sent.
                let sent = || attempted.as_ref().and_then(|_| self.digests_of(n));
                let beside = Beside { digests: beside.digests.or_else(sent), ..beside };
                self.keep_attempt(n, attempted, beside);
                let change = match next {
                    Next::Open(delivery) => self.put_open(n, delivery, beside),
                    Next::Ended(receipt) => self.end(n, receipt, beside),
                    Next::Contradicted(report) => self.contradict(n, round, report, beside.now),
                };
                if let Some(lane) = self.lane_of(n).filter(|_| !beside.keeps_turn) {
                    self.give_turn(&lane, beside.now);
                }
                change
            }
            Transition::Ignored { reason, attempted } => {
                self.keep_attempt(n, attempted, beside);
                Change::Ignored(reason)
            }
            Transition::Refused(reason) => Change::Refused(reason),
        }
    }

    fn digests_of(&self, n: i64) -> Option<(Digest, Digest)> {
        let row = self.outbox.get(&n)?.row.as_ref().ok()?;
        let digest = Digest::of(&row.body);
        Some((digest, row.row_digest(digest)))
    }

    fn keep_attempt(&mut self, n: i64, attempted: Option<Attempted>, beside: Beside) {
        if let Some(attempted) = attempted {
            let entry =
                AttemptEntry { attempted, started_at: beside.started_at, ended_at: beside.now };
            self.attempts.entry(n).or_default().push(entry);
        }
    }

    fn put_open(&mut self, n: i64, delivery: Delivery, beside: Beside) -> Change {
        let state = delivery.state;
        let before = self.deliveries.get(&n).map(|entry| &entry.delivery);
        let delivery = without_turn(before, delivery);
        if let Some(entry) = self.deliveries.get_mut(&n) {
            entry.delivery = delivery;
            entry.digests = beside.digests.or(entry.digests);
        } else if let Some(outbox) = self.outbox.get(&n) {
            let destination = outbox.destination().to_owned();
            // Redelivered: nothing is sent before its own time.
            let not_before = outbox.not_before();
            let due = delivery.available_at.map(|at| not_before.map_or(at, |it| it.max(at)));
            let delivery = Delivery { available_at: due, ..delivery };
            let entry = DeliveryEntry { delivery, destination, strange_state: None, digests: None };
            self.deliveries.insert(n, entry);
        }
        Change::Open(state)
    }

    fn end(&mut self, n: i64, receipt: Receipt, beside: Beside) -> Change {
        let outcome = receipt.outcome.name();
        if let Some(entry) = self.deliveries.remove(&n) {
            let tally = (entry.destination.clone(), outcome.to_owned());
            *self.tally.entry(tally).or_default() += 1;
            let digests = beside.digests.or(entry.digests);
            let round = receipt.round;
            let destination = entry.destination;
            self.receipts.insert((n, round), ReceiptEntry { receipt, destination, digests });
            self.point_to_receipt(n, beside.now);
        }
        Change::Ended(outcome)
    }

    fn contradict(
        &mut self,
        n: i64,
        attempted: Option<u32>,
        report: Report,
        now: Micros,
    ) -> Change {
        let newest = self.receipts_of(n).next_back().map_or(0, |entry| entry.receipt.round);
        // Where another round is open, it speaks of the round of its own attempt.
        let round = attempted.filter(|_| self.deliveries.contains_key(&n)).unwrap_or(newest);
        let id = self.outbox.get(&n).map_or_else(|| format!("n={n}"), OutboxEntry::id_text);
        self.contradict_id(id, round, report, now)
    }

    pub(super) fn contradict_id(
        &mut self,
        command_id: String,
        round: u32,
        report: Report,
        now: Micros,
    ) -> Change {
        let same = |entry: &ContradictionEntry| {
            entry.command_id == command_id
                && entry.round == round
                && entry.report.outcome == report.outcome
                && entry.report.result == report.result
                && entry.report.evidence == report.evidence
        };
        if !self.contradictions.iter().any(same) {
            let entry = ContradictionEntry { command_id, round, report, recorded_at: now };
            self.contradictions.push(entry);
        }
        Change::Contradicted
    }

    /// Puts a row that no reader can decode, as foreign SQL would, and its delivery.
    pub fn put_unreadable(&mut self, command_id: &[u8], destination: &str, now: Micros) -> i64 {
        let n = self.next_n();
        let why = match CommandId::from_bytes(command_id) {
            Ok(_) => "the headers are no JSON object of strings".to_owned(),
            Err(refused) => refused.to_string(),
        };
        let unreadable = Unreadable {
            command_id: command_id.to_vec(),
            destination: destination.to_owned(),
            body: Vec::new(),
            why,
            recorded_at: now,
        };
        self.outbox.insert(n, OutboxEntry { row: Err(unreadable), erased_at: None });
        self.ids.insert(command_id.to_vec(), n);
        self.put_delivery(n, destination, now);
        n
    }

    pub(super) fn put_delivery(&mut self, n: i64, destination: &str, due: Micros) {
        let lane = self.lane_of(n);
        let key_seq = lane.clone().map(|lane| self.draw_place(lane));
        // In a lane it waits until the lane has looked whose turn it is.
        let available_at = lane.is_none().then_some(due);
        let entry = DeliveryEntry {
            delivery: Delivery { key_seq, available_at, ..Delivery::new(n, due) },
            destination: destination.to_owned(),
            strange_state: None,
            digests: None,
        };
        self.deliveries.insert(n, entry);
        if let Some(lane) = lane {
            let now = self.outbox.get(&n).map_or(due, OutboxEntry::recorded_at);
            self.give_turn(&lane, now);
        }
    }
}
