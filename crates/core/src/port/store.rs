//! Where decisions, deliveries and receipts live.
//!
//! Guarantees asked of an implementation: each method is one transaction; a claim is durable
//! before it returns; only the newest token changes a delivery; every answer, refusals too, is
//! given after COMMIT. The suite `exercise_store` holds every store to the rules. It is not asked
//! to decide: it persists what `domain::transition` says.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::act::{Acted, Actor, Deed};
use super::announce::Announce;
pub use super::exchange::{
    ClaimFrom, Claimed, Ended, Exchange, Exchanged, ParkedNow, Remaining, Renew, Settle, Settled,
};
use super::patience::Patience;
use super::read::{Facts, FactsFrom, Filter, Listed, Status, Story};
pub use super::recorded::{Recorded, WriteRefused};
use crate::domain::laws::{EventFacts, LaneFacts, Totals};
use crate::domain::transition::Report;
use crate::domain::{
    Command, CommandId, Contract, Destination, Event, EventRow, Micros, Reason, Stream,
};

/// Why the store could not do its work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Nothing was written; trying again may help.
    #[error("the store did not answer: {0}")]
    Unavailable(String),
    /// COMMIT failed and it is not known whether it took effect; look the id up.
    #[error("it is not known whether the write took effect ({0}); repeat it with the same id")]
    NotKnown(String),
    /// A page was to go on after a command that does not stand, or no more.
    #[error(
        "no command {id:?} stands here to go on after; give the last one of the page before, or \
         begin again without"
    )]
    NoCursor {
        /// The command.
        id: String,
    },
    /// Trying again will not help.
    #[error("the store is broken: {0}")]
    Broken(String),
    /// The machine's clock jumped.
    #[error(transparent)]
    Clock(#[from] crate::domain::store_clock::ClockJumped),
}

/// A decision: events and the commands they issue, under an expected version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Append {
    /// The stream.
    pub stream: Stream,
    /// The seq of its newest event as the caller knows it; 0 for a new stream.
    pub expected_seq: i64,
    /// At least one event.
    pub events: Vec<Event>,
    /// Commands; their ids are made here.
    pub commands: Vec<Command>,
}

/// What an append wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The stream's newest seq.
    pub seq: i64,
    /// The ids of the commands, in order.
    pub command_ids: Vec<CommandId>,
}

/// Whether a contract may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Declared {
    /// It is the stored one now.
    Agreed,
    /// Another one is stored, which says otherwise under these names; see
    /// [`Contract::differing`].
    Differs(Vec<String>),
}

/// What one sweep did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Commands that ended `expired`, with their destinations.
    pub expired: Vec<(String, String)>,
    /// Commands in doubt that wait for a person now.
    pub parked: Vec<ParkedNow>,
    /// Commands in doubt that are asked about now.
    pub asking: usize,
    /// Lanes that got their next turn.
    pub promoted: usize,
    /// More may be left.
    pub more: bool,
}

/// What a report came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reported {
    /// It ended the command.
    Recorded,
    /// The same was known.
    Repeated,
    /// Another outcome stands; this one is kept beside it.
    Contradiction,
    /// Fenced off: the token is not the newest, or the command has ended.
    Refused(Reason),
    /// No such command was ever recorded.
    Unknown,
}

/// How many of the newest receipts are looked through for a control question.
pub const CONTROL_RANGE: usize = 100_000;

/// How much of the user's answer [`Store::expected_has`] reads at once.
const EXPECTED_PAGE: usize = 1000;

