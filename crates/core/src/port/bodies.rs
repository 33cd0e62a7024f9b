//! What an archive needs of the events of workflows: bodies that may leave their rows, their
//! leaving, and their coming back.
//!
//! Guarantees asked of an implementation: a row stays for ever, with its cause, its numbers and
//! what was decided; a body leaves only a row that stands exactly as it was read, and its file and
//! its digest come in the same write; it comes back only if it is the one of that digest. It is not
//! asked to write files; the engine does.

use std::future::Future;

use super::act::Actor;
use super::store::{Store, StoreError};
use crate::domain::{EventRow, Micros, Stream};

/// A body of fewer bytes stays in its row: what stands in its place takes about 100.
pub const BODY_BYTES_MIN: usize = 128;

/// The verb under which it is recorded that the bodies of a workflow were brought back.
pub const RECALL_VERB: &str = "workflow recall";

/// Where an event stands: its stream and its seq.
pub type Place = (String, i64);

/// Bodies that may leave, a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BodyPage {
    /// The events, by stream and seq; each has its body.
    pub events: Vec<EventRow>,
    /// What stays although it is old enough: how many workflows, by why.
    pub kept: KeptBodies,
    /// The place that was looked at last: where the next page goes on. `None`: nothing follows.
    pub next: Option<Place>,
}

/// Why bodies stay that are old enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeptBodies {
    /// Workflows that are quarantined: a person, or another program, may need their history.
    pub quarantined: u64,
    /// Workflows that run and have no saved state of their program.
    pub without_snapshot: u64,
    /// Events that cannot be read.
    pub unreadable: u64,
}

impl KeptBodies {
    /// Counts another page's, too.
    pub const fn add(&mut self, other: Self) {
        self.quarantined += other.quarantined;
        self.without_snapshot += other.without_snapshot;
        self.unreadable += other.unreadable;
    }
}

/// A store whose events' bodies can be moved out of it, and back.
pub trait Bodies: Store {
    /// Events after `after` whose bodies may leave, at most `limit`, in the order of stream and
    /// seq, in one short snapshot: of a workflow that has ended all, if its newest event was
    /// recorded before `before`; of one that runs those that its newest snapshot of its own
    /// program holds and that were recorded before. None of a quarantined one, of a stream that is
    /// no workflow's, or with a body of fewer than [`BODY_BYTES_MIN`] bytes. It looks at a bounded
    /// number of rows: a page may be empty and not the last.
    ///
    /// # Errors
    /// [`StoreError`].
    fn old_bodies(
        &self,
        before: Micros,
        after: Option<Place>,
        limit: usize,
    ) -> impl Future<Output = Result<BodyPage, StoreError>> + Send;

    /// Takes the bodies of these events out of their rows, which name `file` and keep the digest
    /// from then on. For each: whether it was taken; one that does not stand exactly so, or whose
    /// workflow may need it by now, is left.
    ///
    /// # Errors
    /// [`StoreError`]; then some may be taken, and those of the same call may be given again.
    fn take_bodies(
        &self,
        file: &str,
        events: Vec<EventRow>,
    ) -> impl Future<Output = Result<Vec<bool>, StoreError>> + Send;

    /// The event at each of these places, in one snapshot; `None` where none stands or it cannot
    /// be read.
    ///
    /// # Errors
    /// [`StoreError`].
    fn events_at(
        &self,
        places: &[Place],
    ) -> impl Future<Output = Result<Vec<Option<EventRow>>, StoreError>> + Send;

    /// The events after `after` whose bodies lie in files, at most `limit`, in the order of stream
    /// and seq.
    ///
    /// # Errors
    /// [`StoreError`].
    fn archived_bodies(
        &self,
        after: Option<Place>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<EventRow>, StoreError>> + Send;

    /// The newest events of a stream before `before` whose bodies lie in files, at most `limit`,
    /// the newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    fn archived_before(
        &self,
        stream: &Stream,
        before: i64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<EventRow>, StoreError>> + Send;

    /// Puts the bodies of these events of one stream, which name no file, back into their rows, in
    /// one write that is recorded with the actor as [`RECALL_VERB`] about the stream if any came
    /// back. For each: whether it did; one whose row is not archived, or keeps another digest, is
    /// left.
    ///
    /// # Errors
    /// [`StoreError`]; then none came back, or it is not known.
    fn put_back(
        &self,
        stream: &Stream,
        events: Vec<EventRow>,
        actor: Actor,
    ) -> impl Future<Output = Result<Vec<bool>, StoreError>> + Send;
}

/// Where a reader of histories finds bodies that are archived.
pub trait ReadBodies: Send {
    /// Gives those of these events of one stream whose bodies it finds their bodies, proved by
    /// their digests; then they name no file any more. The others stay as they are.
    ///
    /// # Errors
    /// What was found is not what was archived.
    fn read(&mut self, events: &mut [EventRow]) -> Result<(), StoreError>;
}

/// Nowhere: what is archived stays so.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl ReadBodies for NoFiles {
    fn read(&mut self, _: &mut [EventRow]) -> Result<(), StoreError> {
        Ok(())
    }
}
