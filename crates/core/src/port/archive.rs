//! What an archive needs from a store: ended commands whole, their removal, their tombstones.
//!
//! Guarantees asked of an implementation: [`Archive::bury`] removes only what still stands exactly
//! as it was read, and leaves the tombstone in the same transaction; [`Archive::erase`] keeps
//! digests and receipts. It is not asked to write files, nor to judge what may go; the engine
//! does.

use std::future::Future;

use super::act::Actor;
use super::store::{Store, StoreError};
use crate::domain::digest::FieldDigest;
use crate::domain::laws::{AttemptFacts, ContradictionFacts, ReceiptFacts};
use crate::domain::{Digest, Micros, OutboxRow};

/// All that stands about one ended command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its outbox row; the body and headers of an erased one are empty.
    pub outbox: OutboxRow,
    /// When its content was erased on request.
    pub erased_at: Option<Micros>,
    /// Receipts, oldest round first.
    pub receipts: Vec<ReceiptFacts>,
    /// Attempts that did not go plainly well, in the order of arrival.
    pub attempts: Vec<AttemptFacts>,
    /// Reports that said otherwise, in the order of arrival; they stay in the store.
    pub contradictions: Vec<ContradictionFacts>,
    /// What people did, in order; it stays in the store.
    pub actions: Vec<ActionRow>,
}

impl Entry {
    /// The receipt of the newest round.
    #[must_use]
    pub fn newest(&self) -> Option<&ReceiptFacts> {
        self.receipts.iter().max_by_key(|entry| entry.receipt.round)
    }
}

/// A row of `operator_action`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionRow {
    /// The order of arrival.
    pub arrival: i64,
    /// The verb.
    pub verb: String,
    /// A command id or a destination.
    pub about: String,
    /// Who.
    pub actor: String,
    /// Why.
    pub reason: Option<String>,
    /// The state before.
    pub before: Option<String>,
    /// The state after.
    pub after: Option<String>,
    /// When.
    pub recorded_at: Micros,
}

/// Ended commands, a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndedPage {
    /// By rising `n`.
    pub entries: Vec<Entry>,
    /// Ended and old enough, but not to be removed: how many, by why.
    pub kept: Kept,
    /// The largest `n` looked at: where the next page goes on.
    pub looked_at: i64,
    /// Nothing follows.
    pub last: bool,
}

/// What stays although it ended long enough ago.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// A report says otherwise than the receipt, and nobody has looked into it.
    pub contradicted: u64,
    /// It belongs to a workflow.
    pub of_workflow: u64,
    /// It cannot be read.
    pub unreadable: u64,
    /// It has the largest `n` of the store, which must not be given twice.
    pub newest: u64,
}

/// What stays of an archived command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// Its id.
    pub command_id: String,
    /// To whom it went.
    pub destination: String,
    /// Its kind.
    pub kind: String,
    /// Its lane.
    pub ordering_key: Option<String>,
    /// SHA-256 of its body.
    pub digest: Digest,
    /// The outcome of its newest receipt.
    pub outcome: String,
    /// How many rounds it had.
    pub rounds: u32,
    /// The name of its file, without folder.
    pub file: String,
    /// SHA-256 over the columns above, as stored; see [`Tombstone::row_digest`].
    pub row_digest: Option<Digest>,
}

impl Tombstone {
    /// SHA-256 over all other columns, each with its type and length: so that a change of any of
    /// them is seen.
    #[must_use]
    pub fn row_digest(&self) -> Digest {
        FieldDigest::default()
            .bytes(Some(self.command_id.as_bytes()))
            .bytes(Some(self.destination.as_bytes()))
            .bytes(Some(self.kind.as_bytes()))
            .bytes(self.ordering_key.as_ref().map(String::as_bytes))
            .bytes(Some(self.digest.as_bytes()))
            .bytes(Some(self.outcome.as_bytes()))
            .integer(Some(i64::from(self.rounds)))
            .bytes(Some(self.file.as_bytes()))
            .finish()
    }
}