/// A store of commands.
pub trait Store: Clone + Send + Sync + 'static {
    /// The store's name to receivers, a URI reference.
    fn source(&self) -> Arc<str>;

    /// At most so many settles, and so many claims, go into one exchange. Default 256: where one
    /// writes at a time, others wait for a few milliseconds only.
    fn rows_max(&self) -> usize {
        256
    }

    /// The store's time now.
    ///
    /// # Errors
    /// [`StoreError::Clock`] if the machine's clock jumped.
    fn now(&self) -> Result<Micros, StoreError>;

    /// Records bare commands, each by itself: one refused refuses no other.
    ///
    /// # Errors
    /// [`StoreError`]; nothing was written unless it says `NotKnown`.
    fn enqueue(
        &self,
        commands: Vec<Command>,
    ) -> impl Future<Output = Result<Vec<Result<Recorded, WriteRefused>>, StoreError>> + Send;

    /// Records a decision whole, or nothing of it.
    ///
    /// # Errors
    /// [`StoreError`]; nothing was written unless it says `NotKnown`.
    fn append(
        &self,
        append: Append,
    ) -> impl Future<Output = Result<Result<Appended, WriteRefused>, StoreError>> + Send;

    /// The events of a stream after `after`, at most `limit`, in order.
    ///
    /// # Errors
    /// [`StoreError`].
    fn load(
        &self,
        stream: &Stream,
        after: i64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<EventRow>, StoreError>> + Send;

    /// Stores the contract of a destination, or compares it with the stored one; `replace` writes
    /// over a differing one.
    ///
    /// # Errors
    /// [`StoreError`].
    fn declare(
        &self,
        destination: &Destination,
        contract: &Contract,
        replace: bool,
    ) -> impl Future<Output = Result<Declared, StoreError>> + Send;

    /// Settles, renews and claims in one short durable write. Without anything to do it writes
    /// nothing.
    ///
    /// # Errors
    /// [`StoreError`]; after `NotKnown` settles may be repeated, claims run out.
    fn exchange(
        &self,
        exchange: Exchange,
    ) -> impl Future<Output = Result<Exchanged, StoreError>> + Send;

    /// Whether [`Store::claim_when_due`] waits. Default false.
    fn is_patient(&self) -> bool {
        false
    }

    /// Claims as [`Store::exchange`] does; where nothing is due it waits for what becomes so by a
    /// commit, best claimed in that very transaction. When `patience` ends, what was not claimed by
    /// then is not, and the answer is empty. What becomes due by time alone ends no wait. Dropping
    /// the future is an end too. Default, for a store that cannot wait: one exchange.
    ///
    /// `exchange` neither settles nor renews. A store that waits says when it claims, by
    /// [`Patience::claims`].
    ///
    /// # Errors
    /// As [`Store::exchange`].
    fn claim_when_due(
        &self,
        exchange: Exchange,
        patience: Patience,
    ) -> impl Future<Output = Result<Exchanged, StoreError>> + Send {
        drop(patience);
        self.exchange(exchange)
    }

    /// The earliest due time at these destinations, paused ones left out; reads only.
    ///
    /// # Errors
    /// [`StoreError`].
    fn next_due(
        &self,
        destinations: &[Destination],
    ) -> impl Future<Output = Result<Option<Micros>, StoreError>> + Send;

    /// Returns when something may have been committed since the last call, by this process or
    /// another, or after `at_most`. A hint: polling is the truth.
    fn changed(&self, at_most: Duration) -> impl Future<Output = ()> + Send;

    /// What is left for a relay of these destinations.
    ///
    /// # Errors
    /// [`StoreError`].
    fn remaining(
        &self,
        destinations: &[Destination],
    ) -> impl Future<Output = Result<Remaining, StoreError>> + Send;

    /// Whether [`Remaining::busy`] is above zero. Relays that run until idle ask again and again
    /// while others are at work, so a store may find out without a count.
    ///
    /// # Errors
    /// [`StoreError`].
    fn is_busy(
        &self,
        destinations: &[Destination],
    ) -> impl Future<Output = Result<bool, StoreError>> + Send {
        async { Ok(self.remaining(destinations).await?.busy > 0) }
    }

    /// Where something waits for a relay, or for one that took it: destinations by name, without
    /// those where everything is parked or published. Each relay asks each second, so it costs a
    /// look per destination and no walk of what is open.
    ///
    /// # Errors
    /// [`StoreError`].
    fn awaiting(&self) -> impl Future<Output = Result<Vec<String>, StoreError>> + Send;

    /// Takes a receiver's report.
    ///
    /// # Errors
    /// [`StoreError`].
    fn report(
        &self,
        command_id: &CommandId,
        report: Report,
    ) -> impl Future<Output = Result<Reported, StoreError>> + Send;

    /// Ends what is past its `expires_at` and pending, at most `limit`, wherever it is bound for:
    /// `expired`, or in doubt by the destination's stored contract. What is in doubt behind another
    /// of its lane is left until its turn. Gives their next turn to lanes that nothing blocks any
    /// more: first to those that a stranger's statement has freed, `limit` or more; then it looks
    /// at `limit` others, going on where the last sweep stopped. What it parks is announced as
    /// [`Exchange::announce`] says. With nothing to do it only reads.
    ///
    /// # Errors
    /// [`StoreError`].
    fn sweep(
        &self,
        limit: usize,
        announce: Option<Announce>,
    ) -> impl Future<Output = Result<Swept, StoreError>> + Send;

    /// The newest command of `destination` that a receiver is known to have completed, other than
    /// `except`: what a control question asks about. `None` also where there is none among the
    /// newest [`CONTROL_RANGE`] receipts of the store.
    ///
    /// # Errors
    /// [`StoreError`].
    fn newest_completed(
        &self,
        destination: &Destination,
        except: &CommandId,
    ) -> impl Future<Output = Result<Option<CommandId>, StoreError>> + Send;

    /// Does what people ask, each deed by itself, in one transaction; each that changes something
    /// leaves an `operator_action`. In the order of the deeds. A [`Deed::acknowledges`] of an ended
    /// command whose contradiction nobody has looked into is recorded, and changes nothing else.
    ///
    /// # Errors
    /// [`StoreError`]: then none was done, or it is not known.
    fn act(
        &self,
        deeds: Vec<Deed>,
        actor: Actor,
    ) -> impl Future<Output = Result<Vec<Acted>, StoreError>> + Send;

    /// Lets a paused destination go on; recorded with the actor, and with the reason unless it is
    /// empty. `false`: it was not paused.
    ///
    /// # Errors
    /// [`StoreError`].
    fn resume(
        &self,
        destination: &Destination,
        actor: &str,
        reason: &str,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// What stands about the lanes after `(destination, ordering key)`, at most `limit`, in order.
    ///
    /// # Errors
    /// [`StoreError`].
    fn lane_facts(
        &self,
        after: Option<(String, String)>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<LaneFacts>, StoreError>> + Send;

    /// Pauses a destination for all relays; recorded with the actor. `false`: it was paused
    /// already, and nothing changed.
    ///
    /// # Errors
    /// [`StoreError`].
    fn pause(
        &self,
        destination: &Destination,
        actor: &str,
        reason: &str,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// The stored contract of each destination that has one; one that cannot be read is `None`.
    ///
    /// # Errors
    /// [`StoreError`].
    fn contracts(
        &self,
    ) -> impl Future<Output = Result<BTreeMap<String, Option<Contract>>, StoreError>> + Send;

    /// After a restore from a backup taken at `at`, before the first relay: every open delivery
    /// becomes in doubt, first sent at the earlier of its own first send and `at`; recorded with
    /// the actor. How many there were.
    ///
    /// # Errors
    /// [`StoreError`].
    fn restored(
        &self,
        at: Micros,
        actor: &str,
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// Counts by destination and state.
    ///
    /// # Errors
    /// [`StoreError`].
    fn status(&self) -> impl Future<Output = Result<Status, StoreError>> + Send;

    /// Commands, newest last, by filter and cursor.
    ///
    /// # Errors
    /// [`StoreError`]; [`StoreError::NoCursor`] where [`Filter::after`] is none of the outbox.
    fn list(&self, filter: Filter) -> impl Future<Output = Result<Vec<Listed>, StoreError>> + Send;

    /// All that stands about one command; `None` if it was never recorded.
    ///
    /// # Errors
    /// [`StoreError`].
    fn show(
        &self,
        command_id: &str,
    ) -> impl Future<Output = Result<Option<Story>, StoreError>> + Send;

    /// What stands about the commands from an `n` on, at most `limit`, in one short snapshot,
    /// orphans included, whatever number a hand gave them.
    ///
    /// # Errors
    /// [`StoreError`].
    fn facts(
        &self,
        from: FactsFrom,
        limit: usize,
    ) -> impl Future<Output = Result<Facts, StoreError>> + Send;

    /// What stands about the events after `(stream, seq)`, at most `limit`, in order.
    ///
    /// # Errors
    /// [`StoreError`].
    fn event_facts(
        &self,
        after: Option<(String, i64)>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<EventFacts>, StoreError>> + Send;

    /// The totals of each destination, in one snapshot.
    ///
    /// # Errors
    /// [`StoreError`].
    fn totals(&self) -> impl Future<Output = Result<Vec<Totals>, StoreError>> + Send;

    /// The answers of a read-only query of the user's own (`[audit] expect`), first column as
    /// text, at most `limit` rows after skipping `offset`.
    ///
    /// # Errors
    /// [`StoreError::Broken`] with the database's words for a query that fails or writes.
    fn expected(
        &self,
        sql: &str,
        offset: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<String>, StoreError>> + Send;

    /// Which of these ids such a query answers. Default: reads the answer page by page, which
    /// takes bounded memory and, for a long answer, much time; a database reads it once, or looks
    /// the ids up in the query.
    ///
    /// # Errors
    /// As [`expected`](Self::expected).
    fn expected_has(
        &self,
        sql: &str,
        ids: &[String],
    ) -> impl Future<Output = Result<Vec<bool>, StoreError>> + Send {
        async move {
            let mut found = vec![false; ids.len()];
            let mut offset = 0;
            while found.contains(&false) {
                let page = self.expected(sql, offset, EXPECTED_PAGE).await?;
                let last = page.len() < EXPECTED_PAGE;
                let page: BTreeSet<String> = page.into_iter().collect();
                for (id, found) in ids.iter().zip(&mut found) {
                    *found = *found || page.contains(id);
                }
                if last {
                    break;
                }
                offset += EXPECTED_PAGE as u64;
            }
            Ok(found)
        }
    }

    /// Which of these command ids are in the outbox or archived.
    ///
    /// # Errors
    /// [`StoreError`].
    fn known(&self, ids: &[String]) -> impl Future<Output = Result<Vec<bool>, StoreError>> + Send;
}
