//! What an incremental audit needs from a store: how far it is complete, what came since, and the
//! seal of the audit before.
//!
//! Guarantees asked of an implementation: nothing at or below a [`Horizon`] can appear later, so
//! that no open transaction is passed; a seal is written only over the one that was read. It is not
//! asked to know what a seal says.

use std::future::Future;

use super::act::Actor;
use super::archive::ActionRow;
use super::read::Facts;
use super::store::{Store, StoreError};
use crate::domain::laws::{ContradictionFacts, FlowFacts, InputFacts};
use crate::domain::{EventRow, Micros};

/// How far a store is complete: a row at or below it stands now, or will never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Horizon {
    /// `n` of the outbox.
    pub n: i64,
    /// Arrival of receipts: what [`ReceiptFacts::arrival`] holds.
    ///
    /// [`ReceiptFacts::arrival`]: crate::domain::laws::ReceiptFacts::arrival
    pub receipt: i64,
    /// Arrival of attempts.
    pub attempt: i64,
    /// Arrival of contradictions.
    pub contradiction: i64,
    /// Arrival of acts of people.
    pub action: i64,
    /// `recorded_at` of events: an hour ago, since clocks of several writers differ.
    pub event: Micros,
}

/// The seal that stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// Rises with each write.
    pub version: i64,
    /// What it says.
    pub seal: String,
    /// When it was written.
    pub recorded_at: Micros,
}

/// Where a page of receipts by arrival goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// The arrival of the last receipt looked at.
    pub arrival: i64,
    /// Its `n`, where several arrive at one time.
    pub n: i64,
    /// Its round.
    pub round: u32,
}

/// Which workflows an audit reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowsFrom {
    /// After this status and stream.
    pub after: Option<(String, String)>,
    /// Those that have not completed only, in the order of status and stream, without timers; else
    /// all, in the order of streams.
    pub open_only: bool,
}

/// The most timers that a page of workflows holds, unless one workflow has more.
pub const TIMERS_MAX: usize = 20_000;

/// An event that stands, of which nothing can be made: no reader gets past it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableEvent {
    /// Its stream, as near to what is stored as text can be; a page goes on after it.
    pub stream: String,
    /// Its seq.
    pub seq: i64,
    /// What is wrong with it.
    pub why: String,
}

/// An event as it was read.
pub type EventRead = Result<EventRow, UnreadableEvent>;

/// A page of inputs, and where the next one goes on; `None`: nowhere.
pub type InputPage = (Vec<InputFacts>, Option<String>);

/// A store that can be audited from where the last audit ended.
pub trait Audited: Store {
    /// How far the store is complete. It waits a bounded time for writers that are under way;
    /// `None` if one does not end, such as a transaction that is left open.
    ///
    /// # Errors
    /// [`StoreError`].
    fn horizon(&self) -> impl Future<Output = Result<Option<Horizon>, StoreError>> + Send;

    /// What stands about the commands whose receipts arrived after `after`, at most `limit`, in
    /// the order of arrival, and where the next page begins. A command may come twice.
    ///
    /// # Errors
    /// [`StoreError`].
    fn ended_since(
        &self,
        after: Arrived,
        limit: usize,
    ) -> impl Future<Output = Result<(Facts, Arrived), StoreError>> + Send;

    /// The events after `(stream, seq)` whole, at most `limit`, in order; one that cannot be
    /// decoded stops none of the others.
    ///
    /// # Errors
    /// [`StoreError`].
    fn events(
        &self,
        after: Option<(String, i64)>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<EventRead>, StoreError>> + Send;

    /// What stands about workflows, at most `limit`, each in one snapshot with its timers. A page
    /// may be shorter, so that its timers are not too many, but for the last it is not empty.
    ///
    /// # Errors
    /// [`StoreError`].
    fn flow_facts(
        &self,
        from: FlowsFrom,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<FlowFacts>, StoreError>> + Send;

    /// What stands about inputs that wait, at most `limit`, from the cursor of the page before on.
    ///
    /// # Errors
    /// [`StoreError`].
    fn input_facts(
        &self,
        from: Option<String>,
        limit: usize,
    ) -> impl Future<Output = Result<InputPage, StoreError>> + Send;

    /// The acts of people after `after`, at most `limit`, in the order of arrival.
    ///
    /// # Errors
    /// [`StoreError`].
    fn actions(
        &self,
        after: i64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<ActionRow>, StoreError>> + Send;

    /// The reports that said otherwise and arrived after `after`, at most `limit`, in the order of
    /// arrival, each with the id of its command, archived ones included.
    ///
    /// # Errors
    /// [`StoreError`].
    fn contradictions(
        &self,
        after: i64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(String, ContradictionFacts)>, StoreError>> + Send;

    /// The `n` of each of these commands, 0 of an archived one; `None`: it is not known. In one
    /// snapshot.
    ///
    /// # Errors
    /// [`StoreError`].
    fn numbers(
        &self,
        command_ids: &[String],
    ) -> impl Future<Output = Result<Vec<Option<i64>>, StoreError>> + Send;

    /// How many tombstones of archived commands stand.
    ///
    /// # Errors
    /// [`StoreError`].
    fn archived(&self) -> impl Future<Output = Result<i64, StoreError>> + Send;

    /// The seal of the newest audit that held.
    ///
    /// # Errors
    /// [`StoreError`].
    fn sealed(&self) -> impl Future<Output = Result<Option<Sealed>, StoreError>> + Send;

    /// Writes a seal over the one of `version`, 0 where none stands. `false`: another stands; it
    /// was not written. On SQLite it saves the store clock, too.
    ///
    /// # Errors
    /// [`StoreError`].
    fn save_seal(
        &self,
        version: i64,
        seal: &str,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Writes a seal over the one of `version`, as [`Audited::save_seal`], in place of one that is
    /// given up: recorded with the actor, as `reseal` of the store, in the same transaction. With
    /// `recount` every tally becomes what receipts and tombstones say, too.
    ///
    /// # Errors
    /// [`StoreError`].
    fn reseal(
        &self,
        version: i64,
        seal: &str,
        actor: Actor,
        recount: bool,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Gives each of these commands that stands in the outbox, with neither a delivery nor a
    /// receipt, a delivery that is *uncertain* and in doubt: what became of it nobody knows.
    /// Recorded with the actor. How many.
    ///
    /// # Errors
    /// [`StoreError`].
    fn mend(
        &self,
        command_ids: &[String],
        actor: Actor,
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;
}