/// A new seal in place of the one of `version`; see [`super::seal`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealChange {
    /// The version that it follows; a store whose seal has another one does nothing.
    pub version: i64,
    /// The new seal.
    pub seal: String,
}

/// What a burial came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Buried {
    /// It is done. For each entry: removed, or left since it has changed.
    Done(Vec<bool>),
    /// The seal has moved on; nothing was done. Read it again.
    SealMoved,
}

/// What an erasure came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "one is made for each erasure, and none is kept")]
pub enum Erased {
    /// Body, headers, results, evidences and reasons are gone; it is recorded.
    Done,
    /// They were gone before; nothing changed. Of an archived one, a line that was left in a file
    /// of another folder may still hold them.
    Repeated,
    /// It is archived: the file named here is to be rewritten. The act was recorded.
    Archived(Tombstone),
    /// It has not ended; nothing changed.
    Open,
    /// The seal has moved on; nothing was done. Read it again.
    SealMoved,
    /// Never heard of.
    Unknown,
}

/// A store whose ended commands can be moved out of it.
pub trait Archive: Store {
    /// Commands with `n` > `after` that have ended and whose newest receipt was recorded before
    /// `before`, whole, at most `limit`, in one short snapshot. It looks at a bounded number of
    /// rows: a page may be empty and not the last.
    ///
    /// # Errors
    /// [`StoreError`].
    fn ended(
        &self,
        before: Micros,
        after: i64,
        limit: usize,
    ) -> impl Future<Output = Result<EndedPage, StoreError>> + Send;

    /// Removes each of these commands with its receipts and attempts, and writes its tombstone
    /// with `file`, in one transaction. One that is open again, or whose rows are not exactly
    /// these, is left. The digest of an erased one, whose body is gone, is its newest receipt's.
    /// With a seal it is all or nothing: if one would be left, all are, and the seal stays; without
    /// one, while a seal stands, it is [`Buried::SealMoved`].
    ///
    /// # Errors
    /// [`StoreError`]; then nothing was done, or it is not known.
    fn bury(
        &self,
        file: &str,
        entries: Vec<Entry>,
        seal: Option<SealChange>,
    ) -> impl Future<Output = Result<Buried, StoreError>> + Send;

    /// One ended command whole, whatever its age; `None` if it is open, archived or unknown.
    ///
    /// # Errors
    /// [`StoreError`].
    fn entry(
        &self,
        command_id: &str,
    ) -> impl Future<Output = Result<Option<Entry>, StoreError>> + Send;

    /// The tombstone of each of these commands.
    ///
    /// # Errors
    /// [`StoreError`].
    fn tombstones_of(
        &self,
        command_ids: &[String],
    ) -> impl Future<Output = Result<Vec<Option<Tombstone>>, StoreError>> + Send;

    /// The tombstones with a larger command id, by bytes, at most `limit`, in order.
    ///
    /// # Errors
    /// [`StoreError`].
    fn tombstones(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Tombstone>, StoreError>> + Send;

    /// Whether the content of each of these commands was erased, standing or archived.
    ///
    /// # Errors
    /// [`StoreError`].
    fn erased(
        &self,
        command_ids: &[String],
    ) -> impl Future<Output = Result<Vec<bool>, StoreError>> + Send;

    /// Clears body, headers, results, evidences and reasons of one ended command, and records who
    /// did and why. Its digests must stand in its newest receipt first; where they do not, they
    /// are written there in the same transaction. Without a seal, while one stands, it is
    /// [`Erased::SealMoved`].
    ///
    /// # Errors
    /// [`StoreError`]; then nothing was done, or it is not known.
    fn erase(
        &self,
        command_id: &str,
        actor: Actor,
        reason: &str,
        seal: Option<SealChange>,
    ) -> impl Future<Output = Result<Erased, StoreError>> + Send;
}
